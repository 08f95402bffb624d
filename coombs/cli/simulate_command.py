"""`coombs simulate`: files of a simulated person, and the truth about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import coombs
from coombs.cli import output
from coombs.cli.model_files import write_text
from coombs.cli.options import argument, command, positive, seed_option

if TYPE_CHECKING:
    from coombs.simulate import Preferences

ITEMS = "items.csv"
ANSWERS = "answers.csv"
TRUTH = "truth.json"
FILES = (ITEMS, ANSWERS, TRUTH)
NOISES = ("none", "logistic")
"""Names of noise; a number is a rate of flipped answers."""


def _noise(text: str) -> str | float | None:
    if text in NOISES:
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not none, logistic or a rate") from error


@command(
    "simulate",
    "make up a person, their answers and the truth",
    "coombs simulate shop --items 60 --features 3 --answers 100",
)
@argument("folder", "where the files go; made if it is not there")
@click.option("--items", metavar="N", type=positive, default=100, help="how many (default: 100)")
@click.option("--features", metavar="N", type=positive, default=5, help="how many (default: 5)")
@click.option("--answers", metavar="N", type=positive, default=200, help="how many (default: 200)")
@click.option(
    "--noise",
    metavar="none|logistic|RATE",
    type=_noise,
    default="logistic",
    help="of the answers: logistic (default), none, or the share that is flipped, as 0.1",
    shell_complete=lambda context, option, text: [one for one in NOISES if one.startswith(text)],
)
@seed_option
@click.option("--json", "as_json", is_flag=True, help="print the paths as JSON")
def simulate(
    folder: str,
    items: int,
    features: int,
    answers: int,
    noise: str | float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw a person by the paper's protocol and write items.csv, answers.csv and truth.json, which is a
    model: `coombs rank truth.json items.csv` is the true ranking.
    """
    from coombs.simulate import make_preferences
    from coombs.words import count

    into = Path(folder)
    _check(into)
    person = make_preferences(items, features, answers, noise=noise, random_state=seed)
    _write(person, into)
    if as_json:
        output.as_json({Path(name).stem: str(into / name) for name in FILES})
        return
    print(f"{into / ITEMS}: {count(items, 'item')} with {count(features, 'feature')}")
    print(f"{into / ANSWERS}: {count(answers, 'answer')}")
    print(f"{into / TRUTH}: the ideal point and the metric behind them")


def _check(folder: Path) -> None:
    """Refuse a folder where files would be lost."""
    for name in FILES:
        if (folder / name).exists():
            raise coombs.InputError(f"{folder / name} is there already; give another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise coombs.InputError(
            f"{folder} cannot be made ({error.strerror}); give another folder."
        ) from error


def _write(person: Preferences, folder: Path) -> None:
    from coombs.data.files import write_csv

    features = [f"feature {j}" for j in range(1, person.items.shape[1] + 1)]
    names = [f"item {i}" for i in range(1, len(person.items) + 1)]
    items = [[name, *row] for name, row in zip(names, person.items.tolist(), strict=True)]
    answers = [
        [names[i], names[j], names[i if y > 0 else j]]
        for (i, j), y in zip(person.pairs.tolist(), person.y.tolist(), strict=True)
    ]
    truth = coombs.Model(person.metric, person.ideal_point, tuple(features), person.items.std(axis=0))
    write_csv(folder / ITEMS, ["item", *features], items)
    write_csv(folder / ANSWERS, ["left", "right", "winner"], answers)
    write_text(folder / TRUTH, truth.to_json())
