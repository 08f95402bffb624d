"""Files that are small and stand for much are refused, in a sentence, before they are decoded."""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
import zipfile
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coombs.data import file_limits, files, formats, parquet_files
from coombs.data.files import content_table, write_frame
from coombs.data.tables import InputError
from coombs.messages import LONGEST_MESSAGE, LONGEST_NAME

MOST = 1_000_000
"""Cells that the page takes."""


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = BytesIO()
    writer.write_table(arrow.table(columns), file, **options)
    return file.getvalue()


def repeated(text: str, times: int) -> Any:
    """A text many times, which a Parquet file holds once."""
    arrow = pytest.importorskip("pyarrow")
    return arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(times, np.int32)), arrow.array([text]))


def varint(value: int, width: int = 0) -> bytes:
    """A whole number as Parquet's footer has it, in as many bytes as are asked for."""
    value, found = value << 1, []
    while value or not found or len(found) < width:
        found.append(value & 127 | 128)
        value >>= 7
    found[-1] &= 127
    return bytes(found)


def with_lie(content: bytes, truth: int, lie: int) -> bytes:
    """The same file, with another number in its footer."""
    size = int.from_bytes(content[-8:-4], "little") + 8
    told = varint(truth)
    assert told in content[-size:]
    return content[:-size] + content[-size:].replace(told, varint(lie, len(told)))


@pytest.mark.parametrize(
    ("text", "times", "words"),
    [
        ("x" * 100_000, 1_000_000, "more than 95 MB once it is decoded"),
        ("x" * 1_000_000, 2, "a cell of 1000000 bytes; 131072 are the most"),
        ("x", 2_000_000, "more than 1000000 cells"),
    ],
)
def test_parquet_bombs_are_refused_before_they_are_decoded(text: str, times: int, words: str) -> None:
    """The first stands for 100 GB in 7 kB."""
    content = parquet({"a": repeated(text, times)}, store_schema=False)
    assert len(content) < 60_000
    with pytest.raises(InputError, match=words):
        content_table(content, "bomb.parquet", MOST)


def test_texts_that_repeat_the_one_before_are_counted_as_they_come() -> None:
    content = parquet(
        {"a": ["x" * 100_000] * 1_100},
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    )
    assert len(content) < 2_000
    with pytest.raises(InputError, match="more than 95 MB once it is decoded"):
        content_table(content, "bomb.parquet", MOST)


@pytest.mark.parametrize("of", ["rows", "bytes"])
def test_what_a_parquet_file_says_of_its_size_is_not_believed(of: str) -> None:
    """A file that says it has ten rows, or a hundred bytes, is held against its pages and what comes out."""
    if of == "rows":
        n, column = 13_000_007, np.zeros(13_000_007)
        content = with_lie(parquet({"a": column}, compression="zstd"), n, 10)
    else:
        column = np.arange(13_000_000.0)
        content = parquet({"a": column}, compression="zstd", use_dictionary=False, row_group_size=len(column))
        about = pytest.importorskip("pyarrow.parquet").read_metadata(BytesIO(content)).row_group(0)
        content = with_lie(content, about.column(0).total_uncompressed_size, 100)
        content = with_lie(content, len(column), 10)
    with pytest.raises(InputError, match="more than 95 MB once it is decoded"):
        content_table(content, "bomb.parquet", MOST)


