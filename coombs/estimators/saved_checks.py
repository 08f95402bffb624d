"""What must be true of the records in a file of a fitted estimator, beyond the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coombs.data.answers import Answers
from coombs.data.comparisons import Comparisons
from coombs.data.directions import Directions
from coombs.data.encoding import Encoding
from coombs.data.graph import ComparisonGraph
from coombs.data.held_out import HeldOut
from coombs.data.orders import NONE, Orders, Ratings
from coombs.data.orders import SHAPES as SHAPE_NAMES
from coombs.data.rival_sets import RivalSets
from coombs.data.scaling import LARGEST, Scaler
from coombs.data.tables import LARGEST_WEIGHT, NO_LEVELS, ItemTable, Levels
from coombs.estimators.alternating import Iterate
from coombs.estimators.base import Fit, PairEstimator
from coombs.estimators.description import Description
from coombs.estimators.fitted import TasteFit
from coombs.inference.infer import Inference
from coombs.inference.kernel import Bumps, Kernel
from coombs.inference.kinds import KINDS
from coombs.inference.left_out import LeftOut
from coombs.inference.levels import WithLevels
from coombs.inference.mixture import Mixture
from coombs.inference.sampler import Tuning
from coombs.inference.smooth import GaussianScores, Smooth
from coombs.inference.target import Target
from coombs.inference.wishart import Full

SHAPES: Mapping[type, Mapping[str, str]] = {
    Comparisons: {
        "items": "ND",
        "item_names": "N",
        "feature_names": "D",
        "pairs": "m2",
        "y": "m",
        "weights": "m",
        "users": "m",
    },
    ItemTable: {"matrix": "nD", "names": "n", "features": "D"},
    Scaler: {"centre": "D", "sizes": "D", "spreads": "D", "varies": "D", "columns": "K"},
    Fit: {"metric": "KK", "ideal_point": "K", "distances": "N"},
    TasteFit: {"linear": "K", "predictor": "KK", "effects": "N", "described_linear": "K"},
    Iterate: {"ideal_point": "D", "metric": "DD"},
    Orders: {"members": "m", "tiers": "m", "starts": "a", "shapes": "a", "weights": "a", "users": "a"},
    Ratings: {"items": "a", "levels": "a", "values": "v", "weights": "a", "users": "a"},
    RivalSets: {"scales": "a", "members": "m", "starts": "q", "signs": "q", "ahead": "t"},
    HeldOut: dict.fromkeys(("winners", "losers", "questions", "weights", "shares", "chance"), "p"),
    Answers: {"items": "tK", "touched": "t", "winners": "p", "losers": "p", "weights": "p"},
    Directions: {"columns": "k", "signs": "k", "ranges": "k2", "points": "mK"},
    ComparisonGraph: {"winners": "p", "losers": "p"},
    Target: {"items": "tK", "weights": "p"},
    Full: {"basis": "bb"},
    Inference: {"draws": "su", "mode": "u"},
    Tuning: {"root": "rr"},
    LeftOut: {"probabilities": "p"},
    Mixture: {"weights": "k"},
    Kernel: {"support": "sK", "relevances": "K", "own_relevances": "K"},
    GaussianScores: {"mean": "u", "lower": "uu", "features": "tf", "root": "tt"},
    Smooth: {"left": "p"},
    Description: {"items": "NK", "weights": "k", "shapes": "K4", "leanings": "K", "_large": "K"},
}
"""Of arrays: N items and D features, of which K are learned from; small letters are of one record."""
MAY_BE_NAN = frozenset(
    ("ideal_point", "gap", "ur_error", "annealed_evidence", "log_evidence", "effects_log_odds", "_odds")
)
"""Fields that may have no value."""
CLOSE = 1e-6
"""Weights of an average add up to 1 within this."""


def _has_places(values: Any, n: int) -> bool:
    """Whether these are positions among n."""
    return not values.size or bool(values.min() >= 0 and values.max() < n)


def _wrong_data(data: Comparisons) -> str | None:
    pairs, weights = data.pairs, data.weights
    if not _has_places(pairs, data.n_items) or (pairs[:, 0] == pairs[:, 1]).any():
        return "about items that are not there"
    if not np.isin(data.y, (-1, 0, 1)).all() or not ((weights >= 0) & (weights <= LARGEST_WEIGHT)).all():
        return "of answers that cannot be"
    return _wrong_table(data.item_table) if data.answer_weights.any() else "without answers"


def _wrong_orders(orders: Orders) -> str | None:
    sizes = np.diff(orders.starts, append=len(orders.members))
    if (
        not len(sizes)
        or orders.starts[0] != 0
        or (sizes < 2).any()
        or not _has_places(orders.shapes, len(SHAPE_NAMES))
    ):
        return "of answers that cannot be"
    owners = np.repeat(np.arange(len(sizes)), sizes)
    steps = np.diff(orders.tiers)[owners[1:] == owners[:-1]]
    if (orders.tiers[orders.starts] != 0).any() or not np.isin(steps, (0, 1)).all():
        return "of tiers that are not in order"
    fits = ((orders.weights >= 0) & (orders.weights <= LARGEST_WEIGHT)).all()
    return None if fits and orders.members.min() >= NONE else "of answers that cannot be"


def _wrong_ratings(ratings: Ratings) -> str | None:
    if not _has_places(ratings.levels, len(ratings.values)) or (np.diff(ratings.values) <= 0).any():
        return "of levels that are not on its scale"
    fits = ((ratings.weights >= 0) & (ratings.weights <= LARGEST_WEIGHT)).all()
    return None if fits and len(ratings.items) and ratings.items.min() >= 0 else "of answers that cannot be"


def _wrong_sets(sets: RivalSets) -> str | None:
    sizes = np.diff(sets.starts, append=len(sets.members))
    whole = len(sizes) == 0 and len(sets.members) == 0
    fits = whole or (sets.starts[0] == 0 and (sizes >= 2).all() and np.isin(sets.signs, (-1, 1)).all())
    return None if fits else "of sets that cannot be"


def _wrong_held_out(held: HeldOut) -> str | None:
    is_chance = (held.chance > 0) & (held.chance < 1)
    if not is_chance.all() or not 0 < held.n_answers <= len(held.weights) or held.questions.min() < 0:
        return "of answers that cannot be"
    return None if (held.weights >= 0).all() and (held.shares >= 0).all() else "of weights that cannot be"


def _wrong_table(table: ItemTable) -> str | None:
    texts, features = table.texts, [] if table.features is None else list(table.features)
    if len(set(texts)) < len(texts) or len(set(map(str, features))) < len(features):
        return "a table with a name twice"
    if not all(isinstance(name, str) for name in features):
        return "a table whose features' names are no texts"
    if table.n_scaled is not None and not 1 <= table.n_scaled <= len(texts):
        return "a table whose scale is of items that are not there"
    return None if np.abs(table.matrix).max(initial=0.0) <= LARGEST else "a table with numbers that overflow"


def _are_levels(levels: Levels, n_columns: int) -> bool:
    """Whether blocks are of different columns among so many."""
    places = [j for block in levels.blocks for j in block]
    is_whole = len(levels.blocks) == len(levels.present) and all(levels.blocks)
    return is_whole and len(set(places)) == len(places) and all(0 <= j < n_columns for j in places)


def _wrong_encoding(encoding: Encoding) -> str | None:
    try:
        same = Encoding.from_dict(encoding.to_dict()) == encoding
    except ValueError as error:
        return f"an encoding that cannot be ({error})"
    return None if same else "an encoding that cannot be"


def _wrong_scaler(scaler: Scaler) -> str | None:
    columns = scaler.columns
    if not _has_places(columns, len(scaler.sizes)) or len(set(columns.tolist())) < len(columns):
        return "of features that are not there"
    if not _are_levels(scaler.levels, len(columns)):
        return "of levels that are not there"
    sizes = np.concatenate([scaler.sizes, scaler.spreads])
    return None if ((sizes >= 1 / LARGEST) & (sizes <= LARGEST)).all() else "with sizes that cannot be"


def _wrong_fit(fit: Fit) -> str | None:
    if len({bool(one) for one in np.isnan(fit.ideal_point)}) > 1:
        return "an ideal point of which a part is missing"
    if (np.abs(fit.metric - fit.metric.T) > CLOSE * np.abs(fit.metric).max(initial=0.0)).any():
        return "with a metric that is not symmetric"
    if not isinstance(fit, TasteFit):
        return None
    if fit.kind not in (*KINDS, "smooth"):
        return "of an unknown kind"
    if fit.bumps is not None and fit.bumps.weights.ndim != 1:
        return "with bumps of another size"
    return None if 0 <= fit.lapse <= 1 else "with a lapse that is no share"


def _wrong_answers(answers: Answers) -> str | None:
    n = answers.n_rows
    ends = np.concatenate([answers.winners, answers.losers])
    sets = answers.sets
    if sets is not None and not (
        _has_places(sets.members, n - sets.n_sets) and _has_places(sets.ahead, len(answers.items))
    ):
        return "of sets of items that are not there"
    if not len(ends) or not _has_places(ends, n) or not _has_places(answers.touched, answers.n_items):
        return "about items that are not there"
    if not _are_levels(answers.levels, answers.items.shape[1]):
        return "about levels that are not there"
    return None if (answers.weights > 0).all() else "of weights that cannot be"


def _wrong_directions(directions: Directions) -> str | None:
    fits = len(directions.points) and _has_places(directions.columns, directions.points.shape[1])
    is_signed = np.isin(directions.signs, (-1, 1)).all() and len(directions.signs)
    is_range = (directions.ranges[:, 1] > directions.ranges[:, 0]).all()
    return None if fits and is_signed and is_range else "of features that are not there"


def _wrong_graph(graph: ComparisonGraph) -> str | None:
    ends = np.concatenate([graph.winners, graph.losers])
    return None if len(ends) and _has_places(ends, graph.n_items) else "about items that are not there"


def _wrong_target(target: Target) -> str | None:
    n_more = 0 if target.sets is None else target.sets.n_rows
    if target.graph.n_items != len(target.items) + n_more or target.graph.n_answers != len(target.weights):
        return "about other items than its answers"
    if target.lapse is not None and not 0 <= target.lapse < 1:
        return "with a lapse that is no share"
    kind, levels = target.kind, NO_LEVELS
    if isinstance(kind, WithLevels):
        levels, kind = kind.levels, kind.kind
    n_plain = target.d - sum(map(len, levels.blocks))
    basis = kind.basis if isinstance(kind, Full) else None
    if not _are_levels(levels, target.d) or (basis is not None and len(basis) != n_plain):
        return "of features that are not there"
    return None if (target.weights >= 0).all() and target.weights.any() else "of weights that cannot be"


def _wrong_inference(part: Inference) -> str | None:
    if part.draws.shape[1] != part.target.n or not len(part.draws):
        return "of other unknowns than its target"
    most = 0 if part.tuning is None else len(part.tuning.root)
    return None if most <= part.target.n else "tuned for other unknowns"


def _wrong_bumps(bumps: Bumps) -> str | None:
    fits = bumps.weights.ndim in (1, 2) and len(bumps.weights) == len(bumps.kernel.support)
    return None if fits and len(bumps.weights) else "of weights that are not the bumps'"


def _wrong_smooth(part: Smooth) -> str | None:
    scores, n, d = part.posterior, *part.answers.items.shape
    rows, columns = scores.features.shape
    if part.basis.weights.ndim != 2 or scores.d != d or columns != d + part.basis.weights.shape[1]:
        return "of features that are not its own"
    n_anchors = 0 if part.answers.sets is None else part.answers.sets.n_anchors
    if len(scores.mean) != (columns if scores.root is None else rows) + n_anchors:
        return "of unknowns that are not its own"
    if (part.has_effects or scores.root is not None) and (scores.root is None or rows != n):
        return "of effects of other items"
    roots = [scores.lower] + ([] if scores.root is None else [scores.root])
    if not 0 <= scores.lapse < 1 or not all((np.diagonal(root) > 0).all() for root in roots):
        return "of no Gaussian"
    return (
        None if len(part.left) == len(part.answers.held_out.weights) else "of other answers than it predicts"
    )


def _wrong_left_out(left: LeftOut) -> str | None:
    is_probability = (left.probabilities > 0) & (left.probabilities < 1)
    return None if is_probability.all() and left.weights.any() else "of no probabilities"


def _wrong_mixture(mixture: Mixture) -> str | None:
    n = len(mixture.parts)
    if not n:
        return "of nothing"
    found = vars(mixture)
    shares = found.get("_probabilities")
    if len(found.get("left_out", mixture.parts)) != n or (shares is not None and len(shares) != n + 1):
        return "of as many parts as it has not"
    n_held = len(mixture.answers.held_out.weights)
    tested = (*found.get("left_out", ()), *([found["predicted"]] if "predicted" in found else []))
    if any(len(one.weights) != n_held for one in tested):
        return "tested on other answers"
    for weights in (found.get("weights"), shares):
        if weights is not None and not _are_shares(weights, weights is shares):
            return "of weights that are no shares"
    return None if 0 <= found.get("coin", 0.0) <= 1 else "of weights that are no shares"


def _are_shares(weights: Any, with_coin: bool) -> bool:
    return bool((weights >= 0).all() and abs(weights.sum() - 1) <= CLOSE) or (with_coin and not len(weights))


def _wrong_description(described: Description) -> str | None:
    weights = vars(described).get("weights", np.ones(len(described.parts)) / max(len(described.parts), 1))
    if len(weights) != len(described.parts) or not _are_shares(weights, with_coin=False):
        return "of weights that are no shares"
    known = vars(described).get("_odds", {})
    fits = all(0 <= j < described.items.shape[1] for j in known)
    return None if fits else "of features that are not there"


CHECKS: Mapping[type, Callable[[Any], str | None]] = {
    Comparisons: _wrong_data,
    Orders: _wrong_orders,
    Ratings: _wrong_ratings,
    RivalSets: _wrong_sets,
    HeldOut: _wrong_held_out,
    ItemTable: _wrong_table,
    Scaler: _wrong_scaler,
    Fit: _wrong_fit,
    Answers: _wrong_answers,
    Directions: _wrong_directions,
    ComparisonGraph: _wrong_graph,
    Encoding: _wrong_encoding,
    Target: _wrong_target,
    Inference: _wrong_inference,
    Bumps: _wrong_bumps,
    Smooth: _wrong_smooth,
    LeftOut: _wrong_left_out,
    Mixture: _wrong_mixture,
    Description: _wrong_description,
}
"""What is wrong with a record, or None."""


def is_scaler_of(scaler: Scaler, data: Comparisons, standardize: bool, drop_constant: bool) -> bool:
    """Whether features are scaled as the items call for, up to another machine's rounding."""
    wanted = Scaler.of(
        data.items, standardize, drop_constant=drop_constant, levels=data.levels, n_scaled=data.n_scaled
    )
    off = np.abs(scaler.centre - wanted.centre) / wanted.spreads
    sizes = [scaler.sizes / wanted.sizes, scaler.spreads / wanted.spreads]
    has_levels = scaler.levels.blocks == wanted.levels.blocks
    return bool(has_levels and (off <= CLOSE).all() and (np.abs(np.array(sizes) - 1) <= CLOSE).all())


def behaves(est: PairEstimator) -> bool:
    """Whether a fitted estimator's scores are numbers, and its draws."""
    numbers = [est.distances_, est._distance_of(est._data.item_table)]
    posterior = getattr(est, "posterior_", None)
    if posterior is not None:
        names = ("metrics", "linears", "lapses", "effects", "coefficients", "levels")
        drawn = [getattr(posterior, name) for name in names]
        numbers += [values for values in drawn if values is not None]
        numbers.append(est.predict_proba(est._data[:1]))
    return all(np.isfinite(values).all() for values in numbers)
