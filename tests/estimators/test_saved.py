"""A fitted estimator in a file is the same estimator: what it predicts, says and draws, to the last bit."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import suppress
from dataclasses import replace
from datetime import date
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from damage import ODD, damaged, places
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import coombs
from coombs import Comparisons, IdealPoint, InputError, Model, SingleStep
from coombs.data.json_records import Reader, Schema, Writer
from coombs.estimators.saved import ESTIMATORS, estimator_of, parameter_types, schema, text_of
from coombs.simulate import make_preferences

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("few_draws")

PERSON = make_preferences(n_items=15, n_features=2, n_comparisons=40, noise=0.1, random_state=3)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "average": ("IdealPoint", {}),
    "full with effects": ("IdealPoint", {"metric": "full", "item_effects": True}),
    "diagonal": ("IdealPoint", {"metric": "diagonal", "standardize": False}),
    "identity": ("IdealPoint", {"metric": "identity", "lapse": 0.05}),
    "linear": ("IdealPoint", {"metric": "none", "item_effects": False}),
    "signed": ("IdealPoint", {"metric": "signed", "random_state": None}),
    "smooth": ("IdealPoint", {"metric": "smooth"}),
    "convex": ("ConvexIdealPoint", {"regularization": 0.01}),
    "convex linear": ("ConvexIdealPoint", {"metric": "none"}),
    "single step": ("SingleStep", {"gamma1": 3, "standardize": True}),
    "alternating": ("Alternating", {"truth": (PERSON.ideal_point, PERSON.metric)}),
    "euclidean": ("EuclideanSingleStep", {"loss": "logistic"}),
    "compass": ("EuclideanCompass", {}),
}
PAIRS = [[0, 1], [4, 2], [14, 3], [7, 8]]
SOON = {"gamma1": np.float64(2.0), "standardize": np.bool_(True), "max_iter": np.int64(300)}


def again(est: Any, folder: Path) -> Any:
    """The estimator that its file gives."""
    est.save(folder / "taste.json")
    return coombs.load(folder / "taste.json")


@pytest.fixture(scope="module", params=CASES)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, few_draws: None
) -> tuple[Any, Any]:
    """An estimator that was fitted, and the one that its file gives."""
    name, parameters = CASES[request.param]
    est = getattr(coombs, name)(PERSON.items, **parameters).fit(PERSON.pairs, PERSON.y)
    return est, again(est, tmp_path_factory.mktemp("saved"))


def answered(answers: Any, name: str, *given: Any) -> Any:
    """What a method gives, or the sentence in which it refuses."""
    try:
        return getattr(answers, name)(*given)
    except InputError as error:
        return str(error)


def test_every_method_gives_the_same_to_the_last_bit(both: tuple[Any, Any]) -> None:
    """Of fitted and of other items."""
    before, after = both
    other = np.array([[0.5, 0.25], [-1.0, 1.5], [0.0, 0.0]])
    calls: list[tuple[Any, ...]] = [(name,) for name in ("distance", "rank", "get_mahalanobis_matrix")]
    calls += [(name, PAIRS) for name in ("predict", "predict_proba", "decision_function")]
    calls += [(name, other) for name in ("distance", "rank", "transform")]
    calls += [("score", PERSON.pairs, PERSON.y)]
    if isinstance(before, IdealPoint):
        calls += [(name,) for name in ("distance_interval", "rank_interval", "ideal_point_interval")]
        calls += [("distance_interval", other), ("rank_interval", other), ("top_probability", 3)]
    for call in calls:
        assert_array_equal(answered(after, *call), answered(before, *call), err_msg=str(call))


def test_every_attribute_is_there_and_the_same(both: tuple[Any, Any]) -> None:
    """Also those that only the package itself looks at."""
    before, after = both
    assert type(after) is type(before) and vars(after).keys() == vars(before).keys()
    for name in ("metric_", "ideal_point_", "distances_", "unidentified_", "_compared", "classes_"):
        assert_array_equal(getattr(after, name), getattr(before, name))
    for name in ("objective_", "gap_", "status_", "n_iter_", "n_features_in_", "kind_", "kind_weights_"):
        assert getattr(after, name, None) == pytest.approx(getattr(before, name, None), abs=0, nan_ok=True)
    assert after.model_ == before.model_
    if getattr(before, "posterior_", None) is not None:
        for name, value in vars(before.posterior_).items():
            if isinstance(value, np.ndarray):
                assert_array_equal(getattr(after.posterior_, name), value)
    for new, old in zip(getattr(after, "history_", ()), getattr(before, "history_", ()), strict=True):
        assert all(map(np.array_equal, new, old))


def test_it_says_the_same(both: tuple[Any, Any]) -> None:
    """In words, in numbers and in what a report holds; what was compared needs no comparing again."""
    before, after = both
    if not hasattr(before, "explain"):
        return
    assert repr(after.explain()) == repr(before.explain())
    assert str(after.explain(chosen=True)) == str(before.explain(chosen=True))
    if after.description() is not None:
        assert_array_equal(after.description().shapes, before.description().shapes)


def test_parameters_and_clones_are_the_same(both: tuple[Any, Any]) -> None:
    """Down to their types."""
    before, after = both
    for first, second in ((before, after), (clone(before), clone(after))):
        old, new = first.get_params(), second.get_params()
        assert_array_equal(new.pop("items"), old.pop("items"))
        for parts in zip(old.pop("truth", None) or (), new.pop("truth", None) or (), strict=True):
            assert_array_equal(*parts)
        assert new == old and [type(value) for value in new.values()] == [type(one) for one in old.values()]


def test_a_saved_estimator_can_be_saved_again(both: tuple[Any, Any]) -> None:
    """And gives the same file."""
    before, after = both
    assert text_of(after) == text_of(before)


@pytest.mark.parametrize("case", ["average", "smooth", "identity"])
def test_learning_goes_on_as_if_nothing_had_been_saved(case: str, tmp_path: Path) -> None:
    """One more answer moves both to the same place."""
    name, parameters = CASES[case]
    est = getattr(coombs, name)(PERSON.items, **parameters).fit(PERSON.pairs, PERSON.y)
    back = again(est, tmp_path)
    assert_array_equal(back.partial_fit([[0, 5]]).distance(), est.partial_fit([[0, 5]]).distance())


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["full", "smooth"])
def test_a_fit_to_ties_is_the_same_again(metric: str, tmp_path: Path) -> None:
    y = np.where(np.arange(len(PERSON.y)) % 4 == 0, 0, PERSON.y)
    est = IdealPoint(PERSON.items, metric=metric).fit(PERSON.pairs, y)
    loaded = again(est, tmp_path)
    assert (loaded.predict_proba(PAIRS) == est.predict_proba(PAIRS)).all()
    assert (loaded.partial_fit([[0, 1]]).rank() == est.partial_fit([[0, 1]]).rank()).all()


def test_plots_are_drawn_from_the_same_numbers(tmp_path: Path) -> None:
    """Level sets, curves and the ranking with its intervals."""
    est = IdealPoint(PERSON.items, metric="full").fit(PERSON.pairs, PERSON.y)
    back = again(est, tmp_path)
    for name in ("taste_curves_data", "ranking_data", "what_matters_data"):
        data = getattr(coombs.plots, name)
        assert repr(data(back)) == repr(data(est))
    assert repr(coombs.plots.level_sets_data(back, 0, 1)) == repr(coombs.plots.level_sets_data(est, 0, 1))


@pytest.mark.slow
@pytest.mark.long
def test_many_answers_of_which_the_posterior_is_a_gaussian(tmp_path: Path) -> None:
    """Beyond what is sampled, and with support points."""
    person = make_preferences(n_items=700, n_features=2, n_comparisons=3500, noise=0.1, random_state=0)
    est = IdealPoint(person.items).fit(person.pairs, person.y)
    back = again(est, tmp_path)
    assert_array_equal(back.predict_proba(person.pairs), est.predict_proba(person.pairs))
    assert repr(back.explain()) == repr(est.explain())


# Items, names and parameters


LABELS: dict[str, list[Any]] = {
    "texts": ["tea", "mocha", "chai"],
    "integers": [30, 10, 20],
    "floats": [0.5, 1.25, 2.0],
    "booleans and texts": ["yes", True, "no"],
    "days": [date(2026, 1, 31), date(2026, 2, 1), date(2025, 5, 5)],
    "times": [pd.Timestamp("2026-01-31"), pd.Timestamp("2026-01-31 12:00:01.5"), pd.Timestamp("2024-01-01")],
    "identifiers": [UUID(int=n) for n in (1, 2, 3)],
    "unlike": ["tea", 7, 0.5],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_names_keep_their_types(labels: list[Any], tmp_path: Path) -> None:
    """Of items in a frame, and of the people who answered."""
    frame = pd.DataFrame(
        {"price": [1.0, 2.0, 3.0], "size": [0.0, 5.0, 1.0]}, index=pd.Index(labels, dtype=object)
    )
    data = Comparisons(frame, [[labels[0], labels[1]], [labels[2], labels[1]]], users=labels[1:])
    est = SingleStep(frame).fit(data)
    back = again(est, tmp_path)
    assert back.rank().tolist() == est.rank().tolist()
    assert [type(name) for name in back.rank()] == [type(name) for name in est.rank()]
    assert [type(name) for name in back._data.users] == [type(name) for name in data.users]  # type: ignore[union-attr]
    assert back.feature_names_in_.tolist() == ["price", "size"]
    assert back.predict([[labels[0], labels[1]]]) == est.predict([[labels[0], labels[1]]])
    assert back.distance(frame).tolist() == est.distance(frame).tolist()
    assert clone(back).fit(data).rank().tolist() == est.rank().tolist()


def test_a_name_that_no_file_keeps_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Nothing is written then."""
    names = np.array([(1, 2), (3, 4), (5, 6)], dtype="i,i").astype(object)
    frame = pd.DataFrame(
        {"price": [1.0, 2.0, 3.0]}, index=pd.Index(list(map(tuple, names)), tupleize_cols=False)
    )
    est = SingleStep(frame).fit(Comparisons(frame, np.array(frame.index)[[[0, 1]]]))
    with pytest.raises(InputError, match=r"\(1, 2\) is a tuple, which a file cannot keep; use texts"):
        est.save(tmp_path / "taste.json")
    assert not list(tmp_path.iterdir())


