"""What the people of a study see: texts, what they are asked about themselves, dates, where they go after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import quote, urlsplit

from coombs.data.tables import InputError
from coombs.language import LANGUAGES
from coombs.storage.timestamps import read_time, time_text, utc
from coombs.study.embed_origins import checked_origins
from coombs.study.person_fields import LONGEST_ANSWER, PersonField

State: TypeAlias = Literal["open", "not open yet", "closed"]
"""Whether people can answer now."""
PID = "{pid}"
"""What the participant's id replaces in a redirect address."""
ID_PARAMETERS = ("pid", "PROLIFIC_PID", "ResponseID")
"""Parameters of the open link's address that hold a participant's id; the first that is there counts."""
LONGEST_LINE = 300
"""Characters of a title, a question's wording or a parameter."""
LONGEST_TEXT = 20_000
"""Characters of any other text."""
LONGEST_ADDRESS = 2_000
"""Characters of a redirect address."""
MOST_FIELDS = 50
"""Fields about people."""
_LINES = ("title", "wording", "id_parameter")
_TEXTS = ("introduction", "consent", "instructions", "thank_you")
_TIMES = ("opens", "closes")


@dataclass(frozen=True)
class Presentation:
    """What the people of a study see beside its questions. A study without any goes straight to those.

    Parameters
    ----------
    title : of the study, for its people (default: its name)
    introduction : shown first
    consent : what people must agree to before they answer; "" asks for no consent
    wording : of the question, as "Which flat would you rather live in?"
    instructions : shown before the first question
    thank_you : shown after the last
    redirect : an http or https address to go on to; "{pid}" in it is the participant's id
    shows_result : whether people see their own result
    language : the code of the language for everybody, as "de"; None leaves it to everybody's browser
    opens, closes : from when and until when people can answer: datetime with a time zone, or its text in ISO
        8601 (UTC unless it says otherwise); None for no such date
    fields : what people are asked about themselves, PersonField or dicts of the same
    id_parameter : another name under which the address of the open link has a participant's id, beside pid,
        PROLIFIC_PID and ResponseID
    parameters : of that address, to keep with the person
    embed_origins : other sites, as https://shop.example, that may show the study's pages in a frame, and ask
        and tell from their own scripts; () leaves it to the server

    Examples
    --------
    >>> from coombs.study import Presentation
    >>> shown = Presentation(title="Flats", redirect="https://example.org/done?id={pid}")
    >>> shown.redirect_for("P 7")
    'https://example.org/done?id=P%207'
    """

    title: str = ""
    introduction: str = ""
    consent: str = ""
    wording: str = ""
    instructions: str = ""
    thank_you: str = ""
    redirect: str = ""
    shows_result: bool = True
    language: str | None = None
    opens: datetime | None = None
    closes: datetime | None = None
    fields: tuple[PersonField, ...] = ()
    id_parameter: str = ""
    parameters: tuple[str, ...] = ("STUDY_ID", "SESSION_ID")
    embed_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*_LINES, *_TEXTS):
            longest = LONGEST_LINE if name in _LINES else LONGEST_TEXT
            self._set(name, checked_text(getattr(self, name), name, longest, one_line=name in _LINES))
        if not isinstance(self.shows_result, bool):
            raise InputError(f"shows_result is {self.shows_result!r}; it must be True or False.")
        if self.language is not None and self.language not in tuple(LANGUAGES):
            raise InputError(f"language is {self.language!r}; it must be one of {', '.join(LANGUAGES)}.")
        self._set("redirect", _checked_address(self.redirect))
        for name in _TIMES:
            self._set(name, _checked_time(getattr(self, name), name))
        if self.opens and self.closes and self.closes <= self.opens:
            raise InputError(
                "The study closes at {time}, before it opens; give a later time.", time=time_text(self.closes)
            )
        self._set("fields", _checked_fields(self.fields))
        self._set("parameters", _checked_parameters(self.parameters))
        self._set("embed_origins", checked_origins(self.embed_origins))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def before(self) -> tuple[PersonField, ...]:
        """What is asked before the questions."""
        return tuple(one for one in self.fields if one.asked == "before")

    @property
    def after(self) -> tuple[PersonField, ...]:
        """What is asked after the questions."""
        return tuple(one for one in self.fields if one.asked == "after")

    @property
    def has_ending(self) -> bool:
        """Whether something comes after the questions."""
        return bool(self.thank_you or self.redirect or self.after)

    def state(self, at: datetime | None = None) -> State:
        """Return whether people can answer.

        Parameters
        ----------
        at : when, with a time zone (default: now)

        Returns
        -------
        "open", "not open yet" or "closed"

        Examples
        --------
        >>> from coombs.study import Presentation
        >>> Presentation(closes="2020-01-31").state()
        'closed'
        """
        when = utc(at)
        if self.closes is not None and when >= self.closes:
            return "closed"
        return "not open yet" if self.opens is not None and when < self.opens else "open"

    def redirect_for(self, pid: str) -> str:
        """Return the redirect address for a participant.

        Parameters
        ----------
        pid : the participant's id, which is percent-encoded

        Returns
        -------
        str, "" where there is none

        Examples
        --------
        >>> from coombs.study import Presentation
        >>> Presentation(redirect="https://example.org/?id={pid}").redirect_for("a/b")
        'https://example.org/?id=a%2Fb'
        """
        return self.redirect.replace(PID, quote(pid, safe=""))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, without what is as by default.

        Returns
        -------
        dict

        Examples
        --------
        >>> from coombs.study import Presentation
        >>> Presentation(title="Flats").to_dict()
        {'title': 'Flats'}
        """
        plain: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default:
                plain[one.name] = time_text(value) if isinstance(value, datetime) else value
        if "fields" in plain:
            plain["fields"] = [asdict(one) | {"choices": list(one.choices)} for one in self.fields]
        plain |= {name: list(plain[name]) for name in ("parameters", "embed_origins") if name in plain}
        return plain

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return what a storage has, which may be from a later version.

        Parameters
        ----------
        stored : names and values; unknown names are passed over

        Returns
        -------
        Presentation

        Examples
        --------
        >>> from coombs.study import Presentation
        >>> Presentation.of({"title": "Flats", "colour": "red"}).title
        'Flats'
        """
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


