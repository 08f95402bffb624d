"""What everybody's weights have in common, from what is known of each: the M-step.

The mean is shrunk towards nothing, variances towards those of the same block of weights, correlations towards
zero, each as much as there are few people: sizes of what is shared and of what is own are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.covariate_slopes import CovariateSlopes

SHARED_SIZE = 0.9
"""Prior centre of the deviation of what a block's shared weights add to utilities, in logits,"""
SHARED_WEIGHTS = 2.0
"""which is worth so many weights."""
OWN_SIZE = 1.0
"""Prior centre of the deviation of what a block's own weights add to utilities, in logits,"""
OWN_WEIGHTS = 2.0
"""which is worth so many weights of one person each, known exactly."""
MOST_SIZE = 5.0
"""The same at most, and of the items' own effects: answers hardly tell larger ones from one another."""
SAME_PEOPLE = 12.0
"""As many people as it is worth that weights of one block vary alike."""
UNCORRELATED = 2.0
"""As many people, for each weight of a block, as it is worth that weights are uncorrelated."""
LAPSE = 0.02
"""The lapse rate before any answer,"""
LAPSE_ANSWERS = 50.0
"""as if it had been seen in so many."""
LEAST_LAPSE = 0.002
"""Least lapse rate: an answer in a thousand is wrong whatever is asked."""
MOST_LAPSE = 0.5
"""Most."""
COIN = 0.03
"""The share of people who toss a coin, before any answer,"""
COIN_PEOPLE = 10.0
"""as if it had been seen in so many."""
CONSISTENT = 2.5
"""How many times as strong as others' tastes are those of people who answer far more consistently,"""
UNEVEN = 0.25
"""the share of people who answer far more, or less, consistently, where there are any, before any answer,"""
UNEVEN_PEOPLE = 6.0
"""as if it had been seen in so many."""
EFFECT_SIZE = 0.5
"""Prior centre of the deviation of the items' own effects, in logits,"""
EFFECT_WIDTH = 1.5
"""and prior deviation of the logarithm of its square."""
LEAST_EFFECT = 0.02
"""Least deviation of the items' own effects, in logits."""
LEAST_INFORMATION = 0.1
"""Share of the information on a weight that answers are taken to give, at least, in the length of a step."""
LONGEST = 1.0
"""By how much the logarithm of a variance may change in one step."""
LOGISTIC_VARIANCE = 2.9
"""Of the normal distribution function that is nearest to the logistic one, in squared logits."""
LEAST_VARIANCE = 1e-8
"""Of a weight, in squared logits."""
LARGEST_LOG = 20.0
"""Of a variance, in squared logits, where passes are accelerated,"""
MOST_ODDS = 9.0
"""and of the odds of people who answer far more, or less, consistently."""


NO_COVARIATES: Matrix = np.zeros((0, 0))
"""Sums of what is not known of people."""
NO_SHARE: Vector = np.zeros(2)
"""Slopes along a share that is not learned."""


class Sums(NamedTuple):
    """What the M-step needs of everybody, added up: kilobytes, however many people there are.

    Of each group: `people` (G,) is how many belong to it, `first` (G, D) the sum of their z, `covariance`
    (G, D, D) that of their posterior covariances. Of all: `second` that of z z', `effects` (3,) what is known
    of the items' own effects (see `effect_after`), `slope` and `curvature` those of the log evidence along
    the lapse rate, `coins` how many toss one, `log_evidence`; `crossed` (D, q) and `spread` (q, q) those of
    z c' and c c' with covariates c; `uneven` (2,) slope and curvature of the log evidence along the share of
    people who answer far more, or less, consistently.
    """

    people: Vector
    first: Matrix
    covariance: Matrix
    second: Matrix
    effects: Vector
    slope: float
    curvature: float
    coins: float
    log_evidence: float
    crossed: Matrix = NO_COVARIATES
    spread: Matrix = NO_COVARIATES
    uneven: Vector = NO_SHARE

    def plus(self, other: Sums) -> Sums:
        """Of more people."""
        pairs: Any = zip(self, other, strict=True)
        return Sums(*(one + another for one, another in pairs))


