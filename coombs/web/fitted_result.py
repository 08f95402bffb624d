"""What one person's answers say, as plain data for a page or a program."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import shown_cells
from coombs.data.tables import FloatArray
from coombs.insights.item_comparison import ItemComparison, compare_positions
from coombs.insights.selection import item_names
from coombs.insights.statements import BY_LEVEL, NOT_KNOWN, SWEET_SPOT, decide_most
from coombs.insights.what_matters import RankDraws, what_matters_data
from coombs.language import Translatable
from coombs.study import Answer, Respondent, Result
from coombs.words import grouped, listed, number, percent, plain, with_unit, within

N_REASONS = 2
"""Items before which it is said why the best one comes."""
N_BEST = 4
"""Best items that are shown beside the ideal."""
FITS = 0.9
"""Share of the answers that agree with the model, from which on they are said to fit together."""
MOST_UNKNOWNS = 5
"""Unknowns that are listed."""
LEAST_PROBES = 5
"""Random questions from which on the share that was predicted says something."""
TECHNICAL = ("pieces", "unseen direction", "no intervals")
"""Unknowns that only a statistician could use: the report has them."""
SHAKY = Translatable("The numbers on this page are still shaky; some more answers will settle them.")
"""Of a computation that is not settled."""
CAUTIONS = {
    "chains apart": SHAKY,
    "not converged": SHAKY,
    "anti-ideal": Translatable("In some respect the middle seems to be the worst, and both ends better."),
    "coin": Translatable("The answers could not be predicted any better than by tossing a coin."),
    "several tastes": Translatable(
        "More than a fifth of the answers go against what was learned: there may be more than one taste "
        "behind them, or something that no column shows."
    ),
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


class CorrectableAnswer(NamedTuple):
    """An answer that the rest speaks against, and its id, by which it is corrected."""

    winner: str
    loser: str
    probability: str
    answer: int


class Column:
    """A feature of all items, and its values as people write them."""

    def __init__(self, values: FloatArray, unit: str = "") -> None:
        self.values, self.unit = values, unit
        self.lowest, self.highest = float(values.min()), float(values.max())

    def text(self, value: float) -> str:
        """A value that an item has."""
        return grouped(with_unit(plain(value), self.unit))

    def ideal(self, value: float) -> str:
        """A value that need not be an item's: not beyond them all, where only its side is known."""
        if not np.isfinite(value) or self.lowest == self.highest:
            return "-"
        if value < self.lowest:
            return Translatable("{value} or less", value=self.text(self.lowest))
        if value > self.highest:
            return Translatable("{low} or more", low=self.text(self.highest))
        return self._between_items(value)

    def between(self, low: float, high: float) -> str:
        """Where the ideal may lie, as far as items go."""
        if not np.isfinite([low, high]).all():
            return ""
        return within((low, high), (self.lowest, self.highest), self._between_items)

    def _between_items(self, value: float) -> str:
        return grouped(with_unit(number(value, self.highest - self.lowest), self.unit))


