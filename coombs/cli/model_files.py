"""Models that commands read, and files that they write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import coombs
from coombs.cli import output

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator
    from coombs.estimators.population import Population
    from coombs.model import Model

LARGEST_MODEL = 50_000_000
"""Bytes of a file that may be a model: one of a thousand features has half of them."""
ESTIMATOR = b'"coombs-estimator"'
"""What the file of a fitted estimator begins with, as its format."""
POPULATION = b'"Population"'
"""What such a file says where it is of many people."""
BEGINNING = 200
"""Bytes from the beginning of a file within which format and class stand."""


def read_population(path: str, user: str | None) -> Population | None:
    """The population in a file; None if something else is in it, of which a user cannot be asked for."""
    try:
        with open(path, "rb") as file:
            data = file.read(BEGINNING)
    except OSError:
        # Whoever reads the model says what is wrong.
        return None
    if ESTIMATOR in data and POPULATION in data:
        return coombs.Population.load(path)
    if user is not None:
        raise coombs.InputError(
            f"--user names somebody in a population, and {path} holds none; coombs people --save writes one."
        )
    return None


def read_model(path: str) -> Model:
    """The model in a file, whatever else may be there; of a fitted estimator, what it says of features."""
    model, effects = read_ranking_model(path)
    if effects:
        output.careful("This is the model of the features, without the effects of single items.")
    return model


def read_ranking_model(path: str) -> tuple[Model, dict[str, float]]:
    """The model in a file, and effects of single items by name, which that of a fitted estimator may have."""
    try:
        with open(path, "rb") as file:
            data = file.read(BEGINNING)
            if ESTIMATOR in data:
                est = coombs.load(path)
                if isinstance(est, coombs.SharedMetric):
                    raise coombs.InputError(
                        f"{path} holds a SharedMetric, which ranks for one of its people at a time: load it "
                        "in Python with coombs.load."
                    )
                return model_of(est), _effects_in(est)
            data += file.read(LARGEST_MODEL + 1)
    except FileNotFoundError as error:
        raise coombs.InputError(
            f"There is no file {path}; give a model that coombs fit --out wrote."
        ) from error
    except OSError as error:
        raise coombs.InputError(f"{path} cannot be read ({error.strerror}); give a model's file.") from error
    if len(data) > LARGEST_MODEL:
        raise coombs.InputError(f"{path} has more than {LARGEST_MODEL // 10**6} MB; no model is so large.")
    try:
        return coombs.Model.from_json(data.decode("utf-8-sig")), {}
    except UnicodeDecodeError as error:
        raise coombs.InputError(f"{path} is not text; give a model that coombs fit --out wrote.") from error
    except coombs.InputError as error:
        raise coombs.InputError(f"{path}: {error}") from error


def _effects_in(est: PairEstimator) -> dict[str, float]:
    """Effects of an estimator's items beside their features, by name."""
    if est.item_effects_ is None or est.model_.item_scores is not None:
        return {}
    return dict(zip(est._data.item_table.texts, est.item_effects_.tolist(), strict=False))


def model_of(est: PairEstimator, *, chosen: bool = False) -> Model:
    """The model of a fitted estimator, with how many people it is of and what the answers support."""
    users = est._data.users
    found = est.explain(chosen=chosen).findings() if hasattr(est, "explain") else None
    people = None if users is None else len(set(users.tolist()))
    return replace(est.model_, n_people=people, findings=found)


def check_table_path(path: str | None) -> None:
    """Refuse a name that promises another format than a table's; a name without an ending is CSV."""
    if path is not None and Path(path).suffix.lower() not in ("", ".csv", ".parquet"):
        raise coombs.InputError(f"{path} would be a table; its name must end in .csv or .parquet.")


def check_output_paths(*paths: str | None) -> None:
    """Refuse a path where no file can be written, before the work is done."""
    for path in (Path(given).absolute() for given in paths if given is not None):
        if not path.parent.is_dir():
            raise coombs.InputError(
                f"There is no folder {path.parent}; make it, or give a path in one that exists."
            )
        if path.is_dir():
            raise coombs.InputError(f"{path} is a folder; give the name of a file.")


def write_text(path: str | Path, text: str) -> None:
    """The text in a file, which at any moment is the old one or the whole new one."""
    from coombs.data.files import replacing

    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
