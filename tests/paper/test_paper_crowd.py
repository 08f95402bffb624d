"""The experiments about many people: crowds as the paper draws them, measures, a report of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coombs import SharedMetric
from coombs.paper import all_experiments, chosen
from coombs.paper.crowd import colours, draw_colour_crowd, draw_crowd
from coombs.paper.crowd_experiment import ALONE, IDENTITY, MANY_PEOPLE, accuracy
from coombs.paper.experiment import Cell
from coombs.programs.constraint_sets import SETS, ConstraintSet

SMALL = Cell("rank1-m20", {"kind": "synthetic", "rank": 1, "answers": 20})


@pytest.mark.parametrize("rank", [1, 4])
def test_crowds_are_drawn_by_the_papers_protocol(rank: int) -> None:
    """|M|_F = d, the rank asked for, and as many answers to predict as to learn from."""
    crowd = draw_crowd(6, 50, 4, rank, np.random.default_rng(0))
    assert np.linalg.norm(crowd.metric) == pytest.approx(4)
    assert np.linalg.matrix_rank(crowd.metric) == rank
    assert crowd.ideals.shape == (6, 4)
    # Answers that repeat within a person are one, of more weight: shares are then of 300 each.
    for part in (crowd.answers, crowd.test):
        assert np.bincount(part.people, part.weights * 300) == pytest.approx(np.full(6, 50))
    # The truth predicts its own answers better than chance, whatever the seed: 300 answers, steepness 4.
    assert accuracy(crowd.test, crowd.metric, crowd.directions) > 0.6


@pytest.mark.parametrize("name", SETS)
def test_oracle_radii_hold_the_truth_and_nothing_larger(name: str) -> None:
    """1.001 times the truth is outside; without bounds nothing is."""
    crowd = draw_crowd(5, 10, 4, 2, np.random.default_rng(1))
    radius, own_radius = crowd.radii(name)
    bounds = ConstraintSet(name, 4, 5, radius, own_radius)
    assert bounds.radius == radius
    if name == "nuclear_full":
        assert radius == pytest.approx(np.linalg.norm(np.hstack([crowd.metric, crowd.directions.T]), "nuc"))
    if name == "psd":
        assert np.isinf(radius)
    if name in ("frobenius", "nuclear_metric"):
        assert own_radius == pytest.approx(np.linalg.norm(crowd.directions, axis=1).max())


def test_there_are_37_colours_around_their_mean() -> None:
    """Eight hues in four cuts and five greys; the farthest at 1, as the paper scales them."""
    points = colours()
    assert points.shape == (37, 3)
    assert points.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1)
    assert len(np.unique(points.round(9), axis=0)) == 37


def test_people_who_judge_colours_answer_every_ordered_pair_once() -> None:
    """37 x 36 answers each, so many of them learned from."""
    crowd = draw_colour_crowd(3, 40, np.random.default_rng(0))
    total = 3 * 37 * 36
    assert np.bincount(crowd.answers.people, crowd.answers.weights * 3 * 40) == pytest.approx(np.full(3, 40))
    assert np.bincount(crowd.test.people, crowd.test.weights * (total - 120)) == pytest.approx(
        np.full(3, 37 * 36 - 40)
    )


@pytest.mark.slow
def test_a_trial_is_the_same_again_and_has_every_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five programs and two baselines, from the seed alone; three people and features are enough."""
    monkeypatch.setattr("coombs.paper.crowd_experiment.D", 3)
    monkeypatch.setattr("coombs.paper.crowd_experiment.N_PEOPLE", 3)
    rows = MANY_PEOPLE.trial(SMALL, 3, 0)
    assert [row["estimator"] for row in rows] == [*SETS, ALONE, IDENTITY]
    assert rows == MANY_PEOPLE.trial(SMALL, 3, 0)
    assert rows != MANY_PEOPLE.trial(SMALL, 4, 0)
    assert all(0 <= row["accuracy"] <= 1 and row["metric"] > 0 and row["ideals"] > 0 for row in rows)


def test_other_papers_are_asked_for_by_name(tmp_path: Path) -> None:
    """`all` means the experiments of Xu and Davenport."""
    assert [one.name for one in chosen(["all"], tmp_path)] == [one.name for one in all_experiments()]
    assert [one.name for one in chosen(["many-people"], tmp_path)] == ["many-people"]


@pytest.mark.slow
@pytest.mark.long
def test_quick_run_ends_in_a_report_without_claims_of_the_other_paper(tmp_path: Path) -> None:
    """Both figures, both tables, and whose experiments they are."""
    pytest.importorskip("matplotlib")
    from coombs.paper.report import write_report
    from coombs.paper.runner import Run, reproduce

    experiments, run = chosen(["many-people"], tmp_path), Run(tmp_path, quick=True, trials=1)
    results = reproduce(experiments, run)
    page = write_report(experiments, results, run).read_text(encoding="utf-8")
    assert set(results["many-people"].figures) == {"main", "colours"}
    assert "Gregory Canal" in page and "Austin Xu" not in page and "claims</a> in the text" not in page
    assert "Colours: medians" in page


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float64, bool])
def test_labels_of_any_type_are_learned_the_right_way_round(kind: type) -> None:
    """Unsigned labels, where 2 y - 3 and -y overflow, turned the authors' code round under numpy 2."""
    items = np.linspace(-1, 1, 9)[:, None]
    pairs = np.array([[i, j] for i in range(9) for j in range(9) if i < j])
    nearer = np.abs(items[pairs[:, 0], 0] - 0.5) < np.abs(items[pairs[:, 1], 0] - 0.5)
    y = nearer if kind is bool else np.where(nearer, 1, -1).astype(np.int8)
    if kind is np.uint8:
        # What cannot say -1 is given as winners first.
        pairs, y = np.where(nearer[:, None], pairs, pairs[:, ::-1]), np.ones(len(pairs), dtype=np.uint8)
    elif kind is not bool:
        y = y.astype(kind)
    est = SharedMetric(items, constraint="frobenius", radius=20.0, own_radius=20.0)
    est.fit(pairs, y, users=np.zeros(len(pairs), dtype=int))
    assert est.score(pairs, y, users=np.zeros(len(pairs), dtype=int)) > 0.9
