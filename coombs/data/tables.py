"""Tables of items and of answers, out of arrays, data frames and files, as checked numpy arrays."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import naming
from coombs.data.cell_errors import ITEM, MUST, feature_called, item_called, wrong_cell
from coombs.messages import InputError as InputError
from coombs.messages import UnknownItemError as UnknownItemError

if TYPE_CHECKING:
    from coombs.data.encoding import Encoding

# An array, nested lists, or a pandas or polars frame: no type can name libraries that may be absent.
TableLike: TypeAlias = Any
FloatArray: TypeAlias = NDArray[np.float64]
Names: TypeAlias = NDArray[np.object_]
Columns: TypeAlias = dict[str, NDArray[Any]]
Where: TypeAlias = Callable[[int], str]

_WHOLE = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
LARGEST_WEIGHT = 1e9
"""The largest weight of an answer; beyond it arithmetic loses the other answers."""
LARGEST_EXACT = 2**53
"""Integers beyond it do not all have a float of their own."""


class Levels(NamedTuple):
    """Columns that are 0 but for one value: blocks of them, and the value that each block has.

    A block is a category, of which every item has one level; or marks of single items, whose value is 0 as
    no item is better for having one.
    """

    blocks: tuple[tuple[int, ...], ...] = ()
    present: tuple[float, ...] = ()

    def only(self, columns: Sequence[int]) -> Levels:
        """The same where only these columns are left, in this order."""
        place = {column: k for k, column in enumerate(columns)}
        left = [tuple(sorted(place[j] for j in block if j in place)) for block in self.blocks]
        kept = [k for k, block in enumerate(left) if block]
        return Levels(tuple(left[k] for k in kept), tuple(self.present[k] for k in kept))

    def columns_with(self, j: int) -> tuple[int, ...]:
        """All columns of the block of a column, or that one alone."""
        return next((block for block in self.blocks if j in block), (j,))


NO_LEVELS = Levels()
"""Of a table of numbers."""


class ItemTable(NamedTuple):
    """Checked items; `number_names` says that numbers in pairs are names, not positions.

    Names have the type that they came in; their texts differ. `encoding` says how the columns of the table
    became those of the matrix, whose names are `features`; None where they are the same numbers. Features are
    scaled by the first `n_scaled` items, None for all: those that come later leave the scale as it is.
    """

    matrix: FloatArray
    names: Names | None
    features: Names | None
    number_names: bool
    encoding: Encoding | None = None
    n_scaled: int | None = None

    @property
    def levels(self) -> Levels:
        """The columns of the matrix that are levels of categories."""
        return Levels() if self.encoding is None else self.encoding.levels

    @property
    def texts(self) -> list[str]:
        """What the items are called, as text; their positions where they have no names."""
        if self.names is None:
            return [str(i) for i in range(len(self.matrix))]
        return [naming.text(name) for name in self.names]

    def where(self, position: int) -> str:
        """How messages call the item at a position."""
        return row(position) if self.names is None else f"item {naming.text(self.names[position])!r}"

    def in_order(self, features: Sequence[str] | None, n_features: int) -> ItemTable:
        """The items with the features that were learned from in their order: by name where both have names.

        Examples
        --------
        >>> table = ItemTable(np.array([[1.0, 2.0]]), None, np.array(["price", "size"], dtype=object), False)
        >>> table.in_order(["size", "price"], 2).matrix.tolist()
        [[2.0, 1.0]]
        """
        if self.matrix.shape[1] != n_features:
            given = self.matrix.shape[1]
            raise InputError(f"The items have {given} features; the model was learned from {n_features}.")
        if self.features is None or features is None:
            return self
        there, wanted = self.features.tolist(), list(features)
        if there == wanted:
            return self
        if set(there) != set(wanted):
            j = next(j for j in range(n_features) if there[j] not in wanted)
            raise InputError(
                f"Feature {j} of the items is {there[j]!r}; the model was learned from {', '.join(wanted)}."
            )
        order = [there.index(name) for name in wanted]
        return self._replace(matrix=self.matrix[:, order].copy(order="C"), features=self.features[order])


def row(i: int) -> str:
    """How messages call a row of an array."""
    return f"row {i}"


def array_table(items: TableLike, where: Where = row) -> ItemTable:
    """The checked record of items in an array, which have no names; or of a list of names without features.

    Examples
    --------
    >>> array_table(["tea", "coffee"]).matrix.shape, array_table(np.zeros((3, 0))).texts
    ((2, 0), ['0', '1', '2'])
    """
    values = as_array(items, "items")
    if values.ndim == 1 and any(isinstance(cell, str) for cell in values.tolist()):
        return assemble(values.astype(object), {}, where)
    return ItemTable(_finite(_matrix(values, where), None, where), None, None, False)


def positions(table: ItemTable, values: NDArray[Any], where: Where) -> NDArray[np.intp]:
    """Positions of the items that a flat array names, by name or by position."""
    values = _whole_numbers(values)
    if values.dtype.kind in "bcmM" and not _has_names_like(table, values[:1]):
        raise InputError(f"Items cannot be chosen by {values.dtype} values; use positions or names.")
    if values.dtype.kind in "iuf" and not table.number_names:
        _refuse_ambiguous(table)
        return in_range(values, len(table.matrix), where)
    texts = labels(values, "item", where)
    index = {name: i for i, name in enumerate(table.texts)}
    found = np.fromiter(map(index.get, texts, repeat(-1)), dtype=np.intp, count=len(texts))
    if (found < 0).any():
        raise _unknown(texts, np.flatnonzero(found < 0), list(index), where)
    return found


def as_array(values: TableLike, what: str, *, exact: bool = False) -> NDArray[Any]:
    """Whatever was given, as one array; masked cells become None. If `exact`, cells keep their types."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        plain = np.array(values.data, dtype=object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    if hasattr(values, "toarray"):
        raise InputError(f"The {what} are a sparse matrix; give them as a dense one (.toarray()).")
    try:
        if frame_library(values):
            return stacked(list(frame_columns(values).values()))
        array = np.asarray(values)
        changes = exact and not hasattr(values, "dtype") and _changes_cells(values, array)
        return np.array(values, dtype=object) if changes else array
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"The {what} are not a table: rows must be of equal length.") from error


