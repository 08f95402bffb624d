"""`coombs simulate`: files of a person made up, and the truth about them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from coombs.cli import saved, show
from coombs.cli.parser import Commands, add_command, add_json, positive, whole

if TYPE_CHECKING:
    from coombs.simulate import Preferences

FILES = ("items.csv", "answers.csv", "truth.json")


def add(commands: Commands) -> None:
    """The command and its options."""
    simulate = add_command(
        commands,
        "simulate",
        run,
        "coombs simulate shop --items 60 --features 3 --answers 100",
        help="make up a person, their answers and the truth",
        description="Draw a person by the paper's protocol and write items.csv, answers.csv and truth.json, "
        "which is a model: `coombs rank truth.json items.csv` is the true ranking.",
    )
    simulate.add_argument("folder", help="where the files go; made if it is not there")
    for name, default in (("items", 100), ("features", 5), ("answers", 200)):
        simulate.add_argument(
            f"--{name}", metavar="N", type=positive, default=default, help=f"how many (default: {default})"
        )
    simulate.add_argument(
        "--noise",
        metavar="none|logistic|RATE",
        type=_noise,
        default="logistic",
        help="of the answers: logistic (default), none, or the share that is flipped, as 0.1",
    )
    simulate.add_argument("--seed", metavar="N", type=whole, default=0, help="of all chance (default: 0)")
    add_json(simulate, "print the paths as JSON")


def _noise(text: str) -> str | float | None:
    if text in ("none", "logistic"):
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not none, logistic or a rate") from error


def run(options: argparse.Namespace) -> None:
    """Draw and write."""
    from coombs.simulate import make_preferences
    from coombs.words import count

    folder = Path(options.folder)
    _check(folder)
    sizes = (options.items, options.features, options.answers)
    person = make_preferences(*sizes, noise=options.noise, random_state=options.seed)
    _write(person, folder)
    if options.json:
        show.as_json({Path(name).stem: str(folder / name) for name in FILES})
        return
    print(f"{folder / FILES[0]}: {count(options.items, 'item')} with {count(options.features, 'feature')}")
    print(f"{folder / FILES[1]}: {count(options.answers, 'answer')}")
    print(f"{folder / FILES[2]}: the ideal point and the metric behind them")


def _check(folder: Path) -> None:
    """Refuse a folder where files would be lost."""
    from coombs.data.tables import InputError

    for name in FILES:
        if (folder / name).exists():
            raise InputError(f"{folder / name} is there already; give another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}); give another folder.") from error


def _write(person: Preferences, folder: Path) -> None:
    from coombs.model import Model

    features = [f"feature {j}" for j in range(1, person.items.shape[1] + 1)]
    names = [f"item {i}" for i in range(1, len(person.items) + 1)]
    items = [[name, *row] for name, row in zip(names, person.items.tolist(), strict=True)]
    answers = [
        [names[i], names[j], names[i if y > 0 else j]]
        for (i, j), y in zip(person.pairs.tolist(), person.y.tolist(), strict=True)
    ]
    truth = Model(person.metric, person.ideal_point, tuple(features), person.items.std(axis=0))
    saved.write_table(folder / FILES[0], ["item", *features], items)
    saved.write_table(folder / FILES[1], ["left", "right", "winner"], answers)
    saved.write_text(folder / FILES[2], truth.to_json())
