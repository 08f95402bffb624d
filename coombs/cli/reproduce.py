"""`coombs reproduce`: the paper's experiments."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from coombs.cli.options import argument, command, positive, seed_option


@command(
    "reproduce",
    "every experiment of the paper again",
    "coombs reproduce proposition --quick --trials 1 --out results",
)
@argument("experiments", "names, or all; see --list", nargs=-1, type=str, metavar="[EXPERIMENT]...")
@click.option("--list", "only_list", is_flag=True, help="name the experiments and stop")
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    default="results",
    help="folder (default: results)",
)
@click.option("--trials", metavar="N", type=positive, help="of each cell (default: the paper's)")
@click.option("--quick", is_flag=True, help="few cells and trials: minutes")
@click.option("--jobs", metavar="N", type=positive, help="processes (default: a core each)")
@seed_option
def reproduce(
    experiments: tuple[str, ...],
    only_list: bool,
    out: Path,
    trials: int | None,
    quick: bool,
    jobs: int | None,
    seed: int,
) -> None:
    """Remake the experiments of Xu & Davenport (2020), with IdealPoint beside theirs, or those of Canal,
    Mason, Vinayak & Nowak (2022): many-people. A run that was stopped goes on where it was.
    """
    from coombs.paper import all_experiments, chosen, other_experiments
    from coombs.paper.report import write_report
    from coombs.paper.runner import Run, reproduce
    from coombs.render.canvas import need_matplotlib

    if only_list or not experiments:
        for one in (*all_experiments(), *other_experiments()):
            print(f"{one.name:<14}{one.title}")
        return
    need_matplotlib()
    plan = Run(out, seed, trials, quick, jobs or os.cpu_count() or 1)
    wanted = chosen(experiments, out)
    for one in wanted:
        if (reason := one.needs()) is not None:
            print(f"coombs: {one.name} is left out: {reason}", file=sys.stderr)
    print(write_report(wanted, reproduce(wanted, plan), plan))
