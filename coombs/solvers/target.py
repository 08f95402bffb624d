"""The posterior of preferences: the log density that is climbed (its mode) or sampled.

Answer k with margin e = s_loser - s_winner has probability p = lapse / 2 + (1 - lapse) sigma(e):
a careless person answers at random. Scores are s_i = e^2k (x_i' M x_i - 2 e^q v' x_i) + e^r t_i, with
(M, v) from a rung of the ladder and t_i an effect of item i that its features miss. Every unknown,
(rung's, k, q, lapse, r, t), is a standard normal a priori, up to the centres and widths below.
All is done for many points z at once, (C, n), in O(C (P + N d^2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from coombs.solvers.graph import ComparisonGraph

if TYPE_CHECKING:
    from coombs.solvers.graph import Index, Matrix, Vector
    from coombs.solvers.ladder import Rung

SCALE = (0.1, 0.6)
IDEAL = (math.log(0.6), 0.4)
LAPSE = (math.log(0.01), 1.5)
EFFECT = (math.log(0.5), 1.0)
"""Centre and width of the logarithms: of the root of the metric's scale, of the ideal point's distance
from the items' centre (items have unit spread), of the odds of a lapse, of the item effects."""
SMALLEST_LAPSE = 1e-9
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
        n, self.d = items.shape
        self.products = np.hstack([(items[:, :, None] * items[:, None, :]).reshape(n, self.d**2), -2 * items])

    def values(self, metric: Matrix, linear: Matrix) -> Matrix:
        """(N, C), from (C, d, d) and (C, d)."""
        result: Matrix = self.products @ np.hstack([metric.reshape(len(metric), self.d**2), linear]).T
        return result

    def pull(self, to_score: Matrix) -> tuple[Matrix, Matrix]:
        """Gradients with respect to M and v, from that with respect to s, (N, C)."""
        both, size = to_score.T @ self.products, self.d**2
        return both[:, :size].reshape(len(both), self.d, self.d), both[:, size:]


@dataclass(frozen=True)
class Scores:
    """What points z mean: one (M, v, lapse) and the item effects (or none) of each."""

    metric: Matrix
    linear: Matrix
    lapse: Vector
    effects: Matrix | None


