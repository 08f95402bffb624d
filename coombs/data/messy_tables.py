"""Tables as people have them: what a study can be made of, whatever is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from coombs.data import naming
from coombs.data.catalogue import Catalogue, catalogue, named_columns, with_roles
from coombs.data.column_roles import item_columns, readable_names
from coombs.data.encoding import NUMBER
from coombs.data.files import NamedColumns
from coombs.words import listed

MOST_NAMED = 3
"""Names that a sentence quotes."""
MOST_OTHERS = 0.25
"""Share of the cells of a column of numbers that may be something else, and of text that may be numbers."""


def numbered(names: Sequence[str]) -> list[str]:
    """The names, those that are repeated with a number.

    Examples
    --------
    >>> numbered(["Plain", "Plain", "Plain (2)", "Fancy", "Plain"])
    ['Plain', 'Plain (3)', 'Plain (2)', 'Fancy', 'Plain (4)']
    """
    taken, times, result = set(names), Counter[str](), []
    for name in names:
        times[name] += 1
        while times[name] > 1 and f"{name} ({times[name]})" in taken:
            times[name] += 1
        result.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return result


def messy_catalogue(
    path: str | PathLike[str], features: Sequence[str] | None = None, is_readable: bool = True
) -> Catalogue:
    """Items in a file, for whoever wants to choose among them; notes say what was made of the cells.

    Beside ids or numbers, a title is what items are called, unless `is_readable` is False. Items that are
    called alike are numbered. In a column of numbers, a few other cells are not known; text among which are a
    few numbers is only shown, and a column without any cell is left out.
    """
    table = named_columns(path)
    assert table is not None
    chosen, roles = with_roles(features, None, table)
    title = readable_names(table) if is_readable else None
    title = None if title in {*(chosen or ()), *(roles or ())} else title
    columns = item_columns(table, chosen, title, roles)
    odd = [one.name for one in columns if (one.role, one.kind) == ("feature", "mixed") and not one.is_said]
    found = {name: _as_what(table, name) for name in odd}
    # Who names a column as a feature gets it as one, or is told why not.
    made = {name: role for name, role in found.items() if role and (features is None or role == NUMBER)}
    names = next((one.name for one in columns if one.role == "names"), None)
    if title is not None and title == names:
        made[title] = "names"
    table, notes = _numbered_names(table, names)
    goods = catalogue(table, chosen, {**made, **(roles or {})})
    return replace(goods, notes=(*goods.notes, *notes))


def _as_what(table: NamedColumns, name: str) -> str | None:
    """What a column is taken for, some of whose cells are no numbers; None where that is a mistake."""
    filled = sum(naming.text(cell) != "" for cell in table.typed[name])
    others = len(table.other_cells([name]).get(name, ()))
    if not filled:
        return "ignore"
    if others <= MOST_OTHERS * filled:
        return NUMBER
    return "text" if filled - others <= MOST_OTHERS * filled else None


def _numbered_names(table: NamedColumns, names: str | None) -> tuple[NamedColumns, list[str]]:
    """The table with names that differ, and what was done."""
    told = [] if names is None else [naming.text(one) for one in table.columns[names]]
    repeated = [name for name, times in Counter(told).items() if name and times > 1]
    if names is None or not repeated:
        return table, []
    made = numbered(told)
    others = [repr(new) for new, old in zip(made, told, strict=True) if new != old]
    shown = listed([repr(one) for one in repeated], MOST_NAMED)
    note = f"{names}: more than one item is called {shown}; the others are {listed(others, MOST_NAMED)}."
    return replace(table, columns=table.columns | {names: np.array(made, dtype=object)}), [note]
