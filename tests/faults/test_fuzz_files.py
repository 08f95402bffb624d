"""Mutated files of every format: read as tables, as answers, as uploads, as orders."""

from __future__ import annotations

import io
import json
import random
from functools import cache
from pathlib import Path

import pytest
from fault_size import size
from fuzzing import MARKS, Record, fuzz, json_text, mutated_bytes, mutated_json, mutated_table, text, value

from coombs import Comparisons, create_study
from coombs.data import catalogue, files, preflib
from coombs.data.catalogue import catalogue as catalogue_of
from coombs.study.answer_files import import_answers

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"
ITEMS = (
    b"name,price,town,stars\nMill Rd,700,centre,3\nBell St,650,harbour,4\nOak Way,820,centre,5\nElm,5,hill,1"
)
ANSWERS = (
    b"user,left,right,winner,weight,timestamp\nann,Mill Rd,Elm,left,1,2026-01-31\nbob,Elm,Oak Way,tie,2,"
)
JSON = b'[{"name": "a", "price": 5, "new": true}, {"name": "b", "price": 7.5, "new": null}]'
LINES = b'{"name": "a", "price": 5}\n{"name": "b", "price": "7 km"}\n'
NAMES = b"Ideas\ntea\ncoffee, black\nmat\xc3\xa9\n"
VOTES = (
    b"# FILE NAME: a.toi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 7\n# ALTERNATIVE NAME 1: a\n"
    b"# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n5: 3,{1,2}\n2: 2\n"
)
OLD_VOTES = b"3\n1,a\n2,b\n3,c\n7,7,2\n5,3,{1,2}\n2,2\n"


@cache
def binary_files() -> dict[str, bytes]:
    """A workbook and Parquet files."""
    found = {"t.xlsx": (EXAMPLES / "laptops.xlsx").read_bytes()}
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {
            "name": ["a", "b", None],
            "price": [1.5, 2.5, None],
            "n": [1, 2, 3],
            "day": pandas.to_datetime(["2026-01-31"] * 3),
            "kind": pandas.Categorical(["x", "y", "x"], ordered=True),
            "yes": [True, False, True],
        }
    )
    for name, options in (
        ("t.parquet", {}),
        ("u.parquet", {"compression": None}),
        ("v.parquet", {"index": True}),
    ):
        file = io.BytesIO()
        frame.to_parquet(file, **options)
        found[name] = file.getvalue()
    return found


@cache
def text_files() -> dict[str, bytes]:
    """Tables as text, small ones and the examples."""
    small = {"items.csv": ITEMS, "answers.csv": ANSWERS, "a.json": JSON, "a.jsonl": LINES, "a.txt": NAMES}
    large = {
        one.name: one.read_bytes()[:3000] for one in EXAMPLES.iterdir() if one.suffix in (".csv", ".jsonl")
    }
    return small | large


def mutated(rng: random.Random, name: str, content: bytes) -> bytes:
    """A file with something else in it: mostly a table still."""
    if name.endswith(".csv") and rng.random() < 0.7:
        return mutated_table(rng, content)
    if name.endswith(".json") and rng.random() < 0.7:
        return json_text(rng, mutated_json(rng, json.loads(content))).encode(errors="surrogatepass")
    if name.endswith(".jsonl") and rng.random() < 0.7:
        entries = [mutated_json(rng, json.loads(line)) for line in content.splitlines()[:5]]
        return "\n".join(json_text(rng, entry) for entry in entries).encode(errors="surrogatepass")
    return mutated_bytes(rng, content, list(text_files().values()))


