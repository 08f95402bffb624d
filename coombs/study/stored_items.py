"""The items of a study: out of a storage, and standardised once, until they change, to be learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import Catalogue
from coombs.data.cell_errors import feature_called
from coombs.data.directions import Directions
from coombs.data.encoding import Encoding
from coombs.data.scaling import LARGEST, Scaler
from coombs.data.tables import FloatArray, InputError, ItemTable, Names, has_number_names
from coombs.data.wishes import wishes_of
from coombs.storage.records import Item
from coombs.study.current_items import CurrentItems
from coombs.study.item_versions import first_items, told_apart


def stored_catalogue(
    features: Sequence[str], items: Sequence[Item], settings: Mapping[str, Any]
) -> Catalogue:
    """Items as a storage has them; the settings say how the table was named."""
    names = typed_names(items, settings)
    asked = None if names is None else names[[item.retired is None for item in items]]
    if names is not None:
        names = told_apart(items, names)
    columns = np.array(features, dtype=object)
    if {len(item.features) for item in items} - {len(features)}:
        raise InputError("The items do not have as many features as the study has names for.")
    matrix = np.array([item.features for item in items], dtype=float).reshape(len(items), len(features))
    matrix.flags.writeable = False
    table = ItemTable(
        matrix,
        names,
        columns if settings.get("features_named", True) else None,
        has_number_names(asked),
        _read_encoding(settings.get("encoding"), features),
        first_items(items),
    )
    retired = frozenset(i for i, item in enumerate(items) if item.retired is not None)
    return Catalogue(table, tuple(item.details for item in items), retired=retired)


def typed_names(items: Sequence[Item], settings: Mapping[str, Any]) -> Names | None:
    """What stored items are called, each with its type; None where they have no names."""
    if not settings.get("named", True):
        return None
    return _read_names([item.name for item in items], settings.get("name_kinds", "text"))


def _read_encoding(data: Any, features: Sequence[str]) -> Encoding | None:
    """How the columns of the items became these features."""
    if data is None:
        return None
    try:
        encoding = Encoding.from_dict(data)
    except ValueError as error:
        raise InputError(f"The setting encoding cannot be read ({error}).") from error
    if encoding.names.tolist() != list(features):
        raise InputError("The setting encoding does not fit the names of the features.")
    return encoding


def _read_names(texts: Sequence[str], kinds: Any) -> Names:
    """Names out of their texts, with the types that they came in."""
    each = [kinds] * len(texts) if isinstance(kinds, str) else kinds
    names = np.empty(len(texts), dtype=object)
    if not isinstance(each, list) or len(each) != len(texts) or not all(isinstance(k, str) for k in each):
        raise InputError("The setting name_kinds must be the kind of all names, or a list of one for each.")
    for i, (kind, text) in enumerate(zip(each, texts, strict=True)):
        try:
            names[i] = naming.read(kind, text)
        except ValueError as error:
            raise InputError(f"The name of item {text!r} must be {error}.") from error
    return names


def check_comparable(goods: Catalogue) -> None:
    """Refuse items unless there are two that differ."""
    matrix = goods.table.matrix
    if len(goods.current) < 2:
        raise InputError(
            "There are fewer than two items ({total}); a comparison needs two.", total=len(goods.current)
        )
    if not matrix.shape[1]:
        return
    largest = np.abs(matrix).max(axis=0)
    if largest.max() > LARGEST:
        feature = goods.features[int(largest.argmax())]
        raise InputError(
            "{feature} reaches {size}; give it in larger units.",
            feature=feature_called(feature),
            size=f"{largest.max():.0e}",
        )
    if not Scaler.of(matrix, standardize=True).varies.any():
        raise InputError(
            "All {total} items have the same features ({features}); there is nothing to learn about unless "
            "some feature differs.",
            total=len(matrix),
            features=", ".join(goods.features),
        )


class ScaledItems:
    """A catalogue, and its items standardised by those that the study was made with.

    What was learned of people is on that scale, so that items which come later do not change it.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._directions: tuple[Sequence[str], Directions | None] | None = None

    @cached_property
    def current(self) -> CurrentItems:
        """The items that are asked about."""
        return CurrentItems.of(self.catalogue)

    @cached_property
    def scaler(self) -> Scaler:
        """What standardises the items; it knows which columns are levels of categories."""
        table = self.catalogue.table
        return Scaler.of(table.matrix, standardize=True, levels=table.levels, n_scaled=table.n_scaled)

    @cached_property
    def matrix(self) -> FloatArray:
        """All items standardised, without features that do not vary."""
        return self.scaler.forward(self.catalogue.table.matrix)

    def directions(self, wishes: Sequence[str]) -> Directions | None:
        """Declared features of which more, or less, is never worse."""
        if not wishes:
            return None
        if self._directions is None or self._directions[0] != wishes:
            declared = wishes_of(wishes, self.catalogue.table)
            self._directions = wishes, Directions.of(self.matrix, declared.signs[self.scaler.columns])
        return self._directions[1]

    def changed_to(self, catalogue: Catalogue) -> ScaledItems:
        """The items as they are now; the same matrix where only other items are asked about."""
        new, old, now = ScaledItems(catalogue), self.catalogue.table, catalogue.table
        is_same = np.array_equal(old.matrix, now.matrix) and old.encoding == now.encoding
        if is_same and old.n_scaled == now.n_scaled:
            new.scaler, new.matrix = self.scaler, self.matrix
        return new
