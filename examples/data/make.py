"""Make the example data of this folder: invented items, and answers of invented people with a clear taste.

python examples/data/make.py          # writes the files here
python examples/data/make.py FOLDER   # or there

The files are always the same. `README.markdown` says what each is an example of.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

Score = Callable[[str], float]

FLATS = """\
flat,rent,size,district,balcony,walk,free from,note
Mill Road 3,650 €,48 m²,old town,no,12 min,2026-02-01,Quiet court
Bell Street 7,720 €,55 m²,old town,yes,9 min,2026-03-01,Above a bakery
Park Lane 1,930 €,71 m²,by the park,yes,20 min,2026-02-15,Third floor
Oak Avenue 22,830 €,61 m²,by the park,yes,25 min,2026-04-01,New kitchen
Quay 4,"1,100 €",80 m²,harbour,no,0.5 h,2026-03-15,View of the ships
Rope Walk 9,780 €,n/a,harbour,yes,28 min,2026-02-01,Size to be measured
Church Hill 2,590 €,39 m²,old town,no,7 min,2026-05-01,Sloping ceiling
Garden Row 16,860 €,66 m²,by the park,no,22 min,2026-03-01,Shared garden
Dock Street 11,690 €,52 m²,harbour,no,35 min,2026-04-15,Ground floor
Castle Gate 5,980 €,75 m²,old town,yes,10 min,2026-02-01,Listed house
Elm Close 8,740 €,58 m²,by the park,no,18 min,2026-05-15,Needs paint
Pier Court 30,890 €,69 m²,harbour,yes,0.6 h,2026-03-01,Lift
"""
IDEAS = """\
bike lanes
more trees
night buses
a weekly market
benches by the river
a skate park
longer library hours
free Wi-Fi
a public kitchen
drinking fountains
"""
IDEAS_WORTH = dict(
    zip(IDEAS.splitlines(), (2.4, 2.9, 1.5, 0.9, 0.4, -1.2, 0.6, -1.8, -0.6, 0.0), strict=True)
)
COFFEES = (
    ("Aricha", 14.5, "light", 8.5, True),
    ("Bella Vista", 9.9, "dark", 3.0, False),
    ("Cerrado", 10.5, "medium", 4.5, False),
    ("Dota", 13.0, "light", 7.0, False),
    ("El Jaguar", 11.8, "medium", 5.5, True),
    ("Fazenda Sul", 8.9, "dark", 2.5, False),
    ("Gayo", 12.4, "dark", 3.5, True),
    ("Huila", 12.9, "medium", 6.0, True),
    ("Idido", 15.2, "light", 9.0, True),
    ("Java Estate", 10.9, "medium", 4.0, False),
    ("Kirinyaga", 16.0, "light", None, False),
    ("Lintong", 11.2, "dark", 3.0, True),
)
"""Name, price of 250 g, roast, acidity from 1 to 10, whether organic."""
LAPTOPS = (
    ("Alder 13", 999, "8 GB", "256 GB", 1.3),
    ("Birch 14", 1299, "16 GB", "512 GB", 1.4),
    ("Cedar 15", 1499, "16 GB", "1 TB", 1.8),
    ("Elder 13", 1399, "16 GB", "512 GB", 1.1),
    ("Fir 16", 1899, "32 GB", "1 TB", 2.1),
    ("Hazel 14", 899, "8 GB", "512 GB", 1.6),
    ("Larch 17", 2199, "64 GB", "2 TB", 2.8),
    ("Maple 13", 1199, "8 GB", "512 GB", 1.2),
    ("Poplar 15", 1099, "16 GB", "256 GB", 1.9),
    ("Willow 14", 1699, "32 GB", "1 TB", 1.3),
)
"""Name, price, memory, disk, weight in kg."""
PEOPLE = ("ann", "bob", "cleo")
NOISE = 0.4
"""How much of a score is the moment's: little, so that few answers show a taste."""


