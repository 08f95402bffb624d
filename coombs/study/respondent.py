"""One person who answers: ask, tell, undo, and what is known so far."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coombs import questions, tables
from coombs.comparisons import Comparisons
from coombs.storage.records import CHOICES, AnswerRecord, Choice, QuestionRecord, RespondentRecord
from coombs.study.log import Log, unordered
from coombs.study.mind import Mind
from coombs.study.records import Answer, Progress, Question
from coombs.study.result import Result
from coombs.tables import InputError

if TYPE_CHECKING:
    from coombs.storage.contract import Storage
    from coombs.study.study import Study

MOST_ANSWERS = 2_000
"""Questions are chosen by the latest answers, of which so many say enough."""
LEAST = 2
"""Answers for each feature before anything counts as certain."""
REFUSED = 20
"""So many pairs that turn out to have been asked long ago, and all of those are read."""


class Respondent:
    """A person in a study, with a model of their own; safe to use from several threads and processes.

    Made by `Study.respondent`; `record` has their name and the token of their link.
    """

    def __init__(self, study: Study, record: RespondentRecord) -> None:
        self.study, self.record = study, record
        self._log, self._whole = Log(), False
        self._seed = (study.settings.seed, zlib.crc32(record.name.encode()))
        self._rng = np.random.default_rng([*self._seed, 1])
        self._lock = threading.RLock()
        self._read = False

    @property
    def name(self) -> str:
        """What the respondent is called."""
        return self.record.name

    @cached_property
    def _mind(self) -> Mind:
        return Mind(self.study.catalogue.table.matrix, self.study.settings.metric, self._seed)

    @property
    def _storage(self) -> Storage:
        return self.study.storage

    def ask(self) -> Question | None:
        """A new question; first the one whose answer was undone. None where every pair has been asked.

        Two calls never give the same pair, whichever processes make them.
        """
        with self._lock:
            self._sync()
            if self._log.reopened is not None:
                return self._question(self._log.reopened)
            for refused in range(self.study.n_pairs):
                if refused == REFUSED:
                    self._log.pairs |= self._storage.pairs(self.record.id)
                probe = self._rng.random() < self.study.settings.probes
                strategy = "random" if probe else self.study.settings.strategy
                chosen = self._choose(strategy)
                if chosen is None:
                    return None
                record = self._storage.add_question(
                    self.record.id,
                    chosen.first,
                    chosen.second,
                    "probe" if probe else strategy,
                    chosen.probability,
                )
                if record is not None:
                    self._log.add([record], [])
                    return self._question(record)
                self._log.pairs.add(unordered(chosen.first, chosen.second))
            return None

    def current(self) -> Question | None:
        """The question that waits for an answer, after coming back or an undo; a new one if none does."""
        with self._lock:
            self._sync()
            waiting = self._log.open
            return self.ask() if waiting is None else self._question(waiting)

    def check(self, answer: Answer | int) -> Question:
        """Ask a pair again on purpose, to see whether its answer is the same, the two in a random order."""
        with self._lock:
            record = self._answer_record(answer)
            left, right = self._rng.permutation([record.left, record.right]).tolist()
            asked = self._storage.add_question(self.record.id, left, right, "check", again=True)
            assert asked is not None
            return self._question(asked)

    def tell(
        self, question: Question | int | Sequence[Any], choice: str | None = None, *, weight: float = 1.0
    ) -> Answer:
        """Keep an answer: when this returns it is stored.

        Parameters
        ----------
        question : what `ask` gave, its id, or a pair of items by name or position for an answer never
            asked for: (winner, loser), or any two with a `choice`
        choice : "left", "right", "tie" or "skip"
        weight : what the answer counts; 1 is one answer

        A question has one answer: telling the same again changes nothing; to change it, `undo` it first.
        """
        if choice is not None and choice not in CHOICES:
            raise InputError(f"The choice is {choice!r}; it must be one of {', '.join(CHOICES)}.")
        with self._lock:
            if isinstance(question, Question | int):
                left, right, number = self._asked(question)
                if choice is None:
                    raise InputError(f"Question {number} has no choice; say left, right, tie or skip.")
            else:
                (left, right), number = self._pair(question), None
            record = self._storage.add_answer(
                self.record.id,
                left,
                right,
                cast("Choice", choice or "left"),
                question_id=number,
                weight=weight,
            )
            return self._answer(record)

    def undo(self, answer: Answer | int | None = None) -> Answer | None:
        """Take back an answer, by default the last one; its question will be asked again.

        Returns the answer that no longer stands, or None if there was none.
        """
        with self._lock:
            self._sync(learn=False)
            record = self._log.last_answer if answer is None else self._answer_record(answer)
            if record is None:
                return None
            self._storage.add_undo(self.record.id, record.id)
            return self._answer(record)

    def history(self) -> tuple[Answer, ...]:
        """All standing answers in the order they were given."""
        with self._lock:
            self._read_all()
            return tuple(map(self._answer, self._log.answers.values()))

    def progress(self, k: int | None = None, certainty: float | None = None) -> Progress:
        """How sure the best k items are, and about how many more questions it takes."""
        k, goal = self.study.settings.goal(self.study.n_items, k, certainty)
        with self._lock:
            self._sync()
            top, names = self._mind.top(k), self.study.catalogue.names
            gain = self._next_gain()
            return Progress(
                sum(answer.choice != "skip" for answer in self._log.answers.values()),
                tuple(names[i] for i in top.positions),
                top.probability,
                top.share,
                gain or 0.0,
                0 if gain is None else self._mind.questions_left(k, goal),
                goal,
            )

    def _next_gain(self) -> float | None:
        """What the question that waits would tell, or else the next one; None where there is none."""
        waiting = self._log.open
        if waiting is not None:
            pair = np.array([[waiting.left, waiting.right]])
            return float(questions.information(self._mind.belief, pair)[0][0])
        best = self._choose(self.study.settings.strategy)
        return None if best is None else best.gain

    def done(
        self, k: int | None = None, certainty: float | None = None, *, questions: int | None = None
    ) -> bool:
        """Whether the best k items are certain enough, so many were answered, or nothing is left to ask."""
        found = self.progress(k, certainty)
        if found.questions_left == 0 and found.probability < found.goal:
            return True
        if questions is not None and found.n_answers >= questions:
            return True
        # Of a small table the prior alone may be rather sure.
        few = found.n_answers < LEAST * len(self.study.catalogue.features)
        return found.probability >= found.goal and not few

    def comparisons(self) -> Comparisons:
        """The standing answers, skips left out, for any estimator."""
        answers = [one for one in self.history() if one.choice != "skip"]
        if not answers:
            raise InputError(f"{self.name!r} has not answered anything yet; at least one answer is needed.")
        signs = {"left": 1, "right": -1, "tie": 0}
        return Comparisons(
            self.study.catalogue.table,
            np.array([one.positions for one in answers]),
            y=[signs[one.choice] for one in answers],
            users=[self.name] * len(answers),
            weights=[one.weight for one in answers],
        )

    def result(self) -> Result:
        """What the answers say: the ranking, the ideal, what trades off against what; a whole new fit."""
        return Result.of(self)

    def _sync(self, learn: bool = True) -> None:
        """Read what came since, from this process or others."""
        latest = None if self._read else MOST_ANSWERS
        number, log = self.record.id, self._log
        # Events first: the question of each is there by then.
        events = self._storage.events(number, after=log.last_event, latest=latest)
        log.add(self._storage.questions(number, after=log.last_question, latest=latest), events)
        self._read = True
        if learn:
            self._mind.hear(list(log.answers.values())[-MOST_ANSWERS:])

    def _read_all(self) -> None:
        """Read everything, however old."""
        if self._read and len(self._log.answers) < MOST_ANSWERS:
            self._whole = True
        if not self._whole:
            self._log, self._read, self._whole = Log(), True, True
        self._sync(learn=False)

    def _choose(self, strategy: str) -> questions.Choice | None:
        return questions.choose(self._mind.belief, strategy, self.study.n_items, self._log.pairs, self._rng)

    def _asked(self, question: Question | int) -> tuple[int, int, int]:
        """Left, right and number of a question."""
        if isinstance(question, Question):
            return *question.positions, question.id
        self._sync(learn=False)
        if question not in self._log.questions:
            self._read_all()
        record = self._log.questions.get(question)
        if record is None:
            raise InputError(f"{self.name!r} was never asked question {question}.")
        return record.left, record.right, record.id

    def _pair(self, pair: Sequence[Any]) -> tuple[int, int]:
        """Positions of two items by name or position."""
        values = np.array(list(pair), dtype=object)
        if isinstance(pair, str) or values.shape != (2,):
            raise InputError(
                f"The answer is about {pair!r}; it must be a question or a pair (winner, loser)."
            )
        left, right = tables.positions(self.study.catalogue.table, values, lambda _: "the answer").tolist()
        if left == right:
            raise InputError(f"Item {pair[0]!r} is compared with itself; the two must differ.")
        return left, right

    def _answer_record(self, answer: Answer | int) -> AnswerRecord:
        number = answer if isinstance(answer, int) else answer.id
        self._sync(learn=False)
        if number not in self._log.answers:
            self._read_all()
        record = self._log.answers.get(number)
        if record is None:
            raise InputError(f"There is no standing answer {number} of {self.name!r}.")
        return record

    def _question(self, record: QuestionRecord) -> Question:
        names = self.study.catalogue.names
        return Question(
            record.id,
            self.name,
            names[record.left],
            names[record.right],
            (record.left, record.right),
            record.purpose,
            record.foretold,
            record.asked,
        )

    def _answer(self, record: AnswerRecord) -> Answer:
        names = self.study.catalogue.names
        asked = None if record.question_id is None else self._log.questions.get(record.question_id)
        return Answer(
            record.id,
            self.name,
            record.question_id,
            names[record.left],
            names[record.right],
            (record.left, record.right),
            record.choice,
            record.weight,
            record.told,
            None if asked is None else asked.purpose,
            None if asked is None else asked.foretold,
        )
