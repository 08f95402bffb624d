"""What the routes of the pages and of the API share: addresses, turns, slow work."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request

from coombs.study import Question, Respondent, Study, StudyProgress
from coombs.web.item_cards import Card
from coombs.web.learning.group_learning import GroupLearner, GroupState
from coombs.web.learning.learning_queue import PATIENCE, LearningQueue
from coombs.web.study_cache import StudyCache

Done = TypeVar("Done")
ChosenBy: TypeAlias = Literal["adaptive", "random", "probe", "confirmation", "check", "learning"]
"""How a question is chosen."""
RANDOM = "random"
"""The strategy that chooses at random, and the purpose of a question that nothing learned has chosen."""


def study_path(name: str) -> str:
    """The address of a study; a slash in its name is written ~2F, which no server takes for a path."""
    special = r"[~/\\%]" if name.strip(".") else "."
    return f"/studies/{quote(re.sub(special, lambda found: f'~{ord(found[0]):02X}', name), safe='~')}"


def study_called(part: str) -> str:
    """The name in an address."""
    return re.sub("~([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), part)


def own_path(path: str) -> str:
    """A path of ours out of a form or an address, else the start: not //elsewhere, nor /\\elsewhere."""
    is_own = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if is_own else "/"


def cache_of(request: Request) -> StudyCache:
    """The studies and people that the app works with."""
    cache: StudyCache = request.app.state.cache
    return cache


@dataclass(frozen=True)
class ShownTurn:
    """What a person sees next; `doubts` say why there are no favourites although the goal is reached.

    `n_others` are those with whose answers the questions are chosen.
    """

    question: Question | None
    cards: tuple[Card, Card] | None
    progress: StudyProgress
    strategy: str
    last: int | None
    notice: str = ""
    doubts: tuple[str, ...] = ()
    n_others: int = 0

    @property
    def chosen(self) -> ChosenBy | None:
        """How the question was chosen; `learning` is at random, as the model was not there or not in time."""
        if self.question is None:
            return None
        named = self.question.purpose
        if named == RANDOM:
            return "random" if self.strategy == RANDOM else "learning"
        return cast("ChosenBy", named) if named in ("probe", "confirmation", "check") else "adaptive"


def next_turn(
    request: Request, respondent: Respondent, notice: str = "", patience: float = PATIENCE
) -> ShownTurn:
    """The question that waits, or a new one, after at most `patience` seconds of learning."""
    queue: LearningQueue = request.app.state.queue
    queue.update(respondent, patience)
    question, progress = respondent.turn()
    cards = None if question is None else cache_of(request).cards(respondent).pair(*question.positions)
    last = respondent.last_answer()
    doubts = respondent.doubts() if progress.reached or question is None else ()
    prior = respondent.prior()
    n_others = 0 if prior is None else prior.n_people
    strategy, answer = respondent.study.settings.strategy, None if last is None else last.id
    return ShownTurn(question, cards, progress, strategy, answer, notice, doubts, n_others)


async def slowly(request: Request, work: Callable[..., Done], *args: Any) -> Done:
    """Work of seconds, a few at a time, so that answers do not wait for it."""
    return await anyio.to_thread.run_sync(partial(work, *args), limiter=request.app.state.slow_work)


def group_state(request: Request, study: Study, patience: float = 0.0) -> GroupState:
    """What everybody's answers in a study say together, and how far it is; computed beside the page."""
    learner: GroupLearner = request.app.state.groups
    return learner.state(study, patience)
