"""Items as cards: name, picture, link and features in the user's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.data.tables import FloatArray
from coombs.words import grouped, number, numbers, plain, within

PICTURE, LINK = "picture", "link"
"""Details by these names are shown as such; so are those that look like it."""
PICTURE_NAMES = (PICTURE, "image", "img", "photo", "picture_url", "image_url", "photo_url")
LINK_NAMES = (LINK, "url", "href", "website", "web", "page")
IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")


class Value(NamedTuple):
    """A feature of an item; `share` says where it is between the lowest, 0, and the highest, 1."""

    label: str
    text: str
    differs: bool
    share: float


class Column:
    """A feature of all items, and its values as people write them."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        self.lowest, self.highest = float(values.min()), float(values.max())

    def text(self, value: float) -> str:
        """A value that an item has."""
        return grouped(plain(value))

    def ideal(self, value: float) -> str:
        """A value that need not be an item's: not beyond them all, where only its side is known."""
        if not np.isfinite(value) or self.lowest == self.highest:
            return "-"
        if value < self.lowest:
            return f"{self.text(self.lowest)} or less"
        return f"{self.text(self.highest)} or more" if value > self.highest else self._between_items(value)

    def between(self, low: float, high: float) -> str:
        """Where the ideal may lie, as far as items go."""
        if not np.isfinite([low, high]).all():
            return ""
        return within((low, high), (self.lowest, self.highest), self._between_items)

    def _between_items(self, value: float) -> str:
        return grouped(number(value, self.highest - self.lowest))


class Card(NamedTuple):
    """An item as a page shows it."""

    name: str
    position: int
    picture: str | None
    link: str | None
    values: tuple[Value, ...]
    details: tuple[tuple[str, str], ...]


class Cards:
    """The cards of a catalogue; `local` says whether pictures in files may be shown."""

    def __init__(self, items: Catalogue, local: bool = False) -> None:
        self.items, self.local, self.names = items, local, items.names
        matrix = items.table.matrix
        self._lowest = matrix.min(axis=0).tolist()
        self._range = (matrix.max(axis=0) - matrix.min(axis=0)).tolist()
        self._features = items.features
        columns = list(items.details[0]) if items.details else []
        self.picture_column = picture_column({name: self._cells(name) for name in columns})
        self.link_column = link_column(
            {name: self._cells(name) for name in columns if name != self.picture_column}
        )

    def pair(self, first: int, second: int) -> tuple[Card, Card]:
        """Two cards; what differs between them is marked."""
        rows = zip(*(self.items.table.matrix[i].tolist() for i in (first, second)), strict=True)
        texts = [(grouped(one), grouped(other)) for one, other in (numbers(*row) for row in rows)]
        return self._card(first, texts, 0), self._card(second, texts, 1)

    def one(self, position: int) -> Card:
        """A card by itself."""
        return self.pair(position, position)[0]

    def _card(self, position: int, texts: Sequence[tuple[str, str]], side: int) -> Card:
        details = self.items.details[position]
        row = self.items.table.matrix[position].tolist()
        values = tuple(
            Value(label, both[side], both[0] != both[1], (x - low) / width if width > 0 else 0.0)
            for label, both, x, low, width in zip(
                self._features, texts, row, self._lowest, self._range, strict=True
            )
        )
        hidden = (self.picture_column, self.link_column)
        rest = tuple((name, text) for name, text in details.items() if text and name not in hidden)
        return Card(
            self.names[position],
            position,
            self._picture(details),
            web_address(details.get(self.link_column or "", "")),
            values,
            rest,
        )

    def _picture(self, details: Mapping[str, str]) -> str | None:
        """An address, "local" for a file that the page may ask for, or None."""
        text = details.get(self.picture_column or "", "")
        if web_address(text):
            return web_address(text)
        return "local" if self.local and is_image_file(text) else None

    def _cells(self, column: str) -> list[str]:
        return [details.get(column, "") for details in self.items.details[:200]]


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
    return _named(columns, PICTURE_NAMES) or next(
        (name for name, cells in columns.items() if _all(cells, _is_image)), None
    )


def link_column(columns: Mapping[str, Sequence[str]]) -> str | None:
    """The column that looks like links."""
    return _named(columns, LINK_NAMES) or next(
        (name for name, cells in columns.items() if _all(cells, lambda cell: bool(web_address(cell)))), None
    )


def _named(columns: Mapping[str, Sequence[str]], names: Sequence[str]) -> str | None:
    called = {name.strip().lower(): name for name in reversed(list(columns))}
    return next((called[name] for name in names if name in called), None)


def _all(cells: Sequence[str], is_one: Callable[[str], bool]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and all(map(is_one, filled))


def _is_image(text: str) -> bool:
    """Whether an address or a path ends as images do."""
    try:
        return urlsplit(text.strip()).path.lower().endswith(IMAGE_ENDINGS)
    except ValueError:
        return False
