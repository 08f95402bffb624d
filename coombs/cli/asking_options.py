"""Options of commands that say how a study asks: sets, fixed questions, repeats, attention checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
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


def planned_options(function: Function) -> Function:
    """Add the options of fixed questions, repeats and checks to a command."""
    return fixed_option(repeats_option(attention_option(function)))


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
