"""An explanation says what is so: each kind of sentence on a case that was made for it."""

from __future__ import annotations

import ast
import copy
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import coombs
from coombs import Comparisons, ConvexIdealPoint, IdealPoint, InputError, SingleStep
from coombs.data.tables import ItemTable
from coombs.inference.kind import IDEAL_DISTANCE, LOG_IDEAL
from coombs.inference.posterior import Posterior
from coombs.insights import explain
from coombs.insights.explanation import Explanation
from coombs.insights.statements import NOT_KNOWN, RATHER_LESS, FeatureRange, FeatureVerdict
from coombs.insights.trade_offs import _is_known
from coombs.insights.verdicts import _best_values
from coombs.model import Model
from coombs.render.html import report
from coombs.simulate import draw_answers, draw_pairs, make_preferences

SCRIPT = "<script>alert('x')</script>"


def table(items: Any, names: list[str] | None = None, features: list[str] | None = None) -> ItemTable:
    """Items with names."""
    texts = (None if part is None else np.array(part, dtype=object) for part in (names, features))
    return ItemTable(np.asarray(items, dtype=float), *texts, False)


def answered(items: ItemTable, scores: Any, n: int, seed: int = 0) -> Comparisons:
    """Random questions, answered by which item has the lesser score."""
    pairs = draw_pairs(len(items.matrix), n, np.random.default_rng(seed))
    return Comparisons(items, pairs, y=np.where(scores[pairs[:, 0]] < scores[pairs[:, 1]], 1, -1))


def flat(told: Explanation) -> str:
    """The page on one line."""
    return " ".join(str(told).split())


def kinds_of(told: Explanation) -> set[str]:
    return {one.kind for one in told.unknowns}


@pytest.fixture(scope="module")
def sweet() -> IdealPoint:
    """An ideal inside the range of both features, seen by 60 answers."""
    truth = make_preferences(50, 2, 60, random_state=0)
    return IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y)


@pytest.fixture(scope="module")
def told(sweet: IdealPoint) -> Explanation:
    return explain(sweet)


@pytest.fixture(scope="module")
def phones() -> IdealPoint:
    """Cheaper is better, a longer battery life is better; names that a browser could run."""
    rng = np.random.default_rng(1)
    items = np.column_stack([rng.uniform(100, 900, 30), rng.uniform(5, 30, 30)])
    names = [SCRIPT] + [f"phone & {i}" for i in range(1, 30)]
    data = answered(table(items, names, ["price", "<b>battery"]), items[:, 0] / 100 - items[:, 1] / 4, 60)
    return IdealPoint(metric="full").fit(data)


@pytest.fixture(scope="module")
def told_phones(phones: IdealPoint) -> Explanation:
    return explain(phones, compare=True)


@pytest.fixture(scope="module")
def hinge() -> IdealPoint:
    """A convex program, which has no posterior."""
    truth = make_preferences(50, 2, 60, random_state=0)
    return ConvexIdealPoint(truth.items, loss="hinge").fit(truth.pairs, truth.y)


@pytest.fixture(scope="module")
def anti_ideal() -> Comparisons:
    """The middle of the first feature is the worst."""
    items = np.random.default_rng(2).uniform(-1, 1, (30, 2))
    return answered(table(items), -(items[:, 0] ** 2) - 0.1 * items[:, 1], 60)


def test_directions_are_the_model_s_interactions(sweet: IdealPoint, told: Explanation) -> None:
    """Shares and loadings as the paper's table has them, the largest loading positive."""
    shares, vectors = sweet.model_.interactions()
    assert [one.share for one in told.directions] == pytest.approx(shares)
    for direction, vector in zip(told.directions, vectors.T, strict=True):
        name, loading = direction.loadings[0]
        assert loading == pytest.approx(np.abs(vector).max())
        assert name == f"feature {np.abs(vector).argmax()}"
        assert all(abs(value) >= 0.15 for _, value in direction.loadings)
        assert direction.text.startswith(f"{loading:.2f} {name}")


def test_an_ideal_inside_the_data_is_a_sweet_spot(sweet: IdealPoint, told: Explanation) -> None:
    """With the value that the estimator gives, and an interval in which the prior counts for less."""
    assert [one.verdict for one in told.ideal] == ["sweet spot"] * 2
    ends = sweet.ideal_point_interval(0.9)
    for j, one in enumerate(told.ideal):
        assert one.value == pytest.approx(sweet.ideal_point_[j])
        assert one.low < one.value < one.high and one.high - one.low > 0.95 * np.ptp(ends[j])


@pytest.mark.slow
def test_more_or_less_is_better_where_taste_is_monotone(told_phones: Explanation) -> None:
    assert [one.verdict for one in told_phones.ideal] == ["less is better", "more is better"]


def test_a_feature_without_influence_hardly_matters() -> None:
    items = np.random.default_rng(3).uniform(-1, 1, (40, 2))
    est = IdealPoint(metric="diagonal").fit(answered(table(items), (items[:, 0] - 0.1) ** 2, 150))
    assert [one.verdict for one in explain(est).ideal] == ["sweet spot", "hardly matters"]


@pytest.mark.slow
def test_having_or_not_having_is_never_a_sweet_spot() -> None:
    """A feature with two values: one of the two is better, whatever the ideal's coordinate."""
    rng = np.random.default_rng(4)
    items = np.column_stack([rng.integers(0, 2, 40), rng.uniform(0, 1, 40)])
    est = IdealPoint().fit(answered(table(items), -items[:, 0] + (items[:, 1] - 0.5) ** 2, 80))
    assert explain(est).ideal[0].verdict == "more is better"


