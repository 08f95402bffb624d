"""Tokens by which programs use a study."""

from __future__ import annotations

from coombs.storage.api_tokens import ApiToken, ApiTokens, Rights
from coombs.storage.database import Database


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
