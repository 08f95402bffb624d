"""The evidence by which a log scale is told from a plain one."""

from itertools import product

import numpy as np
from scipy.special import expit, logsumexp

from coombs.data.tables import NO_LEVELS
from coombs.estimators import better_scales
from coombs.estimators.better_scales import WonPairs, log_evidence


def _answers(n_items: int, n: int, seed: int) -> tuple[np.ndarray, WonPairs]:
    rng = np.random.default_rng(seed)
    items = np.exp(rng.uniform(0, 4, (n_items, 1)))
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n)])
    z = np.log(items[:, 0])
    first = rng.random(n) < expit(z[pairs[:, 1]] - z[pairs[:, 0]])
    winners = np.where(first, pairs[:, 0], pairs[:, 1])
    return items, WonPairs(winners, pairs.sum(axis=1) - winners, rng.choice([0.5, 1.0, 2.0], n))


def test_the_evidence_is_the_integral_of_likelihood_times_prior():
    """Against a sum over a fine grid of both unknowns."""
    items, pairs = _answers(12, 40, 0)
    z = (items[:, 0] - items.mean()) / items.std()
    rows = np.column_stack([z, z**2 - 1])
    moves = rows[pairs.losers] - rows[pairs.winners]
    grid = np.linspace(-6, 6, 121)
    y = np.array(list(product(grid, grid)))
    prior = -(y**2).sum(axis=1) / 2 - np.log(2 * np.pi) + 2 * np.log(grid[1] - grid[0])
    found = []
    for sizes in product(better_scales.LINEAR_SIZES, better_scales.BENT_SIZES):
        p = 0.5 * better_scales.LAPSE + (1 - better_scales.LAPSE) * expit(moves * sizes @ y.T)
        found.append(logsumexp(pairs.weights @ np.log(p) + prior))
    integral = logsumexp(found) - np.log(len(found))
    # Laplace's approximation is off by a fraction of what is asked of evidence to change a scale.
    assert abs(log_evidence(items, NO_LEVELS, pairs) - integral) < 0.2


def test_slope_is_the_derivative_of_the_log_density():
    rng = np.random.default_rng(1)
    rows, weights, y = rng.normal(size=(30, 4)), rng.uniform(0.5, 2, 30), rng.normal(size=4)
    slope = better_scales._density(rows, y, weights)[1]
    steps = 1e-6 * np.eye(4)
    numeric = [
        (better_scales._density(rows, y + h, weights)[0] - better_scales._density(rows, y - h, weights)[0])
        / 2e-6
        for h in steps
    ]
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-6)


def test_units_and_constant_columns_do_not_change_the_evidence():
    items, pairs = _answers(12, 40, 2)
    plain = log_evidence(items, NO_LEVELS, pairs)
    other = np.column_stack([1000 * items[:, 0] - 7, np.ones(len(items))])
    assert abs(log_evidence(other, NO_LEVELS, pairs) - plain) < 1e-8
