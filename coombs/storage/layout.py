"""What tables must have, and what those of a database lack: columns, and rules about them."""

from __future__ import annotations

from functools import cache

from coombs.storage.database import Database
from coombs.storage.failures import damaged
from coombs.storage.schema import VERSIONS, run_versions


def check_layout(database: Database) -> None:
    """Refuse a database whose tables another program has changed, or whose pages are damaged."""
    found = [*database.page_faults(most=1), *layout_faults(database)]
    if found:
        raise damaged(database.place, found[0])


def layout_faults(database: Database, version: int = len(VERSIONS)) -> list[str]:
    """What is missing of the tables of a version, or was added to them and changes what is kept."""
    later = _expected(len(VERSIONS)).keys() - _expected(version).keys()
    faults = [
        f"it is of version {version}, which has no table {table}, and has one"
        for table in sorted(later)
        if database.layout(table)
    ]
    for table, expected in _expected(version).items():
        found = database.layout(table)
        lacking = (expected if database.has_rules else _columns(expected)) - found
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
def _expected(version: int) -> dict[str, frozenset[str]]:
    """The layout of each table of a database that was just made, by the statements of a version."""
    from coombs.storage.sqlite import MemoryDatabase

    made = MemoryDatabase()
    run_versions(made, 0, version)
    tables = made.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {table: made.layout(table) for (table,) in tables}