def as_list(values: Any, what: str) -> list[Any]:
    """Several values as a list; text is one value, and no list."""
    try:
        if not isinstance(values, str | bytes):
            return list(values)
    except TypeError:
        pass
    raise InputError(f"The {what} are {values!r}; they must be a list.")


def frame_columns(frame: Any) -> Columns:
    """The columns of a pandas or polars frame by name."""
    library = frame_library(frame)
    if library is None:
        raise InputError(f"The answers are a {type(frame).__name__}; they must be a data frame.")
    names = [str(name) for name in frame.columns]
    refuse_repeats(names, "column")
    if library == "polars":
        return {name: column.to_numpy() for name, column in zip(names, frame.get_columns(), strict=True)}
    return {name: frame.iloc[:, j].to_numpy() for j, name in enumerate(names)}


def by_name(values: Any, table: ItemTable, what: str) -> Any:
    """A dict or pandas Series by the items' names or positions in their order; anything else as it is."""
    is_dict = isinstance(values, Mapping)
    if not is_dict and not hasattr(values, "reindex"):
        return values
    named = {naming.text(label): value for label, value in values.items()}
    if len(named) == len(values) and named.keys() == set(table.texts):
        return [named[name] for name in table.texts]
    if is_dict:
        given = ", ".join(map(repr, list(named)[:5])) + ", ..." * (len(named) > 5)
        raise InputError(f"The {what} are of {given}; they must be of every item, by name or position, once.")
    if table.names is not None and not is_default(values.index):
        raise InputError(f"The index of the {what} is not the names of the items; it must be, in any order.")
    return values


def winner_first(pairs: Any) -> Any:
    """Pairs in a frame whose columns are called winner and loser, the winner first."""
    names = [str(name).strip().lower() for name in getattr(pairs, "columns", ())]
    return pairs[[pairs.columns[1], pairs.columns[0]]] if names == ["loser", "winner"] else pairs


def labels(values: NDArray[Any], what: str, where: Where) -> list[str]:
    """Labels as text; a blank or missing one is refused."""
    texts = [cell if type(cell) is str else naming.text(cell) for cell in _cells(values)]
    if "" in texts:
        told = {"what": what, "place": where(texts.index(""))}
        raise InputError("The {what} of {place} is missing; every row needs one.", **told)
    if (half := naming.with_half_character(texts)) is not None:
        raise InputError(f"The {what} of {where(half)} has half a character in it; write the whole one.")
    return texts


