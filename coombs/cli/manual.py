"""docs/cli.md out of the parser: `python -m coombs.cli.manual > docs/cli.md`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from coombs.cli import build_parser
from coombs.cli.completion import subcommands
from coombs.cli.parser import Parser

INTRODUCTION = """# The command line

This page is made from the parser: `python -m coombs.cli.manual > docs/cli.md`. Its examples run in the tests,
after `coombs simulate`, which makes the folder `shop` that the others use.

Tables are for people, `--json` is for programs: one line of JSON on stdout, everything else on stderr.
Whatever takes long shows a bar on a terminal. Colour is for terminals only, and not where `NO_COLOR` is set.
Bad input ends in one sentence on stderr and the exit code 2. `python -m coombs` is the same as `coombs`.
"""


def page() -> str:
    """All commands with their options and an example each."""
    commands = subcommands(build_parser())
    rows = [f"| [`{name}`](#coombs-{name}) | {text} |" for name, (text, _) in commands.items()]
    parts = [INTRODUCTION, "\n".join(["| command | to |", "|---|---|", *rows]) + "\n"]
    parts += ["\n".join(_command(command)) for _, command in commands.values()]
    return "\n".join(parts)


def _command(command: Parser) -> Iterator[str]:
    """A section; argparse's own layout differs from version to version."""
    places = [action for action in command._actions if not action.option_strings]
    options = [action for action in command._actions if action.option_strings and action.dest != "help"]
    usage = " ".join([command.prog, *map(_place, places), "[options]" * bool(options)])
    yield f"## {command.prog}\n\n`{usage.strip()}`\n\n{command.description}\n"
    for action in places:
        yield f"- `{_name(action)}`: {action.help}"
    for action in options:
        value = f" {_name(action)}" if action.nargs != 0 else ""
        yield f"- `{action.option_strings[-1]}{value}`: {action.help}"
    more = (command.epilog or "").partition("Example:")[0].strip()
    yield f"\n{more}\n" if more else ""
    yield f"```\n{command.example}\n```\n"


def _name(action: argparse.Action) -> str:
    return action.metavar if isinstance(action.metavar, str) else action.dest


def _place(action: argparse.Action) -> str:
    optional = {"?": "[{}]", "*": "[{} ...]"}
    return optional.get(str(action.nargs), "{}").format(_name(action))


if __name__ == "__main__":
    print(page(), end="")
