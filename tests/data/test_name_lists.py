"""Items without features: a list of names, wherever it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coombs import Comparisons, InputError
from coombs.data.catalogue import catalogue
from coombs.data.name_lists import HEADERS

NAMES = ["tea", "coffee", "water"]
PAIRS = [("tea", "coffee"), ("tea", "water")]


@pytest.mark.parametrize(
    "items",
    [
        NAMES,
        tuple(NAMES),
        np.array(NAMES),
        np.array(NAMES, dtype=object),
        pd.Series(NAMES),
        pd.Series(NAMES, index=[5, 6, 7]),
        pd.Series(NAMES, dtype="category"),
        pd.DataFrame(index=NAMES),
        pd.DataFrame({"idea": NAMES}),
        pl.Series(NAMES),
        pl.DataFrame({"idea": NAMES}),
    ],
)
def test_a_list_of_names_in_any_form_is_items_without_features(items: Any) -> None:
    data = Comparisons(items, PAIRS)
    assert (data.n_items, data.n_features) == (3, 0)
    assert data.item_names is not None and data.item_names.tolist() == NAMES
    assert data == Comparisons(NAMES, [[0, 1], [0, 2]])
    assert repr(data) == "Comparisons(2 answers about 3 items)"


def test_an_array_without_columns_is_items_by_position() -> None:
    data = Comparisons(np.empty((3, 0)), [[0, 1], [0, 2]])
    assert data.item_names is None and data.n_features == 0 and data.name_of(2) == "2"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["tea", "tea"], "More than one item is named 'tea'"),
        (["tea", None], "The item name of row 1 is missing"),
        ([], "they must be a table"),
        ([1, 2, 3], "or a list of names"),
        (np.empty((0, 0)), "There are no items"),
        (pd.DataFrame(index=range(3)), "neither names nor feature columns"),
        (["tea"], "fewer than two items"),
    ],
)
def test_what_is_no_list_of_names_gets_a_sentence(items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Comparisons(items, [[0, 1]])


@pytest.mark.parametrize("header", ["", "name\n", "Ideas\n", "\n\nitem\n"])
def test_a_text_file_has_a_name_on_each_line_and_may_have_a_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text(f"{header}tea\n\n  coffee, black \nwater; still\n")
    found = catalogue(path)
    assert found.names == ["tea", "coffee, black", "water; still"] and not found.notes


def test_a_text_file_whose_first_line_has_columns_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text("name\tprice\ntea\t2\nwater\t1\n")
    assert catalogue(path).features == ["price"]


def test_a_text_file_without_names_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text("name\n\n")
    with pytest.raises(InputError, match=r"ideas.txt has no names; write one on each line\."):
        catalogue(path)


def test_a_repeated_name_in_a_text_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ideas.txt"
    path.write_text("tea\ncoffee\ntea\n")
    with pytest.raises(InputError, match="More than one item is named 'tea'"):
        catalogue(path)


@pytest.mark.parametrize(("header", "is_said"), [("idea", False), ("Name", False), ("espresso", True)])
def test_a_header_that_may_be_a_name_is_said(tmp_path: Path, header: str, is_said: bool) -> None:
    path = tmp_path / "ideas.csv"
    path.write_text(f"{header}\ntea\ncoffee\n")
    found = catalogue(path)
    assert found.names == ["tea", "coffee"] and found.features == []
    assert bool(found.notes) == is_said
    assert not is_said or f"'{header}', is taken for the header" in found.notes[0]


def test_one_column_of_numbers_is_a_feature_and_no_list_of_names(tmp_path: Path) -> None:
    path = tmp_path / "ideas.csv"
    path.write_text("price\n3\n4\n")
    found = catalogue(path)
    assert found.features == ["price"] and not found.notes


def test_headers_are_in_lower_case() -> None:
    assert all(header == header.lower() for header in HEADERS)


def test_answers_about_names_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("idea\ntea\ncoffee\nwater\n")
    (tmp_path / "answers.csv").write_text("winner,loser\ntea,coffee\ntea,water\n")
    read = Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "answers.csv")
    assert read == Comparisons(NAMES, PAIRS)
    assert Comparisons.from_frame(NAMES, read.to_frame()) == read
