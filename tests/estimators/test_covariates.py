"""What is known of people beside their answers: `Population.fit(..., people=frame)`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import coombs
from coombs import InputError, Population
from coombs.data.people_table import PeopleTable
from coombs.inference.people import average_of_kinds
from coombs.insights.people_covariates import contrasts_of

FEATURES = ["noise", "rent", "size"]


def answered(n_people: int, n_answers: int, seed: int = 0, slope: float = 1.0) -> dict[str, Any]:
    """Items, pairs, y, users; a frame of people whose age goes with the noise they want; their weights."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((20, 3))
    age = rng.integers(18, 80, n_people).astype(float)
    weights = rng.normal([-1.0, -1.0, 0.5], 0.5, (n_people, 3))
    weights[:, 0] -= slope * (age - age.mean()) / age.std()
    users = np.repeat(np.arange(n_people), n_answers)
    pairs = rng.permuted(np.tile(np.arange(20), (len(users), 1)), axis=1)[:, :2]
    margin = ((items[pairs[:, 0]] - items[pairs[:, 1]]) * weights[users]).sum(axis=1)
    y = np.where(rng.logistic(size=len(users)) < margin, 1, -1)
    towns = np.array(["harbour", "hill", "mill"])[rng.integers(0, 3, n_people)]
    people = pd.DataFrame({"age": age, "town": towns}, index=[f"person {i}" for i in range(n_people)])
    names = np.array([f"person {user}" for user in users])
    return {"items": items, "pairs": pairs, "y": y, "users": names, "people": people, "weights": weights}


def fitted(data: dict[str, Any], people: Any = None, **parameters: Any) -> Population:
    """To the answers of `data`."""
    frame = pd.DataFrame(data["items"], columns=FEATURES)
    est = Population(frame, **({"metric": "none"} | parameters))
    return est.fit(data["pairs"], data["y"], users=data["users"], people=people)


@pytest.fixture(scope="module")
def told() -> tuple[dict[str, Any], Population]:
    data = answered(60, 6)
    return data, fitted(data, data["people"])


def test_a_covariate_that_tells_moves_people_who_said_nothing(told: Any) -> None:
    """The old want quiet: of two items that differ in noise only, by far more than the young do."""
    _, est = told
    items = pd.DataFrame([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], columns=FEATURES)
    data = coombs.Comparisons(items, [[0, 1]] * 3, users=["old", "young", "nobody"])
    about = pd.DataFrame({"age": [78.0, 20.0], "town": ["hill", "hill"]}, index=["old", "young"])
    old, young, nobody = est.predict_proba(data, people=about)[:, 1]
    assert old < nobody < young and young - old > 0.2
    ranks = [est.person_from([[0, 1]], about={"age": age}).utility(items) for age in (78, 20)]
    assert ranks[0][1] - ranks[0][0] > ranks[1][1] - ranks[1][0]
    silent = est.person_from(about={"age": 78.0, "town": "hill"})
    np.testing.assert_allclose(
        silent.predict_proba(coombs.Comparisons(items, [[0, 1]]))[0, 1], old, atol=1e-12
    )


def test_people_with_a_row_and_no_answers_are_told_by_their_row(told: Any) -> None:
    data, _ = told
    more = pd.concat([data["people"], pd.DataFrame({"age": [79.0], "town": ["hill"]}, index=["zoe"])])
    est = fitted(data, more)
    by_row = est.predict_proba([[0, 1]], users=["zoe"])
    given = est.predict_proba([[0, 1]], users=["zoe2"], people=more.loc[["zoe"]].rename({"zoe": "zoe2"}))
    np.testing.assert_allclose(by_row, given, atol=1e-12)
    assert not np.allclose(by_row, est.predict_proba([[0, 1]]))


