"""One HTML file for a referee: what was run, its pictures, and the paper's claims against our numbers."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeAlias

import coombs
from coombs.paper.claims import Claim, Outcome, Verdict, judge_all
from coombs.paper.experiment import Experiment, Table
from coombs.paper.judging import NOT_ASKED, Summary, number
from coombs.paper.rules_synthetic import ORACLE, OWN, START
from coombs.paper.runner import QUICK_TRIALS, Run
from coombs.render.html import document, write

Judged: TypeAlias = Sequence[tuple[Claim, Verdict]]

TITLE = "Every experiment of the paper again"
PAPER = (
    "Austin Xu and Mark Davenport: Simultaneous Preference and Metric Learning from Paired Comparisons, "
    "NeurIPS 2020."
)
MARKS = {Outcome.HOLDS: "✓", Outcome.PART: "◐", Outcome.NOT: "✗", Outcome.NOT_RUN: "○"}
CLASSES = {Outcome.HOLDS: "holds", Outcome.PART: "part", Outcome.NOT: "not", Outcome.NOT_RUN: "absent"}
FIRST = ("main", "supplement")
"""Figures that come first, in this order."""
REPORT_STYLE = """
body { max-width: 70rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
section { border-top: 1px solid var(--line); margin-top: 2.25rem; }
section h2 { margin-top: 1rem; }
section > p, header p, .differ { max-width: 46rem; }
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


def write_report(experiments: Sequence[Experiment], out: Path, run: Run) -> Path:
    """Write `report.html` and `claims.json` from what the runner left in a folder.

    Parameters
    ----------
    experiments : that were asked for; those that could not run here are listed with the reason
    out : the folder of the run
    run : its settings

    Returns
    -------
    The path of the report
    """
    reasons = {one.name: reason for one in experiments if (reason := one.needs()) is not None}
    summaries = {one.name: _summary(out / one.name) for one in experiments if one.name not in reasons}
    judged = judge_all(summaries, reasons)
    write(out / "claims.json", json.dumps(_records(judged), indent=1, ensure_ascii=False) + "\n")
    return write(out / "report.html", _page(experiments, out, run, summaries, reasons, judged))


def _summary(folder: Path) -> Summary:
    found: Summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


def _records(judged: Judged) -> list[dict[str, str]]:
    return [
        {"experiment": claim.experiment, "where": claim.where, "claim": claim.text, **verdict._asdict()}
        for claim, verdict in judged
    ]


def _page(
    experiments: Sequence[Experiment],
    out: Path,
    run: Run,
    summaries: Mapping[str, Summary],
    reasons: Mapping[str, str],
    judged: Judged,
) -> str:
    """The whole document."""
    able = [one for one in experiments if one.name in summaries]
    sections = [
        *(_experiment(one, out / one.name, run) for one in able),
        _left_out(experiments, reasons),
        _claims(experiments, judged),
        _differences(summaries),
    ]
    main = "\n".join(part for part in sections if part)
    body = f"{_header(run, judged)}\n{_contents(able, bool(reasons))}\n<main>\n{main}\n</main>"
    return document(TITLE, body, REPORT_STYLE)


def _header(run: Run, judged: Judged) -> str:
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
    counts = Counter(verdict.outcome for _, verdict in judged)
    shown = ", ".join(f"{_mark(one)} {counts[one]}" for one in Outcome if counts[one])
    return (
        f"<header>\n<h1>{escape(TITLE)}</h1>\n<p>{escape(PAPER)}</p>\n<dl>{rows}</dl>\n"
        f'<p>Of {len(judged)} <a href="#claims">claims</a> in the text: {shown}.</p>\n</header>'
    )


def _contents(able: Sequence[Experiment], some_left_out: bool) -> str:
    entries = {one.name: one.title for one in able}
    if some_left_out:
        entries["left-out"] = "What could not run here"
    entries |= {"claims": "The paper's claims", "differences": "Where the authors' code and text differ"}
    items = "".join(
        f'<li><a href="#{escape(key)}">{escape(title)}</a></li>' for key, title in entries.items()
    )
    return f'<nav aria-label="Contents">\n<ol>{items}</ol>\n</nav>'


def _experiment(experiment: Experiment, folder: Path, run: Run) -> str:
    """Description, figures and tables."""
    files = sorted(folder.glob("*.png"), key=lambda path: (path.stem not in FIRST, path.stem))
    count = run.trials_of(experiment)
    each = "One trial" if count == 1 else f"{count} trials"
    about = f'<p>{escape(experiment.description)} <span class="quiet">{each} of each cell.</span></p>'
    tables = experiment.tables(Table.read(folder / "trials.csv"))
    parts = [
        about,
        *(_figure(experiment, path, k) for k, path in enumerate(files, 1)),
        *(f"<h3>{escape(title)}</h3>\n{_table(rows)}" for title, rows in tables.items()),
    ]
    return _section(experiment.name, experiment.title, "\n".join(parts))


def _figure(experiment: Experiment, path: Path, k: int) -> str:
    source = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    words = path.stem.replace("_", " ").replace("-", " ")
    alt = f"{experiment.title}, figure {k}, {words}. {experiment.description}"
    caption = f"{k}. {words[:1].upper()}{words[1:]} ({experiment.name}/{path.name}, numbers in summary.json)"
    return (
        f'<figure>\n<img src="{source}" alt="{escape(alt)}">\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
    )


def _left_out(experiments: Sequence[Experiment], reasons: Mapping[str, str]) -> str:
    if not reasons:
        return ""
    titles = {one.name: one.title for one in experiments}
    items = "".join(f"<li>{escape(titles[name])}: {escape(reason)}</li>" for name, reason in reasons.items())
    return _section("left-out", "What could not run here", f"<ul>{items}</ul>")


def _claims(experiments: Sequence[Experiment], judged: Judged) -> str:
    """Every claim under its experiment."""
    titles = {one.name: one.title for one in experiments}
    groups = []
    for name in dict.fromkeys(claim.experiment for claim, _ in judged):
        title = titles.get(name, name.replace("-", " ").capitalize())
        rows = "\n".join(_claim(claim, verdict) for claim, verdict in judged if claim.experiment == name)
        heading = f'<tr><th class="group" scope="rowgroup" colspan="4">{escape(title)}</th></tr>'
        groups.append(f"<tbody>\n{heading}\n{rows}\n</tbody>")
    head = _row(("Outcome", "Claim", "In the paper", "What we measured, and what counts"), "th")
    intro = (
        "Each verdict is computed from summary.json. A claim makes one check or several, each against the "
        "threshold that stands beside it: it holds if all are passed, in part if at least half are, and "
        "otherwise not. Claims are in our words. The paper's applicants are private: what others bear out, "
        "simulated ones with a known truth or those of GradCafe, holds in part at best."
    )
    body = "\n".join(groups)
    table = f'<table class="claims">\n<thead>{head}</thead>\n{body}\n</table>'
    return _section("claims", "The paper's claims", f"<p>{escape(intro)}</p>\n{table}")


def _claim(claim: Claim, verdict: Verdict) -> str:
    measured = f"{escape(verdict.measured)}<br>" if verdict.measured else ""
    return (
        f"<tr><td>{_mark(verdict.outcome)}</td><td>{escape(claim.text)}</td><td>{escape(claim.where)}</td>"
        f'<td>{measured}<span class="quiet">{escape(verdict.reason)}</span></td></tr>'
    )


def _mark(outcome: Outcome) -> str:
    """A sign and the words; the colour adds nothing."""
    sign = f'<b aria-hidden="true">{MARKS[outcome]}</b>'
    return f'<span class="outcome {CLASSES[outcome]}">{sign} {escape(outcome)}</span>'


class Difference(NamedTuple):
    """Something that the authors' code, or an oracle, does otherwise, and the columns that show both."""

    title: str
    words: str
    experiment: str
    columns: tuple[tuple[str, str, str], ...]
    """Heading, estimator and measure."""


_TEXT, _CODE = "SingleStep", "SingleStep, authors' code"

DIFFERENCES = (
    Difference(
        "Kendall's tau",
        "The paper reports Kendall's tau distance, the share of pairs of items in the wrong order. The "
        "authors' code takes tau of the two sorting permutations instead of the two rankings, which is "
        "another number: it stays large where the ranking is nearly right. The claims here are judged by "
        "the real one. Both, of the same fits:",
        "single-step",
        (("Kendall's tau", _TEXT, "kendall"), ("authors' code", _TEXT, "kendall_authors")),
    ),
    Difference(
        "WER",
        "The paper's WER is squared; the authors' code leaves out the square. Both, of the same fits:",
        "single-step",
        (("squared (text)", _TEXT, "wer"), ("not squared (code)", _TEXT, "wer_authors")),
    ),
    Difference(
        "The program",
        "The authors' code demands distances of at least 0, and raises alpha where R M is ill-conditioned; "
        "the text does neither. Text is the default of SingleStep, the code its options "
        "nonnegative_distances and adaptive_alpha. On the same answers:",
        "single-step",
        (
            ("UR, text", _TEXT, "ur"),
            ("UR, code", _CODE, "ur"),
            ("WER, text", _TEXT, "wer"),
            ("WER, code", _CODE, "wer"),
            ("Kendall, text", _TEXT, "kendall"),
            ("Kendall, code", _CODE, "kendall"),
            ("top 10, text", _TEXT, "top10"),
            ("top 10, code", _CODE, "top10"),
        ),
    ),
    Difference(
        "When alternating stops",
        "The paper stops when the true UR error changes by less than 0.001. Only a simulation knows it. "
        "Alternating has that rule for the reproduction, and takes the iterate before a rise, so that it is "
        "never worse than its start; without a truth it stops by the change of u itself. UR:",
        "alternating",
        (("start", START, "ur"), ("stopped by the truth", ORACLE, "ur"), ("our stop", OWN, "ur")),
    ),
)


def _differences(summaries: Mapping[str, Summary]) -> str:
    parts = []
    for one in DIFFERENCES:
        rows = _both(one, summaries.get(one.experiment, {}))
        shown = _table(rows) if len(rows) > 1 else f'<p class="quiet">{escape(NOT_ASKED)}</p>'
        parts.append(f'<h3>{escape(one.title)}</h3>\n<p class="differ">{escape(one.words)}</p>\n{shown}')
    return _section("differences", "Where the authors' code and text differ", "\n".join(parts))


def _both(one: Difference, summary: Summary) -> list[list[str]]:
    """Medians side by side at the fewest, a middle and the most comparisons."""
    cells = {(cell["d"], cell["answers"], cell["estimator"]): cell for cell in summary.get("cells", ())}
    rows = [["d", "comparisons", *(heading for heading, _, _ in one.columns)]]
    for d in dict.fromkeys(key[0] for key in cells):
        answers = sorted({p for dd, p, _ in cells if dd == d})
        for p in dict.fromkeys((answers[0], answers[len(answers) // 2], answers[-1])):
            found = [(cells.get((d, p, estimator)), measure) for _, estimator, measure in one.columns]
            values = ["-" if cell is None else number(cell[measure]["median"]) for cell, measure in found]
            rows.append([str(d), str(p), *values])
    return rows


def _section(key: str, title: str, content: str) -> str:
    return f'<section id="{escape(key)}">\n<h2>{escape(title)}</h2>\n{content}\n</section>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Heading first; columns of numbers to the right."""
    head, *body = rows
    kinds = [all(_is_number(row[k]) for row in body) for k in range(len(head))]
    lines = "\n".join(_row(row, "td", kinds) for row in body)
    return f"<table>\n<thead>{_row(head, 'th', kinds)}</thead>\n<tbody>\n{lines}\n</tbody>\n</table>"


def _row(cells: Iterable[str], tag: str, numbers: Sequence[bool] = ()) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    texts = []
    for k, cell in enumerate(cells):
        kind = ' class="number"' if k < len(numbers) and numbers[k] else ""
        texts.append(f"<{tag}{scope}{kind}>{escape(cell)}</{tag}>")
    return f"<tr>{''.join(texts)}</tr>"


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("%")) if text != "-" else 0.0
    except ValueError:
        return False
    return True
