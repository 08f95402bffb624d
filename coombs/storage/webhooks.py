"""Addresses that are told of answers, and messages that wait to be sent there, stored with the answers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from coombs.data.tables import InputError
from coombs.storage import stored_values as read
from coombs.storage import validation
from coombs.storage.database import Database
from coombs.storage.rows import Row
from coombs.storage.stored_values import RowReading
from coombs.storage.timestamps import now
from coombs.storage.validation import UnknownStudyError

Topic: TypeAlias = Literal["answer", "undo", "done"]
"""What happened: an answer, one taken back, or somebody is through with all."""
TOPICS: tuple[Topic, ...] = get_args(Topic)
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts to which messages may go without TLS."""
_LONGEST = 2000
"""Characters of an address."""
_WEBHOOK = "id, study_id, address, secret, topics, created"
_WAITS = "webhook_id = ? AND next_try IS NOT NULL"
_DELIVERY = "id, webhook_id, topic, body, created, tries, next_try, delivered, problem"


@dataclass(frozen=True)
class Webhook:
    """An address that is told what happens in a study.

    Parameters
    ----------
    id, study_id : numbers
    address : where messages go
    secret : by which they are signed
    topics : of which it is told
    created : when

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 31, tzinfo=UTC)
    >>> Webhook(1, 1, "https://example.org/told", "secret", ("answer",), at).topics
    ('answer',)
    """

    id: int
    study_id: int
    address: str
    secret: str = field(repr=False)
    topics: tuple[str, ...]
    created: datetime


@dataclass(frozen=True)
class Delivery:
    """A message to an address: what it is about, and what came of it.

    Parameters
    ----------
    id, webhook_id : numbers
    topic : what happened
    about : ids of the respondent and, if there is one, of the answer; names are looked up when it is sent
    created : when it happened
    tries : how often it was sent
    next_try : when it is sent again; None where it arrived, or was given up
    delivered : when it arrived, or None
    problem : why it did not arrive the last time, or None

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 1, 31, tzinfo=UTC)
    >>> Delivery(1, 1, "done", {"respondent": 3}, at, 0, None, None, None).topic
    'done'
    """

    id: int
    webhook_id: int
    topic: str
    about: dict[str, int]
    created: datetime
    tries: int
    next_try: datetime | None
    delivered: datetime | None
    problem: str | None


def note(database: Database, respondent_id: int, topic: Topic, answer_id: int | None = None) -> None:
    """Inside of the transaction that stores what happened: a message for every address that is to be told."""
    found = database.rows(
        "SELECT webhooks.id FROM webhooks JOIN respondents ON respondents.study_id = webhooks.study_id"
        " WHERE respondents.id = ? AND webhooks.topics LIKE ?",
        respondent_id,
        f"%{topic}%",
    )
    about = {"respondent": respondent_id, **({} if answer_id is None else {"answer": answer_id})}
    at = now()
    for (number,) in found:
        row = number, topic, json.dumps(about), at, 0, at
        database.insert_new("deliveries", "webhook_id, topic, body, created, tries, next_try", row)


