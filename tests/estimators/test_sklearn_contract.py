"""The estimators are scikit-learn's: cloned, searched, cross-validated, pickled and checked as any other."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.utils.estimator_checks import estimator_checks_generator

from coombs import (
    Alternating,
    Comparisons,
    ConvexIdealPoint,
    EuclideanCompass,
    EuclideanSingleStep,
    IdealPoint,
    InputError,
    SingleStep,
)
from coombs.simulate import make_preferences

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("few_draws")

Kind: TypeAlias = type[Any]

PROGRAMS: list[Kind] = [SingleStep, Alternating, EuclideanSingleStep, EuclideanCompass, ConvexIdealPoint]
KINDS: list[Kind] = [*PROGRAMS, IdealPoint]
every_program = pytest.mark.parametrize("kind", PROGRAMS)
every_kind = pytest.mark.parametrize("kind", KINDS)
# For tests of many fits: one that chooses its strength takes ten times as long, and a sampled one a hundred.
every_kind_often = pytest.mark.parametrize(
    "kind", [*PROGRAMS[:-1], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[-2:])]
)
# Features are scaled by the items there are, and vectors bring only those compared.
SCALED = (ConvexIdealPoint, IdealPoint)

# 20 items in 60 answers, and 5 that no answer touches.
PERSON = make_preferences(n_items=20, n_features=3, n_comparisons=60, noise=0.05, random_state=0)
ITEMS = np.vstack([PERSON.items, np.random.default_rng(1).uniform(-2, 2, (5, 3))])
PAIRS, Y = PERSON.pairs, PERSON.y
NAMES = np.array([f"item {i}" for i in range(25)], dtype=object)
FRAME = pd.DataFrame(ITEMS, index=NAMES, columns=["price", "milk", "foam"])
USERS = np.repeat(["ann", "bob", "cy", "di", "ed", "fay"], 10)
DATA = Comparisons(FRAME, PAIRS, Y, users=USERS)


def gamma_of(kind: Kind) -> str:
    """The hyper-parameter that the searches vary."""
    return {EuclideanCompass: "gamma", ConvexIdealPoint: "regularization"}.get(kind, "gamma2")


@cache
def _fitted(kind: Kind, named: bool) -> Any:
    return kind(FRAME if named else ITEMS).fit(PAIRS, Y)


def fitted(kind: Kind, named: bool = False) -> Any:
    """A copy of the fit that most tests ask; it is fitted once."""
    return deepcopy(_fitted(kind, named))


def standardised(kind: Kind) -> Any:
    """An estimator of scaled features."""
    return kind(ITEMS, standardize=True)


def assert_same_fit(a: Any, b: Any, rtol: float = 1e-4) -> None:
    """The same metric and ideal point, to the accuracy of the solvers."""
    assert_allclose(a.metric_, b.metric_, rtol=rtol, atol=1e-5)
    assert_allclose(a.ideal_point_, b.ideal_point_, rtol=rtol, atol=1e-5)


# Parameters


@every_program
def test_clone_has_the_parameters_and_nothing_learned(kind: Kind) -> None:
    """An equal, unfitted estimator."""
    est = kind(ITEMS, **{gamma_of(kind): 0.5}, loss="logistic").fit(PAIRS, Y)
    copy = clone(est)
    assert copy.get_params().keys() == est.get_params().keys()
    assert getattr(copy, gamma_of(kind)) == 0.5 and copy.loss == "logistic"
    assert_array_equal(copy.items, ITEMS)
    assert not hasattr(copy, "metric_") and not hasattr(copy, "n_features_in_")


@every_program
def test_get_params_is_the_signature_and_set_params_sets_it(kind: Kind) -> None:
    """Every argument of the constructor, under its name."""
    est = kind()
    assert set(est.get_params()) == set(inspect.signature(kind).parameters)
    assert est.set_params(items=ITEMS, tol=1e-6) is est
    assert est.get_params()["items"] is ITEMS and est.get_params()["tol"] == 1e-6
    with pytest.raises(ValueError, match="Invalid parameter 'gamma9'"):
        est.set_params(gamma9=1.0)


@every_program
def test_a_parameter_set_anew_counts_in_the_next_fit(kind: Kind) -> None:
    """As if the estimator had been made with it."""
    est = fitted(kind)
    before = est.ideal_point_
    est.set_params(**{gamma_of(kind): 5.0}).fit(PAIRS, Y)
    assert not np.allclose(est.ideal_point_, before, rtol=1e-3)
    assert_same_fit(est, kind(ITEMS, **{gamma_of(kind): 5.0}).fit(PAIRS, Y), rtol=1e-12)


BAD_PARAMETERS = [
    (kind, name, value)
    for kind in KINDS
    for names, values in (
        (
            ("gamma", "gamma1", "gamma2", "gamma3", "start_gamma1", "start_gamma2", "start_gamma3", "tol"),
            (0.0, -1.0, float("nan"), "2"),
        ),
        (("alpha", "start_alpha"), (-1.0, float("inf"), None)),
        (("tolerance",), (0.0, True)),
        (("loss",), ("l2", None)),
        (("solver",), ("magic", None)),
        (("max_iter",), (0, 1.5, "10")),
    )
    for name in names
    if name in inspect.signature(kind).parameters
    for value in values
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD_PARAMETERS)
def test_a_bad_parameter_is_refused_by_name_at_fit(kind: Kind, name: str, value: Any) -> None:
    """Not in the constructor, which scikit-learn wants to take anything."""
    est = kind(ITEMS, **{name: value})
    with pytest.raises(InputError, match=f"^{name} is .*; it must be "):
        est.fit(PAIRS, Y)


@pytest.mark.parametrize("value", [-1, 1.5, "10"])
def test_a_bad_max_alternations_is_refused_by_name(value: Any) -> None:
    """As every other number is."""
    with pytest.raises(InputError, match="max_alternations"):
        Alternating(ITEMS, max_alternations=value).fit(PAIRS, Y)


def test_a_truth_of_another_size_is_refused_by_name() -> None:
    """The message has the shapes that there are and those that would be right."""
    with pytest.raises(InputError, match=r"truth has shapes \[\(2,\), \(2, 2\)\]; .* \[\(3,\), \(3, 3\)\]"):
        Alternating(ITEMS, truth=(np.zeros(2), np.eye(2))).fit(PAIRS, Y)


# Roads in


@every_kind_often
def test_positions_names_comparisons_and_feature_vectors_give_the_same_fit(kind: Kind) -> None:
    """One datum, however it comes."""
    by_position = fitted(kind)
    assert_same_fit(fitted(kind, named=True), by_position)
    assert_same_fit(kind(FRAME).fit(NAMES[PAIRS], Y), by_position)
    assert_same_fit(kind(FRAME).fit(pd.DataFrame(NAMES[PAIRS]), pd.Series(Y)), by_position)
    assert_same_fit(kind().fit(DATA), by_position)
    assert_same_fit(kind().fit(DATA, -DATA.y), kind(ITEMS).fit(PAIRS, -Y))
    if kind in SCALED:
        by_position = kind().fit(Comparisons.from_features(ITEMS[PAIRS], y=Y))
    assert_same_fit(kind().fit(ITEMS[PAIRS], Y), by_position)


@every_kind
def test_without_y_the_first_of_each_pair_is_preferred(kind: Kind) -> None:
    """(winner, loser) rows need no y."""
    wins = np.where(Y[:, None] > 0, PAIRS, PAIRS[:, ::-1])
    assert_same_fit(kind(ITEMS).fit(wins), fitted(kind))


@every_kind_often
def test_sample_weight_two_is_the_answer_twice_and_zero_is_no_answer(kind: Kind) -> None:
    """Weights given to fit, and weights in a Comparisons."""
    weights = np.resize([1.0, 2.0, 0.0], len(Y))
    times = weights.astype(int)
    weighted = kind(ITEMS).fit(PAIRS, Y, sample_weight=weights)
    assert_same_fit(weighted, kind(ITEMS).fit(np.repeat(PAIRS, times, axis=0), np.repeat(Y, times)))
    assert_same_fit(kind().fit(Comparisons(ITEMS, PAIRS, Y, weights=weights)), weighted)
    assert_same_fit(kind().fit(DATA, sample_weight=weights), weighted)
    assert not np.allclose(weighted.ideal_point_, fitted(kind).ideal_point_, rtol=1e-3)


@every_kind
def test_pairs_without_items_are_refused(kind: Kind) -> None:
    """The message says where items may come from."""
    with pytest.raises(InputError, match=f"{kind.__name__} has no items.*items=.*Comparisons"):
        kind().fit(PAIRS, Y)


BAD_PAIRS: list[tuple[Any, str]] = [
    (np.zeros((0, 2)), "no answers"),
    ([0, 1], "shape"),
    (np.full((1, 2, 3), np.nan), "nan; it must be a finite number"),
    (np.array([[[1j], [2.0]]]), "must be a number"),
    ([[0, 0]], "compared with itself"),
    ([[0, 25]], "Position 25 in row 0 is no item"),
]


@every_kind
@pytest.mark.parametrize(("pairs", "message"), BAD_PAIRS)
def test_bad_pairs_are_refused_in_words(kind: Kind, pairs: Any, message: str) -> None:
    """By fit and by predict."""
    with pytest.raises(InputError, match=message):
        kind(ITEMS).fit(pairs)
    with pytest.raises(InputError, match=message):
        fitted(kind).predict(pairs)


@every_kind
@pytest.mark.parametrize(
    ("y", "message"),
    [(Y[:-1], "59 y for 60 pairs"), (Y[:, None], "flat list"), (Y * 0.5, "y of row"), (Y + 9.0, "y of row")],
)
def test_bad_y_is_refused_in_words(kind: Kind, y: Any, message: str) -> None:
    """Too few, a column, continuous, other labels."""
    with pytest.raises(InputError, match=message):
        kind(ITEMS).fit(PAIRS, y)


def test_pairs_of_unequal_length_are_refused_in_words() -> None:
    """As Comparisons refuses them."""
    with pytest.raises(InputError, match="rows must be of equal length"):
        SingleStep(ITEMS).fit([[0, 1], [2]])


# What is learned


@every_kind
def test_fit_gives_itself_and_says_what_it_saw(kind: Kind) -> None:
    """Attributes that scikit-learn and the contract name, in their shapes."""
    est = kind(FRAME)
    assert est.fit(PAIRS, Y) is est
    assert est.classes_.tolist() == [-1, 1] and est.n_features_in_ == 3
    assert est.feature_names_in_.tolist() == list(FRAME.columns)
    assert est.metric_.shape == (3, 3) and est.ideal_point_.shape == (3,) and est.distances_.shape == (25,)
    assert np.linalg.eigvalsh(est.metric_).min() >= -1e-8
    assert est.n_iter_ >= 1 and isinstance(est.status_, str) and np.isfinite(est.objective_)
    assert not hasattr(fitted(kind), "feature_names_in_")


@every_kind
def test_fit_changes_neither_its_inputs_nor_its_parameters(kind: Kind) -> None:
    """Arrays keep their values and stay writeable; parameters stay the same objects."""
    given = [ITEMS.copy(), PAIRS.copy(), Y.copy(), np.linspace(1, 2, len(Y))]
    kept = [array.copy() for array in given]
    est = standardised(kind).set_params(items=given[0])
    parameters = est.get_params()
    est.fit(*given[1:])
    for array, copy in zip(given, kept, strict=True):
        assert_array_equal(array, copy)
        assert array.flags.writeable
    assert all(est.get_params()[name] is value for name, value in parameters.items())


@every_kind
def test_changing_the_items_afterwards_changes_no_prediction(kind: Kind) -> None:
    """What was learned is the estimator's own."""
    items = ITEMS.copy()
    est = kind(items).fit(PAIRS, Y)
    before = est.decision_function(PAIRS)
    items += 1
    assert_array_equal(est.decision_function(PAIRS), before)


