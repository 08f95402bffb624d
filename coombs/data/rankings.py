"""Choices that follow each other: the best of all, then the best of the others, and so on, make a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Index
    from coombs.data.rival_sets import Choices


class Rankings(NamedTuple):
    """Rankings of at most K things, best first: rows (R, K) of the choices of each, and members (R, K).

    The choice of a place is among the things from there on; where there is none, the row is -1. Where there
    are fewer things, the first one fills the rest, which is not `present`.
    """

    rows: Index
    members: Index
    present: NDArray[np.bool_]


def in_rankings(choices: tuple[Choices, ...]) -> tuple[tuple[Choices, ...], tuple[Rankings, ...]]:
    """The choices that stand alone, and rankings of two or more of the others.

    Where only a few choices happen to follow each other, all stand alone: arrays of their own would cost more
    than they save.
    """
    chains = [chain for chain in _chains(choices) if len(chain) > 1]
    if 2 * sum(map(len, chains)) < sum(len(one.rows) for one in choices):
        return choices, ()
    used = np.array([row for chain in chains for row, _ in chain], dtype=np.intp)
    left = [_only(one, ~np.isin(one.rows, used)) for one in choices]
    ranks = np.array([np.ceil(np.log2(len(chain[0][1]))) for chain in chains])
    # Of about the same number of things, so that there are few arrays and little is filled up.
    found = (_stacked([chains[i] for i in np.flatnonzero(ranks == rank)]) for rank in np.unique(ranks))
    return tuple(one for one in left if len(one.rows)), tuple(found)


def _only(choices: Choices, kept: NDArray[np.bool_]) -> Choices:
    rows, members, present, signs = choices
    return type(choices)(rows[kept], members[kept], present[kept], signs[kept])


def _chains(choices: tuple[Choices, ...]) -> list[list[tuple[int, list[int]]]]:
    """Rows of choices of a best, each among the rivals of the one before, with what each is among."""
    rows: dict[int, list[int]] = {}
    for one in choices:
        for i in np.flatnonzero(one.signs > 0):
            rows[int(one.rows[i])] = one.members[i][one.present[i]].tolist()
    free: dict[frozenset[int], list[int]] = {}
    for row in sorted(rows):
        free.setdefault(frozenset(rows[row]), []).append(row)
    chains = []
    for first in sorted(rows, key=lambda row: (-len(rows[row]), row)):
        if first not in free[frozenset(rows[first])]:
            continue
        chain, here = [], first
        while True:
            free[frozenset(rows[here])].remove(here)
            chain.append((here, rows[here]))
            after = free.get(frozenset(rows[here][1:]))
            if not after:
                break
            here = after[0]
        chains.append(chain)
    return chains


def _stacked(chains: list[list[tuple[int, list[int]]]]) -> Rankings:
    """Those in one array."""
    k = max(len(chain[0][1]) for chain in chains)
    rows, members = np.full((len(chains), k), -1), np.zeros((len(chains), k), dtype=np.intp)
    present = np.zeros((len(chains), k), dtype=bool)
    for i, chain in enumerate(chains):
        order = [things[0] for _, things in chain] + chain[-1][1][1:]
        rows[i, : len(chain)] = [row for row, _ in chain]
        members[i, : len(order)], members[i, len(order) :] = order, order[0]
        present[i, : len(order)] = True
    return Rankings(rows, members, present)
