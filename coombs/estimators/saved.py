"""Fitted estimators in files: JSON with all that `fit` learned, of which `load` makes the same estimator."""

from __future__ import annotations

import json
import typing
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

import coombs
from coombs.data import files
from coombs.data.answers import Answers
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons
from coombs.data.directions import Directions
from coombs.data.encoding import Encoding, FeatureColumn, Mark
from coombs.data.graph import ComparisonGraph
from coombs.data.held_out import HeldOut
from coombs.data.json_records import Reader, Schema, Writer
from coombs.data.orders import Orders, Ratings
from coombs.data.rival_sets import RivalSets
from coombs.data.scaling import Scaler
from coombs.data.strict_json import read_json
from coombs.data.tables import FloatArray, InputError, ItemTable, Levels, Names, frame_library
from coombs.estimators import saved_checks, saved_people
from coombs.estimators.alternating import Alternating, Iterate
from coombs.estimators.base import Fit, PairEstimator
from coombs.estimators.convex import ConvexIdealPoint
from coombs.estimators.description import Description
from coombs.estimators.euclidean import EuclideanCompass, EuclideanSingleStep
from coombs.estimators.fitted import TasteFit
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.many_people import SharedMetric
from coombs.estimators.population import Population
from coombs.estimators.saved_people import PopulationState, SharedState
from coombs.estimators.single_step import SingleStep
from coombs.estimators.taste import KindScore, TasteEstimator
from coombs.inference.infer import Inference
from coombs.inference.kernel import Bumps, Kernel
from coombs.inference.kinds import KINDS
from coombs.inference.left_out import LeftOut
from coombs.inference.levels import WithLevels
from coombs.inference.mixture import Mixture
from coombs.inference.sampler import Tuning
from coombs.inference.smooth import GaussianScores, Smooth
from coombs.inference.target import Target
from coombs.model import FORMAT as MODEL_FORMAT
from coombs.model import Model
from coombs.programs.program import Status

FORMAT = "coombs-estimator"
"""What a file of a fitted estimator says that it is."""
VERSION = 1
"""Version of the file's format."""
LARGEST_FILE = 1_000_000_000
"""Bytes of a file that is read, at most."""
HINT = "give a file that est.save or coombs fit --out wrote"
"""What a file that cannot be read should be."""
SavedEstimator: TypeAlias = PairEstimator | Population | SharedMetric
"""What can be saved."""
ESTIMATORS: tuple[type[SavedEstimator], ...] = (
    IdealPoint,
    ConvexIdealPoint,
    SingleStep,
    Alternating,
    EuclideanSingleStep,
    EuclideanCompass,
    Population,
    SharedMetric,
)
"""Classes of estimators that can be saved."""
DESCRIBED = ("weights", "log_odds", "effects_log_odds", "shapes", "leanings")
"""What of a description takes long to compute, and is saved."""


@dataclass(frozen=True)
class State:
    """All that a fitted estimator knows: whatever else it has follows from this and its parameters."""

    data: Comparisons
    scaler: Scaler
    fit: Fit
    item_table: ItemTable | None
    kind_scores: tuple[KindScore, ...] = ()
    description: Description | None = None
    history: tuple[Iterate, ...] = ()


@cache
def schema() -> Schema:
    """The closed list of records that a fitted estimator is made of."""
    kinds = (*(type(kind) for kind in KINDS.values()), WithLevels)
    of_fit: tuple[type, ...] = (
        State,
        Comparisons,
        Orders,
        Ratings,
        ItemTable,
        Scaler,
        Fit,
        TasteFit,
        Iterate,
        Status,
    )
    of_taste: tuple[type, ...] = (KindScore, Description, Mixture, LeftOut, HeldOut)
    of_columns: tuple[type, ...] = (Encoding, FeatureColumn, Mark, Levels, Directions)
    of_answers: tuple[type, ...] = (Answers, RivalSets)
    of_sampled: tuple[type, ...] = (Inference, Target, ComparisonGraph, Tuning, *kinds)
    of_smooth: tuple[type, ...] = (Smooth, GaussianScores, Bumps, Kernel)
    floats, places = np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.intp]]
    arrays = {"Names": Names, "Matrix": floats, "Vector": floats, "FloatArray": floats, "Index": places}
    return Schema(
        of_fit + of_columns + of_answers + of_taste + of_sampled + of_smooth + saved_people.RECORDS,
        aliases=arrays | {"Kind": reduce(or_, kinds), "TableLike": ItemTable | FloatArray | None},
        computed={
            Mixture: ("left_out", "_probabilities", "weights", "coin", "predicted"),
            Inference: ("log_evidence",),
            Description: (*DESCRIBED, "_large", "_odds"),
        },
        shapes={**saved_checks.SHAPES, **saved_people.SHAPES},
        checks={**saved_checks.CHECKS, **saved_people.CHECKS},
        makers={Comparisons: lambda **values: Comparisons._of(*values.values())},
        may_be_nan=saved_checks.MAY_BE_NAN | saved_people.MAY_BE_NAN,
    )


