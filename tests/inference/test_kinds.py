"""The kinds of preference and the posterior's density: gradients, priors, draws, precision."""

from __future__ import annotations

import numpy as np
import pytest
from problems import person, some_metric, target_of, weighted
from scipy.special import expit
from scipy.stats import norm, wishart

from coombs.data.graph import ComparisonGraph
from coombs.data.tables import FloatArray
from coombs.inference import kind as prior
from coombs.inference import wishart as wishart_kind
from coombs.inference.kind import Kind
from coombs.inference.kinds import KINDS
from coombs.inference.quadratic_forms import FeatureProducts, QuadraticForms
from coombs.inference.target import Target
from coombs.inference.wishart import Full
from coombs.programs.cone import svec, triangle

D = 3
TURNED = Full(np.linalg.qr(np.random.default_rng(9).standard_normal((D, D)))[0])
EVERY: dict[str, Kind] = {**KINDS, "full in a basis": TURNED}
METRICS = [name for name in EVERY if name != "items"]
every_kind = pytest.mark.parametrize("name", METRICS)
every_target = pytest.mark.parametrize(
    ("name", "lapse", "effects"),
    [(name, lapse, effects) for name in EVERY for lapse in (None, 0.0, 0.02) for effects in (False, True)],
)


def target_with(name: str, lapse: float | None, effects: bool) -> Target:
    """Weighted answers about ten items."""
    return target_of(weighted(person(D, 25, 10)), EVERY[name], lapse=lapse, effects=effects)


def prior_of(kind: Kind, y: FloatArray, d: int = D) -> tuple[FloatArray, FloatArray]:
    """Negative log density, and gradient."""
    return kind.prior(y, d, kind.expand(y, d))


# Gradients


@every_target
def test_gradient_is_the_slope_of_the_value(name: str, lapse: float | None, effects: bool) -> None:
    """By central differences along every unknown, at draws of the prior, with weights."""
    target = target_with(name, lapse, effects)
    y, step = target.draw_prior(4, np.random.default_rng(0)), 1e-5
    density = target.density(y)
    assert density.value == pytest.approx(target.value(y))
    assert density.gradient == pytest.approx(target.gradient(y))
    for point, slope in zip(y, density.gradient, strict=True):
        ahead, behind = (target.value(point + sign * step * np.eye(target.n)) for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("name", ["full", "diagonal", "identity", "none", "signed"])
def test_gradient_is_the_slope_of_the_value_with_one_feature(name: str) -> None:
    """There is nothing above a diagonal then."""
    target = target_of(weighted(person(1, 12, 8)), name)
    y, step = target.draw_prior(4, np.random.default_rng(1)), 1e-5
    for point, slope in zip(y, target.gradient(y), strict=True):
        ahead, behind = (target.value(point + sign * step * np.eye(target.n)) for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-4)


@every_target
def test_single_precision_agrees_with_double(name: str, lapse: float | None, effects: bool) -> None:
    """Value and gradient, to the rounding of the largest of the terms that they are sums of."""
    target = target_with(name, lapse, effects)
    y = target.draw_prior(50, np.random.default_rng(2))
    double, single = target.density(y), target.single().density(y.astype(np.float32))
    assert single.gradient.dtype == np.float32
    assert single.likelihood == pytest.approx(double.likelihood, rel=1e-3, abs=1e-3)
    # Log gamma functions of up to some thousand degrees of freedom cancel.
    assert single.prior == pytest.approx(double.prior, rel=1e-3, abs=0.02)
    size = np.abs(double.gradient).max(axis=1, initial=1.0, keepdims=True)
    assert (np.abs(single.gradient - double.gradient) / size).max(initial=0.0) < 5e-3


def test_value_is_the_likelihood_written_out() -> None:
    """-sum w log p, p = lapse / 2 + (1 - lapse) sigma(s_loser - s_winner), beside the prior's."""
    answers = weighted(person(2, 25, 10))
    target = target_of(answers, "full", lapse=0.02, effects=True)
    y = target.draw_prior(1, np.random.default_rng(0))
    scores, density = target.scores(y), target.density(y)
    assert scores.effects is not None
    x = answers.items
    s = np.einsum("ni,ij,nj->n", x, scores.metric[0], x) - 2 * x @ scores.linear[0] + scores.effects[0]
    p = 0.01 + 0.98 * expit(s[answers.losers] - s[answers.winners])
    own, rest = y[:, : target.own], y[0, target.own :]
    assert density.likelihood[0] == pytest.approx(-answers.weights @ np.log(p))
    assert density.prior[0] == pytest.approx(prior_of(KINDS["full"], own, 2)[0][0] + rest @ rest / 2)
    assert np.exp(target.log_probabilities(y)[:, 0]) == pytest.approx(p)


# Priors


@every_kind
def test_the_priors_density_is_that_of_its_draws(name: str) -> None:
    """Stein's identities, E g_i = 0 and E y_i g_i = 1 for g the gradient of -log density, to 6 errors."""
    kind = EVERY[name]
    y = kind.draw(40_000, D, np.random.default_rng(0))
    gradient = prior_of(kind, y)[1]
    for values, mean in ((gradient, 0.0), (y * gradient, 1.0)):
        error = values.std(axis=0) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - mean) < 6 * error).all()


