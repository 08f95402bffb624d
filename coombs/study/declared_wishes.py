"""Wishes that are declared once a study is made, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from coombs.data.tables import InputError
from coombs.data.wishes import wish_texts, wishes_of
from coombs.language import Translatable
from coombs.study.settings import Settings
from coombs.study.study import Study


def may_declare(study: Study) -> bool:
    """Whether wishes can still be declared: there are none, no prior, and nobody was asked or has answered.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> before = may_declare(study)
    >>> _ = study.ask()
    >>> before, may_declare(study)
    (True, False)
    """
    if study.settings.wishes or study.priors.versions():
        return False
    return all(one.started is None for one in study.monitor().people)


def declare_wishes(study: Study, wishes: Sequence[str]) -> None:
    """Obey wishes from the first question on; items outside of limits are retired.

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
    >>> declare_wishes(study, ["0: less", "0 <= 1"])
    >>> study.settings.wishes, study.n_items
    (('0: less', '0 <= 1'), 2)
    """
    texts = wish_texts(wishes)
    with study.storage.batch():
        if not may_declare(study):
            raise InputError(
                Translatable(
                    "Wishes come before the first question, and are declared once; make another study."
                )
            )
        declared = wishes_of(texts, study.catalogue.table).check()
        outside = [one for one in np.flatnonzero(~declared.inside) if one in study.catalogue.current]
        if outside:
            study.retire_items([study.catalogue.labels[one] for one in outside])
        record = study.storage.study(study.name)
        stored = replace(Settings.of(record.settings), wishes=declared.texts)
        changed = {**record.settings, **asdict(stored)}
        study.note_settings(study.storage.change_settings(record.id, changed).settings)
