"""What the routes of the pages and of the API share: addresses, turns, files, slow work."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import anyio.to_thread
from starlette.requests import Request

from coombs.data.tables import InputError
from coombs.study import Question, Respondent, Study, StudyProgress
from coombs.study.participation import ANSWERING, Step, check_step, finish, step_of
from coombs.study.study_records import ATTENTION, REPEAT
from coombs.web.addresses import own_path as own_path
from coombs.web.addresses import study_called as study_called
from coombs.web.addresses import study_path as study_path
from coombs.web.item_cards import Card
from coombs.web.learning.group_learning import GroupLearner, GroupState
from coombs.web.learning.learning_queue import PATIENCE, LearningQueue
from coombs.web.study_cache import StudyCache

Done = TypeVar("Done")
ChosenBy: TypeAlias = Literal["adaptive", "random", "probe", "confirmation", "check", "learning", "fixed"]
"""How a question is chosen."""
RANDOM = "random"
"""The strategy that chooses at random, and the purpose of a question that nothing learned has chosen."""


def cache_of(request: Request) -> StudyCache:
    """The studies and people that the app works with."""
    cache: StudyCache = request.app.state.cache
    return cache


def written(ending: str, write: Callable[[Path], Any]) -> bytes:
    """The file that a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file.{ending}"
        write(path)
        return path.read_bytes()


def study_of(request: Request, name: str) -> Study:
    """The study that is called so in an address."""
    return cache_of(request).study(study_called(name))


@dataclass(frozen=True)
class ShownTurn:
    """What a person sees next; `doubts` say why there are no favourites although the goal is reached.

    `n_others` are those with whose answers the questions are chosen.
    """

    question: Question | None
    cards: tuple[Card, ...] | None
    progress: StudyProgress
    strategy: str
    last: int | None
    notice: str = ""
    doubts: tuple[str, ...] = ()
    n_others: int = 0
    step: Step = "questions"
    shows_result: bool = True

    @property
    def chosen(self) -> ChosenBy | None:
        """How the question was chosen; `learning` is at random, as the model was not there or not in time."""
        if self.question is None:
            return None
        named = self.question.purpose
        if named == RANDOM:
            return "random" if self.strategy == RANDOM else "learning"
        if named in (REPEAT, ATTENTION):
            # Whoever is asked must not know.
            return "fixed"
        return cast("ChosenBy", named) if named in get_args(ChosenBy) else "adaptive"


def next_turn(
    request: Request, respondent: Respondent, notice: str = "", patience: float = PATIENCE
) -> ShownTurn:
    """The question that waits, or a new one, after at most `patience` seconds of learning.

    Where consent is missing or the study is closed, nothing is asked: a NotNowError.
    """
    check_step(respondent)
    queue: LearningQueue = request.app.state.queue
    queue.update(respondent, patience)
    question, progress = respondent.turn()
    cards = None if question is None else cache_of(request).cards(respondent).of(question.positions)
    last = respondent.last_answer()
    doubts = respondent.doubts() if progress.reached or question is None else ()
    prior = respondent.prior()
    n_others = 0 if prior is None else prior.n_people
    strategy, answer = respondent.study.settings.strategy, None if last is None else last.id
    step, shown = _step_after(respondent, question), respondent.study.presentations.current
    more = notice, doubts, n_others, step, shown.shows_result
    return ShownTurn(question, cards, progress, strategy, answer, *more)


def _step_after(respondent: Respondent, question: Question | None) -> Step:
    """What comes next; that somebody is through with all is stored, where the study has an end."""
    ends = respondent.study.settings.ends or respondent.study.presentations.current.has_ending
    if question is not None or not ends:
        return step_of(respondent)
    step = step_of(respondent, is_complete=True)
    if step == "finished":
        finish(respondent)
    return step


def is_through(request: Request, respondent: Respondent, asked_to_stop: bool = True) -> bool:
    """Whether no question is left for a person, or they stop where the study leaves it to them when."""
    if step_of(respondent) not in ANSWERING:
        return False
    ends, has_ending = respondent.study.settings.ends, respondent.study.presentations.current.has_ending
    if has_ending and not ends and asked_to_stop:
        return True
    return (ends or has_ending) and next_turn(request, respondent).question is None


def ends_of(respondent: Respondent, best: int | None, worst: int | None) -> dict[str, Any]:
    """The best and the worst of a set by their names, as `tell` and `change` take them."""
    return {"best": item_at(respondent, best), "worst": item_at(respondent, worst)}


def item_at(respondent: Respondent, position: int | None) -> Any:
    """What an item is called that a form or a program names by its position; None stays."""
    if position is None:
        return None
    labels = respondent.study.catalogue.labels
    if not 0 <= position < len(labels):
        raise InputError(f"{position} is no item of the study; give the position of one in the question.")
    return labels[position]


async def slowly(request: Request, work: Callable[..., Done], *args: Any) -> Done:
    """Work of seconds, a few at a time, so that answers do not wait for it."""
    return await anyio.to_thread.run_sync(partial(work, *args), limiter=request.app.state.slow_work)


def group_state(request: Request, study: Study, patience: float = 0.0) -> GroupState:
    """What everybody's answers in a study say together, and how far it is; computed beside the page."""
    learner: GroupLearner = request.app.state.groups
    return learner.state(study, patience)
