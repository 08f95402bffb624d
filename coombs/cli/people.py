"""`coombs people` and `coombs groups`: what each of many people wants, and who wants the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import lazy_imports, show
from coombs.cli.fit import read_answers
from coombs.cli.model_files import check_output_paths, check_table_path
from coombs.cli.options import FILE, argument, command, features_option, json_option, positive
from coombs.cli.population_output import METRICS, fitted_population, group_json, print_files, write_population

if TYPE_CHECKING:
    from coombs.estimators.population import Population

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
        show.as_json(told.to_dict() | {"written": options.people, "saved": options.save, "files": written})
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
        show.as_json({"groups": found, "has_pattern": has_pattern})
        return
    show.page(_sections(population, options.top))


def _sections(population: Population, top: int) -> list[Any]:
    """Groups in words; without a pattern there is nothing to tell."""
    from coombs.insights.people_explanation import PeopleExplanation
    from coombs.render.blocks import Section
    from coombs.render.people_html import group_sections
    from coombs.render.people_text import people_sections
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
