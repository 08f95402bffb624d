"""The items of a study as they are learned from: standardised once, and kept until they change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from coombs.data.catalogue import Catalogue
from coombs.data.directions import Directions
from coombs.data.scaling import Scaler
from coombs.data.tables import FloatArray
from coombs.data.wishes import wishes_of
from coombs.study.current_items import CurrentItems


class ScaledItems:
    """A catalogue, and its items standardised by those that the study was made with.

    What was learned of people is on that scale, so that items which come later do not change it.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._directions: tuple[Sequence[str], Directions | None] | None = None

    @cached_property
    def current(self) -> CurrentItems:
        """Those that are asked about."""
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
        """Features of which more, or less, is never worse, as it was declared."""
        if not wishes:
            return None
        if self._directions is None or self._directions[0] != wishes:
            declared = wishes_of(wishes, self.catalogue.table)
            self._directions = wishes, Directions.of(self.matrix, declared.signs[self.scaler.columns])
        return self._directions[1]

    def changed_to(self, catalogue: Catalogue) -> ScaledItems:
        """Of the items as they are now; the same matrix where only others are asked about."""
        new, old, now = ScaledItems(catalogue), self.catalogue.table, catalogue.table
        is_same = np.array_equal(old.matrix, now.matrix) and old.encoding == now.encoding
        if is_same and old.n_scaled == now.n_scaled:
            new.scaler, new.matrix = self.scaler, self.matrix
        return new
