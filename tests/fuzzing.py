"""What the fuzzers in tests/faults share: odd values, mutated bytes and JSON, and what went wrong.

An input is right if it is taken or refused by an error of ours, within ten seconds of CPU time and without
a RuntimeWarning of numpy's. Inputs come from a seeded generator, so that a run can be repeated: the number of
an input that went wrong is printed.
"""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from damage import damaged, places

from coombs import ConvergenceError, InputError

MOST_SECONDS = 10
"""CPU time that an input may take."""
OURS = (InputError, ConvergenceError)
"""Errors that are ours."""
LONG = "n" * 100_000
"""A name that is much too long."""
MARKS = "\u202e\u200f\u2066\ufeff\u0000\ud800\u0300\u00a0\u2028\x1b[31m"
"""Right-to-left marks, a BOM, a NUL, half a character, an accent, odd blanks, a terminal's command."""
TEXTS = (
    *("", " ", "a", "b", "0", "1", "-1", "nan", "NaN", "inf", "-inf", "null", "None", "true", "1e400", "-0"),
    *("1,5", "1.5", "10%", "€ 5", "5 km", "2026-01-31", "31.12.2025", "0000-00-00", "99999-01-01"),
    *(
        "=1+1",
        "'",
        '"',
        ",",
        ";",
        "\t",
        "\n",
        "\r\n",
        "\\",
        "{}",
        "[]",
        "<b>",
        "../x",
        "%s",
        "{0}",
        "\U0001f600",
    ),
    *(
        *MARKS,
        f"a{MARKS}b",
        "left",
        "right",
        "tie",
        "skip",
        "1 > 2 = 3",
        "a > b",
        "S<M<L",
        "x" * 300,
        "12:30",
    ),
    *("9" * 400, "1" * 20, "٣", "½", "²", "1_000", "0x10", "1e5", "infinity", "1e-400"),
)
"""What cells, names and words may be."""
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e-300, 5e-324, 1e50, 1e121, 1e300, 1.7976931348623157e308, -1e308),
    *(float("nan"), float("inf"), float("-inf"), 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**30, 10**400),
)
"""What numbers may be."""


class HangError(BaseException):
    """An input took too long; no handler of exceptions takes it for its own."""


@dataclass
class Record:
    """Inputs so far, and what went wrong, the first input of each kind."""

    inputs: int = 0
    refused: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def run(self, about: Any, call: Callable[[], Any], allowed: tuple[type[BaseException], ...] = ()) -> Any:
        """What a call gives; None if it is refused, or goes wrong, which is kept."""
        self.inputs += 1
        try:
            with limited(), warnings.catch_warnings():
                # Numpy's warnings of overflow and the like; those of ours and of other packages are allowed.
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                return call()
        except (*OURS, *allowed):
            self.refused += 1
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            self.keep(about, error)
        return None

    def keep(self, about: Any, error: BaseException) -> None:
        """Keep what went wrong, by its kind and the place in the package."""
        own = [one for one in traceback.extract_tb(error.__traceback__) if "/coombs/" in one.filename]
        place = f"{own[-1].filename.rpartition('/coombs/')[2]}:{own[-1].lineno}" if own else "outside"
        kind = f"{type(error).__name__} at {place}"
        self.times[kind] = self.times.get(kind, 0) + 1
        if kind not in self.wrong:
            path = " < ".join(f"{one.filename.rpartition('/')[2]}:{one.lineno}" for one in reversed(own[-6:]))
            self.wrong[kind] = f"{str(error)[:200]}\n    {path}\n    input: {repr(about)[:1500]}"

    def report(self) -> str:
        """All kinds of what went wrong."""
        lines = [f"{kind} ({self.times[kind]} times): {text}" for kind, text in self.wrong.items()]
        return (
            f"{self.inputs} inputs, {self.refused} refused, {len(self.wrong)} kinds of wrong\n"
            + "\n".join(lines)
        )


def fuzz(step: Callable[[Record, random.Random, Path], None], inputs: int, folder: Path) -> None:
    """So many inputs of a kind, all of which must be taken or refused by an error of ours."""
    record, rng = Record(), random.Random(step.__name__)
    while record.inputs < inputs:
        step(record, rng, folder)
    print(f"{step.__name__}: {record.report()}")
    assert not record.wrong, record.report()


@contextmanager
def limited(seconds: float = MOST_SECONDS) -> Iterator[None]:
    """At most so many seconds of CPU time, and twenty times that by the clock; in the main thread."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {seconds} s")

    handlers = {
        signal.ITIMER_PROF: (signal.SIGPROF, seconds),
        signal.ITIMER_REAL: (signal.SIGALRM, 20 * seconds),
    }
    before = {number: signal.signal(number, stop) for number, _ in handlers.values()}
    for timer, (_, limit) in handlers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in handlers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def text(rng: random.Random) -> str:
    """A text, mostly odd."""
    kind = rng.random()
    if kind < 0.01:
        return LONG
    if kind < 0.6:
        return rng.choice(TEXTS)
    return "".join(chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x2FF), 0x202E))) for _ in range(4))


def value(rng: random.Random) -> Any:
    """Any Python value."""
    makers: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: text(rng),
        lambda: text(rng),
        lambda: rng.choice((None, True, False, ..., NotImplemented)),
        lambda: rng.choice(([], {}, (), set(), [[]], [None], [1, 2], {"a": 1}, {1: [2]}, range(3), "ab")),
        lambda: rng.choice(
            (b"", b"a", bytearray(b"a"), 1j, Decimal("NaN"), Decimal("1e999"), Fraction(1, 3))
        ),
        lambda: rng.choice((date(2026, 1, 31), datetime(1, 1, 1), timedelta(1), date.max)),
        lambda: rng.choice(
            (np.float32("nan"), np.datetime64("NaT"), np.int8(1), np.bool_(True), np.str_("a"))
        ),
        lambda: rng.choice((np.array(1.0), np.array([]), np.zeros((2, 0)), np.ma.masked, object(), len, int)),
        lambda: float(rng.gauss(0, 1)),
    )
    return rng.choice(makers)()


def json_value(rng: random.Random) -> Any:
    """Any value that JSON has, or nearly."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return text(rng)
    if kind < 0.75:
        return rng.choice((None, True, False))
    if kind < 0.97:
        return rng.choice(([], {}, [[]], [None], [1, 2], [0.5] * 3, {"a": 1}, ["a", "a"], [{}], {"": []}))
    return nested(rng.choice((5, 45)))


