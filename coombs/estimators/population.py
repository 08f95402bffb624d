"""Many people: what each wants from few answers, and what they share."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coombs.data import naming, tables
from coombs.data.by_person import answers_by_person
from coombs.data.comparisons import Comparisons, InputError
from coombs.data.scaling import Scaler, check_alike, check_largest
from coombs.data.user_columns import nobody_called
from coombs.estimators.base import comparisons_of
from coombs.estimators.ideal_point import IdealPoint
from coombs.estimators.parameters import check_choice
from coombs.estimators.person import Person
from coombs.estimators.population_covariates import PopulationCovariates
from coombs.estimators.population_groups import PopulationGroups
from coombs.estimators.population_people import PopulationPeople
from coombs.estimators.savable import Savable
from coombs.estimators.sharded import fit_sharded, is_sharded
from coombs.inference.people.average_of_kinds import learn_people
from coombs.inference.people.coordinates import KINDS
from coombs.inference.people.people_answers import PeopleAnswers
from coombs.inference.people.population_fit import PopulationStatus
from coombs.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coombs.data.tables import FloatArray, ItemTable, TableLike
    from coombs.inference.people.average_of_kinds import FitToAll, PeopleAverage
    from coombs.insights.explanation import Explanation
    from coombs.insights.people_explanation import PeopleExplanation


class Population(PopulationGroups, PopulationPeople, PopulationCovariates, Savable, BaseEstimator):  # type: ignore[misc]
    """Everybody's taste, normal about a population's, whose mean and covariance are learned from all.

    A person's utility of an item is w'phi(x), more being better, and P(i over j) = e / 2 + (1 - e) sigma of
    the difference. w ~ N(mean of the person's group, Sigma): what the mean has is shared, what Sigma has
    is own, and how much of either there is, is learned. phi has the features ("none": linear), their squares
    ("diagonal"), their products ("full": a metric and an ideal point of one's own), or bumps and an effect of
    each item ("smooth"). Posteriors are by expectation propagation; some people may toss a coin.

    Parameters
    ----------
    items : (n_items, n_features) table or names, or None when `fit` gets the items with the answers
    metric : "auto" (the average of all kinds, by how likely each makes the answers of people it was not
        learned from), "none", "diagonal", "full" or "smooth"
    groups : how many groups with means of their own there are; "auto" finds out
    random_state : for the contract of scikit-learn only: nothing here is random
    n_jobs : threads; None is what joblib.parallel_config says or 1, -1 all processors; the same numbers

    Attributes
    ----------
    people_, n_people_ : (n_people,) who answered, in the order of their first answer; how many there are
    metric_, ideal_point_ : of the population's mean taste, in the user's units; NaN if it has no best place
    kind_weights_ : of the kinds in the average
    lapse_, coin_share_ : share of answers given at random; of people who toss a coin
    n_groups_ : how many groups there are
    accuracy_, log_loss_ : of answers of people that nothing but their other answers was learned from; NaN of
        one person alone
    status_, n_iter_ : how it ended: "converged", "max_iterations", "numerical_error" or "cluster_lost"
    n_features_in_, feature_names_in_ : as scikit-learn has them

    Examples
    --------
    >>> import numpy as np
    >>> from coombs import Population
    >>> rng = np.random.default_rng(0)
    >>> items = rng.normal(size=(12, 2))
    >>> taste = rng.normal([2.0, -1.0], 0.5, size=(20, 2))  # 20 people who want much the same
    >>> users = np.repeat(np.arange(20), 5)
    >>> pairs = rng.permuted(np.tile(np.arange(12), (100, 1)), axis=1)[:, :2]
    >>> utility = (items[pairs] * taste[users][:, None]).sum(axis=2)
    >>> y = np.where(rng.logistic(size=100) < utility[:, 0] - utility[:, 1], 1, -1)
    >>> population = Population(items, metric="none").fit(pairs, y, users=users)
    >>> stranger = population.predict_proba(pairs)[:, 1]  # of a person never seen
    >>> bool(((stranger > 0.5) == (items[pairs] @ [2.0, -1.0] @ [1, -1] > 0)).mean() > 0.8)
    True
    """

    def __init__(
        self,
        items: TableLike = None,
        *,
        metric: str = "auto",
        groups: int | str = 1,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.items = items
        self.metric, self.groups = metric, groups
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        users: ArrayLike | None = None,
        people: Any = None,
        client: Any = None,
        out: Any = None,
        start: Population | None = None,
    ) -> Self:
        """Learn from answers of many people.

        Choices, rankings and ratings are learned as pairs that together tell no more than they do. Of answers
        in parts (docs/many-people.md), `people_` is a sample.

        Parameters
        ----------
        X : Comparisons with users, (n, 2) pairs of positions or names, (n, 2, d) pairs of feature vectors; or
            in parts: a folder of Parquet files, or a dask DataFrame (user; winner, loser; weight)
        y : (n,) of +1 or True (the first is preferred), -1 or False, 0 (tie); by default the first is
            preferred
        sample_weight : (n,) weights of the answers
        users : (n,) who gave each answer, unless X says it
        people : a frame with a row a person (its index or a column user says who): numbers or categories that
            tastes may go with. What does not predict the tastes of people left out is not learned from
        client, out, start : of answers in parts, the distributed.Client (by default the one there is, or this
            machine); the folder to which a row a person is written; a fitted Population to go on from

        Returns
        -------
        self

        Examples
        --------
        >>> from coombs import Population
        >>> items = [[0.0], [1.0], [2.0]]
        >>> Population(items, metric="none").fit([[1, 0], [2, 1]], users=["ann", "bob"]).people_.tolist()
        ['ann', 'bob']
        """
        self._check_parameters()
        if is_sharded(X, client, out, start):
            fit_sharded(self, X, (y, sample_weight, users, people), client, out, start)
            return self
        data = self._comparisons(X, y, sample_weight, users)
        check_largest(data)
        scaler = Scaler.of(data.items, True, levels=data.levels, n_scaled=data.n_scaled)
        check_alike(data, scaler)
        is_described = not isinstance(X, Comparisons) and np.ndim(X) == 3
        answers = self._take_in(data, scaler, is_described)
        if self.groups != "auto" and int(self.groups) > len(self.people_):
            raise InputError(
                f"groups is {self.groups!r} for {len(self.people_)} people; there cannot be more."
            )
        self._store(self._learn(answers._replace(covariates=self._told_of(people))))
        if len(self.people_) == 1:
            self._fit_alone(data)
        return self

    def _take_in(self, data: Comparisons, scaler: Scaler, is_described: bool) -> PeopleAnswers:
        """Keep who answered about what, and give the answers as they are learned from."""
        told = answers_by_person(data)
        self._data, self._scaler, self.people_ = data, scaler, told.names
        self._alone: IdealPoint | None = None
        self.n_features_in_ = data.n_features if data.encoding is None else len(data.encoding.table_names)
        if data.feature_names is not None:
            names = data.feature_names if data.encoding is None else data.encoding.table_names
            self.feature_names_in_ = np.array(names, dtype=object)
        self.item_table_: ItemTable = data.item_table
        self._is_described = is_described
        self.n_answers_, self.n_people_ = np.bincount(told.people, minlength=len(told.names)), len(told.names)
        return PeopleAnswers(scaler.forward(data.items), scaler.levels, *told[:4], len(told.names))

    def _learn(self, answers: PeopleAnswers, everybody: FitToAll | None = None) -> PeopleAverage:
        kinds = KINDS if self.metric == "auto" else (self.metric,)
        kinds = kinds if answers.items.shape[1] else ("smooth",)
        with ProgressBar(1, "learning what people share") as progress:
            return learn_people(
                answers, kinds, self.groups, effective_n_jobs(self.n_jobs), progress.reach, everybody
            )

    def _store(self, average: PeopleAverage) -> None:
        """Fitted attributes, in the user's units."""
        self._average = average
        of_everybody = ("_phis", "_anybody", "_everybody", "_group_of", "_positions")
        for cache in (*of_everybody, "_pairs", "_slope_rows", "_places"):
            self.__dict__.pop(cache, None)
        fits = [part.fit for part in average.parts]
        main = fits[average.main]
        self.status_, self.n_iter_ = str(main.status), sum(fit.n_iter for fit in fits)
        if main.status not in (PopulationStatus.CONVERGED, PopulationStatus.CLUSTER_LOST):
            kind = average.parts[average.main].coordinates.kind
            # Populations that differ in size only, and single passes, have none of their own.
            count = sum(one.fit.n_iter for one in average.parts if one.coordinates.kind == kind)
            message = f"The passes over all people ended with {main.status!s} after {count} of them: the "
            message += "population's covariance is rough."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self.lapse_, self.coin_share_ = main.prior.lapse, main.prior.coin
        self.n_groups_ = len(main.prior.shares)
        self.accuracy_, self.log_loss_ = average.trial.accuracy, average.trial.log_loss
        weights: dict[str, float] = {}
        for part, weight in zip(average.parts, average.weights.tolist(), strict=True):
            weights[part.coordinates.kind] = weights.get(part.coordinates.kind, 0.0) + weight
        self.kind_weights_ = weights
        self.metric_, self.ideal_point_ = self._ideal(self._anybody)

    def _fit_alone(self, data: Comparisons) -> None:
        """One person only: what people share cannot be told."""
        warnings.warn(
            "There is one person only, so that nothing can be told of what people share: what is said of "
            "that person is IdealPoint's.",
            UserWarning,
            stacklevel=3,
        )
        self._alone = IdealPoint(metric=self.metric).fit(data)

    def _check_parameters(self) -> None:
        check_choice(self, "metric", (*KINDS, "auto"))
        groups = self.groups
        whole = isinstance(groups, int | np.integer) and not isinstance(groups, bool) and groups >= 1
        if not whole and not (isinstance(groups, str) and groups == "auto"):
            raise InputError(f"groups is {groups!r}; it must be 'auto' or a whole number from 1.")
        jobs = self.n_jobs
        if jobs is not None and (not isinstance(jobs, int | np.integer) or jobs == 0 or jobs < -1):
            raise InputError(f"n_jobs is {jobs!r}; it must be None, -1 or a whole number from 1.")

    def _comparisons(
        self, X: Any, y: Any, weights: Any, users: Any = None, table: TableLike = None
    ) -> Comparisons:
        """Whatever was given, as the one datum, with users where they are given."""
        data = comparisons_of(self, X, y, weights, self.items if table is None else table)
        if users is None:
            return data
        if data.shapes:
            raise InputError("Answers that are not pairs have users of their own; leave out users=.")
        labels = tables.as_array(users, "users", exact=True)
        if labels.shape != (len(data.pairs),):
            raise InputError(
                f"users has shape {labels.shape} for {len(data.pairs)} answers; it must have one for each."
            )
        return Comparisons.at_positions(data.item_table, data.pairs, data.y, data.weights, labels)

    def predict_proba(self, X: Any, users: ArrayLike | None = None, people: Any = None) -> FloatArray:
        """Return probabilities of answers by these people; of a person never seen, the population's.

        Parameters
        ----------
        X : Comparisons, or pairs as for `fit`
        users : (n,) whose answer each is; by default those of X, or somebody never seen
        people : a frame as for `fit`, with what is known of people among `users` who were not there

        Returns
        -------
        (n, 2) probabilities of -1, that the second is preferred, and of +1, that the first is

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.predict_proba([[0, 2], [0, 2]], users=[1, 99]).shape
        (2, 2)
        """
        check_is_fitted(self)
        data = self._comparisons(X, None, None, users, self._items_of_fit())
        table, n = self._table(data.item_table), len(data.pairs)
        first, labels = np.empty(n), np.full(n, -1)
        known: list[FloatArray] = []
        if data.users is not None:
            labels, known = self._places_of(data.users, people)
        order = np.argsort(labels, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
            person = int(labels[rows[0]])
            if person == 0 and self._alone is not None:
                pairs = Comparisons.at_positions(table, data.pairs[rows], data.y[rows], data.weights[rows])
                first[rows] = self._alone.predict_proba(pairs)[:, 1]
            else:
                tastes = self._tastes(person) if person >= -1 else self._tastes_about(known[-2 - person])
                first[rows] = self._probability(tastes, table, data.pairs[rows])
        return np.column_stack([1 - first, first])

    def predict(self, X: Any, users: ArrayLike | None = None) -> NDArray[np.int_]:
        """Return which of each pair is preferred.

        Parameters
        ----------
        X, users : as for `predict_proba`

        Returns
        -------
        (n,) of +1 for the first, -1 for the second

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.predict([[0, 2], [2, 0]]).tolist()
        [-1, 1]
        """
        return np.where(self.predict_proba(X, users)[:, 1] >= 0.5, 1, -1)

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        users: ArrayLike | None = None,
    ) -> float:
        """Return the weighted share of answers that are predicted; a tie counts half.

        Parameters
        ----------
        X, y, sample_weight, users : answers, as for `fit`

        Returns
        -------
        float from 0 to 1

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.score([[2, 0]], users=[1])
        1.0
        """
        check_is_fitted(self)
        data = self._comparisons(X, y, sample_weight, users, self._items_of_fit())
        right = (data.y * self.predict(data) + 1) / 2
        return float(data.weights @ right / data.weights.sum())

    def rank(self, user: Any = None, items: TableLike = None) -> NDArray[Any]:
        """Return the items from best to worst, for a person or by the population's mean utility.

        Parameters
        ----------
        user : one of `people_`; by default nobody in particular
        items : (n, d) table; by default the fitted items

        Returns
        -------
        (n,) names where the items have them, otherwise positions

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.rank().tolist(), population.rank(1).tolist()
        ([2, 1, 0], [2, 1, 0])
        """
        if user is not None:
            return self.person(user).rank(items)
        table = self._table(self._given(items))
        order = np.argsort(-self._utilities(self._anybody, table), kind="stable")
        return order if table.names is None else table.names[order]

    def person(self, user: Any) -> Person | IdealPoint:
        """Return what is known of one person: ideal point, ranking and intervals.

        Parameters
        ----------
        user : one of `people_`

        Returns
        -------
        Person; of a population of one, the fitted IdealPoint

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person(2)
        Person(2, 1 answers)
        """
        check_is_fitted(self)
        position = self._position(user)
        if position < 0:
            raise InputError(nobody_called(user, self.people_))
        if self._alone is not None:
            return self._alone
        name = naming.plain(self.people_[position])
        return Person(self, self._tastes(position), name, int(self.n_answers_[position]))

    def person_from(
        self, X: Any = None, y: ArrayLike | None = None, *, about: Mapping[str, Any] | None = None
    ) -> Person:
        """Return what is known of somebody new, from their answers and what people share; without a refit.

        Parameters
        ----------
        X, y : their answers, as for `fit`, if there are any; users are not looked at
        about : what else is known of them, by the columns of `people` at the fit, as {"age": 40}

        Returns
        -------
        Person

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.person_from([[0, 1]])
        Person(somebody new, 1 answers)
        """
        check_is_fitted(self)
        known = self._values_about(about)
        if X is None or _is_empty(X):
            return Person(self, self._tastes_about(known))
        data = self._comparisons(X, y, None, None, self._items_of_fit())
        winners, losers, weights = data.oriented()
        used, place = np.unique(np.concatenate([winners, losers]), return_inverse=True)
        winners, losers = place.reshape(2, -1)
        table = self._table(data.item_table)
        tastes = tuple(
            part.of_answers(winners, losers, weights, seen.take(used), known)
            for part, seen in zip(self._average.parts, self._seen(table), strict=True)
        )
        return Person(self, tastes, None, len(data))

    def explain(self) -> PeopleExplanation | Explanation:
        """Return what people share and where they differ, in words and tables, and how far to trust it.

        Returns
        -------
        PeopleExplanation, which prints as text; of a population of one, the Explanation of IdealPoint

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.explain().has_pattern
        False
        """
        # Imported here because it takes this module's class.
        from coombs.insights.people_explanation import explain_people

        check_is_fitted(self)
        return explain_people(self) if self._alone is None else self._alone.explain()


def _is_empty(values: Any) -> bool:
    """Whether there is nothing in it; what has no length is for others to judge."""
    try:
        return len(values) == 0
    except TypeError:
        return False
