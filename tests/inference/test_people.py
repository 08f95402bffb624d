"""Many people: posteriors by expectation propagation, the population's mean and covariance, groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from coombs.data.tables import NO_LEVELS
from coombs.inference.people.acceleration import Anderson
from coombs.inference.people.answer_blocks import AnswerBlock, blocks_of, some_people
from coombs.inference.people.average_of_kinds import learn_people
from coombs.inference.people.coordinates import KINDS, coordinates_of
from coombs.inference.people.people_answers import PeopleAnswers
from coombs.inference.people.population_fit import PopulationStatus, View, fit_population, pass_over
from coombs.inference.people.population_prior import PopulationPrior, share_after
from coombs.inference.people.posteriors import Sites, leave_questions_out, posteriors, update
from coombs.inference.people.small_matrices import inverse_and_log_det
from coombs.inference.people.tastes import Seen, Tastes
from coombs.inference.people.tilted import mean_probability, tilt

NODES, SHARES = np.polynomial.hermite_e.hermegauss(180)
SHARES = SHARES / SHARES.sum()


def simulated(n_people: int, n_answers: int, d: int = 3, seed: int = 0, spread: float = 0.7):
    """Items, the population's mean and covariance, everybody's weights, and answers."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((40, d))
    mean = rng.normal(0, 1, d)
    root = rng.normal(0, 1, (d, d)) * spread / np.sqrt(d)
    covariance = root @ root.T + 0.2 * np.eye(d)
    weights = rng.multivariate_normal(mean, covariance, n_people)
    people = np.repeat(np.arange(n_people), n_answers)
    one = rng.integers(0, 40, len(people))
    other = (one + rng.integers(1, 40, len(people))) % 40
    first = rng.random(len(people)) < expit(((items[one] - items[other]) * weights[people]).sum(axis=1))
    winners, losers = np.where(first, one, other), np.where(first, other, one)
    return items, mean, covariance, weights, (winners, losers, np.ones(len(people)), people)


def settled(block: AnswerBlock, prior: PopulationPrior, items: np.ndarray, passes: int = 40):
    """Sites where they no longer change, the posteriors and the log evidence there."""
    view, sites = View.of(prior, items), (Sites.empty(block),)
    for _ in range(passes):
        used, found = sites, pass_over(block, sites, prior, view)
        sites = found.sites
    here = posteriors(block.design(view.white), block.margins(view.base[0]), used[0])
    return used[0], here, update(here, used[0], block.weights, prior.lapse)


@pytest.mark.parametrize("count", [2, 50])
def test_matrices_are_inverted_as_by_lapack(count: int):
    rows = np.random.default_rng(0).standard_normal((count, 9, 6))
    for d in (1, 3, 6):
        grams = np.matmul(rows[:, :, :d].transpose(0, 2, 1), rows[:, :, :d]) + np.eye(d)
        inverse, log_det = inverse_and_log_det(grams)
        np.testing.assert_allclose(inverse, np.linalg.inv(grams), atol=1e-12)
        np.testing.assert_allclose(log_det, np.linalg.slogdet(grams)[1], atol=1e-12)


def test_mean_probability_is_the_integral_over_a_normal_margin():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(0, 3, 400), rng.uniform(0, 9, 400)
    exact = 0.01 + 0.98 * expit(mean[:, None] + np.sqrt(variance)[:, None] * NODES) @ SHARES
    np.testing.assert_allclose(mean_probability(mean, variance, 0.02), exact, atol=1e-5)


