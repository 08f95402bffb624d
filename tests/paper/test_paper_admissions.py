"""The experiments about applicants: quick runs of each, what their summaries hold, and what fails openly."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from coombs.datasets import EIGENVALUES, FEATURES
from coombs.estimators.single_step import SingleStep
from coombs.paper import admissions, admissions_figures
from coombs.paper.experiment import Experiment, Tables, Trials
from coombs.paper.runner import ExperimentResult, Run, reproduce
from coombs.programs.program import ConvergenceError

pytestmark = pytest.mark.slow

FOUR = list(FEATURES[:4])
here = pytest.mark.skipif(
    admissions.gradcafe_needs() is not None, reason=f"needs {admissions.gradcafe_path()}"
)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def summary_in(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text(), parse_constant=refuse)


def run_quickly(experiment: Experiment, out: Path, jobs: int = 1) -> tuple[ExperimentResult, dict, Path]:
    result = reproduce([experiment], Run(out, quick=True, jobs=jobs))[experiment.name]
    return result, summary_in(out / experiment.name), out / experiment.name


@pytest.fixture(scope="module")
def unranked(tmp_path_factory):
    return run_quickly(admissions.UNRANKED, tmp_path_factory.mktemp("unranked"))


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    return run_quickly(admissions.RANKED, tmp_path_factory.mktemp("ranked"))


@pytest.fixture(scope="module")
def gradcafe(tmp_path_factory):
    return run_quickly(admissions.GRADCAFE, tmp_path_factory.mktemp("gradcafe"))


def check_pictures(folder: Path, names: set[str]) -> None:
    for kind in ("png", "svg"):
        found = {path.stem: path.stat().st_size for path in folder.glob(f"*.{kind}")}
        assert set(found) == names and min(found.values()) > 5000


def check_tables(tables: Tables) -> None:
    for rows in tables.values():
        assert len(rows[0]) > 1
        assert all(len(row) == len(rows[0]) and all(isinstance(cell, str) for cell in row) for row in rows)


def check_learned(part: dict, features: list[str]) -> None:
    """Eigenvectors of length one, largest eigenvalue first, and an ideal, of these features."""
    assert list(part["ideal"]) == features
    values = [one["eigenvalue"] for one in part["interactions"]]
    assert len(values) == len(features) and values == sorted(values, reverse=True)
    for one in part["interactions"]:
        assert list(one["loadings"]) == features
        assert np.linalg.norm(list(one["loadings"].values())) == pytest.approx(1)


# Unranked Candidates


@pytest.mark.long
def test_unranked_summary_has_what_was_learned_beside_the_truth(unranked):
    _, summary, _ = unranked
    assert summary["data"] == "simulated" and summary["features"] == list(FEATURES)
    assert (summary["n_candidates"], summary["n_comparisons"]) == (100, 3333)
    assert (summary["applicants"], summary["dropped"]) == (3789, 484)
    for part in (summary, summary["standardized"], summary["IdealPoint"]):
        check_learned(part, list(FEATURES))
        check_learned(part["truth"], list(FEATURES))
        assert part["truth"]["units"] == part["units"]
        assert 0.5 < part["accuracy"] <= 1
        pair = part["pairs"]["gre_verbal,gre_quantitative"]
        check_learned(pair, ["gre_verbal", "gre_quantitative"])
    assert summary["units"] == "own" and summary["standardized"]["units"] == "spreads"
    assert set(summary["overlap"]) == set(FEATURES)


def test_truth_in_units_of_spreads_is_the_papers_table(unranked):
    _, summary, _ = unranked
    found = [one["eigenvalue"] for one in summary["IdealPoint"]["truth"]["interactions"]]
    assert found == pytest.approx(EIGENVALUES)


def test_no_fit_exceeds_the_norm_that_the_gammas_allow_but_the_papers_table_does(unranked):
    _, summary, _ = unranked
    largest = summary["norm"]["largest"]
    assert np.linalg.norm(summary["metric"]) < largest < summary["norm"]["paper"] / 10


def test_unranked_pictures_and_tables_are_made(unranked):
    result, _, folder = unranked
    check_pictures(folder, {"level-sets-gre_verbal-gre_quantitative"})
    check_tables(result.tables)


def test_unranked_full_run_has_every_pair_of_features():
    names = {cell["features"] for cell in admissions.unranked_cells(False)}
    assert names == {",".join(FEATURES), *(",".join(pair) for pair in combinations(FEATURES, 2))}


@pytest.mark.long
def test_same_seed_gives_the_same_rows_in_other_processes(unranked, tmp_path):
    _, _, folder = unranked
    run_quickly(admissions.UNRANKED, tmp_path, jobs=2)
    for name in ("trials.csv", "summary.json"):
        assert (tmp_path / "unranked" / name).read_text() == (folder / name).read_text()


@pytest.mark.long
def test_another_seed_or_trial_has_other_candidates():
    cell = admissions.unranked_cells(True)[1]
    drawn = [admissions.unranked_trial(cell, *key)[3:103] for key in ((0, 0), (1, 0), (0, 1))]
    assert drawn[0][0]["record"] == "candidate"
    assert drawn[0] != drawn[1] and drawn[0] != drawn[2]


# Ranked Candidates


@pytest.mark.long
def test_ranked_summary_has_shares_and_distances_for_each_number_of_comparisons(ranked):
    _, summary, _ = ranked
    assert (summary["n_candidates"], summary["n_comparisons"]) == (88, 2610)
    names = {cell["estimator"] for cell in summary["cells"]}
    assert {"SingleStep", "SingleStep, by (M, u)", "IdealPoint"} <= names
    assert len(summary["cells"]) == len(names) * 3
    for cell in summary["cells"]:
        assert cell["share"] == cell["answers"] / 2610 and cell["failed"] == 0
        for key in ("top11", "top17", "top22"):
            assert 0 <= cell[key]["mean"] <= 1 and cell[key]["deviation"] >= 0
        order = cell["kendall11"]
        assert 0 <= order["low"] <= order["median"] <= order["high"] <= 1
    check_learned(summary["all"], FOUR)
    check_learned(summary["all"]["IdealPoint"], FOUR)


def test_all_comparisons_give_back_the_ranking_by_the_programs_distances(ranked):
    _, summary, _ = ranked
    (cell,) = (one for one in summary["cells"] if one["answers"] == 2610 and one["estimator"] == "SingleStep")
    assert cell["top11"] == cell["top17"] == cell["top22"] == {"mean": 1.0, "deviation": 0.0}
    assert cell["kendall11"]["high"] == 0


def test_ranked_pictures_and_tables_are_made(ranked):
    result, _, folder = ranked
    check_pictures(folder, {"top", "kendall"})
    check_tables(result.tables)


def test_ranked_trial_is_the_same_again(ranked):
    result, _, _ = ranked
    cell = admissions.ranked_cells(True)[0]
    again = [{**cell.settings, "trial": 1, **row} for row in admissions.ranked_trial(cell, 0, 1)]
    assert result.trials.where(answers=50, trial=1).rows == again


# What does not converge


class NeverSolved(SingleStep):
    def fit(self, X, y=None, sample_weight=None):
        raise ConvergenceError("No optimum.")


def rows_of(experiment: Experiment, cells) -> Trials:
    return Trials(
        {**cell.settings, "trial": 0, **row} for cell in cells for row in experiment.trial(cell, 0, 0)
    )


def test_ranked_fits_without_an_optimum_are_counted_and_have_no_numbers(monkeypatch):
    monkeypatch.setattr(admissions, "SingleStep", NeverSolved)
    trials = rows_of(admissions.RANKED, admissions.ranked_cells(True)[:1])
    summary = admissions.RANKED.summary(trials)
    cells = {cell["estimator"]: cell for cell in summary["cells"]}
    assert cells["SingleStep"]["failed"] == 1 and "top11" not in cells["SingleStep"]
    assert cells["IdealPoint"]["failed"] == 0 and "top11" in cells["IdealPoint"]
    assert summary["statuses"]["SingleStep"] == {admissions.NO_OPTIMUM: 2}
    assert set(admissions.RANKED.figures(summary, trials)) == {"top", "kendall"}
    check_tables(admissions.RANKED.tables(summary, trials))


@pytest.mark.long
def test_unranked_fits_without_an_optimum_have_a_status_only(monkeypatch):
    monkeypatch.setattr(admissions, "SingleStep", NeverSolved)
    trials = rows_of(admissions.UNRANKED, admissions.unranked_cells(True))
    summary = admissions.UNRANKED.summary(trials)
    assert summary["status"] == admissions.NO_OPTIMUM and "ideal" not in summary
    assert "ideal" in summary["IdealPoint"]
    assert len(admissions.UNRANKED.figures(summary, trials)) == 1
    check_tables(admissions.UNRANKED.tables(summary, trials))


# GradCafe


@here
@pytest.mark.long
def test_gradcafe_summary_has_accuracies_and_what_was_learned(gradcafe):
    _, summary, _ = gradcafe
    assert summary["data"] == "GradCafe" and summary["features"] == FOUR
    check_learned(summary, FOUR)
    check_learned(summary["IdealPoint"], FOUR)
    assert len(summary["schools"]) == 2 and summary["pooled"]["answers"] > 10_000
    for part in (summary["pooled"], *summary["schools"]):
        assert part["answers"] >= admissions.LEAST
        assert all(0.4 < part[name] <= 1 for name in ("SingleStep", "IdealPoint", "linear"))
    check_learned(summary["pairs"]["gre_verbal,gre_quantitative"], ["gre_verbal", "gre_quantitative"])


@here
def test_gradcafe_pictures_and_tables_are_made(gradcafe):
    result, _, folder = gradcafe
    check_pictures(folder, {"main"})
    check_tables(result.tables)


@here
def test_gradcafe_trial_is_the_same_again(gradcafe):
    result, _, _ = gradcafe
    cell = admissions.gradcafe_cells(True)[1]
    found = [row["accuracy"] for row in admissions.gradcafe_trial(cell, 0, 0)]
    assert found == [row["accuracy"] for row in result.trials.where(school=cell["school"]).rows]


@here
def test_gradcafe_full_run_has_the_schools_with_enough_comparisons():
    cells = admissions.gradcafe_cells(False)
    assert len(cells) == 24 and cells[0]["school"] == admissions_figures.POOLED
    assert len({cell.name for cell in cells}) == 24


def test_without_its_file_gradcafe_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("COOMBS_DATA", str(tmp_path))
    reason = admissions.GRADCAFE.needs()
    assert reason is not None and str(tmp_path) in reason
    assert reproduce([admissions.GRADCAFE], Run(tmp_path / "out", quick=True)) == {}


def test_answers_about_the_same_two_applicants_share_a_fold():
    pairs = np.array(list(combinations(range(12), 2)))
    folds = admissions._folds(np.concatenate([pairs, pairs[:, ::-1]]), np.random.default_rng(0))
    assert np.array_equal(folds[: len(pairs)], folds[len(pairs) :])
    sizes = np.bincount(folds[: len(pairs)], minlength=admissions.FOLDS)
    assert sizes.max() - sizes.min() <= 1
