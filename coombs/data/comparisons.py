"""The data: answers "I prefer A to B" about items with known features, checked once, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from coombs.data import checking, naming, notebook, tables
from coombs.data.answer_shapes import AnswerShapes
from coombs.data.catalogue import item_table
from coombs.data.checking import Positions, Signs
from coombs.data.column_roles import Roles
from coombs.data.constructors import Constructors
from coombs.data.encoding import Encoding
from coombs.data.orders import NOUNS, Orders, Ratings
from coombs.data.shape_constructors import Column
from coombs.data.shape_tables import long_rows
from coombs.data.tables import FloatArray, InputError, ItemTable, Levels, Names, TableLike
from coombs.words import count

__all__ = ["Comparisons", "InputError"]

Rows: TypeAlias = slice | ArrayLike


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Comparisons(AnswerShapes, Constructors):
    """Answers of the form "I prefer item i to item j", with the items they are about.

    Answer k is a pair (i_k, j_k) of items and y_k: +1 when the first is preferred, -1 when the second
    is, 0 for a tie. Answers may repeat and contradict each other. Immutable; arrays are read-only.
    Choices among several, rankings and ratings come after the pairs (`from_choices`, `from_best_worst`,
    `from_rankings`, `from_ratings`).

    Parameters
    ----------
    items : (n_items, n_features) array-like, pandas DataFrame (index: item names) or polars DataFrame
        (a single text column: item names); or a list of names, of items without features
    pairs : (n, 2) array-like or frame of two columns
        By name or by position, (winner, loser) unless `y` says otherwise. Numbers are positions,
        except where item names are themselves numbers (a pandas index): then they are names.
    y : (n,) array-like of +1 or True, -1 or False, 0; default all +1. 0 and 1 without any -1 is refused,
        as labels of that kind are as common as ties are rare
    users : (n,) labels of any type; who gave each answer
    weights : (n,) numbers from 0 to 1e9, not all zero; default all 1
    roles : dict from columns of a frame of items to what they are: "number", "log", "category", "ordered",
        "yes/no", "date", "text" or "ignore"; or a list of the levels of an ordered one, the lowest first.
        By default by their cells: text of few different words is a category

    Names and users come out with the type they went in.

    Attributes
    ----------
    items, item_names, feature_names : (n_items, n_features) numbers and their names, None without; a category
        has a column of 0 and 1 for each level
    encoding : how the columns of the items became those numbers; None where they are the same
    n_scaled : features are scaled by so many of the first items; None for all
    pairs, y, weights, users : (n, 2) positions and (n,) each; users are None where nobody is named
    orders, ratings : answers about several things, and ratings; None where there are none

    Examples
    --------
    >>> from coombs import Comparisons
    >>> data = Comparisons([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], [[0, 1], [2, 1]], y=[-1, 0])
    >>> data
    Comparisons(2 answers about 3 items with 2 features, 1 tie)
    """

    items: FloatArray
    item_names: Names | None
    feature_names: Names | None
    _number_names: bool
    encoding: Encoding | None = field(default=None, kw_only=True)
    n_scaled: int | None = field(default=None, kw_only=True)
    pairs: Positions
    y: Signs
    weights: FloatArray
    users: Names | None
    orders: Orders | None
    ratings: Ratings | None

    def __init__(
        self,
        items: TableLike,
        pairs: TableLike,
        y: Column = None,
        users: Column = None,
        weights: Column = None,
        *,
        roles: Roles | None = None,
    ) -> None:
        table = checking.two_items(item_table(items, roles))
        rows = tables.as_array(tables.winner_first(pairs), "pairs", exact=True)
        found = checking.pairs(table, rows, tables.row)
        self._store(
            *table, *checking.answers(found, checking.labels(y, len(found)), users, weights, tables.row)
        )

    def _store(self, *values: Any) -> None:
        """Set every field, in their order, arrays read-only."""
        missing = (None,) * (len(self.__slots__) - len(values))
        for name, value in zip(self.__slots__, (*values, *missing), strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def at_positions(
        cls,
        table: ItemTable,
        pairs: Positions,
        y: Signs,
        weights: FloatArray,
        users: Names | None = None,
        orders: Orders | None = None,
        ratings: Ratings | None = None,
    ) -> Self:
        """Return answers stored by position about items that were checked before: nothing is parsed.

        Parameters
        ----------
        table : `item_table` of other comparisons of the same items
        pairs : (n, 2) positions; never names, whatever the items are called
        y, weights : (n,) of -1, 0, 1; (n,) numbers
        users : (n,) labels or None
        orders, ratings : the answers that are not about pairs, or None

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons([[0.0], [1.0]], [[0, 1]])
        >>> Comparisons.at_positions(data.item_table, data.pairs, data.y, data.weights) == data
        True
        """
        return cls._of(*table, pairs, y, weights, users, orders, ratings)

    @classmethod
    def concatenate(cls, parts: Sequence[Comparisons]) -> Self:
        """Return all answers of parts that are about the same items.

        Parameters
        ----------
        parts : at least one Comparisons

        Returns
        -------
        Comparisons, in the parts' order; with users where all parts have them

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [2, 1]])
        >>> Comparisons.concatenate([data[:1], data[1:]]) == data
        True
        """
        first = parts[0]
        for part in parts[1:]:
            if not np.array_equal(first.items, part.items) or first.item_table.texts != part.item_table.texts:
                raise InputError("The answers are about different items; they must be about the same.")
        pairs, y, weights = (
            np.concatenate([getattr(part, column) for part in parts]) for column in ("pairs", "y", "weights")
        )
        known = [part.users for part in parts if part.users is not None]
        paired = [part for part in parts if len(part.pairs)]
        users = np.concatenate(known) if len(known) == len(parts) and paired else None
        if paired and all(part.users is not None for part in paired):
            users = np.concatenate([part.users for part in paired if part.users is not None])
        orders: Orders | None = None
        ratings: Ratings | None = None
        for part in reversed(parts):
            orders = orders if part.orders is None else part.orders.joined(orders)
            ratings = ratings if part.ratings is None else part.ratings.joined(ratings)
        return cls._of(*first.item_table, pairs, y, weights, users, orders, ratings)

    @classmethod
    def _joined(cls, parts: list[Self]) -> Self:
        return cls.concatenate(parts)

    def __add__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        return Comparisons.concatenate([self, other])

    def with_answers(self, y: Column = None, weights: Column = None) -> Comparisons:
        """Return the same pairs by the same users with another `y` or other weights.

        Parameters
        ----------
        y, weights : (n,) as for `Comparisons`; None leaves them as they are

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons([[0.0], [1.0]], [[0, 1], [0, 1]])
        >>> data.with_answers(y=[1, -1], weights=[1, 3]).weights.tolist()
        [1.0, 3.0]
        """
        n, signs, mass = len(self.pairs), self.y, self.weights
        if y is not None:
            given = checking.flat(y, "y", n)
            # Folds of one's own y are as they were, also where they have ties and no -1.
            same = given.dtype.kind in "iuf" and np.array_equal(given, self.y)
            signs = self.y if same else checking.signs(given, tables.row)
        if weights is not None:
            mass = checking.positive_weights(checking.flat(weights, "weights", n), tables.row)
        return self._of(*self.item_table, self.pairs, signs, mass, self.users, self.orders, self.ratings)

    @property
    def item_table(self) -> ItemTable:
        """The items with their names, which `Comparisons` takes without checking them again."""
        names = self.item_names, self.feature_names, self._number_names
        return ItemTable(self.items, *names, self.encoding, self.n_scaled)

    @property
    def levels(self) -> Levels:
        """The columns of `items` that are levels of categories."""
        return self.item_table.levels

    @property
    def n_items(self) -> int:
        """The number of items, compared or not."""
        return len(self.items)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.items.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, 2), the shape of `pairs`."""
        return len(self), 2

    def __len__(self) -> int:
        return len(self.pairs) + sum(len(part) for part in (self.orders, self.ratings) if part is not None)

    def __getitem__(self, rows: Rows | tuple[Rows, EllipsisType]) -> Comparisons:
        # scikit-learn asks for data[rows, ...].
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        key = rows if isinstance(rows, slice) else np.asarray(rows, dtype=None if np.size(rows) else np.intp)
        if not isinstance(key, slice) and key.ndim != 1:
            raise TypeError("Take answers by a slice, an array of rows or a mask.")
        if not isinstance(key, slice) and key.dtype == bool and len(key) != len(self):
            raise InputError(
                f"The mask has {len(key)} entries for {len(self)} answers; `answer_users` has who gave each."
            )
        rows = np.arange(len(self))[key]
        if not len(rows):
            raise InputError("The subset has no answers; at least one is needed.")
        n_pairs = len(self.pairs)
        if n_pairs == len(self):
            kept = [part if part is None else part[key] for part in (self.pairs, self.y, self.weights)]
            return self._of(*self.item_table, *kept, None if self.users is None else self.users[key])
        own = rows[rows < n_pairs]
        users = None if self.users is None else self.users[own]
        answers: list[Any] = [self.pairs[own], self.y[own], self.weights[own], users]
        first = n_pairs
        for part in (self.orders, self.ratings):
            count = 0 if part is None else len(part)
            inside = rows[(rows >= first) & (rows < first + count)] - first
            answers.append(part.take(inside) if part is not None and len(inside) else None)
            first += count
        return self._of(*self.item_table, *answers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparisons):
            return NotImplemented
        if not all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("items", "feature_names", "pairs", "y", "weights")
        ):
            return False
        if self._several() != other._several():
            return False
        # Names are told apart by their text: a CSV file has no types.
        return all(
            naming.texts(getattr(self, name)) == naming.texts(getattr(other, name))
            for name in ("item_names", "users")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable; storing them again makes them read-only.
        return Comparisons._of, self._values()

    def __repr__(self) -> str:
        items = count(self.n_items, "item")
        items += f" with {count(self.n_features, 'feature')}" if self.n_features else ""
        text = f"{count(len(self), 'answer')} about {items}"
        if self.shapes:
            text += f": {', '.join(count(n, NOUNS[name]) for name, n in self.shapes.items())}"
        if (users := self.answer_users) is not None:
            text += f", by {count(len(set(users)), 'user')}"
        ties = int((self.y == 0).sum())
        return f"Comparisons({text}, {count(ties, 'tie')})" if ties else f"Comparisons({text})"

    def _values(self) -> tuple[Any, ...]:
        """The value of every field, in their order."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def _repr_html_(self) -> str:
        """The first answers as a table for notebooks."""
        some = self.pairs[: notebook.MOST_ROWS]
        rows = [[self.name_of(i), self.name_of(j)] for i, j in some.tolist()]
        for row, sign, weight in zip(rows, self.y, self.weights, strict=False):
            row += ["tie" if sign == 0 else row[0 if sign > 0 else 1], f"{weight:g}"]
        if self.users is not None:
            rows = [[naming.text(user), *row] for user, row in zip(self.users, rows, strict=False)]
        header = [*["user"] * (self.users is not None), "left", "right", "winner", "weight"]
        return notebook.table(repr(self), header, rows, len(self), "answer")

    def name_of(self, position: int) -> str:
        """Return the name of the item at a position as text; without names, the position.

        Parameters
        ----------
        position : whole number from 0

        Returns
        -------
        str

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons([[0.0], [1.0]], [[0, 1]]).name_of(1)
        '1'
        """
        return str(position) if self.item_names is None else naming.text(self.item_names[position])

    def to_pairs(self) -> Positions:
        """Return the answers as choix and BoTorch's PairwiseGP take them; users are left out.

        Returns
        -------
        (n, 2) positions (winner, loser); ties and weights other than 1 cannot be said so and are refused

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons([[0.0], [1.0]], [[0, 1]], y=[-1]).to_pairs().tolist()
        [[1, 0]]
        """
        if self.shapes:
            raise InputError(
                "Choices, rankings and ratings are not pairs; oriented() has what they say of every two."
            )
        ties, weighted = int((self.y == 0).sum()), int((self.weights != 1).sum())
        if ties or weighted:
            odd = f"{count(ties, 'tie')} and {count(weighted, 'weight')} other than 1"
            raise InputError(f"Pairs cannot say {odd}; drop them: data[(data.y != 0) & (data.weights == 1)].")
        return np.where(self.y[:, None] < 0, self.pairs[:, ::-1], self.pairs)

    def to_frame(self) -> Any:
        """Return the answers as a frame, which `from_frame` turns into the same Comparisons again.

        Returns
        -------
        pandas.DataFrame with the columns user, left, right, winner, weight; items by name, or by position
            where they have none; `winner` is one of the two or "tie". Where there are choices, rankings or
            ratings: a row for each thing in an answer, with the columns answer, shape, user, item, place,
            weight; `place` is 1 for the best, or the rating

        Examples
        --------
        >>> from coombs import Comparisons
        >>> print(Comparisons([[0.0], [1.0]], [[0, 1]], y=[-1]).to_frame().to_string(index=False))
        user  left  right  winner  weight
        None     0      1       1     1.0
        """
        called = np.arange(self.n_items) if self.item_names is None else self.item_names
        if self.shapes:
            return tables.pandas().DataFrame(long_rows(self, called)).infer_objects()
        left, right = called[self.pairs.T]
        tied = self.y == 0
        clash = tied & ((left == "tie") | (right == "tie"))
        if clash.any():
            raise InputError(f"Row {clash.argmax()} ties an item named 'tie'; give the item another name.")
        winner = np.where(self.y > 0, left, right).astype(object)
        winner[tied] = "tie"
        columns = {"user": self.users, "left": left, "right": right, "winner": winner}
        return tables.pandas().DataFrame(columns | {"weight": self.weights}).infer_objects()
