"""What are declared wishes worth? `python -m benchmarks.wishes`. Writes wishes.md.

People whose taste really has two directions, of kinds that are not ours, are fitted without wishes and with
these two declared. Errors are shares of 1,000 new pairs in the wrong order of their true scores; means of log
losses on new answers; and, of somebody whose declared direction is wrong, what that costs.
"""

from __future__ import annotations

import numpy as np

from benchmarks.simulated import heading, options, run, write
from coombs import Comparisons, IdealPoint

SIZES = (10, 20, 40, 80)
N_ITEMS, D, NEW = 60, 4, 1000
WHO = ("linear", "saturating", "ideal beyond", "wrong")


def scores_of(who: str, items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """More is better: of the first feature it is, of the second less is; of the others there is an ideal."""
    weight, ideal = rng.uniform(0.5, 1.5, D), rng.normal(0, 0.7, D)
    rest = -(weight[2:] * (items[:, 2:] - ideal[2:]) ** 2).sum(axis=1) / 2
    up, down = items[:, 0], -items[:, 1]
    if who == "saturating":
        return rest + 2 * weight[0] * np.tanh(up) + 2 * weight[1] * np.tanh(down)
    if who == "ideal beyond":
        return rest - weight[0] * (up - 3) ** 2 / 4 - weight[1] * (down - 3) ** 2 / 4
    if who == "wrong":
        return rest - weight[0] * up + weight[1] * down
    return rest + weight[0] * up + weight[1] * down


def trial(job: tuple[str, int, int]) -> tuple[float, float, float, float]:
    """Errors without and with wishes, then log losses."""
    who, n, seed = job
    rng = np.random.default_rng([seed, n])
    items = rng.standard_normal((N_ITEMS, D))
    score = scores_of(who, items, rng)

    def asked(count: int) -> Comparisons:
        pairs = rng.integers(0, N_ITEMS, (count, 2))
        pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], (pairs[:, 1] + 1) % N_ITEMS, pairs[:, 1])
        p = 1 / (1 + np.exp(score[pairs[:, 1]] - score[pairs[:, 0]]))
        return Comparisons(items, pairs, y=np.where(rng.random(count) < p, 1, -1))

    data, new = asked(n), asked(NEW)
    better = score[new.pairs[:, 0]] > score[new.pairs[:, 1]]
    found = []
    for wishes in ((), ("0: more", "1: less")):
        p = IdealPoint(wishes=wishes).fit(data).predict_proba(new)[:, 1]
        loss = -np.log(np.where(new.y > 0, p, 1 - p)).mean()
        found.append((float(((p >= 0.5) != better).mean()), float(loss)))
    return found[0][0], found[1][0], found[0][1], found[1][1]


def main() -> None:
    given = options(__doc__, 40)
    title = (
        f"`python -m benchmarks.wishes --people {given.people}`: share of new pairs in the wrong order "
        "without and with two declared directions; in brackets the log loss on new answers."
    )
    lines = heading(title, ("who", *(f"{n} answers" for n in SIZES)))
    for who in WHO:
        cells = []
        for n in SIZES:
            found = np.array(run(trial, [(who, n, seed) for seed in range(given.people)], given.jobs))
            free, obeying, loss, obeying_loss = found.mean(axis=0)
            gain = found[:, 0] - found[:, 1]
            error = gain.std() / np.sqrt(len(gain))
            cells.append(f"{free:.3f} ({loss:.3f}) -> {obeying:.3f} ({obeying_loss:.3f}), +- {error:.3f}")
        lines.append(f"| {who} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    write("wishes.md", lines)


if __name__ == "__main__":
    main()
