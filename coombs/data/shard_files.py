"""Answers of very many people in parts, each with everything that some of them said: files or partitions."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import checking, naming, tables
from coombs.data.by_person import SHOWN as SHOWN
from coombs.data.by_person import PersonAnswers, answers_by_person, people_of
from coombs.data.comparisons import Comparisons
from coombs.data.files import PARQUET_SUFFIXES
from coombs.data.parquet_files import parquet_frame
from coombs.data.tables import InputError
from coombs.data.user_columns import refuse_blank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import Columns, ItemTable

ANSWER_COLUMNS = ("left", "right", "winner", "choice", "loser", "chosen", "rejected")
"""Columns that say what an answer was."""
SAID = (
    {"winner", "loser"},
    {"left", "right", "winner"},
    {"left", "right", "choice"},
    {"chosen", "rejected"},
)
"""Sets of columns of which a part must have one."""
NEEDED = "user and winner, loser or left, right, winner, and weight if there is one"
"""The columns that a part must have, as messages say it."""


class NameHashes(NamedTuple):
    """Numbers that stand for the names of people in a part, and for the same without case and spaces."""

    exact: NDArray[np.uint64]
    folded: NDArray[np.uint64]


def is_folder(source: Any) -> bool:
    """Whether this is a path, as text or a Path."""
    return isinstance(source, str | Path)


def is_dask_frame(source: Any) -> bool:
    """Whether this is a dask DataFrame, told without importing dask."""
    kinds = type(source).__mro__
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("dask") for kind in kinds)


def parquet_files(folder: Any) -> list[str]:
    """The Parquet files in a folder and the folders in it, by name: the order in which sums are added up."""
    place = Path(folder)
    if not place.is_dir():
        what = f"{folder} is a file" if place.exists() else f"There is no folder {folder}"
        raise InputError(f"{what}; give a folder that has Parquet files.")
    found = [str(path) for path in sorted(place.rglob("*")) if path.suffix.lower() in PARQUET_SUFFIXES]
    if not found:
        raise InputError(f"The folder {folder} has no Parquet files; it needs at least one.")
    return found


def read_part(file: str, table: ItemTable) -> PersonAnswers:
    """The answers in a Parquet file about these items."""
    return part_answers(parquet_frame(file, file).frame, table, file)


def part_answers(frame: Any, table: ItemTable, name: str) -> PersonAnswers:
    """The answers in a pandas frame about these items; messages call it by this name.

    What is said again and again is read once: people are many, and what they say of two items is not.
    """
    try:
        columns = checking.lower_case(tables.frame_columns(frame))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if "user" not in columns or not any(needed <= columns.keys() for needed in SAID):
        raise InputError(f"{name} has the columns {', '.join(columns)}; needed are {NEEDED}.")
    if not len(frame):
        nothing = np.zeros(0, dtype=np.intp)
        return PersonAnswers(nothing, nothing, np.zeros(0), nothing, np.zeros(0, dtype=object))
    whose, names = _people(columns["user"], name)
    said = {key: columns[key] for key in ANSWER_COLUMNS if key in columns}
    first, which = _different_rows(said)
    call = partial(_call, name, first)
    told = checking.answer_columns({key: column[first] for key, column in said.items()}, call)
    pairs = checking.pairs(table, told.pairs, lambda i: call(int(told.rows[i])))
    place = np.full(len(first), -1)
    place[told.rows] = np.arange(len(told.rows))
    # What was skipped is no answer.
    rows = np.flatnonzero(place[which] >= 0)
    at = place[which[rows]]
    signs = np.ones(len(rows), dtype=np.int8) if told.y is None else told.y[at]
    weights = np.ones(len(rows))
    if (given := checking.optional(columns.get("weight"))) is not None:
        weights = tables.weights(given[rows], lambda i: f"row {rows[i]} of {name}")
    data = Comparisons.at_positions(table, pairs[at], signs, weights, np.asarray(whose[rows]))
    found = answers_by_person(data) if len(rows) else None
    if found is None:
        return part_answers(frame[:0], table, name)
    return found._replace(names=names[found.names.astype(np.intp)])


def _call(name: str, first: NDArray[np.intp], i: int) -> str:
    return f"row {first[i]} of {name}"


def _people(column: NDArray[Any], name: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """(n,) whose each row is, and what people are called."""
    codes, different = tables.pandas().factorize(column)
    texts = [naming.text(one).strip() for one in different]
    blank = codes < 0 if "" not in texts else (codes < 0) | (codes == texts.index(""))
    refuse_blank(blank, lambda row: f"row {row} of {name}")
    with warnings.catch_warnings():
        # Names that are alike are looked for in all parts together.
        warnings.simplefilter("ignore", UserWarning)
        people, names = people_of(tables.label_array(np.asarray(different), "user", tables.row))
    return people[codes], names


def _different_rows(columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each kind, and (n,) of which kind each row is."""
    n = len(next(iter(columns.values()), ()))
    code = np.zeros(n, dtype=np.int64)
    for column in columns.values():
        own = tables.pandas().factorize(column, use_na_sentinel=False)[0]
        # Numbered anew each time, so that the codes of many columns stay small.
        code = tables.pandas().factorize(code * (int(own.max(initial=0)) + 1) + own)[0]
    _, first = np.unique(code, return_index=True)
    return first, code


def name_hashes(names: NDArray[Any]) -> NameHashes:
    """Hashes of names, the same in every process."""
    texts = [naming.text(name) for name in names]
    hashed = tables.pandas().util.hash_array
    both = texts, [" ".join(text.split()).casefold() for text in texts]
    return NameHashes(*(hashed(np.array(one, dtype=object), categorize=False) for one in both))


def repeated(hashes: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Those that come more than once, in one part or in several."""
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    result: NDArray[np.uint64] = values[counts > 1]
    return result


def with_hash(names: NDArray[Any], wanted: NDArray[np.uint64], folded: bool = False) -> list[str]:
    """The names in a part that have one of these numbers."""
    own = name_hashes(names)
    return [naming.text(name) for name in names[np.isin(own.folded if folded else own.exact, wanted)]]


def warn_of_alike(names: list[str]) -> None:
    """Say which names differ only by case or spaces, of some in all parts."""
    by_key: dict[str, list[str]] = {}
    for name in names:
        by_key.setdefault(" ".join(name.split()).casefold(), []).append(name)
    twins = [sorted(alike) for alike in by_key.values() if len(alike) > 1]
    if twins:
        shown = ", ".join(f"{one[0]!r} and {one[1]!r}" for one in sorted(twins)[:SHOWN])
        more = f" and {len(twins) - SHOWN} more" if len(twins) > SHOWN else ""
        warnings.warn(
            f"Users differ only by case or spaces: {shown}{more}; they are taken for different people.",
            UserWarning,
            stacklevel=4,
        )


def folder_for(out: Any, source: Any) -> Path:
    """A folder that results may be written to: one without Parquet files, made if it is not there."""
    place = Path(out)
    if place.exists() and (not place.is_dir() or parquet_names(place)):
        what = "has Parquet files already" if place.is_dir() else "is a file"
        raise InputError(f"out is {out}, which {what}; give a folder that is empty or not there yet.")
    if is_folder(source) and Path(source).resolve() in (place.resolve(), *place.resolve().parents):
        raise InputError(f"out is {out}, inside of the folder of answers; give one outside of it.")
    place.mkdir(parents=True, exist_ok=True)
    return place


def parquet_names(place: Path) -> list[str]:
    """The Parquet files in a folder itself."""
    return sorted(path.name for path in place.iterdir() if path.suffix.lower() in PARQUET_SUFFIXES)
