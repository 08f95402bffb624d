"""Inverses of very many small symmetric matrices, those of at least the identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector

SMALL = 16
"""Up to this size all matrices are swept at once; beyond, LAPACK takes one after the other,"""
MANY = 4
"""as it does where there are not so many matrices for each row."""


def inverse_and_log_det(matrices: Matrix) -> tuple[Matrix, Vector]:
    """(K, D, D) inverses and (K,) logarithms of determinants."""
    d = matrices.shape[1]
    if d > SMALL or len(matrices) < MANY * d:
        lower, log_det = lower_inverses(matrices)
        return np.matmul(lower.transpose(0, 2, 1), lower), log_det
    # Beaton's sweep of each row in turn, the matrices last, so that each step is one pass over memory.
    # All stay symmetric, so that the lower half is enough; after all sweeps there is minus the inverse.
    work = np.array(matrices.transpose(1, 2, 0), order="C")
    log_det = np.zeros(work.shape[2])
    product = np.empty(work.shape[1:])
    for j in range(d):
        pivot = work[j, j].copy()
        log_det += np.log(pivot)
        row = np.concatenate([work[j, :j], work[j:, j]])
        scaled = row / pivot
        for i in range(d):
            if i != j:
                np.multiply(scaled[: i + 1], row[i], out=product[: i + 1])
                work[i, : i + 1] -= product[: i + 1]
        work[j, :j] = scaled[:j]
        work[j:, j] = scaled[j:]
        np.divide(-1.0, pivot, out=work[j, j])
    for i in range(d):
        work[:i, i] = work[i, :i]
    inverses = np.empty(matrices.shape)
    return np.negative(work.transpose(2, 0, 1), out=inverses), log_det


def lower_inverses(matrices: Matrix) -> tuple[Matrix, Vector]:
    """(K, D, D) inverses of the lower Cholesky roots, and (K,) logarithms of the matrices' determinants."""
    lower = np.linalg.cholesky(matrices)
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.linalg.inv(lower), log_det
