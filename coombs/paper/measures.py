"""The measures of the synthetic experiments, the paper's and where the authors' code differs."""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau

from coombs.data.tables import FloatArray
from coombs.estimators.base import PairEstimator
from coombs.evaluation import kendall_tau_distance, top_k_fraction, ur_error, wer_error
from coombs.paper.experiment import Row
from coombs.simulate import Preferences

TOP = (5, 10, 20)


def measures(est: PairEstimator, truth: Preferences) -> Row:
    """Of a fit against the truth behind it; the ranking is by (M, u), as an item may never be compared."""
    found, true = est.distance(truth.items), truth.distances
    wer = wer_error(est.metric_, truth.metric)
    return {
        "ur": ur_error(est.ideal_point_, truth.ideal_point, truth.metric),
        "wer": wer,
        "wer_authors": float(np.sqrt(wer)),
        "kendall": kendall_tau_distance(found, true),
        "kendall_authors": authors_kendall(found, true),
        **{f"top{k}": top_k_fraction(found, true, k) for k in TOP},
    }


def authors_kendall(found: FloatArray, true: FloatArray) -> float:
    """What the authors' code computes: tau of the two sorting permutations, not of the ranks."""
    tau = kendalltau(np.argsort(found, kind="stable"), np.argsort(true, kind="stable")).statistic
    return float((1 - tau) / 2)
