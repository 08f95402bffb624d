"""A person who is looking for a flat: simulated, so that what is learned can be held against the truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources

import numpy as np

from coombs.evaluation import kendall_tau_distance, top_k_fraction
from coombs.model import Model
from coombs.progress import ProgressBar
from coombs.render.sections import Section, TableBlock
from coombs.simulate import draw_answers
from coombs.study import Result, Study, create_study
from coombs.words import count

UNITS = {"rent": "EUR a month", "size": "m2", "commute": "minutes", "floor": ""}
"""Of each feature."""
SPREADS = np.array([190.0, 19.0, 12.5, 2.0])
"""Of each feature, in its units."""
DIRECTIONS = np.array(
    [[1.0, -0.6, 0.0, 0.0], [0.5, 0.9, 0.0, 0.0], [0.0, 0.0, 0.8, 0.0], [0.0, 0.0, 0.0, 0.5]]
)
"""What counts, in units of the spreads: rent less what the size is worth, size, commute, floor."""
SURENESS = 2.0
"""How sure the person is: what the squared distances are multiplied by."""
TRUTH = Model(
    SURENESS * (DIRECTIONS / SPREADS).T @ (DIRECTIONS / SPREADS),
    np.array([720.0, 72.0, 15.0, 3.0]),
    tuple(UNITS),
    SPREADS,
)
"""What the simulated person wants, and how much; nothing but their answers is ever told."""


@contextmanager
def catalogue_file() -> Iterator[str]:
    """The path of the catalogue that ships with the package: 64 flats of a made-up town."""
    with resources.as_file(resources.files("coombs") / "data" / "flats.csv") as path:
        yield str(path)


def interview(questions: int, seed: int) -> Study:
    """A study of the catalogue, kept in memory, in which the simulated person has answered."""
    with catalogue_file() as path:
        study = create_study(path, "flats", storage="memory:", seed=seed)
    distances, rng = TRUTH.distance(study.catalogue.table), np.random.default_rng(seed)
    with ProgressBar(questions, "questions") as bar:
        for _ in range(questions):
            if (question := study.ask()) is None:
                break
            (answer,) = draw_answers(distances, np.array([question.positions]), "logistic", rng)
            study.tell(question, "left" if answer > 0 else "right")
            bar.advance()
    return study


def told(study: Study, seconds: float) -> tuple[Result, list[Section]]:
    """What the answers of the simulated person say, and a page on it and how near it comes to the truth."""
    result, table = study.result(), study.catalogue.table
    # A simulated person needs no time to read.
    result = replace(result, response_style=replace(result.response_style, is_hasty=False))
    n = result.n_answers
    asked = f"{count(n, 'question')} about {count(study.n_items, 'flat')}"
    found, true = result.model.distance(), TRUTH.distance(table)
    errors = [
        ("pairs of flats in the wrong order", f"{kendall_tau_distance(found, true):.1%}"),
        ("of the true ten best, found", f"{top_k_fraction(found, true, 10):.0%}"),
    ]
    sections = [
        Section("", [f"A simulated person who looks for a flat has answered {asked}."]),
        *result.sections(),
        Section(
            "The truth",
            [
                f"A question took {1e3 * seconds / n:.0f} ms; this is how near the answers came.",
                *([_ideal(result)] if result.has_pattern else []),
                TableBlock("lr", ("ranking", "found"), errors),
            ],
        ),
    ]
    return result, sections


def _ideal(result: Result) -> TableBlock:
    """What is known of the ideal beside the true one, in the user's units."""
    rows = []
    for one, true in zip(result.told.ideal, TRUTH.ideal_point, strict=True):
        value, between = one.verdict, ""
        if one.value is not None:
            value = f"{one.value:.1f}"
            between = "" if one.low is None else f"{one.low:.1f} and {one.high:.1f}"
        rows.append((one.feature, value, between, f"{true:.1f}", UNITS[one.feature]))
    return TableBlock("lrrrl", ("ideal flat", "learned", "between", "truth", ""), rows)
