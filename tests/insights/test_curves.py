"""Taste curves: what they are made of, how they are drawn, and the shapes that are told of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import some_slow

from coombs import Comparisons, ConvexIdealPoint, IdealPoint, InputError, SingleStep
from coombs.data.tables import FloatArray, ItemTable
from coombs.insights.curves import TasteCurve
from coombs.insights.explanation import Explanation
from coombs.insights.shapes import _levels_off
from coombs.insights.statements import LESS, MORE, NOT_KNOWN, FeatureVerdict, Shape, decide_most
from coombs.insights.verdicts import _agreed, _share_that_agrees
from coombs.model import Model
from coombs.simulate import draw_pairs

matplotlib = pytest.importorskip("matplotlib")

from coombs import plots  # noqa: E402
from coombs.render.captions import map_text  # noqa: E402
from coombs.render.html import report  # noqa: E402

HEADING = "The taste along each feature"
SCORES = {
    "cut-off": lambda price, size: 6.0 * (price > 900) - 0.03 * size,
    "two peaks": lambda price, size: np.minimum(abs(price - 640), abs(price - 1260)) / 50 - 0.01 * size,
    "extremes": lambda price, size: -(abs(price - 950) ** 1.5) / 800 - 0.01 * size,
    "levels off": lambda price, size: -0.25 * np.minimum(size, 60) + 0.002 * price,
    "linear": lambda price, size: 0.006 * price - 0.06 * size,
    "coin": lambda price, size: 0.0 * size,
}
"""Scores of flats, less being better, in log odds."""


def flats(kind: str, n: int = 150, seed: int = 1) -> Comparisons:
    """Answers of somebody to random questions, noise included."""
    rng = np.random.default_rng(seed)
    items = np.column_stack([rng.uniform(400, 1500, 60), rng.uniform(25, 110, 60)])
    table = ItemTable(items, None, np.array(["price", "size"], dtype=object), False)
    scores, pairs = SCORES[kind](*items.T), draw_pairs(60, n, rng)
    first = rng.random(n) < 1 / (1 + np.exp(scores[pairs[:, 0]] - scores[pairs[:, 1]]))
    return Comparisons(table, pairs, y=np.where(first, 1, -1))


@pytest.fixture(scope="module")
def fits() -> dict[str, IdealPoint]:
    return {kind: IdealPoint().fit(flats(kind)) for kind in SCORES}


@pytest.fixture(scope="module")
def told(fits: dict[str, IdealPoint]) -> dict[str, Explanation]:
    return {kind: est.explain() for kind, est in fits.items()}


# The numbers.


@pytest.mark.parametrize("kind", SCORES)
def test_curves_have_mean_zero_and_lie_in_their_bands(fits: dict[str, IdealPoint], kind: str) -> None:
    for curve in plots.taste_curves_data(fits[kind], level=0.8):
        assert abs(curve.liking.mean()) < 1e-8 * np.abs(curve.draws).max()
        low, high = curve.interval.T
        assert (low <= curve.liking).all() and (curve.liking <= high).all()


def test_a_curve_is_in_the_users_units_and_averages_over_the_other_features(
    fits: dict[str, IdealPoint],
) -> None:
    """By the definition: minus the mean score of all items that are given one value."""
    est = fits["cut-off"]
    items, posterior = est.item_table_.matrix, est.posterior_
    curve = plots.taste_curves_data(est, features=["size"])[0]
    assert curve.feature == "size" and np.array_equal(curve.points, items[:, 1])
    assert curve.xs[0] == items[:, 1].min() and curve.xs[-1] == items[:, 1].max()
    ends = []
    for x in curve.xs[[0, -1]]:
        moved = items.copy()
        moved[:, 1] = x
        ends.append(-posterior.scores(moved).mean(axis=1))
    gains = ends[1] - ends[0]
    # Some of the draws, evenly.
    some = np.linspace(0, len(posterior) - 1, len(curve.draws)).astype(int)
    np.testing.assert_allclose(curve.draws[:, -1] - curve.draws[:, 0], gains[some], atol=1e-8)


def test_a_curve_does_not_change_with_the_units() -> None:
    data = flats("cut-off", n=60)
    table = ItemTable(data.items * [0.001, 100.0], None, data.feature_names, False)
    pairs = (
        plots.taste_curves_data(IdealPoint().fit(one))
        for one in (data, Comparisons(table, data.pairs, y=data.y))
    )
    for curve, other in zip(*pairs, strict=True):
        assert curve.feature == other.feature
        np.testing.assert_allclose(other.liking, curve.liking, atol=0.05 * np.ptp(curve.liking))


def test_the_most_important_features_come_first_and_constant_ones_not_at_all() -> None:
    data = flats("cut-off")
    rng = np.random.default_rng(0)
    items = np.column_stack([np.ones(60), rng.normal(size=(60, 6)), data.items[:, 0]])
    est = IdealPoint().fit(Comparisons(items, data.pairs, y=data.y))
    names = [curve.feature for curve in plots.taste_curves_data(est)]
    assert len(names) == 6 and names[0] == "feature 7" and "feature 0" not in names


def test_a_fit_without_a_smooth_part_has_no_other_description() -> None:
    est = IdealPoint(metric="full").fit(flats("linear", n=40))
    assert all(curve.described is None and not curve.differs for curve in plots.taste_curves_data(est))


def test_curves_that_cannot_be_are_said_in_a_sentence(fits: dict[str, IdealPoint]) -> None:
    with pytest.raises(InputError, match="no feature 'rooms'"):
        plots.taste_curves(fits["linear"], features=["rooms"])
    with pytest.raises(InputError, match="different"):
        plots.taste_curves(fits["linear"], features=["size", 1])
    with pytest.raises(InputError, match="this is a SingleStep"):
        plots.taste_curves(SingleStep(standardize=True).fit(flats("linear", n=40)))
    with pytest.raises(InputError, match="no intervals"):
        plots.taste_curves(ConvexIdealPoint(loss="hinge").fit(flats("linear", n=40)))


# The drawing.


@pytest.mark.parametrize("kind", some_slow(SCORES, fast=["cut-off", "coin"]))
def test_curves_are_drawn(fits: dict[str, IdealPoint], kind: str) -> None:
    figure = plots.taste_curves(fits[kind])
    figure.canvas.draw()
    assert np.asarray(figure.canvas.buffer_rgba()).std() > 5
    assert {ax.get_xlabel() for ax in figure.axes} == {"price", "size"}


def test_the_ideal_alone_is_dashed_where_it_is_another_curve(fits: dict[str, IdealPoint]) -> None:
    est = fits["two peaks"]
    price = next(curve for curve in plots.taste_curves_data(est) if curve.feature == "price")
    assert price.differs
    legends = [text.get_text() for text in plots.taste_curves(est).legends[0].get_texts()]
    assert "the ideal alone" in legends


@pytest.mark.slow
@pytest.mark.long
def test_the_report_has_the_curves_where_the_smooth_taste_counts(fits: dict[str, IdealPoint]) -> None:
    page = report(fits["cut-off"])
    assert HEADING in page and "price: a drop near" in page
    assert HEADING not in report(fits["coin"])
    assert HEADING not in report(IdealPoint(metric="full").fit(flats("linear", n=40)))


@pytest.mark.slow
def test_a_report_of_one_item_is_written(fits: dict[str, IdealPoint]) -> None:
    est = fits["cut-off"]
    assert HEADING in report(est, items=ItemTable(est.item_table_.matrix[:1], None, None, False))


@pytest.mark.slow
def test_a_map_of_an_average_is_its_score_averaged_over_the_items(fits: dict[str, IdealPoint]) -> None:
    """By the definition; the curve of a feature is the map's, averaged in the same way."""
    data = flats("two peaks")
    wide = np.column_stack([data.items, np.random.default_rng(0).normal(size=60)])
    est = IdealPoint().fit(Comparisons(wide, data.pairs, y=data.y))
    assert sum(est.kind_weights_.values()) == pytest.approx(1) and est.kind_weights_.get("smooth+", 0) > 0.5
    panel = plots.level_sets_data(est, 0, 1)
    assert panel.is_average and panel.others == "averaged over the items" and not len(panel.axes)
    moved = wide.copy()
    moved[:, :2] = panel.xs[3], panel.ys[7]
    assert panel.distance[7, 3] == pytest.approx(est.model_.distance(moved).mean())
    fixed = plots.level_sets_data(est, 0, 1, at={2: 0.5}, size=9)
    point = [[fixed.xs[2], fixed.ys[4], 0.5]]
    assert fixed.distance[4, 2] == pytest.approx(est.model_.distance(point)[0])
    assert fixed.others == "fixed values"


