"""Estimators of tables with columns of any kind: what is learned of levels, and what does not change it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import (
    Alternating,
    Comparisons,
    ConvexIdealPoint,
    EuclideanCompass,
    EuclideanSingleStep,
    IdealPoint,
    InputError,
    Model,
    SingleStep,
    load,
)
from coombs.data.tables import FloatArray

N = 40
WORTH = {"coast": 1.5, "rural": 0.0, "urban": -1.5}


def flats(seed: int = 0) -> pd.DataFrame:
    """Items with a feature and a category."""
    rng = np.random.default_rng(seed)
    town = rng.permutation(np.resize(list(WORTH), N))
    return pd.DataFrame({"size": rng.normal(50, 10, N), "town": town}, index=[f"flat {i}" for i in range(N)])


def answers(items: pd.DataFrame, count: int = 150, seed: int = 0) -> FloatArray:
    """Pairs, the winner first, of somebody who likes a size of 55 and the coast."""
    rng = np.random.default_rng(seed)
    utility = items["town"].map(WORTH).to_numpy() - ((items["size"].to_numpy() - 55) / 10) ** 2
    pairs = np.array([rng.choice(len(items), 2, replace=False) for _ in range(count)])
    first = rng.random(count) < 1 / (1 + np.exp(utility[pairs[:, 1]] - utility[pairs[:, 0]]))
    return np.where(first[:, None], pairs, pairs[:, ::-1])


FLATS = flats()
PAIRS = answers(FLATS)


def test_the_best_level_is_part_of_the_ideal() -> None:
    est = IdealPoint(FLATS, metric="full").fit(PAIRS)
    assert est.feature_names_in_.tolist() == ["size", "town"] and est.n_features_in_ == 2
    assert est.model_.feature_names == ("size", "town=coast", "town=rural", "town=urban")
    assert est.ideal_point_[1:] == pytest.approx([1, 0, 0])
    assert est.metric_.shape == (4, 4) and not est.metric_[1:].any()
    best = pd.DataFrame({"size": [est.ideal_point_[0]], "town": ["coast"]})
    assert est.distance(best) == pytest.approx([0.0], abs=1e-6)
    assert est.distance().min() > 0
    assert est.rank(best.assign(town="urban")).tolist() == [0]


@pytest.mark.parametrize("metric", ["auto", "none", "smooth", "diagonal"])
def test_levels_are_told_apart_by_every_kind(metric: str) -> None:
    est = IdealPoint(FLATS, metric=metric).fit(PAIRS)
    three = pd.DataFrame({"size": 55.0, "town": list(WORTH)})
    assert est.rank(three).tolist() == [0, 1, 2]
    scores = est.posterior_.scores(est._table(three).matrix)
    gap = np.quantile(scores[:, 2] - scores[:, 0], [0.005, 0.995])
    assert gap[0] < 3.0 < gap[1] and gap[0] > 0


PAPERS = [SingleStep, Alternating, EuclideanSingleStep, EuclideanCompass]


@pytest.mark.parametrize("estimator", [*PAPERS, ConvexIdealPoint])
def test_the_papers_estimators_tell_levels_apart_beside_a_number_in_any_unit(estimator: type) -> None:
    """Squares of levels are levels: the paper's program says nothing of a metric along them."""
    est = estimator(FLATS).fit(PAIRS)
    assert est.metric_.shape == (4, 4)
    assert est.score(PAIRS) > 0.75
    three = pd.DataFrame({"size": 55.0, "town": list(WORTH)})
    assert est.rank(three).tolist() == [0, 1, 2]


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(st.permutations(list(WORTH)), st.integers(0, 10))
def test_names_of_levels_and_the_order_of_rows_change_nothing(names: list[str], seed: int) -> None:
    """To the rounding of a mean of other rows, which a sampler makes a little larger."""
    order = np.random.default_rng(seed).permutation(N)
    place = np.argsort(order)
    renamed = FLATS.assign(town=FLATS["town"].map(dict(zip(WORTH, names, strict=True)))).iloc[order]
    one = IdealPoint(FLATS, metric="diagonal").fit(PAIRS)
    other = IdealPoint(renamed, metric="diagonal").fit(place[PAIRS])
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    assert other.predict_proba(place[pairs]) == pytest.approx(one.predict_proba(pairs), abs=0.02)


