"""`coombs ask`: questions in the terminal."""

from __future__ import annotations

from typing import Any

import click

from coombs.cli.options import (
    ASKING,
    argument,
    asking_settings,
    command,
    positive,
    storage_option,
    study_options,
    whole,
)

GIVEN = ("strategy", "top", "certainty", "seed", "wishes", "shared_prior")
"""Options that are settings of a study."""


@command(
    "ask",
    'answer "A or B?" here, question after question',
    "coombs ask shop/items.csv --questions 30",
    "Keys: left, right, down (or a, b, t) for A, B, can't say; s skips, u undoes, q quits, "
    "? helps. In a pipe: one of left, right, tie, skip, undo, quit a line. For a set (--set-size): the "
    "number of the best item, then that of the worst.",
)
@argument("items", "CSV, Excel, JSON or Parquet file, one row per item; text columns are shown")
@click.option("--name", metavar="STUDY", help="name of the study (default: the file's)")
@storage_option
@click.option("--respondent", metavar="NAME", default="me", help="who answers (default: me)")
@study_options
@click.option("--questions", metavar="N", type=positive, help="stop after N answers in all")
@click.option("--seed", metavar="N", type=whole, help="random seed (default: 0)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON, questions on stderr")
def ask(**options: Any) -> None:
    """Ask about the items of a file until the best of them are known. Every answer is stored at once; the
    same command continues where you stopped.
    """
    from coombs.terminal.question_loop import Plan, ask

    given = {name: options.pop(name) for name in GIVEN}
    settings = {name: value for name, value in given.items() if value not in (None, ())}
    settings |= asking_settings({name: options.pop(name, None) for name in ASKING})
    ask(Plan(**options, settings=settings, command=click.get_current_context().obj))
