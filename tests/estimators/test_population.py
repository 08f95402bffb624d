"""`Population`: many people, few answers each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import some_slow
from scipy.special import expit
from sklearn.base import clone

from coombs import Comparisons, IdealPoint, InputError, Person, Population
from coombs.data.by_person import answers_by_person, people_of


def people(n_people: int, n_answers: int, seed: int = 0, own: float = 0.6, d: int = 3):
    """Items, pairs, y and users of people who want much the same; and everybody's weights."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((25, d))
    weights = rng.normal(np.linspace(2, -1, d), own, (n_people, d))
    users = np.repeat(np.arange(n_people), n_answers)
    pairs = rng.permuted(np.tile(np.arange(25), (len(users), 1)), axis=1)[:, :2]
    utility = (items[pairs] * weights[users][:, None]).sum(axis=2)
    y = np.where(rng.random(len(users)) < expit(utility[:, 0] - utility[:, 1]), 1, -1)
    return items, pairs, y, users, weights


@pytest.fixture(scope="module")
def fitted():
    items, pairs, y, users, weights = people(40, 8)
    return Population(items, metric="none").fit(pairs, y, users=users), items, weights


@pytest.mark.slow
@pytest.mark.long
def test_people_with_few_answers_are_predicted_better_together_than_alone():
    """Six answers of each of 40 people; 60 pairs each are predicted of ten: the gain is many errors."""
    items, pairs, y, users, weights = people(40, 6, seed=1)
    population = Population(items, metric="none").fit(pairs, y, users=users)
    rng = np.random.default_rng(9)
    asked = rng.permuted(np.tile(np.arange(25), (60, 1)), axis=1)[:, :2]
    gains = []
    for person in range(0, 40, 4):
        own = users == person
        alone = IdealPoint(items, metric="none").fit(pairs[own], y[own])
        utility = items[asked] @ weights[person]
        truth = expit(utility[:, 0] - utility[:, 1])
        losses = [
            -(truth * np.log(p) + (1 - truth) * np.log(1 - p)).mean()
            for p in (
                population.predict_proba(asked, users=np.full(60, person))[:, 1],
                alone.predict_proba(asked)[:, 1],
            )
        ]
        gains.append(losses[1] - losses[0])
    assert np.mean(gains) > 0.02


def test_a_person_never_seen_gets_the_populations_probabilities(fitted):
    population, items, _ = fitted
    pairs = [[0, 1], [2, 3]]
    stranger = population.predict_proba(pairs, users=["nobody", None])
    np.testing.assert_array_equal(stranger, population.predict_proba(pairs))
    assert not np.allclose(stranger, population.predict_proba(pairs, users=[0, 0]))
    assert population.rank().tolist() == np.argsort(-(items @ population_slope(population))).tolist()


def population_slope(population: Population) -> np.ndarray:
    """The mean taste of a linear population, in the user's units."""
    average = population._average
    slopes = [part.fit.prior.means[0] * part.coordinates.scales for part in average.parts]
    return population._scaler.slope(average.weights @ np.array(slopes))


def test_names_come_out_with_the_type_they_went_in(fitted):
    population, _, _ = fitted
    assert population.people_.dtype.kind in "iu"
    assert population.person(3).name == 3 and isinstance(population.person(3).name, int)
    frame = population.to_frame()
    assert frame["user"].tolist() == list(range(40)) and frame["answers"].tolist() == [8] * 40


def test_somebody_new_with_the_answers_of_a_person_is_like_that_person(fitted):
    population, _, _ = fitted
    data = population._data
    own = data.users == 5
    new = population.person_from(data[own])
    np.testing.assert_allclose(new.utility(), population.person(5).utility(), atol=0.02)


@pytest.mark.slow
def test_intervals_of_ranks_hold_what_they_say():
    """90 %: of 60 people with 0, 5 and 20 answers, 25 items each; errors of the mean are about .015."""
    held: dict[int, list[float]] = {0: [], 5: [], 20: []}
    for seed in range(3):
        items, pairs, y, users, weights = people(120, 20, seed=seed, own=0.8)
        counts = np.array([0, 5, 20, 20])[np.arange(120) % 4]
        order = np.tile(np.arange(20), 120)
        kept = order < counts[users]
        population = Population(items, metric="none").fit(pairs[kept], y[kept], users=users[kept])
        for person in range(40):
            truth = np.argsort(np.argsort(-(items @ weights[person]))) + 1
            known = Person(population, population._tastes(population._position(person)))
            low, high = known.rank_interval().T
            held[int(counts[person])].append(np.mean((low <= truth) & (truth <= high)))
    for count, values in held.items():
        assert 0.83 < np.mean(values) < 0.99, count


