"""`coombs serve`: the page in a browser."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from coombs.cli.parser import Commands, add_command, add_storage

NEEDS = 'The page needs the extra web; install it with: pip install "coombs[web]"'


def add(commands: Commands) -> None:
    """The command and its options."""
    serve = add_command(
        commands,
        "serve",
        run,
        "coombs serve shop/items.csv --no-browser",
        help="answer and see the result in a browser",
        description="Serve a page on which people answer and watch their taste appear, until Ctrl-C. "
        "Only this machine can open it unless --host says otherwise.",
    )
    serve.add_argument("items", nargs="?", help="CSV or Parquet file; without it, the page asks for one")
    serve.add_argument("--name", metavar="STUDY", help="of the study (default: the file's)")
    add_storage(serve)
    serve.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="to listen at (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--port", metavar="N", type=_port, default=8000, help="to listen at (default: 8000; 0 is any)"
    )
    serve.add_argument("--token", metavar="SECRET", help="of the owner's pages; a must at any other address")
    serve.add_argument("--no-browser", action="store_true", help="do not open a browser")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


def run(options: argparse.Namespace) -> None:
    """Serve until it is stopped."""
    open_page(
        options.items,
        storage=options.storage,
        name=options.name,
        host=options.host,
        port=options.port,
        token=options.token,
        open_browser=not options.no_browser,
    )


def open_page(items: str | None, **settings: Any) -> None:
    """The page, if what it needs is installed."""
    try:
        from coombs.web import serve
    except ImportError as error:
        raise ImportError(NEEDS) from error
    # Ctrl-C is how a page ends.
    with suppress(KeyboardInterrupt):
        serve(items, **settings)
