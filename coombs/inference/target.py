"""The posterior of preferences: the log density that is maximised (its mode) or sampled.

Answer k with margin e = s_loser - s_winner has probability p = lapse / 2 + (1 - lapse) sigma(e):
a careless person answers at random. Scores are s_i = x_i' M x_i - 2 v' x_i + e^r t_i, with (M, v) of a
kind of preference and t_i an effect of item i that its features miss. The unknowns are the kind's,
the lapse's, (r, t), and the scores of anchors. All is done for many points y at once, (C, n), in
O(C (P + N d^2)). A choice among k has sets of rivals for losers (rival_sets.py), and lapse / k. Where ties
are possible, the loser of an answer has a head start h, and a tie the probability that remains,
1 - sigma(e - h) - sigma(-e - h) = (e^2h - 1) sigma(e - h) sigma(-e - h). So has a rating between two
thresholds, e being the margin to their middle and h half of their gap; one of k levels has lapse / k.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from coombs.data.answer_chance import HEAD_START, HEAD_START_WIDTH, LAPSE_ODDS, LAPSE_WIDTH
from coombs.data.graph import ComparisonGraph
from coombs.inference.kind import HALF_LOG_2_PI
from coombs.inference.probabilities import AnswerProbabilities, tied
from coombs.inference.quadratic_forms import quadratic_forms

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.data.rival_sets import RivalSets, Shares
    from coombs.inference.kind import Kind, Quadratic

EFFECT_SIZE = math.log(0.5)
"""Prior centre of the logarithm of the item effects' size, in logits."""
EFFECT_SIZE_ALONE = math.log(1.5)
"""Prior centre of the logarithm of the effects' size where items have no features, in logits."""
EFFECT_WIDTH = 1.0
"""Prior deviation of the logarithm of the effects' size."""
SMALLEST_LAPSE = 1e-9
"""Added so that no answer is impossible."""
LARGEST_HEAD_START = 15.0
"""The largest head start, in logits."""


@dataclass(frozen=True)
class ScoreParameters:
    """What points y mean: one (M, v, lapse) and the item effects (or none) of each; scores of anchors.

    `head_start` is that of the loser, where ties are possible.
    """

    metric: Matrix
    linear: Matrix
    lapse: Vector
    effects: Matrix | None
    anchors: Matrix | None = None
    head_start: Vector | None = None


class Density(NamedTuple):
    """Of each point: the negative log likelihood, the negative log prior, the gradient of their sum."""

    likelihood: Vector
    prior: Vector
    gradient: Matrix

    @property
    def value(self) -> Vector:
        """The negative log posterior, without its constant."""
        return self.likelihood + self.prior


