"""The items of a study that are asked about, among all that there ever were: by places, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coombs.data.catalogue import Catalogue
from coombs.data.tables import FloatArray
from coombs.questions import Choice, Votes
from coombs.set_questions import SetChoice


class CurrentItems:
    """Positions of the items that are asked about; a place is a number among these alone.

    What chooses questions counts places, so that retired items are not there for it.

    Examples
    --------
    >>> current = CurrentItems((0, 2, 3), n_all=4)
    >>> current.pairs({(0, 1), (0, 3)}), current.positions_of((1, 2))
    ({(0, 2)}, (2, 3))
    """

    def __init__(self, positions: Sequence[int], n_all: int) -> None:
        self.positions, self.n_all = tuple(positions), n_all

    @classmethod
    def of(cls, items: Catalogue) -> CurrentItems:
        """The current items of a study."""
        return cls(items.current, len(items.table.matrix))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CurrentItems) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[int, ...], int]:
        return self.positions, self.n_all

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def is_all(self) -> bool:
        """Whether no item is retired."""
        return len(self.positions) == self.n_all

    @cached_property
    def _place(self) -> dict[int, int]:
        return {position: place for place, position in enumerate(self.positions)}

    def votes(self, votes: Votes) -> Votes:
        """What draws say of these items, by place."""
        return votes if self.is_all else _Some(votes, np.array(self.positions, dtype=np.intp))

    def pairs(self, asked: Collection[tuple[int, int]]) -> Collection[tuple[int, int]]:
        """Pairs of these items, by place."""
        if self.is_all:
            return asked
        place = self._place
        return {(place[a], place[b]) for a, b in asked if a in place and b in place}

    def sets(self, asked: Collection[frozenset[int]]) -> Collection[frozenset[int]]:
        """Sets of these items, by place."""
        if self.is_all:
            return asked
        place = self._place
        return {frozenset(place[i] for i in one) for one in asked if one <= place.keys()}

    def positions_of(self, places: Iterable[int]) -> tuple[int, ...]:
        """Positions of these places among all items."""
        return tuple(self.positions[place] for place in places)

    def choice(self, choice: Choice) -> Choice:
        """A pair by place as one by position."""
        first, second = self.positions_of(choice[:2])
        return choice._replace(first=first, second=second)

    def set_choice(self, choice: SetChoice) -> SetChoice:
        """A set by place as one by position."""
        return choice._replace(items=self.positions_of(choice.items))


class _Some:
    """What draws say of some items, as if there were no others."""

    def __init__(self, votes: Votes, positions: NDArray[np.intp]) -> None:
        self._votes, self._positions = votes, positions

    def scores(self, positions: NDArray[np.intp], every: int = 1) -> tuple[FloatArray, FloatArray]:
        """(n, S) scores of some of them in `every` so many draws, and (S,) lapses."""
        return self._votes.scores(self._positions[positions], every)

    def mean_scores(self) -> FloatArray:
        """(N,) of all of them."""
        result: FloatArray = self._votes.mean_scores()[self._positions]
        return result