def test_estimators_without_items_and_of_pairs_of_vectors_are_saved(tmp_path: Path) -> None:
    """The items came with the answers, or there are none that a user would know."""
    data = Comparisons(PERSON.items, PERSON.pairs, PERSON.y)
    back = again(SingleStep().fit(data), tmp_path)
    assert back.items is None and back.rank().tolist() == SingleStep().fit(data).rank().tolist()
    vectors = PERSON.items[PERSON.pairs]
    est = SingleStep().fit(vectors, PERSON.y)
    back = again(est, tmp_path)
    assert back.item_table_ is None
    assert_array_equal(back.predict_proba(vectors), est.predict_proba(vectors))
    with pytest.raises(InputError, match="give the items that are meant"):
        back.rank()


def test_items_without_features_that_differ_are_saved(tmp_path: Path) -> None:
    """Bradley and Terry's model: nothing but effects."""
    est = IdealPoint([[1.0], [1.0], [1.0]]).fit([[0, 1], [1, 2], [0, 2], [0, 1]])
    back = again(est, tmp_path)
    assert back.kind_ == "items" and back.rank().tolist() == est.rank().tolist()
    assert_array_equal(back.rank_interval(), est.rank_interval())


def test_a_generator_is_not_kept_and_numpys_numbers_are(tmp_path: Path) -> None:
    """What has no seed to tell is None."""
    est = IdealPoint(PERSON.items, metric="identity", random_state=np.random.default_rng(3))
    assert again(est.fit(PERSON.pairs, PERSON.y), tmp_path).random_state is None
    back = again(SingleStep(PERSON.items, **SOON).fit(PERSON.pairs, PERSON.y), tmp_path)
    assert (back.gamma1, back.standardize, back.max_iter) == (2.0, True, 300)


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    """Before the fit, of another class, and where no file can be."""

    class Mine(SingleStep):
        pass

    with pytest.raises(NotFittedError):
        SingleStep(PERSON.items).save(tmp_path / "taste.json")
    with pytest.raises(InputError, match="Mine is no estimator of coombs"):
        Mine(PERSON.items).fit(PERSON.pairs).save(tmp_path / "taste.json")
    tenth: Any = IdealPoint(PERSON.items, metric="none", lapse=Fraction(1, 10))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lapse is a Fraction, which a file cannot keep"):
        tenth.fit(PERSON.pairs).save(tmp_path / "taste.json")
    with pytest.raises(InputError, match="There is no folder"):
        SingleStep(PERSON.items).fit(PERSON.pairs).save(tmp_path / "no" / "taste.json")


