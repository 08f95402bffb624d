"""`coombs fit`: what answers in a file say."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import coombs
from coombs.cli import lazy_imports, output
from coombs.cli.model_files import check_output_paths, check_table_path, model_of, write_text
from coombs.cli.options import (
    FILE,
    argument,
    command,
    features_option,
    json_option,
    positive,
    seed_option,
    wish_option,
)
from coombs.cli.rank import feature_names, ranked, ranking_table
from coombs.render.sections import Section
from coombs.terminal_text import terminal_safe

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.estimators.base import PairEstimator
    from coombs.estimators.ideal_point import IdealPoint
    from coombs.insights import Explanation

METRICS = ("auto", "none", "identity", "diagonal", "full", "signed", "smooth")
ESTIMATORS = {
    "ideal-point": "IdealPoint",
    "single-step": "SingleStep",
    "alternating": "Alternating",
    "euclidean": "EuclideanSingleStep",
    "compass": "EuclideanCompass",
}
"""The class of each name."""
MOST_USERS = 5
"""Names of users in a sentence."""
NO_TEST = "How sure any of this is: the paper's estimators do not say; --estimator ideal-point does."


@command(
    "fit",
    "learn from answers in a file",
    "coombs fit shop/items.csv shop/answers.csv --out taste.json",
    "Answers have the columns left, right, winner (an item, left, right, tie or skip), or winner, "
    "loser; or those of choices (option1, option2, ..., chosen), best and worst, rankings (rank1, ...), "
    "ratings (item, rating) or probabilities (left, right, p); user and weight if there are any. What was "
    "recognised is printed. `coombs export` writes such files. One file alone has "
    "questions that describe what they are about: a row for each profile (columns task and chosen) or for "
    "each question (price_1, price_2 and winner).",
)
@argument("items", "CSV, Excel, JSON or Parquet file, one row per item, one column per feature")
@argument(
    "answers",
    "CSV, Excel, JSON or Parquet file, one row per answer; none if the one file describes both",
    required=False,
)
@features_option
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="kind of preference, for ideal-point (default: auto, an average of full and smooth)",
)
@click.option(
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default="ideal-point",
    help="ideal-point is ours (default), the others are the paper's, with standardised features",
)
@wish_option
@seed_option
@click.option(
    "--user",
    metavar="NAME",
    help="learn from this user alone (default: everybody, each with a taste of their own)",
)
@click.option("--pooled", is_flag=True, help="one model of all people, as if all answers were one person's")
@click.option("--groups", metavar="N", default="1", help="groups of people, or auto (default: 1)")
@click.option("--half-life", metavar="DAYS", type=float, help="days after which an answer counts for half")
@click.option("--top", metavar="K", type=positive, default=10, help="best items to list (default: 10)")
@click.option(
    "--compare", is_flag=True, help="say how well each kind of preference predicts (takes some seconds)"
)
@click.option("--out", metavar="FILE", type=FILE, help="write the model, JSON, for rank and explain")
@click.option("--save", metavar="FILE", type=FILE, help="write the whole fit, JSON, for coombs.load")
@click.option("--report", metavar="FILE", type=FILE, help="write an HTML page with pictures")
@click.option("--people", metavar="FILE", type=FILE, help="write a row a person: .csv or .parquet")
@json_option
def fit(**given: Any) -> None:
    """Learn an ideal point and a metric from answers, and say in words what was learned. Where a column user
    names two people or more, everybody has a taste of their own, and what they share is learned, too.
    """
    options = SimpleNamespace(**given)
    lazy_imports.make_lazy()
    check_output_paths(options.out, options.save, options.report, options.people)
    check_table_path(options.people)
    estimator = _estimator(options)
    everybody, options.chosen, is_soft = read_answers(
        options.items, options.answers, options.features, options.half_life
    )
    data = _one_user(everybody, options)
    options.shapes = _shapes(data, is_soft)
    if _is_of_many(data, options):
        _fit_people(data, options)
        return
    if options.people:
        raise coombs.InputError("--people writes a row a person, and this is one model; leave it away.")
    if options.groups != "1":
        raise coombs.InputError("--groups is of many people, and this is one model; leave it away.")
    est, people = _fitted(estimator, data), len(_users(data)) or None
    if options.out:
        write_text(options.out, model_of(est, chosen=options.chosen).to_json())
    if options.save:
        est.save(options.save)
    if options.report:
        from coombs.render.html import report

        report(est, options.report, people=people, chosen=options.chosen)
    (_print_json if options.as_json else _print_page)(est, data, options)


def _is_of_many(data: Comparisons, options: SimpleNamespace) -> bool:
    """Whether everybody gets a taste of their own; what only one model has is said to be of all together."""
    if options.pooled or options.user is not None or len(_users(data)) < 2:
        return False
    asked = {
        f"--estimator {options.estimator}": options.estimator != "ideal-point",
        f"--metric {options.metric}": options.metric in ("identity", "signed"),
        "--wish": bool(options.wishes),
        "--compare": options.compare,
    }
    single = [name for name, is_given in asked.items() if is_given]
    if single:
        output.careful(f"{single[0]} is of one model: the answers of all people are taken for one person's.")
    return not single


def _fit_people(data: Comparisons, options: SimpleNamespace) -> None:
    """Everybody's taste, and what people share."""
    from coombs.cli.people import (
        fitted_population,
        population_json,
        print_files,
        write_population,
    )

    population = fitted_population(data, options.metric or "auto", options.groups)
    written = write_population(population, options)
    if options.as_json:
        population_json(population, options, written)
        return
    print(f"{_recognised(options.shapes, len(population.people_))}\n")
    print(population.explain())
    print_files(written)


