"""An explanation as a page of text or as HTML: one list of sections, written out in two ways."""

from __future__ import annotations

import html
import math
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from coombs.words import NO_PATTERN as NO_PATTERN
from coombs.words import count, no_more, percent, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from coombs.insights.explanation import Explanation, Feature, Ideal, Slope, Trust

WIDTH = 96
LONGEST = (60, 28)
NARROWEST = 12
"""Characters of a line; of a cell of a table, and if that is too wide; of a heading, at least."""
NOTHING = "So there is no ideal, no best item and no trade-off to tell."
"""What follows where there is no pattern."""
TOLD_SMOOTH = 0.05
"""Share of a smooth taste in the average from which on it is told."""
TOLD_EFFECTS = 0.2
"""Spread of the items' own effects, relative to that of what the features say, from which on it is told."""
MANY_LAPSES = 0.03
"""Share of answers given at random from which on it is told, if it is surely more."""
CLEARLY = 1.0
"""With n answers, a log loss is clearly better than a coin's if it is less by this over sqrt n."""
WORST = "the middle is the worst"
"""The verdict on a feature that has a worst value."""
KINDS = {
    "items": "each item by itself (Bradley-Terry)",
    "none": "more or less is better (linear)",
    "identity": "an ideal, all features alike (Euclidean)",
    "diagonal": "an ideal, each feature with its weight",
    "full": "an ideal, features act together",
    "signed": "an ideal or a worst point, features act together",
    "smooth": "anything smooth (Gaussian process)",
}
JUDGED = {
    "items": "No feature varies, so that items are judged by themselves alone.",
    "none": "The model has more or less of each feature better, without an ideal in between.",
    "identity": "The model judges items by their distance from an ideal, all features alike.",
    "diagonal": "The model judges items by their distance from an ideal, each feature with its own weight.",
    "full": "The model judges items by their distance from an ideal, features acting together.",
    "signed": "The model judges items by an ideal or a worst point, features acting together.",
    "smooth": "The model is a taste of any smooth shape, without an ideal.",
}


class Table(NamedTuple):
    """A small table; `align` has an l or an r for each column."""

    align: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


class Points(NamedTuple):
    """A list of sentences."""

    sentences: list[str]


Block: TypeAlias = str | Table | Points


class Section(NamedTuple):
    """A heading and what stands under it: paragraphs, lists and tables."""

    title: str
    blocks: list[Block]


def to_text(told: Explanation) -> str:
    """A page of plain text."""
    return page(sections(told))


def page(sections: Iterable[Section]) -> str:
    """Sections as plain text."""
    return "\n\n".join(map(_section_text, sections))


def to_html(told: Explanation) -> str:
    """A fragment of HTML, one <section> for each heading; all that a user named is escaped."""
    return fragment(sections(told))


def fragment(sections: Iterable[Section]) -> str:
    """Sections as HTML."""
    return "\n".join(map(_section_html, sections))


def sections(told: Explanation) -> list[Section]:
    """What is on the page; where there is no pattern, that alone."""
    if not told.has_pattern:
        return [
            Section(NO_PATTERN, list(_no_pattern(told))),
            *([Section("What is not known", list(_unknowns(told)))] if told.unknowns else []),
            Section("How far to trust it", list(_trust(told))),
        ]
    return [
        Section("What matters", list(_matters(told))),
        Section("Trade-offs", list(_trade_offs(told))),
        Section("What is not known", list(_unknowns(told))),
        Section("How far to trust it", list(_trust(told))),
        *([Section("Ranking", list(_ranking(told)))] if told.ranking else []),
    ]


def _no_pattern(told: Explanation) -> Iterator[Block]:
    losses = [kind.log_loss for kind in told.trust.kinds]
    if losses and min(losses) < math.log(2) - CLEARLY / math.sqrt(told.n_answers):
        yield f"{_source(told)} For this kind of preference they tell no more than tossing a coin would."
        yield f"{NOTHING} Another kind of preference predicts them: see below."
    else:
        yield f"{_source(told)} {no_more(told.n_people, 'they')}"
        yield NOTHING if told.n_people > 1 else f"{NOTHING} More answers may show a pattern."


def _source(told: Explanation) -> str:
    n = f"{count(told.n_answers, 'answer')} about {count(told.n_items, 'item')}"
    people = f" by {together(told.n_people)}," if told.n_people > 1 else ""
    return f"From {n}{people} with {count(len(told.features), 'feature')}."


def _matters(told: Explanation) -> Iterator[Block]:
    averaged = told.trust.smooth_weight >= TOLD_SMOOTH and told.metric != "smooth"
    yield f"{_source(told)} {_averaged(told.trust) if averaged else JUDGED[told.metric]}"
    yield from _ideal(told)
    if told.shapes:
        yield "Along single features the taste has shapes that no ideal has:"
        yield Points([f"{one.text}." for one in told.shapes])
    if told.slopes:
        heading = ("feature", "standard deviation", "log-odds for one more")
        yield Table("lrr", heading, [_slope(one) for one in told.slopes])