def test_trade_offs_keep_the_distance_by_finite_differences(
    phones: IdealPoint, told_phones: Explanation
) -> None:
    """The answer is -g_a / g_b times the step, and the two together leave the distance as it is."""
    x = phones.item_table_.matrix[phones.item_table_.names.tolist().index(told_phones.trade_off_item)]
    names, widths = ["price", "<b>battery"], np.ptp(phones.item_table_.matrix, axis=0)
    assert told_phones.trade_offs
    for one in told_phones.trade_offs:
        a, b = names.index(one.feature), names.index(one.other)
        step = 1e-4 * np.diag(widths)
        slopes = [
            (phones.distance([x + step[j]]) - phones.distance([x - step[j]]))[0] / (2e-4 * widths[j])
            for j in (a, b)
        ]
        assert one.other_change == pytest.approx(-slopes[0] / slopes[1] * one.change, rel=1e-5)
        assert slopes[0] * one.change < 0 < slopes[1] * one.other_change
        assert abs(one.other_change) <= widths[b]


def test_a_trade_off_is_told_with_a_round_step(told_phones: Explanation) -> None:
    one = told_phones.trade_offs[0]
    digits = f"{abs(one.change):.6e}"
    assert digits[0] in "125" and set(digits[2:8]) == {"0"}
    assert " is worth about " in one.text and one.text in flat(told_phones)


def test_trade_offs_are_told_at_the_item_asked_for(phones: IdealPoint) -> None:
    assert explain(phones, item="phone & 7").trade_off_item == "phone & 7"
    assert explain(phones, item=7).trade_off_item == "phone & 7"
    with pytest.raises(InputError, match="Unknown item 'phone 7'"):
        explain(phones, item="phone 7")


def test_a_constant_and_a_copied_feature_are_told() -> None:
    """Nothing can be learned of the one, nor how two copies share their weight."""
    items = np.random.default_rng(5).uniform(-1, 1, (30, 2))
    wide = np.column_stack([items, np.full(30, 7.0), 3 - 2 * items[:, 0]])
    est = IdealPoint().fit(answered(table(wide, None, ["a", "b", "c", "d"]), (items**2).sum(axis=1), 60))
    told = explain(est)
    texts = {one.kind: one.text for one in told.unknowns}
    assert texts["constant"].startswith("c is the same for all items")
    assert texts["copies"].startswith("d is as good as a copy of a, turned around, so how")
    assert "unseen direction" not in texts
    assert told.ideal[2].verdict == "always the same" and told.ideal[2].value is None


def test_what_compared_items_do_not_differ_in_is_told() -> None:
    """Only items with the same b were compared, so nothing is known along it."""
    items = [[a, b] for b in (0.0, 1.0) for a in (0.0, 1.0, 2.0, 3.0)]
    pairs = [(base + 1, base + j) for base in (0, 4) for j in (0, 2, 3)] + [(2, 3), (6, 7), (2, 0), (6, 4)]
    told = explain(IdealPoint(metric="diagonal").fit(Comparisons(table(items, None, ["a", "b"]), pairs)))
    assert [one.text for one in told.unknowns if one.kind == "unseen direction"] == [
        "Along 1.00 b no answer tells where the ideal is."
    ]


@pytest.mark.slow
def test_a_graph_in_pieces_and_too_few_answers_are_told() -> None:
    """Three answers in two groups, five items never compared, and 9 unknowns."""
    items = np.random.default_rng(6).normal(size=(10, 3))
    est = IdealPoint(items).fit([[0, 1], [1, 2], [3, 4]])
    told = explain(est)
    texts = {one.kind: one.text for one in told.unknowns}
    assert texts["few answers"].startswith("3 answers for 9 unknown numbers")
    assert "fall into 2 groups (of 3, 2 items)" in texts["pieces"]
    assert texts["never compared"].startswith("5 of 10 items were never compared")
    assert {one.verdict for one in told.ideal} == {"not known"}


def test_a_single_answer_is_explained() -> None:
    """Nothing can be put to the test with it."""
    told = explain(IdealPoint([[0.0], [1.0]]).fit([[0, 1]]))
    assert not told.trust.kinds and not told.trust.advice
    assert "nothing can be put to the test" in flat(told)
    assert kinds_of(told) == {"few answers"}


def test_of_an_estimate_alone_nothing_is_said_to_be_borne_out() -> None:
    """A convex program, and a model without findings, of a coin's answers: their numbers, called that."""
    rng = np.random.default_rng(0)
    items = table(rng.normal(size=(15, 3)))
    data = Comparisons(items, draw_pairs(15, 60, rng), y=rng.choice([-1, 1], 60))
    est = ConvexIdealPoint(regularization=0.1).fit(data)
    for told in (est.explain(), est.model_.explain()):
        assert told.has_pattern is None
        assert "a coin's answers would give such numbers, too" in flat(told)
        assert "what is wanted" not in flat(told)


@pytest.mark.slow
def test_a_model_file_keeps_what_is_not_known() -> None:
    """As the fit said it."""
    est = IdealPoint(metric="full").fit(answered(table(np.eye(4) + 0.1), np.arange(4.0), 6))
    told = est.explain()
    model = replace(est.model_, findings=told.findings())
    assert told.unknowns and model.explain().unknowns == told.unknowns


