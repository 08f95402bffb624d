"""Files that commands read and write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coombs.data.tables import FloatArray, ItemTable
    from coombs.model import Model

LARGEST = 50_000_000
"""Bytes of a file that may be a model: one of a thousand features has half of them."""


def read_model(path: str) -> Model:
    """The model in a file, whatever else may be there."""
    from coombs.data.tables import InputError
    from coombs.model import Model

    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}; give a model that coombs fit --out wrote.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a model's file.") from error
    if len(data) > LARGEST:
        raise InputError(f"{path} has more than {LARGEST // 10**6} MB; no model is so large.")
    try:
        return Model.from_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text; give a model that coombs fit --out wrote.") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_items(path: str, model: Model) -> ItemTable:
    """The items in a file with the features that a model was learned from, in the model's order."""
    from coombs.data.catalogue import catalogue
    from coombs.data.tables import InputError

    names = model.feature_names
    try:
        table = catalogue(path, names).table
    except InputError as error:
        if names is None or not str(error).startswith("There is no column"):
            raise
        raise InputError(f"{error} The model was learned from {', '.join(names)}.") from error
    if names is None or table.features is None:
        return table
    order = [table.features.tolist().index(name) for name in names]
    return table._replace(matrix=table.matrix[:, order], features=table.features[order])


def distances(model: Model, table: ItemTable) -> FloatArray:
    """Of the items from a model's ideal, as long as they are numbers."""
    import numpy as np

    from coombs.data.tables import InputError

    with np.errstate(all="ignore"):
        result = model.distance(table)
    if not np.isfinite(result).all():
        where = table.where(int(np.argmin(np.isfinite(result))))
        raise InputError(
            f"The distance of {where} is too large for a number; the model and the items must fit."
        )
    return result


def check_folder(*paths: str | None) -> None:
    """Refuse a path where no file can be written, before the work is done."""
    from coombs.data.tables import InputError

    for path in (Path(given).absolute() for given in paths if given is not None):
        if not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent}; make it, or give a path in one that exists.")
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the name of a file.")


def write_text(path: str | Path, text: str) -> None:
    """The text in a file, which at any moment is the old one or the whole new one."""
    from coombs.data import files

    with files.replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_table(path: str | Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A CSV file whose cells no spreadsheet runs."""
    from coombs.data import files

    files.write_csv(path, header, rows)
