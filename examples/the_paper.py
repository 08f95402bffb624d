"""
The paper's estimators
======================

Xu and Davenport (NeurIPS 2020) learn metric and ideal point by a convex program (``SingleStep``) or by
alternating between the two (``Alternating``). Beside them: ``IdealPoint``. People are simulated as in it.
"""

# %%
# One person with a known ideal point and metric answers more and more questions.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from coombs import Alternating, IdealPoint, SingleStep
from coombs.evaluation import kendall_tau_distance, ur_error
from coombs.simulate import make_preferences

rows = []
for n_answers in (20, 50, 100, 200):
    for seed in range(3):
        truth = make_preferences(100, 5, n_answers, random_state=seed)
        for kind in (SingleStep, Alternating, IdealPoint):
            est = kind(truth.items).fit(truth.pairs, truth.y)
            rows.append(
                {
                    "answers": n_answers,
                    "estimator": kind.__name__,
                    "UR error": ur_error(est.ideal_point_, truth.ideal_point, truth.metric),
                    "Kendall distance": kendall_tau_distance(est.distance(), truth.distances),
                }
            )
table = pd.DataFrame(rows).groupby(["answers", "estimator"]).median().unstack()
table.round(3)

# %%
# The paper's error of the ideal point, and the true Kendall distance of the rankings; less is better.

figure, both = plt.subplots(1, 2, figsize=(9, 3.6))
for axes, measure in zip(both, ("UR error", "Kendall distance"), strict=True):
    for name, marker in (("SingleStep", "s"), ("Alternating", "^"), ("IdealPoint", "o")):
        axes.plot(table.index, table[measure][name], marker=marker, label=name)
    axes.set(xlabel="answers", ylabel=measure, xscale="log", yscale="log")
    axes.set_xticks(table.index, labels=[str(n) for n in table.index])
    axes.minorticks_off()
both[0].legend()
figure.tight_layout()
np.round(table["UR error"].loc[200], 3)
