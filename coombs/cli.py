"""The command line: `coombs <command>`; each command is one call of the library."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """One that refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """The line, and how to learn more."""
        self.exit(2, f"coombs: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on bad input."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = build_parser().parse_args(arguments, argparse.Namespace(command=arguments))
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("coombs: stopped; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; what is left of it must not fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(options: argparse.Namespace) -> int:
    from coombs.tables import InputError

    try:
        return int(options.run(options) or 0)
    except InputError as error:
        print(f"coombs: {error}", file=sys.stderr)
        return 2


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = Parser(
        prog="coombs", description='Learn preferences from "A or B?" answers: an ideal point and a metric.'
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_ask(commands)
    demo = commands.add_parser("demo", help="learn what a simulated person wants")
    demo.set_defaults(run=_demo)
    reproduce = commands.add_parser(
        "reproduce",
        help="every experiment of the paper again",
        description="Remake the experiments of Xu & Davenport (2020), with IdealPoint beside theirs.",
    )
    reproduce.add_argument("experiments", nargs="*", metavar="experiment", help="names, or all; see --list")
    reproduce.add_argument("--list", action="store_true", help="name the experiments and stop")
    reproduce.add_argument("--out", type=Path, default=Path("results"), help="folder (default: results)")
    reproduce.add_argument("--trials", type=_positive, help="of each cell (default: the paper's)")
    reproduce.add_argument("--quick", action="store_true", help="few cells and trials: minutes")
    reproduce.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="processes (default: a core each)"
    )
    reproduce.add_argument("--seed", type=int, default=0, help="of all chance (default: 0)")
    reproduce.set_defaults(run=_reproduce)
    return parser


def _add_ask(commands: argparse._SubParsersAction[Parser]) -> None:
    ask = commands.add_parser(
        "ask",
        help='answer "A or B?" here, question after question',
        description="Ask about the items of a file until the best of them are known. Every answer is stored "
        "at once; the same command goes on where it was left.",
        epilog="Keys: left, right, down (or a, b, t) for A, B, can't say; s skips, u undoes, q quits, "
        "? helps. In a pipe: one of left, right, tie, skip, undo, quit a line.",
    )
    ask.add_argument("items", help="CSV or Parquet file, an item a row; text columns are shown")
    ask.add_argument("--name", metavar="STUDY", help="of the study (default: the file's)")
    ask.add_argument(
        "--storage",
        metavar="URL",
        default="sqlite:///coombs.db",
        help="where answers are kept (default: sqlite:///coombs.db)",
    )
    ask.add_argument("--respondent", metavar="NAME", default="me", help="who answers (default: me)")
    ask.add_argument("--features", metavar="A,B,C", help="columns to learn from (default: all numbers)")
    ask.add_argument(
        "--strategy",
        metavar="information|best|random",
        help="how questions are chosen (default: information)",
    )
    ask.add_argument("--top", metavar="K", type=_positive, help="how many best items to find (default: 5)")
    ask.add_argument("--certainty", metavar="P", type=float, help="how certain of them to be (default: 0.8)")
    ask.add_argument("--questions", metavar="N", type=_positive, help="stop after N answers in all")
    ask.add_argument("--seed", metavar="N", type=int, help="of all chance (default: 0)")
    ask.add_argument("--json", action="store_true", help="print the result as JSON, questions on stderr")
    ask.set_defaults(run=_ask)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _demo(_: argparse.Namespace) -> None:
    from coombs import demo

    demo.main()


def _ask(options: argparse.Namespace) -> None:
    from coombs.tables import InputError
    from coombs.terminal import Plan, ask

    given = {name: getattr(options, name) for name in ("strategy", "top", "certainty", "seed")}
    plan = Plan(
        options.items,
        options.name,
        options.storage,
        options.respondent,
        None if options.features is None else [name.strip() for name in options.features.split(",")],
        {name: value for name, value in given.items() if value is not None},
        options.questions,
        options.json,
        options.command,
    )
    try:
        ask(plan)
    except ImportError as error:
        raise InputError(str(error)) from error


def _reproduce(options: argparse.Namespace) -> None:
    from coombs.paper import all_experiments, chosen, with_earlier
    from coombs.paper.report import write_report
    from coombs.paper.runner import Run, reproduce
    from coombs.plots.draw import need_matplotlib
    from coombs.tables import InputError

    if options.list or not options.experiments:
        for one in all_experiments():
            print(f"{one.name:<14}{one.title}")
        return
    try:
        need_matplotlib()
    except ImportError as error:
        raise InputError(str(error)) from error
    run = Run(options.out, options.seed, options.trials, options.quick, options.jobs)
    experiments = chosen(options.experiments)
    for one in experiments:
        if (reason := one.needs()) is not None:
            print(f"coombs: {one.name} is left out: {reason}", file=sys.stderr)
    reproduce(experiments, run)
    print(write_report(with_earlier(experiments, options.out), options.out, run))


if __name__ == "__main__":
    sys.exit(main())
