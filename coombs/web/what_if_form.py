"""The form in which an item's features are changed: a field for each, and what was typed into them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from coombs.data.encoding import DATE, LOG, NOT_KNOWN, NUMBER, YES_NO
from coombs.data.tables import InputError
from coombs.insights.columns import cells_of, range_of, table_columns
from coombs.insights.statements import FeatureRange
from coombs.insights.what_if import WhatIf, what_if
from coombs.web.fitted_result import FittedResult
from coombs.words import plain, round_number

MOST_FIELDS = 8
"""Features that can be changed: those that decide most."""
STEPS = 100
"""Steps of a slider, about."""
KEY = "f"
"""What the names of fields begin with; the number of the column follows."""


class FeatureField(NamedTuple):
    """A feature of the item: its field's name, what it is, its value, and what it may be."""

    name: str
    key: str
    kind: str
    value: str
    low: str
    high: str
    step: str
    unit: str
    options: tuple[str, ...]


def feature_fields(fitted: FittedResult, position: int) -> list[FeatureField]:
    """Of an item, the features that decide most first."""
    model, items = fitted.result.model.model_, fitted.items.table.matrix
    columns, cells = table_columns(model), cells_of(model, items[position])
    order = {matter.feature: place for place, matter in enumerate(fitted.matters)}
    found = [
        _field(f"{KEY}{k}", range_of(one, items, is_varied=True), cell)
        for k, (one, cell) in enumerate(zip(columns, cells, strict=True))
        if not one.column.gaps_of and not one.is_constant(items)
    ]
    return sorted(found, key=lambda one: order.get(one.name, len(order)))[:MOST_FIELDS]


def _field(key: str, about: FeatureRange, cell: float | str) -> FeatureField:
    """The field of one feature."""
    known = "" if cell == NOT_KNOWN else about.item_text(cell)
    if about.role in (NUMBER, LOG):
        step = round_number(about.range / STEPS)
        step = max(1.0, step) if about.whole else step
        value = _as_html(cell) if isinstance(cell, float) else ""
        ends = _as_html(about.lowest), _as_html(about.highest)
        return FeatureField(about.name, key, "number", value, *ends, _as_html(step), about.unit, ())
    if about.role == DATE:
        ends = about.text(about.lowest), about.text(about.highest)
        return FeatureField(about.name, key, "date", known, *ends, "", "", ())
    options = (
        ("no", "yes") if about.role == YES_NO else tuple(one for one in about.levels if one != NOT_KNOWN)
    )
    return FeatureField(about.name, key, "choice", known, "", "", "", about.unit, options)


def _as_html(value: float) -> str:
    """A number for a field of numbers: with a decimal point, whatever the page's language is."""
    return str(plain(value))


def changed_item(
    fitted: FittedResult, position: int, typed: Mapping[str, str], among: Sequence[int]
) -> tuple[list[FeatureField], WhatIf]:
    """The fields with what was typed, and where the item would rank; a blank field changes nothing."""
    fields, cells = [], dict[str, Any]()
    for one in feature_fields(fitted, position):
        text = typed.get(one.key, "").strip()
        if text and text != one.value:
            cells[one.name] = _number(one.name, text) if one.kind == "number" else text
        fields.append(one._replace(value=text or one.value))
    return fields, what_if(fitted.result.model, position, cells, among)


def _number(name: str, text: str) -> float:
    """A number that somebody typed."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError("{name} is {text}; it must be a number.", name=name, text=repr(text[:40]))
    return value
