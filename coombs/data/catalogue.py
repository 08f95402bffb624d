"""Things to choose from: the features that are learned from, and whatever else there is to show of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, naming, tables
from coombs.data.cells import yes_no
from coombs.data.column_roles import MOST_LEVELS, ItemColumn, Roles, has_two_scales, item_columns
from coombs.data.encoding import (
    CATEGORY,
    LOG,
    NOT_KNOWN,
    NUMBER,
    SAID,
    YES_NO,
    Encoding,
    FeatureColumn,
    Mark,
    is_gap,
    level_texts,
)
from coombs.data.files import NamedColumns
from coombs.data.name_lists import header_note
from coombs.data.profiles import is_described
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, TableLike, Where
from coombs.language import Translatable
from coombs.words import decimals, listed

MOST_MARKED = 60
"""Items with gaps of which each has an effect of its own; of more, a column says that a cell is not known."""
MOST_OTHER_CELLS = 3
"""Cells that are named, of a column of numbers, that are no numbers."""
SHOWN = Translatable("shown, not learned from")
"""What is said of a column that is text."""
Details = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class ColumnDecision:
    """What a column is taken for: its role, and that in words ("number in kg, 3 of 40 not known")."""

    name: str
    role: str
    text: str
    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: FeatureColumn, n: int) -> ColumnDecision:
        """Of a column that is learned from, of n items."""
        what = column.what
        if column.gaps:
            values = {"what": what, "gaps": column.gaps, "total": n}
            what = Translatable("{what}, {gaps} of {total} not known", **values)
        return cls(column.name, column.role, what, column.levels)


@dataclass(frozen=True)
class Catalogue:
    """Checked items, and of each the columns that are not features, as text.

    `notes` are sentences about columns: what was done with each, and which were not taken for features.
    `retired` are the positions of items that are not asked about any more.
    """

    table: ItemTable
    details: Details
    notes: tuple[str, ...] = ()
    retired: frozenset[int] = frozenset()

    @cached_property
    def names(self) -> list[str]:
        """What the items are called, as text; their positions where they have no names."""
        return self.table.texts

    @cached_property
    def labels(self) -> list[Any]:
        """The names with the type that they came in; positions as text where there are none."""
        return self.names if self.table.names is None else self.table.names.tolist()

    @cached_property
    def current(self) -> list[int]:
        """Positions of the items that are asked about and ranked."""
        return [i for i in range(len(self.table.matrix)) if i not in self.retired]

    @cached_property
    def current_table(self) -> ItemTable:
        """Those items."""
        if not self.retired:
            return self.table
        names = None if self.table.names is None else self.table.names[self.current]
        return self.table._replace(matrix=self.table.matrix[self.current], names=names, n_scaled=None)

    @cached_property
    def features(self) -> list[str]:
        """What the features are called."""
        table = self.table
        if table.features is None:
            return [f"feature {j}" for j in range(table.matrix.shape[1])]
        return [str(name) for name in table.features]

    @cached_property
    def columns(self) -> list[str]:
        """What the columns of the table are called that are learned from: a category is one."""
        return list(shown_cells(self.table))

    @cached_property
    def decisions(self) -> tuple[ColumnDecision, ...]:
        """What was decided of each column of the table that is learned from or shown, in that order."""
        encoding, n = self.table.encoding, len(self.table.matrix)
        known = [FeatureColumn(name) for name in self.columns] if encoding is None else encoding.columns
        learned = [ColumnDecision.of(one, n) for one in known if not one.gaps_of]
        shown = dict.fromkeys(name for row in self.details for name in row)
        return (*learned, *(ColumnDecision(name, "text", SHOWN) for name in shown))

    def only(self, rows: NDArray[np.bool_]) -> Catalogue:
        """Some of the items."""
        table, encoding = self.table, self.table.encoding
        matrix, features = table.matrix[rows], table.features
        if encoding is not None and encoding.marked:
            # An item that is gone needs no mark of what is not known of it.
            left = {name for name, stays in zip(self.names, rows, strict=True) if stays}
            kept = np.ones(matrix.shape[1], dtype=bool)
            kept[len(kept) - len(encoding.marked) :] = [mark.item in left for mark in encoding.marked]
            encoding = replace(encoding, marked=tuple(one for one in encoding.marked if one.item in left))
            matrix, features = matrix[:, kept], encoding.names
        names = None if table.names is None else table.names[rows]
        parts = ItemTable(matrix, names, features, table.number_names, encoding)
        details = tuple(one for one, stays in zip(self.details, rows, strict=True) if stays)
        return replace(self, table=parts, details=details)

    @cached_property
    def feature_range(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest value of each feature."""
        matrix = self.table.matrix[self.current]
        return matrix.min(axis=0), matrix.max(axis=0)


