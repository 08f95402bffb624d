"""Comparisons: every road in gives the same datum, and bad input is refused by name and place."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import SingleStep
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons, InputError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.5], [3.0, 0.0]])
NAMES = ["latte", "mocha", "flat white", "tea"]
FRAME = pd.DataFrame(X, index=NAMES, columns=["price", "milk"])
PAIRS = [["latte", "mocha"], ["tea", "latte"], ["flat white", "tea"]]
POSITIONS = [[0, 1], [3, 0], [2, 3]]
ANSWERS = pd.DataFrame(
    {
        "user": ["ann", "bob", "ann"],
        "left": ["latte", "latte", "flat white"],
        "right": ["mocha", "tea", "tea"],
        "winner": ["latte", "right", "tie"],
        "weight": [1.0, 2.0, 0.5],
    }
)
EXPECTED = Comparisons(
    FRAME, [[0, 1], [0, 3], [2, 3]], [1, -1, 0], users=["ann", "bob", "ann"], weights=[1, 2, 0.5]
)


def wins(data: Comparisons) -> list[tuple[int, int, float]]:
    """The oriented answers, sorted."""
    return sorted(zip(*(part.tolist() for part in data.oriented()), strict=True))


@st.composite
def comparisons(draw: st.DrawFn) -> Comparisons:
    """Small answers of every kind, with and without names and users."""
    n_items, n = draw(st.integers(2, 6)), draw(st.integers(1, 12))
    first = draw(st.lists(st.integers(0, n_items - 1), min_size=n, max_size=n))
    step = draw(st.lists(st.integers(1, n_items - 1), min_size=n, max_size=n))
    # 0 and 1 alone are refused.
    y = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n).filter(lambda y: {*y} != {0, 1}))
    weights = draw(st.lists(st.floats(0.125, 8), min_size=n, max_size=n))
    users = draw(st.none() | st.lists(st.sampled_from(["ann", "7", "left"]), min_size=n, max_size=n))
    items: Any = np.arange(2.0 * n_items).reshape(n_items, 2)
    if draw(st.booleans()):
        items = pd.DataFrame(items, index=["left", "right", "skip", "a", "b", "c"][:n_items])
    pairs = [[i, (i + k) % n_items] for i, k in zip(first, step, strict=True)]
    return Comparisons(items, pairs, y, users, weights)


def items_of(data: Comparisons) -> Any:
    """The items in the form that carries their names."""
    return data.items if data.item_names is None else pd.DataFrame(data.items, index=data.item_names)


# What comes out


def test_attributes_are_plain_checked_and_read_only() -> None:
    """Types, shapes and defaults are the documented ones, and nothing can be changed."""
    data = Comparisons(FRAME, PAIRS)
    assert data.items.dtype == np.float64 and data.items.flags.c_contiguous
    assert data.pairs.dtype == np.intp and data.y.dtype == np.int8 and data.weights.tolist() == [1, 1, 1]
    assert data.users is None and data.item_names is not None and data.feature_names is not None
    assert data.item_names.tolist() == NAMES and data.feature_names.tolist() == ["price", "milk"]
    assert (data.n_items, data.n_features, data.shape, len(data)) == (4, 2, (3, 2), 3)
    for array in (data.items, data.pairs, data.y, data.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        data.y = data.y  # type: ignore[misc]


def test_changing_the_input_afterwards_changes_nothing() -> None:
    """The arrays given are copied and stay writeable."""
    items, pairs = X.copy(), np.array(POSITIONS)
    y, weights = np.array([1, 1, -1], dtype=np.int8), np.ones(3)
    data = Comparisons(items, pairs, y, weights=weights)
    items[0], pairs[0], y[0], weights[0] = 9, 1, -1, 9
    assert data == Comparisons(X, POSITIONS, [1, 1, -1])


def test_repr_counts_answers_items_features_users_and_ties() -> None:
    """The repr is a sentence with what is there."""
    assert repr(Comparisons(X, [[0, 1]])) == "Comparisons(1 answer about 4 items with 2 features)"
    text = "Comparisons(3 answers about 4 items with 2 features, by 2 users, 1 tie)"
    assert repr(EXPECTED) == text


def test_equality_is_by_content() -> None:
    """Any difference in content makes two comparisons differ."""
    assert Comparisons(X, POSITIONS) == Comparisons(X, POSITIONS)
    assert Comparisons(X, POSITIONS) != Comparisons(X + 1, POSITIONS)
    assert Comparisons(X, POSITIONS) != Comparisons(X, POSITIONS, users=[1, 2, 3])
    assert Comparisons(X, POSITIONS) != Comparisons(FRAME, PAIRS)
    assert Comparisons(X, POSITIONS) != "text"


def test_pickle_gives_an_equal_read_only_datum() -> None:
    """Arrays are read-only again after a pickle."""
    data = pickle.loads(pickle.dumps(EXPECTED))
    assert data == EXPECTED
    assert not any(array.flags.writeable for array in (data.items, data.pairs, data.y, data.weights))


def test_name_of_is_the_name_or_the_position() -> None:
    """Without names the position serves."""
    assert (Comparisons(FRAME, PAIRS).name_of(2), Comparisons(X, POSITIONS).name_of(2)) == ("flat white", "2")


def test_oriented_turns_splits_and_drops() -> None:
    """-1 is turned, a tie is two halves, weight zero goes."""
    data = Comparisons(X, [[0, 1], [1, 2], [2, 3], [0, 3]], [1, -1, 0, 1], weights=[1, 2, 3, 0])
    assert wins(data) == [(0, 1, 1.0), (2, 1, 2.0), (2, 3, 1.5), (3, 2, 1.5)]


def test_subsets_by_slice_rows_mask_and_scikit_learn_key() -> None:
    """The four ways to take answers agree."""
    keys: list[Any] = [slice(1, 3), [1, 2], np.array([False, True, True]), (np.array([1, 2]), ...)]
    for key in keys:
        part = EXPECTED[key]
        assert part.pairs.tolist() == [[0, 3], [2, 3]] and part.users is not None
        assert part.users.tolist() == ["bob", "ann"] and part.n_items == 4 and not part.y.flags.writeable


def test_empty_subset_and_single_row_are_refused() -> None:
    """A subset has answers, and one row is asked for as a list."""
    keys: list[Any] = [[], slice(0, 0), np.zeros(3, dtype=bool)]
    for key in keys:
        with pytest.raises(InputError, match="subset has no answers"):
            EXPECTED[key]
    with pytest.raises(TypeError, match="slice"):
        EXPECTED[0]


def test_cross_val_score_takes_comparisons_as_rows() -> None:
    """scikit-learn splits the answers and keeps the items."""
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")

    class Counter(base.BaseEstimator):  # type: ignore[misc, name-defined]
        def fit(self, data: Comparisons, y: Any = None) -> Counter:
            self.n_ = len(data)
            return self

        def score(self, data: Comparisons, y: Any = None) -> float:
            return float(len(data))

    data = Comparisons(X, POSITIONS * 2)
    assert selection.cross_val_score(Counter(), data, cv=3).tolist() == [2, 2, 2]


# Roads in


@pytest.mark.parametrize(
    "pairs",
    [
        PAIRS,
        np.array(PAIRS),
        np.array(PAIRS, dtype=object),
        POSITIONS,
        np.array(POSITIONS, dtype=float),
        np.array(POSITIONS, dtype=object),
        np.ma.masked_array(POSITIONS),
        pd.DataFrame(PAIRS),
        pd.DataFrame(POSITIONS),
        pl.DataFrame(PAIRS, orient="row"),
    ],
)
def test_pairs_by_name_and_by_position_agree(pairs: Any) -> None:
    """However the pairs are written, they are the same pairs."""
    assert Comparisons(FRAME, pairs).pairs.tolist() == POSITIONS


def test_polars_text_column_holds_the_names() -> None:
    """A polars frame gives the items of the pandas frame."""
    items = pl.DataFrame({"price": X[:, 0], "what": NAMES, "milk": X[:, 1]})
    assert Comparisons(items, PAIRS) == Comparisons(FRAME, PAIRS)


def test_default_indices_are_no_names() -> None:
    """0, 1, 2, ... made up by pandas names neither items nor features."""
    assert Comparisons(pd.DataFrame(X), POSITIONS) == Comparisons(X, POSITIONS)


def test_integers_are_names_where_the_names_are_integers() -> None:
    """With an integer index 2 is the item called 2, also as text."""
    items = pd.DataFrame(X, index=[3, 2, 1, 0])
    assert Comparisons(items, [[2, 1]]).pairs.tolist() == [[1, 2]]
    assert Comparisons(items, [["2", "1"]]).pairs.tolist() == [[1, 2]]
    with pytest.raises(InputError, match="Unknown item '7' in row 0"):
        Comparisons(items, [[7, 1]])


def test_booleans_are_fine_as_features_and_as_y() -> None:
    """A boolean column is 0 and 1; False in y is -1."""
    items = pd.DataFrame({"milk": [True, False], "price": [1, 2]})
    data = Comparisons(items, [[0, 1], [0, 1]], [True, False])
    assert data.items[:, 0].tolist() == [1, 0] and data.y.tolist() == [1, -1]
    for y in (pd.Series([True, False], dtype=object), pd.array([True, False], dtype="boolean")):
        assert Comparisons(items, [[0, 1], [0, 1]], y) == data


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int8", object])
def test_column_types_of_pandas_give_the_same_numbers(dtype: Any) -> None:
    """Nullable, small and object columns without gaps are numbers."""
    items = pd.DataFrame({"a": pd.Series([1, 2], dtype=dtype)})
    assert item_table(items).matrix.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_answers_give_the_expected(library: str) -> None:
    """Both libraries, both layouts; skips and other columns are left out."""
    answers = ANSWERS.assign(timestamp=0)
    answers.loc[3] = ["bob", "tea", "latte", "skip", 1.0, 0]
    wide = answers if library == "pandas" else pl.DataFrame(answers.to_dict("list"))
    assert Comparisons.from_frame(FRAME, wide) == EXPECTED
    short = {"Winner": ["latte", "tea"], "loser": ["mocha", "latte"]}
    frame = pd.DataFrame(short) if library == "pandas" else pl.DataFrame(short)
    assert Comparisons.from_frame(FRAME, frame) == Comparisons(FRAME, PAIRS[:2])


def test_item_names_beat_the_words() -> None:
    """Where an item is called left, the winner left is that item, on whichever side it stands."""
    items = pd.DataFrame(X, index=["left", "b", "tie", "skip"])
    sides = {"left": ["b", "b", "b", "b"], "right": ["left", "tie", "skip", "left"]}
    data = Comparisons.from_frame(items, pd.DataFrame(sides | {"winner": ["left", "tie", "skip", "TIE"]}))
    assert data.y.tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize("header", ["item", "Name", "ID", "", "drink"])
def test_files_give_the_expected(tmp_path: Path, header: str) -> None:
    """CSV and Parquet files give what the arrays give, whatever the names' header."""
    items = FRAME.rename_axis(header).reset_index()
    items.to_csv(tmp_path / "items.csv", index=False)
    items.to_parquet(tmp_path / "items.parquet")
    ANSWERS.to_csv(tmp_path / "answers.csv", index=False)
    ANSWERS.to_parquet(tmp_path / "answers.parquet")
    assert Comparisons.read_csv(tmp_path / "items.csv", str(tmp_path / "answers.csv")) == EXPECTED
    assert Comparisons.read_parquet(tmp_path / "items.parquet", tmp_path / "answers.parquet") == EXPECTED
    FRAME.to_parquet(tmp_path / "indexed.parquet")
    assert Comparisons.read_parquet(tmp_path / "indexed.parquet", tmp_path / "answers.parquet") == EXPECTED


