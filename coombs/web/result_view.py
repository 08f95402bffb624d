"""What somebody looks at in a result: which items are starred, which are left out, how many best ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from coombs.insights.item_comparison import ItemComparison, compare_positions
from coombs.insights.statements import NOT_KNOWN
from coombs.insights.what_matters import RankDraws
from coombs.web.fitted_result import N_BEST, N_REASONS, FittedResult, IdealRow, Place
from coombs.web.item_cards import Card, CardFeature, Cards

TOPS = (1, 3, 5)
"""Numbers of best items that can be asked for."""
MOST_FEATURES = 6
"""Features that are shown of an item in the ranking."""
LEAST_LEFT = 2
"""Items that stay in a ranking, however many are left out."""


@dataclass(frozen=True)
class ViewChoices:
    """What was chosen, as the page's address has it: numbers of items, the positions of which they are.

    It is nobody's answer, and changes nothing that was learned: the address and the browser keep it.
    """

    starred: tuple[int, ...] = ()
    without: tuple[int, ...] = ()
    top: int | None = None

    @classmethod
    def of(
        cls,
        starred: Iterable[int],
        without: Iterable[int],
        top: int | None,
        items: Collection[int],
        *,
        unstar: int | None = None,
        back: int | None = None,
    ) -> ViewChoices:
        """With what a button adds or takes back; what cannot be is passed over."""
        stars = [i for i in dict.fromkeys(starred) if i in items and i != unstar]
        gone = [i for i in dict.fromkeys(without) if i in items and i != back]
        gone = gone[: max(0, len(items) - LEAST_LEFT)]
        stars = [i for i in stars if i not in gone]
        return cls(tuple(stars), tuple(gone), top if top in TOPS else None)

    @property
    def query(self) -> str:
        """For an address."""
        pairs = [("star", i) for i in self.starred] + [("without", i) for i in self.without]
        return urlencode([*pairs, *([("top", self.top)] if self.top else [])])


class ResultRow(NamedTuple):
    """An item of the ranking as the page shows it."""

    place: Place
    card: Card
    features: tuple[CardFeature, ...]


class ResultView:
    """A fitted result as somebody looks at it: the best of what is not left out, and why."""

    def __init__(self, fitted: FittedResult, chosen: ViewChoices) -> None:
        self.fitted, self.chosen = fitted, chosen
        n_left = len(fitted.ranking) - len(chosen.without)
        self.tops = [k for k in TOPS if k <= max(1, n_left // 2)]
        self.k = chosen.top if chosen.top in self.tops else min(fitted.k, max(1, n_left // 2))

    @cached_property
    def places(self) -> list[Place]:
        """The items that are not left out, best first, with the ranks that they may have among these."""
        fitted = self.fitted
        if not self.chosen.without and self.k == fitted.k:
            return fitted.ranking
        left = [one for one in fitted.ranking if one.position not in self.chosen.without]
        drawn = RankDraws.among(fitted.result.model, [one.position for one in left])
        ends, tops = drawn.intervals().tolist(), drawn.top(self.k).tolist()
        return [
            one._replace(rank=rank, low=ends[rank - 1][0], high=ends[rank - 1][1], top=tops[rank - 1])
            for rank, one in enumerate(left, 1)
        ]

    @property
    def best(self) -> Place:
        """The item that comes first."""
        return self.places[0]

    @property
    def pinned(self) -> list[Place]:
        """The starred items, best first."""
        return [one for one in self.places if one.position in self.chosen.starred]

    @property
    def gone(self) -> list[Place]:
        """The items that are left out, as they were ranked with all others."""
        return [one for one in self.fitted.ranking if one.position in self.chosen.without]

    @cached_property
    def sureness(self) -> float:
        """How likely the best item is the best of those that are not left out."""
        left = [one.position for one in self.places]
        return float(RankDraws.among(self.fitted.result.model, left).top(1)[0])

    @cached_property
    def reasons(self) -> list[ItemComparison]:
        """Why the best item comes before the next two."""
        return [self.compare(self.best.position, one.position) for one in self.places[1 : 1 + N_REASONS]]

    def compare(self, first: int, second: int) -> ItemComparison:
        """Two items by what the answers support."""
        return compare_positions(self.fitted.result.model, first, second, self.fitted.explanation.ideal)

    def ideal(self) -> list[IdealRow]:
        """The ideal beside the best items."""
        return self.fitted.ideal(self.places[:N_BEST])

    def row(self, place: Place, cards: Cards) -> ResultRow:
        """An item of the ranking, with the features that decide most."""
        order = {matter.feature: k for k, matter in enumerate(self.fitted.matters)}
        card = cards.one(place.position)
        features = sorted(card.features, key=lambda one: order.get(one.label, len(order)))
        return ResultRow(place, card, tuple(features[:MOST_FEATURES]))

    def is_guess(self, feature: str) -> bool:
        """Whether the answers do not show what is wanted of a feature."""
        found = next((one for one in self.fitted.explanation.ideal if one.feature == feature), None)
        return found is None or found.verdict == NOT_KNOWN
