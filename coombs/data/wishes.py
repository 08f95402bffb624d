"""Wishes that a person declares: more or less of a feature is never worse, and limits that items must keep.

`price: less` and `size: more` are directions, which the model obeys (directions.py); `price <= 1500`,
`town != harbour` and `balcony = yes` are limits, outside of which an item is out of the question.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.data import naming
from coombs.data.dates import Dates, read_dates
from coombs.data.encoding import CATEGORY, DATE, LOG, NOT_KNOWN, NUMBER, ORDERED, YES_NO, FeatureColumn
from coombs.data.orders import BEST_WORST, RANKING, Orders
from coombs.data.quantities import common_unit, quantity
from coombs.data.tables import InputError, as_list, row
from coombs.language import Translatable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.comparisons import Comparisons
    from coombs.data.tables import FloatArray, ItemTable

SIGNS = {"more": 1, "less": -1}
"""What a direction is called, and its sign."""
LIMITS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
"""How a limit is written, the longer signs first, and what a cell must be to keep it."""
FORMS = Translatable(
    "as {first} or {last}",
    first="'price: less', 'size: more', 'price <= 1500', 'town != harbour'",
    last="'balcony = yes'",
)
"""What messages say of how a wish is written."""
_SIGNS = str.maketrans({"\u2264": "<=", "\u2265": ">=", "\u2260": "!="})
_DOUBTFUL = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
BETWEEN = "|"
"""What stands between levels, any of which keeps a limit."""


class Wish(NamedTuple):
    """A feature, "more", "less" or the sign of a limit, and the limit's value as it was written.

    Examples
    --------
    >>> parse("price <= 1500", ["price", "size"]), str(parse("size :MORE", ["size"]))
    (Wish(feature='price', form='<=', value='1500'), 'size: more')
    """

    feature: str
    form: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.feature} {self.form} {self.value}" if self.value else f"{self.feature}: {self.form}"

    @property
    def is_limit(self) -> bool:
        """Whether it says what is out of the question."""
        return self.form in LIMITS


class Wishes(NamedTuple):
    """Checked wishes about the items of a table: the sign of each column of the matrix, and who is inside."""

    wishes: tuple[Wish, ...]
    signs: FloatArray
    inside: NDArray[np.bool_]

    @property
    def texts(self) -> tuple[str, ...]:
        """As they are written."""
        return tuple(map(str, self.wishes))

    @property
    def directions(self) -> dict[str, Wish]:
        """Those that are no limits, by their features."""
        return {wish.feature: wish for wish in self.wishes if not wish.is_limit}

    def check(self) -> Wishes:
        """Itself, if there is something to choose from."""
        if np.count_nonzero(self.inside) < 2:
            limits = ", ".join(f"'{wish}'" for wish in self.wishes if wish.is_limit)
            if self.inside.any():
                raise InputError(
                    "Only one item keeps the limits {limits}; at least two must, so loosen one of them.",
                    limits=limits,
                )
            raise InputError(
                "No item keeps the limits {limits}; at least two must, so loosen one of them.", limits=limits
            )
        return self


def parse(text: str, features: Sequence[str]) -> Wish:
    """A wish as somebody writes it; InputError where it is none."""
    written = naming.text(text).strip().translate(_SIGNS)
    name = _feature(written, features)
    if name is None:
        known = ", ".join(features) or "none, as the items have no features"
        raise InputError(
            "The wish {written} begins with no feature; write it {forms}. Features are: {known}. Of "
            "a column that is only shown, say first that it is a category, by its role.",
            written=repr(written),
            forms=FORMS,
            known=known,
        )
    rest = written[len(name) :].strip()
    if (word := rest.removeprefix(":").strip().lower()) in SIGNS:
        return Wish(name, word)
    form = next((one for one in LIMITS if rest.startswith(one)), None)
    value = "" if form is None else rest[len(form) :].removeprefix("=").strip()
    if form is None or not value:
        raise InputError(
            "The wish {written} is neither a direction nor a limit; write it {forms}.",
            written=repr(written),
            forms=FORMS,
        )
    return Wish(name, form, value)


def _feature(written: str, features: Sequence[str]) -> str | None:
    """The feature that a wish begins with; capital letters count only where they tell two features apart."""
    # The longest first: "size of kitchen" is not "size".
    longest = sorted(features, key=len, reverse=True)
    exact = next((one for one in longest if _begins(written, one)), None)
    if exact is not None:
        return exact
    lowered = written[: max(map(len, features), default=0)].lower()
    alike = [one for one in longest if lowered.startswith(one.lower()) and _goes_on(written[len(one) :])]
    alike = [one for one in alike if len(one) == len(alike[0])]
    return alike[0] if len(alike) == 1 else None


def _begins(written: str, feature: str) -> bool:
    return written.startswith(feature) and _goes_on(written[len(feature) :])


def _goes_on(rest: str) -> bool:
    """Whether a direction or a limit follows."""
    return bool(re.match(r"\s*([:<>=!]|(more|less)\s*$)", rest, re.I))


def wish_texts(given: Any) -> list[str]:
    """Wishes as texts, not read yet.

    Examples
    --------
    >>> wish_texts("rent: less"), wish_texts(None), wish_texts(("rent: less", "size >= 50"))
    (['rent: less'], [], ['rent: less', 'size >= 50'])
    """
    if given is None or isinstance(given, str):
        return [given] if given else []
    texts = as_list(given, "wishes")
    for one in texts:
        if not isinstance(one, str):
            raise InputError(f"A wish is {one!r}; it must be text, {FORMS}.")
    return texts


def wishes_of(given: Sequence[str] | str, table: ItemTable) -> Wishes:
    """Wishes about the items of a table, checked.

    Examples
    --------
    >>> from coombs.data.catalogue import item_table
    >>> import pandas as pd
    >>> flats = item_table(pd.DataFrame({"rent": [650.0, 900.0, 720.0], "size": [48.0, 70.0, 55.0]}))
    >>> found = wishes_of(["rent: less", "size >= 50"], flats)
    >>> found.signs.tolist(), found.inside.tolist()
    ([-1.0, 0.0], [False, True, True])
    """
    columns = _columns(table)
    wishes = tuple(parse(text, list(columns)) for text in dict.fromkeys(wish_texts(given)))
    signs, inside = np.zeros(table.matrix.shape[1]), np.ones(len(table.matrix), dtype=bool)
    for wish in wishes:
        column, places = columns[wish.feature]
        if wish.is_limit:
            inside &= _keeps(wish, column, table.matrix[:, places]) | _is_unknown(table, wish.feature)
            continue
        if column.role == CATEGORY:
            raise InputError(
                "The wish '{wish}' is about categories, of which there is neither more nor less; write a "
                "limit, as '{feature} = {level}'.",
                wish=str(wish),
                feature=wish.feature,
                level=column.levels[0],
            )
        if signs[places[0]] == -SIGNS[wish.form]:
            raise InputError(
                "More and less of {feature} cannot both be never worse; declare one.",
                feature=repr(wish.feature),
            )
        signs[places[0]] = SIGNS[wish.form]
    return Wishes(wishes, signs, inside)


def _columns(table: ItemTable) -> dict[str, tuple[FeatureColumn, list[int]]]:
    """The columns of the table by name, and which columns of the matrix each became."""
    if table.encoding is not None:
        pairs = zip(table.encoding.columns, table.encoding.blocks, strict=False)
        return {one.name: (one, list(block)) for one, block in pairs if not one.gaps_of}
    n_features = table.matrix.shape[1]
    names = map(str, range(n_features)) if table.features is None else map(str, table.features)
    return {name: (FeatureColumn(name), [j]) for j, name in enumerate(names)}


def _is_unknown(table: ItemTable, feature: str) -> NDArray[np.bool_]:
    """(n,) whether the cell of each item is not known, of which nobody can say that it breaks a limit."""
    if table.encoding is None:
        return np.zeros(len(table.matrix), dtype=bool)
    column, places = _columns(table)[feature]
    if column.role == CATEGORY:
        # A level that was not learned from is none of those that a limit names.
        known = [level == NOT_KNOWN for level in column.levels]
        found: NDArray[np.bool_] = np.any(table.matrix[:, places][:, known], axis=1)
        return found
    return np.array([cell is None for cell in table.encoding.cells(table.matrix)[feature]], dtype=bool)


def _keeps(wish: Wish, column: FeatureColumn, values: FloatArray) -> NDArray[np.bool_]:
    """(n,) whether each item keeps a limit."""
    if column.role != CATEGORY:
        result: NDArray[np.bool_] = LIMITS[wish.form](values[:, 0], _limit(wish, column))
        return result
    wanted = [level.strip() for level in wish.value.split(BETWEEN)]
    for level in wanted:
        if wish.form not in ("=", "!=") or level not in column.levels:
            known = f" {BETWEEN} ".join(column.levels)
            raise InputError(
                "The wish '{wish}' must be = or != one of the categories {known}.",
                wish=str(wish),
                known=known,
            )
    has: NDArray[np.bool_] = np.any(values[:, [column.levels.index(level) for level in wanted]], axis=1)
    return has if wish.form == "=" else ~has


def _limit(wish: Wish, column: FeatureColumn) -> float:
    """The value of a limit as the number that a cell of it becomes."""
    text: Any = wish.value
    if column.role in (NUMBER, LOG):
        text = _number(wish, column)
    elif column.role == DATE and isinstance(found := read_dates([wish.value]), Dates):
        text = str(found.values[wish.value])
    try:
        limit = float(replace(column, fill=None).encode(np.array([text], dtype=object), row)[0, 0])
    except InputError:
        limit = np.nan
    if np.isnan(limit):
        forms = {
            YES_NO: Translatable("yes or no"),
            ORDERED: Translatable("one of {levels}", levels=column.levels),
            DATE: Translatable("a date, as 2026-01-31"),
        }
        must = forms.get(column.role, Translatable("a number"))
        raise InputError("The value of the wish '{wish}' must be {must}.", wish=str(wish), must=must)
    return limit


def _number(wish: Wish, column: FeatureColumn) -> float:
    """A number in the column's unit, its decimals behind a point or, where only that can be, a comma."""
    found = quantity(wish.value)
    if found is not None and _DOUBTFUL.fullmatch(found.number):
        whole, part = found.number.split(".")
        raise InputError(
            "The value of the wish '{wish}' may be {whole} or {number}: write one.",
            wish=str(wish),
            whole=f"{whole}{part}",
            number=f"{float(found.number):g}",
        )
    value = None if found is None else found.value(".")
    value = found.value(",") if found is not None and value is None else value
    if found is None or value is None:
        return np.nan
    if not found.unit or found.unit == column.unit:
        return value
    common = common_unit(Counter({column.unit: 2, found.unit: 1})) if column.unit else None
    if common is None or common[0] != column.unit:
        if not column.unit and found.unit.lower() in re.findall(r"[^\W_]+|[%$€£]", column.name.lower()):
            # The unit is in the name of the column: "rent (EUR)".
            return value
        if column.unit:
            raise InputError(
                "The value of the wish '{wish}' must be in {unit}.", wish=str(wish), unit=column.unit
            )
        raise InputError(
            "The value of the wish '{wish}' must be a bare number, as the column's cells are: write "
            "'{right}'.",
            wish=str(wish),
            right=f"{wish.feature} {wish.form} {value:g}",
        )
    return value * common[1][found.unit]


