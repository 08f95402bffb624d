"""The ladder of quadratic preferences: what a score s(x) = x'Mx - 2 v'x may be (less is better).

A rung turns unknowns z, standard normal a priori, into (M, v) at unit scale, for many z at once,
and pulls a gradient back. The scales, learned too, come on top (`target`): e^2k on both, e^q on v.
All features are standardised, so that one prior serves every table of items.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from coombs.solvers.cone import triangle

if TYPE_CHECKING:
    from coombs.solvers.graph import Index, Matrix, Vector


EXTRA_ROWS = 1
MIX = (1.5, 1.5)
"""Centre and width of the log odds of m, the particular share of a metric."""
PARTICULAR = 8.0
"""The unknown at which a metric is nothing but particular."""


class Rung(Protocol):
    """What a preference may depend on; z is (C, size(d)), M (C, d, d), v (C, d).

    M grows as the unknowns that make it to the power 2 `power`.
    """

    name: str
    has_ideal: bool
    power: float

    def size(self, d: int) -> int:
        """How many unknowns."""

    def turning(self, d: int) -> int:
        """How many of them, the first ones, may turn together without changing anything."""

    def metric_size(self, d: int) -> int:
        """How many of them, the first ones, make M."""

    def expand(self, z: Matrix, d: int) -> tuple[Matrix, Matrix]:
        """(M, v) of each row of z."""

    def pull(self, z: Matrix, d: int, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        """The gradient with respect to z, from those with respect to M (symmetric) and v."""

    def start(self, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
        """Unknowns near a metric (of trace d^2) and an ideal point (of unit scale), or `exact`ly there."""


class _Centred:
    """A rung with an ideal point: unknowns (shape, w), v = M w."""

    has_ideal = True
    power = 1.0

    def shape_size(self, d: int) -> int:
        raise NotImplementedError

    def metric(self, shape: Matrix, d: int) -> Matrix:
        raise NotImplementedError

    def pull_metric(self, shape: Matrix, d: int, to_metric: Matrix) -> Matrix:
        raise NotImplementedError

    def shape_of(self, metric: Matrix, exact: bool = False) -> Vector:
        raise NotImplementedError

    def size(self, d: int) -> int:
        return self.shape_size(d) + d

    def turning(self, d: int) -> int:
        return 0

    def metric_size(self, d: int) -> int:
        return self.shape_size(d)

    def expand(self, z: Matrix, d: int) -> tuple[Matrix, Matrix]:
        metric = self.metric(z[:, :-d], d)
        return metric, (metric @ z[:, -d:, None])[..., 0]

    def pull(self, z: Matrix, d: int, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        w = z[:, -d:]
        outer = to_linear[:, :, None] * w[:, None, :]
        both = to_metric + (outer + outer.swapaxes(1, 2)) / 2
        to_w = self.applied(z[:, :-d], d, to_linear)
        return np.concatenate([self.pull_metric(z[:, :-d], d, both), to_w], axis=1)

    def applied(self, shape: Matrix, d: int, vectors: Matrix) -> Matrix:
        """M w of each row."""
        result: Matrix = (self.metric(shape, d) @ vectors[:, :, None])[..., 0]
        return result

    def start(self, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
        return np.concatenate([self.shape_of(metric, exact), u])


class Full(_Centred):
    """Any positive semidefinite metric, the paper's: M = (1 - m) d I + m A'A.

    The share m of what is particular to this person is learned too, so that somebody who weighs all
    directions alike is not credited with a metric of chance.
    """

    name = "full"

    def rows(self, d: int) -> int:
        """With d rows a metric blind to some direction would be likely; each more makes it less so."""
        return d + EXTRA_ROWS

    def turning(self, d: int) -> int:
        return self.rows(d) * d

    def metric_size(self, d: int) -> int:
        return self.rows(d) * d

    def shape_size(self, d: int) -> int:
        return self.rows(d) * d + 1

    def metric(self, shape: Matrix, d: int) -> Matrix:
        root, m = shape[:, :-1].reshape(-1, self.rows(d), d), _share(shape[:, -1])[:, None, None]
        return m * (root.swapaxes(1, 2) @ root) + (1 - m) * (d * np.eye(d, dtype=shape.dtype))

    def applied(self, shape: Matrix, d: int, vectors: Matrix) -> Matrix:
        root, m = shape[:, :-1].reshape(-1, self.rows(d), d), _share(shape[:, -1])
        return _applied(root, m, vectors)

    def pull_metric(self, shape: Matrix, d: int, to_metric: Matrix) -> Matrix:
        root, m = shape[:, :-1].reshape(-1, self.rows(d), d), _share(shape[:, -1])
        turned = root @ to_metric
        along = (turned * root).sum(axis=(1, 2)) - d * np.trace(to_metric, axis1=1, axis2=2)
        to_share = MIX[1] * m * (1 - m) * along
        to_root = (2 * m[:, None, None] * turned).reshape(len(shape), -1)
        return np.concatenate([to_root, to_share[:, None]], axis=1)

    def shape_of(self, metric: Matrix, exact: bool = False) -> Vector:
        d, mix = len(metric), PARTICULAR if exact else 0.0
        m = float(_share(np.array([mix]))[0])
        values, vectors = np.linalg.eigh((metric - (1 - m) * d * np.eye(d)) / m)
        floor = 1e-6 * max(float(values[-1]), 1e-6)
        root = (vectors * np.sqrt(np.maximum(values, floor))).T
        return np.concatenate([root.ravel(), np.zeros(EXTRA_ROWS * d), [mix]])


class Triangular(_Centred):
    """The same metrics by one root each: M = (1 - m) d I + m R'R, R upper triangular.

    If A has standard normal entries, R'R = A'A has such a root whose entries above the diagonal are
    standard normal and whose i-th diagonal entry is chi with rows - i degrees of freedom (Bartlett). A
    chi is made of a standard normal z by Wilson and Hilferty: sqrt(k) (1 - 2/9k + z sqrt(2/9k))^1.5.
    A root that cannot turn has one shape of its posterior, which a sampler can learn.
    """

    name = "triangular"

    def shape_size(self, d: int) -> int:
        return d * (d + 1) // 2 + 1

    def _parts(self, shape: Matrix, d: int) -> tuple[Matrix, Vector, Matrix]:
        """R, m, and the slopes of R's diagonal along its unknowns."""
        freedom, spread = _freedom(d, shape.dtype)
        base = np.maximum(1 - spread**2 + spread * shape[:, :d], 1e-6)
        root = np.zeros((len(shape), d, d), shape.dtype)
        root[:, np.arange(d), np.arange(d)] = np.sqrt(freedom) * base**1.5
        rows, columns = _above(d)
        root[:, rows, columns] = shape[:, d:-1]
        return root, _share(shape[:, -1]), np.sqrt(base / 2)

    def metric(self, shape: Matrix, d: int) -> Matrix:
        root, m, _ = self._parts(shape, d)
        m = m[:, None, None]
        result: Matrix = m * (root.swapaxes(1, 2) @ root) + (1 - m) * (d * np.eye(d, dtype=shape.dtype))
        return result

    def applied(self, shape: Matrix, d: int, vectors: Matrix) -> Matrix:
        root, m, _ = self._parts(shape, d)
        return _applied(root, m, vectors)

    def pull_metric(self, shape: Matrix, d: int, to_metric: Matrix) -> Matrix:
        root, m, slope = self._parts(shape, d)
        turned = root @ to_metric
        along = (turned * root).sum(axis=(1, 2)) - d * np.trace(to_metric, axis1=1, axis2=2)
        to_root = 2 * m[:, None, None] * turned
        diagonal = np.diagonal(to_root, axis1=1, axis2=2) * slope
        to_share = MIX[1] * m * (1 - m) * along
        rows, columns = _above(d)
        return np.concatenate([diagonal, to_root[:, rows, columns], to_share[:, None]], axis=1)

    def of_full(self, shape: Matrix, d: int) -> Matrix:
        """Unknowns of the same metrics from those of `Full`; whatever follows them is kept."""
        size = Full().turning(d)
        roots = shape[:, :size].reshape(len(shape), -1, d).astype(float)
        root: Matrix = np.linalg.qr(roots, mode="r")  # type: ignore[assignment]
        diagonal = np.diagonal(root, axis1=1, axis2=2)
        root *= np.where(diagonal < 0, -1.0, 1.0)[:, :, None]
        freedom, spread = _freedom(d, np.float64)
        base = (np.diagonal(root, axis1=1, axis2=2) ** 2 / freedom) ** (1 / 3)
        rows, columns = _above(d)
        z = (base - 1 + spread**2) / spread
        return np.concatenate([z, root[:, rows, columns], shape[:, size:]], axis=1)