def test_the_library_bounds_a_parquet_file_by_its_own_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What grows a hundredfold is a bomb once it is large; what does not is read, however large it is."""
    monkeypatch.setattr(parquet_files, "LARGEST_TABLE", 10**6)
    (tmp_path / "bomb.parquet").write_bytes(parquet({"a": repeated("a", 200_000)}, store_schema=False))
    (tmp_path / "large.parquet").write_bytes(parquet({"a": np.arange(200_000.0)}, use_dictionary=False))
    with pytest.raises(InputError, match="once it is decoded"):
        files.read_table(tmp_path / "bomb.parquet")
    assert files.read_table(tmp_path / "large.parquet").n_rows == 200_000


def test_every_page_of_a_parquet_file_is_counted() -> None:
    """The sizes that headers of pages say add up to what the file says of itself, if it is honest."""
    rng = np.random.default_rng(0)
    texts = [f"{one:x}" for one in rng.integers(0, 1000, 20_000)]
    content = parquet(
        {"a": rng.normal(size=20_000), "b": texts, "c": [None, True] * 10_000},
        row_group_size=7_000,
        data_page_size=10_000,
    )
    about = pytest.importorskip("pyarrow.parquet").read_metadata(BytesIO(content))
    stated = parquet_files._stated_bytes(about)
    found = int(parquet_files._unpacked_bytes(about, content).sum())
    # What is stated has the headers of pages in it.
    assert 0.9 * stated < found <= stated


def test_columns_of_lists_are_left_out_of_parquet_files_and_named() -> None:
    table = content_table(parquet({"a": ["x", "y"], "tags": [["p"], []], "n": [1, 2]}), "t.parquet")
    assert list(table.columns) == ["a", "n"]
    assert table.sentences == ["tags of t.parquet holds lists or objects; it was left out."]
    with pytest.raises(InputError, match="no columns but lists"):
        content_table(parquet({"tags": [["p"], []]}), "t.parquet")


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet"])
def test_files_with_too_many_columns_are_refused(ending: str) -> None:
    names = [f"c{i}" for i in range(file_limits.MOST_COLUMNS + 1)]
    text = {
        "csv": f"{','.join(names)}\n{',1' * (len(names) - 1)}\n",
        "json": json.dumps([dict.fromkeys(names, 1)]),
        "jsonl": "\n".join(json.dumps({name: 1}) for name in names),
    }
    content = parquet({name: [1] for name in names}) if ending == "parquet" else text[ending].encode()
    with pytest.raises(InputError, match="has 10001 columns; 10000 are the most"):
        content_table(content, f"t.{ending}")


def test_brackets_in_json_are_counted_before_they_are_parsed() -> None:
    """Nine megabytes of them would be half a gigabyte of lists."""
    content = b"[" + b"[]," * 3_000_000 + b"[]]"
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="more than 1000000 cells"):
            content_table(content, "t.json", MOST)
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_huge_cell_is_refused(ending: str) -> None:
    cell = "x" * (file_limits.LONGEST_CELL + 1)
    text = f'a,b\n"{cell}",1\n' if ending == "csv" else json.dumps([{"a": cell}])
    with pytest.raises(InputError, match=r"(more than 131072 characters; is a quote|131072 are the most)"):
        content_table(text.encode(), f"t.{ending}")


def test_packed_files_are_named_as_such() -> None:
    with pytest.raises(InputError, match=r"t\.csv is packed \(gzip\); unpack it"):
        content_table(gzip.compress(b"a,b\n1,2\n"), "t.csv")


def test_a_sheet_that_few_bytes_make_wide_is_refused() -> None:
    """A cell in the last column of Excel has 16,383 blank ones before it."""
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), BytesIO()
    for row in (["a", "b"], *([i, i] for i in range(200))):
        book.active.append(row)
    book.active["XFD3"] = 1
    book.save(file)
    with pytest.raises(InputError, match=r"more than 1000000 cells|16384 columns"):
        content_table(file.getvalue(), "t.xlsx", MOST)
    with pytest.raises(InputError, match="has 16384 columns; 10000 are the most"):
        content_table(file.getvalue(), "t.xlsx")
    assert zipfile.is_zipfile(file)


def test_a_device_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is read beyond the most that it may have."""
    monkeypatch.setattr(files, "LARGEST_FILE", 10)
    monkeypatch.setattr(files, "LONGEST_LINE", 10)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "a.txt").write_text("short\n" + "x" * 11)
    with pytest.raises(InputError, match="bring it as Parquet"):
        files.read_table(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"Line 2 of .*a\.txt has more than 10 characters"):
        list(files.numbered_lines(tmp_path / "a.txt"))


@pytest.mark.parametrize("mark", [*"=+-@|\t\r\n", *map(chr, (0xFF1D, 0xFF0B, 0xFF0D, 0xFF20, 0xFF5C))])
def test_no_cell_and_no_header_of_a_csv_begins_as_a_formula(mark: str, tmp_path: Path) -> None:
    """Nor after it was read and written again; and what is read is what was written."""
    frames = pytest.importorskip("pandas")
    text, path = f"{mark}cmd '/C calc'!A0", tmp_path / "t.csv"
    for write in (
        lambda: files.write_csv(path, ["name", text], [["a", text], ["b", f"'{text}"]]),
        lambda: write_frame(frames.DataFrame({"name": ["a", "b"], text: [text, f"'{text}"]}), path),
    ):
        write()
        cells = [cell for row in csv.reader(StringIO(path.read_text(), newline="")) for cell in row]
        assert not any(cell.startswith(mark) for cell in cells)
        table = files.read_table(path)
        assert list(table.columns) == ["name", text.strip() if mark.isspace() else text]
        assert list(table.columns.values())[1].tolist() == [text, f"'{text}"]
    assert formats.guard("plain") == "plain"


def test_messages_cut_long_names() -> None:
    """However long what they quote is, and however it is quoted."""
    name = "n" * 100_000
    table = content_table(b"name,a\nx,1\ny,2\n", "t.csv")
    for error in (
        InputError(f"There is no item {name!r}; give one that there is."),
        InputError(f"There is no file {name}; give one that there is."),
        InputError(f"The columns are {', '.join(['abc'] * 50_000)}; give one that there is."),
        InputError(f"There is no item {name + chr(39)!r} in {table.where(0)}; give one that there is."),
    ):
        assert len(str(error)) <= LONGEST_MESSAGE
        assert str(error).startswith("The") and str(error).endswith("; give one that there is.")
    short = InputError(
        f"There is no item {name[:LONGEST_NAME]!r}; the model's and the items' are 'a' and 'b'."
    )
    assert name[:LONGEST_NAME] in str(short)
    assert str(InputError("half a \ud800 character")).encode()
