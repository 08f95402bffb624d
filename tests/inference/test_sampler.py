"""The sampler against integration, its diagnostics against what they estimate, and inference by it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import some_slow
from problems import person, target_of, weighted
from quadrature import Exact, integrate
from scipy.special import expit
from scipy.stats import ks_2samp

from coombs.data.answers import Answers
from coombs.data.tables import FloatArray
from coombs.inference import convergence, infer, sampler
from coombs.inference.convergence import DRAWS_FOR_SHIFT, Gradients, Monitor
from coombs.inference.kinds import KINDS
from coombs.inference.sampler import Chains, Effort, Ensemble, Tuning, levels_of, sample
from coombs.inference.target import Target
from coombs.programs.program import Status
from coombs.simulate import make_preferences

LAPSE = 0.02
MANY = Effort(chains=1024, warm_up=6, least=40, most=40)
"""Some 10,000 independent draws: means are known to a hundredth of a deviation."""
every_exact = pytest.mark.parametrize("kind", ["none", "identity"])


def drawn(levels: list[Target], seed: int = 0, effort: Effort = MANY, **settings: Any) -> Chains:
    """Chains whose unknowns are watched."""
    rng = np.random.default_rng(seed)
    return sample(levels, rng, effort, lambda y: y.astype(float), lambda monitor: False, **settings)


def assert_exact(chains: Chains, exact: Exact, weights: FloatArray) -> None:
    """Means to 0.08 deviations, deviations to 12 %, ends of intervals to a share of 0.04."""
    draws = np.concatenate(chains.draws).astype(float)
    mean, deviation = exact.moments(weights)
    values = np.arcsinh(draws)
    assert (np.abs(values.mean(axis=0) - mean) < 0.08 * deviation).all()
    assert values.std(axis=0) == pytest.approx(deviation, rel=0.12)
    for unknown in range(draws.shape[1]):
        for level in (0.05, 0.5, 0.95):
            end = exact.quantile(weights, unknown, level)
            assert (draws[:, unknown] < end).mean() == pytest.approx(level, abs=0.04)


# Against integration


@every_exact
@pytest.mark.parametrize("n_answers", some_slow([4, 25], fast=[4]))
def test_draws_and_evidence_are_those_of_integration(kind: str, n_answers: int) -> None:
    answers = weighted(person(1, n_answers, 12, seed=1))
    exact = integrate(answers, kind, LAPSE)
    chains = drawn([target_of(answers, kind, lapse=LAPSE).single()])
    assert_exact(chains, exact, answers.weights)
    assert chains.log_evidence == pytest.approx(exact.log_evidence(answers.weights), abs=0.5)
    assert chains.rhat < 1.02
    assert 0.5 < chains.acceptance <= 1.0
    assert chains.n_gradients > 40


@every_exact
def test_annealing_from_other_weights_is_annealing_from_the_prior(kind: str) -> None:
    """From draws given some of the answers; the evidence is that of the news."""
    answers = weighted(person(1, 25, 12, seed=2))
    exact, after = integrate(answers, kind, LAPSE), answers.weights
    target = target_of(answers, kind, lapse=LAPSE).single()
    before = np.where(np.arange(len(after)) % 3, 0.5 * after, 0.0)
    first = drawn([target.reweighted(before)])
    second = drawn([target], 1, start=first.draws[-1], before=before, tuning=first.tuning)
    assert_exact(second, exact, after)
    news = exact.log_evidence(after) - exact.log_evidence(before)
    assert second.log_evidence == pytest.approx(news, abs=0.5)


@every_exact
def test_annealing_to_fewer_answers_forgets_the_others(kind: str) -> None:
    """Weights may also become smaller, as when answers are left out."""
    answers = person(1, 25, 12, seed=2)
    exact, whole = integrate(answers, kind, LAPSE), answers.weights
    target = target_of(answers, kind, lapse=LAPSE).single()
    kept = np.where(np.arange(len(whole)) < 5, 0.0, whole)
    first = drawn([target])
    less = drawn([target.reweighted(kept)], 1, start=first.draws[-1], before=whole, tuning=first.tuning)
    assert_exact(less, exact, kept)


def test_levels_of_answers_lead_to_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six answers, then eighteen, then all."""
    monkeypatch.setattr(sampler, "LEVEL_ANSWERS", 6)
    answers = person(1, 50, 12, seed=3)
    exact = integrate(answers, "none", LAPSE)
    levels = levels_of(target_of(answers, "none", lapse=LAPSE).single(), np.random.default_rng(0))
    assert len(levels) > 2
    chains = drawn(levels)
    assert_exact(chains, exact, answers.weights)
    assert chains.log_evidence == pytest.approx(exact.log_evidence(answers.weights), abs=0.5)