def test_covariates_that_are_not_kept_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not learned from, so that all numbers are those without them."""
    monkeypatch.setattr(average_of_kinds, "LEAST_GAIN", np.inf)
    data = answered(40, 5, seed=3)
    with_people, without = fitted(data, data["people"]), fitted(data)
    assert not len(with_people._average.told.columns)
    pd.testing.assert_frame_equal(with_people.to_frame(), without.to_frame())


def test_numbers_do_not_depend_on_the_order_of_rows_and_columns(told: Any) -> None:
    data, est = told
    frame = data["people"].iloc[::-1][["town", "age"]]
    again = fitted(data, frame)
    np.testing.assert_allclose(again.utilities(), est.utilities(), atol=1e-9)


@pytest.mark.slow
def test_the_frame_says_who_by_its_index_a_column_user_or_its_first_column(told: Any) -> None:
    data, est = told
    frame = data["people"]
    for given in (frame.reset_index(names="user"), frame.reset_index(names="who")):
        np.testing.assert_array_equal(fitted(data, given).utilities(), est.utilities())
    numbered = data | {"users": np.array([int(name.split()[1]) for name in data["users"]])}
    by_number = fitted(numbered, frame.reset_index(drop=True))
    np.testing.assert_allclose(by_number.utilities(), est.utilities(), atol=1e-12)


def test_gaps_constant_columns_and_people_without_a_row_are_taken(told: Any) -> None:
    """A cell that is not known is the mean; a warning says who has no row."""
    data, est = told
    frame = data["people"].assign(height=180.0)
    frame.iloc[3, 0], frame.iloc[4, 1] = np.nan, None
    with pytest.warns(UserWarning, match="'person 7' answered and has no row in people"):
        found = fitted(data, frame.drop(index="person 7"))
    assert np.corrcoef(found.utilities().ravel(), est.utilities().ravel())[0, 1] > 0.99
    with pytest.warns(UserWarning, match="Nothing in people differs"):
        fitted(data, frame[["height"]])


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ([1, 2], "people is a list; give a DataFrame with a row for each person"),
        (pd.DataFrame({"age": [1.0, 2.0]}, index=["ann", "ann"]), "people has 2 rows of 'ann'"),
        (pd.DataFrame({"age": [1.0, 2.0]}, index=["ann", None]), "Row 1 of people does not say who"),
        (pd.DataFrame({"age": [1.0, 2.0]}, index=["ann", "bob"]), "no row of anybody who answered"),
        (pd.DataFrame(index=["person 1"]), "people is empty"),
    ],
)
def test_a_frame_that_cannot_be_gets_a_sentence(people: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted(answered(3, 2), people)


def test_what_was_not_learned_from_gets_a_sentence(told: Any) -> None:
    data, est = told
    with pytest.raises(
        InputError, match="about has 'shoe', which was not learned from; what was is age, town"
    ):
        est.person_from([[0, 1]], about={"shoe": 42})
    with pytest.raises(InputError, match="about is a int; it must be a dict"):
        est.person_from([[0, 1]], about=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="people has no column 'town'"):
        est.predict_proba([[0, 1]], users=["eve"], people=pd.DataFrame({"age": [3.0]}, index=["eve"]))
    with pytest.warns(UserWarning, match="town 'mars' was not learned from"):
        est.person_from([[0, 1]], about={"town": "mars"})
    plain = fitted(data)
    with pytest.raises(InputError, match="give people= to fit"):
        plain.person_from([[0, 1]], about={"age": 3})
    with pytest.raises(InputError, match="give people= to fit, too"):
        plain.predict_proba([[0, 1]], users=["eve"], people=data["people"])


def test_a_population_with_covariates_is_the_same_out_of_a_file(told: Any, tmp_path: Any) -> None:
    _, est = told
    est.save(tmp_path / "people.json")
    back = Population.load(tmp_path / "people.json")
    pd.testing.assert_frame_equal(back.to_frame(), est.to_frame())
    for one in (("person 3",), ("nobody",)):
        probabilities = [who.predict_proba([[0, 1]], users=[*one]) for who in (est, back)]
        np.testing.assert_array_equal(*probabilities)
    ranks = [who.person_from([[0, 1]], about={"age": 30}).rank_interval() for who in (est, back)]
    np.testing.assert_array_equal(*ranks)


@pytest.mark.slow
def test_groups_and_all_kinds_take_covariates() -> None:
    data = answered(60, 8, seed=2)
    est = fitted(data, data["people"], metric="auto", groups=2)
    assert len(est._average.told.columns) and np.isfinite(est.utilities()).all()
    assert est.predict_proba([[0, 1]], users=["person 1"]).shape == (1, 2)


def test_what_is_said_goes_with_a_covariate_that_answers_bear_out(told: Any) -> None:
    """The old want less noise."""
    _, est = told
    found = est.explain().covariates
    assert (found[0].covariate, found[0].feature, found[0].verdict) == ("age", "noise", "less")
    assert found[0].low < found[0].difference < found[0].high < 0 and found[0].gain > 3
    assert "People with a higher age want less noise than others" in str(est.explain())
    assert est.explain().to_dict()["covariates"][0]["covariate"] == "age"
    noise = next(one for one in est.explain().features if one.feature == "noise")
    assert noise.deviation is not None  # they differ in it, if only with their age


def test_people_of_one_sort_are_compared_with_all_others() -> None:
    """By the levels of a category, and yes against no, in the units of weights."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"town": ["hill"] * 50 + ["mill"] * 30 + ["port"] * 20, "cat": rng.choice(["yes", "no"], 100)},
        index=np.arange(100),
    )
    table = PeopleTable.of(frame, np.arange(100))
    found = {(one.covariate, one.level): one.values for one in contrasts_of(table)}
    assert set(found) == {("town", "hill"), ("town", "mill"), ("town", "port"), ("cat", "yes")}
    everybody = table.values(np.arange(100))
    inside = (frame["town"] == "mill").to_numpy()
    apart = everybody[inside].mean(axis=0) - everybody[~inside].mean(axis=0)
    np.testing.assert_allclose(found["town", "mill"][:3], apart[:3], atol=1e-12)


@pytest.mark.slow
@pytest.mark.long
def test_nothing_is_said_of_covariates_that_are_noise() -> None:
    """Eight populations: with any seed, one in twenty at most would have a statement."""
    said = 0
    for seed in range(8):
        data = answered(50, 5, seed=seed, slope=0.0)
        frame = data["people"].assign(height=np.random.default_rng(seed).normal(size=50))
        said += bool(fitted(data, frame).explain().covariates)  # type: ignore[union-attr]
    assert said <= 2


@pytest.mark.slow
def test_the_command_line_takes_a_table_about_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from coombs.cli import main

    data = answered(60, 6)
    names = np.array([f"flat {i}" for i in range(20)])
    pd.DataFrame(data["items"], columns=FEATURES, index=names).to_csv(
        tmp_path / "items.csv", index_label="item"
    )
    first, second = names[data["pairs"]].T
    answers = {
        "user": data["users"],
        "left": first,
        "right": second,
        "winner": np.where(data["y"] > 0, first, second),
    }
    pd.DataFrame(answers).to_csv(tmp_path / "answers.csv", index=False)
    data["people"].to_csv(tmp_path / "people.csv", index_label="user")
    command = ["people", *(str(tmp_path / name) for name in ("items.csv", "answers.csv"))]
    assert main([*command, "--metric", "none", "--about", str(tmp_path / "people.csv")]) == 0
    assert "People with a higher age want less noise than others" in capsys.readouterr().out
    assert main([*command, "--metric", "none", "--about", str(tmp_path / "items.csv")]) == 2
    assert "items.csv has no column user" in capsys.readouterr().err
