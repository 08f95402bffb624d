"""Items added, changed, retired and brought back while a study runs; every version that was seen is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from typing import Any

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import named_columns, shown_cells
from coombs.data.files import NamedColumns
from coombs.data.new_items import encoding_of
from coombs.data.tables import InputError, TableLike, array_table, as_list
from coombs.language import Translatable
from coombs.storage import Item, StudyRecord, now
from coombs.study.item_changes import ItemChanges, ItemsAfter, StoredItems
from coombs.study.item_versions import ITEMS_VERSION, version_numbers
from coombs.study.stored_items import ScaledItems, stored_catalogue
from coombs.study.study_presentations import PresentedStudy

TRIES = 3
"""Times that items are read where another process changes them meanwhile."""


@dataclass(frozen=True)
class ItemVersion:
    """A version of an item, as people see it or saw it.

    Parameters
    ----------
    position : its number among all versions of all items, which stays
    name : what it is called
    version : from 1; a change makes the next
    cells : its features as people know them, and what else is shown, by column
    added : since when it is in the study; None of an item that the study was made with
    retired : since when it is not asked about any more, or None
    replaces : the position of the version before it, or None

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> study.items()[1].cells
    {'feature 0': 1.0}
    """

    position: int
    name: str
    version: int
    cells: Mapping[str, float | str]
    added: datetime | None
    retired: datetime | None
    replaces: int | None

    @property
    def is_retired(self) -> bool:
        """Whether it is not asked about any more."""
        return self.retired is not None


class StudyItems(PresentedStudy):
    """The part of a `Study` by which its owner changes the items."""

    _scaled: ScaledItems
    _stored: tuple[Item, ...] | None
    _log_line: int | None = None

    @property
    def stored_items(self) -> tuple[Item, ...]:
        """All versions of all items, by position, as the storage has them."""
        if self._stored is None:
            self._stored = tuple(self.storage.items(self.record.id))
        return self._stored

    def items(self, *, retired: bool = False) -> tuple[ItemVersion, ...]:
        """Return the items that are asked about.

        Parameters
        ----------
        retired : True for those that were retired or replaced as well

        Returns
        -------
        tuple of ItemVersion, by position

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.retire_items([2])
        >>> [one.name for one in study.items()], len(study.items(retired=True))
        (['0', '1'], 3)
        """
        self.follow_items()
        stored, catalogue = self.stored_items, self.catalogue
        versions, columns = version_numbers(stored), shown_cells(catalogue.table)
        return tuple(
            ItemVersion(
                i,
                item.name,
                versions[i],
                {**{name: cells[i] for name, cells in columns.items()}, **item.details},
                item.added,
                item.retired,
                item.replaces,
            )
            for i, item in enumerate(stored)
            if retired or item.retired is None
        )

    def preview_items(self, items: TableLike | str | PathLike[str]) -> ItemChanges:
        """Return what `update_items` would do, and do nothing.

        Parameters
        ----------
        items : a table of items, as for `create_study`

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> len(study.preview_items([[5.0]]).added), study.n_items
        (1, 3)
        """
        table = self._table_of(items)
        self.note_settings(self.storage.study(self.record.name).settings)
        return self._planned_items.update(table, now()).changes

    def update_items(self, items: TableLike | str | PathLike[str]) -> ItemChanges:
        """Add the rows of a table whose names are new, and change those items whose cells are others.

        Items that are not in the table stay as they are. A row that is named as a retired item brings it
        back. Columns that the table lacks stay as they are; those that the study lacks are left out.

        Parameters
        ----------
        items : a table of items, as for `create_study`

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> import pandas as pd
        >>> from coombs import create_study
        >>> drinks = pd.DataFrame({"sugar": [9.0, 0.0]}, index=["cola", "tea"])
        >>> study = create_study(drinks, storage="memory:")
        >>> print(study.update_items(pd.DataFrame({"sugar": [5.0, 4.0]}, index=["milk", "cola"])))
        1 item added, 1 changed.
        """
        table = self._table_of(items)
        return self._change_items(lambda at: self._planned_items.update(table, at))

    def add_items(self, items: TableLike | str | PathLike[str]) -> ItemChanges:
        """Add items, which are asked about and ranked from now on.

        Parameters
        ----------
        items : a table as for `create_study`, with the columns that the study learns from; no name may be
            that of an item which is asked about

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.add_items([[5.0]]).added
        ('3',)
        """
        table = self._table_of(items)
        return self._change_items(lambda at: self._planned_items.update(table, at, adds=True))

    def change_item(
        self, name: Any, cells: Mapping[str, Any] | None = None, *, rename: Any = None
    ) -> ItemChanges:
        """Change an item: a new version is asked about from now on, and answers keep the one they saw.

        Parameters
        ----------
        name : of an item that is asked about
        cells : new values by column; others stay, and None is not known
        rename : what it is called from now on (default: as before)

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> import pandas as pd
        >>> from coombs import create_study
        >>> drinks = pd.DataFrame({"sugar": [9.0, 0.0]}, index=["cola", "tea"])
        >>> study = create_study(drinks, storage="memory:")
        >>> _ = study.change_item("cola", {"sugar": 4.0}, rename="cola light")
        >>> [(one.name, one.version) for one in study.items()]
        [('tea', 1), ('cola light', 2)]
        """
        return self._change_items(self._planned_change(name, cells, rename))

    def preview_change(
        self, name: Any, cells: Mapping[str, Any] | None = None, *, rename: Any = None
    ) -> ItemChanges:
        """Return what `change_item` would do, and do nothing.

        Parameters
        ----------
        name, cells, rename : as for `change_item`

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> import pandas as pd
        >>> from coombs import create_study
        >>> drinks = pd.DataFrame({"sugar": [9.0, 0.0]}, index=["cola", "tea"])
        >>> study = create_study(drinks, storage="memory:")
        >>> study.preview_change("cola", {"sugar": 4.0}).differences
        {'cola': ('sugar: 9 → 4',)}
        """
        planned = self._planned_change(name, cells, rename)
        self.note_settings(self.storage.study(self.record.name).settings)
        return planned(now()).changes

    def _planned_change(
        self, name: Any, cells: Mapping[str, Any] | None, rename: Any
    ) -> Callable[[datetime], ItemsAfter]:
        """What comes of a change of one item at a time."""
        given = cells or {}
        is_typed = any(isinstance(cell, str) for cell in given.values())
        columns = {
            str(key): _column([naming.text(cell) if is_typed else cell]) for key, cell in given.items()
        }
        known = self._planned_items.columns
        if strange := [key for key in columns if key not in known]:
            raise InputError(f"The study has no column {strange[0]!r}; it has {', '.join(known)}.")
        # What somebody typed is read as a file is.
        table = NamedColumns(columns, "csv" if is_typed else "pandas", index=_column([name]))
        called = None if rename is None else naming.text(rename).strip()
        if called == "":
            raise InputError(Translatable("The new name is blank; give one."))
        return lambda at: self._planned_items.update(table, at, rename=called, adds=False)

    def retire_items(self, names: Sequence[Any]) -> ItemChanges:
        """Ask about items no more, and leave them out of results; answers about them are learned from.

        Parameters
        ----------
        names : of items that are asked about

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> print(study.retire_items([1]))
        1 item retired.
        """
        chosen = as_list(names, "names")
        return self._change_items(lambda at: self._planned_items.retire(chosen, at))

    def restore_items(self, names: Sequence[Any]) -> ItemChanges:
        """Ask about retired items again.

        Parameters
        ----------
        names : of items that were retired, of which the latest version comes back; an earlier version is
            called as in `history`, "tea (version 1)", and takes the place of the one that is asked about

        Returns
        -------
        ItemChanges

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.retire_items([1])
        >>> study.restore_items([1]).restored
        ('1',)
        """
        chosen = as_list(names, "names")
        return self._change_items(lambda at: self._planned_items.restore(chosen, at))

    def follow_items(self, log_line: int | None = None, least: int = 0) -> frozenset[int]:
        """Go by what other processes changed of the items, and say which are retired.

        Parameters
        ----------
        log_line : the last of the study's log, as every change of items adds one: where it is as it was last
            time, nothing is read; None looks in any case
        least : number of items that there must be, as something is known about them

        Returns
        -------
        frozenset of positions

        Examples
        --------
        >>> from coombs import create_study
        >>> create_study([[0.0], [1.0]], storage="memory:").follow_items()
        frozenset()
        """
        if log_line is None or log_line != self._log_line or least > len(self.catalogue.names):
            record = self.storage.study(self.record.name)
            if record.id == self.record.id:
                self._note_items(record)
            self._log_line = self._log_line if log_line is None else log_line
        return self.catalogue.retired

    def _note_items(self, record: StudyRecord) -> None:
        """Take over the items that the storage has; other settings are as they were loaded."""
        known, now_there = self.record.settings, record.settings
        if known.get(ITEMS_VERSION) != now_there.get(ITEMS_VERSION):
            names = (ITEMS_VERSION, "named", "name_kinds", "encoding")
            changed = {name: now_there[name] for name in names if name in now_there}
            self.note_settings({**known, **changed})

    @property
    def _planned_items(self) -> StoredItems:
        return StoredItems(self.stored_items, self.catalogue, self.record.settings)

    def _table_of(self, items: TableLike | str | PathLike[str]) -> NamedColumns:
        """A table as named columns; the columns of an array are the study's, in their order."""
        found = named_columns(items)
        if found is not None:
            return found
        table, known = array_table(items), encoding_of(self.catalogue.table).table_names
        if table.matrix.shape[1] != len(known):
            raise InputError(f"The items have {table.matrix.shape[1]} columns; the study has {len(known)}.")
        columns = dict(zip(known, table.matrix.T, strict=True))
        return NamedColumns(columns, "pandas", index=table.names)

    def _change_items(self, planned: Callable[[datetime], ItemsAfter]) -> ItemChanges:
        """Store what comes of a change, all of it or nothing, with a line in the log."""
        at, number = now(), self.record.id
        with self.storage.batch():
            self.note_settings(self.storage.study(self.record.name).settings)
            after, before = planned(at), self.stored_items
            if after.changes.is_nothing:
                return after.changes
            if tuple(after.feature_names) != self.record.feature_names:
                rows = {i: item.features for i, item in enumerate(after.items[: len(before)])}
                self.storage.set_features(number, after.feature_names, rows)
            pairs = list(enumerate(zip(before, after.items, strict=False)))
            gone = [i for i, (old, new) in pairs if old.retired is None and new.retired is not None]
            back = [i for i, (old, new) in pairs if old.retired is not None and new.retired is None]
            self.storage.retire_items(number, gone, at=at)
            self.storage.restore_items(number, back)
            self.storage.add_items(number, after.items[len(before) :])
            self.storage.add_log(number, str(after.changes), at=at)
            stored = self.storage.change_settings(number, after.settings)
            self.note_settings(stored.settings)
        return after.changes

    def _read_items(self) -> None:
        for _ in range(TRIES):
            record = self.storage.study(self.record.name)
            items = tuple(self.storage.items(record.id))
            after = self.storage.study(self.record.name)
            if after.settings.get(ITEMS_VERSION) == record.settings.get(ITEMS_VERSION):
                break
        catalogue = stored_catalogue(record.feature_names, items, record.settings)
        self.record = replace(self.record, feature_names=record.feature_names)
        self._stored, self._scaled = items, self._scaled.changed_to(catalogue)


def _column(cells: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """Cells of any type as a column."""
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column
