"""Rows that point to rows which are not there: a database that kept its rules has none."""

from __future__ import annotations

from typing import NamedTuple

from coombs.storage.database import Database


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