@pytest.mark.slow
def test_a_map_of_an_average_marks_the_ideal_alone_only_where_the_average_is_nearly_best(
    fits: dict[str, IdealPoint],
) -> None:
    for kind, est in fits.items():
        panel = plots.level_sets_data(est, "price", "size")
        assert panel.is_average == (sum(w for k, w in est.kind_weights_.items() if "smooth" in k) >= 0.1)
        words = map_text(panel, "darker", "red mark")
        assert ("This is the taste that predicts and ranks" in words) == panel.is_average
        if panel.inside and panel.is_average:
            at = est.model_.distance(panel.turning[None])[0]
            share = (at - panel.distance.min()) / np.ptp(panel.distance)
            assert share <= 0.2 and "by the ideal alone" in words, kind
        if panel.is_average and panel.band is not None:
            assert "by the ideal alone" in words
    peaks = plots.level_sets_data(fits["two peaks"], "price", "size")
    assert peaks.is_average and not peaks.inside and "price: two peaks, near" in map_text(peaks, "", "")


# The words.


@pytest.mark.slow
def test_a_clear_shape_is_told_where_it_is(told: dict[str, Explanation]) -> None:
    (drop,) = (one for one in told["cut-off"].shapes if one.feature == "price")
    assert drop.kind == "a drop" and abs(drop.at[0] - 900) < 100 and drop.probability >= 0.95
    (peaks,) = (one for one in told["two peaks"].shapes if one.feature == "price")
    assert peaks.kind == "two peaks" and np.abs(np.array(peaks.at) - [640, 1260]).max() < 120
    # Rarely so clear that it is told; then it is right.
    for level in (one for one in told["levels off"].shapes if one.feature == "size"):
        assert level.kind == "levels off above" and 45 < level.at[0] < 75


