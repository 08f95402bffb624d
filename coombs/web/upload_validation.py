"""What a person should know about their table before they make a study of it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from coombs.data.catalogue import Catalogue, answers_note, cautions
from coombs.data.encoding import CATEGORY
from coombs.data.name_lists import header_note
from coombs.data.tables import FloatArray, InputError
from coombs.language import Translatable
from coombs.web.column_choices import ColumnChoice, column_choices
from coombs.web.uploads import MOST_PLACES, ColumnRoles, Upload
from coombs.words import listed

FEW_ITEMS = 10
"""Below this, ranking by hand may be quicker."""
MANY_FEATURES = 12
"""Above this, many questions are needed."""
CORRELATED = 0.95
"""Correlation from which on two features are hard to tell apart."""
SEPARATORS = {";": Translatable("semicolons"), "\t": Translatable("tabs")}


@dataclass(frozen=True)
class Review:
    """What there is to say of an upload: of each column, what must be corrected first, what is good to know.

    What is wrong with a single column stands there; `problems` are about all of them. `doubt` is that it may
    not hold items at all.
    """

    doubt: str
    columns: tuple[ColumnChoice, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def review(upload: Upload, roles: ColumnRoles) -> Review:
    """What comes of these roles; of a single row, only that it is one."""
    columns = column_choices(upload, roles)
    marked = any(one.problem for one in columns)
    goods, problem = _outcome(roles, upload.check if marked else upload.catalogue)
    told = {one.problem for one in columns}
    problems = [*filter(None, [problem if problem not in told else ""]), *_all_alike(upload, roles)]
    if upload.table.n_rows < 2:
        return Review("", columns, (problem,), ())
    warnings = [*_file(upload), *_names(upload, roles), *_sizes(upload, roles)]
    if isinstance(goods, Catalogue):
        warnings += [*cautions(goods.table), *_features(upload, goods)]
    return Review(answers_note(upload.table) or "", columns, tuple(problems), tuple(warnings))


def _outcome(
    roles: ColumnRoles, step: Callable[[ColumnRoles], Catalogue | None]
) -> tuple[Catalogue | None, str]:
    """What a step on the way to the study gives, or what it says against the roles."""
    try:
        return step(roles), ""
    except InputError as error:
        return None, str(error)


def _all_alike(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if roles.features and all(map(upload.is_constant, roles.features)):
        yield Translatable(
            "All items are the same in {columns}; choose a column in which they differ.",
            columns=listed(roles.features),
        )


def _file(upload: Upload) -> Iterator[str]:
    """How the file was read: its encoding, and what stands between the columns."""
    marks = SEPARATORS.get(upload.table.separator)
    if marks and any(reading.decimal_commas for reading in upload.table.readings.values()):
        yield Translatable(
            "The file has {marks} between its columns and commas in its numbers; both were understood.",
            marks=marks,
        )
    elif marks:
        yield Translatable("The file has {marks} between its columns, which was understood.", marks=marks)
    yield from upload.table.notes
    yield from filter(None, [header_note(upload.table)])


def _names(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    """What items are called, if that is not what the file says."""
    if roles.names is None:
        yield Translatable("No column holds the names, so items are called by their numbers.")
    elif roles.numbered and (repeated := upload.repeated(roles.names)):
        yield Translatable("Items of the same name are numbered: {name}, {name} (2).", name=repeated[0])


def _sizes(upload: Upload, roles: ColumnRoles) -> Iterator[str]:
    if not roles.features:
        yield Translatable(
            "Nothing is learned from: items are ranked by the answers alone, which takes more of them."
        )
    if upload.table.n_rows < FEW_ITEMS:
        yield Translatable(
            "There are only {items} items: with so few, ranking them by hand may be quicker.",
            items=upload.table.n_rows,
        )
    if len(roles.features) > MANY_FEATURES:
        yield Translatable(
            "{features} features are many: each takes a few more questions. Choose those that could matter "
            "to somebody.",
            features=len(roles.features),
        )


def _features(upload: Upload, goods: Catalogue) -> Iterator[str]:
    """What no answer can tell apart: twins, and items that are alike."""
    matrix, encoding = goods.table.matrix, goods.table.encoding
    one_each = list(range(matrix.shape[1]))
    if encoding is not None:
        columns = zip(encoding.columns, encoding.blocks, strict=False)
        one_each = [block[0] for one, block in columns if one.role != CATEGORY and not one.gaps_of]
    varied = [j for j in one_each if np.ptp(matrix[:, j]) > 0]
    if len(varied) > 1 and len(matrix) > 2:
        names = [goods.features[j] for j in varied]
        # Numbers that are too large for a study have none.
        with np.errstate(all="ignore"):
            correlation = np.atleast_2d(np.corrcoef(matrix[:, varied].T))
        for i, j in np.argwhere(np.triu(np.abs(correlation) > CORRELATED, 1))[:MOST_PLACES].tolist():
            yield _go_together(names[i], names[j], bool(correlation[i, j] > 0))
    if matrix.shape[1]:
        yield from _alike(upload, matrix)


def _go_together(one: str, other: str, is_same_way: bool) -> str:
    """What is said of two features of which the one hardly moves without the other."""
    if is_same_way:
        return Translatable(
            "{one} and {other} go up and down together, so it will be hard to tell which of the two matters.",
            one=one,
            other=other,
        )
    return Translatable(
        "{one} and {other} move in opposite directions, so it will be hard to tell which of the two matters.",
        one=one,
        other=other,
    )


def _alike(upload: Upload, matrix: FloatArray) -> Iterator[str]:
    """Items with the same features."""
    _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    same_as = first[place.ravel()]
    twins = np.flatnonzero(same_as != np.arange(len(matrix))).tolist()
    if twins:
        places = upload.places([int(same_as[twins[0]]), twins[0]])
        if len(twins) == 1:
            yield Translatable(
                "Answers cannot tell {places} apart: they have the same features.", places=places
            )
        else:
            yield Translatable(
                "Answers cannot tell {places} apart: they have the same features, and so has {n} more pair."
                "|Answers cannot tell {places} apart: they have the same features, and so have {n} more "
                "pairs.",
                places=places,
                n=len(twins) - 1,
            )
