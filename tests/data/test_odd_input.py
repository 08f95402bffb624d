"""What the fuzzers found (tests/faults): each is taken, or refused in a sentence that says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coombs import (
    Comparisons,
    EuclideanCompass,
    IdealPoint,
    InputError,
    Model,
    SingleStep,
    create_study,
    import_study,
)
from coombs.data.catalogue import catalogue
from coombs.data.files import content_table
from coombs.evaluation import interpolated_median, ur_error, wer_error
from coombs.simulate import make_preferences

pd = pytest.importorskip("pandas")

ITEMS = [[0.0], [1.0], [2.0]]
HUGE = 10**400
"""A whole number beyond all floats."""
HALF = "\ud800"
"""Half a character."""


@pytest.mark.parametrize("largest", ["1e308", "1e121"])
def test_columns_of_huge_numbers_are_read(largest: str) -> None:
    """How lopsided they are is told without an overflow."""
    cells = "".join(f"i{k},{largest if k % 3 == 0 else k}\n" for k in range(1, 24))
    table = content_table(f"name,size\n{cells}".encode(), "t.csv")
    assert catalogue(table).table.matrix.shape == (23, 1)


def test_half_lives_of_any_size_are_taken_or_refused(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("name,x\na,1\nb,2\n")
    (tmp_path / "a.csv").write_text(
        "left,right,winner,timestamp\na,b,left,2026-01-01\na,b,right,2026-02-01\n"
    )
    paths = tmp_path / "i.csv", tmp_path / "a.csv"
    assert Comparisons.read_csv(*paths, half_life=5e-324).weights.tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match=r"The half-life is 1000.*…"):
        Comparisons.read_csv(*paths, half_life=HUGE)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Comparisons(pd.DataFrame({"a": [], "b": []}), [[0, 1]]), "There are no items"),
        (lambda: Comparisons(pd.DataFrame(index=[None, "b"]), [["b", "c"]]), "item name of row 0 is missing"),
        (lambda: Comparisons(np.zeros((1, 0), dtype=complex), [[0, 1]]), "fewer than two items"),
        (lambda: Comparisons(ITEMS, [[0, 1]], users=[{}]), "user of row 0 is {}; it must be text"),
        (lambda: Comparisons(ITEMS, [[0, 1]], users=[HALF]), "user of row 0 has half a character"),
        (lambda: Comparisons(["a", HALF], [["a", HALF]]), "has half a character in it"),
        (lambda: Comparisons.from_choices(ITEMS, 3, [0]), "The options are 3; they must be a list"),
        (lambda: Comparisons.from_choices(ITEMS, [5], [0]), "The options of answer 0 are 5"),
        (lambda: Comparisons.from_choices(ITEMS, [[0, 1]], 5), "The chosen are 5"),
        (lambda: Comparisons.from_best_worst(ITEMS, [[0, 1]], 1, [0]), "The best are 1; they must be a list"),
        (lambda: Comparisons.from_rankings(ITEMS, [1j]), "The rankings of answer 0 are 1j"),
        (lambda: Comparisons.from_rankings(ITEMS, [[0, np.array(7.0)]]), "7"),
        (lambda: SingleStep().fit(Comparisons(ITEMS, [[0, 1]], [0], weights=[5e-324])), "No answer says"),
        (lambda: SingleStep(ITEMS, gamma1=HUGE).fit([[0, 1]]), "gamma1 is 1000.*…"),
        (lambda: ur_error([HUGE], [1.0], [[1.0]]), "must be numbers"),
        (lambda: ur_error([1e200], [1e200], [[1.0]]), "overflow"),
        (lambda: interpolated_median([1e308, -1e308]), "all of them finite, up to 1e"),
        (lambda: make_preferences(noise=HUGE, random_state=0), "noise is 1000"),
        (lambda: make_preferences(noise=np.array([]), random_state=0), "noise is array"),
        (lambda: create_study(ITEMS, storage="memory:", wishes=np.array(1.0)), "The wishes are array"),
        (lambda: create_study(ITEMS, storage="memory:", wishes=[3]), "A wish is 3; it must be text"),
        (lambda: create_study(ITEMS, storage="memory:", shared_prior=np.array([])), "shared_prior is array"),
        (lambda: create_study(ITEMS, storage="memory:", roles=np.array([])), "roles is array"),
    ],
)
def test_odd_input_is_refused_in_a_sentence(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_numbers_of_other_types_are_parameters_too() -> None:
    """A whole number beyond 64 bits, and a fraction, are as good as the float."""
    for gamma in (10**30, Fraction(1, 3)):
        found = EuclideanCompass(ITEMS, gamma=gamma).fit([[0, 1], [1, 2]])
        assert found.ideal_point_.tolist() == (
            EuclideanCompass(ITEMS, gamma=float(gamma)).fit([[0, 1], [1, 2]]).ideal_point_.tolist()
        )
    assert wer_error([[1e308, 0.0], [0.0, 1.0]], [[1e308, 0.0], [0.0, 1.0]]) == 0.0


def test_gaps_are_filled_by_the_mean_of_huge_numbers_too() -> None:
    """The sum of these overflows; of numbers none of which is one, there is no mean."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1e308, 1e308, 1e308, None]}, index=list("abcd"))
    found = catalogue(frame, features=["x", "y"]).table
    assert found.encoding is not None and np.isfinite(found.matrix).all()
    with pytest.raises(InputError, match="There are no answers"):
        Comparisons.from_frame(ITEMS, pd.DataFrame({"left": [], "right": [], "winner": []}), half_life=3)


def test_a_model_with_a_feature_of_no_columns_is_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "town": list("abab")}, index=list("uvwx"))
    data = Comparisons(frame, [["u", "v"], ["w", "x"], ["v", "w"]], roles={"town": "category"})
    content = json.loads(IdealPoint(metric="smooth", random_state=0).fit(data).model_.to_json())
    content["bumps"]["blocks"] = [[]]
    with pytest.raises(InputError, match="blocks must be different columns"):
        Model.from_json(json.dumps(content))


def test_times_beside_numbers_are_no_items(tmp_path: Path) -> None:
    frame = pd.DataFrame({"left": pd.to_datetime(["2026-01-31"]), "right": [1], "winner": ["left"]})
    with pytest.raises(InputError, match="Unknown item '2026-01-31'"):
        Comparisons.from_frame(ITEMS, frame)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"kind": "item", "name": [[]], "features": [1.0], "details": {}}', "it must be text or a number"),
        ('{"kind": "item", "name": "a", "name": "b", "features": [1.0], "details": {}}', "has 'name' twice"),
        ('{"kind": "item", "name": "a", "features": [NaN], "details": {}}', "NaN for a number"),
    ],
)
def test_lines_of_a_study_mean_one_thing(line: str, words: str, tmp_path: Path) -> None:
    head = {"kind": "study", "format": "coombs study", "version": 1, "name": "s", "feature_names": ["x"]}
    first = json.dumps(head | {"settings": {}, "created": "2026-01-01T00:00:00+00:00"})
    (tmp_path / "s.jsonl").write_text(f"{first}\n{line}\n")
    with pytest.raises(InputError, match=f"Line 2 of .*{words}"):
        import_study(tmp_path / "s.jsonl", storage="memory:")
