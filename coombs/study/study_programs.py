"""Programs that use a study: their tokens, and the addresses that are told what happens in it."""

from __future__ import annotations

from collections.abc import Iterable

from coombs.storage.api_tokens import ApiToken, ApiTokens, Rights
from coombs.storage.database import Database
from coombs.storage.webhooks import TOPICS, Delivery, Webhook, Webhooks


class StudyTokens:
    """The tokens of one study; `Study.api_tokens` has them.

    Parameters
    ----------
    database : where they are kept
    study_id : of the study

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> token = study.api_tokens.add("shop", "answer")
    >>> token.startswith("coombs_"), [one.name for one in study.api_tokens.list()]
    (True, ['shop'])
    """

    def __init__(self, database: Database, study_id: int) -> None:
        self._tokens, self._study_id = ApiTokens(database), study_id

    def add(self, name: str, rights: Rights) -> str:
        """Return a new token, which cannot be had again: only its digest is kept.

        Parameters
        ----------
        name : what it is for; each is there once
        rights : "answer" (make people, ask and tell for them), "read" (results, answers, exports) or "own"
            (all of this study)

        Returns
        -------
        str

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> len(study.api_tokens.add("dashboard", "read"))
        50
        """
        return self._tokens.add(self._study_id, name, rights)

    def list(self) -> list[ApiToken]:
        """Return the names and rights of all tokens.

        Returns
        -------
        list of ApiToken, in the order they were made

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.api_tokens.list()
        []
        """
        return self._tokens.of_study(self._study_id)

    def revoke(self, name: str) -> None:
        """Let a token open nothing from now on.

        Parameters
        ----------
        name : of the token

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.api_tokens.add("shop", "answer")
        >>> study.api_tokens.revoke("shop")
        >>> study.api_tokens.list()
        []
        """
        self._tokens.revoke(self._study_id, name)


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