def nested(depth: int) -> Any:
    """Lists within lists."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def mutated_json(rng: random.Random, content: Any, where: Sequence[Any] | None = None) -> Any:
    """JSON's types with one to three other values somewhere, or values changed for each other."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = where or places(content)
        place = rng.choice(found)
        new = json_value(rng)
        if rng.random() < 0.25:
            new = at(content, rng.choice(found))
        elif rng.random() < 0.2 and isinstance(at(content, place), float):
            new = at(content, place) * rng.choice((-1, 0, 2, 0.5, 1e30, 1 + 1e-9))
        elif rng.random() < 0.15:
            new = ...
        try:
            content = damaged(content, place, new)
        except (AttributeError, IndexError, KeyError, TypeError):
            continue
    return content


def at(content: Any, place: Sequence[Any]) -> Any:
    """What is at a place, or None."""
    for key in place:
        try:
            content = content[key]
        except (IndexError, KeyError, TypeError):
            return None
    return content


def json_text(rng: random.Random, content: Any) -> str:
    """JSON, some of it with a mistake that only text can have: a key twice, NaN, something after its end."""
    try:
        written = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    except (RecursionError, ValueError):
        written = "[" * 3000 + "]" * 3000
    kind = rng.random()
    if kind < 0.05:
        return written.replace("{", '{"version": 1, "version": true, ', 1)
    if kind < 0.1:
        return f"\ufeff{written}"
    if kind < 0.15:
        return written[: rng.randrange(len(written) + 1)]
    if kind < 0.16:
        return written.replace(":", f": {rng.choice('[{') * rng.choice((30, 3000, 10**5))}", 1)
    if kind < 0.2:
        return str(mutated_bytes(rng, written.encode(errors="surrogatepass")), errors="replace")
    return written


def mutated_bytes(rng: random.Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Bytes with something flipped, cut, doubled, put in, or taken from another example."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        i, j = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        j = min(j, i + rng.choice((1, 2, 8, 40, 10_000)))
        kind = rng.randrange(8)
        if kind == 0:
            content = content[:i] + bytes(rng.randrange(256) for _ in range(j - i)) + content[j:]
        elif kind == 1:
            content = content[:i] + content[j:]
        elif kind == 2:
            content = content[:j] + content[i:j] * rng.choice((1, 2, 30)) + content[j:]
        elif kind == 3:
            content = content[:i]
        elif kind == 4 and others:
            other = rng.choice(others)
            k = rng.randrange(len(other) + 1)
            content = content[:i] + other[k : k + rng.choice((5, 50, 500))] + content[j:]
        elif kind == 5:
            content = content.replace(*rng.choice(SWAPS))
        else:
            word = text(rng).encode(rng.choice(("utf-8", "utf-8", "utf-16", "cp1252")), errors="replace")
            content = content[:i] + word + content[j if rng.random() < 0.5 else i :]
    return content


def mutated_table(rng: random.Random, content: bytes) -> bytes:
    """A CSV file with other cells, rows or columns, that is still one."""
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode(errors="replace"), newline="")) if row]
    except csv.Error:
        return mutated_bytes(rng, content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not rows or not rows[0]:
            break
        i, j = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
        kind = rng.randrange(9)
        if kind < 4:
            rows[i][j % len(rows[i])] = rng.choice((text(rng), str(rng.choice(NUMBERS))))
        elif kind == 4:
            new = [text(rng) for _ in range(rng.choice((1, 1, 3)))]
            rows[1:] = [
                [rng.choice(new) if k == j else cell for k, cell in enumerate(row)] for row in rows[1:]
            ]
        elif kind == 5:
            rows = [row[:j] + row[j + 1 :] for row in rows]
        elif kind == 6:
            rows.append(rng.choice(rows[1:] or rows))
        elif kind == 7:
            rows = rows[: rng.randrange(len(rows)) + 1]
        else:
            other = rng.randrange(len(rows[0]))
            rows = [[*row[:j], row[other % len(row)], *row[j:]] for row in rows]
            rows[0][j] = text(rng)
    file = io.StringIO()
    csv.writer(file, lineterminator=rng.choice(("\n", "\r\n"))).writerows(rows)
    return file.getvalue().encode(errors="replace")


SWAPS = (
    *(
        (b"\n", b"\r\n"),
        (b"\n", b"\r"),
        (b",", b";"),
        (b",", b"\t"),
        (b'"', b""),
        (b"1", b"nan"),
        (b"0", b"-"),
    ),
    *(
        (b".", b","),
        (b"a", b"\x00"),
        (b"e", b"\xe9"),
        (b"\n", b"\n\n"),
        (b",", b",,"),
        (b"1", b"1e308"),
        (b":", b""),
    ),
)
"""Bytes that are changed for others everywhere."""
