"""`coombs people` and `coombs groups`: what each of many people wants, and who wants the same."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import lazy_imports, show
from coombs.cli.fit import read_answers
from coombs.cli.model_files import check_output_paths
from coombs.cli.options import FILE, argument, command, features_option, json_option, positive

if TYPE_CHECKING:
    from coombs.estimators.population import Population

METRICS = ("auto", "none", "diagonal", "full", "smooth")
"""Kinds of preference that many people may have."""
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
@click.option("--user", metavar="NAME", help="say what this person wants, instead of what people share")
@click.option("--out", metavar="FILE", type=FILE, help="write one row per person: .csv or .parquet")
@click.option("--save", metavar="FILE", type=FILE, help="write the population, JSON, for rank and explain")
@json_option
def people(**given: Any) -> None:
    """Learn everybody's taste and what people share; say it in words, and how far to trust it."""
    options = SimpleNamespace(**given)
    population = _fitted(options)
    told = population.explain() if options.user is None else population.person(options.user).explain()
    if options.out:
        _write(population, options.out)
    if options.save:
        population.save(options.save)
    if options.as_json:
        show.as_json(told.to_dict() | {"written": options.out, "saved": options.save})
        return
    print(told)
    for name, path in (("People", options.out), ("Population", options.save)):
        if path:
            print(f"\n{name}: {path}")


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
    frame, has_pattern = population.to_frame(), bool(population.explain().has_pattern)
    found = []
    for number in range(1, population.n_groups_ + 1):
        members = frame.loc[frame["group"] == number, "user"].tolist()
        best: list[Any] = []
        if members and has_pattern:
            best = population.consensus("borda", group=number)["item"][: options.top].tolist()
        found.append({"group": number, "people": len(members), "members": members, "best": best})
    if options.as_json:
        show.as_json({"groups": found, "has_pattern": has_pattern})
        return
    show.page(_sections(population, found))


def _sections(population: Population, found: list[dict[str, Any]]) -> list[Any]:
    """Groups in words; without a pattern there is nothing to tell."""
    from coombs.data import naming
    from coombs.insights.people import PeopleExplanation
    from coombs.render.blocks import Section
    from coombs.render.people_text import people_sections
    from coombs.render.sentences import sections
    from coombs.words import listed

    told = population.explain()
    if not isinstance(told, PeopleExplanation):
        return sections(told)
    if not told.has_pattern:
        return people_sections(told)
    if len(found) == 1:
        sentence = "The answers do not tell more than one group of people."
        return [Section("One group", [sentence]), *people_sections(told)]
    pages = []
    for one in found:
        names = listed([naming.text(name) for name in one["members"]], MOST_MEMBERS)
        best = listed([naming.text(item) for item in one["best"]]) if one["best"] else "nothing"
        title = f"Group {one['group']}: {one['people']} of {told.n_people}"
        pages.append(Section(title, [f"{names}.", f"Best for them: {best}."]))
    return pages


def _fitted(options: SimpleNamespace) -> Population:
    """The population that is asked for; its warnings as sentences."""
    lazy_imports.make_lazy()
    check_output_paths(getattr(options, "out", None), getattr(options, "save", None))
    data = read_answers(options.items, options.answers, options.features).data
    if data.answer_users is None:
        raise coombs.InputError(
            f"{options.answers or options.items} has no column user, so that nobody can be told apart; "
            "coombs fit takes all answers for one person's."
        )
    population = coombs.Population(metric=options.metric, groups=_count(options.groups))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        population.fit(data)
    for one in raised:
        show.careful(one.message)
    return population


def _count(text: str) -> int | str:
    """A number of groups, or auto."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise coombs.InputError(f"--groups is {text!r}; it must be auto or a whole number from 1.")
    return text if text == "auto" else int(text)


def _write(population: Population, path: str) -> None:
    """A row a person; cells that a spreadsheet would take for formulas are guarded."""
    from coombs.data.files import replacing
    from coombs.data.formats import guard

    frame = population.to_frame()
    with replacing(path) as part:
        if str(path).endswith(".parquet"):
            frame.to_parquet(part)
            return
        for name in ("user", "best"):
            frame[name] = [guard(cell) if isinstance(cell, str) else cell for cell in frame[name]]
        frame.to_csv(part, index=False)