@every_kind
def test_fitting_again_gives_the_same_to_the_last_bit(kind: Kind) -> None:
    """No randomness, and nothing left over from the first time."""
    est = fitted(kind)
    metric, point = est.metric_, est.ideal_point_
    est.fit(PAIRS[:30], Y[:30]).fit(PAIRS, Y)
    assert_array_equal(est.metric_, metric)
    assert_array_equal(est.ideal_point_, point)


@every_program
def test_standardised_features_are_reported_in_their_own_units(kind: Kind) -> None:
    """Other units and another zero change u and M as they change the items, and no distance."""
    est = standardised(kind).fit(PAIRS, Y)
    sizes, zero = np.array([1e3, 1.0, 1e-2]), np.array([0.0, 5.0, -1.0])
    other = standardised(kind).set_params(items=zero + ITEMS * sizes).fit(PAIRS, Y)
    assert_allclose(other.ideal_point_, zero + est.ideal_point_ * sizes, rtol=1e-4)
    assert_allclose(other.metric_ * np.outer(sizes, sizes), est.metric_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.distance(), est.distance(), rtol=1e-4, atol=1e-5)


@every_kind
def test_get_mahalanobis_matrix_is_a_copy_of_the_metric(kind: Kind) -> None:
    """Changing it changes nothing."""
    est = fitted(kind)
    matrix, before = est.get_mahalanobis_matrix(), est.distance()
    assert_array_equal(matrix, est.metric_)
    matrix[:] = 0
    assert_array_equal(est.distance(), before)


