"""`coombs serve`: the page in a browser."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from coombs.cli.options import (
    ASKING,
    argument,
    asking_settings,
    command,
    positive,
    storage_option,
    study_options,
)

NEEDS = 'The page needs the extra web; install it with: pip install "coombs[web]"'
SEEN = (
    "everybody on this machine sees a token on the command line; put it into the environment variable "
    "COOMBS_TOKEN, or into a file: --token-file."
)
HOST = "127.0.0.1"
"""The address that only this machine can open."""
PORT = 8000


def _port(text: str | int) -> int:
    if not str(text).isdecimal() or int(text) >= 2**16:
        raise click.BadParameter(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


@command("serve", "answer and see the result in a browser", "coombs serve shop/items.csv --no-browser")
@argument("items", "CSV, Excel, JSON or Parquet file; without it, the page asks for one", required=False)
@study_options
@click.option("--questions", metavar="N", type=positive, help="everybody is done after N answers at most")
@click.option("--name", metavar="STUDY", help="name of the study (default: the file's)")
@storage_option
@click.option("--host", metavar="ADDRESS", default=HOST, help=f"address to listen at (default: {HOST})")
@click.option(
    "--port", metavar="N", type=_port, default=PORT, help=f"port to listen at (default: {PORT}; 0 is any)"
)
@click.option(
    "--token",
    metavar="SECRET",
    help="token of the owner's pages, 16 characters or more (default: made where others can reach the page); "
    "others on this machine can see it here, not in COOMBS_TOKEN or in a file",
)
@click.option("--token-file", metavar="FILE", help="file that holds the token")
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="name by which the page may be called, such as that of a proxy; may be repeated",
)
@click.option(
    "--proxy",
    "proxies",
    metavar="ADDRESS",
    multiple=True,
    help="address or network of a proxy whose X-Forwarded- headers count; may be repeated",
)
@click.option("--root-path", metavar="PATH", default="", help="path below which a proxy shows the page")
@click.option(
    "--metrics-from",
    metavar="ADDRESS",
    multiple=True,
    help="address or network that sees /metrics, beside the owner; may be repeated",
)
@click.option(
    "--webhook-network",
    "webhook_networks",
    metavar="ADDRESS",
    multiple=True,
    help="private address or network that webhooks may be in; may be repeated",
)
@click.option(
    "--embed-origin",
    "embed_origins",
    metavar="ORIGIN",
    multiple=True,
    help="other site, as https://shop.example, that may show people's pages in a frame; may be repeated",
)
@click.option(
    "--workers", metavar="N", type=positive, default=1, help="processes that answer requests (default: 1)"
)
@click.option(
    "--log",
    type=click.Choice(["text", "json"]),
    default="text",
    help="form of the log; json is an object on each line (default: text)",
)
@click.option("--access-log", is_flag=True, help="write a line for each request, without tokens and links")
@click.option("--browser/--no-browser", "open_browser", default=True, help="whether to open a browser")
def serve(items: str | None, **settings: Any) -> None:
    """Serve a page on which people answer and watch their taste appear, until Ctrl-C. Only this
    machine can open it unless --host says otherwise.
    """
    if settings["token"]:
        click.echo(f"coombs: careful: {SEEN}", err=True)
    asking = asking_settings({name: settings.pop(name) for name in ASKING})
    open_page(items, asking=asking, **settings)


def open_page(items: str | None, **settings: Any) -> None:
    """The page, if what it needs is installed."""
    try:
        from coombs.web import serve
    except ImportError as error:
        raise ImportError(NEEDS) from error
    # Ctrl-C is how a page ends.
    with suppress(KeyboardInterrupt):
        serve(items, **settings)
