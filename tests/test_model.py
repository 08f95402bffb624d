"""A model is a metric and an ideal point: distances, ranks, directions and JSON follow from them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from damage import ODD, damaged, places
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import mahalanobis

from coombs import IdealPoint, InputError, Model, SingleStep
from coombs.data.tables import FloatArray
from coombs.simulate import make_preferences

pd = pytest.importorskip("pandas")

NAMES = ("price", "milk", "foam")
ITEMS = np.array([[0.0, 1.0, 2.0], [2.0, 0.5, -1.0], [1.0, 1.5, 0.0], [3.0, 0.0, 0.5]])
FRAME = pd.DataFrame(ITEMS, index=["latte", "mocha", "tea", "chai"], columns=NAMES)


def random_model(seed: int = 0, d: int = 3, rank: int | None = None) -> Model:
    """A model with a metric of the given rank, full by default."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d if rank is None else rank, d))
    return Model(root.T @ root, rng.standard_normal(d))


def same(a: Model, b: Model) -> bool:
    """Whether two models are the same to the last bit."""
    numbers = np.array_equal(a.metric, b.metric) and np.array_equal(a.ideal_point, b.ideal_point)
    if a.scales is None or b.scales is None:
        return numbers and a.feature_names == b.feature_names and a.scales is b.scales
    return numbers and a.feature_names == b.feature_names and np.array_equal(a.scales, b.scales)


def projector(basis: FloatArray) -> FloatArray:
    """Onto the span of orthonormal columns."""
    return basis @ basis.T


# Distance and rank


def test_distance_is_the_squared_mahalanobis_distance() -> None:
    """Against scipy's, whose matrix is M and which takes the root."""
    model = random_model()
    expected = [mahalanobis(x, model.ideal_point, model.metric) ** 2 for x in ITEMS]
    np.testing.assert_allclose(model.distance(ITEMS), expected)


def test_distance_by_hand() -> None:
    """M = [[2, 1], [1, 3]], u = (1, 0): (1, -1) away is 2 - 2 + 3; the ideal point itself is at 0."""
    model = Model(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 0.0]))
    assert model.distance([[2.0, -1.0], [1.0, 0.0]]).tolist() == [3, 0]


def test_rank_is_by_distance_best_first_and_in_table_order_among_equals() -> None:
    """Positions of an array, from the nearest to the farthest."""
    model = Model(np.eye(1), np.zeros(1))
    assert model.rank([[3.0], [-1.0], [0.0], [1.0], [-3.0]]).tolist() == [2, 1, 3, 0, 4]
    near, far = np.arange(1, 100, 2), np.arange(0, 100, 2)
    assert model.rank(np.tile([[2.0], [1.0]], (50, 1))).tolist() == [*near, *far]


def test_rank_gives_names_where_the_table_has_them() -> None:
    """A frame's index comes back in order; a default index is no name."""
    model = Model(np.eye(3), ITEMS[1], NAMES)
    expected = FRAME.index[np.argsort(model.distance(ITEMS))].tolist()
    assert model.rank(FRAME).tolist() == expected and expected[0] == "mocha"
    assert model.rank(FRAME.reset_index(drop=True)).tolist() == model.rank(ITEMS).tolist()


def test_rank_does_not_see_the_scale_of_the_metric() -> None:
    """The metric is known only up to a factor, and the order needs no more."""
    model = random_model()
    scaled = Model(1e-6 * model.metric, model.ideal_point)
    assert scaled.rank(ITEMS).tolist() == model.rank(ITEMS).tolist()


# Directions


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.data())
def test_transformed_points_have_the_learned_distances_as_euclidean_ones(
    seed: int, d: int, data: st.DataObject
) -> None:
    """|L x - L u|^2 = (x - u)' M (x - u), for metrics of any rank."""
    model = random_model(seed, d, data.draw(st.integers(1, d)))
    items = np.random.default_rng(seed).uniform(-2, 2, (6, d))
    away = model.transform(items) - model.transform([model.ideal_point])
    np.testing.assert_allclose((away**2).sum(axis=1), model.distance(items), rtol=1e-6, atol=1e-8)


def test_components_are_a_root_of_the_metric_most_important_first() -> None:
    """L'L = M, with orthogonal rows whose squared lengths are the eigenvalues in falling order."""
    model = random_model(d=4)
    L = model.components()
    np.testing.assert_allclose(L.T @ L, model.metric)
    np.testing.assert_allclose(L @ L.T, np.diag(np.linalg.eigvalsh(model.metric)[::-1]), atol=1e-12)