def checked_text(value: Any, what: str, longest: int, one_line: bool = False) -> str:
    """Text that a page and every database can hold, without blanks around it."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}; it must be text.")
    # Browsers send lines that end in two characters.
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if any("\ud800" <= one <= "\udfff" or (ord(one) < 32 and one not in "\n\t") for one in text):
        raise InputError("{what} has a character in it that no page can show; write plain text.", what=what)
    if len(text) > longest:
        raise InputError(
            "{what} has {length} characters; it may have {longest}.",
            what=what,
            length=f"{len(text):,}",
            longest=f"{longest:,}",
        )
    if one_line and "\n" in text:
        raise InputError("{what} has several lines; it must be one.", what=what)
    return text


def _checked_address(value: Any) -> str:
    """Where people go after the last question: a web address, whole."""
    address = checked_text(value, "redirect", LONGEST_ADDRESS, one_line=True)
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web or any(one.isspace() for one in address) or PID in parts.netloc:
        raise InputError(
            "redirect is {address}; it must be a web address, as https://example.org/done?id={pid}.",
            address=repr(address),
            pid=PID,
        )
    return address


def _checked_time(value: Any, name: str) -> datetime | None:
    """A time in UTC."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return utc(value)
    try:
        return read_time(value)
    except ValueError as error:
        raise InputError(
            "{name} is {value}; it must be a time, {error}.", name=name, value=repr(value), error=str(error)
        ) from None


def _checked_fields(given: Any) -> tuple[PersonField, ...]:
    """Fields about people, no two of a label."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"fields is {given!r}; it must be a list of fields about people.")
    made = tuple(one if isinstance(one, PersonField) else PersonField.of(one) for one in given)
    if len(made) > MOST_FIELDS:
        raise InputError(
            "There are {fields} fields about people; there may be {most}.", fields=len(made), most=MOST_FIELDS
        )
    labels = [one.label for one in made]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(
                "Two fields are called {label}; each needs a label of its own.", label=repr(label)
            )
    return made


def _checked_parameters(given: Any) -> tuple[str, ...]:
    """Names of parameters of an address."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"parameters is {given!r}; it must be a list of names, as ['STUDY_ID'].")
    names = tuple(checked_text(one, "A parameter", LONGEST_LINE, one_line=True) for one in given)
    if len(names) > MOST_FIELDS:
        raise InputError(
            "There are {names} parameters; there may be {most}.", names=len(names), most=MOST_FIELDS
        )
    return tuple(dict.fromkeys(name for name in names if name))


def participant_id(given: Mapping[str, str], presentation: Presentation) -> str | None:
    """The participant's id in the parameters of an address, None where there is none."""
    own = (presentation.id_parameter,) if presentation.id_parameter else ()
    found = next((given[name].strip() for name in (*own, *ID_PARAMETERS) if given.get(name, "").strip()), "")
    if not found:
        return None
    if len(found) > LONGEST_ANSWER or not found.isprintable():
        raise InputError(
            "The id in this address cannot be used; it may have {most} plain characters.", most=LONGEST_ANSWER
        )
    return found