def test_the_order_of_answers_and_what_people_are_called_do_not_matter():
    items, pairs, y, users, _ = people(15, 5)
    one = Population(items, metric="diagonal").fit(pairs, y, users=users)
    order = np.random.default_rng(0).permutation(len(y))
    names = np.array([f"person {user}" for user in users])
    other = Population(items, metric="diagonal").fit(pairs[order], y[order], users=names[order])
    np.testing.assert_allclose(
        one.predict_proba(pairs[:9], users=users[:9]),
        other.predict_proba(pairs[:9], users=names[:9]),
        atol=1e-6,
    )


def test_swapping_a_pair_and_its_answer_changes_nothing():
    items, pairs, y, users, _ = people(10, 4)
    one = Population(items, metric="none").fit(pairs, y, users=users)
    other = Population(items, metric="none").fit(pairs[:, ::-1], -y, users=users)
    np.testing.assert_allclose(one.predict_proba(pairs), other.predict_proba(pairs), atol=1e-12)


@pytest.mark.parametrize("metric", some_slow(["none", "full", "smooth", "auto"], fast=["full", "smooth"]))
def test_the_order_of_the_features_does_not_matter(metric: str):
    items, pairs, y, users, _ = people(15, 6)
    one = Population(items, metric=metric).fit(pairs, y, users=users)
    other = Population(items[:, [2, 0, 1]], metric=metric).fit(pairs, y, users=users)
    each = (found.predict_proba(pairs, users=users) for found in (one, other))
    np.testing.assert_allclose(*each, atol=1e-5)


@pytest.mark.parametrize("metric", some_slow(["none", "full", "smooth"], fast=["full"]))
def test_an_answer_that_counts_twice_is_two_answers(metric: str):
    items, pairs, y, users, _ = people(15, 6)
    twice = np.arange(len(y)) % 3 == 0
    one = Population(items, metric=metric).fit(pairs, y, users=users, sample_weight=1.0 + twice)
    more = (np.concatenate([part, part[twice]]) for part in (pairs, y, users))
    pairs_more, y_more, users_more = more
    other = Population(items, metric=metric).fit(pairs_more, y_more, users=users_more)
    each = (found.predict_proba(pairs, users=users) for found in (one, other))
    np.testing.assert_allclose(*each, atol=1e-3)


def test_units_of_the_features_do_not_matter():
    items, pairs, y, users, _ = people(12, 6)
    one = Population(items, metric="full").fit(pairs, y, users=users)
    other = Population(1000 * items - 7, metric="full").fit(pairs, y, users=users)
    np.testing.assert_allclose(one.predict_proba(pairs), other.predict_proba(pairs), atol=1e-8)
    np.testing.assert_allclose(1000 * one.person(3).ideal_point_ - 7, other.person(3).ideal_point_, rtol=1e-5)


@pytest.mark.slow
def test_ideal_points_are_found_in_the_units_of_the_table():
    """People with ideals about (3, 0.5) on scales of 0 to 6 and 0 to 1."""
    rng = np.random.default_rng(0)
    items = rng.uniform([0, 0], [6, 1], (40, 2))
    ideals = rng.normal([3, 0.5], [0.6, 0.1], (60, 2))
    users = np.repeat(np.arange(60), 20)
    pairs = rng.permuted(np.tile(np.arange(40), (len(users), 1)), axis=1)[:, :2]
    away = (((items[pairs] - ideals[users][:, None]) / [1.0, 0.17]) ** 2).sum(axis=2)
    y = np.where(rng.random(len(users)) < expit(2 * (away[:, 1] - away[:, 0])), 1, -1)
    population = Population(items, metric="full").fit(pairs, y, users=users)
    assert (np.abs(population.ideal_point_ - [3, 0.5]) < [0.4, 0.07]).all()
    found = np.array([population.person(user).ideal_point_ for user in range(60)])
    error = np.abs(found - ideals) / [0.6, 0.1]
    assert np.nanmedian(error) < 0.7
    low, high = population.person(0).ideal_point_interval().T
    assert (low < high).all()


