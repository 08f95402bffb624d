"""Answers that describe what they are about, in long and in wide tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import Comparisons, IdealPoint, InputError
from coombs.data.files import content_table
from coombs.data.profiles import described_choices, is_described

LONG = """person,task,profile,price,size,chosen,chosen_again,age
ann,1,1,3,10,0,1,30
ann,1,2,4,20,1,0,30
ann,2,1,4,20,1,,30
ann,2,2,2,10,0,,30
bob,1,1,3,10,1,,50
bob,1,2,2,20,0,,50
"""
WIDE = """person,task,price_1,price_2,size_1,size_2,winner,age
ann,1,3,4,10,20,2,30
ann,2,4,2,20,10,1,30
bob,1,3,2,10,20,1,50
"""


def _read(text: str, **options: Any) -> Comparisons:
    return Comparisons.of_described(described_choices(content_table(text.encode(), "pairs.csv"), **options))


def test_long_and_wide_tables_of_the_same_questions_are_the_same_answers() -> None:
    long, wide = _read(LONG), _read(WIDE)
    assert long == wide
    assert repr(long) == "Comparisons(3 answers about 4 items with 2 features, by 2 users)"
    assert long.feature_names is not None and long.feature_names.tolist() == ["price", "size"]
    assert long.y.tolist() == [-1, 1, 1] and long.users is not None
    assert long.users.tolist() == ["ann", "ann", "bob"]
    assert long.item_names is not None and long.item_names.tolist() == ["3, 10", "4, 20", "2, 10", "2, 20"]
    assert long.items.tolist() == [[3, 10], [4, 20], [2, 10], [2, 20]]


def test_what_was_recognised_is_said() -> None:
    notes = " ".join(described_choices(content_table(LONG.encode(), "pairs.csv")).notes)
    assert "rows with the same task and person are one question; chosen says which was chosen" in notes
    assert "Learned from: price, size." in notes
    assert "profile (numbers the profiles), chosen_again (is an answer)" in notes
    assert "age (the same for all profiles of each question)" in notes
    notes = " ".join(described_choices(content_table(WIDE.encode(), "pairs.csv")).notes)
    assert "each row is a question about 2 profiles; winner says which was chosen" in notes
    assert "Not learned from: age." in notes


@pytest.mark.parametrize(
    "names",
    [
        ("left_{}", "right_{}"),
        ("Left {}", "Right {}"),
        ("{}_left", "{}_right"),
        ("{}_1", "{}_2"),
        ("{}1", "{}2"),
        ("{}.a", "{}.b"),
        ("A_{}", "B_{}"),
        ("option1_{}", "option2_{}"),
        ("{}_option_a", "{}_option_b"),
        ("first-{}", "second-{}"),
    ],
)
@pytest.mark.parametrize("sides", [("left", "right"), ("1", "2"), ("A", "B"), ("first", "second")])
def test_columns_of_two_sides_are_recognised(names: tuple[str, str], sides: tuple[str, str]) -> None:
    header = [name.format(feature) for feature in ("price", "size") for name in names]
    text = ",".join([*header, "winner"]) + f"\n3,4,10,20,{sides[1]}\n4,2,20,10,{sides[0]}\n"
    data = _read(text)
    assert data.feature_names is not None and data.feature_names.tolist() == ["price", "size"]
    assert data.y.tolist() == [-1, 1]
    assert data.items[data.pairs[0]].tolist() == [[3, 10], [4, 20]]


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_are_read_as_files_are(tmp_path: Path, library: Any) -> None:
    for k, text in enumerate((LONG, WIDE)):
        path = tmp_path / f"{k}.csv"
        path.write_text(text)
        assert Comparisons.from_profiles(library.read_csv(path)) == Comparisons.read_csv(path)


def test_ties_count_and_questions_without_an_answer_are_left_out() -> None:
    data = _read("price_1,price_2,winner\n3,4,tie\n3,5,skip\n4,5,\n3,4,1\n")
    assert data.y.tolist() == [0, 1]
    data = _read("task,price,chosen\n1,3,1\n1,4,0\n2,3,\n2,5,\n")
    assert len(data) == 1


def test_questions_about_equal_profiles_are_left_out_and_said() -> None:
    found = described_choices(content_table(b"price_1,price_2,winner\n3,3,1\n3,4,1\n", "pairs.csv"))
    assert found.sets == ((0, 1),)
    assert found.notes[-1] == "Left out, as the profiles are alike: 1 question."


def test_columns_can_be_named() -> None:
    text = "who,block,cost,size,took\nann,1,3,1,1\nann,1,4,2,0\nbob,1,3,2,0\nbob,1,4,1,1\n"
    data = _read(text, features=["cost"], user="who", question="block", chosen="took")
    assert data.feature_names is not None and data.feature_names.tolist() == ["cost"] and len(data) == 2
    assert _read(WIDE, features=["size"]).n_features == 1


def test_a_question_of_several_profiles_is_a_choice() -> None:
    text = "task,price,chosen\n1,3,0\n1,4,0\n1,5,1\n"
    found = described_choices(content_table(text.encode(), "pairs.csv"))
    assert found.sets == ((0, 1, 2),) and found.chosen == (2,)
    data = Comparisons.of_described(found)
    assert data.shapes == {"choice": 1} and data.orders is not None
    assert data.items[data.orders.members].ravel().tolist() == [5.0, 3.0, 4.0]
    wide = described_choices(content_table(b"price_1,price_2,price_3,winner\n3,4,5,3\n", "pairs.csv"))
    assert (wide.sets, wide.chosen) == (found.sets, found.chosen)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "task,price,chosen\n1,3,1\n1,4,1\n",
            "begins in line 2 of pairs.csv has 2 profiles, 2 of them chosen",
        ),
        ("task,price,chosen\n1,3,0\n1,4,0\n", "has 2 profiles, 0 of them chosen"),
        ("task,price,chosen\n1,3,1\n2,4,0\n2,5,1\n", "line 2 of pairs.csv has 1 profile, 1 of them"),
        ("task,price,chosen\n1,3,1\n1,4,maybe\n", "chosen of line 3 of pairs.csv is 'maybe'; it must be 1"),
        ("task,price,chosen\n1,3,1\n1,4,\n", "chosen of line 3 of pairs.csv is ''; it must be 1"),
        ("price,chosen\n3,1\n4,0\n", "says which rows are one question"),
        ("task,chosen\n1,1\n1,0\n", "No column of pairs.csv describes the profiles"),
        ("task,price\n1,3\n1,4\n", "No column of pairs.csv says what was chosen"),
        ("price_1,price_2,winner\n3,4,0\n", "winner of line 2 of pairs.csv is '0'; it must be left or right"),
        ("price_1,price_2,winner\n3,4,3\n", "winner of line 2 of pairs.csv is '3'"),
        ("price_1,price_2,winner\n3,4,\n", "No answered question"),
        (
            "price_1,price_2,winner\n3,3,1\n",
            "No answered question of pairs.csv is about profiles that differ",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _read(text)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="There is no column 'cost'; the columns are price, size"):
        _read(WIDE, features=["cost"])
    with pytest.raises(InputError, match="There is no column 'who'"):
        _read(LONG, user="who")


@pytest.mark.parametrize(
    "text", ["item,price\ntea,3\n", "left,right,winner\na,b,a\n", "winner,loser\na,b\n", "name\ntea\n"]
)
def test_tables_of_items_and_of_answers_are_not_taken_for_profiles(text: str) -> None:
    assert not is_described(content_table(text.encode(), "t.csv"))


@given(st.integers(0, 10**6), st.integers(2, 12))
@settings(max_examples=25, deadline=None)
def test_swapping_the_sides_flips_the_answers(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values, winners = rng.integers(0, 5, (n, 2, 2)), rng.integers(1, 3, n)
    values[:, 1, 0] = values[:, 0, 0] + 1

    def frame(order: tuple[int, int]) -> pd.DataFrame:
        columns = {f"{'ab'[j]}_{k + 1}": values[:, side, j] for j in (0, 1) for k, side in enumerate(order)}
        return pd.DataFrame(columns | {"winner": winners if order == (0, 1) else 3 - winners})

    one, other = (Comparisons.from_profiles(frame(order)) for order in ((0, 1), (1, 0)))
    first, second = ([data.items[side[: len(data)]] for side in data.oriented()[:2]] for data in (one, other))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_fits_to_described_pairs_speak_of_profiles_by_their_features() -> None:
    rng = np.random.default_rng(0)
    price, size = rng.integers(1, 50, (2, 80, 2))
    columns = {
        f"{name}_{k + 1}": cells[:, k] for name, cells in (("price", price), ("size", size)) for k in (0, 1)
    }
    frame = pd.DataFrame(columns | {"winner": np.where(price[:, 0] < price[:, 1], 1, 2)})
    data = Comparisons.from_profiles(frame)
    est = IdealPoint(metric="none").fit(data)
    told = est.explain()
    assert told.has_pattern and told.ranking[0].item.count(", ") == 1
    assert float(told.ranking[0].item.split(", ")[0]) == told.ranking[0].values[0]
    # New profiles with other features are not taken for old ones.
    assert est.predict(Comparisons.from_profiles(frame)).tolist() == est.predict(data).tolist()
