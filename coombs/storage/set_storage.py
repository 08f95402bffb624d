"""Questions about sets of items, and answers of any shape: to those, or to none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from coombs.data.tables import InputError
from coombs.storage import rows, validation
from coombs.storage.database import LARGEST
from coombs.storage.judgement import Judgement, judgement_text
from coombs.storage.records import AnyAnswer, JudgementRecord, SetQuestionRecord, SkipRecord, UndoRecord
from coombs.storage.study_storage import StudyStorage
from coombs.storage.timestamps import utc
from coombs.storage.validation import AnsweredError, UnknownStudyError
from coombs.storage.webhooks import note

STANDS = (
    "NOT EXISTS (SELECT 1 FROM events undo"
    " WHERE undo.respondent_id = events.respondent_id AND undo.undoes = events.id)"
)
"""Whether an event was not taken back."""


class SetStorage(StudyStorage):
    """The part of a `Storage` that keeps questions about sets, and answers of other shapes than a pair."""

    def add_set_question(
        self,
        respondent_id: int,
        items: Sequence[int],
        purpose: str,
        chances: Sequence[float] | None = None,
        *,
        progress: float | None = None,
        again: bool = False,
        at: datetime | None = None,
    ) -> SetQuestionRecord | None:
        """Keep a new question about a set, unless the respondent was asked about these items before.

        Parameters
        ----------
        respondent_id : of the person
        items : positions of three items or more, as they are shown
        purpose : why it is asked
        chances : the probability of each to be the best, or None
        progress : from 0 to 1, as it was shown, or None
        again : True asks about a set once more
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        SetQuestionRecord, or None if the set is not new

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0], [3.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.add_set_question(ann.id, (2, 0, 1), "random").items
        (2, 0, 1)
        >>> storage.add_set_question(ann.id, (0, 1, 2), "random") is None
        True
        """
        about = tuple(int(one) for one in items)
        if len(set(about)) < max(len(about), rows.LEAST_SET):
            raise InputError(f"The set of items is {about}; it must be three different items or more.")
        known = None if chances is None else tuple(_share(one) for one in chances)
        if known is not None and len(known) != len(about):
            raise InputError(f"There are {len(known)} chances for {len(about)} items; give each item one.")
        share = validation.share(progress, "progress")
        why, asked = validation.text(purpose, "purpose"), utc(at)
        with self.database.transaction():
            self._lock_items(respondent_id, about)
            if not again and set(about) in self._sets(respondent_id):
                return None
            row = respondent_id, rows.set_text(about, known), why, share, asked
            number = self.database.insert("questions", rows.SET_QUESTION, row)
        return SetQuestionRecord(number, respondent_id, about, why, known, share, asked)

    def add_judgement(
        self,
        respondent_id: int,
        judgement: Judgement,
        *,
        question_id: int | None = None,
        weight: float = 1.0,
        at: datetime | None = None,
    ) -> JudgementRecord:
        """Keep a new answer that is not about a pair: to a question about a set, or to none.

        A question has one standing answer, as for `add_answer`.

        Parameters
        ----------
        respondent_id : of the person
        judgement : what was said
        question_id : of a question about the same items, or None
        weight : what the answer counts
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        JudgementRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> from coombs.storage import Judgement
        >>> study = create_study([[1.0], [2.0], [3.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.add_judgement(ann.id, Judgement("ranking", ((2,), (0, 1)))).weight
        1.0
        """
        counts, told = validation.weight(weight), utc(at)
        with self.database.transaction():
            self._lock_items(respondent_id, judgement.items)
            if question_id is not None:
                standing = self._answer_to_set(respondent_id, question_id, set(judgement.items))
                if isinstance(standing, JudgementRecord) and _same(standing, judgement, counts):
                    return standing
                _refuse_another(standing)
            row = respondent_id, question_id, judgement_text(judgement), counts, told
            number = self.database.insert("events", rows.JUDGEMENT, row)
            note(self.database, respondent_id, "answer", number)
        self.database.tally.add("answers")
        return JudgementRecord(number, respondent_id, judgement, counts, told, question_id)

    def add_skip(
        self, respondent_id: int, question_id: int, *, weight: float = 1.0, at: datetime | None = None
    ) -> SkipRecord:
        """Keep that a question about a set was passed over.

        Parameters
        ----------
        respondent_id : of the person
        question_id : of the question
        weight : what an answer would have counted
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        SkipRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0], [3.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> asked = storage.add_set_question(ann.id, (2, 0, 1), "random")
        >>> storage.add_skip(ann.id, asked.id).choice
        'skip'
        """
        row = respondent_id, question_id, SkipRecord.choice, validation.weight(weight), utc(at)
        with self.database.transaction():
            self._check_respondent(respondent_id, self.database.for_update)
            standing = self._answer_to_set(respondent_id, question_id)
            if isinstance(standing, SkipRecord):
                return standing
            _refuse_another(standing)
            number = self.database.insert("events", rows.SKIP, row)
            note(self.database, respondent_id, "answer", number)
        self.database.tally.add("answers")
        return SkipRecord(number, respondent_id, question_id, row[3], row[4])

    def _lock_items(self, respondent_id: int, items: Sequence[int]) -> None:
        """Be alone with a respondent, so that ids rise in the order of commits; refuse unknown items."""
        found = self.database.rows(
            "SELECT (SELECT COUNT(*) FROM items WHERE items.study_id = respondents.study_id"
            " AND position = ?)"
            f" FROM respondents WHERE id = ? {self.database.for_update}",
            max(items),
            respondent_id,
        )
        if not found:
            raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
        if not found[0][0] or min(items) < 0:
            wrong = max(items) if not found[0][0] else min(items)
            raise InputError(f"{wrong} is no item of the study; give positions of its items, from 0.")

    def _sets(self, respondent_id: int) -> list[set[int]]:
        """The sets that a respondent was asked about."""
        found = self.database.rows(
            "SELECT items FROM questions WHERE respondent_id = ? AND items IS NOT NULL", respondent_id
        )
        return [set(rows.set_of(items, LARGEST)[0]) for (items,) in found]

    def _answer_to_set(
        self, respondent_id: int, question_id: int, items: set[int] | None = None
    ) -> AnyAnswer | None:
        """The standing answer to a question about a set, which must be the respondent's and about these."""
        found = self.database.rows(
            f"SELECT questions.items, {rows.of('events', rows.EVENT)}"
            " FROM questions LEFT JOIN events ON events.respondent_id = questions.respondent_id"
            f" AND events.question_id = questions.id AND {STANDS}"
            " WHERE questions.respondent_id = ? AND questions.id = ?",
            respondent_id,
            question_id,
        )
        if not found:
            raise UnknownStudyError(f"Respondent {respondent_id} was asked no question {question_id}.")
        about, *answer = found[0]
        if about is None:
            raise InputError(f"Question {question_id} is about a pair; say left, right, tie or skip.")
        asked, _ = rows.set_of(about, LARGEST)
        if items is not None and items != set(asked):
            raise UnknownStudyError(
                f"Question {question_id} is about the items {', '.join(map(str, asked))}, and no others."
            )
        made = None if answer[0] is None else rows.event(tuple(answer), LARGEST)
        assert not isinstance(made, UndoRecord)
        return made


def _share(value: float) -> float:
    share = validation.share(value, "chance")
    if share is None:
        raise InputError("A chance is missing; it must be from 0 to 1.")
    return share


def _same(standing: JudgementRecord, judgement: Judgement, weight: float) -> bool:
    """Whether an answer says what the standing one does, whatever the order of those that are tied."""
    old, new = (
        (said.shape, [set(place) for place in said.places], said.rating)
        for said in (standing.judgement, judgement)
    )
    return old == new and standing.weight == weight


def _refuse_another(standing: AnyAnswer | None) -> None:
    """An AnsweredError where there is an answer, which is another one."""
    if standing is not None:
        raise AnsweredError(
            "Question {number} has another answer; undo it first.", number=standing.question_id
        )