def _averaged(trust: Trust) -> str:
    """What predicts, what the words describe of it, and what they lose."""
    ideal, smooth = percent(1 - trust.smooth_weight), percent(trust.smooth_weight)
    text = f"The model averages an ideal ({ideal}) with any smooth taste ({smooth}). The words describe the"
    if trust.smooth_weight > 1 - TOLD_SMOOTH:
        text = "The answers speak for a smooth taste rather than an ideal. The words describe the best"
    if not math.isfinite(trust.description_accuracy):
        return f"{text} ideal."
    alone, both = percent(trust.description_accuracy), percent(trust.accuracy)
    return f"{text} ideal, which predicts {alone} of the answers by itself; the model, {both}."


def _slope(slope: Slope) -> Sequence[str]:
    return slope.feature, short(slope.deviation), f"{slope.gain:+.2f}"


def _without_blanks(table: Table) -> Table:
    """The table without columns that say nothing."""
    kept = [k for k in range(len(table.heading)) if any(row[k] not in ("", "-") for row in table.rows)]
    rows = [[row[k] for k in kept] for row in table.rows]
    return Table("".join(table.align[k] for k in kept), [table.heading[k] for k in kept], rows)


def _ideal(told: Explanation) -> Iterator[Block]:
    if not told.ideal:
        yield "There is none: the features say nothing."
        return
    # A linear preference has no ideal, a convex program no intervals.
    heading = (
        "feature",
        "weight",
        "what is wanted",
        "best at",
        f"{100 * told.level:g} % interval",
        "items have",
    )
    ranked = sorted(zip(told.features, told.ideal, strict=True), key=lambda pair: -pair[1].share)
    rows = [
        (
            one.feature,
            percent(one.share),
            _verdict(feature, one),
            feature.text(one.value) if one.verdict == "sweet spot" else "-",
            _between(feature, one.low, one.high) if one.verdict == "sweet spot" else "-",
            f"{_value(feature, feature.lowest)} to {_value(feature, feature.highest)}",
        )
        for feature, one in ranked
    ]
    yield _without_blanks(Table("lrlrrr", heading, rows))


def _verdict(feature: Feature, one: Ideal) -> str:
    """The verdict; of a worst value, where that is."""
    return f"{one.verdict}, about {feature.text(one.value)}" if one.verdict == WORST else one.verdict


