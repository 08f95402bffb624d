"""One person who answers: ask, tell, undo, and what is known so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from coombs.data import tables
from coombs.data.comparisons import Comparisons
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage.records import AnswerRecord, AnyAnswer, AnyQuestion, JudgementRecord
from coombs.study.history import unordered
from coombs.study.judgements import comparisons_of, keep, told_in
from coombs.study.online_model import Snapshot
from coombs.study.quality_flags import QualityFlags
from coombs.study.question_choice import NewQuestion, new_question, planned_question
from coombs.study.respondent_model import RespondentModel
from coombs.study.response_style import ResponseStyle
from coombs.study.result import Result
from coombs.study.set_answers import BEST_WORST, Said, is_said_by, said_of_pair, said_of_set, store_said
from coombs.study.study_records import Answer, Question, StudyProgress, answer_of, question_of

EVIDENT = 1.5
"""Log odds from which on the best items may be named."""
UNPREDICTED = Translatable(
    "Your answers could hardly be predicted better than those of a coin, so no favourites can be told yet."
)
"""What is said in the place of the best items while answers are not predicted."""
UNASKED = Translatable(
    "Your answers were not given to questions asked here, so none was predicted before it was given; a few "
    "questions will show how well your favourites are known."
)
"""What is said in their place where no answer is to a question, as after an import."""
REFUSED = 20
"""Pairs found to have been asked before, after which all asked pairs are read from the storage."""


class Respondent(RespondentModel):
    """A person in a study, with a model of their own; safe to use from several threads and processes.

    Made by `Study.respondent`. Learning from answers and choosing questions takes tens of milliseconds: where
    many people wait, one thread can `think`, and others take a `turn` by the latest snapshot.

    Parameters
    ----------
    study : the Study
    record : what the storage has of the person: their name and the token of their link
    learn : does the learning, here (default) or in another process

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> ann = study.respondent("ann")
    >>> ann.tell(ann.ask(), "left").respondent
    'ann'
    """

    def ask(self) -> Question | None:
        return self._ask(self.think())

    def _ask(self, snapshot: Snapshot) -> Question | None:
        with self._lock:
            record = self._history.reopened
            if record is None and not self._is_complete(snapshot):
                record = self._ask_new(snapshot) or self._history.unanswered
            return None if record is None else self._question(record)

    def turn(self) -> tuple[Question | None, StudyProgress]:
        """Return `current` and `progress` at once, by the latest snapshot.

        Returns
        -------
        Question or None, and StudyProgress

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> question, progress = study.respondent("ann").turn()
        >>> question.purpose, progress.n_answers
        ('random', 0)
        """
        with self._lock:
            self._history.sync()
            history, snapshot, record = self._history, self._latest, None
            if not self._is_complete(snapshot):
                record = history.open or self._ask_new(snapshot, again=False) or history.unanswered
            found = self._progress(snapshot, *self.study.settings.goal(self.study.n_items))
            if record is None:
                return None, replace(found, fraction=1.0)
            return self._question(record), found

    def _ask_new(self, snapshot: Snapshot | None, again: bool = True) -> AnyQuestion | None:
        """A question that was never asked, or that the study's plan asks now, stored; None without any."""
        settings, current, history = self.study.settings, self.study.scaled.current, self._history
        goal = settings.goal(len(current))
        fraction = self._progress_to(snapshot, *goal)[1] if goal == self.study.stored_goal else None
        planned = self.study.plan.next(history, self._seed, self._rng)
        if planned is not None:
            return self._store(planned_question(planned, history, snapshot, self._rng), fraction)
        for refused in range(self.study.n_pairs):
            if refused == REFUSED:
                history.asked |= self._storage.pairs(self.record.id)
            chosen = new_question(settings, current, history, snapshot, self._rng, again)
            record = None if chosen is None else self._store(chosen, fraction)
            if chosen is None or record is not None:
                return record
            if len(chosen.positions) > 2:
                history.sets.add(frozenset(chosen.positions))
            else:
                history.asked.add(unordered(chosen.positions[0], chosen.positions[1]))
        return None

    def _store(self, new: NewQuestion, fraction: float | None) -> AnyQuestion | None:
        """Keep a question; None where another process asked it before."""
        add: Any = self._storage.add_question
        about: tuple[Any, ...] = (*new.positions, new.purpose, new.predicted)
        if len(new.positions) > 2:
            add, about = self._storage.add_set_question, (new.positions, new.purpose, new.chances)
        record: AnyQuestion | None = add(self.record.id, *about, progress=fraction, again=new.again)
        if record is not None:
            self._history.note(record)
        return record

    def last_answer(self) -> Answer | None:
        """Return the latest answer that stands, by what was read last or told since.

        Returns
        -------
        Answer or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").last_answer() is None
        True
        """
        with self._lock:
            self._history.refresh()
            last = self._history.last_answer
            return None if last is None else self._answer(last)

    def current(self) -> Question | None:
        with self._lock:
            self._history.sync()
            waiting = self._history.open
            if waiting is not None and not self._is_complete(self._latest):
                return self._question(waiting)
        return self._ask(self._update())

    def check(self, answer: Answer | int) -> Question:
        """Ask about a pair again on purpose, to see whether its answer is the same.

        Parameters
        ----------
        answer : an Answer of `history`, or its id

        Returns
        -------
        Question, the two in a random order

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> ann = study.respondent("ann")
        >>> ann.check(ann.tell((1, 0))).purpose
        'check'
        """
        with self._lock:
            record = self._answer_record(answer)
            if not isinstance(record, AnswerRecord):
                raise InputError(
                    "Answer {number} is not about a pair; only a pair can be asked again.", number=record.id
                )
            if not self._history.retired.isdisjoint((record.left, record.right)):
                raise InputError(
                    "Answer {number} is about an item that is not asked about any more.", number=record.id
                )
            left, right = self._rng.permutation([record.left, record.right]).tolist()
            asked = self._storage.add_question(self.record.id, left, right, "check", again=True)
            assert asked is not None
            self._history.note(asked)
            return self._question(asked)

    def tell(
        self,
        question: Question | int | Sequence[Any],
        choice: str | None = None,
        *,
        best: Any = None,
        worst: Any = None,
        weight: float = 1.0,
    ) -> Answer:
        with self._lock:
            positions, number = self._about(question)
            if number is not None and len(positions) > 2:
                said = said_of_set(self.study.catalogue, number, positions, choice, (best, worst))
            else:
                said = said_of_pair(number, choice, best, worst)
            about = self._storage, self.record.id, positions
            record = store_said(*about, said, question=number, weight=weight)
            self._history.is_stale = True
            if number is not None and number not in self._history.questions:
                self._history.sync()
            return self._answer(record)

    def add(self, answers: Comparisons) -> int:
        told = told_in(answers, self.study.catalogue.table, self.name)
        if others := {one.user for one in told} - {self.name}:
            raise InputError(
                f"Some answers are by {min(others)!r}, not {self.name!r}; study.add takes everybody's."
            )
        keep(self.study, told)
        with self._lock:
            self._history.is_stale = True
        return len(told)

    def undo(self, answer: Answer | int | None = None) -> Answer | None:
        with self._lock:
            self._history.sync()
            record = self._history.last_answer if answer is None else self._answer_record(answer)
            if record is None:
                return None
            self._storage.add_undo(self.record.id, record.id)
            self._history.is_stale = True
            return self._answer(record)

    def change(
        self, answer: Answer | int, choice: str | None = None, *, best: Any = None, worst: Any = None
    ) -> Answer:
        with self._lock:
            self._history.sync()
            record = self._answer_record(answer)
            number, items, said = record.question_id, *self._instead(record, choice, (best, worst))
            if not is_said_by(record, said):
                about = self._storage, self.record.id, items
                with self._storage.database.transaction():
                    self._storage.add_undo(self.record.id, record.id)
                    record = store_said(*about, said, question=number, weight=record.weight)
                self._history.is_stale = True
            return self._answer(record)

    def _instead(
        self, record: AnyAnswer, choice: str | None, ends: tuple[Any, Any]
    ) -> tuple[tuple[int, ...], Said]:
        """The items of an answer, and what is said of them in its place."""
        if isinstance(record, AnswerRecord):
            if choice is None and ends == (None, None):
                raise InputError(f"Answer {record.id} has no new choice; say left, right, tie or skip.")
            return (record.left, record.right), said_of_pair(record.question_id, choice, *ends)
        if isinstance(record, JudgementRecord) and record.judgement.shape != BEST_WORST:
            raise InputError(
                f"Answer {record.id} is a {record.judgement.shape}; undo it, and add another in its place."
            )
        items = self._answer(record).positions
        return items, said_of_set(self.study.catalogue, record.question_id, items, choice, ends)

    def history(self) -> tuple[Answer, ...]:
        with self._lock:
            self._history.sync()
            return self._standing()

    def _standing(self) -> tuple[Answer, ...]:
        self._history.read_all()
        return tuple(map(self._answer, self._history.answers.values()))

    def comparisons(self) -> Comparisons:
        with self._lock:
            self._history.sync()
            self._history.read_all()
            answers = [one for one in self._history.learned if one.choice != "skip"]
        if not answers:
            raise InputError(f"{self.name!r} has not answered anything yet; at least one answer is needed.")
        return comparisons_of(self.study.catalogue.table, answers, self.name)

    def response_style(self) -> ResponseStyle:
        """Return how the questions were answered, whatever they were about.

        Returns
        -------
        ResponseStyle

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").response_style().n_choices
        0
        """
        return ResponseStyle.of_answers(self.history())

    def flags(self) -> QualityFlags:
        """Return what speaks against the answers: sides, haste, failed checks, repeats that differ.

        Returns
        -------
        QualityFlags

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", seed=1)
        >>> for _ in range(3):
        ...     _ = study.tell(study.ask(), "left")
        >>> study.respondent("me").flags().n_answers
        3
        """
        with self._lock:
            self._history.sync()
            self._history.read_all()
            return QualityFlags.of(self._history)

    def doubts(self) -> tuple[str, ...]:
        """Return why no best items can be named, in sentences.

        It takes no fit, so that it can be asked for with every question; `result` knows better.

        Returns
        -------
        tuple of str; empty where the answers are predictable and do not follow the sides

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> len(study.respondent("ann").doubts())
        1
        """
        with self._lock:
            self._history.refresh()
            style = ResponseStyle.of_answers(self._standing())
            if style.is_mechanical:
                return style.sentences()
            if self._history.log_odds >= EVIDENT:
                return ()
            answers = self._history.answers.values()
            is_unasked = len(answers) > 0 and all(one.question_id is None for one in answers)
            return (UNASKED if is_unasked else UNPREDICTED,)

    def result(self) -> Result:
        return Result.of(self)

    def _about(self, question: Question | int | Sequence[Any]) -> tuple[tuple[int, ...], int | None]:
        """Positions of a question's items, or of a pair, and the number of the question, if it is one."""
        if isinstance(question, Question):
            if question.respondent != self.name:
                raise InputError(f"The question was put to {question.respondent!r}, not to {self.name!r}.")
            return question.positions, question.id
        if isinstance(question, Integral) and not isinstance(question, bool):
            record = self._history.question(int(question))
            if record is None:
                raise InputError(f"{self.name!r} was never asked question {int(question)}.")
            return record.positions, record.id
        return self._pair(question), None

    def _pair(self, pair: Any) -> tuple[int, int]:
        """Positions of two items by name or position."""
        is_list = isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str)
        if not is_list or getattr(pair, "ndim", 1) != 1 or len(pair) != 2:
            raise InputError(
                f"The answer is about {pair!r}; it must be a question or a pair (winner, loser)."
            )
        values = np.empty(2, dtype=object)
        values[0], values[1] = pair
        left, right = tables.positions(self.study.catalogue.table, values, lambda _: "the answer").tolist()
        if left == right:
            raise InputError(f"Item {pair[0]!r} is compared with itself; the two must differ.")
        return left, right

    def _answer_record(self, answer: Answer | int) -> AnyAnswer:
        if not isinstance(answer, Answer | Integral) or isinstance(answer, bool):
            raise InputError(f"{answer!r} is no answer; take one of history(), or its id.")
        number = answer.id if isinstance(answer, Answer) else int(answer)
        record = self._history.answer(number)
        if record is None:
            raise InputError(
                "There is no standing answer {number} of {name}.", number=number, name=repr(self.name)
            )
        return record

    def _question(self, record: AnyQuestion) -> Question:
        return question_of(record, self.name, self.study.catalogue.labels)

    def _answer(self, record: AnyAnswer) -> Answer:
        asked = None if record.question_id is None else self._history.questions.get(record.question_id)
        return answer_of(record, self.name, self.study.catalogue.labels, asked)
