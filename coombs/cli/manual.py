"""docs/cli.md out of the commands: `python -m coombs.cli.manual > docs/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from coombs.cli import COMMANDS
from coombs.cli.options import Command

INTRODUCTION = """# The command line

This page is made from the commands' help: `python -m coombs.cli.manual > docs/cli.md`. Its examples run in
the tests, after `coombs simulate`, which makes the folder `shop` that the others use.

Tables are for people, `--json` is for programs: one line of JSON on stdout, everything else on stderr.
Whatever takes long shows a bar on a terminal. Colour is for terminals only, and not where `NO_COLOR` is set.
Bad input ends in one sentence on stderr and the exit code 2. `python -m coombs` is the same as `coombs`.
"""


def page() -> str:
    """All commands with their options and an example each."""
    rows = [f"| [`{one.name}`](#coombs-{one.name}) | {one.short_help} |" for one in COMMANDS]
    parts = [INTRODUCTION, "\n".join(["| command | to |", "|---|---|", *rows]) + "\n"]
    return "\n".join([*parts, *("\n".join(_section(command)) for command in COMMANDS)])


def _section(command: Command) -> Iterator[str]:
    """Everything about a command."""
    context = click.Context(command, info_name=f"coombs {command.name}")
    yield f"## coombs {command.name}\n"
    yield f"`coombs {command.name} {' '.join(command.collect_usage_pieces(context))}`\n"
    yield f"{' '.join((command.help or '').split())}\n"
    for parameter in command.params:
        written, help = parameter.get_help_record(context) or ("", "")
        yield f"- `{written}`: {help}"
    yield f"\n{command.more}\n" if command.more else ""
    yield f"```\n{command.example}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
