"""Things to choose from, out of arrays, frames and files: what is learned from, what is shown."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coombs import Comparisons, InputError
from coombs.data import files, formats
from coombs.data.catalogue import Catalogue, catalogue
from coombs.data.column_roles import item_columns

COLUMNS: dict[str, list[Any]] = {
    "shoe": ["Pegasus", "Ghost", "Kayano"],
    "weight": [283.0, 286.5, 303.0],
    "drop": [10, 12, 10],
    "color": ["red", "", "blue"],
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """A CSV file with that text."""

    def _write(text: str) -> Path:
        path = tmp_path / "items.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def as_csv(folder: Path) -> Any:
    path = folder / "shoes.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return path


def as_parquet(folder: Path) -> Any:
    path = folder / "shoes.parquet"
    pd.DataFrame(COLUMNS).to_parquet(path)
    return str(path)


def as_indexed_parquet(folder: Path) -> Any:
    path = folder / "shoes.pq"
    pd.DataFrame(COLUMNS).set_index("shoe").to_parquet(path)
    return path


def as_pandas(folder: Path) -> Any:
    return pd.DataFrame(COLUMNS).set_index("shoe")


def as_polars(folder: Path) -> Any:
    return pl.DataFrame(COLUMNS)


SOURCES = [as_csv, as_parquet, as_indexed_parquet, as_pandas, as_polars]


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_table_gives_the_same_catalogue(source: Callable[[Path], Any], tmp_path: Path) -> None:
    found = catalogue(source(tmp_path))
    assert found.names == COLUMNS["shoe"]
    assert found.features == ["weight", "drop"]
    np.testing.assert_array_equal(found.table.matrix, np.column_stack([COLUMNS["weight"], COLUMNS["drop"]]))
    assert found.details == tuple({"color": color} for color in COLUMNS["color"])


@pytest.mark.parametrize("source", SOURCES)
def test_features_picks_the_columns_to_learn_from_and_shows_the_others(
    source: Callable[[Path], Any], tmp_path: Path
) -> None:
    found = catalogue(source(tmp_path), features=["weight"])
    assert found.features == ["weight"]
    assert found.table.matrix.shape == (3, 1)
    assert found.details[1] == {"drop": "12", "color": ""}


@pytest.mark.parametrize("source", SOURCES)
def test_an_unknown_feature_is_refused_with_the_columns_there_are(
    source: Callable[[Path], Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="There is no column 'wieght'; the columns are weight, drop, color"):
        catalogue(source(tmp_path), features=["wieght"])


@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)))
def test_an_array_is_itself_without_names_or_details(matrix: np.ndarray[Any, Any]) -> None:
    for items in (matrix, matrix.tolist()):
        found = catalogue(items)
        np.testing.assert_array_equal(found.table.matrix, matrix)
        assert found.table.names is None
        assert found.names == [str(i) for i in range(len(matrix))]
        assert found.features == [f"feature {j}" for j in range(matrix.shape[1])]
        assert found.details == ({},) * len(matrix)


def test_a_catalogue_is_returned_as_it_is() -> None:
    found = catalogue(np.eye(3))
    assert catalogue(found) is found
    assert isinstance(found, Catalogue)


def test_the_matrix_cannot_be_written_to() -> None:
    matrix = np.eye(3)
    found = catalogue(matrix)
    with pytest.raises(ValueError, match="read-only"):
        found.table.matrix[0, 0] = 5
    matrix[0, 0] = 5
    assert found.table.matrix[0, 0] == 1


def test_a_default_index_gives_no_names_and_integers_give_theirs() -> None:
    frame = pd.DataFrame({"price": [1.0, 2.0], "color": ["red", "blue"]})
    assert catalogue(frame).table.names is None
    named = catalogue(frame.set_axis([10, 20]))
    assert named.names == ["10", "20"]
    assert named.labels == [10, 20]
    assert named.table.number_names


@pytest.mark.parametrize("last", ["2x", "two", "about 5", "12?", "$3"])
def test_one_typo_among_numbers_is_refused_by_name(last: str, write: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match=r"Feature 'price' of item 'c' is '.*'; it must be a number"):
        catalogue(write(f'item,price,color\na,1,red\nb,2,blue\nc,"{last}",green\n'))
    frame = pd.DataFrame({"price": [1, 2, last], "color": ["red", "blue", "green"]}, index=list("abc"))
    with pytest.raises(InputError, match=r"Feature 'price' of item 'c' is '.*'; it must be a number"):
        catalogue(frame)


def test_one_typo_is_refused_by_line_where_items_have_no_names(write: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match=r"Feature 'size' of line 3 of .*items.csv is 'big'"):
        catalogue(write("price,size\n1,2\n2,big\n"))
    with pytest.raises(InputError, match="Feature 'size' of row 1 is 'big'"):
        catalogue(pd.DataFrame({"price": [1, 2], "size": [2, "big"]}))


def test_a_typo_beside_numbers_is_no_matter_where_the_column_is_not_learned_from(
    write: Callable[[str], Path],
) -> None:
    found = catalogue(write("item,price,model\na,1,574\nb,2,Gel\n"), features=["price"])
    assert [one["model"] for one in found.details] == ["574", "Gel"]


def test_a_blank_among_numbers_is_not_known_and_among_text_is_blank(write: Callable[[str], Path]) -> None:
    assert catalogue(write("item,price\na,1\nb,\nc,3\n")).notes[0] == "price: number, 1 not known."
    found = catalogue(write("item,price,color\na,1,\nb,2, \nc,3,red\n"))
    assert [one["color"] for one in found.details] == ["", "", "red"]
    missing = pd.DataFrame({"price": [1, 2, 3], "color": ["red", None, np.nan]})
    assert [one["color"] for one in catalogue(missing).details] == ["red", "", ""]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_by_place(value: float) -> None:
    with pytest.raises(InputError, match=r"Feature 1 of row 0 is .*; it must be a finite number"):
        catalogue([[1.0, value], [2.0, 3.0]])


def test_booleans_are_features(write: Callable[[str], Path]) -> None:
    expected = [[1.0, 1.0], [2.0, 0.0]]
    for items in (
        pd.DataFrame({"price": [1, 2], "new": [True, False]}),
        pd.DataFrame({"price": [1, 2], "new": pd.array([True, False], dtype="boolean")}),
        pl.DataFrame({"price": [1, 2], "new": [True, False]}),
        write("price,new\n1,true\n2,False\n"),
    ):
        assert catalogue(items).table.matrix.tolist() == expected


def test_times_are_days_to_learn_from() -> None:
    day = dt.datetime(2020, 1, 31)
    for frame in (
        pd.DataFrame({"price": [1, 2], "day": pd.to_datetime([day, day])}),
        pl.DataFrame({"name": ["a", "b"], "price": [1, 2], "day": [day, day]}),
        pl.DataFrame({"name": ["a", "b"], "price": [1, 2], "day": [day.date(), day.date()]}),
    ):
        found = catalogue(frame)
        assert found.features == ["price", "day"]
        assert found.table.matrix[0, 1] == (day - dt.datetime(1970, 1, 1)).days


def test_dates_are_days_to_learn_from(tmp_path: Path) -> None:
    frame = pd.DataFrame({"price": [1, 2], "day": [dt.date(2020, 1, 31), dt.date(2021, 1, 31)]})
    frame.to_parquet(tmp_path / "items.parquet")
    for items in (frame, tmp_path / "items.parquet"):
        assert np.diff(catalogue(items).table.matrix[:, 1]) == [366]


def test_a_missing_date_is_blank() -> None:
    frame = pd.DataFrame({"price": [1, 2], "day": pd.to_datetime(["2020-01-31", None])})
    assert catalogue(frame, roles={"day": "text"}).details[1]["day"] == ""


def test_details_of_a_file_are_the_text_that_it_has(write: Callable[[str], Path]) -> None:
    found = catalogue(write("item,price,zip,cost\na,1,01234,1.50\nb,2,02345,nan\n"), features=["price"])
    assert [dict(one) for one in found.details] == [
        {"zip": "01234", "cost": "1.50"},
        {"zip": "02345", "cost": "nan"},
    ]


def test_categories_of_pandas_are_features_and_strings_that_differ_are_details() -> None:
    frame = pd.DataFrame(
        {
            "price": [1, 2],
            "kind": pd.Categorical(["a", "b"]),
            "note": pd.array(["bright", None], dtype="string"),
        }
    )
    found = catalogue(frame)
    assert found.features == ["price", "kind=a", "kind=b"]
    assert found.details == ({"note": "bright"}, {"note": ""})
    assert found.notes == ("price: number; kind: 2 categories; note: shown, not learned from.",)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.integers(-999, 999), st.text("ab;,'\"=\n -", min_size=1)),
        min_size=2,
        unique_by=lambda row: row[2],
    ),
    st.sampled_from(";\t"),
)
def test_a_file_with_semicolons_and_decimal_commas_is_the_file_with_commas_and_points(
    rows: list[tuple[float, int, str]], separator: str
) -> None:
    """Whatever must be quoted or looks like a formula."""

    def written(mark: str, point: str) -> files.NamedColumns:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=mark, quoting=csv.QUOTE_ALL)
        writer.writerow(["price", "drop", "note"])
        writer.writerows([str(x).replace(".", point), str(n), formats.guard(note)] for x, n, note in rows)
        return files.content_table(text.getvalue().encode(), "items.csv")

    expected, found = written(",", "."), written(separator, ",")
    for name in ("price", "drop"):
        assert found.typed[name].tolist() == expected.typed[name].tolist()
    notes = [note for _, _, note in rows]
    assert found.columns["note"].tolist() == expected.columns["note"].tolist() == notes


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b;c\n1,2\n", ["a", "b;c"]),
        ('"a, b";c\n1;2\n', ["a, b", "c"]),
        ('"a\nb";c\n1;2\n', ["a\nb", "c"]),
        ('"a;b"\n1\n', ["a;b"]),
        ("a;b\tc\n1;2\n", ["a", "b\tc"]),
    ],
)
def test_the_header_says_what_separates_the_columns(
    text: str, header: list[str], write: Callable[[str], Path]
) -> None:
    """A comma goes before a semicolon, that before a tab; what is quoted separates nothing."""
    table = files.read_table(write(text))
    assert list(table.columns) == header and table.where(0).startswith(f"line {text.count(chr(10))} of")


def test_a_comma_that_cannot_set_thousands_apart_is_a_decimal_point_in_its_column(
    write: Callable[[str], Path],
) -> None:
    found = catalogue(write('item,price,size\na,1,"12,5"\nb,2,"1,200"\n'))
    assert found.table.matrix.tolist() == [[1, 12.5], [2, 1.2]]


@pytest.mark.parametrize("features", ["price", 5])
def test_features_that_are_no_list_are_refused_as_such(features: Any) -> None:
    frame = pd.DataFrame({"price": [1.0, 2.0], "size": [3.0, 4.0]})
    with pytest.raises(InputError, match="features"):
        catalogue(frame, features=features)


def test_features_may_be_called_as_the_frame_calls_them() -> None:
    assert catalogue(pd.DataFrame([[1, 2], [3, 4]]), features=[0]).table.matrix.tolist() == [[1.0], [3.0]]


def test_columns_that_pandas_numbers_itself_have_no_names() -> None:
    """As those of the same array; where only some are features, they are told apart by their numbers."""
    frame = pd.DataFrame([[1, 2], [3, 4]])
    assert catalogue(frame).features == ["feature 0", "feature 1"]
    assert catalogue(frame, features=[1]).features == ["1"]


def test_every_column_has_a_role_and_a_sentence_that_says_why(write: Callable[[str], Path]) -> None:
    table = files.read_table(write("flat,price,color,flat id\na,1,red,7\nb,2,,5\n"))
    found = {column.name: (column.kind, column.role) for column in item_columns(table)}
    assert found == {
        "flat": ("text", "names"),
        "price": ("number", "feature"),
        "color": ("text", "detail"),
        "flat id": ("number", "detail"),
    }
    for chosen in (None, ["price"]):
        assert all(repr(column.name) in column.why for column in item_columns(table, chosen))


def test_names_some_of_which_are_numbers_are_not_said_to_number_the_items(
    write: Callable[[str], Path],
) -> None:
    found = catalogue(write("shoe,price\n574,90\nGel,120\n"))
    assert found.names == ["574", "Gel"] and found.notes == ()


@pytest.mark.parametrize(
    ("items", "features", "sentence"),
    [
        (np.zeros((0, 2)), None, "There are no items"),
        (np.zeros(3), None, "must be a table"),
        (None, None, "must be a table"),
        ({"a": [1, 2]}, None, "must be a table"),
        ([[1, 2], [3]], None, "equal length"),
        (np.eye(2), ["price"], "an array, which has no names"),
        (pd.DataFrame({"price": []}), None, "There are no items"),
        (pd.DataFrame({"color": ["red", "red"]}), None, "More than one item is named 'red'"),
        (pd.DataFrame({"price": [1, 2]}), [], "neither names nor feature columns"),
        (pd.DataFrame({"price": [1, 2]}, index=["a", "a"]), None, "More than one item is named 'a'"),
        (pd.DataFrame({"price": [1, 2]}, index=["a", None]), None, "is missing"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "More than one column is named 'a'"),
        ("no/such/file.csv", None, "There is no file"),
        ("no/such/file.parquet", None, "There is no file"),
    ],
)
def test_what_is_no_catalogue_is_refused_with_one_sentence(items: Any, features: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        catalogue(items, features)
    assert "\n" not in str(caught.value)


# Columns that number the items

PRICES = [4.5, 3.0, 7.25, 6.0, 5.0, 8.5]
SIZES = [12, 30, 22, 18, 25, 40]


def numbered_file(path: Path, header: str, ids: list[Any], first: bool = True, parquet: bool = False) -> Path:
    """A file of items with a price, a size, and such a column."""
    columns = {"price": PRICES, "size": SIZES}
    columns = {header: ids, **columns} if first else {**columns, header: ids}
    file = path / ("things.parquet" if parquet else "things.csv")
    frame = pd.DataFrame(columns)
    frame.to_parquet(file) if parquet else frame.to_csv(file, index=False)
    return file


@pytest.mark.parametrize("parquet", [False, True])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("ids", [[1, 2, 3, 4, 5, 6], [5, 0, 3, 1, 2, 4], [812, 77, 9013, 4, 55, 6]])
@pytest.mark.parametrize("header", ["Item ID", "car_id", "carId", "uuid", "id", "nr", "#"])
def test_an_id_column_names_the_items_and_is_not_learned_from(
    header: str, ids: list[int], first: bool, parquet: bool, tmp_path: Path
) -> None:
    """By its header, wherever it stands and whatever its numbers are."""
    found = catalogue(numbered_file(tmp_path, header, ids, first, parquet))
    assert found.features == ["price", "size"]
    assert found.names == [str(one) for one in ids]
    expected = first and header == "id"
    assert [header in note for note in found.notes] == ([] if expected else [True])


@pytest.mark.parametrize("start", [0, 1])
def test_a_column_that_counts_the_rows_is_no_feature_whatever_it_is_called(
    start: int, tmp_path: Path
) -> None:
    counted = list(range(start, start + 6))
    for first, ids in ((True, counted), (False, counted), (True, counted[::-1])):
        found = catalogue(numbered_file(tmp_path, "thing", ids, first))
        assert found.features == ["price", "size"] and found.names == [str(one) for one in ids]
        assert found.notes == (
            "Column 'thing' numbers the items: it is taken for their names and not learned from.",
        )


def test_beside_names_a_number_is_a_detail(tmp_path: Path) -> None:
    frame = pd.DataFrame({"flat": list("abcdef"), "price": PRICES, "flat id": range(6), "row": range(6)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = catalogue(tmp_path / "a.csv")
    assert found.names == list("abcdef") and found.features == ["price"]
    assert found.details[2] == {"flat id": "2", "row": "2"}
    assert [note.split("'")[1] for note in found.notes] == ["flat id", "row"]


def test_a_number_is_learned_from_where_it_is_named(tmp_path: Path) -> None:
    for header, ids in (
        ("car_id", [9, 8, 7, 6, 5, 4]),
        ("id", [1, 2, 3, 4, 5, 6]),
        ("x", [0, 1, 2, 3, 4, 5]),
    ):
        found = catalogue(numbered_file(tmp_path, header, ids), [header, "price"])
        assert found.features == [header, "price"] and found.table.names is None and found.notes == ()


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("rooms", [1, 3, 2, 4, 6, 5]),
        ("count", [float(i) for i in range(6)]),
        ("grid", [10, 30, 20, 50, 40, 60]),
        ("brand_id", [1, 1, 2, 2, 3, 3]),
        ("humid", [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]),
    ],
)
def test_what_measures_something_is_a_feature(header: str, values: list[float], tmp_path: Path) -> None:
    """Another order than the rows', decimals, repeats, or a word that only ends as ids do."""
    found = catalogue(numbered_file(tmp_path, header, values, first=False))
    assert found.features == ["price", "size", header] and found.notes == ()


def test_where_there_is_nothing_else_to_learn_from_a_count_is_a_feature(tmp_path: Path) -> None:
    pd.DataFrame({"name": list("abcdef"), "x": range(6)}).to_csv(tmp_path / "a.csv", index=False)
    assert catalogue(tmp_path / "a.csv").features == ["x"]
    pd.DataFrame({"x": [1, 2], "y": [1, 2]}).to_csv(tmp_path / "b.csv", index=False)
    assert catalogue(tmp_path / "b.csv").features == ["x", "y"]


def test_items_of_csv_files_are_named_so_without_a_study_too(tmp_path: Path) -> None:
    """The command line and Python read a file alike."""
    numbered_file(tmp_path, "Car ID", [5, 6, 7, 8, 9, 10])
    (tmp_path / "answers.csv").write_text("winner,loser\n5,10\n")
    data = Comparisons.read_csv(tmp_path / "things.csv", tmp_path / "answers.csv")
    assert data.pairs.tolist() == [[0, 5]] and data.feature_names.tolist() == ["price", "size"]
