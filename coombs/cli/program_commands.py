"""`coombs token` and `coombs webhook`: programs that use a study, addresses that are told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import coombs
from coombs.cli.export_import import named_study
from coombs.cli.options import argument, command, storage_option
from coombs.cli.serve import NEEDS

if TYPE_CHECKING:
    from coombs.storage.webhooks import Delivery

ACTIONS = ("add", "remove", "list", "test")


@command(
    "webhook",
    "send messages about a study to an address of yours",
    "coombs webhook add https://shop.example/told --topic answer",
    "A running coombs serve sends the messages, signed with the secret that add shows once. list has each "
    "address with its number, its topics and what came of the last message; test sends a message of the "
    "topic test at once, and says whether it was taken.",
)
@argument("action", "add, remove, list or test", type=click.Choice(ACTIONS))
@argument("which", "the address to add, or the number of a webhook", type=str, required=False)
@click.option(
    "--topic",
    "topics",
    type=click.Choice(["answer", "undo", "done"]),
    multiple=True,
    help="what it gets messages about; may be repeated (default: all three)",
)
@click.option(
    "--webhook-network",
    "networks",
    metavar="ADDRESS",
    multiple=True,
    help="private address or network that a test may be sent to; may be repeated",
)
@click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")
@storage_option
def webhook(
    action: str,
    which: str | None,
    topics: tuple[str, ...],
    networks: tuple[str, ...],
    name: str | None,
    storage: str,
) -> None:
    """Add, remove, list or test the webhooks of a study."""
    study = named_study(name, storage)
    if action == "list":
        last = {one.webhook_id: one for one in reversed(study.webhooks.deliveries())}
        for hook in study.webhooks.list():
            print(f"{hook.id}: {hook.address} ({', '.join(hook.topics)}); {_came(last.get(hook.id))}")
        return
    if which is None:
        what = "ADDRESS" if action == "add" else "NUMBER"
        raise coombs.InputError(f"Say which webhook: coombs webhook {action} {what}.")
    if action == "add":
        made = study.webhooks.add(which, topics or ("answer", "undo", "done"))
        print(f"Webhook {made.id} is told of {', '.join(made.topics)}. Its secret, shown this once:")
        print(made.secret)
    elif action == "remove":
        study.webhooks.remove(_number(which))
        print(f"Webhook {which} is told nothing any more.")
    else:
        _test(study, _number(which), networks)


def _came(last: Delivery | None) -> str:
    """What came of a message."""
    if last is None:
        return "nothing sent yet"
    arrived = "the last message arrived" if last.delivered else "the last message waits for a server"
    return last.problem or arrived


def _number(text: str) -> int:
    if not text.isdecimal():
        raise coombs.InputError(f"The webhook is {text!r}; give its number, as coombs webhook list has it.")
    return int(text)


def _test(study: coombs.Study, number: int, allowed: tuple[str, ...]) -> None:
    """Send a message at once; InputError where it does not arrive."""
    try:
        from coombs.web.proxies import networks
        from coombs.web.webhook_delivery import send_test
    except ImportError as error:
        raise ImportError(NEEDS) from error
    hook = next((one for one in study.webhooks.list() if one.id == number), None)
    if hook is None:
        raise coombs.InputError(f"There is no webhook {number} of the study {study.name!r}.")
    send_test(hook, study.name, networks(allowed))
    print(f"The message was taken by {hook.address}.")


@command(
    "token",
    "make or revoke a token for a program that uses a study",
    "coombs token add shop --rights answer",
    "With the right answer a program makes people and asks and tells for them, with read it sees results, "
    "answers and exports, with own it may do all in this study. A token is shown once.",
)
@argument("action", "add, revoke or list", type=click.Choice(["add", "revoke", "list"]))
@argument("program", "what the token is for", type=str, required=False)
@click.option(
    "--rights",
    type=click.Choice(["answer", "read", "own"]),
    default="answer",
    help="what it may (default: answer)",
)
@click.option("--name", metavar="STUDY", help="name of the study (default: the only one there is)")
@storage_option
def token(action: str, program: str | None, rights: str, name: str | None, storage: str) -> None:
    """Make, revoke or list the tokens by which programs use the API for one study."""
    tokens = named_study(name, storage).api_tokens
    if action == "list":
        for one in tokens.list():
            print(f"{one.name}: {one.rights}, made {one.created:%Y-%m-%d}")
        return
    if program is None:
        raise coombs.InputError(f"Say which token: coombs token {action} NAME.")
    if action == "add":
        print(tokens.add(program, rights))  # type: ignore[arg-type]
    else:
        tokens.revoke(program)
        print(f"The token {program!r} opens nothing any more.")