def _applied(root: Matrix, m: Vector, vectors: Matrix) -> Matrix:
    """((1 - m) d I + m A'A) w, without making the matrix."""
    product = (root.swapaxes(1, 2) @ (root @ vectors[:, :, None]))[..., 0]
    result: Matrix = m[:, None] * product + (1 - m[:, None]) * (vectors.shape[1] * vectors)
    return result


@cache
def _above(d: int) -> tuple[Index, Index]:
    """Rows and columns above the diagonal."""
    rows, columns = np.triu_indices(d, 1)
    return rows, columns


def _freedom(d: int, dtype: Any) -> tuple[Vector, Vector]:
    """k, and sqrt(2 / 9k), of the i-th diagonal entry."""
    k = np.arange(d + EXTRA_ROWS, EXTRA_ROWS, -1, dtype=dtype)
    return k, np.sqrt(2 / (9 * k))


def _share(mix: Vector) -> Vector:
    result: Vector = 1 / (1 + np.exp(-MIX[0] - MIX[1] * mix))
    return result


class Diagonal(_Centred):
    """One weight for each feature: M = d diag(a^2)."""

    name = "diagonal"

    def shape_size(self, d: int) -> int:
        return d

    def metric(self, shape: Matrix, d: int) -> Matrix:
        return d * shape[:, :, None] ** 2 * np.eye(d, dtype=shape.dtype)

    def pull_metric(self, shape: Matrix, d: int, to_metric: Matrix) -> Matrix:
        return 2 * d * shape * np.diagonal(to_metric, axis1=1, axis2=2)

    def shape_of(self, metric: Matrix, exact: bool = False) -> Vector:
        return np.sqrt(np.maximum(np.diag(metric) / len(metric), 1e-3))


