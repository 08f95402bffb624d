"""Messages that can be read whatever they are about: long names are cut, halves of characters left out."""

from __future__ import annotations

import re

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
