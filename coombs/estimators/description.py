"""What the answers themselves support: whether there is a pattern, and which shape each feature's taste has.

Both are judged by Bayes factors, so that nothing is said which only the prior says. They hold whatever the
questions were: which ones were chosen does not enter the evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.inference.infer import QUICK, infer, rough
from coombs.inference.kernel import features_of
from coombs.inference.smooth import Smooth, infer_smooth

if TYPE_CHECKING:
    from coombs.data.answers import Answers
    from coombs.data.graph import Matrix, Vector
    from coombs.data.tables import Levels
    from coombs.inference.infer import Inference
    from coombs.inference.mixture import Mixture

MORE, LESS, PEAK, VALLEY = range(4)
"""Shapes: more is better, less is better, the best is within the items' range, the worst is."""
NEARLY_ALL = 0.95
"""More is better where it is for this share of the items."""
SMALL_EFFECT = 0.5
"""A feature whose effect on the items' scores has less than this share of their deviation, over the root of
the number of features, hardly matters."""
CLEARLY = 0.98
"""Probability of a larger effect from which on a feature matters without further proof."""
MATTERS_ODDS = math.log(3)
"""log odds, with the feature against without it, from which on one of less effect matters."""
LEANING = 0.975
"""Probability from which on more, or less, is said to be better on average."""
COPY = 0.999
"""Correlation from which on one feature is a copy of another."""
CANDIDATE = 0.8
"""Probability of a shape from which on it is worth asking whether the feature matters at all."""
LOG_ODDS = 1.0
"""Log odds, a taste against a coin, from which on there is a pattern, if answers are not few."""
LOG_ODDS_FEW = 2.5
"""Log odds from which on there is a pattern where answers are few, as few may agree by accident."""
FEW = 15
"""Up to this many answers are few."""
ENOUGH = 30
"""From this many answers on they are not few; in between, the odds that are required change steadily."""
MOST_ITEMS = 100
"""Items at which shapes are looked at."""
POSTERIOR_DRAWS = 1_500
"""Draws of the posterior that are looked at."""
PRIOR_DRAWS = 4_000
"""Draws of the prior."""