@pytest.mark.slow
def test_a_feature_that_does_not_matter_gets_no_verdict() -> None:
    """The answers are as likely without it; of the other one they tell which way is better."""
    items = np.random.default_rng(4).uniform(-1, 1, (30, 2))
    est = IdealPoint().fit(answered(table(items), 4 * items[:, 0], 80))
    matters, other = est.explain().ideal
    assert matters.verdict == "less is better"
    assert other.verdict in ("not known", "hardly matters") and not other.shape
    assert est.description().leanings.tolist() == [-1, 0]  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_copy_of_a_feature_does_not_make_it_one_that_does_not_matter() -> None:
    """Both are left out together to see whether they matter."""
    items = np.random.default_rng(4).uniform(-1, 1, (30, 2))
    est = IdealPoint().fit(answered(table(items[:, [0, 1, 0]]), 4 * items[:, 0], 80))
    described = est.description()
    assert described is not None
    assert min(described._log_odds_of(0), described._log_odds_of(2)) > 5 > described._log_odds_of(1)


def test_which_way_is_better_is_told_where_a_best_value_is_not_known(told: Explanation) -> None:
    """In the table, and among what is not known."""
    first = replace(told.ideal[0], verdict="not known", value=None, low=None, high=None)
    text = flat(replace(told, ideal=(replace(first, shape="less rather than more"), *told.ideal[1:])))
    assert "less rather than more" in text


def test_nothing_is_called_unknown_where_all_is_known() -> None:
    """Both features matter to this person."""
    truth = make_preferences(12, 2, 60, random_state=2)
    told = explain(IdealPoint(truth.items).fit(truth.pairs, truth.y))
    assert not told.unknowns and "Nothing stands out" in flat(told)


def test_ceiling_of_contradictory_answers_by_hand() -> None:
    """(0, 1) is 3 to 1, (1, 2) is tied, (2, 3) stands: (3 + 1/2 + 2) / 7."""
    data = Comparisons(
        [[0.0], [1.0], [2.0], [3.0]],
        [[0, 1], [0, 1], [0, 1], [1, 2], [2, 3]],
        y=[1, 1, -1, 0, 1],
        weights=[2, 1, 1, 1, 2],
    )
    told = explain(IdealPoint(lapse=0.1).fit(data))
    assert told.trust.ceiling == pytest.approx(5.5 / 7)
    assert (told.trust.asked_again, told.trust.contradicted, told.trust.ties) == (1, 1, 1)
    assert "With 1 contradicted pair and 1 tie, no model can agree with more than 79 %." in flat(told)


def test_a_planted_answer_is_the_most_surprising() -> None:
    """The worst item chosen over the best, once, among 80 good answers."""
    items = np.random.default_rng(7).uniform(-2, 2, (30, 2))
    scores = ((items - 0.3) ** 2).sum(axis=1)
    data = answered(table(items), scores, 80)
    pairs = [
        *zip(np.where(data.y > 0, *data.pairs.T), np.where(data.y > 0, *data.pairs.T[::-1]), strict=True)
    ]
    best, worst = scores.argmin(), scores.argmax()
    est = IdealPoint(items).fit([*pairs, (worst, best)])
    first = explain(est).trust.surprises[0]
    assert (first.winner, first.loser) == (f"item {worst}", f"item {best}")
    assert first.probability < 0.2
    assert first.text.startswith(f"chose item {worst} over item {best} although the model gives that ")


def test_answers_given_at_random_are_told() -> None:
    truth = make_preferences(40, 2, 80, noise=0.2, random_state=3)
    told = explain(IdealPoint(truth.items, lapse=0.3).fit(truth.pairs, truth.y))
    assert told.trust.lapse == pytest.approx(0.3)
    assert "30 % of the answers look as if they were given at random." in flat(told)


@pytest.mark.slow
def test_a_share_of_careless_answers_is_told_only_where_the_answers_bear_it_out() -> None:
    """Of 12 answers, that share is what it was before any: its prior."""
    truth = make_preferences(40, 2, 12, random_state=3)
    est = IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y)
    told = explain(replace_lapse(est, np.linspace(0.001, 0.3, 100)))
    assert "at random" not in flat(told) and told.trust.lapse_low < 0.03 < told.trust.lapse_high
    told = explain(replace_lapse(est, np.linspace(0.1, 0.3, 100)))
    assert not told.has_pattern or "11 % to 29 % of the answers look as if" in flat(told)


def replace_lapse(est: IdealPoint, lapses: Any) -> IdealPoint:
    """The fit with other draws of the share of careless answers."""
    changed = copy.copy(est)
    draws = np.resize(lapses, len(est.posterior_))
    changed.posterior_ = replace(est.posterior_, lapses=draws)
    changed.lapse_ = float(draws.mean())
    return changed


def test_chains_that_disagree_are_warned_of() -> None:
    truth = make_preferences(20, 2, 40, random_state=4)
    est = IdealPoint(truth.items, metric="full").fit(truth.pairs, truth.y)
    est.posterior_ = replace(est.posterior_, rhat=1.62, sampled=False)
    apart, gaussian = explain(est).trust.warnings
    assert apart.startswith("The sampler's chains did not agree (R-hat 1.62")
    assert "Gaussian" in gaussian