def test_levels_nest_and_end_in_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins with the answers of the one before; the last has them all, in another order."""
    target = target_of(weighted(person(2, 60, 15)), "full")
    assert levels_of(target, np.random.default_rng(0)) == [target]
    monkeypatch.setattr(sampler, "LEVEL_ANSWERS", 5)
    levels = levels_of(target, np.random.default_rng(0))
    sizes = [level.graph.n_answers for level in levels]
    assert sizes[0] == 5 and sizes == sorted(set(sizes)) and sizes[-1] == target.graph.n_answers
    for one, two in itertools.pairwise(levels):
        n = one.graph.n_answers
        assert (one.graph.winners == two.graph.winners[:n]).all()
        assert (one.graph.losers == two.graph.losers[:n]).all()
        assert (one.weights == two.weights[:n]).all()
    y = target.draw_prior(4, np.random.default_rng(1))
    assert levels[-1].value(y) == pytest.approx(target.value(y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effects", some_slow([False, True], fast=[False]))
def test_answers_that_say_nothing_leave_the_prior(kind: str, effects: bool) -> None:
    """With weight zero: each unknown is distributed as draws of the prior are.

    1,024 chains that never moved would differ by more than 0.1 once in 10^8 times.
    """
    answers = person(2, 10, 8)
    target = target_of(replace(answers, weights=0 * answers.weights), kind, effects=effects)
    chains = drawn([target.single()], effort=Effort(1024, 4, 16, 16))
    prior = target.draw_prior(20_000, np.random.default_rng(1))
    for mine, theirs in zip(np.concatenate(chains.draws).T, prior.T, strict=True):
        assert ks_2samp(mine, theirs, method="asymp").statistic < 0.1
    assert chains.log_evidence == 0.0


def test_contradicted_answers_favour_no_side() -> None:
    """Each with its reverse: v and -v are as likely, and margins near zero the likeliest."""
    some = person(2, 10, 8)
    ends = [some.winners, some.losers]
    answers = Answers.collect(
        some.items, np.concatenate(ends), np.concatenate(ends[::-1]), np.ones(2 * len(ends[0]))
    )
    draws = np.concatenate(drawn([target_of(answers, "none", lapse=0.0).single()]).draws)
    assert np.abs(draws[:, :2].mean(axis=0) / draws[:, :2].std(axis=0)).max() < 0.08
    assert draws[:, 2].mean() < -0.3


def test_the_same_generator_gives_the_same_draws() -> None:
    target = target_of(person(2, 30, 12), "full").single()
    one, two, other = (drawn([target], seed, Effort(64, 2, 8, 8)).draws for seed in (3, 3, 4))
    assert (one == two).all() and (one != other).any()


def test_drawing_ends_when_enough_is_known() -> None:
    """After `least` rounds at the earliest, after `most` at the latest, looked at every fourth round."""
    target, rng = target_of(person(2, 20, 12), "none").single(), np.random.default_rng(0)
    for enough, rounds in ((True, 12), (False, 30)):
        chains = sample(
            [target], rng, Effort(32, 2, 12, 30), lambda y: y, lambda monitor, is_so=enough: is_so
        )
        assert chains.draws.shape == (rounds, 32, target.n)


# Control variates


@pytest.mark.parametrize("n_draws", [200, 4000])
def test_shifted_draws_have_exact_means_where_the_posterior_is_gaussian(n_draws: int) -> None:
    """The gradient of -log density is H (y - mean), so that the shift is the whole error."""
    rng, root = np.random.default_rng(0), np.array([[2.0, 0.0], [1.5, 0.5]])
    mean, hessian = np.array([3.0, -1.0]), np.linalg.inv(root @ root.T)
    y = mean + rng.standard_normal((n_draws, 2)) @ root.T
    gradients = Gradients(2)
    for part in np.split((y - mean) @ hessian, 4):
        gradients.add(part)
    error = y.mean(axis=0) - mean
    # F is only an estimate of H.
    assert np.abs(error - gradients.shift()).max() < 10 / np.sqrt(n_draws) * np.abs(error).max()


def test_few_draws_are_not_shifted() -> None:
    gradients = Gradients(3)
    gradients.add(np.ones((DRAWS_FOR_SHIFT * 3 - 1, 3)))
    assert (gradients.shift() == 0).all()


@pytest.mark.slow
def test_shifts_leave_means_unbiased_and_nearer_to_those_of_integration() -> None:
    """Of 40 small samples of a skewed posterior: their mean to 6 errors, and a smaller mean square error."""
    answers = person(1, 25, 12, seed=1)
    mean, deviation = integrate(answers, "none", LAPSE).moments(answers.weights)
    errors = {}
    for per_unknown in (20, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convergence, "DRAWS_FOR_SHIFT", per_unknown)
            target = target_of(answers, "none", lapse=LAPSE).single()
            runs = [drawn([target], seed, Effort(64, 4, 8, 8)).draws for seed in range(40)]
        means = np.array([np.arcsinh(np.concatenate(run).astype(float)).mean(axis=0) for run in runs])
        errors[per_unknown] = (means - mean) / deviation
    shifted, plain = errors[20], errors[10**9]
    assert (np.abs(shifted.mean(axis=0)) < 6 * shifted.std(axis=0) / np.sqrt(40) + 0.01).all()
    assert (shifted**2).mean() < (plain**2).mean()


# Moving and resampling


def test_a_move_that_diverges_is_not_made() -> None:
    """The chains stay where they were, and the step size shrinks."""
    target = target_of(person(2, 20, 12), "full").single()
    y = target.draw_prior(50, np.random.default_rng(0)).astype(np.float32)
    ensemble = Ensemble(target, y, np.random.default_rng(1), Tuning(1e6 * np.eye(target.n)))
    with np.errstate(all="ignore"):
        assert ensemble.move(0.5) < 0.1
    assert np.isfinite(ensemble.y).all() and (ensemble.y == y).all(axis=1).mean() > 0.9
    assert ensemble.tuning.step < sampler.FIRST_STEP


def test_a_draw_is_copied_in_proportion_to_its_weight() -> None:
    """Systematic resampling: within one of count times share, copies next to each other."""
    target, rng = target_of(person(2, 20, 12), "none"), np.random.default_rng(0)
    y = target.draw_prior(200, rng)
    y[:, 0] = np.arange(200)
    weights = rng.uniform(0, 1, 200) ** 4
    ensemble = Ensemble(target, y, rng, None)
    ensemble._resample(weights)
    copies = np.bincount(ensemble.y[:, 0].astype(int), minlength=200)
    assert copies.sum() == 200
    assert (np.abs(copies - 200 * weights / weights.sum()) < 1 + 1e-9).all()
    assert (np.diff(ensemble.y[:, 0]) >= 0).all()


def test_resampled_draws_have_the_weighted_mean() -> None:
    """On average over generators; to 6 errors."""
    target = target_of(person(2, 20, 12), "none")
    y = target.draw_prior(100, np.random.default_rng(0))
    weights = np.exp(y[:, 0] / 3)
    means = []
    for seed in range(300):
        ensemble = Ensemble(target, y, np.random.default_rng(seed), Tuning(np.eye(target.n)))
        ensemble._resample(weights)
        means.append(ensemble.y.mean(axis=0))
    error = np.std(means, axis=0) / np.sqrt(len(means))
    assert (np.abs(np.mean(means, axis=0) - weights @ y / weights.sum()) < 6 * error).all()


def test_the_mass_matrix_is_the_chains_covariance() -> None:
    """Where chains are many; where they are few, variances and no more than a part of the rest."""
    rng = np.random.default_rng(0)
    root = np.array([[2.0, 0.0, 0.0], [1.5, 0.5, 0.0], [0.0, -0.2, 0.1]])
    y = rng.standard_normal((20_000, 3)) @ root.T
    found = Tuning.of(y, None, 3).root
    assert found @ found.T == pytest.approx(root @ root.T, abs=0.2)
    few = Tuning.of(y[:8], None, 3).root
    covariance, exact = few @ few.T, np.cov(y[:8].T)
    assert np.diag(covariance) == pytest.approx(np.diag(exact), rel=1e-3)
    assert 0 < covariance[0, 1] / exact[0, 1] < 0.95
    apart = Tuning.of(y, None, 2).root
    assert (apart[2, :2] == 0).all() and apart[2, 2] ** 2 == pytest.approx(0.05, rel=0.1)


def test_many_answers_have_fewer_chains() -> None:
    """But not fewer than FEWEST_CHAINS, and never more than asked for."""
    few, many = target_of(person(2, 20, 12), "none"), target_of(person(2, 2000, 100), "none")
    assert sampler.affordable(Effort(256, 1, 1, 1), few) == 256
    assert sampler.affordable(Effort(256, 1, 1, 1), many) == sampler.FEWEST_CHAINS
    assert sampler.affordable(Effort(16, 1, 1, 1), many) == 16


# Diagnostics


def monitored(values: FloatArray) -> Monitor:
    """Of (rounds, chains, quantities)."""
    monitor = Monitor(lambda y: y)
    for one in values:
        monitor.add(one)
    return monitor


def test_nested_rhat_is_one_for_like_chains_and_large_for_chains_apart() -> None:
    """Also where the chains agree but drift, or where one quantity of several is apart."""
    values = np.random.default_rng(0).standard_normal((40, 256, 3))
    assert 1 <= monitored(values).rhat() < 1.01
    apart = np.zeros((256, 3))
    apart[:16, 1] = 10
    assert monitored(values + apart).rhat() > 1.5
    assert monitored(values + 3 * (np.arange(40) >= 20)[:, None, None]).rhat() > 1.5
    assert monitored(np.ones((40, 256, 3))).rhat() == 1.0
    assert monitored(values[:1]).rhat() == 1.0


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_standard_errors_are_those_of_the_means(correlation: float) -> None:
    """Of 400 quantities that are all zero on average, in chains that move freely or slowly."""
    rng, rounds, values = np.random.default_rng(0), [], np.zeros((256, 400))
    values = rng.standard_normal(values.shape)
    for _ in range(24):
        rounds.append(values)
        noise = rng.standard_normal(values.shape)
        values = correlation * values + np.sqrt(1 - correlation**2) * noise
    monitor = monitored(np.array(rounds))
    errors, means = monitor.standard_errors(), np.mean(rounds, axis=(0, 1))
    assert (means**2).mean() / (errors**2).mean() == pytest.approx(1.0, abs=0.4)
    assert monitor.deviations() == pytest.approx(np.ones(400), abs=0.35)
    assert len(monitor) == 24


@pytest.mark.slow
def test_the_standard_errors_of_a_sample_are_those_of_its_repeats() -> None:
    """Thirty runs of one posterior: mean squared error of all means over what they claim."""
    target = target_of(person(2, 30, 15), "identity", lapse=LAPSE).single()
    runs = [drawn([target], seed, Effort(128, 4, 16, 16)) for seed in range(30)]
    means = np.array([np.concatenate(run.draws).mean(axis=0) for run in runs])
    claimed = np.mean([run.standard_errors**2 for run in runs], axis=0)
    assert (means.var(axis=0, ddof=1) / claimed).mean() == pytest.approx(1.0, abs=0.8)


# Inference


def centred_scores(found: infer.Inference) -> FloatArray:
    """(N, S) of items, at unit spread about their mean."""
    s = found.target.of_items(found.scores())
    s = s - s.mean(axis=0)
    return s / infer.spread_of(s)


def test_an_inference_keeps_its_promise_of_precision() -> None:
    """Two seeds: standardised scores agree to 0.05, five of the standard errors that end the drawing."""
    answers = person(5, 100, 60)
    one, two = (
        centred_scores(infer.infer(answers, "full", np.random.default_rng(seed))).mean(axis=1)
        for seed in (0, 1)
    )
    assert np.abs(one - two).max() < 0.06
    assert np.sqrt(np.mean((one - two) ** 2)) < 0.025


def test_chains_that_did_not_come_together_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the status; a quick look promises nothing."""
    answers = person(2, 40, 20)
    assert infer.infer(answers, "full", np.random.default_rng(0)).status is Status.CONVERGED
    monkeypatch.setattr(infer, "LARGEST_RHAT", 0.5)
    found = infer.infer(answers, "full", np.random.default_rng(0))
    assert found.status is Status.CHAINS_APART
    assert found.n_iter == infer.WHOLE.chains * infer.WHOLE.most
    quick = infer.infer(answers, "full", np.random.default_rng(0), effort=infer.QUICK)
    assert quick.status is Status.CONVERGED


