"""The storage, behind one contract: questions and answers about pairs, and all the other parts together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime

from coombs.data.tables import InputError
from coombs.storage import rows, validation
from coombs.storage.database import LARGEST
from coombs.storage.item_storage import ItemStorage
from coombs.storage.overview_storage import OverviewStorage
from coombs.storage.presentation_storage import PresentationStorage
from coombs.storage.prior_storage import PriorStorage
from coombs.storage.records import (
    AnswerRecord,
    AnyQuestion,
    Choice,
    Event,
    QuestionRecord,
    UndoRecord,
)
from coombs.storage.rights_storage import RightsStorage
from coombs.storage.set_storage import STANDS, SetStorage
from coombs.storage.timestamps import utc
from coombs.storage.validation import AnsweredError, UnknownStudyError
from coombs.storage.webhooks import note

# No row pairs an item with itself, so this is the same pair, whichever way around.
_PAIR = "respondent_id = ? AND left_item IN (?, ?) AND right_item IN (?, ?)"


class Storage(SetStorage, OverviewStorage, RightsStorage, ItemStorage, PresentationStorage, PriorStorage):
    """Studies, their items, and everything that respondents were asked and said, in a database.

    Questions and answers about pairs, and the events of one respondent, are here; each class that this one is
    made of keeps another part, in a module of its own name. Every method is one transaction, unless inside of
    `batch`: when it returns, what it added is kept, whatever happens to the process; when it raises, nothing
    was added. Any number of processes and threads may call at once. `at` is when it happened, by default now.
    `open_storage` makes one.

    Parameters
    ----------
    database : where it is kept, and how it speaks SQL
    prepare : False takes it as it is, neither brought up to date nor checked

    Examples
    --------
    >>> from coombs.storage import Item, open_storage
    >>> storage = open_storage("memory:")
    >>> items = [Item("small", (1.0,)), Item("large", (2.0,))]
    >>> study = storage.create_study("pizza", ["size"], items, {})
    >>> ann = storage.add_respondent(study.id, "Ann", token="secret")
    >>> storage.add_answer(ann.id, 0, 1, "right").choice
    'right'
    """

    def add_question(
        self,
        respondent_id: int,
        left: int,
        right: int,
        purpose: str,
        predicted: float | None = None,
        *,
        progress: float | None = None,
        again: bool = False,
        at: datetime | None = None,
    ) -> QuestionRecord | None:
        """Keep a new question, unless the respondent was asked or answered that pair before.

        The pair is the same either way around; an answer that was undone does not count.

        Parameters
        ----------
        respondent_id : of the person
        left, right : positions of the items
        purpose : why it is asked
        predicted : probability of left, or None
        progress : from 0 to 1, as it was shown, or None
        again : True asks about a pair once more
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        QuestionRecord, or None if the pair is not new

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.add_question(ann.id, 0, 1, "random").left
        0
        >>> storage.add_question(ann.id, 1, 0, "random") is None
        True
        """
        shares = (
            validation.share(predicted, "predicted probability"),
            validation.share(progress, "progress"),
        )
        row = respondent_id, int(left), int(right), validation.text(purpose, "purpose"), *shares, utc(at)
        with self.database.transaction():
            self._lock(respondent_id, left, right)
            if not again and self._met(respondent_id, left, right):
                return None
            number = self.database.insert("questions", rows.QUESTION, row)
        return QuestionRecord(number, *row)

    def questions(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> list[AnyQuestion]:
        """Return questions in the order they were asked.

        Parameters
        ----------
        respondent_id : of the person
        after : only those with a larger id
        latest : at most so many, the last ones

        Returns
        -------
        list of QuestionRecord and, about sets, SetQuestionRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.questions(ann.id)
        []
        """
        found, _ = self._page("questions", rows.ANY_QUESTION, respondent_id, after, latest)
        return [rows.question(row[:-1], row[-1]) for row in found]

    def pairs(self, respondent_id: int) -> set[tuple[int, int]]:
        """Return the pairs that the respondent was asked about or has a standing answer to.

        Parameters
        ----------
        respondent_id : of the person

        Returns
        -------
        set of pairs of positions, the lower first

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> _ = storage.add_answer(ann.id, 1, 0, "left")
        >>> storage.pairs(ann.id)
        {(0, 1)}
        """
        found = self.database.rows(
            "SELECT DISTINCT left_item, right_item FROM questions WHERE respondent_id = ?"
            " AND left_item IS NOT NULL"
            " UNION SELECT DISTINCT left_item, right_item FROM events WHERE respondent_id = ?"
            " AND left_item IS NOT NULL AND id NOT IN"
            " (SELECT undoes FROM events WHERE respondent_id = ? AND undoes IS NOT NULL)",
            *[respondent_id] * 3,
        )
        if not found:
            self._check_respondent(respondent_id)
        return {(min(pair), max(pair)) for pair in found}

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
        """Keep a new answer.

        A question has one standing answer: telling the same again returns it and adds nothing, so that
        whoever did not see the reply may repeat the call; another choice is an AnsweredError. A question
        of another respondent or about other items is an UnknownStudyError.

        Parameters
        ----------
        respondent_id : of the person
        left, right : positions of the items
        choice : "left", "right", "tie" or "skip"
        question_id : of the question, or None
        weight : what the answer counts
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        AnswerRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> storage.add_answer(ann.id, 0, 1, "right").choice
        'right'
        """
        told = int(left), int(right), validation.choice(choice), validation.weight(weight)
        row = respondent_id, question_id, *told, utc(at)
        with self.database.transaction():
            is_told = self._lock(respondent_id, left, right)
            standing = (
                None if question_id is None else self._standing(respondent_id, question_id, left, right)
            )
            if standing is not None:
                validation.check_repeat(standing, *told)
                return standing
            number = self.database.insert("events", rows.ANSWER, row)
            if is_told:
                note(self.database, respondent_id, "answer", number)
        self.database.tally.add("answers")
        return AnswerRecord(number, *row)

    def add_undo(self, respondent_id: int, answer_id: int, *, at: datetime | None = None) -> UndoRecord:
        """Take an answer back: AnsweredError if it was, UnknownStudyError if it is not this respondent's.

        Parameters
        ----------
        respondent_id : of the person
        answer_id : of the answer
        at : when it happened, with a time zone (default: now)

        Returns
        -------
        UndoRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> answer = storage.add_answer(ann.id, 0, 1, "right")
        >>> storage.add_undo(ann.id, answer.id).answer_id == answer.id
        True
        """
        row = respondent_id, answer_id, utc(at)
        with self.database.transaction():
            self._check_respondent(respondent_id, self.database.for_update)
            found = self.database.rows(
                f"SELECT {STANDS} FROM events WHERE respondent_id = ? AND id = ? AND undoes IS NULL",
                respondent_id,
                answer_id,
            )
            if not found:
                raise UnknownStudyError(f"Respondent {respondent_id} gave no answer {answer_id}.")
            if not found[0][0]:
                raise AnsweredError(
                    "Answer {number} was undone already; an answer is undone once.", number=answer_id
                )
            number = self.database.insert("events", rows.UNDO, row)
            note(self.database, respondent_id, "undo", answer_id)
        return UndoRecord(number, *row)

    def events(self, respondent_id: int, *, after: int = 0, latest: int | None = None) -> list[Event]:
        """Return answers and undos in their order.

        Parameters
        ----------
        respondent_id, after, latest : as for `questions`

        Returns
        -------
        list of AnswerRecord, JudgementRecord, SkipRecord and UndoRecord

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> _ = storage.add_answer(ann.id, 0, 1, "tie")
        >>> [event.choice for event in storage.events(ann.id)]
        ['tie']
        """
        return self.events_and_log(respondent_id, after=after, latest=latest)[0]

    def events_and_log(
        self, respondent_id: int, *, after: int = 0, latest: int | None = None
    ) -> tuple[list[Event], int]:
        """Return `events`, and the number of the last line in the log of the study, in one read.

        Parameters
        ----------
        respondent_id, after, latest : as for `questions`

        Returns
        -------
        list of events, and int: another number says that people or items of the study may have changed

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> study.storage.events_and_log(study.respondent("Ann").record.id)
        ([], 0)
        """
        found, line = self._page("events", rows.EVENT, respondent_id, after, latest)
        return [rows.event(row[:-1], row[-1]) for row in found], line

    def batch(self) -> AbstractContextManager[None]:
        """Make all calls inside, by this thread, one transaction: quick for many, and all of them or none.

        Returns
        -------
        context manager

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[1.0], [2.0]], "pizza", storage="memory:")
        >>> storage, ann = study.storage, study.respondent("Ann").record
        >>> with storage.batch():
        ...     _ = storage.add_answer(ann.id, 0, 1, "tie")
        >>> len(storage.events(ann.id))
        1
        """
        return self.database.batch()

    def _lock(self, respondent_id: int, left: int, right: int) -> bool:
        """Be alone with a respondent, so that ids rise in the order of commits; refuse what is no pair.

        The same read tells whether the study has webhooks.
        """
        found = self.database.rows(
            "SELECT (SELECT COUNT(*) FROM items WHERE items.study_id = respondents.study_id"
            " AND position IN (?, ?)),"
            " (SELECT COUNT(*) FROM webhooks WHERE webhooks.study_id = respondents.study_id)"
            f" FROM respondents WHERE id = ? {self.database.for_update}",
            left,
            right,
            respondent_id,
        )
        if not found:
            raise UnknownStudyError(f"There is no respondent with the id {respondent_id}.")
        if found[0][0] < 2:
            raise InputError(
                f"{left} and {right} are not two items of the study; give two different positions."
            )
        return bool(found[0][1])

    def _page(
        self, table: str, columns: str, respondent_id: int, after: int, latest: int | None
    ) -> tuple[list[rows.Row], int]:
        """The last rows of a respondent, in their order, each with the position of the study's last item.

        The same read shows that there is a respondent, and the last line of the study's log.
        """
        found = self.database.rows(
            f"SELECT {rows.of(table, columns)}, COALESCE((SELECT MAX(position) FROM items"
            " WHERE items.study_id = respondents.study_id), -1), COALESCE((SELECT MAX(id) FROM study_log"
            f" WHERE study_log.study_id = respondents.study_id), 0) FROM respondents LEFT JOIN {table}"
            f" ON {table}.respondent_id = respondents.id AND {table}.id > ?"
            f" WHERE respondents.id = ? ORDER BY {table}.id DESC LIMIT ?",
            # Below 1 there is none, unless it is damaged.
            after or -LARGEST,
            respondent_id,
            LARGEST if latest is None else max(latest, 0),
        )
        if not found:
            self._check_respondent(respondent_id)
        return [row[:-1] for row in reversed(found) if row[0] is not None], found[0][-1] if found else 0

    def _met(self, respondent_id: int, left: int, right: int) -> bool:
        """Whether a pair was asked, or has a standing answer."""
        pair = respondent_id, left, right, left, right
        select = (
            f"SELECT 1 FROM questions WHERE {_PAIR}"
            f" UNION ALL SELECT 1 FROM events WHERE {_PAIR} AND {STANDS} LIMIT 1"
        )
        return bool(self.database.rows(select, *pair, *pair))

    def _standing(self, respondent_id: int, question_id: int, left: int, right: int) -> AnswerRecord | None:
        """The standing answer to a question, which must be the respondent's and about these items."""
        found = self.database.rows(
            f"SELECT questions.left_item, questions.right_item, {rows.of('events', rows.ANSWER)}"
            " FROM questions LEFT JOIN events ON events.respondent_id = questions.respondent_id"
            f" AND events.question_id = questions.id AND {STANDS}"
            " WHERE questions.respondent_id = ? AND questions.id = ?",
            respondent_id,
            question_id,
        )
        if not found:
            raise UnknownStudyError(f"Respondent {respondent_id} was asked no question {question_id}.")
        first, second, *answer = found[0]
        if first is None:
            raise InputError(f"Question {question_id} is about a set of items; say which is best and worst.")
        if {left, right} != {first, second}:
            raise UnknownStudyError(
                f"Question {question_id} is about the items {first} and {second}, not {left} and {right}."
            )
        return None if answer[0] is None else rows.answer(tuple(answer), max(first, second))
