"""`coombs backup`, `coombs check` and `coombs upgrade`: what whoever keeps a database needs."""

from __future__ import annotations

import click

from coombs.cli.options import argument, command, json_option

DAMAGED = 1
"""The exit code where something is damaged."""
_DATABASE = argument("database", "path of a SQLite file, or a URL as for --storage")


def _url(database: str) -> str:
    """A path is that of a SQLite file."""
    return database if "://" in database or database == "memory:" else f"sqlite:///{database}"


@command("backup", "copy a database, also while it is used", "coombs backup coombs.db copy.db")
@_DATABASE
@argument("copy", "path of the copy, which must not be there yet")
def backup(database: str, copy: str) -> None:
    """Copy a SQLite database into one new file, as it is at one moment, while others may write into it.
    PostgreSQL databases are copied with pg_dump.
    """
    from coombs.storage import backup_storage

    path = backup_storage(_url(database), copy)
    print(f"{copy}: {path.stat().st_size / 1e6:.1f} MB, checked")


@command(
    "check",
    "see whether a database is damaged",
    "coombs check coombs.db",
    "The exit code is 0 where all is as it was stored, 1 where something is damaged, 2 where it cannot be "
    "looked at.",
)
@_DATABASE
@json_option
@click.pass_context
def check(context: click.Context, database: str, as_json: bool) -> None:
    """Look at the file, the schema and every row of a database, and say what is damaged. Nothing is
    changed.
    """
    from coombs.cli import output
    from coombs.study.stored_check import check_storage

    found = check_storage(_url(database))
    if as_json:
        output.as_json(found.to_dict())
    else:
        print(found)
    if not found.is_sound:
        context.exit(DAMAGED)


@command("upgrade", "bring a database to the newest version", "coombs upgrade coombs.db")
@_DATABASE
def upgrade(database: str) -> None:
    """Bring a database of a former coombs up to date, which every command that opens it does as well. Of a
    SQLite file a copy is made before; copy a PostgreSQL database with pg_dump.
    """
    from coombs.storage import upgrade_storage

    done = upgrade_storage(_url(database))
    if done.before == done.after:
        print(f"{database} is of version {done.after} already")
        return
    copied = f"; as it was: {done.copy}" if done.copy else ""
    print(f"{database}: from version {done.before} to {done.after}{copied}")
