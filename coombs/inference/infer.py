"""From answers to draws of what a person may want: sampled, or by a Gaussian about the mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coombs.blas import serial
from coombs.data.tables import Levels
from coombs.inference import laplace
from coombs.inference.averaging import bridge
from coombs.inference.convergence import Monitor
from coombs.inference.curvature_correction import CurvatureCorrection
from coombs.inference.information import information_pairs
from coombs.inference.kinds import KINDS
from coombs.inference.left_out import LeftOut, leave_out
from coombs.inference.levels import WithLevels, padded, plain_columns, with_levels
from coombs.inference.sampler import Effort, Tuning, affordable, draw_prior, levels_of, longest_step, sample
from coombs.inference.target import EFFECT_WIDTH, ScoreParameters, Target
from coombs.inference.wishart import Full
from coombs.programs import interior, lifted
from coombs.programs.losses import LOSSES
from coombs.programs.program import Status

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.inference.kind import Kind

WHOLE = Effort(chains=256, warm_up=6, least=8, most=80)
"""Effort of the sampler for an estimate."""
SHARED = Effort(chains=128, warm_up=4, least=8, most=8)
"""Effort for one of several kinds, before it is known how much weight it has."""
EXTENDED = Effort(chains=256, warm_up=2, least=8, most=80)
"""Further effort for a kind that turned out to have weight."""
QUICK = Effort(chains=128, warm_up=4, least=8, most=8)
"""Effort where a rough posterior is enough, as when answers are left out."""
REFRESH = Effort(chains=256, warm_up=2, least=8, most=48)
"""Effort after a few more answers."""
MOST_SAMPLED = 3_000
"""Up to this many distinct answers the posterior is sampled; beyond, it is narrow enough for a Gaussian."""
MOST_SAMPLED_TWO_VALUED = 20_000
"""Up to this many distinct answers the posterior is sampled where a column has only two values."""
MOST_SAMPLED_EFFECTS = 600
"""Up to this many distinct answers the posterior is sampled with item effects."""
MOST_UNKNOWNS = 2_500
"""Up to this many unknowns the posterior is sampled."""
LARGEST_RHAT = 1.05
"""The worst nested R-hat, over what is reported, at which the chains agree."""
MEDIAN_ERROR = 0.0085
"""Standard error of half of the items' standardised scores, at most, in deviations of the scores."""
LARGE_ERROR = 0.012
"""Standard error of 95 % of the items' standardised scores, at most, in deviations of the scores."""
SCALE_ERROR = 0.04
"""Standard error of the logarithm of the scores' scale, at most, in its posterior deviations."""
WATCHED = 200
"""Items whose scores are watched, at most."""
PRIOR_DRAWS = 1_024
"""Draws of the prior that tell which share of it obeys declared directions."""
DRAWS = 6_144
"""Draws that are kept for whoever asks."""
MOST_OPERATIONS = 1.5e9
"""Operations of all leapfrog steps together, at most: no more rounds are tried."""
GAUSSIAN_DRAWS = 2_048
"""Draws of a Gaussian about the mode."""
LEAST_OBEYING = 100
"""Effective draws of the Gaussian, at least, that obey declared directions."""
DRAWS_FOR_EACH = 8
"""Draws for each unknown that the evidence needs; of fewer, it is the annealing's, which is rougher."""
TESTED = (16, 512)
"""Draws of which item effects are tested: at least and at most."""
MOST_PROBABILITIES = 10_000_000
"""Draws times answers, at most, that item effects are tested with."""
EFFECT_FOLDS = 2
"""Parts of the answers that are left out to choose the size of item effects, of FOLDS."""
FOLDS = 4
"""Parts that answers are cut into."""
EFFECT_SIZES = (0.3, 1.0, 3.0, 10.0)
"""Sizes of item effects, in logits, that are tried where the posterior is not sampled."""
EFFECT_STEPS = 100
"""Steps towards the mode with each size of item effects."""
FIRST_STEPS = 40
"""Steps towards the mode before the curvature is measured."""
START_STRENGTH = 0.002
"""Strength of the penalty of the convex program that gives the start."""
START_ANSWERS = 3_000
"""Answers that the convex program for the start takes, at most."""
LARGEST_LIFTED = 20
"""Features up to which the convex program for the start is affordable."""


