BEGIN TRANSACTION;
CREATE TABLE coombs_schema (version INTEGER NOT NULL);
INSERT INTO "coombs_schema" VALUES(6);
CREATE TABLE "events" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    question_id BIGINT,
    left_item INTEGER CHECK (left_item >= 0),
    right_item INTEGER CHECK (right_item >= 0),
    choice TEXT CHECK (choice IN ('left', 'right', 'tie', 'skip')),
    weight DOUBLE PRECISION CHECK (weight >= 0),
    judgement TEXT,
    undoes BIGINT,
    told TEXT NOT NULL,
    UNIQUE (respondent_id, id),
    UNIQUE (respondent_id, undoes),
    FOREIGN KEY (respondent_id, question_id) REFERENCES questions (respondent_id, id) ON DELETE CASCADE,
    FOREIGN KEY (respondent_id, undoes) REFERENCES "events" (respondent_id, id) ON DELETE CASCADE,
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
INSERT INTO "events" VALUES(1,1,1,0,1,'left',1.0,NULL,NULL,'2026-01-02T12:00:00.123456+00:00');
INSERT INTO "events" VALUES(2,2,2,0,1,'right',1.0,NULL,NULL,'2026-01-02T12:00:00.123456+00:00');
INSERT INTO "events" VALUES(3,1,NULL,NULL,NULL,NULL,1.0,'{"shape": "ranking", "places": [[0], [1, 2]]}',NULL,'2026-01-02T12:00:00.123456+00:00');
INSERT INTO "events" VALUES(4,2,NULL,NULL,NULL,NULL,NULL,NULL,2,'2026-01-02T12:00:00.123456+00:00');
INSERT INTO "events" VALUES(5,1,NULL,1,2,'skip',0.3,NULL,NULL,'2026-01-02T12:00:00.123456+00:00');
CREATE TABLE items (
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 0),
    name TEXT NOT NULL,
    features TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (study_id, position)
);
INSERT INTO "items" VALUES(1,0,'a','[1.0, 2.0]','{"region": "Mosel"}');
INSERT INTO "items" VALUES(1,1,'b','[0.5, 1e-300]','{}');
INSERT INTO "items" VALUES(1,2,'c','[3.0, 4.0]','{}');
CREATE TABLE priors (
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    prior TEXT NOT NULL,
    n_people INTEGER NOT NULL CHECK (n_people >= 0),
    n_answers INTEGER NOT NULL CHECK (n_answers >= 0),
    source TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (study_id, version)
);
INSERT INTO "priors" VALUES(1,1,'{}',12,90,'given','2026-01-02T12:00:00.123456+00:00');
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    respondent_id BIGINT NOT NULL REFERENCES respondents (id) ON DELETE CASCADE,
    left_item INTEGER NOT NULL CHECK (left_item >= 0),
    right_item INTEGER NOT NULL CHECK (right_item >= 0),
    purpose TEXT NOT NULL,
    asked TEXT NOT NULL, predicted DOUBLE PRECISION CHECK (predicted >= 0 AND predicted <= 1), progress DOUBLE PRECISION CHECK (progress >= 0 AND progress <= 1),
    UNIQUE (respondent_id, id),
    CHECK (left_item <> right_item)
);
INSERT INTO "questions" VALUES(1,1,0,1,'start','2026-01-02T12:00:00.123456+00:00',NULL,NULL);
INSERT INTO "questions" VALUES(2,2,0,1,'start','2026-01-02T12:00:00.123456+00:00',0.25,0.5);
INSERT INTO "questions" VALUES(3,1,2,0,'information','2026-01-02T12:00:00.123456+00:00',3.00000000000000044408e-01,NULL);
CREATE TABLE respondents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study_id BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL, prior_version INTEGER CHECK (prior_version >= 0),
    UNIQUE (study_id, name)
);
INSERT INTO "respondents" VALUES(1,1,'Ann','tA','2026-01-02T12:00:00.123456+00:00',1);
INSERT INTO "respondents" VALUES(2,1,'Bob','tB','2026-01-02T12:00:00.123456+00:00',0);
CREATE TABLE studies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    feature_names TEXT NOT NULL,
    settings TEXT NOT NULL,
    created TEXT NOT NULL
);
INSERT INTO "studies" VALUES(1,'wines','["acid", "sugar"]','{"strategy": "information"}','2026-01-02T12:00:00.123456+00:00');
CREATE INDEX questions_by_pair ON questions (respondent_id, left_item, right_item);
CREATE INDEX events_by_pair ON events (respondent_id, left_item, right_item);
CREATE INDEX events_by_question ON events (respondent_id, question_id)
;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('studies',1);
INSERT INTO "sqlite_sequence" VALUES('respondents',2);
INSERT INTO "sqlite_sequence" VALUES('questions',3);
INSERT INTO "sqlite_sequence" VALUES('events',5);
COMMIT;
