"""Choices, rankings and ratings have the likelihood that they really have, in every kind of preference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import some_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from coombs import Comparisons, IdealPoint
from coombs.data.answer_chance import HEAD_START, HEAD_START_WIDTH, LAPSE_ODDS, LAPSE_WIDTH
from coombs.data.answers import Answers
from coombs.data.rival_sets import Choices
from coombs.inference import set_design
from coombs.inference.answer_moments import expect_bands
from coombs.inference.infer import infer
from coombs.inference.information import information_pairs
from coombs.inference.kinds import KINDS
from coombs.inference.laplace import curvature
from coombs.inference.process import Process
from coombs.inference.questions_left_out import left_out
from coombs.inference.set_design import expect_choices
from coombs.inference.smooth import infer_smooth
from coombs.inference.target import Target

FloatArray = NDArray[np.float64]
N = 8


def person(seed: int, shape: str, count: int = 12) -> Comparisons:
    """Answers of one shape by somebody with an ideal point."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((N, 2))
    scores = 2 * ((items - rng.normal(0, 0.7, 2)) ** 2).sum(axis=1)
    sets = [rng.choice(N, 4, replace=False) for _ in range(count)]
    orders = [[int(i) for i in s[np.argsort(scores[s] - rng.gumbel(size=4))]] for s in sets]
    first, last = [one[0] for one in orders], [one[-1] for one in orders]
    if shape == "choices":
        return Comparisons.from_choices(items, orders, first)
    if shape == "none":
        chosen = [one if rng.random() < 0.7 else None for one in first]
        return Comparisons.from_choices(items, orders, chosen)
    if shape == "best-worst":
        return Comparisons.from_best_worst(items, orders, first, last)
    if shape == "rankings":
        return Comparisons.from_rankings(items, orders)
    if shape == "ties":
        return Comparisons.from_rankings(items, [[one[:2], *one[2:]] for one in orders])
    if shape == "tied pairs":
        away = np.array([scores[s[1]] - scores[s[0]] for s in sets]) + rng.logistic(size=count)
        y = np.where(np.abs(away) < 0.7, 0, np.sign(away)).astype(int)
        y[:2] = 0, -1
        return Comparisons(items, [s[:2] for s in sets], y=y)
    if shape == "mixed":
        return Comparisons(items, [one[:2] for one in orders]) + Comparisons.from_rankings(items, orders[:5])
    # Each of two judges rates everything once, or more often where there are many answers.
    times = max(1, count // 12)
    worth = np.tile(-scores, 2 * times) + rng.logistic(size=2 * times * N)
    levels = np.searchsorted(np.quantile(worth, [0.25, 0.5, 0.75]), worth)
    users = np.repeat(["x", "y"], times * N)
    return Comparisons.from_ratings(items, np.tile(np.arange(N), 2 * times), levels, users=users)


SHAPES = ["choices", "none", "best-worst", "rankings", "ties", "tied pairs", "mixed", "ratings"]


def answers_of(data: Comparisons) -> Answers:
    return data.collected(data.items).canonical()


def log_likelihood(
    scores: FloatArray, anchors: FloatArray, data: Comparisons, lapse: float, head_start: float
) -> float:
    """By its definition, answer by answer."""

    def choice(chosen: int, rivals: list[int], sign: float) -> float:
        values = np.concatenate([scores, anchors])
        worth = np.exp(-sign * values[[chosen, *rivals]])
        return float(np.log(lapse / len(worth) + (1 - lapse) * worth[0] / worth.sum()))

    def rao_kupper(first: int, second: int, y: int) -> float:
        (one, other), ahead = np.exp(-scores[[first, second]]), np.exp(head_start)
        wins = one / (one + ahead * other), other / (other + ahead * one)
        return float(np.log(lapse / 3 + (1 - lapse) * (1 - sum(wins), *wins)[y]))

    total = 0.0
    if head_start:
        return sum(rao_kupper(*pair, y) for pair, y in zip(data.pairs, data.y, strict=True))
    for winner, loser in data.pairs:
        total += choice(winner, [loser], 1.0)
    if data.orders is not None:
        for chosen, rivals, sign, weight in data.orders.choices():
            total += weight * choice(chosen if chosen >= 0 else N, [r if r >= 0 else N for r in rivals], sign)
    if data.ratings is not None:
        people, steps = data.ratings.people, len(data.ratings.values) - 1
        for item, level, who in zip(data.ratings.items, data.ratings.levels, people, strict=True):
            thresholds = anchors[who * steps : (who + 1) * steps]
            at_least = np.concatenate([[1.0], expit(thresholds - scores[item]), [0.0]])
            q = at_least[level] - at_least[level + 1]
            total += float(np.log(lapse / (steps + 1) + (1 - lapse) * q))
    return total


def probabilities(
    answers: Answers, scores: FloatArray, head_start: Any, winners: Any, losers: Any
) -> FloatArray:
    """Of rows, without lapses, from (n, C) scores of items and anchors."""
    sets, n = answers.sets, len(answers.items)
    assert sets is not None
    rows = sets.extended(scores, head_start)[0]
    wins = expit(rows[losers] - rows[winners])
    one, other = (rows[sets.items_of(ends, n)] for ends in (winners, losers))
    ties = 1 - expit(other - one - head_start) - expit(one - other - head_start)
    band, result = sets.band_of(losers, n), np.where(sets.are_ahead(winners, n)[:, None], ties, wins)
    for k in np.flatnonzero(band >= 0):
        first = n + sets.bands[band[k]]
        lower, upper = (expit(scores[row] - scores[winners[k]]) for row in (first, first + 1))
        result[k] = lower - upper
    return result


def scores_of(root: FloatArray, answers: Answers, draws: FloatArray) -> FloatArray:
    """(n, C) scores of items and anchors from whitened unknowns, by their definition."""
    n, sets = len(answers.items), answers.sets
    assert sets is not None
    items = draws[:, : draws.shape[1] - sets.n_anchors] @ root[:n, : root.shape[1] - sets.n_anchors].T
    anchors = sets.thresholds.scores(draws[:, draws.shape[1] - sets.n_anchors :])
    return np.concatenate([items, anchors], axis=1).T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("effects", [False, True])
def test_the_likelihood_is_that_of_the_definition_and_its_gradient_that_of_differences(
    shape: str, effects: bool
) -> None:
    data, rng = person(0, shape), np.random.default_rng(1)
    answers = data.collected(data.items)
    target = Target.about(answers, KINDS["full"], effects=effects)
    y = rng.normal(0, 0.6, (3, target.n))
    found, meaning = target.density(y), target.scores(y)
    of_items = target.of_items(meaning)
    anchors = np.zeros((3, 0)) if meaning.anchors is None else meaning.anchors
    every = np.zeros((N, 3))
    every[answers.touched] = of_items
    for k in range(3):
        start = 0.0 if meaning.head_start is None else float(meaning.head_start[k])
        wanted = log_likelihood(every[:, k], anchors[k], data, float(meaning.lapse[k]), start)
        assert -found.likelihood[k] == pytest.approx(wanted, rel=1e-9)
    step = 1e-5
    moves = step * np.eye(target.n)
    for k in range(3):
        ahead, behind = target.value(y[k] + moves), target.value(y[k] - moves)
        assert found.gradient[k] == pytest.approx((ahead - behind) / (2 * step), abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_posterior_of_choices_of_two_is_that_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((5, 2))
    pairs = [rng.choice(5, 2, replace=False).tolist() for _ in range(8)]
    as_pairs = answers_of(Comparisons(items, pairs))
    as_choices = answers_of(Comparisons.from_choices(items, pairs, [one[0] for one in pairs]))
    one, other = (infer_smooth(answers, lapse=0.02) for answers in (as_pairs, as_choices))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-3)
    assert one.leave_out().probabilities == pytest.approx(other.leave_out().probabilities, abs=5e-3)


@pytest.mark.parametrize(
    "shape",
    some_slow(
        ["choices", "best-worst", "rankings", "tied pairs", "ratings"],
        fast=["choices", "tied pairs", "ratings"],
    ),
)
def test_the_gaussian_is_that_of_weighted_draws_of_the_prior(shape: str) -> None:
    """Means within a third of a deviation, deviations within a third, the evidence near the bound."""
    data, rng = person(3, shape, count=4), np.random.default_rng(0)
    if shape == "ratings":
        data = data[:6]
    answers = answers_of(data)
    process = Process(answers, lapse=0.02)
    found, place = (
        process.variational_fit(np.zeros(len(process.centre)), None),
        process.place(np.zeros(len(process.centre))),
    )
    root = found.design.root
    draws = scores_of(root, answers, rng.standard_normal((200_000, root.shape[1]))).T
    p = probabilities(answers, draws.T, found.design.head_start, answers.winners, answers.losers)
    logs = answers.weights @ np.log(0.02 * answers.chance[:, None] + 0.98 * p)
    weights = np.exp(logs - logs.max())
    evidence = float(np.log(weights.mean()) + logs.max())
    assert found.bound == pytest.approx(evidence, abs=0.35)
    weights /= weights.sum()
    scores = draws[:, : len(answers.items)] - draws[:, : len(answers.items)].mean(axis=1, keepdims=True)
    mean = weights @ scores
    deviation = np.sqrt(weights @ (scores - mean) ** 2)
    half = np.linalg.solve(found.lower, root.T)
    covariance = (half.T @ half)[: len(mean), : len(mean)]
    centred = np.eye(len(mean)) - 1 / len(mean)
    own = centred @ (root @ found.mean)[: len(mean)]
    assert (np.abs(own - mean) < 0.35 * deviation).all()
    spread = np.sqrt(np.diag(centred @ covariance @ centred))
    # Of very few ratings, how far scores and thresholds are stretched is skewed, which no Gaussian is.
    assert np.abs(np.log(spread / deviation)).max() < (0.5 if shape == "ratings" else 0.35)
    assert place.shape == process.centre.shape


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_left_out_is_predicted_as_by_a_fit_without_it(shape: str) -> None:
    """With sizes known: the sites of a question are taken out of the Gaussian."""
    answers = answers_of(person(1, shape, count=6))
    process = Process(answers, lapse=0.02)
    u = np.zeros(len(process.centre))
    found = process.variational_fit(u, None, 1e-7)
    p, _ = left_out(found)
    held = answers.held_out
    for question in np.unique(held.questions)[:4]:
        kept = np.where(answers.questions == question, 0.0, answers.weights)
        if not kept.any():
            continue
        fewer = replace(answers, weights=kept + 1e-12)
        refit = Process(fewer, lapse=0.02).variational_fit(u, None, 1e-7)
        design = refit.design
        half = np.linalg.solve(refit.lower, design.root.T)
        normal = np.random.default_rng(0).standard_normal((20_000, len(half)))
        unknowns = np.linalg.solve(refit.lower.T, normal.T).T + refit.mean
        scores = scores_of(design.root, answers, unknowns)
        for k in np.flatnonzero(held.questions == question):
            chance = answers.chance[k] if k < held.n_answers else 0.5
            q = probabilities(answers, scores, design.head_start, held.winners[[k]], held.losers[[k]])
            exact = (0.02 * chance + 0.98 * q).mean()
            assert p[k] == pytest.approx(exact, abs=0.06)


def test_the_information_of_pairs_that_may_be_tied_is_the_expected_curvature() -> None:
    """Where every outcome counts for its probability, that is the curvature."""
    items = np.random.default_rng(0).standard_normal((4, 2))
    pairs = np.tile(np.column_stack(np.triu_indices(4, 1)), (3, 1))
    answers = answers_of(Comparisons(items, pairs, y=np.repeat([1, 0, -1], 6)))
    target = Target.about(answers, KINDS["none"], lapse=0.05)
    y = np.random.default_rng(1).normal(0, 0.6, target.n)
    moves = 1e-5 * np.eye(target.n)
    # Without what the prior says.
    expected, nothing = (target.reweighted(w) for w in (target.probabilities(y)[0], np.zeros(18)))
    found = curvature(expected, y, np.random.default_rng(0)) - curvature(nothing, y, np.random.default_rng(0))
    ahead, behind = (expected.gradient(at) - nothing.gradient(at) for at in (y + moves, y - moves))
    hessian = (ahead - behind) / 2e-5
    assert found == pytest.approx(hessian, abs=1e-4)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in ("tied pairs", "ratings")])
