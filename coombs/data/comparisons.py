"""The one datum: answers "I prefer A to B" about items with known features, checked once, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from coombs.data import checking, files, naming, preflib, tables
from coombs.data.checking import Positions, Signs
from coombs.data.tables import FloatArray, InputError, ItemTable, Names, TableLike, Where
from coombs.words import count

__all__ = ["Comparisons", "InputError"]

Column: TypeAlias = ArrayLike | None
Rows: TypeAlias = slice | ArrayLike


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Comparisons:
    """Answers of the form "I prefer item i to item j", with the items they are about.

    Answer k is a pair (i_k, j_k) of items and y_k: +1 when the first is preferred, -1 when the second
    is, 0 for a tie. Answers may repeat and contradict each other. Immutable; arrays are read-only.

    Parameters
    ----------
    items : (n_items, n_features) array-like, pandas DataFrame (index: item names) or polars DataFrame
        (a single text column: item names)
    pairs : (n, 2) array-like or frame of two columns
        By name or by position, (winner, loser) unless `y` says otherwise. Numbers are positions,
        except where item names are themselves numbers (a pandas index): then they are names.
    y : (n,) array-like of +1 or True, -1 or False, 0; default all +1. 0 and 1 without any -1 is refused,
        as labels of that kind are as common as ties are rare
    users : (n,) labels of any type; who gave each answer
    weights : (n,) numbers from 0 to 1e9, not all zero; default all 1

    Names and users come out with the type they went in.

    Examples
    --------
    >>> data = Comparisons([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], [[0, 1], [2, 1]], y=[-1, 0])
    >>> data
    Comparisons(2 answers about 3 items with 2 features, 1 tie)
    """

    items: FloatArray
    item_names: Names | None
    feature_names: Names | None
    _number_names: bool
    pairs: Positions
    y: Signs
    weights: FloatArray
    users: Names | None

    def __init__(
        self,
        items: TableLike,
        pairs: TableLike,
        y: Column = None,
        users: Column = None,
        weights: Column = None,
    ) -> None:
        table = checking.two_items(tables.item_table(items))
        rows = tables.as_array(tables.winner_first(pairs), "pairs", exact=True)
        found = checking.pairs(table, rows, tables.row)
        self._store(
            *table, *checking.answers(found, checking.labels(y, len(found)), users, weights, tables.row)
        )

    def _store(self, *values: Any) -> None:
        """Set every field, in their order, arrays read-only."""
        for name, value in zip(self.__slots__, values, strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, *values: Any) -> Comparisons:
        """Comparisons out of checked values, one for each field."""
        data = cls.__new__(cls)
        data._store(*values)
        return data

    @classmethod
    def from_ranking(cls, items: TableLike, order: ArrayLike) -> Comparisons:
        """Return the n (n - 1) / 2 answers of a ranking of n items: (order[a], order[b]) for a < b.

        `order` is names or positions of items, the best first; it may leave items out.

        Examples
        --------
        >>> Comparisons.from_ranking([[0.0], [1.0], [2.0]], [2, 0, 1]).pairs.tolist()
        [[2, 0], [2, 1], [0, 1]]
        """
        table = checking.two_items(tables.item_table(items))
        ranked = tables.positions(
            table, checking.flat(order, "ranking", exact=True), lambda i: f"place {i} of the ranking"
        )
        if len(ranked) < 2:
            raise InputError(f"The ranking has {count(len(ranked), 'item')}; it needs at least two.")
        counts = np.bincount(ranked)
        if counts.max() > 1:
            raise InputError(f"The ranking has {table.where(int(counts.argmax()))} twice; once is right.")
        return cls._of(*table, *checking.all_won(ranked[np.column_stack(np.triu_indices(len(ranked), 1))]))

    @classmethod
    def from_scores(
        cls, items: TableLike, scores: ArrayLike, higher_is_better: bool = True, groups: Column = None
    ) -> Comparisons:
        """Return an answer for every two items whose scores differ.

        Item i is preferred to item j when s_i > s_j; equal scores give no answer.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        scores : (n_items,) numbers
        higher_is_better : False where a low score is a good one
        groups : (n_items,) labels; only items of the same group (one judge's, say) are compared, and
            the group becomes the answers' user

        Examples
        --------
        >>> Comparisons.from_scores([[0.0], [1.0], [2.0]], [7, 9, 7]).pairs.tolist()
        [[1, 0], [1, 2]]
        """
        return cls._from_values(items, scores, "score", higher_is_better, groups)

    @classmethod
    def from_tiers(cls, items: TableLike, tiers: ArrayLike, groups: Column = None) -> Comparisons:
        """Return an answer for every two items of different tiers.

        Item i is preferred to item j when t_i < t_j: tier 1 is the best. The rest is as in `from_scores`.

        Examples
        --------
        >>> Comparisons.from_tiers([[0.0], [1.0], [2.0]], [1, 2, 2]).pairs.tolist()
        [[0, 1], [0, 2]]
        """
        return cls._from_values(items, tiers, "tier", False, groups)

    @classmethod
    def _from_values(
        cls, items: TableLike, values: Any, noun: str, higher_is_better: bool, groups: Any
    ) -> Comparisons:
        """Answers between items of different value, inside each group."""
        table = checking.two_items(tables.item_table(items))
        return cls._of(*table, *checking.by_value(table, values, noun, higher_is_better, groups))

    @classmethod
    def from_features(
        cls, pairs: ArrayLike, y: Column = None, users: Column = None, weights: Column = None
    ) -> Comparisons:
        """Return answers about items that are given by their features inside the pairs.

        Parameters
        ----------
        pairs : (n, 2, n_features) numbers; the items are the different vectors among them, sorted
        y, users, weights : as for `Comparisons`

        Examples
        --------
        >>> data = Comparisons.from_features([[[2.0], [1.0]], [[1.0], [3.0]]])
        >>> data.items.ravel().tolist(), data.pairs.tolist()
        ([1.0, 2.0, 3.0], [[1, 0], [0, 2]])
        """
        values = tables.as_array(pairs, "pairs")
        if values.ndim != 3 or values.shape[1] != 2 or not len(values):
            raise InputError(f"The pairs have shape {values.shape}; they must be (n, 2, n_features), n > 0.")
        flat = values.reshape(-1, values.shape[2])
        vectors = tables.item_table(flat, lambda i: tables.row(i // 2)).matrix
        # Adding 0.0 turns -0.0 into 0.0, so that the two are one item.
        matrix, inverse = np.unique(vectors + 0.0, axis=0, return_inverse=True)
        table = checking.two_items(ItemTable(matrix, None, None, False))
        inverse = inverse.reshape(-1, 2)
        found = checking.differing(inverse, inverse, tables.row)
        return cls._of(
            *table, *checking.answers(found, checking.labels(y, len(found)), users, weights, tables.row)
        )

    @classmethod
    def from_frame(cls, items: TableLike, answers: Any) -> Comparisons:
        """Return the answers in a pandas or polars frame.

        Its columns are `left`, `right`, `winner`, or `winner`, `loser`; also `user` and `weight` where
        there are any; others are ignored. Beside `left` and `right`, `winner` is the name of one of the
        two or, unless one of the two has that very name, a word: left, right, tie, or skip for a
        question that was not answered, which is left out.

        Examples
        --------
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [2, 1]])
        >>> Comparisons.from_frame(data.items, data.to_frame()) == data
        True
        """
        return cls.from_columns(tables.item_table(items), tables.frame_columns(answers), tables.row)

    @classmethod
    def read_csv(cls, items_path: files.PathType, answers_path: files.PathType) -> Comparisons:
        """Return the answers in a CSV file about the items in another.

        Parameters
        ----------
        items_path : path; one row an item, one column a feature. The first column holds the item
            names when it is text or its header is item, name, id or blank; otherwise there are none
        answers_path : path; columns as for `from_frame`, items called by name, or by position
            where they have no names

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "items.csv").write_text("item,price\\nlatte,4\\nmocha,5\\n")
        >>> _ = (folder / "answers.csv").write_text("left,right,winner\\nlatte,mocha,mocha\\n")
        >>> Comparisons.read_csv(folder / "items.csv", folder / "answers.csv")
        Comparisons(1 answer about 2 items with 1 feature)
        """
        columns, where = files.csv_columns(answers_path)
        weight = {name: files.typed(columns[name]) for name in columns if name.lower() == "weight"}
        return cls.from_columns(files.csv_items(items_path), columns | weight, where)

    @classmethod
    def read_parquet(cls, items_path: files.PathType, answers_path: files.PathType) -> Comparisons:
        """Return the answers in a Parquet file about the items in another, as `read_csv` does."""
        frame, where = files.parquet_frame(answers_path)
        return cls.from_columns(files.parquet_items(items_path), tables.frame_columns(frame), where)

    @classmethod
    def from_preflib(cls, items: TableLike, path: files.PathType) -> Comparisons:
        """Return what the orders in a PrefLib file (.soc, .soi, .toc, .toi) say of every two alternatives.

        Alternatives are items by name, or by position where items have no names and are as many. Each
        (winner, loser) comes once, its weight the number of voters; ties and what is unranked say nothing.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.soi"
        >>> _ = path.write_text("# ALTERNATIVE NAME 1: a\\n# ALTERNATIVE NAME 2: b\\n5: 2,1\\n2: 2,1\\n")
        >>> [part.tolist() for part in Comparisons.from_preflib([[0.0], [1.0]], path).oriented()]
        [[1], [0], [7.0]]
        """
        table = checking.two_items(tables.item_table(items))
        wins, voters = preflib.wins(table, path)
        return cls._of(
            *table, *checking.all_won(wins, checking.positive_weights(voters, lambda i: f"preference {i}"))
        )

    @classmethod
    def from_columns(cls, table: ItemTable, columns: tables.Columns, where: Where) -> Comparisons:
        """Return the answers in named columns about checked items; `where` calls the rows in messages."""
        given = checking.answer_columns(columns, where)
        pairs: Any = given.pairs
        if table.names is not None:
            # In a table of answers a number is never a position where the items have names.
            flat = tables.text_array(pairs.ravel(), "item", lambda i: where(int(given.rows[i // 2])))
            pairs = flat.reshape(pairs.shape)
        checking.two_items(table)

        def place(i: int) -> str:
            return where(int(given.rows[i]))

        found = checking.pairs(table, tables.as_array(pairs, "pairs"), place)
        return cls._of(*table, *checking.answers(found, given.y, given.users, given.weights, place))

    @classmethod
    def at_positions(
        cls, table: ItemTable, pairs: Positions, y: Signs, weights: FloatArray, users: Names | None = None
    ) -> Comparisons:
        """Return answers that are stored by position about checked items: nothing is parsed.

        Positions are no names, whatever the items are called.
        """
        return cls._of(*table, pairs, y, weights, users)

    @classmethod
    def concatenate(cls, parts: Sequence[Comparisons]) -> Comparisons:
        """Return all answers of parts that are about the same items; users where all parts have them.

        Examples
        --------
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [2, 1]])
        >>> Comparisons.concatenate([data[:1], data[1:]]) == data
        True
        """
        first = parts[0]
        if not all(np.array_equal(first.items, part.items) for part in parts):
            raise InputError("The answers are about different items; they must be about the same.")
        pairs, y, weights = (
            np.concatenate([getattr(part, column) for part in parts]) for column in ("pairs", "y", "weights")
        )
        known = [part.users for part in parts if part.users is not None]
        users = np.concatenate(known) if len(known) == len(parts) else None
        return cls.at_positions(first.item_table, pairs, y, weights, users)

    def with_answers(self, y: Column = None, weights: Column = None) -> Comparisons:
        """Return the same pairs by the same users with another `y` or other weights."""
        n, signs, mass = len(self), self.y, self.weights
        if y is not None:
            given = checking.flat(y, "y", n)
            # Folds of one's own y are as they were, also where they have ties and no -1.
            same = given.dtype.kind in "iuf" and np.array_equal(given, self.y)
            signs = self.y if same else checking.signs(given, tables.row)
        if weights is not None:
            mass = checking.positive_weights(checking.flat(weights, "weights", n), tables.row)
        return self.at_positions(self.item_table, self.pairs, signs, mass, self.users)

    @property
    def item_table(self) -> ItemTable:
        """The items with their names, which `Comparisons` takes without checking them again."""
        return ItemTable(self.items, self.item_names, self.feature_names, self._number_names)

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
        return len(self.pairs)

    def __getitem__(self, rows: Rows | tuple[Rows, EllipsisType]) -> Comparisons:
        # scikit-learn asks for data[rows, ...].
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        key = rows if isinstance(rows, slice) else np.asarray(rows, dtype=None if np.size(rows) else np.intp)
        if not isinstance(key, slice) and key.ndim != 1:
            raise TypeError("Take answers by a slice, an array of rows or a mask.")
        if not len(self.pairs[key]):
            raise InputError("The subset has no answers; at least one is needed.")
        values = self._values()
        return self._of(*values[:4], *(part if part is None else part[key] for part in values[4:]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparisons):
            return NotImplemented
        if not all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("items", "feature_names", "pairs", "y", "weights")
        ):
            return False
        # Names are told apart by their text: a CSV file has no types.
        return all(
            _texts(getattr(self, name)) == _texts(getattr(other, name)) for name in ("item_names", "users")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable; storing them again makes them read-only.
        return Comparisons._of, self._values()

    def __repr__(self) -> str:
        items = f"{count(self.n_items, 'item')} with {count(self.n_features, 'feature')}"
        text = f"{count(len(self), 'answer')} about {items}"
        if self.users is not None:
            text += f", by {count(len(set(self.users)), 'user')}"
        ties = int((self.y == 0).sum())
        return f"Comparisons({text}, {count(ties, 'tie')})" if ties else f"Comparisons({text})"

    def _values(self) -> tuple[Any, ...]:
        """The value of every field, in their order."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def name_of(self, position: int) -> str:
        """Return the name of the item at a position, which is the position itself without names."""
        return str(position) if self.item_names is None else naming.text(self.item_names[position])

    def oriented(self) -> tuple[Positions, Positions, FloatArray]:
        """Return the answers winner first.

        A tie (i, j) of weight w counts as (i, j) and (j, i) with w / 2 each; the reverse rows come
        last. Answers of weight zero are dropped.

        Returns
        -------
        winners, losers : (m,) positions
        weights : (m,) positive floats

        Examples
        --------
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [1, 2]], y=[-1, 0])
        >>> [part.tolist() for part in data.oriented()]
        [[1, 1, 2], [0, 2, 1], [1.0, 0.5, 0.5]]
        """
        used = self.weights > 0
        pairs, y, weights = self.pairs[used], self.y[used], self.weights[used]
        tied = y == 0
        wins = np.where(y[:, None] < 0, pairs[:, ::-1], pairs)
        wins = np.concatenate([wins, pairs[tied][:, ::-1]])
        mass = np.concatenate([np.where(tied, weights / 2, weights), weights[tied] / 2])
        return wins[:, 0].copy(), wins[:, 1].copy(), mass

    def to_pairs(self) -> Positions:
        """Return (n, 2) positions (winner, loser), as choix and BoTorch's PairwiseGP take them.

        Ties and weights other than 1 cannot be said so and are refused; users are left out.

        Examples
        --------
        >>> Comparisons([[0.0], [1.0]], [[0, 1]], y=[-1]).to_pairs().tolist()
        [[1, 0]]
        """
        ties, weighted = int((self.y == 0).sum()), int((self.weights != 1).sum())
        if ties or weighted:
            odd = f"{count(ties, 'tie')} and {count(weighted, 'weight')} other than 1"
            raise InputError(f"Pairs cannot say {odd}; drop them: data[(data.y != 0) & (data.weights == 1)].")
        return np.where(self.y[:, None] < 0, self.pairs[:, ::-1], self.pairs)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns user, left, right, winner, weight.

        Items go by name, or by position where they have none; `winner` is one of the two or "tie".
        `from_frame` with the same items gives the same Comparisons back.

        Examples
        --------
        >>> print(Comparisons([[0.0], [1.0]], [[0, 1]], y=[-1]).to_frame().to_string(index=False))
        user  left  right  winner  weight
        None     0      1       1     1.0
        """
        called = np.arange(self.n_items) if self.item_names is None else self.item_names
        left, right = called[self.pairs.T]
        tied = self.y == 0
        clash = tied & ((left == "tie") | (right == "tie"))
        if clash.any():
            raise InputError(f"Row {clash.argmax()} ties an item named 'tie'; give the item another name.")
        winner = np.where(self.y > 0, left, right).astype(object)
        winner[tied] = "tie"
        columns = {"user": self.users, "left": left, "right": right, "winner": winner}
        return tables.pandas().DataFrame(columns | {"weight": self.weights}).infer_objects()


def _texts(labels: Names | None) -> list[str] | None:
    """Names or users as text."""
    return None if labels is None else [naming.text(label) for label in labels]