def test_slope_and_curvature_of_an_answer_are_those_of_finite_differences():
    rng, h = np.random.default_rng(0), 1e-4
    mean, variance = rng.normal(0, 3, 200), rng.uniform(0, 9, 200)
    found = tilt(mean, variance, 0.02)
    low, here, high = (np.log(mean_probability(mean + move, variance, 0.02)) for move in (-h, 0, h))
    np.testing.assert_allclose(found.slope, (high - low) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(found.curvature, -(high - 2 * here + low) / h**2, atol=1e-5)


@pytest.mark.parametrize("n_answers", [1, 2, 6])
def test_a_persons_posterior_and_evidence_are_those_of_brute_force(n_answers: int):
    """Two weights, so that all is an integral over a plane."""
    rng = np.random.default_rng(n_answers)
    items = rng.standard_normal((8, 2))
    prior = replace(
        PopulationPrior.first(items, np.zeros(2, dtype=int)),
        means=np.array([[0.8, -0.3]]),
        root=np.array([[1.2, 0.0], [0.5, 0.9]]),
        lapse=0.03,
    )
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(n_answers)])
    weights = np.ones(n_answers)
    (block,) = blocks_of(pairs[:, 0], pairs[:, 1], weights, np.zeros(n_answers, dtype=int), 1)
    _, here, told = settled(block, prior, items)
    one, other = (grid.ravel() for grid in np.meshgrid(NODES, NODES))
    z, mass = np.column_stack([one, other]), np.outer(SHARES, SHARES).ravel()
    utilities = (prior.means[0] + z @ prior.root.T) @ items.T
    p = 0.015 + 0.97 * expit(utilities[:, pairs[:, 0]] - utilities[:, pairs[:, 1]])
    likelihood = mass * p.prod(axis=1)
    assert told.log_evidence[0] == pytest.approx(np.log(likelihood.sum()), abs=0.02)
    mean = likelihood @ z / likelihood.sum()
    np.testing.assert_allclose(here.mean[0], mean, atol=0.03)
    exact = (likelihood[:, None] * (z - mean)).T @ (z - mean) / likelihood.sum()
    np.testing.assert_allclose(here.covariance_of(0), exact, atol=0.04)


def test_few_answers_and_many_weights_are_the_same_as_the_other_way_round():
    """Computed by answers or by weights, whichever are fewer."""
    rng = np.random.default_rng(0)
    design, offset = rng.standard_normal((5, 4, 4)), rng.standard_normal((5, 4))
    sites = Sites(rng.uniform(0.1, 1, (5, 4)), rng.standard_normal((5, 4)))
    by_weights = posteriors(design, offset, sites)
    wide = np.concatenate([design, np.zeros((5, 4, 3))], axis=2)
    by_answers = posteriors(wide, offset, sites)
    assert by_weights.covariances is not None and by_answers.rows is not None
    np.testing.assert_allclose(by_answers.mean[:, :4], by_weights.mean, atol=1e-12)
    np.testing.assert_allclose(by_answers.variance, by_weights.variance, atol=1e-12)
    np.testing.assert_allclose(by_answers.log_det, by_weights.log_det, atol=1e-12)
    weights = rng.uniform(0, 1, 5)
    whole = by_answers.weighted_covariance(weights, 7)
    np.testing.assert_allclose(whole[:4, :4], by_weights.weighted_covariance(weights, 4), atol=1e-12)


@pytest.mark.parametrize("d", [3, 9])
def test_sites_alone_change_as_in_whole_passes(d: int):
    """Five answers: with fewer weights than answers, and with more."""
    items, _, _, _, answers = simulated(6, 5, d=d)
    prior = PopulationPrior.first(items, np.zeros(d, dtype=int))
    (block,) = blocks_of(*answers, 6)
    view, sites = View.of(prior, items), (Sites.empty(block),)
    at_once = pass_over(block, sites, prior, view, before=3)
    for _ in range(4):
        one_by_one = pass_over(block, sites, prior, view)
        sites = one_by_one.sites
    np.testing.assert_allclose(at_once.sites[0].precision, sites[0].precision, atol=1e-10)
    np.testing.assert_allclose(at_once.sites[0].shift, sites[0].shift, atol=1e-10)
    assert at_once.sums.log_evidence == pytest.approx(one_by_one.sums.log_evidence, abs=1e-9)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.data())
