"""What a change of a study's items comes to: the items afterwards, and which of them are new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from coombs.data import naming, tables
from coombs.data.catalogue import Catalogue, shown_cells
from coombs.data.cell_errors import ITEM
from coombs.data.encoding import Encoding
from coombs.data.files import NAME_HEADERS, NamedColumns
from coombs.data.new_items import GrownTable, NewRows, differing, encoding_of, grown, learned_cells
from coombs.data.tables import InputError
from coombs.data.wishes import wishes_of
from coombs.language import Translatable
from coombs.storage.records import Item
from coombs.study.item_versions import ITEMS_VERSION, origins, version_numbers
from coombs.study.settings import Settings
from coombs.study.stored_items import check_comparable, stored_catalogue, typed_names
from coombs.words import plain

IS_THERE = Translatable("is an item already; change it instead")
NOT_THERE = Translatable("is no item that is asked about")
"""Why a row cannot be added, or cannot change an item."""
NO_NAMES = Translatable("The rows have no names; a column with the names of the items is needed.")
"""Said of a table without names."""
MOST_ITEMS = 20_000
"""Items that a study may have, retired ones among them."""


@dataclass(frozen=True)
class ItemChanges:
    """What became of items, by name.

    Parameters
    ----------
    added : that are new
    changed : of which there is a new version
    retired : that are not asked about any more
    restored : that are asked about again
    unchanged : that a table has as they were
    notes : sentences about columns that were left out
    differences : of each item that changed, what, as "rent: 720 → 690"

    Examples
    --------
    >>> from coombs.study import ItemChanges
    >>> print(ItemChanges(added=("tea", "milk"), retired=("soap",)))
    2 items added, 1 retired.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether everything stays as it was."""
        return not (self.added or self.changed or self.retired or self.restored)

    def __str__(self) -> str:
        counts = {
            "added": self.added,
            "changed": self.changed,
            "retired": self.retired,
            "restored": self.restored,
        }
        told = [(len(names), what) for what, names in counts.items() if names]
        if not told:
            return "No item changed."
        (n, what), *more = told
        first = f"{n} item{'s' * (n > 1)} {what}"
        return f"{', '.join([first, *(f'{k} {done}' for k, done in more)])}."


class ItemsAfter(NamedTuple):
    """The items of a study after a change, what their features are called, and the settings with them."""

    items: tuple[Item, ...]
    feature_names: tuple[str, ...]
    settings: Mapping[str, Any]
    changes: ItemChanges


class Row(NamedTuple):
    """A row of a table: what the item is called, which stored item it is (or None), and what is shown."""

    name: Any
    base: int | None
    details: Mapping[str, str]


@dataclass(frozen=True)
class StoredItems:
    """The items of a study as they are stored, and what they are made into."""

    items: tuple[Item, ...]
    catalogue: Catalogue
    settings: Mapping[str, Any]

    @property
    def names(self) -> list[Any]:
        """What the items are called, with its type; their numbers where they have no names."""
        found = typed_names(self.items, self.settings)
        return list(range(len(self.items))) if found is None else found.tolist()

    def retire(self, names: Sequence[Any], at: datetime) -> ItemsAfter:
        """Without some items."""
        there = {item.name: i for i, item in enumerate(self.items) if item.retired is None}
        chosen = dict.fromkeys(self._find(name, there, "is asked about") for name in names)
        items = list(self.items)
        for i in chosen:
            items[i] = replace(items[i], retired=at)
        return self._after(items, ItemChanges(retired=_called(self.items, chosen)))

    def restore(self, names: Sequence[Any], at: datetime) -> ItemsAfter:
        """With some that were retired: of each, the latest version, or an earlier one in its place."""
        gone = {self.catalogue.names[i]: i for i in sorted(self.catalogue.retired)}
        asked = {item.name for item in self.items if item.retired is None}
        # Of several versions, the name alone means the latest.
        latest = {self.items[i].name: i for i in gone.values()}
        known = gone | {name: i for name, i in latest.items() if name not in asked}
        chosen = dict.fromkeys(self._find(name, known, "is retired", list(gone)) for name in names)
        items, first = list(self.items), origins(self.items)
        back = {first[i] for i in chosen}
        replaced = [i for i, item in enumerate(items) if item.retired is None and first[i] in back]
        for i in replaced:
            items[i] = replace(items[i], retired=at)
        for i in chosen:
            items[i] = replace(items[i], retired=None)
        return self._after(items, ItemChanges(restored=_called(self.items, chosen)))

    def _find(self, name: Any, among: Mapping[str, int], what: str, listed: Sequence[str] = ()) -> int:
        text, called = naming.text(name), listed or list(among)
        if text not in among:
            known = ", ".join(map(repr, called[:5])) + ", ..." * (len(called) > 5)
            raise InputError(
                f"No item called {text!r} {what}; {f'these are: {known}' if known else 'none is'}."
            )
        return among[text]

    def update(
        self, table: NamedColumns, at: datetime, *, rename: str | None = None, adds: bool | None = None
    ) -> ItemsAfter:
        """With the rows of a table: new names are added, and other cells make a new version.

        `adds` says that all rows must be new, or that none may be; `rename` is a name for the only row.
        """
        rows = self._rows(table, rename)
        for row in rows:
            is_known = row.base is not None and self.items[row.base].retired is None
            if adds is not None and is_known == adds:
                there = IS_THERE if adds else NOT_THERE
                raise InputError("{name} {why}.", name=repr(naming.text(row.name)), why=there)
        cells = learned_cells(table, encoding_of(self.catalogue.table))
        made = NewRows(self._labels(rows), [row.base for row in rows], cells)
        is_new = [
            row.base is None
            or other
            or naming.text(row.name) != self.items[row.base].name
            or dict(row.details) != dict(self.items[row.base].details)
            for row, other in zip(rows, differing(self.catalogue.table, made), strict=True)
        ]
        after = self._with(rows, is_new, grown(self.catalogue.table, made.only(is_new)), at)
        return after._replace(changes=replace(after.changes, notes=self._notes(table)))

    def _labels(self, rows: Sequence[Row]) -> list[str]:
        """What messages and marks of gaps call the rows: no two alike."""
        versions = version_numbers(self.items)
        return [
            naming.text(row.name)
            if row.base is None
            else f"{naming.text(row.name)} (version {versions[row.base] + 1})"
            for row in rows
        ]

    def _with(
        self, rows: Sequence[Row], is_new: Sequence[bool], made: GrownTable, at: datetime
    ) -> ItemsAfter:
        """The items afterwards, by rows some of which are new or changed."""
        items = [
            replace(item, features=tuple(row))
            for item, row in zip(self.items, made.old.tolist(), strict=True)
        ]
        names, found = list(self.names), dict[str, list[str]]()
        features = iter(made.new.tolist())
        for row, new in zip(rows, is_new, strict=True):
            text, base = naming.text(row.name), row.base
            if base is None:
                what = "added"
            elif items[base].retired is not None:
                what = "restored"
                items[base] = items[base] if new else replace(items[base], retired=None)
            else:
                what = "changed" if new else "unchanged"
                items[base] = replace(items[base], retired=at) if new else items[base]
            if new:
                items.append(Item(text, tuple(next(features)), row.details, at, None, base))
                names.append(row.name)
            found.setdefault(what, []).append(text)
        sorts = ("added", "changed", "restored", "unchanged")
        added, changed, restored, unchanged = (tuple(found.get(what, ())) for what in sorts)
        changes = ItemChanges(added, changed, (), restored, unchanged)
        return self._after(items, changes, names, made.encoding)

    def _rows(self, table: NamedColumns, rename: str | None) -> list[Row]:
        """Which item each row is."""
        names = self._names_in(table)
        texts = [naming.text(name) for name in names]
        tables.refuse_repeats(texts, "item")
        # Who is asked about comes before who was once called so.
        known = {item.name: i for i, item in enumerate(self.items) if item.retired is not None}
        known |= {item.name: i for i, item in enumerate(self.items) if item.retired is None}
        own, shown, rows = self.names, self._details_in(table), []
        for k, (name, text) in enumerate(zip(names, texts, strict=True)):
            base = known.get(text)
            before = {} if base is None else dict(self.items[base].details)
            details = {one: before.get(one, "") for one in shown}
            details |= {one: naming.text(column[k]) for one, column in shown.items() if column is not None}
            rows.append(Row(rename or (name if base is None else own[base]), base, details))
        return rows

    def _names_in(self, table: NamedColumns) -> list[Any]:
        """What the rows of a table are called, with the type that the study's names have."""
        found = self._name_cells(table)
        if found is None:
            if self.settings.get("named", True):
                raise InputError(NO_NAMES)
            return list(range(len(self.items), len(self.items) + table.n_rows))
        kind = naming.kinds(self.names)
        texts = tables.labels(found, "item name", table.where)
        if not isinstance(kind, str) or kind == "text":
            return [naming.plain(cell) for cell in found.tolist()]
        try:
            return [naming.read(kind, text) for text in texts]
        except ValueError:
            return [naming.plain(cell) for cell in found.tolist()]

    def _name_cells(self, table: NamedColumns) -> Any:
        """The column of the names: the index, or one that the study does not have."""
        called = self._name_column(table)
        return table.index if called is None else table.columns[called]

    def _name_column(self, table: NamedColumns) -> str | None:
        """What it is called: where items are named in it, by its header, or the only one that there is."""
        more = self._unknown(table)
        if table.index is not None or not more:
            return None
        known = {item.name for item in self.items}
        named = [name for name in more if known & {naming.text(cell) for cell in table.columns[name]}]
        headers = [name for name in more if name.strip().lower() in NAME_HEADERS]
        return next(iter([*named, *headers, *(more if len(more) == 1 else [])]), None)

    def _unknown(self, table: NamedColumns) -> list[str]:
        return [name for name in table.columns if name not in self.columns]

    def _notes(self, table: NamedColumns) -> tuple[str, ...]:
        """What is not taken from a table."""
        out = [name for name in self._unknown(table) if name != self._name_column(table)]
        told = f"The study has no column {' and none '.join(map(repr, out))}: left out."
        return (told,) if out else ()

    @property
    def columns(self) -> list[str]:
        """Those that are learned from, and those that are shown."""
        return [*encoding_of(self.catalogue.table).table_names, *self._shown]

    @property
    def _shown(self) -> list[str]:
        """Columns that are shown and not learned from."""
        return list(dict.fromkeys(name for row in self.catalogue.details for name in row))

    def _details_in(self, table: NamedColumns) -> dict[str, Any]:
        """Those in a table, None where it lacks one."""
        return {name: table.columns.get(name) for name in self._shown}

    def _after(
        self,
        items: Sequence[Item],
        changes: ItemChanges,
        names: Sequence[Any] | None = None,
        encoding: Encoding | None = None,
    ) -> ItemsAfter:
        """The items afterwards, once they can be asked about."""
        called = self.names if names is None else names
        known = encoding_of(self.catalogue.table) if encoding is None else encoding
        settings = {**self.settings, "named": True, "name_kinds": naming.kinds(called)}
        settings[ITEMS_VERSION] = int(self.settings.get(ITEMS_VERSION, 0)) + 1
        if not known.is_plain:
            settings["encoding"] = known.to_dict()
        features = tuple(map(str, known.names))
        if len(items) > MOST_ITEMS:
            most = f"{MOST_ITEMS:,}"
            raise InputError("The study would have {n} items; {most} are the most.", n=len(items), most=most)
        tables.refuse_repeats([item.name for item in items if item.retired is None], ITEM)
        goods = stored_catalogue(features, items, settings)
        check_comparable(goods)
        _refuse_outside(goods, Settings.of(self.settings).wishes)
        told = replace(changes, differences=_differences(items, len(self.items), goods))
        return ItemsAfter(tuple(items), features, settings, told)


