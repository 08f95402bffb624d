"""
Logged answers
==============

A data scientist has a table of items and a log of choices: fit, cross-validate, compare with baselines,
explain, and keep the model.
"""

# %%
# Logs are often a table with the two items and the winner. Here we simulate one.

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from coombs import Comparisons, IdealPoint, Model, SingleStep

rng = np.random.default_rng(3)
coffees = pd.DataFrame(
    {"acidity": rng.uniform(0, 10, 30), "body": rng.uniform(0, 10, 30), "price": rng.uniform(8, 30, 30)},
    index=[f"coffee {i}" for i in range(30)],
)
score = -((coffees["acidity"] - 6) ** 2) / 4 + coffees["body"] / 2 - coffees["price"] / 8
left, right = (rng.choice(coffees.index, 150) for _ in range(2))
left, right = left[left != right], right[left != right]
wins = rng.random(len(left)) < 1 / (1 + np.exp(score[right].to_numpy() - score[left].to_numpy()))
log = pd.DataFrame({"left": left, "right": right, "winner": np.where(wins, left, right)})
log.head()

# %%
# ``Comparisons`` checks everything once. Estimators are scikit-learn estimators whose rows are answers.

answers = Comparisons.from_frame(coffees, log)
scores = {
    "IdealPoint": cross_val_score(IdealPoint(), answers, cv=3).mean(),
    "SingleStep (the paper's)": cross_val_score(SingleStep(standardize=True), answers, cv=3).mean(),
}
z = (coffees / coffees.std()).to_numpy()
first, second = answers.pairs.T
scores["logistic regression on differences"] = cross_val_score(
    LogisticRegression(fit_intercept=False), z[first] - z[second], answers.y, cv=3
).mean()
pd.Series(scores, name="accuracy on answers left out").round(3).to_frame()

# %%
# What was learned, in words, and how far to trust it.

est = IdealPoint().fit(answers)
print(est.explain())

# %%
# A model is a small JSON text. It ranks any table with the same columns.

text = est.model_.to_json()
again = Model.from_json(text)
again.rank(coffees)[:5]
