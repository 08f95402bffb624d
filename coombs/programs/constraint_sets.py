"""The five constraint sets of Canal, Mason, Vinayak & Nowak (2022), as cones and by their support functions.

    frobenius       |M|_F <= radius,   |v_k| <= own_radius for every person
    nuclear_metric  |M|_* <= radius,   |v_k| <= own_radius for every person
    nuclear_split   |M|_* <= radius,   |[v_1..v_K]|_* <= own_radius
    nuclear_full    |[M, v_1..v_K]|_* <= radius
    psd             none but M >= 0, which all of them have

As M >= 0, its nuclear norm is its trace. That of a matrix A with columns a_j is written with one small
matrix W and a number t_j for each column, so that people stay apart:

    |A|_* <= r   where   [W, a_j; a_j', t_j] >= 0 for all j   and   trace W + sum_j t_j <= 2 r.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.programs.arrow import Arrow, Unknowns
from coombs.programs.cone import smat, svec, triangle
from coombs.programs.scaled_cones import Orthant, SecondOrder, Semidefinite, unpacked

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.programs.scaled_cones import Scaling

SETS = ("frobenius", "nuclear_metric", "nuclear_split", "nuclear_full", "psd")
"""Names of the constraint sets."""
TWO_RADII = ("frobenius", "nuclear_metric", "nuclear_split")
"""Names of the sets that bound people's v apart from the metric."""
FAR = 100.0
"""Without bounds, a certificate covers all points up to this many times as large as the one found."""


class Sizes(NamedTuple):
    """Features, people and unknowns: svec M, then svec W, then t of the columns of M; own v, then own t."""

    n_features: int
    n_people: int
    n_metric: int
    n_weight: int
    n_columns: int
    n_own: int

    @property
    def n_shared(self) -> int:
        """How many unknowns are shared."""
        return self.n_metric + self.n_weight + self.n_columns


@dataclass(frozen=True)
class Placed:
    """A batch of cones whose coordinates are constants or single unknowns times a factor.

    `shared` (cones or 1, c) are places of shared unknowns for the coordinates `at`; `own` are places of a
    person's own unknowns for the coordinates `own_at`, cone k being about person k. All of these are
    consecutive, except `shared` where it is `scattered`.
    """

    kind: type[SecondOrder] | type[Semidefinite]
    constant: Matrix
    shared: Index
    at: Index
    factors: Matrix
    own: Index
    own_at: Index
    own_factors: Vector
    scattered: bool = False

    def values(self, x: Unknowns) -> Matrix:
        """s = constant + A x."""
        return self.constant + self.forward(x)

    def forward(self, x: Unknowns) -> Matrix:
        """A x."""
        result = np.zeros_like(self.constant)
        if self.at.size:
            result[:, _run(self.at)] = x.shared[self.shared] * self.factors
        if len(self.own):
            result[:, _run(self.own_at)] = x.own[:, _run(self.own)] * self.own_factors
        return result

    def add_adjoint(self, z: Matrix, to: Unknowns) -> None:
        """Add A'z."""
        if self.scattered:
            each = z[:, self.at] * self.factors
            to.shared[:] += np.bincount(self.shared.ravel(), each.ravel(), len(to.shared))
        elif self.at.size:
            to.shared[_run(self.shared[0])] += z[:, _run(self.at)].sum(axis=0) * self.factors[0]
        if len(self.own):
            to.own[:, _run(self.own)] += z[:, _run(self.own_at)] * self.own_factors

    def add_curvature(self, system: Arrow, scaling: Scaling) -> None:
        """Add A' H A."""
        if self.scattered:
            blocks = scaling.block(self.at, self.at) * (self.factors[:, :, None] * self.factors[:, None, :])
            for places, one in zip(self.shared, blocks, strict=True):
                system.shared[places[:, None], places] += one
        elif self.at.size:
            places, factors = _run(self.shared[0]), self.factors[0]
            system.shared[places, places] += scaling.total(self.at) * np.outer(factors, factors)
        if len(self.own):
            block = scaling.block(self.own_at, np.concatenate([self.own_at, self.at]))
            block *= np.outer(self.own_factors, np.concatenate([self.own_factors, self.factors[0]]))
            own, n_own = _run(self.own), len(self.own)
            system.own[:, own, own] += block[:, :, :n_own]
            system.cross[:, own, _run(self.shared[0])] += block[:, :, n_own:]


