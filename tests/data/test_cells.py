"""What cells say: numbers with marks and units, dates, yes and no, and what is not known."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coombs.data.catalogue import catalogue
from coombs.data.cells import ReadColumn, read_columns, read_frame_column, yes_no
from coombs.data.files import read_table
from coombs.data.quantities import common_unit, is_known

NAN = float("nan")
ERRORS = ["TBD", "#N/A", "#DIV/0!", ".", "k.A.", "unbekannt", "s/d"]
MIXED = [("1,5", "2.5", "2"), ("5", "1:30"), ("12,5", "7,25", "big"), ("5 kg", "6 kg", "about 7 kg")]


def read(*cells: str, commas: bool = False) -> ReadColumn:
    """A column of these cells, beside one of names."""
    names = np.array([f"n{i}" for i in range(len(cells))], dtype=object)
    return read_columns({"thing": names, "x": np.array(cells, dtype=object)}, commas=commas)["x"]


def phrase(column: ReadColumn) -> str:
    return column.reading.phrase if column.reading else ""


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["2.3 kg", "1.2kg"], [2.3, 1.2], "kg"),
        (["250 g", "1.2 kg", "1 kg"], [0.25, 1.2, 1.0], "kg"),
        (["11.3h", "5 h"], [11.3, 5], "h"),
        (["5 min", "1 h", "90 min"], [5, 60, 90], "min"),
        (["5m", "1h", "2h"], [5 / 60, 1, 2], "h"),
        (["1h30", "2 h 05 min", "45 min"], [90, 125, 45], "min"),
        (["1,699 EUR", "950 EUR"], [1699, 950], "EUR"),
        (["€ 1.699,00", "12,50 €"], [1699, 12.5], "€"),
        (["1.699,- €", "5,- €"], [1699, 5], "€"),
        (["$1,234.50", "-$950", "$-3"], [1234.5, -950, -3], "$"),
        (["$1,200 /mo", "$900 /mo"], [1200, 900], "$ /mo"),
        (["45 %", "3%"], [45, 3], "%"),
        (["1 TB", "512 GB", "256gb"], [1000, 512, 256], "gb"),
        (["12 m²", "15 m2", "20 m²"], [12, 15, 20], "m²"),
        (['3.5"', '6"'], [3.5, 6], "inch"),
        (["6,5 Zoll", "7 Zoll"], [6.5, 7], "Zoll"),
        (["-5 °C", "3 °C"], [-5, 3], "°C"),
        (["3 rooms", "1 room", "2 rooms"], [3, 1, 2], "rooms"),
        (["5 min walk", "10 min walk"], [5, 10], "min walk"),
        (["1.5M", "900k", "20k"], [1500, 900, 20], "k"),
    ],
)
def test_numbers_with_units_are_numbers_in_the_most_frequent_unit(
    cells: list[str], values: list[float], unit: str
) -> None:
    found = read(*cells)
    np.testing.assert_allclose(found.cells.astype(float), values)
    assert found.reading is not None and found.reading.unit == unit and f"in {unit}" in phrase(found)


def test_what_was_converted_is_said() -> None:
    assert phrase(read("1 TB", "512 GB", "256 GB")) == "in GB (1 TB is 1000)"


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,699", "12,500"], [1699, 12500]),
        (["1,699", "950"], [1699, 950]),
        (["1,234,567.5", "3"], [1234567.5, 3]),
        (["1.699,00", "5"], [1699, 5]),
        (["1.699", "2.500,5"], [1699, 2500.5]),
        (["1 699,50", "1\u00a0200", "1\u202f000\u202f000"], [1699.5, 1200, 1e6]),
        (["1'699.50", "1’200"], [1699.5, 1200]),  # noqa: RUF001
        (["12,5", "1,200"], [12.5, 1.2]),
        (["12,34,567", "1,00,000"], [1234567, 100000]),
        (["0,350", "1,250"], [0.35, 1.25]),
        (["2,5e3", "1e5"], [2500, 1e5]),
        (["\u22125", "+3"], [-5, 3]),
    ],
)
def test_marks_are_understood_by_the_cells_that_leave_no_doubt(cells: list[str], values: list[float]) -> None:
    assert read(*cells).cells.tolist() == values


def test_what_could_be_either_is_thousands_unless_semicolons_or_other_columns_say_otherwise() -> None:
    assert read("1,699", "2,500").cells.tolist() == [1699, 2500]
    assert phrase(read("1,699", "2,500")) == "2,500 is 2500"
    assert read("1,699", "2,500", commas=True).cells.tolist() == [1.699, 2.5]
    for other, value in (("12,5", 1.699), ("12.5", 1699)):
        columns = {"a": np.array([other], dtype=object), "b": np.array(["1,699"], dtype=object)}
        assert read_columns(columns, commas=value == 1699)["b"].cells.tolist() == [value]
    columns = {"a": np.array(["12,5"], dtype=object), "b": np.array(["1.699"], dtype=object)}
    assert read_columns(columns)["b"].cells.tolist() == [1699]


@pytest.mark.parametrize(
    "word",
    ["", " ", "n/a", "N/A", "NA", "na", "-", "--", "–", "—", "?", "null", "None", "nan", "unknown", *ERRORS],  # noqa: RUF001
)
def test_words_for_what_is_not_known_are_gaps_among_numbers(word: str) -> None:
    for cells in (("5", word, "3.5"), ("5 kg", word, "3.5 kg")):
        found = read(*cells)
        assert found.cells.dtype == float and np.isnan(found.cells).tolist() == [False, True, False]
        if word.strip() and (word != "nan" or "kg" in cells[0]):
            assert f"1 cell not known ({word})" in phrase(found)


def test_few_words_are_gaps_among_words() -> None:
    assert read("n/a", "red", "—", "", "none", "NA", "?").cells.tolist() == [
        None, "red", None, None, "none", None, None
    ]  # fmt: skip


@pytest.mark.parametrize(
    "cells",
    [("5", "about 5"), ("5", "12?"), ("650", "720 EUR"), ("1", "2x"), *MIXED],
)
def test_odd_cells_among_numbers_stay_as_they_are_to_be_refused(cells: tuple[str, ...]) -> None:
    found = read(*cells).cells.tolist()
    assert {type(cell) for cell in found} == {float, str}
    assert all(cell in cells for cell in found if isinstance(cell, str))


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (("2 kg", "3 EUR"), "EUR and kg do not convert into each other"),
        (("1:30", "2:15"), "1:30 may be hours and minutes, or minutes and seconds"),
        (("03/04/2025", "01/02/2025"), "01/02/2025 may be a day in January or in February"),
        (("2025-01-31", "2025-02-01", "soon"), "'soon' is no date"),
        (("31.02.2025", "1.2.2025"), "not every cell is a day that exists"),
        (("12 High St", "14 High St"), ""),
        (("3a", "4b"), ""),
        (("10-20", "20-30"), ""),
        (("5 min", "quiet", "by the park"), ""),
        (("x" * 100, "5 " + "y" * 100), ""),
    ],
)
def test_what_cannot_be_made_numbers_of_stays_text_and_it_is_said_why(
    cells: tuple[str, ...], reason: str
) -> None:
    found = read(*cells)
    assert found.cells.tolist() == list(cells)
    assert phrase(found) == (f"kept as text: {reason}" if reason else "")


@pytest.mark.parametrize("cells", [["12 Mill", "14 Mill"], ["5 km", "10 km"]])
def test_a_first_column_of_different_quantities_is_names(cells: list[str]) -> None:
    column = np.array(cells, dtype=object)
    found = read_columns({"thing": column, "x": column})
    assert found["thing"].cells.tolist() == cells and found["x"].cells.dtype == float


@pytest.mark.parametrize("cells", [["5 km", "10 km", "5 km"], ["€ 5", "€ 6"], ["5 %", "6 %"]])
def test_a_first_column_of_prices_or_of_quantities_that_repeat_is_numbers(cells: list[str]) -> None:
    assert read_columns({"x": np.array(cells, dtype=object)})["x"].cells.dtype == float


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2025-12-31", "2024-01-02"], ["2025-12-31", "2024-01-02"]),
        (["31.12.2025", "1.2.2024"], ["2025-12-31", "2024-02-01"]),
        (["12/31/2025", "01/02/2024"], ["2025-12-31", "2024-01-02"]),
        (["31/12/2025", "01/02/2024", "n/a"], ["2025-12-31", "2024-02-01", "NaT"]),
        (["2025/12/31", "2024/01/02"], ["2025-12-31", "2024-01-02"]),
        (["31.12.2025 14:30", "1.2.2024 9:05"], ["2025-12-31T14:30:00", "2024-02-01T09:05:00"]),
        (["2025-12-31T14:30:00+02:00"], ["2025-12-31T12:30:00"]),
    ],
)
def test_dates_without_doubt_are_dates(cells: list[str], days: list[str]) -> None:
    found = read(*cells).cells
    assert found.dtype.kind == "M"
    np.testing.assert_array_equal(found, np.array(days, dtype=found.dtype))


def test_which_came_first_in_dates_is_said() -> None:
    assert phrase(read("12/31/2025", "1/2/2024")) == "dates with the month first (1/2/2024 is 2024-01-02)"


# Laws

UNITS = [["mg", "g", "kg"], ["mm", "cm", "m", "km"], ["s", "min", "h"], ["MB", "GB", "TB"], ["W", "kW"]]
MARKS = [(".", ","), (",", "."), (".", "'"), (",", " "), (",", "\u202f"), (".", "")]


def written(value: float, decimal: str, thousands: str) -> str:
    """A number with two decimals and these marks."""
    return f"{value:,.2f}".translate({ord(","): thousands, ord("."): decimal})


numbers = st.lists(st.integers(-(10**9), 10**9).map(lambda n: n / 100), min_size=1, max_size=6)


@given(numbers, st.sampled_from(MARKS), st.sampled_from(["", " kg", " €", "%"]), st.booleans())
def test_a_number_with_any_marks_and_unit_reads_back(
    values: list[float], marks: tuple[str, str], unit: str, commas: bool
) -> None:
    found = read(*(written(value, *marks) + unit for value in values), commas=commas)
    assert found.cells.tolist() == values


@given(st.sampled_from(UNITS), st.data())
def test_a_quantity_in_any_unit_of_a_family_reads_back(family: list[str], data: Any) -> None:
    values = data.draw(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=6))
    units = [data.draw(st.sampled_from(family)) for _ in values]
    common = common_unit(Counter(units))
    assert common is not None and common[0] in units
    cells = [f"{value / common[1][unit]!r} {unit}" for value, unit in zip(values, units, strict=True)]
    assume(not any("e" in cell.split()[0] for cell in cells))
    np.testing.assert_allclose(read(*cells).cells.astype(float), values)


CELLS = ["5", "2,5", "1.5", "1,200", "3 kg", "200 g", "4 EUR", "n/a", "", "red", "true", "2025-01-31"]
CELLS += ["01/02/2025", "13/02/2025", "1:30", "about 5"]


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=8), st.randoms())
def test_the_order_of_rows_does_not_matter(cells: list[str], rng: random.Random) -> None:
    order = list(range(len(cells)))
    rng.shuffle(order)
    found, shuffled = read(*cells), read(*(cells[i] for i in order))
    assert found.reading == shuffled.reading and found.cells.dtype == shuffled.cells.dtype
    assert repr([found.cells[i] for i in order]) == repr(list(shuffled.cells))


@pytest.mark.slow
@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_cells_become_numbers_dates_or_words_and_none_is_lost(cells: list[str]) -> None:
    found = read(*cells).cells
    assert len(found) == len(cells) and found.dtype.kind in "fMO"
    for cell, value in zip(cells, found.tolist(), strict=True):
        if isinstance(value, str):
            assert value.strip() == cell.strip()


@given(st.dates(dt.date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"]))
def test_a_written_date_reads_back(day: dt.date, form: str) -> None:
    assert read(day.strftime(form)).cells.tolist() == [day]


def test_units_convert_only_inside_their_family() -> None:
    for family in UNITS:
        for other in UNITS:
            both = {family[0]: 1, other[-1]: 1}
            assert (common_unit(Counter(both)) is None) == (family is not other)
    assert not is_known("rooms")


# Frames


def test_text_in_frames_is_read_where_it_has_marks_units_or_dates() -> None:
    def cells(*values: Any) -> list[Any]:
        return read_frame_column(np.array(values, dtype=object)).cells.tolist()

    assert cells("2 kg", "500 g", "1 kg") == [2, 0.5, 1]
    assert cells("1,699", "950") == [1699, 950]
    assert cells("2025-01-31") == [dt.date(2025, 1, 31)]
    assert repr(cells(3, "n/a", None, 2.5)) == repr([3.0, NAN, NAN, 2.5])
    for kept in (["12", "13"], ["12", "red"], [1, "1,5"], [1, 2], [dt.date(2025, 1, 1), "n/a"]):
        assert cells(*kept) == kept


# Yes and no


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["yes", "No", "n/a"], [1, 0, NAN]),
        (["y", "n"], [1, 0]),
        (["ja", "nein", None], [1, 0, NAN]),
        (["oui", "non"], [1, 0]),
        (["TRUE", "false"], [1, 0]),
        (["x", "", "X"], [1, 0, 1]),
        (["x", "-", "?"], [1, 0, NAN]),
        (["✓", "✗", ""], [1, 0, NAN]),
        (["✓", ""], [1, 0]),
    ],
)
def test_yes_and_no_are_one_and_zero(cells: list[Any], values: list[float]) -> None:
    np.testing.assert_array_equal(yes_no(np.array(cells, dtype=object)), values)


@pytest.mark.parametrize(
    "cells", [["yes", "maybe"], ["x", "y"], ["x", "✓"], ["", "-"], ["N", "S"], ["1", "0"]]
)
def test_other_words_are_not_yes_and_no(cells: list[str]) -> None:
    assert yes_no(np.array(cells, dtype=object)) is None
    assert yes_no(np.array([1.0, 0.0])) is None


def test_money_with_three_digits_behind_every_point_is_in_thousands(tmp_path: Path) -> None:
    """No price has three decimals; what was done is said."""
    path = tmp_path / "prices.csv"
    path.write_text("item,price\nA,1.699 €\nB,2.499 €\nC,999 €\n", encoding="utf-8")
    table = read_table(path)
    assert table.typed["price"].tolist() == [1699, 2499, 999] and "is 2499" in table.sentences[0]
    path.write_text("item,weight\nA,1.699 kg\nB,2.499 kg\nC,0.9 kg\n", encoding="utf-8")
    assert read_table(path).typed["weight"].tolist() == [1.699, 2.499, 0.9]


@pytest.mark.parametrize("word", ["?", "n/a", "-", ""])
def test_what_is_not_known_beside_yes_and_no_is_learned_around(word: str, tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(f"item,rent,garden\nA,5,yes\nB,6,{word}\nC,7,no\nD,8,yes\n", encoding="utf-8")
    table = catalogue(path).table
    assert table.encoding is not None and len(table.encoding.marked) == 1
