"""A client of the page's API for other programs: ask and tell for your own users, read what they answered.

It needs nothing but Python; it imports no numpy.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import Request

from coombs.client_transport import ClientReply, UrllibTransport
from coombs.webhook_signatures import is_from_webhook, webhook_signature

TIMEOUT = 30.0
"""Seconds that a reply may take."""
TRIES = 5
"""How often a request is sent, at most, where no reply comes or the server has trouble."""
FIRST_WAIT = 0.5
"""Seconds before a request is sent again; each wait is twice the last."""
LONGEST_WAIT = 60.0
"""Seconds that a server's `Retry-After` is followed, at most."""
PASSING = frozenset({409, 429, 502, 503, 504})
"""Statuses after which the same request may succeed; 409 where the same is being worked on."""
PART = 200
"""Rows that are asked for at once."""


class ClientError(Exception):
    """A request that did not succeed; its text is the server's sentence.

    Parameters
    ----------
    status : of the reply, or 0 where none came
    sentence : what is wrong

    Examples
    --------
    >>> str(ClientError(404, "There is no study named 'flats'."))
    "There is no study named 'flats'."
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class ClientItem:
    """An item as somebody sees it.

    Parameters
    ----------
    name, position : of the item
    picture, link : addresses, or None
    features : of each its label and its text, and whether the other item differs in it
    details : other texts by their labels

    Examples
    --------
    >>> ClientItem("Tea", 0, None, None, [], {}).name
    'Tea'
    """

    name: Any
    position: int
    picture: str | None
    link: str | None
    features: list[dict[str, Any]]
    details: dict[str, str]

    @classmethod
    def _of(cls, plain: Mapping[str, Any]) -> ClientItem:
        return cls(**{name: plain[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class ClientQuestion:
    """Which of these is preferred?

    Parameters
    ----------
    id : by which it is answered
    items : those to choose from: the left and the right one, or a set
    chosen : how it was chosen

    Examples
    --------
    >>> ClientQuestion(1, (), "random").id
    1
    """

    id: int
    items: tuple[ClientItem, ...]
    chosen: str


@dataclass(frozen=True)
class ClientTurn:
    """The question to answer next, and how far it is.

    Parameters
    ----------
    question : None where nothing is left to ask
    progress : n_answers, fraction, reached, top and others, as the API has them
    raw : all of the reply

    Examples
    --------
    >>> ClientTurn(None, {"n_answers": 3}, {}).progress["n_answers"]
    3
    """

    question: ClientQuestion | None
    progress: Mapping[str, Any]
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def _of(cls, plain: Mapping[str, Any]) -> ClientTurn:
        asked = plain["question"]
        question = None
        if asked is not None:
            shown = asked.get("items") or [asked["left"], asked["right"]]
            items = tuple(ClientItem._of(one) for one in shown)
            question = ClientQuestion(asked["id"], items, asked["chosen"])
        return cls(question, plain["progress"], plain)


@dataclass(frozen=True)
class ClientPerson:
    """Somebody who answers in a study; `ClientStudy.person` makes one.

    Parameters
    ----------
    client : by which the server is asked
    name : of the person
    token, link : their secret and the page where they answer themselves; None for who may only read
    n_answers : when it was asked for

    Examples
    --------
    >>> ClientPerson(Client("http://127.0.0.1:8000"), "user 17", "secret", None, 0).name
    'user 17'
    """

    client: Client = field(repr=False)
    name: str
    token: str | None = field(repr=False)
    link: str | None = field(repr=False)
    n_answers: int

    def ask(self) -> ClientTurn:
        """Return the question that waits, or a new one."""
        return ClientTurn._of(self._call("GET", "question"))

    def where(self) -> dict[str, Any]:
        """Return what comes next for them: the `step`, as consent or questions, and the study's texts."""
        found: dict[str, Any] = self.client.call("GET", f"/api/respondents/{self._secret()}")
        return found

    def agree(self, version: int | None = None) -> dict[str, Any]:
        """Keep that they agree to the consent text, and return what comes next, as `where`.

        `version` is that of the texts that they saw, as `where` has it (default: the latest).
        """
        found: dict[str, Any] = self._call("POST", "consent", {"agree": True, "version": version})
        return found

    def fill_in(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """Keep what they say of themselves, by label, and return what comes next, as `where`."""
        found: dict[str, Any] = self._call("POST", "fields", {"fields": dict(fields)})
        return found

    def finish(self) -> dict[str, Any]:
        """Keep that they are done, where that is left to them, and return what comes next, as `where`."""
        found: dict[str, Any] = self._call("POST", "finish", {})
        return found

    def tell(
        self,
        question: ClientQuestion | int,
        choice: str | None = None,
        *,
        best: int | None = None,
        worst: int | None = None,
    ) -> ClientTurn:
        """Keep an answer, and return what comes next; it may be sent again: a question has one answer.

        Of two items it is "left", "right", "tie" or "skip"; of more, the positions of the best and the worst.
        """
        number = question if isinstance(question, int) else question.id
        told = _given(question=number, choice=choice, best=best, worst=worst)
        return ClientTurn._of(self._call("POST", "tell", told))

    def undo(self, answer: int) -> ClientTurn:
        """Take back an answer by its id, and return its question, which comes again."""
        return ClientTurn._of(self._call("POST", "undo", {"answer": answer}, is_repeatable=False))

    def change(
        self, answer: int, choice: str | None = None, *, best: int | None = None, worst: int | None = None
    ) -> dict[str, Any]:
        """Put another answer in the place of one by its id, and return the new one, as `history` has it."""
        told = _given(answer=answer, choice=choice, best=best, worst=worst)
        found: dict[str, Any] = self._call("POST", "change", told, is_repeatable=False)
        return found

    def history(self) -> list[dict[str, Any]]:
        """Return the answers that stand, in their order."""
        return list(self.client.rows(f"/api/respondents/{self._secret()}/history"))

    def result(self, explain: bool = False) -> dict[str, Any]:
        """Return the ranking, what is ideal and what matters; `explain` adds it in words."""
        found: dict[str, Any] = self._call("GET", f"result?explain={str(explain).lower()}")
        return found

    def _call(self, method: str, what: str, body: Any = None, is_repeatable: bool = True) -> Any:
        path = f"/api/respondents/{self._secret()}/{what}"
        return self.client.call(method, path, body, is_repeatable=is_repeatable)

    def _secret(self) -> str:
        if self.token is None:
            raise ClientError(0, f"The link of {self.name!r} is not for this token, which may only read.")
        return quote(self.token, safe="")


@dataclass(frozen=True)
class ClientStudy:
    """A study on a server; `Client.study` gives it.

    Parameters
    ----------
    client : by which the server is asked
    name : of the study

    Examples
    --------
    >>> Client("http://127.0.0.1:8000").study("flats/2").path
    '/api/studies/flats~2F2'
    """

    client: Client = field(repr=False)
    name: str

    @property
    def path(self) -> str:
        """Where the API has it."""
        special = r"[~/\\%]" if self.name.strip(".") else "."
        plain = re.sub(special, lambda found: f"~{ord(found[0]):02X}", self.name)
        return f"/api/studies/{quote(plain, safe='~')}"

    def about(self) -> dict[str, Any]:
        """Return its items, features and settings."""
        found: dict[str, Any] = self.client.call("GET", self.path)
        return found

    def person(self, name: str) -> ClientPerson:
        """Return the person of that name, new if there is none; a token with the right to answer does."""
        (found,) = self.client.call("POST", f"{self.path}/respondents", {"names": [name]})
        return self._person(found)

    def people(self) -> Iterator[ClientPerson]:
        """Give everybody, in the order they came."""
        return map(self._person, self.client.rows(f"{self.path}/respondents"))

    def answers(self) -> Iterator[dict[str, Any]]:
        """Give everybody's answers that stand."""
        return self.client.rows(f"{self.path}/answers")

    def group(self) -> dict[str, Any]:
        """Return what everybody's answers say together, as far as it was computed."""
        found: dict[str, Any] = self.client.call("GET", f"{self.path}/people")
        return found

    def items(self, retired: bool = False) -> list[dict[str, Any]]:
        """Return the items that are asked about; `retired` adds those that were retired or replaced."""
        found: list[dict[str, Any]] = self.client.call(
            "GET", f"{self.path}/items?retired={str(retired).lower()}"
        )
        return found

    def update_items(self, csv: str, preview: bool = False) -> dict[str, list[str]]:
        """Add rows of a table whose names are new, change items whose cells are others; say which."""
        return self._items("POST", "", {"csv": csv, "preview": preview})

    def change_item(
        self,
        name: str,
        cells: Mapping[str, Any] | None = None,
        *,
        rename: str | None = None,
        preview: bool = False,
    ) -> dict[str, list[str]]:
        """Change an item: a new version, and answers keep the one that they saw; or only say what changes."""
        told = {"name": name, "cells": dict(cells or {}), "rename": rename, "preview": preview}
        return self._items("PATCH", "", told)

    def retire_items(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Ask about items no more."""
        return self._items("POST", "/retire", {"names": list(names)})

    def restore_items(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Ask about retired items again."""
        return self._items("POST", "/restore", {"names": list(names)})

    def _items(self, method: str, what: str, body: Any) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self.client.call(
            method, f"{self.path}/items{what}", body, is_repeatable=method == "POST"
        )
        return found

    def export(self, file: str = "answers.csv") -> bytes:
        """Return a file: answers.csv, or study.jsonl with all there is."""
        return self.client.send("GET", f"{self.path}/export/{quote(file, safe='')}").body

    def _person(self, plain: Mapping[str, Any]) -> ClientPerson:
        return ClientPerson(self.client, plain["name"], plain["token"], plain["link"], plain["n_answers"])


class Client:
    """Asks a server of coombs; what has no reply is sent again, and makes nothing twice.

    Parameters
    ----------
    base_url : of the page, as https://taste.example.org
    token : the owner's, or one of a study (`study.api_tokens.add("shop", "answer")`)
    timeout : seconds that a reply may take
    tries : how often a request is sent, at most
    transport : sends a request and returns a ClientReply (default: by urllib)

    Examples
    --------
    >>> Client("https://taste.example.org", "coombs_...").study("flats").name
    'flats'
    """

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        tries: int = TRIES,
        transport: Callable[[Request], ClientReply] | None = None,
    ) -> None:
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ClientError(0, f"The address is {base_url!r}; it must be http://... or https://....")
        self._base, self._token, self._tries = base_url.rstrip("/"), token, max(1, tries)
        self._transport = transport or UrllibTransport(timeout)

    def __repr__(self) -> str:
        return f"Client({self._base!r})"

    def studies(self) -> list[dict[str, Any]]:
        """Return all studies with their numbers of items, people and answers; it takes the owner's token."""
        return list(self.rows("/api/studies"))

    def create_study(self, name: str, csv: str, **settings: Any) -> ClientStudy:
        """Make a study of a table in CSV; it takes the owner's token. Settings are as the API has them."""
        self.call("POST", "/api/studies", {"name": name, "csv": csv, **settings})
        return self.study(name)

    def study(self, name: str) -> ClientStudy:
        """Return a study by its name; nothing is asked for it yet."""
        return ClientStudy(self, name)

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        """Give the rows of a list, part by part."""
        address = f"{path}?limit={PART}"
        while address:
            reply = self.send("GET", address)
            yield from json.loads(reply.body)
            link = re.fullmatch(r'<[^>]*\?([^>]*)>; rel="next"', reply.headers.get("link", ""))
            address = "" if link is None else f"{path}?{link[1]}"

    def call(self, method: str, path: str, body: Any = None, *, is_repeatable: bool = True) -> Any:
        """Return what a request gives, as JSON has it."""
        return json.loads(self.send(method, path, body, is_repeatable=is_repeatable).body)

    def send(self, method: str, path: str, body: Any = None, *, is_repeatable: bool = True) -> ClientReply:
        """Return the reply to a request, or raise ClientError; it is sent again where none comes."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if method == "POST":
            headers["Idempotency-Key"] = uuid.uuid4().hex
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._base}{path}", data, headers, method=method)
        for tries in range(1, self._tries + 1):
            is_last = tries == self._tries or not is_repeatable
            try:
                reply = self._transport(request)
            except OSError as error:
                if is_last:
                    reason = getattr(error, "reason", None) or type(error).__name__
                    raise ClientError(0, f"No reply from {self._base} ({reason}).") from None
                time.sleep(FIRST_WAIT * 2 ** (tries - 1))
                continue
            if reply.status < 400:
                return reply
            if is_last or not _may_pass(reply):
                raise ClientError(reply.status, _sentence(reply))
            time.sleep(_wait(reply, FIRST_WAIT * 2 ** (tries - 1)))
        raise AssertionError("The last try returns or raises.")


def _given(**said: Any) -> dict[str, Any]:
    """What is said, without what is not."""
    return {name: value for name, value in said.items() if value is not None}


def _may_pass(reply: ClientReply) -> bool:
    """Whether the same may succeed later: an answered question stays answered."""
    return reply.status in PASSING and (reply.status != 409 or b"being worked on" in reply.body)


def _wait(reply: ClientReply, otherwise: float) -> float:
    given = reply.headers.get("retry-after", "")
    return min(float(given), LONGEST_WAIT) if given.isdecimal() else otherwise


def _sentence(reply: ClientReply) -> str:
    """What the server says is wrong."""
    try:
        return str(json.loads(reply.body)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"The server replied {reply.status}."


__all__: Sequence[str] = (
    "Client",
    "ClientError",
    "ClientItem",
    "ClientPerson",
    "ClientQuestion",
    "ClientReply",
    "ClientStudy",
    "ClientTurn",
    "is_from_webhook",
    "webhook_signature",
)