@dataclass(frozen=True)
class Description:
    """Kinds of preference, a linear one among them where it is possible, weighted by their evidence."""

    parts: tuple[Inference, ...]
    mixture: Mixture
    answers: Answers
    items: Matrix
    lapse: float | None = None

    @classmethod
    def of(cls, mixture: Mixture, answers: Answers, items: Matrix, lapse: float | None) -> Description:
        """The kinds of the fit that have a metric, or one that has, and a linear one to hold against them."""
        parts, names = mixture.quadratic, {part.name for part in mixture.quadratic}
        sampled = all(part.sampled for part in parts)
        if "none" in names or "items" in names or not sampled:
            return cls(parts, mixture, answers, items, lapse)
        rng = np.random.default_rng(0)
        start, wanted = rough(answers, rng), ("none",) if parts else ("full", "none")
        more = (infer(answers, name, rng, lapse=lapse, start=start, effort=QUICK) for name in wanted)
        return cls((*parts, *more), mixture, answers, items, lapse)

    @cached_property
    def weights(self) -> Vector:
        """Weights of the kinds: their evidence; where there is none, how well each predicts."""
        evidence = np.array([part.log_evidence for part in self.parts])
        if not np.isfinite(evidence).all():
            known = self.mixture.described.weights
            return known if self.mixture.quadratic else np.full(len(evidence), 1 / len(evidence))
        odds = np.exp(evidence - evidence.max())
        result: Vector = odds / odds.sum()
        return result

    @cached_property
    def log_odds(self) -> float:
        """log of how much likelier the answers are if there is a taste than if a coin was tossed.

        Where answers are so many that there is no evidence: by how well each is predicted from the others.
        """
        evidence = np.array(
            [part.log_evidence for part in self.parts]
            + [part.log_evidence for part in self.mixture.parts if isinstance(part, Smooth)]
        )
        if np.isfinite(evidence).all():
            whole = float(np.logaddexp.reduce(evidence)) - math.log(len(evidence))
            return whole - self.mixture.answers.log_chance
        left = self.mixture.predicted
        return float(left.weights @ np.log(left.probabilities / left.held_out.chance))

    @cached_property
    def effects_log_odds(self) -> float:
        """log of how much likelier the answers are if items have effects of their own than if they have none.

        Of a smooth taste; infinite without one, as effects are then asked for, or tested before they are.
        """
        smooth = next((part for part in self.mixture.counted.parts if isinstance(part, Smooth)), None)
        if smooth is None or not smooth.has_effects:
            return math.inf
        without = infer_smooth(smooth.answers, lapse=self.lapse, effects=False)
        return smooth.log_evidence - without.log_evidence

    @property
    def has_pattern(self) -> bool:
        """Whether the answers tell more than a coin's would."""
        n = self.mixture.answers.total
        few = float(np.clip((ENOUGH - n) / (ENOUGH - FEW), 0.0, 1.0))
        sets = self.mixture.answers.sets
        if sets is not None and sets.n_anchors:
            # Everybody's thresholds are learned as well, and the evidence for them is rougher.
            few = 1.0
        return self.log_odds > LOG_ODDS + few * (LOG_ODDS_FEW - LOG_ODDS)

    @property
    def _some_items(self) -> Matrix:
        chosen = np.linspace(0, len(self.items) - 1, min(MOST_ITEMS, len(self.items))).astype(int)
        result: Matrix = self.items[chosen]
        return result

    @cached_property
    def shapes(self) -> Matrix:
        """(d, 4) probabilities of each shape of each feature, if all that are possible were alike before.

        A draw has the shape MORE where the score falls, which is better, at nearly all items as the feature
        grows; else PEAK or VALLEY by its curvature. The share of draws with a shape is divided by that of
        the prior's: where the answers say nothing, every shape is as likely. A feature that may well not
        matter has none.
        """
        result = np.zeros((self.items.shape[1], 4))
        for part, weight in zip(self.parts, self.weights, strict=True):
            if weight > 1e-3:
                result += weight * _shapes_of(part, self._some_items)
        result /= np.maximum(result.sum(axis=1, keepdims=True), 1e-12)
        result[self._levels] = 0.0
        for j in np.flatnonzero(result.max(axis=1) >= CANDIDATE):
            if not self.matters(int(j)):
                result[j] = 0.0
        return result

    @cached_property
    def leanings(self) -> Vector:
        """(d,) 1 where more is better on average over the items, -1 where less is, 0 where that is not known.

        The mean slope of the scores is -2 v, as the items are centred.
        """
        better = np.zeros(self.items.shape[1])
        for part, weight in zip(self.parts, self.weights, strict=True):
            at = part.target.kind.expand(_some_draws(part), self.items.shape[1])
            better += weight * (at.linear > 0).mean(axis=0)
        signs = np.where(better >= LEANING, 1.0, np.where(better <= 1 - LEANING, -1.0, 0.0))
        signs[self._levels] = 0.0
        return np.array([sign if sign and self.matters(j) else 0.0 for j, sign in enumerate(signs)])

    @property
    def _levels(self) -> list[int]:
        """The columns that are levels of categories, which have no shape."""
        return [j for block in self.answers.levels.blocks for j in block]

    @cached_property
    def _large(self) -> Vector:
        """(d,) probability that each feature's effect is not small."""
        parts = zip(self.parts, self.weights, strict=True)
        shares = [
            weight * _large_effects(part, self._some_items, self.answers.levels) for part, weight in parts
        ]
        return np.asarray(sum(shares))

    def matters(self, j: int) -> bool:
        """Whether a feature has a clear effect, or the answers are likelier with it than without.

        A level stands for its category.
        """
        j = self.answers.levels.columns_with(j)[0]
        if self._large[j] >= CLEARLY:
            return True
        if j not in self._odds:
            self._odds[j] = self._log_odds_of(j)
        return self._odds[j] >= MATTERS_ODDS

    @cached_property
    def _odds(self) -> dict[int, float]:
        """Of the features that were asked for."""
        return {}

    def _log_odds_of(self, j: int) -> float:
        """log of how much likelier the answers are with a feature than without it and its copies.

        Infinite where that is not known, or nothing would be left.
        """
        names = [part.name for part in self.parts]
        evidence = [part.log_evidence for part in self.parts]
        columns = self.answers.items - self.answers.items.mean(axis=0)
        sizes = np.sqrt((columns**2).sum(axis=0))
        own = list(self.answers.levels.columns_with(j))
        alike = np.abs(columns.T @ columns[:, own]) >= COPY * np.outer(sizes, sizes[own])
        copies = alike.all(axis=1)
        for columns_of in map(list, self.answers.levels.blocks):
            # A category is a copy if every level of it is.
            copies[columns_of] = alike[columns_of].any(axis=1).all()
        copies[own] = True
        if copies.all() or not np.isfinite(evidence).all():
            return math.inf
        rng = np.random.default_rng(0)
        answers = self.answers.with_columns(np.flatnonzero(~copies)).canonical()
        start = rough(answers, rng)
        settings: dict[str, Any] = {"lapse": self.lapse, "start": start, "effort": QUICK}
        without = [infer(answers, name, rng, **settings).log_evidence for name in names]
        return float(np.logaddexp.reduce(evidence) - np.logaddexp.reduce(without))


