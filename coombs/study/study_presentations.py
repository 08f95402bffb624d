"""What a study's people see, by versions, and the owner's changes to it and to the settings while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coombs.data.tables import InputError
from coombs.storage import PresentationRecord, Storage, UnknownStudyError, now
from coombs.storage.presentation_storage import NO_PRESENTATION
from coombs.storage.records import StudyRecord, new_token
from coombs.storage.stored_values import RowReading
from coombs.study.item_versions import ITEMS_VERSION
from coombs.study.presentation import Presentation
from coombs.study.question_plan import QuestionPlan
from coombs.study.settings import Settings

if TYPE_CHECKING:
    from coombs.data.catalogue import Catalogue
    from coombs.storage import Item

FIXED_SETTINGS = ("metric", "seed", "wishes")
"""Settings that stay as the study was made: what was asked and learned so far goes by them."""


def presentation_of(record: PresentationRecord, study: str) -> Presentation:
    """A stored version, once it can be read."""
    with RowReading(f"Version {record.version} of the presentation of the study {study!r}"):
        return Presentation.of(record.content)


class StudyPresentations:
    """The versions of what a study's people see, each read once.

    `latest` is the version that was the newest when it was last looked at; a page notes it with every
    request, so that it sees at once what another process changed.
    """

    def __init__(self, study: PresentedStudy) -> None:
        self._study = study
        self._read: dict[int, Presentation] = {NO_PRESENTATION: Presentation()}
        self._latest: int | None = None

    @property
    def latest(self) -> int:
        """The newest version when it was last looked at, which it is now if it never was; 0 for none."""
        if self._latest is None:
            self.refresh()
        return self._latest or NO_PRESENTATION

    @latest.setter
    def latest(self, version: int) -> None:
        self._latest = version

    def refresh(self) -> Presentation:
        """Look for a newer version."""
        self._latest = max(self._read_all(), default=NO_PRESENTATION)
        return self.current

    def _read_all(self) -> list[int]:
        found = self._study.storage.presentations(self._study.record.id)
        self._read |= {
            one.version: presentation_of(one, self._study.record.name)
            for one in found
            if one.version not in self._read
        }
        return [one.version for one in found]

    @property
    def current(self) -> Presentation:
        """The latest version."""
        return self.version(self.latest)

    @property
    def at_hand(self) -> Presentation:
        """The version that was read last, without a look at the storage; an empty one before any was."""
        return self._read[max(self._read)]

    def version(self, number: int) -> Presentation:
        """A version by its number."""
        if number not in self._read:
            self._read_all()
        try:
            return self._read[number]
        except KeyError:
            raise UnknownStudyError(
                f"The study {self._study.record.name!r} has no version {number} of its presentation."
            ) from None

    def keep(self, shown: Presentation) -> None:
        """Store a presentation as the next version, unless it is the current one."""
        storage, number = self._study.storage, self._study.record.id
        with storage.batch():
            if shown != self.refresh():
                self.latest = storage.add_presentation(number, shown.to_dict()).version


class PresentedStudy:
    """The part of a `Study` by which its owner says what people see and how many questions they get."""

    storage: Storage
    record: StudyRecord
    settings: Settings
    if TYPE_CHECKING:

        @property
        def catalogue(self) -> Catalogue:
            """The items."""

        @property
        def stored_items(self) -> tuple[Item, ...]:
            """The same as they are stored."""

    @cached_property
    def presentations(self) -> StudyPresentations:
        """The versions of what people see."""
        return StudyPresentations(self)

    @property
    def presentation(self) -> Presentation:
        """What people see now, as the storage has it."""
        return self.presentations.refresh()

    @property
    def title(self) -> str:
        """What people see the study called, by what was read last: its title, or its name."""
        return self.presentations.current.title or self.record.name

    def present(self, presentation: Presentation | None = None, /, **changes: Any) -> Presentation:
        """Change what people see: a new version is stored, and those before it stay.

        Parameters
        ----------
        presentation : all of it (default: the present one)
        changes : title, introduction, consent and so on, see `Presentation`

        Returns
        -------
        Presentation

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.present(title="Flats", consent="My answers may be published.").title
        'Flats'
        """
        base = self.presentation if presentation is None else presentation
        check_presentation(base)
        _refuse_unknown(changes, asdict(base), "what people see")
        shown = replace(base, **changes)
        self.presentations.keep(shown)
        return shown

    def close(self) -> None:
        """Let nobody answer from now on; what was answered stays.

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.close()
        >>> study.presentation.state()
        'closed'
        """
        shown, at = self.presentation, now()
        if shown.state(at) != "closed":
            # One that was to open later never does.
            opens = shown.opens if shown.state(at) == "open" else None
            self.present(opens=opens, closes=at)

    def reopen(self) -> None:
        """Let people answer from now on, until it is closed.

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.close()
        >>> study.reopen()
        >>> study.presentation.state()
        'open'
        """
        self.present(opens=None, closes=None)

    def change_settings(self, **changes: Any) -> Settings:
        """Change how the study asks, for good and for everybody, from the next question on.

        Parameters
        ----------
        changes : as for `Settings`; metric, seed and wishes stay as the study was made

        Returns
        -------
        Settings

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.change_settings(questions=20).questions
        20
        """
        _refuse_unknown(changes, asdict(self.settings), "how a study asks")
        if fixed := sorted(set(changes).intersection(FIXED_SETTINGS)):
            raise InputError(f"{', '.join(fixed)} cannot change once a study is made; make another study.")
        with self.storage.batch():
            record = self.storage.study(self.record.name)
            stored = replace(Settings.of(record.settings), **changes)
            QuestionPlan.of(stored, self.catalogue, self.stored_items)
            changed = {**record.settings, **asdict(stored)}
            self.note_settings(self.storage.change_settings(record.id, changed).settings)
        return self.settings

    def note_settings(self, stored: Mapping[str, Any]) -> None:
        """Go by the settings that a storage has, which another process may have changed.

        Parameters
        ----------
        stored : names and values

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.note_settings({**study.record.settings, "questions": 20})
        >>> study.settings.questions
        20
        """
        before = self.record.settings
        if stored == before:
            return
        if stored.get(ITEMS_VERSION) != before.get(ITEMS_VERSION):
            self._read_items()
        self.record = replace(self.record, settings=stored)
        # What was given for this time stays where only the items have changed.
        if Settings.of(stored) != Settings.of(before):
            self.settings = Settings.of(stored)

    def _read_items(self) -> None:
        """Read the items again, which have changed."""

    @property
    def open_token(self) -> str | None:
        """What the link for anybody holds, None where it is off."""
        return self.storage.open_token(self.record.id)

    def switch_open_link(self, on: bool = True, *, renew: bool = False) -> str | None:
        """Switch the link by which anybody can take part on or off.

        Parameters
        ----------
        on : False switches it off: who took part goes on by their own link, and nobody new comes
        renew : True makes another link where there is one, which then is not in use any more

        Returns
        -------
        str, what the link holds, or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.switch_open_link() == study.open_token
        True
        >>> study.switch_open_link(False)
        """
        with self.storage.batch():
            present = self.open_token
            if not on:
                self.storage.set_open_token(self.record.id, None)
                return None
            if present is None or renew:
                present = new_token()
                self.storage.set_open_token(self.record.id, present)
            return present


def check_presentation(given: Any) -> None:
    """Refuse what is no presentation; None is none."""
    if given is not None and not isinstance(given, Presentation):
        raise InputError(f"The presentation is {given!r}; it must be a Presentation.")


def _refuse_unknown(changes: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
    """InputError that names what there is."""
    if unknown := sorted(set(changes).difference(known)):
        raise InputError(f"{unknown[0]!r} is nothing about {what}; there are {', '.join(known)}.")
