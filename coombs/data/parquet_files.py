"""Parquet files as pandas frames, bounded before they are decoded: a few kilobytes may stand for gigabytes.

A file says of itself how many rows it has and how large it is unpacked, and may lie. So three things are held
against what is allowed: what it says; what the header of every page says, by which pyarrow unpacks it; and
what comes out, batch by batch. Columns of text are read as different texts and their places, as a long text
may stand in a small page for a million rows.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coombs.data.file_errors import unreadable
from coombs.data.file_limits import (
    BYTES_A_CELL,
    LARGEST_TABLE,
    LONGEST_CELL,
    MOST_GROWTH,
    refuse_cells,
    refuse_columns,
)
from coombs.data.tables import InputError, pandas

ROWS_AT_A_TIME = 2**16
"""Of a batch that is decoded."""
BYTES_OF_A_CELL = 8
"""That a cell takes in a frame, at least."""
_LONG_TEXTS = "DELTA_BYTE_ARRAY"
"""The encoding in which a text repeats the one before; pyarrow does not read it as places of texts."""


class ParquetFrame(NamedTuple):
    """A frame, and the columns that were left out as their cells are lists or objects."""

    frame: Any
    nested: tuple[str, ...]


def parquet_frame(source: str | BytesIO, name: str, most_cells: int | None = None) -> ParquetFrame:
    """The frame in a file that messages call by this name; more than is allowed is refused undecoded."""
    with readable_parquet(name):
        pandas()
        parquet = import_module("pyarrow.parquet")
        with _bytes_of(source) as content:
            if isinstance(source, BytesIO):
                source.seek(0)
            most = _most(len(content), most_cells)
            about = parquet.read_metadata(source)
            refuse_columns(about.num_columns, name)
            refuse_cells(about.num_rows * about.num_columns, name, most_cells)
            _refuse(about.num_rows * about.num_columns * BYTES_OF_A_CELL, name, most)
            _refuse(_stated_bytes(about), name, most)
            unpacked = _unpacked_bytes(about, content)
            _refuse(int(unpacked.sum()), name, most)
            # So few rows at a time that texts which repeat the one before do not become too many at once.
            longest = int(unpacked[_repeat_texts(about)].max(initial=0))
            rows = int(np.clip(most // max(longest, 1), 1, ROWS_AT_A_TIME))
            return _decoded(parquet, source, name, most, rows)


@contextmanager
def readable_parquet(name: str) -> Iterator[None]:
    """Say that a file cannot be read, whatever a damaged one makes pyarrow raise."""
    try:
        yield
    except (ImportError, InputError):
        raise
    except Exception as error:
        raise unreadable(name, error) from error


@contextmanager
def _bytes_of(source: str | BytesIO) -> Iterator[Any]:
    """What is in a file, without reading all of it."""
    if isinstance(source, BytesIO):
        with source.getbuffer() as content:
            yield content
        return
    with open(source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content


def _most(size: int, most_cells: int | None) -> int:
    """Bytes that a file of a size may be decoded to."""
    if most_cells is not None:
        return max(2**20, BYTES_A_CELL * most_cells)
    return max(LARGEST_TABLE, MOST_GROWTH * size)


def _refuse(size: int, name: str, most: int) -> None:
    """Refuse a table that is too large once it is decoded."""
    if size > most:
        raise InputError(
            f"{name} has more than {most // 2**20} MB once it is decoded; leave out rows or columns."
        )


def _stated_bytes(about: Any) -> int:
    """What the file says of its size, unpacked."""
    groups = (about.row_group(i) for i in range(about.num_row_groups))
    return sum(
        max(group.column(j).total_uncompressed_size, 0) for group in groups for j in range(group.num_columns)
    )


# Pages. Before each stands a header in Thrift's compact protocol, whose fields 2 and 3 are the page's size
# unpacked and packed.

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
"""Types of Thrift's fields; 4 to 6 are whole numbers."""
_WHOLE = (4, 5, 6)
_DEEPEST = 16
"""Structures within each other, at most."""


def _unpacked_bytes(about: Any, content: Any) -> NDArray[np.int64]:
    """(row groups, columns) the sizes of their pages once they are unpacked, by the pages' own headers."""
    sizes = np.zeros((about.num_row_groups, about.num_columns), dtype=np.int64)
    for i, j in np.ndindex(sizes.shape):
        column = about.row_group(i).column(j)
        # Of a column without values pyarrow reads no page, and it may begin nowhere.
        if column.num_values > 0:
            start, dictionary = column.data_page_offset, column.dictionary_page_offset
            if dictionary is not None and 0 < dictionary < start:
                start = dictionary
            sizes[i, j] = _pages(content, start, min(start + column.total_compressed_size, len(content)))
    return sizes


def _pages(content: Any, start: int, end: int) -> int:
    """Of the pages between two places."""
    total, place = 0, start
    if start < 0:
        raise ValueError("a column begins before the file")
    while place < end:
        sizes, place = _header(content, place, end)
        unpacked, packed = sizes.get(2, -1), sizes.get(3, -1)
        if unpacked < 0 or packed < 0:
            raise ValueError("a page has no size")
        total, place = total + unpacked, place + packed
    return total


