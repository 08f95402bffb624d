"""Estimators of many people in files: what is kept of a fit, and what must be true of it.

Of everybody, what each answer says is kept by answer, whatever blocks it is computed in: a later coombs may
form others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import naming
from coombs.data.comparisons import Comparisons
from coombs.data.encoding import Encoding
from coombs.data.people_table import PeopleTable
from coombs.data.scaling import Scaler
from coombs.data.tables import InputError, ItemTable
from coombs.estimators.many_people import SharedMetric
from coombs.estimators.population import Population
from coombs.inference.people.average_of_kinds import NOTHING_TOLD, CovariateTrial, PeopleAverage, Trial
from coombs.inference.people.coordinates import Coordinates
from coombs.inference.people.covariate_slopes import CovariateSlopes
from coombs.inference.people.people_prior import PRIOR_CHECKS, PRIOR_SHAPES, is_covariance
from coombs.inference.people.population_fit import PopulationFit, PopulationStatus
from coombs.inference.people.population_prior import PopulationPrior, Sums
from coombs.inference.people.posteriors import Sites
from coombs.inference.people.tastes import Tastes

if TYPE_CHECKING:
    from coombs.data.graph import Matrix, Vector
    from coombs.data.tables import FloatArray, Names
    from coombs.estimators.saved import State

LARGEST_SITE = 1e9
"""The precision of a site, and its precision times its place, at most."""
CLOSE = 1e-6
"""Shares add up to 1 within this."""


@dataclass(frozen=True)
class SavedTastes:
    """Everybody's tastes of one kind.

    `sites` are of each component by answer, (n_answers,) each, and `members` (n_people, C + 1) by person.
    """

    coordinates: Coordinates
    prior: PopulationPrior
    sums: Sums
    status: PopulationStatus
    n_iter: int
    sites: tuple[Sites, ...]
    members: Matrix


@dataclass(frozen=True)
class PopulationState:
    """All that a fitted Population knows; `alone` is of IdealPoint where there is one person only.

    `n_people` is how many were learned from, if they are more than those who are kept.
    """

    data: Comparisons
    scaler: Scaler
    is_described: bool
    parts: tuple[SavedTastes, ...]
    shares: Vector
    trial: Trial
    alone: State | None = None
    about: PeopleTable | None = None
    told: CovariateTrial = NOTHING_TOLD
    n_people: int = 0


@dataclass(frozen=True)
class SharedState:
    """All that a fitted SharedMetric knows."""

    people: Names
    metric: FloatArray
    ideal_points: FloatArray
    slopes: FloatArray
    radius: float
    own_radius: float
    objective: float
    gap: float
    status: str
    n_iter: int
    item_table: ItemTable | None
    features: Names | None
    encoding: Encoding | None


RECORDS: tuple[type, ...] = (
    PopulationState,
    SharedState,
    SavedTastes,
    Coordinates,
    PopulationPrior,
    CovariateSlopes,
    CovariateTrial,
    PeopleTable,
    PopulationStatus,
    Sums,
    Sites,
    Trial,
)
"""Records that a fit to many people is made of, beside those of a fit to one."""
SHAPES: Mapping[type, Mapping[str, str]] = {
    **PRIOR_SHAPES,
    PopulationState: {"shares": "k"},
    SharedState: {"people": "P", "metric": "DD", "ideal_points": "PD", "slopes": "PD", "features": "D"},
    SavedTastes: {"members": "Pm"},
    Sums: {
        "people": "g",
        "first": "gw",
        "covariance": "gww",
        "second": "ww",
        "effects": "3",
        "crossed": "xq",
        "spread": "qq",
        "uneven": "2",
    },
    Sites: {"precision": "A", "shift": "A"},
    Trial: {"predicted": "t", "weights": "t"},
    PeopleTable: {
        "names": "p",
        "matrix": "pq",
        "features": "q",
        "centre": "q",
        "sizes": "q",
        "columns": "c",
    },
    CovariateTrial: {"gains": "s", "columns": "c"},
}
"""Of arrays: P people and A answers in the whole file; small letters are of one record."""
MAY_BE_NAN = frozenset(("gain", "radius", "own_radius", "log_loss"))
"""Fields that may have no value."""


def _wrong_sums(sums: Sums) -> str | None:
    return None if (sums.people > 0).all() and sums.coins >= 0 else "of people who are not there"


def _wrong_sites(sites: Sites) -> str | None:
    fits = (sites.precision >= 0) & (sites.precision <= LARGEST_SITE) & (np.abs(sites.shift) <= LARGEST_SITE)
    return None if fits.all() else "of what no answer says"


def _wrong_tastes(made: SavedTastes) -> str | None:
    groups, size = made.prior.means.shape
    if made.coordinates.size != size or made.sums.first.shape != (groups, size):
        return "of other weights than its prior"
    count = len(made.prior.components.shares)
    if len(made.sites) != count or made.members.shape[1] != count + 1:
        return "of other groups than its prior"
    fits = (made.members >= 0).all() and (np.abs(made.members.sum(axis=1) - 1) <= CLOSE).all()
    return None if fits and made.n_iter >= 0 else "of shares that are none"


def _wrong_trial(trial: Trial) -> str | None:
    fits = (trial.predicted > 0) & (trial.predicted < 1) & (trial.weights >= 0)
    return None if fits.all() and (trial.weights.any() or not len(fits)) else "of no probabilities"


def _wrong_people(table: PeopleTable) -> str | None:
    columns, n = table.columns, table.matrix.shape[1]
    if len(columns) and (columns.min() < 0 or columns.max() >= n or (np.diff(columns) <= 0).any()):
        return "of columns that are not there"
    if table.encoding is not None and (table.encoding.marked or len(table.encoding.names) != n):
        return "of columns that are not its encoding's"
    is_named = all(isinstance(name, str) for name in table.features)
    is_once = len({naming.text(name) for name in table.names}) == len(table.names)
    return None if is_named and is_once and (table.sizes > 0).all() else "of people who cannot be"


def _wrong_about(state: PopulationState) -> str | None:
    """What is wrong with the covariates."""
    wrong, n = "of covariates that are not there", 0 if state.about is None else len(state.about.columns)
    columns, n_gains = state.told.columns, len(state.told.gains)
    if len(columns) and (columns.min() < 0 or columns.max() >= n):
        return wrong
    if n_gains and (state.about is None or n_gains != state.about.sources.max(initial=-1) + 1):
        return wrong
    for part in state.parts:
        slopes = part.prior.slopes
        sizes = {0 if slopes is None else slopes.gamma.shape[1], part.sums.crossed.shape[1]}
        if sizes != {len(columns)} or (slopes is not None and not len(columns)):
            return wrong
    return None


def _wrong_population(state: PopulationState) -> str | None:
    if (wrong := _wrong_about(state)) is not None:
        return wrong
    shares = state.shares
    if len(shares) != len(state.parts) or not len(shares) or abs(shares.sum() - 1) > CLOSE:
        return "of weights that are no shares"
    if state.n_people < 0:
        return "of fewer than no people"
    if any(part.coordinates.n_effects not in (0, state.data.n_items) for part in state.parts):
        return "of effects of other items"
    fits = all(part.coordinates.n_features == len(state.scaler.columns) for part in state.parts)
    return None if fits and (shares >= 0).all() else "of features that are not there"


def _wrong_shared(state: SharedState) -> str | None:
    if len({naming.text(name) for name in state.people}) < len(state.people) or not len(state.people):
        return "of one person twice, or nobody"
    if state.item_table is not None and state.item_table.matrix.shape[1] != len(state.metric):
        return "of features that are not its items'"
    if not is_covariance(state.metric):
        return "of a metric that is none"
    return None if state.radius > 0 and state.own_radius > 0 else "of a set that is empty"


CHECKS: Mapping[type, Callable[[Any], str | None]] = {
    **PRIOR_CHECKS,
    Sums: _wrong_sums,
    Sites: _wrong_sites,
    SavedTastes: _wrong_tastes,
    Trial: _wrong_trial,
    PeopleTable: _wrong_people,
    PopulationState: _wrong_population,
    SharedState: _wrong_shared,
}
"""What is wrong with a record, or None."""


def population_state(est: Population, alone: State | None) -> PopulationState:
    """What is saved of a fit to many people."""
    average = est._average
    parts = tuple(_saved_tastes(part, len(est.people_)) for part in average.parts)
    data = _plain_users(est._data)
    if alone is not None:
        alone = replace(alone, data=data)
    shared = data, est._scaler, est._is_described, parts, average.weights, average.trial
    more = est.n_people_ if est.n_people_ > len(est.people_) else 0
    return PopulationState(*shared, alone, est._about, average.told, more)


def _plain_users(data: Comparisons) -> Comparisons:
    """The answers with names of users that a file keeps: whole numbers as they are, others one by one."""
    users = data.users
    if users is None or users.dtype in (object, np.int64):
        return data
    plain: Any = users.astype(np.int64) if users.dtype.kind in "iu" else _labels(users)
    return Comparisons.at_positions(
        data.item_table, data.pairs, data.y, data.weights, plain, data.orders, data.ratings
    )


def _labels(names: Any) -> Names:
    """Names one by one, as Python's own types."""
    result = np.empty(len(names), dtype=object)
    result[:] = [naming.plain(one) for one in names]
    return result


