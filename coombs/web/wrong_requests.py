"""What is wrong with a request, in one sentence: which field, what it is, and what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PLACES = ("body", "query", "path", "header", "cookie")
"""Parts of a request, which need not be named."""
SHOWN = 40
"""Characters of a value that a sentence shows."""
TYPES = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "decimal": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "an object with named fields",
    "model": "an object with named fields",
    "mapping": "an object with named fields",
    "none": "null",
}
"""What a value must be, by the first word of the kind of mistake."""
BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_too_long": "at most {max_length} characters long",
    "string_too_short": "at least {min_length} characters long",
    "too_long": "at most {max_length} long",
    "too_short": "at least {min_length} long",
    "literal_error": "{expected}",
    "enum": "{expected}",
}
"""What a value must be where the kind of mistake has numbers or words of its own."""
ALTERNATIVES = ("bool", "int", "float", "str")
"""What a place ends with where a value may be of several types, beside those in brackets."""


def wrong_request(mistakes: Sequence[Mapping[str, Any]]) -> str:
    """The sentence for what FastAPI found wrong, the first of it.

    Examples
    --------
    >>> wrong_request([{"type": "int_parsing", "loc": ("query", "group"), "input": "abc", "msg": ""}])
    "group is 'abc'; it must be a whole number."
    >>> wrong_request([{"type": "missing", "loc": ("body", "name"), "input": {}, "msg": ""}])
    'name is missing.'
    """
    first = mistakes[0]
    kind, place = str(first["type"]), _place(first["loc"])
    name = ".".join(map(str, place)) or "The request"
    if kind == "json_invalid":
        return "The request is no valid JSON."
    if kind == "missing":
        return f"{name} is missing."
    if kind == "extra_forbidden":
        return f"{name} is not known here; leave it out."
    # Of a value that may be of several types, there is a mistake for each.
    rules = dict.fromkeys(_rule(one) for one in mistakes if _place(one["loc"]) == place)
    return f"{name} is {_value(first.get('input'))}; it must be {' or '.join(rules)}."


def _place(location: Sequence[Any]) -> tuple[Any, ...]:
    """Where in the request: names of fields and places in lists."""
    parts = tuple(location[1:] if location and location[0] in PLACES else location)
    last = str(parts[-1]) if parts else ""
    return parts[:-1] if len(parts) > 1 and (last in ALTERNATIVES or last.endswith("]")) else parts


def _rule(mistake: Mapping[str, Any]) -> str:
    """What would be right; pydantic's own words where nothing else is known."""
    kind = str(mistake["type"])
    if kind in BOUNDS:
        return BOUNDS[kind].format(**mistake.get("ctx", {}))
    return TYPES.get(kind.split("_")[0], f"otherwise ({mistake['msg']})")


def _value(value: Any) -> str:
    """A value as a sentence shows it."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