def test_annealing_that_ends_early_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chains are then not where the answers are, however well they agree."""
    monkeypatch.setattr(sampler, "MOST_STAGES", 2)
    found = infer.infer(person(2, 40, 20), "full", np.random.default_rng(0), effort=infer.QUICK)
    assert found.status is Status.MAX_ITERATIONS


def test_islands_are_resampled_apart_and_joined_by_their_evidence() -> None:
    """One with e^-2 of the other's evidence keeps 12 % of the chains."""
    target, rng = target_of(person(2, 20, 12), "none"), np.random.default_rng(0)
    y = target.draw_prior(200, rng)
    y[:, 0] = np.repeat([0, 1], 100)
    ensemble = Ensemble(target, y, rng, None, islands=2)
    ensemble._resample(rng.uniform(0, 1, (2, 100)) * [[1.0], [9.0]])
    assert (ensemble.y[:, 0] == y[:, 0]).all()
    ensemble.evidence = np.array([-5.0, -7.0])
    assert ensemble.log_evidence == pytest.approx(np.log((np.exp(-5) + np.exp(-7)) / 2))
    ensemble.join(100)
    assert len(ensemble.y) == 100 and ensemble.y[:, 0].sum() == 12


def test_an_inference_holds_what_it_says() -> None:
    answers = person(2, 40, 20)
    found = infer.infer(answers, "full", np.random.default_rng(0))
    assert found.sampled and found.draws.dtype == np.float64
    assert found.draws.shape == (min(found.n_iter, infer.DRAWS), found.target.n)
    assert found.objective == pytest.approx(found.target.value(found.draws).min())
    assert found.target.value(found.mode[None])[0] == pytest.approx(found.objective)
    assert np.isfinite(found.log_evidence) and found.log_evidence < 0
    scores = found.scores()
    u = found.ideal_points(scores)
    assert (scores.metric @ u[:, :, None])[..., 0] == pytest.approx(scores.linear, rel=1e-6, abs=1e-9)
    assert found.effect_size == 0.0


