"""Applicants drawn at random and judged by a committee whose metric and ideal point are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coombs.data import naming
from coombs.data.tables import FloatArray, InputError
from coombs.datasets.applicants import (
    COLUMNS,
    FEATURES,
    GPA_RANGE,
    GRE,
    LETTERS,
    RANGES,
    Admissions,
    Raw,
    Rows,
    features_of,
)
from coombs.model import Model
from coombs.random_state import RandomState, generator

MEANS = (153.0, 163.0, 3.6, 3.5, 2.0)
"""Of verbal, quantitative, writing, GPA and a letter: made up."""
SPREADS = (7.0, 5.0, 0.7, 0.3, 0.6)
"""Their standard deviations: made up."""
SHARED = 0.3
"""The share of variance common to all of them: made up."""
SCALES = (*SPREADS[:4], 5.0)
"""Spreads of FEATURES, in whose units the committees' metrics are made."""

IDEAL = (158.08, 162.50, 4.68, 4.06, 15.28)
"""The ideal that the paper learned from its Unranked Candidates, in the order of FEATURES."""
EIGENVALUES = (1991.0, 1971.0, 1178.0, 861.0, 286.0)
"""Eigenvalues of the metric that the paper learned from its Unranked Candidates."""
INTERACTIONS = (
    (0.0, 0.0, 0.909, -0.392, 0.0),
    (0.0, 0.0, 0.393, 0.919, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.982),
    (-0.310, 0.942, 0.0, 0.0, 0.0),
    (0.942, 0.319, 0.0, 0.0, 0.0),
)
"""Eigenvectors of that metric, in the same order; entries that the paper's table leaves out are zero."""
IMPORTANCES = (286.0, 861.0, 1981.0, 1981.0)
"""For Ranked Candidates the paper says: no interactions, GPA and writing level, quantitative, verbal last."""

BINS = (2, 2, 2, 1, 4, 6, 12, 48)
"""Sizes of the 8 bins of Ranked Candidates, which the paper does not print.

They hold 77 = 88 - 11 candidates and 88 * 87 / 2 - 2610 = 1218 = sum of n (n - 1) / 2 uncompared pairs:
ten solutions but for their order. This one has borders after 17 and 22 candidates, the paper's other K, its
first bin is no single candidate (the top 12 would be unique), and no such solution has fewer bins of one.
"""


class _Applicants(NamedTuple):
    """Simulated applicants: tiers, how many in each come through the cleaning and do not, and the truth."""

    tiers: tuple[float, ...]
    complete: tuple[int, ...]
    incomplete: tuple[int, ...]
    truth: Model


def _committee(values: Sequence[float], vectors: ArrayLike) -> Model:
    """The truth over as many features, by a metric's eigenvalues and vectors (rows) in units of SCALES."""
    d = len(values)
    # The nearest orthonormal vectors to the printed ones, which are rounded and lack small entries.
    left, _, right = np.linalg.svd(np.asarray(vectors))
    root = np.sqrt(values)[:, None] * (left @ right) / SCALES[:d]
    return Model(root.T @ root, np.array(IDEAL[:d]), FEATURES[:d], np.array(SCALES[:d]))


def _population(kind: str) -> _Applicants:
    """The paper's: 3305 of 3789 files complete; 88 of 89, scores 1.0, 1.1, ..., 2.0 once and bins 3 to 10."""
    if kind == "unranked":
        truth = _committee(EIGENVALUES, INTERACTIONS)
        return _Applicants((1.0, 2.0, 3.0), (176, 455, 2674), (15, 75, 394), truth)
    if kind == "ranked":
        tiers = (*(1 + k / 10 for k in range(11)), *map(float, range(3, 11)))
        truth = _committee(IMPORTANCES, np.eye(4))
        return _Applicants(tiers, (*([1] * 11), *BINS), (*([0] * 18), 1), truth)
    raise InputError(f"kind is {kind!r}; it must be 'unranked' or 'ranked'.")


