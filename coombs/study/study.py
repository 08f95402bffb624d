"""A study: items, the people who answer about them, and where all of it is kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import Catalogue, catalogue
from coombs.data.comparisons import Comparisons
from coombs.data.scaling import LARGEST, Scaler
from coombs.data.tables import FloatArray, InputError, ItemTable, Names, TableLike, has_number_names
from coombs.inference.kinds import METRICS
from coombs.questions import STRATEGIES
from coombs.storage import Storage, StudyExistsError, open_storage
from coombs.storage.records import Item, StudyRecord, StudySummary, new_token
from coombs.study.ask_tell import Answer, Question, StudyProgress
from coombs.study.respondent import Respondent
from coombs.study.result import Result

DEFAULT_STORAGE = "sqlite:///coombs.db"
SUREST = 0.99
"""The largest certainty that 240 draws can tell from being sure."""
AVERAGES = ("auto", "smooth")
"""Kinds that are not a metric: questions are chosen by an average."""
ME = "me"
"""The respondent of a study that has only one."""


@dataclass(frozen=True)
class Settings:
    """How a study asks, and when it is done.

    Parameters
    ----------
    strategy : "information" (learn the preferences), "best" (find the favourites) or "random"
    probes : the share of questions that are random pairs, kept as an unbiased test
    metric : as for `IdealPoint`; with "smooth", questions are chosen as for "auto"
    top, certainty : done when the best `top` items are right with this probability
    seed : of all chance
    """

    strategy: str = "information"
    probes: float = 0.1
    metric: str = "auto"
    top: int = 5
    certainty: float = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, str) or self.strategy not in STRATEGIES:
            raise InputError(f"strategy is {self.strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
        if not isinstance(self.metric, str) or self.metric not in (*METRICS, *AVERAGES):
            raise InputError(
                f"metric is {self.metric!r}; it must be one of {', '.join((*AVERAGES, *METRICS))}."
            )
        if not _is_number(self.probes) or not 0 <= self.probes <= 1:
            raise InputError(f"probes is {self.probes!r}; it must be a share from 0 to 1.")
        if not _is_whole(self.seed) or self.seed < 0:
            raise InputError(f"seed is {self.seed!r}; it must be a whole number, not negative.")
        self.goal(2)
        # Numbers of numpy are not plain for JSON.
        for name, kind in (("probes", float), ("top", int), ("certainty", float), ("seed", int)):
            object.__setattr__(self, name, kind(getattr(self, name)))

    @property
    def asked_by(self) -> str:
        """The kind of preference that questions are chosen by."""
        return "auto" if self.metric in AVERAGES else self.metric

    def goal(self, n_items: int, k: Any = None, certainty: Any = None) -> tuple[int, float]:
        """k and certainty as given or by default; of few items, half of them at most."""
        k, certainty = self.top if k is None else k, self.certainty if certainty is None else certainty
        if not _is_whole(k) or k < 1:
            raise InputError(f"The number of best items is {k!r}; it must be a whole number from 1.")
        if not _is_number(certainty) or not 0 < certainty <= SUREST:
            raise InputError(f"The certainty is {certainty!r}; it must be above 0 and at most {SUREST}.")
        return min(int(k), max(1, n_items // 2)), float(certainty)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """From what a storage has, which may be from a later version."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


