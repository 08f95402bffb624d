"""What a person should know about their table before they make a study of it, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coombs.data.tables import InputError
from coombs.web.uploads import ColumnRoles, Upload
from coombs.words import count

FEW_ITEMS = 10
"""Below this, ranking by hand may be quicker."""
MANY_FEATURES = 12
"""Above this, many questions are needed."""
CORRELATED = 0.95
"""Correlation from which on two features are hard to tell apart."""
MOST_PLACES = 5
"""Rows, or pairs of features, that a sentence names."""
MOST_WORDS = 8
"""Columns that a sentence names."""
SEPARATORS = {";": "semicolons", "\t": "tabs"}
_SIGN = r"(?:[$€£¥₹₽₺%]|kr|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY)"
_NUMBER_WITH_SIGN = re.compile(
    rf"[+-]?{_SIGN}\s*[+-]?\d[\d.,']*|[+-]?\d[\d.,']*\s*{_SIGN}|[+-]?\d{{1,3}}(,\d{{3}})+(\.\d+)?"
)
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")


def problems(upload: Upload, roles: ColumnRoles) -> list[str]:
    """What must be mended before there can be a study; of a single row nothing else is said."""
    if upload.n_rows < 2:
        return _refusal(upload.check, roles)
    told = [*_all_alike(upload, roles), *_missing(upload, roles), *_unclear_names(upload, roles)]
    # What is told already would be refused once more when the items are put together.
    return [*_refusal(upload.check if told else upload.catalogue, roles), *told]


def warnings(upload: Upload, roles: ColumnRoles) -> list[str]:
    """What is good to know: how the file was read, columns left out, what cannot be told apart."""
    if upload.n_rows < 2:
        return []
    return [
        *_file(upload),
        *_left_out(upload, roles),
        *_gaps(upload, roles),
        *_names(upload, roles),
        *_sizes(upload, roles),
        *_features(upload, roles),
    ]


def _refusal(step: Callable[[ColumnRoles], object], roles: ColumnRoles) -> list[str]:
    """What a step on the way to the study says against the roles."""
    try:
        step(roles)
    except InputError as error:
        return [str(error)]
    return []


def _missing(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """Gaps in features, unless rows with gaps are left out."""
    for name in () if roles.complete else roles.features:
        rows = upload.gaps(name)
        if len(rows):
            places = _places(upload, rows.tolist())
            yield f"{name} is missing in {places}: fill it in, untick it, or leave out such rows."


def _unclear_names(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """Names that are missing or not one item's alone."""
    if roles.names is None:
        return
    repeated = [repr(name) for name in upload.repeated(roles.names)]
    if repeated and not roles.numbered:
        yield (
            f"Several items are called {_list(repeated)}: tick below to number them, "
            "or choose another column for the name."
        )
    blank = np.flatnonzero(upload.columns[roles.names] == "").tolist()
    if blank:
        yield f"There is no name in {_places(upload, blank)}; every item needs one."