def _header(content: Any, place: int, end: int, depth: int = 0) -> tuple[dict[int, int], int]:
    """The whole numbers of a structure by field, and where it ends."""
    numbers: dict[int, int] = {}
    field = 0
    while True:
        if place >= end or depth > _DEEPEST:
            raise ValueError("a page's header does not end")
        head = content[place]
        place += 1
        if head == _STOP:
            return numbers, place
        if head >> 4:
            field += head >> 4
        else:
            field, place = _whole(content, place, end)
        kind = head & 15
        if kind in _WHOLE:
            numbers[field], place = _whole(content, place, end)
        else:
            place = _after(content, place, end, kind, depth)


def _whole(content: Any, place: int, end: int) -> tuple[int, int]:
    """A whole number with its sign in the last bit, and where it ends."""
    value, place = _bare(content, place, end)
    return (value >> 1) ^ -(value & 1), place


def _bare(content: Any, place: int, end: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, and where it ends."""
    value = shift = 0
    while place < end and shift < 70:
        value |= (content[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if content[place - 1] < 128:
            return value, place
    raise ValueError("a number in a page's header does not end")


def _after(content: Any, place: int, end: int, kind: int, depth: int) -> int:
    """Where a field that is passed over ends."""
    if kind in (_TRUE, _FALSE):
        return place
    if kind == _BYTE:
        return place + 1
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        size, place = _bare(content, place, end)
        return place + size
    if kind == _STRUCT:
        return _header(content, place, end, depth + 1)[1]
    # Headers of pages have no lists, sets or maps.
    raise ValueError("a page's header has a field of no known type")


# Batches


def _decoded(parquet: Any, source: str | BytesIO, name: str, most: int, rows: int) -> ParquetFrame:
    """What is in the file, until it is too much."""
    arrow = import_module("pyarrow")
    with parquet.ParquetFile(source) as file:
        plain, texts = file.schema_arrow, _text_columns(file)
    nested = tuple(field.name for field in plain if arrow.types.is_nested(field.type))
    kept = [field.name for field in plain if field.name not in nested]
    if nested and not kept:
        raise InputError(f"{name} has no columns but lists or objects; it needs texts, numbers or dates.")
    total, batches = 0, []
    with parquet.ParquetFile(source, read_dictionary=texts) as file:
        for batch in file.iter_batches(rows, columns=kept, use_threads=False) if kept else ():
            total += sum(_decoded_bytes(column, name) for column in batch.columns)
            _refuse(total, name, most)
            columns = [
                column.dictionary_decode() if head in texts else column
                for head, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            batches.append(arrow.record_batch(columns, names=batch.schema.names))
    if not batches:
        return ParquetFrame(plain.empty_table().select(kept).to_pandas(), nested)
    table = arrow.Table.from_batches(batches).replace_schema_metadata(plain.metadata)
    return ParquetFrame(table.to_pandas(), nested)


def _text_columns(file: Any) -> list[str]:
    """Columns of bytes whose pages can be read as places of different texts, and are not so anyway."""
    types = import_module("pyarrow").types
    declared = {field.name for field in file.schema_arrow if types.is_dictionary(field.type)}
    columns = [file.schema.column(j) for j in range(file.metadata.num_columns)]
    long = np.logical_or.reduce(_repeat_texts(file.metadata), axis=0).tolist()
    return [
        column.path
        for column, is_long in zip(columns, long, strict=True)
        if column.physical_type == "BYTE_ARRAY" and column.path not in declared and not is_long
    ]


def _repeat_texts(about: Any) -> NDArray[np.bool_]:
    """(row groups, columns) whether a text may repeat the one before in a few bytes."""
    found = np.zeros((about.num_row_groups, about.num_columns), dtype=bool)
    for i, j in np.ndindex(found.shape):
        found[i, j] = _LONG_TEXTS in about.row_group(i).column(j).encodings
    return found


def _decoded_bytes(column: Any, name: str) -> int:
    """Of a column of a batch, which may be different texts and their places."""
    compute, types = import_module("pyarrow.compute"), import_module("pyarrow").types
    is_places = types.is_dictionary(column.type)
    values = column.dictionary if is_places else column
    least = BYTES_OF_A_CELL * len(column)
    kinds = types.is_string, types.is_binary, types.is_large_string, types.is_large_binary
    if not any(kind(values.type) for kind in kinds):
        return max(int(column.nbytes), least)
    lengths = compute.binary_length(values)
    longest = compute.max(lengths).as_py() or 0
    if longest > LONGEST_CELL:
        raise InputError(f"{name} has a cell of {longest} bytes; {LONGEST_CELL} are the most.")
    own = compute.sum(lengths.take(column.indices) if is_places else lengths).as_py() or 0
    return least + int(own)
