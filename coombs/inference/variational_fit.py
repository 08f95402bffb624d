"""The best sites of answers, for several covariances of the scores at once.

A pass over the sites of a few dozen answers is so short that calling numpy would be most of it. So arrays
have an axis for the designs, the first one, and all designs that have not converged yet share a pass
(design_stacks.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coombs.inference.design_stacks import BLOCK, DesignStack, repeated, stack_of
from coombs.inference.variational import Design, GaussianSites, VariationalFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Vector

TOLERANCE = 1e-4
"""Nats by which the last pass changes the bound, at most."""
MOST_PASSES = 60
"""Passes over the sites, at most."""
SHORTEST = 0.1
"""Part of the way to the best sites that a pass goes, at least."""
LONGER = 1.4
"""How many times as far the next pass goes after one that helped; never farther than the whole way."""


def variational_fit(
    design: Design, lapse: float, start: GaussianSites | None = None, tolerance: float | None = None
) -> VariationalFit:
    """The best sites, from some that are near or from none."""
    return variational_fits([design], [lapse], start, tolerance)[0]


def variational_fits(
    designs: list[Design],
    lapses: list[float],
    start: GaussianSites | None = None,
    tolerance: float | None = None,
) -> list[VariationalFit]:
    """The best sites of each of several designs of the same answers, all from the same start."""
    n, m = designs[0].root.shape
    size = max(1, BLOCK // (n * n + n * m + len(designs[0].answers.winners) * m + 1))
    result: list[VariationalFit] = []
    for begin in range(0, len(designs), size):
        some = slice(begin, begin + size)
        stack = stack_of(designs[some], lapses[some])
        tolerances = TOLERANCE if tolerance is None else tolerance
        for one, design in zip(_fits(stack, start, tolerances), designs[some], strict=True):
            result.append(one._replace(design=design.linearised(one.mean)))
    return result


def _fits(stack: DesignStack, start: GaussianSites | None, tolerance: float) -> list[VariationalFit]:
    """Each site takes on the mean slope and curvature of its answer's log probability, pass by pass.

    This is a natural gradient step. One that does not help is taken back, and half of it tried. Of many
    unknowns, slope and curvature are those at the mean, which is Laplace's way. Scores that are not linear in
    the unknowns are taken as they are near the mean, anew after each step.
    """
    count = len(stack.roots)
    sites = stack.first_sites() if start is None else repeated(start, count)
    if start is not None and start.near is not None:
        stack = stack.linearised(np.tile(start.near, (count, 1)))
    lengths, highest, place = np.ones(count), np.full(count, -np.inf), np.arange(count)
    here, best, found = sites, sites, dict[int, VariationalFit]()
    for _ in range(MOST_PASSES):
        at = stack.posterior(sites)
        nearer = stack.linearised(at.mean)
        there = nearer.expect(at)
        known = at.known - np.einsum("em,em->e", at.mean, at.mean)
        bounds = there.value + known / 2 - np.log(np.einsum("emm->em", at.lower)).sum(axis=1)
        helped, done = bounds > highest, np.abs(bounds - highest) < tolerance
        # What is returned belongs to these sites.
        for e in np.flatnonzero(helped).tolist():
            found[int(place[e])] = stack.fit_of(e, float(bounds[e]), at, sites, there)
        stack = stack.where(helped, nearer)
        here, best = _where(helped, sites, here), _where(helped, there.sites, best)
        highest = np.where(helped, bounds, highest)
        lengths = np.where(helped, np.minimum(LONGER * lengths, 1.0), lengths / 2)
        done |= lengths < SHORTEST
        if done.all():
            break
        if done.any():
            stack, here, best = stack.only(~done), here.only(~done), best.only(~done)
            lengths, highest, place = lengths[~done], highest[~done], place[~done]
        sites = _towards(here, best, lengths)
    return [found[e] for e in range(count)]


def _where(chosen: NDArray[np.bool_], one: GaussianSites, other: GaussianSites) -> GaussianSites:
    """Of each design, these sites if it is chosen, the others if not."""
    if chosen.all():
        return one
    own = chosen[:, None]
    blocks = (
        np.where(own[:, :, None, None], first, second)
        for first, second in zip(one.blocks, other.blocks, strict=True)
    )
    precision = np.where(own, one.precision, other.precision)
    return GaussianSites(precision, np.where(own, one.shift, other.shift), tuple(blocks))


def _towards(here: GaussianSites, there: GaussianSites, lengths: Vector) -> GaussianSites:
    """Part of the way to other sites, for each design its own."""
    part = lengths[:, None]
    blocks = (
        old + part[:, :, None, None] * (new - old) for old, new in zip(here.blocks, there.blocks, strict=True)
    )
    precision = here.precision + part * (there.precision - here.precision)
    return GaussianSites(precision, here.shift + part * (there.shift - here.shift), tuple(blocks))
