"""Addresses that are told what happens in a study."""

from __future__ import annotations

from collections.abc import Iterable

from coombs.storage.database import Database
from coombs.storage.webhooks import TOPICS, Delivery, Webhook, Webhooks

SHOWN = 50
"""Messages that are listed."""


class StudyWebhooks:
    """The webhooks of one study; `Study.webhooks` has them. A running server sends the messages.

    Parameters
    ----------
    database : where they are kept
    study_id : of the study

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> hook = study.webhooks.add("https://example.org/told", ["answer"])
    >>> _ = study.tell((1, 0))
    >>> [one.topic for one in study.webhooks.deliveries()]
    ['answer']
    """

    def __init__(self, database: Database, study_id: int) -> None:
        self._webhooks, self._study_id = Webhooks(database), study_id

    def add(self, address: str, topics: Iterable[str] = TOPICS) -> Webhook:
        """Return a new webhook, with the secret by which its messages are signed.

        Parameters
        ----------
        address : where messages are sent, https://...
        topics : some of "answer", "undo" and "done" (default: all)

        Returns
        -------
        Webhook

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.webhooks.add("https://example.org/told", ["done"]).topics
        ('done',)
        """
        return self._webhooks.add(self._study_id, address, topics)

    def list(self) -> list[Webhook]:
        """Return all webhooks.

        Returns
        -------
        list of Webhook, in the order they were made

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.webhooks.list()
        []
        """
        return self._webhooks.of_study(self._study_id)

    def remove(self, number: int) -> None:
        """Tell an address nothing from now on.

        Parameters
        ----------
        number : the webhook's id

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.webhooks.remove(study.webhooks.add("https://example.org/told").id)
        >>> study.webhooks.list()
        []
        """
        self._webhooks.remove(self._study_id, number)

    def deliveries(self, most: int = SHOWN) -> tuple[Delivery, ...]:
        """Return the last messages, and what came of each.

        Parameters
        ----------
        most : how many

        Returns
        -------
        tuple of Delivery, the latest first

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.webhooks.deliveries()
        ()
        """
        return tuple(self._webhooks.latest(self._study_id, most))
