"""People whose taste is their own: as strong as others', in any direction, whatever people share.

A population with normal differences takes somebody who wants the opposite of all others for one who tosses a
coin. So whoever is likelier not to be of the population than an ordinary person is read again with weights
that are normal about zero, as large as people's are: half of their variance is that of people's about zero,
S + sum_g share_g m_g m_g', and half is as much in any direction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.people.population_fit import View
from coombs.inference.people.posteriors import Sites, posteriors, settle, update

if TYPE_CHECKING:
    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock
    from coombs.inference.people.population_prior import PopulationPrior
    from coombs.inference.people.posteriors import Posteriors

OWN_SHARE = 0.03
"""Share of people who have a taste of their own, beside those of the population and those who toss a coin."""
ANY_DIRECTION = 0.5
"""Share of the variance of such a taste that is the same for all weights of a block, whatever people want."""
ORDINARY = 0.15
"""Nats an answer by which the population makes answers likelier than a coin, from which on nobody asks."""
PASSES = 8
"""Passes over the answers."""


def own_prior(prior: PopulationPrior) -> PopulationPrior:
    """What is known of a taste of one's own before any answer."""
    spread = prior.covariance + (prior.means * prior.shares[:, None]).T @ prior.means
    of_block = np.bincount(prior.blocks, np.diag(spread)) / np.bincount(prior.blocks)
    spread = (1 - ANY_DIRECTION) * spread + ANY_DIRECTION * np.diag(of_block[prior.blocks])
    means, root = np.zeros((1, len(spread))), np.asarray(np.linalg.cholesky(spread), dtype=float)
    return replace(prior, means=means, root=root, shares=np.ones(1), slopes=None, uneven=0.0)


def may_be_own(members: Matrix, totals: Vector, coin: float) -> Index:
    """Positions of people whose answers the population makes hardly likelier than a coin does.

    `members` (K, C + 1) are probabilities of the components and of a coin, `totals` (K,) the answers.
    """
    with np.errstate(divide="ignore"):
        gain = np.log(members[:, :-1].sum(axis=1) / members[:, -1]) - np.log((1 - coin) / coin)
    return np.flatnonzero((gain < ORDINARY * totals) & (members[:, -1] > 0))


def with_own(members: Matrix, totals: Vector, coin: float, log_evidence: Vector) -> Matrix:
    """(K, C + 2) probabilities of the components, of a taste of one's own and of a coin.

    `coin` is the share of people who toss one, `log_evidence` (K,) that of answers with a taste of one's own.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(members)
    # The coin's part is its share times 2^-n.
    away = logs[:, -1] + np.log(OWN_SHARE / coin) + totals * np.log(2) + log_evidence
    logs = np.insert(logs, -1, away, axis=1)
    found: Matrix = np.exp(logs - logs.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    return found


def read_as_own(block: AnswerBlock, prior: PopulationPrior, coordinates: Matrix) -> tuple[Posteriors, Vector]:
    """Posteriors of z of people with a taste of their own, and log evidence (K,) of their answers.

    `prior` is that of `own_prior`, whose root gives weights, without a mean, from z.
    """
    view = View.of(prior, coordinates)
    design, offset = block.design(view.white, view.effect), np.zeros(block.weights.shape)
    sites = settle(design, offset, Sites.empty(block), block.weights, prior.lapse, PASSES)
    found = posteriors(design, offset, sites)
    return found, update(found, sites, block.weights, prior.lapse).log_evidence
