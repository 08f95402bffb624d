"""The error for input that cannot be used; messages in which long names are cut, half characters left out."""

from __future__ import annotations

import re
from typing import Any

from coombs.language import Translatable

LONGEST_NAME = 80
"""Characters of a name in a message, beyond which it is cut."""
LONGEST_WORD = 250
"""Characters without a blank in a message, as a path, beyond which their middle is left out."""
LONGEST_MESSAGE = 1_200
"""Characters of a message, beyond which its middle is left out."""
_QUOTED = re.compile(rf"""(?<!\w)(['"])((?:\\.|(?!\1).){{{LONGEST_NAME + 1},}})\1(?!\w)""", re.DOTALL)
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""What no file and no page can hold."""


def message(text: str) -> str:
    """A message with the names that it quotes cut if they are long, so that it can still be read.

    Examples
    --------
    >>> message(f"There is no item {'a' * 500!r}; give one that there is.")[-33:]
    "aaaaaa…'; give one that there is."
    """
    if len(text) <= LONGEST_NAME and text.isascii():
        return text
    cut = _QUOTED.sub(lambda found: f"{found[1]}{found[2][: LONGEST_NAME - 1]}…{found[1]}", text)
    cut = _WORD.sub(lambda found: _without_middle(found[0], LONGEST_WORD), cut)
    cut = _HALF_CHARACTER.sub("\ufffd", _without_middle(cut, LONGEST_MESSAGE))
    # A text that knows its translations stays one where nothing was cut.
    return text if cut == text else cut


def _without_middle(text: str, most: int) -> str:
    """Its first two thirds and its end, if it is longer."""
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


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
