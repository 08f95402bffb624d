"""A study: items, the people who answer about them, and where all of it is kept."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from coombs.data import files, notebook
from coombs.data.catalogue import Catalogue
from coombs.data.comparisons import Comparisons
from coombs.data.directions import Directions
from coombs.data.scaling import Scaler
from coombs.data.tables import InputError
from coombs.storage import Item, Storage
from coombs.storage.records import StudyRecord, new_token
from coombs.study.ask_tell import AskTell
from coombs.study.judgements import keep, told_in
from coombs.study.monitoring import MonitoredStudy
from coombs.study.person_rights import PersonRights
from coombs.study.question_plan import QuestionPlan
from coombs.study.respondent import Respondent
from coombs.study.settings import Settings
from coombs.study.shared_prior import StudyPriors
from coombs.study.stored_items import ScaledItems
from coombs.study.study_items import StudyItems
from coombs.study.study_programs import StudyTokens, StudyWebhooks
from coombs.study.study_records import Answer, Question
from coombs.terminal_text import terminal_safe
from coombs.words import count

ME = "me"
"""The respondent of a study that has only one."""

P = ParamSpec("P")
T = TypeVar("T")


def _of_respondent(method: Callable[Concatenate[Respondent, P], T]) -> Callable[Concatenate[Study, P], T]:
    """The method for a study: of whoever the question or answer in its arguments is of, otherwise of "me"."""

    @wraps(method)
    def call(study: Study, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given = (one for one in (*args, *kwargs.values()) if isinstance(one, Question | Answer))
        return method(study.respondent(next((one.respondent for one in given), ME)), *args, **kwargs)

    # The help stands in AskTell, which `wraps` does not look at.
    call.__doc__ = inspect.getdoc(method)
    return call


class Study(StudyItems, PersonRights, MonitoredStudy, AskTell):
    """Questions, answers and results about one table of items, kept in a storage.

    `create_study` and `load_study` make it. `ask`, `tell`, `undo`, `change`, `history`, `progress`, `done`
    and `result` are those of the respondent "me"; `respondent(name)` has the same for anybody else.

    Parameters
    ----------
    storage : the Storage
    record : what the storage has of the study
    items : the Catalogue of items
    settings : the Settings
    stored : the items as the storage has them; read when they are needed, if they are not given

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import create_study
    >>> flats = np.random.default_rng(0).normal(size=(30, 2))
    >>> study = create_study(flats, storage="memory:")
    >>> while not study.done(questions=20):
    ...     question = study.ask()
    ...     left, right = flats[list(question.positions)]
    ...     _ = study.tell(question, "left" if abs(left).sum() < abs(right).sum() else "right")
    >>> bool(abs(flats[study.result().ranking[0]]).sum() < 1)
    True
    """

    def __init__(
        self,
        storage: Storage,
        record: StudyRecord,
        items: Catalogue,
        settings: Settings,
        stored: Sequence[Item] | None = None,
    ) -> None:
        self.storage, self.record, self.settings = storage, record, settings
        self._scaled = ScaledItems(items)
        self._stored = None if stored is None else tuple(stored)
        self._respondents: dict[str, Respondent] = {}
        self._planned: tuple[tuple[Settings, Catalogue], QuestionPlan] | None = None
        self._stored_settings: tuple[Mapping[str, Any], Settings] | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What the study is called."""
        return self.record.name

    @property
    def scaled(self) -> ScaledItems:
        """The current items, as they are learned from."""
        return self._scaled

    @property
    def catalogue(self) -> Catalogue:
        """All items that there ever were, by position; `retired` says which are not asked about any more."""
        return self._scaled.catalogue

    @property
    def n_items(self) -> int:
        """How many items are asked about."""
        return len(self.catalogue.current)

    @property
    def n_pairs(self) -> int:
        """How many pairs of these items there are."""
        return self.n_items * (self.n_items - 1) // 2

    @property
    def scaler(self) -> Scaler:
        """What standardises the items; it knows which columns are levels of categories."""
        return self._scaled.scaler

    @property
    def directions(self) -> Directions | None:
        """Features of which more, or less, is never worse, as it was declared."""
        return self._scaled.directions(self.settings.wishes)

    @cached_property
    def priors(self) -> StudyPriors:
        """What is known of somebody before their first answer, by versions."""
        return StudyPriors(self)

    @property
    def plan(self) -> QuestionPlan:
        """The questions that do not depend on answers, by the current settings."""
        now = self.settings, self.catalogue
        known, plan = self._planned or (None, None)
        if plan is None or known is None or known[0] is not now[0] or known[1] is not now[1]:
            plan = QuestionPlan.of(*now, self.stored_items)
            self._planned = now, plan
        return plan

    @property
    def api_tokens(self) -> StudyTokens:
        """Tokens by which programs use this study."""
        return StudyTokens(self.storage.database, self.record.id)

    @property
    def webhooks(self) -> StudyWebhooks:
        """Addresses that are told of answers."""
        return StudyWebhooks(self.storage.database, self.record.id)

    @property
    def stored_goal(self) -> tuple[int, float]:
        """k and certainty as the study was made, whatever holds for this time."""
        stored = self.record.settings
        known, settings = self._stored_settings or (None, None)
        if settings is None or known is not stored:
            # Asked for several times with every question; checking them anew takes as long as a statement.
            settings = Settings.of(stored)
            self._stored_settings = stored, settings
        return settings.goal(self.n_items)

    def respondent(self, name: str = ME) -> Respondent:
        """Return the respondent of that name, new if there is none.

        Parameters
        ----------
        name : of the person

        Returns
        -------
        Respondent

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.respondent("ann").name
        'ann'
        """
        check_name(name, "respondent")
        with self._lock:
            if name not in self._respondents:
                record = self.storage.add_respondent(self.record.id, name, new_token())
                self._respondents[name] = Respondent(self, record)
            return self._respondents[name]

    def links(self) -> dict[str, str]:
        """Return the token of each respondent's link, but for revoked ones: who has it can answer as them.

        Returns
        -------
        dict of name to token

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.respondent("ann")
        >>> list(study.links())
        ['ann']
        """
        people = self.storage.respondents(self.record.id)
        return {record.name: record.token for record, _ in people if not record.is_revoked}

    def respondents(self) -> dict[str, int]:
        """Return the respondents in the order they came, each with the number of their answers.

        Returns
        -------
        dict of name to number

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.respondents()
        {'me': 1}
        """
        return {record.name: count for record, count in self.storage.respondents(self.record.id)}

    ask = _of_respondent(Respondent.ask)
    tell = _of_respondent(Respondent.tell)
    current = _of_respondent(Respondent.current)
    undo = _of_respondent(Respondent.undo)
    change = _of_respondent(Respondent.change)
    history = _of_respondent(Respondent.history)
    progress = _of_respondent(Respondent.progress)
    done = _of_respondent(Respondent.done)
    result = _of_respondent(Respondent.result)
    prior = _of_respondent(Respondent.prior)

    def add(self, answers: Comparisons) -> int:
        told = told_in(answers, self.catalogue.table, ME)
        for one in told:
            check_name(one.user, "respondent")
        keep(self, told)
        return len(told)

    def comparisons(self) -> Comparisons:
        people = [self.respondent(name) for name, count in self.respondents().items() if count]
        parts = [one.comparisons() for one in people if any(a.is_learned_from for a in one.history())]
        if not parts:
            raise InputError(
                f"Nobody has answered in the study {self.name!r}; at least one answer is needed."
            )
        return Comparisons.concatenate(parts)

    def export(self, path: str | PathLike[str]) -> None:
        """Write a file: .csv or .parquet for the standing answers, .jsonl for all there is; or tidy tables.

        `import_answers` and `import_study` read them. A .zip, or a folder (a path that ends in a slash, or of
        one that is there), gets answers, people and items as CSV and Parquet, with a codebook.

        Parameters
        ----------
        path : of the file or folder; its ending says which

        Returns
        -------
        None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> import pathlib, tempfile
        >>> _ = study.tell((1, 0))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
        >>> study.export(path)
        >>> len(path.read_text().splitlines())
        2
        """
        from coombs.study import answer_files, study_jsonl, tidy_export

        text = files.path_text(path)
        is_folder = text.endswith(("/", os.sep)) or (Path(text).is_dir() and not Path(text).suffix)
        if is_folder or text.lower().endswith(".zip"):
            tidy_export.export_tables(self, path)
        elif text.lower().endswith(".jsonl"):
            study_jsonl.export_study(self, path)
        else:
            answer_files.export_answers(self, path)

    def import_answers(self, path: str | PathLike[str]) -> int:
        """Add the answers in a CSV, Excel, JSON or Parquet file, all of them or none.

        Parameters
        ----------
        path : of the file; its columns are those of `Comparisons.read_csv`

        Returns
        -------
        int, the number of answers that did not stand already

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
        >>> _ = path.write_text("winner,loser\\n0,1\\n")
        >>> study.import_answers(path)
        1
        """
        from coombs.study import answer_files

        return answer_files.import_answers(self, path)

    def __repr__(self) -> str:
        # Nothing is read for it: a study that was deleted since has a line too.
        items, d = count(self.n_items, "item"), len(self.catalogue.features)
        items += f" with {count(d, 'feature')}" if d else ""
        return f"Study({terminal_safe(self.name)!r}, {items})"

    def _repr_html_(self) -> str:
        """The respondents and how many answers each gave, as a table for notebooks."""
        people = self.respondents()
        rows = [[name, str(n_answers)] for name, n_answers in people.items()]
        return notebook.table(repr(self), ["respondent", "answers"], rows, len(rows), "respondent")


def check_name(name: Any, what: str) -> None:
    """Refuse a name that is no text, or blank."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"The {what}'s name is {name!r}; it must be text that is not blank.")
