"""The command line: `coombs <command>`; each command is a function here, and one call of the library."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

import coombs
from coombs.cli import (
    ask,
    bench,
    completion,
    demo_command,
    export_import,
    fit,
    items_command,
    maintenance,
    people,
    program_commands,
    rank,
    reproduce,
    respondent_commands,
    serve,
    settings_command,
    simulate_command,
)
from coombs.messages import message
from coombs.terminal_text import terminal_safe

COMMANDS = (
    demo_command.demo,
    fit.fit,
    rank.rank,
    rank.explain,
    people.people,
    people.groups,
    ask.ask,
    serve.serve,
    settings_command.settings,
    items_command.items,
    export_import.export_study,
    export_import.import_study,
    respondent_commands.monitor,
    respondent_commands.respondent,
    respondent_commands.retention,
    program_commands.token,
    program_commands.webhook,
    maintenance.backup,
    maintenance.check,
    maintenance.upgrade,
    simulate_command.simulate,
    bench.bench,
    reproduce.reproduce,
    completion.completion,
)
"""In the order of the help. Commands import what is heavy when they run, so that help comes at once."""


class OrderedGroup(click.Group):
    """A group that names its commands in their own order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """For click, which would sort them."""
        return list(self.commands)


group = OrderedGroup(
    "coombs",
    commands={str(command.name): command for command in COMMANDS},
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help='Learn preferences from "A or B?" answers: an ideal point and a metric.',
    epilog="`coombs demo` shows all of it at work; `coombs <command> --help` has the options.",
)
click.version_option(coombs.__version__, message="coombs %(version)s")(group)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on bad input."""
    if arguments is None:
        # Python ends in order then, and databases with it: 128 + 15 is what shells make of SIGTERM.
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if instruction := os.environ.get(completion.VARIABLE):
        from click.shell_completion import shell_complete

        return shell_complete(group, {}, "coombs", completion.VARIABLE, instruction)
    try:
        with group.make_context("coombs", list(given), obj=given) as context:
            group.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        sentence, path = error.format_message(), error.ctx.command_path if error.ctx else "coombs"
        return _refuse(f"{sentence}{'' if sentence.endswith(('.', '?', '?)')) else '.'} See {path} --help.")
    except (ImportError, ValueError, RuntimeError) as error:
        # Others of these kinds are mistakes of ours.
        if not isinstance(error, coombs.InputError | ImportError) and not _is_storage_error(error):
            raise
        return _refuse(str(error).splitlines()[0])
    except KeyboardInterrupt:
        print("coombs: stopped; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; what is left of it must not fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _refuse(sentence: str) -> int:
    print(f"coombs: {terminal_safe(message(sentence))}", file=sys.stderr)
    return 2


def _is_storage_error(error: BaseException) -> bool:
    """Whether a storage failed; that of a command which used none was not imported."""
    failures = sys.modules.get("coombs.storage.failures")
    return failures is not None and isinstance(error, failures.StorageError)