class FittedResult:
    """A fit to a respondent's answers and its explanation; both take a second.

    `ranking` has all items, best first; `matters` the features, the most important first. `result` is that of
    the same answers where another process has it.
    """

    def __init__(
        self, respondent: Respondent, answers: Sequence[Answer], result: Result | None = None
    ) -> None:
        self.respondent, self.answers = respondent, tuple(answers)
        self.items = respondent.study.catalogue
        self.k, _ = respondent.study.settings.goal(len(self.items.current))
        with warnings.catch_warnings():
            # What a fit is not sure of stands in the explanation.
            warnings.simplefilter("ignore")
            self.result = respondent.result() if result is None else result
            self.explanation = self.result.told
        self.has_pattern = self.result.has_pattern
        self.ranking, self.matters = self._ranking(), self._matters()

    @cached_property
    def n_bytes(self) -> int:
        """Of the draws, which are nearly all that it takes in memory."""
        posterior = self.result.model.posterior_
        held = () if posterior is None else vars(posterior).values()
        return sum(one.nbytes for one in held if isinstance(one, np.ndarray))

    def _ranking(self) -> list[Place]:
        model, items = self.result.model, self.items
        drawn, current = RankDraws.among(model, items.current), items.current
        ends, chances = drawn.intervals().tolist(), drawn.top(self.k).tolist()
        order = np.argsort(model.distances_[current], kind="stable").tolist()
        return [
            Place(rank, current[k], items.names[current[k]], ends[k][0], ends[k][1], chances[k])
            for rank, k in enumerate(order, 1)
        ]

    def _matters(self) -> list[Matter]:
        if not self.explanation.features:
            return []
        data = what_matters_data(self.result.model, verdicts=self.explanation.ideal)
        ends = np.repeat(data.importance[:, None], 2, axis=1) if data.interval is None else data.interval
        rows = zip(data.features, data.importance.tolist(), ends.tolist(), data.wishes, strict=True)
        return [
            Matter(name, share, low, high, self._better_levels(name) or wish)
            for name, share, (low, high), wish in rows
        ]

    def _better_levels(self, name: str) -> str:
        """As "dark is better, light and medium are worse", of a category as far as it is known."""
        wanted = next((one for one in self.explanation.ideal if one.feature == name), None)
        if wanted is None or wanted.verdict != BY_LEVEL:
            return ""
        known = [one for one in self.explanation.levels if one.feature == name and one.is_known]
        good = [one.level for one in known if one.score > 0]
        bad = [one.level for one in known if one.score <= 0]
        better = Translatable(
            "{levels} is better|{levels} are better", levels=listed(good) if good else "", n=len(good)
        )
        worse = Translatable(
            "{levels} is worse|{levels} are worse", levels=listed(bad) if bad else "", n=len(bad)
        )
        if good and bad:
            return Translatable("{first}, {second}", first=better, second=worse)
        return better if good else worse if bad else ""

    @property
    def decides(self) -> list[Matter]:
        """The two features that decide most, as far as it is known what is wanted of them."""
        shares = decide_most([(one.feature, one.share) for one in self.matters], self.explanation.ideal)
        return self.matters[: len(shares)]

    @cached_property
    def reasons(self) -> list[ItemComparison]:
        """Why the best item comes before the next two; nothing without a pattern."""
        if not self.has_pattern:
            return []
        best, *others = (place.position for place in self.ranking[: 1 + N_REASONS])
        known = self.explanation.ideal
        return [compare_positions(self.result.model, best, other, known) for other in others]

    @property
    def is_more(self) -> bool:
        """Whether there are pairs left to ask about."""
        pairs = {frozenset(one.positions) for one in self.answers if one.shape == "pair"}
        n = len(self.items.current)
        return sum(self.items.retired.isdisjoint(one) for one in pairs) < n * (n - 1) // 2

    @property
    def fit_together(self) -> bool:
        """Whether (nearly) all answers agree with what was learned."""
        return self.result.agreement >= FITS

    @property
    def predicted(self) -> float | None:
        """The share of answers to random questions that were predicted, if those are not too few."""
        result = self.result
        return result.probes_right / result.n_probes if result.n_probes >= LEAST_PROBES else None

    @property
    def cautions(self) -> list[str]:
        """What should make one careful, for people."""
        kinds = self.explanation.trust.cautions
        return list(dict.fromkeys(CAUTIONS[kind] for kind in kinds if kind in CAUTIONS))

    @property
    def unknowns(self) -> list[str]:
        """What the answers do not tell, for people."""
        few = Translatable("These are few answers for so many items, so much of this is a guess.")
        if self.matters:
            few = Translatable("These are few answers for so many features, so much of this is a guess.")
        shown = [one for one in self.explanation.unknowns if one.kind not in TECHNICAL]
        return [few if one.kind == "few answers" else one.text for one in shown][:MOST_UNKNOWNS]

    def ideal(self, best: Sequence[Place]) -> list[IdealRow]:
        """The ideal beside the best items, the most important feature first."""
        table = self.items.table
        cells = shown_cells(table)
        units = {} if table.encoding is None else {one.name: one.unit for one in table.encoding.columns}
        wanted = {one.feature: one for one in self.explanation.ideal}
        rows = []
        # That a cell is not known is no cell of its own.
        for matter in (one for one in self.matters if one.feature in cells):
            shown, one = cells[matter.feature], wanted.get(matter.feature)
            is_known = one is not None and one.verdict != NOT_KNOWN
            values = [cell for cell in shown if not isinstance(cell, str)]
            if not values:
                texts = tuple(str(shown[place.position]) for place in best)
                rows.append(IdealRow(matter.feature, matter.wish, is_known, "", texts))
                continue
            column = Column(np.array(values), units.get(matter.feature, ""))
            text, between = matter.wish, ""
            if one is not None and one.verdict == SWEET_SPOT and one.value is not None:
                text = column.ideal(one.value)
                between = "" if one.low is None or one.high is None else column.between(one.low, one.high)
            cells_of_best = (shown[place.position] for place in best)
            texts = tuple(cell if isinstance(cell, str) else column.text(cell) for cell in cells_of_best)
            rows.append(IdealRow(matter.feature, text, is_known, between, texts))
        return rows

    def surprises(self) -> list[CorrectableAnswer]:
        """Answers that the rest speaks against, which can still be corrected."""
        table = self.items.table
        labels, names = item_names(table), table.texts
        given = {_winner_loser(answer): answer.id for answer in self.answers}
        found = [
            (labels.index(one.winner), labels.index(one.loser), percent(one.probability))
            for one in self.explanation.trust.surprises
        ]
        return [
            CorrectableAnswer(names[winner], names[loser], chance, given[winner, loser])
            for winner, loser, chance in found
            if (winner, loser) in given
        ]

    def to_dict(self) -> dict[str, Any]:
        """For a program; without a pattern the order of `ranking` is no better than chance.

        `conduct` is deprecated: the former name of `response_style`.
        """
        result, catalogue = self.result, self.items
        told = self.explanation
        ideal = {f.name: one.wanted(f) for f, one in zip(told.features, told.ideal, strict=True)}
        return {
            "has_pattern": result.has_pattern,
            "n_answers": result.n_answers,
            "response_style": asdict(result.response_style),
            "conduct": asdict(result.response_style),
            "n_probes": result.n_probes,
            "probes_right": result.probes_right,
            "top": self.k,
            "ranking": [
                {
                    "item": naming.for_json(catalogue.labels[place.position]),
                    "rank": place.rank,
                    "rank_low": place.low,
                    "rank_high": place.high,
                    "top_probability": place.top,
                }
                for place in self.ranking
            ],
            "why": [{**asdict(one), "text": one.text} for one in self.reasons],
            "ideal_point": ideal if result.has_pattern else None,
            "what_matters": [matter._asdict() for matter in self.matters] if result.has_pattern else [],
            "with_others": self._with_others(),
        }

    def _with_others(self) -> dict[str, Any] | None:
        """The ranking with others' answers, where questions were chosen with them."""
        told = self.result.with_others
        if told is None:
            return None
        ranking = [naming.for_json(name) for name in told.ranking]
        return {"n_people": told.n_people, "share": told.share, "ranking": ranking}


def _winner_loser(answer: Answer) -> tuple[int, int]:
    """Positions of the preferred item and the other; a tie, a skip or another shape is no such pair."""
    if answer.choice not in ("left", "right"):
        return -1, -1
    left, right = answer.positions
    return (left, right) if answer.choice == "left" else (right, left)
