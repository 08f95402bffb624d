"""Items as cards: name, picture, link and features in the user's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from coombs.data.catalogue import Catalogue
from coombs.data.column_roles import IMAGE_ENDINGS
from coombs.data.encoding import LEARNED, LOG, NOT_KNOWN, NUMBER
from coombs.insights.item_comparison import ComparisonRow, comparison_rows
from coombs.words import grouped

PICTURE = "picture"
"""The detail that is shown as a picture; so is one that looks like it."""
LINK = "link"
"""The detail that is shown as a link; so is one that looks like it."""
PICTURE_NAMES = (PICTURE, "image", "img", "photo", "picture_url", "image_url", "photo_url")
LINK_NAMES = (LINK, "url", "href", "website", "web", "page")
SAMPLE_ROWS = 200
"""Rows by which a column is taken for pictures or links."""


@dataclass(frozen=True)
class CardFeature:
    """A feature of an item; `share` is where it lies between the lowest, 0, and the highest, 1.

    A level of a category lies nowhere, nor does a cell that is not known: None.
    """

    label: str
    text: str
    differs: bool
    share: float | None


class Card(NamedTuple):
    """An item as a page shows it."""

    name: str
    position: int
    picture: str | None
    link: str | None
    features: tuple[CardFeature, ...]
    details: tuple[tuple[str, str], ...]


class Cards:
    """The cards of a catalogue; `local` says whether pictures in files may be shown."""

    def __init__(self, items: Catalogue, local: bool = False) -> None:
        self.items, self.local = items, local
        self.roles = {one.name: one.role for one in items.decisions if one.role in LEARNED}
        names = list(items.details[0]) if items.details else []
        cells = {name: [row.get(name, "") for row in items.details[:SAMPLE_ROWS]] for name in names}
        self.picture_column = picture_column(cells)
        cells.pop(self.picture_column or "", None)
        self.link_column = link_column(cells)

    def pair(self, first: int, second: int) -> tuple[Card, Card]:
        """Two cards; what differs between them is marked."""
        left, right = self.of((first, second))
        return left, right

    def of(self, positions: Sequence[int]) -> tuple[Card, ...]:
        """Cards of some items; what differs among them is marked."""
        rows = comparison_rows(self.items, positions)
        return tuple(self._card(position, side, rows) for side, position in enumerate(positions))

    def one(self, position: int) -> Card:
        """A card by itself."""
        return self._card(position, 0, comparison_rows(self.items, (position, position)))

    def _card(self, position: int, side: int, rows: Sequence[ComparisonRow]) -> Card:
        features = tuple(self._feature(row, side) for row in rows if row.label in self.roles)
        hidden = (self.picture_column, self.link_column)
        details = [(row.label, row.texts[side]) for row in rows if row.label not in self.roles]
        rest = tuple((name, text) for name, text in details if text and name not in hidden)
        picture = self._picture(self.items.details[position].get(self.picture_column or "", ""))
        return Card(self.items.names[position], position, picture, self.link(position), features, rest)

    def _feature(self, row: ComparisonRow, side: int) -> CardFeature:
        text = row.texts[side]
        is_number = self.roles[row.label] in (NUMBER, LOG)
        share = None if row.shares is None else row.shares[side]
        return CardFeature(
            row.label, grouped(text) if is_number and text != NOT_KNOWN else text, row.differs, share
        )

    def link(self, position: int) -> str | None:
        """Where to read more about an item."""
        return web_address(self.items.details[position].get(self.link_column or "", ""))

    def _picture(self, text: str) -> str | None:
        """An address, "local" for a file that the page may ask for, or None."""
        return web_address(text) or ("local" if self.local and is_image_file(text) else None)


def web_address(text: str) -> str | None:
    """An http or https address, which is safe to be a link; None for anything else."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        safe = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return text if safe and text.isprintable() and not any(c in text for c in " \"'<>\\`") else None


def is_image_file(text: str) -> bool:
    """Whether a text is a relative path to an image."""
    path = PurePosixPath(text.strip())
    plain = "\\" not in text and ":" not in text and "\0" not in text
    return plain and not path.is_absolute() and ".." not in path.parts and _is_image(text)


def picture_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """The column that looks like pictures: by its name, or because all of it does."""
    return _column(columns, PICTURE_NAMES, _is_image)


def link_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """The column that looks like links: by its name, or because all of it does."""
    return _column(columns, LINK_NAMES, web_address)


def _column(
    columns: Mapping[str, Sequence[str]], names: Sequence[str], is_one: Callable[[str], object]
) -> str | None:
    filled = {name: [cell for cell in cells if cell.strip()] for name, cells in columns.items()}
    shown = [
        name for name, cells in filled.items() if any(web_address(cell) or _is_image(cell) for cell in cells)
    ]
    called = {name.strip().lower(): name for name in reversed(shown)}
    likely = (name for name, cells in filled.items() if cells and all(map(is_one, cells)))
    return next((called[name] for name in names if name in called), next(likely, None))


def _is_image(text: str) -> bool:
    """Whether an address or a path ends as images do."""
    try:
        return urlsplit(text.strip()).path.lower().endswith(IMAGE_ENDINGS)
    except ValueError:
        return False
