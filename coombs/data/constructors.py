"""How `Comparisons` are made of rankings, scores, tiers, feature vectors, frames and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from coombs.data import checking, files, preflib, tables
from coombs.data.catalogue import catalogue, item_table
from coombs.data.column_roles import Roles
from coombs.data.orders import CHOICE, SHAPES
from coombs.data.profiles import DescribedChoices, described_choices
from coombs.data.shape_constructors import (
    Column,
    ShapeConstructors,
    calling,
    names_of,
    probabilities,
    soft,
)
from coombs.data.shape_tables import Shaped, as_numbers, shaped
from coombs.data.tables import InputError, ItemTable, TableLike, Where
from coombs.data.user_columns import with_user
from coombs.words import count

_SHAPES = {name: code for code, name in enumerate(SHAPES)}


class Constructors(ShapeConstructors):
    """The class methods of `Comparisons` that make one."""

    __slots__ = ()

    @classmethod
    def from_ranking(cls, items: TableLike, order: ArrayLike) -> Self:
        """Return the n (n - 1) / 2 answers of a ranking of n items.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        order : (n,) names or positions of items, the best first; it may leave items out

        Returns
        -------
        Comparisons; the pairs are (order[a], order[b]) for a < b

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_ranking([[0.0], [1.0], [2.0]], [2, 0, 1]).pairs.tolist()
        [[2, 0], [2, 1], [0, 1]]
        """
        table = checking.two_items(item_table(items))
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
    ) -> Self:
        """Return an answer for every two items whose scores differ.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        scores : (n_items,) numbers, or a dict or pandas Series of them by the items' names
        higher_is_better : False where a low score is a good one
        groups : (n_items,) labels; only items of the same group (one judge's, say) are compared, and
            the group becomes the answers' user

        Returns
        -------
        Comparisons; the better item of each pair comes first, equal scores give no answer

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_scores([[0.0], [1.0], [2.0]], [7, 9, 7]).pairs.tolist()
        [[1, 0], [1, 2]]
        """
        return cls._from_values(items, scores, "score", higher_is_better, groups)

    @classmethod
    def from_tiers(cls, items: TableLike, tiers: ArrayLike, groups: Column = None) -> Self:
        """Return an answer for every two items of different tiers.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        tiers : (n_items,) numbers, the lowest being the best, or a dict or Series as for `from_scores`
        groups : (n_items,) labels, as for `from_scores`

        Returns
        -------
        Comparisons; the item of the better tier comes first, the same tier gives no answer

        Examples
        --------
        >>> from coombs import Comparisons
        >>> Comparisons.from_tiers([[0.0], [1.0], [2.0]], [1, 2, 2]).pairs.tolist()
        [[0, 1], [0, 2]]
        """
        return cls._from_values(items, tiers, "tier", False, groups)

    @classmethod
    def _from_values(
        cls, items: TableLike, values: Any, noun: str, higher_is_better: bool, groups: Any
    ) -> Self:
        """Answers between items of different value, inside each group."""
        table = checking.two_items(item_table(items))
        return cls._of(*table, *checking.by_value(table, values, noun, higher_is_better, groups))

    @classmethod
    def from_features(
        cls, pairs: ArrayLike, y: Column = None, users: Column = None, weights: Column = None
    ) -> Self:
        """Return answers about items that are given by their features inside the pairs.

        Parameters
        ----------
        pairs : (n, 2, n_features) numbers
        y, users, weights : as for `Comparisons`

        Returns
        -------
        Comparisons; the items are the different vectors among the pairs, sorted

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons.from_features([[[2.0], [1.0]], [[1.0], [3.0]]])
        >>> data.items.ravel().tolist(), data.pairs.tolist()
        ([1.0, 2.0, 3.0], [[1, 0], [0, 2]])
        """
        values = tables.as_array(pairs, "pairs")
        if values.ndim != 3 or values.shape[1] != 2 or not len(values):
            raise InputError(f"The pairs have shape {values.shape}; they must be (n, 2, n_features), n > 0.")
        flat = values.reshape(-1, values.shape[2])
        vectors = tables.array_table(flat, lambda i: tables.row(i // 2)).matrix
        # Adding 0.0 turns -0.0 into 0.0, so that the two are one item.
        matrix, inverse = np.unique(vectors + 0.0, axis=0, return_inverse=True)
        table = checking.two_items(ItemTable(matrix, None, None, False))
        found = inverse.reshape(-1, 2)
        if len(same := np.flatnonzero(found[:, 0] == found[:, 1])):
            row = tables.row(int(same[0]))
            raise InputError(f"In {row} both items have the same features; the two must differ.")
        return cls._of(
            *table, *checking.answers(found, checking.labels(y, len(found)), users, weights, tables.row)
        )

    @classmethod
    def from_profiles(
        cls,
        answers: Any,
        features: Sequence[str] | None = None,
        *,
        user: str | None = None,
        question: str | None = None,
        chosen: str | None = None,
    ) -> Self:
        """Return answers about profiles that are described in the answers themselves.

        Parameters
        ----------
        answers : pandas or polars frame, long or wide. In a long one each profile is a row: `question` says
            which rows are one question, `chosen` is 1 of the profile that was chosen and 0 of the others.
            In a wide one each question is a row: a feature has a column for each profile (left_price,
            right_price; price_1, price_2; price_a, price_b), `chosen` is left or right, 1 or 2, a or b, tie
            or skip
        features : columns to learn from, in a wide frame without the side, as price; by default all that
            differ between the profiles of a question, but for ids and other answers
        user, question, chosen : names of these columns where they are not recognised, as person, task and
            winner are

        Returns
        -------
        Comparisons; the items are the different profiles, called by their features

        Examples
        --------
        >>> import pandas as pd
        >>> from coombs import Comparisons
        >>> long = {"task": [1, 1, 2, 2], "price": [3, 4, 4, 2], "size": [1, 2, 2, 1], "chosen": [0, 1, 1, 0]}
        >>> data = Comparisons.from_profiles(pd.DataFrame(long))
        >>> data, data.name_of(0)
        (Comparisons(2 answers about 3 items with 2 features), '3, 1')
        >>> wide = {"price_1": [3, 4], "price_2": [4, 2], "size_1": [1, 2], "size_2": [2, 1]}
        >>> Comparisons.from_profiles(pd.DataFrame(wide | {"winner": [2, 1]})) == data
        True
        """
        table = files.frame_table(answers)
        found = described_choices(table, features, user=user, question=question, chosen=chosen)
        return cls.of_described(found)

    @classmethod
    def of_described(cls, found: DescribedChoices) -> Self:
        """Return the answers to questions that were read from a table.

        Parameters
        ----------
        found : what `coombs.data.profiles.described_choices` gave

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> from coombs.data.files import content_table
        >>> from coombs.data.profiles import described_choices
        >>> table = content_table(b"price_1,price_2,winner\\n3,4,1\\n2,3,1\\n", "pairs.csv")
        >>> Comparisons.of_described(described_choices(table))
        Comparisons(2 answers about 3 items with 1 feature)
        """

        def place(i: int) -> str:
            return found.where(i)

        table = checking.two_items(catalogue(found.profiles, found.features).table)
        table = table._replace(names=found.called, number_names=False)
        if max(map(len, found.sets)) > 2:
            called = [[found.called[i] for i in one] for one in found.sets]
            tiers = [
                [[None], one] if k is None else [[one[k]], [*one[:k], *one[k + 1 :]]]
                for one, k in zip(called, found.chosen, strict=True)
            ]
            return cls._of_orders(table, tiers, CHOICE, found.users, found.weights, place)
        signs = {None: 0, 0: 1, 1: -1}
        y = np.array([signs[one] for one in found.chosen], dtype=np.int8)
        return cls._of(*table, *checking.answers(np.array(found.sets), y, found.users, found.weights, place))

    @classmethod
    def from_frame(cls, items: TableLike, answers: Any, half_life: float | None = None) -> Self:
        """Return the answers in a pandas or polars frame.

        Parameters
        ----------
        items : table of items, as for `Comparisons`
        answers : frame with the columns `left`, `right`, `winner`, or `winner`, `loser`; also `user` and
            `weight` where there are any; others are ignored. Beside `left` and `right`, `winner` is the name
            of one of the two or, unless one of the two has that very name, a word: left, right, tie, or skip
            for a question that was not answered, which is left out. Columns of choices, rankings and ratings
            are recognised as well
        half_life : days after which an answer counts for half, from the last one on, by a column `timestamp`

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs import Comparisons
        >>> data = Comparisons([[0.0], [1.0], [2.0]], [[0, 1], [2, 1]])
        >>> Comparisons.from_frame(data.items, data.to_frame()) == data
        True
        """
        table = files.frame_table(answers)
        return cls.from_columns(item_table(items), table.answers_with(half_life), table.where)

    @classmethod
    def read_csv(
        cls,
        items_path: files.PathType,
        answers_path: files.PathType | None = None,
        half_life: float | None = None,
        *,
        features: Sequence[str] | None = None,
        roles: Roles | None = None,
    ) -> Self:
        """Return the answers in a CSV, Excel or JSON file about items in another, or that it describes.

        Parameters
        ----------
        items_path : path; one row an item, one column a feature. The first column holds the item
            names when it is text or its header is item, name, id or blank; otherwise there are none
        answers_path : path; columns as for `from_frame`, items called by name, or by position
            where they have no names. Without it, the one file holds both, as for `from_profiles`
        half_life : as for `from_frame`
        features : names of the columns to learn from, as for `create_study`; by default all that can be
        roles : what columns of the items are, as for `Comparisons`

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from coombs import Comparisons
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "items.csv").write_text("item,price\\nlatte,4\\nmocha,5\\n")
        >>> _ = (folder / "answers.csv").write_text("left,right,winner\\nlatte,mocha,mocha\\n")
        >>> Comparisons.read_csv(folder / "items.csv", folder / "answers.csv")
        Comparisons(1 answer about 2 items with 1 feature)
        """
        if answers_path is None:
            if roles:
                raise InputError("roles is for items in a file of their own; this one file describes pairs.")
            return cls.of_described(described_choices(files.read_table(items_path), features))
        items, table = (files.read_table(path) for path in (items_path, answers_path))
        chosen = item_table(items, roles) if features is None else catalogue(items, features, roles).table
        return cls.from_columns(chosen, table.answers_with(half_life), table.where)

    @classmethod
    def read_parquet(cls, items_path: files.PathType, answers_path: files.PathType) -> Self:
        """Return the answers in a Parquet file about the items in another.

        Parameters
        ----------
        items_path, answers_path : paths; columns as for `read_csv`

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import pandas as pd
        >>> from coombs import Comparisons
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pd.DataFrame({"item": ["latte", "mocha"], "price": [4, 5]}).to_parquet(folder / "items.parquet")
        >>> pd.DataFrame({"winner": ["mocha"], "loser": ["latte"]}).to_parquet(folder / "answers.parquet")
        >>> Comparisons.read_parquet(folder / "items.parquet", folder / "answers.parquet")
        Comparisons(1 answer about 2 items with 1 feature)
        """
        items, table = (files.read_table(path, "parquet") for path in (items_path, answers_path))
        return cls.from_columns(item_table(items), table.answers, table.where)

    @classmethod
    def from_preflib(cls, items: TableLike, path: files.PathType) -> Self:
        """Return what the orders in a PrefLib file say of every two alternatives.

        Parameters
        ----------
        items : table of items, as for `Comparisons`; alternatives are items by name, or by position where
            items have no names and are as many
        path : of a .soc, .soi, .toc or .toi file

        Returns
        -------
        Comparisons; each (winner, loser) once, its weight the number of voters. Ties and what is unranked
            say nothing

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from coombs import Comparisons
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.soi"
        >>> _ = path.write_text("# ALTERNATIVE NAME 1: a\\n# ALTERNATIVE NAME 2: b\\n5: 2,1\\n2: 2,1\\n")
        >>> [part.tolist() for part in Comparisons.from_preflib([[0.0], [1.0]], path).oriented()]
        [[1], [0], [7.0]]
        """
        table = checking.two_items(item_table(items))
        wins, voters = preflib.wins(table, path)
        return cls._of(
            *table, *checking.all_won(wins, checking.positive_weights(voters, lambda i: f"preference {i}"))
        )

    @classmethod
    def from_columns(cls, table: ItemTable, columns: tables.Columns, where: Where) -> Self:
        """Return the answers in named columns about items that were checked before.

        Parameters
        ----------
        table : `Comparisons.item_table` of the same items
        columns : name to (n,) array; the columns are those of `from_frame`
        where : function of a row's number that says how messages call the row

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> import numpy as np
        >>> from coombs import Comparisons
        >>> table = Comparisons([[0.0], [1.0]], [[0, 1]]).item_table
        >>> columns = {"winner": np.array([1, 1]), "loser": np.array([0, 0])}
        >>> Comparisons.from_columns(table, columns, lambda i: f"row {i}")
        Comparisons(2 answers about 2 items with 1 feature)
        """
        checking.two_items(table)
        lower, where = checking.without_checks(checking.lower_case(with_user(columns)), where)
        if several := shaped(lower, where):
            return cls._joined([cls._of_shaped(table, one, where) for one in several])
        given = checking.answer_columns(lower, where)
        pairs: Any = given.pairs
        if table.names is not None:
            # In a table of answers a number is never a position where the items have names.
            flat = tables.text_array(pairs.ravel(), "item", lambda i: where(int(given.rows[i // 2])))
            pairs = flat.reshape(pairs.shape)

        def place(i: int) -> str:
            return where(int(given.rows[i]))

        found = checking.pairs(table, tables.as_array(pairs, "pairs"), place)
        checked = checking.answers(found, given.y, given.users, given.weights, place)
        if given.p is None:
            return cls._of(*table, *checked)
        return cls._of(*table, *soft(checked[0], probabilities(given.p, place), *checked[2:]))

    @classmethod
    def _of_shaped(cls, table: ItemTable, found: Shaped, where: Where) -> Self:
        """Choices, rankings or ratings that columns hold."""

        def place(i: int) -> str:
            return where(found.rows[i])

        if found.ratings is not None:
            values = tables.numbers(as_numbers(found.ratings), "Rating", place)
            things = calling(table, tables.text_array(found.things, "item", place))
            known = found.users, found.weights, place, "rating" in found.shapes
            return cls._of_ratings(table, things, values, *known)
        called = [
            [names_of(table, tier, shape) for tier in tiers]
            for tiers, shape in zip(found.answers, found.shapes, strict=True)
        ]
        if "pair" in found.shapes:
            pairs = [[one for tier in tiers for one in tier] for tiers in called]
            rows = checking.pairs(table, tables.as_array(pairs, "pairs", exact=True), place)
            y = np.array([len(tiers) - 1 for tiers in called], dtype=np.int8)
            return cls._of(*table, *checking.answers(rows, y, found.users, found.weights, place))
        codes = [_SHAPES[name] for name in found.shapes]
        return cls._of_orders(table, called, codes, found.users, found.weights, place)