# The file


@pytest.mark.slow
def test_the_file_says_what_it_is_and_is_strict_json(tmp_path: Path) -> None:
    """Its format and version, coombs' own, the estimator and its parameters, for any reader of JSON."""
    est = IdealPoint(PERSON.items, metric="none").fit(PERSON.pairs, PERSON.y)
    est.save(tmp_path / "taste.json")
    data = json.loads((tmp_path / "taste.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert [data[key] for key in ("format", "version", "coombs", "estimator")] == [
        "coombs-estimator",
        1,
        coombs.__version__,
        "IdealPoint",
    ]
    assert data["parameters"]["metric"] == "none" and data["parameters"]["random_state"] == 0


def test_load_gives_a_model_for_a_models_file(tmp_path: Path) -> None:
    """Of every version there was."""
    model = Model(np.eye(1), np.array([2.0]), ("price",))
    (tmp_path / "new.json").write_text(model.to_json())
    (tmp_path / "old.json").write_text(
        '{"format": "coombs-model", "version": 1, "feature_names": ["price"], '
        '"ideal_point": [2.0], "metric": [[1.0]]}'
    )
    assert coombs.load(tmp_path / "new.json") == coombs.load(str(tmp_path / "old.json")) == model


def test_a_file_of_the_first_version_is_read() -> None:
    """A file that the first coombs with `save` wrote, with few draws, and what it predicted then."""
    path = Path(__file__).with_name("saved_version_1.json")
    est, told = coombs.load(path), json.loads(path.with_name("saved_version_1_told.json").read_text())
    assert est.kind_weights_ == told["kind_weights"]
    for name in ("distance", "rank_interval"):
        np.testing.assert_allclose(getattr(est, name)(), told[name], rtol=1e-12)
    np.testing.assert_allclose(est.predict_proba(PAIRS[:2]), told["predict_proba"], rtol=1e-12)
    assert str(est.explain())


CONTENT: dict[str, Any] = json.loads(text_of(SingleStep(PERSON.items).fit(PERSON.pairs, PERSON.y)))


def changed(*path: Any, to: Any) -> str:
    """The file with another value somewhere."""
    return json.dumps(damaged(CONTENT, path, to))


def packed(**header: Any) -> dict[str, Any]:
    """The first array of the file with another header."""
    return {**CONTENT["arrays"][0], **header}


WHOLE = json.dumps(CONTENT)
BOMB = base64.b64encode(zlib.compress(bytes(10**6))).decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        (WHOLE[:-40], "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[" * 90 + "]" * 90, "more than 40 lists or objects within each other"),
        ("[1, 2]", "neither a saved estimator nor a coombs model"),
        ('{"format": "onnx"}', "neither a saved estimator nor a coombs model"),
        ('{"format": "coombs-estimator"}', "version None"),
        (changed("version", to=True), "version True; this coombs"),
        (changed("version", to=2), "version 2; this coombs .* reads 1 to 1: a newer coombs"),
        (changed("estimator", to="Pipeline"), "an estimator 'Pipeline', which this coombs does not have"),
        (changed("estimator", to="IdealPoint"), "parameters are not those of IdealPoint"),
        (changed("parameters", "gamma1", to=-1), "gamma1 is -1; it must be a positive number"),
        (
            changed("parameters", "gamma1", to=1e308),
            "parameters.gamma1 is no number, or one that is too large",
        ),
        (changed("parameters", "loss", to="os.system"), "loss is 'os.system'; it must be one of"),
        (changed("state", to=...), "state is no State"),
        (changed("state", "scaler", "is", to="Popen"), "state.scaler is no Scaler"),
        (
            changed("state", "scaler", "sizes", "values", 0, to=-1),
            "state.scaler is with sizes that cannot be",
        ),
        (changed("state", "scaler", "sizes", "values", 0, to=3.0), "scales are not those of its items"),
        (changed("state", "fit", "gap", to=...), "state.fit.gap is missing"),
        (changed("state", "fit", "os", to=1), "state.fit.os is not known to this coombs"),
        (changed("state", "fit", "metric", "values", 0, to="nan"), "state.fit.metric is not finite"),
        (changed("state", "fit", "status", to=3), "state.fit.status is no str"),
        (changed("state", "data", "pairs", "array", to=99), "an array that is not there"),
        (changed("state", "data", "weights", "array", to=0), "state.data.weights is of"),
        (changed("arrays", 0, to=packed(shape=[10**12])), r"arrays\[0\] is more than 2000 MB"),
        (changed("arrays", 0, to=packed(shape=[2**41])), r"arrays\[0\] is an array larger than any"),
        (changed("arrays", 0, to=packed(shape=[0, 2**41])), r"arrays\[0\] is an array larger than any"),
        (changed("arrays", 0, to=packed(shape=[True])), r"arrays\[0\] is an array of no shape"),
        (changed("arrays", 0, to=packed(shape=[3])), r"arrays\[0\] is not as many numbers as its shape says"),
        (changed("arrays", 0, to=packed(zlib=BOMB)), r"arrays\[0\] is not as many numbers as its shape says"),
        (changed("arrays", 0, to=packed(zlib="?")), r"arrays\[0\] is no packed array"),
        (changed("arrays", 0, to=packed(dtype="object")), r"arrays\[0\] is an array of no known type"),
        (WHOLE.replace('"gap": ', '"gap": NaN, "was": '), "numbers must be finite"),
        (WHOLE.replace('"gap": ', '"gap": 1, "gap": '), "has 'gap' twice"),
        (WHOLE.replace('"gap": ', '"gap": 1e999, "was": '), "numbers must be finite"),
    ],
)
def test_a_damaged_file_gets_a_sentence(text: str, words: str, tmp_path: Path) -> None:
    """Which says what is wrong in which file."""
    path = tmp_path / "taste.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        coombs.load(path)
    assert str(refused.value).startswith(f"{path}: ") and str(refused.value).endswith(".")