@pytest.mark.parametrize("name", ["full", "full in a basis"])
def test_a_full_metric_is_wishart(name: str) -> None:
    """Its density is scipy's times |dM/dy| times that of the other unknowns, but for a constant."""
    kind = EVERY[name]
    y, n, step = kind.draw(6, D, np.random.default_rng(3)), D * (D + 1) // 2, 1e-6
    expected = []
    for point in y:
        k, eta, q = point[-3:]
        nu = (D + 1) * (1 + np.exp(wishart_kind.LIKENESS + wishart_kind.LIKENESS_WIDTH * eta))
        mean = prior.QUADRATIC_SPREAD / np.sqrt(D) * np.exp(prior.LOG_SCALE * k)
        moves = step * np.eye(len(point))[:n]
        ahead, behind = (kind.expand(point + sign * moves, D).metric for sign in (1, -1))
        t = triangle(D)
        jacobian = ((ahead - behind) / (2 * step))[:, t.rows, t.columns]
        log_density = wishart.logpdf(kind.expand(point[None], D).metric[0], nu, mean / nu * np.eye(D))
        log_density += np.linalg.slogdet(jacobian)[1]
        size = prior.IDEAL_DISTANCE * np.exp(prior.LOG_IDEAL * q)
        log_density += norm.logpdf(kind.ideal(point[None], D)[0], scale=size).sum()  # type: ignore[attr-defined]
        # du / dw is the inverse of R / R_00.
        log_density += norm.logpdf(point[-3:]).sum() - point[1:D].sum()
        expected.append(-log_density)
    value = prior_of(kind, y)[0]
    assert value - value[0] == pytest.approx(np.array(expected) - expected[0], abs=1e-5)


@pytest.mark.parametrize("name", ["full", "full in a basis", "diagonal", "identity"])
def test_metrics_drawn_have_the_typical_size_in_every_direction(name: str) -> None:
    """Mean QUADRATIC_SPREAD / sqrt d times that of e^(0.7 k), off the diagonal zero, to 6 errors."""
    kind = EVERY[name]
    y = kind.draw(40_000, D, np.random.default_rng(4))
    metric = kind.expand(y, D).metric
    mean = prior.QUADRATIC_SPREAD / np.sqrt(D) * np.exp(prior.LOG_SCALE**2 / 2) * np.eye(D)
    error = metric.std(axis=0) / np.sqrt(len(metric))
    assert (np.abs(metric.mean(axis=0) - mean) <= 6 * error).all()


@every_kind
def test_draws_mean_what_the_kind_says(name: str) -> None:
    """Metrics are symmetric, positive definite but for signed and linear ones, with v = M u."""
    kind = EVERY[name]
    y = kind.draw(200, D, np.random.default_rng(5))
    assert y.shape == (200, kind.size(D)) and np.isfinite(y).all()
    metric, linear, _ = kind.expand(y, D)
    assert metric.shape == (200, D, D) and linear.shape == (200, D)
    assert metric == pytest.approx(metric.swapaxes(1, 2))
    values = np.linalg.eigvalsh(metric)
    if name == "none":
        assert (metric == 0).all()
    elif name == "signed":
        assert (values[:, 0] < 0).any() and (values[:, -1] > 0).any()
    else:
        assert (values > 0).all()
        u = kind.ideal(y, D)  # type: ignore[attr-defined]
        assert (metric @ u[:, :, None])[..., 0] == pytest.approx(linear)


def test_prior_draws_of_the_other_unknowns_are_standard_normal() -> None:
    """Lapse and item effects."""
    target = target_of(person(2, 10, 8), "none", effects=True)
    rest = target.draw_prior(20_000, np.random.default_rng(6))[:, target.own :]
    assert rest.shape[1] == 2 + len(target.items)
    assert np.abs(rest.mean(axis=0)).max() < 6 / np.sqrt(20_000)
    assert np.abs(rest.var(axis=0) - 1).max() < 6 * np.sqrt(2 / 20_000)