def test_an_ideal_point_of_a_signed_metric_is_where_it_is_flat() -> None:
    found = infer.infer(person(2, 40, 20), "signed", np.random.default_rng(0), effort=infer.QUICK)
    scores = found.scores()
    u = found.ideal_points(scores)
    regular = np.linalg.cond(scores.metric) < 1e6
    assert regular.mean() > 0.9
    assert (scores.metric @ u[:, :, None])[regular, :, 0] == pytest.approx(scores.linear[regular], abs=1e-6)


def test_more_draws_are_of_the_same_posterior() -> None:
    """The evidence stays, the work adds up."""
    answers = person(2, 40, 20)
    few = infer.infer(answers, "full", np.random.default_rng(0), effort=infer.SHARED)
    more = infer.extend(few, np.random.default_rng(1))
    assert more.n_iter > few.n_iter and len(more.draws) >= len(few.draws)
    assert more.log_evidence == pytest.approx(few.log_evidence, abs=0.5)
    whole = infer.infer(answers, "full", np.random.default_rng(2))
    apart = centred_scores(more).mean(axis=1) - centred_scores(whole).mean(axis=1)
    assert np.abs(apart).max() < 0.06


def test_a_few_more_answers_give_a_fresh_inference() -> None:
    """From the draws given those before; answers may be repeated, and touch other items."""
    answers = person(2, 60, 30).canonical()
    few = replace(
        answers, winners=answers.winners[:54], losers=answers.losers[:54], weights=0.5 * answers.weights[:54]
    )
    before = infer.infer(few, "full", np.random.default_rng(0))
    after = infer.refresh(before, few, answers, np.random.default_rng(1))
    fresh = infer.infer(answers, "full", np.random.default_rng(2))
    apart = centred_scores(after).mean(axis=1) - centred_scores(fresh).mean(axis=1)
    assert np.abs(apart).max() < 0.08
    ratio = centred_scores(after).std(axis=1) / centred_scores(fresh).std(axis=1)
    assert np.abs(np.log(ratio)).max() < 0.25