def _saved_tastes(tastes: Tastes, n_people: int) -> SavedTastes:
    fit = tastes.fit
    n = sum(int((block.rows >= 0).sum()) for block in fit.blocks)
    precision, shift = np.zeros((2, len(fit.prior.components.shares), n))
    members = np.tile(tastes.anybody().members, (n_people, 1))
    for block, sites, own in zip(fit.blocks, fit.sites, fit.members, strict=True):
        real = block.rows >= 0
        rows = block.rows[real]
        for number, one in enumerate(sites):
            precision[number, rows], shift[number, rows] = one.precision[real], one.shift[real]
        members[block.people] = own
    flat = tuple(Sites(*one) for one in zip(precision, shift, strict=True))
    return SavedTastes(tastes.coordinates, fit.prior, fit.sums, fit.status, fit.n_iter, flat, members)


def restore_population(est: Population, state: PopulationState) -> None:
    """Give a population what `fit` had given it; of one person only, `alone` follows."""
    answers = est._take_in(state.data, state.scaler, state.is_described)
    answers = answers._replace(covariates=est._with_about(state.about, state.told.columns))
    blocks = answers.blocks()
    parts = []
    for one in state.parts:
        if len(one.members) != answers.n_people or len(one.sites[0].shift) != len(answers.winners):
            raise InputError("The saved estimator is damaged: its people are not those of its answers.")
        sites = tuple(tuple(_in_block(own, block.rows) for own in one.sites) for block in blocks)
        members = tuple(one.members[block.people] for block in blocks)
        fit = PopulationFit(blocks, one.prior, sites, members, one.sums, one.status, one.n_iter)
        parts.append(Tastes(one.coordinates, fit))
    est._store(PeopleAverage(tuple(parts), state.shares, state.trial, state.told))
    est.n_people_ = state.n_people or est.n_people_


