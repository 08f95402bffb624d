"""Every experiment of the paper again: `coombs reproduce all --out results/`.

One module for each kind of experiment, a runner that keeps what is done, and a report that holds the
paper's claims against what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coombs.data.tables import InputError

if TYPE_CHECKING:
    from coombs.paper.experiment import Experiment


def all_experiments() -> tuple[Experiment, ...]:
    """In the paper's order."""
    from coombs.paper.admissions import GRADCAFE, RANKED, UNRANKED
    from coombs.paper.proposition import PROPOSITION
    from coombs.paper.sweeps import ALTERNATING, EUCLIDEAN, IDENTITY, SINGLE_STEP

    return (SINGLE_STEP, EUCLIDEAN, IDENTITY, ALTERNATING, UNRANKED, RANKED, GRADCAFE, PROPOSITION)


def other_experiments() -> tuple[Experiment, ...]:
    """Of other papers, which "all" leaves out."""
    from coombs.paper.crowd_experiment import MANY_PEOPLE

    return (MANY_PEOPLE,)


def chosen(names: Sequence[str], out: Path) -> tuple[Experiment, ...]:
    """The experiments of these names ("all": the paper's), and those that are finished in the folder."""
    papers = {each.name for each in all_experiments()}
    known = {each.name: each for each in (*all_experiments(), *other_experiments())}
    for name in names:
        if name != "all" and name not in known:
            raise InputError(f"There is no experiment {name!r}; there are {', '.join(known)}, and all.")
    finished = [name for name in known if (out / name / "summary.json").exists()]
    wanted = {*names, *finished, *(papers if "all" in names else ())}
    return tuple(each for name, each in known.items() if name in wanted)
