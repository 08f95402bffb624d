"""The files of examples/data: every command takes them, and mangled copies get a sentence to act on."""

from __future__ import annotations

import csv
import io
import json
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coombs import Comparisons, InputError, cli, create_study, load_study
from coombs.cli.fit import read_answers
from coombs.data.catalogue import catalogue
from coombs.data.files import read_table

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
ITEMS = {
    "flats": ("flats.csv", "rent: number in €; size: number in m², 1 not known; district: 3 categories; "),
    "ideas": ("ideas.txt", ""),
    "coffees": ("coffees.jsonl", "price: number; roast: 3 categories; acidity: number, 1 not known; "),
    "laptops": ("laptops.xlsx", "price: number; memory: number in GB; disk: number in GB; "),
}
"""The file of each kind of items, and what is said of its columns."""
ANSWERS = {
    "flats_pairs.csv": ({"pair": 39}, "39 pairs, by 2 people"),
    "flats_winners.csv": ({"pair": 30}, "30 pairs"),
    "flats_dated.csv": ({"pair": 36}, "36 pairs"),
    "flats_chosen.csv": ({"pair": 30}, "30 pairs"),
    "flats_probabilities.csv": ({"probability": 36}, "36 pairs with a probability each"),
    "coffees_choices.csv": ({"choice": 24}, "24 choices, by 3 people"),
    "laptops_choices.csv": ({"choice": 20}, "20 choices"),
    "coffees_best_worst.csv": ({"best-worst": 16}, "16 best-worst choices"),
    "laptops_rankings.csv": ({"ranking": 9}, "9 rankings, by 3 people"),
    "ideas_rankings.csv": ({"ranking": 12}, "12 rankings, by 12 people"),
    "coffees_places.csv": ({"ranking": 3}, "3 rankings, by 3 people"),
    "coffees_ratings.csv": ({"rating": 30}, "30 ratings, by 3 people"),
    "commutes_wide.csv": ({"pair": 30}, "30 pairs"),
    "commutes_long.csv": ({"pair": 30}, "30 pairs, by 3 people"),
}
"""What is recognised in each file of answers."""
SOME_ANSWERS = {
    "flats": "flats_pairs.csv",
    "ideas": "ideas_rankings.csv",
    "coffees": "coffees_ratings.csv",
    "laptops": "laptops_rankings.csv",
}
"""Answers about the items of each kind."""

Change = Callable[[bytes], bytes]


def items_of(file: str) -> list[str]:
    """The file of items that a file of answers is about; none if it describes them itself."""
    kind = re.split(r"[._]", file)[0]
    return [ITEMS[kind][0]] if kind in ITEMS else []


