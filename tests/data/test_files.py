"""Files of every kind that people have, read as the same table; and sentences for those that cannot be."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import Comparisons, InputError, create_study
from coombs.data import files, formats
from coombs.data.catalogue import catalogue
from coombs.data.files import NamedColumns, content_table

openpyxl = pytest.importorskip("openpyxl")

ROWS: list[list[Any]] = [
    ["flat", "rent", "new", "since", "note"],
    ["Müller Straße", 650.5, True, dt.date(2020, 1, 31), "5 € “cheap”"],
    ["Bell St", 720, False, dt.date(2021, 2, 1), ""],
]
TEXT = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in ROWS) + "\n"


def workbook(*sheets: list[list[Any]], prepare: Callable[[Any], None] = lambda book: None) -> bytes:
    """An Excel file with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"S{number}")
        for row in rows:
            sheet.append(row)
    prepare(book)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def lines(rows: list[list[Any]]) -> list[str]:
    return [json.dumps(dict(zip(rows[0], row, strict=True)), default=str) for row in rows[1:]]


def check(table: NamedColumns) -> None:
    """That the table is that of ROWS."""
    assert list(table.columns) == ROWS[0]
    assert table.columns["flat"].tolist() == ["Müller Straße", "Bell St"]
    assert table.typed["rent"].tolist() == [650.5, 720]
    assert table.typed["new"].tolist() == [1, 0]
    assert table.typed["since"].tolist() == [dt.date(2020, 1, 31), dt.date(2021, 2, 1)]
    assert table.typed["note"].tolist() == ["5 € “cheap”", None]


@pytest.mark.parametrize(
    ("content", "name", "note"),
    [
        (TEXT.encode(), "t.csv", ""),
        (TEXT.encode("utf-8-sig"), "t.csv", ""),
        (TEXT.encode("utf-16"), "t.csv", "t.csv is UTF-16 text"),
        (b"\xfe\xff" + TEXT.replace(",", "\t").encode("utf-16-be"), "t.txt", "t.txt is UTF-16 text"),
        (TEXT.encode("cp1252"), "t.csv", "read as Windows text (cp1252)"),
        (TEXT.replace("\n", "\r\n").encode(), "t.csv", ""),
        (TEXT.replace("\n", "\r").encode(), "t.csv", ""),
        (TEXT.replace(",", ";").encode(), "t.csv", ""),
        (b"sep=;\r\n" + TEXT.replace(",", ";").encode(), "t.csv", ""),
        (b'"sep=,"\n' + TEXT.encode(), "t.csv", ""),
        (b"sep=|\n" + TEXT.replace(",", "|").encode(), "t.csv", ""),
        (b"\n,,,,\n" + TEXT.encode() + b",,,,\n\n\n", "t.csv", ""),
        (TEXT.replace("\n", ",,\n").encode(), "t.csv", ""),
        (TEXT.replace(",", " , ", 4).encode(), "t.csv", ""),
        (workbook(ROWS), "t.xlsx", ""),
        (workbook([], [["only a title"]], ROWS, ROWS), "t.xlsx", "the sheet 'S2' was read"),
        (workbook([[], *ROWS, []]), "without a suffix", ""),
        ("\n".join(lines(ROWS)).encode(), "t.jsonl", ""),
        ("\r\n\r\n".join(lines(ROWS)).encode("utf-16"), "t.NDJSON", "UTF-16"),
        (f"[{','.join(lines(ROWS))}]".encode(), "t.json", ""),
    ],
)
def test_every_form_of_a_file_is_the_same_table(content: bytes, name: str, note: str) -> None:
    table = content_table(content, name)
    check(table)
    assert bool(table.notes) == bool(note) and note in "".join(table.notes)


def test_rows_are_called_as_the_file_counts_them() -> None:
    assert content_table(b"sep=;\n\na;b\n1;2\n\n3;4\n", "t.csv").where(1) == "line 6 of t.csv"
    assert content_table(b'a,b\n"1\n1",2\n3,4\n', "t.csv").where(1) == "line 4 of t.csv"
    assert content_table(workbook([["a"], [], [1], [2]]), "t.xlsx").where(1) == "row 4 of t.xlsx"
    assert content_table(b'{"a": 1}\n\n{"a": 2}\n', "t.jsonl").where(1) == "line 3 of t.jsonl"
    assert content_table(b'[{"a": 1}, {"a": 2}]', "t.json").where(1) == "entry 2 of t.json"


