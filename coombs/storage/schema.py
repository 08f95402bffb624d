"""The tables, by versions: a new database runs all of them, an old one those that it has not seen."""

from __future__ import annotations

from coombs.data.tables import InputError
from coombs.storage.database import Database
from coombs.storage.failures import StorageDamagedError, damaged
from coombs.storage.rows import Row

# Foreign keys hold the respondent too, so that an answer can only be to a question, and an undo only of
# an answer, of its own respondent; their unique pairs are the indices that events and questions are read by.
_FIRST = """
CREATE TABLE studies (
    id {id},
    name TEXT NOT NULL UNIQUE,
    feature_names TEXT NOT NULL,
    settings TEXT NOT NULL,
    created {time} NOT NULL
);
CREATE TABLE items (
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 0),
    name TEXT NOT NULL,
    features TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (study_id, position)
);
CREATE TABLE respondents (
    id {id},
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    created {time} NOT NULL,
    UNIQUE (study_id, name)
);
CREATE TABLE questions (
    id {id},
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    left_item INTEGER NOT NULL CHECK (left_item >= 0),
    right_item INTEGER NOT NULL CHECK (right_item >= 0),
    purpose TEXT NOT NULL,
    asked {time} NOT NULL,
    UNIQUE (respondent_id, id),
    CHECK (left_item <> right_item)
);
CREATE INDEX questions_by_pair ON questions (respondent_id, left_item, right_item);
CREATE TABLE events (
    id {id},
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    question_id BIGINT,
    left_item INTEGER CHECK (left_item >= 0),
    right_item INTEGER CHECK (right_item >= 0),
    choice TEXT CHECK (choice IN ('left', 'right', 'tie', 'skip')),
    weight DOUBLE PRECISION CHECK (weight >= 0),
    undoes BIGINT,
    told {time} NOT NULL,
    UNIQUE (respondent_id, id),
    UNIQUE (respondent_id, undoes),
    FOREIGN KEY (respondent_id, question_id) REFERENCES questions (respondent_id, id) ON DELETE CASCADE,
    FOREIGN KEY (respondent_id, undoes) REFERENCES events (respondent_id, id) ON DELETE CASCADE,
    CHECK (left_item <> right_item),
    CHECK (
        (undoes IS NULL AND left_item IS NOT NULL AND right_item IS NOT NULL
            AND choice IS NOT NULL AND weight IS NOT NULL)
        OR (undoes IS NOT NULL AND question_id IS NULL AND left_item IS NULL AND right_item IS NULL
            AND choice IS NULL AND weight IS NULL)
    )
);
CREATE INDEX events_by_pair ON events (respondent_id, left_item, right_item);
CREATE INDEX events_by_question ON events (respondent_id, question_id)
"""

_SECOND = "ALTER TABLE questions ADD COLUMN foretold DOUBLE PRECISION CHECK (foretold >= 0 AND foretold <= 1)"

_THIRD = "ALTER TABLE questions ADD COLUMN progress DOUBLE PRECISION CHECK (progress >= 0 AND progress <= 1)"

_FOURTH = "ALTER TABLE questions RENAME COLUMN foretold TO predicted"

