"""Command lines with odd options and mutated files: exit code 0 or 2, one sentence, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fault_size import size
from fuzzing import Record, fuzz, json_text, mutated_bytes, mutated_json, mutated_table, text

from coombs import cli

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"
COMMANDS = (
    ["fit", "items.csv", "answers.csv", "--estimator", "single-step"],
    ["fit", "items.csv", "answers.csv", "--estimator", "compass", "--out", "new.json"],
    ["rank", "model.json", "items.csv"],
    ["rank", "model.json", "items.csv", "--json", "--top", "2", "--csv", "out.csv"],
    ["explain", "model.json"],
    ["explain", "model.json", "--json"],
    ["export", "out.csv", "--storage", "sqlite:///s.db", "--name", "flats"],
    ["export", "out.jsonl", "--storage", "sqlite:///s.db"],
    ["import", "study.jsonl", "--storage", "sqlite:///new.db"],
    ["import", "answers.csv", "--storage", "sqlite:///s.db", "--name", "flats"],
    ["simulate", "shop", "--items", "5", "--features", "2", "--answers", "4"],
    ["people", "items.csv", "people.csv", "--metric", "none"],
    ["reproduce", "--list"],
    ["completion", "bash"],
    ["--version"],
    ["fit", "--help"],
)
SLOW = ("demo", "serve", "ask", "bench", "reproduce", "groups", "people")
"""Commands that wait, or take long: run rarely, or not at all."""
WORDS = (
    *(
        "--json",
        "--top",
        "--out",
        "--features",
        "--wish",
        "--metric",
        "--user",
        "--seed",
        "--half-life",
        "--groups",
    ),
    *(
        "--pooled",
        "--help",
        "-h",
        "--",
        "-",
        "--name",
        "--storage",
        "--csv",
        "--save",
        "--estimator",
        "--noise",
    ),
    *(
        "price",
        "price:log",
        "town:category",
        "price: less",
        "price <= 700",
        "single-step",
        "compass",
        "none",
        "full",
    ),
    *(
        "ann",
        "0",
        "-1",
        "1e9",
        "1e400",
        "nan",
        "inf",
        "99999999999999999999",
        "sqlite:///",
        "postgresql://",
        "memory:",
    ),
    *(
        "/dev/null",
        "/",
        ".",
        "no/such/folder/x.json",
        "items.csv",
        "answers.csv",
        "model.json",
        "study.jsonl",
    ),
)
"""What may stand in a command line."""


@cache
def contents() -> dict[str, bytes]:
    """Files that commands take."""
    folder = Path(pytest.importorskip("tempfile").mkdtemp())
    try:
        items = b"name,price,size\n" + b"".join(
            b"flat %d,%d,%d\n" % (i, 500 + 37 * i % 90, 9 * i % 7) for i in range(6)
        )
        answers = b"left,right,winner\nflat 0,flat 1,left\nflat 2,flat 3,right\nflat 4,flat 1,flat 1\n"
        people = b"user,left,right,winner\nann,flat 0,flat 1,left\nbob,flat 2,flat 3,right\n"
        found = {"items.csv": items, "answers.csv": answers, "people.csv": people}
        for name, content in found.items():
            (folder / name).write_bytes(content)
        with contextlib.chdir(folder):
            quiet(["fit", "items.csv", "answers.csv", "--estimator", "single-step", "--out", "model.json"])
            from coombs import create_study

            study = create_study("items.csv", "flats", storage="sqlite:///s.db")
            study.import_answers("answers.csv")
            study.export("study.jsonl")
            study.storage.close()
        for name in ("model.json", "study.jsonl", "s.db"):
            found[name] = (folder / name).read_bytes()
        return found
    finally:
        shutil.rmtree(folder)


def quiet(arguments: list[str]) -> tuple[int, str, str]:
    """The exit code of a command and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(arguments)
    return code, out.getvalue(), err.getvalue()


def command_line(rng: random.Random) -> list[str]:
    """A command that works, with words left out, put in or changed."""
    words = list(rng.choice(COMMANDS))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        place = rng.randrange(rng.choice((0, 1, 1, 1, 1)), len(words) + 1)
        kind = rng.randrange(4)
        new = rng.choice((rng.choice(WORDS), rng.choice(WORDS), text(rng)[:3000]))
        if kind == 0 and place > 1:
            del words[place - 1]
        elif kind == 1 and place < len(words):
            words[place] = new
        else:
            words.insert(place, new)
    # As a shell would give them: without zero bytes, and what is no UTF-8 as single bytes.
    raw = [word.replace("\0", "").encode(errors="surrogatepass") for word in words]
    return [word.decode(errors="surrogateescape") for word in raw]


def run_command(record: Record, rng: random.Random, folder: Path) -> None:
    """A command in a folder with its files, one of them mutated."""
    words = command_line(rng)
    if (words and words[0] in SLOW and rng.random() < 0.95) or any(
        word in ("demo", "serve", "ask", "bench", "reproduce")
        for word in words[:1]
        if words != ["reproduce", "--list"]
    ):
        words = ["fit", *words[1:]]
    if "ideal-point" not in words and words[:1] == ["fit"] and "--estimator" not in words:
        words += ["--estimator", "single-step"]
    changed = rng.choice((None, None, *contents()))
    here = folder / "here"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    for name, content in contents().items():
        if name == changed:
            content = mutated_file(rng, name, content)
        (here / name).write_bytes(content)

    def call() -> Any:
        with contextlib.chdir(here):
            code, out, err = quiet(words)
        assert code in (0, 2), code
        if code == 2:
            assert err.count("\n") <= 3 and len(err) < 1_500, err[:500]
            assert "Traceback" not in err
        return out

    record.run((words, changed, (here / changed).read_bytes() if changed else b""), call)


def mutated_file(rng: random.Random, name: str, content: bytes) -> bytes:
    """A file with something else in it."""
    if name.endswith(".csv") and rng.random() < 0.8:
        return mutated_table(rng, content)
    if name == "model.json" and rng.random() < 0.8:
        return json_text(rng, mutated_json(rng, json.loads(content))).encode(errors="surrogatepass")
    return mutated_bytes(rng, content)


TARGETS = {run_command.__name__: run_command}
SIZES = {"run_command": (150, 4_000)}


@pytest.mark.parametrize("target", list(TARGETS))
def test_every_command_line_works_or_is_refused_in_a_sentence(target: str, tmp_path: Path) -> None:
    fuzz(TARGETS[target], size(*SIZES[target]), tmp_path)
