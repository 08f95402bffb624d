"""One HTML file that tells what was learned: words, pictures and the whole ranking."""

from __future__ import annotations

import base64
import os
import warnings
from collections.abc import Iterator, Sequence
from datetime import date
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import coombs
from coombs import plots
from coombs.data import files
from coombs.data.tables import FloatArray, InputError, ItemTable, TableLike, item_table
from coombs.estimators.taste import TasteEstimator
from coombs.insights.curves import COUNTS, smooth_weight
from coombs.insights.plot_data import MOST_FEATURES, Ranking, feature_names, ranking_data, what_matters_data
from coombs.render import text
from coombs.words import NO_PATTERN, count, no_more, ordinal, percent, together

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator
    from coombs.insights import Explanation

MOST_ROWS = 500
"""Items in the table of the ranking."""
DPI = 150


class Picture(NamedTuple):
    """A figure, and what is said about it."""

    heading: str
    figure: Any
    alt: str
    caption: str


STYLE = """
:root { color-scheme: light dark; --ink: #222; --quiet: #666; --line: #ddd; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --quiet: #a0a0a0; --line: #444; --paper: #1b1c1e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 52rem; color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; }
p, li { overflow-wrap: anywhere; }
section { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1.5rem 0; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px;
  padding: .5rem; margin: 0 auto; }
figcaption, footer, .quiet { color: var(--quiet); font-size: .9rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .75rem; }
@media print { :root { --ink: #000; --quiet: #444; --line: #bbb; --paper: #fff; }
  body { max-width: none; padding: 0; font-size: 11pt; } section { overflow: visible; }
  figure, tr { break-inside: avoid; } thead { display: table-header-group; } }
"""


def report(
    est: PairEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    items: TableLike = None,
    has_pattern: bool | None = None,
    people: int | None = None,
    chosen: bool = False,
) -> Path | str:
    """Write what was learned as one HTML file, which needs nothing else: no script, no network.

    Parameters
    ----------
    est : a fitted estimator
    path : of the file, whose folder must exist; None for the text itself
    title : of the page
    items : to rank and to show; by default the fitted ones
    has_pattern : whether the answers tell more than chance would; by default what the explanation says
    people : how many people's answers were taken together; by default as many as the answers name
    chosen : whether the questions were chosen by their answers; see `coombs.insights.explain`

    Returns
    -------
    The path of the file, or the HTML text
    """
    target = None if path is None else _target(path)
    table = item_table(est._given(items))
    told = _told(est, table, chosen)
    if has_pattern is None:
        has_pattern = told is None or told.has_pattern
    if told is not None and not has_pattern:
        told = told.without_claims()
    head = _heading(title, _n_people(est) if people is None else people, has_pattern)
    page = _page(est, table, head, told, has_pattern)
    return page if target is None else write(target, page)


class Heading(NamedTuple):
    """The title, and what must be known before anything else, if there is such a thing."""

    title: str
    first: str


def _heading(title: str | None, people: int, has_pattern: bool) -> Heading:
    """Whose answers these are, and whether they say anything, before what they say."""
    whose = together(people)
    if not has_pattern:
        called = NO_PATTERN if title is None else f"{NO_PATTERN}: {title}"
        return Heading(called, f"{whose}. {no_more(people)} {text.NOTHING}".removeprefix(". "))
    if title is None:
        return Heading(whose or "What was learned", "")
    return Heading(str(title), f"{whose}." if whose else "")


def _page(
    est: PairEstimator, table: ItemTable, head: Heading, told: Explanation | None, has_pattern: bool
) -> str:
    """The whole document; without a pattern there are no pictures and no ranking."""
    first = f"<p><strong>{escape(head.first)}</strong></p>\n" if head.first else ""
    if has_pattern:
        ranking = ranking_data(est, items=table)
        about = _summary(est, table, ranking)
        words = "" if told is None else text.to_html(told)
        parts = [words, *_pictures(est, table), _ranking_table(est, table, ranking)]
    else:
        about = _source(est)
        # The first section is what the heading says.
        parts = [] if told is None else [text.fragment(text.sections(told)[1:])]
    body = [
        f"<header>\n<h1>{escape(head.title)}</h1>\n{first}<p>{about}</p>\n</header>\n<main>",
        *parts,
        f"</main>\n<footer>{_footer(est)}</footer>",
    ]
    return document(head.title, "\n".join(part for part in body if part))