@settings(max_examples=50, deadline=None)
def test_some_people_keep_their_answers(counts: list[int], data: st.DataObject):
    people = np.repeat(np.arange(len(counts)), counts)
    if not len(people):
        return
    winners, losers = np.arange(len(people)), np.arange(len(people)) + 1
    blocks = blocks_of(winners, losers, np.ones(len(people)), people, len(counts))
    n = sum(len(block.people) for block in blocks)
    count = data.draw(st.integers(1, n))
    some = some_people(blocks, count)
    chosen = np.concatenate([block.people for block in some])
    assert len(chosen) == len(np.unique(chosen)) == count
    for block in some:
        for person, rows, won in zip(block.people, block.rows, block.winners, strict=True):
            np.testing.assert_array_equal(won[rows >= 0], np.flatnonzero(people == person))


def test_a_fit_that_began_with_some_people_ends_where_one_to_all_does():
    items, _, _, _, answers = simulated(1200, 15)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    blocks = blocks_of(*answers, 1200)
    found = fit_population(items, blocks, start)
    far = replace(found.prior, root=found.prior.root * 1.5, means=found.prior.means * 0.7)
    exact = fit_population(items, blocks, far, tolerance=1e-4)
    # A standard error of a deviation is about 1 / sqrt(2 n) = 0.02, if answers told everything.
    assert found.prior.change(exact.prior) < 0.03


def test_an_answer_of_weight_two_is_two_answers():
    items = np.random.default_rng(0).standard_normal((6, 2))
    prior = PopulationPrior.first(items, np.zeros(2, dtype=int))
    one = blocks_of(np.array([0, 1]), np.array([2, 3]), np.array([2.0, 1.0]), np.zeros(2, dtype=int), 1)[0]
    two = blocks_of(np.array([0, 0, 1]), np.array([2, 2, 3]), np.ones(3), np.zeros(3, dtype=int), 1)[0]
    (_, here, told), (_, there, also) = settled(one, prior, items), settled(two, prior, items)
    np.testing.assert_allclose(here.mean, there.mean, atol=1e-9)
    assert told.log_evidence[0] == pytest.approx(also.log_evidence[0], abs=1e-9)


def test_an_answer_left_out_is_predicted_by_the_others_alone():
    items, _, _, _, answers = simulated(1, 12)
    prior = PopulationPrior.first(items, np.zeros(3, dtype=int))
    winners, losers, weights, people = answers
    (block,) = blocks_of(*answers, 1)
    sites, here, _ = settled(block, prior, items)
    left = leave_questions_out(here, sites, block, prior.lapse)[0]
    for k in range(12):
        rest = np.arange(12) != k
        (others,) = blocks_of(winners[rest], losers[rest], weights[rest], people[rest], 1)
        _, there, _ = settled(others, prior, items)
        away = (items[winners[k]] - items[losers[k]]) @ prior.root
        variance = away @ there.covariance_of(0) @ away
        exact = mean_probability(np.array([away @ there.mean[0]]), np.array([variance]), prior.lapse)[0]
        assert left[block.rows[0] == k][0] == pytest.approx(exact, abs=0.01)


def test_the_same_question_asked_twice_is_left_out_together():
    items = np.random.default_rng(0).standard_normal((6, 2))
    prior = PopulationPrior.first(items, np.zeros(2, dtype=int))
    pairs = np.array([[0, 1], [1, 0], [2, 3]])
    (twice,) = blocks_of(pairs[:, 0], pairs[:, 1], np.ones(3), np.zeros(3, dtype=int), 1)
    sites, here, _ = settled(twice, prior, items)
    left = leave_questions_out(here, sites, twice, prior.lapse)[0]
    places = [int(np.flatnonzero(twice.rows[0] == k)[0]) for k in range(2)]
    assert left[places].sum() == pytest.approx(1.0, abs=1e-9)


