"""Uploads before they become a study: read, guessed at, looked over, and made into a catalogue."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coombs import files, tables
from coombs.catalogue import Catalogue
from coombs.tables import Columns, InputError
from coombs.web.cards import LINK, PICTURE, link_column, picture_column
from coombs.words import count

MOST_ROWS, MOST_COLUMNS, MOST_FEATURES, MOST_CELLS = 20_000, 200, 30, 1_000_000
LONGEST_NAME = 120


@dataclass(frozen=True)
class Choices:
    """Which column is what; `complete` leaves out rows in which a feature is missing."""

    features: tuple[str, ...] = ()
    names: str | None = None
    picture: str | None = None
    link: str | None = None
    complete: bool = False


@dataclass(frozen=True)
class Draft:
    """The columns of an uploaded file, as text."""

    file: str
    columns: Columns
    where: Callable[[int], str]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def n_rows(self) -> int:
        """How many items there are."""
        return len(next(iter(self.columns.values())))

    @cached_property
    def typed(self) -> Columns:
        """The columns with numbers for what reads as numbers, None for blanks."""
        return {name: files.typed(column) for name, column in self.columns.items()}

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Columns of numbers, gaps allowed."""
        return tuple(name for name, column in self.typed.items() if _is_numeric(column))

    def gaps(self, name: str) -> NDArray[np.intp]:
        """Rows in which a column has no number."""
        return np.flatnonzero([not _is_number(cell) for cell in self.typed[name].tolist()])

    def texts(self, rows: int) -> list[list[str]]:
        """The first rows."""
        return [[str(column[i]) for column in self.columns.values()] for i in range(min(rows, self.n_rows))]

    def guess(self) -> Choices:
        """What the columns probably are."""
        names, _ = files.split_names(self.columns, self.typed)
        first = next(iter(self.columns)) if names is not None else None
        others = {
            name: [str(cell) for cell in column[:200]]
            for name, column in self.columns.items()
            if name != first and name not in self.numeric
        }
        picture = picture_column(others)
        link = link_column({name: cells for name, cells in others.items() if name != picture})
        whole = [name for name in self.numeric if name != first and not len(self.gaps(name))]
        varied = [name for name in whole if len(np.unique(self.typed[name].astype(float))) > 1]
        return Choices(tuple(varied[:MOST_FEATURES]), first, picture, link)

    def catalogue(self, choices: Choices) -> Catalogue:
        """The items, or an InputError that says what to choose instead."""
        self._check(choices)
        rows = np.arange(self.n_rows)
        if choices.complete:
            gaps = [self.gaps(name) for name in choices.features]
            rows = np.setdiff1d(rows, np.concatenate(gaps)) if gaps else rows
        if not len(rows):
            raise InputError("Every row has a gap in one of the features; untick the columns with gaps.")
        names = None if choices.names is None else self.columns[choices.names][rows]
        features = {name: self.typed[name][rows] for name in self.columns if name in choices.features}
        table = tables.assemble(names, features, lambda i: self.where(int(rows[i])))
        shown = self._details(choices)
        details = tuple({name: str(column[i]) for name, column in shown.items()} for i in rows.tolist())
        return Catalogue(table, details)

    def _check(self, choices: Choices) -> None:
        roles = (choices.names, choices.picture, choices.link)
        for name in (*choices.features, *(role for role in roles if role is not None)):
            if name not in self.columns:
                raise InputError(f"There is no column {name!r}; the columns are {', '.join(self.columns)}.")
        if not choices.features:
            raise InputError("No feature is ticked; tick at least one column of numbers to learn from.")
        if len(choices.features) > MOST_FEATURES:
            raise InputError(f"{len(choices.features)} features are ticked; tick {MOST_FEATURES} at most.")
        if choices.names in choices.features:
            raise InputError(
                f"{choices.names!r} is ticked as a feature and chosen as the name; one of the two."
            )

    def _details(self, choices: Choices) -> Columns:
        """The columns that are shown; the picture and the link by names that the cards know."""
        renamed: dict[str, str] = {}
        for name in self.columns:
            if name in choices.features or name == choices.names:
                continue
            special = {choices.picture: PICTURE, choices.link: LINK}.get(name)
            renamed[name] = special or (f"{name} (text)" if name in (PICTURE, LINK) else name)
        return {new: self.columns[old] for old, new in renamed.items()}


def read_upload(content: bytes, file: str) -> Draft:
    """A draft of an uploaded CSV file, or an InputError in words."""
    file = Path(file.replace("\\", "/")).name[:LONGEST_NAME] or "the file"
    _refuse_what_is_no_csv(content, file)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload.csv"
        path.write_bytes(content)
        try:
            columns, where = files.csv_columns(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), file)) from None
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"{file} has {len(columns)} columns; {MOST_COLUMNS} are the most.")
    draft = Draft(file, columns, lambda i: where(i).replace(str(path), file))
    if draft.n_rows > MOST_ROWS:
        raise InputError(f"{file} has {draft.n_rows} rows; {MOST_ROWS} are the most.")
    return draft


def _refuse_what_is_no_csv(content: bytes, file: str) -> None:
    if not content.strip():
        raise InputError(f"{file} is empty; it needs a header line and at least two rows.")
    if content.startswith(b"PK\x03\x04"):
        raise InputError(f"{file} is a workbook or an archive; save it as 'CSV UTF-8' and choose that file.")
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text; save it as 'CSV UTF-8' and choose it again.") from None
    if b"\0" in content:
        raise InputError(f"{file} has zero bytes in it, so it is no text; save it as 'CSV UTF-8'.")
    if content.count(b",") + content.count(b"\n") > MOST_CELLS:
        raise InputError(f"{file} has more than {count(MOST_CELLS, 'cell')}; leave out rows or columns.")


def study_name(text: str) -> str:
    """A name for a study out of a form."""
    name = " ".join(text.split())
    if not name:
        raise InputError("The study has no name; give it one, such as 'flats'.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"The study's name must be plain text of {LONGEST_NAME} characters at most.")
    return name


def people_names(text: str, most: int = 500) -> Sequence[str]:
    """Names of people out of a form, one on each line, each once."""
    names = list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines()))
    names = [name for name in names if name]
    if not names:
        raise InputError("There is no name; write one on each line.")
    if len(names) > most:
        raise InputError(f"There are {len(names)} names; {most} at a time are the most.")
    for name in names:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(f"A person's name must be plain text of {LONGEST_NAME} characters at most.")
    return names


def _is_numeric(column: NDArray[np.generic]) -> bool:
    """Whether there are numbers, and nothing but numbers and gaps."""
    cells = column.tolist()
    return any(map(_is_number, cells)) and all(cell is None or isinstance(cell, float) for cell in cells)


def _is_number(cell: object) -> bool:
    return isinstance(cell, float) and bool(np.isfinite(cell))