def _between(feature: Feature, low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{feature.text(low)} to {feature.text(high)}"


def _trade_offs(told: Explanation) -> Iterator[Block]:
    if told.trade_offs:
        yield f"At {told.trade_off_item}, for small changes:"
        yield Points([f"{one.text}." for one in told.trade_offs])
    else:
        yield f"None to tell at {told.trade_off_item}."


def _unknowns(told: Explanation) -> Iterator[Block]:
    if told.unknowns:
        yield Points([one.text for one in told.unknowns])
    else:
        yield "Nothing stands out."


def _trust(told: Explanation) -> Iterator[Block]:
    trust = told.trust
    yield from _accuracy(told)
    if trust.kinds:
        yield from _kinds(told)
    if trust.ceiling < 1 or trust.asked_again:
        yield _ceiling(trust)
    if not told.has_pattern:
        return
    if trust.lapse_low > MANY_LAPSES and told.n_people == 1:
        ends = dict.fromkeys(map(percent, (trust.lapse_low, trust.lapse_high)))
        yield f"{' to '.join(ends)} of the answers look as if they were given at random."
    if told.n_people > 1:
        yield (
            f"These are {told.n_people} people together: where they differ, the model is about none of them, "
            "and their differences look like answers given at random."
        )
    if trust.effects is not None and trust.effects >= TOLD_EFFECTS:
        yield (
            "Items differ by more than their features tell: the spread of their own effects is "
            f"{trust.effects:.2f} times that of what the features say."
        )
    if trust.warnings:
        yield Points([f"Careful: {warning}" for warning in trust.warnings])
    if trust.surprises:
        yield "Surprising answers:"
        yield Points([f"{one.text}." for one in trust.surprises])


def _accuracy(told: Explanation) -> Iterator[Block]:
    """How well answers are predicted that were not learned from."""
    trust = told.trust
    if trust.basis == "left out":
        yield (
            f"{percent(trust.accuracy)} of the answers are predicted from the others (a coin: 50 %); "
            f"log loss {trust.log_loss:.3f} (a coin: 0.693)."
        )
    elif trust.basis == "evidence":
        yield (
            f"About {percent(trust.accuracy)} of answers to new questions should be predicted "
            f"(a coin: 50 %); log loss {trust.log_loss:.3f} (a coin: 0.693)."
        )
    elif trust.basis == "withheld":
        yield "There is nothing to put to the test."
    elif told.intervals:
        yield "A single pair was compared, so that nothing can be put to the test."
    elif math.isfinite(trust.agreement):
        yield (
            f"The model agrees with {percent(trust.agreement)} of the answers it was learned from; how well "
            "it predicts other answers is not known."
        )


def _kinds(told: Explanation) -> Iterator[Block]:
    yield "How well each kind of preference predicts answers from the others:"
    rows = [
        (kind.name, percent(kind.accuracy), f"{kind.log_loss:.3f}", "in use" if kind.in_use else "")
        for kind in told.trust.kinds
    ]
    yield Table("lrrl", ("kind of preference", "right", "log loss", ""), rows)
    if not told.intervals:
        yield "These are of posteriors, not of the convex program in use."
    if told.trust.advice:
        yield told.trust.advice


def _ceiling(trust: Trust) -> str:
    if trust.ceiling < 1:
        causes = [(trust.contradicted, "contradicted pair"), (trust.ties, "tie")]
        both = " and ".join(count(n, noun) for n, noun in causes if n)
        return f"With {both}, no model can agree with more than {percent(trust.ceiling)}."
    if trust.asked_again:
        return f"No answer contradicts another ({count(trust.asked_again, 'pair')} asked more than once)."
    return "No pair was asked more than once, so that contradictions cannot show."


def _ranking(told: Explanation) -> Iterator[Block]:
    plain = told.metric in ("identity", "diagonal", "full") and told.trust.effects is None
    distance = "distance" if plain else "score"
    rows = [
        (one.item, one.text, f"{one.distance:.3g}", *map(_value, told.features, one.values))
        for one in told.ranking
    ]
    heading = ("item", "rank", distance, *(feature.name for feature in told.features))
    yield Table("llr" + "r" * len(told.features), heading, rows)


def _value(feature: Feature, value: float) -> str:
    return f"{value:.0f}" if feature.whole and value == round(value) else feature.text(value)


# Text.


def _section_text(section: Section) -> str:
    blocks = [_block_text(block) for block in section.blocks]
    return "\n".join([section.title, "-" * len(section.title), *blocks])


def _block_text(block: Block) -> str:
    if isinstance(block, Table):
        return _table_text(block)
    if isinstance(block, Points):
        return "\n".join(_wrapped(sentence, "- ", "  ") for sentence in block.sentences)
    return _wrapped(block)


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(_printable(text), WIDTH, initial_indent=first, subsequent_indent=rest)


def _table_text(table: Table) -> str:
    """Aligned columns, as many as a line holds; long cells go over several lines."""
    for longest in LONGEST:
        columns = [
            _column(*column, longest=longest) for column in zip(table.heading, *table.rows, strict=True)
        ]
        widths = [max(len(line) for cell in column for line in cell) for column in columns]
        fit = sum(sum(widths[:k]) + 2 * k <= WIDTH for k in range(1, len(widths) + 1))
        if fit == len(widths):
            break
    shape = list(zip(widths, table.align, strict=True))[: max(fit, 1)]
    lines = [line for row in zip(*columns, strict=True) for line in _row_text(row, shape)]
    left_out = len(columns) - len(shape)
    return "\n".join([*lines, f"  (and {count(left_out, 'column')} more)"] if left_out else lines)


def _column(heading: str, *body: str, longest: int) -> list[list[str]]:
    """Lines of each cell; where room is scarce, the heading is no wider than it must be."""
    cells = [textwrap.wrap(_printable(cell), longest) or [""] for cell in body]
    width = max(len(line) for cell in cells for line in cell)
    width = longest if longest == max(LONGEST) else max(width, NARROWEST)
    return [textwrap.wrap(_printable(heading), width) or [""], *cells]


def _row_text(row: Sequence[list[str]], shape: list[tuple[int, str]]) -> Iterator[str]:
    for line in zip_longest(*row[: len(shape)], fillvalue=""):
        cells = zip(line, shape, strict=True)
        padded = (cell.rjust(width) if align == "r" else cell.ljust(width) for cell, (width, align) in cells)
        yield "  " + "  ".join(padded).rstrip()


def _printable(text: str) -> str:
    """Without what would break a line or command a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


# HTML.


def _section_html(section: Section) -> str:
    blocks = "\n".join(_block_html(block) for block in section.blocks)
    return f"<section>\n<h2>{html.escape(section.title)}</h2>\n{blocks}\n</section>"


def _block_html(block: Block) -> str:
    if isinstance(block, Table):
        return _table_html(block)
    if isinstance(block, Points):
        return f"<ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in block.sentences)}</ul>"
    return f"<p>{html.escape(block)}</p>"


def _table_html(table: Table) -> str:
    head, body = _row_html("th", table, table.heading), [_row_html("td", table, row) for row in table.rows]
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def _row_html(tag: str, table: Table, row: Sequence[str]) -> str:
    style = {"l": "left", "r": "right"}
    cells = [
        f'<{tag} style="text-align: {style[align]}">{html.escape(cell)}</{tag}>'
        for align, cell in zip(table.align, row, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


# Words.


def short(size: float) -> str:
    """Two digits of a number that is not negative, or all before the point."""
    if size == 0 or not 1e-5 <= size < 1e7:
        return f"{size:.2g}"
    text = f"{size:.{max(0, 1 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
