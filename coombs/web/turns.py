"""A turn of a respondent: the question to answer next, its two cards, and the progress."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from coombs.study import Question, Respondent, StudyProgress
from coombs.web.item_cards import Card
from coombs.web.learning.learning_queue import PATIENCE, LearningQueue
from coombs.web.routing import cache_of


@dataclass(frozen=True)
class ShownTurn:
    """What a person sees next; `doubts` say why there are no favourites although the goal is reached."""

    question: Question | None
    cards: tuple[Card, Card] | None
    progress: StudyProgress
    last: int | None
    notice: str = ""
    doubts: tuple[str, ...] = ()


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
    return ShownTurn(question, cards, progress, None if last is None else last.id, notice, doubts)
