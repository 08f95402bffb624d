"""The best and the worst of three to five items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coombs import Comparisons, create_study, import_study
from coombs.data.tables import InputError
from coombs.set_questions import choose_sets, outcome_probabilities, random_sets
from coombs.storage import AnsweredError, Storage, UnknownStudyError
from coombs.study import Question, Study

ITEMS = np.random.default_rng(0).normal(size=(12, 2))
WORTH = 3 * ITEMS[:, 0]


def new_study(size: int = 4, storage: str | Storage = "memory:", **options: object) -> Study:
    return create_study(ITEMS, storage=storage, metric="identity", set_size=size, **options)  # type: ignore[arg-type]


def tell_truth(study: Study, question: Question) -> None:
    worth = WORTH[list(question.positions)]
    study.tell(question, best=question.positions[worth.argmax()], worst=question.positions[worth.argmin()])


@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_question_is_about_as_many_different_items_as_the_study_asks_for(size: int) -> None:
    study = new_study(size)
    question = study.ask()
    assert question is not None and question.is_set and (question.left, question.right) == (None, None)
    assert len(set(question.items)) == size == len(question.names)


def test_pairs_are_asked_where_nothing_else_is_said() -> None:
    question = create_study(ITEMS, storage="memory:", metric="identity").ask()
    assert question is not None and not question.is_set
    assert question.names == (question.left, question.right)


def test_the_best_and_the_worst_are_stored_and_learned_from() -> None:
    study = new_study()
    for _ in range(8):
        question = study.ask()
        assert question is not None
        tell_truth(study, question)
    assert {one.shape for one in study.history()} == {"best-worst"}
    assert all(one.question is not None and one.purpose for one in study.history())
    belief = study.respondent().think().belief
    assert np.corrcoef(belief.mean_scores(), -WORTH)[0, 1] > 0.7


def test_the_same_said_again_is_stored_once_and_another_answer_refused() -> None:
    study = new_study()
    question = study.ask()
    assert question is not None
    first, second, *_ = question.names
    told = study.tell(question, best=first, worst=second)
    assert study.tell(question.id, best=first, worst=second) == told
    with pytest.raises(AnsweredError, match="has another answer"):
        study.tell(question, best=second, worst=first)
    with pytest.raises(AnsweredError, match="has another answer"):
        study.tell(question, "skip")
    assert len(study.history()) == 1


def test_another_best_and_worst_takes_the_place_of_an_answer() -> None:
    study = new_study()
    question = study.ask()
    assert question is not None
    one, two, three, _ = question.names
    told = study.tell(question, best=one, worst=two)
    assert study.change(told, best=one, worst=two) == told
    changed = study.change(told, best=three, worst=one)
    assert [(a.winner, a.worst, a.question) for a in study.history()] == [(three, one, question.id)]
    skipped = study.change(changed, "skip")
    assert skipped.choice == "skip" and study.change(skipped, best=one, worst=two).winner == one
    (standing,) = study.history()
    for wrong in (
        {"choice": "left"},
        {"best": one},
        {"best": one, "worst": one},
        {"best": "x", "worst": one},
    ):
        with pytest.raises(InputError):
            study.change(standing, **wrong)  # type: ignore[arg-type]
    assert study.history() == (standing,)


def test_a_best_and_worst_that_nobody_asked_for_can_be_changed_and_a_ranking_cannot() -> None:
    study = new_study(2)
    study.add(Comparisons.from_best_worst(ITEMS, [[0, 1, 2]], [0], [1]))
    study.add(Comparisons.from_rankings(ITEMS, [[3, 4, 5]]))
    first, second = study.history()
    assert study.change(first, best=2, worst=0).winner == "2"
    with pytest.raises(InputError, match="is a ranking"):
        study.change(second, best=3, worst=4)
    with pytest.raises(InputError, match="best and worst"):
        study.change(study.history()[-1], "skip")


def test_what_was_undone_or_skipped_is_not_learned_from() -> None:
    study = new_study()
    question = study.ask()
    assert question is not None
    tell_truth(study, question)
    study.undo()
    assert study.ask() == question
    assert study.tell(question, "skip").text.startswith("no answer about")
    assert study.tell(question, "skip").choice == "skip" and study.respondent().think().n_heard == 0
    with pytest.raises(InputError, match="has not answered"):
        study.comparisons() if study.respondents()["me"] == 0 else study.respondent().comparisons()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"choice": "left"}, "is about a set"),
        ({}, "is about a set"),
        ({"best": 0}, "is about a set"),
        ({"best": "nobody", "worst": "nothing"}, "is none of the items"),
    ],
)
def test_what_is_no_answer_to_a_set_is_refused_in_a_sentence(said: dict[str, object], message: str) -> None:
    study = new_study()
    question = study.ask()
    assert question is not None
    with pytest.raises(InputError, match=message):
        study.tell(question, **said)  # type: ignore[arg-type]


def test_one_item_cannot_be_both_and_a_pair_has_neither() -> None:
    study = new_study()
    question = study.ask()
    assert question is not None
    with pytest.raises(InputError, match="both the best and the worst"):
        study.tell(question, best=question.names[0], worst=question.names[0])
    with pytest.raises(InputError, match="no best and worst"):
        study.tell((1, 0), best=1)


def test_every_set_is_asked_once_and_then_none_is_left() -> None:
    study = create_study(ITEMS[:4], storage="memory:", metric="identity", set_size=3)
    asked = set()
    while (question := study.ask()) is not None and len(asked) < 10:
        assert frozenset(question.items) not in asked
        asked.add(frozenset(question.items))
        study.tell(question, "skip")
    assert len(asked) == 4


def test_of_fewer_items_than_a_set_has_all_are_asked_about() -> None:
    question = create_study(ITEMS[:3], storage="memory:", metric="identity", set_size=5).ask()
    assert question is not None and sorted(question.items) == [0, 1, 2]


def test_two_processes_never_ask_about_the_same_set() -> None:
    study = new_study(3)
    storage, number = study.storage, study.respondent().record.id
    assert storage.add_set_question(number, (0, 1, 2), "random") is not None
    assert storage.add_set_question(number, (2, 1, 0), "random") is None


def test_answers_about_other_items_than_the_question_are_refused() -> None:
    from coombs.storage import Judgement

    study = new_study(3)
    storage, number = study.storage, study.respondent().record.id
    asked = storage.add_set_question(number, (0, 1, 2), "random")
    assert asked is not None
    with pytest.raises(UnknownStudyError, match="is about the items 0, 1, 2"):
        storage.add_judgement(number, Judgement("best-worst", ((0,), (1,), (3,))), question_id=asked.id)
    with pytest.raises(InputError, match="is about a set"):
        storage.add_answer(number, 0, 1, "left", question_id=asked.id)


def test_export_and_import_keep_questions_answers_and_skips(tmp_path: Path) -> None:
    study = new_study()
    for k in range(4):
        question = study.ask()
        assert question is not None
        if k == 2:
            study.tell(question, "skip")
        else:
            tell_truth(study, question)
    study.undo()
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl", storage="memory:")
    assert [one.text for one in again.history()] == [one.text for one in study.history()]
    assert [one.purpose for one in again.history()] == [one.purpose for one in study.history()]
    again.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "study.jsonl").read_text()
    study.export(tmp_path / "answers.csv")
    other = create_study(ITEMS, "other", storage="memory:")
    assert other.import_answers(tmp_path / "answers.csv") == 2
    assert len(Comparisons.read_csv(_items(tmp_path), tmp_path / "answers.csv")) == 2


def _items(folder: Path) -> Path:
    rows = "".join(f"{i},{a},{b}\n" for i, (a, b) in enumerate(ITEMS.tolist()))
    (folder / "items.csv").write_text(f"item,a,b\n{rows}")
    return folder / "items.csv"


def test_answers_have_probabilities_that_add_up_to_one() -> None:
    rng = np.random.default_rng(0)
    best, both = outcome_probabilities(rng.normal(size=(7, 4, 5)), rng.uniform(0, 0.2, 5))
    np.testing.assert_allclose(best.sum(axis=1), 1)
    np.testing.assert_allclose(both.sum(axis=1), 1)
    np.testing.assert_allclose(both.reshape(7, 4, 3, 5).sum(axis=2), best)


@pytest.mark.parametrize("strategy", ["information", "best"])
def test_a_chosen_set_tells_more_than_random_ones(strategy: str) -> None:
    belief = create_study(ITEMS, storage="memory:", metric="identity").respondent().think().belief
    (chosen,) = choose_sets(belief, strategy, 12, 4, (), np.random.default_rng(0), 3)
    same = choose_sets(belief, strategy, 12, 4, (), np.random.default_rng(0), 3)
    at_random = choose_sets(belief, "random", 12, 4, (), np.random.default_rng(0), 3, 20)
    assert same == (chosen,) and np.isclose(sum(chosen.chances), 1)
    if strategy == "information":
        assert chosen.gain > np.mean([one.gain for one in at_random])


def test_random_sets_differ_and_were_not_asked() -> None:
    asked = {frozenset((0, 1, 2)), frozenset((1, 2, 3))}
    found = random_sets(5, 3, asked, np.random.default_rng(0), 8)
    assert len({frozenset(one) for one in found}) == len(found) <= 8
    assert asked.isdisjoint(map(frozenset, found))