@dataclass(frozen=True)
class Limit:
    """One inequality: `most` - row'x >= 0."""

    row: Unknowns
    most: float
    kind = Orthant

    def values(self, x: Unknowns) -> Matrix:
        """s = most - row'x."""
        return np.array([[self.most - self.row.dot(x)]])

    def forward(self, x: Unknowns) -> Matrix:
        """-row'x."""
        return np.array([[-x.along if self.row.own.any() else -self.row.dot(x)]])

    def add_adjoint(self, z: Matrix, to: Unknowns) -> None:
        """Add -z row."""
        to.shared[:] -= z[0, 0] * self.row.shared
        to.own[:] -= z[0, 0] * self.row.own

    def add_curvature(self, system: Arrow, scaling: Scaling) -> None:
        """Add h row row'."""
        system.add_row(self.row, float(scaling.total(np.zeros(1, dtype=np.intp))[0, 0]))


Constraint = Placed | Limit


@dataclass(frozen=True)
class ConstraintSet:
    """A set by name, with its radii; without a metric among the unknowns where one is given."""

    name: str
    n_features: int
    n_people: int
    radius: float = np.inf
    own_radius: float = np.inf
    has_metric: bool = True

    @cached_property
    def sizes(self) -> Sizes:
        """How many unknowns there are."""
        d = self.n_features
        square = d * (d + 1) // 2
        weighted = self.name in ("nuclear_split", "nuclear_full")
        n_columns = d if self.name == "nuclear_full" else 0
        n_metric = square if self.has_metric else 0
        return Sizes(d, self.n_people, n_metric, square * weighted, n_columns, d + weighted)

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The cones and inequalities it is made of."""
        found: list[Constraint] = []
        if self.has_metric:
            found.append(self._metric_cone())
            if self.name == "frobenius":
                found.append(self._metric_ball())
            if self.name in ("nuclear_metric", "nuclear_split"):
                found.append(self._trace_limit())
        if self.name in ("frobenius", "nuclear_metric"):
            found.append(self._own_balls())
        if self.sizes.n_weight:
            found += [self._own_columns(), *self._metric_columns(), self._budget()]
        return tuple(found)

    def _nothing(self) -> Unknowns:
        return Unknowns(np.zeros(self.sizes.n_shared), np.zeros((self.n_people, self.sizes.n_own)))

    def _metric_cone(self) -> Placed:
        """M >= 0."""
        places = np.arange(self.sizes.n_metric)
        return _placed(Semidefinite, np.zeros((1, len(places))), places[None], places)

    def _metric_ball(self) -> Placed:
        """|svec M| <= radius."""
        places = np.arange(self.sizes.n_metric)
        constant = np.zeros((1, len(places) + 1))
        constant[0, 0] = self.radius
        return _placed(SecondOrder, constant, places[None], places + 1)

    def _own_balls(self) -> Placed:
        """|v_k| <= own_radius."""
        d = self.n_features
        constant = np.zeros((self.n_people, d + 1))
        constant[:, 0] = self.own_radius
        return _placed(SecondOrder, constant, own=np.arange(d), own_at=np.arange(1, d + 1))

    def _trace_limit(self) -> Limit:
        """trace M <= radius."""
        row = self._nothing()
        row.shared[: self.sizes.n_metric] = svec(np.eye(self.n_features))
        return Limit(row, self.radius)

    def _own_columns(self) -> Placed:
        """[W, v_k; v_k', t_k] >= 0, whose svec is (svec W, sqrt 2 v_k, t_k)."""
        n, d, size = self.n_people, self.n_features, self.sizes
        at = np.arange(size.n_weight)
        factors = np.append(np.full(d, np.sqrt(2.0)), 1.0)
        own = np.arange(d + 1)
        constant = np.zeros((n, size.n_weight + d + 1))
        return _placed(
            Semidefinite, constant, size.n_metric + at[None], at, None, own, size.n_weight + own, factors
        )

    def _metric_columns(self) -> list[Placed]:
        """`_own_columns` for the columns of M, if they are bounded together with people's v."""
        size, d = self.sizes, self.n_features
        if not size.n_columns:
            return []
        t = triangle(d)
        weight = np.broadcast_to(size.n_metric + np.arange(size.n_weight), (d, size.n_weight))
        last = size.n_metric + size.n_weight + np.arange(d)[:, None]
        shared = np.hstack([weight, t.unpack, last])
        factors = np.ones(shared.shape)
        factors[:, size.n_weight : -1] = np.sqrt(2.0) / t.factors[t.unpack]
        constant = np.zeros(shared.shape)
        columns = _placed(Semidefinite, constant, shared, np.arange(shared.shape[1]), factors)
        return [replace(columns, scattered=True)]

    def _budget(self) -> Limit:
        """trace W + sum t <= 2 r."""
        size, row = self.sizes, self._nothing()
        row.shared[size.n_metric : size.n_metric + size.n_weight] = svec(np.eye(self.n_features))
        row.shared[size.n_metric + size.n_weight :] = 1.0
        row.own[:, -1] = 1.0
        return Limit(row, 2 * (self.radius if self.name == "nuclear_full" else self.own_radius))

    def start(self, usual: float) -> Unknowns:
        """A point well inside, its metric a multiple of the identity and no larger than usual."""
        x, size, d = self._nothing(), self.sizes, self.n_features
        identity = svec(np.eye(d))
        if self.has_metric:
            most = {"frobenius": self.radius / np.sqrt(d), "psd": np.inf}.get(self.name, self.radius / d)
            x.shared[: size.n_metric] = min(usual, most / 4) * identity
        if size.n_weight:
            radius = self.radius if self.name == "nuclear_full" else self.own_radius
            # trace W = r / 2 and sum t = r / 2, which leaves half of the budget.
            x.shared[size.n_metric : size.n_metric + size.n_weight] = radius / (2 * d) * identity
            parts = 4 if size.n_columns else 2
            x.shared[size.n_metric + size.n_weight :] = radius / (parts * d)
            x.own[:, -1] = radius / (parts * self.n_people)
        return x

    def guide(self, duals: tuple[Matrix, ...]) -> Matrix | None:
        """A matrix that makes the bound of `nuclear_full` tight, from the dual points of `constraints`."""
        if not self.sizes.n_columns:
            return None
        ends = unpacked(duals[2], self.n_features + 1)[:, :-1, -1]
        result: Matrix = -2 * ends.T
        return result

    def support(self, metric: Matrix, own: Matrix, x: Unknowns, guide: Matrix | None) -> float:
        """The most that <metric, M> + <own, V> can be in the set, or a bound above it."""
        if self.name == "nuclear_full":
            assert guide is not None
            # <G, M> <= <Y, M> for every M >= 0 if the symmetric part of Y - G is positive semidefinite.
            short = _largest(metric - (guide + guide.T) / 2)
            above = guide + max(short, 0.0) * np.eye(len(guide))
            return self.radius * float(np.linalg.norm(np.hstack([above, own.T]), 2))
        return self._metric_support(metric, x) + self._own_support(own, x)

    def _metric_support(self, metric: Matrix, x: Unknowns) -> float:
        if not self.has_metric:
            return 0.0
        if self.name == "frobenius":
            positive = np.maximum(np.linalg.eigvalsh(metric), 0.0)
            return self.radius * float(np.linalg.norm(positive))
        radius = self.radius
        if self.name == "psd":
            radius = FAR * float(np.trace(smat(x.shared[: self.sizes.n_metric], self.n_features)))
        return radius * max(_largest(metric), 0.0)

    def _own_support(self, own: Matrix, x: Unknowns) -> float:
        if self.name == "nuclear_split":
            return self.own_radius * float(np.linalg.norm(own, 2))
        radius = FAR * np.linalg.norm(x.own, axis=1) if self.name == "psd" else self.own_radius
        return float((radius * np.linalg.norm(own, axis=1)).sum())


def _placed(
    kind: type[SecondOrder] | type[Semidefinite],
    constant: Matrix,
    shared: Index | None = None,
    at: Index | None = None,
    factors: Matrix | None = None,
    own: Index | None = None,
    own_at: Index | None = None,
    own_factors: Vector | None = None,
) -> Placed:
    """A batch with factors of 1 where none are given."""
    nothing = np.zeros(0, dtype=np.intp)
    shared = nothing[None] if shared is None else shared
    own = nothing if own is None else own
    return Placed(
        kind,
        constant,
        shared,
        nothing if at is None else at,
        np.ones(shared.shape) if factors is None else factors,
        own,
        nothing if own_at is None else own_at,
        np.ones(len(own)) if own_factors is None else own_factors,
    )


def _run(places: Index) -> slice:
    """Consecutive places as a slice, which is much faster to add to."""
    return slice(int(places[0]), int(places[0]) + len(places)) if len(places) else slice(0, 0)


def _largest(symmetric: Matrix) -> float:
    """The largest eigenvalue."""
    return float(np.linalg.eigvalsh(symmetric)[-1])


def radii(name: str, size: float, items: Matrix, n_people: int) -> tuple[float, float]:
    """Radii that just hold a metric size I, and ideal points as far from 0 as the items are.

    |v| = |2 M u| is then at most 2 size max |x|, and nuclear norms follow from |A|_* <= sqrt(rank) |A|_F.
    """
    d = items.shape[1]
    squared = float((items**2).sum(axis=1).mean())
    longest = float(np.linalg.norm(items, axis=1).max())
    found = {
        "frobenius": (np.sqrt(d), 2 * longest),
        "nuclear_metric": (d, 2 * longest),
        "nuclear_split": (d, 2 * np.sqrt(min(d, n_people) * n_people * squared)),
        "nuclear_full": (np.sqrt(d * (d + 4 * n_people * squared)), np.inf),
    }.get(name, (np.inf, np.inf))
    return size * float(found[0]), size * float(found[1])