def test_many_answers_or_unknowns_are_not_sampled() -> None:
    """Counted votes count as so many answers; item effects make it dearer."""
    answers = person(2, 40, 20)
    assert infer.is_sampled(answers, 10, effects=True)
    assert not infer.is_sampled(answers, infer.MOST_UNKNOWNS - 5, effects=True)
    heavy = replace(answers, weights=np.full(len(answers.weights), 30.0))
    assert infer.is_sampled(heavy, 10, effects=False) and not infer.is_sampled(heavy, 10, effects=True)
    assert not infer.is_sampled(replace(heavy, weights=100 * heavy.weights), 10, effects=False)


def with_effects(size: float, seed: int) -> Answers:
    """400 answers about 30 items whose scores have normal effects of so many logits."""
    rng, truth = np.random.default_rng(seed), make_preferences(30, 2, 400, random_state=seed)
    s = truth.distances + size * rng.standard_normal(30)
    first = rng.random(400) < expit(s[truth.pairs[:, 1]] - s[truth.pairs[:, 0]])
    ends = np.where(first[:, None], truth.pairs, truth.pairs[:, ::-1])
    items = (truth.items - truth.items.mean(axis=0)) / truth.items.std(axis=0)
    return Answers.collect(items, *ends.T, np.ones(400))