def text_of(est: SavedEstimator) -> str:
    """A fitted estimator as JSON text, which `estimator_of` turns into the same one."""
    if type(est) not in ESTIMATORS:
        raise InputError(f"{type(est).__name__} is no estimator of coombs, so a file cannot say what it is.")
    writer = Writer(schema())
    content = {
        "format": FORMAT,
        "version": VERSION,
        "coombs": coombs.__version__,
        "estimator": type(est).__name__,
        "parameters": dict(_written_parameters(est, writer)),
        "state": writer.write(_state_of(est)),
        "arrays": writer.arrays,
    }
    try:
        # What could not be read again is not written.
        estimator_of(content)
    except InputError as error:
        raise InputError(f"The estimator cannot be saved, as no file of it could be read: {error}") from error
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _parameters(est: SavedEstimator) -> dict[str, Any]:
    """Parameters as a file holds them: items as a table or numbers, and no generator, which has no seed."""
    result: dict[str, Any] = est.get_params(deep=False)
    if result["items"] is not None:
        table = item_table(result["items"])
        is_named = isinstance(result["items"], ItemTable) or frame_library(result["items"])
        result["items"] = table if is_named else table.matrix
    if "wishes" in result:
        given = result["wishes"]
        result["wishes"] = (given,) if isinstance(given, str) else tuple(map(str, given))
    if "random_state" in result and not isinstance(result["random_state"], int | np.integer):
        result["random_state"] = None
    if result.get("truth") is not None:
        result["truth"] = tuple(np.array(part, dtype=float) for part in result["truth"])
    return result


def _written_parameters(est: SavedEstimator, writer: Writer) -> Iterator[tuple[str, Any]]:
    for name, value in _parameters(est).items():
        try:
            yield name, writer.write(value)
        except TypeError as error:
            of = type(value).__name__
            raise InputError(f"{name} is a {of}, which a file cannot keep; give a plain number.") from error


def _state_of(est: SavedEstimator) -> State | PopulationState | SharedState:
    """What is saved of a fit."""
    if isinstance(est, SharedMetric):
        return saved_people.shared_state(est)
    if isinstance(est, Population):
        return saved_people.population_state(est, None if est._alone is None else _state_of_pairs(est._alone))
    return _state_of_pairs(est)


def _state_of_pairs(est: PairEstimator) -> State:
    """The state of an estimator of one person or of all together, with what `explain` needs."""
    state = (est._data, est._scaler, est._fit, est.item_table_)
    if isinstance(est, TasteEstimator):
        described = est.description()
        for name in DESCRIBED if described is not None else ():
            getattr(described, name)
        if est._mixture is not None:
            assert est._mixture.predicted is not None
        return State(*state, est._kind_scores, described)
    return State(*state, history=tuple(getattr(est, "history_", ())))


def estimator_of(data: dict[str, Any]) -> SavedEstimator:
    """The estimator in a file's JSON, every value of which is checked."""
    version, name = data.get("version"), data.get("estimator")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(
            f"The saved estimator has version {version!r}; this coombs ({coombs.__version__}) reads 1 to "
            f"{VERSION}: a newer coombs may read it."
        )
    made = next((one for one in ESTIMATORS if one.__name__ == name), None)
    if made is None:
        raise InputError(f"The file is of an estimator {name!r}, which this coombs does not have; {HINT}.")
    reader = Reader(schema(), data.get("arrays"), "The saved estimator")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # What there was to warn of was said at the fit.
            warnings.simplefilter("ignore")
            declared = {Population: PopulationState, SharedMetric: SharedState}.get(made, State)
            state = reader.read(data.get("state"), declared, "state")
            est = _with_parameters(made, data.get("parameters"), reader)
            _restore(est, state)
            is_of_pairs = isinstance(est, PairEstimator)
            behaves = saved_checks.behaves(est) if is_of_pairs else saved_people.behaves(est)
    except InputError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"The saved estimator's parts do not fit together ({error}); {HINT}.") from error
    if not behaves:
        raise InputError(f"The saved estimator's numbers are so large that its scores overflow; {HINT}.")
    return est