def _in_block(sites: Sites, rows: Any) -> Sites:
    """What the answers of a block say; nothing where there is none."""
    precision, shift = (np.where(rows >= 0, values[rows], 0.0) for values in sites)
    return Sites(precision, shift)


def shared_state(est: SharedMetric) -> SharedState:
    """What is saved of a fit of one metric for all."""
    return SharedState(
        _labels(est.people_),
        est.metric_,
        est.ideal_points_,
        est.slopes_,
        est.radius_,
        est.own_radius_,
        est.objective_,
        est.gap_,
        est.status_,
        est.n_iter_,
        est.item_table_,
        est._names,
        est._encoding,
    )


def restore_shared(est: SharedMetric, state: SharedState) -> None:
    """Give it what `fit` had given it."""
    est.metric_, est.ideal_points_, est.slopes_ = state.metric, state.ideal_points, state.slopes
    est.radius_, est.own_radius_ = state.radius, state.own_radius
    est.objective_, est.gap_ = state.objective, state.gap
    est.status_, est.n_iter_ = state.status, state.n_iter
    est.item_table_ = state.item_table
    est._told_of(state.people, len(state.metric), state.features, state.encoding)


def behaves(est: Population | SharedMetric) -> bool:
    """Whether what is known of everybody are numbers."""
    if isinstance(est, SharedMetric):
        items = np.eye(est.n_features_in_) if est.item_table_ is None else est.item_table_.matrix
        scores = np.einsum("ni,ij,nj->n", items, est.metric_, items)[:, None] + items @ est.slopes_.T
        return bool(np.isfinite(scores).all())
    known, coin, groups = est._everybody
    numbers = [
        coin,
        groups,
        est.predict_proba(est._data[:1]),
        est._drawn_utilities(est._anybody, est._data.item_table, 2),
    ]
    numbers += [values for one in known for values in (one.weights, one.values)]
    return all(bool(np.isfinite(values).all()) for values in numbers)