def test_the_information_is_the_curvature_at_equal_scores(shape: str) -> None:
    """Of a choice among k: 1 / k^2 for every two of them."""
    answers = answers_of(person(2, shape))
    target = Target.about(answers, KINDS["none"], lapse=0.0)
    y = np.zeros(target.n)
    pairs = information_pairs(target, y)
    n = len(answers.items) + target.n_anchors
    laplacian = pairs.laplacian(n)
    wanted = np.zeros((n, n))
    for k in range(len(answers.winners)):
        rows = [answers.winners[k], answers.losers[k]]
        base = answers.n_rows - answers.sets.n_sets  # type: ignore[union-attr]
        members = np.array([m for row in rows for m in members_of(answers, int(row), base)])
        one = np.eye(n)[members]
        wanted += (
            answers.weights[k] * (one.T @ (np.eye(len(members)) - 1 / len(members)) @ one) / len(members)
        )
    assert np.asarray(laplacian) == pytest.approx(wanted, abs=1e-6)


def test_the_information_of_ratings_is_their_curvature() -> None:
    """Along the scores of items and thresholds, without lapses, by differences of the log likelihood."""
    answers = answers_of(person(2, "ratings"))
    target = Target.about(answers, KINDS["none"], effects=True, lapse=0.0)
    y = np.random.default_rng(0).normal(0, 0.6, target.n)
    n = len(answers.items) + target.n_anchors
    at = target.of_rows(target.scores(y[None]))[0][:n]

    def logs(scores: FloatArray) -> FloatArray:
        p = probabilities(answers, at + scores.T, 0.0, answers.winners, answers.losers)
        result: FloatArray = answers.weights @ np.log(p)
        return result

    step, hessian = 1e-3, np.zeros((n, n))
    moves = step * np.eye(n)
    for i in range(n):
        ahead, behind = (logs(moves + sign * moves[i]) - logs(-moves + sign * moves[i]) for sign in (1, -1))
        hessian[i] = -(ahead - behind) / (4 * step**2)
    found = information_pairs(target, y).laplacian(n)
    assert np.asarray(found) == pytest.approx(hessian, rel=1e-3, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-8, 8), min_size=2, max_size=7),
    st.floats(-6, 6),
    st.integers(0, 10_000),
)
def test_probabilities_of_all_levels_add_up_to_one_and_thresholds_are_in_order(
    unknowns: list[float], score: float, seed: int
) -> None:
    n_steps = len(unknowns)
    rng = np.random.default_rng(seed)
    items = np.arange(n_steps + 1.0)[:, None]
    data = Comparisons.from_ratings(items, range(n_steps + 1), rng.permutation(n_steps + 1))
    answers = data.collected(items)
    sets = answers.sets
    assert sets is not None
    thresholds = sets.thresholds.scores(np.array([unknowns]))
    assert (np.diff(thresholds[0]) <= 0).all()
    rows = np.concatenate([np.full((n_steps + 1, 1), score), thresholds.T])
    p = probabilities(answers, rows, 0.0, answers.winners, answers.losers)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert answers.chance == pytest.approx(np.full(n_steps + 1, 1 / (n_steps + 1)))