def _differences(items: Sequence[Item], n_old: int, goods: Catalogue) -> dict[str, tuple[str, ...]]:
    """What differs between each new version and the version before it."""
    cells, found = shown_cells(goods.table), {}
    for i, item in enumerate(items[n_old:], n_old):
        if item.replaces is None:
            continue
        before, k = items[item.replaces], item.replaces
        pairs = [("name", before.name, item.name)]
        pairs += [(name, _cell_text(column[k]), _cell_text(column[i])) for name, column in cells.items()]
        pairs += [(name, before.details.get(name, ""), cell) for name, cell in item.details.items()]
        others = [(name, old or "-", new or "-") for name, old, new in pairs if old != new]
        found[item.name] = tuple(f"{name}: {old} → {new}" for name, old, new in others)
    return found


def _cell_text(cell: float | str) -> str:
    return cell if isinstance(cell, str) else plain(cell)


def _called(items: Sequence[Item], positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(items[i].name for i in positions)


def _refuse_outside(goods: Catalogue, wishes: Sequence[str]) -> None:
    """Refuse items outside the limits that a study was made with."""
    if not wishes:
        return
    inside = wishes_of(wishes, goods.table).inside
    out = [goods.names[i] for i in np.flatnonzero(~inside).tolist() if i not in goods.retired]
    if out:
        raise InputError(
            "{item} is outside the limits of the study ({limits}); leave it out.",
            item=repr(out[0]),
            limits=", ".join(wishes),
        )
