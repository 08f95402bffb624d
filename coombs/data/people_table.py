"""What is known of people beside their answers: a table with a row for each, as numbers."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data import naming, tables
from coombs.data.catalogue import item_table
from coombs.data.encoding import CATEGORY, NOT_KNOWN, Encoding
from coombs.data.new_items import table_for
from coombs.data.scaling import LARGEST
from coombs.data.tables import InputError
from coombs.data.user_columns import USER, user_header

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray, Names

SHOWN = 3
"""Names that a sentence shows."""
HINT = "give a DataFrame with a row for each person: its index, or a column user, says who"
"""What would be right."""


@dataclass(frozen=True)
class PeopleTable:
    """People in rows, and how columns become covariates: of mean 0 and variance 1 over those who answered.

    Parameters
    ----------
    names : (P,) who each row is of
    matrix : (P, Q) its cells as numbers
    features : (Q,) what the columns are called; those of a category have a name for each level
    encoding : how the table's columns became these, None if they are as they were
    centre, sizes : (Q,) what is taken off, and what it is divided by; levels of a category have one size
    columns : (q,) those that vary among people who answered
    """

    names: Names
    matrix: FloatArray
    features: Names
    encoding: Encoding | None
    centre: FloatArray
    sizes: FloatArray
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, frame: Any, answered: Names) -> PeopleTable:
        """From a frame, for the people who answered."""
        table = _numbers(_by_person(frame, answered))
        names, features, encoding, matrix = table.names, table.features, table.encoding, table.matrix
        if names is None or features is None:
            raise InputError(f"people does not say who its rows are of; {HINT}.")
        if encoding is not None and encoding.marked:
            # A person of whom a cell is not known has no column of their own here.
            matrix, features = matrix[:, : -len(encoding.marked)], features[: -len(encoding.marked)]
            encoding = replace(encoding, marked=())
        places = {naming.text(name): row for row, name in enumerate(names)}
        found = [places.get(naming.text(name), -1) for name in answered]
        rows = np.array([row for row in found if row >= 0], dtype=np.intp)
        if not len(rows):
            first = naming.text(answered[0])
            raise InputError(f"people has no row of anybody who answered (the first is {first!r}); {HINT}.")
        _warn_of_missing(answered, np.array(found))
        largest = np.abs(matrix).max(axis=0, initial=0.0)
        if (largest > LARGEST).any():
            j = int(largest.argmax())
            raise InputError(f"people: {features[j]!r} reaches {largest[j]:.0e}; give it in larger units.")
        centre, spread = matrix[rows].mean(axis=0), matrix[rows].std(axis=0)
        varies = spread > 1e-9 * np.maximum(np.abs(centre), 1e-300)
        sizes = np.where(varies, spread, 1.0)
        for block in () if encoding is None else encoding.levels.blocks:
            inside = list(block)
            sizes[inside] = max(float(np.sqrt((spread[inside] ** 2).sum())), 1e-12)
        return cls(names, matrix, features, encoding, centre, sizes, np.flatnonzero(varies))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {naming.text(name): row for row, name in enumerate(self.names)}

    @property
    def table_names(self) -> list[str]:
        """What the columns of the frame are called."""
        return list(map(str, self.features)) if self.encoding is None else self.encoding.table_names

    @property
    def sources(self) -> NDArray[np.intp]:
        """(q,) which column of the frame each that varies is of, numbered without a gap."""
        of = np.arange(len(self.features))
        if self.encoding is not None:
            order = self.table_names
            for column, block in zip(self.encoding.columns, self.encoding.blocks, strict=True):
                of[list(block)] = order.index(column.source)
        _, found = np.unique(of[self.columns], return_inverse=True)
        return found

    def values(self, names: Sequence[Any] | Names) -> FloatArray:
        """(n, q) covariates of people, 0 of those without a row."""
        rows = np.array([self._places.get(naming.text(name), -1) for name in names], dtype=np.intp)
        found = self._scaled(self.matrix[rows])
        found[rows < 0] = 0.0
        return found

    def has(self, name: Any) -> bool:
        """Whether somebody has a row."""
        return naming.text(name) in self._places

    def new(self, frame: Any, wanted: Sequence[Any] | Names) -> tuple[list[str], FloatArray]:
        """Who the rows of another frame are of, some of whom are wanted, and their (n, q) covariates."""
        given = _by_person(frame, wanted)
        _refuse_columns(given.columns, self.table_names)
        try:
            return list(given.index), self._encoded(given)
        except InputError as error:
            raise InputError(f"people: {error}".replace(" of item '", " of '")) from error

    def about(self, known: Mapping[str, Any]) -> FloatArray:
        """(q,) of somebody, by the names of columns; what is not said is not known."""
        if not isinstance(known, Mapping):
            raise InputError(f"about is a {type(known).__name__}; it must be a dict, as {{'age': 40}}.")
        names = self.table_names
        strange = [name for name in known if str(name) not in names]
        if strange:
            raise InputError(
                f"about has {strange[0]!r}, which was not learned from; what was is {', '.join(names)}."
            )
        told = {str(name): value for name, value in known.items() if not naming.is_missing(value)}
        if not told:
            return np.zeros(len(self.columns))
        frame = tables.pandas().DataFrame([{name: told.get(name) for name in names}])
        try:
            result: FloatArray = self._encoded(frame)[0]
        except InputError as error:
            raise InputError(f"about: {error}".replace(" of row 0 ", " ")) from error
        return result

    def _encoded(self, frame: Any) -> FloatArray:
        with warnings.catch_warnings():
            # Somebody of whom a cell is not known is nothing to warn of.
            for sentence in ("Feature .* is not known", f".*'{NOT_KNOWN}' was not learned from"):
                warnings.filterwarnings("ignore", message=sentence)
            names = list(map(str, self.features))
            matrix = table_for(frame, names, len(names), self.encoding, self.centre).matrix.copy()
        for block in () if self.encoding is None else self.encoding.levels.blocks:
            # A level that was not learned from is an average one.
            levels = list(block)
            strange = (matrix[:, levels] == 1).sum(axis=1) != 1
            matrix[np.ix_(strange, levels)] = self.centre[levels]
        return self._scaled(matrix)

    def _scaled(self, matrix: FloatArray) -> FloatArray:
        result: FloatArray = ((matrix - self.centre) / self.sizes)[:, self.columns]
        return result

    def labels(self) -> list[tuple[str, str]]:
        """Of each column that varies, the frame's column and, of a category or yes and no, the level."""
        found = [(str(name), "") for name in self.features]
        if self.encoding is not None:
            for column, block in zip(self.encoding.columns, self.encoding.blocks, strict=True):
                for place, j in enumerate(block):
                    found[j] = (column.source, _level(column, place))
        return [found[j] for j in self.columns]