class Study:
    """Questions, answers and results about one table of items, kept in a storage.

    `create_study` and `load_study` make it. `ask`, `tell`, `undo`, `history`, `progress`, `done` and
    `result` are those of the respondent "me"; `respondent(name)` has the same for anybody else.

    Examples
    --------
    >>> import numpy as np
    >>> flats = np.random.default_rng(0).normal(size=(30, 2))
    >>> study = create_study(flats, storage="memory:")
    >>> while not study.done(questions=20):
    ...     question = study.ask()
    ...     left, right = flats[list(question.positions)]
    ...     _ = study.tell(question, "left" if abs(left).sum() < abs(right).sum() else "right")
    >>> bool(abs(flats[study.result().ranking[0]]).sum() < 1)
    True
    """

    def __init__(self, storage: Storage, record: StudyRecord, items: Catalogue, settings: Settings) -> None:
        self.storage, self.record = storage, record
        self.catalogue, self.settings = items, settings
        self._respondents: dict[str, Respondent] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What the study is called."""
        return self.record.name

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.catalogue.table.matrix)

    @property
    def n_pairs(self) -> int:
        """How many pairs of items there are."""
        return self.n_items * (self.n_items - 1) // 2

    @cached_property
    def scaled_items(self) -> FloatArray:
        """The items standardised, without features that do not vary."""
        items = self.catalogue.table.matrix
        return Scaler.of(items, standardize=True).forward(items)

    @cached_property
    def stored_goal(self) -> tuple[int, float]:
        """k and certainty as the study was made, whatever holds for this time."""
        return Settings.of(self.record.settings).goal(self.n_items)

    def respondent(self, name: str = ME) -> Respondent:
        """The respondent of that name, new if there is none."""
        _name(name, "respondent")
        with self._lock:
            if name not in self._respondents:
                record = self.storage.add_respondent(self.record.id, name, new_token())
                self._respondents[name] = Respondent(self, record)
            return self._respondents[name]

    def links(self) -> dict[str, str]:
        """The token of each respondent's link: whoever has it can answer as them."""
        return {record.name: record.token for record, _ in self.storage.respondents(self.record.id)}

    def respondents(self) -> dict[str, int]:
        """The respondents' names in the order they came, each with the number of their answers."""
        return {record.name: count for record, count in self.storage.respondents(self.record.id)}

    def ask(self) -> Question | None:
        """A new question; see `Respondent.ask`."""
        return self.respondent().ask()

    def tell(
        self, question: Question | int | Sequence[Any], choice: str | None = None, *, weight: float = 1.0
    ) -> Answer:
        """Keep an answer; see `Respondent.tell`."""
        name = question.respondent if isinstance(question, Question) else ME
        return self.respondent(name).tell(question, choice, weight=weight)

    def current(self) -> Question | None:
        """The question that waits for an answer, or a new one; see `Respondent.current`."""
        return self.respondent().current()

    def undo(self, answer: Answer | int | None = None) -> Answer | None:
        """Take back an answer, by default the last; see `Respondent.undo`."""
        name = answer.respondent if isinstance(answer, Answer) else ME
        return self.respondent(name).undo(answer)

    def history(self) -> tuple[Answer, ...]:
        """All standing answers; see `Respondent.history`."""
        return self.respondent().history()

    def progress(self, k: int | None = None, certainty: float | None = None) -> StudyProgress:
        """How sure the best k items are; see `Respondent.progress`."""
        return self.respondent().progress(k, certainty)

    def done(
        self, k: int | None = None, certainty: float | None = None, *, questions: int | None = None
    ) -> bool:
        """Whether that is enough; see `Respondent.done`."""
        return self.respondent().done(k, certainty, questions=questions)

    def result(self) -> Result:
        """What the answers say; see `Respondent.result`."""
        return self.respondent().result()

    def comparisons(self) -> Comparisons:
        """The standing answers of all respondents, with their names as users."""
        people = [self.respondent(name) for name, count in self.respondents().items() if count]
        parts = [one.comparisons() for one in people if any(a.choice != "skip" for a in one.history())]
        if not parts:
            raise InputError(
                f"Nobody has answered in the study {self.name!r}; at least one answer is needed."
            )
        return Comparisons.concatenate(parts)

    def export(self, path: str | PathLike[str]) -> None:
        """Write a file: .csv or .parquet for the standing answers, .jsonl for all there is.

        See `coombs.study.answer_files` and `study_jsonl`; `import_answers` and `import_study` read them.
        """
        from coombs.study import answer_files, study_jsonl

        whole = str(path).lower().endswith(".jsonl")
        (study_jsonl.export_study if whole else answer_files.export_answers)(self, path)

    def import_answers(self, path: str | PathLike[str]) -> int:
        """Add the answers in a CSV or Parquet file; see `coombs.study.answer_files.import_answers`."""
        from coombs.study import answer_files

        return answer_files.import_answers(self, path)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.n_items} items)"


def create_study(
    items: TableLike | str | PathLike[str],
    name: str = "study",
    *,
    storage: str | Storage = DEFAULT_STORAGE,
    load_if_exists: bool = True,
    features: Sequence[str] | None = None,
    strategy: str | None = None,
    probes: float | None = None,
    metric: str | None = None,
    top: int | None = None,
    certainty: float | None = None,
    seed: int | None = None,
) -> Study:
    """A new study, or the one of that name if it is about the same items.

    Parameters
    ----------
    items : array, frame, or path of a CSV or Parquet file; text columns are shown, not learned from
    name : of the study
    storage : "sqlite:///file.db" (default: coombs.db here), "postgresql://...", or "memory:"
    load_if_exists : False refuses a name that is taken
    features : columns to learn from (default: all columns of numbers)
    strategy, probes, metric, top, certainty, seed : see `Settings`, which has the defaults. Of a study that
        exists they hold for this time, and what is not given is as it was made
    """
    options = {
        "strategy": strategy,
        "probes": probes,
        "metric": metric,
        "top": top,
        "certainty": certainty,
        "seed": seed,
    }
    given: dict[str, Any] = {option: value for option, value in options.items() if value is not None}
    goods, chosen = catalogue(items, features), Settings(**given)
    _name(name, "study")
    place = open_storage(storage)
    try:
        record = store_study(place, name, goods, asdict(chosen))
    except StudyExistsError:
        if not load_if_exists:
            raise
        old = _same(load_study(name, storage=place), goods)
        old.settings = replace(old.settings, **given)
        return old
    return Study(place, record, goods, chosen)