def test_files_without_names_go_by_position(tmp_path: Path) -> None:
    """Numbers only, in CSV and in Parquet; ties beside positions; booleans as words."""
    items = pd.DataFrame({"price": X[:, 0], "milk": [True, False, True, False]})
    answers = pd.DataFrame({"left": [0, 3, 2], "right": [1, 0, 1], "winner": ["0", "tie", "1"]})
    expected = Comparisons(items, [[0, 1], [3, 0], [2, 1]], [1, 0, -1])
    items.to_csv(tmp_path / "i.csv", index=False)
    answers.to_csv(tmp_path / "a.csv", index=False)
    items.to_parquet(tmp_path / "i.parquet")
    answers.to_parquet(tmp_path / "a.parquet")
    assert Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "a.csv") == expected
    assert Comparisons.read_parquet(tmp_path / "i.parquet", tmp_path / "a.parquet") == expected


def test_csv_names_stay_the_text_of_the_file(tmp_path: Path) -> None:
    """Leading zeros, NA, quoted commas, a byte-order mark and blank lines survive."""
    (tmp_path / "i.csv").write_text('\ufeffid, x\n007,1\n\nNA,2\n"a, b",3\n', encoding="utf-8")
    (tmp_path / "a.csv").write_text('winner,loser,weight\n007,NA,\n"a, b",007,\n\n')
    data = Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "a.csv")
    assert data.item_names is not None and data.item_names.tolist() == ["007", "NA", "a, b"]
    assert data.pairs.tolist() == [[0, 1], [2, 0]]


