"""What a population tells of anybody: the record, its JSON, and one person's posterior by it."""

from __future__ import annotations

import json
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from cases import some_slow

from coombs import Population
from coombs.data.scaling import Scaler
from coombs.data.tables import InputError
from coombs.inference.people.people_prior import PeoplePrior, people_prior_of

N_ITEMS, N_PEOPLE, N_ANSWERS = 24, 30, 10


@cache
def crowd() -> tuple[Any, Any, Any, Any]:
    """Items, pairs, answers and users of people in two groups."""
    rng = np.random.default_rng(3)
    items = rng.normal([10.0, 0.0], [3.0, 0.2], size=(N_ITEMS, 2))
    scaled = (items - items.mean(axis=0)) / items.std(axis=0)
    users = np.repeat(np.arange(N_PEOPLE), N_ANSWERS)
    tastes = rng.normal(np.where(np.arange(N_PEOPLE)[:, None] % 2, [2.0, 1.0], [-2.0, 1.0]), 0.4)
    pairs = rng.permuted(np.tile(np.arange(N_ITEMS), (len(users), 1)), axis=1)[:, :2]
    utility = (scaled[pairs] * tastes[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=len(users)) < utility[:, 0] - utility[:, 1], 1, -1)
    return items, pairs, y, users


@cache
def fitted(metric: str, groups: int = 1) -> Population:
    items, pairs, y, users = crowd()
    return Population(items, metric=metric, groups=groups).fit(pairs, y, users=users)


@pytest.mark.parametrize(
    ("metric", "groups"), some_slow([("none", 2), ("diagonal", 1), ("smooth", 1)], fast=[("none", 2)])
)
def test_few_answers_are_learned_from_as_many_are(metric: str, groups: int) -> None:
    """The quick way for one person is the general one, of every component that counts."""
    population = fitted(metric, groups)
    _, pairs, y, _ = crowd()
    winners, losers = np.where(y[:, None] > 0, pairs, pairs[:, ::-1])[:15].T
    weights = np.linspace(0.5, 2.0, 15)
    for part, seen in zip(population._average.parts, population._seen(population.item_table_), strict=True):
        quick, log_quick = part.kind_prior.given(winners, losers, weights, seen)
        general, log_general = part.kind_prior._given_many(winners, losers, weights, seen)
        counts = general.members[:-1] > 1e-6
        assert np.allclose(quick.means[counts], general.means[counts], atol=3e-3)
        assert np.allclose(quick.covariances[counts], general.covariances[counts], atol=3e-3)
        assert np.allclose(quick.members, general.members, atol=1e-3)
        assert quick.items.tolist() == general.items.tolist()
        assert abs(log_quick - log_general) < 1e-3


@pytest.mark.parametrize("metric", ["none", "smooth"])
def test_a_prior_is_the_same_after_json_and_pickle(metric: str) -> None:
    prior = fitted(metric)._people_prior
    again = people_prior_of(prior.to_json())
    assert again.to_json() == prior.to_json()
    assert pickle.loads(pickle.dumps(again)).to_json() == prior.to_json()
    assert again.n_people == N_PEOPLE and again.n_answers == N_PEOPLE * N_ANSWERS


def test_a_prior_names_nobody() -> None:
    """Neither who answered nor what anybody said is in it."""
    items, pairs, y, users = crowd()
    named = np.array([f"person {user} of us" for user in users])
    population = Population(items, metric="none").fit(pairs, y, users=named)
    assert "of us" not in population._people_prior.to_json()


@pytest.mark.parametrize("metric", ["none", "diagonal", "smooth"])
def test_items_scaled_in_another_way_are_seen_alike(metric: str) -> None:
    """Also where only some of the items are left, and a feature is the same for all of those."""
    population, items = fitted(metric), crowd()[0].copy()
    prior = population._people_prior
    for some in (items, items[:9]):
        scaler = Scaler.of(some, standardize=True)
        about = prior.about(some, None, scaler)
        seen = about.seen(scaler.forward(some), np.arange(len(some)))
        scaled = population._scaler.forward(some)
        wanted = [part.coordinates(scaled, about.known) for part in population._average.parts]
        assert all(np.allclose(one.phi, other) for one, other in zip(seen, wanted, strict=True))
    items[:, 1] = 0.1
    scaler = Scaler.of(items, standardize=True)
    seen = prior.about(items, None, scaler).seen(scaler.forward(items), np.arange(N_ITEMS))
    scaled = population._scaler.forward(items)
    nobody = np.full(N_ITEMS, -1)
    wanted = [part.coordinates(scaled, nobody) for part in population._average.parts]
    assert all(np.allclose(one.phi, other) for one, other in zip(seen, wanted, strict=True))


def test_features_may_come_in_another_order() -> None:
    items, pairs, y, users = crowd()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(items, columns=["size", "price"])
    prior = Population(frame, metric="diagonal").fit(pairs, y, users=users)._people_prior
    turned = prior.for_features(["price", "size"], 2)
    scaler = Scaler.of(items[:, ::-1], standardize=True)
    one = prior.about(items, None, Scaler.of(items, standardize=True))
    other = turned.about(items[:, ::-1], None, scaler)
    everything = np.arange(N_ITEMS)
    first = one.seen(Scaler.of(items, standardize=True).forward(items), everything)
    second = other.seen(scaler.forward(items[:, ::-1]), everything)
    assert all(np.allclose(a.phi, b.phi) for a, b in zip(first, second, strict=True))
    for names, said in (
        (["price", "colour"], "the items have 'colour', which it was not learned from, and lack 'size'; fit"),
        (["price"], "the items lack 'size'; fit the Population to items with the same features"),
        (["price", "size", "age"], "the items have 'age', which it was not learned from; fit"),
    ):
        with pytest.raises(InputError, match=said):
            prior.for_features(names, len(names))
    with pytest.raises(InputError, match="The prior is of 2 features, and the items have 1; fit"):
        prior.for_features(None, 1)


def _changed(path: tuple[Any, ...], value: Any) -> str:
    data = json.loads(fitted("diagonal")._people_prior.to_json())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "another"),
        (("version",), 99),
        (("prior", "weights"), {"dtype": "float64", "shape": [1], "order": "C", "values": [0.5]}),
        (("prior", "n_people"), -3),
        (("prior", "colour"), "red"),
        (("prior", "feature_names"), ["one"]),
        (("prior", "feature_names"), ["one", "one"]),
        (("version",), True),
        (("prior", "parts", 0, "prior", "lapse"), 1e308),
        (("prior", "parts", 0, "prior", "lapse"), 2.0),
        (("prior", "parts", 0, "prior", "coin"), 0.0),
        (("prior", "parts", 0, "prior", "means"), None),
        (("prior", "parts", 0, "coordinates", "kind"), "round"),
        (("prior", "parts", 0, "coordinates", "n_features"), 3),
        (("prior", "parts", 0, "coordinates", "squares", "values"), [0, 7]),
        (("prior", "parts", 0, "doubts", "values", 1), 1e9),
        (("prior", "scaler", "sizes", "values"), [0.0, 1.0]),
        (("prior", "parts"), []),
    ],
)
def test_a_damaged_prior_gets_a_sentence(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(InputError, match="prior"):
        people_prior_of(_changed(path, value))


def test_what_is_no_json_gets_a_sentence() -> None:
    assert isinstance(people_prior_of(fitted("diagonal")._people_prior.to_json()), PeoplePrior)
    for text in ("", "{", "[]", '{"format": "coombs-prior"}', "nan"):
        with pytest.raises(InputError):
            people_prior_of(text)
