"""`coombs reproduce`: the paper's experiments."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from coombs.cli.parser import Commands, add_command, positive, whole


def add(commands: Commands) -> None:
    """The command and its options."""
    reproduce = add_command(
        commands,
        "reproduce",
        run,
        "coombs reproduce proposition --quick --trials 1 --out results",
        help="every experiment of the paper again",
        description="Remake the experiments of Xu & Davenport (2020), with IdealPoint beside theirs. "
        "A run that was stopped goes on where it was.",
    )
    reproduce.add_argument("experiments", nargs="*", metavar="experiment", help="names, or all; see --list")
    reproduce.add_argument("--list", action="store_true", help="name the experiments and stop")
    reproduce.add_argument(
        "--out", metavar="FOLDER", type=Path, default=Path("results"), help="folder (default: results)"
    )
    reproduce.add_argument("--trials", metavar="N", type=positive, help="of each cell (default: the paper's)")
    reproduce.add_argument("--quick", action="store_true", help="few cells and trials: minutes")
    reproduce.add_argument(
        "--jobs",
        metavar="N",
        type=positive,
        default=os.cpu_count() or 1,
        help="processes (default: a core each)",
    )
    reproduce.add_argument("--seed", metavar="N", type=whole, default=0, help="of all chance (default: 0)")


def run(options: argparse.Namespace) -> None:
    """Run the experiments, or name them."""
    from coombs.paper import all_experiments, chosen, with_earlier
    from coombs.paper.report import write_report
    from coombs.paper.runner import Run, reproduce
    from coombs.render.canvas import need_matplotlib

    if options.list or not options.experiments:
        for one in all_experiments():
            print(f"{one.name:<14}{one.title}")
        return
    need_matplotlib()
    plan = Run(options.out, options.seed, options.trials, options.quick, options.jobs)
    experiments = chosen(options.experiments)
    for one in experiments:
        if (reason := one.needs()) is not None:
            print(f"coombs: {one.name} is left out: {reason}", file=sys.stderr)
    reproduce(experiments, plan)
    print(write_report(with_earlier(experiments, options.out), options.out, plan))
