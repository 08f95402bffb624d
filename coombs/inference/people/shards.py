"""Some of the people with their answers, as one worker keeps them: what a pass over them needs and gives.

Only the population goes out to where people are, and only sums come back (population_prior.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.inference.people.answer_blocks import AnswerBlock, blocks_of
from coombs.inference.people.population_fit import BlockPass, BlockSites, View, no_sites, pass_over
from coombs.inference.people.population_prior import Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from coombs.data.by_person import PersonAnswers
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.coordinates import Coordinates
    from coombs.inference.people.population_prior import PopulationPrior


@dataclass(frozen=True, eq=False)
class Shard:
    """Some people: what they are called, how many answers each gave, the answers, and the scaled items.

    `sites` are those of the last pass, by the number of the kind of preference.
    """

    names: NDArray[Any]
    counts: Index
    blocks: tuple[AnswerBlock, ...]
    items: Matrix
    sites: Mapping[int, BlockSites] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: PersonAnswers, items: Matrix) -> Shard:
        """From the answers in a part, about these scaled items."""
        n = len(answers.names)
        counts = np.bincount(answers.people, minlength=n)
        return cls(answers.names, counts, blocks_of(*answers[:4], n), items)

    def __sizeof__(self) -> int:
        # Dask moves what is small; this is not.
        blocks = [part for block in self.blocks for part in (block.winners, block.losers, block.weights)]
        sites = [part for kind in self.sites.values() for block in kind for one in block for part in one]
        return sum(part.nbytes for part in (*blocks, *sites, self.items)) + 100 * len(self.names)

    def phi(self, coordinates: Coordinates) -> Matrix:
        """Coordinates of the items."""
        known = np.arange(len(self.items)) if coordinates.n_effects else None
        return coordinates(self.items, known)


class SampledAnswers(NamedTuple):
    """Answers of some of the people in a shard: whose each is, by position among `names`."""

    winners: Index
    losers: Index
    weights: Vector
    people: Index
    names: NDArray[Any]


def shard_pass(
    shard: Shard, number: int, coordinates: Coordinates, prior: PopulationPrior, before: int
) -> tuple[Shard, Sums | None]:
    """One pass over a shard: with new sites of a kind, and what is to be added up; None of nobody."""
    if not shard.blocks:
        return shard, None
    found = _over(shard, number, coordinates, prior, before)
    sites = tuple(one.sites for one in found)
    sums = reduce(Sums.plus, (one.sums for one in found))
    return replace(shard, sites={**shard.sites, number: sites}), sums


def shard_members(
    shard: Shard, number: int, coordinates: Coordinates, prior: PopulationPrior, before: int
) -> tuple[BlockSites, tuple[Matrix, ...]]:
    """Sites and probabilities of components and coin with a population, from the sites of the last pass."""
    found = _over(shard, number, coordinates, prior, before)
    return tuple(one.sites for one in found), tuple(one.members for one in found)


def _over(
    shard: Shard, number: int, coordinates: Coordinates, prior: PopulationPrior, before: int
) -> list[BlockPass]:
    view, sites = View.of(prior, shard.phi(coordinates)), shard.sites.get(number)
    if sites is None:
        sites = tuple(no_sites(block, prior) for block in shard.blocks)
    with serial(0):
        return [
            pass_over(block, own, prior, view, before) for block, own in zip(shard.blocks, sites, strict=True)
        ]


def added_up(parts: list[Sums | None]) -> Sums:
    """The sums of all shards, in their order, whoever computed them."""
    return reduce(Sums.plus, [part for part in parts if part is not None])


def some_answers(shard: Shard, chosen: NDArray[np.bool_]) -> SampledAnswers:
    """Those of the chosen people of a shard."""
    place = np.cumsum(chosen) - 1
    columns: list[tuple[NDArray[Any], ...]] = []
    for block in shard.blocks:
        there = (block.rows >= 0) & chosen[block.people][:, None]
        whose = np.broadcast_to(place[block.people][:, None], there.shape)
        columns.append(tuple(part[there] for part in (block.winners, block.losers, block.weights, whose)))
    none = (np.zeros(0, dtype=np.intp),) * 2 + (np.zeros(0), np.zeros(0, dtype=np.intp))
    parts = [np.concatenate(column) for column in zip(*(columns or [none]), strict=True)]
    winners, losers, weights, people = parts
    return SampledAnswers(winners, losers, weights, people.astype(np.intp), shard.names[chosen])