def _all_alike(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if roles.features and all(_is_constant(upload, name) for name in roles.features):
        yield f"All items are the same in {_list(roles.features)}; tick a column in which they differ."


def _file(upload: Upload) -> Iterator[str]:
    """What stands between the columns, if that is no comma."""
    marks = SEPARATORS.get(upload.separator)
    if marks and upload.decimal_commas:
        yield f"The file has {marks} between its columns and commas in its numbers; both were understood."
    elif marks:
        yield f"The file has {marks} between its columns, which was understood."


def _left_out(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """Columns that are no features, and why."""
    for name in upload.on_disk:
        yield (
            f"{name} names files on your disk, which an upload does not bring; use web addresses, "
            f"or start with: coombs serve {upload.file}"
        )
    special = {roles.names, roles.picture, roles.link}
    others = [name for name in upload.columns if name not in roles.features and name not in special]
    yield from _texts(upload, [name for name in others if name not in upload.numeric])
    for name in others:
        if name in upload.numeric and not len(upload.gaps(name)) and _is_constant(upload, name):
            yield f"{name} is left out, as it is the same for all items."
    unticked = [name for name in others if name in upload.numeric and not _is_constant(upload, name)]
    whole = [name for name in unticked if not len(upload.gaps(name))]
    if whole:
        yield f"Numbers that are not ticked are shown and not learned from: {_list(whole)}."


def _texts(upload: Upload, names: Sequence[str]) -> Iterator[str]:
    """Columns of text, and those that should perhaps be numbers."""
    plain = []
    for name in names:
        signed, mistake = _signed(upload, name), _mistake(upload, name)
        if signed is not None:
            yield signed
        elif mistake is not None:
            row, wrong = mistake
            yield (
                f"{name} is left out, as it is not all numbers: in {_places(upload, [row])} it is {wrong!r}. "
                "Correct the file if it should count."
            )
        elif name not in upload.on_disk:
            plain.append(name)
    if plain:
        yield f"Text is shown on the cards and not learned from: {_list(plain)}."


def _signed(upload: Upload, name: str) -> str | None:
    """How to write a column most of which is numbers with a sign, or with commas for thousands."""
    cells = [cell for cell in upload.typed[name].tolist() if cell is not None]
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    found = [text for text in texts if _NUMBER_WITH_SIGN.fullmatch(text)]
    if not found or len(found) < len(cells) / 2:
        return None
    signs = any(re.search(_SIGN, text) for text in found)
    commas = [text for text in found if _THOUSANDS.search(text)]
    out = " and ".join(["the sign"] * signs + ["the thousands comma"] * bool(commas))
    example = (commas or found)[0]
    having = "a sign" if signs else "commas"
    return f"{name} looks like numbers with {having} ({example}); leave {out} out to learn from it."


def _mistake(upload: Upload, name: str) -> tuple[int, str] | None:
    """The first text in a column that is mostly numbers."""
    cells = upload.typed[name].tolist()
    wrong = [i for i, cell in enumerate(cells) if isinstance(cell, str)]
    if len(wrong) > len(cells) / 2:
        return None
    return (wrong[0], cells[wrong[0]]) if wrong else None


def _gaps(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What is left out for its gaps: columns, or rows."""
    special = {roles.names, roles.picture, roles.link}
    for name in upload.numeric:
        rows = upload.gaps(name)
        if not len(rows) or name in special:
            continue
        places = _places(upload, rows.tolist())
        if name not in roles.features:
            yield f"{name} is left out, as it is missing in {places}."
        elif roles.complete:
            yield f"Left out, as {name} is missing: {places}."


def _names(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What items are called, if that is not what the file says."""
    if roles.names is None:
        yield "No column holds the names, so that items are called by their numbers."
    elif roles.names in upload.numbering:
        yield f"{roles.names} numbers the items: it is taken for their names and not learned from."
    elif roles.numbered and (repeated := upload.repeated(roles.names)):
        yield f"Items of the same name are numbered: {repeated[0]}, {repeated[0]} (2)."


def _sizes(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if upload.n_rows < FEW_ITEMS:
        few = count(upload.n_rows, "item")
        yield f"There are only {few}: with so few, ranking them by hand may be quicker."
    if len(roles.features) > MANY_FEATURES:
        yield (
            f"{len(roles.features)} features are many: each takes a few more questions. "
            "Tick those that could matter to somebody."
        )


def _features(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What no answer can tell apart: constants, twins, and items that are alike."""
    chosen = [name for name in roles.features if name in upload.numeric and not len(upload.gaps(name))]
    for name in chosen:
        if _is_constant(upload, name):
            yield f"{name} is the same for all items, so nothing can be learned of it."
    columns = [upload.typed[name].astype(float) for name in chosen if not _is_constant(upload, name)]
    varied = [name for name in chosen if not _is_constant(upload, name)]
    if len(columns) > 1 and upload.n_rows > 2:
        matrix = np.corrcoef(np.array(columns))
        for i, j in np.argwhere(np.triu(np.abs(matrix) > CORRELATED, 1))[:MOST_PLACES].tolist():
            way = "go up and down together" if matrix[i, j] > 0 else "go opposite ways"
            yield (
                f"{varied[i]} and {varied[j]} {way}, so that which of the two matters will be hard to tell."
            )
    if columns:
        yield from _alike(upload, np.column_stack(columns))


def _alike(upload: Upload, matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Iterator[str]:
    """Items with the same features."""
    _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    twins = [i for i, p in enumerate(place.ravel().tolist()) if first[p] != i]
    if twins:
        i, j = int(first[place.ravel()[twins[0]]]), twins[0]
        others = f", and {count(len(twins) - 1, 'more pair')} like that" if len(twins) > 1 else ""
        yield (
            f"{_places(upload, [i, j]).capitalize()} have the same features{others}: "
            "answers cannot tell them apart."
        )


def _is_constant(upload: Upload, name: str) -> bool:
    cells = [cell for cell in upload.typed[name].tolist() if cell is not None]
    return len(set(cells)) == 1


def _places(upload: Upload, rows: Sequence[int]) -> str:
    """As line 5, or lines 5 and 9."""
    numbers = [str(upload.numbers[i]) for i in rows]
    return f"{upload.noun}{'s' if len(rows) > 1 else ''} {_list(numbers, MOST_PLACES)}"


def _list(words: Sequence[str], most: int = MOST_WORDS) -> str:
    """As a, b and c, or a, b and 7 more."""
    *first, last = words if len(words) <= most else [*words[:most], f"{len(words) - most} more"]
    return f"{', '.join(first)} and {last}" if first else last
