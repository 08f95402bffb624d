"""What every column of an exported study means, its type, unit and values: for people, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coombs.study.quality_flags import FLAGS

TEXT = "text"
WHOLE = "whole number"
NUMBER = "number"
YES_NO = "yes or no"
TIME = "time"
PANDAS = {
    TEXT: "string",
    WHOLE: "Int64",
    NUMBER: "float64",
    YES_NO: "boolean",
    TIME: "datetime64[us, UTC]",
}
"""The type in pandas, and so in Parquet, of each type of column."""


@dataclass(frozen=True)
class TidyColumn:
    """A column: its name, its type, what it means, and its unit or its values."""

    name: str
    type: str
    meaning: str
    values: str = ""


@dataclass(frozen=True)
class TidyTable:
    """A table with one row for each thing that it is about."""

    name: str
    row: str
    """What a row is."""
    columns: tuple[TidyColumn, ...]
    rows: Sequence[tuple[Any, ...]]


ISO = "ISO 8601, UTC"
"""The unit of times."""
FLAG_VALUES = f"{', '.join(FLAGS)}; several apart by a comma"
"""The flags that there are."""
ANSWERS = (
    TidyColumn("person", TEXT, "who answered: the name in the table people"),
    TidyColumn(
        "answer", WHOLE, "the number of the answer among all of the person's answers and undos", "from 1"
    ),
    TidyColumn(
        "question", WHOLE, "the number of the question among those of the person; blank: not asked", "from 1"
    ),
    TidyColumn("kind", TEXT, "what was asked for or told", "pair, best-worst, choice, ranking, rating"),
    TidyColumn(
        "purpose",
        TEXT,
        "why the question was asked; blank: it was not asked",
        "a strategy, probe, check, ...",
    ),
    TidyColumn(
        "items",
        TEXT,
        "the items in the order in which they were shown",
        "list in JSON, of names in the table items",
    ),
    TidyColumn(
        "choice", TEXT, "of a pair, which side was chosen; skip also of others", "left, right, tie, skip"
    ),
    TidyColumn("best", TEXT, "the item that was preferred to all others; blank: there is no single one"),
    TidyColumn("worst", TEXT, "the item to which all others were preferred; blank: there is no single one"),
    TidyColumn(
        "places",
        TEXT,
        "of other kinds than a pair, the items by place, the best first",
        "list of lists in JSON",
    ),
    TidyColumn("rating", NUMBER, "of a rating, what was given", "as the scale has it"),
    TidyColumn(
        "predicted",
        NUMBER,
        "of a pair, the probability of left as it was predicted before the answer",
        "0 to 1",
    ),
    TidyColumn("weight", NUMBER, "how much the answer counts", "1 unless it was given otherwise"),
    TidyColumn("asked", TIME, "when the question was shown; blank: it was not asked", ISO),
    TidyColumn("told", TIME, "when the answer was stored", ISO),
    TidyColumn("seconds", NUMBER, "from asked to told", "seconds"),
    TidyColumn("flags", TEXT, "what is noticeable in all answers of the person", FLAG_VALUES),
)
"""The columns of answers that stand; those taken back are in the JSON lines of the study."""
PEOPLE = (
    TidyColumn("person", TEXT, "the name of the person"),
    TidyColumn("source", TEXT, "how they came; blank: by a link of their own", "open link, ..."),
    TidyColumn("external_id", TEXT, "what another service calls them"),
    TidyColumn("status", TEXT, "how far they are", "invited, started, done"),
    TidyColumn("has_link", YES_NO, "whether their link works; not once it was revoked", "true, false"),
    TidyColumn("language", TEXT, "the language that they read", "ISO 639-1 code"),
    TidyColumn("consented", TIME, "when they agreed to take part; blank: not asked, or not yet", ISO),
    TidyColumn(
        "consent_version", WHOLE, "which version of the texts they agreed to (presentations.json)", "from 1"
    ),
    TidyColumn("invited", TIME, "when they or their link came to be", ISO),
    TidyColumn(
        "started",
        TIME,
        "when they were asked, or answered, first; before that, when they agreed or came by the open link",
        ISO,
    ),
    TidyColumn(
        "last_seen", TIME, "when they came by the open link, agreed, were asked or answered last", ISO
    ),
    TidyColumn("finished", TIME, "when they were through with all", ISO),
    TidyColumn("answers", WHOLE, "how many of their answers stand, skips counted", "from 0"),
    TidyColumn(
        "flags", TEXT, "what is noticeable in their answers; a reason to look, no verdict", FLAG_VALUES
    ),
)
"""The columns of people, before those of what they said of themselves."""
ITEMS = (
    TidyColumn("item", TEXT, "what the answers call it: its name, with its version if it was replaced"),
    TidyColumn("position", WHOLE, "its place in the study", "from 0"),
    TidyColumn("name", TEXT, "what people saw it called"),
    TidyColumn("version", WHOLE, "which version of the item it is; a change makes the next", "from 1"),
    TidyColumn("replaces", WHOLE, "the position of the version before it; blank: there is none", "from 0"),
    TidyColumn("since", TIME, "from when on it was asked about", ISO),
    TidyColumn("until", TIME, "when it was retired or replaced; blank: it is asked about", ISO),
)
"""The columns of items, before those of their features and of what else is shown."""
NOTES = (
    "Blank cells are unknown, or do not apply.",
    "In CSV, an apostrophe stands before a text that a spreadsheet could run as a formula (it begins with =, "
    "+, -, @ and the like); Parquet has the texts as they are.",
    "Types are those of pandas in Parquet; of CSV, give them to pandas.read_csv, or take Parquet.",
)
"""What holds for all tables."""


def codebook_rows(tables: Sequence[TidyTable]) -> list[tuple[str, ...]]:
    """A row for each column of each table: table, column, type, pandas, meaning, values."""
    return [
        (table.name, one.name, one.type, PANDAS[one.type], one.meaning, one.values)
        for table in tables
        for one in table.columns
    ]


CODEBOOK_COLUMNS = ("table", "column", "type", "pandas", "meaning", "values")
"""The columns of the codebook itself."""


def codebook_markdown(study: str, tables: Sequence[TidyTable]) -> str:
    """The codebook for people."""
    lines = [f"# Codebook of the study {_cell(study)}", ""]
    for table in tables:
        lines += [f"## {table.name}: {table.row} ({len(table.rows)} rows)", ""]
        lines += ["| column | type | meaning | unit or values |", "|---|---|---|---|"]
        lines += [
            f"| {' | '.join(map(_cell, (one.name, one.type, one.meaning, one.values)))} |"
            for one in table.columns
        ]
        lines.append("")
    return "\n".join([*lines, *(f"- {note}" for note in NOTES), ""])


def _cell(text: str) -> str:
    """Text that stays in its cell."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