# CSV


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_first_column_may_have_no_name(mark: str) -> None:
    table = content_table(f"{mark}price\na{mark}1\n".encode(), "t.csv")
    assert list(table.columns) == ["", "price"] and table.separator == mark


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.text(min_size=1).filter(lambda text: "\0" not in text)), min_size=1
    ),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_a_written_csv_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, str]], encoding: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    texts = [text.encode(errors="replace").decode() for _, text in rows]
    files.write_csv(path, ["x", "text"], [(x, text) for (x, _), text in zip(rows, texts, strict=True)])
    content = path.read_bytes().decode().encode(encoding)
    table = content_table(content, "t.csv")
    assert table.typed["x"].tolist() == [x for x, _ in rows]
    assert table.columns["text"].tolist() == texts


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "t.csv is empty"),
        (b"\n\n,,\n", "t.csv is empty"),
        (b"a,b\n", "has no rows"),
        (b"a,b\n1\n", "Line 2 of t.csv has 1 field; the header has 2"),
        (b"a,b\n1,2,3\n", "Line 2 of t.csv has 3 fields; the header has 2"),
        (b'a,b\n"1\n1",2\n3,4,5\n', "Line 4 of t.csv has 3 fields"),
        (b"a,,\n1,2,3\n", "t.csv has 2 columns without a name"),
        (b"a,a\n1,2\n", "More than one column of t.csv is named 'a'"),
        (b"a|b\n1|2\n", "separate the fields by commas"),
        (b"a,b\n\x81,2\n", "neither UTF-8, UTF-16 nor Windows text"),
        (b"\xff\xfea", "neither UTF-8, UTF-16 nor Windows text"),
        (b"\xe9,b\n\x01,2\n", "neither UTF-8, UTF-16 nor Windows text"),
        (b"a,b\n1,\x00\n", "zero bytes"),
    ],
)
def test_csv_that_cannot_be_read_gets_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        content_table(content, "t.csv")


# Excel


def test_cells_of_excel_are_what_they_show() -> None:
    def prepare(book: Any) -> None:
        sheet = book.worksheets[0]
        for row, (value, form) in enumerate([(0.45, "0%"), (0.07, "0.0%")], 2):
            sheet.cell(row, 1, value).number_format = form
        for row, value in enumerate([dt.timedelta(hours=1, minutes=30), dt.timedelta(minutes=45)], 2):
            sheet.cell(row, 4, value).number_format = "[h]:mm"

    rows = [["share", "weight", "price", "time"], [0, "2.3 kg", 5], [0, "#N/A", "#DIV/0!"]]
    table = content_table(workbook(rows, prepare=prepare), "t.xlsx")
    assert table.typed["share"].tolist() == [45, 7] and table.readings["share"].unit == "%"
    assert repr(table.typed["weight"].tolist()) == "[2.3, nan]" and table.readings["weight"].unit == "kg"
    assert repr(table.typed["price"].tolist()) == "[5.0, nan]"
    assert table.typed["time"].tolist() == [90, 45] and table.readings["time"].unit == "min"


def test_merged_cells_are_gaps_and_formulas_without_values_are_told() -> None:
    rows = [["a", "b", "c"], [1, 2, "=A2+B2"], [3, 4, "=A3+B3"]]
    table = content_table(
        workbook(rows, prepare=lambda book: book.worksheets[0].merge_cells("A2:A3")), "t.xlsx"
    )
    assert repr(table.typed["a"].tolist()) == "[1.0, nan]"
    assert table.typed["c"].tolist() == [None, None]
    assert "t.xlsx has 2 formulas without a value, the first in cell C2" in table.notes[0]


def test_hidden_sheets_are_passed_over() -> None:
    def hide(book: Any) -> None:
        book.worksheets[0].sheet_state = "hidden"

    assert list(content_table(workbook([["x"], [1]], [["y"], [2]], prepare=hide), "t.xlsx").columns) == ["y"]