def document(title: str, body: str, more_style: str = "") -> str:
    """One self-contained page around a body."""
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="coombs {coombs.__version__}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{more_style}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _summary(est: PairEstimator, table: ItemTable, ranking: Ranking) -> str:
    """One paragraph: what it was learned from, what is best, and what decides."""
    (n, d), matters = table.matrix.shape, what_matters_data(est, items=table)
    best = ", ".join(f"<strong>{escape(name)}</strong>" for name in ranking.names[:3])
    shares = zip(matters.features[:3], matters.importance[:3], strict=True)
    most = ", ".join(f"{escape(name)} ({percent(share)})" for name, share in shares if share >= 0.005)
    decides = f" What decides most: {most}." if most and d > 1 else ""
    worst = 1 if ranking.interval is None else int(ranking.interval[0, 1])
    doubt = f" (the first may as well be {ordinal(worst)})" if worst > 1 else ""
    ranked = f"Of {count(n, 'item')} with {count(d, 'feature')}, these come first: {best}{doubt}."
    return f"{_source(est)}{ranked}{decides}"


def _source(est: PairEstimator) -> str:
    """What it was learned from, where the estimator knows."""
    n_answers = _n_answers(est)
    return "" if n_answers is None else f"Learned from {count(n_answers, 'answer')}. "


def _told(est: PairEstimator, table: ItemTable, chosen: bool) -> Explanation | None:
    """The explanation, for the one estimator that has it."""
    if not isinstance(est, TasteEstimator):
        return None
    from coombs.insights import explain

    return explain(est, items=None if table is est.item_table_ else table, chosen=chosen)


def _pictures(est: PairEstimator, table: ItemTable) -> list[str]:
    """A section for each picture."""
    with warnings.catch_warnings():
        # A letter that no font here has is drawn as a box; the tables have it as it should be.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        return [_section(picture) for picture in _drawn(est, table)]


def _drawn(est: PairEstimator, table: ItemTable) -> Iterator[Picture]:
    """What matters, the best items, curves where a smooth taste counts, level sets, and the matrix."""
    matters = what_matters_data(est, items=table)
    shares = zip(matters.features, matters.importance, strict=True)
    yield Picture(
        "What matters, in a picture",
        plots.what_matters(est, items=table).figure,
        f"How much each feature decides: {', '.join(f'{name} {percent(share)}' for name, share in shares)}.",
        "How much the judgement changes when an item gets another item's value of a feature and keeps the "
        "rest, as a share.",
    )
    sampled = getattr(est, "posterior_", None) is not None
    best = ranking_data(est, items=table, top=20).names
    yield Picture(
        "The best items",
        plots.ranking(est, items=table).figure,
        f"The best items in order: {', '.join(best)}.",
        "Dots are the ranks, bars the ranks that an item may have given the answers."
        if sampled
        else "Nearer to the ideal point is better.",
    )
    if smooth_weight(est) >= COUNTS:
        yield _curves(est, table)
    if len(matters.features) < 2:
        return
    x, y = matters.features[:2]
    yield Picture(
        f"{x} and {y}",
        plots.level_sets(est, x, y, items=table).figure,
        f"Level sets of the learned distance over {x} and {y}, with the items as dots.",
        "Everything along a line is equally good; the darker, the better. "
        + plots.level_sets_data(est, x, y, items=table).caption("red mark"),
    )
    yield Picture(
        "Every two features",
        plots.feature_matrix(est, items=table),
        f"Level sets of the learned distance for every two of {', '.join(matters.features[:MOST_FEATURES])}.",
        "On the diagonal, how the distance changes along one feature alone: the steeper, the more it "
        "matters. The small strokes below are the items. Red is only what the answers bear out: a line and a "
        "band where one feature has a best value, a mark where two have one.",
    )


