"""Each column of an upload: what was decided and why, what could be chosen instead, and what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coombs.data.catalogue import MOST_OTHER_CELLS, SHOWN, ColumnDecision, encoded_items
from coombs.data.column_roles import ROLES, ItemColumn, checked_role
from coombs.data.encoding import (
    CATEGORY,
    DATE,
    LEARNED,
    LOG,
    NUMBER,
    ORDERED,
    YES_NO,
    FeatureColumn,
    days,
    is_gap,
    yes_or_no,
)
from coombs.data.tables import FloatArray, InputError
from coombs.language import Translatable
from coombs.web.item_cards import LINK, PICTURE, web_address
from coombs.web.uploads import MOST_CATEGORIES, ColumnRoles, Role, Upload
from coombs.words import listed

LABELS = {
    NUMBER: Translatable("a number"),
    LOG: Translatable("a number, on a log scale"),
    CATEGORY: Translatable("a category"),
    ORDERED: Translatable("ordered levels"),
    YES_NO: Translatable("yes or no"),
    DATE: Translatable("a date"),
    "names": Translatable("the names"),
    PICTURE: Translatable("a picture"),
    LINK: Translatable("a link"),
    "text": Translatable("shown only"),
    "ignore": Translatable("ignored"),
}
"""What roles are called where one is chosen, in the order of that list."""
DECIDED = {
    "names": Translatable("the names of the items"),
    PICTURE: Translatable("shown as a picture"),
    LINK: Translatable("shown as a link"),
    "text": SHOWN,
    "ignore": Translatable("left out"),
}
"""What is said of a column that is not learned from."""
MARKS = {",": Translatable("commas"), "<": "<", ";": Translatable("semicolons"), "|": "|"}
"""What may stand between levels, the first of these that is in none of them, and what it is called."""
MOST_LEVELS_SHOWN = 6
"""Levels of a category that are named."""
MOST_ORDERED = 50
"""Different cells of a column of which an order can be written down."""


@dataclass(frozen=True)
class ColumnChoice:
    """A column on the page.

    Parameters
    ----------
    name, role : of the column, and what it is chosen to be
    decision, reasons : what that comes to, and why, in words; nothing of the first where it cannot be
    problem : why it cannot be; blank if it can
    offered : the roles that it can have, and the one that it has
    levels, mark : as the field for them has them, and what stands between them
    """

    name: str
    role: str
    decision: str
    reasons: tuple[str, ...]
    problem: str
    offered: tuple[str, ...]
    levels: str
    mark: str

    @property
    def reason(self) -> str:
        """The reasons in a line."""
        return "; ".join(self.reasons)


def column_choices(upload: Upload, roles: ColumnRoles) -> tuple[ColumnChoice, ...]:
    """All columns."""
    return tuple(_choice(upload, roles, name) for name in upload.table.columns)


def chosen_roles(upload: Upload, roles: Sequence[str], levels: Sequence[str], numbered: bool) -> ColumnRoles:
    """What a form says: a role and a text of levels for each column, in the order of the table."""
    columns = list(upload.table.columns)
    if len(roles) != len(columns):
        raise InputError(
            f"The form has a role for {len(roles)} columns; {upload.table.file} has {len(columns)}."
        )
    texts = [*levels, *[""] * (len(columns) - len(levels))]
    found: dict[str, Role] = {}
    for name, role, text in zip(columns, roles, texts, strict=False):
        if role not in LABELS:
            known = ", ".join((*ROLES, PICTURE, LINK))
            raise InputError(f"The role of {name!r} is {role!r}; it must be one of {known}.")
        found[name] = _read_levels(upload, name, text) if role == ORDERED else role
    return ColumnRoles(found, numbered)


def _read_levels(upload: Upload, name: str, text: str) -> tuple[str, ...]:
    """The levels that somebody wrote down; of a blank field, those of the column."""
    known = upload.levels[name]
    levels = (level.strip() for level in text.split(_mark(known)))
    return tuple(level for level in levels if level) or tuple(known)


def _mark(levels: Sequence[str]) -> str:
    return next((mark for mark in MARKS if not any(mark in level for level in levels)), "|")


def _choice(upload: Upload, roles: ColumnRoles, name: str) -> ColumnChoice:
    role = roles.of[name]
    chosen = ORDERED if isinstance(role, tuple) else role
    problem, decision = upload.excess(name, roles) or _unclear_names(upload, roles, name), ""
    if not problem:
        try:
            decision = _decision(upload, name, role)
        except InputError as error:
            problem = str(error)
    offered = tuple(_offered(upload, name))
    known = upload.levels[name] if ORDERED in (chosen, *offered) else []
    mark = _mark(known)
    between = f"{mark} " if mark == "," else f" {mark} "
    return ColumnChoice(
        name,
        chosen,
        decision,
        tuple(_reasons(upload, name, role)),
        problem,
        tuple(one for one in LABELS if one in (chosen, *offered)),
        between.join(role if isinstance(role, tuple) else known),
        mark,
    )


def _decision(upload: Upload, name: str, role: Role) -> str:
    """What the role of a column comes to, in the library's words; InputError where it cannot be."""
    if not isinstance(role, tuple) and role not in LEARNED:
        return DECIDED[role]
    table, n = upload.table, upload.table.n_rows
    levels = checked_role(name, role) if isinstance(role, tuple) else ()
    learned_as = ORDERED if isinstance(role, tuple) else role
    column = ItemColumn(name, upload.by_name[name].kind, "feature", "", False, learned_as, tuple(levels))
    table = table.with_numbers([name]) if learned_as in (NUMBER, LOG) else table
    encoding = encoded_items(table, [column], None, np.arange(n)).encoding
    learned = FeatureColumn(name) if encoding is None else encoding.columns[0]
    return ColumnDecision.of(learned, n).text


