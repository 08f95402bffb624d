"""After the last question in a terminal: the result as JSON for another program, and the command to go on."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from coombs.data import naming
from coombs.storage import is_memory
from coombs.study import Respondent, Result, StudyProgress
from coombs.terminal_text import terminal_safe


def summary(respondent: Respondent, result: Result | None, found: StudyProgress) -> dict[str, Any]:
    """The result for another program, with None for what there is none of.

    Without a pattern there is no ideal point, and the ranking is no better than chance. `conduct` and `far`
    are deprecated: the former names of `response_style` and of the progress's `fraction`.
    """
    style = None if result is None else asdict(result.response_style)
    progress = asdict(found) | {"far": found.fraction, "top": [naming.for_json(name) for name in found.top]}
    ideal: dict[str, float | str | None] = {}
    if result is not None and result.has_pattern:
        ideal = _ideal(respondent, result)
    return {
        "has_pattern": None if result is None else result.has_pattern,
        "study": respondent.study.name,
        "respondent": respondent.name,
        "n_answers": found.n_answers,
        "response_style": style,
        "conduct": style,
        "ranking": None if result is None else [naming.for_json(name) for name in result.ranking],
        "ideal_point": ideal or None,
        "progress": progress,
        "n_others": 0 if (prior := respondent.prior()) is None else prior.n_people,
    }


def _ideal(respondent: Respondent, result: Result) -> dict[str, float | str | None]:
    """The ideal point by feature; of a table that is not all numbers, the best value of each column."""
    goods = respondent.study.catalogue
    if goods.table.encoding is None:
        values = result.ideal_point.tolist()
        return {name: x if math.isfinite(x) else None for name, x in zip(goods.features, values, strict=True)}
    told = result.told
    return {one.name: best.wanted(one) for one, best in zip(told.features, told.ideal, strict=True)}


def come_back(storage: str, arguments: Sequence[str], more: str = "") -> str:
    """How to go on another time, with `more` of an option; passwords are not shown."""
    if is_memory(storage):
        return f"Nothing is kept, as the storage is {storage}."
    command = re.sub(r"(://[^:@/ ]*):[^@ ]*@", r"\1:...@", shlex.join(["coombs", *arguments]))
    with_more = f" with more {more}" if more else ""
    return f"Everything is stored. To go on{with_more}: {terminal_safe(command)}"