def catalogue(
    items: TableLike | str | PathLike[str],
    features: Sequence[str] | None = None,
    roles: Roles | None = None,
) -> Catalogue:
    """Items out of an array, a frame, or a CSV or Parquet file.

    Columns of numbers, dates, yes and no, and categories are features; other text is a detail, such as a
    picture or a link. In files a column that only numbers the items (an id, or 1, 2, 3, ...) is their names,
    or a detail. `features` names the columns to learn from, as "town" or "town:category"; the others are
    details then. `roles` says of single columns what they are.
    """
    if isinstance(items, Catalogue):
        return items
    if isinstance(features, str) or not isinstance(features, Sequence | NoneType):
        raise InputError(f"features is {features!r}; it must be a list of columns' names.")
    if not isinstance(roles, Mapping | NoneType):
        raise InputError(f"roles is {roles!r}; it must be a dict from columns' names to what they are.")
    features = None if features is None else [str(name) for name in features]
    table = named_columns(items)
    if table is None:
        if features is not None or roles:
            what = "roles" if features is None else "features"
            raise InputError(f"{what} names columns; these items are an array, which has no names.")
        found = tables.array_table(items)
        return Catalogue(found, ({},) * len(found.matrix))
    features, roles = with_roles(features, roles, table)
    table, other = _with_numbers(table, roles)
    columns = item_columns(table, features, roles=roles)
    checked = _checked(table, columns)
    shown = {column.name: table.columns[column.name] for column in columns if column.role == "detail"}
    told = [one for one in table.sentences if "kept as text" not in one]
    told += [*_notes(columns, features), *_told(checked, columns, table), *other]
    told += filter(None, [header_note(table), answers_note(table)])
    return Catalogue(checked, details_of(shown, len(checked.matrix)), tuple(told))


def with_roles(
    features: Sequence[str] | None, roles: Roles | None, table: NamedColumns
) -> tuple[Sequence[str] | None, Roles | None]:
    """Columns to learn from and roles, of features some of which may say their role: town:category."""
    split = [
        (name, "") if name in table.columns else tuple(name.rpartition(":")[::2]) for name in features or ()
    ]
    told: Roles = {
        name: role.split("<") if "<" in role else role
        for name, role in split
        if role and name in table.columns
    }
    if features is None or not told:
        return features, roles
    plain = [name if name in told else whole for whole, (name, _) in zip(features, split, strict=True)]
    return plain, {**told, **(roles or {})}


def named_columns(items: TableLike | str | PathLike[str]) -> NamedColumns | None:
    """Items in a file or a frame as named columns; None for an array."""
    if isinstance(items, NamedColumns):
        return items
    if isinstance(items, str | PathLike):
        return files.read_table(items)
    return files.frame_table(items) if tables.frame_library(items) else None


def _notes(columns: Sequence[ItemColumn], features: Sequence[str] | None) -> Iterator[str]:
    """What is good to know about columns of numbers that are not learned from, though nobody said so."""
    for i, column in enumerate(columns if features is None else ()):
        # That a first column which is called id or name holds the names is no news.
        if column.numbers_items and not (i == 0 and column.name.strip().lower() in files.NAME_HEADERS):
            yield column.why


def _told(table: ItemTable, columns: Sequence[ItemColumn], source: NamedColumns) -> Iterator[str]:
    """What was done with each column, where it is not only that numbers are learned from."""
    why = {name: f" ({one.phrase})" for name, one in source.readings.items() if one.is_kept_as_text}
    details = [one.name for one in columns if one.role == "detail"]
    shown = [f"{name}: {SHOWN}{why.get(name, '')}" for name in details]
    if table.encoding is None and why.keys() & set(details):
        yield f"{'; '.join(shown)}."
    if table.encoding is not None:
        learned = [f"{one.description}{why.get(one.name, '')}" for one in table.encoding.columns]
        yield f"{'; '.join([*learned, *shown])}."
        yield from cautions(table)


