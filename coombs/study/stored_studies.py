"""Studies made, found, listed and deleted in a storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from datetime import datetime
from os import PathLike
from typing import Any

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import Catalogue, catalogue
from coombs.data.column_roles import Roles
from coombs.data.messy_tables import messy_catalogue
from coombs.data.tables import InputError, ItemTable, TableLike
from coombs.data.wishes import wish_texts, wishes_of
from coombs.inference.people.people_prior import PeoplePrior
from coombs.storage import Storage, StudyExistsError, UnknownStudyError, open_storage
from coombs.storage.failures import damaged
from coombs.storage.records import Item, StudyRecord, StudySummary
from coombs.study.item_versions import first_items
from coombs.study.presentation import Presentation
from coombs.study.question_plan import QuestionPlan
from coombs.study.settings import Settings
from coombs.study.shared_prior import given_prior, warn_of_coins
from coombs.study.stored_items import check_comparable, stored_catalogue
from coombs.study.study import Study, check_name
from coombs.study.study_presentations import check_presentation
from coombs.words import count

DEFAULT_STORAGE = "sqlite:///coombs.db"
"""Where studies are kept unless a URL says otherwise."""


def create_study(
    items: TableLike | str | PathLike[str],
    name: str = "study",
    *,
    storage: str | Storage = DEFAULT_STORAGE,
    load_if_exists: bool = True,
    features: Sequence[str] | None = None,
    roles: Roles | None = None,
    strategy: str | None = None,
    probes: float | None = None,
    metric: str | None = None,
    top: int | None = None,
    certainty: float | None = None,
    seed: int | None = None,
    wishes: Sequence[str] | str | None = None,
    prior: Any = None,
    shared_prior: bool | str | None = None,
    set_size: int | None = None,
    fixed: int | Sequence[Sequence[Any]] | None = None,
    repeats: Sequence[int] | None = None,
    attention: Sequence[tuple[int, Any, Any]] | None = None,
    questions: int | None = None,
    most_questions: int | None = None,
    presentation: Presentation | None = None,
) -> Study:
    """Return a new study, or the one of that name if it is about the same items.

    Parameters
    ----------
    items : array, frame, or path of a CSV, Excel, JSON or Parquet file; text of which nearly all cells
        differ is shown, not learned from
    name : of the study
    storage : "sqlite:///file.db" (default: coombs.db here), "postgresql://...", or "memory:"
    load_if_exists : False refuses a name that is taken
    features : columns to learn from (default: all but text of which nearly all cells differ)
    roles : dict of what columns are, as for `Comparisons`; also "names"
    strategy, probes, metric, top, certainty, seed : see `Settings`, which has the defaults. Of a study that
        exists they hold for this time, and what is not given is as it was made
    wishes : declared directions, as "price: less", which are obeyed, and limits, as "price <= 1500": items
        outside them are left out of the study. Those of a study that exists stay
    prior : a fitted `Population` over the same features: what is known of anybody before their first answer.
        It is kept with the study; whoever was asked before stays with what they were asked with
    shared_prior, set_size, fixed, repeats, attention, questions, most_questions : see `Settings`
    presentation : what people see, a `Presentation`; of a study that exists it is a new version

    Returns
    -------
    Study

    Examples
    --------
    >>> from coombs import create_study
    >>> create_study([[0.0], [1.0]], "flats", storage="memory:").name
    'flats'
    """
    given = _given(locals())
    goods = catalogue(items, features, roles)
    if texts := wish_texts(wishes):
        goods, given["wishes"] = _keeping(goods, texts)
    chosen = _settings(goods, given)
    check_name(name, "study")
    QuestionPlan.of(chosen, goods)
    check_presentation(presentation)
    if prior is not None and chosen.wishes:
        raise InputError("A prior does not know of wishes; leave out one of the two.")
    known = None if prior is None else given_prior(prior, goods.table)
    place = open_storage(storage)
    try:
        made = Study(place, store_study(place, name, goods, asdict(chosen)), goods, chosen)
    except StudyExistsError:
        if not load_if_exists:
            raise
        made = _existing(load_study(name, storage=place), goods, given.get("wishes"))
        made.settings = replace(made.settings, **given)
    if known is not None:
        warn_of_coins(prior)
        _keep_prior(made, known)
    if presentation is not None:
        made.present(presentation)
    return made


def _settings(goods: Catalogue, given: Mapping[str, Any]) -> Settings:
    """The settings of a new study."""
    # Without features all that can be learned is which items are better: the best ones first.
    return Settings(**({} if goods.features else {"strategy": "best"}) | dict(given))


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of `create_study` that are settings and were given; wishes are checked apart."""
    names = [one.name for one in fields(Settings) if one.name != "wishes"]
    return {name: arguments[name] for name in names if arguments[name] is not None}


def _keep_prior(study: Study, prior: PeoplePrior) -> None:
    """Keep a prior with a study, unless it is the one that it has."""
    if study.settings.wishes:
        raise InputError(
            f"The study {study.name!r} has wishes, which a prior does not know of; leave it out."
        )
    text, storage, number = prior.to_json(), study.storage, study.record.id
    with storage.batch():
        last = study.priors.versions()[-1:]
        if not last or storage.prior_text(number, last[0].version) != text:
            n_people, n_answers = prior.n_people, prior.n_answers
            storage.add_prior(number, text, n_people=n_people, n_answers=n_answers, source="given")


