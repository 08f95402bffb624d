"""One metric for many people with ideal points of their own: the fixed programs of Canal et al. (2022)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coombs.data import naming
from coombs.data.by_person import warn_of_names
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons, InputError
from coombs.data.new_items import table_for
from coombs.data.scaling import Scaler, check_alike
from coombs.estimators import parameters
from coombs.estimators.savable import Savable
from coombs.programs.constraint_sets import SETS, TWO_RADII, ConstraintSet, radii
from coombs.programs.losses import LOSSES
from coombs.programs.minimise import minimise_shared
from coombs.programs.program import ConvergenceError, Status
from coombs.programs.shared_metric import PeoplesAnswers, SharedProgram
from coombs.random_state import generator

if TYPE_CHECKING:
    from coombs.data.encoding import Encoding
    from coombs.data.tables import FloatArray, ItemTable, Names, TableLike
    from coombs.programs.shared_metric import SharedSolution

SIZES = tuple(float(size) for size in np.geomspace(0.1, 100.0, 7))
"""Sizes of the set that "auto" tries, in units in which a metric of size 1 explains an ordinary margin."""
FOLDS = 3
"""Parts of everybody's answers, each of which is left out once."""
ROUGH = 1e-4
"""Relative gap of the fits that choose a size."""
MOST_NAMED = 3
"""People that a message names."""