def test_integer_names_in_files_are_names(tmp_path: Path) -> None:
    """An id column of numbers names the items, in CSV as in Parquet."""
    items = pd.DataFrame({"id": [12, 11, 10], "x": [1.0, 2.0, 3.0]})
    answers = pd.DataFrame({"winner": [10, 11], "loser": [12, 12]})
    items.to_csv(tmp_path / "i.csv", index=False)
    answers.to_csv(tmp_path / "a.csv", index=False)
    items.to_parquet(tmp_path / "i.parquet")
    answers.to_parquet(tmp_path / "a.parquet")
    data = Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "a.csv")
    assert data.pairs.tolist() == [[2, 0], [1, 0]]
    assert Comparisons.read_parquet(tmp_path / "i.parquet", tmp_path / "a.parquet") == data


def test_ranking_gives_all_pairs_of_the_ranked() -> None:
    """By name or position, of some of the items."""
    data = Comparisons.from_ranking(FRAME, ["tea", "latte", "mocha"])
    assert data.pairs.tolist() == [[3, 0], [3, 1], [0, 1]]
    assert Comparisons.from_ranking(FRAME, [3, 0, 1]) == data


def test_scores_compare_inside_groups_only() -> None:
    """The group is the user, and equal scores say nothing."""
    data = Comparisons.from_scores(X, [1, 2, 5, 5], groups=["a", "a", "b", "b"])
    assert data.pairs.tolist() == [[1, 0]] and data.users is not None and data.users.tolist() == ["a"]


def test_tiers_compare_across_tiers_only() -> None:
    """Tier 1 beats tier 2, and nothing else is said."""
    assert wins(Comparisons.from_tiers(X, [1, 2, 1, 2])) == [(a, b, 1.0) for a in (0, 2) for b in (1, 3)]


def test_feature_pairs_share_equal_items() -> None:
    """Equal vectors, 0.0 and -0.0 too, are one item."""
    data = Comparisons.from_features([[[0.0, 1.0], [2.0, 0.5]], [[2.0, 0.5], [-0.0, 1.0]]], [-1, 0])
    assert data == Comparisons([[0.0, 1.0], [2.0, 0.5]], [[0, 1], [1, 0]], [-1, 0])


