"""Before the first question of one's own study: what is certain already, on one card that can be skipped."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.catalogue import Catalogue, shown_cells
from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.study import Respondent
from coombs.study.declared_wishes import declare_wishes, may_declare
from coombs.study.study import ME
from coombs.web.declared_form import DeclaredForm
from coombs.web.errors import FOR_OWNER, described
from coombs.web.fitted_result import Column
from coombs.web.owner_access import visitor_of
from coombs.web.pages.rendering import go_to, render_to_person
from coombs.web.routing import cache_of

ASK = "ask"
"""The value of `wishes` in the address that asks for the card."""
NOTHING = DeclaredForm()
"""What is declared before anybody declares anything."""

router = APIRouter(prefix="/a/{token}", include_in_schema=False)


def wishes_page(request: Request, respondent: Respondent) -> Response | None:
    """The card for whoever runs the study and answers it themselves, where wishes can still be declared."""
    goods, is_own = respondent.study.catalogue, visitor_of(request.scope).is_owner and respondent.name == ME
    # The columns of an array have no names that wishes could begin with.
    if not is_own or goods.table.features is None or not may_declare(respondent.study):
        return None
    rows = NOTHING.rows(goods.decisions)
    return _page(request, respondent, NOTHING) if any(one.is_asked for one in rows) else None


@router.post("/wishes")
def declare(request: Request, token: str, declared: Annotated[DeclaredForm, Depends()] = NOTHING) -> Response:
    """Keep what is certain, and go on to the questions; limits leave items out."""
    cache = cache_of(request)
    respondent = cache.respondent(token)
    if not visitor_of(request.scope).is_owner or respondent.name != ME:
        raise HTTPException(403, FOR_OWNER)
    study = respondent.study
    texts = declared.texts(study.catalogue.decisions)
    if texts:
        try:
            declare_wishes(study, texts)
        except InputError as error:
            return _page(request, respondent, declared, *described(error))
        # What was learned of people so far knows of no wishes.
        cache.forget(study)
    return go_to(request, f"/a/{token}")


def _page(
    request: Request, respondent: Respondent, declared: DeclaredForm, status: int = 200, problem: str = ""
) -> Response:
    rows = declared.rows(respondent.study.catalogue.decisions)
    ranges = _ranges(respondent.study.catalogue)
    shown = {"declared": rows, "ranges": ranges, "wishes": declared.lines, "problem": problem}
    return render_to_person(request, "wishes.html", respondent, status, **shown)


def _ranges(items: Catalogue) -> dict[str, str]:
    """Of each feature that is numbers, from where to where items have it, with its unit."""
    encoding, found = items.table.encoding, dict[str, str]()
    units = {} if encoding is None else {one.name: one.unit for one in encoding.columns}
    for name, cells in shown_cells(items.table).items():
        values = [cell for cell in cells if not isinstance(cell, str)]
        if values:
            column = Column(np.array(values), units.get(name, ""))
            ends = column.text(column.lowest), column.text(column.highest)
            found[name] = Translatable("{low} to {high}", low=ends[0], high=ends[1])
    return found
