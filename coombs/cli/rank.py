"""`coombs rank` and `coombs explain`: a saved model's ranking of any items, and what it says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

import coombs
from coombs.cli import output
from coombs.cli.model_files import check_output_paths, read_model, read_population, read_ranking_model
from coombs.cli.options import FILE, argument, command, json_option, positive, user_option
from coombs.render.sections import Section, TableBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coombs.data.encoding import Encoding
    from coombs.data.tables import FloatArray, ItemTable
    from coombs.estimators.population import Population
    from coombs.model import Model

Gaps: TypeAlias = "Sequence[tuple[str, NDArray[np.bool_]]]"
"""Columns with cells that are not known, and (n,) which these are."""
MOST_ITEMS = 20
"""Items on the screen unless `--top` says otherwise."""
BY_MEAN = (
    "By mean utility, so that who cares more counts more; coombs explain lists the best for all by "
    "everybody's places (Borda's method)."
)
"""What the order for many people is by."""


@command("rank", "rank items by a saved model", "coombs rank taste.json shop/items.csv --top 5")
@argument("model", "JSON file")
@argument("items", "CSV, Excel, JSON or Parquet file, one row per item")
@click.option(
    "--top",
    metavar="K",
    type=positive,
    help=f"how many of the best (default: all in JSON and CSV, {MOST_ITEMS} on the screen)",
)
@click.option("--csv", metavar="FILE", type=FILE, help="write the ranking as CSV")
@user_option
@json_option
def rank(model: str, items: str, top: int | None, csv: str | None, user: str | None, as_json: bool) -> None:
    """Rank the items of a file, including those never compared, by a model that `coombs fit --out` wrote;
    by a population that `coombs people --save` wrote, for all or for one of its people.
    Columns are found by their names; others may be there too.
    """
    check_output_paths(csv)
    population = read_population(model, user)
    found = _by_model(model, items) if population is None else _by_population(population, items, user)
    shown, features = found.ranking[:top], found.features
    if csv:
        _write_csv(csv, shown, [found.measure, *features], found.key)
    if as_json:
        output.as_json(
            [one | {"features": dict(zip(features, one["features"], strict=True))} for one in shown]
        )
        return
    if found.model is not None:
        output.together(found.model)
    elif user is None:
        print(f"{BY_MEAN}\n")
    on_screen = shown[: top or MOST_ITEMS]
    output.page([Section("", [ranking_table(on_screen, found.table, features, found.heading, found.key)])])
    if (more := len(found.ranking) - len(on_screen)) > 0:
        print(f"  and {more} more")
    if csv:
        print(f"Written: {csv}")


class ItemRanking(NamedTuple):
    """Items in their order, by a `model` or a population, and what they are ranked by."""

    ranking: list[dict[str, Any]]
    table: ItemTable
    features: list[str]
    measure: str
    heading: str
    key: str
    model: Model | None = None


def _by_model(path: str, items: str) -> ItemRanking:
    """By a model of one taste."""
    from coombs import words

    saved, effects = read_ranking_model(path)
    names = saved.feature_names
    table, gaps = _read_items(items, saved.encoding, None if names is None else list(names), saved.centre)
    if (saved.findings or {}).get("has_pattern") is False:
        output.careful(f"{words.no_more(saved.n_people or 1)} This order is no better than chance.")
    distances, inside = _distances(saved, table) + _effects(effects, table), _inside(saved, table)
    measure = "distance" if saved.slope is None else "score"
    heading = measure if saved.slope is None else words.LESS_IS_BETTER
    ranking = ranked(table, distances, gaps, inside)
    return ItemRanking(ranking, table, feature_names(saved), measure, heading, "distance", saved)


def _by_population(population: Population, items: str, user: str | None) -> ItemRanking:
    """By everybody's mean utility, or that of one person; more is better."""
    from coombs import words
    from coombs.insights.people_explanation import has_pattern

    data = population._data
    names = None if data.feature_names is None else [str(name) for name in data.feature_names]
    table, gaps = _read_items(items, data.encoding, names, population._scaler.centre)
    if not has_pattern(population):
        output.careful(f"{words.no_more(1)} This order is no better than chance.")
    utilities = _utilities(population, user, table)
    ranking = ranked(table, -utilities, gaps)
    for one in ranking:
        one["utility"] = -one.pop("distance")
    encoded = None if data.encoding is None else data.encoding.table_names
    features = encoded or list(words.feature_names(names, data.n_features))
    heading = "mean utility" if user is None else "utility"
    return ItemRanking(ranking, table, features, "utility", heading, "utility")


def _utilities(population: Population, user: str | None, table: ItemTable) -> FloatArray:
    """(n,) of items for one person or all."""
    if user is None:
        return population._utilities(population._anybody, population._table(table))
    person = population.person(user)
    # One person alone is an IdealPoint.
    return person.utility(table) if isinstance(person, coombs.Person) else -person.distance(table)


def _write_csv(path: str, ranking: list[dict[str, Any]], columns: list[str], key: str) -> None:
    from coombs.data import files, naming

    rows = [[one["rank"], naming.text(one["item"]), one[key], *one["features"]] for one in ranking]
    files.write_csv(path, ["rank", "item", *columns], rows)


def _read_items(
    path: str, encoding: Encoding | None, names: list[str] | None, centre: FloatArray | None
) -> tuple[ItemTable, Gaps]:
    """The items in a file with the features that a model was learned from, in the model's order.

    And which cells are not known, for which a mean stands; that is said.
    """
    from coombs.data.catalogue import catalogue
    from coombs.data.encoding import Encoding, FeatureColumn
    from coombs.data.files import read_table
    from coombs.data.new_items import filled_table, gap_sentences

    if encoding is None and not names:
        return catalogue(path, names).table, []
    plain = Encoding(tuple(map(FeatureColumn, names or ())))
    with output.warned():
        table, gaps = filled_table(read_table(path), encoding or plain, centre)
    for sentence in gap_sentences(table, gaps, centre is not None):
        output.careful(sentence)
    return table, gaps


def _effects(effects: dict[str, float], table: ItemTable) -> FloatArray:
    """What items that the fit knows by name are worth beyond their features; how many these are is said."""
    import numpy as np

    if effects:
        known = sum(text in effects for text in table.texts)
        output.note(
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
        output.note(f"{left} are outside the declared limits ({', '.join(limits)}) and left out.")
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
    ranking: list[dict[str, Any]],
    table: ItemTable,
    features: list[str],
    measure: str = "distance",
    key: str = "distance",
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
        rows.append((str(one["rank"]), naming.text(one["item"]), f"{one[key]:.3g}", *texts))
    return TableBlock("rlr" + "r" * len(features), ("rank", "item", measure, *features), rows)


@command("explain", "say in words what a saved model holds", "coombs explain taste.json")
@argument("model", "JSON file")
@user_option
@json_option
def explain(model: str, user: str | None, as_json: bool) -> None:
    """Say what matters, where the ideal is and what is worth what: as `coombs fit` said it when it wrote
    the model, or as far as the numbers of another model hold it. For many people (`coombs people --save`),
    say what they share, or what one of them wants.
    """
    if (population := read_population(model, user)) is not None:
        found = population.explain() if user is None else population.person(user).explain()
        if as_json:
            output.as_json(found.to_dict())
        else:
            print(found)
        return
    saved = read_model(model)
    told = saved.explain()
    if as_json:
        output.as_json(told.to_dict() | {"n_people": saved.n_people})
    else:
        from coombs.render.sentences import sections

        output.together(saved)
        output.page(sections(told))