@given(st.integers(0, 50), st.permutations(range(20)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_answers_and_of_people_does_not_matter(seed: int, order: list[int]):
    items, _, _, _, (winners, losers, weights, people) = simulated(20, 5, seed=seed)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    one = fit_population(items, blocks_of(winners, losers, weights, people, 20), start, max_iter=8)
    rows = np.random.default_rng(seed).permutation(100)
    renamed = np.array(order)[people]
    other = fit_population(
        items, blocks_of(winners[rows], losers[rows], weights[rows], renamed[rows], 20), start, max_iter=8
    )
    np.testing.assert_allclose(one.prior.means, other.prior.means, atol=1e-8)
    np.testing.assert_allclose(one.prior.covariance, other.prior.covariance, atol=1e-8)


def test_threads_change_nothing():
    items, _, _, _, answers = simulated(300, 40)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    fits = [fit_population(items, blocks_of(*answers, 300), start, n_jobs=n, max_iter=10) for n in (1, 3)]
    assert np.array_equal(fits[0].prior.means, fits[1].prior.means)
    assert np.array_equal(fits[0].prior.root, fits[1].prior.root)


def test_mean_and_covariance_of_many_people_are_found():
    """2,000 people: standard errors are about 0.03, and four of them are allowed."""
    items, mean, covariance, _, answers = simulated(2000, 25)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    found = fit_population(items, blocks_of(*answers, 2000), start)
    assert found.status == PopulationStatus.CONVERGED
    np.testing.assert_allclose(found.prior.means[0], mean, atol=0.2)
    np.testing.assert_allclose(found.prior.covariance, covariance, atol=0.25)


def test_the_evidence_is_greatest_where_the_passes_end():
    """With people enough, what the prior is worth does not matter: no scale of the covariance is likelier."""
    items, _, _, _, answers = simulated(800, 20, seed=3)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    blocks = blocks_of(*answers, 800)
    found = fit_population(items, blocks, start)

    def evidence(prior: PopulationPrior) -> float:
        view, total = View.of(prior, items), 0.0
        for block in blocks:
            sites = (Sites.empty(block),)
            for _ in range(15):
                last = pass_over(block, sites, prior, view)
                sites = last.sites
            total += last.sums.log_evidence
        return total

    best = evidence(found.prior)
    for factor in (0.8, 1.25):
        assert evidence(replace(found.prior, root=found.prior.root * factor)) < best
        assert evidence(replace(found.prior, means=found.prior.means * factor)) < best


def test_coin_tossers_are_told_from_others():
    items, _, _, _, (winners, losers, weights, people) = simulated(200, 40, spread=2.0)
    rng = np.random.default_rng(1)
    turned = (people < 20) & (rng.random(len(people)) < 0.5)
    winners, losers = np.where(turned, losers, winners), np.where(turned, winners, losers)
    found = fit_population(
        items,
        blocks_of(winners, losers, weights, people, 200),
        PopulationPrior.first(items, np.zeros(3, dtype=int)),
    )
    coin = np.empty(200)
    for block, members in zip(found.blocks, found.members, strict=True):
        coin[block.people] = members[:, -1]
    assert np.mean(coin[:20] > 0.5) > 0.6
    assert np.mean(coin[20:] > 0.5) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_of_a_block_vary_by_one_on_average(kind: str):
    items = np.random.default_rng(0).standard_normal((30, 3))
    found = coordinates_of(kind, items, NO_LEVELS, 1000)
    phi = found(items, np.arange(30) if found.n_effects else None)
    assert phi.shape == (30, found.size)
    variances = np.bincount(found.blocks, phi.var(axis=0)) / np.bincount(found.blocks)
    np.testing.assert_allclose(variances, 1.0, atol=1e-9)


def test_metric_and_v_are_those_of_the_utility():
    rng = np.random.default_rng(0)
    items = rng.standard_normal((30, 3))
    found = coordinates_of("full", items, NO_LEVELS, 1000)
    weights = rng.standard_normal(found.size)
    metric, v = found.quadratic(weights)
    expected = -np.einsum("ni,ij,nj->n", items, metric, items) + 2 * items @ v
    np.testing.assert_allclose(found(items) @ weights, expected, atol=1e-10)


def test_a_new_persons_taste_is_that_of_the_same_person_in_the_fit():
    items, _, _, _, answers = simulated(60, 10)
    start = PopulationPrior.first(items, np.zeros(3, dtype=int))
    coordinates = coordinates_of("none", items, NO_LEVELS, 600)
    phi = coordinates(items)
    tastes = Tastes(coordinates, fit_population(phi, blocks_of(*answers, 60), start))
    own = answers[3] == 7
    new = tastes.of_answers(answers[0][own], answers[1][own], answers[2][own], Seen(phi, np.arange(40)))
    known = tastes.of(7, phi)
    np.testing.assert_allclose(new.means, known.means, atol=1e-3)
    np.testing.assert_allclose(new.covariances, known.covariances, atol=1e-3)


@pytest.mark.slow
def test_two_groups_are_found_and_one_is_left_one():
    items, _, _, _, _ = simulated(120, 1)
    rng = np.random.default_rng(5)
    camps = np.repeat([1.0, -1.0], 60)
    people = np.repeat(np.arange(120), 20)
    one = rng.integers(0, 40, len(people))
    other = (one + rng.integers(1, 40, len(people))) % 40

    def answers(tastes: np.ndarray) -> PeopleAnswers:
        away = ((items[one] - items[other]) * tastes[people]).sum(axis=1)
        first = rng.random(len(people)) < expit(away)
        won, lost = np.where(first, one, other), np.where(first, other, one)
        return PeopleAnswers(items, NO_LEVELS, won, lost, np.ones(len(people)), people, 120)

    noise = 0.5 * rng.standard_normal((120, 3))
    split = learn_people(answers(camps[:, None] * [2.0, 0.5, 0.0] + noise), ("none",), "auto").parts[0]
    assert len(split.fit.prior.shares) == 2
    members = split.means(split.coordinates(items), 120).members[:, :-1].argmax(axis=1)
    agreement = np.mean(members == (camps > 0))
    assert max(agreement, 1 - agreement) > 0.95
    whole = learn_people(answers(np.array([2.0, 0.5, 0.0]) + noise), ("none",), "auto").parts[0]
    assert len(whole.fit.prior.shares) == 1


def test_a_share_steps_towards_what_was_seen():
    """Nothing but what is taken as seen before: 2 of 50."""
    share = 0.5
    for _ in range(80):
        share = share_after(share, 0.0, 0.0, 1.0, 49.0)
    assert share == pytest.approx(0.02, rel=1e-3)


def test_acceleration_finds_a_fixed_point_that_plain_steps_approach_slowly():
    matrix = np.diag([0.99, 0.9, 0.5])
    x, accelerated = np.ones(3), Anderson()
    for _ in range(12):
        x = accelerated.next(x, matrix @ x + 1)
    np.testing.assert_allclose(x, 1 / (1 - np.diag(matrix)), rtol=0.05)


def test_a_kind_that_begins_where_a_simpler_one_ended_ends_where_it_would_from_nothing():
    items, _, _, _, answers = simulated(40, 8, d=2)
    blocks = blocks_of(*answers, 40)
    found = []
    for kind in ("none", "diagonal"):
        coordinates = coordinates_of(kind, items, NO_LEVELS, 320.0)
        phi = coordinates(items)
        starts = [PopulationPrior.first(phi, coordinates.blocks)]
        starts += [starts[0].begun_from(found[0])] if found else []
        found += [fit_population(phi, blocks, start, tolerance=1e-4, max_iter=200).prior for start in starts]
    _, plain, warm = found
    np.testing.assert_allclose(warm.means, plain.means, atol=0.02)
    np.testing.assert_allclose(warm.covariance, plain.covariance, atol=0.02)


def test_how_much_a_pass_changes_does_not_hang_on_the_order_of_weights():
    rng, order = np.random.default_rng(0), np.array([2, 0, 3, 1])
    one, other = (rng.standard_normal((4, 6)) for _ in range(2))
    first = PopulationPrior.first(rng.standard_normal((9, 4)), np.zeros(4, dtype=int))

    def with_covariance(rows: np.ndarray) -> PopulationPrior:
        return replace(first, root=np.linalg.cholesky(rows @ rows.T))

    change = with_covariance(one).change(with_covariance(other))
    assert with_covariance(one[order]).change(with_covariance(other[order])) == pytest.approx(change)


def test_items_have_effects_of_their_own_for_each_person():
    """Everybody has secret favourites that no feature tells, and everybody others."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((12, 2))
    secret = rng.normal(0, 2.0, (60, 12))
    people = np.repeat(np.arange(60), 30)
    pairs = rng.permuted(np.tile(np.arange(12), (len(people), 1)), axis=1)[:, :2]
    utility = secret[people[:, None], pairs]
    first = rng.random(len(people)) < expit(utility[:, 0] - utility[:, 1])
    winners, losers = np.where(first, *pairs.T), np.where(first, *pairs.T[::-1])
    answers = PeopleAnswers(items, NO_LEVELS, winners, losers, np.ones(len(people)), people, 60)
    assert answers.first_effect > 0
    found = learn_people(answers, ("none",)).parts[0]
    assert found.fit.prior.effect == pytest.approx(2.0, abs=0.5)
    seen = Seen(found.coordinates(items), np.arange(12))
    right = [np.corrcoef(found.of(k, seen.phi).utilities(seen), secret[k])[0, 1] for k in range(60)]
    assert np.mean(right) > 0.75
    everybody = found.means(seen.phi, 60).utilities(np.arange(60), seen.phi)
    one = found.of(3, seen.phi).utilities(seen)
    # A taste of one's own is read by passes until nothing changes, or by so many.
    np.testing.assert_allclose(everybody[3], one - one.mean(), atol=1e-5)


def test_own_items_are_numbered_by_person():
    winners, losers = np.array([5, 5, 2, 7]), np.array([2, 9, 9, 5])
    (block,) = blocks_of(winners, losers, np.ones(4), np.zeros(4, dtype=int), 1)
    local = block.local
    assert local.items.tolist() == [[2, 5, 7, 9]] and local.counts.tolist() == [4]
    for k in range(4):
        row = np.zeros(10)
        place = int(np.flatnonzero(block.rows[0] == k)[0])
        row[local.items[0]] = local.incidence[0, place]
        assert row[winners[k]] == 1 and row[losers[k]] == -1 and np.abs(row).sum() == 2


def test_what_is_said_of_trust_is_of_people_left_out():
    """Also where one kind alone is tried; of one person, nothing is known."""
    items, _, _, _, answers = simulated(150, 8, spread=2.0)
    told = learn_people(PeopleAnswers(items, NO_LEVELS, *answers, 150), ("none",)).trial
    assert len(told.predicted) == 1200 and told.gain > 3 and 0.5 < told.accuracy < 1
    one = PeopleAnswers(items, NO_LEVELS, *(part[:8] for part in answers), 1)
    assert np.isnan(learn_people(one, ("none",)).trial.accuracy)


@pytest.mark.slow
def test_coins_have_no_pattern():
    """Of ten populations of coin-tossers, hardly any is said to have one."""
    rng, found = np.random.default_rng(0), 0
    items = rng.standard_normal((20, 3))
    for _ in range(10):
        pairs = rng.permuted(np.tile(np.arange(20), (200, 1)), axis=1)[:, :2]
        answers = PeopleAnswers(items, NO_LEVELS, *pairs.T, np.ones(200), np.repeat(np.arange(20), 10), 20)
        found += learn_people(answers, ("none",)).trial.gain > 3
    assert found <= 1
