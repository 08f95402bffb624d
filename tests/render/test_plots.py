"""Pictures and the report: the numbers behind them, that everything is drawn, and that nothing leaks."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from coombs import (
    Alternating,
    Comparisons,
    ConvexIdealPoint,
    EuclideanCompass,
    IdealPoint,
    InputError,
    SingleStep,
)
from coombs.data.tables import ItemTable
from coombs.simulate import draw_answers, draw_pairs

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("few_draws")

from coombs import plots  # noqa: E402
from coombs.insights import explain  # noqa: E402
from coombs.insights.statements import NOT_KNOWN, FeatureVerdict  # noqa: E402
from coombs.insights.surface import swap_shares  # noqa: E402
from coombs.insights.what_matters import Ranking, WhatMatters  # noqa: E402
from coombs.render.canvas import free_place, shown, wrapped  # noqa: E402
from coombs.render.captions import mark_caption  # noqa: E402
from coombs.render.html import _summary, report  # noqa: E402
from coombs.words import in_words, number  # noqa: E402

FEATURES = ("price", "size", "minutes", "age")
KINDS = ("full", "none", "signed", "single_step", "alternating", "compass", "convex")
NASTY = ("$x_1$ & <script>alert('1')</script>", 'a "quoted" name\nof two lines', "\\$5", "x" * 200, "$")
VOID = ("meta", "img", "br", "hr", "link", "input")


def make_flats(n=30, names=None, features=FEATURES, seed=3):
    rng = np.random.default_rng(seed)
    size = rng.uniform(25, 110, n)
    columns = [300 + 7.5 * size + rng.normal(0, 150, n), size, rng.uniform(5, 60, n), rng.uniform(0, 90, n)]
    names = [f"Flat {i}" for i in range(n)] if names is None else names
    matrix = np.column_stack(columns[: len(features)])
    return ItemTable(matrix, np.array(names, dtype=object), np.array(features, dtype=object), False)


def ask(table, score, n=60, seed=1):
    rng = np.random.default_rng(seed)
    pairs = draw_pairs(len(table.matrix), n, rng)
    return Comparisons(table, pairs, y=draw_answers(score, pairs, None, rng))


def standardised(table):
    return (table.matrix - table.matrix.mean(axis=0)) / table.matrix.std(axis=0)


def near(table, point=0.3):
    away = standardised(table) - point
    root = np.array([[1.0, -0.6, 0, 0], [0.5, 0.9, 0, 0], [0, 0, 0.8, 0], [0, 0, 0, 0.3]])[:, : away.shape[1]]
    return 4 * ((away @ root.T) ** 2).sum(axis=1)


def fit(kind):
    table = make_flats()
    z = standardised(table)
    linear = z @ np.array([1.2, -1.5, 1.0, 0.1])
    if kind == "none":
        # The estimator divides by the eigenvalues of a metric that is zero.
        with np.errstate(all="ignore"):
            return IdealPoint(metric="none").fit(ask(table, 3 * linear))
    if kind == "signed":
        return IdealPoint(metric="signed").fit(ask(table, 4 * z[:, 0] ** 2 - 3 * z[:, 1] ** 2 + z[:, 2]))
    made = {
        "full": IdealPoint(),
        "single_step": SingleStep(standardize=True),
        "alternating": Alternating(standardize=True),
        "compass": EuclideanCompass(standardize=True),
        "convex": ConvexIdealPoint(loss="hinge"),
    }
    return made[kind].fit(ask(table, linear if kind == "compass" else near(table)))


@pytest.fixture(scope="module")
def fits(few_draws):
    return {kind: fit(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def full(fits):
    return fits["full"]


def render(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


# The numbers.


@pytest.mark.slow
@pytest.mark.long
def test_level_grid_is_the_estimators_distance(fits):
    for est in fits.values():
        data = plots.level_sets_data(est, "price", 2, size=7)
        for row, column in ((0, 0), (3, 5), (6, 6)):
            point = data.base.copy()
            point[[0, 2]] = data.xs[column], data.ys[row]
            assert data.distance[row, column] == pytest.approx(est.distance(point[None])[0])


def test_level_sets_are_at_the_ideal_point_with_its_interval(full):
    data = plots.level_sets_data(full, "size", "minutes", level=0.8)
    assert data.features == ("size", "minutes") and data.kind == "ideal" and data.is_ideal and data.inside
    np.testing.assert_array_equal(data.turning, full.ideal_point_[[1, 2]])
    np.testing.assert_array_equal(data.base, full.ideal_point_)
    np.testing.assert_array_equal(
        data.interval, [(one.low, one.high) for one in explain(full, level=0.8).ideal[1:3]]
    )


def test_items_have_the_estimators_ranks(fits):
    for est in fits.values():
        data = plots.level_sets_data(est, 0, 1, size=5)
        assert [data.names[i] for i in np.argsort(data.ranks)] == list(est.rank())
        np.testing.assert_array_equal(data.points, est.item_table_.matrix[:, :2])


def test_other_features_elsewhere_move_the_best_place_to_where_the_distance_is_least(full):
    data = plots.level_sets_data(full, "price", "size", at={"minutes": 50.0})
    assert data.base[2] == 50.0 and data.base[3] == full.ideal_point_[3] and not data.is_ideal
    best = data.base.copy()
    best[:2] = data.turning
    for step in ([5.0, 0], [-5, 0], [0, 0.5], [0, -0.5]):
        assert full.distance([best + np.array([*step, 0, 0])])[0] > full.distance([best])[0]
    assert (data.interval[:, 0] < data.turning).all() and (data.turning < data.interval[:, 1]).all()
    every = plots.level_sets_data(full, "price", "size", at=data.base)
    np.testing.assert_allclose(every.distance, data.distance)


def test_a_best_place_that_depends_on_the_other_features_is_not_called_ideal(full):
    def legend(**options):
        figure = plots.level_sets(full, "price", "size", **options).figure
        return " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))

    assert "ideal point and its 90 % interval" in legend()
    elsewhere = dict(zip(("minutes", "age"), full.ideal_point_[2:] + 3, strict=True))
    words = legend(at=elsewhere)
    assert "best for these two, the other features at fixed values and its 90 % interval" in words
    assert "ideal" not in words and "Other features are at fixed values" in words


def test_levels_lie_between_the_least_and_the_greatest_distance(fits):
    for est in fits.values():
        data = plots.level_sets_data(est, 0, 1)
        assert (np.diff(data.levels) > 0).all()
        assert data.distance.min() < data.levels[0] and data.levels[-1] < data.distance.max()


def test_arrows_are_eigenvectors_of_the_metrics_block(full):
    data = plots.level_sets_data(full, 0, 1)
    scales = full.model_.scales[:2]
    one, other = data.axes / scales
    block = full.metric_[:2, :2] * np.outer(scales, scales)
    values = np.linalg.eigvalsh(block)[::-1]
    np.testing.assert_allclose(block @ one, values[0] * one, rtol=1e-6)
    np.testing.assert_allclose(block @ other, values[1] * other, rtol=1e-6)
    assert np.linalg.norm(one) == pytest.approx(1) and data.shares.sum() == pytest.approx(1)
    assert np.linalg.norm(other) == pytest.approx(np.sqrt(values[1] / values[0]))


def test_ideal_far_outside_leaves_the_picture_to_the_items(fits):
    est = fits["compass"]
    data = plots.level_sets_data(est, "price", "size")
    low, high = data.points.min(axis=0), data.points.max(axis=0)
    assert not data.inside
    assert data.xs[0] > low[0] - 0.1 * (high - low)[0] and data.xs[-1] < high[0] + 0.1 * (high - low)[0]
    middle = np.array([data.xs.mean(), data.ys.mean()])
    assert (np.sign(data.towards) == np.sign(est.ideal_point_[:2] - middle)).all()


def test_ideal_just_outside_is_reached(fits):
    est = copy.copy(fits["single_step"])
    top = est.item_table_.matrix.max(axis=0)
    est.ideal_point_ = top + 0.4 * np.ptp(est.item_table_.matrix, axis=0)
    est.model_ = replace(est.model_, ideal_point=est.ideal_point_)
    data = plots.level_sets_data(est, 0, 1)
    assert data.inside and data.towards is None
    assert data.xs[-1] > est.ideal_point_[0] and data.ys[-1] > est.ideal_point_[1]


def test_linear_preferences_have_no_turning_point_and_point_down_the_slope(fits):
    data = plots.level_sets_data(fits["none"], "price", "size")
    assert data.kind == "none" and np.isnan(data.turning).all() and not data.is_ideal
    assert data.interval is None and len(data.axes) == 0
    assert data.towards[0] < 0 < data.towards[1]
    np.testing.assert_allclose(data.base, fits["none"].item_table_.matrix.mean(axis=0))


def test_signed_metric_has_a_saddle(fits):
    data = plots.level_sets_data(fits["signed"], "price", "size")
    assert data.kind == "saddle" and data.inside and data.interval is not None


@pytest.fixture(scope="module")
def partly():
    """A taste with a best size, for less of a price, and of minutes at random, by two kinds of fit."""
    table = make_flats(features=FEATURES[:3])
    z = standardised(table)
    answers = ask(table, 4 * z[:, 0] + 6 * (z[:, 1] - 0.2) ** 2, n=150)
    return [IdealPoint(metric=metric).fit(answers) for metric in ("diagonal", "auto")]


@pytest.mark.slow
@pytest.mark.long
def test_a_point_is_marked_where_both_features_have_a_best_value_and_a_band_where_one_has(partly, fits):
    for est in (*partly, fits["full"], fits["signed"], fits["convex"]):
        told = {one.feature: one for one in est.explain().ideal}
        for panel in plots.feature_matrix_data(est).panels.values():
            values = [told[name].value for name in panel.features]
            assert panel.is_known == (None not in values)
            assert not panel.inside or panel.is_known
            assert (panel.band is None) == (values.count(None) != 1)
            assert len(panel.axes) == 0 or panel.is_known
            if panel.band is not None:
                name = panel.features[panel.band.axis]
                assert panel.band.value == told[name].value
                assert f"The band is where {name} is {panel.band.turn}" in mark_caption(panel, "cross")
            elif not panel.is_known:
                assert "No point is marked" in mark_caption(panel, "cross") or panel.towards is None
        for profile in plots.feature_matrix_data(est).profiles:
            assert np.isnan(profile.ideal) or told[profile.feature].verdict == "sweet spot"
    panel = plots.level_sets_data(partly[0], "price", "size")
    assert panel.band is not None and panel.band.axis == 1 and panel.towards[0] < 0 == panel.towards[1]


def test_without_a_pattern_nothing_is_marked():
    table = make_flats()
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)] * 4
    est = IdealPoint(metric="full").fit(Comparisons(table, pairs, y=[1] * 10 + [-1] * 10))
    panel = plots.level_sets_data(est, 0, 1)
    assert not panel.inside and panel.band is None and panel.towards is None and not len(panel.axes)
    assert panel.others == "their best guess" and "price: not known yet" in mark_caption(panel, "cross")
    assert np.isnan(plots.profile_data(est, 0).ideal)
    texts = [text.get_text() for text in plots.level_sets(est, 0, 1).figure.findobj(matplotlib.text.Text)]
    assert not any("ideal" in text or "better" in text for text in texts)


def test_a_marked_point_is_where_the_drawn_lines_turn():
    """Also of an average of kinds, whose ideal point describes only some of them."""
    table = make_flats(features=FEATURES[:2])
    z = standardised(table)
    score = np.abs(z[:, 0] - 0.3) * 5 + (z[:, 1] + 0.2) ** 2 * 4
    est = IdealPoint(metric="auto").fit(ask(table, score, n=150))
    panel = plots.level_sets_data(est, 0, 1)
    assert panel.is_known
    # As an average has it, even if its words were of another point.
    moved = copy.copy(est)
    moved.ideal_point_ = est.ideal_point_ + 0.05 * np.ptp(table.matrix, axis=0)
    assert not plots.level_sets_data(moved, 0, 1).is_ideal
    for one, data in ((est, panel), (moved, plots.level_sets_data(moved, 0, 1))):
        least = one.distance(data.turning[None])[0]
        assert least <= data.distance.min() + 1e-9 * abs(least) and data.kind == "ideal"
        assert not data.inside or all(
            low <= at <= high for at, (low, high) in zip(data.turning, data.interval, strict=True)
        )


def test_ranking_has_the_estimators_order_and_intervals(fits):
    for est in fits.values():
        data = plots.ranking_data(est, top=7, level=0.7)
        assert list(data.names) == list(est.rank()[:7]) and data.n_items == 30
        np.testing.assert_array_equal(data.distances, np.sort(est.distance())[:7])
        if getattr(est, "posterior_", None) is None:
            assert data.interval is None
        else:
            np.testing.assert_array_equal(data.interval, est.rank_interval(level=0.7)[data.positions])


def test_importance_is_the_mean_square_change_over_all_pairs_of_items():
    rng = np.random.default_rng(0)
    n, d = 12, 3
    away = rng.normal(size=(n, d)) * [1.0, 5.0, 0.2]
    away -= away.mean(axis=0)
    root, slope = rng.normal(size=(d, d)), rng.normal(size=d)
    metric = root + root.T

    def score(z):
        return np.einsum("...i,ij,...j->...", z, metric, z) + z @ slope

    change = np.zeros(d)
    for j in range(d):
        swapped = np.repeat(away[:, None], n, axis=1)
        swapped[:, :, j] = away[:, j]
        change[j] = np.sqrt(((score(swapped) - score(away)[:, None]) ** 2).mean())
    found = swap_shares(metric[None], slope[None], away)[0]
    np.testing.assert_allclose(found, change / change.sum())


def test_what_matters_is_told_of_every_feature(fits):
    for est in fits.values():
        data = plots.what_matters_data(est)
        assert sorted(data.features) == sorted(FEATURES) and all(data.wishes)
        assert data.importance.sum() == pytest.approx(1) and (np.diff(data.importance) <= 0).all()
        assert data.shares.sum() == pytest.approx(1)
    data = plots.what_matters_data(fits["none"])
    linear = dict(zip(data.features, data.wishes, strict=True))
    assert linear["price"] == "less is better" and linear["size"] == "more is better"


def test_a_yes_or_no_has_no_ideal_between_them():
    z = np.random.default_rng(0).normal(size=(30, 2))
    z[:, 0] = z[:, 0] > 0
    table = ItemTable(z, None, None, False)
    data = plots.what_matters_data(IdealPoint().fit(ask(table, z[:, 1] ** 2 - 3 * z[:, 0])))
    assert data.wishes[data.features.index("feature 0")] == "more is better"


def test_what_matters_agrees_with_the_models_interactions(full):
    shares, directions = full.model_.interactions()
    data = plots.what_matters_data(full)
    np.testing.assert_allclose(data.shares, shares)
    np.testing.assert_allclose(np.abs(data.directions), np.abs(directions.T))


def test_profile_is_least_at_the_ideal(full):
    data = plots.profile_data(full, "size", level=0.8)
    assert data.ideal == full.ideal_point_[1]
    np.testing.assert_array_equal(
        data.interval, [(one.low, one.high) for one in explain(full, level=0.8).ideal][1]
    )
    step = data.xs[1] - data.xs[0]
    assert abs(data.xs[np.argmin(data.distance)] - data.ideal) <= step


def test_matrix_has_every_pair_of_the_most_important_features(full):
    data = plots.feature_matrix_data(full)
    names = [profile.feature for profile in data.profiles]
    assert names == list(plots.what_matters_data(full).features)
    assert {key: panel.features for key, panel in data.panels.items()} == {
        (a, b): (names[b], names[a]) for a in range(4) for b in range(a)
    }


def test_matrix_has_at_most_six_features():
    items = np.random.default_rng(0).normal(size=(20, 8))
    est = SingleStep(items).fit([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])
    assert len(plots.feature_matrix_data(est).profiles) == 6
    assert len(plots.feature_matrix_data(est, features=[7, "feature 0"]).profiles) == 2


# The drawing.


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.long
def test_everything_is_drawn(fits, kind):
    est = fits[kind]
    for ax in (
        plots.level_sets(est, "price", "size"),
        plots.ranking(est),
        plots.what_matters(est),
        plots.what_matters(est, by="directions"),
    ):
        assert render(ax.figure).std() > 5
    assert render(plots.feature_matrix(est, features=FEATURES[:3])).std() > 5


def test_pictures_are_drawn_where_asked_and_leave_settings_and_pyplot_alone(full):
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    axes = Figure().subplots(1, 3)
    assert plots.level_sets(full, 0, 1, ax=axes[0]) is axes[0]
    assert plots.ranking(full, ax=axes[1]) is axes[1]
    assert plots.what_matters(full, ax=axes[2]) is axes[2]
    axes[0].figure.canvas.draw()
    plots.feature_matrix(full, features=[0, 1])
    assert dict(matplotlib.rcParams) == before and plt.get_fignums() == []


def test_no_two_labels_overlap(full):
    ax = plots.level_sets(full, "price", "size")
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("Flat")]
    assert len(boxes) >= 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_an_ideal_outside_is_said_at_the_edge(fits):
    texts = [text.get_text() for text in plots.level_sets(fits["compass"], 0, 1).texts]
    assert any("ideal lies further this way" in text for text in texts)
    texts = [text.get_text() for text in plots.level_sets(fits["none"], 0, 1).texts]
    assert "better this way" in texts


def test_bars_are_drawn_of_at_most_twenty_features():
    items = np.random.default_rng(0).normal(size=(40, 25))
    ax = plots.what_matters(SingleStep(items).fit(np.arange(40).reshape(-1, 2)))
    assert len(ax.get_yticks()) == 20 and "20 largest of 25" in ax.get_xlabel()


def test_ranking_shows_names_best_on_top(full):
    ax = plots.ranking(full, top=5)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(full.rank()[:5])
    assert ax.yaxis_inverted()


def test_other_items_can_be_shown(full):
    few = make_flats(5, names=list("abcde"), seed=9)
    assert set(plots.ranking_data(full, items=few).names) == set("abcde")
    assert render(plots.level_sets(full, 0, 1, items=few).figure).std() > 5


def test_one_feature_has_a_profile_but_no_level_sets():
    table = make_flats(features=("price",))
    est = SingleStep(standardize=True).fit(ask(table, np.abs(standardised(table)[:, 0])))
    with pytest.raises(InputError, match="need two features"):
        plots.level_sets(est, 0, 0)
    assert len(plots.feature_matrix_data(est).profiles) == 1
    for figure in (plots.feature_matrix(est), plots.ranking(est).figure, plots.what_matters(est).figure):
        assert render(figure).std() > 5
    assert "Every two features" not in report(est)


def test_features_that_never_vary_are_drawn_too():
    items = np.column_stack([np.random.default_rng(0).normal(size=(10, 1)), np.full(10, 3.0), np.zeros(10)])
    est = SingleStep(items).fit([[0, 1], [2, 3], [4, 5]])
    assert "always the same" in plots.what_matters_data(est).wishes
    assert len(plots.level_sets_data(est, 1, 2).levels) == 0
    assert render(plots.level_sets(est, 1, 2).figure).std() > 5
    assert render(plots.feature_matrix(est)).std() > 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda est: plots.level_sets(est, "price", "prize"), "no feature 'prize'"),
        (lambda est: plots.level_sets(est, 0, 4), "no feature 4"),
        (lambda est: plots.level_sets(est, 0, "price"), "given twice"),
        (lambda est: plots.level_sets(est, 0, 1, at=[1.0, 2.0]), "4 finite numbers"),
        (lambda est: plots.level_sets(est, 0, 1, at={"age": np.nan}), "4 finite numbers"),
        (lambda est: plots.ranking(est, top=0), "top is 0"),
        (lambda est: plots.what_matters(est, by="colour"), "by is 'colour'"),
        (lambda est: plots.feature_matrix(est, features=[0, "price"]), "different"),
        (lambda est: plots.level_sets(est, 0, 1, level=2), "between 0 and 1"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(full, call, message):
    with pytest.raises(InputError, match=message):
        call(full)


@pytest.mark.slow
@pytest.mark.long
def test_the_package_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import coombs.plots, coombs.render.html, numpy as np\n"
        "est = coombs.SingleStep(np.eye(3)).fit([[0, 1], [1, 2]])\n"
        "coombs.plots.level_sets_data(est, 0, 1)\n"
        "try: coombs.plots.ranking(est)\n"
        "except ImportError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == 'Pictures need matplotlib; install it with: pip install "coombs[plots]"\n'


# Labels.


def test_labels_are_short_single_lines_without_formulas():
    from matplotlib.cbook import is_math_text

    for name in (*NASTY, "a $ b $ c", r"\$a$"):
        label = shown(name)
        assert "\n" not in label and len(label.replace(r"\$", "$")) <= 28 and not is_math_text(label)
    assert shown("x" * 40) == "x" * 27 + "…"
    assert wrapped("one two three four five six seven eight") == "one two three four five six\nseven eight"


def test_numbers_have_the_decimals_that_the_spread_calls_for():
    cases = ((782.4, 1000), (73.66, 85), (3.666, 1.2), (-0.001, 10), (5, 0))
    assert [number(*case) for case in cases] == ["782", "74", "3.67", "0.0", "5.00"]


def test_directions_in_words_name_at_least_one_feature():
    assert in_words(np.array([-0.39, 0.91, 0.1]), ("a", "b", "c")) == "0.91 b - 0.39 a"
    assert in_words(np.full(100, 0.1), tuple(map(str, range(100)))) == "0.10 0"


def test_a_label_finds_no_place_where_all_is_taken():
    dot, size, frame = np.zeros(2), np.array([20.0, 8.0]), np.array([-100.0, -100, 100, 100])
    assert free_place(dot, size, np.empty((0, 2)), np.empty(0), [], frame) is not None
    assert free_place(dot, size, np.empty((0, 2)), np.empty(0), [frame], frame) is None


# The report.


class Checker(HTMLParser):
    """Every tag is closed in its turn; gathers headings, texts and the sources of pictures."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.sources, self.alts, self.tags = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.sources.append(dict(attrs)["src"])
            self.alts.append(dict(attrs)["alt"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def parsed(text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    return checker


@pytest.mark.slow
@pytest.mark.long
def test_report_is_one_page_that_needs_nothing_else(full, tmp_path):
    path = report(full, tmp_path / "taste.html", title="Flats")
    assert [file.name for file in tmp_path.iterdir()] == ["taste.html"]
    text = path.read_text(encoding="utf-8")
    for foreign in ("http://", "https://", "<script", "<link", "@import"):
        assert foreign not in text
    page = parsed(text)
    assert text.startswith("<!DOCTYPE html>") and '<html lang="en">' in text and 'charset="utf-8"' in text
    assert 'name="viewport"' in text and "<title>Flats</title>" in text
    assert "What matters" in page.texts and "The whole ranking" in page.texts
    assert len(page.sources) == 4 and all(page.alts)
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in page.sources)
    assert re.search(r"60 answers · coombs [\d.]+ · \d{4}-\d\d-\d\d</footer>", text)
    whole = text[text.index("The whole ranking") :]
    assert whole.count("<tr>") == 31 and "1 to" in whole


@pytest.mark.slow
@pytest.mark.long
def test_report_escapes_everything_from_the_user():
    names = [*NASTY, *(f"<b>{i}</b>" for i in range(25))]
    table = make_flats(names=names, features=("<i>price</i>", "$size$ & more", "minutes", "age"))
    est = IdealPoint().fit(ask(table, near(table)))
    text = report(est, title="</title><script>alert(1)</script>")
    page = parsed(text)
    assert "script" not in page.tags and "b" not in page.tags and "i" not in page.tags
    assert not re.search("<script|<b>|<i>", text)
    assert NASTY[0] in page.texts and "<i>price</i>" in page.texts
    assert page.texts.count("</title><script>alert(1)</script>") == 2


@pytest.mark.slow
def test_report_of_an_estimator_without_words_or_intervals(fits):
    text = report(fits["single_step"])
    page = parsed(text)
    assert "interval" not in "".join(page.texts) and "<footer>SingleStep · coombs" in text
    assert len(page.sources) == 4


@pytest.mark.slow
def test_report_has_the_real_explanation(full):
    page = parsed(report(full))
    assert page.tags.count("h1") == 1 and "what is wanted" in page.texts


@pytest.mark.slow
@pytest.mark.parametrize("given", [None, False])
def test_report_without_a_pattern_has_no_pictures_and_claims_nothing(given):
    """By its own explanation, and where whoever asks for it knows better."""
    table = make_flats(20)
    data = ask(table, near(table), n=40)
    if given is None:
        data = Comparisons(data.item_table, np.concatenate([data.pairs, data.pairs[:, ::-1]]))
    text = report(IdealPoint().fit(data), title="Flats", has_pattern=given)
    page = parsed(text)
    assert page.tags.count("h1") == 1 and "No pattern found yet: Flats" in page.texts
    assert not page.sources and "How far to trust it" in page.texts
    for claim in ("the best:", "The whole ranking", "What matters", "is better", "sweet spot", "is worth"):
        assert claim not in text


@pytest.mark.slow
def test_report_of_many_items_stays_small():
    table = make_flats(2000)
    est = SingleStep(standardize=True).fit(ask(table, near(table), n=100))
    text = report(est)
    assert len(text) < 3e6 and "and 1500 more" in text and text.count("<tr>") == 501


def test_a_report_that_cannot_be_written_is_said_and_leaves_nothing_behind(fits, tmp_path):
    est = fits["single_step"]
    with pytest.raises(InputError, match="There is no folder"):
        report(est, tmp_path / "no" / "taste.html")
    with pytest.raises(InputError, match="is a folder"):
        report(est, tmp_path)
    with pytest.raises(InputError, match="must be the name of a file"):
        report(est, 3)
    assert list(tmp_path.iterdir()) == []


def test_what_decides_most_is_a_feature_of_which_it_is_known_what_is_wanted():
    """The report's first sentences name no feature that its table calls not known."""
    ranking = Ranking(np.arange(2), ("a", "b"), np.arange(2.0), None, 2, 0.9)
    names, shares = ("rent", "size"), np.array([0.7, 0.3])
    wishes = ("more is better", "not known yet")
    matters = WhatMatters(
        names, np.arange(2), shares, None, wishes, np.empty(0), np.empty((0, 2)), names, 0.9
    )

    def summary(*said: tuple[str, str]) -> str:
        verdicts = [
            FeatureVerdict(name, None, None, None, share, verdict, shape)
            for name, share, (verdict, shape) in zip(names, shares, said, strict=True)
        ]
        return _summary(ranking, matters, verdicts)

    known, unknown, leaning = ("more is better", ""), (NOT_KNOWN, ""), (NOT_KNOWN, "less rather than more")
    assert "What decides most: rent (70 %)." in summary(known, unknown)
    assert "What decides most: rent (70 %), size (30 %)." in summary(leaning, known)
    # What decides more than anything named would be left out.
    assert "decides" not in summary(unknown, known)
