"""Kinds of preference of many people, averaged by how likely they make answers of people not learned from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy.special import softmax

from coombs.inference.people.coordinates import KINDS, Coordinates, coordinates_of
from coombs.inference.people.groups import fit_groups
from coombs.inference.people.population_fit import first_count, fit_population
from coombs.inference.people.tastes import Seen, Taste, Tastes, people_left_out
from coombs.inference.people.uncertain_sizes import SizedFit, with_sizes
from coombs.inference.people.uneven_people import with_uneven
from coombs.progress import stepping

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coombs.data.graph import Index, Matrix, Vector
    from coombs.inference.people.answer_blocks import AnswerBlock
    from coombs.inference.people.people_answers import PeopleAnswers
    from coombs.inference.people.population_fit import PopulationFit
    from coombs.inference.people.population_prior import PopulationPrior

CAUTIONS = (1.0, 4.0)
"""How many times as many people as usual it may be worth that weights are alike and uncorrelated."""
ENOUGH_PEOPLE = 25
"""People, for each coordinate, who tell themselves how alike and correlated weights are."""
FEW_PEOPLE = 100
"""People up to which there are more folds, as each leaves out so many."""
FOLDS = 2
"""Folds of people, each of which is predicted from the others,"""
MORE_FOLDS = 4
"""and where people are few."""
MOST_TRIED = 400
"""People among whom kinds are tried, at most."""
MOST_ABOUT = 1_600
"""People among whom covariates are tried, at most."""
LEAST_GAIN = 2.0
"""Nats by which a covariate must make answers of people left out likelier for it to be learned from."""
ROUGHLY = 2e-2
"""Tolerance of the passes there."""
FEWER_PASSES = 20
"""Passes there, at most."""
TRYING = 0.5
"""Share of the work that this is, roughly,"""
GROUPING = 0.25
"""and looking for groups."""
TEMPERATURE = 2.0
"""By what differences of log evidence are divided: people are not independent draws of our model."""
WITH_GROUPS = 0.6
"""Share of the largest weight from which on groups are looked for in a kind, beside the simplest one,"""
WITH_SIZES = 0.3
"""and how much people differ, also in consistency."""
FAR_BEHIND = 30.0
"""Nats by which a kind may be behind the best, while people are left out in turn."""
SIMPLER = {"none": (), "diagonal": ("none",), "full": ("diagonal", "none"), "smooth": ("none",)}
"""Of each kind those whose coordinates are its first ones, the most alike first."""
NEGLIGIBLE = 0.02
"""A kind with less of the average is left out of it."""


FitToAll: TypeAlias = "Callable[[Coordinates, PopulationFit], PopulationFit]"
"""Takes a fit to a sample of people on to all."""


class Candidate(NamedTuple):
    """A kind of preference, and how cautious it is."""

    kind: str
    caution: float


class Trial(NamedTuple):
    """How well people are predicted who were not learned from.

    `gain` is how much likelier their answers are than tosses of a coin, in nats, `predicted` the probability
    of each answer given the person's others, `weights` what it counts for. Of one person alone it is empty.
    """

    gain: float
    predicted: Vector
    weights: Vector

    @property
    def accuracy(self) -> float:
        """Share of answers that are predicted."""
        right = (np.sign(self.predicted - 0.5) + 1) / 2
        return float(np.average(right, weights=self.weights)) if len(right) else float("nan")

    @property
    def log_loss(self) -> float:
        """Minus the mean log probability of the answers."""
        if not len(self.predicted):
            return float("nan")
        return -float(np.average(np.log(self.predicted), weights=self.weights))


class CovariateTrial(NamedTuple):
    """What covariates tell of people left out.

    `gains` (S,) is how much likelier their answers are with each than without it, in nats; `columns` are the
    columns of the covariates that are learned from.
    """

    gains: Vector
    columns: Index


NOTHING_TOLD = CovariateTrial(np.zeros(0), np.zeros(0, dtype=np.intp))
"""Where nothing is known of people beside their answers."""


@dataclass(frozen=True, eq=False)
class PeopleAverage:
    """Kinds of preference of many people with their weights in the average, and how well it predicts."""

    parts: tuple[Tastes, ...]
    weights: Vector
    trial: Trial
    told: CovariateTrial = NOTHING_TOLD

    @property
    def main(self) -> int:
        """The part with the most weight."""
        return int(self.weights.argmax())

    def probability(self, tastes: tuple[Taste, ...], seen: tuple[Seen, ...], pairs: Index) -> Vector:
        """(n,) that the first of each pair of items is chosen by somebody with these tastes."""
        first, second = pairs.T
        each = [
            taste.probability(items.take(first), items.take(second))
            for taste, items in zip(tastes, seen, strict=True)
        ]
        result: Vector = self.weights @ np.array(each)
        return result

    def utilities(self, tastes: tuple[Taste, ...], seen: tuple[Seen, ...]) -> Vector:
        """(n,) mean utilities of items, about their mean."""
        each = [taste.utilities(items) for taste, items in zip(tastes, seen, strict=True)]
        result: Vector = self.weights @ np.array([one - one.mean() for one in each])
        return result

    def draws(self, tastes: tuple[Taste, ...], seen: tuple[Seen, ...], count: int) -> Matrix:
        """(count, n) utilities of items, of each kind as many as it has weight."""
        counts = np.diff(np.round(np.cumsum(self.weights) * count).astype(int), prepend=0)
        parts = [
            taste.draws(items, int(number))
            for taste, items, number in zip(tastes, seen, counts, strict=True)
            if number
        ]
        return np.concatenate([part - part.mean(axis=1, keepdims=True) for part in parts])


def learn_people(
    answers: PeopleAnswers,
    kinds: tuple[str, ...] = KINDS,
    groups: int | str = 1,
    n_jobs: int = 1,
    advance: Callable[[float], None] = lambda share: None,
    everybody: FitToAll | None = None,
) -> PeopleAverage:
    """The average of these kinds, each with everybody's taste.

    If these are a sample of people, `everybody` takes the fit of a kind on to all. `advance` is told which
    share is done.
    """
    told = NOTHING_TOLD
    if answers.covariates is not None and answers.n_told > 1:
        told = try_covariates(answers, Candidate(kinds[0], CAUTIONS[0]))
        answers = answers._replace(covariates=answers.covariates.columns(told.columns))
    tried, weights, trial, learned = _likely(answers, candidates(answers, kinds), advance)
    fits, gains, blocks, reached = [], [], answers.blocks(), TRYING
    some = first_count(answers.n_told)
    first = blocks if some is None else answers.some(some).blocks()
    # In the simplest kind groups are cheapest; kinds with far less weight hardly change the average.
    looked = (weights >= WITH_GROUPS * weights.max()) | (np.arange(len(weights)) == 0)
    of_kinds = {kind: _of_kind(answers, kind) for kind in dict.fromkeys(one.kind for one in tried)}
    for candidate, weight, is_looked in zip(tried, weights.tolist(), looked.tolist(), strict=True):
        coordinates, phi = of_kinds[candidate.kind]
        start = answers.start(phi, coordinates.blocks, candidate.caution, answers.first_effect)
        start = start if candidate not in learned else start.begun_from(learned[candidate])
        begin, reached = reached, reached + GROUPING * weight
        with stepping(advance, begin, reached):
            fit, gain = fit_groups(phi, first, start, groups if is_looked else 1, n_jobs)
        fits.append(KindFit(coordinates, phi, fit))
        gains.append(gain)
    weights = _with_groups(weights, np.array(gains), looked)
    parts: list[Tastes] = []
    shares: list[float] = []
    for found, weight in zip(fits, weights.tolist(), strict=True):
        begin, reached = reached, reached + (1 - TRYING - GROUPING) * weight
        with stepping(advance, begin, reached):
            sized = _of_all(found, blocks, weight >= WITH_SIZES * weights.max(), n_jobs, everybody)
        parts += [Tastes(found.coordinates, one.fit) for one in sized]
        shares += [weight * one.share for one in sized]
    return PeopleAverage(tuple(parts), np.array(shares), trial, told)


class LikelyKinds(NamedTuple):
    """Candidates that predict people left out, their weights, how well they do; what was learned there."""

    candidates: list[Candidate]
    weights: Vector
    trial: Trial
    learned: dict[Candidate, PopulationPrior]


def _likely(answers: PeopleAnswers, tried: list[Candidate], advance: Callable[[float], None]) -> LikelyKinds:
    """Those that are not negligible; of one person alone nothing is tried."""
    if answers.n_told <= 1:
        return LikelyKinds(tried, np.ones(1), Trial(float("nan"), np.zeros(0), np.zeros(0)), {})
    scores, predicted, counted, learned = try_out(answers, tried, lambda share: advance(TRYING * share))
    weights = softmax(scores / TEMPERATURE)
    chance = float(counted.sum()) * np.log(2)
    gain = float(np.logaddexp.reduce(scores) - np.log(len(scores))) + chance
    kept = weights >= NEGLIGIBLE * weights.max()
    able = [one for one, is_kept in zip(tried, kept, strict=True) if is_kept]
    return LikelyKinds(
        able, weights[kept] / weights[kept].sum(), Trial(gain, weights @ predicted, counted), learned
    )


class KindFit(NamedTuple):
    """A kind's coordinates, those of the items, and the fit to the people who are learned from first."""

    coordinates: Coordinates
    phi: Matrix
    fit: PopulationFit


