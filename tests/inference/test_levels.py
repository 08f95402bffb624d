"""Kinds of preference beside levels of categories: gradients, priors, draws, and a smooth taste of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import person, target_of, weighted

from coombs.data.answers import Answers
from coombs.data.scaling import Scaler
from coombs.data.tables import Levels
from coombs.inference import laplace
from coombs.inference.infer import infer
from coombs.inference.kernel import Kernel, features_of
from coombs.inference.kinds import KINDS, METRICS
from coombs.inference.levels import WithLevels, with_levels
from coombs.inference.process import Process
from coombs.inference.smooth import infer_smooth

LEVELS = Levels(((1, 2, 4), (5, 6)), (1.2, 0.0))
D = 7
every_kind = pytest.mark.parametrize("name", [*METRICS, "items"])


def answers(count: int = 30, n: int = 14, seed: int = 0) -> Answers:
    """About items with two features, a category of three levels, and marks of two items."""
    two = weighted(person(2, count, n, seed))
    rng = np.random.default_rng(seed)
    items = np.zeros((len(two.items), D))
    items[:, [0, 3]] = two.items
    items[np.arange(len(items)), rng.choice(LEVELS.blocks[0], len(items))] = LEVELS.present[0]
    items[[0, 1], [5, 6]] = 1.0
    return replace(two, items=items, levels=LEVELS)


def kind_of(name: str) -> WithLevels:
    """A kind beside the levels; of "items", these alone."""
    kind = with_levels(KINDS[name], LEVELS, D) if name != "items" else WithLevels(KINDS[name], LEVELS)
    assert isinstance(kind, WithLevels)
    return kind


@every_kind
@pytest.mark.parametrize("effects", [False, True])
def test_gradient_is_the_slope_of_the_value(name: str, effects: bool) -> None:
    """By central differences along every unknown."""
    data, kind = answers(), kind_of(name)
    if name == "items":
        alone = Levels(((0, 1, 2), (3, 4)), (1.2, 0.0))
        data = replace(data, items=data.items[:, [1, 2, 4, 5, 6]], levels=alone)
        kind = WithLevels(KINDS[name], data.levels)
    target = target_of(data, kind, effects=effects)
    y, step = target.draw_prior(3, np.random.default_rng(0)), 1e-5
    for point, slope in zip(y, target.gradient(y), strict=True):
        ahead, behind = (target.value(point + sign * step * np.eye(target.n)) for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("name", METRICS)
def test_the_priors_density_is_that_of_its_draws(name: str) -> None:
    """Stein's identities, E g_i = 0 and E y_i g_i = 1 for g the gradient of -log density, to 6 errors."""
    kind = kind_of(name)
    y = kind.draw(40_000, D, np.random.default_rng(0))
    gradient = kind.prior(y, D, kind.expand(y, D))[1]
    for values, mean in ((gradient, 0.0), (y * gradient, 1.0)):
        error = values.std(axis=0) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - mean) < 6 * error).all()


@pytest.mark.parametrize("name", METRICS)
def test_located_unknowns_have_the_metric_and_v(name: str) -> None:
    kind, rng = kind_of(name), np.random.default_rng(1)
    at = kind.expand(kind.draw(1, D, rng), D)
    again = kind.expand(kind.locate(at.metric[0], at.linear[0])[None], D)
    levels = [j for block in LEVELS.blocks for j in block]
    assert again.linear[0, levels] == pytest.approx(at.linear[0, levels])
    assert not again.metric[0][:, levels].any()
    assert kind.has_ideal == (name != "none")


def test_the_ideal_has_the_best_level_and_no_mark() -> None:
    kind = kind_of("full")
    y = kind.draw(20, D, np.random.default_rng(2))
    points, at = kind.ideal(y, D), kind.expand(y, D)
    assert not points[:, [5, 6]].any()
    for point, linear in zip(points, at.linear, strict=True):
        best = LEVELS.blocks[0][int(linear[list(LEVELS.blocks[0])].argmax())]
        assert [j for j in LEVELS.blocks[0] if point[j]] == [best]
        assert point[best] == LEVELS.present[0]