@pytest.mark.slow
def test_arrays_need_no_frame_library() -> None:
    """Where neither pandas nor polars is installed, arrays work as ever."""
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None;"
        "from coombs import Comparisons; Comparisons([[0], [1]], [[0, 1]])"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_missing_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pandas is needed and absent, the message says what to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "coombs\[all\]"'):
        Comparisons(X, POSITIONS).to_frame()


# Laws


@settings(max_examples=50, deadline=None)
@given(comparisons())
def test_swapping_pairs_and_negating_y_changes_nothing(data: Comparisons) -> None:
    """(i, j, y) and (j, i, -y) are the same answer."""
    swapped = Comparisons.at_positions(data.item_table, data.pairs[:, ::-1], -data.y, data.weights)
    assert wins(swapped) == wins(data)


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(5)), st.booleans())
def test_scores_that_all_differ_are_a_ranking(scores: list[int], higher: bool) -> None:
    """from_scores equals from_ranking of the sorted items."""
    items = np.eye(5)
    order = np.argsort(scores)[::-1] if higher else np.argsort(scores)
    left = Comparisons.from_scores(items, scores, higher_is_better=higher)
    assert wins(left) == wins(Comparisons.from_ranking(items, order))


@settings(max_examples=50, deadline=None)
@given(comparisons())
def test_to_frame_and_from_frame_are_inverse(data: Comparisons) -> None:
    """Nothing is lost on the way, even where items are called left, right and skip."""
    assert Comparisons.from_frame(items_of(data), data.to_frame()) == data


@settings(max_examples=50, deadline=None)
@given(comparisons(), st.data())
def test_subsets_add_up(data: Comparisons, draw: st.DataObject) -> None:
    """The oriented answers of two complementary subsets are those of the whole."""
    cut = draw.draw(st.integers(0, len(data)))
    parts = [data[rows] for rows in (slice(0, cut), slice(cut, None)) if len(data.y[rows])]
    assert sorted(win for part in parts for win in wins(part)) == wins(data)


# Refusals


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([1.0, 2.0], r"items have shape \(2,\); they must be a table"),
        (np.array([[1], [2, 3]], dtype=object), r"items have shape \(2,\)"),
        ([[1.0], [2.0, 3.0]], "items are not a table: rows must be of equal length"),
        (np.empty((0, 2)), "There are no items"),
        (pd.DataFrame(index=["a", "a"]), "More than one item is named 'a'"),
        (pd.DataFrame(index=range(2)), "neither names nor feature columns"),
        ([[1.0, 2.0], [3.0, np.nan]], "Feature 1 of row 1 is nan; it must be a finite number"),
        ([[1.0, -np.inf], [3.0, 1]], "Feature 1 of row 0 is -inf"),
        ([[1.0, None], [3.0, 1]], "Feature 1 of row 0 is nan"),
        (np.ma.masked_equal([[1, 2], [3, 4]], 3), "Feature 0 of row 1 is nan"),
        (pd.DataFrame({"a": [1, 2], "b": [1, "x"]}), "Feature 'b' of row 1 is 'x'; it must be a number"),
        ([["a", "b"], ["c", "d"]], "Feature 0 of row 0 is 'a'"),
        ([[1 + 2j], [3]], r"Feature 0 of row 0 is '\(1\+2j\)'"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "Feature 0 of row 0 is '2020-01-01'"),
        (np.array([["1"]], dtype="m8[D]"), "Feature 0 of row 0 is '1 days'"),
        ([[10**400], [1]], "Feature 0 of row 0 is '1000"),
        (pd.DataFrame(X, index=["a", "b", "a", "c"]), "More than one item is named 'a'"),
        (pd.DataFrame(X, index=["a", "b", None, "c"]), "item name of row 2 is missing"),
        (pd.DataFrame(X, columns=["a", "a"]), "More than one column is named 'a'"),
    ],
)
def test_bad_items_are_refused_by_place(items: Any, message: str) -> None:
    """Alone and inside Comparisons the same sentence comes."""
    with pytest.raises(InputError, match=message):
        item_table(items)
    with pytest.raises(InputError, match=message):
        Comparisons(items, [[0, 1]])


def test_one_item_is_enough_alone_but_not_to_compare() -> None:
    """New items may come singly."""
    assert item_table([[1, 2]]).matrix.shape == (1, 2)
    with pytest.raises(InputError, match=r"fewer than two items \(1\)"):
        Comparisons([[1, 2]], [[0, 0]])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "There are no answers"),
        (np.empty((0, 2), dtype=int), "There are no answers"),
        (5, r"pairs have shape \(\)"),
        ([0, 1], r"pairs have shape \(2,\); they must be \(n, 2\)"),
        ([[0, 1, 2]], r"pairs have shape \(1, 3\)"),
        (np.zeros((1, 2, 2)), "from_features"),
        ([[0, 1], [2]], "pairs are not a table"),
        ([[0, 1], [0, 4]], "Position 4 in row 1 is no item; positions are whole numbers from 0 to 3"),
        ([[0, 1], [-1, 2]], "Position -1 in row 1"),
        ([[0, 1.5]], "Position 1.5 in row 0"),
        ([[0, np.nan]], "Position nan in row 0"),
        (np.ma.masked_equal([[0, 1], [0, 2]], 2), "item of row 1 is missing"),
        ([[0, 1], [0, None]], "item of row 1 is missing"),
        (np.array([["tea", pd.NA]], dtype=object), "item of row 0 is missing"),
        ([[True, False]], "Items cannot be chosen by bool values; use positions or names"),
        ([[0j, 1j]], "Items cannot be chosen by complex128"),
        ([[0, 1], [2, 2]], "In row 1 item '2' is compared with itself"),
        ([["tea", "tea"]], "In row 0 item 'tea' is compared with itself"),
        ([["tea", "late"]], "Unknown item 'late' in row 0; did you mean 'latte'?"),
        ([["tea", "x"], ["y", "x"]], r"Unknown item 'x' in row 0 \(2 unknown names in all\); the items are"),
    ],
)
def test_bad_pairs_are_refused_by_row(pairs: Any, message: str) -> None:
    """The row and the offending item are in the message."""
    with pytest.raises(InputError, match=message):
        Comparisons(FRAME, pairs)


