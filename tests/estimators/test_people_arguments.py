"""Wrong arguments of what is fitted to many people: one sentence each, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from coombs import InputError, Population, SharedMetric
from coombs.inference.people.population_fit import fit_population

NAMES = ["ann", "bob", "Carl Carlson", "dee"]
WRONG = (float("nan"), -1, 1.5, "x", [1.5], b"x", float("inf"), object())
"""What hardly any argument may be."""


def answers() -> tuple[Any, Any, list[str]]:
    """Ten items, pairs of which the first is better, and who said so."""
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.normal(size=(10, 2)), columns=["price", "size"])
    pairs = rng.permuted(np.tile(np.arange(10), (40, 1)), axis=1)[:, :2]
    first = items["price"].to_numpy()[pairs]
    return items, np.where((first[:, 0] < first[:, 1])[:, None], pairs, pairs[:, ::-1]), NAMES * 10


@pytest.fixture(scope="module")
def fitted() -> Population:
    items, pairs, users = answers()
    return Population(items, metric="diagonal").fit(pairs, users=users)


@pytest.fixture(scope="module")
def known() -> Population:
    items, pairs, users = answers()
    about = pd.DataFrame({"age": [20.0, 30.0, 40.0, 60.0]}, index=NAMES)
    return Population(items, metric="none").fit(pairs, users=users, people=about)


METHODS: dict[str, Callable[[Population, Any], Any]] = {
    "alike n": lambda est, value: est.alike("ann", value),
    "alike user": lambda est, value: est.alike(value),
    "person": lambda est, value: est.person(value),
    "rank": lambda est, value: est.rank("ann", value),
    "method": lambda est, value: est.consensus(value),
    "group": lambda est, value: est.consensus("mean", value),
    "ranks": lambda est, value: est.to_frame(ranks=value),
    "pairs": lambda est, value: est.predict_proba(value),
    "users": lambda est, value: est.predict_proba([[0, 1], [1, 2]], users=value),
    "y": lambda est, value: est.score([[0, 1]], value),
    "person's level": lambda est, value: est.person("ann").rank_interval(level=value),
    "level of the ideal": lambda est, value: est.person("ann").ideal_point_interval(value),
    "person's items": lambda est, value: est.person("ann").utility(value),
    "about": lambda est, value: est.person_from(about=value),
}


@pytest.mark.parametrize("method", METHODS)
def test_wrong_arguments_are_refused_in_a_sentence(fitted: Population, method: str) -> None:
    """NaN, negative, huge, text, nothing, lists: never another error."""
    for value in (*WRONG, "", [], {}):
        with pytest.raises(InputError):
            METHODS[method](fitted, value)


@pytest.mark.parametrize("value", WRONG)
def test_what_are_no_answers_of_somebody_new_and_no_people_is_refused(fitted: Population, value: Any) -> None:
    with pytest.raises(InputError):
        fitted.person_from(value)
    with pytest.raises(InputError, match=r"people is .*; it must be a list of positions from 0 to 3"):
        fitted.utilities(value)
    assert fitted.utilities([]).shape == (0, 10)


@pytest.mark.parametrize("value", [-1, 0, "x", None, [1, 2], np.array([1.0, 2.0])])
def test_wrong_settings_are_refused_in_a_sentence(value: Any) -> None:
    items, pairs, users = answers()
    for settings in ({"groups": value}, {"metric": value}):
        with pytest.raises(InputError):
            Population(items, **{"metric": "none"} | settings).fit(pairs, users=users)
    with pytest.raises(InputError):
        SharedMetric(items, radius=value).fit(pairs, users=users)


def test_what_is_not_fitted_says_so() -> None:
    for call in (lambda est: est.to_frame(), lambda est: est.utilities(), lambda est: est.consensus()):
        with pytest.raises(NotFittedError):
            call(Population(answers()[0]))


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ("Ann", "Nobody is called 'Ann'; did you mean 'ann'"),
        ("carl  carlson ", "did you mean 'Carl Carlson'"),
        ("Carl Karlson", "did you mean 'Carl Carlson'"),
        ("zoe", "Nobody is called 'zoe'; there are 4 people: 'ann', 'bob', 'Carl Carlson', ..."),
    ],
)
def test_an_unknown_person_gets_the_nearest_name(fitted: Population, user: str, sentence: str) -> None:
    for call in (fitted.person, fitted.rank, fitted.alike):
        with pytest.raises(InputError, match=sentence):
            call(user)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (np.inf, "people: Feature 'age' of 'bob' is inf; it must be a finite number"),
        (1e300, "people: 'age' reaches 1e\\+300"),
        ([1, 2], r"people: Feature 'age' of 'bob' is '\[1, 2\]'; it must be a number"),
        ("old", "people: Feature 'age' of 'bob' is 'old'; it must be a number"),
    ],
)
def test_a_wrong_cell_about_people_is_that_persons(cell: Any, sentence: str) -> None:
    items, pairs, users = answers()
    about = pd.DataFrame({"user": NAMES, "age": [20, cell, 40, 60]})
    with pytest.raises(InputError, match=sentence):
        Population(items, metric="none").fit(pairs, users=users, people=about)


def test_what_is_known_of_somebody_new_is_checked(known: Population) -> None:
    for cell, said in ((np.inf, "about: Feature 'age' is inf"), ("old", "about: Feature 'age' is 'old'")):
        with pytest.raises(InputError, match=said):
            known.person_from(about={"age": cell})
    new = pd.DataFrame({"age": [np.inf]}, index=["zoe"])
    with pytest.raises(InputError, match="people: Feature 'age' of 'zoe' is inf"):
        known.predict_proba([[0, 1]], users=["zoe"], people=new)


def test_who_a_table_is_about_may_be_in_any_column_that_is_called_so(known: Population) -> None:
    items, pairs, users = answers()
    about = pd.DataFrame({"age": [20.0, 30.0, 40.0, 60.0], "Participant ID": NAMES})
    found = Population(items, metric="none").fit(pairs, users=users, people=about)
    assert found._about is not None and found._about.features.tolist() == ["age"]
    with pytest.raises(InputError, match="people is empty but for who is meant"):
        Population(items, metric="none").fit(
            pairs, users=users, people=about[["Participant ID"]].rename(columns={"Participant ID": "user"})
        )


def test_passes_that_end_too_early_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the likeliest population differs from the fitted one in its size."""
    items, pairs, users = answers()
    assert fit_population.__kwdefaults__ is not None
    monkeypatch.setitem(fit_population.__kwdefaults__, "max_iter", 1)
    # Trials on some people, from which the last passes begin, end early, too, as do those at several scales.
    monkeypatch.setattr("coombs.inference.people.average_of_kinds.FEWER_PASSES", 1)
    monkeypatch.setattr("coombs.inference.people.uneven_people.MOST_PASSES", 1)
    with pytest.warns(ConvergenceWarning, match=r"ended with max_iterations after [1-9]\d* of them"):
        Population(items, metric="none").fit(pairs, users=users)
