"""`coombs fit`: what answers in a file say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import lazy_imports, show
from coombs.cli.model_files import check_output_paths, write_text
from coombs.cli.options import FILE, argument, command, features_option, json_option, positive, seed_option
from coombs.cli.rank import feature_names, ranked, ranking_table
from coombs.render.blocks import Section
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
    "loser; user and weight if there are any. `coombs export` writes such files.",
)
@argument("items", "CSV or Parquet file, an item a row, a feature a column")
@argument("answers", "CSV or Parquet file, an answer a row")
@features_option
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="the kind of preference, of ideal-point (default: auto, an average of full and smooth)",
)
@click.option(
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default="ideal-point",
    help="ideal-point is ours (default), the others are the paper's, with standardised features",
)
@seed_option
@click.option("--user", metavar="NAME", help="whose answers (default: everybody's together)")
@click.option("--top", metavar="K", type=positive, default=10, help="best items to list (default: 10)")
@click.option("--compare", is_flag=True, help="say how well each kind of preference predicts: seconds more")
@click.option("--out", metavar="FILE", type=FILE, help="write the model, JSON, for rank and explain")
@click.option("--report", metavar="FILE", type=FILE, help="write an HTML page with pictures")
@json_option
def fit(**given: Any) -> None:
    """Learn an ideal point and a metric from answers, and say in words what was learned. Text columns of the
    items are passed over.
    """
    options = SimpleNamespace(**given)
    lazy_imports.make_lazy()
    check_output_paths(options.out, options.report)
    estimator = _estimator(options)
    everybody, options.chosen = read_answers(options.items, options.answers, options.features)
    data = _one_user(everybody, options)
    est, people = _fitted(estimator, data), len(_users(data)) or None
    if options.out:
        write_text(options.out, _model_json(est, data, options.chosen))
    if options.report:
        from coombs.render.html import report

        report(est, options.report, people=people, chosen=options.chosen)
    (_print_json if options.as_json else _print_page)(est, data, options)


def _estimator(options: SimpleNamespace) -> PairEstimator:
    """The estimator that is asked for; whatever cannot be done is refused before the work."""
    import coombs
    from coombs.render.canvas import need_matplotlib

    if options.report:
        need_matplotlib()
    made = getattr(coombs, ESTIMATORS[options.estimator])
    if options.estimator == "ideal-point":
        return made(metric=options.metric or "auto", random_state=options.seed)  # type: ignore[no-any-return]
    if options.metric is not None:
        raise coombs.InputError(f"--metric is for ideal-point; {options.estimator} has a metric of its own.")
    return made(standardize=True)  # type: ignore[no-any-return]


def read_answers(items: str, answers: str, features: Sequence[str] | None = None) -> tuple[Comparisons, bool]:
    """The answers in a file about the items in another, whose text columns are passed over.

    And whether a study has chosen the questions by the answers before them, as its exports say.
    """
    from coombs.data import files
    from coombs.data.catalogue import catalogue

    goods, table = catalogue(items, features), files.read_table(answers)
    for note in goods.notes:
        show.careful(f"{note} --features names the columns to learn from.")
    purposes = set(map(str, table.answers.get("purpose", ())))
    data = coombs.Comparisons.from_columns(goods.table, table.answers, table.where)
    return data, bool(purposes & {"information", "best", "confirmation"})


def _one_user(data: Comparisons, options: SimpleNamespace) -> Comparisons:
    """The answers of the user that is asked for, or everybody's."""
    from coombs.data import naming

    if options.user is None:
        return data
    if data.users is None:
        raise coombs.InputError(f"{options.answers} has no column user; leave --user away.")
    chosen = [naming.text(user) == options.user for user in data.users]
    if not any(chosen):
        raise coombs.InputError(f"There is no user {options.user!r}; the users are {_some(_users(data))}.")
    return data[chosen]


def _fitted(est: PairEstimator, data: Comparisons) -> PairEstimator:
    """The fit; its warnings as sentences."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        try:
            est.fit(data)
        except coombs.ConvergenceError as error:
            raise coombs.InputError(str(error)) from error
    for one in raised:
        show.careful(one.message)
    return est


def _explained(est: IdealPoint, options: SimpleNamespace) -> Explanation:
    """In words; with `--compare` every kind of preference is put to the test."""
    return est.explain(top=options.top, compare=options.compare, chosen=options.chosen)


def _print_page(est: Any, data: Comparisons, options: SimpleNamespace) -> None:
    """For people."""
    from coombs.render.sentences import sections
    from coombs.words import together

    users = _users(data)
    if options.user is not None:
        print(f"The answers of {terminal_safe(options.user)}.\n")
    elif len(users) > 1:
        first = f"{together(len(users))}: {_some(users)}."
        show.page(
            [Section("", [first, "Where they differ, it is about none of them; --user takes one's answers."])]
        )
        print()
    if options.estimator == "ideal-point":
        show.page(sections(_explained(est, options)))
    else:
        show.page(_paper_sections(est, data, options.top))
    if options.out:
        only = "" if getattr(est, "item_effects_", None) is None else ", without the effects of single items"
        print(f"\nModel: {options.out}{only}")
    if options.report:
        print(f"{'' if options.out else chr(10)}Report: {options.report}")


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

    from coombs.insights.statements import SWEET_SPOT

    ours, table = options.estimator == "ideal-point", data.item_table
    distances = est.distance(table)
    ends = est.rank_interval(table) if ours else [[None, None]] * data.n_items
    ranking = zip(ranked(table, distances), distances.argsort(kind="stable"), strict=True)
    features = feature_names(est.model_)
    explained = _explained(est, options).to_dict() if ours else est.model_.explain().to_dict()
    has_pattern = explained["has_pattern"]
    ideal = dict(zip(features, est.ideal_point_.tolist(), strict=True))
    if ours:
        # As in words, a value of what has one.
        values = (one["value"] if one["verdict"] == SWEET_SPOT else None for one in explained["ideal"])
        ideal = dict(zip(features, values, strict=True))
    show.as_json(
        {
            "estimator": options.estimator,
            "metric": est.kind_ if ours else None,
            "status": est.status_,
            "user": options.user,
            "users": _users(data),
            "n_answers": len(data),
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
            "model": json.loads(_model_json(est, data, options.chosen)),
            "explanation": explained,
            "written": {"model": options.out, "report": options.report},
        }
    )


def _model_json(est: PairEstimator, data: Comparisons, chosen: bool) -> str:
    """The model, which says how many people it is of."""
    found = est.explain(chosen=chosen).findings() if hasattr(est, "explain") else None
    return replace(est.model_, n_people=len(_users(data)) or None, findings=found).to_json()


def _users(data: Comparisons) -> list[Any]:
    return [] if data.users is None else list(dict.fromkeys(data.users.tolist()))


def _some(users: list[Any]) -> str:
    from coombs.data import naming

    return ", ".join(map(naming.text, users[:MOST_USERS])) + (", ..." if len(users) > MOST_USERS else "")
