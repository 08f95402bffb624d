"""The standing answers of everybody in a study at once; a thousand people are read in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coombs.data.comparisons import Comparisons
from coombs.study.history import History
from coombs.study.judgements import comparisons_of

if TYPE_CHECKING:
    from coombs.study.study import Study


def everybody_answers(study: Study) -> Comparisons | None:
    """With users, in the order in which people came; None if nobody has answered.

    Skips and answers to attention checks are left out.
    """
    study.follow_items()
    storage, table, parts = study.storage, study.catalogue.table, []
    for record, count in storage.respondents(study.record.id):
        answers = History.of(storage, record.id).learned if count else ()
        told = [one for one in answers if one.choice != "skip"]
        if told:
            parts.append(comparisons_of(table, told, record.name))
    return Comparisons.concatenate(parts) if parts else None
