"""The server's log, without tokens and personal links: as text, or as JSON with an object on each line."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

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


LOGGERS = ("coombs", "uvicorn")
"""Whose lines are written; those below them too."""


class JsonFormatter(logging.Formatter):
    """A line of JSON: time, level, logger, message, and what else is known.

    Examples
    --------
    >>> record = logging.LogRecord("coombs.web", logging.INFO, "", 0, "GET /a/Zk3VqL0w", None, None)
    >>> json.loads(JsonFormatter().format(record))["message"]
    'GET /a/...'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["traceback"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False)


def log_as_json(requests: bool) -> None:
    """Write the server's log in this way, on the standard error; with a line for each request or without."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)
    logging.getLogger("coombs.web").setLevel(logging.INFO)
    logging.getLogger("coombs.web.requests").setLevel(logging.INFO if requests else logging.WARNING)
