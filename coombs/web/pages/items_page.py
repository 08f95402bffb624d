"""The owner's page of a study's items: the list, a table of additions and changes, retire and bring back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coombs.data import files
from coombs.data.tables import InputError
from coombs.language import NumberText, Translatable
from coombs.study import ItemChanges, ItemVersion, Study
from coombs.web.drafts import Drafts
from coombs.web.item_table import fitting_table, item_rows, known_cells
from coombs.web.pages.joining import form_texts
from coombs.web.pages.rendering import browser_language, download, go_to, render
from coombs.web.routing import study_of, study_path, written
from coombs.words import grouped, plain

ROWS = 100
"""Items on a page of the list."""
CELL = "cell "
"""Before the name of a column in the name of its input."""
NAMED = 50
"""Items that a preview names of each sort."""

router = APIRouter(prefix="/studies/{name}/items", include_in_schema=False)


@router.get("")
def items_page(request: Request, name: str) -> Response:
    """The items, and the versions before."""
    return _page(request, study_of(request, name))


def _page(request: Request, study: Study, status: int = 200, problem: str = "") -> Response:
    asked = request.query_params
    found = study.items(retired=True)
    shown = [one for one in found if one.is_retired == (asked.get("show") == "retired")]
    n_pages = max(1, -(-len(shown) // ROWS))
    wanted = asked.get("page", "1")
    page = min(max(int(wanted) if wanted.isdecimal() and len(wanted) < 9 else 1, 1), n_pages)
    rows = shown[(page - 1) * ROWS : page * ROWS]
    return render(
        request,
        "items.html",
        status,
        study=study,
        shown=rows,
        texts={one.position: {name: _text(cell) for name, cell in one.cells.items()} for one in rows},
        is_retired=asked.get("show") == "retired",
        n_current=study.n_items,
        n_retired=len(found) - study.n_items,
        page=page,
        n_pages=n_pages,
        skipped=study.plan.skipped,
        done=asked.get("done", ""),
        problem=problem,
    )


def _text(cell: float | str) -> str:
    """A cell as people read it."""
    return cell if isinstance(cell, str) else grouped(plain(cell))


@router.get("/items.csv")
def items_file(request: Request, name: str) -> Response:
    """The items that are asked about, to edit and to bring back."""
    study = study_of(request, name)
    header, rows = item_rows(study)
    content = written("csv", lambda path: files.write_csv(path, header, rows))
    return download(content, f"{study.name}-items.csv", "text/csv")


@router.post("")
def upload(request: Request, name: str, file: Annotated[UploadFile | None, File()] = None) -> Response:
    """A table of items to add and to change, to look over."""
    study, drafts = study_of(request, name), request.app.state.drafts
    assert isinstance(drafts, Drafts)
    try:
        if file is None or not file.filename:
            raise InputError(Translatable("No file was chosen; choose a table of items."))
        draft = drafts.add(file.file.read(), file.filename)
    except InputError as error:
        return _page(request, study, 422, str(error))
    return go_to(request, f"{study_path(study.name)}/items/drafts/{draft.id}")


@router.get("/drafts/{number}")
def preview(request: Request, name: str, number: str) -> Response:
    """What an uploaded table would change."""
    study = study_of(request, name)
    draft = _draft(request, number)
    try:
        told = study.preview_items(fitting_table(study, draft))
    except InputError as error:
        return _page(request, study, 422, str(error))
    title = Translatable("What {file} changes", file=draft.file)
    return _preview(request, study, told, title, f"drafts/{number}", {})


@router.post("/drafts/{number}")
def apply(request: Request, name: str, number: str) -> Response:
    """Change the items as the preview says."""
    study = study_of(request, name)
    try:
        study.update_items(fitting_table(study, _draft(request, number)))
    except InputError as error:
        return _page(request, study, 422, str(error))
    return go_to(request, f"{study_path(study.name)}/items?done=yes")


@router.get("/{position:int}")
def item_form(request: Request, name: str, position: int) -> Response:
    """The cells of one item, to change."""
    study = study_of(request, name)
    item = _item(study, position)
    return _form(request, study, item, {"name": item.name, **_inputs(study, item)})


@router.post("/{position:int}")
def change_item(
    request: Request, name: str, position: int, form: Annotated[dict[str, str], Depends(form_texts)]
) -> Response:
    """Say what a change of one item would do, or with `apply` do it."""
    study = study_of(request, name)
    item = _item(study, position)
    before = _inputs(study, item)
    typed = {key: " ".join(form[key].split()) for key in before if key in form}
    # The page has numbers, and yes and no, in its own language.
    spoken = browser_language(request)
    same = {key: (text, spoken.say(text)) for key, text in before.items()}
    cells = {key.removeprefix(CELL): text for key, text in typed.items() if text not in same[key]}
    called = form.get("name", item.name).strip()
    change = study.change_item if form.get("apply") == "yes" else study.preview_change
    try:
        told = change(item.name, cells, rename=None if called == item.name else called)
    except InputError as error:
        return _form(request, study, item, {"name": called, **before, **typed}, 422, str(error))
    if form.get("apply") == "yes":
        return go_to(request, f"{study_path(study.name)}/items?done=yes")
    kept = {"name": called, **typed, "apply": "yes"}
    return _preview(
        request, study, told, Translatable("What changes of {name}", name=item.name), str(position), kept
    )


def _item(study: Study, position: int) -> ItemVersion:
    """An item that is asked about, by its position."""
    found = next((one for one in study.items() if one.position == position), None)
    if found is None:
        raise HTTPException(404, Translatable("This item is not asked about any more."))
    return found


def _inputs(study: Study, item: ItemVersion) -> dict[str, str]:
    """The cells of an item as inputs hold them, by the inputs' names."""
    cells = known_cells(study, item)
    return {
        f"{CELL}{key}": _typed(cell) if isinstance(cell, str) else NumberText(f"{cell:.12g}")
        for key, cell in cells.items()
    }


