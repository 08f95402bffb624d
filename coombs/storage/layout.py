"""What tables must have, and what those of a database lack: columns, and rules about them."""

from __future__ import annotations

from functools import cache

from coombs.storage.database import Database
from coombs.storage.failures import damaged
from coombs.storage.schema import migrate

TABLES = ("studies", "items", "respondents", "questions", "events", "priors", "temporary")
"""Of the newest version."""


def check_layout(database: Database) -> None:
    """Refuse a database whose tables another program has changed, or whose pages are damaged."""
    found = [*database.page_faults(most=1), *layout_faults(database)]
    if found:
        raise damaged(database.place, found[0])


def layout_faults(database: Database) -> list[str]:
    """What is missing of the tables of the newest version, or was added to them and changes what is kept."""
    faults = []
    for table in TABLES:
        found = database.layout(table)
        lacking = _expected()[table] - found if database.has_rules else _columns(_expected()[table]) - found
        added = {one for one in found if one.startswith("trigger")}
        if not _columns(found):
            faults.append(f"it has no table {table}")
        else:
            faults += [f"its table {table} lacks the {one}" for one in sorted(lacking)]
            faults += [f"its table {table} has a {one}, which coombs did not make" for one in sorted(added)]
    return faults


def _columns(layout: frozenset[str]) -> frozenset[str]:
    return frozenset(one for one in layout if one.startswith("column"))


@cache
def _expected() -> dict[str, frozenset[str]]:
    """The layout of a database that was just made."""
    from coombs.storage.sqlite import MemoryDatabase

    made = MemoryDatabase()
    migrate(made)
    return {table: made.layout(table) for table in TABLES}
