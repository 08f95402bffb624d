"""The best Gaussian for whitened unknowns, given answers about differences of scores.

An answer is about one margin, so its expectations are integrals in one dimension, and the best Gaussian
has one site (precision and shift) an answer (Opper and Archambeau, 2009). The score of a set of rivals is
taken to second order about its members' mean: see set_design.py. Sites are found in variational_fit.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector


NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
"""Nodes and weights of integrals over a standard normal."""
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
BLOCK = 20_000
"""Answers that are predicted at once."""


class GaussianSites(NamedTuple):
    """What each answer says of its margin: a Gaussian of this precision, and precision times place.

    Where answers are about more than two things, the precisions are those of the others, `shift` is along the
    scores of items and anchors, and `blocks` are the precisions of what such answers are about. Scores that
    are not linear in the unknowns z are to be taken as they are `near` some z.
    """

    precision: Vector
    shift: Vector
    blocks: tuple[Matrix, ...] = ()
    near: Vector | None = None

    def only(self, chosen: Any) -> GaussianSites:
        """Those of one, or of some, of several designs."""
        return GaussianSites(
            self.precision[chosen], self.shift[chosen], tuple(part[chosen] for part in self.blocks)
        )


class Expectation(NamedTuple):
    """Under some Gaussian: the mean log likelihood, its slope along the lapse, and the best sites for it.

    `slope` is that of each answer's mean log probability along its margin; `to_head_start` that of all along
    the head start.
    """

    value: float
    to_lapse: float
    sites: GaussianSites
    margin: Vector
    variance: Vector
    slope: Vector
    to_head_start: float = 0.0


@dataclass(frozen=True, eq=False)
class Design:
    """Scores of items as root z, with whitened unknowns z ~ N(0, I), and margins s_loser - s_winner.

    Where ties are possible, the loser has a `head_start`.
    """

    root: Matrix
    answers: Answers
    head_start: float = 0.0

    def linearised(self, mean: Vector) -> Design:
        """This design with scores linearised about this mean, where they are not linear in z."""
        return self

    @cached_property
    def rows(self) -> Matrix:
        """Each answer's margin as a function of z."""
        winners, losers = self.answers.ends
        result: Matrix = self.root[losers] - self.root[winners]
        return result

    def mean_probability(self, margin: Vector, variance: Vector, lapse: float) -> Vector:
        """Of all rows held out; margins are normal, of rows about more than two things no matter what."""
        answers = self.answers
        chance = np.full(len(margin), 0.5)
        chance[: answers.held_out.n_answers] = answers.chance
        p = mean_probability(margin, variance, lapse, chance)
        if answers.sets is not None and len(answers.sets.ahead):
            held, n = answers.held_out, len(answers.items)
            may = np.flatnonzero(answers.sets.are_ahead(held.losers, n))
            tied = answers.sets.are_ahead(held.winners[may], n)[:, None]
            at = margin[may, None] + np.sqrt(variance[may, None]) * NODES
            p[may] = lapse / 3 + (1 - lapse) * (_win_or_tie(at, tied, self.head_start)[0] @ NODE_WEIGHTS)
        return p


def squared_lengths(lower: Matrix, rows: Matrix) -> Vector:
    """Variances of linear functions of the unknowns, the rows."""
    across = solve_triangular(lower, rows.T, lower=True, check_finite=False)
    result: Vector = np.einsum("ij,ij->j", across, across)
    return result


class VariationalFit(NamedTuple):
    """The best Gaussian for some sizes and relevances: its sites, precision and mean; the bound there."""

    bound: float
    lower: Matrix
    mean: Vector
    sites: GaussianSites
    lapse: float
    expectation: Expectation
    design: Design

    @property
    def to_lapse(self) -> float:
        """The bound's slope along the lapse's log odds."""
        return self.expectation.to_lapse * self.lapse * (1 - self.lapse)

    @property
    def to_head_start(self) -> float:
        """The bound's slope along the logarithm of the head start."""
        return self.expectation.to_head_start * self.design.head_start


