"""What somebody may want, by their own answers and by what others answered, each as far as it predicts.

Before any answer, one's own belief is the likelier. Then Bayes' rule weighs them, by how likely each makes
the answers of this person. Who is like others is soon known from few answers; of who is unlike anybody, what
others answered is soon forgotten, and what is left is the belief that there would be without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, logsumexp, softmax

from coombs.blas import serial

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.belief import AnswerRows, Belief
    from coombs.inference.people.people_prior import ItemsPrior
    from coombs.inference.people.tastes import Seen, Taste

LOG_ODDS = -2.0
"""Log odds, before any answer, that what others answered tells of somebody.

With 0 somebody unlike anybody needs more questions than without others, with -4 somebody like others saves
fewer than half (benchmarks/prior.md).
"""
LEAST_SHARE = 1e-3
"""Share of the draws below which a part has none."""
FEW = 100
"""Items over which the scale of a draw is measured, at most."""


class DrawnTaste(NamedTuple):
    """Weights (S, D + M) drawn from a taste, and which of the whole belief's draws they are."""

    taste: Taste
    weights: Matrix
    part: int
    numbers: Index


@dataclass(frozen=True)
class PopulationBelief:
    """Draws of one's own belief, and of what it is with others' answers.

    Parameters
    ----------
    own : the belief by the person's own answers alone
    people : what others' answers tell of anybody about these items
    tastes, log_evidence : of each kind of preference there, the person's taste, and how likely it makes
        their answers (log); none where answers are of other shapes than pairs
    """

    own: Belief
    people: ItemsPrior
    tastes: tuple[Taste, ...]
    log_evidence: Vector

    @classmethod
    def prior(cls, own: Belief, people: ItemsPrior) -> Self:
        """Before any answer."""
        tastes = tuple(part.anybody() for part in people.parts)
        return cls(own, people, tastes, np.zeros(len(tastes)))

    @property
    def items(self) -> Matrix:
        """Standardised."""
        return self.own.items

    @property
    def winners(self) -> Index:
        """Of the answers so far."""
        return self.own.winners

    @property
    def losers(self) -> Index:
        """Of the answers so far."""
        return self.own.losers

    def after(self, new: AnswerRows, rng: np.random.Generator) -> Self:
        """Given more answers."""
        if not len(new.winners):
            return self
        own = self.own.after(new, rng)
        if own.sets is not None:
            # The two could not be weighed by the same answers.
            return replace(self, own=own, tastes=(), log_evidence=np.zeros(0))
        used, place = np.unique(np.concatenate([own.winners, own.losers]), return_inverse=True)
        won, lost = place.reshape(2, -1)
        with serial(0):
            found = [
                part.given(won, lost, own.weights, seen)
                for part, seen in zip(self.people.parts, self.people.seen(own.items, used), strict=True)
            ]
        evidence = np.array([one for _, one in found])
        return replace(self, own=own, tastes=tuple(taste for taste, _ in found), log_evidence=evidence)

    def light(self) -> Self:
        """Without what everybody's belief in a study has alike, to be sent to another process and back."""
        return replace(self, own=self.own.light(), people=self.people.light())

    def whole(self, like: Any) -> Self:
        """With what another belief of the same study has."""
        return replace(self, own=self.own.whole(like.own), people=like.people)

    @property
    def share(self) -> float:
        """How likely it is that others' answers tell of this person."""
        if not self.tastes:
            return 0.0
        log_people = float(logsumexp(self.log_evidence + np.log(self.people.weights)))
        return float(expit(log_people - self.own.total_evidence + LOG_ODDS))

    @cached_property
    def _drawn(self) -> tuple[DrawnTaste, ...]:
        """Of each part as many as it is likely, in the places of one's own."""
        count = len(self.own.draws)
        if not self.tastes or self.share < LEAST_SHARE:
            return ()
        shares = self.share * softmax(self.log_evidence + np.log(self.people.weights))
        ends = np.round(np.cumsum(shares) * count).astype(int)
        # Evenly spread, as one's own are in the order of their kinds.
        order = np.argsort((np.arange(count) * _GOLDEN) % 1.0, kind="stable")
        pairs = zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True)
        return tuple(
            DrawnTaste(taste, taste.weights(end - begin), k, order[begin:end])
            for k, (taste, (begin, end)) in enumerate(zip(self.tastes, pairs, strict=True))
            if end > begin
        )

    def scores(self, positions: Index, every: int = 1) -> tuple[Matrix, Vector]:
        """(n, S) scores of some items in `every` so many draws, less being better, and (S,) lapses."""
        scores, lapses = self.own.scores(positions)
        if self._drawn:
            scores, lapses = np.array(scores, dtype=float), np.array(lapses, dtype=float)
            seen = self.people.seen(self.items, np.asarray(positions))
            for one in self._drawn:
                scores[:, one.numbers] = -_utilities(one, seen[one.part])
                lapses[one.numbers] = one.taste.lapse
        return scores[:, ::every], lapses[::every]

    def mean_scores(self) -> Vector:
        """(N,) scores of all items by the draws' mean, each at the same scale."""
        return self._mean_scores

    @cached_property
    def _mean_scores(self) -> Vector:
        own, count = self.own.mean_scores(), len(self.own.draws)
        if not self._drawn:
            return own
        few = np.linspace(0, len(self.items) - 1, min(len(self.items), FEW)).astype(np.intp)
        some, every = self.people.seen(self.items, few), np.arange(len(self.items))
        whole = some if len(few) == len(self.items) else self.people.seen(self.items, every)
        result: Vector = own * (1 - sum(len(one.numbers) for one in self._drawn) / count)
        for one in self._drawn:
            per = 1 / np.maximum(_utilities(one, some[one.part]).std(axis=0), 1e-12) / count
            result = result - one.taste.design(whole[one.part])[0] @ (per @ one.weights)
        return result


_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are evenly spread over any range."""


def _utilities(drawn: DrawnTaste, seen: Seen) -> Matrix:
    """(n, S) utilities of items; what a draw has no effect of is as surprising as such effects are."""
    design, strange = drawn.taste.design(seen)
    result: Matrix = design @ drawn.weights.T
    count = len(drawn.weights)
    for row in np.flatnonzero(strange):
        sizes = np.sqrt(strange[row]) * drawn.taste.drawn_scales(count)
        result[row] += sizes * _normal(int(seen.known[row]), count)
    return result


@lru_cache(maxsize=2_000)
def _normal(position: int, count: int) -> Vector:
    """Standard normal numbers that belong to an item."""
    return np.random.default_rng(position).standard_normal(count)