def test_names_for_items_without_names_are_refused() -> None:
    """The message shows that items go by position."""
    with pytest.raises(InputError, match=r"Unknown item 'tea' in row 0.*the items are '0', '1', '2', '3'"):
        Comparisons(X, [["tea", "0"]])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"y": [1, -1]}, "2 y for 3 pairs"),
        ({"y": [[1], [1], [1]]}, r"y of shape \(3, 1\) must be a flat list"),
        ({"y": [1, 2, 1]}, "y of row 1 is 2; it must be 1"),
        ({"y": [1, 0, np.nan]}, "y of row 2 is nan"),
        ({"y": [1, None, 1]}, "y of row 1 is nan"),
        ({"y": [1, 0.5, 1]}, "y of row 1 is 0.5"),
        ({"y": ["left", "right", "tie"]}, "y of row 0 is 'left'"),
        ({"users": ["a"]}, "1 users for 3 pairs"),
        ({"users": ["a", None, "b"]}, "user of row 1 is blank"),
        ({"weights": [1, 2]}, "2 weights for 3 pairs"),
        ({"weights": [1, -2, 1]}, "Weight of row 1 is -2; it must be finite and not negative"),
        ({"weights": [1, 1, np.nan]}, "Weight of row 2 is missing"),
        ({"weights": [np.inf, 1, 1]}, "Weight of row 0 is inf"),
        ({"weights": ["1", "2", "3"]}, "Weight of row 0 is '1'; it must be a number"),
        ({"weights": [0, 0, 0]}, "All weights are zero"),
    ],
)
def test_bad_y_users_and_weights_are_refused_by_row(more: dict[str, Any], message: str) -> None:
    """The row and the value are in the message."""
    with pytest.raises(InputError, match=message):
        Comparisons(X, POSITIONS, **more)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([], "ranking has 0 items; it needs at least two"),
        (["tea"], "ranking has 1 item;"),
        (["tea", "latte", "tea"], "ranking has item 'tea' twice"),
        (["tea", "moca"], "Unknown item 'moca' in place 1 of the ranking; did you mean 'mocha'?"),
        ([0, 9], "Position 9 in place 1 of the ranking"),
        ([[0, 1]], "flat list"),
    ],
)
def test_bad_rankings_are_refused(order: Any, message: str) -> None:
    """The place in the ranking is in the message."""
    with pytest.raises(InputError, match=message):
        Comparisons.from_ranking(FRAME, order)


@pytest.mark.parametrize(
    ("scores", "groups", "message"),
    [
        ([1, 2, np.nan, 3], None, "Score of item 'flat white' is nan"),
        ([1, 2, 3], None, "3 scores for 4 items"),
        ([1, "x", 3, 4], None, "Score of item 'latte' is '1'"),
        ([5, 5, 5, 5], None, "No two items that may be compared differ in score"),
        ([1, 2, 3, 4], ["a", "b", "c", "d"], "No two items"),
        ([1, 2, 3, 4], ["a", "b", None, "d"], "group of item 'flat white' is missing"),
        ([1, 2, 3, 4], ["a"], "1 groups for 4 items"),
    ],
)
def test_bad_scores_are_refused_by_item(scores: Any, groups: Any, message: str) -> None:
    """The item is in the message."""
    with pytest.raises(InputError, match=message):
        Comparisons.from_scores(FRAME, scores, groups=groups)