def _estimator(options: SimpleNamespace) -> PairEstimator:
    """The estimator that is asked for; whatever cannot be done is refused before the work."""
    import coombs
    from coombs.render.canvas import need_matplotlib

    if options.report:
        need_matplotlib()
    made = getattr(coombs, ESTIMATORS[options.estimator])
    if options.estimator == "ideal-point":
        settings = {"metric": options.metric or "auto", "wishes": options.wishes}
        return made(**settings, random_state=options.seed)  # type: ignore[no-any-return]
    if options.wishes:
        raise coombs.InputError(f"--wish is for ideal-point; {options.estimator} takes no wishes.")
    if options.metric is not None:
        raise coombs.InputError(f"--metric is for ideal-point; {options.estimator} has a metric of its own.")
    return made(standardize=True)  # type: ignore[no-any-return]


class ReadAnswers(NamedTuple):
    """Answers; whether a study chose their questions by earlier ones; whether they are probabilities."""

    data: Comparisons
    chosen: bool
    is_soft: bool


def read_answers(
    items: str,
    answers: str | None,
    features: Sequence[str] | None = None,
    half_life: float | None = None,
) -> ReadAnswers:
    """The answers in a file about the items in another; both may be in one file."""
    from coombs.data import checking, files
    from coombs.data.catalogue import catalogue
    from coombs.questions import CHOSEN

    if answers is None and half_life is not None:
        raise coombs.InputError("--half-life is for answers in a file of their own, with a column timestamp.")
    if answers is None:
        return ReadAnswers(_read_described(items, features), chosen=False, is_soft=False)
    goods, table = catalogue(items, features), files.read_table(answers)
    for i, note in enumerate(goods.notes):
        change = " --features names the columns to learn from." if goods.features and not i else ""
        output.careful(f"{note}{change}")
    for note in table.notes:
        output.careful(note)
    with output.warned():
        data = coombs.Comparisons.from_columns(goods.table, table.answers_with(half_life), table.where)
    is_chosen = not CHOSEN.isdisjoint(map(str, table.answers.get("purpose", ())))
    return ReadAnswers(data, is_chosen, not data.shapes and checking.gives_probabilities(table.answers))


def _read_described(path: str, features: Sequence[str] | None) -> Comparisons:
    """The answers in a file that describes what they are about, once it is said what was recognised."""
    from coombs.data import files, profiles

    table = files.read_table(path)
    if not profiles.is_described(table):
        raise coombs.InputError(
            f"{path} has no answers in it ({', '.join(table.columns)}); give a file of answers as well, or a "
            "file whose answers describe what they are about (columns task and chosen, or price_1, price_2 "
            "and winner)."
        )
    found = profiles.described_choices(table, features)
    for note in found.notes:
        output.note(note)
    return coombs.Comparisons.of_described(found)


def _one_user(data: Comparisons, options: SimpleNamespace) -> Comparisons:
    """The answers of the user that is asked for, or everybody's."""
    from coombs.data import naming
    from coombs.data.user_columns import nobody_called

    if options.user is None:
        return data
    if (users := data.answer_users) is None:
        raise coombs.InputError(f"{options.answers or options.items} has no column user; leave --user away.")
    chosen = [naming.text(user) == options.user for user in users]
    if not any(chosen):
        raise coombs.InputError(nobody_called(options.user, _users(data)))
    return data[chosen]


def _fitted(est: PairEstimator, data: Comparisons) -> PairEstimator:
    """The fit; its warnings as sentences."""
    with output.warned():
        try:
            est.fit(data)
        except coombs.ConvergenceError as error:
            raise coombs.InputError(str(error)) from error
    return est


