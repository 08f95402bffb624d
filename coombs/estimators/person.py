"""One person out of a population, or somebody new whose answers are read in its light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.inference.posterior import LEVEL, check_level, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray, TableLike
    from coombs.estimators.population import Population
    from coombs.inference.people.tastes import Taste
    from coombs.insights.people_explanation import PersonExplanation

DRAWS = 1_000
"""Draws that intervals are taken from."""
LEAST_PEAKED = 0.5
"""Share of the draws that must have a best place for an ideal point to be told."""


class Person:
    """What a population tells of one person, with what the person's own answers add.

    `Population.person` and `Population.person_from` make it.

    Parameters
    ----------
    population : a fitted Population
    tastes : the person's taste of each kind in its average
    name : what the person is called; None of somebody new
    n_answers : how many answers of their own were learned from

    Attributes
    ----------
    metric_, ideal_point_ : in the user's units; NaN where no best place is told
    consistency_ : mean probability with which they choose what they like better of two items
    coin_probability_ : how likely their answers are tosses of a coin
    groups_ : (G,) probabilities of the groups

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import Population
    >>> items = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> population = Population(items, metric="none")
    >>> population = population.fit([[1, 0], [3, 2], [2, 0], [0, 3]], users=["ann", "ann", "bob", "eve"])
    >>> population.person("ann").rank().tolist()
    [3, 2, 1, 0]
    """

    def __init__(
        self, population: Population, tastes: tuple[Taste, ...], name: Any = None, n_answers: int = 0
    ) -> None:
        self._population, self._tastes = population, tastes
        self.name, self.n_answers = name, n_answers
        self.metric_, self.ideal_point_ = population._ideal(tastes)
        members = population._average.weights @ np.array([taste.members[-1] for taste in tastes])
        self.coin_probability_ = float(members)
        shares = tastes[population._average.main].group_shares[: population.n_groups_]
        self.groups_ = shares / max(float(shares.sum()), 1e-300)

    @property
    def consistency_(self) -> float:
        """Mean probability with which the person chooses what they like better of two items."""
        return self._population._consistency(self._tastes)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities averaged over what is not known of the person.

        Parameters
        ----------
        X : pairs, as for `Population.fit`

        Returns
        -------
        (n, 2) probabilities of -1, that the second is preferred, and of +1, that the first is

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(1).predict_proba([[0, 2]]).shape
        (1, 2)
        """
        data = self._population._comparisons(X, None, None, None, self._population._items_of_fit())
        table = self._population._table(data.item_table)
        first = self._population._probability(self._tastes, table, data.pairs)
        return np.column_stack([1 - first, first])

    def utility(self, items: TableLike = None) -> FloatArray:
        """Return how much the person likes each item, in logits about the mean, more being better.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items

        Returns
        -------
        (n,) utilities: of two items, their difference is the log odds of choosing the first, lapses apart

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> bool(abs(population.person(1).utility().sum()) < 1e-9)
        True
        """
        table = self._population._table(self._population._given(items))
        return self._population._utilities(self._tastes, table)

    def rank(self, items: TableLike = None) -> NDArray[Any]:
        """Return the items from best to worst for the person.

        Parameters
        ----------
        items : (n, d) table; by default the fitted items

        Returns
        -------
        (n,) names where the items have them, otherwise positions

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(1).rank().tolist()
        [2, 1, 0]
        """
        table = self._population._table(self._population._given(items))
        order = np.argsort(-self._population._utilities(self._tastes, table), kind="stable")
        return order if table.names is None else table.names[order]

    def rank_interval(self, items: TableLike = None, level: float = LEVEL) -> NDArray[np.int_]:
        """Return the best and the worst rank that each item may have for the person.

        Parameters
        ----------
        items : (n, d) table; by default those that the population was fitted to
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (n, 2) whole numbers, 1 being the best rank

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(1).rank_interval().shape
        (3, 2)
        """
        table = self._population._table(self._population._given(items))
        utilities = self._population._drawn_utilities(self._tastes, table, DRAWS)
        ranks = np.argsort(np.argsort(-utilities, axis=1, kind="stable"), axis=1) + 1
        ends = quantiles(ranks.astype(float), level)
        return np.column_stack([np.floor(ends[:, 0]), np.ceil(ends[:, 1])]).astype(int)

    def ideal_point_interval(self, level: float = LEVEL) -> FloatArray:
        """Return the interval of each coordinate of the ideal point, in the user's units.

        Parameters
        ----------
        level : the interval's probability, between 0 and 1

        Returns
        -------
        (d, 2) lower and upper ends; NaN where most of what may be the taste has no best place

        Examples
        --------
        >>> from coombs import Population
        >>> items = [[0.0], [1.0], [2.0]]
        >>> population = Population(items, metric="diagonal").fit([[1, 0], [1, 2], [1, 0]], users=[1, 2, 3])
        >>> population.person(1).ideal_point_interval().shape
        (1, 2)
        """
        check_level(level)
        points = self._population._drawn_ideals(self._tastes, DRAWS)
        peaked = points[np.isfinite(points).all(axis=1)]
        if len(peaked) < LEAST_PEAKED * DRAWS:
            return np.full((points.shape[1], 2), np.nan)
        return quantiles(peaked, level)

    def explain(self) -> PersonExplanation:
        """Return what the person wants in words and tables, and how far to trust it.

        Returns
        -------
        PersonExplanation, which prints as text

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(1).explain().has_pattern
        False
        """
        # Imported here because it takes this module's class.
        from coombs.insights.people_explanation import explain_person

        return explain_person(self, self._population)

    def __repr__(self) -> str:
        who = "somebody new" if self.name is None else repr(self.name)
        return f"Person({who}, {self.n_answers} answers)"
