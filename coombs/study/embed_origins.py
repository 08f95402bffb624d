"""Other sites that may show a study's pages in a frame, by their origins as browsers write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from coombs.data.tables import InputError

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, to which no connection can be listened in on."""
MOST_ORIGINS = 20
"""Origins of a study; every page of its people names them all in a header."""


def checked_origins(given: Any) -> tuple[str, ...]:
    """Origins as browsers write them, each once; blank ones are left out.

    Examples
    --------
    >>> checked_origins(["https://shop.example/", ""])
    ('https://shop.example',)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"embed_origins is {given!r}; it must be a list, as ['https://shop.example'].")
    named = list(given)
    if not all(isinstance(one, str) for one in named):
        raise InputError(f"embed_origins is {given!r}; it must be a list of texts.")
    made = tuple(dict.fromkeys(checked_origin(one) for one in named if one.strip()))
    if len(made) > MOST_ORIGINS:
        raise InputError("There are {n} origins; there may be {most}.", n=len(made), most=MOST_ORIGINS)
    return made


def checked_origin(origin: str) -> str:
    """An origin as browsers write it, or an InputError: https, or http on this machine.

    Examples
    --------
    >>> checked_origin("https://Shop.example:443/")
    'https://shop.example'
    """
    text = origin.strip()
    wrong = InputError(
        "The origin {origin} cannot be used; give one as https://shop.example, without a path (http only of "
        "this machine: localhost, 127.0.0.1).",
        origin=repr(origin),
    )
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise wrong from None
    is_safe = bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOCAL))
    is_plain = text.isascii() and all(letter.isalnum() or letter in ".-:[]" for letter in parts.netloc)
    if not is_safe or not is_plain or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise wrong
    named = f"[{host}]" if ":" in host else host
    usual = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{named}{'' if port in (None, usual) else f':{port}'}"
