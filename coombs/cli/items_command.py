"""`coombs items`: the items of a study, added, changed, retired and brought back while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import output
from coombs.cli.export_import import named_study
from coombs.cli.options import argument, command, json_option, storage_option

if TYPE_CHECKING:
    from coombs.study import ItemChanges, ItemVersion, Study

_NAME = click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")


@command(
    "items",
    "see, add, change or retire the items of a study",
    "coombs items --all",
    "Rows of the table whose names are new are added; where a cell is another than before, the item changes: "
    "a new version is asked about, and answers keep the one that they saw. Items that are not in the table "
    "stay. Without a table and options the items are listed.",
)
@argument("table", "items to add or change: a CSV, Excel, JSON or Parquet file", required=False)
@click.option("--preview", is_flag=True, help="only say what the table would change")
@click.option(
    "--retire", metavar="ITEM", multiple=True, help="no longer ask about this item; may be repeated"
)
@click.option("--restore", metavar="ITEM", multiple=True, help="ask about it again; may be repeated")
@click.option("--change", metavar="ITEM", help="the item that --set and --rename change")
@click.option("--set", "cells", metavar="COLUMN=VALUE", multiple=True, help="its new value; may be repeated")
@click.option("--rename", metavar="NAME", help="its new name")
@click.option("--all", "with_retired", is_flag=True, help="list what was retired or replaced as well")
@_NAME
@storage_option
@json_option
def items(
    table: str | None, preview: bool, name: str | None, storage: str, as_json: bool, **options: Any
) -> None:
    """Add, change, retire and bring back items of a study while it runs. A change holds at once, also on a
    page that runs.
    """
    if (options["cells"] or options["rename"]) and options["change"] is None:
        raise coombs.InputError("--set and --rename need --change ITEM, which says of which item.")
    study = named_study(name, storage)
    told: list[ItemChanges] = []
    # All of it or nothing.
    with study.storage.batch():
        if table is not None:
            told.append(study.preview_items(table) if preview else study.update_items(table))
        if options["change"] is not None:
            cells = dict(map(_cell, options["cells"]))
            told.append(study.change_item(options["change"], cells, rename=options["rename"]))
        told += [study.retire_items(options["retire"])] if options["retire"] else []
        told += [study.restore_items(options["restore"])] if options["restore"] else []
    if told:
        _print_changes(told, preview and table is not None, as_json)
    else:
        _print_items(study, options["with_retired"], as_json)


def _cell(text: str) -> tuple[str, str | None]:
    """A column and its value; a blank one is not known."""
    column, equals, value = text.partition("=")
    if not equals:
        raise coombs.InputError(f"--set is {text!r}; it must be COLUMN=VALUE, as rent=700.")
    return column.strip(), value.strip() or None


def _print_changes(told: Sequence[ItemChanges], is_preview: bool, as_json: bool) -> None:
    if as_json:
        output.as_json([asdict(one) for one in told])
        return
    for one in told:
        print(f"Would be: {one}" if is_preview else str(one))
        for what in ("added", "changed", "retired", "restored"):
            for called in getattr(one, what):
                differences = "; ".join(one.differences.get(called, ()))
                output.line(f"{what:9} {called}" + (f"  ({differences})" if differences else ""))
        for note in one.notes:
            output.line(note)


def _print_items(study: Study, with_retired: bool, as_json: bool) -> None:
    found = study.items(retired=with_retired)
    if as_json:
        output.as_json([_plain(one) for one in found])
        return
    print(f"Study {study.name!r}: {study.n_items} items are asked about")
    for one in found:
        gone = f"  until {one.retired:%Y-%m-%d %H:%M}" if one.retired is not None else ""
        cells = ", ".join(f"{column} {_text(value)}" for column, value in one.cells.items())
        output.line(f"{one.name}  (version {one.version}{gone}): {cells}")
    for sentence in study.plan.skipped:
        output.line(sentence)


def _text(value: float | str) -> str:
    return f"{value:.12g}" if isinstance(value, float) else value


def _plain(one: ItemVersion) -> dict[str, Any]:
    """A version as JSON holds it."""
    times = {name: at and at.isoformat() for name, at in (("added", one.added), ("retired", one.retired))}
    return {**asdict(one), **times}
