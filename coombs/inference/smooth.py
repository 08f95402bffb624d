"""A smooth taste: scores that are a Gaussian process over the features, with an effect of each item.

s(x) = w'x + g(x) + t_item, less being better: w and t normal, g a Gaussian process whose kernel has a part
for all features together and one for each alone (kernel.py). Its sizes and relevances are learned in
process.py, the posterior given them in variational.py; here are the draws, and what to do with many items.
Nothing depends on a seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from coombs.blas import serial
from coombs.inference.kernel import Bumps, Kernel, features_of
from coombs.inference.left_out import LeftOut, smoothed
from coombs.inference.obeying import obeying
from coombs.inference.process import ALONE, EFFECT, LAPSE, LINEAR, TOGETHER, Process, head_start_at, root_of
from coombs.inference.questions_left_out import left_out
from coombs.inference.set_design import SetDesign, design_of, with_anchors
from coombs.inference.variational import Design, GaussianSites, VariationalFit, squared_lengths
from coombs.inference.variational_fit import variational_fit
from coombs.programs.program import Status

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.directions import Directions
    from coombs.data.graph import Index, Matrix, Vector


MOST_LEARNED = 300
"""Compared items from which sizes and relevances are learned."""
MOST_ANSWERS = 1_000
"""Answers among them, at most."""
MOST_ITEMS = 600
"""Compared items for which the posterior is exact; beyond, support points stand for them, without effects."""
SUPPORT = 300
"""Support points, at most."""
MOST_SUPPORTED = 20_000
"""Answers that are learned from where there are support points."""
DRAWS = 4_096
"""Draws of the posterior."""
OBEYING_DRAWS = 2_048
"""The same where directions were declared, which takes longer."""
PRIOR_DRAWS = 1_024
"""Draws of the prior that tell which share of it obeys."""
BLOCK = 20_000
"""Items or answers that are predicted at once."""
NEVER = -1e9
"""Log evidence of what is not averaged with anything else."""
LEAST = 1e-7
"""Directions with less than this share of the kernel's largest eigenvalue are left out."""


class Draws(NamedTuple):
    """Of a smooth taste: v of the linear part -2 v'x, weights of the basis, effects of the compared items."""

    linear: Matrix
    coefficients: Matrix
    effects: Matrix
    lapse: Vector