def test_a_taste_for_the_extremes_has_no_two_peaks(told: dict[str, Explanation]) -> None:
    """Highest at both ends of the range: the middle is the worst, in the shapes and in the verdict."""
    (shape,) = (one for one in told["extremes"].shapes if one.feature == "price")
    assert shape.kind == "the middle is the worst" and abs(shape.at[0] - 950) < 150
    price = told["extremes"].ideal[0]
    assert price.verdict == "the middle is the worst"
    assert "two peaks" not in str(told["extremes"])


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 150])
@pytest.mark.long
def test_an_average_tells_trade_offs_by_its_own_slopes(n: int) -> None:
    """Of a line 10 of size are worth 100 of price: the interval holds that, at every item."""
    told = [IdealPoint().fit(flats("linear", n, seed)).explain() for seed in (1, 3, 4)]
    assert all(one.trade_offs and one.trust.smooth_weight > 0.5 for one in told)
    for trade_off in (trade_off for one in told for trade_off in one.trade_offs):
        rate = 10.0 if trade_off.feature == "size" else 0.1
        low, high = sorted([abs(trade_off.low), abs(trade_off.high)])
        assert low <= rate * abs(trade_off.change) <= high


@pytest.mark.parametrize("kind", ["linear", "coin"])
def test_no_shape_is_told_of_a_line_or_a_coin(told: dict[str, Explanation], kind: str) -> None:
    assert told[kind].shapes == ()


def test_weights_are_those_of_the_taste_that_predicts(told: dict[str, Explanation]) -> None:
    """An ideal alone makes little of a price with two peaks, which decides nearly all."""
    shares = {one.feature: one.share for one in told["two peaks"].ideal}
    assert sum(shares.values()) == pytest.approx(1) and shares["price"] > 0.65


@pytest.mark.slow
def test_features_with_few_values_have_no_shape() -> None:
    data = flats("cut-off")
    items = np.column_stack([data.items[:, 0] > 900, data.items[:, 1]]).astype(float)
    shapes = IdealPoint().fit(Comparisons(items, data.pairs, y=data.y)).explain().shapes
    assert all(one.feature != "feature 0" for one in shapes)


def test_shapes_are_on_the_page_in_json_and_in_the_model_file(
    fits: dict[str, IdealPoint], told: dict[str, Explanation]
) -> None:
    page, shape = told["two peaks"], told["two peaks"].shapes[0]
    assert f"- {shape.text}." in str(page).split("Trade-offs")[0]
    assert json.loads(json.dumps(page.to_dict()))["shapes"][0]["text"] == shape.text
    again = Explanation.from_findings(json.loads(json.dumps(page.findings())))
    assert again.shapes == page.shapes
    older = {name: value for name, value in page.findings().items() if name != "shapes"}
    assert Explanation.from_findings(older).shapes == ()
    assert page.without_claims().shapes == ()
    broken = page.findings() | {"shapes": [{"feature": "price"}]}
    with pytest.raises(InputError, match="findings cannot be read"):
        Model(np.eye(2), np.zeros(2), findings=broken).explain()


def test_shapes_read_as_sentences() -> None:
    assert Shape("price", "a drop", (900.0,), 1.0).text == "price: a drop near 900"
    assert Shape("size", "levels off above", (70.0,), 1.0).text == "size: levels off above 70"
    assert Shape("hours", "two peaks", (3.0, 9.0), 1.0).text == "hours: two peaks, near 3 and near 9"
    assert Shape("hours", "the middle is the worst", (5.0,), 1.0).words == "the middle is the worst, near 5"