class Webhooks:
    """Addresses of all studies in a database, and messages to them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, study_id: int, address: str, topics: Iterable[str]) -> Webhook:
        """A new address, with a secret of its own, or an InputError."""
        wanted = tuple(dict.fromkeys(topics))
        if not wanted or not set(wanted) <= set(TOPICS):
            known = ", ".join(TOPICS)
            raise InputError(
                "The topics are {given}; they must be some of {known}.", given=str(list(wanted)), known=known
            )
        row = study_id, checked_address(address), secrets.token_urlsafe(32), " ".join(wanted), now()
        columns = _WEBHOOK.removeprefix("id, ")
        with self._database.transaction():
            self._database.insert_new("webhooks", columns, row)
            select = f"SELECT {_WEBHOOK} FROM webhooks WHERE study_id = ? ORDER BY id DESC LIMIT 1"
            found = self._database.rows(select, study_id)
        return _webhook(found[0])

    def of_study(self, study_id: int) -> list[Webhook]:
        """Those of a study, in the order they were made."""
        select = f"SELECT {_WEBHOOK} FROM webhooks WHERE study_id = ? ORDER BY id"
        return [_webhook(row) for row in self._database.rows(select, study_id)]

    def remove(self, study_id: int, number: int) -> None:
        """Tell an address nothing from now on, and drop what waits for it."""
        with self._database.transaction():
            delete = "DELETE FROM webhooks WHERE study_id = ? AND id = ?"
            if not self._database.change(delete, study_id, number):
                raise UnknownStudyError(f"There is no webhook {number}.")

    def latest(self, study_id: int, most: int) -> list[Delivery]:
        """The last messages of a study, the latest first."""
        found = self._database.rows(
            f"SELECT {_DELIVERY} FROM deliveries WHERE webhook_id IN"
            " (SELECT webhooks.id FROM webhooks WHERE study_id = ?) ORDER BY id DESC LIMIT ?",
            study_id,
            most,
        )
        return [_delivery(row) for row in found]

    def due(self, at: datetime, most: int) -> list[tuple[Webhook, Delivery]]:
        """Messages that are to be sent by now, those that have waited longest first."""
        select = f"SELECT {_DELIVERY} FROM deliveries WHERE next_try <= ? ORDER BY next_try, id LIMIT ?"
        waiting = [_delivery(row) for row in self._database.rows(select, at, most)]
        hooks: dict[int, Webhook] = {}
        for number in {one.webhook_id for one in waiting}:
            for row in self._database.rows(f"SELECT {_WEBHOOK} FROM webhooks WHERE id = ?", number):
                hooks[number] = _webhook(row)
        return [(hooks[one.webhook_id], one) for one in waiting if one.webhook_id in hooks]

    def claim(self, one: Delivery, until: datetime) -> bool:
        """Whether it is for this process to send it; no other does before that time."""
        update = "UPDATE deliveries SET tries = tries + 1, next_try = ? WHERE id = ? AND tries = ?"
        with self._database.transaction():
            return self._database.change(f"{update} AND next_try IS NOT NULL", until, one.id, one.tries) > 0

    def arrived(self, one: Delivery) -> None:
        """Note that a message is there."""
        update = "UPDATE deliveries SET delivered = ?, next_try = NULL, problem = NULL WHERE id = ?"
        with self._database.transaction():
            self._database.change(update, now(), one.id)

    def failed(self, one: Delivery, problem: str, again: datetime, given_up: datetime) -> None:
        """Note why a message is not there; nothing goes to its address before `again`.

        What happened before `given_up` is sent no more.
        """
        at = now()
        with self._database.transaction():
            change = self._database.change
            change("UPDATE deliveries SET next_try = ?, problem = ? WHERE id = ?", again, problem, one.id)
            change(
                f"UPDATE deliveries SET next_try = ? WHERE {_WAITS} AND next_try <= ?",
                again,
                one.webhook_id,
                at,
            )
            give_up = f"UPDATE deliveries SET next_try = NULL, problem = ? WHERE {_WAITS} AND created < ?"
            change(give_up, problem, one.webhook_id, given_up)

    def drop(self, one: Delivery) -> None:
        """Delete a message about somebody who is gone."""
        with self._database.transaction():
            self._database.change("DELETE FROM deliveries WHERE id = ?", one.id)

    def forget(self, before: datetime) -> None:
        """Delete messages that wait no longer and are about what happened before that."""
        delete = "DELETE FROM deliveries WHERE next_try IS NULL AND created < ?"
        with self._database.transaction():
            self._database.change(delete, before)


def checked_address(address: str) -> str:
    """An address that messages may go to, or an InputError: https, or http on this machine."""
    text = validation.text(address, "webhook's address").strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    is_plain = len(text) <= _LONGEST and text.isascii() and text.isprintable() and " " not in text
    is_safe = host is not None and (parts.scheme == "https" or (parts.scheme == "http" and host in LOCAL))
    if not is_plain or not is_safe or "@" in parts.netloc or parts.fragment:
        raise InputError(
            "The webhook's address is {address}; it must be https://host/path, without a password or a #.",
            address=repr(text),
        )
    return text


def _webhook(row: Row) -> Webhook:
    number, study_id, address, secret, topics, created = row
    with RowReading(f"The webhook {number!r}"):
        named = tuple(read.text(topics, "its topics").split())
        if not set(named) <= set(TOPICS):
            raise ValueError("its topics are unknown")
        return Webhook(
            read.number(number, "its id"),
            read.number(study_id, "its study"),
            read.text(address, "its address"),
            read.text(secret, "its secret"),
            named,
            read.moment(created, "its time"),
        )


def _delivery(row: Row) -> Delivery:
    number, webhook_id, topic, body, created, tries, next_try, delivered, problem = row
    with RowReading(f"The message {number!r} to a webhook"):
        about = read.json_object(body, "what it is about")
        return Delivery(
            read.number(number, "its id"),
            read.number(webhook_id, "its webhook"),
            read.text(topic, "its topic"),
            {name: read.number(value, f"its {name}") for name, value in about.items()},
            read.moment(created, "its time"),
            read.number(tries, "its number of tries"),
            None if next_try is None else read.moment(next_try, "its next try"),
            None if delivered is None else read.moment(delivered, "when it arrived"),
            None if problem is None else read.text(problem, "its problem"),
        )
