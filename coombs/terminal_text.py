"""Text for a terminal: safe to print, and measured in cells, of which some characters take two, some none."""

from __future__ import annotations

import unicodedata


def terminal_safe(text: str) -> str:
    """One line without anything that could command a terminal or turn the text around."""
    return text if text.isascii() and text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    # Marks of format (Cf) and variation selectors turn or join what is around them, and show nothing.
    if unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f":
        return ""
    return character if character.isprintable() else "\ufffd"


def cells(text: str) -> int:
    """The width of a text."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """The text, with an ellipsis for what does not fit."""
    if cells(text) <= width:
        return text
    room, kept = width - cells(ellipsis), ""
    for character in text:
        room -= _cells(character)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + ellipsis


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text, and blanks up to a width; before it if it stands on the right."""
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def wrap(text: str, width: int, most: int | None = None, ellipsis: str = "…") -> list[str]:
    """The text in lines of a width of two at least, the last of `most` lines with an ellipsis if it must."""
    lines, line = [], ""
    for word in text.split():
        joined = f"{line} {word}".lstrip()
        if cells(joined) <= width:
            line = joined
            continue
        lines += [line] if line else []
        while cells(word) > width:
            head = cut(word, width, "")
            lines.append(head)
            word = word[len(head) :]
        line = word
    lines += [line] if line else []
    if most is not None and len(lines) > most:
        lines[most - 1 :] = [cut(" ".join(lines[most - 1 : most + 1]), width, ellipsis)]
    return lines
