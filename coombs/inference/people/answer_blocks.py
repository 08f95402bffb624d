"""Answers of many people: those with about as many are one block, which is computed at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector

GROWTH = 1.3
"""How many times as many answers as the fewest anybody in a block may have."""
LARGEST = 40_000
"""Answers in a block, at most, unless one person has more: so many stay in a processor's cache."""


class LocalItems(NamedTuple):
    """The items of each person's answers: (K, M), or -1; (K, A, M) of 1 and -1; and (K,) how many."""

    items: Index
    incidence: Matrix
    counts: Index


@dataclass(frozen=True, eq=False)
class AnswerBlock:
    """Answers of K people, A each: winners and losers (K, A) are items, `weights` 0 where there is none.

    `people` are positions among all; `rows` (K, A) say which answer each is, -1 where there is none; `about`
    (K, q) are covariates of the people, None without any.
    """

    people: Index
    winners: Index
    losers: Index
    weights: Matrix
    rows: Index
    about: Matrix | None = None

    @cached_property
    def questions(self) -> Index | None:
        """(K, A) which answers of a person are about the same two items; None if no two are."""
        n = int(max(self.winners.max(), self.losers.max())) + 1
        low, high = np.minimum(self.winners, self.losers), np.maximum(self.winners, self.losers)
        # What is not there is a question of its own.
        code = np.where(self.rows >= 0, low.astype(np.int64) * n + high, -1 - np.arange(low.shape[1]))
        order = np.argsort(code, axis=1, kind="stable")
        ranked = np.take_along_axis(code, order, axis=1)
        is_new = np.ones(ranked.shape, dtype=bool)
        is_new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        if is_new.all():
            return None
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.cumsum(is_new, axis=1) - 1, axis=1)
        return place

    def of_question(self, values: Matrix) -> Matrix:
        """(..., K, A) sums over all that the person said about the same two items, in place of each."""
        if self.questions is None:
            return values
        k, a = self.weights.shape
        place = (self.questions + a * np.arange(k)[:, None]).ravel()
        flat = values.reshape(-1, k * a)
        sums = np.array([np.bincount(place, row, k * a)[place] for row in flat])
        return sums.reshape(values.shape)

    @cached_property
    def local(self) -> LocalItems:
        """The items that each person's answers are about."""
        k, a = self.winners.shape
        present = np.tile(self.rows >= 0, (1, 2))
        # Answers that are not there sort last.
        both = np.where(present, np.hstack([self.winners, self.losers]), np.iinfo(np.int32).max)
        order = np.argsort(both, axis=1, kind="stable")
        ranked = np.take_along_axis(both, order, axis=1)
        is_new = np.ones(ranked.shape, dtype=bool)
        is_new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        number = np.cumsum(is_new, axis=1) - 1
        place = np.empty_like(order)
        np.put_along_axis(place, order, number, axis=1)
        counts = (is_new & np.take_along_axis(present, order, axis=1)).sum(axis=1)
        size = max(int(counts.max(initial=0)), 1)
        items = np.full((k, size), -1)
        rows = np.arange(k)[:, None]
        inside = number < size
        items[np.broadcast_to(rows, number.shape)[inside], number[inside]] = ranked[inside]
        items[np.arange(size) >= counts[:, None]] = -1
        incidence = np.zeros((k, a, size))
        here = np.nonzero(self.rows >= 0)
        incidence[*here, place[:, :a][here]] += 1.0
        incidence[*here, place[:, a:][here]] -= 1.0
        return LocalItems(items, incidence, counts)

    @cached_property
    def totals(self) -> Vector:
        """(K,) how many answers everybody gave, by weight."""
        result: Vector = self.weights.sum(axis=1)
        return result

    def only(self, chosen: Index) -> AnswerBlock:
        """Some of the people."""
        return AnswerBlock(
            self.people[chosen],
            self.winners[chosen],
            self.losers[chosen],
            self.weights[chosen],
            self.rows[chosen],
            None if self.about is None else self.about[chosen],
        )

    def design(self, coordinates: Matrix, effect: float = 0.0) -> Matrix:
        """(K, A, D) what each margin, the winner's utility less the loser's, is a multiple of.

        With an `effect`, its size times each of the person's own items follows.
        """
        flat = coordinates.take(self.winners.ravel(), axis=0)
        flat -= coordinates.take(self.losers.ravel(), axis=0)
        result: Matrix = flat.reshape(*self.winners.shape, -1)
        return np.concatenate([result, effect * self.local.incidence], axis=2) if effect else result

    def margins(self, utilities: Vector) -> Matrix:
        """(K, A) of utilities that are the same for everybody."""
        result: Matrix = utilities.take(self.winners) - utilities.take(self.losers)
        return result


