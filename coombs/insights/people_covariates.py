"""Which tastes go with what is known of people, where answers of people left out support it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from coombs.data.encoding import CATEGORY, YES_NO
from coombs.inference.posterior import LEVEL

if TYPE_CHECKING:
    from coombs.data.people_table import PeopleTable
    from coombs.data.tables import FloatArray
    from coombs.estimators.population import Population

GAIN = 3.0
"""Nats by which a covariate must make answers of people left out likelier for anything to be said of it."""
ERROR = 0.05
"""Probability of a false statement where no taste goes with any covariate, at most."""


@dataclass(frozen=True)
class CovariateFinding:
    """What people with more of something, or of one sort, want more or less of than others.

    Parameters
    ----------
    covariate, level : the column of what is known of people; the level of a category or "yes", empty of a
        number
    feature, verdict : what they want "more" or "less" of
    difference, low, high : of the utility gained by a deviation of the feature, in logits, with the ends of
        its interval: of people one deviation higher in a number, of those of the level less all others
    gain : how much likelier the covariate makes answers of people left out, in nats

    Examples
    --------
    >>> CovariateFinding("age", "", "noise", "less", -0.5, -0.7, -0.3, 12.0).verdict
    'less'
    """

    covariate: str
    level: str
    feature: str
    verdict: str
    difference: float
    low: float
    high: float
    gain: float


class Contrast(NamedTuple):
    """People of one sort less others: by what their covariates differ (q,), and which column it is of."""

    covariate: str
    level: str
    source: int
    values: FloatArray


def covariate_findings(population: Population) -> tuple[CovariateFinding, ...]:
    """What goes with what, the surest first; nothing that may be chance."""
    table, told = population._about, population._average.told
    if table is None or not len(told.columns):
        return ()
    contrasts = contrasts_of(table)
    features = feature_labels(population)
    # Whatever is looked at may look like something by chance.
    sure = float(ndtri(1 - ERROR / 2 / max(len(contrasts) * len(features), 1)))
    width, found = float(ndtri((1 + LEVEL) / 2)), []
    for one in contrasts:
        gain = float(told.gains[one.source])
        if gain <= GAIN:
            continue
        means, deviations = _slopes(population, one.values[told.columns])
        for name, mean, deviation in zip(features, means.tolist(), deviations.tolist(), strict=True):
            if abs(mean) > sure * deviation:
                ends = mean - width * deviation, mean + width * deviation
                verdict = "more" if mean > 0 else "less"
                found.append(CovariateFinding(one.covariate, one.level, name, verdict, mean, *ends, gain))
    return tuple(sorted(found, key=lambda one: (-one.gain, -abs(one.difference))))


def without_findings(population: Population) -> tuple[str, ...]:
    """What is known of people that nothing is said of."""
    told = {one.covariate for one in covariate_findings(population)}
    names = [] if population._about is None else population._about.table_names
    return tuple(name for name in names if name not in told)


def feature_labels(population: Population) -> list[str]:
    """What the features that vary are called."""
    from coombs.insights.people_explanation import names_of

    names = names_of(population)
    return [names[j] for j in population._scaler.columns.tolist()]


def contrasts_of(table: PeopleTable) -> list[Contrast]:
    """Of each column of numbers one; of yes and no, and of each level of a category, those beside others."""
    labels, sources, columns = table.labels(), table.sources, table.columns.tolist()
    roles = {} if table.encoding is None else {one.name: one.role for one in table.encoding.columns}
    found = []
    for k, (name, level) in enumerate(labels):
        values, j = np.zeros(len(columns)), columns[k]
        role = roles.get(name)
        values[k] = 1.0 if role not in (CATEGORY, YES_NO) else 1 / table.sizes[j]
        if role == CATEGORY:
            # The others are of their levels, each as often as it is there.
            rest = [other for other, one in enumerate(sources) if one == sources[k] and other != k]
            shares = table.centre[[columns[other] for other in rest]]
            values[rest] = -shares / max(float(shares.sum()), 1e-12) / table.sizes[j]
        found.append(Contrast(name, "yes" if role == YES_NO else level, int(sources[k]), values))
    return found


def _slopes(population: Population, contrast: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(d,) by how much a deviation of each feature is worth more to some people, and its deviation."""
    items = population._data.items[:, population._scaler.columns]
    along = np.linalg.pinv((items - items.mean(axis=0)) / items.std(axis=0))
    means, variances = [], []
    for part, phi in zip(population._average.parts, population._phis, strict=True):
        slopes = part.fit.prior.slopes
        assert slopes is not None
        moved = along @ (phi - phi.mean(axis=0))
        doubt = np.einsum("k,kilj,l->ij", contrast, part.slope_doubts, contrast)
        means.append(moved @ slopes.gamma @ contrast)
        variances.append(np.einsum("ai,ij,aj->a", moved, doubt, moved))
    shares = population._average.weights
    mean = shares @ np.array(means)
    variance = shares @ (np.array(variances) + (np.array(means) - mean) ** 2)
    return mean, np.sqrt(variance)