@every_kind
def test_locate_is_undone_by_expand(name: str) -> None:
    """(M, M u) comes back to a hundredth, where the kind has such an M."""
    metric, u = 7 * some_metric(D), np.array([0.3, -1.0, 2.0])
    if name == "diagonal":
        metric = np.diag(np.diag(metric))
    if name == "identity":
        metric = 3 * np.eye(D)
    found, linear, _ = EVERY[name].expand(EVERY[name].locate(metric, metric @ u)[None], D)
    wanted = 0 * metric if name == "none" else metric
    assert np.abs(found[0] - wanted).max() <= 0.01 * np.abs(metric).max()
    assert np.abs(linear[0] - metric @ u).max() <= 0.01 * np.abs(metric @ u).max()


@every_kind
def test_locate_is_finite_where_there_is_nothing(name: str) -> None:
    """A metric of zero, and one of lower rank."""
    for metric in (np.zeros((D, D)), np.diag([1.0, 0.0, 0.0])):
        y = EVERY[name].locate(metric, np.ones(D))
        assert y.shape == (EVERY[name].size(D),) and np.isfinite(y).all()


def test_a_basis_turns_nothing_but_the_unknowns() -> None:
    """The same metric is located in every basis."""
    metric, u = some_metric(D), np.array([0.3, -1.0, 2.0])
    found = [
        kind.expand(kind.locate(metric, metric @ u)[None], D).metric[0] for kind in (KINDS["full"], TURNED)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-6, abs=1e-9)


# The target


def test_forms_and_products_agree() -> None:
    """Two ways to the same scores, and back."""
    rng = np.random.default_rng(0)
    items, linear, pull = rng.normal(size=(9, 4)), rng.normal(size=(5, 4)), rng.normal(size=(9, 5))
    metric = np.array([some_metric(4, seed) for seed in range(5)])
    one, two = QuadraticForms(items), FeatureProducts(items)
    assert one.values(metric, linear) == pytest.approx(two.values(metric, linear))
    for mine, theirs in zip(one.pullback(pull), two.pullback(pull), strict=True):
        assert mine == pytest.approx(theirs)


def test_parts_of_the_answers_make_up_the_whole() -> None:
    """The log likelihood of two halves adds up, and that of a random part is one of its answers."""
    target = target_of(weighted(person(2, 30, 10)), "full")
    y = target.draw_prior(3, np.random.default_rng(0))
    halves = [target.part(rows).density(y).likelihood for rows in (slice(0, 13), slice(13, 30))]
    assert sum(halves) == pytest.approx(target.density(y).likelihood)
    assert target.part(slice(0, 30)) is target
    few = target.some(12, np.random.default_rng(0))
    assert few.graph.n_answers == 12
    logs = {tuple(np.round(row, 9)) for row in target.log_probabilities(y)}
    assert all(tuple(np.round(row, 9)) in logs for row in few.log_probabilities(y))


def test_other_weights_weigh_the_same_answers() -> None:
    """And leave the target that they were taken from as it was."""
    target = target_of(weighted(person(2, 30, 10)), "signed")
    y = target.draw_prior(3, np.random.default_rng(0))
    before, twice = target.density(y), target.reweighted(2 * target.weights).density(y)
    assert twice.likelihood == pytest.approx(2 * before.likelihood)
    assert twice.prior == pytest.approx(before.prior)
    assert target.density(y).value == pytest.approx(before.value)
    assert target.reweighted(0 * target.weights).density(y).likelihood == pytest.approx(np.zeros(3))


def test_a_graph_without_features_is_a_target_too() -> None:
    """Where no feature varies, effects of items are all there is."""
    graph = ComparisonGraph(np.array([0, 1, 0]), np.array([1, 2, 2]), 3)
    target = Target(np.zeros((3, 0)), graph, np.ones(3), KINDS["items"], effects=True)
    y = target.draw_prior(5, np.random.default_rng(0))
    assert y.shape == (5, 5) and np.isfinite(target.gradient(y)).all()
    effects = target.scores(y).effects
    assert effects is not None
    margins = effects[:, [1, 2, 2]] - effects[:, [0, 1, 0]]
    lapse = target.scores(y).lapse[:, None]
    p = lapse / 2 + (1 - lapse) * expit(margins)
    assert pytest.approx(p) == np.exp(target.log_probabilities(y)).T


def test_signed_unknowns_are_the_entries_of_the_metric() -> None:
    """svec M, so that |M|_F^2 is their sum of squares: a rotation-invariant prior."""
    y = KINDS["signed"].draw(5, D, np.random.default_rng(0))
    metric = KINDS["signed"].expand(y, D).metric
    assert np.array([svec(m) for m in metric]) == pytest.approx(y[:, : D * (D + 1) // 2])