def _with_numbers(table: NamedColumns, roles: Roles | None) -> tuple[NamedColumns, list[str]]:
    """The table with what is no number not known, where the user says that a column is one; and sentences."""
    said = [str(name) for name, role in (roles or {}).items() if role in (NUMBER, LOG)]
    told = []
    for name, rows in table.other_cells(said).items():
        named = listed([repr(str(table.columns[name][i])) for i in rows], MOST_OTHER_CELLS)
        told.append(f"{name}: no number, and so not known: {named}.")
    return table.with_numbers(said) if told else table, told


def cautions(table: ItemTable) -> Iterator[str]:
    """What is good to know of columns as they are learned from: categories without a pattern, and gaps."""
    for one in () if table.encoding is None else table.encoding.columns:
        if one.role == CATEGORY and len(one.levels) == len(table.matrix) > 2:
            yield Translatable(
                "All cells of {column} differ: as a category it tells no more than the names do.",
                column=one.name,
            )
    if marked := 0 if table.encoding is None else len(table.encoding.marked):
        yield Translatable(
            "{n} item has a cell that is not known: only answers about it say what it is worth."
            "|{n} items have a cell that is not known: only answers about them say what it is worth.",
            n=marked,
        )


def answers_note(table: NamedColumns) -> str | None:
    """What is to be said of a file that somebody may have taken for a file of items."""
    names = {name.strip().lower() for name in table.columns}
    told = (
        {"left", "right"},
        {"winner", "loser"},
        {"chosen", "rejected"},
        {"user", "item"},
        {"best", "worst"},
    )
    if table.file and (is_described(table) or any(map(names.issuperset, told))):
        return Translatable(
            "{file} looks like answers, not like items: coombs fit learns from such a file.", file=table.file
        )
    return None


def item_table(items: TableLike | NamedColumns, roles: Roles | None = None) -> ItemTable:
    """The checked record of items that are only learned from.

    Text that is a detail is left out with a warning: nothing could show what it says.
    """
    if isinstance(items, ItemTable):
        return items
    table = named_columns(items)
    if table is None:
        return tables.array_table(items)
    table, other = _with_numbers(table, roles)
    columns = item_columns(table, roles=roles)
    asked = {str(name) for name in roles or {}}
    read = {name: one.phrase for name, one in table.readings.items() if one.is_kept_as_text}
    passed = [
        f"{one.name} ({read.get(one.name, one.against)})"
        for one in columns
        if one.role == "detail" and one.against and one.name not in asked
    ]
    checked = _checked(table, columns)
    for sentence in other:
        warnings.warn(sentence, UserWarning, stacklevel=3)
    if passed:
        warnings.warn(
            f"Not learned from: {', '.join(passed)}. "
            'roles={"...": "category"} says what a column is, to learn from it; "ignore" leaves it out.',
            UserWarning,
            stacklevel=3,
        )
    return checked


def shown_cells(table: ItemTable) -> dict[str, list[float | str]]:
    """The columns that are learned from as people know them: numbers, and all else as text.

    Examples
    --------
    >>> towns = FeatureColumn("town", CATEGORY, ("rural", "urban"))
    >>> shown_cells(ItemTable(np.eye(2), None, None, False, Encoding((towns,))))
    {'town': ['rural', 'urban']}
    """
    names = table.features if table.features is not None else range(table.matrix.shape[1])
    if table.encoding is None:
        called = [str(name) if table.features is not None else f"feature {name}" for name in names]
        return {name: column.tolist() for name, column in zip(called, table.matrix.T, strict=True)}
    cells = table.encoding.cells(table.matrix)
    return {
        one.name: [
            cell if one.role in (NUMBER, LOG) and cell is not None else one.text(cell)
            for cell in (cells[one.name].tolist() if one.role in (NUMBER, LOG) else cells[one.name])
        ]
        for one in table.encoding.columns
        if not one.gaps_of
    }


def shown_texts(table: ItemTable) -> tuple[list[str], list[list[str]]]:
    """The names of those columns, and the texts of each item's cells, numbers of a column alike."""
    columns = shown_cells(table)
    texts = []
    for cells in columns.values():
        values = np.array([cell for cell in cells if not isinstance(cell, str)], dtype=float)
        digits = decimals(values) if len(values) else 0
        texts.append([cell if isinstance(cell, str) else f"{cell:.{digits}f}" for cell in cells])
    return list(columns), [[of[i] for of in texts] for i in range(len(table.matrix))]