def test_ratings_of_two_levels_are_answers_about_the_item_and_a_threshold() -> None:
    items = np.random.default_rng(0).standard_normal((6, 2))
    levels = np.array([0, 1, 1, 0, 1, 0])
    target = Target.about(Comparisons.from_ratings(items, range(6), levels).collected(items), KINDS["full"])
    y = np.random.default_rng(1).normal(0, 0.6, (3, target.n))
    at = target.scores(y)
    assert at.anchors is not None and at.anchors.shape == (3, 1)
    margin = np.where(levels[:, None], 1, -1) * (at.anchors[:, 0] - target.of_items(at))
    wanted = -np.log(at.lapse / 2 + (1 - at.lapse) * expit(margin)).sum(axis=0)
    assert target.density(y).likelihood == pytest.approx(wanted)


def test_moments_of_a_rating_are_those_of_its_log_probability() -> None:
    """Means by sampling, slopes and curvatures by differences."""
    mean, chance = np.array([[0.3, 1.0, -0.4], [2.0, 0.5, 0.2]]), 0.25
    covariance = np.diag([0.5, 0.0, 0.0])[None].repeat(2, axis=0)
    found = expect_bands(mean, covariance, chance, 0.05)
    draws = mean[:, :1] + np.sqrt(0.5) * np.random.default_rng(0).standard_normal((2, 400_000))
    p = 0.05 / 4 + 0.95 * (expit(mean[:, 1:2] - draws) - expit(mean[:, 2:] - draws))
    assert found.p == pytest.approx(p.mean(axis=1), abs=2e-3)
    assert found.log_p == pytest.approx(np.log(p).mean(axis=1), abs=1e-2)
    for i, move in enumerate(1e-5 * np.eye(3)):
        ahead, behind = (expect_bands(mean + sign * move, covariance, chance, 0.05) for sign in (1, -1))
        assert found.slope[:, i] == pytest.approx((ahead.log_p - behind.log_p) / 2e-5, abs=1e-6)
        assert found.curvature[:, i] == pytest.approx((behind.slope - ahead.slope) / 2e-5, abs=1e-6)


