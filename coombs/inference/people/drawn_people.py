"""Draws of everybody's taste at once, for what is not linear in tastes, such as places in rankings.

A mean taste lies nearer to what all want than the taste itself: rankings by means agree more than people do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coombs.inference.people.content_keys import answer_keys, item_keys
from coombs.inference.people.own_tastes import may_be_own, read_as_own, with_own
from coombs.inference.people.population_fit import View
from coombs.inference.people.posteriors import Sites, posteriors

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock
    from coombs.inference.people.population_prior import PopulationPrior
    from coombs.inference.people.posteriors import Posteriors
    from coombs.inference.people.tastes import Tastes

TABLE = 256
"""Normal vectors from which draws are taken."""


class Way(NamedTuple):
    """A way to have answered: its share (K,), mean weights (K, D + M), roots of their covariances.

    `scale` is how many times as large effects of items are that nothing was said of.
    """

    share: Vector
    mean: Matrix
    root: Matrix
    scale: float = 1.0


class Noise(NamedTuple):
    """Normal numbers for the coordinates (T, D) and effects of items (T, n); from 0 to 1 for the way (T,)."""

    weights: Matrix
    items: Matrix
    ways: Vector

    @classmethod
    def table(cls, phi: Matrix, with_items: bool) -> Noise:
        """Always the same, in whatever order coordinates and items are."""
        n, d = phi.shape
        values = np.random.default_rng(0).standard_normal((TABLE, 1 + d + (n if with_items else 0)))
        # Ranks of what coordinates and items are like.
        coordinates = np.argsort(np.argsort(np.sin(1.3 * phi).sum(axis=0).round(9), kind="stable"))
        items = np.argsort(np.argsort(item_keys(phi).round(9), kind="stable"))
        own = values[:, 1 + d :][:, items] if with_items else values[:, :0]
        # Evenly spread, so that ways have their shares also where these are small.
        ways = (np.argsort(np.argsort(values[:, 0])) + 0.5) / TABLE
        return cls(values[:, 1 : 1 + d][:, coordinates], own, ways)

    def rows(self, at: Index, sign: float) -> Noise:
        """Those of some people, or on the other side of the mean."""
        return Noise(sign * self.weights[at], sign * self.items[at], self.ways[at])


def drawn_utilities(part: Tastes, phi: Matrix, people: Index, count: int) -> Matrix:
    """(count, k, n) utilities of the compared items for some people, about everybody's own mean.

    Each two draws are on opposite sides of the mean. A person's draws depend on their own answers alone.
    """
    result = np.empty((count, len(people), len(phi)))
    effect = part.fit.prior.effect
    noise = Noise.table(phi, bool(effect))
    of_block, row = part.place
    known = people < len(of_block)
    numbers = np.where(known, of_block[np.where(known, people, 0)], -1)
    for number in np.unique(numbers).tolist():
        where = np.flatnonzero(numbers == number)
        if number < 0:
            starts, own = np.arange(len(where)), None
            ways = _of_anybody(part, len(where))
        else:
            rows = row[people[where]]
            own = part.fit.blocks[number].only(rows)
            starts, ways = _starts(own, phi), _ways(part, number, rows, own, phi)
        for s in range(count):
            at = (starts + 101 * (s // 2)) % TABLE
            result[s, where] = _utilities(ways, noise.rows(at, 1.0 - 2 * (s % 2)), own, phi, effect)
    result -= result.mean(axis=2, keepdims=True)
    return result


def _starts(block: AnswerBlock, phi: Matrix) -> Index:
    """(K,) where in the table the draws of each person begin, by their answers and not by their order."""
    items = item_keys(phi)
    keys = answer_keys(items[block.winners], items[block.losers], block.weights).sum(axis=1)
    result: Index = (np.abs(keys.round(6)) * 9973).astype(np.intp) % TABLE
    return result


def _roots(covariances: Matrix) -> Matrix:
    """(K, n, n) symmetric ones, which do not depend on the order of the weights."""
    values, vectors = np.linalg.eigh(covariances)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    result: Matrix = np.matmul(scaled, vectors.transpose(0, 2, 1))
    return result


def _of_anybody(part: Tastes, count: int) -> list[Way]:
    """Of people who have not said anything."""
    prior = part.fit.prior
    root = np.broadcast_to(_roots(prior.covariance[None]), (count, *prior.root.shape))
    return [
        Way(np.full(count, share), np.tile(scale * prior.means[group], (count, 1)), scale * root, scale)
        for group, scale, share in zip(*prior.components, strict=True)
    ]


def _ways(part: Tastes, number: int, rows: Index, block: AnswerBlock, phi: Matrix) -> list[Way]:
    """Of some people of a block: by each component, and with a taste of their own; nobody tosses a coin."""
    fit, prior, view = part.fit, part.fit.prior, View.of(part.fit.prior, phi)
    members, (groups, scales, _) = fit.members[number][rows], prior.components
    moved: Matrix = np.zeros((len(rows), 1))
    if prior.slopes is not None and block.about is not None:
        moved = block.about @ prior.slopes.gamma.T
    found = []
    components = zip(groups, scales.tolist(), view.readings(block), fit.sites[number], strict=True)
    for share, (group, scale, reading, sites) in zip(members.T, components, strict=False):
        here = posteriors(*reading, Sites(sites.precision[rows], sites.shift[rows]))
        way = _way(share, here, prior.means[group] + moved, prior)
        found.append(Way(share, scale * way.mean, scale * way.root, scale))
    some = may_be_own(members, block.totals, prior.coin)
    if len(some):
        own = part.kind_prior.own.prior
        here, evidence = read_as_own(block.only(some), own, phi)
        shares = np.zeros((len(members), len(groups) + 1))
        shares[:, :-1] = members[:, :-1]
        shares[some] = with_own(members[some], block.totals[some], prior.coin, evidence)[:, :-1]
        found = [one._replace(share=share) for one, share in zip(found, shares.T, strict=False)]
        found.append(_spread(_way(shares[some, -1], here, np.zeros(len(own.root)), own), some, found[0]))
    return found


def _way(share: Vector, found: Posteriors, mean: Matrix, prior: PopulationPrior) -> Way:
    """From a posterior of z."""
    (k, size), d = found.mean.shape, len(prior.root)
    scale = np.diag(np.append(np.zeros(d), np.full(size - d, prior.effect)))
    scale[:d, :d] = prior.root
    middle = np.zeros((k, size))
    middle[:, :d] = mean
    return Way(share, middle + found.mean @ scale.T, _roots(scale @ found.all_covariances() @ scale.T))


def _spread(way: Way, rows: Index, like: Way) -> Way:
    """A way of some people, beside others of whom it has no share."""
    share, mean, root = np.zeros(len(like.share)), np.zeros(like.mean.shape), np.zeros(like.root.shape)
    size = way.mean.shape[1]
    share[rows], mean[rows, :size], root[rows, :size, :size] = way[:3]
    return Way(share, mean, root)


def _utilities(
    ways: list[Way], noise: Noise, block: AnswerBlock | None, phi: Matrix, effect: float
) -> Matrix:
    """(K, n) of one draw of each person."""
    shares = np.array([way.share for way in ways])
    level = noise.ways * shares.sum(axis=0)
    chosen = np.minimum((np.cumsum(shares, axis=0) < level).sum(axis=0), len(ways) - 1)
    d, local, people = phi.shape[1], None, np.arange(len(level))
    normal = noise.weights
    if effect and block is not None:
        local = block.local.items
        normal = np.hstack([normal, np.take_along_axis(noise.items, np.maximum(local, 0), axis=1)])
    weights = np.zeros(normal.shape)
    for number, way in enumerate(ways):
        rows = np.flatnonzero(chosen == number)
        weights[rows] = way.mean[rows] + np.matmul(way.root[rows], normal[rows][:, :, None])[:, :, 0]
    utilities: Matrix = weights[:, :d] @ phi.T
    if effect:
        own = effect * np.array([way.scale for way in ways])[chosen][:, None] * noise.items
        if local is not None:
            real = local >= 0
            own[np.broadcast_to(people[:, None], real.shape)[real], local[real]] = weights[:, d:][real]
        utilities += own
    return utilities
