"""What a study knows of somebody before their first answer: given with it, or learned from its own people.

Versions are kept in the storage and never change; those learned from the study's people go when one of these
is deleted. By which one somebody is asked is fixed when they are asked
first, so that their questions do not depend on who answers meanwhile.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from coombs.data.comparisons import Comparisons
from coombs.data.encoding import NUMBER
from coombs.data.tables import FloatArray, InputError, ItemTable
from coombs.inference.people.coordinates import KINDS
from coombs.inference.people.people_prior import (
    ItemsPrior,
    PeoplePrior,
    people_prior_of,
    refuse_other_columns,
)
from coombs.storage.prior_storage import NO_PRIOR
from coombs.storage.records import PriorRecord, RespondentRecord
from coombs.storage.stored_values import RowReading
from coombs.study.everybody import everybody_answers
from coombs.study.stored_items import ScaledItems

if TYPE_CHECKING:
    from coombs.study.study import Study

LEAST_PEOPLE = 10
"""People with answers from which on a prior is learned by default."""
LEAST_IF_ASKED = 3
"""People with answers from which on a prior is learned where `shared_prior=True` asks for it."""
LEAST_ANSWERS = 5
"""Answers that somebody must have given to count among those people."""
GROWTH = 1.3
"""Factor by which people or answers must grow before the prior is learned again."""


class LearnedPrior(NamedTuple):
    """The JSON text of a prior, and from how many people and answers it was learned."""

    text: str
    n_people: int
    n_answers: int


def learn_prior(answers: Comparisons, metric: str) -> LearnedPrior:
    """Fit a population to everybody's answers, here or in another process."""
    # Asking goes without scikit-learn, which takes a second to import.
    from coombs.estimators.population import Population

    with warnings.catch_warnings():
        # Of few people a prior is rough, and is soon learned again.
        warnings.simplefilter("ignore")
        found = Population(metric=metric, groups="auto").fit(answers)._people_prior.lean()
    return LearnedPrior(found.to_json(), found.n_people, found.n_answers)


def _about_items(prior: PeoplePrior, items: ScaledItems) -> ItemsPrior:
    """What a prior tells about a study's items; of features that came after it, nothing."""
    table = items.catalogue.table
    features = None if table.features is None else table.features.tolist()
    fitting = prior.with_features(items.catalogue.features).for_features(features, table.matrix.shape[1])
    names = None if table.names is None else table.texts
    return fitting.about(table.matrix, names, items.scaler)


Fit = Callable[[Comparisons, str], LearnedPrior]
"""`learn_prior`, here or in another process."""


def given_prior(population: Any, table: ItemTable) -> PeoplePrior:
    """What a fitted population tells of anybody about a study's items, once it fits them."""
    prior = getattr(population, "_people_prior", None) if hasattr(population, "people_") else None
    if not isinstance(prior, PeoplePrior):
        kind = type(population).__name__
        what = "is not fitted" if kind == "Population" else f"is a {kind}"
        raise InputError(f"prior {what}; it must be a fitted Population.")
    _refuse_other_roles(population._data.item_table, table)
    features = None if table.features is None else table.features.tolist()
    return prior.lean().for_features(features, table.matrix.shape[1])


def warn_of_coins(population: Any) -> None:
    """Say that a population that is to be a prior has no pattern; own answers soon outweigh it."""
    # Asking goes without it, and is quicker so.
    from coombs.insights.people_explanation import has_pattern

    if not has_pattern(population):
        warnings.warn(
            "The answers that the prior was learned from tell no more than tosses of a coin, so that it "
            "tells nothing of anybody yet. It does no harm: it counts only as far as it predicts somebody's "
            "own answers.",
            UserWarning,
            stacklevel=3,
        )


def _refuse_other_roles(own: ItemTable, given: ItemTable) -> None:
    """InputError that names a column that is of another sort, as a category, in a prior than in a study."""
    if (own.encoding is None) == (given.encoding is None):
        return
    mine, theirs = _roles(own), _roles(given)
    refuse_other_columns(list(mine), list(theirs))
    for name, role in mine.items():
        if theirs[name] != role:
            raise InputError(
                f"The prior was learned from other columns: {name!r} is a {role} there and a {theirs[name]} "
                "here; fit the Population to items with the same columns."
            )


