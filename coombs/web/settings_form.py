"""The owner's settings as a form has them: texts in, texts out; what they mean is checked by the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from coombs.data.tables import InputError
from coombs.study import Presentation, Study
from coombs.study.asking_texts import asking_texts, asking_value
from coombs.study.person_fields import fields_in
from coombs.study.settings import Settings

TEXTS = ("title", "introduction", "consent", "wording", "instructions", "thank_you", "redirect")
"""Inputs that are texts of the presentation as they are."""
MORE_TEXTS = ("id_parameter", "opens", "closes")
"""Inputs that are texts, but are not shown to people."""


def whole_number(text: str, name: str) -> int | None:
    """A number in an input, None where it is blank."""
    if not text.strip():
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError(
            "{name} is {text}; it must be a whole number, or blank.", name=name, text=repr(text)
        ) from None


def share(text: str, name: str) -> float:
    """A share that an input has in per cent; the usual one where it is blank."""
    if not text.strip():
        return Settings().certainty
    try:
        return float(text.replace(",", ".")) / 100
    except ValueError:
        raise InputError(
            "{name} is {text}; it must be a number, or blank.", name=name, text=repr(text)
        ) from None


SETTINGS: dict[str, Callable[[str, str], Any]] = {
    "questions": whole_number,
    "most_questions": whole_number,
    "top": whole_number,
    "certainty": share,
    **dict.fromkeys(("strategy", "set_size", "fixed", "repeats", "attention"), asking_value),
}
"""Inputs that are settings, by name, and what makes a value of their text and name."""


def form_of(study: Study) -> dict[str, str]:
    """What the inputs hold before anybody types."""
    shown, settings = study.presentation, study.settings
    plain = {name: getattr(shown, name) for name in (*TEXTS, "id_parameter")}
    numbers = {name: getattr(settings, name) for name in ("questions", "most_questions", "top")}
    return {
        **plain,
        **asking_texts(settings),
        **{name: "" if value is None else str(value) for name, value in numbers.items()},
        "certainty": f"{100 * settings.certainty:g}",
        "opens": _local(shown.opens),
        "closes": _local(shown.closes),
        "shows_result": "yes" if shown.shows_result else "",
        "language": shown.language or "",
        "before": "\n".join(one.line for one in shown.before),
        "after": "\n".join(one.line for one in shown.after),
        "parameters": ", ".join(shown.parameters),
        "embed_origins": "\n".join(shown.embed_origins),
    }


def changes_in(form: Mapping[str, str], shown: Presentation) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the form says of the presentation and of the settings; of what it lacks, nothing."""
    presentation: dict[str, Any] = {name: form[name] for name in (*TEXTS, *MORE_TEXTS) if name in form}
    # The input has no seconds: what it shows is no change.
    dates = {"opens": shown.opens, "closes": shown.closes}
    presentation |= {name: now for name, now in dates.items() if form.get(name) == _local(now)}
    presentation["shows_result"] = form.get("shows_result") == "yes"
    presentation["language"] = form.get("language") or None
    if "before" in form or "after" in form:
        presentation["fields"] = (
            *fields_in(form.get("before", ""), "before"),
            *fields_in(form.get("after", ""), "after"),
        )
    if "parameters" in form:
        presentation["parameters"] = [one.strip() for one in form["parameters"].split(",")]
    if "embed_origins" in form:
        presentation["embed_origins"] = form["embed_origins"].split()
    settings = {name: read(form[name], name) for name, read in SETTINGS.items() if name in form}
    return presentation, settings


def _local(at: datetime | None) -> str:
    """A time as an input of the browser has it, in UTC."""
    return "" if at is None else at.strftime("%Y-%m-%dT%H:%M")
