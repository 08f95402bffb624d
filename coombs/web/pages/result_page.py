"""The result behind a respondent's link: the page, its parts, and files to take away."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.insights.columns import numeric_names
from coombs.insights.statements import CONSTANT
from coombs.study import Respondent
from coombs.web.fitted_result import FittedResult
from coombs.web.pages import downloads
from coombs.web.pages.level_map import HEIGHT, WIDTH, level_map
from coombs.web.pages.rendering import download, render
from coombs.web.routing import cache_of, fitted_result, slowly

MOST_ROWS = 500
"""Items of a ranking on the page; the download has all."""
FILES: dict[str, tuple[str, Callable[[FittedResult], bytes | str]]] = {
    "ranking.csv": ("text/csv", downloads.ranking_csv),
    "model.json": ("application/json", downloads.model_json),
    "report.html": ("text/html", downloads.report_html),
}
NO_ANSWERS = "There are no answers yet, so there is nothing to download."
NO_BETTER_THAN_A_COIN = (
    "The answers tell no more than tossing a coin would, so there is no ranking and no map yet."
)

router = APIRouter(prefix="/a/{token}/result", include_in_schema=False)


async def _fitted(request: Request, token: str, pattern: bool = False) -> tuple[Respondent, FittedResult]:
    """The result, or 404 where there is none; with `pattern` also where there is no pattern in it."""
    respondent, fitted = await fitted_result(request, token)
    if fitted is None or (pattern and not fitted.has_pattern):
        raise HTTPException(404, NO_ANSWERS if fitted is None else NO_BETTER_THAN_A_COIN)
    return respondent, fitted


@router.get("")
async def result_page(request: Request, token: str, whole: bool = False) -> Response:
    """What the answers say; the words about it come after, or with it if `whole`."""
    respondent, fitted = await fitted_result(request, token)
    if fitted is None:
        return render(request, "result_empty.html", person=respondent, token=token)
    numeric = {*numeric_names(fitted.result.model.model_)} & {*respondent.study.catalogue.columns}
    varied = [matter.feature for matter in fitted.matters if matter.wish != CONSTANT]
    mapped, drawn = [name for name in varied if name in numeric], None
    if fitted.has_pattern and len(mapped) > 1:
        x, y = mapped[:2]
        drawn = await slowly(request, level_map, fitted.result.model, x, y, fitted.explanation.ideal)
    return render(
        request,
        "result.html",
        person=respondent,
        token=token,
        fitted=fitted,
        rows=fitted.ranking[:MOST_ROWS],
        cards=cache_of(request).cards(respondent),
        map=drawn,
        mapped=mapped,
        size=(WIDTH, HEIGHT),
        whole=whole,
    )


@router.get("/words")
async def words_part(request: Request, token: str) -> Response:
    """Trade-offs, surprises, doubts: the second part of the result."""
    respondent, fitted = await _fitted(request, token)
    return render(request, "_words.html", fitted=fitted, token=token, person=respondent)


@router.get("/map")
async def map_part(request: Request, token: str, x: str, y: str) -> Response:
    """Level sets of two features: a part of the page for our script, a page by itself without it."""
    respondent, fitted = await _fitted(request, token, pattern=True)
    drawn = await slowly(request, level_map, fitted.result.model, x, y, fitted.explanation.ideal)
    template = "_map.html" if request.headers.get("x-part") == "map" else "map.html"
    return render(request, template, map=drawn, size=(WIDTH, HEIGHT), token=token, person=respondent)


@router.get("/answers.csv")
def answers_file(request: Request, token: str) -> Response:
    """The person's own answers."""
    respondent = cache_of(request).respondent(token)
    return download(downloads.answers_csv(respondent), f"{respondent.study.name}-answers.csv", "text/csv")


@router.get("/{file}")
async def result_file(request: Request, token: str, file: str) -> Response:
    """Ranking, model and report."""
    if file not in FILES:
        raise HTTPException(404)
    respondent, fitted = await _fitted(request, token, pattern=file == "ranking.csv")
    kind, make = FILES[file]
    try:
        content = await slowly(request, make, fitted)
    except ImportError as error:
        raise InputError(f"The report cannot be made here: {error}.") from error
    return download(content, f"{respondent.study.name}-{file}", kind)
