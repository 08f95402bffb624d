"""What is left on the terminal at the end: the result, and how to come back."""

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
from coombs.terminal.display import Display
from coombs.terminal_text import cells, cut, terminal_safe, wrap


def fitted(page: str, look: Display) -> list[str]:
    """A page of an explanation, however narrow the terminal: sentences flow anew, rows of tables are cut."""
    lines = page.splitlines()
    if all(cells(line) <= look.width for line in lines):
        return lines
    return [line for block in _blocks(lines) for line in _fitted(block, look)]


def _blocks(lines: Sequence[str]) -> list[str]:
    """Headings, rows of tables, points of lists and paragraphs, each as one line."""
    blocks, flows = [""], ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        heading = not line.strip("- ") or (following != "" and not following.strip("-"))
        kind = "point" if line.startswith(("- ", "  ")) else "" if heading else "sentence"
        if flows == kind != "" and not line.startswith("- "):
            blocks[-1] += f" {line.strip()}"
        else:
            blocks.append(line)
            flows = "" if line.startswith("  ") else kind
    return blocks[1:]


def _fitted(block: str, look: Display) -> list[str]:
    if block.startswith("  "):
        return [cut(block, look.width, look.ellipsis)]
    if block.startswith("- "):
        first, *others = wrap(block[2:], look.width - 2)
        return [f"- {first}", *(f"  {line}" for line in others)]
    return wrap(block, look.width) or [""]


def summary(respondent: Respondent, result: Result | None, found: StudyProgress) -> dict[str, Any]:
    """The result for another program, with None for what there is none of.

    Without a pattern there is no ideal point, and the ranking is no better than chance.
    """
    features, ideal = respondent.study.catalogue.features, []
    if result is not None and result.has_pattern:
        ideal = [x if math.isfinite(x) else None for x in result.ideal_point.tolist()]
    return {
        "has_pattern": None if result is None else result.has_pattern,
        "study": respondent.study.name,
        "respondent": respondent.name,
        "n_answers": found.n_answers,
        "conduct": None if result is None else asdict(result.conduct),
        "ranking": None if result is None else [naming.for_json(name) for name in result.ranking],
        "ideal_point": dict(zip(features, ideal, strict=True)) if ideal else None,
        "progress": asdict(found) | {"top": [naming.for_json(name) for name in found.top]},
    }


def come_back(storage: str, arguments: Sequence[str], more: str = "") -> str:
    """How to go on another time, with `more` of an option; passwords are not shown."""
    if is_memory(storage):
        return f"Nothing is kept, as the storage is {storage}."
    command = re.sub(r"(://[^:@/ ]*):[^@ ]*@", r"\1:...@", shlex.join(["coombs", *arguments]))
    with_more = f" with more {more}" if more else ""
    return f"Everything is stored. To go on{with_more}: {terminal_safe(command)}"