def test_a_missing_tier_is_called_a_tier() -> None:
    """The message uses the word of the caller."""
    with pytest.raises(InputError, match="Tier of item 'tea' is nan"):
        Comparisons.from_tiers(FRAME, [1, 2, 3, np.nan])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((3, 2)), r"shape \(3, 2\)"),
        (np.zeros((1, 3, 2)), r"shape \(1, 3, 2\)"),
        (np.empty((0, 2, 2)), r"shape \(0, 2, 2\)"),
        ([[[1.0], [np.nan]]], "Feature 0 of row 0 is nan"),
        ([[[3.0], [2.0]], [[1.0], [np.nan]]], "Feature 0 of row 1 is nan"),
        ([[[1.0], [1.0]]], "fewer than two items"),
        ([[[1.0], [2.0]], [[2.0], [2.0]]], "In row 1 both items have the same features"),
    ],
)
def test_bad_feature_pairs_are_refused(pairs: Any, message: str) -> None:
    """Shape and place are in the message; the row is the pair's."""
    with pytest.raises(InputError, match=message):
        Comparisons.from_features(pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"winner": ["latte", "mocha", "tie"]},
            "winner of row 1 is 'mocha'; it must be 'latte', 'tea', left",
        ),
        ({"winner": ["latte", None, "tie"]}, "winner of row 1 is missing"),
        ({"winner": ["skip", "skip", "SKIP"]}, "There are no answers"),
        ({"winner": ["skip", "left", "tie"], "left": ["latte", "te", "latte"]}, "Unknown item 'te' in row 1"),
        ({"left": ["latte", "", "tea"]}, "left of row 1 is missing"),
        ({"right": ["latte", "tea", "tea"]}, "In row 0 item 'latte' is compared with itself"),
        ({"weight": [1, 1, -1]}, "Weight of row 2 is -1"),
        ({"user": ["a", None, "b"]}, "user of row 1 is blank"),
    ],
)
def test_bad_answer_frames_are_refused_by_row(change: dict[str, Any], message: str) -> None:
    """Rows are counted in the frame as given, skips included."""
    with pytest.raises(InputError, match=message):
        Comparisons.from_frame(FRAME, ANSWERS.assign(**change))


def test_a_choice_says_the_same_as_a_winner_and_goes_before_it() -> None:
    sides = {"left": ["latte", "mocha", "latte", "mocha"], "right": ["mocha", "latte", "mocha", "latte"]}
    choices = ["Left", " right", "tie", "skip"]
    expected = Comparisons.from_frame(
        FRAME, pd.DataFrame(sides | {"winner": [*choices[:1], "right", *choices[2:]]})
    )
    for more in ({}, {"winner": ["mocha", "x", "", "latte"]}):
        assert Comparisons.from_frame(FRAME, pd.DataFrame(sides | {"choice": choices} | more)) == expected
    with pytest.raises(
        InputError, match="The choice of row 1 is 'neither'; it must be left, right, tie or skip"
    ):
        Comparisons.from_frame(FRAME, pd.DataFrame(sides | {"choice": ["left", "Neither", "tie", "skip"]}))


def test_answers_must_be_a_frame_with_the_right_columns() -> None:
    """What is there and what is needed are both in the message."""
    with pytest.raises(
        InputError, match="columns left, best; needed are left, right, winner or winner, loser"
    ):
        Comparisons.from_frame(FRAME, pd.DataFrame({"left": ["tea"], "best": ["tea"]}))
    with pytest.raises(InputError, match="answers are a list; they must be a data frame"):
        Comparisons.from_frame(FRAME, [["tea", "latte"]])


def test_a_tied_item_called_tie_cannot_go_into_a_frame() -> None:
    """The word could not be told from the name."""
    with pytest.raises(InputError, match="Row 0 ties an item named 'tie'"):
        Comparisons(FRAME.rename(index={"tea": "tie"}), [[0, 3]], [0]).to_frame()


ITEMS_CSV = "item,price\nlatte,1\nmocha,2\n"
ANSWERS_CSV = "left,right,winner\nlatte,mocha,left\n"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_files_with_semicolons_or_tabs_are_read(tmp_path: Path, separator: str) -> None:
    """Commas in their numbers are decimal points; names and users that look like numbers stay as they are."""
    items = [["item", "price", "milk"], ["1,5", "12,5", "3"], ["2,5", "-0,75", "4"], ["tea", "1,5E+2", " 2"]]
    answers = [
        ["winner", "loser", "user", "weight"],
        ["2,5", "1,5", "0,1", "0,5"],
        ["1,5", "2,5", "0,1", "2"],
    ]
    for name, rows in (("i.csv", items), ("a.csv", answers)):
        (tmp_path / name).write_text("\ufeff" + "\r\n".join(separator.join(row) for row in rows), "utf-8")
    data = Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "a.csv")
    assert data.items.tolist() == [[12.5, 3], [-0.75, 4], [150, 2]]
    assert data.item_names is not None and data.item_names.tolist() == ["1,5", "2,5", "tea"]
    assert data.pairs.tolist() == [[1, 0], [0, 1]] and data.weights.tolist() == [0.5, 2]
    assert data.users is not None and data.users.tolist() == ["0,1", "0,1"]