def test_a_level_that_is_better_is_found_by_sampling_and_by_the_mode() -> None:
    """Of 1,500 answers by a taste of levels and one feature; of both, the same scores."""
    rng = np.random.default_rng(3)
    items = np.zeros((60, 4))
    items[:, 3] = rng.standard_normal(60)
    level = rng.integers(0, 3, 60)
    items[np.arange(60), level] = 1.2
    truth = np.array([1.5, 0.0, -1.5])[level] - (items[:, 3] - 0.5) ** 2
    pairs = rng.integers(0, 60, (1500, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
    winners, losers = np.where(first[:, None], pairs, pairs[:, ::-1]).T
    data = Answers.collect(items, winners, losers, np.ones(len(pairs)), levels=Levels(((0, 1, 2),), (1.2,)))
    found = infer(data, "full", np.random.default_rng(0))
    of_mode = laplace.maximise(found.target, found.mode).y
    for y in (found.draws, of_mode[None]):
        linear = found.target.scores(y).linear[:, :3].mean(axis=0)
        # s = -2 v x, less being better.
        assert 2 * 1.2 * (linear[0] - linear[2]) == pytest.approx(3.0, abs=0.8)
        assert linear[0] > linear[1] > linear[2]


def test_a_block_is_one_feature_of_a_kernel() -> None:
    """Its covariance is that of the process; slopes are those of the function, by differences."""
    data = answers()
    process = Process(data)
    assert process.d == 4 and len(process.centre) == 5 + 2 * 4
    place = process.place(np.random.default_rng(0).normal(size=len(process.centre)))
    feature = {j: k for k, one in enumerate(features_of(LEVELS.blocks, D)) for j in one}
    shared = [feature[j] for j in range(D)]
    relevances, own = np.exp(place[5:]).reshape(2, 4)[:, shared]
    kernel = Kernel(data.items, np.exp(place[1]), np.exp(place[4]), relevances, own, LEVELS.blocks)
    _, together, alone = process.covariances(place)
    assert kernel(data.items) == pytest.approx(together + alone.sum(axis=0))
    assert np.diag(kernel(data.items)) == pytest.approx(kernel.peak)
    weights, step = np.random.default_rng(1).normal(size=len(data.items)), 1e-6
    x = data.items[:3] + 0.1
    for j in range(D):
        move = step * np.eye(D)[j]
        slope = (kernel(x + move) @ weights - kernel(x - move) @ weights) / (2 * step)
        assert kernel.slopes(x, weights)[:, j] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_the_bounds_gradient_is_its_slope_with_levels() -> None:
    process = Process(answers())
    u = 0.3 * np.random.default_rng(0).standard_normal(len(process.centre))
    _, slope, found = process.bound(u, None)
    for j in range(len(u)):
        move = 1e-4 * np.eye(len(u))[j]
        ahead, behind = (
            process.variational_fit(u + sign * move, found.sites, 1e-9).bound for sign in (1, -1)
        )
        assert slope[j] == pytest.approx((ahead - behind) / 2e-4, rel=2e-2, abs=5e-3)


def test_a_smooth_taste_of_levels_in_the_users_units_is_the_same() -> None:
    smooth = infer_smooth(answers(40))
    centre = np.array([1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 7.0])
    sizes = np.array([2.0, 0.5, 0.5, 3.0, 0.5, 1.0, 1.0, 1.0])
    scaler = Scaler(centre, sizes, sizes, np.arange(8) < 7, np.arange(7), LEVELS)
    items = centre + sizes * np.column_stack([smooth.answers.items, np.zeros(len(smooth.answers.items))])
    values = smooth.basis.in_units(scaler)(items)
    away = values - smooth.basis(smooth.answers.items)
    assert np.ptp(away, axis=0) == pytest.approx(0, abs=1e-6)


def test_a_gaussian_about_the_mode_knows_levels_as_well_as_draws_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """What levels are worth, in deviations and width, with and without sampling."""
    rng = np.random.default_rng(4)
    items = np.zeros((40, 4))
    items[:, 3] = rng.standard_normal(40)
    level = rng.integers(0, 3, 40)
    items[np.arange(40), level] = 1.2
    truth = np.array([1.0, 0.0, -1.0])[level] + items[:, 3]
    pairs = rng.integers(0, 40, (1200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
    winners, losers = np.where(first[:, None], pairs, pairs[:, ::-1]).T
    data = Answers.collect(items, winners, losers, np.ones(len(pairs)), levels=Levels(((0, 1, 2),), (1.2,)))
    sampled = infer(data, "full", np.random.default_rng(0))
    monkeypatch.setattr("coombs.inference.infer.MOST_SAMPLED", 10)
    narrow = infer(data, "full", np.random.default_rng(0))
    away = [found.scores().linear[:, 0] - found.scores().linear[:, 2] for found in (sampled, narrow)]
    assert sampled.sampled and not narrow.sampled
    assert away[1].mean() == pytest.approx(away[0].mean(), abs=away[0].std())
    assert away[1].std() == pytest.approx(away[0].std(), rel=0.4)