def test_no_part_says_anything_else_of_a_feature_than_its_shape(
    fits: dict[str, IdealPoint], told: dict[str, Explanation]
) -> None:
    """Table, pictures, trade-offs and unknowns have one verdict."""
    for kind, one in told.items():
        shapes = {shape.feature: shape for shape in one.shapes}
        matters = plots.what_matters_data(fits[kind])
        wishes = dict(zip(matters.features, matters.wishes, strict=True))
        for verdict in one.ideal:
            shape = shapes.get(verdict.feature)
            assert verdict.shape == ("" if shape is None else shape.words)
            assert verdict.shape in wishes[verdict.feature]
            if shape is None:
                continue
            allowed = {"a drop": "less is better", "a rise": "more is better"}
            assert verdict.verdict in (shape.kind, allowed.get(shape.kind, shape.kind)), kind
            if verdict.verdict == shape.kind:
                assert verdict.value is None and wishes[verdict.feature] == shape.words
                assert not any(verdict.feature in (t.feature, t.other) for t in one.trade_offs)
    price = next(verdict for verdict in told["two peaks"].ideal if verdict.feature == "price")
    assert price.verdict == "two peaks" and "sweet spot" not in str(told["two peaks"]).split("Trade-offs")[0]


@pytest.mark.parametrize(
    ("verdict", "value", "bend", "kept"),
    [
        ("more is better", None, lambda x: x, True),
        ("more is better", None, lambda x: -x, False),
        ("less is better", None, lambda x: -x, True),
        ("sweet spot", 0.5, lambda x: -((x - 0.5) ** 2), True),
        ("sweet spot", 0.5, lambda x: x, False),
        ("the middle is the worst", 0.5, lambda x: (x - 0.5) ** 2, True),
        ("the middle is the worst", 0.5, lambda x: -((x - 0.5) ** 2), False),
        ("hardly matters", None, lambda x: x, True),
    ],
)
def test_a_verdict_that_the_average_speaks_against_is_not_given(
    verdict: str, value: float | None, bend: Callable[[Any], Any], kept: bool
) -> None:
    xs = np.linspace(0, 1, 41)
    curve = plots.TasteCurve("price", xs, np.tile(bend(xs), (10, 1)), None, xs, 0.9)
    one = _agreed(FeatureVerdict("price", value, None, None, 0.5, verdict), curve, None)
    assert one.verdict == (verdict if kept else "not known") and (one.value is None) == (
        value is None or not kept
    )


def test_a_score_is_never_read_the_wrong_way_round(told: dict[str, Explanation]) -> None:
    ranking = str(told["linear"]).split("Ranking")[1]
    assert "score (less is better)" in " ".join(ranking.split())


def drawn(mean: FloatArray) -> TasteCurve:
    """A curve over 0 to 1 of which the draws are sure."""
    noise = 0.02 * np.random.default_rng(0).standard_normal((200, 1)) * np.ptp(mean)
    xs = np.linspace(0, 1, len(mean))
    return TasteCurve("price", xs, mean + noise, None, xs, 0.9)


@pytest.mark.parametrize(("mean", "share"), [("falling", 1.0), ("turning", 0.0)])
def test_less_is_not_better_where_the_taste_turns_back(mean: str, share: float) -> None:
    """Its ends alone do not tell: a V may be higher at the left than at the right."""
    xs = np.linspace(0, 1, 41)
    curve = drawn({"falling": -xs, "turning": np.abs(xs - 0.65)}[mean])
    less = FeatureVerdict("price", None, None, None, 1.0, LESS)
    assert _share_that_agrees(less, LESS, curve) == share


@pytest.mark.parametrize(("fall", "is_level"), [(0.0, True), (0.15, False)])
def test_a_taste_that_surely_falls_again_does_not_level_off(fall: float, is_level: bool) -> None:
    """It has a peak, however small beside the whole height."""
    xs = np.linspace(0, 1, 60)
    mean = np.minimum(xs / 0.4, 1.0) - fall * np.maximum(xs - 0.6, 0) / 0.4
    assert (_levels_off(drawn(mean).draws)[2] > 0.95) is is_level


def test_what_decides_most_is_not_told_beside_copies_that_decide_more() -> None:
    """Of three copies of a price nothing is known one by one, and together they outweigh the flag."""
    verdicts = [FeatureVerdict(name, None, None, None, 0.0, NOT_KNOWN) for name in ("price", "cents")]
    verdicts.append(FeatureVerdict("flag", None, None, None, 0.0, MORE))
    assert decide_most([("flag", 0.4), ("price", 0.3), ("cents", 0.3)], verdicts) == []
    assert decide_most([("flag", 0.8), ("price", 0.1), ("cents", 0.1)], verdicts) == [("flag", 0.8)]