@pytest.mark.parametrize(
    ("items", "answers", "message"),
    [
        (None, ANSWERS_CSV, r"There is no file .*items\.csv"),
        (ITEMS_CSV, None, r"There is no file .*answers\.csv"),
        ("", ANSWERS_CSV, r"items\.csv is empty"),
        ("item,price\n", ANSWERS_CSV, r"items\.csv has no rows below its header"),
        (ITEMS_CSV, "", r"answers\.csv is empty"),
        (ITEMS_CSV, "left,right\nlatte,mocha\n", "columns left, right; needed are left, right, winner"),
        (ITEMS_CSV, ANSWERS_CSV + "\nlatte,mocha,\n", r"winner of line 4 of .*answers\.csv is missing"),
        (ITEMS_CSV, ANSWERS_CSV + "latte,moka,left\n", r"Unknown item 'moka' in line 3 of .*answers\.csv"),
        (
            ITEMS_CSV,
            ANSWERS_CSV + "latte,mocha\n",
            r"Line 3 of .*answers\.csv has 2 fields; the header has 3",
        ),
        (ITEMS_CSV + "tea,cheap\n", ANSWERS_CSV, "Feature 'price' of item 'tea' is 'cheap'"),
        ("item;price\nlatte;1;2\n", ANSWERS_CSV, r"Line 2 of .*items\.csv has 3 fields; the header has 2"),
        ("item;price\nlatte;1,5\nmocha;12,5 EUR\ntea;2\n", ANSWERS_CSV, "'mocha' is '12,5 EUR'"),
        ("item;price\nlatte;1,5\nmocha;2.5\ntea;2\n", ANSWERS_CSV, "'latte' is '1,5'; it must be a number"),
        ("item,a,a\nlatte,1,2\n", ANSWERS_CSV, r"More than one column of .*items\.csv is named 'a'"),
        ("item\nlatte\nlatte\n", ANSWERS_CSV, "More than one item is named 'latte'"),
        ("item,price\nlatte,1\n", ANSWERS_CSV, "fewer than two items"),
        (b"item,price\n\x81\x8d,1\n", ANSWERS_CSV, r"items\.csv is neither UTF-8, .*; in Excel: Save as"),
    ],
)
def test_bad_csv_files_are_refused_by_line(tmp_path: Path, items: Any, answers: Any, message: str) -> None:
    """The file and its line are in the message."""
    for name, content in (("items.csv", items), ("answers.csv", answers)):
        if content is not None:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "answers.csv")


def test_bad_parquet_files_are_refused(tmp_path: Path) -> None:
    """Absent, broken and empty files, and rows in them."""
    answers, items = tmp_path / "a.parquet", tmp_path / "i.parquet"
    FRAME.to_parquet(items)
    with pytest.raises(InputError, match=r"There is no file .*a\.parquet"):
        Comparisons.read_parquet(items, answers)
    answers.write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"a\.parquet cannot be read"):
        Comparisons.read_parquet(items, answers)
    ANSWERS[:0].to_parquet(answers)
    with pytest.raises(InputError, match=r"a\.parquet has no rows"):
        Comparisons.read_parquet(items, answers)
    ANSWERS.assign(winner=["left", None, "tie"]).to_parquet(answers)
    with pytest.raises(InputError, match=r"winner of row 1 of .*a\.parquet is missing"):
        Comparisons.read_parquet(items, answers)


@pytest.mark.parametrize("index", [[1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], pd.Index([1, 2, 3, 4], dtype=object)])
def test_whole_numbers_are_names_where_the_names_are_whole_numbers(index: Any) -> None:
    """Whatever the index's type, 1 is the item named 1 and not the second item."""
    assert Comparisons(pd.DataFrame(X, index=index), [[1, 2]]).pairs.tolist() == [[0, 1]]


def test_ids_from_a_csv_file_are_names_for_integers_too(tmp_path: Path) -> None:
    """Items 1, 2, 3 of a file are called by the integers 1, 2, 3."""
    (tmp_path / "i.csv").write_text("id,price\n1,4\n2,5\n3,6\n")
    (tmp_path / "a.csv").write_text("winner,loser\n3,1\n")
    data = Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "a.csv")
    assert data.pairs.tolist() == [[2, 0]]
    assert Comparisons(data.item_table, [[3, 1]]) == data


def test_numbers_in_a_table_of_answers_are_not_positions_where_items_have_names() -> None:
    """A frame that calls items a, b by 0 and 1 is refused, not guessed."""
    items = pd.DataFrame(X, index=list("abcd"))
    with pytest.raises(InputError, match="Unknown item '0' in row 0"):
        Comparisons.from_frame(items, pd.DataFrame({"winner": [0], "loser": [1]}))


def test_scores_in_a_series_follow_their_names() -> None:
    """A Series in another order than the items is put in theirs; one about other items is refused."""
    items = pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=list("abc"))
    scores = pd.Series([3, 2, 1], index=list("cba"))
    assert Comparisons.from_scores(items, scores) == Comparisons.from_scores(items, [1, 2, 3])
    assert Comparisons.from_tiers(items, scores) == Comparisons.from_tiers(items, [1, 2, 3])
    with pytest.raises(InputError, match="index of the scores is not the names of the items"):
        Comparisons.from_scores(items, pd.Series([3, 2, 1], index=list("xyz")))


def test_scores_in_a_dict_follow_their_names() -> None:
    """Of every item by its name, or by its position where there are no names; other keys are refused."""
    items = pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=list("abc"))
    right = Comparisons.from_scores(items, [1, 2, 3], groups=["x", "x", "y"])
    groups = {"b": "x", "c": "y", "a": "x"}
    assert Comparisons.from_scores(items, {"c": 3, "a": 1, "b": 2}, groups=groups) == right
    assert Comparisons.from_tiers([[0.0], [1.0]], {1: 1, 0: 2}).pairs.tolist() == [[1, 0]]
    for wrong in ({"a": 1, "b": 2}, {"a": 1, "b": 2, "x": 3}, {"a": 1, "b": 2, "c": 3, "d": 4}, {}):
        with pytest.raises(InputError, match="must be of every item, by name or position, once"):
            Comparisons.from_scores(items, wrong)