# SQLite cannot change the constraints of a table, so the events move to a new one. It refers to itself by
# its first name, which the last statement changes everywhere, lest dropping the old one cascades into it.
_FIFTH = """
CREATE TABLE new_events (
    id {id},
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    question_id BIGINT,
    left_item INTEGER CHECK (left_item >= 0),
    right_item INTEGER CHECK (right_item >= 0),
    choice TEXT CHECK (choice IN ('left', 'right', 'tie', 'skip')),
    weight DOUBLE PRECISION CHECK (weight >= 0),
    judgement TEXT,
    undoes BIGINT,
    told {time} NOT NULL,
    UNIQUE (respondent_id, id),
    UNIQUE (respondent_id, undoes),
    FOREIGN KEY (respondent_id, question_id) REFERENCES questions (respondent_id, id) ON DELETE CASCADE,
    FOREIGN KEY (respondent_id, undoes) REFERENCES new_events (respondent_id, id) ON DELETE CASCADE,
    CHECK (left_item <> right_item),
    CHECK (
        (undoes IS NULL AND judgement IS NULL AND left_item IS NOT NULL AND right_item IS NOT NULL
            AND choice IS NOT NULL AND weight IS NOT NULL)
        OR (undoes IS NULL AND judgement IS NOT NULL AND question_id IS NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NOT NULL)
        OR (undoes IS NOT NULL AND judgement IS NULL AND question_id IS NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NULL)
    )
);
INSERT INTO new_events
    (id, respondent_id, question_id, left_item, right_item, choice, weight, undoes, told)
    SELECT id, respondent_id, question_id, left_item, right_item, choice, weight, undoes, told
    FROM events ORDER BY id;
{continue_ids};
DROP INDEX events_by_pair;
DROP INDEX events_by_question;
DROP TABLE events;
ALTER TABLE new_events RENAME TO events;
CREATE INDEX events_by_pair ON events (respondent_id, left_item, right_item);
CREATE INDEX events_by_question ON events (respondent_id, question_id)
"""

# The version of the prior by which somebody is asked is NULL until it is fixed, and 0 for none.
_SIXTH = """
CREATE TABLE priors (
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    prior TEXT NOT NULL,
    n_people INTEGER NOT NULL CHECK (n_people >= 0),
    n_answers INTEGER NOT NULL CHECK (n_answers >= 0),
    source TEXT NOT NULL,
    created {time} NOT NULL,
    PRIMARY KEY (study_id, version)
);
ALTER TABLE respondents ADD COLUMN prior_version INTEGER CHECK (prior_version >= 0)
"""

# Where questions and events move to new tables: what both times is the same.
_NEW_EVENTS = """CREATE TABLE new_events (
    id BIGINT NOT NULL CHECK (id >= 1),
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    question_id BIGINT,
    left_item INTEGER CHECK (left_item >= 0),
    right_item INTEGER CHECK (right_item >= 0),
    choice TEXT CHECK (choice IN ('left', 'right', 'tie', 'skip')),
    weight DOUBLE PRECISION CHECK (weight >= 0),
    judgement TEXT,
    undoes BIGINT,
    told {time} NOT NULL,
    PRIMARY KEY (respondent_id, id),
    UNIQUE (respondent_id, undoes),
    FOREIGN KEY (respondent_id, question_id) REFERENCES new_questions (respondent_id, id) ON DELETE CASCADE,
    FOREIGN KEY (respondent_id, undoes) REFERENCES new_events (respondent_id, id) ON DELETE CASCADE,
    CHECK (left_item <> right_item),
    CHECK (
        (undoes IS NULL AND judgement IS NULL AND left_item IS NOT NULL AND right_item IS NOT NULL
            AND choice IS NOT NULL AND weight IS NOT NULL)
"""
_MOVED = """DROP TABLE events;
DROP TABLE questions;
ALTER TABLE new_questions RENAME TO questions;
ALTER TABLE new_events RENAME TO events;
CREATE INDEX questions_by_pair ON questions (respondent_id, left_item, right_item);
CREATE INDEX events_by_pair ON events (respondent_id, left_item, right_item);
CREATE INDEX events_by_question ON events (respondent_id, question_id)"""


