"""The command line: `coombs <command>`; each command is a module here, and one call of the library."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from coombs import __version__
from coombs.cli import (
    ask,
    bench,
    completion,
    demo,
    exchange,
    explain,
    fit,
    rank,
    reproduce,
    serve,
    simulate,
)
from coombs.cli.parser import Parser, Wide
from coombs.render.text import printable

COMMANDS = (demo, fit, rank, explain, ask, serve, exchange, simulate, bench, reproduce, completion)
"""In the order of the help. Modules import what is heavy when they run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on bad input."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    options = build_parser().parse_args(arguments, argparse.Namespace(command=arguments))
    try:
        return int(options.run(options) or 0)
    except (ImportError, ValueError) as error:
        if not _is_the_users(error):
            raise
        print(f"coombs: {printable(str(error).splitlines()[0])}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("coombs: stopped; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; what is left of it must not fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _is_the_users(error: Exception) -> bool:
    """Whether it says what is wrong with the input, or what to install."""
    from coombs.data.tables import InputError

    return isinstance(error, InputError | ImportError)


def build_parser() -> Parser:
    """All commands and their options."""
    parser = Parser(
        prog="coombs",
        formatter_class=Wide,
        description='Learn preferences from "A or B?" answers: an ideal point and a metric.',
        epilog="`coombs demo` shows all of it at work; `coombs <command> --help` has the options.",
    )
    parser.add_argument("--version", action="version", version=f"coombs {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command", dest="called")
    for module in COMMANDS:
        module.add(commands)
    return parser