def _level(column: Any, place: int) -> str:
    """Of a column of numbers, nothing."""
    if column.gaps_of:
        return NOT_KNOWN
    return column.levels[place] if column.role == CATEGORY and place < len(column.levels) else ""


def _numbers(frame: Any) -> tables.ItemTable:
    """The columns that are learned from; a warning says which are not."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            found = item_table(frame)
        except InputError as error:
            # Items are what such a table mostly has.
            raise InputError(f"people: {error}".replace(" of item '", " of '")) from error
    for one in raised:
        # What an item's column is can be said; a person's cannot.
        told = str(one.message).partition(" roles=")[0]
        warnings.warn(f"people: {told}", UserWarning, stacklevel=5)
    return found


def _by_person(frame: Any, wanted: Sequence[Any] | Names) -> Any:
    """A frame with people as its index; InputError where it says nobody, or somebody twice."""
    library = tables.frame_library(frame)
    if library is None:
        raise InputError(f"people is a {type(frame).__name__}; {HINT}.")
    frame = frame.to_pandas() if library == "polars" else frame
    if USER in frame.columns:
        frame = frame.set_index(USER)
    elif tables.is_default(frame.index) and len(frame.columns) > 1:
        frame = _with_names(frame, {naming.text(name) for name in wanted})
    texts = [naming.text(name) for name in frame.index]
    if not texts or not len(frame.columns):
        raise InputError(f"people is empty{' but for who is meant' if texts else ''}; {HINT}.")
    if "" in texts:
        raise InputError(f"Row {texts.index('')} of people does not say who is meant; {HINT}.")
    counts = Counter(texts)
    twice = max(texts, key=lambda text: counts[text])
    if counts[twice] > 1:
        raise InputError(f"people has {counts[twice]} rows of {twice!r}; leave all but one of them out.")
    return frame.set_axis(texts, axis=0)


def _with_names(frame: Any, meant: set[str]) -> Any:
    """By the column that names most of the people in question: the first, or one that is called like user.

    Where none does more than the rows' numbers, people are numbered in order.
    """
    headers = dict.fromkeys([frame.columns[0], *(name for name in frame.columns if user_header([str(name)]))])
    named = {name: len(meant.intersection(map(naming.text, frame[name]))) for name in headers}
    best = max(named, key=lambda name: named[name])
    numbered = len(meant.intersection(map(naming.text, frame.index)))
    return frame.set_index(best) if named[best] > numbered else frame


def _refuse_columns(given: Sequence[Any], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in {str(one) for one in given}]
    if missing:
        raise InputError(
            f"people has no column {missing[0]!r}; the population was learned from {', '.join(wanted)}."
        )


def _warn_of_missing(answered: Names, rows: NDArray[np.intp]) -> None:
    """Say who answered and has no row."""
    missing = [naming.text(name) for name in answered[rows < 0]]
    if missing:
        shown = ", ".join(map(repr, missing[:SHOWN]))
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        have = "has" if len(missing) == 1 else "have"
        warnings.warn(
            f"{shown}{more} answered and {have} no row in people: an average person's is taken.",
            UserWarning,
            stacklevel=4,
        )
