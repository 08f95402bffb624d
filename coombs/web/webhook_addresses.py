"""Where messages may be sent: not into private networks, unless whoever runs the server allows it."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage.webhooks import checked_address
from coombs.web.proxies import Network, is_among

SECONDS = 10.0
"""Seconds in which an address must take a message and reply."""


class NotSentError(Exception):
    """Why a message did not arrive, in a sentence."""


def reachable(address: str, allowed: tuple[Network, ...]) -> str:
    """The IP address to connect to; NotSentError where there is none, or only private ones.

    The connection goes to the very address that was looked at, so that no name changes its mind between.
    """
    parts = urlsplit(checked_address(address))
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSentError(Translatable("The host {host} is not known.", host=parts.hostname)) from None
    numbers = [str(one[4][0]) for one in found]
    for number in numbers:
        if is_among(number, allowed) or is_public_address(number):
            return number
    raise NotSentError(
        Translatable(
            "The host {host} is in a private network, where messages are not sent; whoever runs the server "
            "can allow it: --webhook-network.",
            host=parts.hostname,
        )
    )


def check_reachable(address: str, allowed: tuple[Network, ...]) -> None:
    """Refuse an address to which nothing would be sent, before it is stored."""
    try:
        reachable(address, allowed)
    except NotSentError as error:
        raise InputError(str(error)) from None


def is_public_address(number: str) -> bool:
    """Whether an IP address is one of the internet, for everybody.

    Examples
    --------
    >>> [is_public_address(one) for one in ("8.8.8.8", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False]
    """
    found = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        # Addresses that hold an IPv4 address, which could be anything.
        if found.ipv4_mapped is not None:
            return is_public_address(str(found.ipv4_mapped))
        if found.sixtofour is not None or found.teredo is not None or found in _NAT64:
            return False
    return found.is_global and not found.is_multicast


_NAT64 = ipaddress.ip_network("64:ff9b::/32")


def post(address: str, body: bytes, headers: Mapping[str, str], allowed: tuple[Network, ...]) -> None:
    """Send a message, or NotSentError with a sentence; redirects are not followed."""
    parts, number = urlsplit(address), reachable(address, allowed)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, number)
    # Also one who replies a letter at a time has to end some time.
    limit = threading.Timer(SECONDS, connection.close)
    limit.daemon = True
    limit.start()
    try:
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connection.request("POST", path, body, dict(headers))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        # What a closed connection raises depends on where it was.
        raise NotSentError(f"It could not be sent ({type(error).__name__}).") from None
    finally:
        limit.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise NotSentError(f"The address replied {status}; a message is taken with 200 to 299.")


def _connection(scheme: str, host: str, port: int | None, number: str) -> http.client.HTTPConnection:
    """A connection to an IP address, by the name that its certificate must have."""
    if scheme == "http":
        plain = http.client.HTTPConnection(host, port, timeout=SECONDS)
        plain._create_connection = lambda address, *rest: socket.create_connection(  # type: ignore[attr-defined]
            (number, address[1]), SECONDS
        )
        return plain
    made = http.client.HTTPSConnection(host, port, timeout=SECONDS, context=ssl.create_default_context())
    made._create_connection = lambda address, *rest: socket.create_connection(  # type: ignore[attr-defined]
        (number, address[1]), SECONDS
    )
    return made