def test_components_of_a_slightly_indefinite_metric_are_real() -> None:
    """An eigenvalue below zero by rounding counts as zero."""
    assert np.isfinite(Model(np.diag([1.0, -1e-17]), np.zeros(2)).components()).all()


def test_interactions_are_shares_of_the_metric_in_units_of_the_scales() -> None:
    """Eigenvalues of S M S that fall and add up to 1, with their orthonormal eigenvectors."""
    plain, scales = random_model(), np.array([1.0, 10.0, 0.1])
    shares, directions = Model(plain.metric, plain.ideal_point, scales=scales).interactions()
    scaled = plain.metric * np.outer(scales, scales)
    assert (np.diff(shares) <= 0).all() and shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((directions * shares) @ directions.T, scaled / np.trace(scaled), atol=1e-12)
    assert Model(np.zeros((2, 2)), np.zeros(2)).interactions()[0].tolist() == [0, 0]


def test_a_positive_definite_metric_sees_every_direction() -> None:
    """The basis of what it does not see has no columns."""
    assert random_model(d=4).unseen_directions().shape == (4, 0)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_unseen_directions_are_the_kernel_of_the_metric(rank: int) -> None:
    """Orthonormal, d - rank of them, and M does nothing along them."""
    model = random_model(d=4, rank=rank)
    unseen = model.unseen_directions()
    np.testing.assert_allclose(unseen.T @ unseen, np.eye(4 - rank), atol=1e-12)
    np.testing.assert_allclose(model.metric @ unseen, 0, atol=1e-9)


def test_moving_along_an_unseen_direction_changes_no_distance() -> None:
    """What Proposition 1 of the paper says: that part of the ideal point cannot be known."""
    model = random_model(rank=2)
    (direction,) = model.unseen_directions().T
    np.testing.assert_allclose(model.distance(ITEMS + 5 * direction), model.distance(ITEMS), atol=1e-9)


def test_unseen_directions_are_judged_in_units_of_the_scales() -> None:
    """A feature in the ten thousands has a tiny entry in M, and matters as much as the other."""
    metric, scales = np.diag([1.0, 1e-8]), np.array([1.0, 1e4])
    point = np.zeros(2)
    assert Model(metric, point, scales=scales).unseen_directions().shape == (2, 0)
    np.testing.assert_allclose(np.abs(Model(metric, point).unseen_directions()), [[0], [1]])


