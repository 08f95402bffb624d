"""The group's page: groups first, everybody in them, what is best for all and what divides people."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.files import write_frame
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.render.people_text import covariate_words, feature_words
from coombs.web.group_result import GroupResult
from coombs.web.pages.level_map import HEIGHT, WIDTH
from coombs.web.pages.people_pictures_svg import (
    SIGNS,
    agreement_svg,
    band_rows,
    look,
    people_map_svg,
    place_rows,
)
from coombs.web.pages.rendering import download, go_to, render
from coombs.web.routing import group_state, study_of, study_path, written

MOST_PEOPLE = 1_000
"""People in the table; the download has all."""
FIRST_PLACES = 10
"""Items of the consensus that are shown at once."""
MOST_PLACES = 100
"""Items of the consensus on the page."""
PATIENCE = 0.4
"""Seconds that the page waits for a result that is nearly there."""
MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
"""Formats of the table of everybody."""

router = APIRouter(prefix="/studies/{name}/differences", include_in_schema=False)


@router.get("")
def group_page(request: Request, name: str, group: int = 0) -> Response:
    """What everybody's answers say together, of all or of one group; how far it is while it is computed."""
    study = study_of(request, name)
    state = group_state(request, study, PATIENCE)
    result = state.result
    if result is not None and group and group not in [one.number for one in result.groups if one.people]:
        raise HTTPException(404, Translatable("There is no such group now; open the page without it."))
    shown = {} if result is None or not result.has_pattern else _shown(result, group)
    tokens = study.links()
    return render(
        request,
        "group.html",
        study=study,
        state=state,
        result=result,
        group=group,
        tokens=tokens,
        signs=SIGNS,
        look=look,
        size=(WIDTH, HEIGHT),
        **shown,
    )


def _shown(result: GroupResult, group: int) -> dict[str, Any]:
    """What the template draws."""
    people = [one for one in result.people if group in (0, one.group)]
    places = place_rows(result.consensus[group]) if group in result.consensus else []
    unlike = {str(one.name) for one in result.told.unlike}
    return {
        "people": people[:MOST_PEOPLE],
        "n_more": max(0, len(people) - MOST_PEOPLE),
        "places": places[:FIRST_PLACES],
        "more_places": places[FIRST_PLACES:MOST_PLACES],
        "map": None if result.map is None else people_map_svg(result.map),
        "band": [] if result.band is None else band_rows(result.band),
        "wanted": {one.feature: feature_words(one) for one in result.told.features},
        "covariate_words": covariate_words,
        "agreement": None if result.agreement is None else agreement_svg(result.agreement),
        "unlike": unlike,
        "several": len(result.groups) > 1,
    }


@router.get("/progress")
def progress(request: Request, name: str) -> dict[str, Any]:
    """How far it is, for our script."""
    state = group_state(request, study_of(request, name))
    return {"fraction": state.fraction, "done": state.is_current}


@router.get("/people.{ending}")
def people_table(request: Request, name: str, ending: str) -> Response:
    """A row a person: weights, ideals, ranks of items, consistency, answers."""
    study = study_of(request, name)
    if ending not in MEDIA_TYPES:
        raise HTTPException(404)
    state = group_state(request, study, PATIENCE)
    if not state.is_current or state.result is None:
        # The page says how far it is, or why there is none.
        return go_to(request, f"{study_path(study.name)}/differences")
    table = state.result.table
    try:
        content = written(ending, lambda path: write_frame(table, path))
    except ImportError as error:
        raise InputError(f"Parquet cannot be written here: {error}.") from error
    return download(content, f"{study.name}-people.{ending}", MEDIA_TYPES[ending])
