"""What a person should know about their table before they make a study of it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coombs.data.column_roles import TAKEN_FOR_NAMES, item_columns
from coombs.data.encoding import NUMBER
from coombs.data.name_lists import header_note
from coombs.data.tables import FloatArray, InputError
from coombs.web.uploads import ColumnRoles, Upload
from coombs.words import count

FEW_ITEMS = 10
"""Below this, ranking by hand may be quicker."""
MANY_FEATURES = 12
"""Above this, many questions are needed."""
CORRELATED = 0.95
"""Correlation from which on two features are hard to tell apart."""
MOST_PLACES = 5
"""Rows, or pairs of features, that are named."""
MOST_WORDS = 8
"""Columns that a sentence names."""
SEPARATORS = {";": "semicolons", "\t": "tabs"}


def problems(upload: Upload, roles: ColumnRoles) -> list[str]:
    """What must be corrected before there can be a study; a single row is the only problem told."""
    if upload.table.n_rows < 2:
        return _refusal(upload.check, roles)
    found = [*_all_alike(upload, roles), *_missing(upload, roles), *_unclear_names(upload, roles)]
    # What was found already would be refused once more when the items are put together.
    return [*_refusal(upload.check if found else upload.catalogue, roles), *found]


def warnings(upload: Upload, roles: ColumnRoles) -> list[str]:
    """What is good to know: how the file was read, columns left out, what cannot be told apart."""
    if upload.table.n_rows < 2:
        return []
    return [
        *_file(upload),
        *_kinds(upload, roles),
        *_other_columns(upload, roles),
        *_left_out_rows(upload, roles),
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


def _all_alike(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if roles.features and all(map(upload.is_constant, roles.features)):
        yield f"All items are the same in {_list(roles.features)}; tick a column in which they differ."


def _missing(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """Gaps in features, unless rows with gaps are left out."""
    for name in () if roles.complete else roles.features:
        if rows := upload.gaps(name):
            places = _places(upload, rows)
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
    blank = np.flatnonzero(upload.table.columns[roles.names] == "").tolist()
    if blank:
        yield f"There is no name in {_places(upload, blank)}; every item needs one."


def _file(upload: Upload) -> Iterator[str]:
    """How the file was read: its encoding, what stands between the columns, and cells that need a word."""
    marks = SEPARATORS.get(upload.table.separator)
    if marks and any(reading.decimal_commas for reading in upload.table.readings.values()):
        yield f"The file has {marks} between its columns and commas in its numbers; both were understood."
    elif marks:
        yield f"The file has {marks} between its columns, which was understood."
    yield from upload.table.sentences
    if note := header_note(upload.table):
        yield note


def _other_columns(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """Columns that are not learned from, and why."""
    texts, unticked = [], []
    for name in upload.table.columns:
        if name in upload.on_disk:
            yield (
                f"{name} names files on your disk, which are not part of an upload; use web addresses, "
                f"or start with: coombs serve {upload.table.file}"
            )
        elif name in roles.columns:
            continue
        elif name not in upload.numeric:
            reason = _perhaps_numbers(upload, name)
            yield from () if reason is None else (reason,)
            texts += [name] if reason is None else []
        elif rows := upload.gaps(name):
            yield f"{name} is left out, as it is missing in {_places(upload, rows)}."
        elif upload.is_constant(name):
            yield f"{name} is left out, as it is the same for all items."
        else:
            unticked.append(name)
    if texts:
        yield f"Text is shown on the cards and not learned from: {_list(texts)}."
    if unticked:
        yield f"Numbers that are not ticked are shown and not learned from: {_list(unticked)}."


def _kinds(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What ticked columns are learned from as that are not simply numbers."""
    known = [name for name in roles.features if name in upload.table.columns and name != roles.names]
    for one in item_columns(upload.table, known, names=roles.names):
        if one.role == "feature" and one.learned_as != NUMBER:
            yield one.why


def _perhaps_numbers(upload: Upload, name: str) -> str | None:
    """What to correct in a column of text that is mostly numbers."""
    cells = upload.table.typed[name].tolist()
    wrong = [(i, cell) for i, cell in enumerate(cells) if isinstance(cell, str)]
    if not wrong or len(wrong) > len(cells) / 2:
        return None
    row, cell = wrong[0]
    return (
        f"{name} is left out, as it is not all numbers: in {_places(upload, [row])} it is {cell!r}. "
        "Correct the file if it should count."
    )


def _left_out_rows(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    for name in roles.features if roles.complete else ():
        if name in upload.numeric and (rows := upload.gaps(name)):
            yield f"Left out, as {name} is missing: {_places(upload, rows)}."


def _names(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What items are called, if that is not what the file says."""
    if roles.names is None:
        yield "No column holds the names, so items are called by their numbers."
    elif roles.names in upload.numbering:
        yield f"{roles.names} {TAKEN_FOR_NAMES}."
    elif roles.numbered and (repeated := upload.repeated(roles.names)):
        yield f"Items of the same name are numbered: {repeated[0]}, {repeated[0]} (2)."


def _sizes(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if not roles.features:
        yield "No feature is ticked: items are ranked by the answers alone, which takes more of them."
    if upload.table.n_rows < FEW_ITEMS:
        few = count(upload.table.n_rows, "item")
        yield f"There are only {few}: with so few, ranking them by hand may be quicker."
    if len(roles.features) > MANY_FEATURES:
        yield (
            f"{len(roles.features)} features are many: each takes a few more questions. "
            "Tick those that could matter to somebody."
        )


def _features(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What no answer can tell apart: constants, twins, and items that are alike."""
    chosen = [name for name in roles.features if name in upload.numeric and not upload.gaps(name)]
    constant = [name for name in chosen if upload.is_constant(name)]
    for name in constant:
        yield f"{name} is the same for all items, so nothing can be learned of it."
    varied = [name for name in chosen if name not in constant]
    if not varied:
        return
    matrix = np.column_stack([upload.table.typed[name].astype(float) for name in varied])
    if len(varied) > 1 and upload.table.n_rows > 2:
        correlation = np.corrcoef(matrix.T)
        for i, j in np.argwhere(np.triu(np.abs(correlation) > CORRELATED, 1))[:MOST_PLACES].tolist():
            way = "go up and down together" if correlation[i, j] > 0 else "move in opposite directions"
            yield (f"{varied[i]} and {varied[j]} {way}, so it will be hard to tell which of the two matters.")
    yield from _alike(upload, matrix)


def _alike(upload: Upload, matrix: FloatArray) -> Iterator[str]:
    """Items with the same features."""
    _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    same_as = first[place.ravel()]
    twins = np.flatnonzero(same_as != np.arange(len(matrix))).tolist()
    if twins:
        places = _places(upload, [int(same_as[twins[0]]), twins[0]]).capitalize()
        others = f", and {count(len(twins) - 1, 'more pair')} like that" if len(twins) > 1 else ""
        yield f"{places} have the same features{others}: answers cannot tell them apart."


def _places(upload: Upload, rows: Sequence[int]) -> str:
    """As line 5, or lines 5 and 9."""
    numbers = [str(upload.table.number(i)) for i in rows]
    return f"{upload.table.noun}{'s' if len(rows) > 1 else ''} {_list(numbers, MOST_PLACES)}"


def _list(words: Sequence[str], most: int = MOST_WORDS) -> str:
    """As a, b and c, or a, b and 7 more."""
    *first, last = words if len(words) <= most else [*words[:most], f"{len(words) - most} more"]
    return f"{', '.join(first)} and {last}" if first else last
