"""One HTML file for a referee: what was run, its figures, and the paper's claims against our numbers."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import NamedTuple

import coombs
from coombs.paper.claims import CLAIMS
from coombs.paper.experiment import XU_DAVENPORT, Experiment
from coombs.paper.judging import NOT_ASKED, Claim, ClaimVerdict, Outcome, Summary, number
from coombs.paper.runner import QUICK_TRIALS, ExperimentResult, Run
from coombs.paper.sweep_quantities import ORACLE, OWN, START
from coombs.paper.sweeps import CODE
from coombs.render.html import document, write
from coombs.render.sections import Block, Section, TableBlock, fragment

TITLE = "Every experiment of the paper again"
MARKS = {
    Outcome.HOLDS: ("holds", "✓"),
    Outcome.PART: ("part", "◐"),
    Outcome.NOT: ("not", "✗"),
    Outcome.NOT_RUN: ("absent", "○"),
}
"""The style and the sign of each."""
INTRODUCTION = (
    "Each verdict is computed from summary.json. A claim makes one check or several, each against the "
    "threshold that stands beside it: it holds if all are passed, in part if at least half are, and "
    "otherwise not. Claims are in our words. The paper's applicants are private: what others support, "
    "simulated ones with a known truth or those of GradCafe, holds in part at best."
)
FIRST = ("main", "supplement")
"""Figures that come first, in this order."""
REPORT_STYLE = """
body { max-width: 70rem; }
main > section { border-top: 1px solid var(--line); margin-top: 2.25rem; }
section h2 { margin-top: 1rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
section > p, header p { max-width: 46rem; }
nav ol { columns: 2; max-width: 46rem; padding-left: 1.4rem; }
a { color: inherit; text-underline-offset: .15em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .75rem 0; }
dt { color: var(--quiet); } dd { margin: 0; }
.claims .quiet { font-size: 1em; }
.claims td { padding-right: 1rem; min-width: 7rem; } .claims td:nth-child(2) { min-width: 14rem; }
.claims td:nth-child(4) { min-width: 20rem; }
.claims th.group { color: var(--ink); padding-top: 1.1rem; }
.outcome { white-space: nowrap; font-weight: 600; }
.outcome b { display: inline-block; width: 1.3em; text-align: center; font-size: 1.1em; }
:root { --holds: #17663a; --part: #7a5200; --not: #a3211b; }
@media (prefers-color-scheme: dark) { :root { --holds: #7bd0a0; --part: #e5bd6c; --not: #ff9a91; } }
.holds { color: var(--holds); } .part { color: var(--part); }
.not { color: var(--not); } .absent { color: var(--quiet); }
@media screen and (max-width: 48rem) { .claims thead { display: none; }
  .claims td { display: block; border: 0; padding: .1rem 0; } .claims tr { display: block; padding: .5rem 0;
  border-bottom: 1px solid var(--line); } .claims th.group { display: block; border: 0; } }
@media print { :root { --holds: #000; --part: #000; --not: #000; } nav ol { columns: 1; }
  .claims { font-size: 8.5pt; } .claims td { min-width: 0 !important; } }
"""


def write_report(
    experiments: Sequence[Experiment], results: Mapping[str, ExperimentResult], run: Run
) -> Path:
    """Write `report.html` and `claims.json` into the folder of a run.

    Parameters
    ----------
    experiments : that were asked for; those that could not run here are listed with the reason
    results : what came out of the others
    run : its folder and settings

    Returns
    -------
    The path of the report
    """
    reasons = {each.name: reason for each in experiments if (reason := each.needs()) is not None}
    summaries = {name: result.summary for name, result in results.items()}
    judged = [
        (claim, claim.judge(summaries.get(claim.experiment), reasons.get(claim.experiment, NOT_ASKED)))
        for claim in CLAIMS
    ]
    records = [
        {"experiment": claim.experiment, "where": claim.where, "claim": claim.text, **verdict._asdict()}
        for claim, verdict in judged
    ]
    write(run.out / "claims.json", json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    titles = {each.name: each.title for each in experiments}
    left_out = [f"{titles[name]}: {reason}" for name, reason in reasons.items()]
    sections = {
        (each.name, each.title): _experiment(each, results[each.name], run)
        for each in experiments
        if each.name in results
    }
    if left_out:
        items = "".join(f"<li>{escape(text)}</li>" for text in left_out)
        sections["left-out", "What could not run here"] = f"<ul>{items}</ul>"
    papers = list(dict.fromkeys(each.paper for each in experiments))
    verdicts = [verdict for _, verdict in judged] if XU_DAVENPORT in papers else []
    if verdicts:
        sections["claims", "The paper's claims"] = _claims(titles, judged)
        sections["differences", "Where the authors' code and text differ"] = _differences(summaries)
    body = f"{_header(run, papers, verdicts)}\n{_contents(sections)}"
    return write(run.out / "report.html", document(TITLE, body, REPORT_STYLE))


def _header(run: Run, papers: Sequence[str], verdicts: Sequence[ClaimVerdict]) -> str:
    """What was run, and in one line what came of it."""
    usual = f"at most {QUICK_TRIALS} of each cell" if run.quick else "as in the paper"
    facts = {
        "Run": "quick: few cells and trials, to see that all works" if run.quick else "full",
        "Seed": str(run.seed),
        "Trials": usual if run.trials is None else f"{run.trials} of each cell",
        "coombs": coombs.__version__,
        "Date": date.today().isoformat(),
    }
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    counts = Counter(verdict.outcome for verdict in verdicts)
    cited = "\n".join(f"<p>{escape(one)}</p>" for one in papers)
    shown = ", ".join(f"{_mark(outcome)} {counts[outcome]}" for outcome in Outcome if counts[outcome])
    claims = f'<p>Of {len(verdicts)} <a href="#claims">claims</a> in the text: {shown}.</p>\n'
    claims = claims if verdicts else ""
    return f"<header>\n<h1>{escape(TITLE)}</h1>\n{cited}\n<dl>{rows}</dl>\n{claims}</header>"


def _contents(sections: Mapping[tuple[str, str], str]) -> str:
    """A list of the sections, and the sections."""
    items = "".join(f'<li><a href="#{escape(key)}">{escape(title)}</a></li>' for key, title in sections)
    parts = "\n".join(
        f'<section id="{escape(key)}">\n<h2>{escape(title)}</h2>\n{content}\n</section>'
        for (key, title), content in sections.items()
    )
    return f'<nav aria-label="Contents">\n<ol>{items}</ol>\n</nav>\n<main>\n{parts}\n</main>'


def _experiment(experiment: Experiment, result: ExperimentResult, run: Run) -> str:
    """Description, figures and tables."""
    count = run.trials_of(experiment)
    each = "One trial" if count == 1 else f"{count} trials"
    names = sorted(result.figures, key=lambda name: (name not in FIRST, name))
    parts = [
        f'<p>{escape(experiment.description)} <span class="quiet">{each} of each cell.</span></p>',
        *(_figure(experiment, name, result.figures[name], k) for k, name in enumerate(names, 1)),
        *(_part(title, _table(rows)) for title, rows in result.tables.items()),
    ]
    return "\n".join(parts)


def _figure(experiment: Experiment, name: str, image: bytes, k: int) -> str:
    source = f"data:image/png;base64,{base64.b64encode(image).decode('ascii')}"
    words = name.replace("_", " ").replace("-", " ")
    alt = f"{experiment.title}, figure {k}, {words}. {experiment.description}"
    caption = f"{k}. {words[:1].upper()}{words[1:]} ({experiment.name}/{name}.png, numbers in summary.json)"
    return (
        f'<figure>\n<img src="{source}" alt="{escape(alt)}">\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
    )


def _claims(titles: Mapping[str, str], judged: Sequence[tuple[Claim, ClaimVerdict]]) -> str:
    """Every claim under its experiment."""
    groups: dict[str, list[str]] = {}
    for claim, (outcome, measured, reason) in judged:
        numbers = f"{escape(measured)}<br>" if measured else ""
        groups.setdefault(claim.experiment, []).append(
            f"<tr><td>{_mark(outcome)}</td><td>{escape(claim.text)}</td><td>{escape(claim.where)}</td>"
            f'<td>{numbers}<span class="quiet">{escape(reason)}</span></td></tr>'
        )
    bodies = []
    for name, rows in groups.items():
        title = titles.get(name, name.replace("-", " ").capitalize())
        heading = f'<tr><th class="group" scope="rowgroup" colspan="4">{escape(title)}</th></tr>'
        bodies.append("\n".join(["<tbody>", heading, *rows, "</tbody>"]))
    headings = ("Outcome", "Claim", "In the paper", "What we measured, and what counts")
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    table = "\n".join(['<table class="claims">', f"<thead><tr>{head}</tr></thead>", *bodies, "</table>"])
    return f"<p>{escape(INTRODUCTION)}</p>\n{table}"


def _mark(outcome: Outcome) -> str:
    """A sign and the words; the colour adds nothing."""
    style, sign = MARKS[outcome]
    return f'<span class="outcome {style}"><b aria-hidden="true">{sign}</b> {escape(outcome)}</span>'


class CodeDifference(NamedTuple):
    """Something that the authors' code, or an oracle, does otherwise, and the columns that show both."""

    title: str
    words: str
    experiment: str
    columns: Mapping[str, tuple[str, str]]
    """Estimator and measure by heading."""


_TEXT = "SingleStep"
_MEASURES = {"UR": "ur", "WER": "wer", "Kendall": "kendall", "top 10": "top10"}

DIFFERENCES = (
    CodeDifference(
        "Kendall's tau",
        "The paper reports Kendall's tau distance, the share of pairs of items in the wrong order. The "
        "authors' code takes tau of the two sorting permutations instead of the two rankings, which is "
        "another number: it stays large where the ranking is nearly right. The claims here are judged by "
        "the real one. Both, of the same fits:",
        "single-step",
        {"Kendall's tau": (_TEXT, "kendall"), "authors' code": (_TEXT, "kendall_authors")},
    ),
    CodeDifference(
        "WER",
        "The paper's WER is squared; the authors' code leaves out the square. Both, of the same fits:",
        "single-step",
        {"squared (text)": (_TEXT, "wer"), "not squared (code)": (_TEXT, "wer_authors")},
    ),
    CodeDifference(
        "The program",
        "The authors' code demands distances of at least 0, and raises alpha where R M is ill-conditioned; "
        "the text does neither. Text is the default of SingleStep, the code its options "
        "nonnegative_distances and adaptive_alpha. On the same answers:",
        "single-step",
        {
            f"{heading}, {source}": (estimator, measure)
            for heading, measure in _MEASURES.items()
            for source, estimator in (("text", _TEXT), ("code", CODE))
        },
    ),
    CodeDifference(
        "When alternating stops",
        "The paper stops when the true UR error changes by less than 0.001. Only a simulation knows it. "
        "Alternating has that rule for the reproduction, and takes the iterate before a rise, so that it is "
        "never worse than its start; without a truth it stops by the change of u itself. UR:",
        "alternating",
        {"start": (START, "ur"), "stopped by the truth": (ORACLE, "ur"), "our stop": (OWN, "ur")},
    ),
)


def _differences(summaries: Mapping[str, Summary]) -> str:
    parts = []
    for each in DIFFERENCES:
        rows = _side_by_side(each, summaries.get(each.experiment, {}))
        parts.append(_part(each.title, each.words, _table(rows) if len(rows) > 1 else NOT_ASKED))
    return "\n".join(parts)


def _side_by_side(difference: CodeDifference, summary: Summary) -> list[list[str]]:
    """Medians side by side at the fewest, a middle and the most comparisons."""
    cells = {(cell["d"], cell["answers"], cell["estimator"]): cell for cell in summary.get("cells", ())}
    rows = [["d", "comparisons", *difference.columns]]
    for d in dict.fromkeys(key[0] for key in cells):
        answers = sorted({p for dd, p, _ in cells if dd == d})
        for p in dict.fromkeys((answers[0], answers[len(answers) // 2], answers[-1])):
            found = [(cells.get((d, p, name)), measure) for name, measure in difference.columns.values()]
            values = ["-" if cell is None else number(cell[measure]["median"]) for cell, measure in found]
            rows.append([str(d), str(p), *values])
    return rows


def _part(title: str, *blocks: Block) -> str:
    return f"<h3>{escape(title)}</h3>\n{fragment([Section('', blocks)])}"


def _table(rows: Sequence[Sequence[str]]) -> TableBlock:
    """Heading first; columns of numbers to the right."""
    head, *body = rows
    numbers = [all(_is_number(row[k]) for row in body) for k in range(len(head))]
    return TableBlock("".join("lr"[is_so] for is_so in numbers), head, body)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("%")) if text != "-" else 0.0
    except ValueError:
        return False
    return True
