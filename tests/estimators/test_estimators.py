"""The estimators do what the paper says, on its own protocol and on people's data."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from coombs import (
    Alternating,
    Comparisons,
    EuclideanCompass,
    EuclideanSingleStep,
    InputError,
    SingleStep,
    Status,
)
from coombs.evaluation import kendall_tau_distance, ur_error, wer_error
from coombs.programs import conic, interior
from coombs.programs.formulate import raised_alpha
from coombs.programs.program import Program, Solution
from coombs.simulate import make_preferences

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the real data of ../shared/data is not here")


@pytest.mark.parametrize(("d", "p", "ur", "wer"), [(2, 200, 0.05, 0.02), (5, 500, 0.08, 0.02)])
def test_single_step_recovers_ideal_point_and_metric(d: int, p: int, ur: float, wer: float) -> None:
    """The paper's protocol with many answers: median errors are small."""
    draws = [make_preferences(100, d, p, random_state=seed) for seed in range(10)]
    fits = [SingleStep(draw.items).fit(draw.pairs, draw.y) for draw in draws]
    pairs = list(zip(fits, draws, strict=True))
    assert np.median([ur_error(f.ideal_point_, t.ideal_point, t.metric) for f, t in pairs]) < ur
    assert np.median([wer_error(f.metric_, t.metric) for f, t in pairs]) < wer
    assert np.median([kendall_tau_distance(f.distance(), t.distances) for f, t in pairs]) < 0.05


def test_euclidean_baselines_win_only_where_the_metric_is_euclidean() -> None:
    """Both recover u when M = I, and both lose to SingleStep when it is not."""
    for identity in (True, False):
        errors = {kind: [] for kind in (SingleStep, EuclideanSingleStep, EuclideanCompass)}
        for seed in range(10):
            truth = make_preferences(100, 2, 200, identity=identity, random_state=seed)
            for kind, found in errors.items():
                u = kind(truth.items).fit(truth.pairs, truth.y).ideal_point_
                found.append(ur_error(u, truth.ideal_point, truth.metric))
        single, first, second = (np.median(found) for found in errors.values())
        if identity:
            assert max(first, second) < 0.02
        else:
            assert single < min(first, second)


def test_alternating_with_truth_never_ends_worse_than_it_starts() -> None:
    """The oracle takes the iterate before a rise, which history_ still shows."""
    for seed in range(5):
        truth = make_preferences(100, 5, 80, random_state=seed)
        est = Alternating(truth.items, truth=(truth.ideal_point, truth.metric)).fit(truth.pairs, truth.y)
        errors = [step.ur_error for step in est.history_]
        assert est.status_ == "converged"
        assert errors[:-1] == sorted(errors[:-1], reverse=True)
        assert ur_error(est.ideal_point_, truth.ideal_point, truth.metric) == pytest.approx(min(errors))
        assert est.n_iter_ == len(errors) - 1


def test_alternating_starts_from_single_step_with_its_own_parameters() -> None:
    """history_[0] is the single-step fit with (2, .002, .0001, 1)."""
    truth = make_preferences(60, 3, 80, random_state=0)
    start = SingleStep(truth.items, gamma3=0.0001).fit(truth.pairs, truth.y)
    est = Alternating(truth.items).fit(truth.pairs, truth.y)
    assert est.history_[0].ideal_point == pytest.approx(start.ideal_point_)
    assert est.history_[0].objective == pytest.approx(start.objective_)


@pytest.mark.slow
def test_alternating_stops_without_a_truth() -> None:
    """By its own rule, and better than where it started, in the paper's intermediate regime."""
    first, last = [], []
    for seed in range(12):
        truth = make_preferences(100, 5, 200, random_state=seed)
        est = Alternating(truth.items).fit(truth.pairs, truth.y)
        assert est.status_ == "converged"
        first.append(ur_error(est.history_[0].ideal_point, truth.ideal_point, truth.metric))
        last.append(ur_error(est.ideal_point_, truth.ideal_point, truth.metric))
    assert np.mean(np.log(last)) < np.mean(np.log(first)) - 0.1


