"""Answers of every shape in a study: kept, undone, learned from, and by which the next question is chosen."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest

from coombs import Comparisons, IdealPoint, InputError, create_study, load_study
from coombs.inference.score_belief import ScoreBelief
from coombs.storage import Judgement, JudgementRecord, now
from coombs.study.judgements import live_rows

LINE = np.linspace(0.0, 3.0, 8)[:, None]
"""Items of which somebody likes the first best, and the last least."""
PLAIN = [f"idea {i}" for i in range(8)]
"""The same without features."""


def choices(items: Any) -> Comparisons:
    shown = [[0, 3, 6], [1, 2, 7], [2, 4, 5], [0, 1, 5], [3, 4, 7], [1, 3, 6], [0, 2, 7], [5, 6, 7]]
    return Comparisons.from_choices(items, _called(items, shown), _called(items, [min(one) for one in shown]))


def best_worst(items: Any) -> Comparisons:
    shown = [[0, 2, 4, 6], [1, 3, 5, 7], [0, 1, 4, 5], [2, 3, 6, 7], [0, 3, 4, 7], [1, 2, 5, 6]]
    best, worst = ([f(one) for one in shown] for f in (min, max))
    return Comparisons.from_best_worst(items, *(_called(items, part) for part in (shown, best, worst)))


def rankings(items: Any) -> Comparisons:
    return Comparisons.from_rankings(items, _called(items, [list(range(8)), [0, [1, 2], 5, 7], [1, 3, 4, 6]]))


def ratings(items: Any) -> Comparisons:
    return Comparisons.from_ratings(items, _called(items, list(range(8))), [5, 5, 4, 4, 3, 2, 1, 1])


def _called(items: Any, positions: Any) -> Any:
    """Items by name, where they have names."""
    if isinstance(positions, list):
        return [_called(items, one) for one in positions]
    return items[positions] if isinstance(items, list) else positions


SHAPES = pytest.mark.parametrize("made", [choices, best_worst, rankings, ratings])


@SHAPES
@pytest.mark.parametrize("items", [LINE, PLAIN], ids=["features", "names"])
def test_questions_after_an_import_are_chosen_by_it(made: Any, items: Any) -> None:
    """Before the first question the model knows the ends, and predicts an answer about them."""
    study = create_study(items, storage="memory:", top=1)
    blank = study.respondent("nobody").think().belief
    study.add(made(items))
    belief = study.respondent().think().belief

    def margin(belief: Any) -> float:
        scores, _ = belief.scores(np.array([0, 7]))
        return float((scores[1] > scores[0]).mean())

    assert abs(margin(blank) - 0.5) < 0.2 and margin(belief) > 0.85
    assert study.progress().top[0] in [study.catalogue.labels[i] for i in (0, 1)]
    question = study.ask()
    assert question is not None and question.probability is not None


@SHAPES
def test_each_shape_is_fitted_by_its_own_likelihood(made: Any) -> None:
    study = create_study(LINE, storage="memory:", metric="none")
    data = made(LINE)
    assert study.add(data) == len(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, direct = study.result(), IdealPoint(metric="none", random_state=0).fit(data)
    assert study.comparisons().shapes == data.shapes
    np.testing.assert_array_equal(result.model.distances_, direct.distances_)
    assert (result.n_answers, result.n_clear, result.n_probes) == (len(data), len(data), 0)
    assert not result.is_chosen and result.response_style.n_choices == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_answers_of_every_shape_survive_reopening_bit_for_bit(kind: str, tmp_path: Path) -> None:
    """By everybody, with their weights; in the order of the people."""
    url = postgres.fresh_url() if kind == "postgres" else f"sqlite:///{tmp_path}/a.db"
    study = create_study(LINE, storage=url)
    pairs = Comparisons(LINE, [[0, 1], [2, 1]], y=[-1, 0], users=["ann", "bob"], weights=[0.1 + 0.2, 5e-324])
    orders = Comparisons.from_choices(LINE, [[4, 3, 1], [5, 6]], [None, 6], ["bob", "cid"], [1 / 3, 2])
    rated = Comparisons.from_ratings(LINE, [0, 1, 2], [1.1, 3.3, 2.2], users=["ann", "ann", "bob"])
    data = pairs + orders + rated
    assert study.add(data) == 7 and study.respondents() == {"ann": 3, "bob": 3, "cid": 1}
    study.storage.close()
    again = load_study(storage=url)
    kept = again.comparisons()
    users = data.answer_users
    order = np.argsort([{"ann": 0, "bob": 1, "cid": 2}[one] for one in users], kind="stable")
    assert kept == data[order]
    assert again.respondent("bob").comparisons().ratings.values.tolist() == [1.1, 2.2, 3.3]
    again.storage.close()


def test_every_answer_has_a_line_of_words_and_is_taken_back_by_itself() -> None:
    study = create_study(PLAIN, storage="memory:")
    for data in (
        Comparisons.from_choices(PLAIN, [PLAIN[:3], PLAIN[:2]], ["idea 1", None]),
        Comparisons.from_best_worst(PLAIN, [PLAIN[:4]], ["idea 3"], ["idea 0"]),
        Comparisons.from_rankings(PLAIN, [["idea 3", ["idea 0", "idea 1"]], PLAIN]),
        Comparisons.from_ratings(PLAIN, PLAIN[:2], [4.5, 3]),
        Comparisons(PLAIN, [["idea 0", "idea 1"]]),
    ):
        study.add(data)
    assert [one.text for one in study.history()] == [
        "idea 1 chosen of 3",
        "none chosen of 2",
        "idea 3 best, idea 0 worst of 4",
        "idea 3 > idea 0 = idea 1",
        "idea 0 > idea 1 > idea 2 > idea 3 > idea 4 > idea 5 and 2 more",
        "idea 0 rated 4.5",
        "idea 1 rated 3",
        "idea 0 over idea 1",
    ]
    assert study.undo().text == "idea 0 over idea 1"
    ranking = study.history()[3]
    assert study.undo(ranking) == ranking
    assert [one.shape for one in study.history()] == [
        *["choice"] * 2,
        "best-worst",
        "ranking",
        *["rating"] * 2,
    ]
    with pytest.raises(InputError, match="not about a pair"):
        study.respondent().check(study.history()[0])


def test_what_was_undone_is_unlearned_and_pairs_inside_of_it_may_be_asked() -> None:
    study = create_study(LINE[:3], storage="memory:")
    blank = study.respondent().think().belief
    study.add(Comparisons.from_rankings(LINE[:3], [[0, 1, 2]]))
    assert len(study.respondent().think().belief.winners) == 2
    study.undo()
    assert study.respondent().think().belief is blank
    study.add(Comparisons.from_rankings(LINE[:3], [[0, 1, 2]]))
    assert all(study.ask() is not None for _ in range(3))


def _record(shape: str, places: Any, *rating: Any) -> JudgementRecord:
    return JudgementRecord(1, 1, Judgement(shape, places, *rating), 1.0, now())


def test_the_online_model_takes_an_answer_for_as_much_as_was_said() -> None:
    """A ranking of ten is nine choices; ten ratings count for ten; that none was chosen for nothing."""
    ranking = live_rows([_record("ranking", tuple((i,) for i in range(10)))], 10)
    assert ranking.weights.tolist() == [1.0] * 9 and ranking.sets is not None and ranking.sets.n_sets == 8
    levels = (1.0, 2.0, 3.0)
    rated = live_rows([_record("rating", ((i,),), levels[i % 3], levels) for i in range(10)], 10)
    assert rated.weights.sum() == pytest.approx(10) and rated.sets is None
    assert len(live_rows([_record("rating", ((0,),), 1.0, levels)], 10).winners) == 0
    assert len(live_rows([_record("choice", ((-1,), (0, 1, 2)))], 10).winners) == 0
    two = live_rows([_record("choice", ((1,), (-1, 0)))], 10)
    assert (two.winners.tolist(), two.losers.tolist(), two.sets) == ([1], [0], None)


def test_chunks_of_answers_with_sets_are_the_same_as_all_at_once() -> None:
    """Rows of rivals are counted on from those that are there."""
    records = [_record("choice", ((i,), (i + 1, i + 2))) for i in range(4)]
    rng, items = np.random.default_rng(0), np.zeros((6, 0))
    blank = ScoreBelief.prior(items, "full", rng)
    step = blank
    for record in records:
        rows = live_rows([record], 6)
        step = step.after(rows, rng)  # type: ignore[assignment]
    rows = live_rows(records, 6)
    whole = blank.after(rows, rng)
    for one, other in zip(step.answers.sets.members, whole.answers.sets.members, strict=True):
        assert one == other
    assert step.answers.winners.tolist() == whole.answers.winners.tolist()
    assert step.answers.losers.tolist() == whole.answers.losers.tolist()


def test_answers_of_others_or_about_others_are_refused_with_a_sentence() -> None:
    study = create_study(PLAIN, storage="memory:")
    ann = study.respondent("ann")
    by_bob = Comparisons.from_choices(PLAIN, [PLAIN[:3]], [PLAIN[0]], users=["bob"])
    for call, sentence in (
        (lambda: ann.add(by_bob), "Some answers are by 'bob', not 'ann'; study.add takes everybody's"),
        (lambda: study.add([(0, 1)]), "The answers are a list; they must be Comparisons"),
        (lambda: study.add(choices(LINE)), "either both must have names for them, or none"),
        (lambda: study.add(Comparisons(["idea 0", "idea 9"], [[0, 1]])), "Unknown item 'idea 9'"),
        (lambda: create_study(LINE, storage="memory:").add(choices(LINE + 1)), "the items must be the same"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()
    assert study.respondents() == {"ann": 0}
    assert study.add(by_bob) == 1 and study.respondents() == {"ann": 0, "bob": 1}


def test_ratings_on_two_scales_are_refused_when_they_come_in() -> None:
    """Of anybody in the study, so that what is kept can always be learned from."""
    study = create_study(LINE, storage="memory:")
    study.add(Comparisons.from_ratings(LINE, range(5), range(1, 6), users=["ann"] * 3 + ["bob"] * 2))
    with pytest.raises(InputError, match="are on two scales"):
        study.add(Comparisons.from_ratings(LINE, [0, 1], [10, 90], users=["bob", "bob"]))
    for user, values in (("ann", [1, 2]), ("bob", [4, 5]), ("cid", [2, 3]), ("dan", [2, 4])):
        assert study.add(Comparisons.from_ratings(LINE, [2, 3], values, users=[user] * 2)) == 2
    kept = study.comparisons()
    assert len(kept) == 13 and kept.ratings.values.tolist() == [1, 2, 3, 4, 5]
    assert study.respondent("bob").comparisons().ratings.values.tolist() == [1, 2, 3, 4, 5]


def test_where_nothing_is_said_of_two_items_there_is_no_result_and_questions_go_on() -> None:
    study = create_study(LINE, storage="memory:")
    study.add(ratings(LINE))
    for _ in range(7):
        study.undo()
    with pytest.raises(InputError, match="No answer says of two items which is better"):
        study.result()
    assert study.ask() is not None and study.progress().n_answers == 1
    assert study.respondent().doubts()[0].startswith("Your answers were not given to questions asked here")


@pytest.mark.parametrize(
    "said",
    [
        Comparisons.from_ratings(["a", "b", "c"], ["a", "b", "c", "a"], [1, 3, 5, 2]),
        Comparisons.from_choices(["a", "b", "c"], [["a", "b"], ["b", "c"]], ["a", None]),
    ],
    ids=["ratings", "none of these"],
)
def test_items_without_features_are_asked_about_after_answers_of_any_shape(said: Comparisons) -> None:
    study = create_study(["a", "b", "c"], storage="sqlite:///:memory:")
    study.add(said)
    study.tell(study.ask(), "left")
    assert sorted(study.result().ranking) == ["a", "b", "c"]
