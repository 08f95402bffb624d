"""`coombs people` and `coombs groups`: what each of many people wants, and who wants the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import lazy_imports, output
from coombs.cli.fit import read_answers
from coombs.cli.model_files import check_output_paths, check_table_path
from coombs.cli.options import FILE, argument, command, features_option, json_option, positive

if TYPE_CHECKING:
    from coombs.data.comparisons import Comparisons
    from coombs.estimators.population import Population

METRICS = ("auto", "none", "diagonal", "full", "smooth")
"""Kinds of preference that many people may have."""


def fitted_population(data: Comparisons, metric: str, groups: str, about: str | None = None) -> Population:
    """The population that is asked for, with what a file says about people; its warnings as sentences."""
    population = coombs.Population(metric=metric, groups=_count(groups))
    with output.warned():
        population.fit(data, people=None if about is None else _people_in(about))
    return population


def _people_in(path: str) -> Any:
    """A frame with a row a person."""
    from coombs.data.files import read_table
    from coombs.data.tables import pandas
    from coombs.data.user_columns import USER, user_column

    table = read_table(path)
    user = user_column(table.columns, path)
    if user is None:
        raise coombs.InputError(
            f"{path} has no column user with names in it, so that nobody knows who its rows are of; it has "
            f"{', '.join(map(str, table.columns))}."
        )
    columns = {name: list(cells) for name, cells in table.typed.items() if name != user}
    return pandas().DataFrame({USER: table.columns[user]} | columns)


def _count(text: str) -> int | str:
    """A number of groups, or auto."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise coombs.InputError(f"--groups is {text!r}; it must be auto or a whole number from 1.")
    return text if text == "auto" else int(text)


def write_population(population: Population, options: SimpleNamespace) -> dict[str, str | None]:
    """All files that are asked for: what each is, and its path."""
    from coombs.data.files import write_frame
    from coombs.insights.people_explanation import names_items

    for path in {options.out, options.save} - {None}:
        population.save(path)
    if options.people:
        write_frame(population.to_frame(ranks=names_items(population)), options.people)
    if options.report:
        population.report(options.report)
    return {
        "model": options.out,
        "estimator": options.save,
        "people": options.people,
        "report": options.report,
    }


def print_files(written: dict[str, str | None]) -> None:
    """Where they are."""
    names = {"model": "Population", "estimator": "Population", "people": "People", "report": "Report"}
    lines = [f"{names[what]}: {path}" for what, path in written.items() if path]
    if lines:
        print("", *dict.fromkeys(lines), sep="\n")


def population_json(population: Population, options: SimpleNamespace, written: dict[str, Any]) -> None:
    """For programs: as much as `coombs fit` says of one, and what people share."""
    from coombs.insights.people_explanation import names_items, names_of

    told = population.explain()
    features = names_of(population)
    ideal = dict(zip(features, population.ideal_point_.tolist(), strict=True)) if told.has_pattern else None
    names = list(population.people_.tolist())
    found = population.consensus("borda") if told.has_pattern and names_items(population) else None
    ranking = [] if found is None else list(zip(found["item"], found["borda"], strict=True))
    output.as_json(
        {
            "estimator": "population",
            "metric": max(population.kind_weights_, key=lambda kind: population.kind_weights_[kind]),
            "status": population.status_,
            "user": None,
            "users": names,
            "n_answers": len(population._data),
            "shapes": options.shapes,
            "n_items": population._data.n_items,
            "features": list(features),
            "has_pattern": told.has_pattern,
            "ideal_point": ideal,
            "ranking": [
                {"rank": rank, "item": item, "mean_place": place}
                for rank, (item, place) in enumerate(ranking, 1)
            ],
            "groups": [group_json(one) for one in population.groups_],
            "explanation": told.to_dict(),
            "written": written,
        }
    )


def group_json(group: Any, top: int | None = None) -> dict[str, Any]:
    """A group for programs."""
    return {
        "group": group.number,
        "people": group.people,
        "share": group.share,
        "certain": group.certain,
        "wants": group.words,
        "members": list(group.members),
        "probabilities": list(group.probabilities),
        "best": list(group.best[:top]),
    }


MOST_MEMBERS = 12
"""Names of people of a group that are listed."""