# Questions and answers of everybody are numbered by themselves, from 1 on, so that nobody learns from a
# number how much others said. What there is keeps its number. The tables move as in the fifth version: the
# events first, which would go with the questions otherwise.
_SEVENTH = (
    """
CREATE TABLE new_questions (
    id BIGINT NOT NULL CHECK (id >= 1),
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    left_item INTEGER NOT NULL CHECK (left_item >= 0),
    right_item INTEGER NOT NULL CHECK (right_item >= 0),
    purpose TEXT NOT NULL,
    predicted DOUBLE PRECISION CHECK (predicted >= 0 AND predicted <= 1),
    progress DOUBLE PRECISION CHECK (progress >= 0 AND progress <= 1),
    asked {time} NOT NULL,
    PRIMARY KEY (respondent_id, id),
    CHECK (left_item <> right_item)
);
"""
    + _NEW_EVENTS
    + """        OR (undoes IS NULL AND judgement IS NOT NULL AND question_id IS NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NOT NULL)
        OR (undoes IS NOT NULL AND judgement IS NULL AND question_id IS NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NULL)
    )
);
INSERT INTO new_questions
    (id, respondent_id, left_item, right_item, purpose, predicted, progress, asked)
    SELECT id, respondent_id, left_item, right_item, purpose, predicted, progress, asked
    FROM questions ORDER BY id;
INSERT INTO new_events
    (id, respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told)
    SELECT id, respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told
    FROM events ORDER BY id;
"""
    + _MOVED
    + "\n"
)

# What the page keeps for a while, whichever of its processes: sessions of the owner, uploads to look over.
_EIGHTH = """
CREATE TABLE temporary (
    purpose TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    created {time} NOT NULL,
    expires {time} NOT NULL,
    PRIMARY KEY (purpose, name)
)
"""

# What a researcher's study has: texts for its people by versions, a link for anybody, what is known of who
# came, items that come and go, tokens for programs, addresses that are told of answers. An item that changes
# is a new item that replaces it, so that answers stay about what was seen. Questions may be about a set of
# items, and an answer of any shape may be to a question: the tables move as in the seventh version.
_NINTH = (
    """
ALTER TABLE studies ADD COLUMN open_token TEXT;
CREATE UNIQUE INDEX studies_by_open_token ON studies (open_token);
CREATE TABLE presentations (
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    content TEXT NOT NULL,
    created {time} NOT NULL,
    PRIMARY KEY (study_id, version)
);
ALTER TABLE items ADD COLUMN added {time};
ALTER TABLE items ADD COLUMN retired {time};
ALTER TABLE items ADD COLUMN replaces INTEGER CHECK (replaces >= 0);
ALTER TABLE respondents ADD COLUMN source TEXT;
ALTER TABLE respondents ADD COLUMN external_id TEXT;
ALTER TABLE respondents ADD COLUMN fields TEXT;
ALTER TABLE respondents ADD COLUMN language TEXT;
ALTER TABLE respondents ADD COLUMN seed BIGINT CHECK (seed >= 0);
ALTER TABLE respondents ADD COLUMN consent_version INTEGER CHECK (consent_version >= 1);
ALTER TABLE respondents ADD COLUMN consented {time};
ALTER TABLE respondents ADD COLUMN finished {time};
CREATE UNIQUE INDEX respondents_by_external_id ON respondents (study_id, external_id);
CREATE TABLE new_questions (
    id BIGINT NOT NULL CHECK (id >= 1),
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    left_item INTEGER CHECK (left_item >= 0),
    right_item INTEGER CHECK (right_item >= 0),
    items TEXT,
    purpose TEXT NOT NULL,
    predicted DOUBLE PRECISION CHECK (predicted >= 0 AND predicted <= 1),
    progress DOUBLE PRECISION CHECK (progress >= 0 AND progress <= 1),
    asked {time} NOT NULL,
    PRIMARY KEY (respondent_id, id),
    CHECK (left_item <> right_item),
    CHECK (
        (items IS NULL AND left_item IS NOT NULL AND right_item IS NOT NULL)
        OR (items IS NOT NULL AND left_item IS NULL AND right_item IS NULL)
    )
);
"""
    + _NEW_EVENTS
    + """        OR (undoes IS NULL AND judgement IS NULL AND question_id IS NOT NULL AND left_item IS NULL
            AND right_item IS NULL AND choice = 'skip' AND choice IS NOT NULL AND weight IS NOT NULL)
        OR (undoes IS NULL AND judgement IS NOT NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NOT NULL)
        OR (undoes IS NOT NULL AND judgement IS NULL AND question_id IS NULL AND left_item IS NULL
            AND right_item IS NULL AND choice IS NULL AND weight IS NULL)
    )
);
INSERT INTO new_questions
    (id, respondent_id, left_item, right_item, purpose, predicted, progress, asked)
    SELECT id, respondent_id, left_item, right_item, purpose, predicted, progress, asked
    FROM questions ORDER BY respondent_id, id;
INSERT INTO new_events
    (id, respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told)
    SELECT id, respondent_id, question_id, left_item, right_item, choice, weight, judgement, undoes, told
    FROM events ORDER BY respondent_id, id;
"""
    + _MOVED
    + """;
CREATE TABLE study_log (
    id {id},
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    what TEXT NOT NULL,
    happened {time} NOT NULL
);
CREATE INDEX study_log_by_study ON study_log (study_id, id);
CREATE TABLE api_tokens (
    id {id},
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    rights TEXT NOT NULL CHECK (rights IN ('answer', 'read', 'own')),
    created {time} NOT NULL,
    UNIQUE (study_id, name)
);
CREATE TABLE webhooks (
    id {id},
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    secret TEXT NOT NULL,
    topics TEXT NOT NULL,
    created {time} NOT NULL
);
CREATE INDEX webhooks_by_study ON webhooks (study_id);
CREATE TABLE deliveries (
    id {id},
    webhook_id BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    topic TEXT NOT NULL,
    body TEXT NOT NULL,
    created {time} NOT NULL,
    tries INTEGER NOT NULL CHECK (tries >= 0),
    next_try {time},
    delivered {time},
    problem TEXT
);
CREATE INDEX deliveries_by_next_try ON deliveries (next_try)
"""
)

VERSIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH)
"""Statements apart by semicolons; a version that was released never changes, a new one is added."""


def migrate(database: Database) -> None:
    """Bring a database to the newest version, once, however many processes open it."""
    is_ours = False
    try:
        is_ours = bool(database.rows(database.find_table, "coombs_schema"))
        if version_of(database) != len(VERSIONS):
            with database.batch():
                _upgrade(database)
            database.checkpoint()
    except StorageDamagedError as error:
        if is_ours:
            raise
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise InputError(
            f"{database.place} cannot be used ({reason}); {database.needs}. If it was one, it is damaged: "
            "put a copy made by `coombs backup` in its place."
        ) from error


def _upgrade(database: Database) -> None:
    """Run the versions that are missing, seen from inside of a transaction that no other runs beside."""
    there = version_of(database)
    if there > len(VERSIONS):
        raise InputError(
            f"{database.place} is of version {there}, made by a newer coombs, and this one knows versions "
            f"up to {len(VERSIONS)}; install a newer coombs."
        )
    run_versions(database, there, len(VERSIONS))
    database.change("CREATE TABLE IF NOT EXISTS coombs_schema (version INTEGER NOT NULL)")
    database.change("DELETE FROM coombs_schema")
    database.change("INSERT INTO coombs_schema (version) VALUES (?)", len(VERSIONS))


def run_versions(database: Database, before: int, after: int) -> None:
    """The statements that bring a database from one version to another."""
    for version in VERSIONS[before:after]:
        for statement in in_dialect(version, type(database)).split(";"):
            database.change(statement)


def in_dialect(version: str, kind: type[Database]) -> str:
    """The statements of a version as a kind of database understands them."""
    ids = kind.continue_ids.format(new="new_events", old="events")
    return version.format(id=kind.identity, time=kind.timestamp, continue_ids=ids)


def version_of(database: Database) -> int:
    """The version that the database is of, 0 for a new one."""
    if not database.rows(database.find_table, "coombs_schema"):
        return 0
    found = database.rows("SELECT version FROM coombs_schema")
    if len(found) != 1 or not isinstance(found[0][0], int) or found[0][0] < 1:
        raise damaged(database.place, f"its schema has {_versions(found)} for a version")
    return int(found[0][0])


def _versions(found: list[Row]) -> str:
    return ", ".join(repr(version)[:20] for (version,) in found[:3]) or "nothing"
