"""Items without features, ranked by the answers alone: Bradley and Terry's model with its uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coombs
from coombs import Comparisons, ConvexIdealPoint, IdealPoint, InputError, Model, create_study, plots
from coombs.study.study_jsonl import export_study, import_study

NAMES = ["tea", "coffee", "water", "juice", "milk"]
WORDS_OF_FEATURES = ("feature", "ideal", "trade", "sweet spot", "what is wanted")


def _answers(seed: int, n_items: int = 5, n: int = 40, size: float = 2.0) -> tuple[Any, Any, Any]:
    """Scores, more being better, pairs of positions and y."""
    rng = np.random.default_rng(seed)
    scores = size * rng.standard_normal(n_items)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n)])
    p = 1 / (1 + np.exp(scores[pairs[:, 1]] - scores[pairs[:, 0]]))
    return scores, pairs, np.where(rng.random(n) < p, 1, -1)


@pytest.fixture(scope="module")
def fitted() -> IdealPoint:
    chain = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    return IdealPoint(NAMES).fit(chain * 3)


def test_the_ranking_is_that_of_consistent_answers(fitted: IdealPoint) -> None:
    assert fitted.rank().tolist() == NAMES
    assert fitted.kind_ == "items" and fitted.model_.distance(NAMES).tolist() == fitted.distances_.tolist()
    assert fitted.rank(["milk", "tea"]).tolist() == ["tea", "milk"]
    assert fitted.predict([("tea", "milk")]).tolist() == [1]
    low, high = fitted.rank_interval().T
    assert (low <= np.arange(1, 6)).all() and (high >= np.arange(1, 6)).all()


def test_the_words_are_of_a_ranking_and_of_nothing_else(fitted: IdealPoint) -> None:
    told = fitted.explain()
    assert told.has_pattern and not told.features and not told.ideal and not told.trade_offs
    assert told.ranking[0].item == "tea" and told.ranking[0].first_probability > 0.5
    assert sum(one.first_probability for one in told.ranking) == pytest.approx(1)
    text = str(told)
    assert "Likely the best: tea" in text and "ranked by the answers alone" in text
    for page in (text, told._repr_html_(), str(coombs.report(fitted)).replace("IdealPoint", "")):
        assert not [word for word in WORDS_OF_FEATURES if word in page.split("</style>")[-1].lower()]


def test_items_that_the_answers_do_not_tell_apart_are_named_together() -> None:
    pairs = [("tea", other) for other in NAMES[1:]] * 8 + [("coffee", "milk"), ("milk", "coffee")] * 8
    told = IdealPoint(NAMES).fit(pairs).explain()
    assert any({"coffee", "milk"} <= set(one.items) for one in told.tied)
    assert not any("tea" in one.items for one in told.tied)


def test_answers_of_a_coin_rank_nothing() -> None:
    pairs = [(a, b) for a in NAMES for b in NAMES if a != b] * 2
    told = IdealPoint(NAMES).fit(pairs).explain()
    assert told.has_pattern is False and not told.ranking and not told.tied
    assert "So there is no best item to tell." in str(told) and "ideal" not in str(told)


def test_an_item_that_was_never_compared_may_have_any_rank() -> None:
    est = IdealPoint([*NAMES, "cocoa"]).fit([("tea", other) for other in NAMES[1:]] * 6)
    assert est.rank_interval()[5].tolist() == [1, 6]
    assert "1 of 6 items was never compared; nothing is known of it." in str(est.explain())


def test_items_by_position_are_ranked_too() -> None:
    _, pairs, y = _answers(0)
    est = IdealPoint(np.empty((5, 0))).fit(pairs, y)
    named = IdealPoint(NAMES).fit(pairs, y)
    assert np.allclose(est.distances_, named.distances_)
    assert sorted(est.rank().tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.slow
@given(st.integers(0, 10**6))
@settings(max_examples=5, deadline=None)
def test_swapping_pairs_with_their_signs_changes_nothing(seed: int) -> None:
    _, pairs, y = _answers(seed, n=15)
    est, swapped = (IdealPoint(NAMES).fit(p, s) for p, s in ((pairs, y), (pairs[:, ::-1], -y)))
    assert np.allclose(est.distances_, swapped.distances_)


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_as_much_as_they_say() -> None:
    """Central 90 % intervals of centred scores hold the truth 87 to 93 times in 100, within chance."""
    held, claimed, ranked = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(1_000 + seed)
        n = int(rng.integers(8, 31))
        scores, pairs, y = _answers(seed, n, int(rng.integers(20, 101)), float(np.exp(rng.normal(0.4, 0.6))))
        est = IdealPoint(np.empty((n, 0))).fit(pairs, y)
        assert est.posterior_ is not None and est.posterior_.effects is not None
        draws = -est.posterior_.effects
        low, high = np.quantile(draws - draws.mean(axis=1, keepdims=True), [0.05, 0.95], axis=0)
        centred = scores - scores.mean()
        held.append(((low <= centred) & (centred <= high)).mean())
        ends = est.rank_interval()
        ranks = np.argsort(np.argsort(-scores)) + 1
        ranked.append(((ends[:, 0] <= ranks) & (ranks <= ends[:, 1])).mean())
        drawn = est.posterior_.ranks(est._data.items, est.posterior_.effects)
        claimed.append(((ends[:, 0] <= drawn) & (drawn <= ends[:, 1])).mean())
    assert 0.85 < np.mean(held) < 0.96
    assert abs(np.mean(ranked) - np.mean(claimed)) < 0.05


@pytest.mark.parametrize(
    "estimator",
    [
        coombs.SingleStep,
        coombs.Alternating,
        coombs.EuclideanSingleStep,
        coombs.EuclideanCompass,
        ConvexIdealPoint,
    ],
)
def test_estimators_of_features_say_which_one_ranks_names(estimator: Any) -> None:
    with pytest.raises(
        InputError, match=f"no features, which is what {estimator.__name__} learns about; Ideal"
    ):
        estimator(NAMES).fit([("tea", "milk")])


def test_plots_of_features_say_that_there_are_none(fitted: IdealPoint) -> None:
    draws: tuple[Any, ...] = (
        lambda: plots.level_sets(fitted, 0, 1),
        lambda: plots.what_matters(fitted),
        lambda: plots.feature_matrix(fitted),
        lambda: plots.taste_curves(fitted),
        lambda: plots.profile_data(fitted, 0),
    )
    for draw in draws:
        with pytest.raises(InputError, match="The items have no features to draw"):
            draw()
    assert plots.ranking_data(fitted).names == tuple(NAMES)


def test_a_model_file_ranks_the_names_that_it_knows(fitted: IdealPoint) -> None:
    model = Model.from_json(fitted.model_.to_json())
    assert model == fitted.model_ and model.rank(NAMES[::-1]).tolist() == NAMES
    assert repr(model) == "Model(5 items by name, without features)"
    assert "ranked by the answers alone" in str(model.explain())
    with pytest.raises(InputError, match="Nothing is known of item 'beer'; the model ranks 'tea', 'coffee'"):
        model.rank(["tea", "beer"])
    with pytest.raises(InputError, match="Nothing is known of item 'beer'"):
        fitted.rank_interval(["tea", "beer"])
    with pytest.raises(InputError, match="1 features"):
        model.rank([[1.0], [2.0]])


@pytest.mark.parametrize("scores", [[1], {"tea": "x"}, {"tea": 1e300}, {"tea": True}])
def test_a_model_file_with_other_scores_is_refused(fitted: IdealPoint, scores: Any) -> None:
    import json

    fields = json.loads(fitted.model_.to_json()) | {"item_scores": scores}
    with pytest.raises(InputError, match="item_scores"):
        Model.from_json(json.dumps(fields))


def test_more_answers_can_be_added(fitted: IdealPoint) -> None:
    est = IdealPoint(NAMES).fit([("tea", "milk"), ("tea", "water"), ("coffee", "milk")])
    assert est.partial_fit([("tea", "juice")])._data == Comparisons(
        NAMES, [("tea", "milk"), ("tea", "water"), ("coffee", "milk"), ("tea", "juice")]
    )


def test_a_study_of_names_is_kept_and_taken_elsewhere(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = create_study(NAMES, "drinks", storage=url)
    assert repr(study) == "Study('drinks', 5 items)"
    for winner, loser in [("tea", "milk"), ("tea", "water"), ("coffee", "juice")] * 3:
        study.tell((winner, loser))
    again = coombs.load_study("drinks", storage=url)
    assert again.catalogue.names == NAMES and again.catalogue.features == []
    assert again.result().ranking[0] == "tea"
    export_study(again, tmp_path / "drinks.jsonl")
    copy = import_study(tmp_path / "drinks.jsonl", storage="memory:")
    assert copy.catalogue.names == NAMES and copy.settings.strategy == "best"
    assert copy.comparisons() == again.comparisons()


def test_a_saved_estimator_of_names_says_the_same(fitted: IdealPoint, tmp_path: Path) -> None:
    fitted.save(tmp_path / "drinks.json")
    again = coombs.load(tmp_path / "drinks.json")
    assert again.rank().tolist() == NAMES and np.array_equal(again.distances_, fitted.distances_)
    assert np.array_equal(again.rank_interval(), fitted.rank_interval())
    assert str(again.explain()) == str(fitted.explain())
