"""
A study with thirty people
==========================

Several people answer questions about the same items; each has a model of their own. Then: who agrees with
whom?
"""

# %%
# Thirty simulated people in two camps: one wants cheap, the other wants light.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import coombs
from coombs.evaluation import kendall_tau_distance

rng = np.random.default_rng(1)
laptops = pd.DataFrame(
    {
        "price": rng.uniform(500, 2500, 24),
        "weight": rng.uniform(0.9, 2.6, 24),
        "battery": rng.uniform(4, 18, 24),
    },
    index=[f"laptop {i}" for i in range(24)],
)
z = (laptops - laptops.mean()) / laptops.std()
camps = {"cheap": np.array([-2.5, -0.4, 0.5]), "light": np.array([-0.4, -2.5, 1.2])}

study = coombs.create_study(laptops, storage="memory:", name="laptops")
people = {f"person {i:02d}": ("cheap", "light")[i % 2] for i in range(30)}
for name, camp in people.items():
    taste = z @ (camps[camp] + rng.normal(0, 0.4, 3))
    respondent = study.respondent(name)
    for _ in range(12):
        # Random pairs here, to be quick: respondent.ask() would choose them.
        left, right = rng.choice(laptops.index, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(taste[right] - taste[left]))
        respondent.tell((left, right) if won else (right, left))

# %%
# Everyone's answers are one table, with a column for the person.

answers = study.comparisons()
answers.to_frame().head()

# %%
# One fit for each person, and how far their rankings are from each other.

scores = {}
for name in people:
    mine = answers[answers.users == name]
    scores[name] = coombs.IdealPoint(metric="none").fit(mine).distance()
names = sorted(people, key=people.__getitem__)
distance = np.array([[kendall_tau_distance(scores[a], scores[b]) for b in names] for a in names])

figure, axes = plt.subplots(figsize=(5, 4.4))
image = axes.imshow(distance, cmap="cividis", vmin=0, vmax=1)
axes.set(
    title="Kendall distance of two people's rankings", xlabel="people, by camp", ylabel="people, by camp"
)
figure.colorbar(image)
figure.tight_layout()

# %%
# Inside a camp rankings are nearer than between the camps.

cheap = np.array([people[name] == "cheap" for name in names])
pd.Series(
    {
        "inside a camp": distance[np.ix_(cheap, cheap)].mean(),
        "between the camps": distance[np.ix_(cheap, ~cheap)].mean(),
    }
).round(2)
