"""Choices, best and worst, rankings, ratings and probabilities: what comes in is what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import Comparisons, IdealPoint, InputError
from coombs.data.orders import GROUPS, NONE

ITEMS = np.arange(12.0).reshape(6, 2) ** 1.5
NAMES = ["ale", "beer", "cider", "gin", "rum", "tea"]
pd = pytest.importorskip("pandas")
FRAME = pd.DataFrame(ITEMS, index=NAMES, columns=["a", "b"])


def compiled(data: Comparisons) -> set[tuple[Any, ...]]:
    """What is learned from: (winners, losers, weight), sets of rivals as sorted tuples."""
    found = data._events()
    base = data.n_items + found.sets.n_single
    ends = np.append(found.sets.starts, len(found.sets.members))

    def thing(row: int) -> Any:
        if row < base:
            return row
        q = row - base
        return (found.sets.signs[q], *sorted(found.sets.members[ends[q] : ends[q + 1]].tolist()))

    rows = zip(found.winners.tolist(), found.losers.tolist(), found.weights.tolist(), strict=True)
    return {(thing(a), thing(b), w) for a, b, w in rows}


def test_a_choice_is_better_than_the_best_of_its_rivals() -> None:
    data = Comparisons.from_choices(ITEMS, [[0, 1, 2, 3]], [2])
    assert compiled(data) == {(2, (1.0, 0, 1, 3), 1.0)}


def test_a_ranking_is_one_choice_after_the_other() -> None:
    data = Comparisons.from_rankings(ITEMS, [[3, 1, 0, 2]])
    assert compiled(data) == {(3, (1.0, 0, 1, 2), 1.0), (1, (1.0, 0, 2), 1.0), (0, 2, 1.0)}


def test_best_is_chosen_first_and_then_the_worst_of_the_rest() -> None:
    data = Comparisons.from_best_worst(ITEMS, [[0, 1, 2, 3]], [2], [1])
    assert compiled(data) == {(2, (1.0, 0, 1, 3), 1.0), ((-1.0, 0, 3), 1, 1.0)}


def test_a_rating_is_an_answer_about_the_thresholds_of_its_person_beside_it() -> None:
    data = Comparisons.from_ratings(ITEMS, [0, 1, 2], [1, 2, 3], users=["x", "x", "y"])
    # Two thresholds a person: rows 6 and 7 are x's, 8 and 9 are y's; 10 and 11 are the bands between them.
    assert compiled(data) == {(6, 0, 1.0), (1, 10, 1.0), (2, 9, 1.0)}


def test_none_of_these_is_a_rival_each_time_if_it_was_ever_chosen() -> None:
    """Otherwise it could never lose, and the probabilities of one question would add up to more than 1."""
    data = Comparisons.from_choices(ITEMS, [[0, 1, 2], [1, 2]], [0, None])
    assert data.orders is not None and data.orders.always_offers_none
    assert [(one, sorted(rivals)) for one, rivals, _, _ in data.orders.choices()] == [
        (0, [NONE, 1, 2]),
        (NONE, [1, 2]),
    ]
    never = Comparisons.from_choices(ITEMS, [[0, 1, 2]], [0])
    assert never.orders is not None and not never.orders.always_offers_none


def test_none_of_these_is_a_thing_of_its_own() -> None:
    data = Comparisons.from_choices(ITEMS, [[0, 1], [2, 3]], [None, 2])
    assert compiled(data) == {(6, (1.0, 0, 1), 1.0), (2, (1.0, 3, 6), 1.0)}


def test_a_tie_of_two_is_half_an_answer_each_way() -> None:
    """In a ranking, which says of things of one tier that they are alike."""
    ranking = Comparisons.from_rankings(ITEMS, [[[4, 1]]])
    assert compiled(ranking) == {(1, 4, 0.5), (4, 1, 0.5)}


def test_where_a_pair_is_tied_who_wins_does_so_against_a_head_start() -> None:
    """Items 1, 2, 3 and 4 are ahead in the rows after all items; of a tie both are."""
    tied = Comparisons(ITEMS, [[4, 1], [1, 4], [2, 3]], y=[0, 1, -1], weights=[2, 1, 1])
    ahead = dict(zip([1, 2, 3, 4], range(len(ITEMS), len(ITEMS) + 4), strict=True))
    wanted = {(ahead[1], ahead[4], 2.0), (1, ahead[4], 1.0), (3, ahead[2], 1.0)}
    assert compiled(tied) == wanted
    swapped = Comparisons(ITEMS, [[1, 4], [4, 1], [3, 2]], y=[0, -1, 1], weights=[2, 1, 1])
    assert compiled(swapped) == wanted


def test_what_is_not_ranked_is_below_the_rest_of_the_set_in_no_order() -> None:
    data = Comparisons.from_rankings(ITEMS, [[3, 1]], among=[[0, 1, 2, 3]])
    assert compiled(data) == {(3, (1.0, 0, 1, 2), 1.0), (1, (1.0, 0, 2), 1.0)}


@given(st.permutations(range(6)), st.floats(0.1, 5))
def test_a_ranking_of_two_and_a_choice_of_two_are_a_pair(order: list[int], weight: float) -> None:
    pair = Comparisons(ITEMS, [order[:2]], weights=[weight])
    ranking = Comparisons.from_rankings(ITEMS, [order[:2]], weights=[weight])
    choice = Comparisons.from_choices(ITEMS, [order[:2]], order[:1], weights=[weight])
    assert compiled(pair) == compiled(ranking) == compiled(choice)


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_the_order_of_a_set_does_not_matter(one: list[int], other: list[int]) -> None:
    both = [Comparisons.from_choices(ITEMS, [options], [3]) for options in (one, other)]
    assert compiled(both[0]) == compiled(both[1]) and both[0] == both[1]


orders = st.lists(
    st.permutations(range(6)).flatmap(lambda p: st.integers(2, 6).map(lambda k: list(p[:k]))),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(orders, orders, st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2), st.booleans())
def test_answers_of_every_shape_come_back_from_a_table(
    ranked: list[list[int]], shown: list[list[int]], rated: list[tuple[int, int]], named: bool
) -> None:
    items: Any = FRAME if named else ITEMS
    parts = [
        Comparisons(items, [one[:2] for one in ranked], y=[0] * len(ranked)),
        Comparisons.from_choices(items, shown, [one[-1] for one in shown]),
        Comparisons.from_best_worst(items, shown, [one[0] for one in shown], [one[1] for one in shown]),
        Comparisons.from_rankings(items, ranked, weights=np.arange(1.0, len(ranked) + 1)),
    ]
    if len({level for _, level in rated}) > 1:
        parts.append(Comparisons.from_ratings(items, *zip(*rated, strict=True)))
    whole = parts[0]
    for part in parts[1:]:
        assert Comparisons.from_frame(items, part.to_frame()) == part
        whole = whole + part
    assert Comparisons.from_frame(items, whole.to_frame()) == whole
    assert len(whole) == sum(map(len, parts))
    assert whole[np.arange(len(whole))] == whole


def test_subsets_are_by_answer() -> None:
    data = Comparisons.from_rankings(ITEMS, [[0, 1, 2], [3, 4], [5, 1]], users=["x", "y", "x"])
    assert data[[2, 0]] == Comparisons.from_rankings(ITEMS, [[5, 1], [0, 1, 2]], users=["x", "x"])
    assert repr(data) == "Comparisons(3 answers about 6 items with 2 features: 3 rankings, by 2 users)"


def test_very_many_different_ratings_are_kept_and_learned_from_as_a_few_levels_of_each_person() -> None:
    values = np.random.default_rng(0).normal(50, 20, 60).round(3)
    values[30:] += 200
    users = np.repeat(["x", "y"], 30)
    data = Comparisons.from_ratings(ITEMS, np.arange(60) % 6, values, users=users)
    assert data.ratings is not None
    assert np.array_equal(data.ratings.values[data.ratings.levels], values)
    assert Comparisons.from_frame(ITEMS, data.to_frame()) == data
    few = data.ratings.in_few_levels()
    assert len(few.values) == GROUPS
    for person in "xy":
        mine = users == person
        assert np.unique(few.levels[mine], return_counts=True)[1].min() >= 5
        assert (np.diff(few.levels[mine][np.argsort(values[mine])]) >= 0).all()


def test_missing_ratings_are_left_out() -> None:
    data = Comparisons.from_ratings(FRAME, NAMES[:3], [1, np.nan, 3])
    assert data == Comparisons.from_ratings(FRAME, ["ale", "cider"], [1, 3])


TABLES = {
    "choices in numbered columns": (
        "user,option 1,option 2,option 3,chosen\nann,ale,beer,gin,gin\nann,tea,rum,,none\n",
        Comparisons.from_choices(
            FRAME, [["ale", "beer", "gin"], ["tea", "rum"]], ["gin", None], users=["ann", "ann"]
        ),
    ),
    "choices in a list": (
        "options,chosen\nale | beer | gin,ale\n",
        Comparisons.from_choices(FRAME, [["ale", "beer", "gin"]], ["ale"]),
    ),
    "best and worst": (
        "options,best,worst\nale|beer|gin|tea,gin,ale\n",
        Comparisons.from_best_worst(FRAME, [["ale", "beer", "gin", "tea"]], ["gin"], ["ale"]),
    ),
    "rankings in columns": (
        "user,rank 1,rank 2,rank 3\nann,tea,ale,rum\nbob,gin,ale,\n",
        Comparisons.from_rankings(FRAME, [["tea", "ale", "rum"], ["gin", "ale"]], users=["ann", "bob"]),
    ),
    "rankings as text": (
        "ranking\ntea > ale = rum > gin\n",
        Comparisons.from_rankings(FRAME, [["tea", ["ale", "rum"], "gin"]]),
    ),
    "rankings in long form": (
        "user,item,rank\nann,tea,1\nann,ale,2\nbob,gin,1\nbob,tea,2\nann,gin,2\n",
        Comparisons.from_rankings(FRAME, [["tea", ["ale", "gin"]], ["gin", "tea"]], users=["ann", "bob"]),
    ),
    "choices in long form": (
        "task,item,chosen\n1,tea,0\n1,ale,1\n1,gin,0\n2,rum,1\n2,tea,0\n",
        Comparisons.from_choices(FRAME, [["tea", "ale", "gin"], ["rum", "tea"]], ["ale", "rum"]),
    ),
    "ratings": (
        "user,item,rating\nann,tea,5\nann,ale,2\nbob,tea,\nbob,gin,3\n",
        Comparisons.from_ratings(FRAME, ["tea", "ale", "gin"], [5, 2, 3], users=["ann", "ann", "bob"]),
    ),
    "chosen and rejected": ("chosen,rejected\ntea,ale\n", Comparisons(FRAME, [["tea", "ale"]])),
    "probabilities": (
        "left,right,p\ntea,ale,0.7\n",
        Comparisons.from_probabilities(FRAME, [["tea", "ale"]], [0.7]),
    ),
    "confidence": (
        "winner,loser,confidence\ntea,ale,0.5\n",
        Comparisons(FRAME, [["tea", "ale"]], weights=[0.5]),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_shape_of_answers_is_told_by_their_columns(name: str, tmp_path: Path) -> None:
    text, wanted = TABLES[name]
    FRAME.to_csv(tmp_path / "items.csv", index_label="item")
    (tmp_path / "answers.csv").write_text(text)
    assert Comparisons.read_csv(tmp_path / "items.csv", tmp_path / "answers.csv") == wanted


WRONG = [
    (lambda: Comparisons.from_choices(ITEMS, [[0, 1]], [4]), "The choice of answer 0 is 4"),
    (lambda: Comparisons.from_choices(ITEMS, [[0]], [0]), "In answer 0 there is 1 item"),
    (lambda: Comparisons.from_choices(ITEMS, [[0, 1, 1]], [0]), "In answer 0 row 1 comes twice"),
    (lambda: Comparisons.from_choices(ITEMS, [[0, 1]], [0, 1]), "There are 2 chosen for 1 sets"),
    (lambda: Comparisons.from_best_worst(ITEMS, [[0, 1]], [0], [0]), "both best and worst"),
    (lambda: Comparisons.from_best_worst(ITEMS, [[0, 1, 0]], [0], [1]), "In answer 0 row 0 comes twice"),
    (lambda: Comparisons.from_best_worst(ITEMS, [[0, 1]], [0], [5]), "The worst of answer 0 is 5"),
    (lambda: Comparisons.from_rankings(FRAME, [["tea", "coffee"]]), "Unknown item 'coffee' in answer 0"),
    (lambda: Comparisons.from_rankings(FRAME, [["tea", "ale", "tea"]]), "item 'tea' comes twice"),
    (lambda: Comparisons.from_rankings(FRAME, []), "There are no answers"),
    (lambda: Comparisons.from_rankings(FRAME, [["tea"]], among=[["ale"]]), "not in its `among`"),
    (lambda: Comparisons.from_ratings(FRAME, ["tea", "ale"], [3, 3]), "All ratings are the same"),
    (
        lambda: Comparisons.from_ratings(FRAME, ["tea", "ale"], np.array([3, "good"], dtype=object)),
        "Rating of row 1 is 'good'",
    ),
    (lambda: Comparisons.from_ratings(FRAME, ["tea"], [np.nan]), "No rating is known; at least two"),
    (lambda: Comparisons.from_ratings(FRAME, ["tea", "ale"], [3, np.inf]), "Rating of row 1 is infinite"),
    (lambda: Comparisons.from_probabilities(ITEMS, [[0, 1]], [1.2]), "p of row 0 is 1.2"),
    (
        lambda: Comparisons.from_rankings(ITEMS, [[0, 1]]) + Comparisons(ITEMS + 1, [[0, 1]]),
        "different items",
    ),
    (
        lambda: Comparisons.from_probabilities(ITEMS, [[0, 1]], [np.nan]),
        "p of row 0 is missing; it must be a number from 0 to 1",
    ),
    (lambda: Comparisons.from_rankings(ITEMS, [[0, 1]]).to_pairs(), "are not pairs"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_cannot_be_gets_a_sentence(number: int) -> None:
    make, sentence = WRONG[number]
    with pytest.raises(InputError, match=sentence):
        make()


def test_answers_that_order_nothing_are_not_decided() -> None:
    """Ties of all, none of these, and people who rate everything alike, each on a level of their own."""
    tied = Comparisons.from_rankings(ITEMS, [[[0, 1]], [[1, 2, 3]]])
    none = Comparisons.from_choices(ITEMS, [[0, 1], [1, 2]], [None, None])
    alike = Comparisons.from_ratings(ITEMS, [0, 1, 2, 3], [3, 3, 5, 5], users=["a", "a", "b", "b"])
    undecided = tied + none + alike
    assert not undecided.is_decided
    with pytest.raises(InputError, match="No answer says of two items which is better"):
        IdealPoint(metric="none").fit(undecided)
    for more in (
        Comparisons(ITEMS, [[0, 1]]),
        Comparisons.from_choices(ITEMS, [[0, 1, 2]], [1]),
        Comparisons.from_ratings(ITEMS, [0, 1], [3, 4]),
    ):
        assert more.is_decided and (undecided + more).is_decided


def test_older_answers_count_for_less_by_their_half_life(tmp_path: Path) -> None:
    """In files and frames; the last one counts whole."""
    text = "winner,loser,timestamp\ntea,ale,2026-01-01\ntea,gin,2026-01-31\nrum,ale,2026-03-02\n"
    FRAME.to_csv(tmp_path / "items.csv", index_label="item")
    (tmp_path / "answers.csv").write_text(text)
    paths = tmp_path / "items.csv", tmp_path / "answers.csv"
    assert Comparisons.read_csv(*paths, half_life=30).weights == pytest.approx([0.25, 0.5, 1.0])
    assert Comparisons.read_csv(*paths).weights.tolist() == [1, 1, 1]
    frame = pd.DataFrame({"user": ["x", "x"], "item": ["tea", "ale"], "rating": [1, 2], "weight": [2.0, 2.0]})
    frame["timestamp"] = pd.to_datetime(["2026-01-01", "2026-01-11"])
    data = Comparisons.from_frame(FRAME, frame, half_life=10)
    assert data.answer_weights == pytest.approx([1.0, 2.0])


def test_a_half_life_goes_with_confidence_and_refuses_what_is_no_weight() -> None:
    frame = pd.DataFrame({"winner": ["tea", "tea"], "loser": ["ale", "gin"], "confidence": [0.5, 0.5]})
    frame["timestamp"] = pd.to_datetime(["2026-01-01", "2026-01-11"])
    assert Comparisons.from_frame(FRAME, frame, half_life=10).weights == pytest.approx([0.25, 0.5])
    frame["confidence"] = ["high", "low"]
    with pytest.raises(InputError, match="Weight of row 0 is 'high'; it must be a number"):
        Comparisons.from_frame(FRAME, frame, half_life=10)


@pytest.mark.parametrize(
    ("half_life", "column", "sentence"),
    [
        (0, "timestamp", "The half-life is 0; it must be a number of days"),
        (30, "when", "needs a column timestamp"),
        (30, "time", "The time of row 1 is .soon.; it must be a date"),
    ],
)
def test_a_half_life_that_cannot_be_gets_a_sentence(half_life: float, column: str, sentence: str) -> None:
    frame = pd.DataFrame({"winner": ["tea"] * 2, "loser": ["ale"] * 2, column: ["2026-01-01", "soon"]})
    with pytest.raises(InputError, match=sentence):
        Comparisons.from_frame(FRAME, frame, half_life=half_life)


def test_ratings_on_two_scales_are_not_joined() -> None:
    """Their numbers mean different things; of one scale, a part of which was used, they are."""
    stars = Comparisons.from_ratings(ITEMS, [0, 1, 2], [1, 3, 5])
    points = Comparisons.from_ratings(ITEMS, [3, 4], [10, 50])
    with pytest.raises(InputError, match="from 1 to 5 and from 10 to 50 are on two scales"):
        stars + points
    assert len(stars + Comparisons.from_ratings(ITEMS, [3, 4], [2, 4])) == 5
