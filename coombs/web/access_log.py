"""A log of requests without tokens and personal links."""

from __future__ import annotations

import logging
import re

_SECRETS = re.compile(
    r"(/a/|/api/respondents/|/drafts/|[?&]token=|Bearer )[^/?&#\s\"]+|(/join/)[^\s\"]+", re.IGNORECASE
)
"""What stands before a secret in an address, and the secret; after an open link also ids of people."""


def without_secrets(text: str) -> str:
    """An address without what opens a page.

    Examples
    --------
    >>> without_secrets("GET /taste/a/Zk3VqL0w/result?whole=true"), without_secrets("/?token=geheim&x=1")
    ('GET /taste/a/.../result?whole=true', '/?token=...&x=1')
    """
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}...", text)


class _HideSecrets(logging.Filter):
    """Rewrites the lines of an access log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every line through, without secrets."""
        if isinstance(record.args, tuple):
            record.args = tuple(without_secrets(one) if isinstance(one, str) else one for one in record.args)
        record.msg = without_secrets(record.msg) if isinstance(record.msg, str) else record.msg
        return True


def hide_secrets() -> None:
    """Let uvicorn's access log, wherever it is switched on, hold no secrets."""
    logger = logging.getLogger("uvicorn.access")
    if not any(isinstance(one, _HideSecrets) for one in logger.filters):
        logger.addFilter(_HideSecrets())
