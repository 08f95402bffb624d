"""`coombs rank`: a saved model's ranking of any items."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from coombs.cli import saved, show
from coombs.cli.parser import Commands, add_command, add_json, positive
from coombs.render.blocks import Section, TableBlock

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray, ItemTable
    from coombs.model import Model

MOST = 20
"""Items that are shown, if nobody says how many."""


def add(commands: Commands) -> None:
    """The command and its options."""
    rank = add_command(
        commands,
        "rank",
        run,
        "coombs rank taste.json shop/items.csv --top 5",
        help="rank items by a saved model",
        description="Rank the items of a file, also such as were never compared, by a model that "
        "`coombs fit --out` wrote. Columns are found by their names; others may be there too.",
    )
    rank.add_argument("model", help="JSON file")
    rank.add_argument("items", help="CSV or Parquet file, an item a row")
    rank.add_argument(
        "--top",
        metavar="K",
        type=positive,
        help=f"how many of the best (default: all in JSON and CSV, {MOST} on the screen)",
    )
    rank.add_argument("--csv", metavar="FILE", help="write the ranking as CSV")
    add_json(rank)


def run(options: argparse.Namespace) -> None:
    """Rank, and print or write it."""
    from coombs import words
    from coombs.data import naming

    saved.check_folder(options.csv)
    model = saved.read_model(options.model)
    table = saved.read_items(options.items, model)
    if (model.findings or {}).get("has_pattern") is False:
        show.careful(f"{words.no_more(model.n_people or 1)} This order is no better than chance.")
    ranking = ranked(table, saved.distances(model, table))
    shown = ranking[: options.top]
    measure = "distance" if model.slope is None else "score"
    if options.csv:
        heading = ["rank", "item", measure, *feature_names(model)]
        rows = [[one["rank"], naming.text(one["item"]), one["distance"], *one["features"]] for one in shown]
        saved.write_table(options.csv, heading, rows)
    if options.json:
        names = feature_names(model)
        show.as_json([one | {"features": dict(zip(names, one["features"], strict=True))} for one in shown])
        return
    show.together(model)
    show.page(
        [Section("", [ranking_table(shown[: options.top or MOST], table, feature_names(model), measure)])]
    )
    if (more := len(ranking) - len(shown[: options.top or MOST])) > 0:
        print(f"  and {more} more")
    if options.csv:
        print(f"Written: {options.csv}")


def feature_names(model: Model) -> list[str]:
    """What the features are called."""
    from coombs import words

    return list(words.feature_names(model.feature_names, len(model.ideal_point)))


def ranked(table: ItemTable, distances: FloatArray) -> list[dict[str, Any]]:
    """All items, the best first."""
    names = range(len(distances)) if table.names is None else table.names
    return [
        {
            "rank": place,
            "item": names[i],
            "distance": float(distances[i]),
            "features": table.matrix[i].tolist(),
        }
        for place, i in enumerate(distances.argsort(kind="stable"), start=1)
    ]


def ranking_table(
    ranking: list[dict[str, Any]], table: ItemTable, features: list[str], measure: str = "distance"
) -> TableBlock:
    """The best items with their features."""
    from coombs import words
    from coombs.data import naming

    digits = [words.decimals(column) for column in table.matrix.T]
    rows = []
    for one in ranking:
        values = zip(one["features"], digits, strict=True)
        rows.append(
            (
                str(one["rank"]),
                naming.text(one["item"]),
                f"{one['distance']:.3g}",
                *(f"{v:.{k}f}" for v, k in values),
            )
        )
    return TableBlock("rlr" + "r" * len(features), ("rank", "item", measure, *features), rows)