def _typed(cell: str) -> str:
    """A text as an input holds it, in one line; yes and no stay what a page can translate."""
    return cell if isinstance(cell, Translatable) else " ".join(cell.split())


def _form(
    request: Request,
    study: Study,
    item: ItemVersion,
    typed: dict[str, str],
    status: int = 200,
    problem: str = "",
) -> Response:
    """The form of one item."""
    decided = {one.name: one.text for one in study.catalogue.decisions if one.role != "text"}
    about = {"item": item, "typed": typed, "cell": CELL, "decided": decided}
    return render(request, "item_form.html", status, study=study, problem=problem, **about)


def _preview(
    request: Request, study: Study, told: ItemChanges, title: str, place: str, kept: dict[str, str]
) -> Response:
    """What a change would do; `place` is where the form that does it is sent, with what is `kept`."""
    about: dict[str, Any] = {"title": title, "place": place, "kept": kept, "named": NAMED}
    return render(request, "items_preview.html", study=study, told=told, **about)


def _draft(request: Request, number: str) -> files.NamedColumns:
    found = request.app.state.drafts.get(number)
    if found is None:
        raise HTTPException(404, Translatable("This upload is gone; bring the file again."))
    table: files.NamedColumns = found.table
    return table


@router.post("/retire")
def retire(request: Request, name: str, position: Annotated[int, Form()]) -> Response:
    """Ask about an item no more."""
    study = study_of(request, name)
    try:
        study.retire_items([_called(study, position)])
    except InputError as error:
        return _page(request, study, 422, str(error))
    return go_to(request, f"{study_path(study.name)}/items?done=yes")


@router.post("/restore")
def restore(request: Request, name: str, position: Annotated[int, Form()]) -> Response:
    """Ask about an item again."""
    study = study_of(request, name)
    try:
        study.restore_items([_called(study, position)])
    except InputError as error:
        return _page(request, study, 422, str(error))
    return go_to(request, f"{study_path(study.name)}/items?done=yes")


def _called(study: Study, position: int) -> str:
    """What a version of an item is called, apart from others."""
    if not 0 <= position < len(study.catalogue.names):
        raise InputError(f"The study has no item at position {position}.")
    return study.catalogue.names[position]