def parameter_types(made: type[SavedEstimator]) -> dict[str, Any]:
    """What the parameters of an estimator may be in a file."""
    hints = typing.get_type_hints(made.__init__, localns=schema().names)
    plain = {"random_state": int | None, "wishes": tuple[str, ...]}
    return {name: plain.get(name, hints[name]) for name in made._get_param_names()}


def _with_parameters(made: type[SavedEstimator], given: Any, reader: Reader) -> SavedEstimator:
    """An estimator that is not fitted yet."""
    types = parameter_types(made)
    if not isinstance(given, dict) or not given.keys() <= types.keys():
        raise InputError(f"The saved estimator is damaged: its parameters are not those of {made.__name__}.")
    values = {name: reader.read(value, types[name], f"parameters.{name}") for name, value in given.items()}
    est = made(**values)
    est._check_parameters()
    return est


def _restore(est: SavedEstimator, state: Any) -> None:
    """Give an estimator what `fit` had given it."""
    if isinstance(est, SharedMetric):
        return saved_people.restore_shared(est, state)
    is_population = isinstance(est, Population)
    settings = (True, True) if is_population else (est._standardizes(state.data), est._drop_constant)
    if not saved_checks.is_scaler_of(state.scaler, state.data, *settings):
        raise InputError(f"The saved estimator is damaged: its scales are not those of its items; {HINT}.")
    if isinstance(est, PairEstimator):
        return _restore_pairs(est, state)
    saved_people.restore_population(est, state)
    if (state.alone is None) != (len(est.people_) > 1):
        raise InputError(f"The saved estimator is damaged: one person and many are not the same; {HINT}.")
    if state.alone is not None:
        est._alone = IdealPoint(metric=est.metric)
        _restore(est._alone, state.alone)
    return None


def _restore_pairs(est: PairEstimator, state: State) -> None:
    """Restore an estimator of one person or of all together."""
    if isinstance(est, TasteEstimator) != isinstance(state.fit, TasteFit):
        raise InputError(f"The saved estimator is damaged: its fit is none of {type(est).__name__}; {HINT}.")
    est._store(state.data, state.fit, state.scaler)
    est.item_table_ = state.item_table
    if isinstance(est, TasteEstimator):
        est._kind_scores, est._description = state.kind_scores, state.description
    if isinstance(est, Alternating):
        est.history_ = list(state.history)


def load(path: str | PathLike[str]) -> Any:
    """Return what a file holds: a fitted estimator that `save` wrote, or a `Model` of `coombs fit --out`.

    An estimator predicts, ranks and explains as it did when it was saved. Nothing in a file is executed.

    Parameters
    ----------
    path : of a JSON file; files of earlier versions are read

    Returns
    -------
    IdealPoint or whatever estimator was saved; or Model

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coombs
    >>> est = coombs.SingleStep([[0.0], [1.0], [2.0]]).fit([[0, 1], [1, 2]])
    >>> path = Path(tempfile.mkdtemp()) / "taste.json"
    >>> est.save(path)
    >>> coombs.load(path).rank().tolist()
    [0, 1, 2]
    """
    place = files.path_text(path)
    text = _text_in(place)
    try:
        data = read_json(text, "The file", HINT)
        kind = data.get("format") if isinstance(data, dict) else None
        if kind == MODEL_FORMAT:
            return Model.from_json(text)
        if kind != FORMAT:
            raise InputError(f"The file is neither a saved estimator nor a coombs model; {HINT}.")
        return estimator_of(data)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _text_in(place: str) -> str:
    def refuse(why: str) -> NoReturn:
        raise InputError(f"{why}; {HINT}.")

    try:
        with Path(place).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        refuse(f"There is no file {place}")
    except (OSError, ValueError) as error:
        refuse(f"{place} cannot be read ({getattr(error, 'strerror', None) or error})")
    if len(data) > LARGEST_FILE:
        refuse(f"{place} has more than {LARGEST_FILE // 10**6} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse(f"{place} is not text")
