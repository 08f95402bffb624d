"""One person who answers: ask, tell, undo, and what is known so far."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coombs import questions, tables
from coombs.comparisons import Comparisons
from coombs.solvers.belief import ROUNDS
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
HURRIED = 8
"""In a hurry only every so many draws screen the pairs."""
REFUSED = 20
"""So many pairs that turn out to have been asked long ago, and all of those are read."""


class Respondent:
    """A person in a study, with a model of their own; safe to use from several threads and processes.

    Made by `Study.respondent`; `record` has their name and the token of their link. `hurry` spends
    less on the next question, for when many wait.
    """

    def __init__(self, study: Study, record: RespondentRecord) -> None:
        self.study, self.record = study, record
        self._seed = (study.settings.seed, zlib.crc32(record.name.encode()))
        self._rng = np.random.default_rng(self._seed)
        self._lock = threading.RLock()
        self._log, self._read, self._whole = Log(), False, False
        self._earlier, self.hurry = 0, False

    @property
    def name(self) -> str:
        """What the respondent is called."""
        return self.record.name

    @cached_property
    def _mind(self) -> Mind:
        return Mind(self.study.scaled_items, self.study.settings.metric, self._seed)

    @property
    def _storage(self) -> Storage:
        return self.study.storage

    def ask(self) -> Question | None:
        """A new question, or the one whose answer was undone. None where every pair has been answered.

        Two calls never give the same new pair, whichever processes make them.
        """
        with self._lock:
            self._sync()
            if self._log.reopened is not None:
                return self._question(self._log.reopened)
            record = self._ask_new() or self._log.unanswered
            return None if record is None else self._question(record)

    def _ask_new(self) -> QuestionRecord | None:
        """A question that was never asked, stored; None where there is none."""
        settings = self.study.settings
        for refused in range(self.study.n_pairs):
            if refused == REFUSED:
                self._log.asked |= self._storage.pairs(self.record.id)
            probe = self._rng.random() < settings.probes
            chosen = self._choose("random" if probe else settings.strategy, self._rng)
            if chosen is None:
                return None
            pair, purpose = (chosen.first, chosen.second), "probe" if probe else settings.strategy
            record = self._storage.add_question(self.record.id, *pair, purpose, chosen.probability)
            if record is not None:
                # Others may have asked meanwhile.
                self._sync(learn=False)
                return record
            self._log.asked.add(unordered(*pair))
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
            self._sync(learn=False)
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
        if choice is not None and choice not in list(CHOICES):
            raise InputError(f"The choice is {choice!r}; it must be one of {', '.join(CHOICES)}.")
        if not isinstance(weight, Real) or isinstance(weight, bool):
            raise InputError(f"The weight is {weight!r}; it must be a number, not negative.")
        with self._lock:
            if isinstance(question, Question | Integral):
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
            if number is not None and number not in self._log.questions:
                self._sync(learn=False)
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
            count = self._earlier + sum(one.choice != "skip" for one in self._log.answers.values())
            left = self._mind.questions_left(k, top.probability, goal)
            # Of a small table the prior alone may be rather sure.
            needed = LEAST * len(self.study.catalogue.features) - count
            if needed > 0 and left is not None:
                left = max(left, needed)
            gain = self._next_gain()
            return Progress(
                count,
                tuple(names[i] for i in top.positions),
                top.probability,
                top.share,
                gain or 0.0,
                0 if gain is None else left,
                goal,
            )

    def _next_gain(self) -> float | None:
        """What the question that waits would tell, or else the next one; None where there is none."""
        waiting = self._log.open
        if waiting is not None:
            pair = np.array([[waiting.left, waiting.right]])
            return float(questions.information(self._mind.belief, pair)[0][0])
        best = self._choose(self.study.settings.strategy, np.random.default_rng(0))
        if best is None:
            return None if self._log.unanswered is None else 0.0
        return best.gain

    def done(
        self, k: int | None = None, certainty: float | None = None, *, questions: int | None = None
    ) -> bool:
        """Whether the best k items are certain enough, so many were answered, or nothing is left to ask."""
        if questions is not None and (not isinstance(questions, Integral) or isinstance(questions, bool)):
            raise InputError(f"questions is {questions!r}; it must be a whole number.")
        found = self.progress(k, certainty)
        return found.questions_left == 0 or (questions is not None and found.n_answers >= questions)

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
        first = not self._read
        latest = MOST_ANSWERS if first else None
        number, log = self.record.id, self._log
        # Events first: the question of each is there by then.
        events = self._storage.events(number, after=log.last_event, latest=latest)
        asked = self._storage.questions(number, after=log.last_question, latest=latest)
        log.add(asked, events)
        if first:
            self._read, self._whole = True, max(len(asked), len(events)) < MOST_ANSWERS
            self._earlier = 0 if self._whole else self._stored() - len(log.answers)
            # Another process, another chance; the same process and answers, the same.
            self._rng = np.random.default_rng([*self._seed, log.last_question])
        if learn:
            self._mind.hear(list(log.answers.values()), 1 if self.hurry else ROUNDS)

    def _stored(self) -> int:
        """How many answers stand, however old."""
        return dict(self._storage.respondents(self.study.record.id))[self.record]

    def _read_all(self) -> None:
        """Read everything, however old."""
        self._sync(learn=False)
        if not self._whole:
            self._log, self._whole, self._earlier = Log(), True, 0
            self._sync(learn=False)

    def _choose(self, strategy: str, rng: np.random.Generator) -> questions.Choice | None:
        study = self.study
        k, _ = study.settings.goal(study.n_items)
        screen = HURRIED if self.hurry else questions.SCREEN
        asked = self._log.pairs
        return questions.choose(self._mind.belief, strategy, study.n_items, asked, rng, k, screen)

    def _asked(self, question: Question | int) -> tuple[int, int, int]:
        """Left, right and number of a question."""
        if isinstance(question, Question):
            return *question.positions, question.id
        number = int(question)
        self._sync(learn=False)
        if number not in self._log.questions:
            self._read_all()
        record = self._log.questions.get(number)
        if record is None:
            raise InputError(f"{self.name!r} was never asked question {number}.")
        return record.left, record.right, record.id

    def _pair(self, pair: Sequence[Any]) -> tuple[int, int]:
        """Positions of two items by name or position."""
        is_pair = isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str) and len(pair) == 2
        if not is_pair:
            raise InputError(
                f"The answer is about {pair!r}; it must be a question or a pair (winner, loser)."
            )
        values = np.empty(2, dtype=object)
        values[:] = list(pair)
        left, right = tables.positions(self.study.catalogue.table, values, lambda _: "the answer").tolist()
        if left == right:
            raise InputError(f"Item {pair[0]!r} is compared with itself; the two must differ.")
        return left, right

    def _answer_record(self, answer: Answer | int) -> AnswerRecord:
        if not isinstance(answer, Answer | Integral) or isinstance(answer, bool):
            raise InputError(f"{answer!r} is no answer; take one of history(), or its id.")
        number = answer.id if isinstance(answer, Answer) else int(answer)
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
