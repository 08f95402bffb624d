"""How unlikely everybody's answers are in a population, beside those of people drawn from it.

Of a person, the log evidence of their answers (given the population, before anything is known of them) is
ranked among that of answers which people drawn from the population would give to the same questions. So few
answers cannot make somebody unlikely, and neither do questions that anybody answers either way. Whether they
toss a coin instead is told by a taste of their own, whatever people share, that must be likelier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from coombs.inference.people.own_tastes import read_as_own
from coombs.inference.people.population_fit import View, fit_population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.graph import Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock
    from coombs.inference.people.population_prior import PopulationPrior
    from coombs.inference.people.tastes import Tastes

DRAWS = 128
"""People drawn from the population, for each person."""
PASSES = 15
"""Passes over everybody else, at most, where one person is left out."""
AT_ONCE = 32
"""People of whom that is computed at once."""


class Unlikely(NamedTuple):
    """Of everybody, (n_people,) each.

    `share` is of how many drawn people the answers would be as unlikely, 1 without any answer; `own` how much
    likelier the answers are with a taste of one's own than by tossing a coin, in nats.
    """

    share: Vector
    own: Vector


def unlikely_people(part: Tastes, coordinates: Matrix, n_people: int) -> Unlikely:
    """Of everybody in a population of one kind of preference; `coordinates` are of all items."""
    prior, found = part.fit.prior, Unlikely(np.ones(n_people), np.zeros(n_people))
    view = View.of(prior, coordinates)
    for block in part.fit.blocks:
        evidence = read_as_own(block, part.kind_prior.own.prior, coordinates)[1]
        found.own[block.people] = evidence + block.totals * np.log(2)
        for begin in range(0, len(block.people), AT_ONCE):
            some = _in_order(block.only(np.arange(begin, min(begin + AT_ONCE, len(block.people)))))
            found.share[some.people] = _shares(some, prior, view)
    return found


def share_without(part: Tastes, coordinates: Matrix, person: int) -> float:
    """The share of drawn people whose answers are as unlikely, in a population learned without the person.

    Otherwise their own answers make such people likelier, the more of them there are.
    """
    (number,), (row,) = (one[[person]] for one in part.place)
    blocks = list(part.fit.blocks)
    own, others = blocks[number], np.flatnonzero(np.arange(len(blocks[number].people)) != row)
    rest = [*blocks[:number], own.only(others), *blocks[number + 1 :]]
    kept = tuple(block for block in rest if len(block.people))
    prior = fit_population(coordinates, kept, part.fit.prior, max_iter=PASSES).prior
    some = _in_order(own.only(np.array([row])))
    return float(_shares(some, prior, View.of(prior, coordinates))[0])


def _in_order(block: AnswerBlock) -> AnswerBlock:
    """Everybody's answers in an order of their own, so that none depends on that of the rows."""
    blank = block.weights <= 0
    order = np.lexsort((block.losers, block.winners, blank), axis=1)

    def sorted_by(part: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(part, order, axis=1)

    winners, losers = sorted_by(block.winners), sorted_by(block.losers)
    return replace(
        block,
        winners=winners,
        losers=losers,
        weights=sorted_by(block.weights),
        rows=sorted_by(block.rows),
    )


def _shares(block: AnswerBlock, prior: PopulationPrior, view: View) -> Vector:
    """Of people in one block."""
    counts = np.diff(np.round(np.cumsum(prior.components.shares) * DRAWS).astype(int), prepend=0)
    bases = np.stack([offset for _, offset in view.readings(block)], axis=1)
    own = _drawn(block, view.white, view.effect) * np.repeat(prior.components.scales, counts)[:, None]
    margins = np.repeat(bases, counts, axis=1) + own
    log_p, log_q, p = _log_probabilities(block, margins, prior.lapse)
    chosen = (np.random.default_rng(1).random(p.shape[1:]) < p).astype(float)
    # log of the mean over all draws but one's own, which would make its own answers likely: (K, S, S).
    logs = np.matmul(chosen, (log_p - log_q).transpose(0, 2, 1)) + log_q.sum(axis=2)[:, None, :]
    draws = np.arange(DRAWS)
    logs[:, draws, draws] = -np.inf
    drawn = _log_sum(logs) - np.log(DRAWS - 1)
    own = _log_sum(log_p.sum(axis=2)) - np.log(DRAWS)
    result: Vector = (1 + (drawn <= own[:, None] + 1e-9).sum(axis=1)) / (DRAWS + 1)
    return result


def _drawn(block: AnswerBlock, white: Matrix, effect: float) -> Matrix:
    """(K, S, A) what drawn people have of their own in everybody's margins."""
    design = block.design(white, effect)
    z = np.random.default_rng(0).standard_normal((DRAWS, design.shape[2]))
    result: Matrix = np.matmul(z, design.transpose(0, 2, 1))
    return result


def _log_probabilities(block: AnswerBlock, margins: Matrix, lapse: float) -> tuple[Matrix, Matrix, Matrix]:
    """(K, S, A) log of how likely answers are as they are, and the other way; and the first without log."""
    p = lapse / 2 + (1 - lapse) * expit(margins)
    weights = block.weights[:, None]
    return np.log(np.maximum(p, 1e-300)) * weights, np.log(np.maximum(1 - p, 1e-300)) * weights, p


def _log_sum(logs: Matrix) -> Matrix:
    """log of the sum of what these are logs of, along the last axis."""
    highest = logs.max(axis=-1)
    result: Matrix = highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1))
    return result
