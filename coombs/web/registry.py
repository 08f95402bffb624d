"""Studies, people and results that are kept at hand; whatever falls out is read again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from coombs.storage import Storage, UnknownStudyError
from coombs.study import Respondent, Study, load_study
from coombs.web.cards import Cards
from coombs.web.findings import Findings
from coombs.web.thinker import Thinker

MOST_STUDIES, MOST_PEOPLE, MOST_FINDINGS = 50, 500, 100
"""Kept at once; a person's draws take up to 3 MB."""

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The latest used so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """What is kept, if it is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: Value) -> Value:
        """Keep it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.most:
                self._values.popitem(last=False)
        return value

    def drop(self, matches: Callable[[Value], bool]) -> None:
        """Forget some."""
        with self._lock:
            for key in [key for key, value in self._values.items() if matches(value)]:
                del self._values[key]


class Shown:
    """A study, and its items as cards."""

    def __init__(self, study: Study, pictures: Path | None) -> None:
        self.study, self.cards = study, Cards(study.catalogue, pictures is not None)


class Registry:
    """What the pages work with, over one storage.

    A respondent here is made of its record, not by `Study.respondent`, which would keep all for ever.
    """

    def __init__(self, storage: Storage, thinker: Thinker, pictures: Path | None = None) -> None:
        self.storage, self.thinker, self.pictures = storage, thinker, pictures
        self._studies: Cache[Shown] = Cache(MOST_STUDIES)
        self._people: Cache[Respondent] = Cache(MOST_PEOPLE)
        # Somebody who fell out may still be thought of, and must not be there twice.
        self._alive: WeakValueDictionary[str, Respondent] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._findings: Cache[Findings] = Cache(MOST_FINDINGS)

    def shown(self, name: str) -> Shown:
        """The study of that name, or UnknownStudyError."""
        kept, record = self._studies.get(name), self.storage.study(name)
        if kept is not None and kept.study.record.id == record.id:
            return kept
        return self._studies.put(name, Shown(load_study(name, storage=self.storage), self.pictures))

    def study(self, name: str) -> Study:
        """The same without the cards."""
        return self.shown(name).study

    def respondent(self, token: str) -> Respondent:
        """Whose link that is, or UnknownStudyError."""
        with self._lock:
            kept = self._alive.get(token)
        if kept is None:
            name, record = self.storage.by_token(token)
            study = self.study(name)
            if study.record.id != record.study_id:
                raise UnknownStudyError("This study was deleted while it was opened; ask for a new link.")
            made = Respondent(study, record, self.thinker.make_mind(token))
            with self._lock:
                kept = self._alive.setdefault(token, made)
        return self._people.put(token, kept)

    def cards(self, respondent: Respondent) -> Cards:
        """The cards of a respondent's study."""
        kept = self._studies.get(respondent.study.name)
        if kept is not None and kept.study is respondent.study:
            return kept.cards
        return self._studies.put(respondent.study.name, Shown(respondent.study, self.pictures)).cards

    def findings(self, respondent: Respondent) -> Findings | None:
        """What the standing answers say; None before the first."""
        answers = respondent.history()
        if all(answer.choice == "skip" for answer in answers):
            return None
        kept = self._findings.get(respondent.record.token)
        if kept is not None and kept.is_of(answers):
            return kept
        return self._findings.put(respondent.record.token, Findings(respondent, answers))

    def forget(self, study: Study) -> None:
        """After it was deleted."""
        self._studies.drop(lambda shown: shown.study.record.id == study.record.id)
        self._people.drop(lambda person: person.record.study_id == study.record.id)
        with self._lock:
            gone = [one for one in self._alive.values() if one.record.study_id == study.record.id]
            for one in gone:
                del self._alive[one.record.token]
        self._findings.drop(lambda findings: findings.study_id == study.record.id)
