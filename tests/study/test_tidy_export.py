"""Everything as tidy tables: what pandas reads back is what was stored, with the types of the codebook."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from coombs import create_study
from coombs.storage import Judgement
from coombs.study import Study
from coombs.study.codebook import PANDAS
from coombs.study.tidy_export import tidy_tables

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FORMULA = "=1+1"
"""A name that a spreadsheet would run."""


@pytest.fixture
def study() -> Study:
    """Somebody with fields and consent who answered pairs, a set and a ranking, skipped and took back."""
    flats = pd.DataFrame(
        {
            "rent": [650.0, 720, 900, 480],
            "town": ["a", "b", "a", "b"],
            "item": [1.0, 2, 3, 4],
            "note": list("wxyz"),
        },
        index=[FORMULA, "Bell | St", "Park, Ln", "Low St"],
    )
    made = create_study(flats, "flats", storage="memory:", roles={"town": "category", "note": "text"})
    ann = made.respondent(FORMULA)
    for choice in ("left", "tie", "skip"):
        ann.tell(ann.ask(), choice)
    ann.undo()
    storage = made.storage
    storage.add_judgement(ann.record.id, Judgement("best-worst", ((2,), (0,), (1,))))
    storage.add_judgement(ann.record.id, Judgement("choice", ((-1,), (0, 1))))
    storage.set_fields(ann.record.id, {"Age group": "30 and over", "answers": "many"})
    storage.set_finished(ann.record.id)
    made.respondent("Bob")
    return made


def test_parquet_has_the_types_of_the_codebook(study: Study, tmp_path: Path) -> None:
    study.export(tmp_path / "flats.zip")
    with zipfile.ZipFile(tmp_path / "flats.zip") as packed:
        packed.extractall(tmp_path / "out")
        assert packed.testzip() is None
    for table in tidy_tables(study):
        frame = pd.read_parquet(tmp_path / "out" / f"{table.name}.parquet")
        assert len(frame) == len(table.rows)
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
            one.name: PANDAS[one.type] for one in table.columns
        }


def test_csv_has_the_same_cells_as_parquet(study: Study, tmp_path: Path) -> None:
    """But for the apostrophe before what a spreadsheet would run."""
    study.export(f"{tmp_path / 'out'}/")
    for table in tidy_tables(study):
        types = {one.name: PANDAS[one.type] for one in table.columns if one.type != "time"}
        times = [one.name for one in table.columns if one.type == "time"]
        path = tmp_path / "out" / table.name
        read = pd.read_csv(
            f"{path}.csv", dtype=types, parse_dates=times, keep_default_na=False, na_values=[""]
        )
        stored = pd.read_parquet(f"{path}.parquet").replace({FORMULA: f"'{FORMULA}'"[:-1]})
        for name in stored:
            cells = [[str(cell) for cell in one[name].dropna().tolist()] for one in (read, stored)]
            assert cells[0] == cells[1] and read[name].isna().tolist() == stored[name].isna().tolist()


def test_no_cell_of_a_csv_is_a_formula(study: Study, tmp_path: Path) -> None:
    study.export(f"{tmp_path}/out/")
    for path in (tmp_path / "out").glob("*.csv"):
        with path.open(newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell[:1] in "=+@" and cell]


def test_every_answer_that_stands_is_a_row_in_the_answers(study: Study) -> None:
    answers, people, items = tidy_tables(study)
    rows = [dict(zip([one.name for one in answers.columns], row, strict=True)) for row in answers.rows]
    history = study.respondent(FORMULA).history()
    assert [row["answer"] for row in rows] == [one.id for one in history]
    assert [row["kind"] for row in rows] == ["pair", "pair", "best-worst", "choice"]
    left, tie, ends, none = rows
    assert left["best"] == history[0].left and left["worst"] == history[0].right
    assert left["seconds"] >= 0 and left["asked"] < left["told"] and left["purpose"]
    assert (tie["best"], tie["worst"], tie["choice"]) == (None, None, "tie")
    assert (ends["best"], ends["worst"], ends["question"]) == ("Park, Ln", "Bell | St", None)
    assert json.loads(ends["places"]) == [["Park, Ln"], [FORMULA], ["Bell | St"]]
    assert none["best"] is None and json.loads(none["items"]) == [FORMULA, "Bell | St"]
    assert len(people.rows) == 2 and len(items.rows) == 4


def test_columns_of_the_same_name_are_told_apart(study: Study) -> None:
    """A field called answers, and a feature called item."""
    for table in tidy_tables(study):
        names = [one.name for one in table.columns]
        assert len(set(names)) == len(names)
    _, people, items = tidy_tables(study)
    assert people.rows[0][-2:] == ("30 and over", "many")
    assert "feature item" in [one.name for one in items.columns]


def test_the_codebook_describes_every_column_of_every_table(study: Study, tmp_path: Path) -> None:
    study.export(f"{tmp_path}/out/")
    with (tmp_path / "out" / "codebook.csv").open(newline="") as file:
        described = {(row["table"], row["column"]) for row in csv.DictReader(file) if row["meaning"]}
    text = (tmp_path / "out" / "codebook.md").read_text()
    for name in ("answers", "people", "items"):
        columns = pd.read_parquet(tmp_path / "out" / f"{name}.parquet").columns
        assert {(name, one) for one in columns} <= described
        assert all(f"| {one.replace('|', chr(92) + '|')} |" in text for one in columns)


def test_a_study_without_answers_is_exported(tmp_path: Path) -> None:
    study = create_study(np.eye(3), storage="memory:")
    study.export(tmp_path / "empty.zip")
    study.export(tmp_path)
    assert len(pd.read_parquet(tmp_path / "answers.parquet")) == 0
    assert len(pd.read_csv(tmp_path / "items.csv")) == 3