def test_the_order_of_declared_levels_changes_nothing() -> None:
    first, second = (
        FLATS.assign(town=pd.Categorical(FLATS["town"], categories=levels))
        for levels in (list(WORTH), [*reversed(WORTH), "moon"])
    )
    one, other = (IdealPoint(items, metric="full").fit(PAIRS) for items in (first, second))
    assert other.distances_ == pytest.approx(one.distances_)


def test_two_levels_predict_nearly_as_yes_and_no() -> None:
    items = FLATS.assign(town=np.where(FLATS["town"] == "coast", "yes", "no"))
    data = answers(FLATS.assign(town=np.where(FLATS["town"] == "coast", "coast", "rural")), 300)
    one, other = (
        IdealPoint(items, metric="full").fit(Comparisons(items, data, roles={"town": role}))
        for role in ("category", "yes/no")
    )
    pairs = answers(FLATS, 100, seed=5)
    away = one.predict_proba(pairs)[:, 1] - other.predict_proba(pairs)[:, 1]
    assert np.abs(away).mean() < 0.03


def test_a_rare_level_is_shrunk() -> None:
    """One item alone has it, and won its only comparison: it is not said to be the best for sure."""
    items = FLATS.assign(town=["moon", *FLATS["town"][1:]])
    pairs = np.array([pair for pair in PAIRS if 0 not in pair] + [[0, 1]])
    est = IdealPoint(items, metric="full").fit(pairs)
    four = pd.DataFrame({"size": 55.0, "town": ["coast", "moon"]})
    scores = est.posterior_.scores(est._table(four).matrix)
    assert 0.02 < (scores[:, 1] < scores[:, 0]).mean() < 0.9


def test_a_category_alone_is_learned_from() -> None:
    est = IdealPoint(FLATS[["town"]]).fit(PAIRS)
    assert est.kind_ == "none"
    assert est.rank(pd.DataFrame({"town": list(WORTH)})).tolist() == [0, 1, 2]
    assert [one.metric for one in est.kinds()] == ["items", "none", "smooth"]
    assert "coast" in str(est.explain())


def test_many_answers_are_learned_from_by_the_mode() -> None:
    est = IdealPoint(FLATS, metric="full").fit(answers(FLATS, 4_000))
    assert not est.posterior_.sampled
    three = pd.DataFrame({"size": 55.0, "town": list(WORTH)})
    distances = est.distance(three)
    assert np.diff(distances) == pytest.approx([1.5, 1.5], abs=0.4)


def test_a_saved_model_ranks_a_frame_as_the_fit_does() -> None:
    est = IdealPoint(FLATS).fit(PAIRS)
    model = Model.from_json(est.model_.to_json())
    assert model == est.model_
    assert model.rank(FLATS.iloc[::-1]).tolist() == est.rank().tolist()
    assert model.distance(FLATS) == pytest.approx(est.model_.distance(FLATS), rel=1e-12)
    with pytest.raises(InputError, match="There is no column 'town'"):
        model.rank(FLATS[["size"]])
    broken = est.model_.to_json().replace('"coast"', '"cost"')
    with pytest.raises(InputError, match="encoding and its feature names do not fit"):
        Model.from_json(broken)


def test_comparisons_with_other_levels_are_read_by_those_learned() -> None:
    est = IdealPoint(FLATS, metric="full").fit(PAIRS)
    few = FLATS[FLATS["town"] != "coast"]
    data = Comparisons(few, answers(few, 20))
    p = est.predict_proba(data)[:, 1]
    names = [[data.name_of(i) for i in pair] for pair in data.pairs]
    assert p == pytest.approx(est.predict_proba(names)[:, 1])


def test_partial_fit_goes_on_with_levels() -> None:
    est = IdealPoint(FLATS, metric="full").fit(PAIRS[:140])
    assert est.partial_fit(PAIRS[140:]).score(PAIRS) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auto", "none"])
def test_a_saved_estimator_is_the_same(metric: str, tmp_path: Path) -> None:
    items = FLATS.copy()
    items.iloc[0, 0] = np.nan
    est = IdealPoint(items, metric=metric).fit(PAIRS)
    est.save(tmp_path / "est.json")
    again = load(tmp_path / "est.json")
    assert again.distance(FLATS) == pytest.approx(est.distance(FLATS), rel=1e-12)
    assert again.predict_proba(PAIRS) == pytest.approx(est.predict_proba(PAIRS), rel=1e-12)
    assert str(again.explain()) == str(est.explain())
