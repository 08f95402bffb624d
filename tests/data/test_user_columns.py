"""Who answered: which column says it, and what is said where one does not."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coombs import Comparisons, InputError, Population
from coombs.data.by_person import people_of

ITEMS = pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=["tea", "cocoa", "mate"])
ANSWERS = pd.DataFrame(
    {"left": ["tea", "tea", "mate"], "right": ["cocoa", "mate", "cocoa"], "winner": ["tea", "mate", "mate"]}
)


@pytest.mark.parametrize(
    "header",
    [
        "User Name",
        "Participant",
        "respondent id",
        "person",
        "WorkerId",
        "judge",
        "PARTICIPANT_NO",
        "voter.id",
    ],
)
def test_usual_headers_say_who_answered_and_a_warning_names_the_column(header: str) -> None:
    """There is no column user."""
    with pytest.warns(UserWarning, match=f"no column user in the answers; '{header}' is taken for it"):
        data = Comparisons.from_frame(ITEMS, ANSWERS.assign(**{header: ["ann", "bob", "ann"]}))
    assert data.users is not None and data.users.tolist() == ["ann", "bob", "ann"]


@pytest.mark.parametrize("header", ["id", "session", "rater mood", "subjective", "whose turn"])
def test_other_headers_do_not_say_who_answered(header: str) -> None:
    """Something else may be called so."""
    assert Comparisons.from_frame(ITEMS, ANSWERS.assign(**{header: [1, 2, 1]})).users is None


def test_user_goes_before_what_is_called_like_it() -> None:
    """And nothing is said then."""
    frame = ANSWERS.assign(person=["x", "x", "y"], User=["ann", "bob", "ann"])
    data = Comparisons.from_frame(ITEMS, frame)
    assert data.users is not None and data.users.tolist() == ["ann", "bob", "ann"]


def test_of_two_columns_that_may_say_who_answered_neither_is_taken() -> None:
    """Unless they tell the same people apart."""
    frame = ANSWERS.assign(person=["ann", "bob", "ann"], judge=["x", "x", "y"])
    with pytest.raises(InputError, match="'person' and 'judge' may both say who is meant; call the one that"):
        Comparisons.from_frame(ITEMS, frame)
    with pytest.warns(UserWarning, match="'person' is taken for it"):
        data = Comparisons.from_frame(ITEMS, frame.assign(judge=["a", "b", "a"]))
    assert data.users is not None and data.users.tolist() == ["ann", "bob", "ann"]


@pytest.mark.parametrize(
    ("blank", "said"),
    [
        (["ann", "", "bob"], "The user of row 1 is blank; say who gave the answer, or leave the row out"),
        (
            ["ann", " ", None],
            r"The user of 2 of 3 answers is blank \(row 1, row 2\); say who gave the answers",
        ),
    ],
)
def test_rows_without_a_user_are_counted_and_named(blank: list[str | None], said: str) -> None:
    """In a frame, with users=, and in a Population."""
    with pytest.raises(InputError, match=said):
        Comparisons.from_frame(ITEMS, ANSWERS.assign(user=blank))
    pairs, y = ANSWERS[["left", "right"]].to_numpy(), [1, -1, 1]
    with pytest.raises(InputError, match=said):
        Comparisons(ITEMS, pairs, y, users=blank)
    with pytest.raises(InputError, match=said):
        Population(ITEMS).fit(pairs, y, users=blank)


def test_users_that_are_all_blank_are_said_to_tell_nobody_apart(tmp_path: Path) -> None:
    """The answers have no users then; a frame of ours without users is nothing to warn of."""
    ITEMS.to_csv(tmp_path / "items.csv", index_label="item")
    ANSWERS.assign(user="").to_csv(tmp_path / "answers.csv", index=False)
    with pytest.warns(UserWarning, match="The column 'user' is blank from top to bottom"):
        data = Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "answers.csv")
    assert data.users is None
    with warnings.catch_warnings(action="error"):
        assert Comparisons.from_frame(ITEMS, data.to_frame()) == data


def test_a_number_and_its_text_are_one_person_with_a_warning() -> None:
    """As names are found by their text everywhere."""
    with pytest.warns(UserWarning, match=r"text here and numbers or dates there \(3\)"):
        people, names = people_of(np.array([3, "4", "3", 5], dtype=object))
    assert people.tolist() == [0, 1, 0, 2] and names.tolist() == [3, "4", 5]
    pairs = [[0, 1], [2, 1], [0, 2]]
    with pytest.warns(UserWarning, match="taken for one person"):
        found = Population([[0.0], [1.0], [2.0]], metric="none").fit(pairs, users=[3, "3", 4])
    assert found.person("3").n_answers == found.person(3).n_answers == 2
