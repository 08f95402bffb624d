"""Fixed questions, repeats, attention checks, balanced sides and the seed of a person."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from coombs import create_study
from coombs.data.tables import InputError
from coombs.study import Question, Settings, Study
from coombs.study.question_plan import balanced_sets

ITEMS = np.random.default_rng(0).normal(size=(10, 2))
OPTIONS = {"storage": "memory:", "metric": "identity"}


def answer(study: Study, count: int, who: str = "me") -> list[Question]:
    """So many answers, all of them to the item with the lower position."""
    person, asked = study.respondent(who), []
    for _ in range(count):
        question = person.ask()
        if question is None:
            break
        asked.append(question)
        if question.is_set:
            person.tell(question, best=min(question.items), worst=max(question.items))
        else:
            left, right = question.positions
            person.tell(question, "left" if left < right else "right")
    return asked


def test_everybody_gets_the_same_fixed_questions_in_an_order_of_their_own() -> None:
    study = create_study(ITEMS, fixed=8, strategy="fixed", **OPTIONS)
    ann, ben = answer(study, 20, "ann"), answer(study, 20, "ben")
    assert len(ann) == len(ben) == 8 and {one.purpose for one in ann} == {"fixed"}
    sets = [[frozenset(one.positions) for one in asked] for asked in (ann, ben)]
    assert set(sets[0]) == set(sets[1]) and sets[0] != sets[1]
    assert study.respondent("ann").done() and study.respondent("ann").progress().fraction == 1


def test_after_the_fixed_questions_come_chosen_ones() -> None:
    asked = answer(create_study(ITEMS, fixed=(("0", "1"), ("2", "3", "4")), **OPTIONS), 4)
    assert [one.purpose for one in asked[:2]] == ["fixed", "fixed"]
    assert {frozenset(one.positions) for one in asked[:2]} == {frozenset((0, 1)), frozenset((2, 3, 4))}
    assert "fixed" not in {one.purpose for one in asked[2:]}


@pytest.mark.parametrize(("size", "count"), [(2, 15), (3, 10), (4, 5)])
def test_drawn_questions_have_every_item_about_as_often(size: int, count: int) -> None:
    sets = balanced_sets(10, size, count, seed=3)
    often = Counter(item for one in sets for item in one)
    assert len({frozenset(one) for one in sets}) == count
    assert max(often.values()) - min(often[i] for i in range(10)) <= 1
    assert sets == balanced_sets(10, size, count, seed=3) != balanced_sets(10, size, count, seed=4)


def test_an_earlier_question_comes_again_turned_around_at_its_place() -> None:
    study = create_study(ITEMS, repeats=(6, 9), **OPTIONS)
    asked = answer(study, 11)
    assert [i for i, one in enumerate(asked) if one.purpose == "repeat"] == [6, 9]
    before = [one.positions for one in asked[:6]]
    assert asked[6].positions[::-1] in before
    flags = study.respondent().flags()
    assert (flags.n_repeats, flags.n_alike) == (2, 2)


def test_attention_checks_are_asked_and_stored_and_not_learned_from() -> None:
    study = create_study(ITEMS, attention=((2, "7", "3"), (4, "0", "9")), **OPTIONS)
    asked = answer(study, 6)
    assert [one.purpose for one in asked].count("attention") == 2
    assert [sorted(asked[i].positions) for i in (2, 4)] == [[3, 7], [0, 9]]
    # The lower position was chosen: right in the second check alone.
    flags = study.respondent().flags()
    assert (flags.n_attention, flags.n_failed, flags.names) == (2, 1, ("attention",))
    person = study.respondent()
    assert len(person.history()) == 6 and len(person.comparisons().pairs) == 4
    assert person.think().n_heard == 4 and len(study.comparisons().pairs) == 4


def test_an_undone_check_is_asked_again_and_no_other() -> None:
    study = create_study(ITEMS, attention=((0, "7", "3"),), **OPTIONS)
    (check,) = answer(study, 1)
    study.undo()
    again = study.ask()
    assert again == check
    study.tell(again, "skip")
    assert [one.purpose for one in answer(study, 3)].count("attention") == 0
    assert study.respondent().flags().n_attention == 1


def test_each_item_is_about_as_often_on_the_left_as_on_the_right() -> None:
    study = create_study(ITEMS, strategy="random", **OPTIONS)
    asked = answer(study, 44)
    sides: Counter[int] = Counter()
    for one in asked:
        sides[one.positions[0]] += 1
        sides[one.positions[1]] -= 1
    # Of tossed coins the sum of squares has the mean 88; that of a biased coin is a third of it.
    assert sum(sides[i] ** 2 for i in range(10)) < 88


def test_questions_go_by_the_stored_seed_whatever_somebody_is_called() -> None:
    study = create_study(ITEMS, fixed=8, strategy="fixed", **OPTIONS)
    storage = study.storage
    ann, ben = (study.respondent(name).record.id for name in ("ann", "ben"))
    assert storage.use_seed(ann, 5) == storage.use_seed(ben, 5) == 5
    first, second = ([frozenset(q.positions) for q in answer(study, 8, who)] for who in ("ann", "ben"))
    assert first == second


def test_the_seed_of_a_person_is_stored_with_the_first_question() -> None:
    study = create_study(ITEMS, **OPTIONS)
    number = study.respondent("ann").record.id
    assert study.storage.use_seed(number) is None
    study.respondent("ann").ask()
    assert study.storage.use_seed(number) is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set_size": 6}, "set_size is 6; it must be 2"),
        ({"set_size": True}, "set_size is True"),
        ({"fixed": -1}, "fixed is -1"),
        ({"fixed": (("0",),)}, "fixed is"),
        ({"fixed": (("0", "0"),)}, "fixed is"),
        ({"fixed": (("0", "nobody"),)}, "names 'nobody', which is no item"),
        ({"fixed": 46}, "10 items have 45 pairs"),
        ({"strategy": "fixed"}, "no fixed questions"),
        ({"repeats": (0,)}, "repeats are"),
        ({"attention": ((3, "0"),)}, "attention is"),
        ({"attention": ((3, "0", "0"),)}, "attention is"),
        ({"attention": ((3, "0", "nobody"),)}, "names 'nobody'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_study(ITEMS, **OPTIONS, **options)  # type: ignore[arg-type]


def test_settings_out_of_json_are_those_that_were_stored() -> None:
    made = Settings(fixed=[["a", "b"]], repeats=[5], attention=[[3, "a", "b"]])  # type: ignore[arg-type]
    assert made == Settings(fixed=(("a", "b"),), repeats=(5,), attention=((3, "a", "b"),))