@every_kind
@pytest.mark.parametrize(
    "call",
    [
        lambda est: est.predict(PAIRS),
        lambda est: est.predict_proba(PAIRS),
        lambda est: est.decision_function(PAIRS),
        lambda est: est.score(PAIRS, Y),
        lambda est: est.distance(ITEMS),
        lambda est: est.distance(),
        lambda est: est.rank(ITEMS),
        lambda est: est.rank(),
        lambda est: est.transform(ITEMS),
        lambda est: est.get_mahalanobis_matrix(),
        lambda est: est.get_feature_names_out(),
    ],
)
def test_nothing_is_told_before_fit(kind: Kind, call: Callable[[Any], Any]) -> None:
    """scikit-learn's own error."""
    with pytest.raises(NotFittedError):
        call(kind(ITEMS))


def test_feature_names_go_when_items_without_names_are_fitted() -> None:
    """A second fit forgets the first."""
    est = SingleStep().fit(DATA).fit(ITEMS[PAIRS], Y)
    assert not hasattr(est, "feature_names_in_")


def test_fit_does_not_depend_on_an_earlier_fit() -> None:
    """Pairs of positions without items mean nothing, fitted before or not."""
    with pytest.raises(InputError, match="has no items"):
        SingleStep().fit(DATA).fit(PAIRS, Y)


