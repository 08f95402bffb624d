"""Mutated JSON: models, saved estimators, priors and studies are read whole or refused in a sentence.

What is read must also work: it ranks, predicts and explains without a warning.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import places
from fault_size import size
from fuzzing import Record, fuzz, json_text, mutated_json

import coombs
from coombs import Comparisons, Model, create_study, import_study
from coombs.estimators.saved import text_of
from coombs.inference.people.people_prior import people_prior_of
from coombs.storage import open_storage

pytestmark = pytest.mark.slow


def small_data(n_people: int = 1) -> Comparisons:
    """Answers about six items with a number and a category."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"price": [3.0, 1.0, 4.0, 1.5, 9.0, 2.6], "town": ["a", "b", "a", "b", "c", "c"]},
        index=["u", "v", "w", "x", "y", "z"],
    )
    pairs = [frame.index[rng.choice(6, 2, replace=False)].tolist() for _ in range(8 * n_people)]
    users = None if n_people == 1 else [f"p{i % n_people}" for i in range(len(pairs))]
    return Comparisons(frame, pairs, users=users, roles={"town": "category"})


@cache
def models() -> list[Any]:
    """The JSON of models of every version."""
    est = coombs.IdealPoint(metric="full", random_state=0).fit(small_data())
    smooth = coombs.IdealPoint(metric="smooth", random_state=0).fit(small_data())
    plain = coombs.SingleStep([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]).fit([[0, 1], [1, 2]])
    named = coombs.IdealPoint(["a", "b", "c"], random_state=0).fit([["a", "b"], ["b", "c"]])
    found = [json.loads(one.model_.to_json()) for one in (est, smooth, plain, named)]
    found[0]["findings"] = json.loads(json.dumps(est.explain().findings()))
    return found


@cache
def fitted() -> list[Any]:
    """The JSON of fitted estimators, of one and of many people."""
    many = small_data(4)
    estimators = [
        coombs.SingleStep().fit(small_data()),
        coombs.Alternating().fit(small_data()),
        coombs.ConvexIdealPoint().fit(small_data()),
        coombs.IdealPoint(metric="diagonal", random_state=0).fit(small_data()),
        coombs.IdealPoint(metric="smooth", random_state=0).fit(small_data()),
        coombs.Population(metric="none").fit(many),
        coombs.SharedMetric().fit(many),
    ]
    return [json.loads(text_of(one)) for one in estimators]


@cache
def prior() -> Any:
    """The JSON of what a population tells of anybody."""
    return json.loads(coombs.Population(metric="none").fit(small_data(4))._people_prior.to_json())


@cache
def study_lines() -> list[Any]:
    """The lines of a study with every kind of line."""
    pandas = pytest.importorskip("pandas")
    storage = open_storage("memory:")
    data = small_data(2)
    frame = pandas.DataFrame({"price": [3.0, 1.0, 4.0], "size": [1.0, 5.0, 2.0]}, index=["u", "v", "w"])
    study = create_study(frame, "flats", storage=storage)
    for who in ("ann", "bob"):
        person = study.respondent(who)
        for choice in ("left", "tie", "skip"):
            question = person.ask()
            if question is not None:
                person.tell(question, choice)
        person.undo()
    study.add(Comparisons.from_choices(frame, [["u", "v", "w"]], ["w"]))
    study.add(Comparisons.from_ratings(frame, ["u", "v", "w"], [1, 2, 3], ["ann"] * 3))
    assert data.n_items
    path = Path(pytest.importorskip("tempfile").mkdtemp()) / "s.jsonl"
    study.export(path)
    return [json.loads(line) for line in path.read_text().splitlines()]


@cache
def all_places(index: int) -> list[Any]:
    return places(fitted()[index])


ITEMS = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]])


def use_model(model: Model) -> None:
    """All that a model can do."""
    assert repr(model) and model._repr_html_() is not None
    d = len(model.ideal_point)
    model.scores_of(ITEMS[:, :d] if d <= 4 else np.ones((2, d)))
    model.to_json()
    str(model.explain())


def read_model(record: Record, rng: random.Random, folder: Path) -> None:
    """A model's JSON."""
    content = json_text(rng, mutated_json(rng, rng.choice(models())))
    record.run(content, lambda: use_model(Model.from_json(content)))


def read_fit(record: Record, rng: random.Random, folder: Path) -> None:
    """A fitted estimator's JSON."""
    index = rng.randrange(len(fitted()))
    content = json_text(rng, mutated_json(rng, fitted()[index], all_places(index)))
    path = folder / "fit.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")

    def call() -> None:
        est = coombs.load(path)
        if not isinstance(est, coombs.SharedMetric):
            est.rank()
        if rng.random() < 0.1 and hasattr(est, "explain"):
            str(est.explain())

    record.run((index, content), call)


def read_prior(record: Record, rng: random.Random, folder: Path) -> None:
    """A prior's JSON."""
    content = json_text(rng, mutated_json(rng, prior()))

    def call() -> None:
        found = people_prior_of(content)
        found.lean().for_features(None, len(found.scaler.sizes))

    record.run(content, call)


def read_study(record: Record, rng: random.Random, folder: Path) -> None:
    """A study as lines of JSON, one of them mutated, left out or twice."""
    lines = list(study_lines())
    place = rng.randrange(len(lines))
    kind = rng.random()
    if kind < 0.8:
        lines[place] = mutated_json(rng, lines[place])
    elif kind < 0.9:
        del lines[place]
    else:
        lines.insert(rng.randrange(len(lines)), lines[place])
    text = "\n".join(json_text(rng, line) if i == place else json.dumps(line) for i, line in enumerate(lines))
    path = folder / "s.jsonl"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")

    def call() -> None:
        storage = open_storage("memory:")
        try:
            study = import_study(path, storage=storage)
        except coombs.InputError:
            assert storage.studies() == []
            raise
        study.comparisons()
        for person in study.respondents():
            study.respondent(person).history()
            if rng.random() < 0.05:
                study.respondent(person).ask()

    record.run(text, call)


TARGETS = {one.__name__: one for one in (read_model, read_fit, read_prior, read_study)}
SIZES = {
    "read_model": (400, 8_000),
    "read_fit": (300, 4_000),
    "read_prior": (300, 3_000),
    "read_study": (300, 4_000),
}


@pytest.mark.parametrize("target", list(TARGETS))
def test_mutated_json_is_read_whole_or_refused_in_a_sentence(target: str, tmp_path: Path) -> None:
    fuzz(TARGETS[target], size(*SIZES[target]), tmp_path)
