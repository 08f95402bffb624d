"""Who is flagged: honest people by mistake, and those who do not look. `python -m benchmarks.flags`.

Simulated people answer a `Study` about 20 items with 3 features: 30 questions chosen by information, among
them two attention checks and three repeats. Honest people choose by utilities, with a slip in 2 of 100
answers, and take 2 to 8 seconds; the others always choose left, choose left and right in turn, toss a coin,
or choose honestly in a third of a second. Writes flags.md beside this file; `--quick` asks few people.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import cast

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from coombs import create_study
from coombs.storage.records import AnswerRecord, Choice, QuestionRecord
from coombs.study.history import History
from coombs.study.quality_flags import FLAGS, QualityFlags

N_ITEMS, N_FEATURES, N_QUESTIONS = 20, 3, 30
REPEATS = (12, 20, 27)
"""After how many answers an earlier question comes again."""
SLIPS = 0.02
"""Share of honest answers that are the other way around, also in attention checks."""
KINDS = ("honest", "noisy", "always left", "in turn", "coin", "hasty")
SPREADS = {"noisy": 1.0}
"""Standard deviation of the utilities of a kind; of others it is 2, so that a random pair is 85 % sure."""


def person(kind: str, seed: int) -> QualityFlags:
    """The flags of somebody new."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    items = rng.normal(size=(N_ITEMS, N_FEATURES))
    raw = items @ rng.normal(size=N_FEATURES)
    worth = SPREADS.get(kind, 2.0) * (raw - raw.mean()) / raw.std()
    order = np.argsort(worth)
    # The right answer of a check is one that nobody who looks would miss.
    checks = ((8, str(order[-1]), str(order[0])), (24, str(order[-2]), str(order[1])))
    study = create_study(items, storage="memory:", seed=seed, repeats=REPEATS, attention=checks)
    asked, told = list[QuestionRecord](), list[AnswerRecord]()
    for k in range(N_QUESTIONS):
        question = study.ask()
        assert question is not None
        left, right = worth[list(question.positions)]
        choice = _choice(kind, k, left - right, question.purpose, rng)
        study.tell(question, choice)
    history = History.of(study.storage, study.respondent().record.id)
    timed = History(is_whole=True)
    at = next(iter(history.questions.values())).asked
    for one in history.questions.values():
        if one.id not in history._answer_of:
            continue
        answer = history.answers[history._answer_of[one.id]]
        assert isinstance(one, QuestionRecord) and isinstance(answer, AnswerRecord)
        seconds = rng.uniform(0.2, 0.5) if kind == "hasty" else rng.uniform(2, 8)
        asked.append(QuestionRecord(**{**vars(one), "asked": at}))
        at += timedelta(seconds=float(seconds))
        told.append(AnswerRecord(**{**vars(answer), "told": at}))
    timed.add(asked, told)
    return QualityFlags.of(timed)


def _choice(kind: str, k: int, better: float, purpose: str, rng: np.random.Generator) -> Choice:
    """What somebody of a kind says; `better` is how much better the left item is."""
    if kind == "always left":
        return "left"
    if kind == "in turn":
        return "left" if k % 2 else "right"
    if kind == "coin":
        return "left" if rng.random() < 0.5 else "right"
    is_left = better > 0 if purpose == "attention" else rng.random() < 1 / (1 + np.exp(-better))
    if rng.random() < SLIPS:
        is_left = not is_left
    return cast("Choice", "left" if is_left else "right")


def table(found: dict[str, list[QualityFlags]], command: str) -> str:
    """The shares of people with each flag in Markdown."""
    lines = [WORDS.format(command=command), "", f"| people | n | any | {' | '.join(FLAGS)} |"]
    lines.append("|---" * (len(FLAGS) + 3) + "|")
    for kind, all_flags in found.items():
        n, often = len(all_flags), Counter(name for one in all_flags for name in one.names)
        shares = [f"{100 * often[name] / n:.1f} %" for name in FLAGS]
        anything = 100 * sum(bool(one.names) for one in all_flags) / n
        lines.append(f"| {kind} | {n} | {anything:.1f} % | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


WORDS = """# Who is flagged

`{command}`: share of simulated people with each flag after 30 questions, two of them attention checks and
three repeats. Honest people slip in 2 of 100 answers, also in attention checks; "noisy" ones have utilities
half as large. That a check was failed is a fact, and is flagged whenever it happened."""


def main() -> None:
    """Ask, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200, help="honest ones; of the others a quarter")
    parser.add_argument("--quick", action="store_true", help="four people of each kind, nothing written")
    options = parser.parse_args()
    people = 4 if options.quick else options.people
    counts = {kind: people if kind == "honest" or options.quick else people // 4 for kind in KINDS}
    found = {kind: [person(kind, seed) for seed in range(n)] for kind, n in counts.items()}
    text = table(found, f"python -m benchmarks.flags --people {people}")
    print(text)
    if not options.quick:
        Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