def test_categories_gaps_and_names_are_taken():
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "rent": rng.uniform(400, 1200, 20).round(),
            "town": rng.choice(["harbour", "hill", "centre"], 20),
            "floor": [None, *rng.integers(0, 6, 19)],
        },
        index=[f"flat {i}" for i in range(20)],
    )
    users = np.repeat(["ann", "bob", "eve"], 10)
    pairs = rng.permuted(np.tile(flats.index, (30, 1)), axis=1)[:, :2]
    data = Comparisons(flats, pairs, users=users)
    population = Population(metric="none").fit(data)
    assert population.rank("ann")[0] in flats.index
    assert population.to_frame()["best"].isin(flats.index).all()
    assert population.feature_names_in_.tolist() == ["rent", "town", "floor"]


def test_described_pairs_are_taken():
    rng = np.random.default_rng(0)
    profiles = rng.standard_normal((60, 2, 2))
    y = np.where(profiles[:, 0, 0] > profiles[:, 1, 0], 1, -1)
    population = Population(metric="none").fit(profiles, y, users=np.repeat(np.arange(12), 5))
    assert population.score(profiles, y, users=np.repeat(np.arange(12), 5)) > 0.8
    with pytest.raises(InputError, match="give the items"):
        population.rank()


def test_names_alone_are_ranked_by_everybody():
    names = ["tea", "coffee", "cocoa", "water"]
    pairs = [("tea", "water"), ("coffee", "water"), ("tea", "coffee"), ("cocoa", "water")] * 6
    population = Population(names).fit(pairs, users=np.repeat(np.arange(8), 3))
    assert population.rank()[-1] == "water"


def test_rankings_and_ratings_are_taken_and_weigh_less_than_their_pairs():
    items = np.random.default_rng(0).standard_normal((6, 2))
    ranked = Comparisons.from_rankings(items, [[0, 1, 2, 3], [3, 2, 1]], users=["a", "b"])
    population = Population(metric="none").fit(ranked)
    assert population.n_answers_.tolist() == [6, 3]
    told = answers_by_person(ranked)
    assert told.weights[told.people == 0].sum() == pytest.approx(2 * (1 / 2 + 2 / 3 + 3 / 4))
    rated = Comparisons.from_ratings(items, [0, 1, 2, 0, 3], [1, 2, 5, 4, 2], users=["a", "a", "a", "b", "b"])
    assert len(Population(metric="none").fit(rated).people_) == 2


def test_a_population_of_one_is_an_ideal_point_and_it_is_said():
    items, pairs, y, _, _ = people(1, 12)
    with pytest.warns(UserWarning, match="one person only"):
        population = Population(items, metric="none").fit(pairs, y, users=["ann"] * 12)
    alone = IdealPoint(items, metric="none").fit(pairs, y)
    found = population.predict_proba(pairs, users=["ann"] * 12)
    np.testing.assert_allclose(found, alone.predict_proba(pairs), atol=1e-12)
    assert isinstance(population.person("ann"), IdealPoint)