def archive(*names: str, size: int = 1) -> bytes:
    """A zip file with such files in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in names:
            packed.writestr(name, b"0" * size)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            archive("mimetype", "content.xml"),
            "is an OpenDocument file; save or export it as CSV UTF-8 or .xlsx",
        ),
        (archive("Index/Document.iwa"), "is a Numbers file"),
        (archive("photo.jpg"), "is an archive"),
        (archive("xl/workbook.xml"), "cannot be read"),
        (b"PK\x03\x04damaged", "an archive that is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "old Excel file .* or has a password; in Excel: Save as"),
        (workbook([["a", "b"]]), "No sheet of t.xlsx has a header line and a row below it"),
        (workbook([[1, 2], [3, 4]]), "Row 1 of t.xlsx is all numbers"),
    ],
)
def test_workbooks_that_cannot_be_read_get_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        content_table(content, "t.xlsx")


def test_a_workbook_that_unpacks_to_too_much_is_not_unpacked() -> None:
    bomb = archive("xl/workbook.xml", size=10**7)
    assert len(bomb) < 10**5
    with pytest.raises(InputError, match="more than 1 MB once it is unpacked"):
        content_table(bomb, "t.xlsx", most_cells=10**4)


def test_more_cells_than_are_allowed_are_refused_in_every_format() -> None:
    rows = [["a", "b"], *[[i, i] for i in range(20)]]
    texts = "\n".join(f"{a},{b}" for a, b in rows).encode()
    listed = f"[{','.join(lines(rows))}]".encode()
    for content, name in ((texts, "t.csv"), (workbook(rows), "t.xlsx"), (listed, "t.json")):
        assert content_table(content, name, most_cells=1000).n_rows == 20
        with pytest.raises(InputError, match="more than 30 cells"):
            content_table(content, name, most_cells=30)


def test_without_openpyxl_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r'pip install "coombs\[excel\]"; or save it as CSV UTF-8'):
        content_table(workbook_of_rows, "t.xlsx")


workbook_of_rows = workbook(ROWS)


# JSON


def test_keys_that_are_missing_are_gaps() -> None:
    table = content_table(b'{"a": 1}\n{"b": "x", "a": null}\n{"a": "n/a", "b": ""}\n{"a": 2.5}\n', "t.jsonl")
    assert repr(table.typed["a"].tolist()) == "[1.0, nan, nan, 2.5]"
    assert table.typed["b"].tolist() == [None, "x", None, None]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n{"a": [1]}', "In line 2 of t.json 'a' is a list or an object; it must be text"),
        (b'[{"a": {"b": 1}}]', "In entry 1 of t.json 'a' is a list or an object"),
        (b'{"a": 1}\n5\n', 'Line 2 of t.json is not an object; it must be one, such as {"name"'),
        (b"[1, 2]", "Entry 1 of t.json is not an object"),
        (b'{"a": 1,}', "Line 1 of t.json is not JSON"),
        (b'{"a": 1}\n{"a": 1', "Line 2 of t.json is not JSON"),
        (b'[{"a": 1}', "t.json is not JSON"),
        (b"[" * 100_000, "t.json is not JSON"),
        (b'{"a": 1, "a": 2}', "Line 1 of t.json has 'a' twice; there must be an object"),
        (b'{"a": 1, "a ": 2}', "More than one column of t.json is named 'a'"),
        (b'{"a": NaN}', "Line 1 of t.json has NaN for a number; .* null for what is not known"),
        (b'{"a": "\\ud800"}', "In line 1 of t.json 'a' has half a character"),
        (b"{}\n{}", "t.json is empty"),
        (b"[]", "t.json is empty"),
        (b" \n", "t.json is empty"),
    ],
)
def test_json_that_is_no_table_gets_a_sentence(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        content_table(content, "t.json")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b", "c"]),
            st.none() | st.booleans() | st.floats(-1e9, 1e9) | st.text(max_size=5),
        ),
        min_size=1,
    ).filter(lambda entries: any(entries))
)
def test_json_lines_and_a_json_list_are_the_same_table(entries: list[dict[str, Any]]) -> None:
    texts = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    one = content_table("\n".join(texts).encode(errors="replace"), "t.jsonl")
    other = content_table(f"[{','.join(texts)}]".encode(errors="replace"), "t.json")
    assert {k: v.tolist() for k, v in one.columns.items()} == {
        k: v.tolist() for k, v in other.columns.items()
    }


# Items and answers

ITEMS = [["item", "price", "weight"], ["latte", "4,50 €", "300 g"], ["mocha", "5,00 €", "0,4 kg"]]
ANSWERS = [
    ["left", "right", "winner", "weight"],
    ["latte", "mocha", "mocha", 2],
    ["latte", "mocha", "tie", 1.5],
]


def as_csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows(rows)
    return text.getvalue().replace(".", ",").encode("utf-16")


FORMS: dict[str, Callable[[list[list[Any]]], bytes]] = {
    ".csv": as_csv,
    ".xlsx": workbook,
    ".jsonl": lambda rows: "\n".join(lines(rows)).encode(),
    ".json": lambda rows: f"[{','.join(lines(rows))}]".encode(),
}


@pytest.mark.parametrize("suffix", FORMS)
def test_items_and_answers_may_be_in_any_form(suffix: str, tmp_path: Path) -> None:
    items, answers = tmp_path / f"items{suffix}", tmp_path / f"answers{suffix}"
    items.write_bytes(FORMS[suffix](ITEMS))
    answers.write_bytes(FORMS[suffix](ANSWERS))
    data = Comparisons.read_csv(items, answers)
    np.testing.assert_allclose(data.items, [[4.5, 300], [5, 400]])
    assert data.weights.tolist() == [2, 1.5] and data.y.tolist() == [-1, 0]
    study = create_study(items, storage="memory:")
    assert study.import_answers(answers) == 2
    assert catalogue(items).names == ["latte", "mocha"]


def test_a_whole_study_is_no_table_of_answers(tmp_path: Path) -> None:
    study = create_study([[0.0], [1.0]], storage="memory:")
    study.export(tmp_path / "study.jsonl")
    with pytest.raises(InputError, match="is a whole study; import_study makes it one again"):
        study.import_answers(tmp_path / "study.jsonl")


def test_dates_in_a_first_column_are_the_names(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("day,rain\n2025-01-31,5\n2025-02-01,0\n")
    assert catalogue(tmp_path / "days.csv").names == ["2025-01-31", "2025-02-01"]


def test_guards_are_not_taken_off_in_files_that_have_none() -> None:
    text = "'=1+1"
    assert content_table(workbook([["a", "b"], [text, 1]]), "t.xlsx").columns["a"].tolist() == [text]
    assert content_table(f"a,b\n{formats.guard(text)},1\n".encode(), "t.csv").columns["a"].tolist() == [text]
