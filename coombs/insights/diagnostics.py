"""What a fit does not know, and how far to trust the rest."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from coombs.data.comparisons import Comparisons
from coombs.data.graph import ComparisonGraph
from coombs.inference.posterior import Posterior, quantiles
from coombs.insights.curves import smooth_weight
from coombs.insights.not_known import never_compared, vague_features
from coombs.insights.statements import (
    KINDS,
    WORST,
    Combination,
    ComparedKind,
    FeatureVerdict,
    NotKnown,
    SurprisingAnswer,
    Trust,
)
from coombs.insights.surface import combination
from coombs.language import Translatable
from coombs.model import Model
from coombs.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coombs.data.tables import FloatArray
    from coombs.estimators.description import Description
    from coombs.insights.explained_fit import ExplainedFit

    Index: TypeAlias = NDArray[np.intp]

COPY = 0.999
"""Correlation from which on two features are one."""
ALIKE = 0.005
"""A difference of log losses that says nothing."""
CLEAR = 0.02
"""A difference of log losses that says something about people."""
CHANCE = 0.25
"""With n answers, a difference of log losses below this over sqrt n says nothing, either."""
MORE_CHANCE = 0.5
"""With n answers, a difference of log losses below this over sqrt n is not clear."""
COIN = math.log(2)
"""A coin's log loss."""
RANDOM_PAIRS = 2_000
"""Pairs that stand for new questions."""
SOME_DRAWS = 500
"""Draws of a kind that is not in the fit."""
SURPRISING = 0.2
"""Probability below which an answer is surprising."""
MOST_SURPRISES = 5
"""Surprising answers that are told."""
EFFECTS_ODDS = math.log(10)
"""Log odds from which on items are said to have effects of their own."""
CHAINS_APART = 1.05
"""R-hat from which on the sampler's chains are said to disagree."""
ENOUGH = 30
"""Answers from which on a model that agrees with few of them is doubtful."""
AGREED = 0.8
"""The share of the answers, of those that any model can agree with, below which it is."""
GOOD_ENDS = ("optimal", "optimal_by_clarabel", "optimal_by_cvxpy", "converged")
"""Statuses of a fit that need no warning."""


def unknowns(fit: ExplainedFit, ideal: tuple[FeatureVerdict, ...]) -> Iterator[NotKnown]:
    """What the answers do not tell."""
    yield from _too_few(fit)
    yield from _pieces(fit)
    for feature in fit.features:
        if feature.distinct == 1:
            text = Translatable(
                "{feature} is the same for all items. Nothing can be learned about it.", feature=feature.name
            )
            yield NotKnown("constant", text)
    yield from _copies_and_unseen(fit)
    yield from vague_features(fit, ideal)
    if fit.surface.posterior is None:
        none = (
            "How sure any of this is: the fit is the optimum of a convex program, which has no intervals; "
            "IdealPoint has them."
        )
        yield NotKnown("no intervals", none)


