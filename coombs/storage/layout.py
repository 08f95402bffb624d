"""What a database must have, and what one lacks: columns, rules about them, and rows that others point to."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

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


class Link(NamedTuple):
    """What rows of a table point to."""

    table: str
    target: str
    """As a sentence calls it."""
    where: str
    """The table of the targets."""
    matches: str
    """When a row there is the target."""
    if_any: str = "1 = 1"
    """When a row has a target at all."""


LINKS = (
    Link("items", "study", "studies", "studies.id = items.study_id"),
    Link("priors", "study", "studies", "studies.id = priors.study_id"),
    Link("presentations", "study", "studies", "studies.id = presentations.study_id"),
    Link("study_log", "study", "studies", "studies.id = study_log.study_id"),
    Link("api_tokens", "study", "studies", "studies.id = api_tokens.study_id"),
    Link("webhooks", "study", "studies", "studies.id = webhooks.study_id"),
    Link("deliveries", "webhook", "webhooks", "webhooks.id = deliveries.webhook_id"),
    Link("respondents", "study", "studies", "studies.id = respondents.study_id"),
    Link(
        "respondents",
        "version of the presentation that they agreed to",
        "presentations",
        "presentations.study_id = respondents.study_id"
        " AND presentations.version = respondents.consent_version",
        "respondents.consent_version IS NOT NULL",
    ),
    Link("questions", "respondent", "respondents", "respondents.id = questions.respondent_id"),
    Link("events", "respondent", "respondents", "respondents.id = events.respondent_id"),
    Link(
        "events",
        "question that they answer",
        "questions",
        "questions.respondent_id = events.respondent_id AND questions.id = events.question_id",
        "events.question_id IS NOT NULL",
    ),
    Link(
        "events",
        "answer that they take back",
        "events answers",
        "answers.respondent_id = events.respondent_id AND answers.id = events.undoes"
        " AND answers.undoes IS NULL",
        "events.undoes IS NOT NULL",
    ),
)
"""In the newest version."""


def orphan_faults(database: Database, link: Link) -> list[str]:
    """How many rows lack what they point to."""
    ((number,),) = database.rows(
        f"SELECT COUNT(*) FROM {link.table} WHERE {link.if_any}"
        f" AND NOT EXISTS (SELECT 1 FROM {link.where} WHERE {link.matches})"
    )
    return [f"{number} of the rows of its table {link.table} lack the {link.target}"] if number else []