class Target:
    """Value and gradient of the negative log posterior."""

    def __init__(
        self,
        items: Matrix,
        graph: ComparisonGraph,
        weights: Vector,
        kind: Kind,
        *,
        lapse: float | None = None,
        effects: bool = False,
        sets: RivalSets | None = None,
        directions: Directions | None = None,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> None:
        self.items: Matrix = np.asarray(items, dtype)
        self.graph, self.kind, self.sets, self.directions = graph, kind, sets, directions
        self._share = 1.0
        self.weights, self.lapse, self.effects, self.dtype = weights, lapse, effects, dtype
        self.d = items.shape[1]
        self.own = kind.size(self.d)
        self.effect_size = EFFECT_SIZE if self.own else EFFECT_SIZE_ALONE
        self.n_anchors = 0 if sets is None else sets.n_anchors
        self.has_ties = sets is not None and len(sets.ahead) > 0
        self.n_features = self.own + (lapse is None) + self.has_ties
        self.n = self.n_features + (1 + len(items)) * effects + self.n_anchors
        self._weights: Vector = np.asarray(weights, dtype)
        self._total = float(weights.sum())
        self._forms = quadratic_forms(self.items)
        self._buffers: Matrix = np.empty((3, 0, 0), dtype)

    @classmethod
    def about(cls, answers: Answers, kind: Kind, **settings: Any) -> Target:
        """The posterior given some answers."""
        parts = {"sets": answers.sets, "directions": answers.directions, **settings}
        return cls(answers.items, answers.graph(), answers.weights, kind, **parts)

    @property
    def effects_at(self) -> slice:
        """Where the items' effects are among the unknowns; their size comes before them."""
        first = self.n_features + 1
        return slice(first, first + len(self.items))

    @cached_property
    def chance(self) -> Vector:
        """(P, 1) probability of each answer if it is given at random; one number where all are of pairs."""
        if self.sets is None or not (self.sets.n_sets or self.has_ties or self.sets.cumulative):
            return np.full((1, 1), 0.5, self.dtype)
        count = self.sets.counts(len(self.items))
        winners = count[self.graph.winners]
        winners[self._ties] = 1
        return (1 / (winners + count[self.graph.losers])).astype(self.dtype)[:, None]

    @cached_property
    def _ties(self) -> Index:
        """Answers that are ties."""
        if self.sets is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.sets.are_ahead(self.graph.winners, len(self.items)))

    @cached_property
    def _in_bands(self) -> tuple[Index, Index]:
        """Answers that are ratings between two thresholds, and the bands they are in."""
        if self.sets is None:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        band = self.sets.band_of(self.graph.losers, len(self.items))
        rows = np.flatnonzero(band >= 0)
        return rows, band[rows]

    @cached_property
    def _gap_incidence(self) -> csr_array:
        """Anchors by ratings in bands: 1 for the first threshold of the band, -1 for the second."""
        assert self.sets is not None
        count, first = len(self._in_bands[0]), self.sets.bands[self._in_bands[1]]
        signs = np.repeat(np.array([1, -1], self.dtype), count)
        at = np.concatenate([first, first + 1]), np.tile(np.arange(count), 2)
        return csr_array((signs, at), shape=(self.n_anchors, count))

    @cached_property
    def _incidence(self) -> csr_array:
        """Q', rows by answers."""
        graph = self.graph
        ends = np.concatenate([graph.losers, graph.winners])
        ones = np.ones(graph.n_answers, self.dtype)
        rows = np.tile(np.arange(graph.n_answers), 2)
        shape = (graph.n_items, graph.n_answers)
        return csr_array((np.concatenate([ones, -ones]), (ends, rows)), shape=shape)

    def like(self, graph: ComparisonGraph, weights: Vector, **changes: Any) -> Target:
        """The same unknowns with other answers, or another precision."""
        names = ("lapse", "effects", "sets", "directions", "dtype")
        settings: dict[str, Any] = {name: getattr(self, name) for name in names} | changes
        kind = settings.pop("kind", self.kind)
        return Target(settings.pop("items", self.items), graph, weights, kind, **settings)

    def single(self) -> Target:
        """This target in single precision, which is enough to sample and twice as fast."""
        return self.like(self.graph, self.weights, dtype=np.float32)

    def with_effects(self) -> Target:
        """This target with an effect of each item: an unknown for their size and one for each, at the end."""
        return self.like(self.graph, self.weights, effects=True)

    def reweighted(self, weights: Vector) -> Self:
        """The same with other weights of the same answers; arrays are shared."""
        result = copy.copy(self)
        result.weights, result._weights = weights, np.asarray(weights, self.dtype)
        result._total = float(weights.sum())
        return result

    def softened(self, share: float) -> Self:
        """The same with only a share of what the declared directions count for; arrays are shared."""
        result = copy.copy(self)
        result._share = share
        return result

    def some(self, count: int, rng: np.random.Generator) -> Target:
        """The posterior given only so many of the answers, chosen at random."""
        chosen = rng.choice(self.graph.n_answers, count, replace=False)
        if self.sets is not None:
            return self.only(chosen)
        ends = np.concatenate([self.graph.winners[chosen], self.graph.losers[chosen]])
        touched, place = np.unique(ends, return_inverse=True)
        graph = ComparisonGraph(place[:count], place[count:], len(touched))
        return self.like(graph, self.weights[chosen], items=self.items[touched])

    def part(self, rows: slice) -> Target:
        """The same items and unknowns, with some of the answers."""
        if rows.start == 0 and rows.stop >= self.graph.n_answers:
            return self
        return self.only(rows)

    def only(self, rows: Index | slice) -> Target:
        """The same items and unknowns, with some of the answers."""
        graph = ComparisonGraph(self.graph.winners[rows], self.graph.losers[rows], self.graph.n_items)
        return self.like(graph, self.weights[rows])

    def draw_prior(self, count: int, rng: np.random.Generator) -> Matrix:
        """Points of the prior, (count, n), before any direction is declared."""
        rest = rng.standard_normal((count, self.n - self.own))
        return np.concatenate([self.kind.draw(count, self.d, rng), rest], axis=1)

    def scores(self, y: Matrix) -> ScoreParameters:
        """What the points mean."""
        return self._scores(y, self.kind.expand(y[:, : self.own], self.d))

    def _scores(self, y: Matrix, at: Quadratic) -> ScoreParameters:
        effects = self._size(y) * y[:, self.effects_at] if self.effects else None
        anchors = None
        if self.sets is not None and self.n_anchors:
            anchors = self.sets.thresholds.scores(y[:, self.n - self.n_anchors :])
        head_start = self._head_start(y) if self.has_ties else None
        return ScoreParameters(at.metric, at.linear, self._lapse(y), effects, anchors, head_start)

    def _head_start(self, y: Matrix) -> Vector:
        """Of each point; never so large that numbers overflow."""
        found: Vector = np.exp(HEAD_START + HEAD_START_WIDTH * y[:, self.n_features - 1])
        return np.minimum(found, LARGEST_HEAD_START)

    def _size(self, y: Matrix) -> Matrix:
        """(C, 1) the effects' size."""
        at = self.n_features
        result: Matrix = np.exp(self.effect_size + EFFECT_WIDTH * y[:, at : at + 1])
        return result

    def _lapse(self, y: Matrix) -> Vector:
        if self.lapse is None:
            lapse: Vector = 1 / (1 + np.exp(-LAPSE_ODDS - LAPSE_WIDTH * y[:, self.own]))
        else:
            lapse = np.full(len(y), self.lapse, self.dtype)
        return np.maximum(lapse, SMALLEST_LAPSE)

    def of_items(self, scores: ScoreParameters) -> Matrix:
        """s, (N, C)."""
        result = self._forms.values(scores.metric, scores.linear)
        if scores.effects is not None:
            result += scores.effects.T
        return result

    def of_rows(self, scores: ScoreParameters) -> tuple[Matrix, Shares | None]:
        """Scores of items, anchors and sets, (rows, C), and each member's share of its set."""
        s = self.of_items(scores)
        if self.sets is None:
            return s, None
        if scores.anchors is not None:
            s = np.concatenate([s, scores.anchors.T])
        return self.sets.extended(s, scores.head_start)

    def value(self, y: Matrix) -> Vector:
        """The negative log posterior at each point, without its constant."""
        at = self.kind.expand(y[:, : self.own], self.d)
        return self._likelihood(self._scores(y, at))[0] + self._prior(y, at)[0]

    def gradient(self, y: Matrix) -> Matrix:
        """Its gradient at each point."""
        at = self.kind.expand(y[:, : self.own], self.d)
        scores = self._scores(y, at)
        _, gradient = self._prior(y, at)
        self._add_slope(gradient, y, at, scores, self._probabilities(scores))
        return gradient

    def density(self, y: Matrix) -> Density:
        """Value, in two parts, and gradient."""
        at = self.kind.expand(y[:, : self.own], self.d)
        scores = self._scores(y, at)
        likelihood, found = self._likelihood(scores)
        prior, gradient = self._prior(y, at)
        self._add_slope(gradient, y, at, scores, found)
        return Density(likelihood, prior, gradient)

    def log_joint(self, y: Matrix) -> Vector:
        """log of prior times likelihood at each point, with all constants."""
        constant = self.kind.constant(self.d) + (self.n - self.own) * HALF_LOG_2_PI
        constant += 0.0 if self.directions is None else self.directions.log_mass
        return -self.value(y) - constant

    def _prior(self, y: Matrix, at: Quadratic) -> tuple[Vector, Matrix]:
        value, slope = self.kind.prior(y[:, : self.own], self.d, at)
        rest = y[:, self.own :]
        value = value.astype(float) + (rest * rest).sum(axis=1, dtype=float) / 2
        if self.directions is not None:
            log_weight, *pulls = self.directions.log_weight_and_pull(at.metric, at.linear)
            slope = slope - self._share * self.kind.pullback(y[:, : self.own], self.d, at, *pulls)
            value -= self._share * log_weight
        return value, np.concatenate([slope, rest], axis=1)

    def log_obeyed(self, y: Matrix) -> Vector:
        """log of how far each point obeys the declared directions, (C,)."""
        at = self.kind.expand(y[:, : self.own], self.d)
        return (
            np.zeros(len(y)) if self.directions is None else self.directions.log_weight(at.metric, at.linear)
        )

    def _likelihood(self, scores: ScoreParameters) -> tuple[Vector, AnswerProbabilities]:
        """Negative log likelihood, and what it was computed from."""
        found = self._probabilities(scores)
        logs = np.log(found.p, out=self._scratch(len(scores.lapse))[2])
        return -(self._weights @ logs).astype(float), found

    def likelihood(self, scores: ScoreParameters) -> tuple[float, Matrix, Vector]:
        """Of one quadratic score: the negative log likelihood, and its slopes along M and v."""
        value, found = self._likelihood(scores)
        to_score = self._pullback(self._to_score(scores, found)[0], found)
        to_metric, to_linear = self._forms.pullback(to_score[: len(self.items)])
        return float(value[0]), to_metric[0], to_linear[0]

    def to_scores(self, y: Vector) -> Vector:
        """The slope of the negative log likelihood along each item's and anchor's score, at one point."""
        scores = self.scores(y[None])
        found = self._probabilities(scores)
        return self._pullback(self._to_score(scores, found)[0], found)[:, 0]

    def probabilities(self, y: Vector) -> tuple[Vector, Vector, float]:
        """p and sigma of each answer at one point, and its lapse."""
        return self.probabilities_of(self.scores(y[None]))

    def probabilities_of(self, scores: ScoreParameters) -> tuple[Vector, Vector, float]:
        """p and sigma of each answer for one quadratic score."""
        p, sigma, *_ = self._probabilities(scores)
        return p[:, 0].copy(), sigma[:, 0].copy(), float(scores.lapse[0])

    def log_probabilities(self, y: Matrix) -> Matrix:
        """log p of each answer at each point, (P, C)."""
        result: Matrix = np.log(self._probabilities(self.scores(y)).p)
        return result

    def _probabilities(self, scores: ScoreParameters) -> AnswerProbabilities:
        """Of each answer at each point, (P, C), in arrays that the next call writes over."""
        p, sigma, _ = self._scratch(len(scores.lapse))
        s, shares = self.of_rows(scores)
        # Clipping is never needed; asking for it saves numpy a copy.
        s.take(self.graph.winners, axis=0, out=sigma, mode="clip")
        sigma -= s.take(self.graph.losers, axis=0, out=p, mode="clip")
        with np.errstate(over="ignore"):
            np.exp(sigma, out=sigma)
        sigma += 1
        np.reciprocal(sigma, out=sigma)
        np.multiply(sigma, 1 - scores.lapse, out=p)
        of_ties = of_bands = None
        if scores.head_start is not None and len(self._ties):
            of_ties = self._set_tied(self._ties, scores.head_start, s, scores.lapse, p, sigma)
        if self.sets is not None and len(self._in_bands[0]):
            rows, bands = self._in_bands
            half = self.sets.half_gaps(s, len(self.items))
            of_bands = self._set_tied(rows, half, s, scores.lapse, p, sigma, bands)
        p += scores.lapse * self.chance
        return AnswerProbabilities(p, sigma, shares, of_ties, of_bands)

    def _set_tied(
        self, rows: Index, half: Matrix, s: Matrix, lapse: Vector, p: Matrix, sigma: Matrix, of: Any = ...
    ) -> Matrix:
        """Write rows that win by less than half either way: (1 - lapse) q, 1 + q'(e) / q for sigma."""
        q, slopes, to_half = tied(s[self.graph.losers[rows]] - s[self.graph.winners[rows]], half, of)
        p[rows], sigma[rows] = (1 - lapse) * q, 1 - slopes
        return to_half

    def __getstate__(self) -> dict[str, Any]:
        """Without the scratch space."""
        return {**vars(self), "_buffers": self._buffers[:, :0, :0].copy()}

    def _scratch(self, n_points: int) -> Matrix:
        if self._buffers.shape[2] != n_points:
            self._buffers = np.empty((3, self.graph.n_answers, n_points), self.dtype)
        return self._buffers

    def _to_half(self, rows: Index, slopes: Matrix, scores: ScoreParameters, p: Matrix) -> Matrix:
        """What is minimised along the head start, or half of the gap, of each of these rows."""
        result: Matrix = -(1 - scores.lapse) * self._weights[rows][:, None] * slopes / p[rows]
        return result

    def _to_score(self, scores: ScoreParameters, found: AnswerProbabilities) -> tuple[Matrix, Vector]:
        """The slope along each row's score, and sum w c / p of each point, c being chance.

        p and sigma are used up.
        """
        # (sigma - 1) (1 - lapse) sigma w / p, as (1 - lapse) sigma = p - lapse c.
        p, sigma = found.p, found.sigma
        inverse = np.reciprocal(p, out=p)
        if self.chance.size > 1:
            inverse *= self.chance
        chance = 1.0 if self.chance.size > 1 else 0.5
        total = chance * (self._weights @ inverse)
        inverse *= -chance * scores.lapse
        inverse += 1
        sigma -= 1
        inverse *= sigma
        inverse *= self._weights[:, None]
        return self._incidence @ inverse, total

    def _pullback(self, to_rows: Matrix, found: AnswerProbabilities) -> Matrix:
        """The slope along each item's and anchor's score, from that along each row's."""
        if self.sets is None or found.shares is None:
            return to_rows
        return self.sets.pulled(to_rows, found.shares)

    def _add_slope(
        self, gradient: Matrix, y: Matrix, at: Quadratic, scores: ScoreParameters, found: AnswerProbabilities
    ) -> None:
        """Add the likelihood's gradient, from the probabilities, which are used up."""
        to_head_start, to_gaps = np.zeros(len(y)), None
        if found.of_ties is not None:
            to_head_start = self._to_half(self._ties, found.of_ties, scores, found.p).sum(axis=0)
        if found.of_bands is not None:
            to_gaps = self._to_half(self._in_bands[0], found.of_bands, scores, found.p) / 2
        to_rows, total = self._to_score(scores, found)
        to_all = self._pullback(to_rows, found)
        to_score, own = to_all[: len(self.items)], y[:, : self.own]
        gradient[:, : self.own] += self.kind.pullback(own, self.d, at, *self._forms.pullback(to_score))
        if self.lapse is None:
            # sum w (sigma - c) / p = (sum w - sum w c / p) / (1 - lapse).
            gradient[:, self.own] += LAPSE_WIDTH * scores.lapse * (self._total - total)
        if self.sets is not None and scores.head_start is not None:
            # Losers are ahead by it; of a tie both are.
            first = len(self.items) + self.n_anchors
            slope = to_head_start - to_rows[first : first + len(self.sets.ahead)].sum(axis=0)
            gradient[:, self.n_features - 1] += HEAD_START_WIDTH * scores.head_start * slope
        if scores.effects is not None:
            gradient[:, self.n_features] += EFFECT_WIDTH * (to_score.T * scores.effects).sum(axis=1)
            gradient[:, self.effects_at] += self._size(y) * to_score.T
        if self.sets is not None and self.n_anchors:
            to_anchors = to_all[len(self.items) :]
            if to_gaps is not None:
                to_anchors = to_anchors + self._gap_incidence @ to_gaps
            first = self.n - self.n_anchors
            gradient[:, first:] += self.sets.thresholds.pulled(y[:, first:], to_anchors.T)
