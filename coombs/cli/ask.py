"""`coombs ask`: questions in the terminal."""

from __future__ import annotations

import argparse

from coombs.cli.parser import (
    Commands,
    add_command,
    add_features,
    add_json,
    add_storage,
    feature_list,
    positive,
    whole,
)


def add(commands: Commands) -> None:
    """The command and its options."""
    ask = add_command(
        commands,
        "ask",
        run,
        "coombs ask shop/items.csv --questions 30",
        help='answer "A or B?" here, question after question',
        description="Ask about the items of a file until the best of them are known. Every answer is stored "
        "at once; the same command goes on where it was left.",
        more="Keys: left, right, down (or a, b, t) for A, B, can't say; s skips, u undoes, q quits, "
        "? helps. In a pipe: one of left, right, tie, skip, undo, quit a line.",
    )
    ask.add_argument("items", help="CSV or Parquet file, an item a row; text columns are shown")
    ask.add_argument("--name", metavar="STUDY", help="of the study (default: the file's)")
    add_storage(ask)
    ask.add_argument("--respondent", metavar="NAME", default="me", help="who answers (default: me)")
    add_features(ask)
    ask.add_argument(
        "--strategy",
        metavar="information|best|random",
        help="how questions are chosen (default: information)",
    )
    ask.add_argument("--top", metavar="K", type=positive, help="how many best items to find (default: 5)")
    ask.add_argument("--certainty", metavar="P", type=float, help="how certain of them to be (default: 0.8)")
    ask.add_argument("--questions", metavar="N", type=positive, help="stop after N answers in all")
    ask.add_argument("--seed", metavar="N", type=whole, help="of all chance (default: 0)")
    add_json(ask, "print the result as JSON, questions on stderr")


def run(options: argparse.Namespace) -> None:
    """Ask, and say what the answers say."""
    from coombs.terminal import Plan, ask

    given = {name: getattr(options, name) for name in ("strategy", "top", "certainty", "seed")}
    plan = Plan(
        options.items,
        options.name,
        options.storage,
        options.respondent,
        feature_list(options.features),
        {name: value for name, value in given.items() if value is not None},
        options.questions,
        options.json,
        options.command,
    )
    ask(plan)
