"""The result behind a respondent's link: the page, its parts, and files to take away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.insights.columns import numeric_names
from coombs.insights.statements import CONSTANT
from coombs.language import Translatable
from coombs.study import Respondent
from coombs.web.fitted_result import FittedResult
from coombs.web.pages import downloads
from coombs.web.pages.level_map import HEIGHT, WIDTH, LevelMap, level_map
from coombs.web.pages.rendering import download, render
from coombs.web.result_access import FirstLook, fitted_result, latest_snapshot, whose_result
from coombs.web.result_view import ResultView, ViewChoices
from coombs.web.routing import cache_of, slowly
from coombs.web.what_if_form import changed_item

MOST_ROWS = 200
"""Items of a ranking on the page; the download has all."""
FILES: dict[str, tuple[str, Callable[[FittedResult], bytes | str]]] = {
    "ranking.csv": ("text/csv", downloads.ranking_csv),
    "model.json": ("application/json", downloads.model_json),
    "report.html": ("text/html", downloads.report_html),
}
NO_ANSWERS = Translatable("There are no answers yet, so there is nothing to show or download.")
NO_BETTER_THAN_A_COIN = Translatable(
    "The answers tell no more than tossing a coin would, so there is no ranking and no map yet."
)

router = APIRouter(prefix="/a/{token}/result", include_in_schema=False)


class Wanted:
    """How the result is looked at, out of the address, and what a button adds to it or takes back."""

    def __init__(
        self,
        star: Annotated[list[int] | None, Query()] = None,
        without: Annotated[list[int] | None, Query()] = None,
        top: int | None = None,
        unstar: int | None = None,
        back: int | None = None,
    ) -> None:
        self._starred, self._without, self._top = star or [], without or [], top
        self._unstar, self._back = unstar, back

    def view(self, fitted: FittedResult) -> ResultView:
        """Of that result."""
        given, items = (self._starred, self._without, self._top), frozenset(fitted.items.current)
        chosen = ViewChoices.of(*given, items, unstar=self._unstar, back=self._back)
        return ResultView(fitted, chosen)


Chosen = Annotated[Wanted, Depends()]


async def _fitted(request: Request, token: str, pattern: bool = False) -> tuple[Respondent, FittedResult]:
    """The result, or 404 where there is none; with `pattern` also where there is no pattern in it."""
    respondent, fitted = await fitted_result(request, token)
    if fitted is None or (pattern and not fitted.has_pattern):
        raise HTTPException(404, NO_ANSWERS if fitted is None else NO_BETTER_THAN_A_COIN)
    return respondent, fitted


@router.get("")
async def result_page(request: Request, token: str, wanted: Chosen, whole: bool = False) -> Response:
    """What the answers say: at once what the live model says of them, until the fit is there (`whole`)."""
    # Not among the slow work: a first look does not wait for the fits of others.
    first = await anyio.to_thread.run_sync(_first_page, request, token, whole)
    if first is not None:
        return first
    respondent, fitted = await _fitted(request, token)
    shown = await _shown(request, wanted.view(fitted))
    return render(request, "result.html", person=respondent, token=token, look=None, **shown)


def _first_page(request: Request, token: str, whole: bool) -> Response | None:
    """That there is no result yet, or a first look at one that is not fitted yet."""
    cache, respondent = cache_of(request), whose_result(request, token)
    if not cache.is_decided(respondent):
        return render(request, "result_empty.html", person=respondent, token=token)
    if whole or cache.kept_result(respondent) is not None:
        return None
    look = FirstLook.of(respondent, latest_snapshot(request, respondent))
    shown = [cache.cards(respondent).one(i) for i in look.positions]
    return render(request, "result.html", person=respondent, token=token, look=look, shown=shown)


@router.get("/checked")
async def checked_part(request: Request, token: str, wanted: Chosen) -> Response:
    """The result from the fit, in place of the first look, or with other items starred and left out."""
    respondent, fitted = await _fitted(request, token)
    shown = await _shown(request, wanted.view(fitted))
    return render(request, "_result.html", person=respondent, token=token, **shown)


async def _shown(request: Request, view: ResultView) -> dict[str, Any]:
    """What the templates of a fitted result need."""
    fitted, cards = view.fitted, cache_of(request).cards(view.fitted.respondent)
    if not fitted.has_pattern:
        return {"fitted": fitted, "view": view}
    names = fitted.items.columns
    numeric = {*numeric_names(fitted.result.model.model_)} & {*names}
    varied = [matter.feature for matter in fitted.matters if matter.wish != CONSTANT]
    mapped, drawn = [name for name in varied if name in numeric], None
    if len(mapped) > 1:
        drawn = await slowly(request, _map, fitted, *mapped[:2])
    second = view.places[1].position
    return {
        "fitted": fitted,
        "view": view,
        "rows": [view.row(one, cards) for one in view.places[:MOST_ROWS]],
        "pinned": [view.row(one, cards) for one in view.pinned],
        "map": drawn,
        "mapped": mapped,
        "size": (WIDTH, HEIGHT),
        **_compared(request, view, view.best.position, second),
        **_changed(view, second, {}),
    }


def _map(fitted: FittedResult, x: str, y: str) -> LevelMap:
    """Level sets of two features, with the items that are ranked."""
    return level_map(fitted.result.model, x, y, fitted.explanation.ideal, fitted.result.items)


def _compared(request: Request, view: ResultView, first: int, second: int) -> dict[str, Any]:
    """Two items side by side."""
    if not {first, second} <= {*view.fitted.items.current} or first == second:
        raise InputError(Translatable("These cannot be compared; choose two different items."))
    cards = cache_of(request).cards(view.fitted.respondent).pair(first, second)
    return {"compared": view.compare(first, second), "pair": cards}


def _changed(view: ResultView, item: int, typed: dict[str, str]) -> dict[str, Any]:
    """An item with other features; nothing where items have none."""
    if not view.fitted.matters:
        return {"outcome": None}
    left = [one.position for one in view.places]
    if item not in left:
        raise InputError(Translatable("This item is not in the ranking; choose one that is."))
    fields, outcome = changed_item(view.fitted, item, typed, left)
    guesses = [one.feature for one in outcome.changes if view.is_guess(one.feature)]
    return {"fields": fields, "outcome": outcome, "guesses": guesses}


@router.get("/compare")
async def compare_part(request: Request, token: str, first: int, second: int, wanted: Chosen) -> Response:
    """Any two items: a part of the page for our script, a page by itself without it."""
    respondent, fitted = await _fitted(request, token, pattern=True)
    view = wanted.view(fitted)
    found = await slowly(request, _compared, request, view, first, second)
    return _part(request, "_compare.html", respondent, view=view, fitted=fitted, **found)


@router.get("/what-if")
async def what_if_part(request: Request, token: str, item: int, wanted: Chosen) -> Response:
    """Where an item would rank with other features: a part for our script, a page by itself without it."""
    respondent, fitted = await _fitted(request, token, pattern=True)
    view = wanted.view(fitted)
    found = await slowly(request, _changed, view, item, dict(request.query_params))
    return _part(request, "_what_if.html", respondent, view=view, fitted=fitted, **found)


def _part(request: Request, template: str, respondent: Respondent, **data: Any) -> Response:
    """A part of the page for our script, a page by itself without it."""
    about = {"person": respondent, "token": respondent.record.token, **data}
    if request.headers.get("x-part"):
        return render(request, template, **about)
    return render(request, "result_part.html", part=template, **about)


@router.get("/map")
async def map_part(request: Request, token: str, x: str, y: str) -> Response:
    """Level sets of two features: a part of the page for our script, a page by itself without it."""
    respondent, fitted = await _fitted(request, token, pattern=True)
    drawn = await slowly(request, _map, fitted, x, y)
    template = "_map.html" if request.headers.get("x-part") == "map" else "map.html"
    return render(request, template, map=drawn, size=(WIDTH, HEIGHT), token=token, person=respondent)


@router.get("/answers.csv")
def answers_file(request: Request, token: str) -> Response:
    """The person's own answers."""
    respondent = cache_of(request).respondent(token)
    return download(downloads.answers_csv(respondent), f"{respondent.study.title}-answers.csv", "text/csv")


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
    return download(content, f"{respondent.study.title}-{file}", kind)
