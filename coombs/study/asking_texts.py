"""How a study asks as people type it, in a form or on a command line: fixed questions, repeats, checks."""

from __future__ import annotations

from typing import Any

from coombs.data.tables import InputError
from coombs.study.settings import Settings

BETWEEN = "|"
"""Between the items of a fixed question."""
BETTER = ">"
"""Between the right and the wrong item of an attention check."""


def asking_texts(settings: Settings) -> dict[str, str]:
    """What a form shows of the settings.

    Examples
    --------
    >>> asking_texts(Settings(fixed=(("tea", "milk"),), repeats=(12, 18), attention=((10, "tea", "soap"),)))
    {'strategy': 'information', 'set_size': '2', 'fixed': 'tea | milk', 'repeats': '12, 18', \
'attention': '10: tea > soap'}
    """
    fixed = settings.fixed
    lines = str(fixed or "") if isinstance(fixed, int) else "\n".join(" | ".join(one) for one in fixed)
    return {
        "strategy": settings.strategy,
        "set_size": str(settings.set_size),
        "fixed": lines,
        "repeats": ", ".join(map(str, settings.repeats)),
        "attention": "\n".join(f"{after}: {right} > {wrong}" for after, right, wrong in settings.attention),
    }


def asking_value(text: str, name: str) -> Any:
    """The value of a setting out of its text.

    Examples
    --------
    >>> asking_value("tea | milk", "fixed"), asking_value("20", "fixed"), asking_value("12, 18", "repeats")
    ((('tea', 'milk'),), 20, (12, 18))
    >>> asking_value("10: tea > soap", "attention")
    ((10, 'tea', 'soap'),)
    """
    return {"fixed": _fixed, "repeats": _repeats, "attention": _attention, "set_size": _size}.get(
        name, str.strip
    )(text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _fixed(text: str) -> int | tuple[tuple[str, ...], ...]:
    if not text.strip() or text.strip().isdecimal():
        return int(text.strip() or 0)
    questions = [tuple(one.strip() for one in line.split(BETWEEN)) for line in _lines(text)]
    for one in questions:
        if len(one) < 2:
            raise InputError(
                "The fixed question {question} has one item; write a number of questions, or a question a "
                "line, as {example}.",
                question=repr(one[0]),
                example="tea | milk",
            )
    return tuple(questions)


def _repeats(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise InputError(
            "The repeats are {text}; they must be numbers of answers, as 12, 18.", text=repr(text)
        )
    return tuple(map(int, parts))


def _attention(text: str) -> tuple[tuple[int, str, str], ...]:
    checks = []
    for line in _lines(text):
        after, _, items = line.partition(":")
        right, mark, wrong = items.partition(BETTER)
        if not after.strip().isdecimal() or not mark or not right.strip() or not wrong.strip():
            raise InputError(
                "The attention check {line} must be a number of answers, the right item and the wrong "
                "one, as 10: tea > soap.",
                line=repr(line),
            )
        checks.append((int(after), right.strip(), wrong.strip()))
    return tuple(checks)


def _size(text: str) -> int:
    if not text.strip().isdecimal():
        raise InputError(
            "The number of items in a question is {text}; it must be 2, 3, 4 or 5.", text=repr(text)
        )
    return int(text)