def _unclear_names(upload: Upload, roles: ColumnRoles, name: str) -> str:
    """What is wrong with names that are missing or not one item's alone."""
    if roles.names != name:
        return ""
    repeated = [repr(one) for one in upload.repeated(name)]
    if repeated and not roles.numbered:
        called = listed(repeated)
        return Translatable(
            "Several items are called {names}: number them, or choose another column for the names.",
            names=called,
        )
    blank = np.flatnonzero(upload.table.columns[name] == "").tolist()
    if not blank:
        return ""
    return Translatable("There is no name in {places}; every item needs one.", places=upload.places(blank))


def _reasons(upload: Upload, name: str, role: Role) -> Iterator[str]:
    """Why a column is taken for what it is, and how its cells were read."""
    guessed, reading = upload.by_name[name], upload.table.readings.get(name)
    if name in upload.on_disk:
        yield Translatable(
            "it names files on your disk, which are not part of an upload; use web addresses, or start with: "
            "coombs serve {file}",
            file=upload.table.file,
        )
    elif why := _why(upload, guessed, role):
        yield Translatable("it {why}", why=why)
    for rows in upload.table.other_cells([name] if role in (NUMBER, LOG) else []).values():
        yield Translatable(
            "no number, and so not known, in {places}: {cells}",
            places=upload.places(rows),
            cells=listed([repr(str(upload.table.typed[name][i])) for i in rows], MOST_OTHER_CELLS),
        )
    if role == CATEGORY:
        yield listed(upload.levels[name], MOST_LEVELS_SHOWN)
    if reading is not None:
        # The unit stands in what was decided.
        known = f"in {reading.unit}" if role in LEARNED else ""
        yield from (one for one in reading.phrases if one != known)
    elif role not in LEARNED and (gaps := int(is_gap(upload.table.typed[name]).sum())):
        yield Translatable("{gaps} of {total} not known", gaps=gaps, total=upload.table.n_rows)


def _why(upload: Upload, column: ItemColumn, role: Role) -> str:
    """What decided that a column has the role that it has by default."""
    if role == "text":
        return column.reason if column.role == "detail" else upload.doubt(column.name)
    if role == "names":
        return column.reason
    is_learned = isinstance(role, tuple) or role in LEARNED
    is_constant = is_learned and upload.is_constant(column.name)
    same = Translatable("is the same for all items, so nothing can be learned of it")
    return same if is_constant else ""


def _offered(upload: Upload, name: str) -> Iterator[str]:
    """The roles that a column can have."""
    column, kind = upload.table.typed[name], upload.by_name[name].kind
    n_levels = len(upload.levels[name])
    if kind in ("number", "mixed"):
        yield NUMBER
    if kind == "number" and np.nanmin(column.astype(float)) > 0:
        yield LOG
    if 2 <= n_levels <= MOST_CATEGORIES:
        yield CATEGORY
    if 2 <= n_levels <= MOST_ORDERED:
        yield ORDERED
    if n_levels <= 2 and _is_read(yes_or_no, upload.table.columns[name]):
        yield YES_NO
    if _is_read(days, column):
        yield DATE
    if any(map(web_address, upload.sample(name))):
        yield from (PICTURE, LINK)
    yield from ("names", "text", "ignore")


def _is_read(read: Callable[..., FloatArray], cells: NDArray[Any]) -> bool:
    """Whether cells are what a function makes numbers of, and not all of them gaps."""
    try:
        return bool(np.isfinite(read(cells, "", str)).any())
    except InputError:
        return False
