"""`serve`: the page on this machine, in the browser."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from coombs.data.catalogue import catalogue
from coombs.data.tables import InputError
from coombs.storage import Storage, is_memory, open_storage
from coombs.study import create_study, load_study
from coombs.web.access import is_loopback
from coombs.web.app import create_app
from coombs.web.connections import BoundedProtocol, allow_files
from coombs.web.owner_token import given_token, new_token
from coombs.web.proxies import Network, checked_root, networks
from coombs.web.routing import study_path

MOST_WORKERS = 4
"""Processes that learn, at most."""


def serve(
    items: str | None = None,
    *,
    features: Sequence[str] | None = None,
    wishes: Sequence[str] = (),
    shared_prior: bool | None = None,
    storage: str = "sqlite:///coombs.db",
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    token_file: str | None = None,
    root_path: str = "",
    allowed_hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    access_log: bool = False,
    open_browser: bool = True,
) -> None:
    """Serve the page until it is interrupted.

    Parameters
    ----------
    items : path of a CSV, Excel, JSON or Parquet file, whose first question is opened; None opens the
        start page
    features : columns to learn from, as "town" or "town:category"; None takes what the cells say
    wishes, shared_prior, storage : as for `create_study`
    name : of the study (default: the file's, without its ending)
    host, port : where to listen. Port 0 is any free one
    token : opens the owner's pages from elsewhere, 16 characters or more; by default that of `token_file`, or
        of the environment variable ``COOMBS_TOKEN``. Where others can reach the page (by its host, a proxy, a
        root path or an allowed host) and none is given, one is made and shown once, as a link
    token_file : a file that holds the token
    root_path, allowed_hosts, proxies : as for `create_app`
    access_log : whether to write a line for each request, without tokens and personal links
    open_browser : whether to open the page

    Returns
    -------
    None
        Once it is interrupted; SIGTERM ends the process with the exit code 143.

    Examples
    --------
    >>> serve("flats.csv", storage="sqlite:///flats.db", port=0)  # doctest: +SKIP
    coombs is at http://127.0.0.1:43211/
    The first question is at http://127.0.0.1:43211/a/Zk3VqL0w
    Press Ctrl+C to stop; every answer is stored.

    A token that could be guessed is refused:

    >>> serve(host="0.0.0.0", token="secret")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    coombs.data.input_error.InputError: The owner's token has 6 characters, which can be guessed; ...
    """
    given = given_token(token, token_file)
    is_open = not is_loopback(host) or bool(root_path or allowed_hosts or proxies)
    made = new_token() if given is None and is_open else None
    place = open_storage(storage)
    path = _first_page(items, features, {"wishes": wishes, "shared_prior": shared_prior}, name, place)
    folder = None if items is None else Path(items).resolve().parent
    app = create_app(
        place,
        token=given or made,
        allowed_hosts=[*_names(host), *allowed_hosts],
        pictures=folder,
        processes=_n_workers(),
        root_path=root_path,
        proxies=proxies,
    )
    with _listening(host, port) as listener:
        address = f"{_address(host, listener.getsockname()[1])}{checked_root(root_path)}"
        # A token that was given is known, and has no business in a log.
        owner = f"{address}/?token={quote(made, safe='')}" if made else f"{address}/"
        kept = "answers are kept until then" if is_memory(storage) else "every answer is stored"
        first = [f"The first question is at {address}{path}"] if path != "/" else []
        # Whoever opens the page now is answered in a moment: the socket listens already.
        print(f"coombs is at {owner}", *first, f"Press Ctrl+C to stop; {kept}.", sep="\n", file=sys.stderr)
        if open_browser:
            # Not with the token, which everybody on this machine would see in the list of processes.
            webbrowser.open(f"{address}{path}")
        config = _config(app, networks(proxies), access_log)
        # After SIGTERM, too, Python ends in order and says nothing: 128 + 15 is what shells make of it.
        before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def _config(app: FastAPI, proxies: tuple[Network, ...], access_log: bool) -> uvicorn.Config:
    """The server: bounded connections, and what is said of a request by nobody but our own middleware."""
    BoundedProtocol.proxies = proxies
    allow_files()
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_level="warning",
        access_log=access_log,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        ws="none",
    )
    if access_log:
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    return config


def _first_page(
    items: str | None,
    features: Sequence[str] | None,
    settings: dict[str, Any],
    name: str | None,
    storage: Storage,
) -> str:
    """The page to open: a question about the items, a study, or the start."""
    if items is not None:
        goods, called = catalogue(items, features), Path(items).stem if name is None else name
        for note in goods.notes:
            print(f"coombs: careful: {note}", file=sys.stderr)
        study = create_study(goods, called, storage=storage, **settings)
        return f"/a/{study.respondent().record.token}"
    return "/" if name is None else study_path(load_study(name, storage=storage).name)


def _n_workers() -> int:
    """Processes that learn: this one needs a core, too."""
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 1) - 1))


def _names(host: str) -> list[str]:
    """Names by which others may call this machine."""
    if is_loopback(host):
        return []
    here = socket.gethostname()
    return [host, here, f"{here}.local", socket.getfqdn()]


def _listening(host: str, port: int) -> Any:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"The page cannot be served on {host}, port {port} ({reason}); give another port, or 0 for any."
        ) from error


def _address(host: str, port: int) -> str:
    with suppress(ValueError):
        # All addresses of this machine, of which its name is one.
        host = socket.gethostname() if ip_address(host).is_unspecified else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
