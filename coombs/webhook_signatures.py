"""How messages to webhooks are signed, and how their receiver knows who sent them."""

from __future__ import annotations

import hashlib
import hmac
import re
import time

TOLERANCE = 300.0
"""Seconds by which the time of a webhook's message may differ from now."""


def webhook_signature(secret: str, timestamp: int, body: bytes) -> str:
    """Return the header `Coombs-Signature` of a message: HMAC-SHA256 of its time, a dot and its body.

    Parameters
    ----------
    secret : of the webhook
    timestamp : seconds since 1970
    body : as it was sent

    Returns
    -------
    str

    Examples
    --------
    >>> webhook_signature("secret", 1700000000, b"{}")[:28]
    't=1700000000,v1=b8569b78799f'
    """
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"t={timestamp},v1={mac.hexdigest()}"


def is_from_webhook(secret: str, header: str, body: bytes, now: float | None = None) -> bool:
    """Return whether a message was signed with the secret, within the last five minutes.

    Parameters
    ----------
    secret : of the webhook
    header : `Coombs-Signature`
    body : as it came in, before it is parsed
    now : seconds since 1970 (default: the time)

    Returns
    -------
    bool

    Examples
    --------
    >>> header = webhook_signature("secret", 1700000000, b"{}")
    >>> [is_from_webhook("secret", header, body, 1700000010) for body in (b"{}", b"[]")]
    [True, False]
    """
    found = re.match(r"t=(\d{1,12}),v1=", header)
    if found is None or abs((time.time() if now is None else now) - int(found[1])) > TOLERANCE:
        return False
    expected = webhook_signature(secret, int(found[1]), body)
    return hmac.compare_digest(expected.encode(), header.encode(errors="replace"))
