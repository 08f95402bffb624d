"""Versions of items: which are asked about, which came before, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence

from coombs.data import naming
from coombs.data.tables import Names
from coombs.storage.records import Item

ITEMS_VERSION = "items_version"
"""The setting that counts the changes of a study's items: whoever reads the settings knows of them."""


def first_items(items: Sequence[Item]) -> int | None:
    """How many items the study was made with; None where none has come since."""
    return next((i for i, item in enumerate(items) if item.added is not None), None)


def version_numbers(items: Sequence[Item]) -> list[int]:
    """The version of each item: one more than that of the item it replaces, from 1.

    Examples
    --------
    >>> version_numbers([Item("tea", (1.0,)), Item("milk", (2.0,)), Item("tea", (3.0,), replaces=0)])
    [1, 1, 2]
    """
    found: list[int] = []
    for item in items:
        found.append(1 if item.replaces is None else found[item.replaces] + 1)
    return found


def origins(items: Sequence[Item]) -> list[int]:
    """The position of the first version of each item."""
    found: list[int] = []
    for i, item in enumerate(items):
        found.append(i if item.replaces is None else found[item.replaces])
    return found


def latest_versions(items: Sequence[Item]) -> list[int]:
    """The version of each item that is asked about: itself, or the latest that is; else the latest."""
    first = origins(items)
    last = {first[i]: i for i in range(len(items))}
    last |= {first[i]: i for i, item in enumerate(items) if item.retired is None}
    return [i if item.retired is None else last[first[i]] for i, item in enumerate(items)]


def told_apart(items: Sequence[Item], names: Names) -> Names:
    """The names, with its version where an item was replaced or its name is another's now.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> old = Item("tea", (1.0,), retired=datetime(2026, 1, 31, tzinfo=UTC))
    >>> import numpy as np
    >>> told_apart([old, Item("tea", (2.0,), replaces=0)], np.array(["tea", "tea"], dtype=object)).tolist()
    ['tea (version 1)', 'tea']
    """
    replaced = {item.replaces for item in items}
    texts, versions = [naming.text(name) for name in names], version_numbers(items)
    taken = {text for text, item in zip(texts, items, strict=True) if item.retired is None}
    result = names.copy()
    # The latest first, so that what was last called so keeps its name.
    for i in reversed(range(len(items))):
        if items[i].retired is None:
            continue
        if i in replaced or texts[i] in taken:
            called = f"{texts[i]} (version {versions[i]})"
            result[i] = called if called not in taken else f"{texts[i]} (version {versions[i]}, item {i})"
        taken.add(naming.text(result[i]))
    return result
