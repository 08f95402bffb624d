"""How a command is declared, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import click

STORAGE = "sqlite:///coombs.db"
"""Where studies are kept unless `--storage` says otherwise."""
STRATEGIES = ("information", "best", "random", "fixed")
"""How questions can be chosen."""
Function: TypeAlias = Callable[..., None]
FILE = click.Path()
"""A path; shells complete it."""


class Argument(click.Argument):
    """An argument with help, which click itself knows from version 8.5 on."""

    def __init__(self, declarations: list[str], help: str = "", **settings: Any) -> None:
        super().__init__(declarations, **settings)
        self.help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """As that of an option: how it is written, and what it is."""
        return self.make_metavar(ctx), self.help or ""


class Command(click.Command):
    """A command; `more` stands below its options, and `example` is a call that works."""

    example = ""
    more = ""


def command(name: str, summary: str, example: str, more: str = "") -> Callable[[Function], Command]:
    """Makes a command of a function, whose docstring is the description."""
    epilog = f"{more}\n\n\b\nExample: {example}".strip()

    def made(function: Function) -> Command:
        result = click.command(name, cls=Command, short_help=summary, epilog=epilog)(function)
        result.example, result.more = example, more
        return result

    return made


def argument(name: str, help: str, **settings: Any) -> Callable[[Function], Function]:
    """An argument by position: a file unless another type is given."""
    return click.argument(name, cls=Argument, help=help, **{"type": FILE, **settings})


def positive(text: str | int) -> int:
    """A whole number from 1."""
    if not str(text).isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is not a positive whole number")
    return int(text)


def whole(text: str | int) -> int:
    """A whole number from 0."""
    if not str(text).isdecimal():
        raise click.BadParameter(f"{text!r} is not a whole number from 0")
    return int(text)


def names(text: str) -> list[str]:
    """A list with commas."""
    return [name.strip() for name in text.split(",")]


storage_option = click.option(
    "--storage",
    metavar="URL",
    default=STORAGE,
    envvar="COOMBS_STORAGE",
    help="where answers are kept: sqlite:///file.db or postgresql://... (default: that of the environment "
    f"variable COOMBS_STORAGE, or {STORAGE})",
)
features_option = click.option(
    "--features",
    metavar="A,B,C",
    type=names,
    help="columns to learn from, each with its role if you like (town:category, rating:ordered, size:S<M<L, "
    "price:log, date, number, yes/no); default: all but ids and text whose values all "
    "differ",
)
strategy_option = click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    help="how questions are chosen (default: information)",
)
top_option = click.option(
    "--top",
    metavar="K",
    type=positive,
    help="how many best items to find (default: by the number of items, 1, 3 or 5)",
)
certainty_option = click.option(
    "--certainty", metavar="P", type=float, help="how certain of them to be (default: 0.8)"
)
wish_option = click.option(
    "--wish",
    "wishes",
    metavar="TEXT",
    multiple=True,
    help="what is declared: 'price: less' (cheaper is never worse), 'size: more', or a limit, as "
    "'price <= 1500', 'town != harbour', 'balcony = yes'; may be repeated",
)
shared_prior_option = click.option(
    "--shared-prior/--no-shared-prior",
    "shared_prior",
    default=None,
    help="whether what others answered in the study helps to choose the questions (default: from ten "
    "people on)",
)
seed_option = click.option("--seed", metavar="N", type=whole, default=0, help="random seed (default: 0)")
user_option = click.option("--user", metavar="NAME", help="somebody in a saved population")
json_option = click.option("--json", "as_json", is_flag=True, help="print the result as JSON")


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
ASKING = ("set_size", "fixed", "repeats", "attention")
"""The options, by the names of the settings."""


set_size_option = click.option(
    "--set-size",
    metavar="N",
    type=click.IntRange(2, 5),
    help="items in a question: 2 for which of a pair (default), 3 to 5 for the best and the worst of a set",
)
fixed_option = click.option(
    "--fixed",
    metavar="TEXT",
    multiple=True,
    help="questions that everybody gets first: how many, or one by its items, as 'tea | milk'; may be "
    "repeated",
)
repeats_option = click.option(
    "--repeats",
    metavar="N,N",
    help="after how many answers an earlier question comes again, its sides swapped",
)
attention_option = click.option(
    "--attention",
    metavar="TEXT",
    multiple=True,
    help="a question with a known right answer, not learned from: after how many answers, the right item, "
    "the wrong one, as '10: tea > soap'; may be repeated",
)


def planned_options(function: Decorated) -> Decorated:
    """Add the options of fixed questions, repeats and checks to a command."""
    return fixed_option(repeats_option(attention_option(function)))


def study_options(function: Decorated) -> Decorated:
    """Add the options of a study that is made of a file, and of how it asks, to a command."""
    options = features_option, wish_option, shared_prior_option, strategy_option, set_size_option
    for option in reversed((*options, planned_options, top_option, certainty_option)):
        function = option(function)
    return function


def asking_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that options give; what is not given is not there."""
    from coombs.study.asking_texts import asking_value

    given: dict[str, Any] = {}
    for name in ASKING:
        value = options.get(name)
        if value in (None, ()):
            continue
        text = "\n".join(value) if isinstance(value, tuple) else str(value)
        given[name] = asking_value(text, name)
    return given