_ITEMS = argument("items", "CSV, Excel, JSON or Parquet file, one row per item, one column per feature")
_ANSWERS = argument(
    "answers",
    "CSV, Excel, JSON or Parquet file, one row per answer, with a column user; none if the one file has both",
    required=False,
)
_METRIC = click.option(
    "--metric",
    type=click.Choice(METRICS),
    default="auto",
    help="the kind of preference (default: auto, the average that predicts people left out best)",
)


@command(
    "people",
    "learn what each of many people wants",
    "coombs people items.csv answers.csv --out people.csv",
    "Answers are as for `coombs fit`, with a column user. What people share fills in what one has not said.",
)
@_ITEMS
@_ANSWERS
@features_option
@_METRIC
@click.option("--groups", metavar="N", default="1", help="groups of people, or auto (default: 1)")
@click.option(
    "--about", metavar="FILE", type=FILE, help="what is known of people: a row each, with a column user"
)
@click.option("--user", metavar="NAME", help="say what this person wants, instead of what people share")
@click.option("--out", "people", metavar="FILE", type=FILE, help="write a row a person: .csv or .parquet")
@click.option("--save", metavar="FILE", type=FILE, help="write the population, JSON, for rank and explain")
@click.option("--report", metavar="FILE", type=FILE, help="write an HTML page with pictures")
@json_option
def people(**given: Any) -> None:
    """Learn everybody's taste and what people share; say it in words, and how far to trust it. `coombs fit`
    does the same where answers are of several people; this command also tells what one of them wants, in the
    light of all.
    """
    options = SimpleNamespace(**given, out=None)
    population = _fitted(options)
    told = population.explain() if options.user is None else population.person(options.user).explain()
    written = write_population(population, options)
    if options.as_json:
        output.as_json(told.to_dict() | {"written": options.people, "saved": options.save, "files": written})
        return
    print(told)
    print_files(written)


@command(
    "groups",
    "find groups of people who want the same",
    "coombs groups items.csv answers.csv",
    "Answers are as for `coombs fit`, with a column user.",
)
@_ITEMS
@_ANSWERS
@features_option
@_METRIC
@click.option("--groups", metavar="N", default="auto", help="how many there are (default: auto)")
@click.option("--top", metavar="K", type=positive, default=5, help="best items of each to list (default: 5)")
@json_option
def groups(**given: Any) -> None:
    """Find groups, say who is in each and what is best for them."""
    options = SimpleNamespace(**given)
    population = _fitted(options)
    has_pattern = bool(population.explain().has_pattern)
    if options.as_json:
        found = [group_json(one, options.top) for one in population.groups_]
        output.as_json({"groups": found, "has_pattern": has_pattern})
        return
    output.page(_sections(population, options.top))


def _sections(population: Population, top: int) -> list[Any]:
    """Groups in words; without a pattern there is nothing to tell."""
    from coombs.insights.people_explanation import PeopleExplanation
    from coombs.render.people_html import group_sections
    from coombs.render.people_text import people_sections
    from coombs.render.sections import Section
    from coombs.render.sentences import sections

    told = population.explain()
    if not isinstance(told, PeopleExplanation):
        return sections(told)
    if told.has_pattern and len(told.groups) > 1:
        return group_sections(population, top, MOST_MEMBERS)
    pages = people_sections(told)
    if told.has_pattern:
        pages.insert(0, Section("One group", ["The answers do not tell more than one group of people."]))
    return pages


def _fitted(options: SimpleNamespace) -> Population:
    """The population that is asked for."""
    lazy_imports.make_lazy()
    files = (getattr(options, name, None) for name in ("people", "save", "report"))
    check_output_paths(*files)
    check_table_path(getattr(options, "people", None))
    if getattr(options, "report", None):
        from coombs.render.canvas import need_matplotlib

        need_matplotlib()
    data = read_answers(options.items, options.answers, options.features).data
    if data.answer_users is None:
        raise coombs.InputError(
            f"{options.answers or options.items} has no column user with names in it, so that nobody can be "
            "told apart; coombs fit takes all answers for one person's."
        )
    return fitted_population(data, options.metric, options.groups, getattr(options, "about", None))
