"""Estimators of many people in files: they say, predict and rank as they did when they were saved."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import some_slow
from damage import ODD, damaged, places
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import coombs
from coombs import Comparisons, InputError, Population, SharedMetric
from coombs.data.json_records import Reader, Schema, Writer
from coombs.estimators.saved import estimator_of, text_of

NAMES = [f"flat {i}" for i in range(12)]


def answered(n_people: int = 12, n_answers: int = 5, seed: int = 0) -> tuple[Any, ...]:
    """Items, pairs, y and users of people who want much the same."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((12, 2))
    weights = rng.normal([2.0, -1.0], 0.6, (n_people, 2))
    users = np.repeat(np.arange(n_people), n_answers)
    pairs = rng.permuted(np.tile(np.arange(12), (len(users), 1)), axis=1)[:, :2]
    utility = (items[pairs] * weights[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=len(users)) < utility[:, 0] - utility[:, 1], 1, -1)
    return items, pairs, y, users


def fitted(case: str) -> Any:
    """A population of one sort or another."""
    items, pairs, y, users = answered()
    names = np.array([f"person {user}" for user in users])
    if case == "numbers":
        return Population(items, metric="none").fit(pairs, y, users=users.astype(np.int32))
    if case == "groups and names":
        frame = pd.DataFrame(items, columns=["rent", "size"], index=NAMES)
        return Population(frame, metric="diagonal", groups=2).fit(np.array(NAMES)[pairs], y, users=names)
    if case == "categories and gaps":
        frame = pd.DataFrame({"rent": items[:, 0], "heating": ["gas", "oil", "wood"] * 4}, index=NAMES)
        frame.loc[NAMES[3], "rent"] = np.nan
        return Population(metric="none").fit(Comparisons(frame, np.array(NAMES)[pairs], y, users=names))
    if case == "effects of items":
        return Population(items, metric="smooth").fit(
            np.tile(pairs, (2, 1)), np.tile(y, 2), users=[*users] * 2
        )
    if case == "described pairs":
        return Population(metric="none").fit(items[pairs], y, users=names)
    with pytest.warns(UserWarning, match="one person only"):
        return Population(items, metric="none").fit(pairs, y, users=["ann"] * len(y))


CASES = (
    "numbers",
    "groups and names",
    "categories and gaps",
    "effects of items",
    "described pairs",
    "one person",
)


