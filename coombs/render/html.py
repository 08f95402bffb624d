"""One HTML file that tells what was learned: words, pictures and the whole ranking."""

from __future__ import annotations

import base64
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import coombs
from coombs.data import files
from coombs.data.catalogue import shown_texts
from coombs.data.tables import InputError, ItemTable, TableLike
from coombs.estimators.taste import TasteEstimator
from coombs.inference.posterior import LEVEL
from coombs.insights import explain
from coombs.insights.columns import numeric_names
from coombs.insights.curves import is_averaged, taste_curves_data
from coombs.insights.level_sets import feature_matrix_data, level_sets_data
from coombs.insights.selection import items_of
from coombs.insights.shapes import shapes_of
from coombs.insights.statements import decide_most
from coombs.insights.verdicts import judged
from coombs.insights.what_matters import Ranking, WhatMatters, ranking_data, what_matters_data
from coombs.render.captions import map_text
from coombs.render.draw_bars import draw_ranking, draw_what_matters
from coombs.render.draw_curves import draw_taste_curves
from coombs.render.draw_maps import draw_feature_matrix, draw_level_sets
from coombs.render.sections import Section, TableBlock, fragment
from coombs.render.sentences import NO_BEST, NOTHING, sections
from coombs.words import NO_PATTERN, count, no_more, ordinal, percent, together

if TYPE_CHECKING:
    from coombs.estimators.base import PairEstimator
    from coombs.insights.explanation import Explanation
    from coombs.insights.statements import FeatureVerdict

MOST_ROWS = 500
"""Items in the table of the ranking."""
BEST = 20
"""Items in the picture of the best."""
DPI = 150
"""Dots of a picture per inch."""


class Illustration(NamedTuple):
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
figure { margin: 1.5rem 0; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px;
  padding: .5rem; margin: 0 auto; }