def read_file(record: Record, rng: random.Random, folder: Path) -> None:
    """A table by its bytes; what there is to say of it, and its items."""
    pool = binary_files() if rng.random() < 0.3 else text_files()
    name = rng.choice(list(pool))
    content = mutated(rng, name, pool[name])
    if rng.random() < 0.05:
        content = content.decode("latin-1").encode("utf-16")
    if rng.random() < 0.1:
        name = rng.choice(list(text_files()))

    def call() -> None:
        table = files.content_table(content, name, rng.choice((None, 1_000_000)))
        assert table.sentences is not None
        assert table.answers is not None
        items = catalogue_of(table)
        assert len(items.details) >= 0 and items.decisions is not None
        catalogue.cautions(items.table)

    record.run((name, content), call)


def read_answers(record: Record, rng: random.Random, folder: Path) -> None:
    """Items and answers out of two files, one of them mutated."""
    items, answers = folder / "items.csv", folder / "answers.csv"
    pairs = [
        ("flats.csv", one)
        for one in ("flats_pairs.csv", "flats_winners.csv", "flats_chosen.csv", "flats_dated.csv")
    ] + [("flats.csv", "flats_probabilities.csv"), ("ideas.txt", "ideas_rankings.csv")]
    first, second = rng.choice([*pairs, (None, None)])
    known = ITEMS if first is None else (EXAMPLES / first).read_bytes()
    said = ANSWERS if second is None else (EXAMPLES / second).read_bytes()[:1500].rpartition(b"\n")[0] + b"\n"
    if rng.random() < 0.3:
        known = mutated(rng, first or "items.csv", known)
    else:
        said = mutated(rng, "answers.csv", said)
    if first == "ideas.txt":
        items = folder / "items.txt"
    items.write_bytes(known)
    answers.write_bytes(said)
    half_life = rng.choice((None, None, None, value(rng), 30))

    def call() -> None:
        if rng.random() < 0.3:
            study = create_study(items, storage="memory:")
            import_answers(study, answers)
            study.comparisons()
        else:
            data = Comparisons.read_csv(
                items, answers, **({} if half_life is None else {"half_life": half_life})
            )
            repr(data)
            data.to_pairs()

    record.run((known, said, half_life), call)


def read_votes(record: Record, rng: random.Random, folder: Path) -> None:
    """PrefLib's orders, in both of its formats."""
    path = folder / f"v{rng.choice(('.soc', '.soi', '.toc', '.toi', '.TOI'))}"
    content = mutated_bytes(rng, rng.choice((VOTES, OLD_VOTES)), [VOTES, OLD_VOTES])
    path.write_bytes(content)
    record.run((path.name, content), lambda: preflib.read_preflib(path))
    record.run((path.name, content), lambda: Comparisons.from_preflib(["a", "b", "c"], path))


def read_upload(record: Record, rng: random.Random, folder: Path) -> None:
    """A file that was brought to the page, with columns that are said to be something."""
    uploads, checks = (
        pytest.importorskip("coombs.web.uploads"),
        pytest.importorskip("coombs.web.upload_validation"),
    )
    pool = binary_files() if rng.random() < 0.1 else text_files()
    name = rng.choice(list(pool))
    content = mutated(rng, name, pool[name])
    roles = {"price": text(rng), text(rng): rng.choice(("category", "names", "log", "ordered", ["a", "b"]))}

    def call() -> None:
        draft = uploads.read_upload(content, rng.choice((name, f"{MARKS}/../{name}", text(rng))))
        guess = draft.guess(None, roles if rng.random() < 0.2 else None)
        checks.review(draft, guess)
        draft.catalogue(guess)

    record.run((name, content, roles), call)


TARGETS = {one.__name__: one for one in (read_file, read_answers, read_votes, read_upload)}
SIZES = {
    "read_file": (1500, 30_000),
    "read_answers": (500, 4_000),
    "read_votes": (500, 10_000),
    "read_upload": (500, 8_000),
}


@pytest.mark.parametrize("target", list(TARGETS))
def test_every_mutated_file_is_read_or_refused_in_a_sentence(target: str, tmp_path: Path) -> None:
    fuzz(TARGETS[target], size(*SIZES[target]), tmp_path)