def blocks_of(
    winners: Index,
    losers: Index,
    weights: Vector,
    people: Index,
    n_people: int,
    about: Matrix | None = None,
) -> tuple[AnswerBlock, ...]:
    """The answers of everybody who gave any, by how many they gave; `about` are everybody's covariates."""
    found = tuple(_blocks(winners, losers, weights, people, n_people))
    return found if about is None else tuple(replace(one, about=about[one.people]) for one in found)


def some_people(blocks: tuple[AnswerBlock, ...], count: int) -> tuple[AnswerBlock, ...]:
    """So many of the people, evenly by how many answers they gave; blocks are made full again."""
    ends = np.cumsum([len(block.people) for block in blocks])
    chosen = np.linspace(0, ends[-1] - 1, count).astype(np.intp)
    parts = [
        block.only(chosen[(chosen >= end - len(block.people)) & (chosen < end)] - (end - len(block.people)))
        for block, end in zip(blocks, ends, strict=True)
    ]
    full: list[list[AnswerBlock]] = []
    for part in parts:
        if not len(part.people):
            continue
        size, width = part.weights.shape
        if full and full[-1][0].weights.shape[1] == width:
            total = size + sum(len(one.people) for one in full[-1])
            if total * width <= LARGEST:
                full[-1].append(part)
                continue
        full.append([part])
    return tuple(_together(some) for some in full)


def _together(blocks: list[AnswerBlock]) -> AnswerBlock:
    """Blocks of people with as many answers, as one."""
    columns = [(one.people, one.winners, one.losers, one.weights, one.rows) for one in blocks]
    about = [one.about for one in blocks if one.about is not None]
    whole = AnswerBlock(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
    return replace(whole, about=np.concatenate(about)) if about else whole


def _blocks(
    winners: Index, losers: Index, weights: Vector, people: Index, n_people: int
) -> Iterator[AnswerBlock]:
    order = np.argsort(people, kind="stable")
    counts = np.bincount(people, minlength=n_people)
    starts = np.cumsum(counts) - counts
    ranked = np.argsort(counts, kind="stable")
    ranked = ranked[np.searchsorted(counts[ranked], 1) :]
    begin = 0
    while begin < len(ranked):
        fewest = int(counts[ranked[begin]])
        end = int(np.searchsorted(counts[ranked], max(int(fewest * GROWTH), fewest), side="right"))
        end = min(end, begin + max(1, LARGEST // max(int(fewest * GROWTH), 1)))
        yield _block(ranked[begin:end], starts, counts, order, (winners, losers, weights))
        begin = end


def _block(
    some: Index, starts: Index, counts: Index, order: Index, answers: tuple[Index, Index, Vector]
) -> AnswerBlock:
    size = int(counts[some].max())
    place = np.arange(size)
    present: NDArray[np.bool_] = place < counts[some][:, None]
    at = order[np.where(present, starts[some][:, None] + place, 0)]
    # An answer that is not there is about an item and itself, and counts nothing.
    winners, losers, weights = (np.where(present, part[at], 0) for part in answers)
    return AnswerBlock(
        some,
        winners.astype(np.int32),
        losers.astype(np.int32),
        weights.astype(float),
        np.where(present, at, -1).astype(np.int32),
    )