def store_study(
    place: Storage, name: str, goods: Catalogue, settings: Mapping[str, Any], at: datetime | None = None
) -> StudyRecord:
    """Put a new study into a storage, whichever way it comes in, once its items can be compared."""
    _check_comparable(goods)
    rows = zip(goods.names, goods.table.matrix.tolist(), goods.details, strict=True)
    items = [Item(called, tuple(row), details) for called, row, details in rows]
    return place.create_study(name, goods.features, items, {**settings, **_how_called(goods.table)}, at=at)


def load_study(name: str = "study", *, storage: str | Storage = DEFAULT_STORAGE) -> Study:
    """The study of that name, as it was left."""
    place = open_storage(storage)
    record = place.study(name)
    goods = stored_catalogue(record.feature_names, place.items(record.id), record.settings)
    return Study(place, record, goods, Settings.of(record.settings))


def stored_catalogue(
    features: Sequence[str], items: Sequence[Item], settings: Mapping[str, Any]
) -> Catalogue:
    """Items as a storage has them; the settings say how the table was named."""
    texts = [item.name for item in items] if settings.get("named", True) else None
    names = None if texts is None else _read_names(texts, settings.get("name_kinds", "text"))
    columns = np.array(features, dtype=object)
    matrix = np.array([item.features for item in items], dtype=float)
    matrix.flags.writeable = False
    table = ItemTable(
        matrix,
        names,
        columns if settings.get("features_named", True) else None,
        has_number_names(names),
    )
    return Catalogue(table, tuple(item.details for item in items))


def _read_names(texts: Sequence[str], kinds: Any) -> Names:
    """Names out of their texts, with the types that they came in."""
    each = [kinds] * len(texts) if isinstance(kinds, str) else kinds
    names = np.empty(len(texts), dtype=object)
    if not isinstance(each, list) or len(each) != len(texts) or not all(isinstance(k, str) for k in each):
        raise InputError("The setting name_kinds must be the kind of all names, or a list of one for each.")
    for i, (kind, text) in enumerate(zip(each, texts, strict=True)):
        try:
            names[i] = naming.read(kind, text)
        except ValueError as error:
            raise InputError(f"The name of item {text!r} must be {error}.") from error
    return names


def list_studies(storage: str | Storage = DEFAULT_STORAGE) -> list[StudySummary]:
    """All studies of a storage."""
    return open_storage(storage).studies()


def delete_study(name: str, *, storage: str | Storage = DEFAULT_STORAGE) -> None:
    """Remove a study with all its answers: they cannot be had back."""
    open_storage(storage).delete_study(name)


def _check_comparable(goods: Catalogue) -> None:
    """Refuse items unless there are two that differ."""
    matrix = goods.table.matrix
    if len(matrix) < 2:
        raise InputError(f"There are fewer than two items ({len(matrix)}); a comparison needs two.")
    if not matrix.shape[1]:
        raise InputError("The items have no feature columns; at least one column of numbers is needed.")
    largest = np.abs(matrix).max(axis=0)
    if largest.max() > LARGEST:
        feature = goods.features[int(largest.argmax())]
        raise InputError(f"Feature {feature!r} reaches {largest.max():.0e}; give it in larger units.")
    if not Scaler.of(matrix, standardize=True).varies.any():
        raise InputError(
            f"All {len(matrix)} items have the same features ({', '.join(goods.features)}); there is nothing "
            "to learn about unless some feature differs."
        )


def _how_called(table: ItemTable) -> dict[str, Any]:
    """How the table was named, by which `stored_catalogue` makes it again."""
    kinds = {} if table.names is None else {"name_kinds": naming.kinds(table.names.tolist())}
    return {"named": table.names is not None, "features_named": table.features is not None, **kinds}


def _same(study: Study, goods: Catalogue) -> Study:
    """The study, once it is about these items."""
    old = study.catalogue
    if old.names != goods.names or not np.array_equal(old.table.matrix, goods.table.matrix):
        raise InputError(
            f"The study {study.name!r} is about other items; choose another name, or delete it first."
        )
    return study


def _name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"The {what}'s name is {name!r}; it must be text that is not blank.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