def numbers(values: NDArray[Any], what: str, where: Where) -> FloatArray:
    """A column as floats, NaN where missing; anything but real numbers is refused."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([_number(cell, what, where, i) for i, cell in enumerate(values)], dtype=np.float64)


def weights(values: NDArray[Any], where: Where) -> FloatArray:
    """A column of weights, checked."""
    mass = numbers(values, "Weight", where)
    wrong = ~((mass >= 0) & (mass <= LARGEST_WEIGHT))
    if wrong.any():
        i = int(wrong.argmax())
        given = "missing" if math.isnan(mass[i]) else f"{mass[i]:g}"
        raise InputError(f"Weight of {where(i)} is {given}; {weight_rule(mass[i])}.")
    return mass


def weight_rule(value: float) -> str:
    """What a number that is no weight must be."""
    if not (math.isfinite(value) and value >= 0):
        return "it must be finite and not negative"
    return f"it must be at most {LARGEST_WEIGHT:.0e}, beyond which other answers count for nothing"


def label_array(values: NDArray[Any], what: str, where: Where) -> Names:
    """Labels as an object array of the types they have; a blank or missing one is refused."""
    labels(values, what, where)
    array = np.empty(len(values), dtype=object)
    array[:] = [naming.plain(cell) for cell in _cells(values)]
    for i, cell in enumerate(array if values.dtype.kind == "O" else ()):
        if not naming.is_name(cell):
            raise InputError(f"The {what} of {where(i)} is {cell!r}; it must be text, a number or a date.")
    return array


def text_array(values: NDArray[Any], what: str, where: Where) -> Names:
    """Labels as an object array of texts; a blank or missing one is refused."""
    return np.array(labels(values, what, where), dtype=object)


def pandas() -> Any:
    """The pandas module, asked for only where a frame must be made or a Parquet file read."""
    try:
        import pandas as module
    except ImportError as error:
        raise ImportError('This needs pandas; install it with: pip install "coombs[all]"') from error
    return module


def frame_library(values: Any) -> str | None:
    """The library whose frame this is, told without importing either."""
    for kind in type(values).__mro__:
        library = kind.__module__.partition(".")[0]
        if kind.__name__ == "DataFrame" and library in ("pandas", "polars"):
            return library
    return None


def is_default(index: Any) -> bool:
    """Whether a pandas index is the 0, 1, 2, ... that pandas makes up itself."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def assemble(
    names: NDArray[Any] | None,
    columns: Columns,
    where: Where,
    learn: Callable[[Columns, list[str], Where], Encoding | None] = lambda *_: None,
) -> ItemTable:
    """Named columns and item names, checked and put together; `learn` says how the columns become numbers."""
    texts = None if names is None else labels(names, "item name", where)
    if texts is not None:
        refuse_repeats(texts, ITEM)
    call = where if texts is None else (lambda i: item_called(texts[i]))
    if not columns and names is None:
        raise InputError("The items have neither names nor feature columns; they need one or the other.")
    encoding = learn(columns, texts or [], call) if columns else None
    if encoding is None:
        features = np.array(list(columns), dtype=object)
        parts = [numbers(column, feature_called(name), call) for name, column in columns.items()]
        values = np.column_stack(parts) if parts else np.empty((len(texts or ()), 0))
        matrix = np.ascontiguousarray(values)
    else:
        called = texts or [str(i) for i in range(len(next(iter(columns.values()))))]
        features, matrix = encoding.names, encoding.encode(columns, call, called)
    kept = None if names is None else label_array(names, "item name", where)
    return ItemTable(_finite(matrix, features, call), kept, features, has_number_names(kept), encoding)


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """An object array of integers as an array of them, unless numpy has no type that holds them all."""
    if values.dtype.kind != "O" or not all(isinstance(value, Integral) for value in values):
        return values
    array = np.array(values.tolist())
    return array if array.dtype.kind in "biu" else values


def has_number_names(names: Names | None) -> bool:
    """Whether numbers in pairs are names: all names are numbers, or all are whole ones as text."""
    if names is None:
        return False
    return all(map(naming.is_number, names)) or all(_WHOLE.fullmatch(naming.text(one)) for one in names)


def _has_names_like(table: ItemTable, values: NDArray[Any]) -> bool:
    """Whether an item's name is of the type of these values."""
    kinds = {type(naming.plain(value)) for value in values}
    return table.names is not None and any(type(name) in kinds for name in table.names)


