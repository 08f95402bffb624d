"""What one person's answers say, as plain data for a page: a fit, and on demand the words about it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import naming
from coombs.insights.selection import item_names
from coombs.insights.statements import NOT_KNOWN, SWEET_SPOT
from coombs.insights.what_matters import what_matters_data
from coombs.study import Answer, Respondent, Result
from coombs.web.cards import Column
from coombs.words import percent

if TYPE_CHECKING:
    from coombs.insights import Explanation

MOST_ROWS = 500
"""Items of a ranking on a page; the download has all."""
BESIDE = 4
"""Best items beside the ideal."""
FITS = 0.9
"""The share of the answers that agree with what was learned from which on they are said to fit together."""
MOST_UNKNOWNS, LEAST_PROBES = 5, 5
"""Unknowns that are told, and random questions from which on a share of them says something."""
HARD = ("pieces", "unseen direction", "no intervals")
"""Unknowns that only a statistician would make something of: the report has them."""
CAUTIONS = {
    "chains apart": "The numbers on this page are still shaky; some more answers will settle them.",
    "not converged": "The numbers on this page are still shaky; some more answers will settle them.",
    "anti-ideal": "In some respect the middle seems to be the worst, and both ends better.",
    "coin": "The answers could not be predicted any better than by tossing a coin.",
    "several tastes": "More than a fifth of the answers go against what was learned: more than one taste "
    "may be behind them, or something that no column says.",
}


class Place(NamedTuple):
    """An item's place in the ranking; `low` and `high` are the ranks it may have, `top` its chance."""

    rank: int
    position: int
    name: str
    low: int
    high: int
    top: float


class Matter(NamedTuple):
    """How much a feature decides, from `low` to `high`, and what is wanted of it."""

    feature: str
    share: float
    low: float
    high: float
    wish: str


class IdealRow(NamedTuple):
    """A feature of the best items, and what is wanted of it: a value if there is a best one."""

    feature: str
    ideal: str
    is_known: bool
    between: str
    values: tuple[str, ...]


class Surprise(NamedTuple):
    """An answer that the rest speaks against, and its number, by which it is corrected."""

    winner: str
    loser: str
    probability: str
    answer: int


