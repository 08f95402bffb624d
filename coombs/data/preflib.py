"""Orders of alternatives in the files of PrefLib (https://preflib.org): .soc, .soi, .toc and .toi."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, tables
from coombs.data.tables import FloatArray, InputError, ItemTable

Order: TypeAlias = tuple[tuple[int, ...], ...]
Line: TypeAlias = tuple[int, str]
Positions: TypeAlias = NDArray[np.intp]

_SUFFIXES = (".soc", ".soi", ".toc", ".toi")
_WHOLE = re.compile(r"[0-9]{1,15}")
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,15})")
_GROUP = r"(?:[0-9]{1,15}|\{(?:[0-9]{1,15}(?:,[0-9]{1,15})*)?\})"
_ORDER = re.compile(rf"(?:{_GROUP}(?:,{_GROUP})*)?")


@dataclass(frozen=True)
class Preflib:
    """Orders as a PrefLib file has them.

    Attributes
    ----------
    alternatives : names, by number
    orders : of each the groups that it ranks, best first; a group is the positions of alternatives that
        are tied, and most often there is one in it. What an order does not rank is left out
    counts : how many voters gave each order
    """

    alternatives: tuple[str, ...]
    orders: tuple[Order, ...]
    counts: tuple[int, ...]


class _Parts(NamedTuple):
    """A file taken apart: names by number, how many voters it says there are, its lines of orders."""

    names: dict[int, str]
    voters: int | None
    ballots: list[Line]
    mark: str


def read_preflib(path: files.PathType) -> Preflib:
    """Return the orders in a PrefLib file, in the format of today or in the one from before 2022.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.toi"
    >>> names = "".join(f"# ALTERNATIVE NAME {i}: {name}\\n" for i, name in enumerate("abc", start=1))
    >>> _ = path.write_text(names + "5: 3,{1,2}\\n2: 2\\n")
    >>> read_preflib(path)
    Preflib(alternatives=('a', 'b', 'c'), orders=(((2,), (0, 1)), ((1,),)), counts=(5, 2))
    """
    file, kind = files.path_text(path), Path(files.path_text(path)).suffix.lower()
    if kind not in _SUFFIXES:
        raise InputError(f"{file} is no PrefLib file of orders; its name must end in {', '.join(_SUFFIXES)}.")
    lines = [(number, line.strip()) for number, line in files.numbered_lines(path) if line.strip()]
    parts = (_modern if not lines or lines[0][1].startswith("#") else _old)(lines, file)
    places = {number: place for place, number in enumerate(sorted(parts.names))}
    counts, orders = [], []
    for number, line in parts.ballots:
        where = f"line {number} of {file}"
        voters, mark, text = line.partition(parts.mark)
        counts.append(_whole(voters if mark else line, "number of voters", where))
        orders.append(_order(text, places, where))
        _check_kind(orders[-1], kind, len(places), where)
    if parts.voters is not None and sum(counts) != parts.voters:
        raise InputError(f"The orders in {file} are of {sum(counts)} voters; its head says {parts.voters}.")
    return Preflib(tuple(parts.names[number] for number in places), tuple(orders), tuple(counts))


def wins(table: ItemTable, path: files.PathType) -> tuple[Positions, FloatArray]:
    """Every (winner, loser) among the items that an order in the file has, and of how many voters."""
    votes = read_preflib(path)
    m = len(votes.alternatives)
    items = _items(table, votes.alternatives, files.path_text(path))
    totals = np.zeros(m * m)
    for order, voters in zip(votes.orders, votes.counts, strict=True):
        first, second = _pairs(tuple(map(len, order)))
        ranked = np.array([place for group in order for place in group], dtype=np.intp)
        # A pair comes once in an order, so that nothing is added twice to one place here.
        totals[ranked[first] * m + ranked[second]] += voters
    found = np.flatnonzero(totals)
    if not len(found):
        raise InputError(f"No order in {files.path_text(path)} puts an alternative before another; one must.")
    return items[np.column_stack(np.divmod(found, m))], totals[found]


@lru_cache(maxsize=64)
def _pairs(sizes: tuple[int, ...]) -> tuple[Positions, Positions]:
    """Every two places in different groups of an order with groups of these sizes, the better first."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    first, second = np.triu_indices(len(group), 1)
    apart = group[first] != group[second]
    return first[apart], second[apart]


