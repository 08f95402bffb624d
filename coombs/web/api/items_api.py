"""The items of a study while it runs: listed, added, changed, retired and brought back."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.encoding import NOT_KNOWN
from coombs.storage.timestamps import time_text
from coombs.study import ItemChanges, ItemVersion
from coombs.web.api.idempotency import IdempotentRoute
from coombs.web.api.paging import After, Limit, after_number, point_to_next
from coombs.web.api.schemas import _Body
from coombs.web.api.studies import BEARER, Name
from coombs.web.item_table import fitting_table
from coombs.web.routing import study_of
from coombs.web.uploads import read_table

router = APIRouter(
    prefix="/api/studies/{name}/items", tags=["owner"], route_class=IdempotentRoute, dependencies=[BEARER]
)


class ItemVersionOut(BaseModel):
    """A version of an item."""

    position: int = Field(description="Its number among all versions of all items, which stays")
    name: str
    version: int = Field(description="From 1; a change makes the next")
    cells: dict[str, float | str | None] = Field(description="By column; null is not known")
    added: str | None = Field(description="Since when it is in the study; null: from its beginning")
    retired: str | None = Field(description="Since when it is not asked about any more, or null")
    replaces: int | None = Field(description="The position of the version before it, or null")


class ItemChangesOut(BaseModel):
    """What became of items, by name."""

    added: list[str]
    changed: list[str] = Field(description="Of which there is a new version")
    retired: list[str]
    restored: list[str]
    unchanged: list[str]
    notes: list[str] = Field(description="Sentences about columns that were left out")
    differences: dict[str, list[str]] = Field(description="Of each changed item, what, as 'rent: 720 → 690'")


class ItemTableIn(_Body):
    """Items to add or to change, in a table."""

    csv: str = Field(description="A header line, and a line for each item; columns that it lacks stay")
    preview: bool = Field(False, description="true only says what would change")


class ItemIn(_Body):
    """What is to change of an item; what is left out stays."""

    name: str = Field(description="Of the item")
    cells: dict[str, str | float | bool | None] = Field({}, description="By column; null is not known")
    rename: str | None = Field(None, description="What it is called from now on")
    preview: bool = Field(False, description="true only says what would change")


class ItemNamesIn(_Body):
    """Some items."""

    names: list[str]


@router.get("")
def items(
    request: Request,
    response: Response,
    name: Name,
    retired: bool = False,
    limit: Limit = None,
    after: After = "",
) -> list[ItemVersionOut]:
    """The items that are asked about; `retired` adds those that were retired or replaced."""
    last = after_number(after) - 1 if after else -1
    found = [one for one in study_of(request, name).items(retired=retired) if one.position > last]
    if limit is not None and len(found) > limit:
        found = found[:limit]
        more = {"retired": "true"} if retired else {}
        point_to_next(request, response, limit, str(found[-1].position + 1), **more)
    return list(map(_item, found))


@router.post("")
def update_items(request: Request, name: Name, table: ItemTableIn) -> ItemChangesOut:
    """Add the rows whose names are new, and change those items whose cells are others; the rest stays."""
    study = study_of(request, name)
    given = fitting_table(study, read_table(table.csv.encode(errors="replace"), "csv"))
    return _changes(study.preview_items(given) if table.preview else study.update_items(given))


@router.patch("")
def change_item(request: Request, name: Name, item: ItemIn) -> ItemChangesOut:
    """Change one item: a new version, and answers keep the one that they saw."""
    study = study_of(request, name)
    change = study.preview_change if item.preview else study.change_item
    return _changes(change(item.name, item.cells, rename=item.rename))


@router.post("/retire")
def retire_items(request: Request, name: Name, chosen: ItemNamesIn) -> ItemChangesOut:
    """Ask about items no more; what was answered about them is still learned from."""
    return _changes(study_of(request, name).retire_items(chosen.names))


@router.post("/restore")
def restore_items(request: Request, name: Name, chosen: ItemNamesIn) -> ItemChangesOut:
    """Ask about retired items again."""
    return _changes(study_of(request, name).restore_items(chosen.names))


def _item(one: ItemVersion) -> ItemVersionOut:
    cells: dict[str, Any] = {name: None if cell == NOT_KNOWN else cell for name, cell in one.cells.items()}
    return ItemVersionOut(
        position=one.position,
        name=one.name,
        version=one.version,
        cells=cells,
        added=None if one.added is None else time_text(one.added),
        retired=None if one.retired is None else time_text(one.retired),
        replaces=one.replaces,
    )


def _changes(told: ItemChanges) -> ItemChangesOut:
    return ItemChangesOut.model_validate(vars(told))
