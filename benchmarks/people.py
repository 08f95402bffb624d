"""Answers of real people: held-out accuracy of IdealPoint beside linear, Bradley-Terry and SingleStep.

    python -m benchmarks.people [--quick]

The data are in ../shared/data and not part of the project; see its README for sources and licences.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from coombs import IdealPoint, SingleStep

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def read(name: str) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(rows: list[dict[str, str]], columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The columns as numbers, and which rows have them all."""
    values = np.array([[float(r[c]) if r[c] not in ("", "NA") else np.nan for c in columns] for r in rows])
    return values, np.isfinite(values).all(axis=1)


def within(scores: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(winner, loser) rows of every pair within a group whose scores differ, and the group of each."""
    pairs, group_of = [], []
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        i, j = np.meshgrid(members, members, indexing="ij")
        better = scores[i] > scores[j]
        pairs.append(np.column_stack([i[better], j[better]]))
        group_of += [group] * int(better.sum())
    return np.concatenate(pairs), np.array(group_of)


def coffee() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """118 judges, four just-about-right scales; split by judge."""
    rows = read("black_coffee.csv")
    items, ok = numbers(rows, ["Temp", "Flavor.intensity", "Acidity", "Mouthfeel"])
    liking, ok2 = numbers(rows, ["Liking"])
    judges = np.array([r["Judge"] for r in rows])
    keep = ok & ok2
    pairs, group = within(liking[keep, 0], judges[keep])
    return items[keep], pairs, group


def gradcafe() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Applicants of 41 schools, accepted over wait-listed over rejected."""
    rows = read("gradcafe_statistics_phd.csv")
    rows = [row for row in rows if row["school"]]
    items, ok = numbers(rows, ["gpa", "gre_v", "gre_q", "gre_w"])
    tier, _ = numbers(rows, ["tier"])
    pairs, group = within(-tier[ok, 0], np.array([r["school"] for r in rows])[ok])
    return items[ok], pairs, group


def candy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """85 candies ranked by 269,000 match-ups."""
    rows = read("candy.csv")
    columns = [c for c in rows[0] if c not in ("competitorname", "winpercent")]
    items, _ = numbers(rows, columns)
    percent, _ = numbers(rows, ["winpercent"])
    pairs, group = within(percent[:, 0], np.zeros(len(rows)))
    return items, pairs, group


def berries() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1,301 tasting panels of 5-6 berries, six just-about-right scales."""
    rows = read("berries.csv")
    items, ok = numbers(rows, [c for c in rows[0] if c.startswith("jar_")])
    liking, ok2 = numbers(rows, ["liking"])
    keep = ok & ok2
    pairs, group = within(liking[keep, 0], np.array([r["panel"] for r in rows])[keep])
    return items[keep], pairs, group


def linear(items: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """scikit-learn's logistic regression on differences of standardised features."""
    spread = items.std(axis=0)
    x = (items[train[:, 0]] - items[train[:, 1]]) / np.where(spread > 0, spread, 1)
    flip = np.random.default_rng(0).random(len(x)) < 0.5
    model = LogisticRegression(fit_intercept=False).fit(np.where(flip[:, None], -x, x), ~flip)
    margin = ((items[test[:, 0]] - items[test[:, 1]]) / np.where(spread > 0, spread, 1)) @ model.coef_[0]
    return float(((np.sign(margin) + 1) / 2).mean())


def bradley_terry(items: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """One strength for each item, with a ridge."""
    from scipy.sparse import csr_array

    k = np.arange(len(train))
    flip = np.where(np.random.default_rng(0).random(len(train)) < 0.5, -1.0, 1.0)
    rows = csr_array(
        (np.concatenate([flip, -flip]), (np.tile(k, 2), train.T.ravel())), shape=(len(train), len(items))
    )
    model = LogisticRegression(fit_intercept=False, max_iter=1000).fit(rows, flip > 0)
    strength = model.coef_[0]
    return float(((np.sign(strength[test[:, 0]] - strength[test[:, 1]]) + 1) / 2).mean())


def single_step(items: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """The paper's, on at most 3,000 of the answers: it takes minutes beyond."""
    rng = np.random.default_rng(0)
    some = train if len(train) <= 3000 else train[rng.choice(len(train), 3000, replace=False)]
    return SingleStep(items, standardize=True, alpha=0.01).fit(some).score(test)


def folds(pairs: np.ndarray, group: np.ndarray, by: str, count: int) -> list[np.ndarray]:
    """Masks of the test pairs, split by group or by unordered pair."""
    rng = np.random.default_rng(0)
    key = group if by == "group" else np.array([f"{min(p)} {max(p)}" for p in pairs])
    names, place = np.unique(key, return_inverse=True)
    fold = rng.permutation(np.arange(len(names)) % count)[place]
    return [fold == k for k in range(count)]


SETS = {
    "coffee": (coffee, "group"),
    "gradcafe": (gradcafe, "pair"),
    "candy": (candy, "pair"),
    "berries": (berries, "pair"),
}


def main() -> None:
    """Print a table, a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one fold of five")
    parser.add_argument("--only", choices=SETS)
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"No data at {DATA}.")
    lines = [
        "Share of held-out answers predicted, mean of five folds, split by judge (coffee) or by pair.",
        "SingleStep learns from at most 3,000 answers.",
        "",
        "| data | answers | items | linear | Bradley-Terry | SingleStep | IdealPoint | kind | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (load, by) in SETS.items():
        if options.only in (None, name):
            lines.append(table_row(name, *load(), by, 1 if options.quick else 5))
            print(lines[-1], flush=True)
    items, pairs, _ = coffee()
    est = IdealPoint(items).fit(pairs)
    ideal = ", ".join(f"{x:.2f}" for x in est.ideal_point_)
    values = ", ".join(f"{x:.2f}" for x in np.linalg.eigvalsh(est.metric_))
    lines += [
        "",
        f"Coffee, all judges, `IdealPoint()`: ideal {ideal} (3 is just right); eigenvalues of M {values}.",
    ]
    print(lines[-1])
    if options.only is None and not options.quick:
        (Path(__file__).parent / "people.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_row(name: str, items: np.ndarray, pairs: np.ndarray, group: np.ndarray, by: str, count: int) -> str:
    """A line of the table."""
    rows, kinds = [], []
    for test in folds(pairs, group, by, 5)[:count]:
        begin = time.perf_counter()
        est = IdealPoint(items, metric="auto").fit(pairs[~test])
        took = time.perf_counter() - begin
        rest = [f(items, pairs[~test], pairs[test]) for f in (linear, bradley_terry, single_step)]
        rows.append([*rest, est.score(pairs[test]), took])
        kinds.append(est.kind_ + (" + effects" if est.item_effects_ is not None else ""))
    mean = np.mean(rows, axis=0)
    cells = " | ".join(f"{x:.4f}" for x in mean[:4])
    chosen = ", ".join(sorted(set(kinds)))
    return f"| {name} | {len(pairs)} | {len(items)} | {cells} | {chosen} | {mean[4]:.1f} |"


if __name__ == "__main__":
    main()