def main(folder: Path) -> None:
    """Write every file."""
    random = Random(20260117)
    (folder / "flats.csv").write_text(FLATS, encoding="utf-8")
    (folder / "ideas.txt").write_text(IDEAS, encoding="utf-8")
    keys = "coffee", "price", "roast", "acidity", "organic"
    lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in COFFEES]
    (folder / "coffees.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_workbook(folder / "laptops.xlsx")
    about_flats(folder, random)
    about_coffees(folder, random)
    about_laptops_and_ideas(folder, random)
    about_commutes(folder, random)
    dated_answers(folder, random)


def write_workbook(path: Path) -> None:
    """The laptops, as Excel keeps them; left out where openpyxl is not installed."""
    try:
        from openpyxl import Workbook
    except ImportError:
        print(f"{path.name} needs openpyxl (pip install openpyxl), and was left out.")
        return
    book = Workbook()
    for row in (("laptop", "price", "memory", "disk", "weight (kg)"), *LAPTOPS):
        book.active.append(row)
    book.save(path)


# What people want


def flat_score(name: str) -> float:
    """Large and by the park, with a balcony, and not dear."""
    rows = {row["flat"]: row for row in csv.DictReader(FLATS.splitlines())}
    flat = rows[name]
    rent = float(flat["rent"].strip("€ ").replace(",", ""))
    size = 57.0 if flat["size"] == "n/a" else float(flat["size"].split()[0])
    place = {"by the park": 1.2, "old town": 0.4, "harbour": -1.2}[flat["district"]]
    return size / 8 - rent / 110 + place + 1.5 * (flat["balcony"] == "yes")


def coffee_score(name: str) -> float:
    """Organic, not dear, rather sour than flat, and not dark."""
    _, price, roast, acidity, is_organic = next(row for row in COFFEES if row[0] == name)
    sour = 7.5 if acidity is None else acidity
    return 0.3 * sour - price / 4 + 1.5 * is_organic + {"light": 0.0, "medium": 0.5, "dark": -1.2}[roast]


def laptop_score(name: str) -> float:
    """Light, with memory, and not dear."""
    _, price, memory, _, weight = next(row for row in LAPTOPS if row[0] == name)
    return math.log2(float(memory.split()[0])) - price / 500 - 3 * weight


def seen(score: float, random: Random) -> float:
    """A score as somebody sees it at one moment, by Luce's rule."""
    return score - NOISE * math.log(-math.log(random.random()))


def ordered(names: Iterable[str], score: Score, random: Random) -> list[str]:
    """Things as somebody puts them in order, the best first."""
    values = {name: seen(score(name), random) for name in names}
    return sorted(values, key=lambda name: -values[name])


# Answers, a shape a file


def about_flats(folder: Path, random: Random) -> None:
    """Answers about two flats: which is better, or how likely."""
    names = [row["flat"] for row in csv.DictReader(FLATS.splitlines())]
    rows: list[Sequence[Any]] = []
    for k in range(40):
        pair = random.sample(names, 2)
        gap = seen(flat_score(pair[0]), random) - seen(flat_score(pair[1]), random)
        winner = pair[0] if gap > 0 else pair[1]
        rows.append((PEOPLE[k % 2], *pair, "skip" if k == 17 else "tie" if abs(gap) < 0.3 else winner))
    write(folder / "flats_pairs.csv", "user,left,right,winner", rows)
    won = [ordered(random.sample(names, 2), flat_score, random) for _ in range(30)]
    write(
        folder / "flats_winners.csv",
        "winner,loser,weight",
        [(*pair, random.choice((1, 1, 2))) for pair in won],
    )
    won = [ordered(random.sample(names, 2), flat_score, random) for _ in range(30)]
    write(folder / "flats_chosen.csv", "chosen,rejected", won)
    rows = []
    for _ in range(36):
        pair = random.sample(names, 2)
        p = 1 / (1 + math.exp((flat_score(pair[1]) - flat_score(pair[0])) / NOISE))
        rows.append((*pair, round(min(max(p + random.uniform(-0.1, 0.1), 0), 1), 2)))
    write(folder / "flats_probabilities.csv", "left,right,p", rows)


def about_coffees(folder: Path, random: Random) -> None:
    """Choices among several, best and worst, places in rankings, and ratings."""
    names = [row[0] for row in COFFEES]
    options = "option1,option2,option3,option4"
    rows: list[Sequence[Any]] = []
    for k in range(24):
        shown = random.sample(names, 4)
        best = ordered(shown, coffee_score, random)[0]
        rows.append((PEOPLE[k % 3], *shown, "none" if k == 9 else best))
    write(folder / "coffees_choices.csv", f"user,{options},chosen", rows)
    rows = []
    for _ in range(16):
        order = ordered(shown := random.sample(names, 4), coffee_score, random)
        rows.append((*shown, order[0], order[-1]))
    write(folder / "coffees_best_worst.csv", f"{options},best,worst", rows)
    rows = []
    for person in PEOPLE:
        order = ordered(random.sample(names, 8), coffee_score, random)
        rows += [(person, name, place) for place, name in enumerate(order, 1)]
    write(folder / "coffees_places.csv", "user,item,rank", rows)
    rows = []
    for person, mildness in zip(PEOPLE, (0.0, 1.2, -1.0), strict=True):
        for name in sorted(random.sample(names, 10)):
            value = seen(coffee_score(name), random) + mildness
            rows.append((person, name, min(max(round(4 + value), 1), 5)))
    write(folder / "coffees_ratings.csv", "user,item,rating", rows)


def about_laptops_and_ideas(folder: Path, random: Random) -> None:
    """Rankings in columns, choices out of lists, and rankings as text with ties."""
    names = [row[0] for row in LAPTOPS]
    rows: list[Sequence[Any]] = [
        (PEOPLE[k % 3], *ordered(random.sample(names, 5), laptop_score, random)) for k in range(9)
    ]
    write(folder / "laptops_rankings.csv", "user,rank1,rank2,rank3,rank4,rank5", rows)
    rows = []
    for _ in range(20):
        order = ordered(shown := random.sample(names, random.choice((3, 4, 5))), laptop_score, random)
        rows.append((" | ".join(shown), order[0]))
    write(folder / "laptops_choices.csv", "shown,chosen", rows)
    rows = []
    for k in range(12):
        order = ordered(random.sample(list(IDEAS_WORTH), 5), IDEAS_WORTH.__getitem__, random)
        signs = (" > ", " > " if k % 3 else " = ", " > ", " > ")
        text = order[0] + "".join(sign + name for sign, name in zip(signs, order[1:], strict=True))
        rows.append((f"voter {k + 1}", text))
    write(folder / "ideas_rankings.csv", "user,ranking", rows)


def about_commutes(folder: Path, random: Random) -> None:
    """Questions that describe what they are about: ways to work that no list has."""
    wide: list[Sequence[Any]] = []
    long: list[Sequence[Any]] = []
    for k in range(30):
        ways = [
            (
                random.randrange(10, 61, 5),
                random.randrange(0, 7),
                random.choice(("bus", "bike", "car", "tram")),
            )
            for _ in range(2)
        ]
        worth = [
            -minutes / 8 - cost / 1.5 + {"bike": 1.2, "tram": 0.6, "bus": 0.0, "car": -0.6}[by]
            for minutes, cost, by in ways
        ]
        first = seen(worth[0], random) > seen(worth[1], random)
        wide.append(
            (*(cell for two in zip(*ways, strict=True) for cell in two), "left" if first else "right")
        )
        who, task = PEOPLE[k % 3], k // 3 + 1
        long += [(who, task, *way, int(first == (place == 0))) for place, way in enumerate(ways)]
    header = "minutes_left,minutes_right,cost_left,cost_right,by_left,by_right,winner"
    write(folder / "commutes_wide.csv", header, wide)
    write(folder / "commutes_long.csv", "user,task,minutes,cost,by,chosen", long)


def dated_answers(folder: Path, random: Random) -> None:
    """Which of two flats is better, and when that was said: of old answers, half at random."""
    names = [row["flat"] for row in csv.DictReader(FLATS.splitlines())]
    rows: list[Sequence[Any]] = []
    for k in range(36):
        pair = random.sample(names, 2)
        best = ordered(pair, flat_score, random)[0]
        if k < 12 and random.random() < 0.5:
            best = random.choice(pair)
        rows.append((*pair, best, f"2026-{1 + k // 6:02d}-{1 + 4 * (k % 6):02d}T09:30:00"))
    write(folder / "flats_dated.csv", "left,right,winner,timestamp", rows)


def write(path: Path, header: str, rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
