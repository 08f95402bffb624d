"""Checks of an estimator's parameters when it is fitted; each refuses a bad value in a sentence."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from coombs.data import naming
from coombs.data.comparisons import Comparisons
from coombs.data.scaling import check_largest
from coombs.data.tables import InputError
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import SOLVERS

CHOICES = {"loss": tuple(LOSSES), "solver": tuple(SOLVERS)}
"""Parameters that are one of several texts."""
COUNTS = ("max_iter", "max_alternations")
"""Parameters that are whole numbers from 1."""
FLAGS = ("standardize", "nonnegative_distances", "adaptive_alpha")
"""Parameters that are True or False."""


def check_shared(estimator: Any) -> None:
    """Refuse bad values of what several estimators have and mean alike."""
    for name in filter(partial(hasattr, estimator), CHOICES):
        check_choice(estimator, name, CHOICES[name])
    for name in filter(partial(hasattr, estimator), COUNTS):
        check_count(estimator, name)
    for name in filter(partial(hasattr, estimator), FLAGS):
        check_flag(estimator, name)


def check_features(estimator: Any, data: Comparisons) -> None:
    """Refuse features that overflow, and none of them where an estimator learns about nothing else."""
    if getattr(estimator, "_needs_features", True) and not data.n_features:
        raise InputError(
            f"The items have no features, which is what {type(estimator).__name__} learns about; IdealPoint "
            "ranks items by the answers alone."
        )
    check_largest(data)


def check_number(estimator: Any, name: str, *, zero: bool = False) -> None:
    """Refuse what is not a finite positive number, or zero where that is allowed."""
    value = getattr(estimator, name)
    number = naming.as_float(value)
    if not (np.isfinite(number) and (number > 0 or (zero and number == 0))):
        kind = "number that is not negative" if zero else "positive number"
        raise InputError(f"{name} is {value!r}; it must be a {kind}.")


def check_auto_or_number(estimator: Any, name: str, low: float, high: float, kind: str) -> None:
    """Refuse what is neither "auto" nor a number between the two."""
    value = getattr(estimator, name)
    if isinstance(value, str) and value == "auto":
        return
    if not low < naming.as_float(value) < high:
        raise InputError(f"{name} is {value!r}; it must be 'auto' or {kind}.")


def check_choice(estimator: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Refuse a value that is none of these."""
    value = getattr(estimator, name)
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(str, allowed))}.")


def check_count(estimator: Any, name: str) -> None:
    """Refuse what is not a whole number from 1."""
    value = getattr(estimator, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} is {value!r}; it must be a positive whole number.")


def check_flag(estimator: Any, name: str) -> None:
    """Refuse what is neither True nor False."""
    value = getattr(estimator, name)
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}; it must be True or False.")