@settings(deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_unseen_directions_change_units_with_the_features(exponents: list[float]) -> None:
    """Measuring the features in other units turns the kernel into those units."""
    sizes, model = 10.0 ** np.array(exponents), random_model(rank=2)
    plain = model.unseen_directions()
    scaled = Model(model.metric / np.outer(sizes, sizes), model.ideal_point, scales=sizes)
    expected, _ = np.linalg.qr(plain * sizes[:, None])
    np.testing.assert_allclose(projector(scaled.unseen_directions()), projector(expected), atol=1e-6)


# JSON


SIZES = st.floats(-1e25, 1e25, allow_subnormal=False)


@settings(deadline=None)
@given(
    st.lists(SIZES, min_size=5, max_size=5),
    st.none() | st.lists(st.text(), min_size=2, max_size=2, unique=True),
    st.none() | st.lists(st.floats(1e-20, 1e20), min_size=2, max_size=2),
)
def test_json_gives_the_model_back_to_the_last_bit(
    numbers: list[float], names: list[str] | None, scales: list[float] | None
) -> None:
    """Numbers of any size that a fit has, any names, with and without scales."""
    root = np.array(numbers)[[[0, 1], [2, 2]]]
    model = Model(
        root.T @ root,
        np.array(numbers[3:]),
        None if names is None else tuple(names),
        None if scales is None else np.array(scales),
    )
    assert same(Model.from_json(model.to_json()), model)


def test_the_model_of_an_estimator_survives_json() -> None:
    """It ranks and measures as the estimator does."""
    person = make_preferences(n_items=20, n_features=3, n_comparisons=60, random_state=0)
    items = pd.DataFrame(person.items, index=[f"item {i}" for i in range(20)], columns=NAMES)
    est = SingleStep(items).fit(person.pairs, person.y)
    back = Model.from_json(est.model_.to_json())
    assert same(back, est.model_) and back.rank(items).tolist() == est.rank().tolist()


def test_json_says_what_it_is() -> None:
    """Any JSON reader finds the format, its version and plain numbers."""
    data = json.loads(Model(np.eye(1), np.zeros(1), ("price",)).to_json())
    assert data["format"] == "coombs-model" and data["version"] == 2
    assert data["metric"] == [[1.0]] and data["ideal_point"] == [0.0] and data["feature_names"] == ["price"]


def test_a_model_of_the_first_version_is_read() -> None:
    """It had no slope and no centre."""
    text = """{"format": "coombs-model", "version": 1, "feature_names": ["price"], "ideal_point": [2.0],
               "metric": [[4.0]], "scales": [3.0]}"""
    assert Model.from_json(text) == Model(np.array([[4.0]]), np.array([2.0]), ("price",), np.array([3.0]))


def test_a_model_without_an_ideal_point_goes_through_json() -> None:
    """A linear preference: strict JSON, the same scores after the round trip."""
    model = Model(
        np.zeros((2, 2)), np.full(2, np.nan), slope=np.array([1.0, -2.0]), centre=np.array([3.0, 4.0])
    )
    text = model.to_json()
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["ideal_point"] is None
    assert Model.from_json(text) == model
    assert Model.from_json(text).distance([[3.0, 4.0], [4.0, 4.0]]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="an ideal point, or a slope and a centre"):
        Model.from_json(text.replace('"slope"', '"other"'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{'metric': 1}", "not JSON"),
        (random_model().to_json()[:-5], "not JSON"),
        ("[1, 2]", "not a coombs model"),
        ("null", "not a coombs model"),
        ('{"metric": [[1]], "ideal_point": [0]}', "not a coombs model"),
        ('{"format": "onnx", "version": 1}', "not a coombs model"),
    ],
)
def test_broken_and_foreign_json_is_refused(text: str, message: str) -> None:
    """Text that no to_json wrote."""
    with pytest.raises(InputError, match=message):
        Model.from_json(text)


def changed(**values: Any) -> str:
    """The JSON of a model with some fields changed, or left out where the value is `...`."""
    data = json.loads(Model(np.eye(2), np.zeros(2), ("a", "b"), np.ones(2)).to_json()) | values
    return json.dumps({key: value for key, value in data.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed(version=5), "version 5; this coombs reads 1 to 4"),
        (changed(version=...), "version None"),
        (changed(metric=...), "cannot be read .*metric"),
        (changed(ideal_point=...), "cannot be read .*ideal_point"),
        (changed(metric="wide"), "cannot be read"),
        (changed(metric=[[1, 0], [0]]), "cannot be read"),
        (changed(scales="x"), "cannot be read"),
        (changed(metric=[[1, 0, 0], [0, 1, 0]]), "not of one size"),
        (changed(metric=[1, 1]), "not of one size"),
        (changed(ideal_point=[0, 0, 0]), "not of one size"),
        (changed(ideal_point=0), "not of one size"),
        (changed(feature_names=["a"]), "a list of 2 texts"),
        (changed(scales=[1]), "not of one size"),
        (changed(metric=[[float("nan"), 0], [0, 1]]), "numbers must be finite"),
        (changed(ideal_point=[float("inf"), 0]), "numbers must be finite"),
        (changed().replace("0.0]", "1e999]"), "numbers must be finite"),
        (changed(version=True), "version True; this coombs reads 1 to 4"),
        (changed(version=2.0), "version 2.0"),
        (changed(metric=[[1e308, 0], [0, 1]]), "metric has a number beyond"),
        (changed(ideal_point=[1e308, 0]), "ideal_point has a number beyond"),
        (changed(metric=[[1e110, 0], [0, 1]], ideal_point=[1e110, 0]), "scores overflow"),
        (changed(metric=[[1e90, 0], [0, 1]], scales=[1e90, 1]), "too large for its scales"),
        (changed(metric=[[1, 2], [2, 1]]), "positive semidefinite"),
        (changed(metric=[["1", 0], [0, 1]]), "metric must hold numbers"),
        (changed(metric=[[True, 0], [0, 1]]), "metric must hold numbers"),
        (changed(scales=[1e-200, 1]), "scales have a number below"),
        (changed(feature_names=["a", "a"]), "More than one feature of the model is named 'a'"),
        (changed(slop=[1, 1]), "a field 'slop', which this coombs does not know"),
        (changed(n_people=10**30), "n_people is"),
        (changed()[:-1] + ', "metric": [[2, 0], [0, 2]]}', "has 'metric' twice"),
        (changed(findings=json.loads("[" * 60 + "]" * 60)), "lists or objects within each other"),
    ],
)
def test_a_model_with_a_field_that_cannot_be_is_refused(text: str, message: str) -> None:
    """Another version, fields that are absent, of other sizes, or no finite numbers."""
    with pytest.raises(InputError, match=message):
        Model.from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        changed(feature_names=3),
        changed(feature_names="ab"),
        changed(metric=[[10**400, 0], [0, 1]]),
        changed(metric=[[1, 2], [0, 1]]),
        changed(scales=[float("nan"), 1]),
        changed(scales=[-1, 0]),
    ],
    ids=["names no list", "names text", "huge", "not symmetric", "scale NaN", "scale negative"],
)
def test_a_model_that_no_estimator_learned_is_refused(text: str) -> None:
    """Names that are no list, numbers past floats, a metric that is not symmetric, sizes that are none."""
    with pytest.raises(InputError):
        Model.from_json(text)


