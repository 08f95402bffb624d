"""What a fitted population computes of people's tastes: utilities, probabilities, ideal points, tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.utils.validation import check_is_fitted

from coombs.data import checking, tables
from coombs.data.comparisons import InputError
from coombs.data.new_items import table_for
from coombs.inference.people.drawn_people import drawn_utilities
from coombs.inference.people.feature_slopes import slope_rows
from coombs.inference.people.people_prior import PeoplePrior
from coombs.inference.people.tastes import LIKELY_COIN, Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from coombs.data.comparisons import Comparisons
    from coombs.data.scaling import Scaler
    from coombs.data.tables import FloatArray, ItemTable, TableLike
    from coombs.inference.people.average_of_kinds import PeopleAverage
    from coombs.inference.people.coordinates import Coordinates
    from coombs.inference.people.tastes import Everybody, Taste

PAIRS = 400
"""Pairs of items over which consistency is averaged, at most."""
RANKED = 10_000
"""People whose rankings enter a consensus, at most."""
DRAWN = 2_000
"""Draws of people's tastes that a consensus is computed from, at least, all people together."""
MOST_DRAWS = 64
"""Draws of one person's taste that a consensus is computed from, at most."""
MOST_UTILITIES = 20_000_000
"""Utilities, of people times items, that are held at once."""
REGRET = 0.9
"""Share of people who would have less regret than what is told of an item."""
BAND = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Shares of people below the ends of a band: 90 %, 50 % and the median."""
METHODS = ("mean", "borda", "regret")
"""Ways to rank items for a group of people."""


class PopulationPeople:
    """People's tastes; what is computed of everybody at once is by their means."""

    people_: NDArray[Any]
    n_answers_: NDArray[np.intp]
    item_table_: ItemTable
    _average: PeopleAverage
    _scaler: Scaler
    _data: Comparisons
    _is_described: bool
    _ranked: NDArray[np.intp] | None = None

    def _items_of_fit(self) -> TableLike:
        return self.item_table_

    def _table(self, items: TableLike) -> ItemTable:
        """These items, checked, their features in the order of the fit."""
        data = self._data
        names = None if data.feature_names is None else [str(name) for name in data.feature_names]
        return table_for(items, names, data.n_features, data.encoding)

    def _given(self, items: TableLike) -> TableLike:
        """These items, or the fitted ones."""
        check_is_fitted(self)
        if items is None and self._is_described:
            raise InputError("The fit was to pairs of feature vectors; give the items that are meant.")
        return self.item_table_ if items is None else items

    def _rank_only(self, positions: Sequence[int]) -> None:
        """Rank some of the fitted items from now on, as if there were no others."""
        table = self._data.item_table
        self._ranked = np.array(positions, dtype=np.intp)
        names = None if table.names is None else table.names[self._ranked]
        for cache in ("_pairs", "_places"):
            self.__dict__.pop(cache, None)
        self.item_table_ = table._replace(matrix=table.matrix[self._ranked], names=names, n_scaled=None)

    def _seen(self, table: ItemTable) -> tuple[Seen, ...]:
        """A checked table's items as each kind sees them."""
        fitted = self._data.item_table
        if table is fitted or (
            np.array_equal(table.matrix, fitted.matrix) and _names(table) == _names(fitted)
        ):
            return tuple(Seen(phi, np.arange(len(phi))) for phi in self._phis)
        scaled, known = self._scaler.forward(table.matrix), np.full(len(table.matrix), -1)
        if table.names is not None and fitted.names is not None:
            places = {name: i for i, name in enumerate(fitted.texts)}
            known = np.array([places.get(name, -1) for name in table.texts])
        return tuple(Seen(part.coordinates(scaled, known), known) for part in self._average.parts)

    @cached_property
    def _phis(self) -> tuple[FloatArray, ...]:
        """Coordinates of the fitted items."""
        scaled = self._scaler.forward(self._data.items)
        every = np.arange(len(scaled))
        return self._by_kind(lambda coordinates: coordinates(scaled, every))

    def _by_kind(self, compute: Callable[[Coordinates], FloatArray]) -> tuple[FloatArray, ...]:
        """Of each part; several parts may have the same coordinates."""
        parts = self._average.parts
        found = {id(part.coordinates): part.coordinates for part in parts}
        values = {key: compute(coordinates) for key, coordinates in found.items()}
        return tuple(values[id(part.coordinates)] for part in parts)

    @property
    def _people_prior(self) -> PeoplePrior:
        """What is known of anybody, without anybody's own: it is small, and can be kept as JSON."""
        table, parts = self._data.item_table, self._average.parts
        has_effects = any(part.coordinates.n_effects for part in parts)
        return PeoplePrior(
            tuple(part.kind_prior for part in parts),
            self._average.weights,
            self._scaler,
            () if table.features is None else tuple(map(str, table.features)),
            table.matrix if has_effects else table.matrix[:0],
            tuple(table.texts) if has_effects and table.names is not None else (),
            len(self.people_),
            int(self.n_answers_.sum()),
        )

    @cached_property
    def _slope_rows(self) -> tuple[FloatArray, ...]:
        """Of each kind, (k, D): what weights are multiplied by to give the slope along each feature."""
        items, levels = self._data.items, self._data.levels
        return self._by_kind(lambda coordinates: slope_rows(coordinates, self._scaler, items, levels))

    @cached_property
    def _anybody(self) -> tuple[Taste, ...]:
        return tuple(part.anybody() for part in self._average.parts)

    def _tastes(self, person: int) -> tuple[Taste, ...]:
        """Of a person by position; of -1, of somebody never seen."""
        if person < 0:
            return self._anybody
        pairs = zip(self._average.parts, self._phis, strict=True)
        return tuple(part.of(person, phi) for part, phi in pairs)

    def _probability(
        self, tastes: tuple[Taste, ...], table: ItemTable, pairs: NDArray[np.intp]
    ) -> FloatArray:
        """(n,) that the first of each pair is chosen."""
        return self._average.probability(tastes, self._seen(table), pairs)

    def _utilities(self, tastes: tuple[Taste, ...], table: ItemTable) -> FloatArray:
        return self._average.utilities(tastes, self._seen(table))

    def _drawn_utilities(self, tastes: tuple[Taste, ...], table: ItemTable, count: int) -> FloatArray:
        return self._average.draws(tastes, self._seen(table), count)

    def _ideal(self, tastes: tuple[Taste, ...]) -> tuple[FloatArray, FloatArray]:
        """Metric and ideal point of a taste in the user's units, NaN where it has no best place."""
        part = self._described
        d = self._data.n_features
        if part is None:
            return np.full((d, d), np.nan), np.full(d, np.nan)
        coordinates = self._average.parts[part].coordinates
        metric, points = _ideals(coordinates, tastes[part].mean[None])
        return self._scaler.metric(metric[0]), self._scaler.point(points[0])

    def _drawn_ideals(self, tastes: tuple[Taste, ...], count: int) -> FloatArray:
        """(count, d) ideal points in the user's units, NaN where a draw has none."""
        part = self._described
        if part is None:
            return np.full((count, self._data.n_features), np.nan)
        coordinates, average = self._average.parts[part].coordinates, self._average
        # Of the same kind, also where people differ more or less.
        alike = [k for k, one in enumerate(average.parts) if one.coordinates.kind == coordinates.kind]
        shares = average.weights[alike].cumsum() / average.weights[alike].sum()
        counts = np.diff(np.round(shares * count).astype(int), prepend=0)
        drawn = [tastes[k].weights(int(number)) for k, number in zip(alike, counts, strict=True) if number]
        weights = np.concatenate([one[:, : coordinates.size] for one in drawn])
        return self._scaler.point(_ideals(coordinates, weights)[1])

    @property
    def _described(self) -> int | None:
        """The part with a metric that has the most weight; None if there is none."""
        with_metric = [k for k, part in enumerate(self._average.parts) if part.coordinates.has_metric]
        return max(with_metric, key=lambda k: self._average.weights[k], default=None)

    @cached_property
    def _pairs(self) -> NDArray[np.intp]:
        """Pairs of items over which consistency is averaged, always the same."""
        n = len(self.item_table_.matrix)
        one, other = np.triu_indices(min(n, 200), 1)
        some = np.linspace(0, len(one) - 1, min(PAIRS, len(one))).astype(int)
        items = np.linspace(0, n - 1, min(n, 200)).astype(int)
        result: NDArray[np.intp] = items[np.column_stack([one[some], other[some]])]
        return result

    def _consistency(self, tastes: tuple[Taste, ...]) -> float:
        """Mean probability of choosing what is liked better, over pairs of items."""
        utilities = self._average.utilities(tastes, self._seen(self.item_table_))
        coin = float(self._average.weights @ np.array([taste.members[-1] for taste in tastes]))
        return float(self._consistencies(utilities[None], np.array([coin]))[0])

    def _consistencies(self, utilities: FloatArray, coin: FloatArray) -> FloatArray:
        """(k,) of people with these (k, n) utilities."""
        first, second = self._pairs.T
        lapse = self._average.parts[self._average.main].fit.prior.lapse
        p = expit(np.abs(utilities[:, first] - utilities[:, second])).mean(axis=1)
        careful: FloatArray = (1 - lapse) * p + lapse / 2
        return (1 - coin) * careful + coin / 2

    @cached_property
    def _everybody(self) -> tuple[tuple[Everybody, ...], FloatArray, FloatArray]:
        """Of each kind what is known of all; (n_people,) of a coin; (n_people, G) of the groups."""
        n = len(self.people_)
        found = tuple(part.means(phi, n) for part, phi in zip(self._average.parts, self._phis, strict=True))
        coin = self._average.weights @ np.array([one.members[:, -1] for one in found])
        own = found[self._average.main].members[:, :-1]
        groups = (1 - coin)[:, None] * own / np.maximum(own.sum(axis=1, keepdims=True), 1e-300)
        return found, coin, groups

    @cached_property
    def _group_of(self) -> NDArray[np.intp]:
        """(n_people,) the likeliest group of everybody, from 0; -1 of whoever answers as if by a coin."""
        _, coin, groups = self._everybody
        return np.where(coin > LIKELY_COIN, -1, groups.argmax(axis=1))

    def utilities(self, people: NDArray[np.intp] | None = None) -> FloatArray:
        """Return how much people like each fitted item, in logits about everybody's own mean.

        Parameters
        ----------
        people : positions in `people_`; by default everybody

        Returns
        -------
        (k, n_items) mean utilities, more being better

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.utilities().shape
        (2, 3)
        """
        check_is_fitted(self)
        n = len(self.people_)
        return self._mean_utilities(np.arange(n) if people is None else checking.within(people, "people", n))

    def _mean_utilities(self, chosen: NDArray[np.intp]) -> FloatArray:
        """(k, n_items) of people by position."""
        total = np.zeros((len(chosen), len(self._data.items)))
        for known, phi, share in zip(self._everybody[0], self._phis, self._average.weights, strict=True):
            total += share * known.utilities(chosen, phi)
        return total if self._ranked is None else total[:, self._ranked]

    def _drawn_people(self, people: NDArray[np.intp]) -> FloatArray:
        """(k, n_items) utilities of drawn tastes, as many of each person, of some of many people."""
        if len(people) > RANKED:
            people = people[np.linspace(0, len(people) - 1, RANKED).astype(int)]
        most = MOST_UTILITIES // max(len(people) * len(self._data.items), 1)
        count = 2 * max(1, min(-(-DRAWN // len(people)), MOST_DRAWS, most) // 2)
        average, found = self._average, []
        # In twos, which are on opposite sides of the mean.
        shares = np.cumsum(average.weights)
        counts = 2 * np.diff(np.round(shares * count / 2).astype(int), prepend=0)
        for part, phi, number in zip(average.parts, self._phis, counts.tolist(), strict=True):
            if number:
                found.append(drawn_utilities(part, phi, people, number).reshape(-1, len(phi)))
        drawn = np.concatenate(found)
        return drawn if self._ranked is None else drawn[:, self._ranked]

    def to_frame(self, *, ranks: bool = False) -> Any:
        """Return a row for each person: answers, group, consistency, weights, ideal point, best item.

        Parameters
        ----------
        ranks : whether to add "rank: x", the rank of item x for the person, from 1, for every item

        Returns
        -------
        pandas.DataFrame with the columns user, answers, group (the likeliest, from 1) and its probability,
            consistency (mean probability of choosing what is liked better), coin (probability that all was
            at random; the groups share the rest),
            "weight: x" (utility gained by a deviation of feature x, in logits, the others being as they are),
            "ideal: x" (in the user's units, NaN where there is no best place) and best, the best item

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.to_frame()[["user", "answers", "best"]].values.tolist()
        [[1, 1, 2], [2, 1, 2]]
        """
        if not hasattr(self, "people_"):
            check_is_fitted(self)
        if not isinstance(ranks, bool | np.bool_):
            raise InputError(f"ranks is {ranks!r}; it must be True or False.")
        # Consistency is of pairs of items, which may be more than those.
        size = max(1, MOST_UTILITIES // max(len(self._data.items), PAIRS))
        parts = [
            self._rows(np.arange(begin, min(begin + size, len(self.people_))), ranks)
            for begin in range(0, len(self.people_), size)
        ]
        names = parts[0].keys()
        return tables.pandas().DataFrame(
            {name: np.concatenate([part[name] for part in parts]) for name in names}
        )

    def _rows(self, people: NDArray[np.intp], ranks: bool = False) -> dict[str, NDArray[Any]]:
        """The columns of `to_frame` for some people."""
        utilities = self._mean_utilities(people)
        known, coin, groups = self._everybody
        names = self._data.feature_names
        called = [str(j) if names is None else str(names[j]) for j in range(self._data.n_features)]
        slopes = np.zeros((len(people), len(called)))
        for one, rows, share in zip(known, self._slope_rows, self._average.weights, strict=True):
            slopes[:, self._scaler.columns] += share * one.weights[people] @ rows.T
        points = np.full((len(people), len(called)), np.nan)
        if (part := self._described) is not None:
            coordinates = self._average.parts[part].coordinates
            points = self._scaler.point(_ideals(coordinates, known[part].weights[people])[1])
        labels = self.item_table_.names
        best = utilities.argmax(axis=1)
        columns: dict[str, NDArray[Any]] = {
            "user": self.people_[people],
            "answers": self.n_answers_[people],
            "group": groups[people].argmax(axis=1) + 1,
            "group probability": groups[people].max(axis=1),
            "consistency": self._consistencies(utilities, coin[people]),
            "coin": coin[people],
        }
        columns |= {f"weight: {name}": column for name, column in zip(called, slopes.T, strict=True)}
        columns |= {f"ideal: {name}": column for name, column in zip(called, points.T, strict=True)}
        columns["best"] = best if labels is None else labels[best]
        if ranks:
            places = rankdata(-utilities.round(9), method="min", axis=1).astype(int)
            items = range(places.shape[1]) if labels is None else labels
            columns |= {f"rank: {item}": column for item, column in zip(items, places.T, strict=True)}
        return columns

    def consensus(self, method: str = "mean", group: int | None = None) -> Any:
        """Return the items from best to worst for all, and how much people disagree about each.

        Places and regret are of draws of everybody's taste: rankings by what is known of each agree more than
        people do.

        Parameters
        ----------
        method : "mean" (mean utility: who cares more counts more), "borda" (mean place in everybody's
            ranking: all count alike) or "regret" (how much less than their best 9 in 10 people would have at
            most: nobody is left far behind)
        group : from 1; by default everybody

        Returns
        -------
        pandas.DataFrame with the columns item, mean, borda, regret, disagreement (deviation of people's
            places, as a share of the number of items, with what is not known of people in it), best first by
            the method

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.consensus()["item"].tolist()
        [2, 1, 0]
        """
        check_is_fitted(self)
        if not isinstance(method, str) or method not in METHODS:
            raise InputError(f"method is {method!r}; it must be one of {', '.join(METHODS)}.")
        found, labels = self._placed(group), self.item_table_.names
        n = len(found.mean)
        frame = tables.pandas().DataFrame(
            {
                "item": np.arange(n) if labels is None else labels,
                "mean": found.mean,
                "borda": found.borda,
                "regret": found.regret,
                "disagreement": found.deviation / n,
            }
        )
        return frame.sort_values(method, ascending=method != "mean", kind="stable", ignore_index=True)

    def _placed(self, group: int | None) -> PlacedItems:
        """Where everybody, or a group from 1, places each item."""
        if group is not None:
            group = checking.whole(group, "group", 1, self._everybody[2].shape[1])
        if group in self._places:
            return self._places[group]
        people = np.arange(len(self.people_))
        if group is not None:
            people = np.flatnonzero(self._group_of == group - 1)
            if not len(people):
                raise InputError(f"Nobody is in group {group}.")
            if len(people) == len(self.people_):
                return self._placed(None)
        self._places[group] = _places(self._drawn_people(people), self.utilities(people), len(people))
        return self._places[group]

    @cached_property
    def _places(self) -> dict[int | None, PlacedItems]:
        """What was asked for of everybody and of groups."""
        return {}


class PlacedItems(NamedTuple):
    """Where people place each item, (n,) each: mean utility and place, regret, deviation of the places.

    `quantiles` (n, 5) are places of 5, 25, 50, 75 and 95 % of the `people`.
    """

    people: int
    mean: FloatArray
    borda: FloatArray
    regret: FloatArray
    deviation: FloatArray
    quantiles: FloatArray


def _places(drawn: FloatArray, means: FloatArray, people: int) -> PlacedItems:
    """From (k, n) utilities of drawn tastes and (people, n) mean ones."""
    places = rankdata(-drawn.round(9), axis=1)
    regret = np.quantile(drawn.max(axis=1, keepdims=True) - drawn, REGRET, axis=0)
    quantiles = np.quantile(places, BAND, axis=0).T
    return PlacedItems(people, means.mean(axis=0), places.mean(axis=0), regret, places.std(axis=0), quantiles)


def _ideals(coordinates: Coordinates, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(k, d, d) metrics and (k, d) ideal points of weights (k, D), scaled; NaN without a best place."""
    metric, v = coordinates.quadratic(weights)
    points = np.full(v.shape, np.nan)
    columns = coordinates.squares
    if not len(columns) or len(columns) < v.shape[1]:
        return metric, points
    peaked = np.flatnonzero(np.linalg.eigvalsh(metric)[:, 0] > 1e-9)
    points[peaked] = np.linalg.solve(metric[peaked], v[peaked][:, :, None])[:, :, 0]
    return metric, points


def _names(table: ItemTable) -> list[str] | None:
    return None if table.names is None else table.texts