class Identity(_Centred):
    """The Euclidean distance of standardised features: M = d I."""

    name = "identity"

    def shape_size(self, d: int) -> int:
        return 0

    def metric(self, shape: Matrix, d: int) -> Matrix:
        return np.broadcast_to(d * np.eye(d, dtype=shape.dtype), (len(shape), d, d))

    def pull_metric(self, shape: Matrix, d: int, to_metric: Matrix) -> Matrix:
        return np.zeros_like(shape)

    def shape_of(self, metric: Matrix, exact: bool = False) -> Vector:
        return np.zeros(0)


class Linear:
    """A linear utility: M = 0. More is better, or less is; there is no ideal."""

    name = "none"
    has_ideal = False
    power = 1.0

    def size(self, d: int) -> int:
        return d

    def turning(self, d: int) -> int:
        return 0

    def metric_size(self, d: int) -> int:
        return 0

    def expand(self, z: Matrix, d: int) -> tuple[Matrix, Matrix]:
        return np.zeros((len(z), d, d), dtype=z.dtype), z * d

    def pull(self, z: Matrix, d: int, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        return d * to_linear

    def start(self, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
        return metric @ u / len(u)


class Signed:
    """Any symmetric M: some directions may be anti-ideal, the middle being the worst."""

    name = "signed"
    has_ideal = True
    power = 0.5

    def size(self, d: int) -> int:
        return d * (d + 1) // 2 + d

    def turning(self, d: int) -> int:
        return 0

    def metric_size(self, d: int) -> int:
        return d * (d + 1) // 2

    def expand(self, z: Matrix, d: int) -> tuple[Matrix, Matrix]:
        t = triangle(d)
        factors = (math.sqrt(d) / t.factors).astype(z.dtype)
        return (z[:, :-d] * factors)[:, t.unpack], z[:, -d:] * d

    def pull(self, z: Matrix, d: int, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        t = triangle(d)
        factors = (math.sqrt(d) * t.factors).astype(z.dtype)
        return np.concatenate([to_metric[:, t.rows, t.columns] * factors, d * to_linear], axis=1)

    def start(self, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
        t, d = triangle(len(u)), len(u)
        return np.concatenate([metric[t.rows, t.columns] * t.factors / np.sqrt(d), metric @ u / d])


class Constant:
    """Nothing of the features: with item effects, the Bradley-Terry model."""

    name = "items"
    has_ideal = False
    power = 1.0

    def size(self, d: int) -> int:
        return 0

    def turning(self, d: int) -> int:
        return 0

    def metric_size(self, d: int) -> int:
        return 0

    def expand(self, z: Matrix, d: int) -> tuple[Matrix, Matrix]:
        return np.zeros((len(z), d, d), dtype=z.dtype), np.zeros((len(z), d), dtype=z.dtype)

    def pull(self, z: Matrix, d: int, to_metric: Matrix, to_linear: Matrix) -> Matrix:
        return np.zeros_like(z)

    def start(self, metric: Matrix, u: Vector, exact: bool = False) -> Vector:
        return np.zeros(0)


_ALL: tuple[Rung, ...] = (Constant(), Linear(), Identity(), Diagonal(), Full(), Signed())
LADDER: dict[str, Rung] = {rung.name: rung for rung in _ALL}
METRICS = ("none", "identity", "diagonal", "full", "signed")
"""The rungs that are metrics, from the simplest."""