class Findings:
    """A fit to a respondent's answers; `told`, the words, takes longer and is made when asked for."""

    def __init__(self, respondent: Respondent, answers: Sequence[Answer]) -> None:
        self.respondent, self.answers = respondent, tuple(answers)
        self.study_id = respondent.study.record.id
        self.k, self.goal = respondent.study.settings.goal(respondent.study.n_items)
        with warnings.catch_warnings():
            # What a fit is not sure of stands in the explanation.
            warnings.simplefilter("ignore")
            self.result: Result = respondent.result()

    def is_of(self, answers: Sequence[Answer]) -> bool:
        """Whether these are the answers that it came from."""
        return [one.id for one in self.answers] == [one.id for one in answers]

    @cached_property
    def told(self) -> Explanation:
        """The explanation, which may take a second."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.result.told

    @property
    def has_pattern(self) -> bool:
        """Whether there is more in the answers than chance."""
        return self.result.has_pattern

    @property
    def is_more(self) -> bool:
        """Whether there are pairs left to ask about."""
        return len({frozenset(one.positions) for one in self.answers}) < self.respondent.study.n_pairs

    @property
    def fit_together(self) -> bool:
        """Whether (nearly) all answers agree with what was learned."""
        return self.result.agreement >= FITS

    @property
    def predicted(self) -> float | None:
        """The share of answers to random questions that were predicted, if those are not too few."""
        found = self.result
        return found.probes_right / found.n_probes if found.n_probes >= LEAST_PROBES else None

    @property
    def cautions(self) -> list[str]:
        """What should make one careful, for people."""
        return list(dict.fromkeys(CAUTIONS[kind] for kind in self.told.trust.cautions if kind in CAUTIONS))

    @property
    def unknowns(self) -> list[str]:
        """What the answers do not tell, for people."""
        few = "These are few answers for so many features, so that much here is a guess."
        told = [one for one in self.told.unknowns if one.kind not in HARD]
        return [few if one.kind == "few answers" else one.text for one in told][:MOST_UNKNOWNS]

    @cached_property
    def ranking(self) -> list[Place]:
        """All items, best first."""
        model, names = self.result.model, self.respondent.study.catalogue.names
        order = np.argsort(model.distances_, kind="stable").tolist()
        ends, chances = model.rank_interval().tolist(), model.top_probability(self.k).tolist()
        return [
            Place(rank, i, names[i], ends[i][0], ends[i][1], chances[i]) for rank, i in enumerate(order, 1)
        ]

    @cached_property
    def matters(self) -> list[Matter]:
        """Features, the most important first."""
        found = what_matters_data(self.result.model, verdicts=self.told.ideal)
        ends = np.repeat(found.importance[:, None], 2, axis=1) if found.interval is None else found.interval
        rows = zip(found.features, found.importance.tolist(), ends.tolist(), found.wishes, strict=True)
        return [Matter(name, share, low, high, wish) for name, share, (low, high), wish in rows]

    @property
    def best(self) -> list[Place]:
        """The items beside the ideal."""
        return self.ranking[:BESIDE]

    def ideal(self) -> list[IdealRow]:
        """The ideal beside the best items, the most important feature first."""
        catalogue = self.respondent.study.catalogue
        matrix, names = catalogue.table.matrix, catalogue.features
        wanted = {one.feature: one for one in self.told.ideal}
        rows = []
        for matter in self.matters:
            column, one = Column(matrix[:, names.index(matter.feature)]), wanted.get(matter.feature)
            text, between = matter.wish, ""
            if one is not None and one.verdict == SWEET_SPOT and one.value is not None:
                text = column.ideal(one.value)
                between = "" if one.low is None or one.high is None else column.between(one.low, one.high)
            values = tuple(column.text(column.values[place.position]) for place in self.best)
            is_known = one is not None and one.verdict != NOT_KNOWN
            rows.append(IdealRow(matter.feature, text, is_known, between, values))
        return rows

    def surprises(self) -> list[Surprise]:
        """Answers that the rest speaks against, which can still be corrected."""
        labels = item_names(self.respondent.study.catalogue.table)
        given = {_winner_loser(answer): answer for answer in self.answers}
        found = []
        for one in self.told.trust.surprises:
            key = labels.index(one.winner), labels.index(one.loser)
            if key in given:
                answer = given[key]
                winner, loser = _names(answer)
                found.append(Surprise(winner, loser, percent(one.probability), answer.id))
        return found

    def plain(self) -> dict[str, Any]:
        """For a program; without a pattern the order of `ranking` is no better than chance."""
        found, ideal = self.result, self.result.ideal_point.tolist()
        features, labels = self.respondent.study.catalogue.features, self.respondent.study.catalogue.labels
        return {
            "has_pattern": found.has_pattern,
            "n_answers": found.n_answers,
            "conduct": asdict(found.conduct),
            "n_probes": found.n_probes,
            "probes_right": found.probes_right,
            "top": self.k,
            "ranking": [
                {
                    "item": naming.for_json(labels[place.position]),
                    "rank": place.rank,
                    "rank_low": place.low,
                    "rank_high": place.high,
                    "top_probability": place.top,
                }
                for place in self.ranking
            ],
            "ideal_point": None
            if not found.has_pattern
            else {
                name: value if np.isfinite(value) else None
                for name, value in zip(features, ideal, strict=True)
            },
            "what_matters": [matter._asdict() for matter in self.matters] if found.has_pattern else [],
        }


def _winner_loser(answer: Answer) -> tuple[int, int]:
    """Positions of the preferred item and the other; a tie or a skip is no such pair."""
    left, right = answer.positions
    pairs = {"left": (left, right), "right": (right, left)}
    return pairs.get(answer.choice, (-1, -1))


def _names(answer: Answer) -> tuple[str, str]:
    left, right = naming.text(answer.left), naming.text(answer.right)
    return (left, right) if answer.choice == "left" else (right, left)
