"""Why one item comes before another: contributions add up, change sides with the items, and are supported."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coombs import IdealPoint, InputError


@pytest.fixture(scope="module")
def fitted() -> IdealPoint:
    """Flats of which rent decides, then size; floor does not matter."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "rent": rng.integers(600, 1800, 25),
            "size": rng.integers(25, 100, 25),
            "floor": rng.integers(0, 6, 25),
            "heating": rng.choice(["gas", "oil"], 25),
        },
        index=[f"Flat {i}" for i in range(25)],
    )
    worth = (-flats["rent"] / 120 + flats["size"] / 25).to_numpy()
    pairs = np.array([rng.choice(25, 2, replace=False) for _ in range(80)])
    y = np.where(rng.logistic(size=80) < worth[pairs[:, 0]] - worth[pairs[:, 1]], 1, -1)
    return IdealPoint(flats, metric="none").fit(flats.index.to_numpy()[pairs], y)


def test_the_other_way_round_everything_changes_sides(fitted: IdealPoint):
    one, other = fitted.compare("Flat 3", "Flat 8"), fitted.compare("Flat 8", "Flat 3")
    assert one.probability == pytest.approx(1 - other.probability)
    assert one.gain == pytest.approx(-other.gain)
    gains = {reason.feature: reason.gain for reason in other.reasons}
    for reason in one.reasons:
        assert reason.gain == pytest.approx(-gains[reason.feature])
        assert reason.values == next(r.values for r in other.reasons if r.feature == reason.feature)[::-1]


def test_features_and_the_rest_add_up(fitted: IdealPoint):
    for k in range(1, 6):
        found = fitted.compare("Flat 0", f"Flat {k}")
        assert sum(reason.gain for reason in found.reasons) + found.rest == pytest.approx(found.gain)


def test_what_is_told_is_true_and_what_does_not_matter_is_not_told(fitted: IdealPoint):
    told = []
    for k in range(1, 25):
        found = fitted.compare("Flat 0", f"Flat {k}")
        for side, sign in ((True, 1), (False, -1)):
            told += [(reason, sign) for reason in found.speaking_for(first=side)]
    assert {reason.feature for reason, _ in told} <= {"rent", "size"}
    for reason, sign in told:
        mine, others = (float(value) for value in reason.values)
        better = others - mine if reason.feature == "rent" else mine - others
        assert sign * better > 0


def test_a_sentence_says_it(fitted: IdealPoint):
    best, *_, worst = fitted.rank()
    text = fitted.compare(best, worst).text
    assert text.startswith(f"{best} is better than {worst} (over 99 % sure) for its rent (")
    assert fitted.compare(worst, best).text.startswith(f"{best} is better than {worst} (")


def test_names_alone_have_no_reasons():
    names = ["tea", "coffee", "milk"]
    est = IdealPoint(names).fit([["tea", "milk"], ["tea", "coffee"], ["coffee", "milk"]] * 4)
    found = est.compare("tea", "milk")
    assert found.reasons == () and found.text.startswith("tea is better than milk (")


def test_a_blank_cell_is_a_reason_of_its_column():
    rng = np.random.default_rng(1)
    sizes = [f"{size}.99 m" for size in range(1295, 1307)]
    frame = pd.DataFrame({"rent": rng.normal(0, 1, 12), "size": sizes})
    frame.loc[3, "size"] = None
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(40)])
    est = IdealPoint(frame, metric="none").fit(
        pairs, np.where(frame["rent"].to_numpy()[pairs] @ [1, -1] > 0, 1, -1)
    )
    found = est.compare(3, 4)
    assert [reason.feature for reason in found.reasons if reason.feature == "size"] == ["size"]
    values = next(reason.values for reason in found.reasons if reason.feature == "size")
    assert values == ("not known", "1299.99 m")


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [("Flat 3", "Flat 3", "compared with itself"), ("Flat 3", "Flat 99", "Flat 99")],
)
def test_bad_items_get_a_sentence(fitted: IdealPoint, first: str, second: str, sentence: str):
    with pytest.raises(InputError, match=sentence):
        fitted.compare(first, second)