def test_item_effects_are_sampled_and_have_a_size() -> None:
    """Strong ones have a larger size than none, in logits."""
    sizes = []
    for size in (0.0, 5.0):
        found = infer.infer(with_effects(size, 0), "full", np.random.default_rng(0), effects=True)
        assert found.sampled and found.scores().effects is not None
        sizes.append(found.effect_size)
    assert sizes[0] < 1.5 < sizes[1] < 15


@pytest.mark.slow
def test_answers_disagree_with_the_features_only_where_items_have_effects() -> None:
    """A score test: about standard normal where there are none, large where they are strong."""
    none, strong = (
        [
            infer.infer(
                with_effects(size, seed), "full", np.random.default_rng(0), effort=infer.QUICK
            ).disagreement()
            for seed in range(6)
        ]
        for size in (0.0, 5.0)
    )
    assert np.abs(none).max() < 5
    assert np.median(none) < 2 < 5 < np.median(strong)


@pytest.mark.parametrize("lapse", [None, 0.1])
def test_items_without_a_feature_are_sampled(lapse: float | None) -> None:
    """With item effects, and with nothing to learn but the lapse, or nothing at all."""
    ends = np.array([0, 1, 0]), np.array([1, 2, 2])
    answers = Answers.collect(np.zeros((3, 0)), *ends, np.full(3, 4.0))
    for effects in (False, True):
        found = infer.infer(answers, "items", np.random.default_rng(0), lapse=lapse, effects=effects)
        assert found.status is Status.CONVERGED
        told = found.target.of_items(found.scores()).mean(axis=1)
        assert np.isfinite(told).all()
        assert not effects or (np.diff(told) > 0.1).all()