# Damaged files


@pytest.fixture(scope="module")
def with_findings() -> Any:
    """What `coombs fit --out` writes: a smooth part, and the words of the fit."""
    person = make_preferences(n_items=12, n_features=2, n_comparisons=30, random_state=0)
    est = IdealPoint(person.items).fit(person.pairs, person.y)
    return json.loads(replace(est.model_, n_people=1, findings=est.explain().findings()).to_json())


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_a_damaged_model_is_refused_in_a_sentence_or_behaves(with_findings: Any, data: st.DataObject) -> None:
    """Whatever single value of the file is another one, or is missing."""
    path = data.draw(st.sampled_from(places(with_findings)))
    text = json.dumps(damaged(with_findings, path, data.draw(ODD)))
    with suppress(InputError):
        model = Model.from_json(text)
        assert np.isfinite(model.distance(np.zeros((2, len(model.ideal_point))))).all()
        assert model.rank(np.zeros((2, len(model.ideal_point)))).tolist() == [0, 1]
        assert str(model.explain()) and repr(model) and model._repr_html_()


# Items that do not fit


@pytest.mark.parametrize("method", ["distance", "rank", "transform"])
def test_items_with_other_features_are_refused(method: str) -> None:
    """Too few, too many, other names."""
    call = getattr(Model(np.eye(3), np.zeros(3), NAMES), method)
    with pytest.raises(InputError, match="have 2 features; the model was learned from 3"):
        call(ITEMS[:, :2])
    with pytest.raises(InputError, match="have 4 features; the model was learned from 3"):
        call(FRAME.assign(size=1.0))
    with pytest.raises(InputError, match=r"Feature 2 of the items is 'sugar'; .* price, milk, foam\."):
        call(FRAME.rename(columns={"foam": "sugar"}))


@pytest.mark.parametrize("method", ["distance", "rank", "transform"])
def test_columns_in_another_order_are_taken_by_name(method: str) -> None:
    """Names tell the order."""
    call = getattr(Model(np.diag([1.0, 2.0, 4.0]), np.ones(3), NAMES), method)
    assert call(FRAME[["milk", "foam", "price"]]).tolist() == call(FRAME).tolist()


def test_items_without_names_are_taken_by_position() -> None:
    """Arrays fit a model with names, and frames one without."""
    named, plain = Model(np.eye(3), np.zeros(3), NAMES), Model(np.eye(3), np.zeros(3))
    np.testing.assert_array_equal(named.distance(ITEMS), named.distance(FRAME))
    np.testing.assert_array_equal(plain.distance(FRAME), named.distance(FRAME))


def test_items_that_are_no_numbers_are_refused() -> None:
    """The border's own message, with the row and the feature."""
    with pytest.raises(InputError, match="Feature 1 of row 0 is nan"):
        random_model().distance([[0.0, np.nan, 0.0]])


# A record


def test_a_model_is_frozen() -> None:
    """Its fields cannot be set again."""
    model = random_model()
    with pytest.raises(FrozenInstanceError):
        model.metric = np.eye(3)  # type: ignore[misc]


def test_models_of_the_same_numbers_are_equal() -> None:
    """As records are, and as Comparisons are."""
    assert random_model(0) == random_model(0)
    assert random_model(0) != random_model(1)
