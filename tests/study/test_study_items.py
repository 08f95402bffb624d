"""Items that come, change and go while a study runs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from coombs import Population, create_study, import_study, load_study
from coombs.data.tables import InputError
from coombs.storage import open_storage
from coombs.study import ItemChanges, Study, check_storage
from coombs.study.everybody import everybody_answers

FLATS = pd.DataFrame(
    {
        "rent": [650.0, 720, 900, 1100, 480, 830, 760, 990],
        "size": [48.0, 55, 70, 92, 30, 61, 66, 80],
        "town": ["a", "b", "a", "b", "a", "b", "a", "b"],
        "photo": [f"{name}.jpg" for name in "ABCDEFGH"],
    },
    index=list("ABCDEFGH"),
)


def a_study(n_answers: int = 6, storage: str = "memory:", **settings: Any) -> Study:
    """Somebody who likes what is cheap."""
    study = create_study(FLATS, storage=storage, roles={"town": "category"}, seed=3, **settings)
    answer(study, n_answers)
    return study


def answer(study: Study, count: int) -> None:
    for _ in range(count):
        question = study.ask()
        assert question is not None
        rents = [study.catalogue.table.matrix[i, 0] for i in question.positions]
        study.tell(question, "left" if rents[0] < rents[1] else "right")


def scores(study: Study, names: str = "ABCDEFGH") -> np.ndarray:
    """What the model that asks says of items."""
    found = study.respondent().think().belief.mean_scores()
    return found[[study.catalogue.names.index(name) for name in names]]


def asked_about(study: Study, count: int) -> set[str]:
    """The items of the next questions."""
    names = set()
    for _ in range(count):
        question = study.ask()
        assert question is not None
        names |= set(question.names)
        study.tell(question, "skip")
    return names


def test_an_answer_keeps_the_version_that_it_saw() -> None:
    study = a_study(0)
    study.tell(("A", "B"))
    study.change_item("A", {"rent": 2000, "photo": "new.jpg"})
    study.tell(("B", "A"))
    first, second = study.history()
    assert (first.winner, second.right) == ("A (version 1)", "A")
    old, new = (study.items(retired=True)[i] for i in (first.positions[0], second.positions[1]))
    assert (old.cells["rent"], old.cells["photo"], old.version) == (650, "A.jpg", 1)
    assert (new.cells["rent"], new.cells["photo"], new.version, new.replaces) == (2000, "new.jpg", 2, 0)


@pytest.mark.parametrize("cells", [{"photo": "other.jpg"}, {}])
def test_another_picture_or_name_is_a_version_and_changes_no_prediction(cells: dict[str, str]) -> None:
    study = a_study(3)
    study.change_item("A", cells, rename="Ann's")
    assert [one.version for one in study.items() if one.name == "Ann's"] == [2]
    found = study.respondent().think().belief.mean_scores()
    assert found[8] == pytest.approx(found[0])


def test_retiring_and_restoring_gives_the_same_predictions() -> None:
    study = a_study(4)
    before, progress = scores(study), study.progress()
    study.retire_items(["A", "E"])
    assert np.array_equal(scores(study), before)
    assert "E" not in study.progress().top
    study.restore_items(["A", "E"])
    assert np.array_equal(scores(study), before)
    assert study.progress() == progress


def test_an_earlier_version_comes_back_in_the_place_of_the_one_of_now() -> None:
    study = a_study(0)
    first = study.items()[0].cells
    study.change_item("A", {"rent": 1.0})
    with pytest.raises(InputError, match=r"No item called 'A' is retired; these are: 'A \(version 1\)'"):
        study.restore_items(["A"])
    assert study.restore_items(["A (version 1)", "A (version 1)"]).restored == ("A",)
    (back,) = [one for one in study.items() if one.name == "A"]
    assert back.version == 1 and back.cells == first
    assert study.retire_items(["B", "B"]).retired == ("B",)


def test_a_retired_item_is_neither_asked_about_nor_ranked() -> None:
    study = a_study(5, metric="identity")
    study.retire_items(["E"])
    assert asked_about(study, 8) <= set("ABCDFGH")
    result = study.result()
    assert sorted(result.ranking) == list("ABCDFGH")
    assert sorted(result.to_frame()["item"]) == list("ABCDFGH")
    assert result.n_answers == 5


@pytest.mark.slow
def test_no_words_of_a_result_are_about_retired_items() -> None:
    study = a_study(20)
    study.retire_items(["E"])
    result = study.result()
    assert result.has_pattern
    assert "E" not in {one.item for one in result.told.ranking}
    assert len(result.told.ranking) == 7


def test_added_items_are_asked_about_and_ranked_and_leave_the_scale() -> None:
    study = a_study(5, metric="identity")
    pairs, scaler = [["A", "E"], ["B", "C"], ["D", "H"]], study.scaler
    before = study.result().model.decision_function(pairs)
    # Much dearer than all others: the scale would shrink.
    study.add_items(pd.DataFrame({"rent": [90_000.0], "size": [50.0], "town": ["a"]}, index=["Z"]))
    assert np.array_equal(study.scaler.sizes, scaler.sizes)
    assert np.array_equal(study.scaler.centre, scaler.centre)
    result = study.result()
    assert np.array_equal(result.model._scaler.sizes, scaler.sizes)
    assert result.model.decision_function(pairs) == pytest.approx(before, abs=1e-6)
    assert "Z" in result.ranking
    assert "Z" in asked_about(study, 12)


def test_a_category_and_a_gap_that_are_new_are_learned_from_and_shown_as_they_are() -> None:
    study = a_study(2, metric="identity")
    study.add_items(pd.DataFrame({"rent": [700.0], "size": [np.nan], "town": ["harbour"]}, index=["Z"]))
    new = study.items()[-1]
    assert (new.cells["town"], new.cells["size"]) == ("harbour", "not known")
    assert {"town=harbour", "not known: Z"} <= set(study.catalogue.features)
    assert [one.cells["town"] for one in study.items()][:3] == ["a", "b", "a"]
    answer(study, 2)
    assert "Z" in study.result().ranking
    assert load_study(storage=study.storage).history() == study.history()


def test_a_table_adds_changes_and_leaves_and_a_preview_says_so_before() -> None:
    study = a_study(0)
    table = FLATS.loc[["A", "B"]].assign(rent=[650.0, 1.0])
    table.loc["Z"] = [500.0, 40.0, "b", "Z.jpg"]
    told = study.preview_items(table)
    assert (told.added, told.changed, told.unchanged) == (("Z",), ("B",), ("A",))
    assert told.differences == {"B": ("rent: 720 → 1",)}
    assert study.n_items == 8
    assert study.update_items(table) == told
    assert study.update_items(table) == ItemChanges(unchanged=("A", "B", "Z"))
    assert [line.what for line in study.log()] == ["1 item added, 1 changed."]
    study.retire_items(["Z"])
    assert study.update_items(table).restored == ("Z",)


def test_a_file_adds_items_whichever_its_columns_order(tmp_path: Path) -> None:
    study = a_study(0)
    path = tmp_path / "new.csv"
    path.write_text("flat,size,rent,town\nZ,40,500 ,b\nY,41,510,a\n")
    assert study.update_items(path).added == ("Z", "Y")
    path.write_text("flat,rent\nZ,700\n")
    assert study.update_items(path).changed == ("Z",)
    assert study.items()[-1].cells == {"rent": 700.0, "size": 40.0, "town": "b", "photo": ""}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: s.retire_items(list("ABCDEFG")), "fewer than two items"),
        (lambda s: s.retire_items(["Q"]), "No item called 'Q' is asked about"),
        (lambda s: s.restore_items(["A"]), "No item called 'A' is retired"),
        (lambda s: s.retire_items("A"), "must be a list"),
        (lambda s: s.add_items(FLATS.loc[["A"]]), "'A' is an item already"),
        (lambda s: s.change_item("Q", {"rent": 1}), "'Q' is no item"),
        (lambda s: s.change_item("A", {"garden": 1}), "no column 'garden'"),
        (lambda s: s.change_item("A", {"rent": "much"}), "must be a number"),
        (lambda s: s.change_item("A", {"rent": np.inf}), "finite"),
        (lambda s: s.change_item("A", rename="B"), "More than one item is named 'B'"),
        (lambda s: s.change_item("A", rename=" "), "blank"),
        (lambda s: s.add_items(pd.DataFrame({"rent": [1.0]}, index=["Z"])), "no column 'size'"),
        (lambda s: s.add_items([[1.0, 2.0]]), "The items have 2 columns"),
        (
            lambda s: s.update_items(pd.DataFrame({"rent": [1.0, 2.0]}, index=["A", "A"])),
            "More than one item is named 'A'",
        ),
        (lambda s: s.update_items(pd.DataFrame({"rent": [1.0]})), "no names"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence_and_changes_nothing(change: object, told: str) -> None:
    study = a_study(0)
    with pytest.raises(InputError, match=told):
        change(study)  # type: ignore[operator]
    assert study.log() == []
    assert study.items() == load_study(storage=study.storage).items()
    assert study.n_items == 8


def test_items_outside_the_limits_of_a_study_are_refused() -> None:
    study = create_study(FLATS, storage="memory:", wishes=["rent <= 1000"])
    with pytest.raises(InputError, match="outside the limits"):
        study.change_item("A", {"rent": 1001})


def test_items_without_names_are_called_by_their_numbers() -> None:
    study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
    study.tell((1, 0))
    assert study.add_items([[5.0]]).added == ("3",)
    study.retire_items([0])
    study.tell((3, 2))
    assert sorted(study.result().ranking) == [1, 2, 3]


def test_an_answer_to_a_question_on_the_screen_is_kept_though_its_item_was_retired() -> None:
    study = a_study(3)
    question = study.ask()
    assert question is not None
    study.retire_items([question.names[0]])
    assert study.current() != question
    study.tell(question, "left")
    assert study.history()[-1].winner == question.names[0]
    # Taken back, it is not asked again.
    study.undo()
    waiting = study.current()
    assert waiting is not None
    assert question.names[0] not in waiting.names


def test_planned_questions_follow_changes_and_are_skipped_once_an_item_is_retired() -> None:
    plan: dict[str, Any] = {"fixed": (("A", "B"), ("C", "D"), ("E", "F")), "attention": ((0, "G", "H"),)}
    study = a_study(2, strategy="fixed", **plan)
    study.change_item("A", rename="Ann's")
    study.retire_items(["D"])
    assert len(study.plan.skipped) == 1
    assert "'D' is retired" in study.plan.skipped[0]
    while (question := study.ask()) is not None:
        study.tell(question, "left")
    sets = [frozenset(one.positions) for one in study.history() if one.purpose == "fixed"]
    # Who answered about the former version is not asked again.
    assert len(sets) == len({frozenset(min(i, 0 if i == 8 else i) for i in one) for one in sets})
    study.retire_items(["H"])
    assert len(study.plan.skipped) == 2


def test_a_study_goes_out_and_in_with_all_versions(tmp_path: Path) -> None:
    study = a_study(1)
    study.add_items(pd.DataFrame({"rent": [700.0], "size": [np.nan], "town": ["harbour"]}, index=["Z"]))
    study.change_item("A", {"rent": 1})
    study.retire_items(["B"])
    answer(study, 1)
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl", storage="memory:")
    assert again.items(retired=True) == study.items(retired=True)
    assert [one.text for one in again.history()] == [one.text for one in study.history()]
    again.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "study.jsonl").read_text()


def test_tables_have_every_version_with_its_times(tmp_path: Path) -> None:
    study = a_study(0)
    study.tell(("A", "B"))
    study.change_item("A", {"rent": 1})
    study.export(tmp_path / "study.zip")
    with zipfile.ZipFile(tmp_path / "study.zip") as packed:
        items = pd.read_csv(packed.open("items.csv"))
        answers = pd.read_csv(packed.open("answers.csv"))
        codebook = pd.read_csv(packed.open("codebook.csv"))
    assert items["item"].tolist() == ["A (version 1)", *"BCDEFGH", "A"]
    assert items["rent"].tolist()[0::8] == [650.0, 1.0]
    assert items["until"].notna().sum() == 1
    assert items["replaces"].tolist()[-1] == 0
    assert json.loads(answers["items"][0])[0] == "A (version 1)"
    assert {"version", "since", "until", "replaces"} <= set(codebook[codebook["table"] == "items"]["column"])


def test_another_process_notices_new_and_retired_items(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    here = a_study(1, storage=url, metric="identity")
    there = load_study(storage=open_storage(url))
    there.add_items(pd.DataFrame({"rent": [100.0], "size": [99.0], "town": ["c"]}, index=["Z"]))
    there.retire_items(["A"])
    # What is asked there about the new item can be told and read here.
    there.tell(("Z", "B"))
    assert here.history()[-1].winner == "Z"
    names = asked_about(here, 12)
    assert "A" not in names
    assert "Z" in names


def test_the_same_table_loads_a_study_whose_items_have_changed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = a_study(1, storage=url)
    study.add_items(pd.DataFrame({"rent": [100.0], "size": [99.0], "town": ["c"]}, index=["Z"]))
    assert a_study(0, storage=url).n_items == 9
    study.storage.close_all()
    assert check_storage(url).is_sound


def test_a_check_finds_items_that_cannot_be(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = a_study(0, storage=url)
    study.change_item("A", {"rent": 1})
    study.storage.database.change("UPDATE items SET retired = NULL")
    study.storage.close_all()
    assert "same name" in str(check_storage(url))


def test_a_column_that_the_study_has_not_is_left_out_and_that_is_said() -> None:
    study = a_study(0)
    table = FLATS.assign(garden="yes").rename_axis("flat").reset_index()
    told = study.update_items(table)
    assert told.unchanged == tuple("ABCDEFGH")
    assert told.notes == ("The study has no column 'garden': left out.",)


def test_a_group_ranks_the_items_of_now_and_learns_from_all() -> None:
    study = create_study(FLATS[["rent", "size"]], storage="memory:")
    for who in ("Ann", "Bob", "Cem"):
        for pair in (("E", "A"), ("A", "B"), ("B", "C"), ("E", "D"), ("G", "H"), ("F", "D")):
            study.respondent(who).tell(pair)
    study.retire_items(["E"])
    data = everybody_answers(study)
    assert data is not None
    population = Population(metric="none").fit(data)
    before = population.utilities()
    population._rank_only(study.catalogue.current)
    assert np.array_equal(population.utilities(), before[:, study.catalogue.current])
    assert sorted(population.consensus()["item"]) == list("ABCDFGH")
    frame = population.to_frame(ranks=True)
    assert [name for name in frame if name.startswith("rank")] == [f"rank: {name}" for name in "ABCDFGH"]
    assert "E" not in frame["best"].tolist()
    assert population.explain().n_items == 7
