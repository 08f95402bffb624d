"""What a person can take away: files as the library writes them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from coombs.data import files
from coombs.study import Respondent, Study
from coombs.study.answer_files import export_answers
from coombs.study.study import ME
from coombs.web.findings import Findings


def written(ending: str, write: Callable[[Path], Any]) -> bytes:
    """The file that a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file.{ending}"
        write(path)
        return path.read_bytes()


def ranking_csv(findings: Findings) -> bytes:
    """All items, best first, with what is known of their ranks, and their features."""
    catalogue, model = findings.respondent.study.catalogue, findings.result.model
    matrix = catalogue.table.matrix
    header = [
        "item",
        "rank",
        "rank_low",
        "rank_high",
        f"in_top_{findings.k}",
        "distance",
        *catalogue.features,
    ]
    rows = [
        (
            place.name,
            place.rank,
            place.low,
            place.high,
            round(place.top, 4),
            float(model.distances_[place.position]),
            *matrix[place.position].tolist(),
        )
        for place in findings.ranking
    ]
    return written("csv", lambda path: files.write_csv(path, [files.guard(name) for name in header], rows))


def answers_csv(respondent: Respondent) -> bytes:
    """The standing answers of one person, as `Comparisons.read_csv` takes them."""
    return written("csv", lambda path: export_answers(respondent.study, path, respondent.name))


def model_json(findings: Findings) -> str:
    """The model, which `Model.from_json` reads."""
    return replace(findings.result.model.model_, findings=findings.told.findings()).to_json()


def report_html(findings: Findings) -> bytes:
    """The report, which needs matplotlib."""
    name, who = findings.respondent.study.name, findings.respondent.name
    wants = "what you want" if who == ME else f"what {who} wants"
    answers = "your answers" if who == ME else f"the answers of {who}"
    title = f"{name}: {wants if findings.result.has_pattern else answers}"
    return written("html", lambda path: findings.result.report(path, title=title))


def study_file(study: Study, ending: str) -> bytes:
    """All answers of a study as CSV, or all there is as JSONL."""
    return written(ending, study.export)
