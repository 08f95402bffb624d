"""`coombs rank`: a saved model's ranking of any items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import click

import coombs
from coombs.cli import show
from coombs.cli.model_files import check_output_paths, read_ranking_model
from coombs.cli.options import FILE, argument, command, json_option, positive
from coombs.render.blocks import Section, TableBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray, ItemTable
    from coombs.model import Model

Gaps: TypeAlias = "Sequence[tuple[str, NDArray[np.bool_]]]"
"""Columns with cells that are not known, and (n,) which these are."""
MOST_ITEMS = 20
"""Items on the screen unless `--top` says otherwise."""


@command("rank", "rank items by a saved model", "coombs rank taste.json shop/items.csv --top 5")
@argument("model", "JSON file")
@argument("items", "CSV, Excel, JSON or Parquet file, an item a row")
@click.option(
    "--top",
    metavar="K",
    type=positive,
    help=f"how many of the best (default: all in JSON and CSV, {MOST_ITEMS} on the screen)",
)
@click.option("--csv", metavar="FILE", type=FILE, help="write the ranking as CSV")
@json_option
def rank(model: str, items: str, top: int | None, csv: str | None, as_json: bool) -> None:
    """Rank the items of a file, also such as were never compared, by a model that `coombs fit --out` wrote.
    Columns are found by their names; others may be there too.
    """
    from coombs import words

    check_output_paths(csv)
    saved, effects = read_ranking_model(model)
    (table, gaps), features = _read_items(items, saved), feature_names(saved)
    if (saved.findings or {}).get("has_pattern") is False:
        show.careful(f"{words.no_more(saved.n_people or 1)} This order is no better than chance.")
    distances, inside = _distances(saved, table) + _effects(effects, table), _inside(saved, table)
    ranking = ranked(table, distances, gaps, inside)
    shown = ranking[:top]
    measure = "distance" if saved.slope is None else "score"
    if csv:
        _write_csv(csv, shown, [measure, *features])
    if as_json:
        show.as_json([one | {"features": dict(zip(features, one["features"], strict=True))} for one in shown])
        return
    show.together(saved)
    heading = measure if saved.slope is None else words.LESS_IS_BETTER
    on_screen = shown[: top or MOST_ITEMS]
    show.page([Section("", [ranking_table(on_screen, table, features, heading)])])
    if (more := len(ranking) - len(on_screen)) > 0:
        print(f"  and {more} more")
    if csv:
        print(f"Written: {csv}")


def _write_csv(path: str, ranking: list[dict[str, Any]], columns: list[str]) -> None:
    from coombs.data import files, naming

    rows = [[one["rank"], naming.text(one["item"]), one["distance"], *one["features"]] for one in ranking]
    files.write_csv(path, ["rank", "item", *columns], rows)


def _read_items(path: str, model: Model) -> tuple[ItemTable, Gaps]:
    """The items in a file with the features that a model was learned from, in the model's order.

    And which cells are not known, for which a mean stands; that is said.
    """
    from coombs.data.catalogue import catalogue
    from coombs.data.encoding import Encoding, FeatureColumn
    from coombs.data.files import read_table
    from coombs.data.new_items import filled_table, gap_sentences

    if model.encoding is None and not model.feature_names:
        return catalogue(path, model.feature_names).table, []
    plain = Encoding(tuple(map(FeatureColumn, model.feature_names or ())))
    table, gaps = filled_table(read_table(path), model.encoding or plain, model.centre)
    for sentence in gap_sentences(table, gaps, model.centre is not None):
        show.careful(sentence)
    return table, gaps


def _effects(effects: dict[str, float], table: ItemTable) -> FloatArray:
    """What items that the fit knows by name are worth beyond their features; how many these are is said."""
    import numpy as np

    if effects:
        known = sum(text in effects for text in table.texts)
        show.note(
            f"{known} of {len(table.matrix)} items are ranked with their own effects, which the fit knows by "
            "name; the others by their features alone."
        )
    return np.array([effects.get(text, 0.0) for text in table.texts or [""] * len(table.matrix)])


def _inside(model: Model, table: ItemTable) -> Any:
    """(n,) whether items keep the limits that were declared; how many do not is said."""
    from coombs.data.wishes import parse, wishes_of

    told = [one["wish"] for one in (model.findings or {}).get("wishes", []) if one["wish"]]
    names = feature_names(model)
    limits = [wish for wish in told if parse(wish, names).is_limit]
    inside = wishes_of(limits, table).inside
    if not inside.all():
        left = f"{len(inside) - int(inside.sum())} of {len(inside)} items"
        show.note(f"{left} are outside the declared limits ({', '.join(limits)}) and left out.")
    return inside


def _distances(model: Model, table: ItemTable) -> FloatArray:
    """Of the items from a model's ideal, as long as they are numbers."""
    import numpy as np

    with np.errstate(all="ignore"):
        result = model.distance(table)
    if not np.isfinite(result).all():
        where = table.where(int(np.argmin(np.isfinite(result))))
        raise coombs.InputError(
            f"The distance of {where} is too large for a number; the model and the items must fit."
        )
    return result


def feature_names(model: Model) -> list[str]:
    """What the features are called; of a model of a table, its columns."""
    from coombs import words

    if model.encoding is not None:
        return model.encoding.table_names
    return list(words.feature_names(model.feature_names, len(model.ideal_point)))


def ranked(
    table: ItemTable, distances: FloatArray, gaps: Gaps = (), inside: Any = None
) -> list[dict[str, Any]]:
    """All items, or those inside limits, the best first; cells in `gaps` are not known."""
    from coombs.data.catalogue import shown_cells
    from coombs.data.encoding import NOT_KNOWN

    names = range(len(distances)) if table.names is None else table.names
    shown = shown_cells(table)
    for name, rows in gaps:
        shown[name] = [NOT_KNOWN if is_gap else cell for is_gap, cell in zip(rows, shown[name], strict=True)]
    cells, order = list(shown.values()), distances.argsort(kind="stable")
    order = order if inside is None else order[inside[order]]
    return [
        {
            "rank": place,
            "item": names[i],
            "distance": float(distances[i]),
            "features": [column[i] for column in cells],
        }
        for place, i in enumerate(order, start=1)
    ]


def ranking_table(
    ranking: list[dict[str, Any]], table: ItemTable, features: list[str], measure: str = "distance"
) -> TableBlock:
    """The best items with their features."""
    import numpy as np

    from coombs import words
    from coombs.data import naming
    from coombs.data.catalogue import shown_cells

    columns = shown_cells(table).values()
    known = [[cell for cell in cells if not isinstance(cell, str)] for cells in columns]
    digits = [words.decimals(np.array(cells)) if cells else 0 for cells in known]
    rows = []
    for one in ranking:
        values = zip(one["features"], digits, strict=True)
        texts = (v if isinstance(v, str) else f"{v:.{k}f}" for v, k in values)
        rows.append((str(one["rank"]), naming.text(one["item"]), f"{one['distance']:.3g}", *texts))
    return TableBlock("rlr" + "r" * len(features), ("rank", "item", measure, *features), rows)