@dataclass(frozen=True, eq=False)
class GaussianScores:
    """The Gaussian of the whitened unknowns, by its mean and the lower root of its precision.

    The items' scores are root times those unknowns, `features` times standard normal weights plus effects;
    without a root, the unknowns are those weights. The first d features are linear.
    """

    mean: Vector
    lower: Matrix
    features: Matrix
    root: Matrix | None
    d: int
    linear_size: float
    effect_size: float
    lapse: float

    def draws(self, count: int = DRAWS) -> Draws:
        """Always the same, each with its mirror image."""
        return self._meaning(np.hstack(self._draw(np.random.default_rng(0), count)))

    def _meaning(self, rows: Matrix) -> Draws:
        n = self.features.shape[1]
        linear, lapses = -self.linear_size * rows[:, : self.d] / 2, np.full(len(rows), self.lapse)
        return Draws(linear, rows[:, self.d : n], rows[:, n:], lapses)

    def obeying(self, directions: Directions, basis: Bumps, count: int) -> tuple[Draws, float]:
        """Draws that obey declared directions, and how much likelier that is than before any answer (log)."""
        better, worse = directions.lines()
        away = np.hstack([self.linear_size * (worse - better), basis(worse) - basis(better)])
        n = away.shape[1]

        def prior(rng: np.random.Generator, count: int) -> Matrix:
            half = rng.standard_normal((count // 2, n))
            return np.concatenate([half, -half])

        def gains(rows: Matrix) -> Matrix:
            result: Matrix = rows[:, :n] @ away.T
            return result

        _, before = obeying(prior, gains, directions, PRIOR_DRAWS)
        rows, log_mass = obeying(
            lambda rng, count: np.hstack(self._draw(rng, count)), gains, directions, count
        )
        return self._meaning(rows), log_mass - max(before, NEVER)

    def _draw(self, rng: np.random.Generator, count: int) -> tuple[Matrix, Matrix]:
        """The features' weights and the items' effects.

        Given scores of the items, weights and effects are drawn by Matheron's rule: from the prior, moved by
        what the scores say more.
        """
        half = rng.standard_normal((count // 2, len(self.mean)))
        moves = solve_triangular(self.lower, half.T, lower=True, trans=1, check_finite=False).T
        # Unknowns of anchors, which come last, are not of the items.
        n_own = self.features.shape[1] if self.root is None else len(self.root)
        moves, own = moves[:, :n_own], self.mean[:n_own]
        if self.root is None:
            return _mirrored(own, moves), np.zeros((count, 0))
        scores, mean = moves @ self.root.T, self.root @ own
        prior = rng.standard_normal((len(half), self.features.shape[1]))
        noise = self.effect_size * rng.standard_normal(scores.shape)
        weights = prior + self._weights(scores - prior @ self.features.T - noise)
        mean_weights = self._weights(mean[None])[0]
        effects = _mirrored(mean - self.features @ mean_weights, scores - weights @ self.features.T)
        return _mirrored(mean_weights, weights), effects

    def _weights(self, scores: Matrix) -> Matrix:
        """The mean weights of the features, given scores."""
        inner = solve_triangular(self.root, scores.T, lower=True, check_finite=False)
        across = solve_triangular(self.root, inner, lower=True, trans=1, check_finite=False)
        result: Matrix = across.T @ self.features
        return result


@dataclass(frozen=True, eq=False)
class Smooth:
    """The posterior of a smooth taste, for standardised features.

    Its scores are s(x) = -2 v'x + basis(x) c + effect, with draws of v, c and the effects. `bound` is that on
    the evidence, `log_evidence` is over all sizes and relevances as well.
    """

    answers: Answers
    basis: Bumps
    posterior: GaussianScores
    has_effects: bool
    left: Vector
    log_evidence: float
    bound: float
    status: Status
    n_iter: int

    name = "smooth"
    sampled = True
    rhat = 1.0

    @cached_property
    def draws(self) -> Draws:
        """Of the posterior."""
        return self._draws_and_gain[0]

    @property
    def _draws_and_gain(self) -> tuple[Draws, float]:
        """The draws, and how much likelier declared directions are than before any answer (log)."""
        if self.answers.directions is None:
            return self.posterior.draws(), 0.0
        return self.posterior.obeying(self.answers.directions, self.basis, OBEYING_DRAWS)

    def among_obeying(self) -> Smooth:
        """The same with its evidence among tastes that obey the declared directions, as the draws do."""
        if self.answers.directions is None:
            return self
        draws, gain = self._draws_and_gain
        if self.answers.sets is None and np.isfinite(gain):
            result = replace(self, log_evidence=self.log_evidence + gain, left=self._left_out(draws))
        else:
            # What it predicts of answers left out is not known: it is not averaged with others.
            result = replace(self, log_evidence=NEVER, left=self.answers.held_out.chance)
        # A cached property of a frozen record.
        vars(result)["draws"] = draws
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Without the draws, which can be made again."""
        return {name: value for name, value in vars(self).items() if name != "draws"}

    @property
    def objective(self) -> float:
        """What was minimised."""
        return -self.bound

    def leave_out(self) -> LeftOut:
        """Every answer predicted from those about other pairs."""
        return LeftOut(np.clip(self.left, 1e-9, 1 - 1e-9), self.answers.held_out)

    def _left_out(self, draws: Draws) -> Vector:
        """The probability of each answer, as predicted from others by draws that obey declared directions."""
        answers = self.answers
        scores: Matrix = (
            -2 * (answers.items @ draws.linear.T) + self.basis(answers.items) @ draws.coefficients.T
        )
        scores += draws.effects.T if draws.effects.shape[1] else 0.0
        p = expit(scores[answers.losers] - scores[answers.winners])
        logs = np.log(draws.lapse / 2 + (1 - draws.lapse) * p)
        pairs = answers.questions
        ratios = np.zeros((int(pairs.max()) + 1, logs.shape[1]))
        np.add.at(ratios, pairs, -answers.weights[:, None] * logs)
        counts = smoothed(ratios)[0]
        result: Vector = (counts[pairs] * np.exp(logs)).sum(axis=1)
        return result

    def of_items(self, items: Matrix) -> Matrix:
        """(N, S) scores of items, without their effects."""
        result: Matrix = -2 * (items @ self.draws.linear.T)
        result += self.basis(items) @ self.draws.coefficients.T
        return result

    def of_compared(self) -> Matrix:
        """(n, S) scores of the compared items, their effects included; of some where they are many."""
        items = self.answers.items
        if self.draws.effects.shape[1]:
            return self.of_items(items) + self.draws.effects.T
        return self.of_items(items[np.linspace(0, len(items) - 1, min(SUPPORT, len(items))).astype(int)])

    def strangeness(self, items: Matrix) -> Vector:
        """How far the scores of items that were never compared may be off, beyond what the draws say."""
        known = np.empty(len(items))
        for begin in range(0, len(items), BLOCK):
            known[begin : begin + BLOCK] = (self.basis(items[begin : begin + BLOCK]) ** 2).sum(axis=1)
        missing = np.maximum(self.basis.kernel.peak - known, 0.0)
        result: Vector = np.sqrt(missing + self.posterior.effect_size**2 * self.has_effects)
        return result


def posterior_at(
    place: Vector, answers: Answers, sites: GaussianSites | None, exact: bool = True
) -> tuple[Bumps, GaussianScores, VariationalFit]:
    """The posterior with known sizes and relevances; if not `exact`, by support points without effects."""
    n, d = answers.items.shape
    support = answers.items
    if n > SUPPORT:
        support = support[np.sort(np.random.default_rng(0).choice(n, SUPPORT, replace=False))]
    blocks = answers.levels.blocks
    # The columns of a feature share its relevances.
    feature = {j: k for k, columns in enumerate(features_of(blocks, d)) for j in columns}
    shared, n_features = [feature[j] for j in range(d)], len(set(feature.values()))
    relevances, own = np.exp(place[5 : 5 + 2 * n_features]).reshape(2, n_features)[:, shared]
    kernel = Kernel(support, math.exp(place[TOGETHER]), math.exp(place[ALONE]), relevances, own, blocks)
    values, vectors = np.linalg.eigh(kernel(support))
    kept = values > LEAST * values[-1]
    basis = Bumps(kernel, vectors[:, kept] / np.sqrt(values[kept]))
    size, effect = math.exp(place[LINEAR]) / math.sqrt(n_features), math.exp(place[EFFECT])
    features, root = np.hstack([size * answers.items, basis(answers.items)]), None
    if exact:
        whole = replace(kernel, support=answers.items)(answers.items)
        root = root_of(whole + size**2 * (answers.items @ answers.items.T), effect**2)
    design = design_of(features if root is None else root, answers, head_start_at(place, answers))
    found = variational_fit(design, float(expit(place[LAPSE])), sites)
    posterior = GaussianScores(found.mean, found.lower, features, root, d, size, effect, found.lapse)
    return basis, posterior, found


def infer_smooth(answers: Answers, *, lapse: float | None = None, effects: bool = True) -> Smooth:
    """The posterior of a smooth taste; without effects where compared items are many."""
    n = len(answers.items)
    effects = effects and n <= MOST_ITEMS
    few = _some(answers)
    with serial(n):
        best, rows = Process(few, lapse, effects).learn(), np.arange(len(answers.winners))
        if n > MOST_ITEMS and len(rows) > MOST_SUPPORTED:
            rows = np.sort(np.random.default_rng(0).choice(rows, MOST_SUPPORTED, replace=False))
        used = answers if len(rows) == len(answers.winners) else answers.only(rows)
        place, sites = best.process.place(best.u), best.at.sites if used is few else None
        basis, posterior, found = posterior_at(place, used, sites, exact=n <= MOST_ITEMS)
        if used is few:
            left, log_evidence = best.leave_out(), best.log_evidence
        else:
            left = _left_out(found, rows, answers, basis, posterior.linear_size)
            log_evidence = found.bound + best.log_evidence - best.at.bound if used is answers else math.nan
    ended = (log_evidence, found.bound, best.status, best.n_iter)
    return Smooth(answers, basis, posterior, effects, left, *ended).among_obeying()


def _left_out(found: VariationalFit, rows: Index, answers: Answers, basis: Bumps, size: float) -> Vector:
    """The probability of each tested row, as predicted from answers about something else."""
    if not isinstance(found.design, SetDesign):
        whole, here = found, found.expectation
        if not here.variance.any():
            variance = squared_lengths(found.lower, found.design.rows)
            whole = found._replace(expectation=here._replace(variance=variance))
        if len(rows) < len(answers.winners):
            whole = _of_all(whole, rows, answers, basis, size)
        return left_out(whole)[0]
    if len(rows) == len(answers.winners):
        return left_out(found)[0]
    # Nearly all of the answers were not learned from.
    features = np.hstack([size * answers.items, basis(answers.items)])
    assert answers.sets is not None
    n_anchors, n, held = answers.sets.n_anchors, len(answers.items), answers.held_out
    design = SetDesign(with_anchors(features, n_anchors), answers, found.design.head_start)
    scores: Matrix = design.linearised(found.mean).scores(found.mean)[:, None]
    rated = np.flatnonzero(answers.sets.band_of(held.losers, n) >= 0)
    every, band = answers.sets.extended(scores)[0][:, 0], answers.sets.band_of(held.losers[rated], n)
    margin = every[held.losers] - every[held.winners]
    p = design.mean_probability(margin, np.zeros(len(margin)), found.lapse)
    half = answers.sets.half_gaps(scores, n)[band, 0]
    q = expit(margin[rated] + half) - expit(margin[rated] - half)
    p[rated] = found.lapse * answers.chance[rated] + (1 - found.lapse) * q
    return p


def _of_all(
    found: VariationalFit, rows: Index, answers: Answers, basis: Bumps, size: float
) -> VariationalFit:
    """What was learned from some rows of the answers, as it is of all: those not used have empty sites."""
    (winners, losers), (precision, shift) = answers.ends, np.zeros((2, len(answers.winners)))
    precision[rows], shift[rows] = found.sites[:2]
    n, blocks = len(answers.items), range(0, len(answers.items), BLOCK)
    scores, roots = np.empty(n), np.empty((n, len(found.mean)), dtype=np.float32)
    for part in (slice(begin, begin + BLOCK) for begin in blocks):
        features = np.hstack([size * answers.items[part], basis(answers.items[part])])
        scores[part] = features @ found.mean
        roots[part] = solve_triangular(found.lower, features.T, lower=True, check_finite=False).T
    variance = np.empty(len(precision))
    for begin in range(0, len(variance), BLOCK):
        part = slice(begin, begin + BLOCK)
        away = roots[losers[part]] - roots[winners[part]]
        variance[part] = np.einsum("ij,ij->i", away, away)
    variance[rows] = found.expectation.variance
    margin = scores[losers] - scores[winners]
    here = found.expectation._replace(margin=margin, variance=variance)
    empty = Design(np.zeros((0, 0)), answers, found.design.head_start)
    return found._replace(expectation=here, sites=GaussianSites(precision, shift), design=empty)


def _some(answers: Answers) -> Answers:
    """So few of the answers that sizes and relevances can be learned from them quickly."""
    rng = np.random.default_rng(0)
    if len(answers.items) > MOST_LEARNED:
        ends = rng.permutation(len(answers.winners))
        both = np.column_stack([answers.winners, answers.losers])[ends].ravel()
        _, first = np.unique(both, return_index=True)
        if len(first) > MOST_LEARNED:
            enough = int(np.sort(first)[MOST_LEARNED]) // 2
            answers = answers.only(np.sort(ends[:enough]))
    return answers.some(MOST_ANSWERS, rng)


def _mirrored(mean: Vector, moves: Matrix) -> Matrix:
    return np.concatenate([mean + moves, mean - moves])
