"""The page behind a respondent's link: two cards, answer, undo, the next two."""

from __future__ import annotations

import mimetypes
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage import AnsweredError
from coombs.study import Respondent
from coombs.study.participation import NotNowError, tell_at_link, undo_at_link
from coombs.web.item_cards import is_image_file
from coombs.web.learning.learning_queue import PATIENCE_AT_FIRST
from coombs.web.pages.rendering import go_to, render_to_person
from coombs.web.pages.taking_part import page_before, turn_page
from coombs.web.pages.wishes_page import ASK, wishes_page
from coombs.web.routing import ShownTurn, cache_of, ends_of, next_turn

ONE_OF_EACH = Translatable("Choose one item as the best, and another one as the worst.")
"""What is said to whoever chose one item as both."""

router = APIRouter(prefix="/a/{token}", include_in_schema=False)


@router.get("")
def answer_page(request: Request, token: str, begin: str = "", wishes: str = "") -> Response:
    """Two cards, or what comes before and after all of them."""
    respondent = cache_of(request).respondent(token)
    before = wishes_page(request, respondent) if wishes == ASK else None
    before = before or page_before(request, respondent, bool(begin))
    if before is not None:
        return before
    turn = next_turn(request, respondent, patience=PATIENCE_AT_FIRST)
    after = turn_page(request, respondent, turn)
    return _turn_page(request, respondent, turn, "answer.html") if after is None else after


@router.post("/tell")
def tell(
    request: Request,
    token: str,
    question: Annotated[int, Form()],
    choice: Annotated[str | None, Form()] = None,
    best: Annotated[int | None, Form()] = None,
    worst: Annotated[int | None, Form()] = None,
) -> Response:
    """Keep an answer and show the next question; without a script, one item may be both best and worst."""
    respondent, notice = cache_of(request).respondent(token), ""
    if best is not None and best == worst:
        return _next(request, respondent, ONE_OF_EACH, stay=True)
    try:
        tell_at_link(respondent, question, choice, **ends_of(respondent, best, worst))
    except AnsweredError:
        notice = Translatable(
            "That question was answered already, perhaps in another window; this is the next one."
        )
    except NotNowError:
        return _refused(request, token)
    return _next(request, respondent, notice)


@router.post("/undo")
def undo(request: Request, token: str, answer: Annotated[int | None, Form()] = None) -> Response:
    """Take back an answer, by default the last; its question comes again."""
    respondent, notice = cache_of(request).respondent(token), ""
    try:
        undone = undo_at_link(respondent, answer)
        if undone is None:
            notice = Translatable("There is no answer to take back.")
        elif undone.question is None:
            # No question comes again that would say what was taken back.
            notice = Translatable("Taken back: {answer}.", answer=undone.text)
    except NotNowError:
        return _refused(request, token)
    except InputError:
        # Most likely this was sent twice, the first reply being lost.
        notice = Translatable("That answer was taken back already.")
    return _next(request, respondent, notice)


def _refused(request: Request, token: str) -> Response:
    """The page that says what comes instead, as that the study is closed; our script asks for it itself."""
    if request.headers.get("x-part") == "question":
        return Response(status_code=403)
    return go_to(request, f"/a/{token}")


def _next(request: Request, respondent: Respondent, notice: str, stay: bool = False) -> Response:
    """The next question: a part of the page for our script, the whole page for a form without it."""
    if request.headers.get("x-part") != "question":
        if stay:
            return _turn_page(request, respondent, next_turn(request, respondent, notice), "answer.html")
        return go_to(request, f"/a/{respondent.record.token}")
    turn = next_turn(request, respondent, notice)
    # Other steps have a page of their own.
    template = "_question.html" if turn.step == "questions" else "_elsewhere.html"
    response = _turn_page(request, respondent, turn, template)
    # By this our script knows the reply from that of something between it and us.
    response.headers["X-Part"] = "question"
    return response


def _turn_page(request: Request, respondent: Respondent, turn: ShownTurn, template: str) -> Response:
    return render_to_person(request, template, respondent, turn=turn)


@router.get("/picture/{position}")
def picture(request: Request, token: str, position: int) -> Response:
    """The picture of an item in a file beside the table."""
    cache = cache_of(request)
    respondent = cache.respondent(token)
    cards, folder = cache.cards(respondent), cache.pictures
    details = respondent.study.catalogue.details
    if folder is None or not 0 <= position < len(details) or cards.picture_column is None:
        raise HTTPException(404)
    name = details[position].get(cards.picture_column, "").strip()
    path = (folder / name).resolve() if is_image_file(name) else folder
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise HTTPException(404)
    return FileResponse(path, media_type=mimetypes.guess_type(path.name)[0])
