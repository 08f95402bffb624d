"""`coombs token`: tokens by which programs use a study."""

from __future__ import annotations

import click

import coombs
from coombs.cli.export_import import named_study
from coombs.cli.options import argument, command, storage_option


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
