"""Everybody in a study at once: standing answers, and what they said of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coombs.data.comparisons import Comparisons
from coombs.study.history import History
from coombs.study.judgements import comparisons_of

if TYPE_CHECKING:
    from coombs.study.person_fields import PersonField
    from coombs.study.study import Study


def everybody_answers(study: Study) -> Comparisons | None:
    """The comparisons of everybody, in the order in which people came; None if nobody has answered.

    Skips and answers to attention checks are left out. A thousand people are read in a second.
    """
    study.follow_items()
    storage, table, parts = study.storage, study.catalogue.table, []
    for record, count in storage.respondents(study.record.id):
        answers = History.of(storage, record.id).learned if count else ()
        told = [one for one in answers if one.choice != "skip"]
        if told:
            parts.append(comparisons_of(table, told, record.name))
    return Comparisons.concatenate(parts) if parts else None


def everybody_about(study: Study) -> Any:
    """A frame, a row a person, of fields with numbers and choices; None if nobody filled in any."""
    import pandas as pd

    fields = [one for one in study.presentation.fields if one.kind != "text" and one.label != "user"]
    rows = {
        record.name: {one.label: _value(one, record.fields.get(one.label, "")) for one in fields}
        for record, count in study.storage.respondents(study.record.id)
        if count
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[one.label for one in fields])
    chosen = {one.label: "category" for one in fields if one.kind == "choice"}
    frame = frame.astype(chosen).dropna(axis=1, how="all")
    return frame.rename_axis("user").reset_index() if len(frame.columns) else None


def _value(field: PersonField, said: str) -> float | str | None:
    """What was said in a field; None for nothing, and for what is no answer to the field any more."""
    if not said or field.problem(said):
        return None
    return float(said) if field.kind == "number" else said
