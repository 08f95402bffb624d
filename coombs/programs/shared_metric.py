"""One metric for many people, each with an own ideal point: the programs of Canal, Mason, Vinayak & Nowak.

    minimise    sum_i w_i loss(e_i),   e_i = <M, x_l x_l' - x_w x_w'> + v_k' (x_l - x_w)
    over        M positive semidefinite and v_1..v_K, one for each person (v_k = -2 M u_k),
    in          a constraint set: see `constraint_sets`.

Answer i of person k prefers item w to item l. The weights sum to one, so the objective is a mean. Any
point of the set and any prices a in [0, w] give a value and a lower bound, so the gap is a certificate.
G. Canal, B. Mason, R. K. Vinayak, R. Nowak: One for All: Simultaneous Metric and Preference Learning over
Multiple Users, NeurIPS 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from coombs.data.graph import ComparisonGraph
from coombs.programs.arrow import Arrow, Unknowns
from coombs.programs.cone import outer_features, smat, svec
from coombs.programs.program import SMALLEST_SHARE, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.programs.constraint_sets import ConstraintSet
    from coombs.programs.losses import Loss
    from coombs.programs.scaled_cones import Array


FEW_ITEMS = 2
"""A Gram matrix of all answers goes through the items where this times their square is below n D."""


@dataclass(frozen=True)
class PeoplesAnswers:
    """Answers sorted by person: winners, losers, weights, and who gave each, counted from zero."""

    items: Matrix
    winners: Index
    losers: Index
    weights: Vector
    people: Index
    n_people: int

    @classmethod
    def collect(
        cls, items: Matrix, winners: Index, losers: Index, weights: Vector, people: Index, n_people: int
    ) -> PeoplesAnswers:
        """Sorted by person, equal answers of one person merged, weights summing to one."""
        n = len(items)
        codes, place = np.unique((people * n + winners) * n + losers, return_inverse=True)
        mass = np.bincount(place, weights)
        kept, mass = codes[mass > 0], mass[mass > 0]
        return cls(items, kept // n % n, kept % n, mass / mass.sum(), kept // (n * n), n_people)

    def folds(self, count: int, rng: np.random.Generator) -> Iterator[tuple[PeoplesAnswers, PeoplesAnswers]]:
        """(kept, left out) for each part of everybody's answers, cut by unordered pair."""
        n = len(self.items)
        low, high = np.minimum(self.winners, self.losers), np.maximum(self.winners, self.losers)
        questions, place = np.unique((self.people * n + low) * n + high, return_inverse=True)
        person = questions // (n * n)
        # A person's questions in a random order, dealt to the parts in turn.
        order = np.lexsort((rng.random(len(questions)), person))
        part = np.empty(len(questions), dtype=np.intp)
        part[order] = np.arange(len(questions)) % count
        for k in range(count):
            left = (part == k)[place]
            if left.any() and not left.all():
                yield self._only(~left), self._only(left)

    def _only(self, chosen: NDArray[np.bool_]) -> PeoplesAnswers:
        """Some of the answers, of the same people."""
        return PeoplesAnswers.collect(
            self.items,
            self.winners[chosen],
            self.losers[chosen],
            self.weights[chosen],
            self.people[chosen],
            self.n_people,
        )