def test_score_and_predict_mean_the_same_items() -> None:
    """Fitted to a Comparisons, an estimator judges its items, whatever its parameter has."""
    est = SingleStep(ITEMS).fit(Comparisons(-ITEMS, PAIRS, Y))
    assert est.score(PAIRS, Y) == pytest.approx((est.predict(PAIRS) == Y).mean())


# Predictions


@every_kind
def test_predictions_agree_with_one_another(kind: Kind) -> None:
    """predict is the sign of decision_function and the likelier class; probabilities sum to 1."""
    est = fitted(kind)
    margin, proba, label = est.decision_function(PAIRS), est.predict_proba(PAIRS), est.predict(PAIRS)
    assert set(label) == {-1, 1}
    assert_array_equal(label, np.where(margin >= 0, 1, -1))
    assert_array_equal(label, est.classes_[proba.argmax(axis=1)])
    assert_allclose(proba.sum(axis=1), 1)
    assert ((proba >= 0) & (proba <= 1)).all()
    assert_allclose(margin, est.distance()[PAIRS[:, 1]] - est.distance()[PAIRS[:, 0]])


@every_kind
def test_swapping_a_pair_turns_the_prediction_over(kind: Kind) -> None:
    """decision_function is antisymmetric, and the two probabilities change places."""
    est = fitted(kind)
    swapped = PAIRS[:, ::-1]
    assert_allclose(est.decision_function(swapped), -est.decision_function(PAIRS))
    assert_allclose(est.predict_proba(swapped), est.predict_proba(PAIRS)[:, ::-1], atol=1e-12)


@every_kind
def test_predictions_are_the_same_by_position_name_comparisons_and_feature_vectors(kind: Kind) -> None:
    """Whichever way the question is put."""
    est = fitted(kind, named=True)
    expected = est.decision_function(PAIRS)
    for question in (NAMES[PAIRS], DATA, ITEMS[PAIRS], pd.DataFrame(NAMES[PAIRS])):
        assert_allclose(est.decision_function(question), expected)


@every_kind
def test_items_never_compared_are_predicted_and_ranked(kind: Kind) -> None:
    """Items of the table that no answer touches, and items that came later."""
    est = fitted(kind, named=True)
    nearer = np.sign(est.distance()[24] - est.distance()[23])
    assert est.predict([[23, 24]]) == est.predict([["item 23", "item 24"]]) == [nearer]
    assert sorted(est.rank()) == sorted(NAMES)
    assert_array_equal(est.rank(), NAMES[np.argsort(est.distance(ITEMS))])
    later = np.array([est.ideal_point_ + 1, est.ideal_point_])
    assert est.rank(later).tolist() == [1, 0] and est.predict(later[None]).tolist() == [-1]


