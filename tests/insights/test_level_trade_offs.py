"""What levels of a category are worth of a number: right in sign and size, and only where it is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coombs import Comparisons, IdealPoint
from coombs.insights.explanation import Explanation
from coombs.insights.statements import TradeOff
from coombs.render.sections import page
from coombs.render.sentences import sections

WORTH = {"centre": 2.0, "harbour": 0.0, "rural": -2.0}
PER_EURO = -1 / 150


def _flats(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rent, town = rng.integers(40, 160, n) * 10.0, rng.choice(list(WORTH), n)
    heating, balcony = rng.choice(["gas", "oil", "wood"], n), rng.choice(["yes", "no"], n)
    names = [f"flat {i}" for i in range(n)]
    columns = {"rent": rent, "town": town, "heating": heating, "balcony": balcony}
    return pd.DataFrame(columns, index=names)


def _explained(n_answers: int, metric: str = "none") -> Explanation:
    """Of somebody who likes low rents, the centre and balconies, and does not care for the heating."""
    flats, rng = _flats(), np.random.default_rng(1)
    score = PER_EURO * flats["rent"] + flats["town"].map(WORTH) + 1.5 * (flats["balcony"] == "yes")
    pairs = np.array([rng.choice(len(flats), 2, replace=False) for _ in range(n_answers)])
    first = rng.random(n_answers) < expit(score.to_numpy()[pairs] @ [1, -1])
    data = Comparisons(flats, np.where(first[:, None], pairs, pairs[:, ::-1]))
    return IdealPoint(metric=metric, item_effects=False, scales="given").fit(data).explain()


@pytest.fixture(scope="module")
def told() -> Explanation:
    return _explained(600)


@pytest.mark.slow
def test_the_better_level_is_worth_more_of_what_is_bad_by_about_the_true_amount(told):
    found = [one for one in told.trade_offs if one.feature == "town"]
    assert found
    for one in found:
        true = -(WORTH[one.level] - WORTH[one.from_level]) / PER_EURO
        assert one.other == "rent" and one.other_change > 0
        assert 0.6 * true < one.other_change < 1.6 * true
        assert 0 < one.low < one.other_change < one.high


@pytest.mark.slow
def test_a_level_that_nobody_cares_for_has_no_worth(told):
    assert all(one.feature != "heating" for one in told.trade_offs)


@pytest.mark.slow
def test_yes_and_no_are_called_so(told):
    (balcony,) = [one for one in told.trade_offs if one.feature == "balcony"]
    assert (balcony.level, balcony.from_level) == ("yes", "no")
    assert balcony.text.startswith("balcony: yes instead of no is worth about ")


@pytest.mark.slow
def test_it_is_in_text_in_files_and_in_plain_types(told):
    text = next(one.text for one in told.trade_offs if one.feature == "town")
    assert " instead of " in text and " more of rent (" in text
    assert f"{text}." in " ".join(page(sections(told)).split())
    assert text in told._repr_html_()
    assert Explanation.from_findings(told.findings()).trade_offs == told.trade_offs
    assert text in [one["text"] for one in told.to_dict()["trade_offs"]]


@pytest.mark.slow
def test_few_answers_give_levels_no_worth():
    assert not any(one.level for one in _explained(12).trade_offs)


def test_a_worth_in_logarithms_is_told_in_the_numbers_of_the_table():
    one = TradeOff("town", 0.0, "rent", np.log(2), np.log(1.5), np.log(3), level="a", from_level="b")
    back = one.from_logs({"rent": np.log(100)})
    assert (back.level, back.from_level) == ("a", "b")
    np.testing.assert_allclose([back.other_change, back.low, back.high], [100, 50, 200])