def _too_few(fit: ExplainedFit) -> Iterator[NotKnown]:
    """Fewer answers than unknowns, which are d (d + 3) / 2 for any metric and an ideal point."""
    d, n = len(fit.numbers), fit.data.n_choices
    counts = {
        "items": 0 if fit.data.n_features else fit.data.n_items - 1,
        "none": d,
        "identity": d + 1,
        "diagonal": 2 * d,
    }
    needed = counts.get(fit.est.kind_, d * (d + 3) // 2)
    needed += sum(len(one.block) - 1 for one in fit.columns if one.is_category)
    if n < needed:
        text = f"{count(n, 'answer')} for {needed} unknown numbers: too few. Much here is a guess."
        yield NotKnown("few answers", text)


def _pieces(fit: ExplainedFit) -> Iterator[NotKnown]:
    """Items that no chain of answers joins."""
    winners, losers, _ = fit.data.oriented()
    sizes = ComparisonGraph(winners, losers, fit.data.n_items).piece_sizes
    joined, alone = np.sort(sizes[sizes > 1])[::-1], int((sizes == 1).sum())
    if len(joined) > 1 and joined[0] == 2 and fit.features:
        text = "Every item was compared with one other, so only the features tell how the rest compare."
        yield NotKnown("pieces", text)
    elif len(joined) > 1:
        shown = ", ".join(map(str, joined[:5])) + (", ..." if len(joined) > 5 else "")
        groups = f"The compared items fall into {len(joined)} groups (of {shown} items) without an answer"
        what = "only the features tell" if fit.features else "nothing tells"
        rest = f"; {what} how the groups compare" if fit.has_pattern is not False else ""
        yield NotKnown("pieces", f"{groups} between them{rest}.")
    if alone:
        yield NotKnown("never compared", never_compared(fit, alone))


def _copies_and_unseen(fit: ExplainedFit) -> Iterator[NotKnown]:
    """Features that say the same, and directions along which the answers say nothing."""
    if not fit.features:
        return
    copies = list(_copies(fit))
    for one, other, correlation in copies:
        names = {"feature": other, "other": one}
        text = Translatable(
            "{feature} is as good as a copy of {other}, so how the two share their weight is not known.",
            **names,
        )
        if correlation <= 0:
            text = Translatable(
                "{feature} is as good as a copy of {other}, turned around, so how the two share their weight "
                "is not known.",
                **names,
            )
        yield NotKnown("copies", text)
    for one, other in _same_groups(fit):
        text = Translatable(
            "{feature} groups the items just as {other} does, so how the two share their weight is not "
            "known.",
            feature=other,
            other=one,
        )
        yield NotKnown("copies", text)
    copied = {name for one, other, _ in copies for name in (one, other)}
    for direction in _unseen(fit):
        if direction.loadings[0][0] not in copied:
            what = "where the ideal is" if fit.has_ideal else "what is better"
            yield NotKnown("unseen direction", f"Along {direction.text} no answer tells {what}.")


def _copies(fit: ExplainedFit) -> Iterator[tuple[str, str, float]]:
    """Each feature that follows an earlier one, with that one."""
    names = [fit.features[k].name for k in fit.numbers]
    columns = [fit.columns[k].block[0] for k in fit.numbers]
    away = fit.data.items[:, columns] - fit.data.items[:, columns].mean(axis=0)
    away = away / np.linalg.norm(away, axis=0)
    correlations = np.triu(away.T @ away, 1)
    for k in range(len(columns)):
        alike = np.flatnonzero(np.abs(correlations[:, k]) > COPY)
        if len(alike):
            yield names[alike[0]], names[k], float(correlations[alike[0], k])


def _same_groups(fit: ExplainedFit) -> Iterator[tuple[str, str]]:
    """Each column in which the same items are alike as in an earlier one, with it; one is a category."""
    varied = [one for one, feature in zip(fit.columns, fit.features, strict=True) if feature.distinct != 1]
    groups = [np.unique(fit.data.items[:, list(one.block)], axis=0, return_inverse=True)[1] for one in varied]
    for k, later in enumerate(varied):
        for j, earlier in enumerate(varied[:k]):
            both = len(set(zip(groups[j].ravel().tolist(), groups[k].ravel().tolist(), strict=True)))
            is_same = both == len(np.unique(groups[j])) == len(np.unique(groups[k]))
            if is_same and (earlier.is_category or later.is_category):
                yield earlier.name, later.name
                break


def _unseen(fit: ExplainedFit) -> list[Combination]:
    """The unidentified directions in units of the spreads, constant features apart."""
    chosen = [k for k, one in enumerate(fit.columns) if not one.is_category]
    places, names = [fit.columns[k].block[0] for k in chosen], [fit.features[k].name for k in chosen]
    block, d = np.ix_(places, places), len(chosen)
    metric = fit.surface.scaled_metric[block] if fit.has_ideal else np.eye(d)
    basis = Model(metric, np.zeros(d)).unseen_directions(fit.est._compared[block])
    vectors, sizes, _ = np.linalg.svd(basis * fit.varies[chosen, None], full_matrices=False)
    return [combination(vectors[:, k], names) for k in np.flatnonzero(sizes > 0.5)]


# How far to trust it.


def trust(fit: ExplainedFit, ideal: tuple[FeatureVerdict, ...]) -> Trust:
    """How well each kind of preference predicts answers, and what should make one careful."""
    pairs, asked_again, contradicted, ties = _repeats(fit.data)
    pairs += fit.data.n_choices - int((fit.data.weights > 0).sum())
    described = fit.est.description()
    # A pair cannot be predicted from itself.
    kinds = tuple(_compared(fit)) if fit.compare and pairs > 1 and not fit.chosen else ()
    warnings = dict([*_about_the_fit(fit), *_about_the_taste(fit, kinds, ideal)])
    lapse_low, lapse_high = _lapse_interval(fit)
    accuracy, log_loss, basis = _on_new_answers(fit) if pairs > 1 else (math.nan, math.nan, "none")
    return Trust(
        accuracy=accuracy,
        log_loss=log_loss,
        basis=basis,
        smooth_weight=smooth_weight(fit.est),
        description_accuracy=_of_description(fit, basis),
        log_odds=math.nan if described is None else described.log_odds,
        kinds=kinds,
        advice="" if fit.is_average else _advice(kinds, len(fit.data)),
        agreement=fit.est.score(fit.data),
        ceiling=_ceiling(fit.data),
        asked_again=asked_again,
        contradicted=contradicted,
        ties=ties,
        lapse=float(fit.est.lapse_),
        lapse_low=lapse_low,
        lapse_high=lapse_high,
        effects=_effects(fit),
        surprises=_surprises(fit),
        warnings=tuple(warnings.values()),
        cautions=tuple(warnings),
    )


def _on_new_answers(fit: ExplainedFit) -> tuple[float, float, str]:
    """Accuracy and log loss on answers that were not learned from, and how they were found.

    Where questions were chosen by their answers, an answer left out is no test: later questions depend on it.
    There, the predictions q of random pairs are held against probabilities p in which a coin and a linear
    kind have their share, as far as the evidence is for them.
    """
    described, posterior = fit.est.description(), fit.surface.posterior
    if described is None or posterior is None:
        return math.nan, math.nan, "none"
    if not fit.chosen:
        left = described.mixture.predicted
        return left.accuracy, left.log_loss, "left out"
    rng, n = np.random.default_rng(0), fit.data.n_items
    first = rng.integers(n, size=RANDOM_PAIRS)
    second = (first + rng.integers(1, n, size=RANDOM_PAIRS)) % n
    # Positions, which are not to be read as names.
    pairs, ones = np.column_stack([first, second]), np.ones(RANDOM_PAIRS)
    new = Comparisons.at_positions(fit.data.item_table, pairs, ones.astype(np.int8), ones)
    q = np.clip(fit.est.predict_proba(new)[:, 1], 1e-9, 1 - 1e-9)
    taste = 1 / (1 + math.exp(min(-described.log_odds, 700.0)))
    p = taste * _by_evidence(described, q, first, second) + (1 - taste) / 2
    log_loss = -(p * np.log(q) + (1 - p) * np.log(1 - q)).mean()
    return float(np.where(q >= 0.5, p, 1 - p).mean()), float(log_loss), "evidence"


def _of_description(fit: ExplainedFit, basis: str) -> float:
    """The accuracy of what the words describe alone, where an average predicts; NaN where it is not known."""
    described = fit.est.description()
    if basis != "left out" or described is None or fit.est.model_.bumps is None or not fit.has_ideal:
        return math.nan
    return described.mixture.described.predicted.accuracy


def _by_evidence(described: Description, q: FloatArray, first: Index, second: Index) -> FloatArray:
    """Probabilities that the first is preferred: q, and those of kinds outside of the fit, by evidence."""
    own = len(described.mixture.quadratic)
    if own < len(described.mixture.parts):
        # A smooth taste, linear ones included, is in the fit.
        return q
    p: FloatArray = described.weights[:own].sum() * q
    for part, weight in zip(described.parts[own:], described.weights[own:], strict=True):
        some = np.linspace(0, len(part.draws) - 1, min(SOME_DRAWS, len(part.draws))).astype(int)
        at = replace(part, draws=part.draws[some]).scores()
        draws = Posterior(np.zeros(described.items.shape[1]), at.metric, at.linear, at.linear, at.lapse)
        scores = draws.scores(described.items)
        p = p + weight * draws.probability(scores[:, first], scores[:, second])
    return p


def _lapse_interval(fit: ExplainedFit) -> tuple[float, float]:
    """Ends of the share of answers given at random."""
    draws = np.zeros(1) if fit.surface.posterior is None else fit.surface.posterior.lapses
    low, high = quantiles(draws[:, None], fit.level)[0]
    return float(low), float(high)


def _compared(fit: ExplainedFit) -> Iterator[ComparedKind]:
    """Each kind put to the test, with its weight in what is in use."""
    for score in fit.est.kinds():
        extra = score.item_effects and score.metric != "items"
        name = KINDS[score.metric] + (", and each item's own effect" if extra else "")
        weight = fit.est.kind_weights_.get(score.metric + "+" * score.item_effects, 0.0)
        found = float(score.accuracy), float(score.log_loss)
        yield ComparedKind(name, score.metric, score.item_effects, *found, weight > 0, float(weight))


def _advice(kinds: tuple[ComparedKind, ...], n_answers: int) -> str:
    """Whether a richer or a simpler kind predicts answers better."""
    alike = max(ALIKE, CHANCE / math.sqrt(n_answers))
    used = next((kind for kind in kinds if kind.in_use), None)
    if used is None:
        return ""
    best = min(kinds, key=lambda kind: kind.log_loss)
    if best.log_loss < used.log_loss - alike:
        losses = f"(log loss {best.log_loss:.3f} against {used.log_loss:.3f})"
        if best.metric == "items":
            return f"Items by themselves predict answers better {losses}: the features miss something."
        size = _size(best, used)
        return f"A {size} kind, '{best.name}', predicts answers better {losses}: {_how(best)} fits it."
    for kind in kinds:
        simpler = kind.metric != "items" and _size(kind, used) == "simpler"
        if simpler and kind.log_loss <= used.log_loss + ALIKE:
            return f"A simpler kind, '{kind.name}', predicts answers as well: {_how(kind)} fits it."
    return "No other kind predicts answers clearly better than the one in use."


def _size(kind: ComparedKind, used: ComparedKind) -> str:
    """Simpler or richer than the one in use; different where it is more in one way and less in another."""
    order = list(KINDS)
    steps = (order.index(kind.metric) - order.index(used.metric), kind.item_effects - used.item_effects)
    if kind is used or (min(steps) < 0 < max(steps)):
        return "different"
    return "simpler" if min(steps) < 0 else "richer"


def _how(kind: ComparedKind) -> str:
    return f"metric='{kind.metric}'" + (" with item_effects=True" if kind.item_effects else "")


def _ceiling(data: Comparisons) -> float:
    """The best accuracy any model can have: of each pair the more common answer; a tie is half of each."""
    winners, losers, weights = data.oriented()
    codes = np.minimum(winners, losers) * data.n_items + np.maximum(winners, losers)
    _, pair = np.unique(codes, return_inverse=True)
    one_way, other_way = (np.bincount(pair, weights * way) for way in (winners < losers, winners > losers))
    return float(np.maximum(one_way, other_way).sum() / weights.sum())


def _repeats(data: Comparisons) -> tuple[int, int, int, int]:
    """Different pairs, those asked more than once, those answered both ways, and ties."""
    used, tied = data.weights > 0, data.y == 0
    low, high = np.sort(data.pairs, axis=1).T
    pair = low * data.n_items + high
    _, asked = np.unique(pair[used], return_counts=True)
    lower_won = (data.y > 0) == (data.pairs[:, 0] == low)
    both = np.intersect1d(pair[used & ~tied & lower_won], pair[used & ~tied & ~lower_won])
    return len(asked), int((asked > 1).sum()), len(both), int((used & tied).sum())


def _effects(fit: ExplainedFit) -> float | None:
    """Spread of the items' own effects over that of what their features say; None if not supported."""
    described = fit.est.description()
    if (
        not fit.features
        or fit.est.item_effects_ is None
        or described is None
        or described.effects_log_odds < EFFECTS_ODDS
    ):
        return None
    spread = float(fit.surface.model.distance(fit.data.item_table).std())
    return float(np.std(fit.est.item_effects_)) / spread if spread > 0 else None


def _surprises(fit: ExplainedFit) -> tuple[SurprisingAnswer, ...]:
    """The answers with the least probability, each once."""
    data = fit.data
    first = fit.est.predict_proba(data)[:, 1]
    given = np.where(data.y > 0, first, 1 - first)
    given = np.where((data.y != 0) & (data.weights > 0), given, 1.0)
    wins = np.where(data.y[:, None] < 0, data.pairs[:, ::-1], data.pairs)
    found: dict[tuple[int, int], SurprisingAnswer] = {}
    for k in np.argsort(given, kind="stable"):
        if given[k] >= SURPRISING or len(found) == MOST_SURPRISES:
            break
        winner, loser = int(wins[k, 0]), int(wins[k, 1])
        surprise = SurprisingAnswer(fit.compared[winner], fit.compared[loser], float(given[k]))
        found.setdefault((winner, loser), surprise)
    return tuple(found.values())


def _about_the_fit(fit: ExplainedFit) -> Iterator[tuple[str, str]]:
    """Sentences of caution, each after its kind."""
    posterior, status = fit.surface.posterior, fit.est.status_
    if posterior is not None and posterior.rhat > CHAINS_APART:
        yield (
            "chains apart",
            (
                f"The sampler's chains did not agree (R-hat {posterior.rhat:.2f}, 1 being perfect). "
                "The numbers here may change with random_state."
            ),
        )
    elif status not in GOOD_ENDS:
        yield "not converged", f"The fit did not converge (it ended as {status})."
    if posterior is not None and not posterior.sampled:
        text = "There are many answers: the intervals come from a Gaussian about the best fit."
        yield "not sampled", text


def _about_the_taste(
    fit: ExplainedFit, kinds: tuple[ComparedKind, ...], ideal: tuple[FeatureVerdict, ...]
) -> Iterator[tuple[str, str]]:
    losses = {kind.metric: kind.log_loss for kind in kinds if not kind.item_effects}
    worst = [one.feature for one in ideal if one.verdict == WORST]
    if worst:
        yield "anti-ideal", f"The middle is the worst, not the best: {', '.join(worst)}."
    elif fit.has_ideal and not fit.is_average and _looks_anti_ideal(losses, len(fit.data)):
        yield (
            "anti-ideal",
            (
                "Along some direction the middle looks worst: metric='signed' predicts answers clearly "
                f"better (log loss {losses['signed']:.3f} against {losses[fit.est.kind_]:.3f})."
            ),
        )
    used = [kind.log_loss for kind in kinds if kind.in_use]
    if used and min(used) > COIN - ALIKE:
        yield "coin", "The kind in use predicts answers no better than a coin does."
    elif len(fit.data) >= ENOUGH and fit.est.score(fit.data) < AGREED * _ceiling(fit.data):
        yield (
            "several tastes",
            (
                "More than a fifth of the answers go against what was learned from them: there may be "
                "several tastes or people behind them, or "
                + ("something that no feature says." if fit.features else "choices that go in circles.")
            ),
        )


def _looks_anti_ideal(losses: dict[str, float], n_answers: int) -> bool:
    """Whether neither an ideal nor a slope will do."""
    others = [loss for metric, loss in losses.items() if metric != "signed"]
    if "signed" not in losses or not others:
        return False
    return losses["signed"] < min(others) - max(CLEAR, MORE_CHANCE / math.sqrt(n_answers))
