"""Numbers are on a log scale where that predicts the answers better, unless the user says what they are."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import coombs
from coombs import Comparisons, IdealPoint, InputError
from coombs.data.encoding import ANSWERS, LOG, NUMBER
from coombs.data.log_scales import undecided, with_scales
from coombs.estimators.better_scales import on_better_scales, won_pairs

N_ITEMS = 60


def _flats(seed: int = 0, ratio: float = 60.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    price = np.exp(np.log(100) + np.log(ratio) * rng.uniform(size=N_ITEMS)).round(1)
    rooms = rng.integers(1, 6, N_ITEMS)
    return pd.DataFrame({"price": price, "rooms": rooms}, index=[f"flat {i}" for i in range(N_ITEMS)])


def _answers(flats: pd.DataFrame, n: int, on_log: bool, seed: int = 1) -> np.ndarray:
    """(n, 2) names, winner first, of somebody who wants it cheap, on one of the scales."""
    rng = np.random.default_rng(seed)
    price = np.log(flats["price"]) if on_log else flats["price"]
    score = (4 * (price - price.mean()) / price.std()).to_numpy()
    pairs = np.array([rng.choice(len(flats), 2, replace=False) for _ in range(n)])
    first = rng.random(n) < expit(score[pairs[:, 1]] - score[pairs[:, 0]])
    return flats.index.to_numpy()[np.where(first[:, None], pairs, pairs[:, ::-1])]


def _role(data: Comparisons, name: str = "price") -> str:
    found = [] if data.encoding is None else [one.role for one in data.encoding.columns if one.name == name]
    return found[0] if found else NUMBER


@pytest.mark.parametrize("on_log", [True, False])
def test_the_scale_that_predicts_better_is_taken_whatever_the_column_suggests(on_log):
    flats = _flats()
    for role in (LOG, NUMBER):
        data = Comparisons(flats, _answers(flats, 800, on_log))
        if _role(data) != role:
            moved = with_scales(data.item_table, {"price": role == LOG})
            columns = tuple(
                type(one)(one.name, one.role)
                for one in moved.encoding.columns  # as if the column said so
            )
            moved = moved._replace(encoding=type(moved.encoding)(columns))
            data = Comparisons.at_positions(moved, data.pairs, data.y, data.weights)
        assert _role(data) == role
        assert _role(on_better_scales(data)) == (LOG if on_log else NUMBER)


def test_few_answers_leave_the_scale_as_the_column_suggests():
    flats = _flats()
    for seed in range(20):
        data = Comparisons(flats, _answers(flats, 25, True, seed))
        assert on_better_scales(data) is data


def test_order_of_answers_and_of_items_does_not_matter():
    flats, rng = _flats(), np.random.default_rng(3)
    answers = _answers(flats, 300, True)
    one = on_better_scales(Comparisons(flats, answers))
    other = on_better_scales(Comparisons(flats.iloc[rng.permutation(N_ITEMS)], rng.permutation(answers)))
    assert _role(one) == _role(other) == LOG


def test_what_the_user_says_of_a_column_stands():
    flats = _flats()
    answers = _answers(flats, 400, True)
    for role in (NUMBER, LOG):
        data = Comparisons(flats, answers, roles={"price": role})
        assert on_better_scales(data) is data
        assert _role(data) == role


def test_arrays_and_narrow_ranges_and_numbers_that_are_not_positive_are_left_alone():
    flats = _flats()
    answers = Comparisons(flats, _answers(flats, 300, True))
    array = Comparisons(flats.to_numpy(), answers.pairs)
    assert undecided(array.item_table) == {}
    assert undecided(Comparisons(flats - 1000, answers.pairs).item_table) == {}
    assert undecided(Comparisons(_flats(ratio=8.0), answers.pairs).item_table) == {}
    assert set(undecided(answers.item_table)) == {"price"}


def test_cells_that_are_not_known_are_the_mean_on_the_new_scale_and_come_back():
    flats = _flats()
    flats.loc["flat 3", "price"] = np.nan
    table = Comparisons(flats, _answers(_flats(), 50, True)).item_table
    on_log = with_scales(table, {"price": True})
    column = on_log.encoding.columns[0]
    assert (column.role, column.scale_by) == (LOG, ANSWERS)
    assert on_log.matrix[3, 0] == pytest.approx(np.log(flats["price"].dropna()).mean())
    there, back = (one.encoding.cells(one.matrix)["price"] for one in (table, on_log))
    assert there[3] is None and back[3] is None
    known = [i for i in range(N_ITEMS) if i != 3]
    np.testing.assert_allclose(there[known].astype(float), back[known].astype(float), rtol=1e-12)


def test_a_ranking_counts_for_its_length_less_one():
    flats = _flats()
    data = Comparisons.from_rankings(flats, [list(flats.index[:6])])
    assert won_pairs(data).weights.sum() == pytest.approx(5)
    ratings = Comparisons.from_ratings(flats, flats.index[:6], range(6), users=["a"] * 6)
    assert won_pairs(ratings).weights.sum() == pytest.approx(6)


@pytest.fixture(scope="module")
def fitted() -> tuple[IdealPoint, Comparisons]:
    flats = _flats(ratio=60.0)
    data = Comparisons(flats, _answers(flats, 250, True))
    return IdealPoint().fit(data), data


@pytest.mark.slow
def test_a_chosen_scale_is_said_and_kept_in_files(fitted, tmp_path):
    est, data = fitted
    sentence = "price: number, on a log scale, as that predicts these answers better"
    assert est.model_.encoding.columns[0].description == sentence
    told = est.explain()
    assert sentence in str(told)
    assert told.to_dict()["scales"][0]["is_log"] is True
    assert type(told).from_findings(told.findings()).scales == told.scales
    est.save(tmp_path / "fit.json")
    again = coombs.load(tmp_path / "fit.json")
    assert again.model_.encoding == est.model_.encoding
    np.testing.assert_allclose(again.predict_proba(data), est.predict_proba(data), atol=1e-12)


def test_tables_on_either_scale_are_predicted_alike(fitted):
    est, data = fitted
    said = [Comparisons(_flats(), data.pairs, roles={"price": role}) for role in (LOG, NUMBER)]
    expected = est.predict_proba(data.pairs)
    for one in (data, *said):
        np.testing.assert_allclose(est.predict_proba(one), expected, atol=1e-9)
    assert est.rank(_flats()).tolist() == est.rank().tolist()
    assert est.score(data) == pytest.approx(est.score(said[0]))


def test_more_answers_do_not_move_a_scale_back(fitted):
    est, data = fitted
    again = IdealPoint(metric="none").fit(data).partial_fit(data[:3])
    assert again.model_.encoding == est.model_.encoding


def test_given_scales_are_left_as_they_are_and_another_word_is_refused(fitted):
    _, data = fitted
    assert IdealPoint(scales="given", metric="none").fit(data).model_.encoding is None
    with pytest.raises(InputError, match="scales"):
        IdealPoint(scales="log").fit(data)


def test_a_study_stays_on_its_scale():
    flats = _flats()
    study = coombs.create_study(flats, storage="memory:", metric="none")
    for winner, loser in _answers(flats, 120, True):
        study.tell((winner, loser))
    assert study.result().model.model_.encoding is None


def test_a_slope_on_a_log_scale_is_for_so_many_times_as_much():
    flats = _flats()
    data = Comparisons(flats, _answers(flats, 200, True), roles={"price": LOG})
    told = IdealPoint(metric="none").fit(data).explain()
    (slope,) = [one for one in told.slopes if one.feature == "price"]
    assert slope.is_factor and slope.deviation == pytest.approx(np.exp(np.log(flats["price"]).std(ddof=0)))
    assert f"times {slope.deviation:.2g}" in str(told)