def test_an_anti_ideal_direction_is_flagged(anti_ideal: Comparisons) -> None:
    """The middle is the worst, in the directions, in the verdict with its place, and in a warning."""
    told = explain(IdealPoint(metric="signed").fit(anti_ideal))
    assert told.directions[0].anti_ideal and told.directions[0].loadings[0][0] == "feature 0"
    assert sum(one.share for one in told.directions) == pytest.approx(1, abs=0.02)
    assert told.ideal[0].verdict == "the middle is the worst"
    assert "anti-ideal" in told.trust.cautions
    assert "The middle is the worst, not the best: feature 0." in told.trust.warnings
    assert told.ideal[0].value == pytest.approx(0, abs=0.2)
    assert re.search(r"feature 0 +\d+ % +the middle is the worst, about -?0\.\d\d", str(told))


@pytest.mark.slow
def test_where_more_is_better_no_middle_is_said_to_be_the_worst() -> None:
    """A signed metric may bend either way without any answer that says so."""
    items = np.random.default_rng(2).uniform(-1, 1, (40, 3))
    told = explain(IdealPoint(metric="signed").fit(answered(table(items), items @ [2.0, -1.0, 0.5], 60)))
    assert "sweet spot" not in {one.verdict for one in told.ideal}
    assert ("anti-ideal" in told.trust.cautions) == any("worst" in one.verdict for one in told.ideal)


def test_an_average_of_kinds_is_called_one(anti_ideal: Comparisons) -> None:
    """It is not advised to use one of the kinds that are in it."""
    est = IdealPoint(metric="auto").fit(anti_ideal)
    assert set(est.kind_weights_) == {"smooth+"}
    assert not any("metric='signed'" in warning for warning in explain(est).trust.warnings)


@pytest.mark.slow
def test_an_ideal_fitted_to_anti_ideal_answers_is_warned_of(anti_ideal: Comparisons) -> None:
    told = explain(IdealPoint(metric="full", item_effects=False).fit(anti_ideal), compare=True)
    assert told.trust.advice.startswith("A richer kind, 'an ideal or a worst point")
    # The middle is the worst, so that an ideal finds nothing; the page does not blame the answers.
    assert not told.has_pattern and "For this kind of preference they tell no more" in flat(told)


def test_linear_taste_has_slopes_and_no_ideal() -> None:
    """Slopes for one standard deviation, in the ratio of the truth."""
    items = np.random.default_rng(8).uniform(0, 1, (40, 2)) * [10, 1]
    data = answered(table(items, None, ["rent", "size"]), items[:, 0] / 10 - 0.5 * items[:, 1], 80)
    told = explain(IdealPoint(metric="none").fit(data))
    rent, size = told.slopes
    assert (rent.feature, size.feature) == ("rent", "size")
    assert rent.share + size.share == pytest.approx(1) and 0.55 < rent.share < 0.8
    assert rent.gain < 0 < size.gain
    assert [one.verdict for one in told.ideal] == ["less is better", "more is better"]
    assert not told.directions and all(one.value is None for one in told.ideal)
    assert not any(one.kind == "unseen direction" for one in told.unknowns)


def test_a_simpler_kind_that_predicts_better_is_advised(phones: IdealPoint, told_phones: Explanation) -> None:
    """Linear answers: the least log loss decides, and the kind in use is marked."""
    kinds = {one.metric: one for one in told_phones.trust.kinds}
    assert [one.metric for one in told_phones.trust.kinds if one.in_use] == ["full"]
    assert kinds["none"].log_loss == min(one.log_loss for one in phones.kinds())
    assert "A simpler kind, 'more or less is better (linear)'," in told_phones.trust.advice
    assert "metric='none' fits it" in told_phones.trust.advice


@pytest.mark.slow
def test_the_kinds_in_use_are_marked_also_of_an_average(anti_ideal: Comparisons) -> None:
    """A smooth taste that has all the weight is in use; of an average, each kind with its share."""
    est = IdealPoint().fit(anti_ideal)
    told = explain(est, compare=True)
    assert set(est.kind_weights_) == {"smooth+"} and not told.trust.advice
    assert [one.metric for one in told.trust.kinds if one.in_use] == ["smooth"]
    assert re.search(r"anything smooth .* in use", flat(told))
    est.kind_weights_ = {"full": 0.3, "smooth+": 0.7}
    told = explain(est, compare=True)
    assert [(one.metric, one.weight) for one in told.trust.kinds if one.in_use] == [
        ("full", 0.3),
        ("smooth", 0.7),
    ]
    assert "in use (30 % of the average)" in flat(told) and "in use (70 % of the average)" in flat(told)


@pytest.mark.slow
@pytest.mark.long
def test_item_effects_are_told_by_their_size() -> None:
    """Items that answers rank against their features."""
    rng = np.random.default_rng(9)
    items, scores = rng.uniform(-1, 1, (12, 2)), rng.normal(size=12)
    est = IdealPoint(metric="full", item_effects=True).fit(answered(table(items), scores, 60))
    told = explain(est, compare=True)
    spread = np.std(est.item_effects_) / est.model_.distance(items).std()
    assert told.trust.effects == pytest.approx(spread)
    assert [one.in_use for one in told.trust.kinds] == [False] * 7 + [True]
    assert "Items differ by more than their features tell" in flat(told)


@pytest.mark.slow
def test_item_effects_are_told_only_where_the_answers_bear_them_out() -> None:
    """A smooth taste always allows for them."""
    rng = np.random.default_rng(1)
    items = rng.uniform(-1, 1, (30, 2))
    bent = np.exp(2 * items[:, 0]) - items[:, 1]
    for own, is_told in ((np.zeros(30), False), (2.5 * rng.normal(size=30), True)):
        data = answered(table(items), bent + own, 200)
        told = IdealPoint(metric="smooth").fit(data).explain()
        assert (told.trust.effects is not None) is is_told
        assert ("Items differ by more" in flat(told)) is is_told


