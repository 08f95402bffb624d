"""What answers tell about the scores near some point: their Fisher information."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from coombs.data.answer_chance import HEAD_START_WIDTH, LAPSE_WIDTH
from coombs.data.graph import ComparisonGraph

if TYPE_CHECKING:
    from coombs.data.graph import Index, Vector
    from coombs.inference.target import ScoreParameters, Target


@dataclass(frozen=True)
class InformationPairs:
    """Fisher information of differences of two rows' scores: sum of size (s_one - s_other)^2.

    Rows are items and anchors. `to_lapse` is what the lapse's unknown counts for beside a difference,
    `to_head_start` the same of the head start's, which has `of_head_start` of its own as well.
    """

    one: Index
    other: Index
    size: Vector
    to_lapse: Vector
    to_head_start: Vector
    of_head_start: float = 0.0

    def only(self, rows: Index) -> InformationPairs:
        """Some of them."""
        ends, rest = (self.one[rows], self.other[rows]), (self.to_lapse[rows], self.to_head_start[rows])
        return InformationPairs(*ends, self.size[rows], *rest, self.of_head_start)

    def joined(self, others: list[InformationPairs]) -> InformationPairs:
        """These and others."""
        every = [self, *others]
        ends = (np.concatenate([part.one for part in every]), np.concatenate([part.other for part in every]))
        size, to_lapse, to_head_start = (
            np.concatenate([getattr(part, name) for part in every])
            for name in ("size", "to_lapse", "to_head_start")
        )
        return InformationPairs(*ends, size, to_lapse, to_head_start, self.of_head_start)

    def laplacian(self, n: int) -> Any:
        """(n, n) the information matrix of the scores of items and anchors."""
        return ComparisonGraph(self.one, self.other, n).laplacian(self.size)

    def of_each(self, n: int) -> Vector:
        """Its diagonal."""
        both = np.concatenate([self.one, self.other])
        return np.bincount(both, np.tile(self.size, 2), n).astype(float)


def information_pairs(target: Target, y: Vector) -> InformationPairs:
    """What the answers tell about items and anchors at y; a choice among several, of every two of them."""
    to_margin, information, to_lapse = _information(target, y)
    graph, ratio, none = target.graph, to_lapse / to_margin, np.zeros(len(to_lapse))
    if target.sets is None:
        return InformationPairs(graph.winners, graph.losers, information, ratio, none)
    n, base = len(target.items), graph.n_items - target.sets.n_sets
    one, other = (target.sets.items_of(rows, n) for rows in (graph.winners, graph.losers))
    found = InformationPairs(one, other, information, ratio, none)
    at = target.scores(y[None])
    rows = target.of_rows(at)[0][:, 0]
    if target.has_ties:
        found = _with_ties(target, found, rows, at)
    parts = []
    if target.sets.cumulative:
        rated = target.sets.scale_of(np.maximum(graph.winners, graph.losers), n) >= 0
        parts = [_of_ratings(target, np.flatnonzero(rated), rows, float(at.lapse[0]))]
        found = replace(found, size=np.where(rated, 0.0, found.size))
    for some in target.sets.choices(found.one, found.other, base):
        values = np.where(some.present, -some.signs[:, None] * rows[some.members], -np.inf)
        odds = softmax(values, axis=1)
        a, b = np.triu_indices(odds.shape[1], 1)
        size = odds[:, a] * odds[:, b] * (target.weights[some.rows] * (1 - at.lapse[0]) ** 2)[:, None]
        real = size > 0
        one, other, none = some.members[:, a][real], some.members[:, b][real], np.zeros(int(real.sum()))
        parts.append(InformationPairs(one, other, size[real], none, none))
    kept = (np.maximum(found.one, found.other) < base) & (found.size > 0)
    return found.only(np.flatnonzero(kept)).joined(parts)


def _of_ratings(target: Target, rated: Index, rows: Vector, lapse: float) -> InformationPairs:
    """Of ratings: the curvature of each, as it was given, along the item and the thresholds beside it.

    With margins a to the lower threshold and b to the upper one, log q = log sigma(a) + log sigma(-b) +
    log(1 - e^(b - a)); with lapses, it counts for as much as the rating is not one.
    """
    assert target.sets is not None
    n, graph, sets = len(target.items), target.graph, target.sets
    winners, losers, weights = graph.winners[rated], graph.losers[rated], target.weights[rated]
    high, item = np.maximum(winners, losers), np.minimum(winners, losers)
    anchor, band = n + sets.anchor_of(high, n), sets.band_of(high, n) >= 0
    above = np.where(band, anchor + 1, anchor)
    gap = np.where(band, rows[anchor] - rows[above], 1.0)
    sigma = expit(rows[[anchor, above]] - rows[item])
    q = np.where(band, sigma[0] - sigma[1], np.where(winners < n, sigma[0], 1 - sigma[0]))
    careful = weights * (1 - lapse) * q / (lapse / (1 + sets.counts(n)[high]) + (1 - lapse) * q)
    curved = careful * sigma * (1 - sigma)
    of_gap = careful[band] / (4 * np.sinh(gap[band] / 2) ** 2)
    ends = (
        np.concatenate([item, item[band], anchor[band]]),
        np.concatenate([anchor, above[band], above[band]]),
    )
    size = np.concatenate([curved[0], curved[1][band], of_gap])
    return InformationPairs(*ends, size, np.zeros(len(size)), np.zeros(len(size)))


def _with_ties(
    target: Target, found: InformationPairs, rows: Vector, at: ScoreParameters
) -> InformationPairs:
    """Information where ties are possible: a win of either and a tie have probabilities p, three rows."""
    assert target.sets is not None and at.head_start is not None
    may = np.flatnonzero(target.sets.are_ahead(target.graph.losers, len(target.items)))
    h, lapse, weights = float(at.head_start[0]), float(at.lapse[0]), target.weights[may]
    margin = rows[found.other[may]] - rows[found.one[may]]
    wins = expit([margin - h, -margin - h])
    q = np.array([*wins, 1 - wins.sum(axis=0)])
    p, (first, second) = lapse / 3 + (1 - lapse) * q, (1 - lapse) * wins * (1 - wins)
    to_margin = np.array([first, -second, second - first])
    to_start = HEAD_START_WIDTH * h * np.array([-first, -second, first + second])
    to_lapse = LAPSE_WIDTH * lapse * (1 - lapse) * (1 / 3 - q)
    size = np.maximum((to_margin**2 / p).sum(axis=0), 1e-12)
    ratios = [(to_margin * other / p).sum(axis=0) / size for other in (to_lapse, to_start)]
    left = float(weights @ ((to_start**2 / p).sum(axis=0) - ratios[1] ** 2 * size))
    new = {"size": weights * size, "to_lapse": ratios[0], "to_head_start": ratios[1]}
    for name, values in new.items():
        whole = getattr(found, name).copy()
        whole[may] = values
        new[name] = whole
    return replace(found, **new, of_head_start=left)


def _information(target: Target, y: Vector) -> tuple[Vector, Vector, Vector]:
    """Of each answer: dp/d(margin), its weighted Fisher information there, dp/d(lapse's unknown)."""
    p, sigma, lapse = target.probabilities(y)
    to_margin = np.maximum((1 - lapse) * sigma * (1 - sigma), 1e-12)
    information = target.weights * to_margin**2 / np.maximum(p * (1 - p), 1e-12)
    return to_margin, information, (0.5 - sigma) * LAPSE_WIDTH * lapse * (1 - lapse)