@every_kind
def test_score_is_the_weighted_share_of_answers_predicted(kind: Kind) -> None:
    """Pair accuracy, the same from pairs and from a Comparisons."""
    est, weights = fitted(kind, named=True), np.linspace(0, 1, len(Y))
    right = est.predict(PAIRS) == Y
    assert est.score(PAIRS, Y) == est.score(DATA) == est.score(ITEMS[PAIRS], Y) == pytest.approx(right.mean())
    assert est.score(PAIRS, Y, weights) == pytest.approx(np.average(right, weights=weights))
    assert est.score(PAIRS, -Y) == pytest.approx(1 - right.mean())
    assert est.score(PAIRS, Y) > 0.85


@every_kind
def test_score_counts_ties_and_equal_distances_half(kind: Kind) -> None:
    """A tie is half right whatever is predicted, and so is any answer about two equal items."""
    est, y = fitted(kind), Y.copy()
    assert est.score(PAIRS, 0 * Y) == pytest.approx(0.5)
    y[:20] = 0
    half = (est.predict(PAIRS) == Y)[20:].sum() + 20 / 2
    assert est.score(PAIRS, y) == pytest.approx(half / len(Y))
    twins = Comparisons([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[0, 1], [0, 1]], [1, -1])
    assert est.score(twins[:1]) == est.score(twins[1:]) == est.score(twins) == 0.5


@every_kind
def test_items_with_other_features_are_refused(kind: Kind) -> None:
    """By every method that takes items or their vectors."""
    est = fitted(kind, named=True)
    calls = (est.distance, est.rank, est.transform, lambda items: est.predict(items[PAIRS]))
    for call in calls:
        with pytest.raises(InputError, match="2 features; the model was learned from 3"):
            call(ITEMS[:, :2])
    for call in calls[:3]:
        with pytest.raises(InputError, match="Feature 1 of the items is 'sugar'"):
            call(FRAME.rename(columns={"milk": "sugar"}))
        np.testing.assert_array_equal(call(FRAME[["foam", "milk", "price"]]), call(FRAME))


# scikit-learn's tools


@every_kind
def test_a_pickle_predicts_the_same(kind: Kind) -> None:
    """Everything learned goes with it, and what was not fitted stays so."""
    est = fitted(kind, named=True)
    back = pickle.loads(pickle.dumps(est))
    assert_array_equal(back.predict_proba(PAIRS), est.predict_proba(PAIRS))
    assert_array_equal(back.rank(), est.rank())
    with pytest.raises(NotFittedError):
        pickle.loads(pickle.dumps(kind(FRAME))).predict(PAIRS)


@every_kind_often
@pytest.mark.long
def test_cross_val_score_takes_pairs_or_a_comparisons(kind: Kind) -> None:
    """The same folds give the same scores, and better ones than guessing."""
    by_pairs = cross_val_score(kind(ITEMS), PAIRS, Y, cv=3)
    assert_allclose(cross_val_score(kind(FRAME), NAMES[PAIRS], Y, cv=3), by_pairs)
    assert_allclose(cross_val_score(kind(), DATA, DATA.y, cv=3), by_pairs)
    of_vectors = cross_val_score(kind(), ITEMS[PAIRS], Y, cv=3)
    assert_allclose(of_vectors, by_pairs, atol=0.15 if kind in SCALED else 0)
    assert cross_val_score(kind(), DATA, cv=3).shape == (3,) and by_pairs.mean() > 0.6


@every_kind
def test_the_usual_scorers_work(kind: Kind) -> None:
    """They ask for predict, decision_function, predict_proba and classes_."""
    scorers = ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy"]
    found = cross_validate(kind(ITEMS), PAIRS, Y, cv=2, scoring=scorers)
    assert all(np.isfinite(found[f"test_{name}"]).all() for name in scorers)


