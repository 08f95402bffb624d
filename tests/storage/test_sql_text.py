"""SQL is put together of names that the package knows; whatever comes from outside is a parameter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import coombs.storage

KEYWORDS = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|WITH|PRAGMA|VACUUM|ATTACH)\b")
NAMES = {
    *("table", "column", "columns", "lock", "self.database.for_update"),
    *("link.table", "link.if_any", "link.where", "link.matches"),
    *("most", "'integrity_check' if whole else 'quick_check'"),
}
"""What our own functions put there: names of tables and columns, clauses, a number; never a value."""
CALLS = {"_marks", "rows.of"}
"""Functions that give question marks, or names of columns."""


def built() -> Iterator[tuple[str, int, str]]:
    """Every expression inside of SQL in the package: file, line and expression."""
    folder = Path(coombs.storage.__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text()
        if not KEYWORDS.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.JoinedStr):
                continue
            first = node.values[0]
            if not (isinstance(first, ast.Constant) and KEYWORDS.match(str(first.value))):
                continue
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield path.name, part.lineno, ast.unparse(part.value)


def is_known(expression: str) -> bool:
    """Whether it is a constant, a name of a table or columns, or a call that gives such."""
    constant = re.fullmatch(r"(\w+\.)?_?[A-Z][A-Z_]*", expression)
    return bool(constant) or expression in NAMES or expression.partition("(")[0] in CALLS


def test_sql_is_made_of_our_own_names() -> None:
    """The check that bandit's B608, which is off, would make of every f-string."""
    found = list(built())
    assert len(found) > 10
    assert [one for one in found if not is_known(one[2])] == []