def expected(
    margin: Vector, variance: Vector, lapse: Matrix | float, chance: Matrix | float = 0.5
) -> tuple[Vector, Vector, Vector, Vector]:
    """Of log p at a normal margin: its mean, those of its slope and curvature, and of its slope in lapse.

    The lapse and the chance of an answer are one for all, or a column.
    """
    nodes, shares = (NODES, NODE_WEIGHTS) if variance.any() else (np.zeros(1), np.ones(1))
    sigma = expit(margin[:, None] + np.sqrt(variance)[:, None] * nodes)
    p = np.maximum(lapse * chance + (1 - lapse) * sigma, 1e-300)
    slope = (1 - lapse) * sigma * (1 - sigma) / p
    curvature = slope * (slope - 1 + 2 * sigma)
    return np.log(p) @ shares, slope @ shares, curvature @ shares, ((chance - sigma) / p) @ shares


def expected_ties(
    margin: Vector, variance: Vector, lapse: Matrix, tied: NDArray[np.bool_], head_start: Matrix
) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """`expected` where ties are possible, and the mean slope of log p along the head start.

    With q the probability of a win or a tie without lapses: q'/q = a and (q'/q)' = b.
    """
    nodes, shares = (NODES, NODE_WEIGHTS) if variance.any() else (np.zeros(1), np.ones(1))
    q, a, b, to_head_start = _win_or_tie(
        margin[:, None] + np.sqrt(variance)[:, None] * nodes, tied[:, None], head_start
    )
    p = np.maximum(lapse / 3 + (1 - lapse) * q, 1e-300)
    careful = (1 - lapse) * q / p
    curvature = -careful * (b + (1 - careful) * a**2)
    slopes = (careful * a) @ shares, curvature @ shares, ((1 / 3 - q) / p) @ shares
    return np.log(p) @ shares, *slopes, ((1 - lapse) * to_head_start / p) @ shares


def _win_or_tie(
    margin: Matrix, tied: NDArray[np.bool_], head_start: Matrix | float
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """q of a win or a tie; the first and second slope of log q along the margin; q's along the head start."""
    first, second = expit(margin - head_start), expit(-margin - head_start)
    curved = first * (1 - first), second * (1 - second)
    q = np.where(tied, np.expm1(2 * head_start) * first * second, first)
    a = np.where(tied, second - first, 1 - first)
    b = -np.where(tied, curved[0] + curved[1], curved[0])
    return q, a, b, np.where(tied, curved[0] + curved[1], -curved[0])


def mean_probability(margin: Vector, variance: Vector, lapse: float, chance: Vector) -> Vector:
    """Of an answer about two things whose margin is normal."""
    mean = np.empty(len(margin))
    for begin in range(0, len(margin), BLOCK):
        part = slice(begin, begin + BLOCK)
        mean[part] = expit(margin[part, None] + np.sqrt(variance[part, None]) * NODES) @ NODE_WEIGHTS
    result: Vector = lapse * chance + (1 - lapse) * mean
    return result


def without_pairs(found: VariationalFit) -> tuple[Vector, Vector]:
    """Of each row held out: its probability without the sites of its pair, and the log one of its answers.

    A row that is no answer is about the same pair as one.
    """
    answers, held = found.design.answers, found.design.answers.held_out
    pair, (winners, losers) = answers.questions, answers.ends
    side = np.where(winners < losers, 1.0, -1.0)
    precision = np.bincount(pair, found.sites.precision)[pair]
    shift = side * np.bincount(pair, side * found.sites.shift)[pair]
    margin, variance = found.expectation.margin, np.maximum(found.expectation.variance, 1e-12)
    left = np.maximum(1 / variance - precision, 1e-9)
    margin = (margin / variance - shift) / left
    variance = 1 / left
    if answers.sets is not None and len(held.winners) > len(pair):
        at = np.unique(pair, return_index=True)[1][held.questions]
        winners, losers = (answers.sets.items_of(rows, len(answers.items)) for rows in held[:2])
        margin, variance = np.where(winners < losers, 1.0, -1.0) * (side * margin)[at], variance[at]
    p = found.design.mean_probability(margin, variance, found.lapse)
    of_pair: Vector = np.bincount(held.questions, held.weights * np.log(p)).astype(float)[held.questions]
    return p, of_pair