def _items(table: ItemTable, alternatives: tuple[str, ...], file: str) -> Positions:
    """The position of each alternative among the items: by name, or the same where items have none."""
    if table.names is not None:
        tables.refuse_repeats(list(alternatives), f"alternative of {file}")
        named = np.array(alternatives, dtype=object)
        return tables.positions(table, named, lambda i: f"alternative {i + 1} of {file}")
    if len(table.matrix) != len(alternatives):
        raise InputError(
            f"There are {len(table.matrix)} items without names, and {len(alternatives)} alternatives in "
            f"{file}; give the items names, or one item for each alternative."
        )
    return np.arange(len(alternatives))


def _modern(lines: list[Line], file: str) -> _Parts:
    """Lines "# KEY: value", then lines "voters: order"."""
    names: dict[int, str] = {}
    head: dict[str, str] = {}
    for _, line in lines:
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            head[key.strip()] = value.strip()
            if match := _NAME.fullmatch(key.strip()):
                names[int(match[1])] = value.strip()
    said = head.get("NUMBER ALTERNATIVES", str(len(names)))
    if not names or said != str(len(names)):
        raise InputError(
            f'{file} has {len(names)} lines "# ALTERNATIVE NAME ..." and should have {said}; '
            "there must be one for each alternative."
        )
    voters = head.get("NUMBER VOTERS")
    stated = None if voters is None else _whole(voters, "number of voters", f"the head of {file}")
    return _Parts(names, stated, [line for line in lines if not line[1].startswith("#")], ":")


def _old(lines: list[Line], file: str) -> _Parts:
    """How many alternatives, "number,name" for each, "voters,sum,different orders", then "voters,order"."""
    n = _whole(lines[0][1], "number of alternatives", f"line {lines[0][0]} of {file}")
    if len(lines) < n + 2:
        raise InputError(f"{file} ends after {len(lines)} lines; it needs {n + 2} before the orders.")
    names: dict[int, str] = {}
    for number, line in lines[1 : n + 1]:
        key, _, name = line.partition(",")
        names[_whole(key, "alternative's number", f"line {number} of {file}")] = name.strip()
    if len(names) < n:
        raise InputError(f"{file} has {len(names)} alternatives of different numbers; it says there are {n}.")
    number, sums = lines[n + 1]
    total = sums.split(",")[1:2] or [sums]
    return _Parts(names, _whole(total[0], "sum of voters", f"line {number} of {file}"), lines[n + 2 :], ",")


def _whole(text: str, what: str, where: str) -> int:
    """A whole number."""
    if not _WHOLE.fullmatch(text.strip()):
        raise InputError(f"The {what} in {where} is {text.strip()!r}; it must be a whole number.")
    return int(text)


def _order(text: str, places: dict[int, int], where: str) -> Order:
    """Groups of positions, best first, out of text such as "3,{1,2}"."""
    bare = "".join(text.split())
    if not _ORDER.fullmatch(bare):
        raise InputError(f"The order in {where} is {text.strip()!r}; it must be numbers such as 3,{{1,2}},4.")
    groups = [re.findall("[0-9]+", group) for group in re.findall(_GROUP, bare)]
    numbers = [int(number) for group in groups for number in group]
    if unknown := [number for number in numbers if number not in places]:
        raise InputError(f"The order in {where} has {unknown[0]}, which is the number of no alternative.")
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise InputError(f"The order in {where} has alternative {twice} twice; once is right.")
    return tuple(tuple(places[int(number)] for number in group) for group in groups if group)


def _check_kind(order: Order, kind: str, n: int, where: str) -> None:
    """That an order is strict in .so? and complete in .?oc, so that a line cut short is seen."""
    if kind.startswith(".s") and any(len(group) > 1 for group in order):
        raise InputError(
            f"The order in {where} has ties; a {kind} file must have none, a .t{kind[2:]} file may."
        )
    ranked = sum(map(len, order))
    if kind.endswith("c") and ranked != n:
        raise InputError(
            f"The order in {where} has {ranked} of {n} alternatives; a {kind} file must have all, "
            f"a {kind[:3]}i file may have fewer."
        )
