"""What a population tells of anybody, as a record that is small, frozen, and kept as JSON.

It has neither names nor answers of anybody: means and covariances of people's weights for each kind of
preference, and how items become what those are weights of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from coombs.data.json_records import Reader, Schema, Writer
from coombs.data.scaling import LARGEST, Scaler
from coombs.data.strict_json import read_json
from coombs.data.tables import InputError, Levels
from coombs.inference.kernel import Bumps, Kernel
from coombs.inference.people.coordinates import KINDS, Coordinates
from coombs.inference.people.covariate_slopes import CovariateSlopes
from coombs.inference.people.population_prior import PopulationPrior
from coombs.inference.people.tastes import KindPrior, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coombs.data.graph import Index, Matrix, Vector

FORMAT = "coombs-prior"
"""What the JSON of a prior says that it is."""
VERSION = 1
"""Of that format."""
HINT = "take a prior that a fitted Population gave"
"""What a record that cannot be read should be."""
MOST_PARTS = 4
"""Parts that are used while questions are asked, at most;"""
LEAST_WEIGHT = 0.1
"""and the weight of each beside the largest."""
NAMED = 4
"""Columns that a sentence names."""
CLOSE = 1e-6
"""By how much shares may miss a sum of 1."""


@dataclass(frozen=True, eq=False)
class PeoplePrior:
    """What is known of anybody before any answer, of each kind of preference in an average.

    Parameters
    ----------
    parts, weights : of each kind, and its share of the average
    scaler : how features in the user's units become those of the parts
    feature_names : of the features; empty where they have none
    items, item_names : those that have effects of their own in a part, in the user's units, and what they are
        called; empty where no item has, or none has a name
    n_people, n_answers : from which it was learned
    """

    parts: tuple[KindPrior, ...]
    weights: Vector
    scaler: Scaler
    feature_names: tuple[str, ...]
    items: Matrix
    item_names: tuple[str, ...]
    n_people: int
    n_answers: int

    def to_json(self) -> str:
        """As text, which `people_prior_of` reads."""
        writer = Writer(_schema())
        record = writer.write(self)
        content = {"format": FORMAT, "version": VERSION, "prior": record, "arrays": writer.arrays}
        return json.dumps(content, separators=(",", ":"), allow_nan=False)

    def lean(self) -> PeoplePrior:
        """With the parts that weigh most alone, so that a click stays quick."""
        order = np.argsort(-self.weights, kind="stable")[:MOST_PARTS]
        kept = np.sort(order[self.weights[order] >= LEAST_WEIGHT * self.weights.max()])
        weights = self.weights[kept] / self.weights[kept].sum()
        parts = tuple(self.parts[k] for k in kept)
        if any(part.coordinates.n_effects for part in parts):
            return replace(self, parts=parts, weights=weights)
        return replace(self, parts=parts, weights=weights, items=self.items[:0], item_names=())

    def for_features(self, names: Sequence[str] | None, n_features: int) -> PeoplePrior:
        """The same for items whose features are these, in this order; an InputError where they differ."""
        own, given = self.feature_names, tuple(map(str, names or ()))
        if own and given:
            refuse_other_columns(own, given)
        if n_features != len(self.scaler.sizes):
            raise InputError(
                f"The prior is of {len(self.scaler.sizes)} features, and the items have {n_features}; "
                "fit the Population to items with the same features."
            )
        if not own or not given or own == given:
            return self
        order = np.array([own.index(name) for name in given], dtype=np.intp)
        place = np.argsort(order)
        scaler = replace(
            self.scaler,
            **{name: getattr(self.scaler, name)[order] for name in ("centre", "sizes", "spreads", "varies")},
            columns=place[self.scaler.columns],
        )
        return replace(self, scaler=scaler, items=self.items[:, order], feature_names=given)

    def with_features(self, names: Sequence[str]) -> PeoplePrior:
        """The same for items that also have features which it tells nothing of, after its own."""
        more = tuple(name for name in names if name not in self.feature_names)
        if not more or not self.feature_names:
            return self
        own, n = self.scaler, len(more)
        scaler = replace(
            own,
            centre=np.append(own.centre, np.zeros(n)),
            sizes=np.append(own.sizes, np.ones(n)),
            spreads=np.append(own.spreads, np.ones(n)),
            varies=np.append(own.varies, np.zeros(n, dtype=bool)),
        )
        items = np.hstack([self.items, np.zeros((len(self.items), n))])
        return replace(self, scaler=scaler, items=items, feature_names=(*self.feature_names, *more))

    def about(self, matrix: Matrix, names: Sequence[str] | None, scaler: Scaler) -> ItemsPrior:
        """The same about the items of a table, which another scaler has made others of."""
        place = {int(column): k for k, column in enumerate(scaler.columns)}
        own, columns = self.scaler, self.scaler.columns
        # z' = (x - c') / s' with x = c + s z; what the other scaler left out is the same for all.
        learned = np.array([int(column) in place for column in columns], dtype=bool)
        left_out = (matrix[:1].mean(axis=0) if len(matrix) else own.centre)[columns]
        middle = np.where(learned, scaler.centre[columns], left_out)
        factors = np.where(learned, scaler.sizes[columns] / own.sizes[columns], 0.0)
        shifts = (middle - own.centre[columns]) / own.sizes[columns]
        places = np.array([place.get(int(column), 0) for column in columns], dtype=np.intp)
        return ItemsPrior(self.parts, self.weights, places, factors, shifts, self._known(matrix, names))

    def _known(self, matrix: Matrix, names: Sequence[str] | None) -> Index:
        """(N,) which of the items with effects each is, -1 if none."""
        known = np.full(len(matrix), -1)
        if not len(self.items):
            return known
        if names is not None and self.item_names:
            position = {name: i for i, name in enumerate(self.item_names)}
            return np.array([position.get(name, -1) for name in names], dtype=np.intp)
        same = names is None and not self.item_names and np.array_equal(matrix, self.items)
        return np.arange(len(matrix)) if same else known


@dataclass(frozen=True, eq=False)
class ItemsPrior:
    """A prior about the items of one table, which come scaled in another way.

    The features of the parts are `factors` times columns of those items, by `places`, plus `shifts`.
    """

    parts: tuple[KindPrior, ...]
    weights: Vector
    places: Index
    factors: Vector
    shifts: Vector
    known: Index = field(repr=False)

    def light(self) -> ItemsPrior:
        """Only how much each part weighs."""
        return replace(self, parts=(), known=self.known[:0])

    def seen(self, items: Matrix, positions: Index) -> tuple[Seen, ...]:
        """Some of the items as each part sees them; what is own to a person goes by position."""
        some = items[positions]
        moved = some[:, self.places] if some.shape[1] else np.zeros((len(some), len(self.places)))
        scaled = moved * self.factors + self.shifts
        known = self.known[positions]
        return tuple(Seen(part.coordinates(scaled, known), np.asarray(positions)) for part in self.parts)


def people_prior_of(text: str) -> PeoplePrior:
    """The prior in JSON text, every value of which is checked."""
    data = read_json(text, "The prior", HINT)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"The prior is not of the format {FORMAT!r}; {HINT}.")
    version = data.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(f"The prior has version {version!r}; this coombs reads 1 to {VERSION}.")
    reader = Reader(_schema(), data.get("arrays"), "The prior")
    found: PeoplePrior = reader.read(data.get("prior"), PeoplePrior, "prior")
    return found


@cache
def _schema() -> Schema:
    """The closed list of records that a prior is made of."""
    floats, places = np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.intp]]
    bools = np.ndarray[Any, np.dtype[np.bool_]]
    return Schema(
        (
            PeoplePrior,
            KindPrior,
            PopulationPrior,
            CovariateSlopes,
            Coordinates,
            Bumps,
            Kernel,
            Scaler,
            Levels,
        ),
        aliases={"Matrix": floats, "Vector": floats, "FloatArray": floats, "Index": places, "Flags": bools},
        shapes={
            **PRIOR_SHAPES,
            PeoplePrior: {"weights": "w", "items": "nD"},
            Scaler: {"centre": "D", "sizes": "D", "spreads": "D", "varies": "D", "columns": "K"},
            Kernel: {"support": "sK", "relevances": "K", "own_relevances": "K"},
            KindPrior: {"doubts": "gcc"},
        },
        checks={
            PeoplePrior: _wrong_people,
            **PRIOR_CHECKS,
            KindPrior: _wrong_kind,
            Bumps: _wrong_bumps,
            Scaler: _wrong_scaler,
        },
    )


def refuse_other_columns(own: Sequence[str], given: Sequence[str]) -> None:
    """InputError that names what items have and a prior does not, or the other way round."""
    more = [name for name in given if name not in own]
    less = [name for name in own if name not in given]
    parts = [f"have {', '.join(map(repr, more[:NAMED]))}, which it was not learned from"] if more else []
    parts += [f"lack {', '.join(map(repr, less[:NAMED]))}"] if less else []
    if parts:
        raise InputError(
            f"The prior was learned from other features: the items {', and '.join(parts)}; fit the "
            "Population to items with the same features."
        )


def _wrong_people(found: PeoplePrior) -> str | None:
    if not found.parts or len(found.parts) != len(found.weights) or not _are_shares(found.weights):
        return "of weights that are no shares of its parts"
    d, n = len(found.scaler.columns), len(found.items)
    if any(part.coordinates.n_features != d for part in found.parts):
        return "of features that are not its scaler's"
    if any(part.coordinates.n_effects not in (0, n) for part in found.parts):
        return "of effects of items that are not there"
    if found.item_names and len(found.item_names) != n:
        return "of as many names as it has no items"
    if found.feature_names and len(found.feature_names) != len(found.scaler.sizes):
        return "of as many names as it has no features"
    if any(len(set(names)) < len(names) for names in (found.feature_names, found.item_names)):
        return "with a name twice"
    return None if min(found.n_people, found.n_answers) >= 0 else "learned from fewer than no people"


def _wrong_kind(part: KindPrior) -> str | None:
    if part.coordinates.size != len(part.prior.root) or part.doubts.shape[:2] != part.prior.means.shape:
        return "of coordinates that are not its prior's"
    if not np.array_equal(part.coordinates.blocks, part.prior.blocks):
        return "of blocks that are not its coordinates'"
    return None if all(is_covariance(doubt) for doubt in part.doubts) else "of doubts that cannot be"


def _wrong_prior(prior: PopulationPrior) -> str | None:
    if not len(prior.root) or not _are_shares(prior.shares) or not len(prior.shares):
        return "of shares that are none"
    blocks = prior.blocks
    if (
        blocks.min() < 0
        or len(np.unique(blocks)) != blocks.max() + 1
        or len(prior.shared) != blocks.max() + 1
    ):
        return "of blocks that are not there"
    if not 0 <= prior.lapse < 1 or not 0 < prior.coin < 1 or prior.effect < 0 or prior.caution <= 0:
        return "with a lapse rate, a coin or an effect that cannot be"
    if not 0 <= prior.uneven < 1:
        return "of more uneven people than there are"
    slopes = prior.slopes
    if slopes is not None and (len(slopes.gamma), slopes.variances.shape[1]) != (
        len(blocks),
        len(prior.shared),
    ):
        return "of covariates' slopes that are not its weights'"
    if np.triu(prior.root, 1).any() or not (prior.root.diagonal() > 0).all():
        return "of a root that is none"
    return None if (prior.shared > 0).all() else "of variances that cannot be"


def _wrong_coordinates(made: Coordinates) -> str | None:
    d, bumps = made.n_features, made.bumps
    if made.kind not in KINDS or d < 0 or made.n_effects < 0:
        return "of a kind that is not known"
    places = np.concatenate([made.squares, made.products.ravel()])
    if len(places) and (places.min() < 0 or places.max() >= d):
        return "of features that are not there"
    if bumps is not None and (bumps.weights.ndim != 2 or bumps.kernel.support.shape[1] != d):
        return "of bumps that are not its features'"
    size = d + len(made.squares) + len(made.products) + made.n_effects
    size += 0 if bumps is None else bumps.weights.shape[1]
    return None if size == made.size and (made.scales > 0).all() else "of another size than its blocks"


def _wrong_bumps(bumps: Bumps) -> str | None:
    fits = len(bumps.weights) == len(bumps.kernel.support) and len(bumps.weights) > 0
    places = [j for block in bumps.kernel.blocks for j in block]
    inside = all(0 <= j < len(bumps.kernel.relevances) for j in places) and len(set(places)) == len(places)
    return None if fits and inside and all(bumps.kernel.blocks) else "of weights that are not the bumps'"


def _wrong_scaler(scaler: Scaler) -> str | None:
    columns, d = scaler.columns.tolist(), len(scaler.sizes)
    if len(set(columns)) < len(columns) or not all(0 <= j < d for j in columns):
        return "of features that are not there"
    levels = [j for block in scaler.levels.blocks for j in block]
    if len(scaler.levels.blocks) != len(scaler.levels.present) or not all(
        0 <= j < len(columns) for j in levels
    ):
        return "of levels that are not there"
    sizes = np.concatenate([scaler.sizes, scaler.spreads])
    return None if ((sizes >= 1 / LARGEST) & (sizes <= LARGEST)).all() else "with sizes that cannot be"


def _wrong_slopes(slopes: CovariateSlopes) -> str | None:
    n = len(slopes.variances)
    if not len(slopes.sources) or slopes.sources.min() < 0 or slopes.sources.max() >= n:
        return "of covariates that are not there"
    return (
        None if (slopes.variances > 0).all() and is_covariance(slopes.spread) else "of sizes that cannot be"
    )


PRIOR_SHAPES: Mapping[type, Mapping[str, str]] = {
    PopulationPrior: {
        "means": "gc",
        "root": "cc",
        "shares": "g",
        "blocks": "c",
        "shared": "b",
        "differences": "cc",
    },
    Coordinates: {"squares": "s", "products": "p2", "blocks": "c", "scales": "c"},
    CovariateSlopes: {"gamma": "cq", "sources": "q", "variances": "sb", "spread": "qq"},
}
"""Of the arrays of a kind's prior, a letter an axis, wherever it is kept."""
PRIOR_CHECKS: Mapping[type, Callable[[Any], str | None]] = {
    PopulationPrior: _wrong_prior,
    Coordinates: _wrong_coordinates,
    CovariateSlopes: _wrong_slopes,
}
"""What is wrong with a record of a kind's prior, or None."""


def _are_shares(weights: Vector) -> bool:
    return bool((weights > 0).all() and abs(float(weights.sum()) - 1) <= CLOSE)


def is_covariance(matrix: Matrix) -> bool:
    """Whether it is symmetric and has no negative variance, to rounding."""
    size = float(np.abs(matrix).max(initial=0.0)) + 1e-300
    if float(np.abs(matrix - matrix.T).max(initial=0.0)) > CLOSE * size:
        return False
    return bool(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0] >= -CLOSE * size)
