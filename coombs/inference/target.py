"""The posterior of preferences: the log density that is maximised (its mode) or sampled.

Answer k with margin e = s_loser - s_winner has probability p = lapse / 2 + (1 - lapse) sigma(e):
a careless person answers at random. Scores are s_i = x_i' M x_i - 2 v' x_i + e^r t_i, with (M, v) of a
kind of preference and t_i an effect of item i that its features miss. The unknowns are the kind's,
the lapse's, and (r, t). All is done for many points y at once, (C, n), in O(C (P + N d^2)).
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from coombs.data.graph import ComparisonGraph
from coombs.inference.kind import HALF_LOG_2_PI
from coombs.programs.cone import triangle

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.kind import Kind, Quadratic

LAPSE_ODDS = math.log(0.01)
"""Prior centre of the log odds of a lapse."""
LAPSE_WIDTH = 1.5
"""Its prior deviation."""
EFFECT_SIZE = math.log(0.5)
"""Prior centre of the logarithm of the item effects' size, in logits."""
EFFECT_WIDTH = 1.0
"""Its prior deviation."""
SMALLEST_LAPSE = 1e-9
"""Added so that no answer is impossible."""
LARGEST_PRODUCTS = 4_000_000
"""Products of features are kept up to this many; beyond, forms are computed from the items each time."""


