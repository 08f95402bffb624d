"""What is known of a respondent before their first answer: given with a study, or learned from its people."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from coombs import IdealPoint, Population, create_study, import_study, load_study
from coombs.data.tables import InputError
from coombs.inference.population_belief import LOG_ODDS, PopulationBelief
from coombs.study import Study
from coombs.study.shared_prior import LEAST_ANSWERS, LEAST_PEOPLE, LearnedPrior, learn_prior

FLATS = np.random.default_rng(0).normal(size=(20, 2))
WANTED = np.array([2.0, -1.0])


@cache
def crowd() -> Population:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(20), 8)
    pairs = rng.permuted(np.tile(np.arange(20), (len(users), 1)), axis=1)[:, :2]
    utility = (FLATS[pairs] * rng.normal(WANTED, 0.3, size=(20, 2))[users][:, None]).sum(axis=2)
    y = np.where(rng.logistic(size=len(users)) < utility[:, 0] - utility[:, 1], 1, -1)
    return Population(FLATS, metric="none").fit(pairs, y, users=users)


def answer(person: Any, count: int) -> None:
    for _ in range(count):
        question = person.ask()
        left, right = FLATS[list(question.positions)] @ WANTED
        person.tell(question, "left" if left > right else "right")


def fill(study: Study, people: range, each: int = LEAST_ANSWERS) -> None:
    """Answers to questions that nobody asked, so that no model is needed."""
    rng = np.random.default_rng(2)
    with study.storage.batch():
        for k in people:
            for _ in range(each):
                one, other = rng.permutation(20)[:2].tolist()
                better = FLATS[one] @ WANTED > FLATS[other] @ WANTED
                study.respondent(f"person {k}").tell((one, other) if better else (other, one))


def test_a_population_is_what_is_known_before_the_first_answer() -> None:
    study = create_study(FLATS, storage="memory:", prior=crowd())
    belief = study.respondent("new").think().belief
    assert isinstance(belief, PopulationBelief) and belief.share == pytest.approx(expit(LOG_ODDS))
    with_others, alone = (
        np.corrcoef(-one.mean_scores(), FLATS @ WANTED)[0, 1] for one in (belief, belief.own)
    )
    assert with_others > alone + 0.05
    known = study.respondent("new").prior()
    assert known is not None and (known.version, known.n_people, known.source) == (1, 20, "given")


def test_a_study_opened_elsewhere_has_its_prior_and_asks_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = create_study(FLATS, storage=url, prior=crowd())
    answer(study, 3)
    there = load_study(storage=url)
    one, other = study.respondent().think(), there.respondent().think()
    assert there.prior() == study.prior() is not None
    np.testing.assert_array_equal(one.belief.log_evidence, other.belief.log_evidence)
    # The same prior once more is no other version; another one is.
    assert len(create_study(FLATS, storage=url, prior=crowd()).storage.priors(1)) == 1
    study.storage.close()


def test_a_prior_that_does_not_fit_gets_a_sentence() -> None:
    pandas = pytest.importorskip("pandas")
    for items, wrong in (
        (np.column_stack([FLATS, FLATS[:, 0] ** 2]), "2 features, and the items have 3"),
        (FLATS[:, :1], "2 features, and the items have 1"),
    ):
        with pytest.raises(InputError, match=wrong):
            create_study(items, storage="memory:", prior=crowd())
    named = pandas.DataFrame(FLATS, columns=["size", "price"])
    pairs = np.array([[0, 1], [1, 2], [3, 4]])
    population = Population(named, metric="none").fit(pairs, users=[1, 2, 3])
    with pytest.raises(
        InputError, match="the items have 'rent', which it was not learned from, and lack 'price'"
    ):
        create_study(named.rename(columns={"price": "rent"}), storage="memory:", prior=population)
    for wrong in (IdealPoint(FLATS), Population(FLATS), 3):
        with pytest.raises(InputError, match="must be a fitted Population"):
            create_study(FLATS, storage="memory:", prior=wrong)
    with pytest.raises(InputError, match="A prior does not know of wishes"):
        create_study(named, storage="memory:", prior=population, wishes=["price: less"])
    with pytest.raises(InputError, match="shared_prior is 'sometimes'"):
        create_study(FLATS, storage="memory:", shared_prior="sometimes")


def test_from_ten_people_on_the_next_is_asked_with_what_they_answered() -> None:
    study = create_study(FLATS, storage="memory:", metric="none")
    fill(study, range(LEAST_PEOPLE - 1))
    assert study.respondent("early").think().n_heard == 0 and study.respondent("early").prior() is None
    fill(study, range(LEAST_PEOPLE - 1, LEAST_PEOPLE))
    study.respondent("late").think()
    known = study.respondent("late").prior()
    assert known is not None and (known.version, known.n_people, known.source) == (1, LEAST_PEOPLE, "study")
    # It is fixed: whoever began without a prior goes on without, here and elsewhere.
    answer(study.respondent("early"), 2)
    again = load_study(storage=study.storage)
    again.respondent("early").think()
    assert again.respondent("early").prior() is None
    assert again.respondent("late").prior() == known


def test_a_prior_is_learned_again_only_when_there_are_many_more() -> None:
    calls = []

    def fit(answers: Any, metric: str) -> LearnedPrior:
        calls.append(len(answers))
        return learn_prior(answers, metric)

    study = create_study(FLATS, storage="memory:", metric="none")
    fill(study, range(LEAST_PEOPLE))
    assert study.priors.learn(fit).version == 1
    fill(study, range(LEAST_PEOPLE, LEAST_PEOPLE + 2))
    assert study.priors.learn(fit) is None
    fill(study, range(LEAST_PEOPLE + 2, LEAST_PEOPLE + 3))
    assert study.priors.learn(fit).n_people == LEAST_PEOPLE + 3
    assert calls == [LEAST_PEOPLE * LEAST_ANSWERS, (LEAST_PEOPLE + 3) * LEAST_ANSWERS]


def test_the_switch_turns_it_off_and_on() -> None:
    off = create_study(FLATS, "off", storage="memory:", metric="none", shared_prior=False)
    fill(off, range(LEAST_PEOPLE))
    assert not off.priors.is_due() and off.priors.learn() is None
    on = create_study(FLATS, "on", storage=off.storage, metric="none", shared_prior=True)
    fill(on, range(3))
    assert on.priors.is_due()
    given = create_study(FLATS, "given", storage=off.storage, metric="none", prior=crowd())
    fill(given, range(LEAST_PEOPLE))
    assert not given.priors.is_due()
    wishes = create_study(FLATS, "wishes", storage=off.storage, metric="none", wishes=["0: more"])
    fill(wishes, range(LEAST_PEOPLE))
    assert not wishes.priors.is_due()


def test_a_result_says_what_others_answers_were_used_for() -> None:
    study = create_study(FLATS, storage="memory:", prior=crowd(), metric="none")
    answer(study, 8)
    result = study.result()
    assert result.with_others is not None and result.with_others.n_people == 20
    assert sorted(result.with_others.ranking) == list(range(20))
    assert "with what 20 others answered" in str(result)
    alone = create_study(FLATS, "alone", storage="memory:", metric="none")
    answer(alone, 8)
    assert alone.result().with_others is None and "others" not in str(alone.result())
    # The model is of one's own answers, whoever chose the questions.
    same = IdealPoint(metric="none", scales="given").fit(study.comparisons())
    np.testing.assert_allclose(result.model.distances_, same.distances_)


def test_answers_of_other_shapes_are_one_s_own_alone() -> None:
    from coombs import Comparisons

    study = create_study(FLATS, storage="memory:", prior=crowd(), metric="none")
    study.add(Comparisons.from_ranking(FLATS, [3, 1, 2, 0]))
    belief = study.respondent().think().belief
    assert isinstance(belief, PopulationBelief)
    assert belief.share in (0.0, pytest.approx(belief.share)) and np.isfinite(belief.mean_scores()).all()


def test_a_whole_study_is_taken_elsewhere_with_its_priors(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    study = create_study(FLATS, storage="memory:", metric="none", prior=crowd())
    answer(study, 2)
    study.respondent("not asked")
    study.export(path)
    again = import_study(path, storage="memory:")
    assert again.prior() is not None and again.prior().n_people == 20
    assert again.storage.prior_text(1, 1) == study.storage.prior_text(1, 1)
    assert again.respondent("not asked").prior() is None
    again.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()
    # What is no prior is not taken in.
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (prior,) = [line for line in lines if line["kind"] == "prior"]
    prior["prior"]["prior"]["parts"][0]["prior"]["lapse"] = 7.0
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="The prior is damaged"):
        import_study(path, storage="memory:")


def test_a_prior_without_a_pattern_is_warned_of_and_taken() -> None:
    """It counts only as far as it predicts somebody's own answers."""
    rng = np.random.default_rng(3)
    pairs = rng.permuted(np.tile(np.arange(20), (120, 1)), axis=1)[:, :2]
    coins = Population(FLATS, metric="none").fit(
        pairs, rng.choice([-1, 1], 120), users=np.repeat(np.arange(15), 8)
    )
    assert not coins.explain().has_pattern
    with pytest.warns(UserWarning, match="tell no more than tosses of a coin, so that it tells nothing"):
        study = create_study(FLATS, storage="memory:", prior=coins)
    assert study.priors.n_others == 15


def test_a_column_of_another_sort_than_in_the_prior_is_named() -> None:
    """A category here, a number there."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FLATS, columns=["size", "price"])
    data = crowd()._data
    numbers = Population(frame, metric="none").fit(data.pairs, data.y, users=data.users)
    said = "'price' is a number there and a category here; fit the Population to items with the same columns"
    with pytest.raises(InputError, match=said):
        create_study(frame.assign(price=["low", "high"] * 10), storage="memory:", prior=numbers)
    with pytest.raises(InputError, match="the items have 'town', which it was not learned from; fit"):
        create_study(frame.assign(town=["a", "b"] * 10), storage="memory:", prior=numbers)
    with pytest.raises(InputError, match="prior is not fitted; it must be a fitted Population"):
        create_study(frame, storage="memory:", prior=Population(frame))