@dataclass(frozen=True)
class SharedProgram:
    """One instance. `shared` is (n, D) svec of x_l x_l' - x_w x_w', `own` (n, d) x_l - x_w.

    With a given metric `shared` has no columns and `offset` has its margins.
    """

    shared: Matrix
    own: Matrix
    offset: Vector
    people: Index
    n_people: int
    weights: Vector
    loss: Loss
    constraint: ConstraintSet
    squares: Matrix
    """(n_items, D) svec of x x' less its mean."""
    graph: ComparisonGraph | None
    """Of all people's answers, where there are few items for them."""

    @classmethod
    def of(
        cls, answers: PeoplesAnswers, loss: Loss, constraint: ConstraintSet, metric: Matrix | None = None
    ) -> SharedProgram:
        """The program of these answers; a metric may be given instead of learned."""
        squares = outer_features(answers.items)
        shared = squares[answers.losers] - squares[answers.winners]
        own = answers.items[answers.losers] - answers.items[answers.winners]
        offset = np.zeros(len(own))
        if metric is not None:
            scores = np.einsum("ni,ij,nj->n", answers.items, metric, answers.items)
            offset, shared = scores[answers.losers] - scores[answers.winners], shared[:, :0]
        n, few = len(answers.items), shared.shape[1] * len(own)
        graph = ComparisonGraph(answers.winners, answers.losers, n) if FEW_ITEMS * n * n < few else None
        people = (answers.people, answers.n_people, answers.weights)
        return cls(shared, own, offset, *people, loss, constraint, squares - squares.mean(axis=0), graph)

    @property
    def n_metric(self) -> int:
        """How many of the shared unknowns are svec M."""
        return int(self.shared.shape[1])

    def metric(self, x: Unknowns) -> Matrix:
        """M."""
        return smat(x.shared[: self.n_metric], self.own.shape[1])

    def directions(self, x: Unknowns) -> Matrix:
        """(people, d): v_k of each person."""
        return x.own[:, : self.own.shape[1]]

    def margins(self, x: Unknowns) -> Vector:
        """e of every answer."""
        return self.offset + self.margin_steps(x)

    def margin_steps(self, x: Unknowns) -> Vector:
        """How margins change with x."""
        result: Vector = self._own_map @ self.directions(x).reshape(-1)
        result += self.shared @ x.shared[: self.n_metric]
        return result

    def adjoint(self, prices: Vector) -> Unknowns:
        """sum_i a_i (shared_i, own_i), zero for unknowns that no answer sees."""
        size = self.constraint.sizes
        result = Unknowns(np.zeros(size.n_shared), np.zeros((self.n_people, size.n_own)))
        result.shared[: self.n_metric] = prices @ self.shared
        result.own[:, : size.n_features] = (self._own_map_transposed @ prices).reshape(self.n_people, -1)
        return result

    def metric_diagonal(self) -> Vector:
        """The margins that M = I has: differences of squared lengths."""
        result: Vector = self.shared @ svec(np.eye(self.own.shape[1]))
        return result

    def add_curvature(self, system: Arrow, curvature: Vector) -> None:
        """Add sum_i h_i (shared_i, own_i)(shared_i, own_i)' to a Newton system."""
        blocks, d, n_metric = self._blocks, self.own.shape[1], self.n_metric
        weighted = blocks.own * blocks.spread(curvature)[:, :, None]
        grams = weighted.swapaxes(1, 2) @ blocks.both
        if blocks.starts is not None:
            grams = np.add.reduceat(grams, blocks.starts, axis=0)
        system.cross[blocks.named, :d, :n_metric] += grams[:, :, :n_metric]
        system.own[blocks.named, :d, :d] += grams[:, :, n_metric:]
        system.shared[:n_metric, :n_metric] += self._metric_gram(curvature)

    def _metric_gram(self, curvature: Vector) -> Matrix:
        """sum_i h_i shared_i shared_i', through the items where they are few."""
        if self.graph is None:
            rooted = self.shared * np.sqrt(curvature)[:, None]
            return rooted.T @ rooted
        result: Matrix = self.squares.T @ (self.graph.laplacian(curvature) @ self.squares)
        return result

    @cached_property
    def _own_map(self) -> csr_array:
        """(n, people d): row i has x_l - x_w at the columns of the person who answered."""
        n, d = self.own.shape
        columns = self.people[:, None] * d + np.arange(d)
        return csr_array(
            (self.own.ravel(), columns.ravel(), np.arange(n + 1) * d), shape=(n, self.n_people * d)
        )

    @cached_property
    def _own_map_transposed(self) -> csr_array:
        return self._own_map.T.tocsr()

    @cached_property
    def _blocks(self) -> _UnknownBlocks:
        return _UnknownBlocks.of(self.own, self.shared, self.people)

    def value(self, x: Unknowns) -> float:
        """The objective, from its definition."""
        return self.loss.value(self.margins(x), self.weights)

    def bound(self, prices: Vector, x: Unknowns, guide: Matrix | None) -> float:
        """No point of the set has a smaller value. `guide` may be any matrix; a good one makes it tight."""
        adjoint = self.adjoint(prices)
        d = self.own.shape[1]
        of_metric = smat(adjoint.shared[: self.n_metric], d) if self.n_metric else np.zeros((0, 0))
        most = self.constraint.support(of_metric, self.directions(adjoint), x, guide)
        found = self.loss.conjugate(prices, self.weights) - float(prices @ self.offset) - most
        # No loss is negative.
        return max(found, 0.0)

    def scale(self, value: float) -> float:
        """|value|, but no less than a small share of the loss of knowing nothing."""
        return max(abs(value), SMALLEST_SHARE * self.loss.value(np.zeros(len(self.own)), self.weights))


@dataclass(frozen=True)
class _UnknownBlocks:
    """Everybody's answers in blocks of equal length, the last of a person filled up with zeros."""

    own: Array
    both: Array
    named: Index
    """People who gave an answer."""
    starts: Index | None
    """The first block of each of them; None where everybody has one."""
    place: Index | None
    """Of each answer in the blocks, None where they are full."""

    @classmethod
    def of(cls, own: Matrix, shared: Matrix, people: Index) -> _UnknownBlocks:
        named, counts = np.unique(people, return_counts=True)
        length = int(np.ceil(len(people) / len(named)))
        n_blocks = -(-counts // length)
        first = np.concatenate([[0], np.cumsum(n_blocks)])
        within = np.arange(len(people)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.repeat(first[:-1] * length, counts) + within
        shape = (int(first[-1]), length)
        filled = np.zeros((shape[0] * length, shared.shape[1] + own.shape[1]))
        filled[place] = np.hstack([shared, own])
        both = filled.reshape(*shape, -1)
        return cls(
            np.ascontiguousarray(both[:, :, shared.shape[1] :]),
            both,
            named,
            None if (n_blocks == 1).all() else first[:-1],
            None if len(place) == len(filled) else place,
        )

    def spread(self, values: Vector) -> Matrix:
        """Values of answers, in blocks."""
        shape = self.own.shape[:2]
        if self.place is None:
            return values.reshape(shape)
        result = np.zeros(shape[0] * shape[1])
        result[self.place] = values
        return result.reshape(shape)


@dataclass(frozen=True)
class SharedSolution:
    """Where a solve ended: M, everybody's v, and how."""

    metric: Matrix
    directions: Matrix
    status: Status
    objective: float
    gap: float
    n_iter: int