def members_of(answers: Answers, row: int, base: int) -> list[int]:
    if row < base:
        return [row]
    sets = answers.sets
    assert sets is not None
    first = sets.starts[row - base]
    return [int(m) for m in sets.members[first : first + sets.sizes[row - base]]]


@pytest.mark.parametrize(
    "shape", some_slow(["choices", "rankings", "tied pairs", "ratings"], fast=["tied pairs", "ratings"])
)
def test_order_of_answers_and_items_does_not_matter(shape: str) -> None:
    data = person(4, shape)
    order = np.random.default_rng(0).permutation(len(data))
    one, other = (IdealPoint(metric="smooth").fit(part).distances_ for part in (data, data[order]))
    assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_chance_of_all_answers_is_theirs_with_equal_items(shape: str) -> None:
    """Whatever the anchors' scores: their mean over the prior, by sampling."""
    data = person(5, shape, count=5)
    answers, rng = data.collected(data.items), np.random.default_rng(0)
    n_anchors = answers.sets.n_anchors  # type: ignore[union-attr]
    unknowns = rng.standard_normal((120_000 if n_anchors else 50_000, n_anchors))
    anchors = answers.sets.thresholds.scores(unknowns)  # type: ignore[union-attr]
    rows = np.concatenate([np.zeros((len(answers.items), len(anchors))), anchors.T])
    # In strata, as very careless people, who are rare, count for much.
    strata = ndtri((rng.permutation(len(anchors)) + 0.5) / len(anchors))
    lapses = expit(LAPSE_ODDS + LAPSE_WIDTH * strata)
    starts = np.exp(HEAD_START + HEAD_START_WIDTH * rng.standard_normal(len(anchors)))
    p = probabilities(answers, rows, starts, answers.winners, answers.losers)
    logs = answers.weights @ np.log(lapses * answers.chance[:, None] + (1 - lapses) * p)
    assert answers.log_chance == pytest.approx(np.logaddexp.reduce(logs) - np.log(len(logs)), abs=0.3)


