"""Averaging kinds of preference: by their evidence, or by how well they predict answers left out.

The evidence (Bayesian model averaging) decides best where answers are few; where they are so many that it is
not known, predictions do (stacking; Yao et al., 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.left_out import LeftOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coombs.data.graph import Matrix, Vector

PRIOR_ANSWERS = 4.0
"""Answers that the equal weighting of all kinds counts for."""
COIN = 0.1
"""How likely it is, before any answer, that somebody tosses a coin."""
STEPS = 200
"""Steps of the algorithm, at most."""
TOLERANCE = 1e-8
"""It ends where a step changes no weight by more."""
PARTS = 10
"""Parts of the answers, each predicted with weights from the others."""


def by_evidence(log_evidence: Vector, log_chance: float) -> Vector:
    """Probabilities of the kinds, all alike before any answer, and last that of a coin.

    `log_chance` is the logarithm of how likely all answers are at random.
    """
    alike = np.log((1 - COIN) / len(log_evidence))
    logs = np.append(log_evidence + alike, np.log(COIN) + log_chance)
    weights = np.exp(logs - logs.max())
    result: Vector = weights / weights.sum()
    return result


def predicted_by_evidence(left_out: Sequence[LeftOut], weights: Vector) -> LeftOut:
    """How well the average predicts answers that neither the kinds nor their probabilities have seen.

    Without a pair's answers a kind is likelier by one over the probability that it gives them.
    """
    table, counts = _table(left_out)
    tested = left_out[0].held_out
    table = np.column_stack([table, tested.chance])
    logs = np.log(table) * counts[:, None]
    of_pair = np.column_stack([np.bincount(tested.questions, column) for column in logs.T])[tested.questions]
    odds = np.log(np.maximum(weights, 1e-300)) - of_pair
    odds = np.exp(odds - odds.max(axis=1, keepdims=True))
    return LeftOut((odds * table).sum(axis=1) / odds.sum(axis=1), tested)


def stack(left_out: Sequence[LeftOut]) -> Vector:
    """Weights w of the kinds, adding up to 1, that maximise sum_k n_k log(sum_j w_j p_kj) + a sum_j log w_j.

    p_kj is kind j's probability of answer k as predicted from the others. The second term is a prior for
    equal weights, so that few answers do not decide; the maximum is unique, so nothing jumps.
    """
    return _weights(*_table(left_out))


def average(left_out: Sequence[LeftOut]) -> LeftOut:
    """How well the average predicts answers that neither the kinds nor the weights have seen."""
    table, counts = _table(left_out)
    predicted, part = np.empty(len(counts)), np.arange(len(counts)) % PARTS
    for left in np.unique(part):
        weights = _weights(table[part != left], counts[part != left])
        predicted[part == left] = table[part == left] @ weights
    return LeftOut(predicted, left_out[0].held_out)


def _table(left_out: Sequence[LeftOut]) -> tuple[Matrix, Vector]:
    return np.column_stack([one.probabilities for one in left_out]), left_out[0].weights


def _weights(table: Matrix, counts: Vector) -> Vector:
    """By expectation and maximisation, which never leaves the simplex."""
    n_kinds = table.shape[1]
    weights = np.full(n_kinds, 1 / n_kinds)
    prior = PRIOR_ANSWERS / n_kinds
    total = counts.sum() + PRIOR_ANSWERS
    for _ in range(STEPS):
        joint = table * weights
        before = weights
        weights = (counts @ (joint / joint.sum(axis=1, keepdims=True)) + prior) / total
        if np.abs(weights - before).max() < TOLERANCE:
            break
    return weights