class Components(NamedTuple):
    """Groups at scales, (C,) each: which group, how many times as large weights are, the share of people."""

    groups: Index
    scales: Vector
    shares: Vector

    def by_group(self, members: Matrix) -> Matrix:
        """(..., G + 1) probabilities of groups and, last, of a coin, from those of components and coin."""
        count = int(self.groups[-1]) + 1
        parts = members[..., :-1].reshape(*members.shape[:-1], count, -1).sum(axis=-1)
        return np.concatenate([parts, members[..., -1:]], axis=-1)


@dataclass(frozen=True, eq=False)
class PopulationPrior:
    """What is known of anybody's weights before any answer: N(mean of their group, root root').

    Parameters
    ----------
    means : (G, D), of each group
    root : (D, D), lower, of what people of one group have of their own
    lapse : share of answers given at random
    shares, coin : (G,) shares of the groups; the share of people who toss a coin, beside them
    blocks : (D,) the block that each weight is in
    shared : (B,) variance of the shared weights of each block
    differences : (D, D) covariance of the coordinates of one item less those of another
    caution : how many times as many people as usual it is worth that weights are alike and uncorrelated
    effect : deviation of what an item is worth to one person beyond its coordinates, in logits; 0 for none
    slopes : by what means move with covariates of people; None without any
    uneven : share of people whose weights are CONSISTENT times as large as that, or as small; 0 for nobody
    """

    means: Matrix
    root: Matrix
    lapse: float
    shares: Vector
    coin: float
    blocks: Index
    shared: Vector
    differences: Matrix
    caution: float = 1.0
    effect: float = 0.0
    slopes: CovariateSlopes | None = None
    uneven: float = 0.0

    @classmethod
    def first(
        cls, coordinates: Matrix, blocks: Index, caution: float = 1.0, effect: float = 0.0
    ) -> PopulationPrior:
        """Before any answer."""
        counts = np.bincount(blocks)
        root = np.diag(OWN_SIZE / np.sqrt(counts[blocks]))
        differences = 2 * np.atleast_2d(np.cov(coordinates, rowvar=False))
        means, shared = np.zeros((1, len(blocks))), SHARED_SIZE**2 / counts
        return cls(means, root, LAPSE, np.ones(1), COIN, blocks, shared, differences, caution, effect)

    def begun_from(self, simpler: PopulationPrior) -> PopulationPrior:
        """The same with what was learned of a kind whose weights are the first of these, or all of them."""
        d, blocks = len(simpler.root), len(simpler.shared)
        means, root, shared = self.means.copy(), self.root.copy(), self.shared.copy()
        means[:, :d], root[:d, :d], shared[:blocks] = simpler.means, simpler.root, simpler.shared
        slopes = self.slopes
        if slopes is not None and simpler.slopes is not None:
            slopes = slopes.begun_from(simpler.slopes)
        begun = replace(self, means=means, root=root, shared=shared, slopes=slopes)
        return replace(
            begun, lapse=simpler.lapse, coin=simpler.coin, effect=simpler.effect, uneven=simpler.uneven
        )

    @property
    def scales(self) -> Vector:
        """(S,) how many times as large weights may be: more is answering more consistently."""
        return np.array([1 / CONSISTENT, 1.0, CONSISTENT]) if self.uneven else np.ones(1)

    @property
    def scale_shares(self) -> Vector:
        """(S,) of people."""
        side = self.uneven / 2
        return np.array([side, 1 - self.uneven, side]) if self.uneven else np.ones(1)

    @property
    def components(self) -> Components:
        """What anybody's weights are a mixture of: each group at each scale."""
        scales, shares = self.scales, np.outer(self.shares, self.scale_shares).ravel()
        groups = np.repeat(np.arange(len(self.shares)), len(scales))
        return Components(groups, np.tile(scales, len(self.shares)), shares)

    @property
    def covariance(self) -> Matrix:
        """root root'."""
        return self.root @ self.root.T

    def maximised(self, sums: Sums) -> PopulationPrior:
        """The next one, from what this one makes of everybody."""
        n, root = sums.people, self.root
        middles = self.means + (sums.first / n[:, None]) @ root.T
        # About each group's middle.
        second = sums.second + sums.covariance.sum(axis=0) - (sums.first / n[:, None]).T @ sums.first
        about = root @ second @ root.T / n.sum()
        means = np.array([self._shrunk_mean(middle, about / m) for middle, m in zip(middles, n, strict=True)])
        away = middles - means
        about = about + (away * n[:, None]).T @ away / n.sum()
        means, covariance = self._scored(means, self._shrunk(about, float(n.sum())), sums)
        doubts = np.array([np.diag(doubt) for doubt in self.doubts(sums)])
        seen, careful = LAPSE * LAPSE_ANSWERS, (1 - LAPSE) * LAPSE_ANSWERS
        lapse = share_after(self.lapse, sums.slope, sums.curvature, seen, careful)
        return replace(
            self,
            means=means,
            root=np.asarray(np.linalg.cholesky(covariance), dtype=float),
            lapse=float(np.clip(lapse, LEAST_LAPSE, MOST_LAPSE)),
            shares=(n + 1) / (n + 1).sum(),
            coin=(sums.coins + COIN * COIN_PEOPLE) / (sums.coins + float(n.sum()) + COIN_PEOPLE),
            shared=self._shared_variances((self.means**2 + doubts).mean(axis=0)),
            effect=effect_after(self.effect, *sums.effects.tolist()),
            slopes=None if self.slopes is None else self.slopes.maximised(self, sums),
            uneven=self._uneven_after(sums),
        )

    def _uneven_after(self, sums: Sums) -> float:
        """A Newton step towards the share of people who answer far more, or less, consistently."""
        if not self.uneven:
            return 0.0
        share, rest = self.uneven, 1 - self.uneven
        seen, others = UNEVEN * UNEVEN_PEOPLE, (1 - UNEVEN) * UNEVEN_PEOPLE
        slope, curvature = sums.uneven.tolist()
        step = (slope + seen / share - others / rest) / (curvature + seen / share**2 + others / rest**2)
        return float(np.clip(share + step, share / 3, 1 - rest / 3))

    def _shrunk_mean(self, middle: Vector, spread: Matrix) -> Vector:
        """Of a mean that is normal about `middle` with this covariance, and about zero before any answer."""
        result: Vector = middle - spread @ np.linalg.solve(spread + np.diag(self.shared[self.blocks]), middle)
        return result

    def _shared_variances(self, squares: Vector) -> Vector:
        """Of each block, from the squares of its weights; on a log scale, as few weights hardly tell it."""
        counts = np.bincount(self.blocks)
        kept = counts / (counts + SHARED_WEIGHTS)
        result: Vector = (np.bincount(self.blocks, squares) / counts) ** kept
        result *= (SHARED_SIZE**2 / counts) ** (1 - kept)
        return result

    def _scored(self, means: Matrix, covariance: Matrix, sums: Sums) -> tuple[Matrix, Matrix]:
        """As far as Fisher's scoring would go where the M-step goes to these means and this covariance.

        With p the share of the information on z that answers give, an M-step goes only p of the way for the
        mean, and p_i p_j for covariances (in the eigenvectors of p): the less answers tell, the slower.
        """
        root, n = self.root, float(sums.people.sum())
        shares, vectors = np.linalg.eigh(np.eye(len(root)) - sums.covariance.sum(axis=0) / n)
        shares = np.clip(shares, LEAST_INFORMATION, 1.0)
        basis = root @ vectors
        moves = np.linalg.solve(basis, (means - self.means).T)
        inner = np.linalg.solve(basis, np.linalg.solve(basis, covariance).T)
        kept = n / (n + self.caution * SAME_PEOPLE)
        moves /= (1 - kept + kept * shares)[:, None]
        away = (inner - np.eye(len(root))) / (1 - kept + kept * np.outer(shares, shares))
        values, turned = np.linalg.eigh((away + away.T) / 2)
        # exp of the change, so that what comes out is a covariance.
        turned = basis @ turned * np.exp(np.clip(values, -LONGEST, LONGEST) / 2)
        covariance = self._limited(turned @ turned.T)
        # The more people differ, the larger is the mean that makes the same answers as likely.
        before, after = self.mean_scale(root @ root.T), self.mean_scale(covariance)
        return (self.means + (basis @ moves).T) * (after / before), covariance

    def sizes(self, covariance: Matrix) -> Vector:
        """(B,) deviations of what each block's own weights add to utilities, in logits."""
        result: Vector = np.sqrt(np.bincount(self.blocks, np.diag(covariance)))
        return result

    def _limited(self, covariance: Matrix) -> Matrix:
        """With no block larger than can be told."""
        shrink = np.minimum(MOST_SIZE / self.sizes(covariance), 1.0)[self.blocks]
        result: Matrix = covariance * np.outer(shrink, shrink)
        return result

    def mean_scale(self, covariance: Matrix) -> float:
        """What a mean is measured in, so that it hardly depends on how much people differ."""
        return float(np.sqrt(1 + np.vdot(covariance, self.differences) / LOGISTIC_VARIANCE))

    def resized(self, factor: float) -> PopulationPrior:
        """With so many times the covariance, and means that then make the same answers as likely."""
        root = self.root * np.sqrt(factor)
        longer = self.mean_scale(root @ root.T) / self.mean_scale(self.covariance)
        slopes = None if self.slopes is None else replace(self.slopes, gamma=self.slopes.gamma * longer)
        return replace(self, means=self.means * longer, root=root, slopes=slopes)

    def log_prior_of_size(self) -> float:
        """Log density of the blocks' mean variances of what is own, up to a constant."""
        sizes = np.bincount(self.blocks, (self.root**2).sum(axis=1)) / OWN_SIZE**2
        return -float((np.log(sizes) ** 2).sum()) * OWN_WEIGHTS / 4

    def log_prior_of_effect(self) -> float:
        """Log density of the logarithm of the effects' variance, up to a constant."""
        away = 2 * np.log(self.effect / EFFECT_SIZE) if self.effect else 0.0
        return -(float(away / EFFECT_WIDTH) ** 2) / 2

    def doubts(self, sums: Sums) -> Matrix:
        """(G, D, D) covariances of the means, given all answers: everybody tells as much as their own do."""
        inverse = np.linalg.inv(self.root)
        whole = sums.people[:, None, None] * np.eye(len(self.root)) - sums.covariance
        seen = inverse.T @ whole @ inverse
        return np.asarray(np.linalg.inv(seen + np.diag(1 / self.shared[self.blocks])))

    def _shrunk(self, covariance: Matrix, n: float) -> Matrix:
        """Variances towards their block's, correlations towards zero."""
        variances = np.maximum(np.diag(covariance), LEAST_VARIANCE)
        counts = np.bincount(self.blocks)
        of_block = np.bincount(self.blocks, variances) / counts
        # On a log scale: answers of few people hardly tell large variances from larger ones.
        told = n * counts / (n * counts + OWN_WEIGHTS)
        of_block = of_block**told * (OWN_SIZE**2 / counts) ** (1 - told)
        n = n / self.caution
        kept = n / (n + SAME_PEOPLE)
        deviations = np.sqrt(variances**kept * of_block[self.blocks] ** (1 - kept))
        alike = np.sqrt(n / (n + UNCORRELATED * counts[self.blocks]))
        correlations = covariance * np.outer(alike / np.sqrt(variances), alike / np.sqrt(variances))
        np.fill_diagonal(correlations, 1.0)
        result: Matrix = correlations * np.outer(deviations, deviations)
        return result

    def vector(self) -> Vector:
        """In coordinates without limits; the lapse rate and the coin's share are left out.

        The covariance is its logarithm, so that the order of the weights does not matter.
        """
        values, vectors = np.linalg.eigh(self.covariance)
        logarithm = (vectors * np.log(np.maximum(values, LEAST_VARIANCE))) @ vectors.T / 2
        means = (self.means / self.mean_scale(self.covariance)).ravel()
        effect = np.log(np.array([self.effect] if self.effect else []))
        odds = [np.log(self.uneven / (1 - self.uneven))] if self.uneven else []
        slopes = np.zeros(0) if self.slopes is None else self.slopes.gamma.ravel()
        parts = np.log(self.shares), means, logarithm.ravel(), np.log(self.shared) / 2, effect, odds, slopes
        return np.concatenate(parts)

    def at(self, x: Vector) -> PopulationPrior:
        """The way back."""
        groups, d = self.means.shape
        ends = np.cumsum([groups, groups * d, d * d, len(self.shared)])
        logs, means, logarithm, shared, rest = np.split(x, ends)
        effect, odds, gamma = np.split(rest, np.cumsum([self.effect > 0, self.uneven > 0]))
        values, vectors = np.linalg.eigh(logarithm.reshape(d, d))
        covariance = (vectors * np.exp(np.minimum(2 * values, LARGEST_LOG))) @ vectors.T
        root = np.asarray(np.linalg.cholesky(covariance + LEAST_VARIANCE * np.eye(d)), dtype=float)
        shares = np.exp(logs - logs.max())
        return replace(
            self,
            means=means.reshape(groups, d) * self.mean_scale(covariance),
            root=root,
            shares=shares / shares.sum(),
            shared=np.exp(2 * shared),
            effect=float(np.exp(effect[0])) if self.effect else 0.0,
            slopes=None if self.slopes is None else replace(self.slopes, gamma=gamma.reshape(d, -1)),
            uneven=float(1 / (1 + np.exp(-np.clip(odds[0], -MOST_ODDS, MOST_ODDS)))) if self.uneven else 0.0,
        )

    def change(self, other: PopulationPrior) -> float:
        """By how much means and deviations differ, by that of what a coordinate adds to utilities."""
        size = np.sqrt((self.root**2).sum() / len(self.root) + (self.means**2).mean()) + 1e-3
        before, after = self.covariance, other.covariance
        # Of covariances in units of deviations: unlike the roots', it does not depend on the weights' order.
        deviations = np.sqrt(np.maximum(np.diag(before), LEAST_VARIANCE))
        both = np.add.outer(deviations, deviations)
        pairs = [(self.means, other.means), (before / both, after / both)]
        if self.slopes is not None and other.slopes is not None:
            pairs.append((self.slopes.gamma, other.slopes.gamma))
        worst = max(float(np.abs(one - another).max()) for one, another in pairs) / float(size)
        # That share is told least exactly, and needed so.
        worst = max(worst, abs(other.uneven - self.uneven) / 5)
        return max(worst, abs(float(np.log(other.effect / self.effect))) if self.effect else 0.0)


def effect_after(effect: float, excess: float, information: float, count: float) -> float:
    """A scoring step of the logarithm of the effects' variance.

    Of the `count` effects, in units of their deviation: `excess` is the sum of their mean squares less 1,
    `information` that of 1 less their posterior variance.
    """
    if not effect:
        return 0.0
    share, width = information / max(count, 1.0), EFFECT_WIDTH
    pull = excess / 2 - 2 * np.log(effect / EFFECT_SIZE) / width**2
    step = pull / (count * share**2 / 2 + 1 / width**2)
    return float(np.clip(effect * np.exp(np.clip(step, -1, 1) / 2), LEAST_EFFECT, MOST_SIZE))


def share_after(share: float, slope: float, curvature: float, seen: float, others: float) -> float:
    """Half a Newton step of its log odds towards the best share of a mixture.

    `seen` of it and `others` are taken as seen before anything else.
    """
    both = share * (1 - share)
    to_odds = both * slope + seen * (1 - share) - others * share
    step = to_odds / (both**2 * curvature + (seen + others) * both)
    odds = np.log(share / (1 - share)) + np.clip(step / 2, -1, 1)
    return float(1 / (1 + np.exp(-odds)))
