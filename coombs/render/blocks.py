"""What a page is made of before anybody knows whether it will be text, HTML or a terminal's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TableBlock(NamedTuple):
    """A small table; `align` has an l or an r for each column."""

    align: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


class Points(NamedTuple):
    """A list of sentences."""

    sentences: Sequence[str]


Block: TypeAlias = str | TableBlock | Points
"""A paragraph, a table or a list."""


class Section(NamedTuple):
    """A heading, none if it is empty, and what stands under it."""

    title: str
    blocks: Sequence[Block]