figcaption, footer { color: var(--quiet); font-size: .9rem; }
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
    est : a fitted estimator; of a Population it is its own report
    path : of the file, whose folder must exist; None for the text itself
    title : of the page
    items : to rank and to show; by default the fitted ones
    has_pattern : whether the answers tell more than chance would; by default what the explanation says
    people : how many people's answers were taken together; by default as many as the answers name
    chosen : whether the questions were chosen by their answers; see `coombs.insights.explain`

    Returns
    -------
    The path of the file, or the HTML text

    Examples
    --------
    >>> from coombs import SingleStep, report
    >>> est = SingleStep([[0.0], [1.0], [2.0]]).fit([[1, 0], [1, 2]])
    >>> "<h1>Coffee</h1>" in report(est, title="Coffee")
    True
    """
    # Imported here because it takes this module's pages.
    from coombs.estimators.population import Population
    from coombs.render.people_html import people_report

    if isinstance(est, Population):
        return people_report(est, path, title=title)
    target = None if path is None else target_path(path)
    table, told = items_of(est, items), None
    if isinstance(est, TasteEstimator):
        told = explain(est, items=None if table is est.item_table_ else table, chosen=chosen)
    if has_pattern is None:
        has_pattern = told is None or told.has_pattern is not False
    if told is not None and not has_pattern:
        told = told.without_claims()
    answers = "" if told is None else count(told.n_answers or 0, "answer")
    nothing = NOTHING if table.matrix.shape[1] else NO_BEST
    heading, first = _heading(title, people or (told and told.n_people) or 1, has_pattern, nothing)
    about = f"Learned from {answers}. " if answers else ""
    parts: list[str] = []
    if has_pattern:
        summary, parts = _found(est, table, told)
        about += summary
    elif told is not None:
        # The heading says that there is none.
        parts = [fragment([one for one in sections(told) if one.title != NO_PATTERN])]
    footer = [type(est).__name__, answers, f"coombs {coombs.__version__}", date.today().isoformat()]
    body = [
        f"<header>\n<h1>{escape(heading)}</h1>",
        f"<p><strong>{escape(first)}</strong></p>" if first else "",
        f"<p>{about}</p>\n</header>\n<main>",
        *parts,
        f"</main>\n<footer>{' · '.join(filter(None, footer))}</footer>",
    ]
    page = document(heading, "\n".join(filter(None, body)))
    return page if target is None else write(target, page)


def _heading(title: str | None, people: int, has_pattern: bool, nothing: str) -> tuple[str, str]:
    """The title, and what must be known first: whose answers these are, and whether they say anything."""
    whose = together(people)
    if not has_pattern:
        called = NO_PATTERN if title is None else f"{NO_PATTERN}: {title}"
        return called, f"{whose}. {no_more(people)} {nothing}".removeprefix(". ")
    if title is None:
        return whose or "What was learned", ""
    return str(title), f"{whose}." if whose else ""


def _found(est: PairEstimator, table: ItemTable, told: Explanation | None) -> tuple[str, list[str]]:
    """A summary, and the words, the pictures and the whole ranking."""
    ranking = ranking_data(est, items=table)
    if told is not None and not told.features:
        first = f"Of {count(ranking.n_items, 'item')}, these come first: {_first(ranking)}."
        words = [section for section in sections(told) if section.title != "Ranking"]
        return first, [
            fragment(words),
            *picture_sections([_best(est, table)]),
            fragment([_ranking(table, ranking)]),
        ]
    verdicts = judged(est, LEVEL, table).verdicts if told is None else told.ideal
    matters = what_matters_data(est, items=table, verdicts=verdicts)
    words = [] if told is None else sections(told)
    return _summary(ranking, matters, verdicts), [
        fragment(words),
        *picture_sections(_drawn(est, table, matters, verdicts)),
        fragment([_ranking(table, ranking)]),
    ]


def picture_sections(drawn: Iterable[Illustration]) -> list[str]:
    """Sections with a picture each."""
    with warnings.catch_warnings():
        # A letter that no font here has is drawn as a box; the tables have it as it should be.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        return [_section(picture) for picture in drawn]


def document(title: str, body: str, more_style: str = "") -> str:
    """One self-contained page around a body."""
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="coombs {coombs.__version__}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{more_style}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _summary(ranking: Ranking, matters: WhatMatters, verdicts: Sequence[FeatureVerdict]) -> str:
    """What is best, and what decides most, as far as it is known what is wanted of it."""
    n, d = ranking.n_items, len(matters.features)
    shares = decide_most(zip(matters.features, matters.importance, strict=True), verdicts)
    most = ", ".join(f"{escape(name)} ({percent(share)})" for name, share in shares if share >= 0.005)
    decides = f" What decides most: {most}." if most and d > 1 else ""
    items = f"{count(n, 'item')} with {count(d, 'feature')}"
    return f"Of {items}, these come first: {_first(ranking)}.{decides}"


def _first(ranking: Ranking) -> str:
    """The best three, and how sure the first of them is."""
    best = ", ".join(f"<strong>{escape(name)}</strong>" for name in ranking.names[:3])
    worst = 1 if ranking.interval is None else int(ranking.interval[0, 1])
    return f"{best} (the first may as well be {ordinal(worst)})" if worst > 1 else best


def _drawn(
    est: PairEstimator, table: ItemTable, matters: WhatMatters, verdicts: Sequence[FeatureVerdict]
) -> Iterator[Illustration]:
    """What matters, the best items, curves where a smooth taste counts, level sets, and the matrix."""
    shares = zip(matters.features, matters.importance, strict=True)
    yield Illustration(
        "What matters, in a picture",
        draw_what_matters(matters).figure,
        f"How much each feature decides: {', '.join(f'{name} {percent(share)}' for name, share in shares)}.",
        "How much the judgement changes when an item gets another item's value of a feature and keeps the "
        "rest, as a share.",
    )
    yield _best(est, table)
    if is_averaged(est):
        yield _curves(est, table)
    mapped = [name for name in matters.features if name in numeric_names(est.model_)]
    if len(mapped) > 1:
        yield _map(est, table, mapped, verdicts)
        yield _matrix(est, table, verdicts)


def _best(est: PairEstimator, table: ItemTable) -> Illustration:
    """The best items, with the ranks that they may have."""
    best = ranking_data(est, items=table, top=BEST)
    return Illustration(
        "The best items",
        draw_ranking(best).figure,
        f"The best items in order: {', '.join(best.names)}.",
        "Nearer to the ideal point is better."
        if best.interval is None
        else "Dots are the ranks, bars the ranks that an item may have given the answers.",
    )


def _curves(est: PairEstimator, table: ItemTable) -> Illustration:
    """The taste along each feature, where it has more than an ideal."""
    curves = taste_curves_data(est, items=table)
    described = " Dashed is what the ideal alone says." if any(one.differs for one in curves) else ""
    return Illustration(
        "The taste along each feature",
        draw_taste_curves(curves, shapes_of(est, curves)),
        f"How much items are liked as one of {', '.join(one.feature for one in curves)} changes.",
        "How much items are liked as one feature changes and the others stay, averaged over items. Higher "
        "is liked more; the band is where the curve lies 9 times in 10. This is the taste that predicts "
        f"and ranks.{described} The small strokes below are the items.",
    )


def _map(
    est: PairEstimator, table: ItemTable, features: Sequence[str], verdicts: Sequence[FeatureVerdict]
) -> Illustration:
    """The two features that decide most."""
    x, y = features[:2]
    data = level_sets_data(est, x, y, items=table, verdicts=verdicts)
    return Illustration(
        f"{x} and {y}",
        draw_level_sets(data).figure,
        f"Level sets of the learned distance over {x} and {y}, with the items as dots.",
        map_text(data, "darker", "red mark"),
    )


def _matrix(est: PairEstimator, table: ItemTable, verdicts: Sequence[FeatureVerdict]) -> Illustration:
    """Every two of the features that decide most."""
    data = feature_matrix_data(est, items=table, verdicts=verdicts)
    names = ", ".join(profile.feature for profile in data.profiles)
    return Illustration(
        "Every two features",
        draw_feature_matrix(data),
        f"Level sets of the learned distance for every two of {names}.",
        "On the diagonal, how the distance changes along one feature alone: the steeper, the more it "
        "matters. The small strokes below are the items. Red is only what the answers support: a line and a "
        "band where one feature has a best value, a mark where two have one.",
    )


def _section(picture: Illustration) -> str:
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


def _ranking(table: ItemTable, ranking: Ranking) -> Section:
    """All items from best to worst, up to 500, with the ranks they may have and their features."""
    columns, texts = shown_texts(table)
    likely = [] if ranking.interval is None else [f"{percent(ranking.level)} interval"]
    rows = []
    for place, name in enumerate(ranking.names[:MOST_ROWS]):
        ends = [] if ranking.interval is None else ["{} to {}".format(*ranking.interval[place])]
        rows.append([str(place + 1), name, *ends, *texts[ranking.positions[place]]])
    heading = ["rank", "item", *likely, *columns]
    more = ranking.n_items - len(rows)
    rest = [f"and {more} more"] if more > 0 else []
    return Section("The whole ranking", [TableBlock("rl" + "r" * (len(heading) - 2), heading, rows), *rest])


def target_path(path: str | os.PathLike[str]) -> Path:
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
