"""Calls of the library with odd arrays, names, weights and parameters: results or a sentence."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_size import size
from fuzzing import NUMBERS, Record, fuzz, text, value

import coombs
from coombs import Comparisons, Model, create_study, evaluation, simulate

pytestmark = pytest.mark.slow

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

NAMES = ("latte", "mocha", "tea", "mate", "cola", "water", "wine")


def number(rng: random.Random) -> Any:
    """A number, now and then an odd one."""
    return rng.gauss(0, 1) if rng.random() < 0.99 else rng.choice(NUMBERS)


def table(rng: random.Random, n: int | None = None) -> Any:
    """Items: mostly numbers; as lists, arrays or frames; now and then something else."""
    if rng.random() < 0.03:
        return value(rng)
    rows = rng.choice((0, 1, 2, 2, 3, 4, 6, 7)) if n is None else n
    d = rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3))
    kind = rng.randrange(10)
    cells: list[list[Any]] = [[number(rng) for _ in range(d)] for _ in range(rows)]
    if rng.random() < 0.1 and cells and d:
        cells = [cells[0]] * rows
    if rng.random() < 0.1 and cells and d:
        cells[rng.randrange(rows)][rng.randrange(d)] = value(rng)
    if rng.random() < 0.05 and cells and d:
        scale = rng.choice((1e-310, 1e-160, 1e60, 1e160, 1e300))
        cells = [[cell * scale if isinstance(cell, float) else cell for cell in row] for row in cells]
    if kind < 2:
        return cells
    if kind < 4:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kinds = (float, float, object, np.float32, np.int8, bool, str, complex)
                return np.array(cells, dtype=rng.choice(kinds))
        except Exception:
            return cells
    names = list(NAMES[:rows])
    if kind == 4:
        return names
    if rng.random() < 0.15 and names:
        names[rng.randrange(len(names))] = value(rng)
    columns = {f"f{j}": [row[j] for row in cells] for j in range(d)}
    if rng.random() < 0.4:
        columns["kind"] = [
            rng.choice(("a", "b", text(rng) if rng.random() < 0.1 else "a")) for _ in range(rows)
        ]
    if rng.random() < 0.15:
        columns[rng.choice(("date", text(rng)))] = [value(rng) for _ in range(rows)]
    if rng.random() < 0.1:
        columns["cat"] = pandas.Categorical(["x"] * rows, categories=["x", "y"], ordered=rng.random() < 0.5)
    try:
        # What polars takes: it panics about some values.
        plain = all(
            type(cell) in (float, str, bool) for cells in ([*columns.values(), names]) for cell in cells
        )
        if kind == 5 and plain:
            return polars.DataFrame({"name": names, **columns}, strict=False)
        return pandas.DataFrame(columns, index=names if rng.random() < 0.8 else None)
    except Exception:
        return cells


def answers(rng: random.Random, n_items: int, named: bool) -> dict[str, Any]:
    """Pairs, and perhaps y, users and weights; one of them odd now and then."""
    n = rng.choice((0, 1, 2, 3, 3, 5, 5, 8, 8, 12, 12, 20))
    item = (
        (lambda: rng.choice(NAMES[: max(n_items, 1)])) if named else (lambda: rng.randrange(max(n_items, 1)))
    )
    pairs: list[Any] = []
    while len(pairs) < n:
        pair = [item(), item()]
        if pair[0] != pair[1] or rng.random() < 0.01:
            pairs.append(pair)
        elif n_items < 2:
            break
    found: dict[str, Any] = {"pairs": pairs}
    if rng.random() < 0.4:
        found["y"] = [rng.choice((1, -1, 1, -1, 0)) for _ in pairs]
    if rng.random() < 0.4:
        found["users"] = [
            rng.choice(("ann", "bob", 3, text(rng) if rng.random() < 0.1 else "cleo")) for _ in pairs
        ]
    if rng.random() < 0.3:
        found["weights"] = [rng.choice((1, 2, 0.5, 0, 1e-9, 1e8, 5e-324)) for _ in pairs]
    if rng.random() < 0.15 and pairs:
        name = rng.choice(list(found))
        if rng.random() < 0.3:
            found[name] = value(rng)
        else:
            found[name][rng.randrange(len(pairs))] = value(rng)
    if rng.random() < 0.2:
        name = rng.choice(list(found))
        try:
            found[name] = rng.choice((np.array, tuple, pandas.Series, list))(found[name])
        except Exception:
            return found
    return found


def data_of(rng: random.Random) -> Any:
    """What Comparisons are made of."""
    rows = rng.choice((0, 1, 2, 2, 3, 3, 4, 4, 4, 6, 6, 6, 7, 7, 7))
    items = table(rng, rows)
    has_names = isinstance(items, list) and all(isinstance(one, str) for one in items)
    named = (has_names or hasattr(items, "columns")) and rng.random() < 0.9
    return items, answers(rng, rows, named)


def make_comparisons(record: Record, rng: random.Random, folder: Path) -> None:
    """Comparisons of pairs, and what they say of themselves."""
    items, given = data_of(rng)

    def call() -> None:
        data = Comparisons(items, **given)
        assert repr(data) and data._repr_html_()
        data.to_pairs(), data.to_frame()
        if len(data.y):
            data[:1], data[[0]], data.with_answers(-data.y)

    record.run((items, given), call)


def frame_of(columns: dict[str, Any]) -> Any:
    """A frame, if pandas makes one of these columns; what it refuses is not ours to judge."""
    try:
        return pandas.DataFrame(columns)
    except Exception:
        return pandas.DataFrame({name: [] for name in columns})


def make_shapes(record: Record, rng: random.Random, folder: Path) -> None:
    """Comparisons of rankings, scores, tiers, choices, ratings, probabilities, and frames."""
    rows = rng.choice((2, 3, 4, 6))
    items = table(rng, rows)
    named = hasattr(items, "columns") or (
        isinstance(items, list) and all(isinstance(one, str) for one in items)
    )
    people = list(NAMES[:rows]) if named else list(range(rows))

    def odd(values: list[Any]) -> Any:
        if rng.random() < 0.05:
            return value(rng)
        if rng.random() < 0.25 and values:
            values = list(values)
            values[rng.randrange(len(values))] = value(rng)
        return values

    some = rng.sample(people, rng.randrange(1, rows + 1))
    scores = [rng.choice((1, 2, 3, 1.5)) for _ in people]
    calls = {
        "ranking": lambda: Comparisons.from_ranking(items, odd(some)),
        "scores": lambda: Comparisons.from_scores(items, odd(scores), rng.random() < 0.5),
        "tiers": lambda: Comparisons.from_tiers(items, odd(scores), rng.choice((None, odd(scores)))),
        "features": lambda: Comparisons.from_features(odd([[[1.0, 2.0], [0.0, number(rng)]]] * 2)),
        "choices": lambda: Comparisons.from_choices(items, odd([odd(some), people]), odd([some[0], None])),
        "best": lambda: Comparisons.from_best_worst(items, [odd(people)], odd([people[0]]), odd([people[1]])),
        "rankings": lambda: Comparisons.from_rankings(items, odd([odd(some), people])),
        "ratings": lambda: Comparisons.from_ratings(items, odd(people), odd(scores), odd(["ann"] * rows)),
        "probabilities": lambda: Comparisons.from_probabilities(items, odd([people[:2]]), odd([0.3])),
        "frame": lambda: Comparisons.from_frame(
            items,
            frame_of(
                {
                    "left": odd(people[:2]),
                    "right": odd(people[::-1][:2]),
                    "winner": odd(["left", "tie"]),
                    **({"user": odd(["ann", "bob"])} if rng.random() < 0.5 else {}),
                    **({"weight": odd([1, 2])} if rng.random() < 0.5 else {}),
                    **({"timestamp": odd(["2026-01-31", "2026-02-01"])} if rng.random() < 0.3 else {}),
                }
            ),
            rng.choice((None, None, 30, value(rng))),
        ),
    }
    which = rng.choice(list(calls))

    def call() -> None:
        data = calls[which]()
        assert repr(data)
        data.to_frame()

    record.run((which, items), call)


ESTIMATORS = (
    coombs.SingleStep,
    coombs.EuclideanSingleStep,
    coombs.EuclideanCompass,
    coombs.ConvexIdealPoint,
    coombs.Alternating,
)


def fit_cheap(record: Record, rng: random.Random, folder: Path) -> None:
    """The estimators that solve a program: fit, predict, rank; one parameter odd now and then."""
    items, given = data_of(rng)
    made = rng.choice(ESTIMATORS)
    names = [one for one in made._get_param_names() if one not in ("items", "truth")]
    odd = {rng.choice(names): value(rng)} if rng.random() < 0.2 else {}
    given.pop("users", None)

    def call() -> None:
        data = Comparisons(items, **given)
        est = made(**odd).fit(data)
        est.predict_proba(data), est.rank(), est.transform(data.items), repr(est.model_)
        Model.from_json(est.model_.to_json())

    record.run((made.__name__, odd, items, given), call)


def fit_taste(record: Record, rng: random.Random, folder: Path) -> None:
    """IdealPoint and Population, whose fits take longer."""
    items, given = data_of(rng)
    kind = rng.choice(("full", "none", "diagonal", "identity", "signed", "smooth", "auto", value(rng)))
    many = rng.random() < 0.4

    def call() -> None:
        data = Comparisons(items, **given)
        if many:
            kinds = kind if kind not in ("identity", "signed") else "none"
            est = coombs.Population(metric=kinds).fit(data)
            est.to_frame(), est.rank()
        else:
            est = coombs.IdealPoint(metric=kind, random_state=0).fit(data)
            est.predict_proba(data), est.rank()
        if rng.random() < 0.3:
            str(est.explain())

    record.run((kind, many, items, given), call)


def use_study(record: Record, rng: random.Random, folder: Path) -> None:
    """A study in memory: odd items, settings, answers and names."""
    items = table(rng, rng.choice((1, 2, 3, 4, 6, 7)))
    settings = {
        name: value(rng)
        for name in (
            "strategy",
            "probes",
            "metric",
            "top",
            "certainty",
            "seed",
            "wishes",
            "shared_prior",
            "roles",
        )
        if rng.random() < 0.02
    }
    name = rng.choice((*["s"] * 8, text(rng), value(rng)))

    def call() -> None:
        study = create_study(items, name, storage="memory:", **settings)
        person = study.respondent(rng.choice((*["ann"] * 8, text(rng), value(rng))))
        for _ in range(2):
            question = person.ask()
            if question is None:
                break
            told = rng.choice(("left", "right", "tie", "skip", value(rng)))
            try:
                person.tell(rng.choice((question, question, question.id, value(rng))), told)
            except coombs.InputError:
                continue
        person.tell(rng.choice((*[(0, 1)] * 4, (NAMES[0], NAMES[1]), value(rng))))
        person.undo(rng.choice((None, None, None, None, value(rng))))
        person.history(), person.progress(), study.comparisons()

    record.run((items, settings, name), call)


def use_measures(record: Record, rng: random.Random, folder: Path) -> None:
    """The measures, the simulations, and models made by hand."""
    d = rng.choice((1, 2, 3))

    def vector() -> Any:
        return value(rng) if rng.random() < 0.2 else np.array([number(rng) for _ in range(d)])

    def matrix() -> Any:
        return (
            value(rng)
            if rng.random() < 0.2
            else np.array([[number(rng) for _ in range(d)] for _ in range(d)])
        )

    calls = {
        "ur": lambda: evaluation.ur_error(vector(), vector(), matrix()),
        "wer": lambda: evaluation.wer_error(matrix(), matrix()),
        "kendall": lambda: evaluation.kendall_tau_distance(vector(), vector()),
        "top": lambda: evaluation.top_k_fraction(vector(), vector(), rng.choice((1, value(rng)))),
        "median": lambda: evaluation.interpolated_median(vector()),
        "make": lambda: simulate.make_preferences(
            **{
                name: rng.choice((good, good, odd))
                for name, good, odd in (
                    ("n_items", 5, rng.choice((0, 1, -1, "a", None, 2.5, True))),
                    ("n_features", 2, rng.choice((0, -1, "a", None, 2.5))),
                    ("n_comparisons", 3, rng.choice((0, -1, "a", None, 10**400))),
                    ("noise", None, value(rng)),
                    ("random_state", 0, value(rng)),
                )
            }
        ),
    }
    which = rng.choice(list(calls))
    record.run(which, calls[which])


TARGETS = {
    one.__name__: one
    for one in (make_comparisons, make_shapes, fit_cheap, fit_taste, use_study, use_measures)
}
SIZES = {
    "make_comparisons": (800, 20_000),
    "make_shapes": (500, 10_000),
    "fit_cheap": (150, 1_500),
    "fit_taste": (15, 200),
    "use_study": (150, 2_000),
    "use_measures": (500, 6_000),
}


@pytest.mark.parametrize("target", list(TARGETS))
def test_odd_calls_give_a_result_or_a_sentence(target: str, tmp_path: Path) -> None:
    fuzz(TARGETS[target], size(*SIZES[target]), tmp_path)