def _curves(est: PairEstimator, table: ItemTable) -> Picture:
    """The taste along each feature, where it has more than an ideal."""
    curves = plots.taste_curves_data(est, items=table)
    described = " Dashed is what the ideal alone says." if any(one.differs for one in curves) else ""
    return Picture(
        "The taste along each feature",
        plots.taste_curves(est, items=table),
        f"How much items are liked as one of {', '.join(one.feature for one in curves)} changes.",
        "How much items are liked as one feature changes and the others stay, averaged over items. Higher "
        "is liked more; the band is where the curve lies 9 times in 10. This is the taste that predicts "
        f"and ranks; the other pictures show the ideal in it.{described} The small strokes below are the "
        "items.",
    )


def _section(picture: Picture) -> str:
    """A section with a picture in it."""
    file = BytesIO()
    picture.figure.savefig(file, format="png", dpi=DPI)
    width, height = (int(96 * inches) for inches in picture.figure.get_size_inches())
    source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
    image = f'<img src="{source}" alt="{escape(picture.alt)}" width="{width}" height="{height}">'
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>"
    return (
        f"<section>\n<h2>{escape(picture.heading)}</h2>\n<figure>\n{image}\n{caption}\n</figure>\n</section>"
    )


def _ranking_table(est: PairEstimator, table: ItemTable, ranking: Ranking) -> str:
    """All items from best to worst, up to 500, with the ranks they may have and their features."""
    decimals = [_decimals(column) for column in table.matrix.T]
    shown, names = len(ranking.names[:MOST_ROWS]), feature_names(est)
    heads = [
        "rank",
        "item",
        *([] if ranking.interval is None else [f"{percent(ranking.level)} interval"]),
        *names,
    ]
    rows = []
    for place in range(shown):
        values = zip(table.matrix[ranking.positions[place]], decimals, strict=True)
        likely = [] if ranking.interval is None else ["{} to {}".format(*ranking.interval[place])]
        cells = [str(place + 1), ranking.names[place], *likely, *(f"{v:.{digits}f}" for v, digits in values)]
        rows.append(_row(cells, "td"))
    more = ranking.n_items - shown
    rest = f'\n<p class="quiet">and {more} more</p>' if more > 0 else ""
    head, body = _row(heads, "th"), "\n".join(rows)
    content = f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>{rest}"
    return f"<section>\n<h2>The whole ranking</h2>\n{content}\n</section>"


def _row(cells: Sequence[str], tag: str) -> str:
    """A row of a table, in which all but the name, the second cell, are numbers."""
    kinds = ["" if k == 1 else ' class="number"' for k in range(len(cells))]
    texts = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(texts)}</tr>"


def _decimals(column: FloatArray) -> int:
    """As few decimals as lose nothing, up to four; else as many as tell a thousandth of the spread."""
    for digits in range(5):
        if np.array_equal(np.round(column, digits), column):
            return digits
    spread = float(np.ptp(column)) or 1.0
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 12))


def _footer(est: PairEstimator) -> str:
    n_answers = _n_answers(est)
    answers = "" if n_answers is None else f"{count(n_answers, 'answer')} · "
    return f"{type(est).__name__} · {answers}coombs {coombs.__version__} · {date.today().isoformat()}"


def _n_answers(est: PairEstimator) -> int | None:
    """Answers that were learned from, where the estimator knows."""
    data = getattr(est, "_data", None)
    return None if data is None else int((data.weights > 0).sum())


def _n_people(est: PairEstimator) -> int:
    """People whose answers were learned from, where the estimator knows."""
    users = getattr(getattr(est, "_data", None), "users", None)
    return 1 if users is None else len(set(users.tolist()))


def _target(path: str | os.PathLike[str]) -> Path:
    """The path, checked before the work is done."""
    try:
        target = Path(path)
    except TypeError as error:
        raise InputError(f"The path is {path!r}; it must be the name of a file.") from error
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}; make it, or give a path in one that exists.")
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file.")
    return target


def write(target: Path, text: str) -> Path:
    """The text in a file, which at any moment is the old one or the whole new one."""
    with files.replacing(target) as part:
        part.write_text(text, encoding="utf-8")
    return target