def _cells(values: NDArray[Any]) -> Any:
    """The cells of an array one by one; times as numpy's, which Python would have as bare numbers."""
    return values if values.dtype.kind in "mM" else values.tolist()


def stacked(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Columns side by side, each cell with its type."""
    alike = len({column.dtype for column in columns}) == 1
    return np.column_stack(columns if alike else [column.astype(object) for column in columns])


def _changes_cells(values: Any, array: NDArray[Any]) -> bool:
    """Whether numpy turned numbers beside text to text, or integers too large for that to floats."""
    if array.dtype.kind not in "fU":
        return False
    cells = np.array(values, dtype=object).ravel()
    if array.dtype.kind == "U":
        return not all(isinstance(cell, str) for cell in cells)
    return any(isinstance(cell, Integral) and abs(int(cell)) > LARGEST_EXACT for cell in cells)


def _matrix(values: NDArray[Any], where: Where) -> FloatArray:
    """A two-dimensional array as fresh float64 in C order."""
    if values.ndim != 2:
        raise InputError(
            f"The items have shape {values.shape}; they must be a table with a row for each item "
            "and a column for each feature, or a list of names."
        )
    if not values.shape[1]:
        return np.zeros(values.shape)
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64, order="C")
    parts = [numbers(column, f"Feature {j}", where) for j, column in enumerate(values.T)]
    return np.ascontiguousarray(np.column_stack(parts))


def _finite(matrix: FloatArray, features: Names | None, where: Where) -> FloatArray:
    """The matrix, read-only, once it has rows and every number in it is finite."""
    if not len(matrix):
        raise InputError("There are no items; the table needs a row for each item.")
    finite = np.isfinite(matrix)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        feature = j if features is None else repr(features[j])
        raise InputError(f"Feature {feature} of {where(i)} is {matrix[i, j]}; it must be a finite number.")
    matrix.flags.writeable = False
    return matrix


def _refuse_ambiguous(table: ItemTable) -> None:
    """Refuse numbers for items some of whose names are numbers."""
    for name in () if table.names is None else table.texts:
        if _NUMBER.fullmatch(name):
            raise InputError(
                f"Numbers could be positions or names, as item {name!r} is one; call items by text."
            )


def in_range(values: NDArray[Any], n_items: int, where: Where) -> NDArray[np.intp]:
    """Whole numbers from 0 to n_items - 1, as positions."""
    bad = (values < 0) | (values >= n_items)
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    if bad.any():
        told = {"position": values[bad][0], "place": where(int(bad.argmax())), "most": n_items - 1}
        raise InputError(
            "Position {position} in {place} is no item; positions are whole numbers from 0 to {most}.", **told
        )
    return values.astype(np.intp)


def _unknown(texts: list[str], rows: NDArray[np.intp], names: list[str], where: Where) -> InputError:
    """The error for names that no item has, with the nearest name there is."""
    first = texts[rows[0]]
    close = difflib.get_close_matches(first, names, n=1)
    known = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    hint = f"did you mean {close[0]!r}?" if close else f"the items are {known}."
    unknown = len({texts[i] for i in rows})
    total = f" ({unknown} unknown names in all)" if unknown > 1 else ""
    return UnknownItemError(f"Unknown item {first!r} in {where(int(rows[0]))}{total}; {hint}")


def refuse_repeats(names: list[str], noun: str) -> None:
    """Refuse a list in which a name comes twice."""
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        told = {"noun": noun, "name": repr(twice)}
        raise InputError("More than one {noun} is named {name}; names must differ.", **told)


def _number(value: Any, what: str, where: Where, i: int) -> float:
    """A cell as a float, NaN when missing."""
    if naming.is_missing(value):
        return math.nan
    if isinstance(value, Real | Decimal | np.bool_) and not isinstance(value, np.timedelta64):
        try:
            return float(value)
        except (OverflowError, ValueError):
            pass
    must = "unit" if re.match(r"Feature.*\n\d", f"{what}\n{value}") else "number"
    raise wrong_cell(what, where(i), repr(str(value)), MUST[must])


def holds_text(column: NDArray[Any]) -> bool:
    """Whether any cell is text."""
    return column.dtype.kind in "OUT" and any(isinstance(cell, str) for cell in column)
