"""What the commands' parsers share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

STORAGE = "sqlite:///coombs.db"


class Parser(argparse.ArgumentParser):
    """One that refuses in one line; `example` is a call that works."""

    example = ""

    def error(self, message: str) -> NoReturn:
        """The line, and how to learn more."""
        self.exit(2, f"coombs: {message}; see {self.prog} --help\n")


class Wide(argparse.HelpFormatter):
    """Help with room for the names of all commands, which argparse measures without their indent."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._action_max_length = 14


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
Run: TypeAlias = Callable[[argparse.Namespace], int | None]


def add_command(
    commands: Commands, name: str, run: Run, example: str, *, more: str = "", **texts: Any
) -> Parser:
    """A command; `texts` are its help (one line) and its description, `more` stands below the options."""
    command = commands.add_parser(name, epilog=f"{more} Example: {example}".strip(), **texts)
    command.example = example
    command.set_defaults(run=run)
    return command


def add_storage(command: Parser) -> None:
    """Where studies are kept."""
    command.add_argument(
        "--storage",
        metavar="URL",
        default=STORAGE,
        help=f"where answers are kept: sqlite:///file.db or postgresql://... (default: {STORAGE})",
    )


def add_features(command: Parser) -> None:
    """What to learn from."""
    command.add_argument(
        "--features",
        metavar="A,B,C",
        help="columns to learn from (default: all numbers, but for those that only number the items)",
    )


def feature_list(features: str | None) -> list[str] | None:
    """The columns that `--features` names."""
    return None if features is None else [name.strip() for name in features.split(",")]


def add_json(command: Parser, what: str = "print the result as JSON") -> None:
    """For programs."""
    command.add_argument("--json", action="store_true", help=what)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def whole(text: str) -> int:
    """A whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
