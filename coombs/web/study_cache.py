"""Studies, people and results that are kept in memory; whatever falls out is read again."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from coombs.language import Translatable
from coombs.storage import RespondentRecord, Storage, UnknownStudyError
from coombs.study import Respondent, Study, load_study
from coombs.study.online_model import Learn, learn
from coombs.web.fitted_result import FittedResult
from coombs.web.item_cards import Cards
from coombs.web.shared_results import SharedResults, result_key

MOST_STUDIES = 50
"""Studies in memory."""
MOST_PEOPLE = 500
"""People in memory; the model of one takes 0.5 to 3 MB."""
MOST_RESULTS = 100
"""Fitted results in memory;"""
MOST_RESULT_BYTES = 300_000_000
"""and bytes of them: one with 100 items has 14 MB, with 500 items 34 MB."""
IDLE_SECONDS = 600.0
"""Seconds after which people and results that nobody asked for are dropped from memory."""
LOOK = 0.05
"""Seconds between two looks at a result that somebody else computes."""

Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """The values used last, so many, and of so many bytes by `size`; the one used longest ago goes first."""

    def __init__(
        self, most: int, most_bytes: float = math.inf, size: Callable[[Value], int] = lambda _: 0
    ) -> None:
        self.most, self._most_bytes, self._size = most, most_bytes, size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """What is kept, if it is."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                self._used[key] = time.monotonic()
            return self._values.get(key)

    def put(self, key: str, value: Value) -> Value:
        """Keep it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            self._used[key] = time.monotonic()
            while len(self._values) > self.most or (len(self._values) > 1 and self._is_too_large()):
                self._drop(next(iter(self._values)))
        return value

    def drop(self, matches: Callable[[Value], bool]) -> None:
        """Forget some."""
        with self._lock:
            for key in [key for key, value in self._values.items() if matches(value)]:
                self._drop(key)

    def drop_unused(self, seconds: float) -> None:
        """Forget what nobody has used for so long."""
        before = time.monotonic() - seconds
        with self._lock:
            for key in [key for key, used in self._used.items() if used < before]:
                self._drop(key)

    def _is_too_large(self) -> bool:
        return sum(map(self._size, self._values.values())) > self._most_bytes

    def _drop(self, key: str) -> None:
        del self._values[key], self._used[key]


class StudyWithCards(NamedTuple):
    """A study, and its items as cards."""

    study: Study
    cards: Cards


class StudyCache:
    """What the pages and the API work with, over one storage; people's models learn with `learn`.

    A respondent here is made of its record, not by `Study.respondent`, which would keep all for ever.
    """

    def __init__(
        self,
        storage: Storage,
        pictures: Path | None = None,
        learn: Learn = learn,
        refresh_prior: Callable[[Study], None] | None = None,
    ) -> None:
        self.storage, self.pictures, self._learn = storage, pictures, learn
        self._refresh_prior = refresh_prior
        self._studies: LRUCache[StudyWithCards] = LRUCache(MOST_STUDIES)
        self._people: LRUCache[Respondent] = LRUCache(MOST_PEOPLE)
        # Somebody who fell out may still be learned about, and must not be there twice.
        self._alive: WeakValueDictionary[str, Respondent] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._results: LRUCache[FittedResult] = LRUCache(
            MOST_RESULTS, MOST_RESULT_BYTES, lambda result: result.n_bytes
        )
        self.shared = SharedResults()
        self._opened: LRUCache[Study] = LRUCache(MOST_STUDIES)

    def study(self, name: str) -> Study:
        """The study of that name, or UnknownStudyError."""
        kept, record = self._studies.get(name), self.storage.study(name)
        if kept is not None and kept.study.record.id == record.id:
            kept.study.note_settings(record.settings)
            if kept.cards.items is not kept.study.catalogue:
                self._keep(kept.study)
            return kept.study
        return self._keep(load_study(name, storage=self.storage)).study

    def _keep(self, study: Study) -> StudyWithCards:
        if self._refresh_prior is not None:
            study.priors.refresh = partial(self._refresh_prior, study)
        return self._studies.put(
            study.name, StudyWithCards(study, Cards(study.catalogue, self.pictures is not None))
        )

    def respondent(self, token: str) -> Respondent:
        """Whose link that is, with what holds for them now; UnknownStudyError also of a revoked one."""
        found = self.storage.participant(token)
        with self._lock:
            kept = self._alive.get(token)
            same = (found.record.id, found.record.name)
            if kept is not None and (kept.record.id, kept.record.name) != same:
                kept = None
                del self._alive[token]
        if kept is None:
            study = self.study(found.study_name)
            if study.record.id != found.record.study_id:
                raise UnknownStudyError(
                    Translatable("This study was deleted while it was opened; ask for a new link.")
                )
            made = Respondent(study, found.record, self._learn)
            with self._lock:
                kept = self._alive.setdefault(token, made)
        # Another process may have changed it.
        kept.record = found.record
        kept.study.note_settings(found.settings)
        kept.study.presentations.latest = found.presentation_version
        return self._people.put(token, kept)

    def at_hand(self, token: str) -> Respondent | None:
        """Whose link that is, if they are in memory: nothing is read, as an error may be the storage's."""
        with self._lock:
            return self._alive.get(token)

    def opened(self, open_token: str) -> Study:
        """The study whose open link that is, or UnknownStudyError."""
        return self._opened.put(open_token, self.study(self.storage.by_open_token(open_token)))

    def study_at_hand(self, path: str) -> Study | None:
        """The study whose people's page that is, if it is in memory: nothing is read."""
        _, kind, token = f"{path}//".split("/", 3)[:3]
        if kind == "join":
            return self._opened.get(token)
        person = self.at_hand(token)
        return None if person is None else person.study

    def cards(self, respondent: Respondent) -> Cards:
        """The cards of a respondent's study."""
        kept = self._studies.get(respondent.study.name)
        study = respondent.study
        if kept is None or kept.study is not study or kept.cards.items is not study.catalogue:
            kept = self._keep(study)
        return kept.cards

    def is_decided(self, respondent: Respondent) -> bool:
        """Whether some standing answer says which of two items is better, so that there is a result."""
        answers = respondent.history()
        return any(one.is_learned_from for one in answers) and respondent.comparisons().is_decided

    def kept_result(self, respondent: Respondent) -> FittedResult | None:
        """The result of the standing answers, if this process or another one of the server has it."""
        kept, answers = self._results.get(respondent.record.token), respondent.history()
        if (
            kept is not None
            and kept.items is respondent.study.catalogue
            and [one.id for one in kept.answers] == [one.id for one in answers]
        ):
            return kept
        found = self.shared.get(self._result_key(respondent))
        if found is None:
            return None
        return self._results.put(respondent.record.token, FittedResult(respondent, answers, found))

    def _result_key(self, respondent: Respondent) -> str:
        """What the result of the standing answers is called."""
        record, items = respondent.record, respondent.study.catalogue
        answers = [one.id for one in respondent.history()]
        state = record.token, answers, items.current, len(items.names)
        return result_key(record.study_id, record.id, *state)

    def fitted(self, respondent: Respondent) -> FittedResult | None:
        """The result of the standing answers; None before one says which of two items is better.

        Who asks for what is being computed waits for it.
        """
        if not self.is_decided(respondent):
            return None
        kept = self.kept_result(respondent)
        while kept is None:
            key = self._result_key(respondent)
            if self.shared.claim(key):
                kept = self._fit(respondent, key)
            else:
                time.sleep(LOOK)
                kept = self.kept_result(respondent)
        return kept

    def _fit(self, respondent: Respondent, key: str) -> FittedResult:
        """What was claimed, unless it was there a moment before."""
        try:
            kept = self.kept_result(respondent)
            if kept is None:
                kept = FittedResult(respondent, respondent.history())
                self._results.put(respondent.record.token, kept)
                self.shared.put(key, kept.result)
            return kept
        finally:
            self.shared.release(key)

    def forget_idle(self) -> None:
        """Drop who has not answered for a while: who comes back waits a moment for the first question."""
        self._people.drop_unused(IDLE_SECONDS)
        self._results.drop_unused(IDLE_SECONDS)

    def forget_person(self, record: RespondentRecord) -> None:
        """After they were deleted or changed; other processes come upon it with the next request."""
        self._people.drop(lambda person: person.record.id == record.id)
        self._results.drop(lambda result: result.respondent.record.id == record.id)
        self.shared.drop(record.study_id, record.id)
        self.shared.drop(record.study_id, "group")
        self._studies.drop(lambda kept: kept.study.record.id == record.study_id)
        with self._lock:
            for one in [one for one in self._alive.values() if one.record.id == record.id]:
                del self._alive[one.record.token]

    def forget(self, study: Study) -> None:
        """After it was deleted."""
        number = study.record.id
        self._opened.drop(lambda one: one.record.id == number)
        self._studies.drop(lambda kept: kept.study.record.id == number)
        self._people.drop(lambda person: person.record.study_id == number)
        self._results.drop(lambda result: result.respondent.record.study_id == number)
        self.shared.drop(number)
        with self._lock:
            for one in [one for one in self._alive.values() if one.record.study_id == number]:
                del self._alive[one.record.token]