def keeping(data: Comparisons, inside: NDArray[np.bool_]) -> Comparisons:
    """The answers, without those that the limits decide.

    Somebody who takes the one of two that keeps the limits says nothing of what else they want. Of choices,
    rankings and ratings, what they say of the items inside is left.
    """
    if inside.all():
        return data
    kept = inside[data.pairs[:, 0]] == inside[data.pairs[:, 1]]
    orders = None if data.orders is None else _orders_within(data.orders, inside)
    ratings = data.ratings
    if ratings is not None:
        rows = np.flatnonzero(inside[ratings.items])
        ratings = ratings.take(rows) if len(rows) else None
    if not kept.any() and orders is None and ratings is None:
        raise InputError("The limits decide all answers, so that nothing can be learned; loosen one of them.")
    users = None if data.users is None else data.users[kept]
    parts = (data.pairs[kept], data.y[kept], data.weights[kept], users, orders, ratings)
    return data._of(*data.item_table, *parts)


def _orders_within(orders: Orders, inside: NDArray[np.bool_]) -> Orders | None:
    """Without the items outside; an answer whose choice, best or worst is one of them says nothing."""
    owner = np.repeat(np.arange(len(orders)), orders.sizes)
    stays = np.where(orders.members < 0, True, inside[orders.members])
    last = np.maximum.reduceat(orders.tiers, orders.starts)[owner]
    names = (orders.tiers == 0) | ((orders.tiers == last) & (orders.shapes[owner] == BEST_WORST))
    lost = np.unique(owner[~stays & names & (orders.shapes[owner] != RANKING)])
    stays &= ~np.isin(owner, lost)
    found: list[tuple[int, list[int], list[int]]] = []
    for k in range(len(orders)):
        here = (owner == k) & stays
        tiers = np.unique(orders.tiers[here], return_inverse=True)[1]
        if len(np.unique(tiers)) > 1:
            found.append((k, orders.members[here].tolist(), tiers.tolist()))
    if not found:
        return None
    rows = np.array([k for k, _, _ in found])
    sizes = np.array([len(members) for _, members, _ in found])
    users = None if orders.users is None else orders.users[rows]
    return Orders(
        np.concatenate([members for _, members, _ in found]).astype(np.intp),
        np.concatenate([tiers for _, _, tiers in found]).astype(np.intp),
        np.cumsum(sizes) - sizes,
        orders.shapes[rows],
        orders.weights[rows],
        users,
    )