def test_what_is_no_file_gets_a_sentence(tmp_path: Path) -> None:
    """A path where nothing is, a folder, bytes, and what is no path."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    for path, words in (
        ("none.json", "There is no file"),
        ("bytes.json", "is not text"),
        ("", "cannot be read"),
    ):
        with pytest.raises(InputError, match=words):
            coombs.load(tmp_path / path)
    with pytest.raises(InputError, match="must be the name of a file"):
        coombs.load(3)  # type: ignore[arg-type]


def of_few_answers(**parameters: Any) -> dict[str, Any]:
    """The content of a small file."""
    person = make_preferences(n_items=6, n_features=2, n_comparisons=9, noise=0.3, random_state=0)
    est: Any = IdealPoint(person.items, **parameters).fit(person.pairs, person.y)
    return json.loads(text_of(est))  # type: ignore[no-any-return]


SMALL = [CONTENT, of_few_answers(), of_few_answers(metric="identity", item_effects=True)]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.sampled_from(SMALL), st.data())
def test_a_file_with_another_value_is_refused_in_a_sentence_or_behaves(
    content: Any, data: st.DataObject
) -> None:
    """Whatever single value is another one, or is missing."""
    where = data.draw(st.sampled_from(places(content)[1:]))
    with suppress(InputError):
        est = estimator_of(damaged(content, where, data.draw(ODD)))
        items = np.array([[0.5, 0.25], [-1.0, 1.5]])
        assert np.isfinite(est.distance(items)).all() and np.isfinite(est.predict_proba([[0, 1]])).all()
        assert len(est.rank()) and est.transform(items).shape == items.shape


@settings(max_examples=100)
@given(st.sampled_from(SMALL), st.data())
def test_a_file_with_another_character_is_refused_in_a_sentence_or_behaves(
    content: Any, data: st.DataObject
) -> None:
    """Also within packed numbers."""
    text = json.dumps(content)
    at = data.draw(st.integers(0, len(text) - 1))
    new = text[:at] + data.draw(st.sampled_from('0aA"[]{},:-+/=\x00')) + text[at + 1 :]
    with suppress(ValueError):
        found = json.loads(new)
        if isinstance(found, dict):
            assert np.isfinite(estimator_of(found).predict_proba([[0, 1]])).all()


@pytest.mark.slow
@settings(max_examples=60)
@given(st.sampled_from(SMALL), st.data(), st.sampled_from([0, -1, 1, 3, 99, 1e-300, 1e30, -1e119]))
def test_a_packed_number_that_is_another_is_refused_in_a_sentence_or_behaves(
    content: Any, data: st.DataObject, new: float
) -> None:
    """As somebody would change it who knows how numbers are packed."""
    place = data.draw(st.integers(0, len(content["arrays"]) - 1))
    array = content["arrays"][place]
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(array["zlib"])), array["dtype"]).copy()
    numbers[data.draw(st.integers(0, len(numbers) - 1))] = (
        new if array["dtype"] == "float64" else int(new) % 128
    )
    packed_again = array | {"zlib": base64.b64encode(zlib.compress(numbers.tobytes())).decode()}
    with suppress(InputError):
        est = estimator_of(damaged(content, ("arrays", place), packed_again))
        assert np.isfinite(est.distance()).all() and np.isfinite(est.predict_proba([[0, 1]])).all()


# The list of records


def test_a_type_that_is_not_in_the_list_is_not_written() -> None:
    """So a new record in a fitted estimator cannot be forgotten."""
    for value in (Path(), object(), {1, 2}, np.zeros(2, dtype=complex), Model(np.eye(1), np.zeros(1))):
        with pytest.raises(TypeError, match="not in the list"):
            Writer(schema()).write(value)


def test_every_field_of_every_record_has_a_type_that_can_be_read() -> None:
    """A new field with a type that is unknown here fails at once, and not when a file is read."""
    known = schema()
    for record in (one for one in known.records if not issubclass(one, Enum)):
        for name, declared in known.fields_of(record).items():
            reader = Reader(known, [], "The file")
            with suppress(InputError):
                reader.read({}, declared.type, name)
    for made in ESTIMATORS:
        for name, hint in parameter_types(made).items():
            with suppress(InputError):
                Reader(known, [], "The file").read({}, hint, name)
    assert all(known.type_of(one, name) for one, names in known.computed.items() for name in names)


@given(
    st.lists(st.floats(-1e100, 1e100), max_size=60),
    st.sampled_from(["C", "F"]),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60),
)
def test_arrays_come_back_to_the_last_bit(numbers: list[float], order: Any, whole: list[int]) -> None:
    """Few or many, in their order in memory, equal ones kept once."""
    writer = Writer(Schema(()))
    floats = np.array(numbers + numbers).reshape(2, -1).copy(order)
    arrays = [floats, np.array(whole, dtype=np.int64), np.array(numbers) > 0, floats.copy(order)]
    written = [writer.write(array) for array in arrays]
    assert written[0] == written[3] and len(writer.arrays) <= 3
    back = json.loads(json.dumps([written, writer.arrays]))
    for array, data in zip(arrays, back[0], strict=True):
        kind = np.ndarray[Any, np.dtype[array.dtype.type]]  # type: ignore[name-defined]
        found = Reader(Schema(()), back[1], "The file").read(data, kind, "array")
        assert found.dtype == array.dtype and found.tobytes("A") == array.tobytes("A")
        assert found.shape == array.shape and found.flags.fnc == array.flags.fnc


def test_a_field_that_an_older_file_lacks_has_its_default() -> None:
    """So that files stay readable as records grow."""
    content = damaged(CONTENT, ("state", "kind_scores"), ...)
    assert estimator_of(content).status_ == "optimal"


def test_every_estimator_is_on_the_list() -> None:
    """A new one in `coombs` is one that can be saved."""
    public = [getattr(coombs, name) for name in coombs.__all__]
    found = {one for one in public if isinstance(one, type) and hasattr(one, "fit")}
    assert found == {one for one in found if hasattr(one, "save")} == set(ESTIMATORS)


def test_changed_answers_are_not_what_was_saved() -> None:
    """A record of the list is what it says: another class by its name is refused."""
    with pytest.raises(InputError, match=r"state\.fit is no Fit"):
        estimator_of(damaged(CONTENT, ("state", "fit", "is"), "Scaler"))


def test_cli_takes_a_saved_estimator_for_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`rank` and `explain` say what they say of the model's file."""
    from coombs.cli import main

    frame = pd.DataFrame(PERSON.items, columns=["price", "size"], index=[f"item {i}" for i in range(15)])
    frame.to_csv(tmp_path / "items.csv", index_label="item")
    est = IdealPoint(metric="full", item_effects=False).fit(Comparisons(frame, PERSON.pairs, PERSON.y))
    model = replace(est.model_, findings=est.explain().findings())
    (tmp_path / "model.json").write_text(model.to_json())
    est.save(tmp_path / "whole.json")
    for command in (["rank", "{}", str(tmp_path / "items.csv"), "--json"], ["explain", "{}"]):
        printed = []
        for name in ("model.json", "whole.json"):
            assert main([one.format(tmp_path / name) for one in command]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]


@pytest.mark.parametrize("made", [coombs.SingleStep, coombs.Alternating])
def test_a_fit_of_the_papers_to_categories_is_saved_and_read(made: Any, tmp_path: Path) -> None:
    """Their tables are standardised because of the categories, which a file must know."""
    frame = pd.DataFrame({"price": [3.0, 1.0, 4.0, 1.5], "town": ["a", "b", "a", "b"]}, index=list("uvwx"))
    data = coombs.Comparisons(frame, [["u", "v"], ["w", "x"], ["v", "w"]], roles={"town": "category"})
    est = made().fit(data)
    est.save(tmp_path / "fit.json")
    assert coombs.load(tmp_path / "fit.json").rank().tolist() == est.rank().tolist()


def test_a_metric_that_is_not_symmetric_is_refused() -> None:
    content = json.loads(text_of(SingleStep([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]).fit([[0, 1], [1, 2]])))
    content["state"]["fit"]["metric"]["values"][1] += 1e3
    with pytest.raises(InputError, match="with a metric that is not symmetric"):
        estimator_of(content)
