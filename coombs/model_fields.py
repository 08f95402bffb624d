"""What a model's file says, checked field by field."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from coombs.data.encoding import Encoding
from coombs.data.tables import FloatArray, InputError, refuse_repeats
from coombs.inference.kernel import Bumps

VECTORS = ("scales", "slope", "centre")
"""Vectors that a model may have."""
LARGEST = 1e120
"""A number beyond this, or one over it in the scales, overflows when it is multiplied with others."""
MOST_PEOPLE = 10**12
"""People that a model may be of."""
ROUNDING = 1e-9
"""Entries of a symmetric metric may differ by this share of its largest."""
NEGATIVE = 1e-6
"""Eigenvalues of the metric of a distance may be below zero by this share of the largest."""


def checked_fields(data: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields of a model out of a file's, whose header was checked; `known` are all that there may be."""
    scores = _item_scores(data.get("item_scores"))
    arrays = _arrays(data, has_features=scores is None)
    metric, point = arrays["metric"], arrays.get("ideal_point")
    rest: dict[str, Any] = {name: arrays.get(name) for name in VECTORS}
    if (rest["slope"] is None) != (rest["centre"] is None) or (rest["slope"] is None and point is None):
        raise InputError("The model must have an ideal point, or a slope and a centre.")
    _check_metric(metric, rest["scales"], is_distance=rest["slope"] is None)
    rest["bumps"], rest["offset"] = _smooth_part(data, len(metric))
    rest["n_people"], rest["findings"] = data.get("n_people"), data.get("findings")
    if rest["n_people"] is not None and not _is_count(rest["n_people"]):
        raise InputError(f"The model's n_people is {rest['n_people']!r}; it must be a whole number from 1.")
    if rest["findings"] is not None and not isinstance(rest["findings"], dict):
        raise InputError("The model's findings must be an object, as `coombs fit` writes them.")
    rest["item_scores"] = scores
    rest["feature_names"] = _names(data.get("feature_names"), len(metric))
    rest["encoding"] = _encoding(data.get("encoding"), rest["feature_names"])
    for name in data.keys() - set(known):
        raise InputError(f"The model has a field {name!r}, which this coombs does not know; take it out.")
    return {"metric": metric, "ideal_point": np.full(len(metric), np.nan) if point is None else point, **rest}


def _arrays(data: dict[str, Any], has_features: bool) -> dict[str, FloatArray]:
    """The metric and the vectors that are not null, of one size."""
    try:
        given = {"metric": data["metric"], "ideal_point": data["ideal_point"]}
        given |= {name: data.get(name) for name in VECTORS}
        found = {
            name: _numbers(value, name)
            for name, value in given.items()
            if value is not None or name == "metric"
        }
        d = len(found["metric"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"The model's numbers cannot be read ({error}).") from error
    if not has_features and not d:
        found["metric"] = np.zeros((0, 0))
    if any(value.shape != ((d, d) if name == "metric" else (d,)) for name, value in found.items()):
        raise InputError("The model's metric, ideal point, scales, slope and centre are not of one size.")
    scales = found.get("scales", np.ones(1))
    if not (scales > 0).all():
        raise InputError("The model's scales must be positive numbers.")
    if (scales < 1 / LARGEST).any():
        raise InputError(f"The model's scales have a number below {1 / LARGEST:.0e}; use other units.")
    return found


def _numbers(value: Any, name: str) -> FloatArray:
    """A list of numbers, or of such lists, as an array; nothing else passes for a number."""
    if not _holds_numbers(value):
        raise ValueError(f"{name} must hold numbers")
    result = np.array(value, dtype=float)
    if not (np.abs(result) <= LARGEST).all():
        raise ValueError(f"{name} has a number beyond {LARGEST:.0e}, whose products overflow")
    return result


def _item_scores(scores: Any) -> dict[str, float] | None:
    """Scores of items without features by name."""
    if scores is None:
        return None
    values: list[Any] = list(scores.values()) if isinstance(scores, dict) else [None]
    if not all(type(score) in (int, float) and abs(score) <= LARGEST for score in values):
        raise InputError("The model's item_scores must be a finite number for each item's name.")
    return {name: float(score) for name, score in scores.items()}


def _holds_numbers(value: Any) -> bool:
    return all(map(_holds_numbers, value)) if isinstance(value, list) else type(value) in (int, float)


def _check_metric(metric: FloatArray, scales: FloatArray | None, *, is_distance: bool) -> None:
    """Symmetric and, where scores are distances, positive semidefinite, both up to rounding."""
    sizes = np.ones(len(metric)) if scales is None else scales
    with np.errstate(all="ignore"):
        scaled = metric * np.outer(sizes, sizes)
    largest = np.abs(scaled).max(initial=0.0)
    if not largest <= LARGEST:
        raise InputError("The model's metric is too large for its scales; they must fit.")
    if (np.abs(scaled - scaled.T) > ROUNDING * largest).any():
        raise InputError("The model's metric must be symmetric.")
    if is_distance and (np.linalg.eigvalsh(scaled) < -NEGATIVE * largest).any():
        raise InputError("The model's metric must be positive semidefinite, as distances are not negative.")


def _smooth_part(data: dict[str, Any], d: int) -> tuple[Bumps | None, float]:
    """The bumps of d features, and the constant that is added to the scores."""
    bumps, offset = data.get("bumps"), data.get("offset", 0.0)
    try:
        if type(offset) not in (int, float) or not abs(offset) <= LARGEST:
            raise ValueError(f"the offset must be a finite number up to {LARGEST:.0e}")
        if bumps is None:
            return None, float(offset)
        for name, value in bumps.items():
            if name != "blocks":
                _numbers(value, name)
        return Bumps.from_dict(bumps, d), float(offset)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"The model's bumps cannot be read ({error}).") from error


def _encoding(data: Any, names: tuple[str, ...] | None) -> Encoding | None:
    """How the columns of a table become features of these names."""
    if data is None:
        return None
    try:
        encoding = Encoding.from_dict(data)
    except ValueError as error:
        raise InputError(f"The model's encoding cannot be read ({error}).") from error
    if names is None or encoding.names.tolist() != list(names):
        raise InputError("The model's encoding and its feature names do not fit together.")
    return encoding


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST_PEOPLE


def _names(names: Any, d: int) -> tuple[str, ...] | None:
    """Feature names: d texts that differ."""
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != d or not all(isinstance(name, str) for name in names):
        raise InputError(f"The model's feature names must be a list of {d} texts.")
    refuse_repeats(names, "feature of the model")
    return tuple(names)
