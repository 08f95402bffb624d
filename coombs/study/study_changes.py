"""The owner's changes to a study, whichever way they come: page, API, command line or Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Literal, TypeAlias

from coombs.data.tables import InputError
from coombs.study.presentation import Presentation
from coombs.study.settings import Settings
from coombs.study.study import Study
from coombs.study.study_presentations import FIXED_SETTINGS

OpenLink: TypeAlias = Literal["on", "off", "renew"]
"""What is to be done with the link for anybody."""
CHANGEABLE_SETTINGS = tuple(one.name for one in fields(Settings) if one.name not in FIXED_SETTINGS)
"""Settings that may change while a study runs."""


def change_study(
    study: Study,
    presentation: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    open_link: OpenLink | None = None,
    *,
    close: bool | None = None,
) -> None:
    """Change some of what people see, how the study asks, and its open link: all of it or nothing.

    `close` True closes the study now, and False opens it now.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> change_study(study, {"title": "Flats"}, {"questions": 20}, "on")
    >>> study.presentation.title, study.settings.questions, study.open_token is None
    ('Flats', 20, False)
    """
    try:
        with study.storage.batch():
            if settings:
                study.change_settings(**settings)
            if presentation:
                study.present(**presentation)
            if open_link is not None:
                study.switch_open_link(open_link != "off", renew=open_link == "renew")
            if close is not None:
                (study.close if close else study.reopen)()
    except InputError:
        # Nothing was stored, so that nothing may hold here either.
        study.note_settings(study.storage.study(study.name).settings)
        raise


def described_study(study: Study) -> dict[str, Any]:
    """All of it, as JSON holds it: what people see, its version and state, and how the study asks."""
    shown, stored = study.presentation, asdict(Settings.of(study.record.settings))
    return {
        "version": study.presentations.latest,
        "state": shown.state(),
        "presentation": _plain(shown),
        "settings": {name: stored[name] for name in CHANGEABLE_SETTINGS},
    }


def _plain(shown: Presentation) -> dict[str, Any]:
    """With what is as by default."""
    nothing: dict[str, Any] = {one.name: one.default for one in fields(shown)}
    lists = {name: list(value) for name, value in nothing.items() if isinstance(value, tuple)}
    return {**nothing, **lists, **shown.to_dict()}