class SharedMetric(ClassifierMixin, Savable, BaseEstimator):  # type: ignore[misc]
    """One metric M for all people and an ideal point for each, by a convex program over a fixed set.

    Person k prefers item w to item l with the margin e = x_l' M x_l - x_w' M x_w + v_k' (x_l - x_w), where
    v_k = -2 M u_k, and

        minimise  mean of loss(e)   over M >= 0 and v_1..v_K in a constraint set:

        "frobenius"       |M|_F <= radius and |v_k| <= own_radius for everybody
        "nuclear_metric"  |M|_* <= radius and |v_k| <= own_radius for everybody
        "nuclear_split"   |M|_* <= radius and |[v_1..v_K]|_* <= own_radius
        "nuclear_full"    |[M, v_1..v_K]|_* <= radius
        "psd"             no bound

    as in Canal, Mason, Vinayak and Nowak: One for All: Simultaneous Metric and Preference Learning over
    Multiple Users, NeurIPS 2022. It has no intervals, and says nothing of people it has not seen.

    Parameters
    ----------
    items : (n_items, d) array or frame, or None when `fit` gets the items with the answers
    constraint : the set, by name
    metric : "full", or "identity" to learn ideal points alone (not with "nuclear_full")
    loss : "hinge" (the paper's for colours), "logistic" or "squared_hinge"
    radius, own_radius : of the set; "auto" chooses the size that predicts answers left out best
    alpha : Tikhonov shrinkage of the ideal points, u = -2 (4 M'M + alpha I)^-1 M'v
    standardize : scale the features inside; the set is then one of standardised features
    random_state : of how answers are left out
    tol, max_iter : relative duality gap to reach, and iterations to reach it in

    Attributes
    ----------
    metric_ : (d, d) what all people share, in the user's units
    ideal_points_ : (n_people, d) u of each person, shrunk
    slopes_ : (n_people, d) of scores x' M x + slope' x, less being better; what predicts
    people_ : (n_people,) who they are, in the order of the rows
    radius_, own_radius_ : of the set that was used; infinite where it has none
    objective_, gap_, status_, n_iter_ : how the solve ended
    n_features_in_, feature_names_in_, others : as scikit-learn has them

    Examples
    --------
    >>> from coombs import SharedMetric
    >>> items = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    >>> est = SharedMetric(items, constraint="frobenius", radius=2.0, own_radius=2.0)
    >>> est = est.fit([[0, 1], [2, 3], [1, 0], [3, 2]], users=["ann", "ann", "bob", "bob"])
    >>> est.status_, est.predict([[2, 3], [2, 3]], users=["ann", "bob"]).tolist()
    ('optimal', [1, -1])
    """

    def __init__(
        self,
        items: TableLike = None,
        *,
        constraint: str = "nuclear_full",
        metric: str = "full",
        loss: str = "hinge",
        radius: str | float = "auto",
        own_radius: str | float = "auto",
        alpha: float = 1.0,
        standardize: bool = False,
        random_state: Any = 0,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.items = items
        self.constraint, self.metric, self.loss = constraint, metric, loss
        self.radius, self.own_radius = radius, own_radius
        self.alpha = alpha
        self.standardize = standardize
        self.random_state = random_state
        self.tol, self.max_iter = tol, max_iter

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        users: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the answers of several people.

        Parameters
        ----------
        X : Comparisons with users, (n, 2) pairs of positions or names, or (n, 2, d) pairs of feature vectors
        y : (n,) of +1 (the first is preferred), -1, 0 (tie); by default the first is preferred
        users : (n,) who gave each answer; of a Comparisons its own
        sample_weight : (n,) weights of the answers

        Returns
        -------
        self

        Examples
        --------
        >>> from coombs import SharedMetric
        >>> est = SharedMetric([[0.0], [1.0], [2.0]], constraint="psd")
        >>> est.fit([[0, 1], [2, 1]], users=["ann", "bob"]).people_.tolist()
        ['ann', 'bob']
        """
        self._check_parameters()
        data = self._comparisons(X, y, users, sample_weight, self.items)
        parameters.check_features(self, data)
        scaler = Scaler.of(data.items, self.standardize, drop_constant=False, levels=data.levels)
        check_alike(data, scaler)
        people, answers = _peoples_answers(data, scaler.forward(data.items))
        bounds = self._bounds(answers)
        solution = minimise_shared(self._program(answers, bounds), self.tol, self.max_iter)
        self._store(data, people, scaler, bounds, solution)
        named = isinstance(X, Comparisons) or np.asarray(X).ndim != 3
        self.item_table_: ItemTable | None = data.item_table if named else None
        if not named and self.items is not None:
            self.item_table_ = item_table(self.items)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that no program has."""
        parameters.check_shared(self)
        parameters.check_choice(self, "constraint", SETS)
        parameters.check_choice(self, "metric", ("full", "identity"))
        for name in ("radius", "own_radius"):
            parameters.check_auto_or_number(self, name, 0.0, np.inf, "a positive number")
        parameters.check_number(self, "alpha", zero=True)
        parameters.check_number(self, "tol")
        if self.metric == "identity" and self.constraint == "nuclear_full":
            raise InputError(
                "constraint='nuclear_full' bounds the metric and everybody's direction together; with "
                "metric='identity' choose another, as 'frobenius'."
            )

    def _comparisons(
        self, X: Any, y: ArrayLike | None, users: Any, weights: ArrayLike | None, items: TableLike
    ) -> Comparisons:
        """Whatever was given, as the one datum, with users."""
        if isinstance(X, Comparisons):
            data = X if y is None and weights is None else X.with_answers(y, weights)
            if users is not None and data.shapes:
                raise InputError("Answers that are not pairs have users of their own; leave out users=.")
            if users is not None:
                data = Comparisons.at_positions(
                    data.item_table, data.pairs, data.y, data.weights, np.asarray(users, dtype=object)
                )
        elif np.asarray(X).ndim == 3:
            data = Comparisons.from_features(X, y=y, users=users, weights=weights)
        elif items is None:
            raise InputError(
                "SharedMetric has no items, so pairs of positions or names mean nothing to it; give it "
                "items=..., or fit a Comparisons or (n, 2, d) pairs of feature vectors."
            )
        else:
            data = Comparisons(items, X, y=y, users=users, weights=weights)
        if data.answer_users is None:
            raise InputError(
                "Nobody is named: SharedMetric learns from several people's answers, so give users=..., "
                "one for each answer. IdealPoint learns from one person's."
            )
        return data

    def _bounds(self, answers: PeoplesAnswers, size: float | None = None) -> ConstraintSet:
        """The constraint set: by its radii where they are given, otherwise of a size."""
        n_people, d = answers.n_people, answers.items.shape[1]
        given = [None if value == "auto" else float(value) for value in (self.radius, self.own_radius)]
        needed = given[: 2 if self.constraint in TWO_RADII else 1] if self.constraint != "psd" else []
        if size is None and None in needed:
            size = self._chosen_size(answers)
        made = radii(self.constraint, 1.0 if size is None else size, answers.items, n_people)
        radius, own_radius = (own if value is None else value for value, own in zip(given, made, strict=True))
        radius = np.inf if self.constraint == "psd" else radius
        own_radius = own_radius if self.constraint in TWO_RADII else np.inf
        has_metric = self.metric == "full"
        return ConstraintSet(self.constraint, d, n_people, radius, own_radius, has_metric)

    def _program(self, answers: PeoplesAnswers, bounds: ConstraintSet) -> SharedProgram:
        metric = None if self.metric == "full" else np.eye(answers.items.shape[1])
        return SharedProgram.of(answers, LOSSES[self.loss], bounds, metric)

    def _chosen_size(self, answers: PeoplesAnswers) -> float:
        """The size of the set with the least loss on answers left out."""
        squares = (answers.items**2).sum(axis=1)
        margins = squares[answers.losers] - squares[answers.winners]
        typical = float(np.sqrt(answers.weights @ margins**2))
        sizes = [size / typical if typical > 0 else size for size in SIZES]
        folds = list(answers.folds(FOLDS, generator(self.random_state)))
        totals = [sum(self._left_out(*fold, size) for fold in folds) for size in sizes]
        return sizes[int(np.argmin(totals))] if folds else sizes[len(sizes) // 2]

    def _left_out(self, kept: PeoplesAnswers, left: PeoplesAnswers, size: float) -> float:
        """The loss on answers left out."""
        bounds = self._bounds(kept, size)
        try:
            found = minimise_shared(self._program(kept, bounds), ROUGH, self.max_iter)
        except ConvergenceError:
            return np.inf
        metric = found.metric if self.metric == "full" else np.eye(left.items.shape[1])
        scores = np.einsum("ni,ij,nj->n", left.items, metric, left.items)
        margins = scores[left.losers] - scores[left.winners]
        steps = left.items[left.losers] - left.items[left.winners]
        margins += (steps * found.directions[left.people]).sum(axis=1)
        return LOSSES[self.loss].value(margins, left.weights)

    def _store(
        self,
        data: Comparisons,
        people: Names,
        scaler: Scaler,
        bounds: ConstraintSet,
        solution: SharedSolution,
    ) -> None:
        """Fitted attributes, in the user's units."""
        if solution.status == Status.ALMOST_OPTIMAL:
            message = f"The fit is almost optimal only: its certified relative gap is {solution.gap:.1e}."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        metric = solution.metric if self.metric == "full" else np.eye(data.n_features)
        shrunk = ideal_points(metric, solution.directions, self.alpha)
        self.metric_ = scaler.metric(metric)
        self.ideal_points_ = scaler.point(shrunk)
        # Of x = centre + sizes z: z'Nz + v'z is x'Mx + (v / sizes - 2 M centre)'x and a constant.
        self.slopes_ = scaler.slope(solution.directions) - 2 * (self.metric_ @ scaler.centre)
        self.radius_, self.own_radius_ = float(bounds.radius), float(bounds.own_radius)
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.status_, self.n_iter_ = str(solution.status), solution.n_iter
        self._told_of(people, data.n_features, data.feature_names, data.encoding)

    def _told_of(
        self, people: Names, n_features: int, names: Names | None, encoding: Encoding | None
    ) -> None:
        """Keep who answered, and what the features are called."""
        self.people_, self._places = people, {naming.text(one): k for k, one in enumerate(people)}
        self.classes_, self.n_features_in_ = np.array([-1, 1]), n_features
        self._encoding, self._names = encoding, names
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def decision_function(self, X: Any, users: ArrayLike | None = None) -> FloatArray:
        """Return by how much the first of each pair is better, for the person who is asked.

        Parameters
        ----------
        X : pairs, as for `fit`
        users : (n,) people of the fit; of a Comparisons its own

        Returns
        -------
        (n,) margins, positive where the first is better

        Examples
        --------
        >>> from coombs import SharedMetric
        >>> est = SharedMetric([[0.0], [1.0]], constraint="psd").fit([[0, 1]], users=["ann"])
        >>> est.decision_function([[0, 1], [1, 0]], users=["ann", "ann"]).shape
        (2,)
        """
        check_is_fitted(self)
        return self._margins(self._comparisons(X, None, users, None, self.item_table_))

    def _margins(self, data: Comparisons) -> FloatArray:
        if data.shapes:
            raise InputError("Choices, rankings and ratings are not pairs; predict pairs of two items.")
        names = None if self._names is None else list(self._names)
        items = table_for(data.item_table, names, self.n_features_in_, self._encoding).matrix
        who = self._positions(data.users)
        squares = np.einsum("ni,ij,nj->n", items, self.metric_, items)
        first, second = data.pairs.T
        result: FloatArray = squares[second] - squares[first]
        result += ((items[second] - items[first]) * self.slopes_[who]).sum(axis=1)
        return result

    def _positions(self, users: Any) -> NDArray[np.intp]:
        """The rows of these people; somebody who is not known has none."""
        texts = naming.texts(users) or []
        unknown = [text for text in dict.fromkeys(texts) if text not in self._places]
        if unknown:
            named = ", ".join(map(repr, unknown[:MOST_NAMED]))
            raise InputError(
                f"{named}: no answers of theirs were learned from, and the programs say nothing of others; "
                "people_ has who is known."
            )
        return np.array([self._places[text] for text in texts], dtype=np.intp)

    def predict(self, X: Any, users: ArrayLike | None = None) -> NDArray[np.int_]:
        """Return which of each pair is better for the person who is asked.

        Parameters
        ----------
        X, users : as for `decision_function`

        Returns
        -------
        (n,) of +1, the first, and -1, the second

        Examples
        --------
        >>> from coombs import SharedMetric
        >>> est = SharedMetric([[0.0], [1.0]], constraint="psd").fit([[0, 1]], users=["ann"])
        >>> est.predict([[0, 1], [1, 0]], users=["ann", "ann"]).tolist()
        [1, -1]
        """
        return np.where(self.decision_function(X, users) >= 0, 1, -1)

    def predict_proba(self, X: Any, users: ArrayLike | None = None) -> FloatArray:
        """Return the logistic function of each margin, as `loss="logistic"` means it.

        Parameters
        ----------
        X, users : as for `decision_function`

        Returns
        -------
        (n, 2) probabilities of -1, that the second is preferred, and of +1, that the first is

        Examples
        --------
        >>> from coombs import SharedMetric
        >>> est = SharedMetric([[0.0], [1.0]], constraint="psd").fit([[0, 1]], users=["ann"])
        >>> bool(est.predict_proba([[0, 1]], users=["ann"])[0, 1] > 0.5)
        True
        """
        first = expit(self.decision_function(X, users))
        return np.column_stack([1 - first, first])

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        users: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the weighted share of answers that are predicted; a tie, like equal scores, counts half.

        Parameters
        ----------
        X, y, users, sample_weight : answers, as for `fit`

        Returns
        -------
        float from 0 to 1

        Examples
        --------
        >>> from coombs import SharedMetric
        >>> est = SharedMetric([[0.0], [1.0]], constraint="psd").fit([[0, 1]], users=["ann"])
        >>> est.score([[0, 1], [1, 0]], users=["ann", "ann"])
        0.5
        """
        check_is_fitted(self)
        data = self._comparisons(X, y, users, sample_weight, self.item_table_)
        right = (np.sign(self._margins(data)) * data.y + 1) / 2
        return float(data.weights @ right / data.weights.sum())


def ideal_points(metric: FloatArray, directions: FloatArray, alpha: float) -> FloatArray:
    """u = -2 (4 M'M + alpha I)^-1 M'v of each row v; for alpha = 0 the least u with M u nearest to -v/2."""
    values, vectors = np.linalg.eigh(metric)
    shrunk = 4 * values**2 + alpha
    # Where M does not see, u is 0.
    seen = shrunk > np.finfo(float).eps * max(float(shrunk.max(initial=0.0)), np.finfo(float).tiny)
    factors = np.where(seen, -2 * values / np.where(seen, shrunk, 1.0), 0.0)
    result: FloatArray = (directions @ vectors * factors) @ vectors.T
    return result


def _peoples_answers(data: Comparisons, items: FloatArray) -> tuple[Names, PeoplesAnswers]:
    """Who answered, and what they said of every two items."""
    users = data.answer_users
    assert users is not None
    texts = np.array(naming.texts(users))
    known, first, codes = np.unique(texts, return_index=True, return_inverse=True)
    warn_of_names(users, codes, known.tolist())
    winners, losers, weights, people = _oriented(data, codes)
    mass = np.bincount(people, weights, len(known))
    if not mass.all():
        named = ", ".join(repr(str(one)) for one in known[mass == 0][:MOST_NAMED])
        raise InputError(f"{named}: no answer with a positive weight; leave such people out.")
    found = PeoplesAnswers.collect(items, winners, losers, weights, people, len(known))
    return users[first], found


def _oriented(data: Comparisons, codes: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
    """Winners, losers, weights and people, as `Comparisons.oriented` has the first three."""
    if not data.shapes:
        used = data.weights > 0
        people = np.concatenate([codes[used], codes[used & (data.y == 0)]])
        return *data.oriented(), people
    parts = [(*data[codes == k].oriented(), k) for k in range(int(codes.max()) + 1)]
    winners, losers, weights = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return winners, losers, weights, np.repeat([part[3] for part in parts], [len(part[0]) for part in parts])