@every_kind_often
def test_group_folds_leave_whole_users_out(kind: Kind) -> None:
    """groups=data.users goes with a Comparisons, and no user is on both sides."""
    result = cross_validate(
        kind(), DATA, DATA.y, groups=DATA.users, cv=GroupKFold(3), return_indices=True, return_estimator=True
    )
    folds = zip(result["indices"]["train"], result["indices"]["test"], strict=True)
    for (train, test), est, score in zip(folds, result["estimator"], result["test_score"], strict=True):
        assert not set(USERS[train]) & set(USERS[test])
        assert_same_fit(est, kind(ITEMS).fit(PAIRS[train], Y[train]))
        assert score == est.score(DATA[test])


@every_program
def test_a_grid_search_finds_the_value_of_the_best_score(kind: Kind) -> None:
    """Refitted with it, the search predicts and scores as the estimator does."""
    name = gamma_of(kind)
    search = GridSearchCV(kind(ITEMS), {name: [0.002, 1000.0]}, cv=3).fit(PAIRS, Y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1] and search.best_score_ == scores.max()
    best = kind(ITEMS, **search.best_params_).fit(PAIRS, Y)
    assert_array_equal(search.predict(PAIRS), best.predict(PAIRS))
    assert search.score(PAIRS, Y) == best.score(PAIRS, Y)
    by_data = GridSearchCV(kind(), {name: [0.002, 1000.0]}, cv=3).fit(DATA, DATA.y)
    assert_allclose(by_data.cv_results_["mean_test_score"], scores)


@every_kind
def test_transform_gives_a_frame_with_named_directions_and_the_index_kept(kind: Kind) -> None:
    """set_output("pandas"), as for any transformer; the distances in it are Euclidean."""
    est = fitted(kind, named=True)
    plain = est.transform(FRAME)
    assert est.get_feature_names_out().tolist() == ["direction0", "direction1", "direction2"]
    frame = est.set_output(transform="pandas").transform(FRAME)
    assert frame.columns.tolist() == ["direction0", "direction1", "direction2"]
    assert frame.index.tolist() == FRAME.index.tolist()
    assert_array_equal(frame, plain)
    away = plain - est.set_output(transform="default").transform([est.ideal_point_])
    assert_allclose((away**2).sum(axis=1), est.distance(), atol=1e-6)


@every_kind
def test_fit_transform_transforms_the_items_that_the_pairs_are_about(kind: Kind) -> None:
    """One row an item, not a row a pair."""
    est = kind(ITEMS)
    assert_array_equal(est.fit_transform(PAIRS, Y), est.transform(ITEMS))


# scikit-learn's own checks

FEEDS_ROWS = "feeds feature rows, where rows here are pairs of items"
CALLS_NDIM = "feeds feature rows; and np.ndim(X) is asked of an array-like that only converts"
OWN_WORDS = "such input is refused with an InputError, in this package's words and not scikit-learn's"
ADAPTER = "is about labels or containers, which the adapter of these tests reads and not the estimator"

