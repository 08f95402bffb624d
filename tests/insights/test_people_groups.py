"""Groups of people, who is alike or unlike anybody, items that divide people; pictures and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from coombs import InputError, Population, plots, report
from coombs.inference.people import average_of_kinds
from coombs.insights import people_explanation
from coombs.insights.people_groups import SURELY

N_ITEMS = 16


def people(
    tastes: np.ndarray, n_answers: int = 14, seed: int = 0, **settings: Any
) -> tuple[Population, np.ndarray]:
    """A population of people with these linear tastes, and the items."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((N_ITEMS, tastes.shape[1]))
    users = np.repeat(np.arange(len(tastes)), n_answers)
    pairs = rng.permuted(np.tile(np.arange(N_ITEMS), (len(users), 1)), axis=1)[:, :2]
    utility = (items[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.random(len(users)) < expit(utility[:, 0] - utility[:, 1]), 1, -1)
    names = np.array([f"p{k}" for k in users])
    return Population(items, **({"metric": "none"} | settings)).fit(pairs, y, users=names), items


@pytest.fixture(scope="module")
def camps() -> tuple[Population, np.ndarray]:
    """Two camps of 12 who want the opposite of the second feature, and less of the first."""
    rng = np.random.default_rng(1)
    centres = np.repeat([[-2.0, 3.5, 0.0], [-2.0, -3.5, 0.0]], 12, axis=0)
    return people(centres + rng.normal(0, 0.2, centres.shape), groups=2)


@pytest.fixture(scope="module")
def coins() -> Population:
    """People who toss coins, in two groups by force."""
    return people(np.zeros((16, 3)), groups=2)[0]


def test_groups_have_their_members_and_what_their_means_surely_want(camps: Any) -> None:
    groups = camps[0].groups_
    assert sorted(one.people for one in groups) == [12, 12]
    for one in groups:
        assert {name[1:] for name in one.members} in ({*map(str, range(12))}, {*map(str, range(12, 24))})
        assert (np.diff(one.probabilities) < 1e-6).all()
        assert one.certain == 12 and one.share == 0.5 and len(one.best) == 5
        verdicts = {wish.feature: wish.verdict for wish in one.wants}
        large = "p0" in one.members
        assert verdicts["feature 1"] == ("more" if large else "less") and verdicts["feature 0"] == "less"
        assert f"{'more' if large else 'less'} feature 1" in one.words


def test_whoever_answers_as_if_by_a_coin_is_in_no_group() -> None:
    """Not in the count of members, nor in those who are certain; the groups share what the coin leaves."""
    centres = np.repeat([[-2.0, 3.5, 0.0], [-2.0, -3.5, 0.0], [0.0, 0.0, 0.0]], [12, 12, 3], axis=0)
    population, _ = people(centres, n_answers=30, groups=2)
    frame, groups = population.to_frame(), population.groups_
    tossers = {*frame["user"][frame["coin"] > 0.5]}
    assert tossers and tossers <= {"p24", "p25", "p26"}
    assert {name for one in groups for name in one.members} == {*frame["user"]} - tossers
    assert all(one.certain <= one.people for one in groups)
    assert (frame["group probability"] + frame["coin"] <= 1 + 1e-9).all()


def test_nothing_is_said_of_what_groups_of_coin_tossers_want(coins: Population) -> None:
    groups = coins.groups_
    assert sum(one.people for one in groups) == 16
    assert all(one.words == "" and one.best == () and one.wants == () for one in groups)
    told = coins.explain()
    assert not told.has_pattern and told.contested == () and told.unlike == () and told.groups == ()
    assert "No pattern found yet" in coins.report(title="Tea") and "<img" not in coins.report()


def test_items_that_divide_people_are_those_of_the_feature_that_divides_them(camps: Any) -> None:
    population, items = camps
    told = population.explain()
    assert all(min(one.liked, one.disliked) >= 0.1 for one in told.contested)
    halves = [int(one.item) for one in told.contested if one.liked == one.disliked == 0.5]
    assert halves and np.abs(items[halves, 1]).mean() > np.abs(items[:, 1]).mean()
    assert "Items that divide people" in str(told) and SURELY == 0.9


def test_people_who_want_the_same_are_divided_by_nothing() -> None:
    """Strong tastes that are nearly the same: nobody is surely on the other side."""
    tastes = np.tile([3.0, -2.0, 0.0], (20, 1)) + np.random.default_rng(0).normal(0, 0.1, (20, 3))
    told = people(tastes)[0].explain()
    assert told.has_pattern and told.contested == ()
    assert "None that the answers support." in str(told)


def test_people_alike_are_of_the_same_camp(camps: Any) -> None:
    found = camps[0].alike("p3", 6)
    assert {int(name[1:]) for name in found["user"]} <= {*range(12)} and "p3" not in set(found["user"])
    assert found["agreement"].is_monotonic_decreasing and found["agreement"].between(0.5, 1).all()
    for bad in (("zoe", 5), ("p3", 0)):
        with pytest.raises(InputError):
            camps[0].alike(*bad)


@pytest.mark.slow
def test_somebody_who_wants_the_opposite_of_all_is_unlike_and_no_coin_tosser() -> None:
    """A coin-tosser and somebody with three answers are not named."""
    rng = np.random.default_rng(4)
    tastes = np.tile([2.5, -1.5, 0.5], (60, 1)) + rng.normal(0, 0.3, (60, 3))
    tastes[0], tastes[1] = -tastes[0], 0.0
    population, _ = people(tastes, 15)
    named = [one.name for one in population.unlike()]
    assert "p0" in named and "p1" not in named and len(named) <= 4
    told = population.explain()
    assert "p0" in [one.name for one in told.unlike] and "Unlike anybody" in str(told)
    assert json.loads(json.dumps(told.to_dict()))["unlike"][0]["answers"] == 15
    few = population._data
    rows = np.concatenate([np.flatnonzero(few.users == "p0")[:3], np.flatnonzero(few.users != "p0")])
    fewer = Population(metric="none").fit(few[rows])
    assert "p0" not in [one.name for one in fewer.unlike()]


@pytest.mark.slow
def test_ordinary_people_are_hardly_ever_named_as_unlike_anybody() -> None:
    """At most 5 %: 240 people in four populations, of whom 1 % is expected; 3 % is eight deviations off."""
    named = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        tastes = rng.normal([1.5, -1.0, 0.5], 0.5, (60, 3))
        named += len(people(tastes, 15, seed=seed)[0].unlike())
    assert named <= 0.05 * 240


@pytest.mark.slow
@pytest.mark.long
def test_what_is_said_of_groups_is_true_of_their_means() -> None:
    """Directions that are said of six pairs of groups, of which at most 1 in 40 should be wrong."""
    said = wrong = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        means = rng.normal(0, 1.0, (2, 4)) + np.array([[2.5, 0, 0, 0], [-2.5, 0, 0, 0]])
        tastes = np.repeat(means, 20, axis=0) + rng.normal(0, 0.3, (40, 4))
        for one in people(tastes, 12, seed=seed, groups=2)[0].groups_:
            if not one.people:
                continue
            own = tastes[[int(name[1:]) for name in one.members]].mean(axis=0)
            for wish in one.wants:
                if wish.verdict in ("more", "less"):
                    said += 1
                    wrong += (own[int(wish.feature[-1])] > 0) != (wish.verdict == "more")
    assert said >= 24 and wrong <= 2


def test_the_order_of_answers_does_not_matter_to_who_is_unlike(camps: Any) -> None:
    data = camps[0]._data
    order = np.random.default_rng(0).permutation(len(data))
    again = Population(metric="none", groups=2).fit(data[order])
    assert {one.name for one in again.unlike()} == {one.name for one in camps[0].unlike()}


def test_ranks_of_the_table_are_those_of_the_people(camps: Any) -> None:
    frame = camps[0].to_frame(ranks=True)
    ranks = frame.filter(like="rank: ").to_numpy()
    assert ranks.shape == (24, N_ITEMS) and (np.sort(ranks, axis=1) == np.arange(1, N_ITEMS + 1)).all()
    best = camps[0].rank("p5")[0]
    assert frame.loc[frame["user"] == "p5", f"rank: {best}"].item() == 1


def test_a_map_has_a_dot_a_person_in_the_colours_of_the_groups(camps: Any) -> None:
    pytest.importorskip("matplotlib")
    data = plots.people_map_data(camps[0])
    assert set(data.features) == {"feature 0", "feature 1"} and not data.is_ideal
    assert len(data.names) == 24 and data.outside == data.without == 0
    ax = plots.people_map(camps[0])
    assert len(ax.collections) == 4 and len({str(one.get_facecolor()) for one in ax.collections[::2]}) == 2
    with pytest.raises(InputError, match="two different features"):
        plots.people_map_data(camps[0], 0, 0)


def test_a_map_of_people_with_ideals_shows_them_in_the_units_of_the_table() -> None:
    rng = np.random.default_rng(0)
    items = rng.uniform([0, 100], [10, 200], (20, 2))
    ideals = rng.normal([5, 150], [1, 8], (20, 2))
    users = np.repeat(np.arange(20), 25)
    pairs = rng.permuted(np.tile(np.arange(20), (500, 1)), axis=1)[:, :2]
    away = (((items[pairs] - ideals[users][:, None]) / [2.5, 25]) ** 2).sum(axis=2)
    y = np.where(rng.logistic(size=500) < 3 * (away[:, 1] - away[:, 0]), 1, -1)
    population = Population(items, metric="diagonal").fit(pairs, y, users=users)
    data = plots.people_map_data(population, 0, 1)
    assert data.is_ideal and np.abs(np.median(data.points, axis=0) - [5, 150]).max() < 12
    low, high = items.min(axis=0), items.max(axis=0)
    np.testing.assert_allclose(data.limits.T, [1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low])


def test_bands_agreement_and_consensus_are_in_order(camps: Any) -> None:
    band, agreement = plots.people_band_data(camps[0]), plots.people_agreement_data(camps[0])
    assert (np.diff(band.quantiles, axis=1) >= 0).all() and band.features[0] == "feature 1"
    assert (np.diff(agreement.groups) >= 0).all() and (agreement.agreement == agreement.agreement.T).all()
    inside = agreement.agreement[:12, :12].mean()
    assert inside > 0.8 > agreement.agreement[:12, 12:].mean()
    best = plots.consensus_ranking_data(camps[0], top=5)
    assert len(best.items) == 5 and (np.diff(best.mean) >= 0).all()


def test_names_alone_have_agreement_and_a_consensus_but_no_features() -> None:
    names = ["tea", "milk", "mocha", "water"]
    pairs = [[a, b] for i, a in enumerate(names) for b in names[i + 1 :]] * 3
    population = Population(names).fit(pairs, users=np.repeat(["a", "b", "c"], 6))
    with pytest.raises(InputError, match="no features"):
        plots.people_band_data(population)
    assert plots.consensus_ranking_data(population).items[0] == "tea"


def test_the_report_is_one_file_with_words_and_pictures(camps: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = camps[0].report(tmp_path / "people.html", title="Flats & more")
    text = Path(path).read_text()
    assert "<h1>Flats &amp; more</h1>" in text and text.count('<img src="data:image/png') == 4
    assert "Groups" in text and "more feature 1" in text and "Everybody" in text and "http" not in text
    assert report(camps[0], title="Flats & more") == text
    with pytest.raises(InputError, match="no folder"):
        camps[0].report(tmp_path / "nowhere" / "people.html")


def test_a_saved_population_tells_the_same_groups(camps: Any, tmp_path: Path) -> None:
    camps[0].save(tmp_path / "p.json")
    assert Population.load(tmp_path / "p.json").groups_ == camps[0].groups_


def test_that_people_differ_is_told_of_very_many_by_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all answers need be looked at."""
    rng = np.random.default_rng(0)
    items, tastes = rng.normal(size=(20, 2)), rng.normal([1.0, 0.0], 1.0, size=(400, 2))
    users = np.repeat(np.arange(400), 10)
    pairs = rng.permuted(np.tile(np.arange(20), (4000, 1)), axis=1)[:, :2]
    utility = (items[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=4000) < utility[:, 0] - utility[:, 1], 1, -1)
    population = Population(items, metric="none").fit(pairs, y, users=users)
    monkeypatch.setattr(people_explanation, "MOST_EVIDENCE", 5_000)
    assert all(one.deviation is not None for one in population.explain().features)


@pytest.mark.slow
def test_camps_are_told_as_divided_also_where_groups_were_found() -> None:
    rng = np.random.default_rng(3)
    items, users = rng.standard_normal((25, 3)), np.repeat(np.arange(40), 20)
    weights = np.column_stack([np.where(np.arange(40) % 2, 2.0, -2.0), np.full(40, 1.0), np.zeros(40)])
    pairs = np.array([rng.choice(25, 2, replace=False) for _ in users])
    margins = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[users]).sum(axis=1)
    y = np.where(rng.logistic(size=len(users)) < margins, 1, -1)
    told = Population(items, metric="none", groups=2).fit(pairs, y, users=users).explain()
    first = next(one for one in told.features if one.feature == "feature 0")
    assert first.verdict == "divided" and first.deviation is not None and 0.3 < (first.share or 0.0) < 0.7
    assert told.differ


def test_people_who_want_the_same_are_not_said_to_differ() -> None:
    rng = np.random.default_rng(4)
    items, users = rng.standard_normal((20, 3)), np.repeat(np.arange(30), 10)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in users])
    margins = (items[pairs[:, 0]] - items[pairs[:, 1]]) @ [1.5, -1.0, 0.5]
    y = np.where(rng.logistic(size=len(users)) < margins, 1, -1)
    told = Population(items, metric="none").fit(pairs, y, users=users).explain()
    assert told.best and not told.differ and "deviation" not in str(told).split("Best for all")[1]
    assert "It is not supported that people differ" in str(told)


def test_an_opposite_is_named_however_much_they_say() -> None:
    rng = np.random.default_rng(0)
    items, users = rng.standard_normal((40, 4)), np.repeat(np.arange(15), 20)
    mean = np.array([1.2, -1.0, 0.9, 0.8])
    weights = mean + rng.normal(0, 0.4, (15, 4))
    weights[0] = -mean
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in users])
    margins = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[users]).sum(axis=1)
    y = np.where(rng.logistic(size=len(users)) < margins, 1, -1)
    unlike = Population(items, metric="none").fit(pairs, y, users=users).unlike()
    assert [one.name for one in unlike] == [0]


def test_camps_are_told_by_the_simplest_kind_where_another_has_most_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the smooth kind, which has thirty coordinates, a group more costs too much to be seen."""
    tried_out = average_of_kinds.try_out

    def favouring_smooth(answers: Any, tried: Any, *rest: Any) -> Any:
        found = tried_out(answers, tried, *rest)
        best = float(found.scores.max())
        scores = [best + 1 if one.kind == "smooth" else best - 1 for one in tried]
        return found._replace(scores=np.array(scores))

    monkeypatch.setattr(average_of_kinds, "try_out", favouring_smooth)
    centres = np.repeat([[-2.0, 3.5], [-2.0, -3.5]], 12, axis=0)
    assert people(centres, metric="auto", groups="auto")[0].n_groups_ == 2