def _of_all(
    found: KindFit,
    blocks: tuple[AnswerBlock, ...],
    is_large: bool,
    n_jobs: int,
    everybody: FitToAll | None,
) -> list[SizedFit]:
    """The fit to all people; of a large part of the average also what is uncertain of how people differ."""
    coordinates, phi, fit = found
    if is_large:
        fit = with_uneven(fit, phi, sum(len(block.people) for block in blocks), n_jobs)
    if fit.blocks is not blocks:
        # How many people are uneven is told least exactly, and needed so.
        tolerance = ROUGHLY / 4 if fit.prior.uneven else None
        whole = fit_population(phi, blocks, fit.prior, n_jobs=n_jobs, tolerance=tolerance, is_near=True)
        fit = replace(whole, n_iter=whole.n_iter + fit.n_iter)
    # A sample is taken of very many people only, who tell how much they differ.
    if everybody is not None:
        return [SizedFit(everybody(coordinates, fit), 1.0)]
    return with_sizes(fit, phi) if is_large else [SizedFit(fit, 1.0)]


def _with_groups(weights: Vector, gains: Vector, looked: NDArray[np.bool_]) -> Vector:
    """Weights of kinds once groups were looked for in some: those share what they had by what groups gain.

    So another kind may have the most weight, and the groups that are told are the likeliest.
    """
    changed = weights.copy()
    shares = softmax(np.log(weights[looked]) + gains[looked] / TEMPERATURE)
    changed[looked] = weights[looked].sum() * shares
    return changed


