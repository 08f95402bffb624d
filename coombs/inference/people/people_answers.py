"""Answers of many people about scaled items, as they are learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.people.answer_blocks import AnswerBlock, blocks_of
from coombs.inference.people.content_keys import answer_keys, item_keys
from coombs.inference.people.covariate_slopes import Covariates, CovariateSlopes
from coombs.inference.people.population_prior import EFFECT_SIZE, PopulationPrior

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.tables import Levels

SEEN = 1.25
"""Times that a person sees an item, on average, from which on it may have an effect of its own for them."""
MOST_WITH_EFFECTS = 1_000_000
"""Answers up to which that is computed."""


class PeopleAnswers(NamedTuple):
    """Answers of everybody about scaled items: winners, losers, weights, and whose each is, from 0.

    `covariates` are what else is known of people; None if nothing is. `total` is how many answers there are,
    if these are of a sample of people.
    """

    items: Matrix
    levels: Levels
    winners: Index
    losers: Index
    weights: Vector
    people: Index
    n_people: int
    covariates: Covariates | None = None
    total: int = 0

    def only(self, people: Index) -> PeopleAnswers:
        """Those of some people, numbered anew."""
        place = np.full(self.n_people, -1)
        place[people] = np.arange(len(people))
        rows = np.flatnonzero(place[self.people] >= 0)
        kept = (self.winners[rows], self.losers[rows], self.weights[rows], place[self.people[rows]])
        about = None if self.covariates is None else self.covariates.of(people)
        return PeopleAnswers(self.items, self.levels, *kept, len(people), about, self.total)

    def some(self, count: int) -> PeopleAnswers:
        """Those of so many people, evenly by how many they gave, in an order that `order` tells."""
        able = self.order()[self.n_people - self.n_told :]
        return self.only(able[np.linspace(0, len(able) - 1, count).astype(np.intp)])

    @property
    def n_told(self) -> int:
        """How many people have said anything; an answer such as "none of these" may say nothing of items."""
        return len(np.unique(self.people))

    def order(self) -> Index:
        """The people in an order that depends neither on that of the answers nor on that of the items."""
        items = item_keys(self.items)
        key = answer_keys(items[self.winners], items[self.losers], self.weights)
        keys = np.bincount(self.people, key, self.n_people)
        counts = np.bincount(self.people, self.weights, self.n_people)
        return np.lexsort((keys.round(9), counts.round(9)))

    @property
    def first_effect(self) -> float:
        """Before any answer, the deviation of what an item is worth to one person beyond its features.

        Zero, for none, where people see hardly any item twice, which alone could tell; or are too many.
        """
        if max(len(self.winners), self.total) > MOST_WITH_EFFECTS:
            return 0.0
        n = len(self.items)
        ends = np.concatenate([self.people * n + self.winners, self.people * n + self.losers])
        return EFFECT_SIZE if 2 * self.weights.sum() >= SEEN * len(np.unique(ends)) else 0.0

    def blocks(self) -> tuple[AnswerBlock, ...]:
        """By how many everybody gave."""
        about = None if self.covariates is None else self.covariates.values
        return blocks_of(self.winners, self.losers, self.weights, self.people, self.n_people, about)

    def start(self, phi: Matrix, blocks: Index, caution: float, effect: float) -> PopulationPrior:
        """The population before any answer, of weights of items' coordinates in blocks."""
        first = PopulationPrior.first(phi, blocks, caution, effect)
        if self.covariates is None:
            return first
        return replace(first, slopes=CovariateSlopes.first(blocks, self.covariates.sources))