def details_of(columns: Columns, n: int) -> Details:
    """Columns that are shown, as text of each of n items."""
    texts = {name: [naming.text(cell) for cell in column] for name, column in columns.items()}
    return tuple({name: cells[i] for name, cells in texts.items()} for i in range(n))


def _checked(table: NamedColumns, columns: Sequence[ItemColumn]) -> ItemTable:
    """The items with their features, and with their names."""
    if table.columns and not table.n_rows:
        raise InputError("There are no items; the table needs a row for each item.")
    named = (table.columns[column.name] for column in columns if column.role == "names")
    checked = encoded_items(table, columns, next(named, table.index), np.arange(table.n_rows))
    n_features = sum(column.role == "feature" for column in columns)
    if table.has_headers or n_features < len(columns) or checked.encoding is not None or not n_features:
        return checked
    return checked._replace(features=None)


def encoded_items(
    table: NamedColumns, columns: Sequence[ItemColumn], names: NDArray[Any] | None, rows: NDArray[np.intp]
) -> ItemTable:
    """Some rows of a table as items of these names: its features, as their roles say."""
    features = [column for column in columns if column.role == "feature"]
    cells = {
        one.name: (
            _yes_no_cells(table.columns[one.name]) if one.learned_as == YES_NO else table.typed[one.name]
        )[rows]
        for one in features
    }

    def learn(known: Columns, texts: list[str], where: Where) -> Encoding | None:
        units = {name: reading.unit for name, reading in table.readings.items()}
        learned = [_learned(one, known[one.name], units.get(one.name, ""), where) for one in features]
        called = texts or [str(i) for i in range(len(rows))]
        found = Encoding(*_with_gaps(learned, known, called))
        return None if found.is_plain else found

    return tables.assemble(names, cells, lambda i: table.where(int(rows[i])), learn)


def _yes_no_cells(column: NDArray[Any]) -> NDArray[Any]:
    """Cells of yes and no as those words, blank where it is not known; others as they are."""
    values = yes_no(column)
    if values is None:
        return column
    return np.where(np.isnan(values), "", np.where(values > 0, "yes", "no")).astype(object)


def _with_gaps(
    columns: Sequence[FeatureColumn], cells: Columns, names: Sequence[str]
) -> tuple[tuple[FeatureColumn, ...], tuple[Mark, ...]]:
    """The columns, and marks of the items of which something is not known.

    Of very many such items, a column beside each column with gaps says so instead.
    """
    gaps = {one.name: is_gap(cells[one.name]) for one in columns if one.fill is not None}
    rows: list[int] = np.flatnonzero(np.logical_or.reduce(list(gaps.values()))).tolist() if gaps else []
    if len(rows) > MOST_MARKED:
        flags = [FeatureColumn(f"{name} {NOT_KNOWN}", YES_NO, gaps_of=name) for name in gaps]
        return (*columns, *flags), ()
    return tuple(columns), tuple(Mark(names[i], tuple(name for name in gaps if gaps[name][i])) for i in rows)


def _learned(column: ItemColumn, cells: NDArray[Any], unit: str, where: Where) -> FeatureColumn:
    """How the cells of a feature become numbers."""
    levels = column.levels
    if column.learned_as == CATEGORY:
        texts = level_texts(cells)
        levels = tuple(sorted(set(texts) - {NOT_KNOWN})) + (NOT_KNOWN,) * (NOT_KNOWN in texts)
        if len(levels) > max(MOST_LEVELS, 1) and len(levels) == len(texts):
            raise InputError(
                "All {total} cells of column {name} differ; a category has levels that repeat.",
                total=len(texts),
                name=repr(column.name),
            )
    gaps = int(is_gap(cells).sum())
    found = FeatureColumn(column.name, column.learned_as, levels, unit, gaps)
    if column.is_said and found.role in (NUMBER, LOG) and has_two_scales(cells):
        found = replace(found, scale_by=SAID)
    if not gaps or column.learned_as == CATEGORY:
        return found
    nothing = InputError("No cell of column {name} is known; leave it out.", name=repr(column.name))
    if gaps == len(cells):
        raise nothing
    encoded = replace(found, fill=math.nan).encode(cells, where)
    known = encoded[~np.isnan(encoded)]
    if not len(known):
        raise nothing
    with np.errstate(over="ignore"):
        middle = float(known.mean())
    # The sum of huge numbers overflows where their mean does not.
    return replace(found, fill=middle if math.isfinite(middle) else float((known / len(known)).sum()))
