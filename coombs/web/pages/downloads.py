"""What a person can take away: files as the library writes them."""

from __future__ import annotations

from dataclasses import replace

from coombs.data import files
from coombs.data.catalogue import shown_cells
from coombs.study import Respondent
from coombs.study.answer_files import export_answers
from coombs.study.study import ME
from coombs.web.fitted_result import FittedResult
from coombs.web.routing import written


def ranking_csv(fitted: FittedResult) -> bytes:
    """All items, best first, with what is known of their ranks, and their features."""
    model, columns = fitted.result.model, shown_cells(fitted.items.table)
    header = ["item", "rank", "rank_low", "rank_high", f"in_top_{fitted.k}", "distance", *columns]
    distances = model.distances_.tolist()
    rows = [
        (name, rank, low, high, round(top, 4), distances[i], *(cells[i] for cells in columns.values()))
        for rank, i, name, low, high, top in fitted.ranking
    ]
    return written("csv", lambda path: files.write_csv(path, header, rows))


def answers_csv(respondent: Respondent) -> bytes:
    """The standing answers of one person, as `Comparisons.read_csv` takes them."""
    return written("csv", lambda path: export_answers(respondent.study, path, respondent.name))


def model_json(fitted: FittedResult) -> str:
    """The model, which `Model.from_json` reads."""
    return replace(fitted.result.model.model_, findings=fitted.explanation.findings()).to_json()


def report_html(fitted: FittedResult) -> bytes:
    """The report, which needs matplotlib."""
    name, who = fitted.respondent.study.title, fitted.respondent.name
    wants = "what you want" if who == ME else f"what {who} wants"
    answers = "your answers" if who == ME else f"the answers of {who}"
    title = f"{name}: {wants if fitted.result.has_pattern else answers}"
    return written("html", lambda path: fitted.result.report(path, title=title))
