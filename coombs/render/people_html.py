"""One HTML file about many people: words, tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from html import escape
from typing import TYPE_CHECKING

import coombs
from coombs.data import naming
from coombs.estimators.population import Population
from coombs.insights import people_pictures
from coombs.insights.people_explanation import PeopleExplanation, names_items
from coombs.insights.people_groups import groups_of
from coombs.language import Translatable
from coombs.render import draw_people
from coombs.render.html import Illustration, document, picture_sections, report, target_path, write
from coombs.render.people_text import people_sections
from coombs.render.sections import Section, TableBlock, fragment
from coombs.words import NO_PATTERN, count, listed, percent

if TYPE_CHECKING:
    import os
    from pathlib import Path

MOST_ROWS = 500
"""People in the table of everybody."""


def people_report(
    population: Population, path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Path | str:
    """What people share and where they differ; of one person alone, the report of `coombs.report`."""
    if population._alone is not None:
        return report(population._alone, path, title=title)
    target, told = None if path is None else target_path(path), population.explain()
    assert isinstance(told, PeopleExplanation)
    heading = str("" if title is None else title) or f"What {told.n_people} people want"
    if not told.has_pattern:
        heading = NO_PATTERN if title is None else f"{NO_PATTERN}: {title}"
    words = [one for one in people_sections(told) if not (one.title == NO_PATTERN and told.has_pattern)]
    if not told.has_pattern:
        words = [Section("", words[0].blocks)]
    parts = [fragment(words)]
    if told.has_pattern:
        parts += picture_sections(_drawn(population))
        parts.append(fragment([everybody(population)]))
    answers = count(told.n_answers, "answer")
    footer = ["Population", f"{told.n_people} people", answers, f"coombs {coombs.__version__}"]
    body = [
        f"<header>\n<h1>{escape(heading)}</h1>\n</header>\n<main>",
        *parts,
        f"</main>\n<footer>{' · '.join([*footer, date.today().isoformat()])}</footer>",
    ]
    page = document(heading, "\n".join(body))
    return page if target is None else write(target, page)


def map_caption(data: people_pictures.PeopleMap) -> tuple[Translatable, ...]:
    """What a map of people shows, and who is not on it, in sentences."""
    parts = [
        Translatable("A dot is what a person would like best.")
        if data.is_ideal
        else Translatable(
            "A dot is what a person wants of the two: right, and up, more is better; left, and down, less. "
            "In the middle it does not matter."
        ),
        Translatable("It is the best guess; with few answers it stays near everybody's."),
    ]
    if len(data.means) > 1:
        parts.append(Translatable("Large signs are the middles of the groups."))
    if data.outside:
        beyond = Translatable(
            "{n} ideal beyond the edge, far from all items.|{n} ideals beyond the edge, far from all items.",
            n=data.outside,
        )
        parts.append(beyond)
    if data.without:
        parts.append(Translatable("Without an ideal: {people}.", people=data.without))
    return tuple(parts)


def _drawn(population: Population) -> Iterator[Illustration]:
    """The band, the map, agreement and the consensus, as far as there are features and items."""
    if len(population._scaler.columns):
        band = people_pictures.people_band_data(population)
        yield Illustration(
            "What people want of each feature",
            draw_people.draw_people_band(band).figure,
            f"How weights of {', '.join(band.features)} are distributed among people.",
            "Right of the line more is better, left of it less. The dot is the mean of all people with its "
            "interval; bars are where people are, a person never asked among them.",
        )
    if len(population._scaler.columns) > 1:
        places = people_pictures.people_map_data(population)
        yield Illustration(
            "People on a map",
            draw_people.draw_people_map(places).figure,
            f"People by {places.features[0]} and {places.features[1]}.",
            " ".join(map_caption(places)),
        )
    agreement = people_pictures.people_agreement_data(population)
    yield Illustration(
        "Who agrees with whom",
        draw_people.draw_people_agreement(agreement).figure,
        f"How far the rankings of {len(agreement.names)} people agree, by group.",
        "The lighter, the more pairs of items two people rank alike; half is what strangers have.",
    )
    if names_items(population):
        best = people_pictures.consensus_ranking_data(population)
        yield Illustration(
            "The best for all, and where people place it",
            draw_people.draw_consensus_ranking(best).figure,
            f"Places of {', '.join(best.items)}.",
            "By the mean place in everybody's ranking (Borda). Long bars are what people disagree about.",
        )


def everybody(population: Population, most: int = MOST_ROWS) -> Section:
    """A table of all people: answers, consistency, group, best item."""
    frame = population.to_frame()
    grouped = population.n_groups_ > 1
    rows = [
        [
            naming.text(who),
            str(answers),
            percent(consistency),
            *([f"{group} ({percent(likely)})"] if grouped else []),
            *([naming.text(best)] if names_items(population) else []),
        ]
        for who, answers, consistency, group, likely, best in zip(
            *(frame[name][:most] for name in COLUMNS), strict=True
        )
    ]
    heading = ["person", "answers", "consistency", *(["group"] if grouped else [])]
    heading += ["best item"] if names_items(population) else []
    more = len(frame) - len(rows)
    rest = [f"and {more} more: to_frame() has all"] if more > 0 else []
    note = "Consistency is the mean probability of choosing what one likes better of two items."
    align = "lrr" + "l" * (len(heading) - 3)
    return Section("Everybody", [TableBlock(align, heading, rows), *rest, note])


COLUMNS = ("user", "answers", "consistency", "group", "group probability", "best")
"""Of `to_frame`, in the table of everybody."""


def group_sections(population: Population, top: int, most: int = 12) -> list[Section]:
    """A section a group: who is in it, what it wants, what is best for it."""
    pages = []
    for one in groups_of(population):
        if not one.people:
            continue
        names = listed([naming.text(name) for name in one.members], most)
        best = listed(one.best[:top]) if one.best else "nothing"
        wants = f"It wants {one.words}." if one.words else "What it wants is not known yet."
        title = f"Group {one.number}: {one.people} of {len(population.people_)}"
        pages.append(Section(title, [f"{names}.", wants, f"Best for them: {best}."]))
    return pages