def _some_draws(inference: Inference) -> Matrix:
    chosen = np.linspace(0, len(inference.draws) - 1, min(POSTERIOR_DRAWS, len(inference.draws))).astype(int)
    result: Matrix = inference.draws[chosen][:, : inference.target.own]
    return result


def _large_effects(inference: Inference, items: Matrix, levels: Levels) -> Vector:
    """(d,) probability that each feature's effect is not small.

    It is s(x) less s(x with the feature at its mean), x_j (2 (Mx)_j - M_jj x_j - 2 v_j), over the items.
    """
    d = items.shape[1]
    at = inference.target.kind.expand(_some_draws(inference), d)
    along = items @ at.metric
    scores = np.einsum("snd,nd->sn", along, items) - 2 * at.linear @ items.T
    own = np.diagonal(at.metric, axis1=1, axis2=2)[:, None, :] * items
    effects = (items * (2 * (along - at.linear[:, None, :]) - own)).std(axis=1)
    for block in map(list, levels.blocks):
        # Of a category, over all of its levels.
        effects[:, block] = (2 * at.linear[:, block] @ items[:, block].T).std(axis=1)[:, None]
    n_features = len(features_of(levels.blocks, d))
    least = SMALL_EFFECT / math.sqrt(n_features) * scores.std(axis=1)[:, None]
    result: Vector = (effects >= least).mean(axis=0)
    return result


def _shapes_of(inference: Inference, items: Matrix) -> Matrix:
    """(d, 4) of one kind."""
    target, d = inference.target, items.shape[1]
    rng = np.random.default_rng(0)
    shares = []
    for draws in (_some_draws(inference), target.kind.draw(PRIOR_DRAWS, d, rng)):
        at = target.kind.expand(draws, d)
        shapes = _shape_of(at.metric, at.linear, items)
        shares.append(np.stack([(shapes == shape).mean(axis=0) for shape in range(4)], axis=1))
    after, before = shares
    # A shape that hardly occurs before any answer has no factor that could be told.
    factor = np.where(before * PRIOR_DRAWS >= 4, after / np.maximum(before, 1 / PRIOR_DRAWS), 0.0)
    result: Matrix = factor / np.maximum(factor.sum(axis=1, keepdims=True), 1e-12)
    return result


def _shape_of(metric: Matrix, linear: Matrix, items: Matrix) -> Matrix:
    """(S, d) shape of each draw along each feature."""
    slopes = items @ metric - linear[:, None, :]
    better = (slopes < 0).mean(axis=1)
    curved = np.where(np.diagonal(metric, axis1=1, axis2=2) >= 0, PEAK, VALLEY)
    result: Matrix = np.where(better >= NEARLY_ALL, MORE, np.where(better <= 1 - NEARLY_ALL, LESS, curved))
    return result