def candidates(answers: PeopleAnswers, kinds: tuple[str, ...]) -> list[Candidate]:
    """What is tried: without kinds that are no more than a simpler one."""
    sizes, found = set(), []
    if answers.n_told == 1:
        # Nobody is left to tell which predicts best.
        return [Candidate(kinds[0], CAUTIONS[0])]
    for kind in kinds:
        size = _of_kind(answers, kind)[0].size
        if kind == "smooth" or size not in sizes:
            sizes.add(size)
            cautions = CAUTIONS if answers.n_people < ENOUGH_PEOPLE * size else CAUTIONS[:1]
            found += [Candidate(kind, caution) for caution in cautions]
    return found


class TriedOut(NamedTuple):
    """Of each candidate: how likely people's answers are with what is learned from others (log).

    Also the probability of each answer, given the person's others, and its weight; and what was learned of
    all but some people.
    """

    scores: Vector
    predicted: Matrix
    weights: Vector
    learned: dict[Candidate, PopulationPrior]


def try_out(
    answers: PeopleAnswers, tried: list[Candidate], advance: Callable[[float], None] = lambda share: None
) -> TriedOut:
    """Which candidates predict people left out, of some of many.

    A candidate that falls far behind is given up: its log is minus infinity.
    """
    effect = answers.first_effect
    answers, blocks = _folds(answers, MOST_TRIED, MORE_FOLDS if answers.n_people <= FEW_PEOPLE else FOLDS)
    counted = np.concatenate([block.weights[block.rows >= 0] for _, left in blocks for block in left])
    scores, every, begin = np.zeros(len(tried)), np.full((len(tried), len(counted)), 0.5), 0
    priors: dict[Candidate, PopulationPrior] = {}
    for number, (learned, left) in enumerate(blocks):
        end = begin + sum(int((block.rows >= 0).sum()) for block in left)
        # Nothing is taken over from those who learned from people that are left out here.
        priors = {}
        for done, k in enumerate(able := np.flatnonzero(np.isfinite(scores)), 1):
            coordinates, phi = _of_kind(answers, tried[k].kind)
            start = answers.start(phi, coordinates.blocks, tried[k].caution, effect)
            start = _warm(start, tried[k].kind, priors)
            fit = fit_population(phi, learned, start, tolerance=ROUGHLY, max_iter=FEWER_PASSES)
            priors[tried[k]] = fit.prior
            evidence, every[k, begin:end] = people_left_out(fit.prior, phi, left)
            scores[k] += evidence
            advance((number + done / len(able)) / len(blocks))
        begin = end
        scores[scores < scores.max() - FAR_BEHIND] = -np.inf
    return TriedOut(scores, every, counted, priors)