def _existing(study: Study, goods: Catalogue, wishes: Sequence[str] | None) -> Study:
    """The study, once it is about these items and these wishes; without any, its own stay."""
    own = study.settings.wishes
    if wishes is None and own:
        goods, _ = _keeping(goods, own)
    elif wishes is not None and set(wishes) != set(own):
        declared = f"the wishes {', '.join(map(repr, own))}" if own else "no wishes"
        raise InputError(
            f"The study {study.name!r} was made with {declared}, which stay; choose another name for others."
        )
    return _same(study, goods)


def _keeping(goods: Catalogue, wishes: Sequence[str] | str) -> tuple[Catalogue, tuple[str, ...]]:
    """The items that keep declared limits, with a note of how many do not; and the wishes, checked."""
    declared = wishes_of(wishes, goods.table).check()
    if declared.inside.all():
        return goods, declared.texts
    left = len(declared.inside) - int(declared.inside.sum())
    note = f"{count(left, 'item')} of {len(declared.inside)} outside the limits: not asked about."
    kept = goods.only(declared.inside)
    return replace(kept, notes=(*kept.notes, note)), declared.texts


def store_study(
    place: Storage, name: str, goods: Catalogue, settings: Mapping[str, Any], at: datetime | None = None
) -> StudyRecord:
    """Put a new study into a storage, once its items can be compared."""
    check_comparable(goods)
    rows = zip(goods.names, goods.table.matrix.tolist(), goods.details, strict=True)
    items = [Item(called, tuple(row), details) for called, row, details in rows]
    return place.create_study(name, goods.features, items, {**settings, **_how_called(goods.table)}, at=at)


def items_in_file(path: str, features: Sequence[str] | None, name: str, storage: Storage) -> Catalogue:
    """Items to choose among; called as in the study of that name, if there is one, by ids or by titles."""
    goods = messy_catalogue(path, features)
    with suppress(UnknownStudyError):
        known = {*load_study(name, storage=storage).catalogue.names}
        if known.isdisjoint(goods.names):
            return messy_catalogue(path, features, is_readable=False)
    return goods


def load_study(name: str = "study", *, storage: str | Storage = DEFAULT_STORAGE) -> Study:
    """Return the study of that name, as it was left.

    Parameters
    ----------
    name : of the study
    storage : as for `create_study`

    Returns
    -------
    Study

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> from coombs import load_study
    >>> load_study("study", storage=study.storage).n_items
    3
    """
    place = open_storage(storage)
    record = place.study(name)
    items = place.items(record.id)
    try:
        goods = stored_catalogue(record.feature_names, items, record.settings)
        check_comparable(goods)
        return Study(place, record, goods, Settings.of(record.settings), tuple(items))
    except InputError as error:
        raise damaged(f"The study {name!r}", str(error).rstrip(".")) from error


def list_studies(storage: str | Storage = DEFAULT_STORAGE) -> list[StudySummary]:
    """Return all studies of a storage.

    Parameters
    ----------
    storage : as for `create_study`

    Returns
    -------
    list of StudySummary, by name

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> from coombs import list_studies
    >>> [one.name for one in list_studies(study.storage)]
    ['study']
    """
    return open_storage(storage).studies()


def delete_study(name: str, *, storage: str | Storage = DEFAULT_STORAGE) -> None:
    """Remove a study with all its answers, which cannot be had back.

    Parameters
    ----------
    name : of the study
    storage : as for `create_study`

    Returns
    -------
    None

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> from coombs import delete_study, list_studies
    >>> delete_study("study", storage=study.storage)
    >>> list_studies(study.storage)
    []
    """
    open_storage(storage).delete_study(name)


def _how_called(table: ItemTable) -> dict[str, Any]:
    """How the table was named, by which `stored_catalogue` makes it again."""
    kinds = {} if table.names is None else {"name_kinds": naming.kinds(table.names.tolist())}
    encoding = {} if table.encoding is None else {"encoding": table.encoding.to_dict()}
    named = {"named": table.names is not None, "features_named": table.features is not None}
    return {**named, **kinds, **encoding}


def _same(study: Study, goods: Catalogue) -> Study:
    """The study, once it is about these items: those that it has, or those that it was made with."""
    items, current = study.stored_items, study.catalogue.current
    made_with = range(first_items(items) or len(items))
    if not any(_is_same(study, which, goods) for which in (current, made_with)):
        raise InputError(
            f"The study {study.name!r} is about other items; choose another name, or delete it first. "
            "`coombs items` adds and changes items of a study."
        )
    return study


def _is_same(study: Study, positions: Sequence[int], goods: Catalogue) -> bool:
    """Whether some items of a study are these; levels of categories that came later are none of theirs."""
    features, matrix = study.catalogue.features, goods.table.matrix
    if [study.stored_items[i].name for i in positions] != goods.names or set(goods.features) - {*features}:
        return False
    own = study.catalogue.table.matrix[list(positions)]
    same = np.zeros_like(own)
    same[:, [features.index(name) for name in goods.features]] = matrix
    return np.array_equal(own, same)
