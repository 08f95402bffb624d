"""What is learned of one person as they answer, and how far it is."""

from __future__ import annotations

import math
import threading
import zlib
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from coombs.data.tables import FloatArray, InputError
from coombs.storage.records import RespondentRecord
from coombs.study.ask_tell import AskTell
from coombs.study.history import StoredHistory, unordered
from coombs.study.online_model import Learn, OnlineModel, RemainingQuestions, Snapshot, learn
from coombs.study.settings import FIXED, by_number
from coombs.study.stored_items import ScaledItems
from coombs.study.study_records import StudyProgress

if TYPE_CHECKING:
    from coombs.storage import PriorRecord, Storage
    from coombs.study.study import Study


class RespondentModel(AskTell):
    """The model of one person: what was read of their answers, the latest snapshot, and the progress."""

    def __init__(self, study: Study, record: RespondentRecord, learn: Learn = learn) -> None:
        self.study, self.record = study, record
        self._learn = learn
        # Whoever learns may take the other lock, not the other way around: answers do not wait for learning.
        self._learning, self._lock = threading.Lock(), threading.RLock()
        self._history = StoredHistory(study.storage, record, study.follow_items)
        self._model: tuple[FloatArray, OnlineModel] | None = None
        self._snapshot: Snapshot | None = None
        self._prior: PriorRecord | None = None
        self._heard: list[int] = []
        self._remaining: dict[tuple[int, float], RemainingQuestions] = {}

    @property
    def name(self) -> str:
        """What the respondent is called."""
        return self.record.name

    @property
    def snapshot(self) -> Snapshot | None:
        """What the answers that were read last say; None before any was."""
        return self._snapshot

    @cached_property
    def _seed(self) -> tuple[int, int]:
        """The study's seed and the person's own, which is stored: it stays whatever they are called later."""
        own = self._storage.use_seed(self.record.id, zlib.crc32(self.record.name.encode()))
        return self.study.settings.seed, own or 0

    def _model_of(self, items: ScaledItems) -> OnlineModel:
        """The person's model, made when it is first needed and when items were added."""
        if self._model is None or self._model[0] is not items.matrix:
            study = self.study
            known = (items.matrix, study.settings.asked_by, self._seed, self._learn)
            self._prior = study.priors.fixed(self.record)
            people = study.priors.items_prior(self._prior, items)
            directions = items.directions(study.settings.wishes)
            made = OnlineModel(*known, items.scaler.levels, directions, people)
            self._model = items.matrix, made
        return self._model[1]

    @property
    def _latest(self) -> Snapshot | None:
        """The latest snapshot; None where it is about other items than are asked about now."""
        found = self._snapshot
        return found if found is not None and found.current == self.study.scaled.current else None

    @cached_property
    def _rng(self) -> np.random.Generator:
        """Random numbers: another process draws others, the same process with the same answers the same."""
        return np.random.default_rng([*self._seed, self._history.last_question])

    @property
    def _storage(self) -> Storage:
        return self.study.storage

    def think(self) -> Snapshot:
        """Return what all answers say; at once if nothing is new.

        Returns
        -------
        Snapshot: the next questions and the best items

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> len(study.respondent("ann").think().choices) > 0
        True
        """
        with self._lock:
            self._history.sync()
        return self._update()

    def _update(self) -> Snapshot:
        """`think` about the answers that were read last."""
        settings = self.study.settings
        with self._learning:
            with self._lock:
                answers, asked = self._history.learned, self._history.pairs
                sets, items = set(self._history.sets), self.study.scaled
            heard, current = [answer.id for answer in answers], items.current
            if self._snapshot is None or heard != self._heard or self._snapshot.current != current:
                k, _ = settings.goal(len(current))
                size = min(settings.set_size, len(current))
                known = answers, asked, settings.chosen_by, k, size, sets, current
                self._snapshot = self._model_of(items).update(*known)
                self._heard = heard
            return self._snapshot

    def prior(self) -> PriorRecord | None:
        if self._snapshot is None:
            self._prior = self.study.priors.record(self._storage.use_prior(self.record.id) or 0)
        return self._prior

    def was_asked(self) -> bool:
        """Return whether the person was asked or told anything, by what was stored.

        Returns
        -------
        bool

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").was_asked()
        False
        """
        with self._lock:
            self._history.refresh()
            return bool(self._history.questions or self._history.last_event)

    def has_answered(self, question: int) -> bool:
        """Return whether a question has a standing answer.

        Parameters
        ----------
        question : its id

        Returns
        -------
        bool

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").has_answered(1)
        False
        """
        with self._lock:
            return self._history.question(question) is not None and self._history.has_answer(question)

    def progress(self, k: int | None = None, certainty: float | None = None) -> StudyProgress:
        goal = self.study.settings.goal(self.study.n_items, k, certainty)
        snapshot = self.think()
        with self._lock:
            return self._progress(snapshot, *goal)

    def _progress(self, snapshot: Snapshot | None, k: int, goal: float) -> StudyProgress:
        count = self._history.n_earlier + sum(one.choice != "skip" for one in self._history.answers.values())
        left, fraction = self._progress_to(snapshot, k, goal)
        answered, total = self._history.n_answered, self.study.settings.questions
        reached, is_done, most = fraction == 1, self._is_done, self._at_most(answered)
        if is_done:
            # Whoever was told that they are done stays so, also where the study asks others more by now.
            left, fraction, total = 0, 1.0, None if total is None else answered
            reached = reached or self.study.settings.ends
        if snapshot is None:
            return StudyProgress(
                count, (), 0.0, 0.0, 0.0, left, goal, fraction, reached, answered, total, most
            )
        top, names = snapshot.top(k), self.study.catalogue.labels
        gain = None if is_done else self._next_gain(snapshot)
        return StudyProgress(
            count,
            tuple(names[i] for i in top.positions),
            top.probability,
            top.share,
            gain or 0.0,
            0 if gain is None else left,
            goal,
            fraction if gain is not None else 1.0,
            reached,
            answered,
            total,
            most,
        )

    def _at_most(self, answered: int) -> int | None:
        """No more questions than these are left; None where there is no such number."""
        settings = self.study.settings
        if self._is_done:
            return 0
        if settings.strategy == FIXED:
            return self.study.plan.planned_left(self._history)
        return None if settings.most_questions is None else max(settings.most_questions - answered, 0)

    def _progress_to(self, snapshot: Snapshot | None, k: int, goal: float) -> tuple[int | None, float]:
        """About how many questions are left, and the fraction done: 1 where the goal was reached.

        Towards the study's own goal it is what was stored with the question that waits, and no less than what
        was stored with those answered before, so that no process shows less than another did; what was stored
        with more answers than stand now does not count.
        """
        left, fraction = self._estimate(snapshot, k, goal)
        settings = self.study.settings
        if (k, goal) == self.study.stored_goal:
            shown = self._history.open_progress
            fraction = max(fraction if shown is None else shown, self._history.progress)
        if (k, goal) != settings.goal(self.study.n_items):
            return left, fraction
        return by_number(settings, self._history.n_answered, left, fraction)

    def _estimate(self, snapshot: Snapshot | None, k: int, goal: float) -> tuple[int | None, float]:
        """Questions left and fraction done, by the present snapshot and the fixed questions that are left."""
        plan, settings = self.study.plan, self.study.settings
        if settings.strategy == FIXED:
            rest = plan.planned_left(self._history)
            return rest, 1 - rest / plan.n_planned
        fixed = plan.fixed_left(self._history)
        left, fraction = None, 0.0
        if snapshot is not None:
            new = RemainingQuestions(len(self.study.catalogue.features), self.study.n_items)
            left, fraction = self._remaining.setdefault((k, goal), new).update(
                snapshot.n_heard, snapshot.top(k), goal
            )
            # It is counted in single choices, of which a set of items has some.
            left = math.ceil(left / max(min(settings.set_size, self.study.n_items) - 1, 1))
        if fixed:
            answered = len(self._history.answers)
            left, fraction = max(left or 0, fixed), min(fraction, answered / (answered + fixed))
        return left, fraction

    def _is_complete(self, snapshot: Snapshot | None) -> bool:
        """Whether as many questions were answered as the study is about to ask."""
        settings = self.study.settings
        is_reached = settings.ends and self._progress_to(snapshot, *settings.goal(self.study.n_items))[1] == 1
        return (is_reached and self._history.reopened is None) or self._is_done

    @property
    def _is_done(self) -> bool:
        """Whether the person is through with all, and no answer was taken back since."""
        return self.record.finished is not None and self._history.reopened is None

    def _next_gain(self, snapshot: Snapshot) -> float | None:
        """What the question that waits would tell, or else the next one; None where there is none."""
        waiting, history = self._history.open, self._history
        if waiting is not None:
            return snapshot.gain(waiting.positions)
        plan, is_fixed = self.study.plan, self.study.settings.strategy == FIXED
        if plan.planned_left(history) if is_fixed else plan.fixed_left(history):
            return 0.0
        if is_fixed:
            return None if history.unanswered is None else 0.0
        new = [one.gain for one in snapshot.choices if unordered(*one[:2]) not in history.pairs]
        new += [one.gain for one in snapshot.sets if frozenset(one.items) not in history.sets]
        return next(iter(new), None if history.unanswered is None else 0.0)

    def done(
        self, k: int | None = None, certainty: float | None = None, *, questions: int | None = None
    ) -> bool:
        if questions is not None and (not isinstance(questions, Integral) or isinstance(questions, bool)):
            raise InputError(f"questions is {questions!r}; it must be a whole number.")
        found = self.progress(k, certainty)
        return found.questions_left == 0 or (questions is not None and found.n_answers >= questions)