class Target:
    """Value and gradient of the negative log posterior."""

    def __init__(
        self,
        items: Matrix,
        graph: ComparisonGraph,
        weights: Vector,
        rung: Rung,
        *,
        lapse: float | None = None,
        effects: bool = False,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> None:
        self.items: Matrix = np.asarray(items, dtype)
        self.graph, self.rung = graph, rung
        self.weights, self.lapse, self.effects, self.dtype = weights, lapse, effects, dtype
        self.d = items.shape[1]
        self.own = rung.size(self.d)
        self.n = self.own + 2 + (lapse is None) + (1 + len(items)) * effects
        self._weights: Vector = np.asarray(weights, dtype)
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

    @property
    def dense(self) -> Index:
        """Unknowns whose posterior has one shape: not the metric's root, which may turn, nor item effects."""
        first = self.rung.turning(self.d)
        return np.arange(first, self.n - len(self.items) * self.effects)

    def single(self) -> Target:
        """The same in single precision, which is enough to sample and twice as fast."""
        settings = {"lapse": self.lapse, "effects": self.effects, "dtype": np.float32}
        return Target(self.items, self.graph, self.weights, self.rung, **settings)  # type: ignore[arg-type]

    def with_effects(self) -> Target:
        """The same with an effect of each item: an unknown for their size and one for each, at the end."""
        return Target(self.items, self.graph, self.weights, self.rung, lapse=self.lapse, effects=True)

    def some(self, count: int, rng: np.random.Generator) -> Target:
        """The posterior given only so many of the answers, chosen at random."""
        chosen = rng.choice(self.graph.n_answers, count, replace=False)
        ends = np.concatenate([self.graph.winners[chosen], self.graph.losers[chosen]])
        touched, place = np.unique(ends, return_inverse=True)
        graph = ComparisonGraph(place[:count], place[count:], len(touched))
        return Target(self.items[touched], graph, self.weights[chosen], self.rung, lapse=self.lapse)

    def part(self, rows: slice) -> Target:
        """The same items and unknowns, with some of the answers."""
        if rows.start == 0 and rows.stop >= self.graph.n_answers:
            return self
        graph = ComparisonGraph(self.graph.winners[rows], self.graph.losers[rows], len(self.items))
        settings = {"lapse": self.lapse, "effects": self.effects, "dtype": self.dtype}
        return Target(self.items, graph, self.weights[rows], self.rung, **settings)  # type: ignore[arg-type]

    def hyper(self, z: Matrix) -> tuple[Vector, Vector, Vector, Vector]:
        """(k, q, lapse, r) of each point."""
        rest = z[:, self.own :]
        scale = SCALE[0] + SCALE[1] * rest[:, 0]
        ideal = IDEAL[0] + IDEAL[1] * rest[:, 1]
        if self.lapse is None:
            lapse = 1 / (1 + np.exp(-LAPSE[0] - LAPSE[1] * rest[:, 2]))
        else:
            lapse = np.full(len(z), self.lapse, self.dtype)
        lapse = np.maximum(lapse, SMALLEST_LAPSE)
        effect = EFFECT[0] + EFFECT[1] * rest[:, 2 + (self.lapse is None)] if self.effects else lapse
        return scale, ideal, lapse, effect

    def scores(self, z: Matrix) -> Scores:
        """What the points mean."""
        k, q, lapse, r = self.hyper(z)
        metric, linear = self.rung.expand(z[:, : self.own], self.d)
        effects = np.exp(r)[:, None] * z[:, -len(self.items) :] if self.effects else None
        return Scores(
            np.exp(2 * k)[:, None, None] * metric, np.exp(2 * k + q)[:, None] * linear, lapse, effects
        )

    def of_items(self, scores: Scores) -> Matrix:
        """s, (N, C)."""
        result = self._forms.values(scores.metric, scores.linear)
        if scores.effects is not None:
            result += scores.effects.T
        return result

    def value(self, z: Matrix) -> Vector:
        """The negative log posterior at each point, without its constant."""
        p, _ = self._probabilities(self.scores(z))
        return self._total(z, p)

    def gradient(self, z: Matrix) -> Matrix:
        """Its gradient at each point."""
        scores = self.scores(z)
        return self._pull(z, scores, *self._probabilities(scores))

    def both(self, z: Matrix) -> tuple[Vector, Matrix]:
        """Value and gradient."""
        scores = self.scores(z)
        p, sigma = self._probabilities(scores)
        return self._total(z, p), self._pull(z, scores, p, sigma)

    def likelihood(self, scores: Scores) -> tuple[float, Matrix, Vector]:
        """Of one quadratic score: the negative log likelihood, and its slopes along M and v."""
        p, sigma = self._probabilities(scores)
        value = -float(self._weights @ np.log(p[:, 0]))
        to_metric, to_linear = self._forms.pull(self._to_score(scores, p, sigma)[0])
        return value, to_metric[0], to_linear[0]

    def probabilities(self, z: Vector) -> tuple[Vector, Vector, float]:
        """p and sigma of each answer at one point, and its lapse."""
        return self.probabilities_of(self.scores(z[None]))

    def probabilities_of(self, scores: Scores) -> tuple[Vector, Vector, float]:
        """The same of one quadratic score."""
        p, sigma = self._probabilities(scores)
        return p[:, 0].copy(), sigma[:, 0].copy(), float(scores.lapse[0])

    def log_probabilities(self, z: Matrix) -> Matrix:
        """log p of each answer at each point, (P, C)."""
        result: Matrix = np.log(self._probabilities(self.scores(z))[0])
        return result

    def _probabilities(self, scores: Scores) -> tuple[Matrix, Matrix]:
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

    def _scratch(self, n_points: int) -> Matrix:
        if self._buffers.shape[2] != n_points:
            self._buffers = np.empty((3, self.graph.n_answers, n_points), self.dtype)
        return self._buffers

    def _total(self, z: Matrix, p: Matrix) -> Vector:
        logs = np.log(p, out=self._scratch(len(z))[2])
        total: Vector = (z * z).sum(axis=1, dtype=float) / 2 - self._weights @ logs
        return total

    def _to_score(self, scores: Scores, p: Matrix, sigma: Matrix) -> tuple[Matrix, Matrix]:
        """The slope along each item's score, and w / p, which takes the place of p."""
        ratio = np.divide(self._weights[:, None], p, out=p)
        to_margin = np.subtract(sigma, 1, out=self._scratch(len(scores.lapse))[2])
        to_margin *= sigma
        to_margin *= ratio
        to_margin *= 1 - scores.lapse
        return self._incidence @ to_margin, ratio

    def _pull(self, z: Matrix, scores: Scores, p: Matrix, sigma: Matrix) -> Matrix:
        """The gradient, from p and sigma of each answer, both used up."""
        to_score, ratio = self._to_score(scores, p, sigma)
        to_metric, to_linear = self._forms.pull(to_score)
        k, q, lapse, r = self.hyper(z)
        scale = np.exp(2 * k)[:, None]
        result: Matrix = z.copy()
        result[:, : self.own] += self.rung.pull(
            z[:, : self.own], self.d, scale[:, None] * to_metric, scale * np.exp(q)[:, None] * to_linear
        )
        by_linear = (to_linear * scores.linear).sum(axis=1)
        by_metric = (to_metric * scores.metric).sum(axis=(1, 2))
        at = self.own
        result[:, at] += SCALE[1] * 2 * (by_metric + by_linear)
        result[:, at + 1] += IDEAL[1] * by_linear
        if self.lapse is None:
            sigma -= 0.5
            sigma *= ratio
            result[:, at + 2] += LAPSE[1] * lapse * (1 - lapse) * sigma.sum(axis=0)
        if scores.effects is not None:
            effects = scores.effects
            result[:, -len(self.items) - 1] += EFFECT[1] * (to_score.T * effects).sum(axis=1)
            result[:, -len(self.items) :] += np.exp(r)[:, None] * to_score.T
        return result