def make_admissions(
    kind: str = "unranked",
    *,
    truth: Model | None = None,
    noise: float = 0.5,
    random_state: RandomState = None,
) -> Admissions:
    """Return applicants like the paper's, whom a committee with a known metric and ideal point has judged.

    Scores are normal with a common part, rounded and cut to their ranges. The committee orders what the
    files show by (x - u)' M (x - u) / s + noise * e, s the spread of the distances and e standard
    normal: what it weighs beside the features. The best 191 get a fellowship, 530 more are
    admitted, 3068 denied; or the best 11 of 89 are ranked one by one and 8 bins follow. Then as many
    files lose an entry as the paper's cleaning leaves out: 484 in all, or 1.

    Parameters
    ----------
    kind : "unranked", ten columns; or "ranked", one GRE report and no letters
    truth : over the five features, or the first four; default what the paper learned, its eigenvalues
        and directions taken in units of the features' spreads
    noise : at least 0, where the tiers follow the truth exactly
    random_state : seed, generator or None

    Returns
    -------
    Admissions, with the truth

    Examples
    --------
    >>> from coombs.datasets import make_admissions
    >>> applicants = make_admissions(random_state=0)
    >>> len(applicants), len(applicants.clean())
    (3789, 3305)
    >>> applicants.truth.ideal_point.tolist()
    [158.08, 162.5, 4.68, 4.06, 15.28]
    """
    if not 0 <= naming.as_float(noise) < np.inf:
        raise InputError(f"noise is {noise!r}; it must be a finite number of at least 0.")
    rng, population = generator(random_state), _population(kind)
    features = population.truth.feature_names
    judge = replace(truth or population.truth, feature_names=features)
    sizes = np.add(population.complete, population.incomplete)
    n = int(sizes.sum())
    columns = _draw_columns(n, rng) if kind == "unranked" else _one_report(_draw_columns(n, rng))
    names = np.array([f"applicant {i}" for i in range(n)], dtype=object)
    shown = Admissions(columns, names, np.ones(n)).clean(features).items
    distances = judge.distance(shown)
    scores = distances / (distances.std() or 1.0) + noise * rng.standard_normal(n)
    tiers = np.empty(n)
    tiers[np.argsort(scores, kind="stable")] = np.repeat(population.tiers, sizes)
    for tier, count in zip(population.tiers, population.incomplete, strict=True):
        _spoil(columns, rng.choice(np.flatnonzero(tiers == tier), count, replace=False), kind, rng)
    return Admissions(columns, names, tiers, truth=judge)


def _draw_columns(n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Files that all come through the cleaning, some without official scores, some with few letters."""
    z = np.sqrt(SHARED) * rng.standard_normal((n, 1)) + np.sqrt(1 - SHARED) * rng.standard_normal((n, 5))
    drawn = dict(zip(FEATURES, (MEANS + np.array(SPREADS) * z).T, strict=True))
    columns = {"gpa": np.clip(np.round(drawn["gpa"], 2), *GPA_RANGE)}
    absent = rng.random(n) < 0.3
    unreported = ~absent & (rng.random(n) < 0.1)
    for score in GRE:
        step, within = 0.5 if score == "gre_writing" else 1.0, RANGES[f"{score}_official"]
        official = np.clip(step * np.rint(drawn[score] / step), *within)
        slips = step * rng.choice([-1, 0, 1, 2], n, p=[0.02, 0.9, 0.05, 0.03])
        columns[f"{score}_official"] = np.where(absent, np.nan, official)
        columns[f"{score}_self"] = np.where(unreported, np.nan, np.clip(official + slips, *within))
    n_letters = rng.choice([1, 2, 3], n, p=[0.05, 0.15, 0.8])
    for k, name in enumerate(LETTERS):
        letter = np.clip(np.rint(drawn["letters"] + 0.5 * rng.standard_normal(n)), *RANGES[name])
        columns[name] = np.where(k < n_letters, letter, np.nan)
    return {name: columns[name] for name in COLUMNS}


def _one_report(columns: Raw) -> dict[str, FloatArray]:
    """The files with one GRE report each, called official, and no letters."""
    blank = {name: np.full_like(column, np.nan) for name, column in columns.items()}
    official = {f"{score}_official": features_of(columns)[score] for score in GRE}
    return blank | official | {"gpa": columns["gpa"]}


def _spoil(columns: Raw, rows: Rows, kind: str, rng: np.random.Generator) -> None:
    """Make files incomplete: no GPA, no score in a GRE section; if unranked, a GPA off scale, no letters."""
    way = rng.integers(2 if kind == "ranked" else 4, size=len(rows))
    columns["gpa"][rows[way == 0]] = np.nan
    section = rng.choice(GRE, len(rows))
    for score in GRE:
        lost = rows[(way == 1) & (section == score)]
        columns[f"{score}_self"][lost] = columns[f"{score}_official"][lost] = np.nan
    scaled = rows[way == 2]
    # Out of 100; out of 20; divided twice.
    columns["gpa"][scaled] = np.round(columns["gpa"][scaled] * rng.choice([25.0, 5.0, 0.2], len(scaled)), 2)
    for name in LETTERS:
        columns[name][rows[way == 3]] = np.nan
