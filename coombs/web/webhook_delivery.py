"""Sends messages to webhooks, beside the page: signed, again after growing waits, for a day."""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import coombs
from coombs.data.tables import InputError
from coombs.storage import UndoRecord, UnknownStudyError
from coombs.storage.timestamps import now, time_text
from coombs.storage.webhooks import Delivery, Webhook, Webhooks
from coombs.study.study_records import answer_of
from coombs.web.api.schemas import AnswerOut
from coombs.web.proxies import Network
from coombs.web.study_cache import StudyCache
from coombs.web.webhook_addresses import NotSentError, post
from coombs.webhook_signatures import webhook_signature

SHORTEST_WAIT = timedelta(seconds=10)
"""Wait before a message is sent again; each wait doubles."""
LONGEST_WAIT = timedelta(hours=4)
"""Wait before a message is sent again, at most."""
GIVEN_UP = timedelta(days=1)
"""Time after which a message is no longer sent."""
KEPT = timedelta(days=7)
"""How long a message is listed after it arrived or was given up."""
CLAIMED = timedelta(minutes=1)
"""Time after which a message counts as not sent where the process that took it has died."""
TOGETHER = 100
"""Messages that are looked at together."""
AT_ONCE = 4
"""Addresses to which messages are sent at the same time."""
ROUND_SECONDS = 10.0
"""Seconds after which a slow address lets others have their turn."""

Post = Callable[[str, bytes, Mapping[str, str], tuple[Network, ...]], None]


class WebhookDelivery:
    """Sends what is due; any number of processes do so, and a message is claimed by one."""

    def __init__(self, cache: StudyCache, allowed: tuple[Network, ...], send: Post = post) -> None:
        self._cache, self._allowed, self._send = cache, allowed, send
        self._webhooks = Webhooks(cache.storage.database)
        self._is_closed = False

    def deliver(self) -> None:
        """Send all that is due; the messages to one address in their order."""
        waiting: dict[int, list[tuple[Webhook, Delivery]]] = defaultdict(list)
        for hook, one in self._webhooks.due(now(), TOGETHER):
            waiting[hook.id].append((hook, one))
        if waiting:
            with ThreadPoolExecutor(AT_ONCE, "coombs-webhooks") as threads:
                list(threads.map(self._deliver_to, waiting.values()))
            self._webhooks.forget(now() - KEPT)

    def close(self) -> None:
        """Begin no other message."""
        self._is_closed = True

    def _deliver_to(self, waiting: list[tuple[Webhook, Delivery]]) -> None:
        end = time.monotonic() + ROUND_SECONDS
        try:
            for hook, one in waiting:
                if self._is_closed or time.monotonic() > end or not self._deliver_one(hook, one):
                    return
        finally:
            # The thread ends, and its connection with it.
            self._cache.storage.close()

    def _deliver_one(self, hook: Webhook, one: Delivery) -> bool:
        """Whether the next may be sent, too."""
        if not self._webhooks.claim(one, now() + CLAIMED):
            return True
        message = self.message(one)
        if message is None:
            self._webhooks.drop(one)
            return True
        try:
            self._send(hook.address, *signed(hook, one, message), self._allowed)
        except NotSentError as error:
            age = now() - one.created
            again = now() + min(max(age, SHORTEST_WAIT), LONGEST_WAIT)
            self._webhooks.failed(one, str(error), again, now() - GIVEN_UP)
            logging.getLogger("coombs.web").warning("A message to a webhook did not arrive.")
            return False
        self._webhooks.arrived(one)
        return True

    def message(self, one: Delivery) -> dict[str, Any] | None:
        """What is sent, with the current names; None where the person is gone."""
        storage = self._cache.storage
        found = storage.database.rows(
            "SELECT respondents.name, respondents.external_id, studies.name FROM respondents"
            " JOIN studies ON studies.id = respondents.study_id WHERE respondents.id = ?",
            one.about["respondent"],
        )
        if not found:
            return None
        person, external_id, study = found[0]
        about = {"respondent": person, "external_id": external_id, "study": study}
        told = {"id": one.id, "topic": one.topic, "created": time_text(one.created), **about}
        answer = one.about.get("answer")
        if answer is None:
            return told
        if one.topic == "undo":
            return {**told, "answer": {"id": answer}}
        try:
            return {**told, "answer": self._answer(study, one.about["respondent"], person, answer)}
        except (UnknownStudyError, StopIteration):
            return None

    def _answer(self, study: str, respondent_id: int, person: str, number: int) -> dict[str, Any]:
        events = self._cache.storage.events(respondent_id, after=number - 1)
        event = next(one for one in events if one.id == number and not isinstance(one, UndoRecord))
        names = self._cache.study(study).catalogue.labels
        answer = answer_of(event, person, names, None)
        return AnswerOut.model_validate(answer, from_attributes=True).model_dump(mode="json")


def send_test(hook: Webhook, study: str, allowed: tuple[Network, ...], send: Post = post) -> None:
    """Send a message that is about nothing, at once; an InputError says why it did not arrive."""
    at = now()
    one = Delivery(0, hook.id, "test", {}, at, 0, None, None, None)
    told = {"id": 0, "topic": "test", "created": time_text(at), "study": study}
    try:
        send(hook.address, *signed(hook, one, told), allowed)
    except NotSentError as error:
        raise InputError(str(error)) from None


def signed(hook: Webhook, one: Delivery, message: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
    """The body of a message, and headers by which its receiver knows who sent it."""
    body = json.dumps(message).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"coombs/{coombs.__version__}",
        "Coombs-Topic": one.topic,
        "Coombs-Delivery": str(one.id),
        "Coombs-Signature": webhook_signature(hook.secret, int(time.time()), body),
    }
    return body, headers