def test_names_that_differ_by_case_or_spaces_are_warned_of():
    items, pairs, y, _, _ = people(2, 2)
    with pytest.warns(UserWarning, match="'Ann' and 'ann '"):
        Population(items, metric="none").fit(pairs, y, users=["Ann", "ann ", "bob", "bob"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"users": None}, "who gave them"),
        ({"users": ["a", "", "b", "b"]}, "row 1 is blank"),
        ({"users": ["a", "b", "  ", "b"]}, "row 2 is blank"),
        ({"users": ["a", "b", "b", None]}, "row 3 is blank"),
        ({"users": [1.0, np.nan, 2.0, 2.0]}, "row 1 is blank"),
        ({"users": ["a", "b"]}, "one for each"),
        ({"metric": "round"}, "metric is 'round'"),
        ({"groups": 0}, "groups is 0"),
        ({"groups": "many"}, "groups is 'many'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_input_gets_a_sentence(change, sentence):
    items, pairs, y, users, _ = people(2, 2)
    given = {"metric": "none", "groups": 1, "n_jobs": None, "users": users} | change
    labels = given.pop("users")
    with pytest.raises(InputError, match=sentence):
        Population(items, **given).fit(pairs, y, users=labels)


def test_people_with_one_answer_are_told_by_the_others():
    """Half of 600 have one answer, and are as surely predicted as what people share allows."""
    items, pairs, y, users, weights = people(600, 8, seed=3)
    kept = (users < 300) | (np.arange(len(users)) % 8 == 0)
    population = Population(items, metric="none").fit(pairs[kept], y[kept], users=users[kept])
    assert population.n_answers_.tolist() == [8] * 300 + [1] * 300 and population.status_ == "converged"
    asked = pairs[~kept]
    utility = (items[asked] * weights[users[~kept]][:, None]).sum(axis=2)
    truth = expit(utility[:, 0] - utility[:, 1])
    p = population.predict_proba(asked, users=users[~kept])[:, 1]
    assert -(truth * np.log(p) + (1 - truth) * np.log(1 - p)).mean() < 0.6
    alone = Population(items, metric="none").fit(pairs[:60], y[:60], users=np.arange(60))
    assert alone.n_answers_.tolist() == [1] * 60 and np.isfinite(alone.utilities()).all()


def test_items_that_some_people_never_saw_have_a_place_in_everybodys_ranking():
    items, pairs, y, users, _ = people(30, 12, seed=4)
    parts = pairs // 13
    kept = (parts[:, 0] == parts[:, 1]) & (parts[:, 0] == users % 2)
    population = Population(items, metric="smooth").fit(pairs[kept], y[kept], users=users[kept])
    assert sorted(population.rank(int(users[kept][0]))) == list(range(25))
    assert np.isfinite(population.utilities()).all()


def test_answers_that_contradict_each_other_are_a_coins():
    pairs, users = np.array([[0, 1], [1, 0]] * 20), np.repeat(np.arange(10), 4)
    population = Population(np.arange(6.0)[:, None], metric="none").fit(pairs, users=users)
    np.testing.assert_allclose(population.predict_proba([[0, 1]], users=[3]), 0.5, atol=1e-6)
    assert not population.explain().has_pattern


@pytest.mark.parametrize("numbers", [np.array([7, 3, 7, -2, 3]), np.array([10**15, 5, 10**15, 6, 5])])
def test_people_with_numbers_are_in_the_order_of_their_first_answer(numbers):
    """Close together or far apart."""
    positions, names = people_of(numbers)
    assert names.tolist() == list(dict.fromkeys(numbers.tolist()))
    np.testing.assert_array_equal(names[positions], numbers)


def test_somebody_unknown_is_named_in_a_sentence(fitted):
    with pytest.raises(InputError, match="Nobody is called 'zoe'; there are 40 people"):
        fitted[0].person("zoe")


def test_it_is_cloned_as_scikit_learn_does():
    est = Population([[0.0], [1.0]], metric="none", groups="auto", n_jobs=2)
    assert clone(est).get_params() == est.get_params()


def test_consensus_ranks_by_each_method_and_says_what_divides():
    """Half want much of feature 0, half want little; all want feature 1."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((12, 2))
    tastes = np.column_stack([np.repeat([2.0, -2.0], 20), np.full(40, 1.0)])
    users = np.repeat(np.arange(40), 15)
    pairs = rng.permuted(np.tile(np.arange(12), (600, 1)), axis=1)[:, :2]
    utility = (items[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.random(600) < expit(utility[:, 0] - utility[:, 1]), 1, -1)
    population = Population(items, metric="none", groups=2).fit(pairs, y, users=users)
    frame = population.consensus()
    extreme = items[frame["item"], 0]
    assert np.corrcoef(np.abs(extreme), frame["disagreement"])[0, 1] > 0.5
    for method in ("borda", "regret"):
        assert sorted(population.consensus(method)["item"]) == list(range(12))
    camps = population.to_frame()["group"].to_numpy()
    share = np.mean(camps[:20] == camps[0]) + np.mean(camps[20:] != camps[0])
    assert share > 1.8
    best = population.consensus(group=int(camps[0]))["item"][0]
    assert items[best, 0] > 0
    with pytest.raises(InputError, match="method is 'vote'"):
        population.consensus("vote")


@pytest.mark.slow
@pytest.mark.long
def test_auto_averages_kinds_and_is_not_far_from_the_best():
    items, pairs, y, users, _ = people(60, 10, seed=2)
    held = np.arange(len(y)) % 5 == 0
    losses = {}
    for kind in ("none", "diagonal", "full", "smooth", "auto"):
        population = Population(items, metric=kind).fit(pairs[~held], y[~held], users=users[~held])
        p = population.predict_proba(pairs[held], users=users[held])[:, 1]
        losses[kind] = -np.log(np.where(y[held] > 0, p, 1 - p)).mean()
    assert losses["auto"] < min(losses.values()) + 0.03
    assert sum(population.kind_weights_.values()) == pytest.approx(1)


def coin_tosses(n_people: int, each: int, d: int, seed: int):
    """Items, and answers of people who all toss a coin."""
    rng = np.random.default_rng(seed)
    items, users = rng.standard_normal((20, d)), np.repeat(np.arange(n_people), each)
    pairs = rng.permuted(np.tile(np.arange(20), (len(users), 1)), axis=1)[:, :2]
    return items, pairs, rng.choice([-1, 1], len(users)), users


@pytest.mark.slow
def test_nothing_is_claimed_of_people_who_toss_coins():
    """All kinds and groups are tried, on populations of different sizes."""
    for k, (n, each, d) in enumerate([(8, 5, 1), (15, 20, 2), (30, 5, 4)]):
        items, pairs, y, users = coin_tosses(n, each, d, 900 + k)
        population = Population(items, groups="auto").fit(pairs, y, users=users)
        told, one = population.explain(), population.person(0).explain()
        assert not told.has_pattern and not one.has_pattern
        assert not (told.features or told.best or told.contested or told.groups)
        assert not (one.features or one.ranking)
        assert population.n_groups_ == 1
        assert population.to_frame()["consistency"].mean() < 0.75


@pytest.mark.slow
@pytest.mark.long
def test_people_who_share_nothing_are_predicted_as_well_together_as_alone():
    """Expected log loss with the true probabilities, within a standard error over people."""
    rng = np.random.default_rng(3)
    items, n, each = rng.standard_normal((30, 3)), 16, 20
    utility = items @ rng.normal(0, 1.5, (3, n))
    users = np.repeat(np.arange(n), each)
    pairs = rng.permuted(np.tile(np.arange(30), (len(users), 1)), axis=1)[:, :2]
    true = expit(utility[pairs[:, 0], users] - utility[pairs[:, 1], users])
    y = np.where(rng.random(len(users)) < true, 1, -1)
    together = Population(items).fit(pairs, y, users=users)
    asked = rng.permuted(np.tile(np.arange(30), (100, 1)), axis=1)[:, :2]
    gains = []
    for k in range(5):
        alone = IdealPoint(items).fit(pairs[users == k], y[users == k])
        q = expit(utility[asked[:, 0], k] - utility[asked[:, 1], k])
        losses = [
            -np.mean(q * np.log(p[:, 1]) + (1 - q) * np.log(p[:, 0]))
            for p in (together.person(k).predict_proba(asked), alone.predict_proba(asked))
        ]
        gains.append(losses[1] - losses[0])
    assert np.mean(gains) > -np.std(gains, ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize("seed", some_slow([0, 1], fast=[0]))
def test_differences_do_not_run_away_where_two_camps_want_the_opposite(seed: int) -> None:
    """Answers of people who differ much hardly tell by how much."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((24, 3))
    tastes = np.where(np.arange(30) % 2, 1.0, -1.0)[:, None] * [2.0, 1.5, 0.0] + rng.normal(0, 0.2, (30, 3))
    users = np.repeat(np.arange(30), 10)
    pairs = rng.permuted(np.tile(np.arange(24), (300, 1)), axis=1)[:, :2]
    utility = (items[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=300) < utility[:, 0] - utility[:, 1], 1, -1)
    population = Population(items, metric="none").fit(pairs, y, users=users)
    found = population.to_frame()[["weight: 0", "weight: 1", "weight: 2"]].to_numpy()
    assert (found**2).mean() ** 0.5 < 2.5 * (tastes**2).mean() ** 0.5


def test_more_groups_than_people_are_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"groups is 5 for 2 people; there cannot be more\."):
        Population([[0.0], [1.0], [2.0]], groups=5).fit([[1, 0], [2, 1]], users=[1, 2])


def test_what_is_predicted_of_weighted_answers_is_that_of_repeated_ones() -> None:
    items, pairs, y, users, _ = people(15, 6)
    one = Population(items, metric="none").fit(pairs, y, users=users, sample_weight=np.full(len(y), 2.0))
    twice = (np.concatenate([part, part]) for part in (pairs, y, users))
    pairs_twice, y_twice, users_twice = twice
    other = Population(items, metric="none").fit(pairs_twice, y_twice, users=users_twice)
    assert one.log_loss_ == pytest.approx(other.log_loss_, abs=1e-4)
    assert one.accuracy_ == pytest.approx(other.accuracy_, abs=1e-9)


def test_a_person_predicts_where_items_came_with_the_answers() -> None:
    items, pairs, y, users, _ = people(6, 6)
    whole = Population(items, metric="none").fit(pairs, y, users=users)
    given = Population(metric="none").fit(Comparisons(items, pairs, y, users=users))
    np.testing.assert_allclose(given.person(3).predict_proba(pairs), whole.person(3).predict_proba(pairs))