def test_alternating_that_was_cut_short_says_so() -> None:
    """A warning, and a status that is not converged."""
    truth = make_preferences(60, 5, 80, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 1 alternations"):
        est = Alternating(truth.items, max_alternations=1).fit(truth.pairs, truth.y)
    assert est.status_ == "max_iterations"


def test_alternating_refuses_a_truth_of_another_size() -> None:
    """The message names both shapes."""
    truth = make_preferences(20, 2, 20, random_state=0)
    with pytest.raises(InputError, match=r"truth has shapes \[\(3,\), \(3, 3\)\]; it must be"):
        Alternating(truth.items, truth=(np.ones(3), np.eye(3))).fit(truth.pairs, truth.y)


def test_standardize_reports_in_the_units_of_the_user() -> None:
    """Scaled features give the same ranking, an ideal point in their units, and the metric to match."""
    truth = make_preferences(60, 3, 120, random_state=0)
    scales, shift = np.array([1e-3, 1.0, 1e4]), np.array([5.0, -2.0, 1e5])
    plain = SingleStep(truth.items, standardize=True).fit(truth.pairs, truth.y)
    units = SingleStep(truth.items * scales + shift, standardize=True).fit(truth.pairs, truth.y)
    assert units.ideal_point_ == pytest.approx(plain.ideal_point_ * scales + shift, rel=1e-5)
    assert units.metric_ * np.outer(scales, scales) == pytest.approx(plain.metric_, rel=1e-3, abs=1e-4)
    assert units.rank().tolist() == plain.rank().tolist()


def test_nonnegative_distances_are_not_negative() -> None:
    """The option of the authors' code: d >= 0 in the program's own d."""
    truth = make_preferences(30, 2, 60, random_state=0)
    plain = SingleStep(truth.items).fit(truth.pairs, truth.y)
    option = SingleStep(truth.items, nonnegative_distances=True).fit(truth.pairs, truth.y)
    assert plain.distances_.min() < 0 <= option.distances_.min()
    assert option.objective_ > plain.objective_


@pytest.mark.parametrize(
    ("sizes", "raised"),
    [
        ([4.0, 2.0], 1.0),
        ([10.0, 1.0], 1.0 + 50.0),
        ([1e4, 2.0], 1.0 + 200.0),
        ([1.0, 0.0], 1.0),
        ([0.0, 0.0], 1.0),
    ],
)
def test_adaptive_alpha_follows_the_authors_rule(sizes: list[float], raised: float) -> None:
    """alpha + 5 cond for a condition in (5, 1000), alpha + 100 s_last beyond."""
    assert raised_alpha(np.diag(sizes), 1.0) == pytest.approx(raised)


def test_adaptive_alpha_shrinks_the_ideal_point() -> None:
    """A larger alpha pulls u towards the origin."""
    truth = make_preferences(60, 5, 60, random_state=0)
    plain = SingleStep(truth.items).fit(truth.pairs, truth.y)
    raised = SingleStep(truth.items, adaptive_alpha=True).fit(truth.pairs, truth.y)
    assert np.linalg.norm(raised.ideal_point_) < np.linalg.norm(plain.ideal_point_)


@pytest.mark.parametrize("estimator", [SingleStep, EuclideanSingleStep, EuclideanCompass])
@pytest.mark.parametrize("solver", ["clarabel", "cvxpy"])
def test_every_solver_gives_the_same_fit(estimator: type, solver: str) -> None:
    """The reference and the fallback agree with the default, and status_ says which it was."""
    truth = make_preferences(30, 2, 60, noise=0.1, random_state=0)
    ours = estimator(truth.items).fit(truth.pairs, truth.y)
    theirs = estimator(truth.items, solver=solver).fit(truth.pairs, truth.y)
    assert (ours.status_, theirs.status_) == ("optimal", f"optimal_by_{solver}")
    assert theirs.objective_ == pytest.approx(ours.objective_, rel=1e-6)
    assert theirs.ideal_point_ == pytest.approx(ours.ideal_point_, abs=0.02)


def test_alternating_runs_on_the_reference_too() -> None:
    """The second program of the paper, in CVXPY."""
    truth = make_preferences(20, 2, 30, random_state=0)
    fits = []
    for solver in ("auto", "cvxpy"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits.append(Alternating(truth.items, solver=solver, max_alternations=2).fit(truth.pairs, truth.y))
    for ours, theirs in zip(fits[0].history_, fits[1].history_, strict=True):
        assert theirs.objective == pytest.approx(ours.objective, rel=1e-5)


def test_items_that_no_answer_touches_are_ranked_by_the_model() -> None:
    """They have d = 0 in the program, and their place by (M, u) all the same."""
    truth = make_preferences(100, 2, 20, random_state=3)
    est = SingleStep(truth.items).fit(truth.pairs, truth.y)
    untouched = np.setdiff1d(np.arange(100), truth.pairs.ravel())
    assert len(untouched) > 10
    assert (est.distances_[untouched] == 0).all()
    by_model = kendall_tau_distance(est.distance(), truth.distances)
    assert by_model < kendall_tau_distance(est.distances_, truth.distances)


def test_contradictory_answers_alone_give_a_fit_that_prefers_nothing() -> None:
    """Every answer with its reverse: the optimum is M = 0, and every pair is even."""
    truth = make_preferences(20, 2, 30, random_state=0)
    pairs = np.concatenate([truth.pairs, truth.pairs[:, ::-1]])
    est = SingleStep(truth.items).fit(pairs)
    assert (est.metric_ == 0).all()
    assert est.score(pairs) == 0.5
    assert est.unidentified_.shape == (2, 2)
    ties = SingleStep(truth.items).fit(truth.pairs, np.zeros(30))
    assert ties.unidentified_.shape == (2, 2)


@pytest.mark.parametrize("estimator", [SingleStep, EuclideanSingleStep, EuclideanCompass])
def test_a_constant_feature_is_reported_by_every_estimator(estimator: type) -> None:
    """Whatever the metric, nothing is known of the ideal along it."""
    truth = make_preferences(30, 2, 100, random_state=0)
    est = estimator(np.column_stack([truth.items, np.ones(30)])).fit(truth.pairs, truth.y)
    assert np.abs(est.unidentified_) == pytest.approx(np.array([[0.0], [0.0], [1.0]]), abs=1e-9)


def test_features_that_floats_cannot_hold_together_are_refused_by_name() -> None:
    """A time in nanoseconds beside a grade: scaled inside it works, as it is it gets a sentence."""
    truth = make_preferences(30, 2, 60, random_state=0)
    items = truth.items * [1e15, 1.0]
    with pytest.raises(
        InputError, match=r"Feature 0 varies 9e\+14 times as much as feature 1; use standardize=True"
    ):
        SingleStep(items).fit(truth.pairs, truth.y)
    assert SingleStep(items, standardize=True).fit(truth.pairs, truth.y).score(truth.pairs, truth.y) > 0.9
    with pytest.raises(InputError, match=r"Feature 1 reaches 2e\+80; give it in larger units"):
        SingleStep(truth.items * 1e80).fit(truth.pairs, truth.y)


def test_columns_of_rounding_errors_and_constants_are_no_reason_to_refuse() -> None:
    """They are constant, whatever the size of the others."""
    truth = make_preferences(30, 2, 60, random_state=0)
    noise = np.where(np.arange(30) % 2, 0.1 + 0.2, 0.3)
    for items in (np.column_stack([truth.items, noise]), np.column_stack([truth.items * 1e13, np.ones(30)])):
        for standardize in (False, True):
            est = SingleStep(items, standardize=standardize).fit(truth.pairs, truth.y)
            assert est.status_ == "optimal"
            assert est.metric_[2, 2] == pytest.approx(0.0, abs=1e-9)


def test_a_fit_to_vectors_keeps_the_items_of_the_estimator() -> None:
    """Positions then mean those."""
    truth = make_preferences(20, 2, 40, random_state=0)
    est = SingleStep(truth.items).fit(truth.items[truth.pairs], truth.y)
    assert est.distance() == pytest.approx(est.distance(truth.items))
    with pytest.raises(InputError, match=r"shape \(4, 3, 2\)"):
        est.predict(np.ones((4, 3, 2)))


def test_weak_preferences_are_not_taken_for_none() -> None:
    """However large the gammas, the direction of what was learned stays."""
    truth = make_preferences(20, 2, 60, random_state=0)
    est = SingleStep(truth.items, gamma2=1e8, gamma3=1e8, tol=1e-10).fit(truth.pairs, truth.y)
    assert est.metric_.any()


def test_a_fit_to_feature_vectors_knows_no_positions() -> None:
    """Pairs of vectors are judged, equal ones as even; positions and the fitted items are refused."""
    truth = make_preferences(20, 2, 40, random_state=0)
    vectors = truth.items[truth.pairs]
    est = SingleStep().fit(vectors, truth.y)
    assert (est.predict(vectors) == truth.y).mean() > 0.9
    assert est.decision_function(np.ones((1, 2, 2))).tolist() == [0.0]
    with pytest.raises(InputError, match="has no items"):
        est.predict(truth.pairs)
    with pytest.raises(InputError, match="give the items that are meant"):
        est.rank()


def test_an_almost_optimal_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap between the tolerance and 1e-5 has its own status and a warning."""
    truth = make_preferences(20, 2, 40, random_state=0)
    exact = interior.solve

    def loose(program: Program, tol: float, max_iter: int) -> Solution:
        return replace(exact(program, 1e-6, max_iter), status=Status.STALLED)

    monkeypatch.setattr(interior, "solve", loose)
    monkeypatch.setattr(conic, "solve", lambda program, tol: replace(loose(program, tol, 100), gap=1.0))
    with pytest.warns(ConvergenceWarning, match="almost optimal only"):
        est = SingleStep(truth.items).fit(truth.pairs, truth.y)
    assert est.status_ == "almost_optimal"


def test_two_items_and_one_answer_are_enough_to_fit() -> None:
    """The smallest problem there is."""
    for kind in (SingleStep, Alternating, EuclideanSingleStep, EuclideanCompass):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            est = kind([[0.0, 1.0], [1.0, 0.0]]).fit([[0, 1]])
        assert np.isfinite(est.ideal_point_).all()


def test_identical_items_are_all_even() -> None:
    """No feature differs: nothing to learn, nothing to break."""
    for kind in (SingleStep, EuclideanSingleStep, EuclideanCompass):
        est = kind(np.ones((4, 2))).fit([[0, 1], [2, 3], [1, 2]])
        assert np.isfinite(est.ideal_point_).all()
        assert est.distance() == pytest.approx(est.distance()[0])


@needs_data
def test_candy_ranking_is_learned_better_than_chance() -> None:
    """85 candies, 11 features, a whole ranking: 3,570 answers in one fit."""
    import pandas as pd

    table = pd.read_csv(DATA / "candy.csv", index_col=0)
    features = table.drop(columns="winpercent").select_dtypes("number")
    data = Comparisons.from_scores(features, table["winpercent"].to_numpy())
    est = SingleStep().fit(data)
    assert est.status_ == "optimal"
    assert est.score(data) > 0.7


@needs_data
def test_applicants_in_raw_scores_converge_with_the_papers_parameters() -> None:
    """GradCafe with GRE scores of 130-170 beside a GPA of 0-4, unscaled, in tiers within schools."""
    import pandas as pd

    table = pd.read_csv(DATA / "gradcafe_statistics_phd.csv")
    school = table["school"].value_counts().index[0]
    part = table[table["school"] == school]
    data = Comparisons.from_tiers(part[["gpa", "gre_v", "gre_q", "gre_w"]], part["tier"].to_numpy())
    for standardize in (False, True):
        est = SingleStep(gamma1=1 / 650, gamma2=1 / 6500, gamma3=2 / 65e6, standardize=standardize).fit(data)
        assert est.status_ == "optimal"
    # Unscaled, alpha = 1 pulls u from scores of 150 towards zero; scaled, towards the average applicant.
    assert est.score(data) > 0.8
