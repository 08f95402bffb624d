"""The server's log as JSON: an object on each line, without tokens and personal links."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from coombs.web.access_log import without_secrets

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
