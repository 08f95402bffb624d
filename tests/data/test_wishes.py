"""Declared wishes: how they are written, what they say of a table, and which answers they decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from coombs import Comparisons, InputError
from coombs.data.catalogue import item_table
from coombs.data.new_items import table_for
from coombs.data.tables import ItemTable
from coombs.data.wishes import Wish, keeping, parse, wishes_of

FLATS = pd.DataFrame(
    {
        "rent": ["650 EUR", "900 EUR", "720 EUR", "n/a", "1,500 EUR", "800 EUR"],
        "size": [48.0, 70.0, 55.0, 60.0, 90.0, 50.0],
        "size of kitchen": [5.0, 9.0, 4.0, 7.0, 12.0, 8.0],
        "town": ["old", "harbour", "old", "new", "harbour", "new"],
        "floor": pd.Categorical(
            ["low", "high", "mid", "low", "high", "mid"], ["low", "mid", "high"], ordered=True
        ),
        "balcony": ["yes", "no", "no", "yes", "yes", "no"],
        "built": pd.to_datetime(
            ["1990-01-01", "2001-05-01", "1970-06-01", "2020-01-01", "2010-01-01", "1950-01-01"]
        ),
        "views": [10.0, 20.0, 5000.0, 300.0, 100000.0, 7.0],
    },
    index=["a", "b", "c", "d", "e", "f"],
)


def flats() -> ItemTable:
    return item_table(FLATS, {"town": "category", "views": "log"})


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("rent: less", Wish("rent", "less")),
        (" size :MORE ", Wish("size", "more")),
        ("size more", Wish("size", "more")),
        ("size of kitchen >= 5", Wish("size of kitchen", ">=", "5")),
        ("rent<=1,500 EUR", Wish("rent", "<=", "1,500 EUR")),
        ("town == old | new", Wish("town", "=", "old | new")),
        ("town != harbour", Wish("town", "!=", "harbour")),
        ("size \u2264 60", Wish("size", "<=", "60")),
    ],
)
def test_a_wish_is_read_and_written_again(text: str, wish: Wish) -> None:
    names = list(FLATS.columns)
    assert parse(text, names) == wish == parse(str(wish), names)


@pytest.mark.parametrize(
    ("wish", "inside"),
    [
        ("rent <= 800", "acdf"),  # What is not known breaks no limit.
        ("rent < 800 EUR", "acd"),
        ("size >= 0.055e3", "bcde"),
        ("town != harbour", "acdf"),
        ("town = old | new", "acdf"),
        ("floor >= mid", "bcef"),
        ("balcony = yes", "ade"),
        ("built > 2001-05-01", "de"),
        ("built > 01.05.2001", "de"),
        ("rent <= 1.400,00 EUR", "abcdf"),
        ("size >= 54,5", "bcde"),
        ("views <= 300", "abdf"),
    ],
)
def test_a_limit_is_kept_by_the_items_that_its_cells_say(wish: str, inside: str) -> None:
    assert "".join(FLATS.index[wishes_of(wish, flats()).inside]) == inside


def test_directions_are_signs_of_the_columns_that_are_learned_from() -> None:
    table = flats()
    found = wishes_of(["rent: less", "floor: more", "balcony: more", "built: less"], table)
    assert table.features is not None
    signs = dict(zip(table.features, found.signs, strict=True))
    assert {name: sign for name, sign in signs.items() if sign} == {
        "rent": -1,
        "floor": 1,
        "balcony": 1,
        "built": -1,
    }
    assert found.inside.all()


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ("price: less", "begins with no feature"),
        ("size: bigger", "neither a direction nor a limit"),
        ("size >=", "neither a direction nor a limit"),
        ("size <= big", "must be a number"),
        ("rent <= 800 kg", "must be in EUR"),
        ("size <= 40 kg", "a bare number"),
        ("size >= 1.000", "may be 1000 or 1"),
        ("built > 03/04/2001", "must be a date"),
        ("balcony = 3", "must be yes or no"),
        ("built > soon", "must be a date"),
        ("floor = top", "one of low, mid, high"),
        ("town: more", "neither more nor less"),
        ("town = moon", "one of the categories"),
        ("town < old", "must be = or !="),
        (["size: more", "size: less"], "cannot both"),
    ],
)
def test_what_is_no_wish_gets_a_sentence(wish: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        wishes_of(wish, flats())


def test_a_level_that_was_not_learned_from_is_outside_a_limit_that_names_others() -> None:
    new = FLATS.assign(town="moon", rent="700 EUR").iloc[:2]
    with pytest.warns(UserWarning, match="'moon' was not learned from"):
        table = table_for(new, None, 0, flats().encoding)
    assert not wishes_of("town = old", table).inside.any()
    assert wishes_of("town != old", table).inside.all()


def test_limits_must_leave_two_items() -> None:
    with pytest.raises(InputError, match="No item keeps the limits 'size > 1000'"):
        wishes_of("size > 1000", flats()).check()
    with pytest.raises(InputError, match="Only one item keeps"):
        wishes_of("size >= 90", flats()).check()


def test_features_without_names_go_by_position() -> None:
    table = item_table(np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]]))
    found = wishes_of(["0: less", "1 > 1"], table)
    assert found.signs.tolist() == [-1.0, 0.0]
    assert found.inside.tolist() == [True, False, True]


def test_answers_that_limits_decide_are_left_out_and_the_rest_stays() -> None:
    items, inside = np.eye(5), np.array([True, True, True, False, False])
    pairs = Comparisons(items, [[0, 3], [4, 1], [3, 4], [1, 2]])
    assert keeping(pairs, inside).pairs.tolist() == [[3, 4], [1, 2]]
    ranked = Comparisons.from_rankings(items, [[3, 1, 0, 4], [3, 4]])
    kept = keeping(ranked, inside).orders
    assert kept is not None and [kept.tiers_of(k) for k in range(len(kept))] == [[[1], [0]]]
    chosen = Comparisons.from_choices(items, [[0, 1, 3], [0, 1, 3], [0, 3]], [0, 3, 0])
    kept = keeping(chosen, inside).orders
    assert kept is not None and [kept.tiers_of(k) for k in range(len(kept))] == [[[0], [1]]]
    extreme = Comparisons.from_best_worst(items, [[0, 1, 2, 3]] * 2, best=[0, 0], worst=[2, 3])
    kept = keeping(extreme, inside).orders
    assert kept is not None and [kept.tiers_of(k) for k in range(len(kept))] == [[[0], [1], [2]]]
    rated = keeping(Comparisons.from_ratings(items, [0, 3, 1], [1, 2, 3]), inside).ratings
    assert rated is not None and rated.items.tolist() == [0, 1]
    with pytest.raises(InputError, match="decide all answers"):
        keeping(Comparisons(items, [[0, 3]]), inside)
    assert keeping(pairs, np.ones(5, dtype=bool)) is pairs


def test_capital_letters_of_a_feature_do_not_matter_where_only_one_can_be_meant() -> None:
    assert parse("Rent: less", ["rent", "size"]) == Wish("rent", "less")
    assert parse("RENT <= 900", ["rent", "size"]) == Wish("rent", "<=", "900")
    assert parse("size: more", ["size", "Size"]) == Wish("size", "more")
    with pytest.raises(InputError, match="begins with no feature"):
        parse("SIZE: more", ["size", "Size"])


def test_a_unit_that_the_name_of_a_column_has_may_be_written() -> None:
    table = item_table(pd.DataFrame({"rent (EUR)": [650.0, 900.0, 720.0], "size": [48.0, 70.0, 55.0]}))
    assert wishes_of("rent (EUR) <= 800 EUR", table).inside.tolist() == [True, False, True]
    with pytest.raises(InputError, match="write 'size <= 50'"):
        wishes_of("size <= 50 m2", table)
