"""What is left on the terminal at the end: the result, and how to come back."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from coombs.data import naming
from coombs.render.blocks import Block, Points, Section, TableBlock
from coombs.render.text import block_lines, table_lines
from coombs.storage import is_memory
from coombs.study import Respondent, Result, StudyProgress
from coombs.terminal.display import Display
from coombs.terminal_text import cells, cut, terminal_safe, wrap


def fitted(sections: Iterable[Section], look: Display) -> list[str]:
    """Sections, however narrow the terminal: sentences flow anew, and of tables the first columns stay."""
    lines: list[str] = []
    for section in sections:
        lines += [""] if lines else []
        if section.title:
            lines += wrap(section.title, look.width)
            lines.append("-" * min(cells(section.title), look.width))
        for block in section.blocks:
            lines += _fitted(block, look)
    return lines


def _fitted(block: Block, look: Display) -> list[str]:
    if isinstance(block, TableBlock):
        return [cut(line, look.width, look.ellipsis) for line in table_lines(block, look.width)]
    lines = block_lines(block)
    if all(cells(line) <= look.width for line in lines):
        return lines
    if isinstance(block, Points):
        points = [wrap(terminal_safe(sentence), look.width - 2) for sentence in block.sentences]
        return [f"{'- ' if k == 0 else '  '}{line}" for point in points for k, line in enumerate(point)]
    return wrap(terminal_safe(block), look.width)


def summary(respondent: Respondent, result: Result | None, found: StudyProgress) -> dict[str, Any]:
    """The result for another program, with None for what there is none of.

    Without a pattern there is no ideal point, and the ranking is no better than chance. `conduct` and `far`
    are deprecated: the former names of `response_style` and of the progress's `fraction`.
    """
    style = None if result is None else asdict(result.response_style)
    progress = asdict(found) | {"far": found.fraction, "top": [naming.for_json(name) for name in found.top]}
    features, ideal = respondent.study.catalogue.features, []
    if result is not None and result.has_pattern:
        ideal = [x if math.isfinite(x) else None for x in result.ideal_point.tolist()]
    return {
        "has_pattern": None if result is None else result.has_pattern,
        "study": respondent.study.name,
        "respondent": respondent.name,
        "n_answers": found.n_answers,
        "response_style": style,
        "conduct": style,
        "ranking": None if result is None else [naming.for_json(name) for name in result.ranking],
        "ideal_point": dict(zip(features, ideal, strict=True)) if ideal else None,
        "progress": progress,
    }


def come_back(storage: str, arguments: Sequence[str], more: str = "") -> str:
    """How to go on another time, with `more` of an option; passwords are not shown."""
    if is_memory(storage):
        return f"Nothing is kept, as the storage is {storage}."
    command = re.sub(r"(://[^:@/ ]*):[^@ ]*@", r"\1:...@", shlex.join(["coombs", *arguments]))
    with_more = f" with more {more}" if more else ""
    return f"Everything is stored. To go on{with_more}: {terminal_safe(command)}"