def test_an_average_that_is_all_smooth_is_not_called_an_average(told: Explanation) -> None:
    """And what the words describe is said either way."""
    for weight, said in ((0.4, "averages an ideal (60 %) with any"), (0.99, "speak for a smooth taste")):
        text = flat(replace(told, trust=replace(told.trust, smooth_weight=weight)))
        assert said in text and "are those of the ideal alone" in text


def test_ranking_is_the_estimator_s(sweet: IdealPoint, told: Explanation) -> None:
    """The best `top`, with the intervals of their ranks in words."""
    assert [one.item for one in told.ranking] == [f"item {i}" for i in sweet.rank()[:10]]
    ends = sweet.rank_interval(level=0.9)[sweet.rank()[:10]]
    assert [(one.best, one.worst) for one in told.ranking] == [tuple(row) for row in ends]
    assert [one.distance for one in told.ranking] == pytest.approx(np.sort(sweet.distance())[:10])
    third = told.ranking[2]
    assert third.text.startswith("3rd, between ") and third.text in flat(told)
    assert len(explain(sweet, top=3).ranking) == 3


def test_other_items_can_be_ranked(sweet: IdealPoint) -> None:
    told = explain(sweet, items=table([sweet.ideal_point_, [9.0, 9.0]], ["here", "far"]), top=5)
    assert [one.item for one in told.ranking] == ["here", "far"]
    assert told.n_items == 50


def test_a_fit_without_posterior_says_that_there_are_no_intervals(hinge: IdealPoint) -> None:
    """All else is there."""
    told = explain(hinge)
    assert not told.intervals and kinds_of(told) >= {"no intervals"}
    assert all(one.low is None and one.high is None for one in told.ideal)
    assert all(one.best is None for one in told.ranking) and told.ranking[0].text == "1st"
    assert told.directions and told.trust.agreement > 0.9 and told.trust.basis == "none"
    assert "how well it predicts other answers is not known" in flat(told)
    assert "How sure any of this is: the fit is the optimum of a convex program" in flat(told)
    json.dumps(told.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_pairs_of_vectors_are_called_by_their_vectors() -> None:
    """Without an items table positions mean nothing to the user."""
    truth = make_preferences(20, 2, 40, random_state=0)
    told = explain(IdealPoint().fit(truth.items[truth.pairs], truth.y))
    first = told.ranking[0]
    assert first.item == f"({first.values[0]:.2f}, {first.values[1]:.2f})"


class Reader(HTMLParser):
    """Tags opened, and texts between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_names_are_escaped_in_html(told_phones: Explanation) -> None:
    """No tag but the page's own; every tag is closed, and names come out as they went in."""
    page = Reader()
    page.feed(told_phones._repr_html_())
    allowed = {"section", "h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(page.tags) <= allowed and not page.open
    assert page.tags.count("section") == page.tags.count("h2") == 5
    assert "<b>battery" in page.texts
    assert "<script" not in told_phones._repr_html_()


def test_an_item_named_as_a_script_is_escaped(phones: IdealPoint) -> None:
    page = explain(phones, item=SCRIPT, top=30)._repr_html_()
    assert "<script" not in page and page.count("&lt;script&gt;") >= 2


def test_to_dict_is_json(told: Explanation, told_phones: Explanation) -> None:
    """Plain types only, NaN nowhere, sentences under text."""
    for one in (told, told_phones):
        data = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert data == one.to_dict()
        assert data["directions"][0]["text"] == one.directions[0].text
        assert len(data["ranking"]) == 10


def test_text_is_a_page_with_five_headings(told: Explanation, told_phones: Explanation) -> None:
    """No line is too long, and none ends in a blank."""
    titles = [
        "What matters",
        "Trade-offs",
        "What is not known",
        "How far to trust it",
        "Ranking",
    ]
    for page in (str(told), str(told_phones)):
        lines = page.split("\n")
        assert [line for line in lines if line in titles] == titles
        assert max(map(len, lines)) <= 110
        assert all(line == line.rstrip() for line in lines)


@pytest.mark.slow
def test_long_names_and_many_features_fit_the_page() -> None:
    """Cells are wrapped, columns that do not fit are counted, and control characters are gone."""
    rng = np.random.default_rng(10)
    items = rng.normal(size=(20, 9))
    features = [f"a feature of some length, number {j}" for j in range(9)]
    names = [f"an item\x1b[31m with a very long name\n that goes on and on and on, {i}" for i in range(20)]
    data = answered(table(items, names, features), (items**2).sum(axis=1), 40)
    page = str(explain(IdealPoint(metric="identity").fit(data)))
    assert max(map(len, page.split("\n"))) <= 110
    assert "columns more)" in page and "\x1b" not in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 1.0}, "level is 1.0; it must be between 0 and 1"),
        ({"level": "0.9"}, "level is '0.9'"),
        ({"level": float("nan")}, "level is nan"),
        ({"top": 0}, "top is 0; it must be a positive whole number"),
        ({"top": 2.5}, "top is 2.5"),
        ({"top": True}, "top is True"),
        ({"items": [[1.0, 2.0, 3.0]]}, "The items have 3 features"),
    ],
)
def test_bad_parameters_are_refused(sweet: IdealPoint, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(sweet, **arguments)


def test_only_a_fitted_ideal_point_is_explained() -> None:
    with pytest.raises(InputError, match="explain is for a fitted IdealPoint; this is a SingleStep"):
        explain(SingleStep())  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        explain(IdealPoint())


@pytest.mark.slow
def test_kinds_are_only_compared_where_that_is_asked_for(sweet: IdealPoint, told: Explanation) -> None:
    """Accuracy on answers left out is there in any case."""
    assert not told.trust.kinds and not told.trust.advice
    assert told.trust.basis == "left out" and told.trust.accuracy > 0.8 and told.trust.log_loss < 0.5
    compared = explain(sweet, compare=True).trust
    (used,) = (kind for kind in compared.kinds if kind.in_use)
    assert (used.accuracy, used.log_loss) == (told.trust.accuracy, told.trust.log_loss)


@pytest.mark.slow
def test_several_tastes_in_one_are_suspected_where_many_answers_go_against_the_model() -> None:
    rng = np.random.default_rng(0)
    items, ideals = rng.uniform(-2, 2, (60, 2)), np.array([[-1.2, 0.0], [1.2, 0.0]])
    taste = rng.integers(0, 2, 120)
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in taste])
    cautions = []
    for moods in (taste, np.zeros_like(taste)):
        distances = ((items[pairs] - ideals[moods][:, None]) ** 2).sum(axis=2)
        data = Comparisons(items, pairs, y=np.where(distances[:, 0] < distances[:, 1], 1, -1))
        told = IdealPoint(random_state=0).fit(data).explain(compare=False)
        cautions.append(any("several tastes or people" in one for one in told.trust.warnings))
    assert cautions == [True, False]


