"""Tables of a study's items: one that somebody uploads to change them, and one to take away and edit."""

from __future__ import annotations

from dataclasses import replace

from coombs.data.encoding import NOT_KNOWN
from coombs.data.files import NamedColumns
from coombs.study import ItemVersion, Study
from coombs.web.item_cards import LINK, PICTURE, link_column, picture_column


def fitting_table(study: Study, table: NamedColumns) -> NamedColumns:
    """A table whose columns of pictures and links are called as the study calls them."""
    shown = {name for row in study.catalogue.details for name in row}
    known, columns = {*shown, *study.catalogue.columns}, dict(table.columns)
    for called, find in ((PICTURE, picture_column), (LINK, link_column)):
        if called not in shown or called in columns:
            continue
        others = {name: [str(one) for one in cells] for name, cells in columns.items() if name not in known}
        found = find(others)
        if found is not None:
            columns = {called if name == found else name: cells for name, cells in columns.items()}
    return replace(table, columns=columns)


def known_cells(study: Study, item: ItemVersion) -> dict[str, float | str]:
    """The cells of an item, blank where something is not known."""
    learned = {*study.catalogue.columns}
    return {name: "" if name in learned and cell == NOT_KNOWN else cell for name, cell in item.cells.items()}


def item_rows(study: Study) -> tuple[list[str], list[list[object]]]:
    """A header and a row for each item that is asked about, as `fitting_table` takes them back."""
    items = study.items()
    names = list(dict.fromkeys(name for one in items for name in one.cells))
    rows: list[list[object]] = []
    for one in items:
        known = known_cells(study, one)
        rows.append([one.name, *(known.get(name, "") for name in names)])
    called = "item" if "item" not in names else "name of the item"
    return [called, *names], rows