def _warm(start: PopulationPrior, kind: str, priors: dict[Candidate, PopulationPrior]) -> PopulationPrior:
    """Where a kind begins: from the one most like it that was learned from the same people."""
    for known in (kind, *SIMPLER[kind]):
        for candidate, prior in priors.items():
            if candidate.kind == known:
                return start.begun_from(prior)
    return start


def try_covariates(answers: PeopleAnswers, tried: Candidate) -> CovariateTrial:
    """How much likelier each covariate makes answers of people left out; those that hardly do are not kept.

    Slopes are learned with all of them, and those of one taken for nothing.
    """
    effect = answers.first_effect
    answers, blocks = _folds(answers, MOST_ABOUT, MORE_FOLDS)
    assert answers.covariates is not None
    sources = answers.covariates.sources
    gains = np.zeros(int(sources.max()) + 1)
    coordinates, phi = _of_kind(answers, tried.kind)
    for learned, left in blocks:
        start = answers.start(phi, coordinates.blocks, tried.caution, effect)
        prior = fit_population(phi, learned, start, tolerance=ROUGHLY, max_iter=FEWER_PASSES).prior
        assert prior.slopes is not None
        whole = people_left_out(prior, phi, left)[0]
        for source in range(len(gains)):
            less = replace(prior, slopes=prior.slopes.without(source))
            gains[source] += whole - people_left_out(less, phi, left)[0]
    return CovariateTrial(gains, np.flatnonzero(gains[sources] > LEAST_GAIN))


def _folds(
    answers: PeopleAnswers, most: int, folds: int
) -> tuple[PeopleAnswers, list[tuple[tuple[AnswerBlock, ...], ...]]]:
    """Some of the people, at most so many, and of each fold who is learned from and who is left out."""
    n = min(answers.n_told, most)
    answers, folds = answers.some(n), min(folds, n)
    fold = np.arange(n) % folds
    blocks = [
        tuple(answers.only(np.flatnonzero(part)).blocks() for part in (fold != k, fold == k))
        for k in range(folds)
    ]
    return answers, blocks


def _of_kind(answers: PeopleAnswers, kind: str) -> tuple[Coordinates, Matrix]:
    """The kind's coordinates, and those of the items."""
    coordinates = coordinates_of(kind, answers.items, answers.levels, float(answers.weights.sum()))
    known = np.arange(len(answers.items)) if coordinates.n_effects else None
    return coordinates, coordinates(answers.items, known)
