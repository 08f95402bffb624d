"""Why one item comes before another: which features speak for it, which for the other, and how sure that is.

What feature j does for item a against item b is half the sum of what b would gain with a's value of j and
what a would lose with b's: with s the score, less being better,
(s(b) - s(b with a_j) + s(a with b_j) - s(a)) / 2. What is left of s(b) - s(a) is told by features together,
or by something that no feature has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import naming, tables
from coombs.data.catalogue import Catalogue
from coombs.data.encoding import CATEGORY, LOG, NUMBER, FeatureColumn
from coombs.data.tables import InputError
from coombs.insights.columns import cells_of, range_of, table_columns
from coombs.insights.curves import thinned
from coombs.insights.statements import CONSTANT, HARDLY, NOT_KNOWN
from coombs.language import Translatable
from coombs.words import chance, listed, numbers, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coombs.data.tables import FloatArray
    from coombs.estimators.taste import TasteEstimator
    from coombs.inference.posterior import Posterior
    from coombs.insights.statements import FeatureVerdict
    from coombs.model import Model

SURE = 0.9
"""Probability from which on a feature is said to speak for an item."""
WORTH_TELLING = 0.1
"""Share of all that features do, either way, below which one is not told."""
MOST_TOLD = 2
"""Features that are told for each of two items."""
LIKELY = 0.75
"""Probability from which on it is said that a feature may speak for an item, if none surely does."""
CLEAR = 0.6
"""Probability from which on one of two items is said to be better."""
UNKNOWN = (NOT_KNOWN, HARDLY, CONSTANT)
"""Verdicts on features that give no reason."""
MOST_DRAWS = 400
"""Draws that it is computed from."""


@dataclass(frozen=True)
class Reason:
    """What one feature does for the first of two items.

    Parameters
    ----------
    feature : name of the column
    values : of the first and of the second item, as text
    gain : how much it speaks for the first item, in logits; below zero it speaks for the second
    probability : that it speaks for the first
    is_known : whether the answers show that the feature matters, and what is wanted of it
    """

    feature: str
    values: tuple[str, str]
    gain: float
    probability: float
    is_known: bool

    @property
    def text(self) -> str:
        """As "price (900 against 1100)"."""
        first, second = self.values
        return Translatable(
            "{feature} ({value} against {other})", feature=self.feature, value=first, other=second
        )


@dataclass(frozen=True)
class ItemComparison:
    """Two items side by side: which is better, how sure that is, and why.

    Parameters
    ----------
    first, second : what the items are called
    probability : that the first is better
    gain : by how much, in logits
    reasons : what each feature in which they differ does, the most first
    rest : what is told by no feature alone, in logits

    Examples
    --------
    >>> from coombs import IdealPoint
    >>> items = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]
    >>> est = IdealPoint(items, metric="none").fit([[3, 2], [2, 1], [1, 0], [3, 0]] * 4)
    >>> found = est.compare(3, 0)
    >>> found.reasons[0].feature, found.gain > 0
    ('feature 0', True)
    """

    first: str
    second: str
    probability: float
    gain: float
    reasons: tuple[Reason, ...]
    rest: float

    def speaking_for(self, *, first: bool = True) -> tuple[Reason, ...]:
        """Return the features that surely speak for one of the items, the most first.

        Parameters
        ----------
        first : whether for the first item, or for the second

        Returns
        -------
        tuple of Reason

        Examples
        --------
        >>> from coombs import IdealPoint
        >>> est = IdealPoint([[0.0], [1.0], [2.0]], metric="none").fit([[2, 1], [1, 0], [2, 0]] * 5)
        >>> [reason.feature for reason in est.compare(2, 0).speaking_for()]
        ['feature 0']
        """
        size = sum(abs(one.gain) for one in self.reasons)
        side = 1.0 if first else -1.0
        return tuple(
            one
            for one in self.reasons
            if one.is_known
            and side * one.gain > WORTH_TELLING * size
            and (one.probability if first else 1 - one.probability) >= SURE
        )

    @property
    def is_clear(self) -> bool:
        """Whether it is likelier than not, by some margin, that the one is better that is told to be."""
        return max(self.probability, 1 - self.probability) >= CLEAR

    @property
    def perhaps(self) -> Reason | None:
        """The feature that may speak for the first item, where none surely does."""
        likely = (one for one in self.reasons if one.gain > 0 and one.is_known and one.probability >= LIKELY)
        return next(likely, None)

    @property
    def text(self) -> str:
        """One sentence."""
        sure = chance(max(self.probability, 1 - self.probability))
        if not self.is_clear:
            return f"Which of {self.first} and {self.second} is better is not known."
        if self.probability < 0.5:
            return f"{self.second} is better than {self.first} ({sure} sure)."
        return f"{self.first} is better than {self.second} ({sure} sure){self._because()}."

    def _because(self) -> str:
        """What follows that the first is better."""
        found, against = self.speaking_for()[:MOST_TOLD], self.speaking_for(first=False)[:MOST_TOLD]
        if not found:
            return f", perhaps for its {self.perhaps.text}" if self.perhaps else ""
        because = f" for its {listed([one.text for one in found])}"
        if against:
            verb = "speaks" if len(against) == 1 else "speak"
            because += f", though {listed([one.text for one in against])} {verb} against it"
        return because


def compare_items(est: TasteEstimator, first: Any, second: Any) -> ItemComparison:
    """Compare two fitted items, by name or position."""
    a, b = (_position(est, one) for one in (first, second))
    if a == b:
        raise InputError(f"{naming.text(first)!r} is compared with itself; give two items.")
    return compare_positions(est, a, b, est.explain().ideal if est.n_features_in_ else ())


def compare_positions(
    est: TasteEstimator, a: int, b: int, verdicts: Sequence[FeatureVerdict]
) -> ItemComparison:
    """Compare two fitted items, by position; `verdicts` say what is known to be wanted of each feature."""
    table = est._table(None)
    known = {one.feature for one in verdicts if one.verdict not in UNKNOWN}
    posterior, effects = est._draws(), est._effects_of(table, draws=True)
    model, matrix = est.model_, table.matrix
    own = None if effects is None else effects[:, [a, b]]
    better, worse = posterior.scores(matrix[[a, b]], own).T
    total = worse - better
    reasons: tuple[Reason, ...] = ()
    if est.n_features_in_:
        reasons = _reasons(model, thinned(posterior, MOST_DRAWS), matrix[[a, b]], matrix, known)
    names = [str(i) if table.names is None else table.texts[i] for i in (a, b)]
    return ItemComparison(
        names[0],
        names[1],
        float(((total > 0) + 0.5 * (total == 0)).mean()),
        float(total.mean()),
        reasons,
        float(total.mean()) - sum(one.gain for one in reasons),
    )


def _position(est: TasteEstimator, item: Any) -> int:
    """The position of an item among the fitted ones."""
    (found,) = tables.positions(est._data.item_table, np.array([item]), lambda _: "the comparison")
    return int(found)


def _reasons(
    model: Model, posterior: Posterior, two: FloatArray, items: FloatArray, known: set[str]
) -> tuple[Reason, ...]:
    """The columns in which `two` of the items differ, the one that does most first."""
    columns = table_columns(model)
    gaps = {one.column.gaps_of: one.block for one in columns if one.column.gaps_of}
    cells = [cells_of(model, row) for row in two]
    found = []
    for k, one in enumerate(columns):
        block = [*one.block, *gaps.get(one.name, ())]
        if one.column.gaps_of or np.array_equal(*two[:, block]):
            continue
        rows = two[[1, 1, 0, 0]]
        rows[1:3, block] = two[:, block]
        score = posterior.scores(rows)
        gain = (score[:, 0] - score[:, 1] + score[:, 2] - score[:, 3]) / 2
        about = range_of(one, items, is_varied=True)
        texts = [about.item_quantity(cell[k]) for cell in cells]
        likely = float((gain > 0).mean())
        found.append(Reason(one.name, (texts[0], texts[1]), float(gain.mean()), likely, one.name in known))
    return tuple(sorted(found, key=lambda one: -abs(one.gain)))


class ComparisonRow(NamedTuple):
    """A feature, or a detail, of all the items.

    `shares` say where a feature's values are among those of all items, from the lowest, 0, to the highest, 1;
    of a detail they are None.
    """

    label: str
    texts: tuple[str, ...]
    shares: tuple[float, ...] | None

    @property
    def differs(self) -> bool:
        """Whether the items differ in it."""
        return len(set(self.texts)) > 1


def comparison_rows(items: Catalogue, positions: Sequence[int]) -> list[ComparisonRow]:
    """The features of some items, then their details."""
    values, (lowest, highest) = items.table.matrix[list(positions)], items.feature_range
    shares = (values - lowest) / np.where(highest > lowest, highest - lowest, 1.0)
    encoding = items.table.encoding
    columns = [FeatureColumn(name) for name in items.features] if encoding is None else encoding.columns
    blocks = [(j,) for j in range(len(columns))] if encoding is None else encoding.blocks
    known = {} if encoding is None else encoding.cells(values)
    features = []
    for column, block in zip(columns, blocks, strict=False):
        if column.gaps_of:
            continue
        cells = known.get(column.name, values[:, block[0]])
        texts = _texts(column, cells.tolist() if column.role in (NUMBER, LOG) else list(cells))
        places = tuple(shares[:, block[0]].tolist())
        has_place = column.role != CATEGORY and None not in cells.tolist()
        features.append(ComparisonRow(column.name, texts, places if has_place else None))
    details = [items.details[position] for position in positions]
    names = dict.fromkeys(name for each in details for name in each)
    return features + [
        ComparisonRow(name, tuple(each.get(name, "") for each in details), None) for name in names
    ]


def _texts(column: FeatureColumn, cells: Sequence[Any]) -> tuple[str, ...]:
    """Cells as people read them: numbers with their unit and as many digits as tell them apart."""
    known = [cell for cell in cells if cell is not None]
    if column.role not in (NUMBER, LOG) or not known:
        return tuple(map(column.text, cells))
    texts = iter(numbers(*known))
    return tuple(column.text(cell) if cell is None else with_unit(next(texts), column.unit) for cell in cells)