def _roles(table: ItemTable) -> dict[str, str]:
    """What each column of a table is."""
    if table.encoding is None:
        return {str(name): NUMBER for name in (() if table.features is None else table.features)}
    return {one.name: one.role for one in table.encoding.columns if not one.gaps_of}


class StudyPriors:
    """The versions of a study's prior, read as they are needed.

    `refresh` learns the next version where one is due; where nobody may wait, it is put off to elsewhere.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._lock = study, threading.Lock()
        self._read: dict[PriorRecord, ItemsPrior] = {}
        self._items: FloatArray | None = None
        self.refresh: Callable[[], object] = self.learn

    @property
    def is_shared(self) -> bool:
        """Whether the study learns from its own people; not where wishes were declared, which all obey."""
        settings = self._study.settings
        return settings.shared_prior is not False and not settings.wishes

    def versions(self) -> list[PriorRecord]:
        """Those that somebody new may be asked by, the latest last."""
        found = self._study.storage.priors(self._study.record.id)
        if self._study.settings.wishes:
            return []
        return [one for one in found if one.source == "given" or self.is_shared]

    @property
    def n_others(self) -> int:
        """People with whose answers questions are chosen for somebody new."""
        known = self.versions()
        return known[-1].n_people if known else 0

    def fixed(self, respondent: RespondentRecord) -> PriorRecord | None:
        """The version by which somebody is asked, fixed now if it was not: the latest, if there is one."""
        storage = self._study.storage
        version = storage.use_prior(respondent.id)
        if version is None:
            self.refresh()
            known = self.versions()
            version = storage.use_prior(respondent.id, known[-1].version if known else NO_PRIOR)
        return self.record(version or NO_PRIOR)

    def record(self, version: int) -> PriorRecord | None:
        """The record of a version; None of no version."""
        # Read anew, as its number may come again once somebody was deleted.
        found = [] if version == NO_PRIOR else self._study.storage.priors(self._study.record.id)
        return next((one for one in found if one.version == version), None)

    def items_prior(self, record: PriorRecord | None, items: ScaledItems) -> ItemsPrior | None:
        """What a version tells of anybody about the study's items."""
        if record is None:
            return None
        with self._lock:
            if self._items is not items.matrix:
                self._items, self._read = items.matrix, {}
            if record not in self._read:
                text = self._study.storage.prior_text(self._study.record.id, record.version)
                with RowReading(f"Version {record.version} of the prior of the study {self._study.name!r}"):
                    self._read[record] = _about_items(people_prior_of(text), items)
            return self._read[record]

    def is_due(self) -> bool:
        """Whether so many more people or answers are there that another version is worth learning."""
        if not self.is_shared:
            return False
        asked_for = self._study.settings.shared_prior is True
        known = self._study.storage.priors(self._study.record.id)
        if not asked_for and any(one.source == "given" for one in known):
            return False
        counts = self._study.storage.answer_counts(self._study.record.id)
        n_people = sum(n >= LEAST_ANSWERS for n in counts)
        if n_people < (LEAST_IF_ASKED if asked_for else LEAST_PEOPLE):
            return False
        last = next((one for one in reversed(known) if one.source == "study"), None)
        if last is None:
            return True
        return n_people >= GROWTH * last.n_people or sum(counts) >= GROWTH * last.n_answers

    def learn(self, fit: Fit = learn_prior) -> PriorRecord | None:
        """Learn another version from everybody's answers and keep it, if one is due."""
        if not self.is_due():
            return None
        storage, number = self._study.storage, self._study.record.id
        before = storage.state(number)[0]
        answers = everybody_answers(self._study)
        if answers is None:
            return None
        metric = self._study.settings.metric
        found = fit(answers, metric if metric in KINDS else "auto")
        text, n_people, n_answers = found
        with storage.batch():
            if storage.state(number)[0] != before:
                # Somebody whose answers are in it may have been deleted: it is learned another time.
                return None
            return storage.add_prior(number, text, n_people=n_people, n_answers=n_answers, source="study")
