"""People of whom some answer far more consistently than others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coombs import Population
from coombs.estimators.person import Person
from coombs.inference.people.answer_blocks import blocks_of
from coombs.inference.people.drawn_people import drawn_utilities
from coombs.inference.people.people_prior import people_prior_of
from coombs.inference.people.population_fit import View, first_count, no_sites, pass_over
from coombs.inference.people.population_prior import PopulationPrior
from coombs.inference.people.tastes import Seen

ITEMS = np.random.default_rng(0).standard_normal((60, 3))
MEAN = np.array([1.0, -0.7, 0.4])


def crowd(scales: np.ndarray, n_answers: int, seed: int) -> tuple[np.ndarray, ...]:
    """Pairs, y, users and weights of people whose tastes are so many times as strong."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(MEAN, 0.6, (len(scales), 3)) * scales[:, None]
    users = np.repeat(np.arange(len(scales)), n_answers)
    return *answered(weights, users, rng), users, weights


def answered(weights: np.ndarray, users: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Pairs and y of these people in turn."""
    one = rng.integers(0, len(ITEMS), len(users))
    other = (one + rng.integers(1, len(ITEMS), len(users))) % len(ITEMS)
    away = ((ITEMS[one] - ITEMS[other]) * weights[users]).sum(axis=1)
    return np.column_stack([one, other]), np.where(rng.random(len(users)) < expit(away), 1, -1)


@cache
def uneven() -> tuple[Population, np.ndarray]:
    """A third of 90 people are four times as consistent as others, a third a quarter; and the scales."""
    scales = np.tile([0.25, 1.0, 4.0], 30)
    pairs, y, users, _ = crowd(scales, 25, 1)
    return Population(ITEMS, metric="none").fit(pairs, y, users=users), scales


def test_people_who_are_uneven_are_read_at_several_scales():
    population, scales = uneven()
    main = population._average.parts[population._average.main]
    assert main.fit.prior.uneven > 0.2 and main.fit.members[0].shape[1] == 4
    consistency = population.to_frame()["consistency"].to_numpy()
    means = [consistency[scales == scale].mean() for scale in (0.25, 1.0, 4.0)]
    assert means[0] + 0.05 < means[1] < means[2] - 0.02


def test_of_few_people_whose_answers_hardly_tell_some_may_be_uneven():
    """Their share is what it is if there are any, by how likely that is: less where people are alike."""
    shares = np.empty((4, 2))
    for seed in range(4):
        for k, scales in enumerate((np.ones(10), np.tile([0.2, 5.0], 5))):
            pairs, y, users, _ = crowd(scales, 20, seed)
            population = Population(ITEMS, metric="none").fit(pairs, y, users=users)
            shares[seed, k] = population._average.parts[0].fit.prior.uneven
    alike, uneven = shares.T
    assert (alike > 0.02).all() and (alike < 0.25).all()
    assert uneven.mean() > 2 * alike.mean()


def test_of_many_people_some_tell_whether_they_are_uneven_and_all_how_many_are():
    scales = np.tile([0.25, 1.0, 4.0], 300)
    pairs, y, users, _ = crowd(scales, 12, 4)
    population = Population(ITEMS, metric="none").fit(pairs, y, users=users)
    fit = population._average.parts[0].fit
    assert first_count(900) == 500 and sum(len(block.people) for block in fit.blocks) == 900
    assert fit.prior.uneven > 0.25 and population.status_ == "converged"
    consistency = population.to_frame()["consistency"].to_numpy()
    means = [consistency[scales == scale].mean() for scale in (0.25, 1.0, 4.0)]
    assert means[0] < means[1] < means[2]


def test_who_of_many_people_is_learned_from_first_does_not_depend_on_the_order_of_rows():
    pairs, y, users, _ = crowd(np.tile([0.5, 1.0, 2.0], 400), 6, 5)
    order = np.random.default_rng(1).permutation(len(y))
    priors = []
    for rows in (slice(None), order):
        population = Population(ITEMS, metric="none").fit(pairs[rows], y[rows], users=users[rows])
        priors.append(population._average.parts[0].fit.prior)
    one, other = priors
    np.testing.assert_allclose(one.means, other.means, atol=1e-10)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-10)
    assert one.uneven == pytest.approx(other.uneven, abs=1e-10)


def test_a_share_of_uneven_people_goes_through_the_coordinates_of_the_passes_and_back():
    prior = replace(PopulationPrior.first(ITEMS, np.zeros(3, dtype=int)), uneven=0.2)
    vector = prior.vector()
    assert prior.at(vector).uneven == pytest.approx(0.2)
    assert 0 < prior.at(vector - 1e4).uneven < 1e-3


def test_the_evidence_has_the_slope_that_the_share_of_uneven_people_is_learned_by():
    pairs, y, users, _ = crowd(np.tile([0.3, 3.0], 10), 8, 2)
    wins = np.where(y[:, None] > 0, pairs, pairs[:, ::-1])
    (block,) = blocks_of(*wins.T, np.ones(len(y)), users, 20)

    def read(share: float):
        prior = replace(PopulationPrior.first(ITEMS, np.zeros(3, dtype=int)), uneven=share)
        return pass_over(block, no_sites(block, prior), prior, View.of(prior, ITEMS), 30).sums

    step = 1e-4
    slope = (read(0.3 + step).log_evidence - read(0.3 - step).log_evidence) / (2 * step)
    bend = (read(0.3 + step).uneven[0] - read(0.3 - step).uneven[0]) / (2 * step)
    assert read(0.3).uneven[0] == pytest.approx(slope, rel=1e-3)
    assert read(0.3).uneven[1] == pytest.approx(-bend, rel=1e-3)


def test_what_is_known_of_a_person_is_the_same_by_every_way():
    """Looked up, from their answers anew, of all at once, and by draws of all at once."""
    population, scales = uneven()
    pairs, y, users, _ = crowd(scales, 25, 1)
    part, phi = population._average.parts[0], population._phis[0]
    means = part.means(phi, len(scales))
    wins = np.where(y[:, None] > 0, pairs, pairs[:, ::-1])
    drawn = drawn_utilities(part, phi, np.arange(6), 256)
    for k in range(6):
        winners, losers = wins[users == k].T
        new = part.of_answers(winners, losers, np.ones(25), Seen(phi, np.arange(len(phi))))
        old = part.of(k, phi)
        np.testing.assert_allclose(new.members, old.members, atol=0.02)
        np.testing.assert_allclose(new.mean, old.mean, atol=0.05)
        np.testing.assert_allclose(means.weights[k], old.mean, atol=1e-9)
        mean = phi @ old.mean
        assert np.abs(drawn[:, k].mean(axis=0) - mean + mean.mean()).max() < 0.6
        assert population.person(k).groups_ == pytest.approx([1.0])


def test_a_file_keeps_the_scales(tmp_path):
    population, _ = uneven()
    population.save(tmp_path / "people.json")
    again = Population.load(tmp_path / "people.json")
    pairs = np.column_stack([np.arange(30), np.arange(30, 60)])
    for users in (None, np.arange(30)):
        np.testing.assert_allclose(
            again.predict_proba(pairs, users), population.predict_proba(pairs, users), atol=1e-12
        )
    kept = people_prior_of(population._people_prior.to_json())
    for part, one in zip(kept.parts, population._people_prior.parts, strict=True):
        assert part.anybody().scales.tolist() == [0.4, 1.0, 2.5]
        np.testing.assert_array_equal(part.anybody().covariances, one.anybody().covariances)


def test_people_in_parts_are_read_at_the_same_scales_however_they_are_divided(tmp_path):
    pytest.importorskip("pyarrow")
    pairs, y, users, _ = crowd(np.tile([0.25, 1.0, 4.0], 20), 20, 3)
    wins = np.where(y[:, None] > 0, pairs, pairs[:, ::-1])
    frame = pd.DataFrame({"user": users, "winner": wins[:, 0], "loser": wins[:, 1]})
    rows = []
    for count in (2, 3):
        folder, out = tmp_path / f"in{count}", tmp_path / f"out{count}"
        folder.mkdir()
        for k in range(count):
            frame[users % count == k].to_parquet(folder / f"{k}.parquet")
        population = Population(ITEMS, metric="none").fit(folder, out=out)
        assert population._average.parts[0].fit.prior.uneven > 0.1
        rows.append(pd.read_parquet(out).sort_values("user", ignore_index=True))
    pd.testing.assert_frame_equal(*rows, rtol=1e-9, atol=1e-10)
    own = population.to_frame().sort_values("user", ignore_index=True)
    np.testing.assert_allclose(rows[0]["consistency"], own["consistency"], atol=2e-3)


def held(population: Population, person: Person, true: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Shares of ranks and of choice probabilities that 90 % intervals hold."""
    ends, ranks = person.rank_interval(level=0.9), np.argsort(np.argsort(-true)) + 1
    drawn = population._drawn_utilities(person._tastes, population.item_table_, 600)
    away = drawn[:, pairs[:, 0]] - drawn[:, pairs[:, 1]]
    low, high = np.quantile(away, [0.05, 0.95], axis=0)
    there = true[pairs[:, 0]] - true[pairs[:, 1]]
    in_ranks = (ends[:, 0] <= ranks) & (ranks <= ends[:, 1])
    return np.array([in_ranks.mean(), ((low <= there) & (there <= high)).mean()])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("deviation", [0.0, 0.6])
def test_intervals_hold_what_they_say_of_even_and_of_uneven_people(deviation: float):
    """Of people with 0, 5 and 20 answers; with one scale for all, uneven people's held .78 to .85."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        scales = np.exp(rng.normal(0, deviation, 170))
        pairs, y, users, weights = crowd(scales, 20, seed)
        known = users < 150
        population = Population(ITEMS, metric="none").fit(pairs[known], y[known], users=users[known])
        asked = np.array([rng.choice(len(ITEMS), 2, replace=False) for _ in range(60)])
        for k in range(20):
            told = population.person_from(*answered(weights, np.full(5, 150 + k), rng))
            people = (
                (Person(population, population._anybody), 150 + k),
                (told, 150 + k),
                (population.person(k), k),
            )
            found.append([held(population, one, ITEMS @ weights[who], asked) for one, who in people])
    shares = np.mean(found, axis=0)
    assert (shares[:, 0] > 0.87).all()
    assert (np.abs(shares[:, 1] - 0.9) < 0.06).all()
