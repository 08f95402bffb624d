"""The pages behind a respondent's link: questions, and the result."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from coombs.data.tables import InputError
from coombs.storage import AnsweredError
from coombs.study import Progress, Question, Respondent
from coombs.web import downloads
from coombs.web.cards import Card, is_image_file
from coombs.web.findings import MOST_ROWS, Findings
from coombs.web.map import HEIGHT, WIDTH, level_map
from coombs.web.pages import download, go_to, registry_of, render, slowly
from coombs.web.registry import Registry
from coombs.web.thinker import AT_FIRST, PATIENCE, Thinker

router = APIRouter(prefix="/a/{token}", include_in_schema=False)
FILES: dict[str, tuple[str, Callable[[Findings], bytes | str]]] = {
    "ranking.csv": ("text/csv", downloads.ranking_csv),
    "model.json": ("application/json", downloads.model_json),
    "report.html": ("text/html", downloads.report_html),
}
NOTHING = "There are no answers yet, so there is nothing to download."
NO_FINDING = "The answers tell no more than tossing a coin would, so there is no ranking and no map yet."


@dataclass(frozen=True)
class Turn:
    """What a person sees next."""

    question: Question | None
    cards: tuple[Card, Card] | None
    progress: Progress
    last: int | None
    notice: str = ""
    doubts: tuple[str, ...] = ()
    """Why there are no favourites although the goal is reached."""


def turn(request: Request, respondent: Respondent, notice: str = "", patience: float = PATIENCE) -> Turn:
    """The question that waits, or a new one, and how far it is."""
    thinker: Thinker = request.app.state.thinker
    thinker.consider(respondent, patience)
    question, found = respondent.turn()
    cards = None if question is None else registry_of(request).cards(respondent).pair(*question.positions)
    last = respondent.last_answer()
    doubts = respondent.doubts() if found.reached or question is None else ()
    return Turn(question, cards, found, None if last is None else last.id, notice, doubts)


@router.get("")
def answer_page(request: Request, token: str) -> Response:
    """Two cards."""
    respondent = registry_of(request).respondent(token)
    return _turn_page(request, respondent, turn(request, respondent, patience=AT_FIRST))


@router.post("/tell")
def tell(
    request: Request,
    token: str,
    question: Annotated[int, Form()],
    choice: Annotated[str, Form()],
) -> Response:
    """Keep an answer and show the next question."""
    respondent, notice = registry_of(request).respondent(token), ""
    try:
        respondent.tell(question, choice)
    except AnsweredError:
        notice = "That question was answered already, perhaps in another window; this is the next one."
    return _next(request, respondent, notice)


@router.post("/undo")
def undo(request: Request, token: str, answer: Annotated[int | None, Form()] = None) -> Response:
    """Take back an answer, by default the last; its question comes again."""
    respondent, notice = registry_of(request).respondent(token), ""
    try:
        if respondent.undo(answer) is None:
            notice = "There is no answer to take back."
    except InputError:
        # Most likely this was sent twice, the first reply being lost.
        notice = "That answer was taken back already."
    return _next(request, respondent, notice)


def _next(request: Request, respondent: Respondent, notice: str) -> Response:
    """The next question: a part of the page for our script, the whole page for a form without it."""
    if request.headers.get("x-part") != "question":
        return go_to(f"/a/{respondent.record.token}")
    return _turn_page(request, respondent, turn(request, respondent, notice), "_question.html")


def _turn_page(
    request: Request, respondent: Respondent, shown: Turn, template: str = "answer.html"
) -> Response:
    return render(request, template, person=respondent, token=respondent.record.token, turn=shown)


@router.get("/picture/{position}")
def picture(request: Request, token: str, position: int) -> Response:
    """The picture of an item in a file beside the table."""
    registry = registry_of(request)
    respondent = registry.respondent(token)
    cards, folder = registry.cards(respondent), registry.pictures
    details = respondent.study.catalogue.details
    if folder is None or not 0 <= position < len(details) or cards.picture_column is None:
        raise HTTPException(404)
    name = details[position].get(cards.picture_column, "").strip()
    path = (folder / name).resolve() if is_image_file(name) else folder
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise HTTPException(404)
    return FileResponse(path, media_type=mimetypes.guess_type(path.name)[0])


@router.get("/result")
async def result_page(request: Request, token: str, whole: bool = False) -> Response:
    """What the answers say; the words about it come after, or with it if `whole`."""
    respondent, found = await _findings(request, token)
    if found is None:
        return render(request, "result_empty.html", person=respondent, token=token)
    if whole:
        await slowly(request, _words, found)
    features = [matter.feature for matter in found.matters]
    shown = None
    if found.has_pattern and len(features) > 1:
        x, y = features[:2]
        shown = await slowly(request, level_map, found.result.model, x, y, found.told.ideal)
    return render(
        request,
        "result.html",
        person=respondent,
        token=token,
        found=found,
        rows=found.ranking[:MOST_ROWS],
        cards=registry_of(request).cards(respondent),
        map=shown,
        size=(WIDTH, HEIGHT),
        whole=whole,
    )


@router.get("/result/words")
async def words_part(request: Request, token: str) -> Response:
    """Trade-offs, surprises, doubts: the part of the result that takes longer."""
    respondent, found = await _findings(request, token)
    if found is None:
        raise HTTPException(404, NOTHING)
    await slowly(request, _words, found)
    return render(request, "_words.html", found=found, token=token, person=respondent)


@router.get("/result/map")
async def map_part(request: Request, token: str, x: str, y: str) -> Response:
    """Level sets of two features: a part of the page for our script, a page by itself without it."""
    respondent, found = await _findings(request, token)
    if found is None:
        raise HTTPException(404, NOTHING)
    if not found.has_pattern:
        raise HTTPException(404, NO_FINDING)
    shown = await slowly(request, level_map, found.result.model, x, y, found.told.ideal)
    part = request.headers.get("x-part") == "map"
    template = "_map.html" if part else "map.html"
    return render(
        request, template, map=shown, size=(WIDTH, HEIGHT), token=token, person=respondent, found=found
    )


@router.get("/result/answers.csv")
def answers_file(request: Request, token: str) -> Response:
    """The person's own answers."""
    respondent = registry_of(request).respondent(token)
    return download(downloads.answers_csv(respondent), f"{respondent.study.name}-answers.csv", "text/csv")


@router.get("/result/{file}")
async def result_file(request: Request, token: str, file: str) -> Response:
    """Ranking, model and report."""
    if file not in FILES:
        raise HTTPException(404)
    respondent, found = await _findings(request, token)
    if found is None:
        raise HTTPException(404, NOTHING)
    if file == "ranking.csv" and not found.has_pattern:
        raise HTTPException(404, NO_FINDING)
    kind, make = FILES[file]
    try:
        content = await slowly(request, make, found)
    except ImportError as error:
        raise InputError(f"The report cannot be made here: {error}.") from error
    return download(content, f"{respondent.study.name}-{file}", kind)


async def _findings(request: Request, token: str) -> tuple[Respondent, Findings | None]:
    registry = registry_of(request)
    respondent = await slowly(request, registry.respondent, token)
    return respondent, await slowly(request, _fitted, registry, respondent)


def _fitted(registry: Registry, respondent: Respondent) -> Findings | None:
    found = registry.findings(respondent)
    if found is not None:
        _ = found.ranking, found.matters, found.has_pattern
    return found


def _words(found: Findings) -> object:
    return found.told
