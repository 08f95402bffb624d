"""
Choose a flat
=============

A person answers "A or B?" about a table of flats; the questions are chosen one by one. Here the person is
simulated, so that what is learned can be compared with the truth.
"""

# %%
# The items are rows of a table. Columns of numbers are features.

import numpy as np
import pandas as pd

import coombs
from coombs import plots
from coombs.study import Question

rng = np.random.default_rng(0)
size = rng.uniform(30, 110, 40).round()
flats = pd.DataFrame(
    {
        "rent": (8 * size + rng.normal(350, 90, 40)).round(-1),
        "size": size,
        "commute": rng.integers(5, 55, 40),
    },
    index=[f"flat {i}" for i in range(40)],
)
flats.head()

# %%
# Our person likes about 65 square metres, a short commute and a low rent, and is not quite consistent.


def liking(flat: pd.Series) -> float:
    """More is better, in log odds."""
    return -((flat["size"] - 65) ** 2) / 250 - flat["commute"] / 12 - flat["rent"] / 180


def answer(question: Question) -> str:
    """Left or right, with some noise."""
    difference = liking(flats.loc[question.left]) - liking(flats.loc[question.right])
    return "left" if rng.random() < 1 / (1 + np.exp(-difference)) else "right"


study = coombs.create_study(flats, storage="memory:")
for _ in range(40):
    question = study.ask()
    study.tell(question, answer(question))

# %%
# The result is a fit to all answers: a ranking with its uncertainty, and what was learned in words.

result = study.result()
print(result.explain())

# %%
# The true ten best flats, and how many of them are among the ten that were found.

best = flats.apply(liking, axis=1).sort_values(ascending=False).index[:10]
len(set(best) & set(result.ranking[:10]))

# %%
# Pictures of the same: what matters, and the taste along each feature with its band.

plots.what_matters(result.model)

# %%
plots.taste_curves(result.model)
