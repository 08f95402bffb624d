"""The error for input that cannot be used."""

from __future__ import annotations

from typing import Any

from coombs.language import Translatable
from coombs.messages import message


class InputError(ValueError):
    """Input that cannot be used: one sentence says what is wrong, where, and what would be right.

    Parameters
    ----------
    sentence : what is wrong; with values it is a pattern, as for `Translatable`, which pages can translate
    values : what is put in for {name}

    Examples
    --------
    >>> from coombs.data.tables import array_table
    >>> try:
    ...     array_table([[1.0, 2.0], [3.0, float("nan")]])
    ... except InputError as error:
    ...     print(error)
    Feature 1 of row 1 is nan; it must be a finite number.
    """

    def __init__(self, *sentence: Any, **values: Any) -> None:
        if values:
            sentence = (Translatable(*sentence, **values),)
        super().__init__(*(message(one) if isinstance(one, str) else one for one in sentence))


class UnknownItemError(InputError):
    """A name that no item has."""
