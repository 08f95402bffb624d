"""The command line: `coombs <command>`; each command is one call of the library."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on bad input."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    from coombs.tables import InputError

    try:
        return int(options.run(options) or 0)
    except InputError as error:
        print(f"coombs: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("coombs: stopped; what was finished is kept.", file=sys.stderr)
        return 130


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="coombs", description='Learn preferences from "A or B?" answers: an ideal point and a metric.'
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
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


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return number


def _demo(_: argparse.Namespace) -> None:
    from coombs import demo

    demo.main()


def _reproduce(options: argparse.Namespace) -> None:
    from coombs.paper import all_experiments, chosen
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
    print(write_report(experiments, options.out, run))


if __name__ == "__main__":
    sys.exit(main())
