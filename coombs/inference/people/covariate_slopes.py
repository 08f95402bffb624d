"""What is known of people beside their answers: the mean of somebody's weights moves with it, by Gamma c.

c has the covariates of a person, with mean 0 and variance 1 over people. Slopes are shrunk towards nothing,
those of one covariate and one block of weights alike, and as much as people are few: their sizes are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.population_prior import PopulationPrior, Sums

SLOPE_SIZE = 0.3
"""Prior centre of the deviation of what a covariate's slopes of a block add to utilities, in logits,"""
SLOPE_WEIGHTS = 2.0
"""which is worth so many weights."""
LARGEST_SYSTEM = 1_500
"""Slopes up to which their covariance is computed whole; of more, that of each column of covariates apart."""


class Covariates(NamedTuple):
    """Of everybody, (n_people, q) numbers, 0 where nothing is known; which covariate each column is of."""

    values: Matrix
    sources: Index

    def of(self, people: Index) -> Covariates:
        """Of some people."""
        return Covariates(self.values[people], self.sources)

    def columns(self, chosen: Index) -> Covariates | None:
        """Some of the columns, their covariates numbered anew; None if there are none."""
        if not len(chosen):
            return None
        return Covariates(self.values[:, chosen], np.unique(self.sources[chosen], return_inverse=True)[1])


@dataclass(frozen=True, eq=False)
class CovariateSlopes:
    """Gamma (D, q); which covariate each column is of (q,); and how large slopes are.

    `variances` (S, B) are of each covariate's slopes of each block, `spread` (q, q) is the covariance of
    people's covariates.
    """

    gamma: Matrix
    sources: Index
    variances: Matrix
    spread: Matrix

    @classmethod
    def first(cls, blocks: Index, sources: Index) -> CovariateSlopes:
        """Before any answer."""
        counts, q = np.bincount(blocks), len(sources)
        sizes = np.tile(SLOPE_SIZE**2 / counts, (int(sources.max()) + 1, 1))
        return cls(np.zeros((len(blocks), q)), sources, sizes, np.eye(q))

    def begun_from(self, simpler: CovariateSlopes) -> CovariateSlopes:
        """The same with what was learned of the first weights."""
        gamma, variances = self.gamma.copy(), self.variances.copy()
        gamma[: len(simpler.gamma)] = simpler.gamma
        variances[:, : simpler.variances.shape[1]] = simpler.variances
        return replace(self, gamma=gamma, variances=variances, spread=simpler.spread)

    def maximised(self, prior: PopulationPrior, sums: Sums) -> CovariateSlopes:
        """The next ones: a step of Fisher's scoring, as far as answers tell.

        With z = root^-1 (w - mean - Gamma c), the slope of the log evidence along Gamma is root^-T sum z c',
        and the information on it the sum of c c' times that on w, the same for everybody.
        """
        inverse = np.linalg.inv(prior.root)
        precision = 1 / self.variances[self.sources][:, prior.blocks]
        slope = (inverse.T @ sums.crossed).T - precision * self.gamma.T
        seen = self._information(prior, sums)
        own, spread = np.empty_like(slope), sums.spread
        # Covariates that go together must not all go the whole way.
        together = np.abs(spread).sum(axis=1)
        variances = np.empty_like(slope)
        for k in range(len(own)):
            own[k] = np.linalg.solve(together[k] * seen + np.diag(precision[k]), slope[k])
            variances[k] = np.diag(np.linalg.inv(spread[k, k] * seen + np.diag(precision[k])))
        gamma = self.gamma + own.T
        sizes = self._sizes(self.gamma.T**2 + variances, prior.blocks)
        return replace(self, gamma=gamma, variances=sizes, spread=spread / float(sums.people.sum()))

    def _information(self, prior: PopulationPrior, sums: Sums) -> Matrix:
        """(D, D) that answers of one person give on their weights, on average."""
        inverse = np.linalg.inv(prior.root)
        known = np.eye(len(inverse)) - sums.covariance.sum(axis=0) / float(sums.people.sum())
        result: Matrix = inverse.T @ known @ inverse
        return result

    def _sizes(self, squares: Matrix, blocks: Index) -> Matrix:
        """(S, B) variances of slopes; on a log scale, as few slopes hardly tell them."""
        counts = np.bincount(blocks)
        result = np.empty_like(self.variances)
        for source in range(len(result)):
            mine = squares[self.sources == source]
            kept = counts * len(mine) / (counts * len(mine) + SLOPE_WEIGHTS)
            mean = np.bincount(blocks, mine.mean(axis=0)) / counts
            result[source] = mean**kept * (SLOPE_SIZE**2 / counts) ** (1 - kept)
        return result

    def doubts(self, prior: PopulationPrior, sums: Sums) -> Matrix:
        """(q, D, q, D) covariance of the slopes, given all answers."""
        (d, q), seen = self.gamma.shape, self._information(prior, sums)
        precision = 1 / self.variances[self.sources][:, prior.blocks]
        result = np.zeros((q, d, q, d))
        if d * q <= LARGEST_SYSTEM:
            whole = np.kron(sums.spread, seen) + np.diag(precision.ravel())
            return np.linalg.inv(whole).reshape(q, d, q, d)
        for k in range(q):
            result[k, :, k] = np.linalg.inv(sums.spread[k, k] * seen + np.diag(precision[k]))
        return result

    def whitened(self, root: Matrix) -> Matrix:
        """root^-1 Gamma."""
        return np.asarray(np.linalg.solve(root, self.gamma), dtype=float)

    def known(self, prior: PopulationPrior, about: Vector) -> PopulationPrior:
        """What is known of somebody with these covariates."""
        return replace(prior, means=prior.means + self.gamma @ about, slopes=None)

    def unknown(self, prior: PopulationPrior) -> PopulationPrior:
        """What is known of somebody of whom no covariate is: they may be anybody's."""
        covariance = prior.covariance + self.gamma @ self.spread @ self.gamma.T
        root = np.asarray(np.linalg.cholesky(covariance), dtype=float)
        return replace(prior, root=root, slopes=None)

    def without(self, source: int) -> CovariateSlopes:
        """The same as if a covariate told nothing."""
        return replace(self, gamma=np.where(self.sources == source, 0.0, self.gamma))
