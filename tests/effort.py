"""What most tests can do with less of: draws of fits and of online models, and steps to a new database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def few_draws() -> Iterator[None]:
    """Sample little in this process, and warn of it nowhere: pages, files and words are then soon there."""
    from coombs.estimators import description, ideal_point, taste
    from coombs.inference import belief, infer, left_out
    from coombs.inference.sampler import Effort

    efforts = dict.fromkeys(("WHOLE", "EXTENDED", "QUICK", "REFRESH"), Effort(32, 2, 8, 8))
    # Which one it is tells whether draws are added in the end.
    efforts["SHARED"] = Effort(32, 2, 8, 8)
    with pytest.MonkeyPatch.context() as patch:
        for module in (infer, ideal_point, taste, description, belief):
            for name, effort in efforts.items():
                if hasattr(module, name):
                    patch.setattr(module, name, effort)
        patch.setattr(infer, "LARGEST_RHAT", float("inf"))
        patch.setattr(left_out, "CHAINS", 16)
        patch.setattr(belief, "BUDGET", 0.0)
        yield


NEWEST: list[str] = []
"""The statements that make a new SQLite database, once one was made by the statements of every version."""
_IN_ORDER = """
    SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
    ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END
"""


@contextmanager
def new_databases_at_once() -> Iterator[None]:
    """Make new SQLite databases as they are in the end, not through every version there was."""
    from coombs.storage import schema
    from coombs.storage.sqlite import SqliteDatabase

    by_versions = schema.run_versions

    def at_once(database: Any, before: int, after: int) -> None:
        if before or after != len(schema.VERSIONS) or not isinstance(database, SqliteDatabase):
            by_versions(database, before, after)
        elif NEWEST:
            for statement in NEWEST:
                database.change(statement)
        else:
            by_versions(database, before, after)
            NEWEST.extend(sql for (sql,) in database.rows(_IN_ORDER))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "run_versions", at_once)
        yield