# Nothing is claimed that the answers do not support.


@pytest.fixture(scope="module")
def contradicted() -> Explanation:
    """Every pair was answered both ways."""
    items = np.random.default_rng(11).uniform(-1, 1, (12, 2))
    pairs = draw_pairs(12, 25, np.random.default_rng(11))
    data = Comparisons(table(items, None, ["rent", "size"]), np.concatenate([pairs, pairs[:, ::-1]]))
    return explain(IdealPoint().fit(data))


def test_a_clear_taste_is_a_pattern_and_contradictions_are_none(
    told: Explanation, told_phones: Explanation, contradicted: Explanation
) -> None:
    assert told.has_pattern and told_phones.has_pattern and not contradicted.has_pattern
    assert told.trust.log_odds > 5 > 0 > contradicted.trust.log_odds
    assert contradicted.trust.accuracy <= 0.6 and contradicted.trust.log_loss > 0.65


@pytest.mark.slow
@pytest.mark.long
def test_coin_tossers_have_no_pattern() -> None:
    """The odds of 3 to 1 that a pattern takes come up for a coin less than one time in three."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        items, pairs = rng.uniform(-1, 1, (20, 2)), draw_pairs(20, 30, rng)
        est = IdealPoint(items).fit(pairs, rng.choice([-1, 1], 30))
        found += explain(est).has_pattern
    assert found <= 2


def test_without_a_pattern_nothing_is_claimed(contradicted: Explanation) -> None:
    """Neither in the records, nor in the text, nor as HTML."""
    plain = contradicted.to_dict()
    assert not plain["has_pattern"]
    assert not any(plain[name] for name in ("directions", "slopes", "trade_offs", "ranking"))
    for one in contradicted.ideal:
        assert (one.value, one.low, one.high, one.verdict) == (None, None, None, "not known")
    claims = ("is better", "sweet spot", "is worth", "Ranking", "best at", "What matters", "1st")
    for page in (str(contradicted), contradicted._repr_html_()):
        assert "No pattern found yet" in page and not any(claim in page for claim in claims)


def test_of_several_people_without_a_pattern_each_may_have_one() -> None:
    """Their answers together say nothing of what each says; people may be called by anything."""
    items = np.arange(8.0)[:, None]
    pairs = [(i, i + 1) for i in range(7)]
    data = Comparisons(
        items, pairs * 2, y=[1] * 7 + [-1] * 7, users=np.array([1] * 7 + ["Bo"] * 7, dtype=object)
    )
    told = IdealPoint(metric="none").fit(data).explain()
    assert told.n_people == 2 and not told.has_pattern
    assert "Taken for one person's, they tell no more than" in str(told).replace("\n", " ")
    assert "More answers may" not in str(told)
    html = report(IdealPoint(metric="none").fit(data))
    assert "each person&#x27;s alone may have a pattern" in html


def test_claims_that_are_withdrawn_leave_nothing_behind(told_phones: Explanation) -> None:
    """As of somebody who looked at sides alone: not even how well a taste predicts that is none."""
    left = told_phones.without_claims()
    assert not left.has_pattern and not left.ranking and not left.trade_offs and left.trade_off_item == ""
    page = str(left)
    assert "No pattern found yet" in page and "%" not in page and "better" not in page
    assert "single pair" not in page and "Surprising" not in page and told_phones.ranking[0].item not in page
    again = Explanation.from_findings(json.loads(json.dumps(left.findings())))
    assert not again.has_pattern and str(again).startswith("No pattern found yet")


@pytest.fixture(scope="module")
def tastes() -> list[Explanation]:
    """Flats: cheap is better, some size is best; linear, with a weak feature; an ideal at the edge."""
    rng = np.random.default_rng(12)
    items = rng.uniform(0, 1, (40, 4))
    scores = [
        3 * items[:, 0] + 8 * (items[:, 1] - 0.5) ** 2,
        3 * items[:, 0] - 2 * items[:, 1] + items[:, 2] + 0.05 * items[:, 3],
        4 * (items[:, 0] - 1) ** 2 + 4 * (items[:, 1] - 0.1) ** 2 - items[:, 2],
    ]
    features = table(items, None, ["rent", "size", "noise", "floor"])
    return [explain(IdealPoint(metric="diagonal").fit(answered(features, one, 120))) for one in scores]


@pytest.mark.slow
@pytest.mark.long
def test_a_value_is_told_of_a_sweet_spot_alone_and_within_the_items(
    tastes: list[Explanation], told: Explanation
) -> None:
    for one in (told, *tastes):
        for feature, wanted in zip(one.features, one.ideal, strict=True):
            if wanted.verdict != "sweet spot":
                assert (wanted.value, wanted.low, wanted.high) == (None, None, None)
                continue
            assert feature.lowest <= wanted.low <= wanted.value <= wanted.high <= feature.highest
    assert tastes[0].ideal[0].verdict == "less is better" and tastes[0].ideal[1].verdict == "sweet spot"
    assert tastes[0].ideal[1].low <= 0.5 <= tastes[0].ideal[1].high


@pytest.mark.slow
def test_trade_offs_agree_with_the_verdicts(tastes: list[Explanation]) -> None:
    """They gain of the one feature what is wanted and lose of the other, between known features alone."""
    assert tastes[1].trade_offs
    for one in tastes:
        verdicts = {wanted.feature: wanted.verdict for wanted in one.ideal}
        for trade_off in one.trade_offs:
            for name, gain in (
                (trade_off.feature, trade_off.change),
                (trade_off.other, -trade_off.other_change),
            ):
                assert verdicts[name] in ("more is better", "less is better", "sweet spot")
                assert gain > 0 or verdicts[name] != "more is better"
                assert gain < 0 or verdicts[name] != "less is better"
            ends = sorted([abs(trade_off.low), abs(trade_off.high)])
            assert ends[0] <= abs(trade_off.other_change) <= ends[1]


def test_findings_go_through_a_model_file(sweet: IdealPoint, told_phones: Explanation) -> None:
    """What the model says is then what the fit said: the same table, trade-offs and accuracy."""
    model = Model.from_json(replace(sweet.model_, findings=told_phones.findings()).to_json())
    again = Explanation.from_findings(model.findings or {})
    for name in ("has_pattern", "features", "ideal", "trade_off_item", "trade_offs"):
        assert getattr(again, name) == getattr(told_phones, name)
    parts = str(told_phones).split("\n\n")
    assert parts[:2] == str(model.explain()).split("\n\n")[:2]
    assert (again.trust.accuracy, again.trust.basis) == (told_phones.trust.accuracy, "left out")


def test_findings_keep_warnings(sweet: IdealPoint, told_phones: Explanation) -> None:
    """What to be careful about is said by the model too; older files have none, broken ones are refused."""
    careful = replace(told_phones.trust, warnings=("Beware.",), cautions=("few answers",))
    findings = replace(told_phones, trust=careful).findings()
    model = Model.from_json(replace(sweet.model_, findings=findings).to_json())
    assert "Careful: Beware." in str(model.explain())
    trust = {name: value for name, value in findings["trust"].items() if name not in ("warnings", "cautions")}
    assert Explanation.from_findings(findings | {"trust": trust}).trust.warnings == ()
    for broken in ({"warnings": [3], "cautions": ["a"]}, {"warnings": ["a"]}, {"warnings": "a"}):
        with pytest.raises(InputError, match="findings cannot be read"):
            Explanation.from_findings(findings | {"trust": trust | broken})


def test_a_fit_and_a_model_give_the_same_type(sweet: IdealPoint, told: Explanation) -> None:
    """What a model cannot know is missing, and not said."""
    alone = sweet.model_.explain()
    kept = replace(sweet.model_, findings=told.findings()).explain()
    assert type(alone) is type(kept) is type(told) is Explanation
    assert (told.source, kept.source, alone.source) == ("fit", "findings", "model")
    assert [one.value for one in alone.ideal] == pytest.approx(sweet.ideal_point_.tolist())
    assert alone.has_pattern is alone.n_answers is alone.trust.contradicted is None
    assert set(alone.to_dict()) == set(kept.to_dict()) == set(told.to_dict())
    for page in (str(alone), str(kept)):
        assert "nan" not in page.lower() and "Nothing stands out" not in page and "None" not in page
    assert "How far to trust it" in str(kept) and "How far to trust it" not in str(alone)


def test_a_smooth_model_without_findings_says_that_its_words_need_them(anti_ideal: Comparisons) -> None:
    """It has no single ideal; with the findings it says what the fit said."""
    est = IdealPoint(metric="smooth").fit(anti_ideal)
    model = Model.from_json(est.model_.to_json())
    assert model.bumps is not None
    told = model.explain()
    assert told.metric == "smooth" and not told.ideal and not told.directions and not told.trade_offs
    assert "there is no single ideal to tell. Its words need the findings of the fit" in flat(told)
    assert "sweet spot" not in str(told) and "is better" not in str(told)
    with_findings = replace(model, findings=est.explain().findings()).explain()
    assert "need the findings" not in str(with_findings) and with_findings.ideal == est.explain().ideal


def test_insights_import_nothing_of_render_but_to_print() -> None:
    """Records know of no page; render computes no number."""
    folder = Path(coombs.__file__).parent
    for path in (folder / "insights").glob("*.py"):
        tree = ast.parse(path.read_text())
        named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        above = {name for name in named if name.startswith("coombs.render")}
        assert path.name in ("explanation.py", "people_explanation.py") or not above, path
        at_once = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not above & at_once, path


def test_a_model_without_a_pattern_claims_nothing(sweet: IdealPoint, contradicted: Explanation) -> None:
    page = str(replace(sweet.model_, findings=contradicted.findings()).explain())
    assert page.startswith("No pattern found yet") and "is better" not in page and "sweet" not in page


@pytest.mark.parametrize(
    "change",
    [
        {"ideal": [{"feature": "rent"}]},
        {"features": 3},
        {"trust": {"basis": "left out"}},
        {"trust": {"accuracy": "much", "log_loss": 0.1, "basis": "left out"}},
        {"trust": None},
        {"metric": "unheard-of"},
        {"n_answers": "many"},
        {"level": None},
        {"level": float("inf")},
        {"ideal": [{"feature": "a", "value": 1, "low": 0, "high": 2, "share": 1, "verdict": "sweet spot"}]},
        {"shapes": [{"feature": "a", "kind": "two peaks", "at": [], "probability": 1}]},
        {
            "trade_offs": [
                {"feature": "a", "change": 1, "other": "b", "other_change": [], "low": 1, "high": 2}
            ]
        },
    ],
    ids=str,
)
def test_findings_that_cannot_be_read_are_refused(told: Explanation, change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="The model's findings cannot be read"):
        Explanation.from_findings(told.findings() | change)


@pytest.mark.slow
@pytest.mark.long
def test_several_people_are_never_said_to_answer_at_random() -> None:
    """Where people differ their answers look random, to a model of all of them."""
    items = np.random.default_rng(13).uniform(-1, 1, (20, 2))
    data = answered(table(items), items[:, 0], 60)
    users = np.repeat(["ann", "bo"], 30)
    told = explain(IdealPoint(lapse=0.3).fit(Comparisons(items, data.pairs, y=data.y, users=users)))
    assert told.n_people == 2 and told.has_pattern
    assert "by 2 people together" in flat(told) and "of the answers look as if" not in flat(told)
    alone = explain(IdealPoint(lapse=0.3).fit(data))
    assert alone.n_people == 1 and "30 % of the answers look as if" in flat(alone)


@pytest.mark.slow
@pytest.mark.long
def test_of_chosen_questions_a_kind_does_not_judge_itself_alone() -> None:
    """An ideal fitted to linear tastes is surer of itself than it should be: the evidence is for a slope."""
    told, itself = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        items = rng.normal(size=(40, 3))
        pairs = draw_pairs(40, 40, rng)
        y = draw_answers(2 * items @ rng.normal(size=3), pairs, "logistic", rng)
        est = IdealPoint(items, metric="full").fit(pairs, y)
        told.append(explain(est, chosen=True).trust.accuracy)
        q = est.predict_proba(draw_pairs(40, 700, rng))[:, 1]
        itself.append(np.maximum(q, 1 - q).mean())
    assert np.mean(told) < np.mean(itself) - 0.012


@pytest.mark.slow
def test_items_that_are_called_by_numbers_are_judged_as_others_are() -> None:
    """Random pairs are positions, not names."""
    truth = make_preferences(12, 2, 30, random_state=0)
    numbers = np.arange(100, 112)[::-1].astype(object)
    told = []
    for names in (None, numbers, numbers - 100):
        items = ItemTable(truth.items, names, None, names is not None)
        data = Comparisons.at_positions(items, truth.pairs, truth.y.astype(np.int8), np.ones(30))
        told.append(explain(IdealPoint().fit(data), chosen=True).trust.accuracy)
    assert told[0] == told[1] == told[2]


def test_chosen_questions_are_judged_by_the_evidence(sweet: IdealPoint) -> None:
    """Answers left out are no test where later questions depend on them."""
    trust = explain(sweet, chosen=True, compare=True).trust
    assert trust.basis == "evidence" and not trust.kinds
    assert 0.75 < trust.accuracy <= 1 and trust.log_loss < 0.5


def test_the_interval_of_a_best_value_is_not_the_priors() -> None:
    """Draws of the prior, which holds the middle for likelier, leave all values of items as likely."""
    rng = np.random.default_rng(0)
    sizes = IDEAL_DISTANCE * np.exp(LOG_IDEAL * rng.standard_normal((20_000, 1)))
    ideals = 50.0 + 10.0 * sizes * rng.standard_normal((20_000, 1))
    draws = Posterior(np.full(1, 50.0), np.ones((20_000, 1, 1)), ideals, ideals, np.zeros(20_000))
    (interval,) = _best_values(draws, [FeatureRange("x", 35.0, 65.0, 10.0, 3, False)], np.full(1, 10.0), 0.8)
    # What lies beyond the items counts as at their end.
    assert interval[0] <= 38.5 and interval[1] >= 61.5
    narrow = draws.ideal_interval(0.8)[0]
    assert interval[0] < narrow[0] - 3 and interval[1] > narrow[1] + 3


@pytest.mark.parametrize(("slope", "is_told"), [(1.0, True), (-1.0, False)])
def test_a_trade_off_goes_the_way_of_an_average_direction(slope: float, is_told: bool) -> None:
    """Where only that is known of a feature, and hardly a draw may disagree at the item."""
    verdict = FeatureVerdict("rent", None, None, None, 0.5, NOT_KNOWN, RATHER_LESS)
    draws = np.full(1_000, slope)
    assert _is_known(slope, draws, verdict) is is_told
    draws[:10] *= -1
    assert not _is_known(slope, draws, verdict)
    assert not _is_known(slope, np.full(1_000, slope), replace(verdict, shape=""))
