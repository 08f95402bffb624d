"""In memory: for tests, for trying things, and for whoever keeps answers elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from coombs.storage import rows, rules
from coombs.storage.records import (
    AnswerRecord,
    Choice,
    Event,
    Item,
    QuestionRecord,
    RespondentRecord,
    StudyRecord,
    StudySummary,
    UndoRecord,
)
from coombs.storage.sheet import Sheet, State, Study, find, page


class MemoryStorage:
    """A storage that ends with the process; see `coombs.storage.Storage`."""

    def __init__(self) -> None:
        self._state = State()
        self._lock = threading.RLock()
        self._in_batch = False

    def create_study(
        self,
        name: str,
        feature_names: Sequence[str],
        items: Sequence[Item],
        settings: Mapping[str, Any],
        *,
        at: datetime | None = None,
    ) -> StudyRecord:
        """A new study with its items, or StudyExistsError."""
        row = rows.study_row(name, feature_names, settings, at)
        item_rows = [rows.item_row(item) for item in items]
        with self._lock:
            if any(study.row[1] == name for study in self._state.studies.values()):
                raise rules.study_exists(name)
            number = self._state.new_id()
            self._state.studies[number] = Study((number, *row), item_rows)
            return rows.study((number, *row))

    def study(self, name: str) -> StudyRecord:
        """The study of that name, or UnknownStudyError."""
        rules.text(name, "study's name")
        with self._lock:
            for study in self._state.studies.values():
                if study.row[1] == name:
                    return rows.study(study.row)
        raise rules.no_study(name)

    def studies(self) -> list[StudySummary]:
        """All studies by name."""
        with self._lock:
            summaries = [self._summary(study) for study in self._state.studies.values()]
        return sorted(summaries, key=lambda summary: summary.name)

    def delete_study(self, name: str) -> None:
        """Remove a study with all that belongs to it."""
        with self._lock:
            number = self.study(name).id
            for sheet in self._sheets(number):
                del self._state.sheets[sheet.respondent.id]
            del self._state.studies[number]

    def items(self, study_id: int) -> list[Item]:
        """The items of a study in their order."""
        with self._lock:
            return [rows.item(row) for row in self._study(study_id).items]

    def add_respondent(
        self, study_id: int, name: str, token: str, *, at: datetime | None = None
    ) -> RespondentRecord:
        """The respondent of that name, made with this token unless there is one already."""
        row = rules.text(name, "respondent's name"), rules.text(token, "token"), rules.moment(at)
        with self._lock:
            self._study(study_id)
            for sheet in self._sheets(study_id):
                if sheet.respondent.name == name:
                    return sheet.respondent
            if any(sheet.respondent.token == token for sheet in self._state.sheets.values()):
                raise rules.token_taken()
            respondent = RespondentRecord(self._state.new_id(), study_id, *row)
            self._state.sheets[respondent.id] = Sheet(respondent)
            return respondent

    def respondents(self, study_id: int) -> list[tuple[RespondentRecord, int]]:
        """The respondents of a study in the order they came, each with the number of standing answers."""
        with self._lock:
            self._study(study_id)
            return [(sheet.respondent, len(sheet.standing)) for sheet in self._sheets(study_id)]

    def by_token(self, token: str) -> tuple[str, RespondentRecord]:
        """The study's name and the respondent whose link holds the token, or UnknownStudyError."""
        with self._lock:
            for sheet in self._state.sheets.values():
                if sheet.respondent.token == token:
                    return rows.study(self._study(sheet.respondent.study_id).row).name, sheet.respondent
        raise rules.no_token()

    def add_question(
        self,
        respondent_id: int,
        left: int,
        right: int,
        purpose: str,
        foretold: float | None = None,
        *,
        progress: float | None = None,
        again: bool = False,
        at: datetime | None = None,
    ) -> QuestionRecord | None:
        """A new question; None, unless `again`, if the respondent was asked or answered that pair before."""
        why = rules.text(purpose, "purpose"), rules.probability(foretold), rules.progress(progress)
        moment = rules.moment(at)
        with self._lock:
            sheet = self._sheet(respondent_id, left, right)
            if not again and sheet.met[frozenset((left, right))]:
                return None
            question = QuestionRecord(
                self._state.new_id(), respondent_id, int(left), int(right), *why, moment
            )
            sheet.add_question(question)
            return question

    def questions(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> list[QuestionRecord]:
        """Questions in the order they were asked: with a larger id than `after`, the `latest` so many."""
        with self._lock:
            return page(self._sheet(respondent_id).questions, after, latest)

    def pairs(self, respondent_id: int) -> set[tuple[int, int]]:
        """Pairs that the respondent was asked about or has a standing answer to, the lower position first."""
        with self._lock:
            met = self._sheet(respondent_id).met
            return {(min(pair), max(pair)) for pair, times in met.items() if times}

    def add_answer(
        self,
        respondent_id: int,
        left: int,
        right: int,
        choice: Choice,
        *,
        question_id: int | None = None,
        weight: float = 1.0,
        at: datetime | None = None,
    ) -> AnswerRecord:
        """A new answer, or the standing one to that question if it says the same."""
        told = int(left), int(right), rules.choice(choice), rules.weight(weight)
        moment = rules.moment(at)
        with self._lock:
            sheet = self._sheet(respondent_id, left, right)
            if question_id is not None:
                question = find(sheet.questions, question_id)
                if question is None:
                    raise rules.no_question(respondent_id, question_id)
                rules.check_topic(question, left, right)
                if standing := sheet.by_question.get(question_id):
                    rules.check_repeat(standing, *told)
                    return standing
            answer = AnswerRecord(self._state.new_id(), respondent_id, question_id, *told, moment)
            sheet.add_answer(answer)
            return answer

    def add_undo(self, respondent_id: int, answer_id: int, *, at: datetime | None = None) -> UndoRecord:
        """Take an answer back: AnsweredError if it was, UnknownStudyError if it is not this respondent's."""
        moment = rules.moment(at)
        with self._lock:
            sheet = self._sheet(respondent_id)
            if not isinstance(find(sheet.events, answer_id), AnswerRecord):
                raise rules.no_answer(respondent_id, answer_id)
            if answer_id not in sheet.standing:
                raise rules.undone(answer_id)
            undo = UndoRecord(self._state.new_id(), respondent_id, answer_id, moment)
            sheet.add_undo(undo)
            return undo

    def events(self, respondent_id: int, *, after: int = 0, latest: int | None = None) -> list[Event]:
        """Answers and undos in their order: with a larger id than `after`, the `latest` so many."""
        with self._lock:
            return page(self._sheet(respondent_id).events, after, latest)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Calls inside are one transaction, for which other threads wait: all of them or none."""
        with self._lock:
            if self._in_batch:
                yield
                return
            before, self._in_batch = self._state.copy(), True
            try:
                yield
            except BaseException:
                self._state = before
                raise
            finally:
                self._in_batch = False

    def close(self) -> None:
        """Nothing to let go of."""

    def _study(self, study_id: int) -> Study:
        """The study with that id."""
        if study_id not in self._state.studies:
            raise rules.no_study_id(study_id)
        return self._state.studies[study_id]

    def _sheet(self, respondent_id: int, *pair: int) -> Sheet:
        """The sheet of the respondent with that id; what is no pair of the study's items is refused."""
        if respondent_id not in self._state.sheets:
            raise rules.no_respondent(respondent_id)
        sheet = self._state.sheets[respondent_id]
        n_items = len(self._study(sheet.respondent.study_id).items)
        if pair and not (pair[0] != pair[1] and all(0 <= position < n_items for position in pair)):
            raise rules.no_items(*pair)
        return sheet

    def _sheets(self, study_id: int) -> list[Sheet]:
        """The sheets of a study's respondents."""
        return [sheet for sheet in self._state.sheets.values() if sheet.respondent.study_id == study_id]

    def _summary(self, study: Study) -> StudySummary:
        """A study as a list shows it."""
        record, sheets = rows.study(study.row), self._sheets(study.row[0])
        answers = sum(len(sheet.standing) for sheet in sheets)
        return StudySummary(record.name, record.created, len(study.items), len(sheets), answers)