class Forms:
    """s_i = x_i' M x_i - 2 v' x_i for many (M, v), and back: O(N d^2) time, O(N d) memory."""

    def __init__(self, items: Matrix) -> None:
        self.items = items

    def values(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(N, C), from (C, d, d) and (C, d)."""
        result: Matrix = -2 * (self.items @ linear.T)
        for column, one in enumerate(metric):
            result[:, column] += np.einsum("nd,nd->n", self.items @ one, self.items)
        return result

    def pull(self, to_score: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients with respect to M and v, from that with respect to s, (N, C)."""
        to_metric = [(self.items * column[:, None]).T @ self.items for column in to_score.T]
        return np.array(to_metric), -2 * (to_score.T @ self.items)


class Products:
    """The same with all products of features at hand: one matrix product each way."""

    def __init__(self, items: Matrix) -> None:
        self._triangle = t = triangle(items.shape[1])
        twice = np.where(t.rows == t.columns, 1, 2)
        self.products = np.hstack([items[:, t.rows] * items[:, t.columns] * twice, -2 * items])
        self.products = self.products.astype(items.dtype, copy=False)
        self._half = np.where(t.rows == t.columns, 1, 0.5).astype(items.dtype)

    def values(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(N, C), from (C, d, d) and (C, d)."""
        t = self._triangle
        # Points last, as they are in memory.
        entries = metric.transpose(1, 2, 0)[t.rows, t.columns]
        result: Matrix = self.products @ np.concatenate([entries, linear.T])
        return result

    def pull(self, to_score: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients with respect to M and v, from that with respect to s, (N, C)."""
        joint, n = self.products.T @ to_score, len(self._half)
        to_entries = joint[:n] * self._half[:, None]
        return to_entries[self._triangle.unpack].transpose(2, 0, 1), joint[n:].T


@dataclass(frozen=True)
class ScoreParameters:
    """What points y mean: one (M, v, lapse) and the item effects (or none) of each."""

    metric: Matrix
    linear: Matrix
    lapse: Vector
    effects: Matrix | None


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
        dtype: type[np.floating[Any]] = np.float64,
    ) -> None:
        self.items: Matrix = np.asarray(items, dtype)
        self.graph, self.kind = graph, kind
        self.weights, self.lapse, self.effects, self.dtype = weights, lapse, effects, dtype
        self.d = items.shape[1]
        self.own = kind.size(self.d)
        self.n = self.own + (lapse is None) + (1 + len(items)) * effects
        self._weights: Vector = np.asarray(weights, dtype)
        self._total = float(weights.sum())
        self._forms = (Products if items.size * self.d < LARGEST_PRODUCTS else Forms)(self.items)
        self._buffers: Matrix = np.empty((3, 0, 0), dtype)

    @cached_property
    def _incidence(self) -> csr_array:
        """Q', items by answers."""
        graph = self.graph
        ends = np.concatenate([graph.losers, graph.winners])
        ones = np.ones(graph.n_answers, self.dtype)
        rows = np.tile(np.arange(graph.n_answers), 2)
        shape = (len(self.items), graph.n_answers)
        return csr_array((np.concatenate([ones, -ones]), (ends, rows)), shape=shape)

    def like(self, graph: ComparisonGraph, weights: Vector, **changes: Any) -> Target:
        """The same unknowns with other answers, or another precision."""
        settings = {"lapse": self.lapse, "effects": self.effects, "dtype": self.dtype, **changes}
        kind = settings.pop("kind", self.kind)
        return Target(settings.pop("items", self.items), graph, weights, kind, **settings)

    def single(self) -> Target:
        """The same in single precision, which is enough to sample and twice as fast."""
        return self.like(self.graph, self.weights, dtype=np.float32)

    def with_effects(self) -> Target:
        """The same with an effect of each item: an unknown for their size and one for each, at the end."""
        return self.like(self.graph, self.weights, effects=True)

    def reweighted(self, weights: Vector) -> Self:
        """The same with other weights of the same answers; arrays are shared."""
        result = copy.copy(self)
        result.weights, result._weights = weights, np.asarray(weights, self.dtype)
        result._total = float(weights.sum())
        return result

    def some(self, count: int, rng: np.random.Generator) -> Target:
        """The posterior given only so many of the answers, chosen at random."""
        chosen = rng.choice(self.graph.n_answers, count, replace=False)
        ends = np.concatenate([self.graph.winners[chosen], self.graph.losers[chosen]])
        touched, place = np.unique(ends, return_inverse=True)
        graph = ComparisonGraph(place[:count], place[count:], len(touched))
        return self.like(graph, self.weights[chosen], items=self.items[touched])

    def part(self, rows: slice) -> Target:
        """The same items and unknowns, with some of the answers."""
        if rows.start == 0 and rows.stop >= self.graph.n_answers:
            return self
        graph = ComparisonGraph(self.graph.winners[rows], self.graph.losers[rows], len(self.items))
        return self.like(graph, self.weights[rows])

    def draw_prior(self, count: int, rng: np.random.Generator) -> Matrix:
        """Points of the prior, (count, n)."""
        rest = rng.standard_normal((count, self.n - self.own))
        return np.concatenate([self.kind.draw(count, self.d, rng), rest], axis=1)

    def scores(self, y: Matrix) -> ScoreParameters:
        """What the points mean."""
        return self._scores(y, self.kind.expand(y[:, : self.own], self.d))

    def _scores(self, y: Matrix, at: Quadratic) -> ScoreParameters:
        effects = None
        if self.effects:
            n = len(self.items)
            effects = np.exp(EFFECT_SIZE + EFFECT_WIDTH * y[:, -n - 1 : -n]) * y[:, -n:]
        return ScoreParameters(at.metric, at.linear, self._lapse(y), effects)

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

    def value(self, y: Matrix) -> Vector:
        """The negative log posterior at each point, without its constant."""
        at = self.kind.expand(y[:, : self.own], self.d)
        return self._likelihood(self._scores(y, at))[0] + self._prior(y, at)[0]

    def gradient(self, y: Matrix) -> Matrix:
        """Its gradient at each point."""
        at = self.kind.expand(y[:, : self.own], self.d)
        scores = self._scores(y, at)
        _, gradient = self._prior(y, at)
        self._add_slope(gradient, y, at, scores, *self._probabilities(scores))
        return gradient

    def density(self, y: Matrix) -> Density:
        """Value, in two parts, and gradient."""
        at = self.kind.expand(y[:, : self.own], self.d)
        scores = self._scores(y, at)
        likelihood, p, sigma = self._likelihood(scores)
        prior, gradient = self._prior(y, at)
        self._add_slope(gradient, y, at, scores, p, sigma)
        return Density(likelihood, prior, gradient)

    def log_joint(self, y: Matrix) -> Vector:
        """log of prior times likelihood at each point, with all constants."""
        constant = self.kind.constant(self.d) + (self.n - self.own) * HALF_LOG_2_PI
        return -self.value(y) - constant

    def _prior(self, y: Matrix, at: Quadratic) -> tuple[Vector, Matrix]:
        value, slope = self.kind.prior(y[:, : self.own], self.d, at)
        rest = y[:, self.own :]
        value = value.astype(float) + (rest * rest).sum(axis=1, dtype=float) / 2
        return value, np.concatenate([slope, rest], axis=1)

    def _likelihood(self, scores: ScoreParameters) -> tuple[Vector, Matrix, Matrix]:
        """Negative log likelihood; p and sigma of each answer, (P, C)."""
        p, sigma = self._probabilities(scores)
        logs = np.log(p, out=self._scratch(len(scores.lapse))[2])
        return -(self._weights @ logs).astype(float), p, sigma

    def likelihood(self, scores: ScoreParameters) -> tuple[float, Matrix, Vector]:
        """Of one quadratic score: the negative log likelihood, and its slopes along M and v."""
        value, p, sigma = self._likelihood(scores)
        to_metric, to_linear = self._forms.pull(self._to_score(scores, p, sigma)[0])
        return float(value[0]), to_metric[0], to_linear[0]

    def probabilities(self, y: Vector) -> tuple[Vector, Vector, float]:
        """p and sigma of each answer at one point, and its lapse."""
        return self.probabilities_of(self.scores(y[None]))

    def probabilities_of(self, scores: ScoreParameters) -> tuple[Vector, Vector, float]:
        """The same of one quadratic score."""
        p, sigma = self._probabilities(scores)
        return p[:, 0].copy(), sigma[:, 0].copy(), float(scores.lapse[0])

    def log_probabilities(self, y: Matrix) -> Matrix:
        """log p of each answer at each point, (P, C)."""
        result: Matrix = np.log(self._probabilities(self.scores(y))[0])
        return result

    def _probabilities(self, scores: ScoreParameters) -> tuple[Matrix, Matrix]:
        """p and sigma of each answer at each point, (P, C), in arrays that the next call writes over."""
        p, sigma, _ = self._scratch(len(scores.lapse))
        s = self.of_items(scores)
        # Clipping is never needed; asking for it saves numpy a copy.
        s.take(self.graph.winners, axis=0, out=sigma, mode="clip")
        sigma -= s.take(self.graph.losers, axis=0, out=p, mode="clip")
        with np.errstate(over="ignore"):
            np.exp(sigma, out=sigma)
        sigma += 1
        np.reciprocal(sigma, out=sigma)
        np.multiply(sigma, 1 - scores.lapse, out=p)
        p += scores.lapse / 2
        return p, sigma

    def __getstate__(self) -> dict[str, Any]:
        """Without the scratch space."""
        return {**vars(self), "_buffers": self._buffers[:, :0, :0].copy()}

    def _scratch(self, n_points: int) -> Matrix:
        if self._buffers.shape[2] != n_points:
            self._buffers = np.empty((3, self.graph.n_answers, n_points), self.dtype)
        return self._buffers

    def _to_score(self, scores: ScoreParameters, p: Matrix, sigma: Matrix) -> tuple[Matrix, Vector]:
        """The slope along each item's score, and sum w / p of each point; p and sigma are used up."""
        # (sigma - 1) (1 - lapse) sigma w / p, as (1 - lapse) sigma = p - lapse / 2.
        inverse = np.reciprocal(p, out=p)
        total = self._weights @ inverse
        inverse *= scores.lapse / -2
        inverse += 1
        sigma -= 1
        inverse *= sigma
        inverse *= self._weights[:, None]
        return self._incidence @ inverse, total

    def _add_slope(
        self, gradient: Matrix, y: Matrix, at: Quadratic, scores: ScoreParameters, p: Matrix, sigma: Matrix
    ) -> None:
        """Add the likelihood's gradient, from p and sigma of each answer, both used up."""
        to_score, total = self._to_score(scores, p, sigma)
        own = y[:, : self.own]
        gradient[:, : self.own] += self.kind.pull(own, self.d, at, *self._forms.pull(to_score))
        if self.lapse is None:
            # sum w (sigma - 1/2) / p = (sum w - sum w / 2p) / (1 - lapse).
            gradient[:, self.own] += LAPSE_WIDTH * scores.lapse * (self._total - total / 2)
        if scores.effects is not None:
            n = len(self.items)
            gradient[:, -n - 1] += EFFECT_WIDTH * (to_score.T * scores.effects).sum(axis=1)
            size = np.exp(EFFECT_SIZE + EFFECT_WIDTH * y[:, -n - 1 : -n])
            gradient[:, -n:] += size * to_score.T