@pytest.fixture(
    scope="module", params=some_slow(CASES, fast=["groups and names", "categories and gaps", "one person"])
)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A population that was fitted, and the one that its file gives."""
    est, path = fitted(request.param), tmp_path_factory.mktemp("saved") / "people.json"
    est.save(path)
    return est, Population.load(path)


def test_a_population_out_of_a_file_has_the_same_numbers(both: tuple[Any, Any]) -> None:
    """Of people, of somebody new, of nobody in particular, in tables."""
    before, after = both
    pd.testing.assert_frame_equal(after.to_frame(), before.to_frame(), rtol=0, atol=0, check_dtype=False)
    np.testing.assert_array_equal(after.utilities(), before.utilities())
    data, users = before._data, before.people_.tolist()
    np.testing.assert_array_equal(after.predict_proba(data), before.predict_proba(data))
    np.testing.assert_array_equal(after.predict_proba(data[:9]), before.predict_proba(data[:9]))
    ends = [one.person_from(data[:4]).ideal_point_interval() for one in both]
    np.testing.assert_array_equal(*ends)
    assert after.people_.tolist() == users and after.n_answers_.tolist() == before.n_answers_.tolist()
    for name in ("accuracy_", "log_loss_", "lapse_", "coin_share_", "status_", "n_iter_", "kind_weights_"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), abs=0, nan_ok=True)
    if not before._is_described:
        pd.testing.assert_frame_equal(after.consensus("regret"), before.consensus("regret"))
        intervals = [one.person(users[0]).rank_interval() for one in both]
        np.testing.assert_array_equal(*intervals)


def test_a_population_out_of_a_file_says_the_same(both: tuple[Any, Any]) -> None:
    before, after = both
    assert str(after.explain()) == str(before.explain())
    user = before.people_[0]
    assert str(after.person(user).explain()) == str(before.person(user).explain())
    assert text_of(after) == text_of(before)
    assert vars(after).keys() == vars(before).keys()


def test_a_population_is_cloned_and_pickled_as_estimators_are() -> None:
    """What it learned is pickled with it, and not cloned."""
    est = fitted("numbers")
    back = pickle.loads(pickle.dumps(est))
    pd.testing.assert_frame_equal(back.to_frame(), est.to_frame())
    again = clone(est.set_params(groups=2))
    assert not hasattr(again, "people_") and again.groups == 2
    assert "Population" in repr(again) and "Population" in again._repr_html_()


def test_a_second_fit_forgets_the_people_of_the_first() -> None:
    items, pairs, y, users = answered()
    est = Population(items, metric="none").fit(pairs, y, users=users)
    est.predict_proba(pairs, users=users)
    est.fit(pairs[::-1], y[::-1], users=users[::-1] + 100)
    assert est.person(111).name == 111
    with pytest.raises(InputError, match="Nobody is called '3'"):
        est.person(3)


@pytest.mark.parametrize("constraint", ["frobenius", "psd"])
def test_one_metric_for_all_out_of_a_file_is_the_same(constraint: str, tmp_path: Path) -> None:
    items, pairs, y, users = answered()
    frame = pd.DataFrame(items, columns=["rent", "size"], index=NAMES)
    est = SharedMetric(frame, constraint=constraint, radius=2.0, own_radius=3.0, loss="logistic")
    est.fit(np.array(NAMES)[pairs], y, users=users)
    est.save(tmp_path / "shared.json")
    back = SharedMetric.load(tmp_path / "shared.json")
    asked = np.array(NAMES)[pairs]
    np.testing.assert_array_equal(back.predict_proba(asked, users), est.predict_proba(asked, users))
    assert vars(back).keys() == vars(est).keys() and text_of(back) == text_of(est)
    assert back.people_.tolist() == est.people_.tolist() and back.radius_ == est.radius_


def test_a_file_of_another_estimator_is_refused_in_a_sentence(tmp_path: Path) -> None:
    coombs.SingleStep([[0.0], [1.0]]).fit([[0, 1]]).save(tmp_path / "taste.json")
    with pytest.raises(InputError, match="holds a SingleStep and no Population"):
        Population.load(tmp_path / "taste.json")


def small() -> list[dict[str, Any]]:
    """Contents of small files."""
    items, pairs, y, users = answered(4, 3)
    shared = SharedMetric(items, constraint="psd").fit(pairs, y, users=users)
    population = Population(items, metric="none").fit(pairs, y, users=[f"person {one}" for one in users])
    return [json.loads(text_of(est)) for est in (shared, population)]


SMALL = small()
PACKED: dict[str, Any] = json.loads(text_of(fitted("numbers")))


@pytest.mark.parametrize(
    ("where", "new", "words"),
    [
        (("state", "parts", 0, "coordinates", "kind"), "full!", "is of a kind that is not known"),
        (("state", "parts", 0, "coordinates", "n_effects"), 3, "of another size than its blocks"),
        (
            ("state", "parts", 0, "prior", "lapse"),
            2.0,
            "with a lapse rate, a coin or an effect that cannot be",
        ),
        (("state", "parts", 0, "prior", "root", "values", 0), -1.0, "is of a root that is none"),
        (("state", "parts", 0, "sites"), [], "is of other groups than its prior"),
        (("state", "parts", 0, "sites", 0, "precision", "values", 0), -1.0, "is of what no answer says"),
        (("state", "shares", "values", 0), 0.5, "is of weights that are no shares"),
        (("state", "data", "users", 0), "eve", "people are not those of its answers"),
        (("state", "parts"), ..., "parts is missing"),
    ],
)
def test_a_damaged_population_gets_a_sentence(where: tuple[Any, ...], new: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        estimator_of(damaged(SMALL[1], where, new))


@pytest.mark.parametrize("value", [1e30, -1.0])
def test_a_metric_that_is_none_is_refused(value: float) -> None:
    """Neither one that is not symmetric, nor one with negative distances."""
    size = len(SMALL[0]["state"]["metric"]["values"])
    for place in (0, 1) if size > 1 else (0,):
        if place or value < 0:
            with pytest.raises(InputError, match="is of a metric that is none"):
                estimator_of(damaged(SMALL[0], ("state", "metric", "values", place), value))


def behaves(est: Any) -> None:
    """What is read predicts numbers."""
    users = est.people_[:1]
    assert np.isfinite(est.predict_proba([[0, 1]], users=users)).all()
    if isinstance(est, Population):
        assert np.isfinite(est.utilities()).all() and len(est.rank()) and str(est.explain())


@settings(max_examples=30)
@given(st.sampled_from(SMALL), st.data())
def test_a_file_with_another_value_is_refused_in_a_sentence_or_behaves(
    content: Any, data: st.DataObject
) -> None:
    """Whatever single value is another one, or is missing."""
    where = data.draw(st.sampled_from(places(content)[1:]))
    with suppress(InputError):
        behaves(estimator_of(damaged(content, where, data.draw(ODD))))


@settings(max_examples=15)
@given(st.data(), st.sampled_from([0, -1, 1, 3, 99, 1e-300, 1e30, -1e119]))
def test_a_packed_number_that_is_another_is_refused_in_a_sentence_or_behaves(
    data: st.DataObject, new: float
) -> None:
    """As somebody would change it who knows how numbers are packed."""
    place = data.draw(st.integers(0, len(PACKED["arrays"]) - 1))
    array = PACKED["arrays"][place]
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(array["zlib"])), array["dtype"]).copy()
    numbers[data.draw(st.integers(0, len(numbers) - 1))] = (
        new if array["dtype"] == "float64" else int(new) % 128
    )
    packed = array | {"zlib": base64.b64encode(zlib.compress(numbers.tobytes())).decode()}
    with suppress(InputError):
        behaves(estimator_of(damaged(PACKED, ("arrays", place), packed)))


def test_many_names_are_written_once_each() -> None:
    """With the type that each has: 1 and True are two names."""
    names = np.array([1, True, "ann", 2.5] * 100, dtype=object)
    writer = Writer(Schema(()))
    written = writer.write(names)
    assert len(written["names"]) == 4
    back = Reader(Schema(()), writer.arrays, "The file").read(
        written, np.ndarray[Any, np.dtype[np.object_]], "x"
    )
    assert [(type(one), one) for one in back] == [(type(one), one) for one in names]
    with pytest.raises(InputError, match="of names that are not there"):
        Reader(Schema(()), writer.arrays, "The file").read(
            written | {"names": [1]}, np.ndarray[Any, np.dtype[np.object_]], "x"
        )


def test_the_command_line_ranks_and_explains_by_a_saved_population(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For all and for one of them; a file without people knows no user."""
    from coombs.cli import main

    items, pairs, y, users = answered()
    frame = pd.DataFrame(items, columns=["rent", "size"], index=NAMES)
    frame.to_csv(tmp_path / "items.csv", index_label="item")
    est = Population(metric="none").fit(Comparisons(frame, np.array(NAMES)[pairs], y, users=users))
    path = str(tmp_path / "people.json")
    est.save(path)
    rank = ["rank", path, str(tmp_path / "items.csv"), "--json"]
    for user in (None, 3):
        given = [] if user is None else ["--user", "3"]
        assert main([*rank, *given]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert [one["item"] for one in printed] == est.rank(user).tolist()
        assert main(["explain", path, *given]) == 0
        told = est.explain() if user is None else est.person(user).explain()
        assert capsys.readouterr().out == f"{told}\n"
    assert main([*rank, "--user", "nobody"]) == 2
    assert "Nobody is called 'nobody'" in capsys.readouterr().err
    coombs.SingleStep(frame).fit([[0, 1]]).save(path)
    assert main(["explain", path, "--user", "3"]) == 2
    assert "--user names somebody in a population" in capsys.readouterr().err
    SharedMetric(frame, constraint="psd").fit(np.array(NAMES)[pairs], y, users=users).save(path)
    assert main(["explain", path]) == 2
    assert "holds a SharedMetric" in capsys.readouterr().err