def needs_excel(*files: str) -> None:
    if "laptops.xlsx" in files:
        pytest.importorskip("openpyxl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples, which is where commands run."""
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return tmp_path


def test_the_examples_are_what_their_maker_makes(tmp_path: Path) -> None:
    """Cell by cell of the workbook, which also holds the time it was made."""
    pytest.importorskip("openpyxl")
    runpy.run_path(str(DATA / "make.py"))["main"](tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in DATA.iterdir() if path.suffix not in (".py", ".markdown", ""))
    for name in made:
        if name.endswith(".xlsx"):
            new, old = (read_table(at / name).columns for at in (tmp_path, DATA))
            assert {key: cells.tolist() for key, cells in new.items()} == {
                key: cells.tolist() for key, cells in old.items()
            }
        else:
            assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes(), name


def test_every_example_is_described_and_tested() -> None:
    told = (DATA / "README.markdown").read_text(encoding="utf-8")
    files = {path.name for path in DATA.iterdir() if path.suffix in (".csv", ".txt", ".jsonl", ".xlsx")}
    assert files == {*ANSWERS, *(file for file, _ in ITEMS.values())}
    assert [name for name in files if f"`{name}`" not in told] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", ANSWERS)
@pytest.mark.long
def test_fit_takes_every_file_and_says_what_it_recognised(
    file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_excel(*items_of(file))
    shapes, sentence = ANSWERS[file]
    command = ["fit", *items_of(file), file, "--metric", "none"]
    assert cli.main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Recognised: {sentence}.\n")
    assert "No pattern" not in out
    assert not items_of(file) or ITEMS[file.split("_")[0]][1] in err
    assert cli.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shapes"] == shapes


@pytest.mark.parametrize("kind", ITEMS)
def test_every_file_of_items_is_a_study_and_a_page(kind: str, folder: Path) -> None:
    """What `coombs serve` does with the file, and what an upload to the page does."""
    file, told = ITEMS[kind]
    needs_excel(file)
    goods = catalogue(file)
    assert 8 <= len(goods.names) <= 14 and told in " ".join(goods.notes)
    study = create_study(file, storage="memory:")
    assert study.ask() is not None
    pytest.importorskip("fastapi")
    from coombs.web.uploads import read_upload

    draft = read_upload((folder / file).read_bytes(), file)
    assert draft.catalogue(draft.guess()).names == goods.names


@pytest.mark.parametrize(
    "file", ["flats_pairs.csv", "coffees_ratings.csv", "commutes_wide.csv", "commutes_long.csv"]
)
def test_answers_that_are_given_for_items_are_named_as_such(file: str, folder: Path) -> None:
    assert f"{file} looks like answers, not like items: coombs fit learns" in " ".join(catalogue(file).notes)


@pytest.mark.parametrize("file", ANSWERS)
def test_every_file_of_answers_goes_into_a_study_and_out_again(
    file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the commands, once however often it is imported; what names no items gets a sentence."""
    pytest.importorskip("pandas")
    (items,) = items_of(file) or ["flats.csv"]
    needs_excel(items)
    study = create_study(items, "one")
    is_described = not items_of(file)
    assert cli.main(["import", file]) == 2 * is_described
    if is_described:
        assert f"{file} describes what its answers are about and names no item" in capsys.readouterr().err
        return
    assert cli.main(["import", file]) == 0
    kept = study.comparisons()
    assert capsys.readouterr().out.splitlines()[1] == "Study 'one': 0 answers more"
    table = read_table(file)
    given = Comparisons.from_columns(study.catalogue.table, table.answers, table.where)
    assert (kept.shapes, len(kept)) == (given.shapes, len(given))
    for command in ("export a.csv", "export a.jsonl", "import a.jsonl --name two", "import a.csv --name two"):
        assert cli.main(command.split()) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Study 'two': 0 answers more"
    copy = create_study(items, "three")
    assert copy.import_answers("a.csv") == sum(study.respondents().values())
    assert copy.comparisons() == kept == load_study("two").comparisons()


@pytest.mark.parametrize("file", ANSWERS)
def test_answers_of_every_shape_are_written_and_read_again(file: str, folder: Path) -> None:
    needs_excel(*items_of(file))
    pytest.importorskip("pandas")
    data = read_answers(*([*items_of(file), file, None][:2])).data
    assert Comparisons.from_frame(data.item_table, data.to_frame()) == data


# Mangled copies


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode())))


def as_csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def cell(column: str, value: str, line: int = 2) -> Change:
    """Another cell; {name} in it is what another column of that line holds."""

    def change(content: bytes) -> bytes:
        header, *rows = rows_of(content)
        row = rows[line - 2]
        row[header.index(column)] = value.format(**dict(zip(header, row, strict=True)))
        return as_csv([header, *rows])

    return change


def column(name: str, value: str | None) -> Change:
    """A column with the same in every cell, or without the column."""

    def change(content: bytes) -> bytes:
        header, *rows = rows_of(content)
        at = header.index(name)
        keep = [] if value is None else [value]
        head = header if keep else header[:at] + header[at + 1 :]
        return as_csv([head, *(row[:at] + keep + row[at + 1 :] for row in rows)])

    return change


def text(old: str, new: str, times: int = 1) -> Change:
    """Other text, where it comes first or everywhere (-1)."""

    def change(content: bytes) -> bytes:
        assert old in content.decode()
        return content.decode().replace(old, new, times).encode()

    return change


def both(*changes: Change) -> Change:
    def change(content: bytes) -> bytes:
        for one in changes:
            content = one(content)
        return content

    return change


REFUSED: list[tuple[str, Change, str]] = [
    # What answers are about
    (
        "flats_pairs.csv",
        cell("left", "Dock Stret 11"),
        "Unknown item 'Dock Stret 11' in line 2 of flats_pairs.csv; did you mean 'Dock Street 11'?",
    ),
    (
        "coffees_ratings.csv",
        cell("item", "3"),
        "Unknown item '3' in line 2 of coffees_ratings.csv; the items are 'Aricha', 'Bella Vista', ",
    ),
    (
        "ideas_rankings.csv",
        text("bike lanes", "bike lane", -1),
        "ideas_rankings.csv; did you mean 'bike lanes'?",
    ),
    (
        "flats_winners.csv",
        cell("loser", "{winner}"),
        "is compared with itself; the two must differ.",
    ),
    ("laptops_rankings.csv", cell("rank2", "{rank1}"), "comes twice; once is right."),
    ("coffees_choices.csv", cell("option2", "{chosen}", 5), "comes twice; once is right."),
    # What was answered
    (
        "flats_pairs.csv",
        cell("winner", "Quay 4"),
        "The winner of line 2 of flats_pairs.csv is 'Quay 4'; it must be 'Dock Street 11', 'Pier Court 30', "
        "left, right, tie or skip.",
    ),
    (
        "coffees_choices.csv",
        cell("chosen", "Kirinyagga"),
        "The choice of line 2 of coffees_choices.csv is 'Kirinyagga'; it must be one of ",
    ),
    (
        "laptops_choices.csv",
        cell("chosen", "Larch 99"),
        "The choice of line 2 of laptops_choices.csv is 'Larch 99'; it must be one of ",
    ),
    (
        "coffees_best_worst.csv",
        cell("worst", "{best}"),
        "is both best and worst; the two must differ.",
    ),
    (
        "coffees_best_worst.csv",
        cell("worst", ""),
        "The worst of line 2 of coffees_best_worst.csv is ''; it must be one of ",
    ),
    (
        "coffees_choices.csv",
        column("chosen", "none"),
        "No answer says of two items which is better; at least one must.",
    ),
    ("coffees_choices.csv", column("chosen", ""), "There are no answers; at least one is needed."),
    ("flats_pairs.csv", column("winner", "skip"), "There are no answers; at least one pair is needed."),
    # Numbers
    (
        "coffees_ratings.csv",
        cell("rating", "good"),
        "Rating of line 2 of coffees_ratings.csv is 'good'; it must be a number.",
    ),
    (
        "coffees_ratings.csv",
        cell("rating", "inf"),
        "Rating of line 2 of coffees_ratings.csv is infinite; it must be finite.",
    ),
    (
        "coffees_ratings.csv",
        column("rating", "3"),
        "All ratings are the same; they must differ to say what is better.",
    ),
    (
        "coffees_ratings.csv",
        column("rating", "n/a"),
        "No rating is known; at least two are needed, that differ.",
    ),
    (
        "coffees_places.csv",
        cell("rank", "first"),
        "Rank of line 2 of coffees_places.csv is 'first'; it must be a number.",
    ),
    (
        "coffees_places.csv",
        column("rank", "1"),
        "No answer says of two items which is better; at least one must.",
    ),
    (
        "flats_probabilities.csv",
        cell("p", "1.2"),
        "p of line 2 of flats_probabilities.csv is 1.2; it must be a number from 0 to 1.",
    ),
    (
        "flats_probabilities.csv",
        cell("p", ""),
        "p of line 2 of flats_probabilities.csv is missing; it must be a number from 0 to 1.",
    ),
    (
        "flats_winners.csv",
        cell("weight", "-1"),
        "Weight of line 2 of flats_winners.csv is -1; it must be finite and not negative.",
    ),
    # Rankings as text, and questions that describe what they are about
    (
        "ideas_rankings.csv",
        text(" > ", " > > "),
        "; it must be like a > b = c > d.",
    ),
    (
        "ideas_rankings.csv",
        both(text(" > ", "; ", -1), text(" = ", "; ", -1)),
        "; it must be like a > b = c > d.",
    ),
    (
        "commutes_long.csv",
        column("chosen", "1"),
        "The question that begins in line 2 of commutes_long.csv has 2 profiles, 2 of them chosen; it needs "
        "two or more, and one of them chosen.",
    ),
    (
        "commutes_long.csv",
        column("chosen", "0"),
        "line 2 of commutes_long.csv has 2 profiles, 0 of them chosen; it needs two or more, and one of them "
        "chosen.",
    ),
    (
        "commutes_long.csv",
        cell("chosen", "maybe"),
        "chosen of line 2 of commutes_long.csv is 'maybe'; it must be 1 (chosen) or 0.",
    ),
    (
        "commutes_wide.csv",
        cell("winner", "middle"),
        "winner of line 2 of commutes_wide.csv is 'middle'; it must be left or right, 1 or 2, a or b, ",
    ),
    (
        "commutes_wide.csv",
        cell("minutes_left", "long"),
        "Feature 'minutes' of line 2 of commutes_wide.csv is 'long'; it must be a number.",
    ),
    # Columns and lines
    (
        "flats_pairs.csv",
        column("winner", None),
        "The answers have the columns user, left, right; needed are left, right, winner or winner, loser ",
    ),
    ("coffees_ratings.csv", column("item", None), "of ratings user, item, rating."),
    ("commutes_long.csv", column("task", None), "(columns task and chosen, or price_1, price_2 and winner)."),
    ("flats_pairs.csv", text("left,right", "left,left"), "column of flats_pairs.csv is named 'left'; names "),
    (
        "flats_pairs.csv",
        lambda _: b"",
        "flats_pairs.csv is empty; it needs a header line and at least one row.",
    ),
    (
        "coffees_ratings.csv",
        lambda content: content.split(b"\n")[0],
        "coffees_ratings.csv has no rows below its header; it needs at least one.",
    ),
    (
        "flats_pairs.csv",
        text(",", "|", -1),
        "Line 1 of flats_pairs.csv has no commas ('user|left|right|winner'); separate the fields by commas.",
    ),
    (
        "flats_pairs.csv",
        text(",", ";", 3),
        "Line 2 of flats_pairs.csv has 1 field; the header has 4; ",
    ),
    (
        "flats_pairs.csv",
        lambda content: content[:-25],
        "Line 41 of flats_pairs.csv has 3 fields; the header has 4; is something missing at its end?",
    ),
    ("flats_pairs.csv", text("Dock", '"Dock'), 'the header has 4; is a quote (") left open?'),
    (
        "flats_pairs.csv",
        lambda content: content[:40] + b"\0" + content[40:],
        "flats_pairs.csv has zero bytes in it, so it is no text; save it as 'CSV UTF-8'.",
    ),
    (
        "flats_pairs.csv",
        lambda _: bytes(range(256)),
        "flats_pairs.csv is neither UTF-8, UTF-16 nor Windows text (cp1252); in Excel: Save as → CSV UTF-8.",
    ),
    # Items
    (
        "flats.csv",
        text("Quay 4", "Mill Road 3"),
        "More than one item is named 'Mill Road 3'; names must differ.",
    ),
    (
        "flats.csv",
        text("Quay 4", ""),
        "The item name of line 6 of flats.csv is missing; every row needs one.",
    ),
    (
        "flats.csv",
        text("650 €", "650"),
        "is '720 €'; it must be a number, with a unit only if all have one.",
    ),
    (
        "flats.csv",
        text("650 €", "about 650"),
        "Feature 'rent' of item 'Mill Road 3' is 'about 650'; it must be a number.",
    ),
    (
        "ideas.txt",
        lambda content: content.split(b"\n")[0],
        "There are fewer than two items (1); a comparison needs two.",
    ),
    ("ideas.txt", lambda _: b"\n \n", "ideas.txt has no names; write one on each line."),
    (
        "laptops.xlsx",
        lambda _: b"laptop,price\nAlder 13,999\n",
        "laptops.xlsx is no Excel workbook inside; save it again as .xlsx, or as CSV under .csv.",
    ),
    (
        "laptops.xlsx",
        lambda content: content[:2000],
        "laptops.xlsx is a workbook or an archive that is damaged; save it again.",
    ),
    (
        "coffees.jsonl",
        text("9.9", "9.9."),
        "; there must be an object on each line, or a list of objects, with null for what is not known.",
    ),
    (
        "coffees.jsonl",
        text("9.9", "[9.9]"),
        "In line 2 of coffees.jsonl 'price' is a list or an object; it must be text, a number, true, false ",
    ),
    ("coffees.jsonl", text("9.9", "1e200"), "Feature 'price' reaches 1e+200; give it in larger units."),
    (
        "coffees.jsonl",
        text("9.9", '"cheap"'),
        "Feature 'price' of item 'Bella Vista' is 'cheap'; it must be a number.",
    ),
]
"""A file, what is changed in it, and the sentence that it gets."""


def fitted(file: str, *more: str) -> int:
    """`coombs fit` of a file of items or answers."""
    kind = re.split(r"[._]", file)[0]
    needs_excel(*items_of(file))
    answers = SOME_ANSWERS[kind] if file in items_of(file) else file
    return cli.main(["fit", *items_of(file), answers, "--metric", "none", *more])


@pytest.mark.parametrize(
    ("file", "change", "sentence"), REFUSED, ids=[f"{i}-{one[0]}" for i, one in enumerate(REFUSED)]
)
def test_a_mangled_copy_gets_a_sentence_to_act_on(
    file: str, change: Change, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, where, and what would be right; and nothing is printed that could pass for a result."""
    (folder / file).write_bytes(change((folder / file).read_bytes()))
    assert fitted(file) == 2
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert not out and last.startswith("coombs: ") and sentence in last


TAKEN: list[tuple[str, Change, list[str], str]] = [
    ("flats_pairs.csv", lambda c: c.decode().encode("utf-16"), [], "is UTF-16 text and was read as such."),
    ("flats_pairs.csv", text(",", ";", -1), [], ""),
    ("flats_pairs.csv", text("\n", ",\n", -1), [], ""),
    ("coffees_ratings.csv", cell("rating", ""), [], ""),
    (
        "flats.csv",
        text("650 €", "650 $"),
        [],
        "rent: shown, not learned from (kept as text: $ and € do not convert into each other)",
    ),
    (
        "flats.csv",
        text("2026-02-01", "2026-02-31"),
        [],
        "free from: shown, not learned from (kept as text: not every cell is a day that exists)",
    ),
    (
        "flats.csv",
        lambda content: re.sub(r"\d+ m²", "n/a", content.decode()).encode(),
        [],
        "size: shown, not learned from",
    ),
    (
        "flats.csv",
        lambda content: content,
        ["--features", "note:category"],
        "All cells of note differ: as a category it tells no more than the names do.",
    ),
]
"""A file, what is changed in it, options, and what is said of it, although it can be learned from."""


@pytest.mark.parametrize(("file", "change", "options", "sentence"), TAKEN, ids=range(len(TAKEN)))
def test_what_can_be_read_though_it_is_odd_is_read_and_said(
    file: str,
    change: Change,
    options: list[str],
    sentence: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / file).write_bytes(change((folder / file).read_bytes()))
    assert fitted(file, *options) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Recognised: ") and sentence in err


def test_a_half_life_needs_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fitted("flats_pairs.csv", "--half-life", "30") == 2
    assert "A half-life needs a column timestamp" in capsys.readouterr().err
    assert cli.main(["fit", "commutes_wide.csv", "--half-life", "30"]) == 2
    assert "--half-life is for answers in a file of their own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("rent,sise", "There is no column 'sise'; the columns are rent, size, district, "),
        ("rent:money", "The role of 'rent' is 'money'; it must be one of 'number', 'log', 'category', "),
        ("note:yes/no", "Feature 'note' of item 'Mill Road 3' is 'Quiet court'; it must be yes or no."),
        ("note:date", "Feature 'note' of item 'Mill Road 3' is 'Quiet court'; it must be a date, as "),
    ],
)
def test_a_role_that_a_column_cannot_have_gets_a_sentence(
    asked: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert fitted("flats.csv", "--features", asked) == 2
    assert sentence in capsys.readouterr().err


def test_with_a_half_life_dated_answers_weigh_less_the_older_they_are(folder: Path) -> None:
    data = read_answers("flats.csv", "flats_dated.csv", half_life=30).data
    assert (data.weights[1:] > data.weights[:-1]).all()
    assert data.weights[-1] == 1.0 and data.weights[0] < 0.05


def test_ratings_with_a_column_for_each_person_are_told_to_become_rows(folder: Path) -> None:
    (folder / "wide.csv").write_text("item,ann,bob\nCerrado,4,\nHuila,5,3\n")
    with pytest.raises(InputError, match="need a row for each rating"):
        read_answers("coffees.jsonl", "wide.csv")