@pytest.mark.parametrize(
    ("shape", "count"),
    some_slow([("rankings", 150), ("tied pairs", 2_000), ("ratings", 300)], fast=[("tied pairs", 2_000)]),
)
def test_many_answers_take_laplaces_way_and_agree_with_sampling(
    shape: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = answers_of(person(6, shape, count=count))
    sampled = infer(answers, "full", np.random.default_rng(0))
    monkeypatch.setattr("coombs.inference.infer.MOST_SAMPLED", 10)
    narrow = infer(answers, "full", np.random.default_rng(0))
    assert sampled.sampled and not narrow.sampled
    means, deviations = [], []
    for found in (sampled, narrow):
        scores = found.target.of_items(found.scores())
        away = scores - scores.mean(axis=0)
        means.append(away.mean(axis=1))
        deviations.append(away.std(axis=1))
    assert (np.abs(means[0] - means[1]) < 0.5 * deviations[0]).all()
    assert np.abs(np.log(deviations[1] / deviations[0])).max() < 0.35
    if shape != "ratings":  # of which there are too few that are about something else
        assert narrow.leave_out().accuracy == pytest.approx(sampled.leave_out().accuracy, abs=0.03)


@pytest.mark.parametrize("shape", ["best-worst", "tied pairs"])
def test_scores_far_apart_have_the_same_density(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where odds cannot be added up, members' shares of each set are."""
    answers = answers_of(person(7, shape))
    target = Target.about(answers, KINDS["full"], effects=True)
    y = np.random.default_rng(0).normal(0, 0.6, (3, target.n))
    one = target.density(y)
    single = target.single()
    for name in ("WIDEST", "WIDEST_DOUBLE"):
        monkeypatch.setattr(f"coombs.data.rival_sets.{name}", 0.0)
        other = target.density(y)
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.gradient == pytest.approx(other.gradient, abs=1e-9)
        rough = single.density(y.astype(np.float32))
        assert rough.value == pytest.approx(one.value, rel=1e-4)
        assert rough.gradient.dtype == np.float32
        assert rough.gradient == pytest.approx(one.gradient, rel=1e-3, abs=1e-2)


def test_points_of_a_choice_have_the_moments_of_a_normal() -> None:
    for k in (2, 3, 5, 9):
        points = set_design.points_of(k)
        assert points.mean(axis=0) == pytest.approx(np.zeros(k), abs=1e-12)
        assert points.T @ points / len(points) == pytest.approx(np.eye(k))


@pytest.mark.slow
@pytest.mark.long
def test_ratings_given_at_random_have_no_pattern_and_are_not_predicted() -> None:
    """Names alone, rated by four people: neither the evidence nor what is left out speaks for a taste.

    Odds of ten to one are wrong once in ten at most, and were once in 20: three of eight would be much.
    """
    names = [f"idea {i}" for i in range(12)]
    accuracies, found = [], 0
    for seed in range(8):
        levels = np.random.default_rng(seed).integers(1, 6, 48)
        data = Comparisons.from_ratings(
            names, np.tile(np.arange(12), 4), levels, users=np.repeat(list("abcd"), 12)
        )
        told = IdealPoint().fit(data).explain()
        found += bool(told.has_pattern)
        accuracies.append(told.trust.accuracy)
    assert found <= 2 and np.nanmean(accuracies) < 0.6


def test_a_choice_among_things_that_go_together_has_moments_at_any_scale() -> None:
    """Their covariance is singular but for rounding, which grows with it."""
    root = np.random.default_rng(0).normal(size=(1, 6, 2))
    everything = Choices(np.zeros(1, np.intp), np.zeros((1, 6), np.intp), np.ones((1, 6), bool), np.ones(1))
    for size in (0.0, 1.0, 1e4, 1e9):
        found = expect_choices(np.zeros((1, 6)), size * root @ root.transpose(0, 2, 1), everything, 0.01)
        assert np.isfinite(found.log_p).all() and np.isfinite(found.curvature).all()