def test_columns_called_loser_and_winner_are_not_taken_by_their_order() -> None:
    """The winner wins wherever its column stands."""
    frame = pd.DataFrame({"loser": [0], "winner": [1]})
    assert Comparisons(X, frame).pairs.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,4\n2,5\n3,6\n", "Line 1 of .* is all numbers"),
        ("item|price\na|1\n", "has no commas"),
        ("left,right,Winner,winner\na,b,a,b\n", "More than one column of the answers"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """No header, another separator, the same column twice."""
    (tmp_path / "i.csv").write_text("item,price\na,1\nb,2\n")
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        Comparisons.read_csv(tmp_path / "i.csv", tmp_path / "x.csv")


def test_a_path_that_is_none_is_refused_in_words() -> None:
    """Not a TypeError from inside."""
    with pytest.raises(InputError, match="The path is None"):
        Comparisons.read_csv(None, None)  # type: ignore[arg-type]


def test_missing_values_of_nullable_types_are_refused_in_words() -> None:
    """pandas' NA in y or in weights."""
    with pytest.raises(InputError, match="y of row 1 is nan"):
        Comparisons(X, POSITIONS[:2], y=pd.array([1, None], dtype="Int64"))
    with pytest.raises(InputError, match="Weight of row 1 is missing"):
        Comparisons(X, POSITIONS[:2], weights=pd.array([1, None], dtype="Int64"))


def test_numbers_are_refused_where_they_could_be_names_or_positions() -> None:
    """Items 1, 2 and x: is 1 the first or the second?"""
    with pytest.raises(InputError, match="could be positions or names, as item '1' is one"):
        Comparisons(pd.DataFrame(X[:3], index=[1, 2, "x"]), [[1, 2]])


def test_a_series_follows_its_index_whatever_the_names_are() -> None:
    """Float names, integer names, and positions of items without names."""
    floats = pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=[10.0, 20.0, 30.0])
    right = Comparisons.from_scores(floats, [1, 2, 3]).pairs.tolist()
    assert (
        Comparisons.from_scores(floats, pd.Series([3, 2, 1], index=[30.0, 20.0, 10.0])).pairs.tolist()
        == right
    )
    frame = pd.DataFrame({"price": [5.0, 3.0, 1.0], "score": [1, 2, 3]})
    plain = Comparisons.from_scores(frame[["price"]], frame["score"])
    shuffled = frame["score"].sort_values(ascending=False)
    assert Comparisons.from_scores(frame[["price"]], shuffled) == plain
    by_price = Comparisons.from_scores(frame.sort_values("price")[["price"]], frame["score"])
    assert by_price.name_of(int(by_price.pairs[0, 0])) == "2"


# y of 0 and 1

ITEMS = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.5]])


@pytest.mark.parametrize("y", [[0, 1, 1], [0.0, 1.0, 1.0], np.array([1, 0, 1], dtype=np.uint8), (1, 1, 0)])
def test_zeros_and_ones_are_refused_as_they_may_be_labels_or_ties(y: Any) -> None:
    """scikit-learn's 0 is "the second is preferred", ours is a tie."""
    pairs = [[0, 1], [1, 2], [0, 2]]
    for call in (
        lambda: Comparisons(ITEMS, pairs, y=y),
        lambda: Comparisons.from_features(ITEMS[pairs], y=y),
        lambda: Comparisons(ITEMS, pairs).with_answers(y),
        lambda: SingleStep(ITEMS).fit(pairs, y),
        lambda: SingleStep(ITEMS).fit(pairs).score(pairs, y),
    ):
        with pytest.raises(InputError, match=r"y is 0 and 1 and never -1.*booleans or 2 \* y - 1"):
            call()


def test_labels_that_can_mean_one_thing_only_are_taken() -> None:
    pairs = [[0, 1], [1, 2], [0, 2]]
    assert Comparisons(ITEMS, pairs, y=[True, False, True]).y.tolist() == [1, -1, 1]
    nullable = pd.Series([True, False, True], dtype="boolean")
    assert Comparisons(ITEMS, pairs, y=nullable).y.tolist() == [1, -1, 1]
    assert Comparisons(ITEMS, pairs, y=[0, 0, 0]).y.tolist() == [0, 0, 0]
    assert Comparisons(ITEMS, pairs, y=[1, 1, 1]).y.tolist() == [1, 1, 1]
    assert Comparisons(ITEMS, pairs, y=[0, 1, -1]).y.tolist() == [0, 1, -1]


def test_ones_own_ties_are_ties() -> None:
    """Answers that were read as ties stay so, in folds with their y, too."""
    frame = pd.DataFrame({"left": [0, 1, 0], "right": [1, 2, 2], "winner": ["left", "tie", "left"]})
    data = Comparisons.from_frame(ITEMS, frame)
    assert data.y.tolist() == [1, 0, 1]
    assert data.with_answers(data.y) == data.with_answers(data.y.astype(float)) == data
    assert data.with_answers([True, False, True]).y.tolist() == [1, -1, 1]
    assert SingleStep().fit(data, data.y).score(data, data.y) == SingleStep().fit(data).score(data)
