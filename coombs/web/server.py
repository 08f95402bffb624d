"""`serve`: the page on this machine, in the browser."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from coombs.data.tables import InputError
from coombs.storage import Storage, is_memory, open_storage
from coombs.study import create_study, load_study
from coombs.study.declared_wishes import may_declare
from coombs.study.stored_studies import items_in_file
from coombs.web.access import is_loopback
from coombs.web.app import create_app
from coombs.web.connections import BoundedProtocol, allow_files
from coombs.web.metrics import Metrics
from coombs.web.owner_token import given_token, new_token
from coombs.web.pages.wishes_page import ASK
from coombs.web.proxies import checked_root, networks
from coombs.web.routing import study_path
from coombs.web.server_log import log_as_json
from coombs.web.server_processes import ServerProcesses
from coombs.web.shared_results import SharedResults

MOST_LEARNERS = 4
"""Processes that learn, at most."""
LOGS = ("text", "json")
"""Forms of the log."""


def serve(
    items: str | None = None,
    *,
    features: Sequence[str] | None = None,
    wishes: Sequence[str] = (),
    shared_prior: bool | None = None,
    strategy: str | None = None,
    top: int | None = None,
    certainty: float | None = None,
    questions: int | None = None,
    asking: Mapping[str, Any] | None = None,
    storage: str = "sqlite:///coombs.db",
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    token_file: str | None = None,
    root_path: str = "",
    allowed_hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    metrics_from: Sequence[str] = (),
    webhook_networks: Sequence[str] = (),
    embed_origins: Sequence[str] = (),
    workers: int = 1,
    log: str = "text",
    access_log: bool = False,
    open_browser: bool = True,
) -> None:
    """Serve the page until it is interrupted.

    Parameters
    ----------
    items : path of a CSV, Excel, JSON or Parquet file, whose first question is opened; None opens the
        start page
    features : columns to learn from, as "town" or "town:category"; None takes what the cells say
    wishes, shared_prior, strategy, top, certainty, storage : as for `create_study`; a study that exists
        is asked by them from now on, but for its wishes, which stay
    asking : set_size, fixed, repeats and attention, as for `create_study`
    questions : everybody is done after so many answers at most, as by `most_questions` of `create_study`
    name : of the study (default: the file's, without its ending)
    host, port : where to listen. Port 0 is any free one
    token : opens the owner's pages from elsewhere, 16 characters or more; by default that of `token_file`, or
        of the environment variable ``COOMBS_TOKEN``. Where others can reach the page (by its host, a proxy, a
        root path or an allowed host) and none is given, one is made and shown once, as a link
    token_file : a file that holds the token
    root_path, allowed_hosts, proxies, metrics_from, webhook_networks, embed_origins : as for
        `create_app`
    workers : processes that answer requests; each has others that learn
    log : "text" or "json", an object on each line; neither has tokens or personal links in it
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
    coombs.messages.InputError: The owner's token has 6 characters, which can be guessed; ...
    """
    given = given_token(token, token_file)
    is_open = not is_loopback(host) or bool(root_path or allowed_hosts or proxies)
    made = new_token() if given is None and is_open else None
    _check(workers, storage, log, made)
    place = open_storage(storage)
    asked: dict[str, Any] = {"strategy": strategy, "top": top, "certainty": certainty}
    asked |= {"most_questions": questions, "shared_prior": shared_prior, **(asking or {})}
    path = _first_page(items, features, wishes, asked, name, place)
    settings: dict[str, Any] = {"token": given or made, "allowed_hosts": [*_names(host), *allowed_hosts]}
    settings |= {"processes": _n_learners(workers)}
    settings |= {"pictures": None if items is None else Path(items).resolve().parent}
    settings |= {"root_path": root_path, "proxies": proxies, "metrics_from": metrics_from}
    settings |= {"webhook_networks": webhook_networks, "embed_origins": embed_origins}
    run = RunSettings(storage, settings, log == "json", access_log)
    # What is wrong with the settings is said before the page is.
    app = create_app(place, **settings)
    with _listening(host, port) as listener:
        address = f"{_address(host, listener.getsockname()[1])}{checked_root(root_path)}"
        _announce(address, path, made, is_memory(storage), run.json_log)
        if open_browser:
            _open_page(f"{address}{path}")
        _serve_by(workers, run, app, listener)


@dataclass(frozen=True)
class RunSettings:
    """What every process of a server is told."""

    storage: str
    app: dict[str, Any]
    json_log: bool
    access_log: bool


def _serve_by(workers: int, run: RunSettings, app: FastAPI, listener: socket.socket) -> None:
    """Serve in this process, or in several others, which make the app again."""
    # After SIGTERM, too, Python ends in order and says nothing: 128 + 15 is what shells make of it.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        if workers == 1:
            _serve(run, app, listener)
        else:
            app.state.cache.storage.close_all()
            ServerProcesses(workers, listener, serve_worker, run).serve()
    finally:
        signal.signal(signal.SIGTERM, before)


def serve_worker(
    run: RunSettings, listener: socket.socket, folder: Path, name: str, shelf: Connection
) -> None:
    """One of several processes that serve."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    app = create_app(run.storage, metrics=Metrics(folder, name), **run.app)
    app.state.cache.shared = app.state.groups.shared = SharedResults(shelf)
    _serve(run, app, listener)


def _serve(run: RunSettings, app: FastAPI, listener: socket.socket) -> None:
    """Answer requests until it is interrupted."""
    uvicorn.Server(_config(app, run)).run(sockets=[listener])


def _check(workers: int, storage: str, log: str, made: str | None) -> None:
    """Refuse what does not go together."""
    if workers < 1 or (workers > 1 and is_memory(storage)):
        raise InputError(
            f"There are {workers} workers; there must be one or more, and several share what they store: "
            "give --storage sqlite:///file.db or postgresql://...."
        )
    if log not in LOGS:
        raise InputError(f"The log is {log!r}; it must be {' or '.join(LOGS)}.")
    if log == "json" and made is not None:
        raise InputError(
            "Others can reach the page, and a token that is made now would stand in the log; give one, in "
            "the environment variable COOMBS_TOKEN or in a file: --token-file."
        )


def _announce(address: str, path: str, made: str | None, is_kept_in_memory: bool, json_log: bool) -> None:
    """Say where the page is."""
    if json_log:
        log_as_json(requests=False)
        logging.getLogger("coombs.web").info("coombs is at %s/", address)
        return
    # A token that was given is known, and has no business in a log.
    owner = f"{address}/?token={quote(made, safe='')}" if made else f"{address}/"
    kept = "answers are kept until then" if is_kept_in_memory else "every answer is stored"
    first = [f"The first question is at {address}{path}"] if path != "/" else []
    print(f"coombs is at {owner}", *first, f"Press Ctrl+C to stop; {kept}.", sep="\n", file=sys.stderr)


def _open_page(address: str) -> None:
    """Open the page, which is answered in a moment: the socket listens already."""
    # Not with the token, which everybody on this machine would see in the list of processes.
    webbrowser.open(address)


def _config(app: FastAPI, run: RunSettings) -> uvicorn.Config:
    """The server: bounded connections, and what is said of a request by nobody but our own middleware."""
    BoundedProtocol.proxies = networks(run.app["proxies"])
    allow_files()
    as_text = run.access_log and not run.json_log
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        log_level="warning",
        access_log=as_text,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        ws="none",
    )
    if run.json_log:
        log_as_json(run.access_log)
    elif as_text:
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    return config


def _first_page(
    items: str | None,
    features: Sequence[str] | None,
    wishes: Sequence[str],
    settings: dict[str, Any],
    name: str | None,
    storage: Storage,
) -> str:
    """The page to open: a question about the items, a study, or the start."""
    settings = {option: value for option, value in settings.items() if value is not None}
    if items is not None:
        called = Path(items).stem if name is None else name
        goods = items_in_file(items, features, called, storage)
        for note in goods.notes:
            print(f"coombs: careful: {note}", file=sys.stderr)
        study = create_study(goods, called, storage=storage, wishes=wishes, **settings)
        # Of a study that exists they change for good: it is read anew by whoever serves it.
        study.change_settings(**settings)
        path = f"/a/{study.respondent().record.token}"
        return f"{path}?wishes={ASK}" if may_declare(study) and not study.settings.ends else path
    return "/" if name is None else study_path(load_study(name, storage=storage).name)


def _n_learners(workers: int) -> int:
    """Processes that learn, of each that answers requests: those need a core, too."""
    return max(1, min(MOST_LEARNERS, (os.cpu_count() or 1) - 1) // workers)


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
