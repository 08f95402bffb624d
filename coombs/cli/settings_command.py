"""`coombs settings`: what the people of a study see, how many questions they get, when it is open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import coombs
from coombs.cli import output
from coombs.cli.export_import import named_study
from coombs.cli.options import (
    asking_settings,
    certainty_option,
    command,
    json_option,
    planned_options,
    set_size_option,
    storage_option,
    strategy_option,
    top_option,
    whole,
)

if TYPE_CHECKING:
    from coombs.study import Study

TEXTS = ("title", "introduction", "consent", "wording", "instructions", "thank_you", "redirect")
"""Options that are texts of the presentation; @file reads one from a file."""
PLAIN = ("opens", "closes", "shows_result", "id_parameter")
"""Options that are parts of the presentation as they are."""


def _texts(function: Any) -> Any:
    """Options of texts that people see."""
    helps = {
        "title": "title of the study, as people see it",
        "introduction": "text that is shown first",
        "consent": "what people must agree to",
        "wording": "wording of the question",
        "instructions": "text before the first question",
        "thank_you": "text after the last question",
        "redirect": "where people go at the end; {pid} in it is the participant's id",
    }
    for name in reversed(TEXTS):
        option = click.option(f"--{name.replace('_', '-')}", metavar="TEXT", help=helps[name])
        function = option(function)
    return function


@command(
    "settings",
    "see or change what the people of a study see and are asked",
    'coombs settings --title "Flats" --questions 20 --field "Age group*: under 30 | 30 and over"',
    "A text that begins with @ is read from that file; a blank one takes the text away. Without any option "
    "the settings are only shown.",
)
@click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")
@storage_option
@_texts
@click.option(
    "--field",
    "before",
    metavar="LINE",
    multiple=True,
    help="field to fill in before the questions; may be repeated",
)
@click.option(
    "--field-after",
    "after",
    metavar="LINE",
    multiple=True,
    help="field to fill in after the questions; may be repeated",
)
@click.option(
    "--questions", metavar="N", type=whole, help="everybody gets N questions; 0 for no fixed number"
)
@click.option(
    "--most-questions",
    metavar="N",
    type=whole,
    help="at most N questions, fewer once the best are certain; 0 for no maximum",
)
@top_option
@certainty_option
@strategy_option
@set_size_option
@planned_options
@click.option(
    "--show-result/--hide-result", "shows_result", default=None, help="whether people see their own result"
)
@click.option(
    "--language", metavar="CODE", help="language of people's pages, as de; blank leaves it to the browser"
)
@click.option(
    "--opens", metavar="TIME", help="when the study opens, as 2026-03-01T09:00, in UTC; blank for at once"
)
@click.option("--closes", metavar="TIME", help="when the study closes, in UTC; blank for never")
@click.option("--close/--reopen", "close", default=None, help="close the study now, or open it again")
@click.option(
    "--open-link",
    type=click.Choice(["on", "off", "renew"]),
    help="switch the link for anybody on or off, or make a new one",
)
@click.option(
    "--id-parameter", metavar="NAME", help="parameter of that link's address that holds the participant's id"
)
@click.option(
    "--parameter",
    "parameters",
    metavar="NAME",
    multiple=True,
    help="other parameter of that address to keep; may be repeated",
)
@click.option(
    "--embed-origin",
    "embed_origins",
    metavar="ORIGIN",
    multiple=True,
    help="a site, as https://shop.example, that may embed the study; may be repeated; blank for those of the "
    "server",
)
@json_option
def settings(name: str | None, storage: str, as_json: bool, **options: Any) -> None:
    """Say what the people of a study see, how many questions they get, and when it is open. A change holds
    at once, also on a page that runs.
    """
    from coombs.study.study_changes import change_study, described_study

    study = named_study(name, storage)
    change_study(
        study, _presentation(study, options), _asking(options), options["open_link"], close=options["close"]
    )
    found = {**described_study(study), "open_token": study.open_token}
    if as_json:
        output.as_json(found)
    else:
        _print(study, found)


def _presentation(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say of the presentation."""
    from coombs.study.person_fields import fields_in

    given: dict[str, Any] = {name: _text(options[name]) for name in TEXTS if options[name] is not None}
    given |= {name: options[name] for name in PLAIN if options[name] is not None}
    if options["language"] is not None:
        given["language"] = options["language"] or None
    given |= {name: options[name] for name in ("parameters", "embed_origins") if options[name]}
    if options["before"] or options["after"]:
        shown = study.presentation
        before = fields_in("\n".join(options["before"]), "before") if options["before"] else shown.before
        after = fields_in("\n".join(options["after"]), "after") if options["after"] else shown.after
        given["fields"] = (*before, *after)
    return given


def _numbers(options: Mapping[str, Any]) -> dict[str, int | None]:
    """How many questions there are; one way to count them ends the other."""
    given: dict[str, int | None] = {}
    for name, other in (("questions", "most_questions"), ("most_questions", "questions")):
        if options[name] is not None:
            given[name] = options[name] or None
            given.setdefault(other, None)
    return given


def _asking(options: Mapping[str, Any]) -> dict[str, Any]:
    """How the study asks."""
    plain = {name: options[name] for name in ("strategy", "top", "certainty") if options[name] is not None}
    return {**_numbers(options), **asking_settings(options), **plain}


def _text(given: str) -> str:
    """A text, or what a file has of it."""
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise coombs.InputError(f"The file {given[1:]!r} cannot be read ({reason}).") from None


def _print(study: Study, found: Mapping[str, Any]) -> None:
    """The settings in lines."""
    from coombs.terminal_text import terminal_safe

    shown = study.presentation
    until = f" until {shown.closes:%Y-%m-%d %H:%M} UTC" if shown.closes and found["state"] == "open" else ""
    print(f"Study {terminal_safe(study.name)!r}: {found['state']}{until}, version {found['version']}")
    default = type(shown)().to_dict()
    for name, value in {**default, **shown.to_dict()}.items():
        if name != "fields":
            print(f"{name}: {terminal_safe(str(value)).splitlines()[0]}")
    for field in shown.fields:
        print(f"asked {field.asked}: {terminal_safe(field.line)}")
    for name, value in found["settings"].items():
        print(f"{name}: {terminal_safe(str(value))}")
    print(f"open link: {'off' if study.open_token is None else f'/join/{study.open_token}'}")
