"""A whole study as lines of JSON, to take elsewhere: written, and replayed to the same state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any

from coombs.data import files, naming, tables
from coombs.data.tables import InputError
from coombs.inference.people.people_prior import people_prior_of
from coombs.progress import ProgressBar
from coombs.storage import Storage, StudyExistsError, open_storage
from coombs.storage.judgement import judgement_of
from coombs.storage.records import (
    Item,
    JudgementRecord,
    SetQuestionRecord,
    SkipRecord,
    StudyRecord,
    UndoRecord,
    new_token,
    revoked_token,
)
from coombs.storage.stored_values import RowReading
from coombs.storage.timestamps import time_text
from coombs.study.history import History
from coombs.study.jsonl_lines import (
    FIELDS,
    FORMAT,
    IGNORABLE,
    LOWEST_VERSION,
    NEEDED_VERSIONS,
    OPTIONAL,
    VERSION,
    Entry,
    Name,
    parsed_line,
)
from coombs.study.presentation import Presentation
from coombs.study.settings import Settings
from coombs.study.stored_items import check_comparable, stored_catalogue, typed_names
from coombs.study.stored_studies import DEFAULT_STORAGE, load_study
from coombs.study.study import Study
from coombs.study.study_presentations import presentation_of


def export_study(study: Study, path: files.PathType) -> None:
    """Write all of a study as lines of JSON: its items, and whatever was asked, answered and undone.

    The tokens of the respondents' links are secrets and left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs import create_study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> _ = study.tell((1, 0))
    >>> export_study(study, path)
    >>> [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    ['study', 'item', 'item', 'respondent', 'answer']
    """
    header, *entries = _entries(study)
    header["version"] = max(map(_needed_version, entries), default=LOWEST_VERSION)
    with files.replacing(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(entry, allow_nan=False)}\n" for entry in (header, *entries))


def import_study(
    path: files.PathType, *, storage: str | Storage = DEFAULT_STORAGE, name: str | None = None
) -> Study:
    """Make the study that `export_study` wrote, in any storage, all of it or nothing.

    Everything is as it was, but for the tokens of the respondents' links, which are new.

    Parameters
    ----------
    path : of a file of events
    storage : as for `create_study`
    name : of the new study (default: the old one's)

    Returns
    -------
    Study

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs import create_study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> create_study([[0.0], [1.0]], "tea", storage="memory:").export(path)
    >>> import_study(path, storage="memory:").name
    'tea'
    """
    called = files.path_text(path)
    lines = [(number, line) for number, line in files.numbered_lines(path) if line.strip()]
    place = open_storage(storage)
    with ProgressBar(len(lines), "events") as bar, place.batch():
        replay = Replay(place, name)
        for number, line in lines:
            with _placed(f"Line {number} of {called}"):
                replay.add(line)
            bar.advance()
        with _placed(called):
            return load_study(replay.study.name, storage=place)


def holds_study(path: files.PathType) -> bool:
    """Whether lines of JSON are a whole study, not a table of answers: by the first of them."""
    first = next((line for _, line in files.numbered_lines(path) if line.strip()), "")
    try:
        entry = json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not isinstance(entry, dict) or "kind" in entry


def _entries(study: Study) -> Iterator[Entry]:
    """The lines of a study, in an order in which a storage can be told them."""
    study.follow_items()
    record, storage = study.record, study.storage
    yield {"kind": "study", "format": FORMAT, "version": VERSION, **_entry("study", record)}
    items = storage.items(record.id)
    names = typed_names(items, record.settings)
    for called, item in zip(study.catalogue.names if names is None else names, items, strict=True):
        yield _entry("item", item, name=naming.for_json(called))
    for prior in storage.priors(record.id):
        text = storage.prior_text(record.id, prior.version)
        with RowReading(f"Version {prior.version} of the prior of the study {study.name!r}"):
            plain = json.loads(text)
        yield _entry("prior", prior, prior=plain)
    for shown in storage.presentations(record.id):
        presentation_of(shown, study.name)
        yield _entry("presentation", shown)
    # Numbers of the file's own, so that it is the same whichever storage it comes from.
    question_numbers, answer_numbers = count(1), count(1)
    for line in storage.log(record.id):
        yield _entry("log", line)
    for number, (respondent, _) in enumerate(storage.respondents(record.id), 1):
        version, revoked = storage.use_prior(respondent.id), respondent.is_revoked or None
        yield _entry("respondent", respondent, id=number, prior_version=version, revoked=revoked)
        questions: dict[int | None, int | None] = {None: None}
        answers: dict[int, int] = {}
        events = storage.events(respondent.id)
        asked = storage.questions(respondent.id)
        # This refuses rows that do not fit together.
        History(is_whole=True).add(asked, events)
        for question in asked:
            questions[question.id] = next(question_numbers)
            kind = "set" if isinstance(question, SetQuestionRecord) else "question"
            yield _entry(kind, question, id=questions[question.id], respondent=number)
        for event in events:
            if isinstance(event, UndoRecord):
                yield _entry("undo", event, answer=answers[event.answer_id])
                continue
            answers[event.id] = next(answer_numbers)
            about = {"id": answers[event.id], "respondent": number, "question": questions[event.question_id]}
            if isinstance(event, JudgementRecord):
                yield _entry("judgement", event, **about, judgement=event.judgement.to_dict())
            else:
                yield _entry("skip" if isinstance(event, SkipRecord) else "answer", event, **about)


def _entry(kind: str, record: object, **instead: Any) -> Entry:
    """A line: the fields of its kind, out of a record or as they are given instead."""
    values = {**vars(record), **instead}
    plain = {name: values[name] for name in FIELDS[kind]}
    plain |= {name: values[name] for name in OPTIONAL.get(kind, ()) if values[name] not in (None, {})}
    times = {name: time_text(value) for name, value in plain.items() if isinstance(value, datetime)}
    return {"kind": kind, **plain, **times}


def _needed_version(entry: Entry) -> int:
    """The lowest version of the format that has such a line."""
    if entry.keys() & (OPTIONAL.get(entry["kind"], {}).keys() - IGNORABLE):
        return VERSION
    return NEEDED_VERSIONS.get(entry["kind"], LOWEST_VERSION)


class Replay:
    """A study out of a file's lines, told to a storage in their order."""

    def __init__(self, storage: Storage, name: str | None) -> None:
        self._storage, self._name = storage, name
        self._header: Entry = {}
        self._items: list[Item] = []
        self._record: StudyRecord | None = None
        self._made: dict[tuple[str, int | str], Any] = {}
        self._answered: set[tuple[int, int]] = set()

    def add(self, line: str) -> None:
        """The next line."""
        kind, fields = parsed_line(line)
        if (kind == "study") == bool(self._header):
            raise InputError("The first line, and no other, must be the study.")
        getattr(self, f"_{kind}")(**fields)

    @property
    def study(self) -> StudyRecord:
        """The study, made once its items are known."""
        if self._record is None:
            if len(self._items) < 2:
                raise InputError("There are fewer than two items; a study begins with a line for each.")
            name, features, settings, created = self._header.values()
            tables.refuse_repeats(features, "feature")
            called = self._name or name
            check_comparable(stored_catalogue(features, self._items, settings))
            self._record = self._storage.create_study(called, features, self._items, settings, at=created)
        return self._record

    def _study(self, **fields: Any) -> None:
        try:
            Settings.of(fields["settings"])
        except TypeError as error:
            raise InputError(f"The settings cannot be read ({error}); they must be a study's.") from error
        self._header = fields

    def _item(self, name: Name, features: list[float], details: dict[str, str], **version: Any) -> None:
        width = len(self._header["feature_names"])
        if self._record is not None:
            raise InputError("This item comes after a respondent; all items must come before.")
        if len(features) != width:
            raise InputError(f"The item has {len(features)} features; the study has {width}.")
        text, replaces = naming.text(name), version.get("replaces")
        if version.get("retired") is None:
            self._keep("item", text, None)
        if replaces is not None and not 0 <= replaces < len(self._items):
            raise InputError(
                f"The item replaces item {replaces}, which is on no line before; it must be there."
            )
        self._items.append(Item(text, tuple(features), details, **version))

    def _prior(self, version: int, prior: Entry, source: str, created: datetime, **counts: int) -> None:
        text = json.dumps(prior, separators=(",", ":"), allow_nan=False)
        features = self._header["feature_names"]
        people_prior_of(text).with_features(features).for_features(None, len(features))
        made = self._storage.add_prior(self.study.id, text, **counts, source=source, at=created)
        self._keep("prior", version, made)
        # Versions may be missing, as what was learned goes when somebody is deleted.
        if made.version > version:
            raise InputError(f"The prior has the version {version}; it must be at least {made.version}.")

    def _log(self, what: str, happened: datetime) -> None:
        self._storage.add_log(self.study.id, what, at=happened)

    def _presentation(self, version: int, content: Entry, created: datetime) -> None:
        made = self._storage.add_presentation(self.study.id, Presentation.of(content).to_dict(), at=created)
        if made.version != version:
            raise InputError(f"The presentation has the version {version}; it must be {made.version}.")
        self._keep("presentation", version, made)

    def _respondent(
        self, id: int, name: str, created: datetime, prior_version: int | None, **known: Any
    ) -> None:
        study, came = self.study, {key: known.get(key) for key in ("source", "external_id", "fields")}
        self._keep("respondent", name, None)
        token = revoked_token() if known.pop("revoked", None) else new_token()
        made = self._storage.add_respondent(study.id, name, token, **came, at=created).id
        self._keep("respondent", id, made)
        if known.get("consent_version") is not None:
            self._find("presentation", known["consent_version"])
        self._storage.restore_respondent(made, {key: known[key] for key in known.keys() - came.keys()})
        version = self._find("prior", prior_version).version if prior_version else prior_version
        self._storage.use_prior(made, version)

    def _question(self, id: int, respondent: int, asked: datetime, **about: Any) -> None:
        who = self._find("respondent", respondent)
        self._keep("question", id, self._storage.add_question(who, **about, again=True, at=asked))

    def _set(self, id: int, respondent: int, asked: datetime, **about: Any) -> None:
        who = self._find("respondent", respondent)
        self._keep("question", id, self._storage.add_set_question(who, **about, again=True, at=asked))

    def _answer(self, id: int, respondent: int, question: int | None, told: datetime, **said: Any) -> None:
        who = self._find("respondent", respondent)
        number = self._asked(who, question, {said["left"], said["right"]})
        self._keep("answer", id, self._storage.add_answer(who, **said, question_id=number, at=told))

    def _judgement(
        self, id: int, respondent: int, judgement: Entry, told: datetime, weight: float, **known: Any
    ) -> None:
        who, about = self._find("respondent", respondent), judgement_of(judgement)
        number = self._asked(who, known.get("question"), set(about.items))
        made = self._storage.add_judgement(who, about, question_id=number, weight=weight, at=told)
        self._keep("answer", id, made)

    def _skip(self, id: int, respondent: int, question: int, told: datetime, **said: Any) -> None:
        who = self._find("respondent", respondent)
        number = self._asked(who, question)
        assert number is not None
        self._keep("answer", id, self._storage.add_skip(who, number, **said, at=told))

    def _asked(self, who: int, question: int | None, items: set[int] | None = None) -> int | None:
        """The id of a question that was put to somebody, about these items, and has no answer."""
        if question is None:
            return None
        asked = self._find("question", question)
        if asked.respondent_id != who or (items is not None and set(asked.positions) != items):
            raise InputError(f"Question {question} was put to another respondent or about other items.")
        if (who, asked.id) in self._answered:
            raise InputError(f"Question {question} has an answer; it must be undone before another.")
        self._answered.add((who, asked.id))
        number: int = asked.id
        return number

    def _undo(self, answer: int, told: datetime) -> None:
        record = self._find("answer", answer)
        self._storage.add_undo(record.respondent_id, record.id, at=told)
        self._made["answer", answer] = None
        self._answered.discard((record.respondent_id, record.question_id))

    def _keep(self, kind: str, key: int | str, made: Any) -> None:
        if (kind, key) in self._made:
            raise InputError(f"The {kind} {key!r} is there already; each must be there once.")
        self._made[kind, key] = made

    def _find(self, kind: str, number: int) -> Any:
        found = self._made.get((kind, number))
        if found is None:
            gone = "was undone" if (kind, number) in self._made else "is on no line before"
            raise InputError(f"It is about {kind} {number}, which {gone}; it must be there.")
        return found


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Say where it is that input cannot be used."""
    try:
        yield
    except StudyExistsError:
        raise
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