NEED_ROWS = {
    "check_all_zero_sample_weights_error": FEEDS_ROWS,
    "check_classifier_data_not_an_array": CALLS_NDIM,
    "check_classifier_not_supporting_multiclass": FEEDS_ROWS,
    "check_classifiers_classes": FEEDS_ROWS,
    "check_classifiers_one_label": FEEDS_ROWS,
    "check_classifiers_one_label_sample_weights": FEEDS_ROWS,
    "check_classifiers_regression_target": FEEDS_ROWS,
    "check_classifiers_train": FEEDS_ROWS,
    "check_complex_data": FEEDS_ROWS,
    "check_decision_proba_consistency": FEEDS_ROWS,
    "check_dict_unchanged": FEEDS_ROWS,
    "check_dont_overwrite_parameters": FEEDS_ROWS,
    "check_dtype_object": FEEDS_ROWS,
    "check_estimator_sparse_array": FEEDS_ROWS,
    "check_estimator_sparse_matrix": FEEDS_ROWS,
    "check_estimator_sparse_tag": FEEDS_ROWS,
    "check_estimators_dtypes": FEEDS_ROWS,
    "check_estimators_empty_data_messages": FEEDS_ROWS,
    "check_estimators_fit_returns_self": FEEDS_ROWS,
    "check_estimators_nan_inf": FEEDS_ROWS,
    "check_estimators_overwrite_params": FEEDS_ROWS,
    "check_estimators_pickle": FEEDS_ROWS,
    "check_f_contiguous_array_estimator": FEEDS_ROWS,
    "check_fit2d_1feature": FEEDS_ROWS,
    "check_fit2d_1sample": FEEDS_ROWS,
    "check_fit2d_predict1d": FEEDS_ROWS,
    "check_fit_check_is_fitted": FEEDS_ROWS,
    "check_fit_idempotent": FEEDS_ROWS,
    "check_fit_score_takes_y": FEEDS_ROWS,
    "check_methods_sample_order_invariance": FEEDS_ROWS,
    "check_methods_subset_invariance": FEEDS_ROWS,
    "check_n_features_in": FEEDS_ROWS,
    "check_n_features_in_after_fitting": FEEDS_ROWS,
    "check_non_transformer_estimators_n_iter": FEEDS_ROWS,
    "check_pipeline_consistency": FEEDS_ROWS,
    "check_positive_only_tag_during_fit": FEEDS_ROWS,
    "check_readonly_memmap_input": FEEDS_ROWS,
    "check_sample_weight_equivalence_on_dense_data": FEEDS_ROWS,
    "check_sample_weights_list": FEEDS_ROWS,
    "check_sample_weights_not_an_array": CALLS_NDIM,
    "check_sample_weights_not_overwritten": FEEDS_ROWS,
    "check_sample_weights_pandas_series": FEEDS_ROWS,
    "check_sample_weights_shape": FEEDS_ROWS,
    "check_supervised_y_2d": FEEDS_ROWS,
    "check_transformer_data_not_an_array": CALLS_NDIM,
    "check_transformer_general": FEEDS_ROWS,
    "check_transformer_n_iter": FEEDS_ROWS,
    "check_transformer_preserve_dtypes": FEEDS_ROWS,
}
CANNOT_BE_ASKED = {
    "check_classifier_not_supporting_multiclass": ADAPTER,
    "check_classifiers_regression_target": ADAPTER,
    "check_supervised_y_no_nan": ADAPTER,
    "check_estimator_sparse_array": ADAPTER,
    "check_estimator_sparse_matrix": ADAPTER,
    "check_estimator_sparse_tag": ADAPTER,
    "check_complex_data": OWN_WORDS,
    "check_dtype_object": OWN_WORDS,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_estimators_nan_inf": OWN_WORDS,
    "check_fit2d_predict1d": OWN_WORDS,
    "check_n_features_in_after_fitting": OWN_WORDS,
    "check_supervised_y_2d": OWN_WORDS,
}

OF_VECTORS = "features are scaled by the items there are, and a row left out takes its items with it"
AVERAGED = "probabilities are averaged over the posterior, so they need not rise with the mean of the margins"
IDEAL_POINT_NEEDS_ROWS = {"check_estimators_partial_fit_n_features": FEEDS_ROWS}
IDEAL_POINT_CANNOT_BE_ASKED = {
    "check_decision_proba_consistency": AVERAGED,
    "check_sample_weight_equivalence_on_dense_data": OF_VECTORS,
}


def questions(X: Any) -> NDArray[Any]:
    """Rows x of features as the questions "x or the point (0.1, ..., 0.1)?"."""
    rows = np.asarray(X)
    return np.stack([rows, np.full(rows.shape, 0.1)], axis=1) if rows.ndim == 2 else rows