@dataclass(frozen=True)
class Inference:
    """Draws of the posterior of one kind of preference, and how they were made."""

    target: Target
    answers: Answers
    draws: Matrix
    mode: Vector
    sampled: bool
    status: Status
    objective: float
    n_iter: int
    rhat: float
    tuning: Tuning | None = None
    annealed_evidence: float = float("nan")

    @cached_property
    def log_evidence(self) -> float:
        """log of how likely the kind makes the answers; NaN where the posterior was not sampled."""
        if not self.sampled or not self.target.n or len(self.draws) < DRAWS_FOR_EACH * self.target.n:
            return self.annealed_evidence
        return bridge(self.target.log_joint, self.draws)

    @property
    def name(self) -> str:
        """Of the kind."""
        return self.target.kind.name

    @property
    def has_effects(self) -> bool:
        """Whether items have effects of their own."""
        return self.target.effects

    def leave_out(self) -> LeftOut:
        """Every answer predicted from those about other pairs."""
        return leave_out(self, np.random.default_rng(0))

    def scores(self) -> ScoreParameters:
        """What the draws mean."""
        return self.target.scores(self.draws)

    def ideal_points(self, scores: ScoreParameters) -> Matrix:
        """(S, d) u with M u = v; of a signed metric, where it is neither better nor worse all around."""
        return self.target.kind.ideal(self.draws[:, : self.target.own], self.target.d)

    @property
    def effect_size(self) -> float:
        """A typical size of the item effects."""
        if not self.target.effects:
            return 0.0
        size = self.draws[:, self.target.n_features]
        return float(np.exp(self.target.effect_size + EFFECT_WIDTH * size).mean())

    def disagreement(self) -> float:
        """How many deviations the answers about single items are off what the features predict.

        A score test of item effects: with g_i the slope of the log likelihood along an effect of item
        i and h_i its expected square, sum (g_i^2 - h_i) has mean zero if there are none.
        """
        target, n = self.target, len(self.target.items)
        few = int(np.clip(MOST_PROBABILITIES // target.graph.n_answers, *TESTED))
        some = self.draws[:: max(1, len(self.draws) // few)]
        if target.sets is not None:
            return self._disagreement_of_sets(some)
        p = np.exp(target.log_probabilities(some)).mean(axis=1)
        ends, graph = np.concatenate([target.graph.winners, target.graph.losers]), target.graph
        slope = np.bincount(graph.winners, target.weights * (1 - p), n)
        slope -= np.bincount(graph.losers, target.weights * (1 - p), n)
        expected = np.bincount(ends, np.tile(target.weights * p * (1 - p), 2), n)
        return float((slope**2 - expected).sum() / np.sqrt(2 * (expected**2).sum() + 1e-12))

    def _disagreement_of_sets(self, draws: Matrix) -> float:
        """`disagreement` where answers are not only about two items."""
        target, n = self.target, len(self.target.items)
        slope = np.mean([target.to_scores(draw) for draw in draws], axis=0)[:n]
        information = information_pairs(target, draws[0])
        expected = information.of_each(n + target.n_anchors)[:n]
        return float((slope**2 - expected).sum() / np.sqrt(2 * (expected**2).sum() + 1e-12))


def infer(
    answers: Answers,
    kind: str,
    rng: np.random.Generator,
    *,
    lapse: float | None = None,
    effects: bool = False,
    start: tuple[Matrix, Vector] | None = None,
    effort: Effort = WHOLE,
) -> Inference:
    """The posterior of one kind of preference, with item effects if asked for.

    `start` is a metric and v of which a full metric takes its basis, and from which a mode is looked for.
    """
    start = rough(answers, rng) if start is None else start
    target = _obedient(Target.about(answers, _kind(kind, start[0], answers.levels), lapse=lapse))
    with serial(len(answers.items)):
        if is_sampled(answers, target.n, effects):
            target = target.with_effects() if effects else target
            return _sampled(target, answers, rng, effort)
        return _gaussian(target, answers, start, rng, effects)


def _obedient(target: Target) -> Target:
    """The target with the prior mass that obeys the declared directions, if there are any."""
    if target.directions is None:
        return target
    _, log_mass = draw_prior(target.single(), PRIOR_DRAWS, np.random.default_rng(0))
    return target.like(target.graph, target.weights, directions=replace(target.directions, log_mass=log_mass))


def is_sampled(answers: Answers, n_unknowns: int, effects: bool) -> bool:
    """Whether answers and unknowns are few enough to sample; counted votes count as so many answers."""
    most = MOST_SAMPLED_EFFECTS if effects else _most_sampled(answers)
    few = max(len(answers.winners), float(answers.weights.sum())) <= most
    return few and n_unknowns + effects * len(answers.items) <= MOST_UNKNOWNS


def _most_sampled(answers: Answers) -> int:
    """More where a column has two values, along which no answer tells the metric: no Gaussian is near."""
    plain = answers.items[:, plain_columns(answers.levels, answers.items.shape[1])]
    has_two = ((plain == plain.min(axis=0)) | (plain == plain.max(axis=0))).all(axis=0).any()
    return MOST_SAMPLED_TWO_VALUED if has_two else MOST_SAMPLED


def _kind(name: str, metric: Matrix, levels: Levels) -> Kind:
    """The kind, a full metric in the eigenvectors of a rough one, the largest first."""
    plain = plain_columns(levels, len(metric))
    if name != "full" or not len(plain):
        return with_levels(KINDS[name], levels, len(metric))
    full = Full(np.linalg.eigh(metric[np.ix_(plain, plain)])[1][:, ::-1])
    return with_levels(full, levels, len(metric))


def rough(answers: Answers, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """A metric and v by the lifted convex program, of some of the answers if they are many.

    Levels of categories are left out of it.
    """
    if answers.levels.blocks:
        n_columns = answers.items.shape[1]
        items = answers.items[:, plain_columns(answers.levels, n_columns)]
        found = rough(replace(answers, items=items, levels=Levels()), rng)
        return padded(answers.levels, n_columns, *found)
    d = answers.items.shape[1]
    if not 0 < d <= LARGEST_LIFTED or len(answers.winners) > laplace.MANY_ANSWERS:
        return np.eye(d) / max(d, 1), np.zeros(d)
    few = answers.in_pairs().some(START_ANSWERS, rng)
    with serial(len(few.items)):
        y = interior.solve(lifted.program(few, LOSSES["logistic"], START_STRENGTH), 1e-5, 60).y
    return lifted.quadratic_of(y, d, "full")


def _sampled(
    target: Target,
    answers: Answers,
    rng: np.random.Generator,
    effort: Effort,
    start: Matrix | None = None,
    before: Vector | None = None,
    tuning: Tuning | None = None,
) -> Inference:
    """By Hamiltonian Monte Carlo, from draws given other weights of the answers, or from the prior."""
    is_look = effort.most <= SHARED.most
    watched = np.linspace(0, len(target.items) - 1, min(WATCHED, len(target.items))).astype(np.intp)
    few = target.items[watched]

    def reported(y: Matrix) -> Matrix:
        """Standardised scores of the watched items, the logarithm of their spread, the lapse rate."""
        scores = target.scores(y.astype(float))
        values = quadratic_scores(few, scores)
        if scores.effects is not None:
            values += scores.effects[:, watched].T
        spread = spread_of(values)
        standard = (values - values.mean(axis=0)) / spread
        return np.vstack([standard, np.log(spread), scores.lapse]).T

    single, effort = target.single(), _affordable_rounds(effort, target)
    levels = levels_of(single, rng) if start is None else [single]
    chains = sample(levels, rng, effort, reported, _enough, start=start, before=before, tuning=tuning)
    flat = np.concatenate(chains.draws).astype(float)
    kept = flat[np.linspace(0, len(flat) - 1, min(DRAWS, len(flat))).astype(int)]
    with np.errstate(over="ignore"):
        values = target.value(kept)
    best, agree = int(values.argmin()), chains.rhat <= LARGEST_RHAT
    status = Status.CONVERGED if agree or is_look else Status.CHAINS_APART
    status = status if chains.is_annealed else Status.MAX_ITERATIONS
    ended = (status, float(values[best]), len(flat), chains.rhat, chains.tuning, chains.log_evidence)
    return Inference(target, answers, kept, kept[best], True, *ended)


def _affordable_rounds(effort: Effort, target: Target) -> Effort:
    """Fewer rounds at most where each is costly, as with very many features."""
    n, d = target.items.shape
    operations = 25 * target.graph.n_answers + 4 * n * d * d + 2 * target.n**2
    most = int(MOST_OPERATIONS / (operations * affordable(effort, target)))
    return replace(effort, most=min(effort.most, max(effort.least, most)))


def _enough(monitor: Monitor) -> bool:
    """Whether the means are known so well that another run would give the same."""
    errors, deviations = monitor.standard_errors(), monitor.deviations()
    median, large = np.quantile(errors[:-2], [0.5, 0.95])
    if median > MEDIAN_ERROR or large > LARGE_ERROR or errors[-2] > SCALE_ERROR * deviations[-2]:
        return False
    return monitor.rhat() <= LARGEST_RHAT


def extend(before: Inference, rng: np.random.Generator) -> Inference:
    """As many more draws as an estimate needs."""
    if not before.sampled:
        return before
    target, count = before.target, affordable(EXTENDED, before.target)
    chosen = np.linspace(0, len(before.draws) - 1, count).astype(int)
    with serial(len(target.items)):
        start = (EXTENDED, before.draws[chosen], target.weights, before.tuning)
        after = _sampled(target, before.answers, rng, *start)
    annealed = before.annealed_evidence + after.annealed_evidence
    return replace(after, n_iter=before.n_iter + after.n_iter, annealed_evidence=annealed)


def refresh(before: Inference, known: Answers, answers: Answers, rng: np.random.Generator) -> Inference:
    """The posterior given `answers`, some more than the `known` ones, from the draws given those."""
    old = before.target
    target = Target.about(answers, old.kind, lapse=old.lapse, directions=old.directions)
    count = affordable(REFRESH, target)
    chosen = rng.choice(len(before.draws), count, replace=len(before.draws) < count)
    weights = known.weights_of(answers)
    with serial(len(answers.items)):
        after = _sampled(target, answers, rng, REFRESH, before.draws[chosen], weights, before.tuning)
    return replace(after, annealed_evidence=before.annealed_evidence + after.annealed_evidence)


def quadratic_scores(items: Matrix, scores: ScoreParameters) -> Matrix:
    """x'Mx - 2 v'x of each item and draw, (N, S)."""
    n, d = items.shape
    products = (items[:, :, None] * items[:, None, :]).reshape(n, d * d)
    metrics = scores.metric.reshape(len(scores.metric), d * d)
    result: Matrix = products @ metrics.T - 2 * (items @ scores.linear.T)
    return result


def spread_of(scores: Matrix) -> Vector:
    """Deviation of the (N, C) scores of each draw; 1 where they are all alike."""
    spread = scores.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(scores).max(axis=0, initial=1e-9), spread, 1.0)


def _gaussian(
    target: Target,
    answers: Answers,
    start: tuple[Matrix, Vector],
    rng: np.random.Generator,
    effects: bool,
) -> Inference:
    """By Laplace's approximation about the mode."""
    mode, root = _maximise(target, start, rng)
    if effects:
        size = choose_effect_size(target, start, rng)
        target = target.with_effects()
        mode = laplace.maximise_effects(target, mode.y, root, size)
    # Maximising went on from where the root was taken.
    root = laplace.whitening(laplace.curvature(target, mode.y, rng))
    correction = CurvatureCorrection.at(target, mode.y, rng)
    correct = None if correction is None else correction.corrected
    draws = _obeying(target, laplace.draw(target, mode.y, root, GAUSSIAN_DRAWS, rng, correct), rng)
    ended = (mode.status, mode.value, mode.n_iter, 1.0, Tuning(root))
    return Inference(target, answers, draws, mode.y, False, *ended)


def _obeying(target: Target, draws: Matrix, rng: np.random.Generator) -> Matrix:
    """As many draws again, of those that obey the declared directions; or nearly, if hardly any does."""
    if target.directions is None:
        return draws
    logs = target.log_obeyed(draws)
    weights = np.exp(longest_step(logs, LEAST_OBEYING) * (logs - logs.max()))
    chosen = rng.choice(len(draws), len(draws), p=weights / weights.sum())
    return draws[chosen]


def choose_effect_size(target: Target, start: tuple[Matrix, Vector], rng: np.random.Generator) -> float:
    """The size of item effects that predicts answers left out best."""
    totals = np.zeros(len(EFFECT_SIZES))
    n = target.graph.n_answers
    fold = rng.permutation(np.arange(n) % FOLDS)
    for part in range(EFFECT_FOLDS):
        kept = target.reweighted(np.where(fold == part, 0.0, target.weights))
        mode, root = _maximise(kept, start, rng)
        more, y = kept.with_effects(), None
        for i, size in enumerate(EFFECT_SIZES):
            y = laplace.maximise_effects(more, mode.y, root, size, start=y, max_iter=EFFECT_STEPS).y
            left = np.where(fold == part, target.weights, 0.0)
            totals[i] -= left @ more.log_probabilities(y[None])[:, 0]
    return EFFECT_SIZES[int(totals.argmin())]


def _maximise(
    target: Target, start: tuple[Matrix, Vector], rng: np.random.Generator
) -> tuple[laplace.Mode, Matrix]:
    """The mode, and a root of the covariance there.

    First without, then in coordinates that the curvature makes isotropic.
    """
    metric, linear = start
    if target.graph.n_answers > laplace.MANY_ANSWERS and target.kind.name == "full" and target.sets is None:
        levels, of_plain = Levels(), target
        if isinstance(target.kind, WithLevels):
            levels = target.kind.levels
            plain = plain_columns(levels, target.d)
            metric, linear, items = metric[np.ix_(plain, plain)], linear[plain], target.items[:, plain]
            of_plain = target.like(target.graph, target.weights, items=items, kind=KINDS["full"])
        scores, _ = laplace.newton(of_plain, metric, linear, rng)
        metric, linear = padded(levels, target.d, scores.metric[0], scores.linear[0])
        target.kind = _kind("full", metric, levels)
    y = np.concatenate([target.kind.locate(metric, linear), np.zeros(target.n - target.own)])
    y = laplace.maximise(target, y, max_iter=FIRST_STEPS).y
    root = laplace.whitening(laplace.curvature(target, y, rng))
    return laplace.maximise(target, y, root=laplace.with_widths(target, y, root)), root
