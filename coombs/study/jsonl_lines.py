"""The lines of a study's file: their kinds, the fields of each, and a line read and checked."""

from __future__ import annotations

import sys
from datetime import datetime
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin

from coombs.data.strict_json import read_json
from coombs.data.tables import InputError
from coombs.storage.timestamps import read_time

FORMAT = "coombs study"
"""What the first line of such a file says that it is."""
VERSION = 5
"""Of the format; in version 1, `predicted` was called `foretold`; up to 2, all answers were about pairs; up
to 3, there were no priors; up to 4, no presentations and logs, all questions were about pairs, and nothing
was known of people but their names."""
NEEDED_VERSIONS = {"judgement": 3, "prior": 4, "presentation": 5, "log": 5, "set": 5, "skip": 5}
"""The lowest version of a file that has such lines."""
LOWEST_VERSION = 2
"""The version of a file without any of them, which an older coombs reads as well."""

Entry: TypeAlias = dict[str, Any]
"""A line, read."""
Name: TypeAlias = str | int | float | bool
"""What an item may be called in JSON."""

FIELDS: dict[str, dict[str, Any]] = {
    "study": {"name": str, "feature_names": list[str], "settings": dict, "created": datetime},
    "item": {"name": Name, "features": list[float], "details": dict[str, str]},
    "prior": {"version": int, "prior": dict, "n_people": int, "n_answers": int}
    | {"source": str, "created": datetime},
    "presentation": {"version": int, "content": dict, "created": datetime},
    "respondent": {"id": int, "name": str, "created": datetime, "prior_version": int | None},
    "question": dict.fromkeys(["id", "respondent", "left", "right"], int)
    | {"purpose": str, "predicted": float | None, "asked": datetime},
    "set": {"id": int, "respondent": int, "items": list[int], "purpose": str}
    | {"chances": list[float] | None, "asked": datetime},
    "answer": dict.fromkeys(["id", "respondent", "left", "right"], int)
    | {"question": int | None, "choice": str, "weight": float, "told": datetime},
    "judgement": dict.fromkeys(["id", "respondent"], int)
    | {"judgement": dict, "weight": float, "told": datetime},
    "skip": dict.fromkeys(["id", "respondent", "question"], int) | {"weight": float, "told": datetime},
    "undo": {"answer": int, "told": datetime},
    "log": {"what": str, "happened": datetime},
}
"""The fields of each kind of line, and their types."""
_KNOWN: dict[str, Any] = {
    "source": str | None,
    "external_id": str | None,
    "fields": dict[str, str],
    "language": str | None,
    "seed": int | None,
    "consent_version": int | None,
    "consented": datetime | None,
    "finished": datetime | None,
    "revoked": bool | None,
}
"""What a respondent's line has where it is known."""
_VERSIONS: dict[str, Any] = {"added": datetime | None, "retired": datetime | None, "replaces": int | None}
"""What an item's line has where it came later, changed or was retired."""
OPTIONAL: dict[str, dict[str, Any]] = {
    "item": _VERSIONS,
    "respondent": _KNOWN,
    "judgement": {"question": int | None},
}
"""The fields that a kind of line may lack."""
IGNORABLE = {"seed"}
"""Those of them that an older coombs may pass over."""
_CALLED = {
    Name: "text or a number",
    str: "text",
    int: "a whole number",
    float: "a finite number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}
"""What messages call a type."""


def parsed_line(line: str) -> tuple[str, Entry]:
    """The kind of a line, and its fields, checked."""
    entry = read_json(line, "It", "it must be an object in JSON")
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        raise InputError(
            f"It is of the kind {kind!r}; it must be an object whose kind is one of {', '.join(FIELDS)}."
        )
    if kind == "study":
        _check_version(entry.get("format"), entry.get("version"))
    if "foretold" in entry:
        entry.setdefault("predicted", entry["foretold"])
    if kind == "respondent":
        entry.setdefault("prior_version", None)
    optional = [name for name in OPTIONAL.get(kind, ()) if name in entry]
    return kind, {name: _field(kind, entry, name) for name in (*FIELDS[kind], *optional)}


def _check_version(name: Any, version: Any) -> None:
    """Refuse what only another coombs can read."""
    if name != FORMAT or type(version) is not int or version < 1:
        raise InputError(f"It is {name!r}, version {version!r}; it must be {FORMAT!r}, version {VERSION}.")
    if version > VERSION:
        raise InputError(
            f"It is of version {version}, and this coombs reads up to version {VERSION}; use a newer coombs."
        )


def _field(kind: str, entry: Entry, name: str) -> Any:
    """A field of a line, checked."""
    if name not in entry:
        raise InputError(f"The {kind} has no {name!r}; it must have {', '.join(FIELDS[kind])}.")
    try:
        return _as({**FIELDS[kind], **OPTIONAL.get(kind, {})}[name], entry[name])
    except ValueError as error:
        raise InputError(f"The {kind}'s {name} is {entry[name]!r}; it must be {error}.") from error


def _as(kind: Any, value: Any) -> Any:
    """A value from JSON as a type, or a ValueError that says what it must be."""
    of = get_args(kind)
    if NoneType in of:
        return None if value is None else _as(of[0], value)
    if kind is datetime:
        return read_time(value)
    if kind is Name and type(value) in get_args(Name):
        return value
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is float or type(value) is not (get_origin(kind) or kind):
        raise ValueError(_CALLED[kind if kind in _CALLED else get_origin(kind)])
    if of and isinstance(value, list):
        return [_as(of[0], one) for one in value]
    return {key: _as(of[1], one) for key, one in value.items()} if of else value