class RowsAsQuestions:
    """An estimator that reads rows as questions, and the larger of two labels as the answer "x"."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.unique(np.asarray(y))
        signs, labels = self.signs(y), self.classes_
        super().fit(questions(X), signs, sample_weight)  # type: ignore[misc]
        self.classes_ = labels
        return self

    def signs(self, y: Any) -> NDArray[Any]:
        return np.where(np.asarray(y) == self.classes_[-1:], 1, -1)

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(questions(X))  # type: ignore[misc]

    def predict(self, X: Any) -> Any:
        first = super().predict(X) > 0  # type: ignore[misc]
        return np.where(first, self.classes_[-1], self.classes_[0])

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(questions(X))  # type: ignore[misc]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().score(questions(X), self.signs(y), sample_weight)  # type: ignore[misc]

    def fit_transform(self, X: Any, y: Any) -> Any:
        return self.fit(X, y).transform(X)


class SingleStepOfRows(RowsAsQuestions, SingleStep):  # type: ignore[misc]
    pass


class AlternatingOfRows(RowsAsQuestions, Alternating):  # type: ignore[misc]
    pass


class EuclideanSingleStepOfRows(RowsAsQuestions, EuclideanSingleStep):  # type: ignore[misc]
    pass


class EuclideanCompassOfRows(RowsAsQuestions, EuclideanCompass):  # type: ignore[misc]
    pass


class IdealPointOfRows(RowsAsQuestions, IdealPoint):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        # partial_fit hands over a Comparisons of the answers so far.
        if isinstance(X, Comparisons):
            return IdealPoint.fit(self, X)
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        if not hasattr(self, "posterior_"):
            return self.fit(X, y, sample_weight)
        labels = self.classes_
        super().partial_fit(questions(X), self.signs(y), sample_weight)
        self.classes_ = labels
        return self


Check: TypeAlias = Callable[[Any], None]


def name_of(check: Any) -> str:
    """What scikit-learn calls a check; the lists above have these names."""
    name: str = check.func.__name__
    return name


def expected(estimator: Any, plain: dict[str, str], of_ideal_point: dict[str, str]) -> dict[str, str]:
    """The checks that an estimator is expected to fail; without iterations to limit, some are not run."""
    if not isinstance(estimator, IdealPoint):
        return plain
    return {name: why for name, why in plain.items() if not name.endswith("_n_iter")} | of_ideal_point


def passing(estimators: list[Any], *lists: dict[str, str]) -> Any:
    """A case for each check that is not expected to fail."""
    found = [(one, check) for est in estimators for one, check in estimator_checks_generator(est)]
    kept = [(one, check) for one, check in found if name_of(check) not in expected(one, *lists)]
    ids = [
        f"{one!r}-{name_of(check)}" + "".join(f"-{key}={value}" for key, value in check.keywords.items())
        for one, check in kept
    ]
    return pytest.mark.parametrize(("estimator", "check"), kept, ids=ids)


def passes(check: Check, estimator: Any) -> bool:
    """Whether it raises nothing, an AssertionError or otherwise."""
    try:
        check(estimator)
    except Exception:
        return False
    return True


def assert_the_others_fail(estimator: Any, *lists: dict[str, str]) -> None:
    """A check that is listed, and passes, is to be taken off the list; so is one that is not run."""
    listed = expected(estimator, *lists)
    run = [check for _, check in estimator_checks_generator(estimator) if name_of(check) in listed]
    assert {name_of(check) for check in run} == set(listed)
    assert not [name_of(check) for check in run if passes(check, estimator)]


OF_ROWS = [
    SingleStepOfRows(),
    AlternatingOfRows(tolerance=0.1),
    EuclideanSingleStepOfRows(),
    EuclideanCompassOfRows(),
]
IDEAL_POINTS_OF_ROWS = [
    IdealPointOfRows(metric="identity", item_effects=False),
    IdealPointOfRows(item_effects=False),
]


@passing([kind() for kind in KINDS], NEED_ROWS, IDEAL_POINT_NEEDS_ROWS)
def test_scikit_learns_checks(estimator: Any, check: Check) -> None:
    """Every check that does not fit rows of features."""
    check(estimator)


@every_kind
def test_scikit_learns_other_checks_need_rows(kind: Kind) -> None:
    assert_the_others_fail(kind(), NEED_ROWS, IDEAL_POINT_NEEDS_ROWS)


@passing(OF_ROWS, CANNOT_BE_ASKED, IDEAL_POINT_CANNOT_BE_ASKED)
def test_scikit_learns_checks_with_rows_as_questions(estimator: Any, check: Check) -> None:
    """The checks that do, through an adapter that turns each row into a pair of feature vectors."""
    check(estimator)


@pytest.mark.parametrize("estimator", OF_ROWS, ids=repr)
def test_scikit_learns_other_checks_cannot_be_asked(estimator: Any) -> None:
    assert_the_others_fail(estimator, CANNOT_BE_ASKED, IDEAL_POINT_CANNOT_BE_ASKED)


# Their rows of noise keep the chains of IdealPoint apart, which it says.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The sampler's chains did not come together")
@passing(IDEAL_POINTS_OF_ROWS, CANNOT_BE_ASKED, IDEAL_POINT_CANNOT_BE_ASKED)
def test_scikit_learns_checks_with_rows_as_questions_to_ideal_point(estimator: Any, check: Check) -> None:
    """The same of IdealPoint: of one kind, and of those that are averaged by default."""
    check(estimator)