def _explained(est: IdealPoint, options: SimpleNamespace) -> Explanation:
    """In words; with `--compare` every kind of preference is put to the test."""
    return est.explain(top=options.top, compare=options.compare, chosen=options.chosen)


def _shapes(data: Comparisons, is_soft: bool) -> dict[str, int]:
    """How many answers have each shape; a probability is one, though it counts as an answer each way."""
    if is_soft:
        return {"probability": len(data) // 2}
    return data.shapes or {"pair": len(data)}


def _recognised(shapes: dict[str, int], people: int) -> str:
    """What was found in the file, as a sentence."""
    from coombs.data.orders import NOUNS
    from coombs.words import count

    found = " and ".join(
        f"{n} pairs with a probability each" if name == "probability" else count(n, NOUNS[name])
        for name, n in shapes.items()
    )
    return f"Recognised: {found}{f', by {people} people' if people > 1 else ''}."


def _print_page(est: Any, data: Comparisons, options: SimpleNamespace) -> None:
    """For people."""
    from coombs.render.sentences import sections
    from coombs.words import together

    users = _users(data)
    print(f"{_recognised(options.shapes, len(users))}\n")
    if options.user is not None:
        print(f"The answers of {terminal_safe(options.user)}.\n")
    elif len(users) > 1:
        first = f"{together(len(users))}: {_some(users)}."
        output.page(
            [Section("", [first, "Where they differ, it is about none of them; --user takes one's answers."])]
        )
        print()
    if options.estimator == "ideal-point":
        output.page(sections(_explained(est, options)))
    else:
        output.page(_paper_sections(est, data, options.top))
    if options.out:
        has_more = getattr(est, "item_effects_", None) is not None and data.n_features
        only = ", without the effects of single items" if has_more else ""
        print(f"\nModel: {options.out}{only}")
    if options.save:
        print(f"{'' if options.out else chr(10)}Estimator: {options.save}")
    if options.report:
        print(f"{'' if options.out or options.save else chr(10)}Report: {options.report}")


def _paper_sections(est: PairEstimator, data: Comparisons, top: int) -> list[Section]:
    """What the paper's estimators say: no intervals, no test."""
    from coombs.render.sentences import sections
    from coombs.words import count, percent

    table, features = data.item_table, feature_names(est.model_)
    best = ranked(table, est.distance(table))[:top]
    agreed = f"The model agrees with {percent(est.score(data))} of {count(len(data), 'answer')}."
    return [
        *sections(est.model_.explain(), NO_TEST),
        Section("How far to trust it", [f"{agreed} The program ended as {est.status_}."]),
        Section("Ranking", [ranking_table(best, table, features)]),
    ]


def _print_json(est: Any, data: Comparisons, options: SimpleNamespace) -> None:
    """For programs."""
    import json

    from coombs.words import feature_names as feature_columns

    ours, table = options.estimator == "ideal-point", data.item_table
    distances = est.distance(table)
    ends = est.rank_interval(table) if ours else [[None, None]] * data.n_items
    ranking = zip(ranked(table, distances), distances.argsort(kind="stable"), strict=True)
    features = feature_names(est.model_)
    told = _explained(est, options) if ours else est.model_.explain()
    explained, has_pattern = told.to_dict(), told.has_pattern
    names = feature_columns(est.model_.feature_names, len(est.ideal_point_))
    ideal: dict[str, Any] = dict(zip(names, est.ideal_point_.tolist(), strict=True))
    if ours:
        # As in words, a value of what has one.
        ideal = {f.name: one.wanted(f) for f, one in zip(told.features, told.ideal, strict=True)}
    output.as_json(
        {
            "estimator": options.estimator,
            "metric": est.kind_ if ours else None,
            "status": est.status_,
            "user": options.user,
            "users": _users(data),
            "n_answers": len(data),
            "shapes": options.shapes,
            "n_items": data.n_items,
            "features": features,
            "has_pattern": has_pattern,
            "agreement": est.score(data),
            "ideal_point": None if has_pattern is False else ideal,
            "ranking": [
                {"rank": one["rank"], "item": one["item"], "distance": one["distance"]}
                | {"rank_low": ends[i][0], "rank_high": ends[i][1]}
                for one, i in ranking
            ],
            "model": json.loads(model_of(est, chosen=options.chosen).to_json()),
            "explanation": explained,
            "written": {"model": options.out, "estimator": options.save, "report": options.report},
        }
    )


def _users(data: Comparisons) -> list[Any]:
    return [] if data.answer_users is None else list(dict.fromkeys(data.answer_users.tolist()))


def _some(users: list[Any]) -> str:
    from coombs.data import naming

    return ", ".join(map(naming.text, users[:MOST_USERS])) + (", ..." if len(users) > MOST_USERS else "")
