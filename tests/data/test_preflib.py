"""PrefLib's files of orders: both formats, each kind, and what they say of every two alternatives."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import postgres
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs.data.comparisons import Comparisons, InputError
from coombs.data.preflib import Order, Preflib, read_preflib

pd = pytest.importorskip("pandas")

SHARED = Path("/work/shared/data")
REAL = [path for kind in ("soc", "soi", "toc", "toi") for path in sorted(SHARED.rglob(f"*.{kind}"))]

ANN_BOB = """\
# FILE NAME: votes.toi
# TITLE: Colons: and, commas
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 10
# NUMBER UNIQUE ORDERS: 4
# ALTERNATIVE NAME 1: Ann: the 1st, of all
# ALTERNATIVE NAME 2: Bob
# ALTERNATIVE NAME 3: Zoë
5: 3,{1,2}
2: 2, 1
2: {3},1,2
1: {2,3}
"""
OLD = """\
3
1,Ann: the 1st, of all
2,Bob
3,Zoë
10,10,4
5,3,{1,2}
2,2,1
2,3,1,2
1,{2,3}
"""
VOTES = Preflib(
    ("Ann: the 1st, of all", "Bob", "Zoë"),
    (((2,), (0, 1)), ((1,), (0,)), ((2,), (0,), (1,)), ((1, 2),)),
    (5, 2, 2, 1),
)


@st.composite
def votes(draw: st.DrawFn) -> Preflib:
    """Up to eight orders, with ties and gaps, of two to six alternatives."""
    n = draw(st.integers(2, 6))
    name = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=5)
    alternatives = draw(st.lists(name, min_size=n, max_size=n, unique=True))
    orders = [draw(order_of(n)) for _ in range(draw(st.integers(1, 8)))]
    counts = [draw(st.integers(0, 9)) for _ in orders]
    return Preflib(tuple(alternatives), tuple(orders), tuple(counts))


@st.composite
def order_of(draw: st.DrawFn, n: int) -> Order:
    ranked = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    groups: list[list[int]] = []
    for place in ranked:
        if groups and draw(st.booleans()):
            groups[-1].append(place)
        else:
            groups.append([place])
    return tuple(map(tuple, groups))


def written(data: Preflib, old: bool) -> str:
    """The votes as a file."""
    n, voters = len(data.alternatives), sum(data.counts)
    called = list(enumerate(data.alternatives, 1))
    if old:
        head = [str(n), *(f"{i},{name}" for i, name in called), f"{voters},{voters},{len(data.orders)}"]
    else:
        head = [f"# NUMBER VOTERS: {voters}", *(f"# ALTERNATIVE NAME {i}: {name}" for i, name in called)]
    lines = [
        f"{count}{',' if old else ': '}" + ",".join(map(group_text, order))
        for order, count in zip(data.orders, data.counts, strict=True)
    ]
    return "\n".join([*head, *lines]) + "\n"


def group_text(group: tuple[int, ...]) -> str:
    text = ",".join(str(place + 1) for place in group)
    return f"{{{text}}}" if len(group) > 1 else text


def said(data: Preflib) -> dict[tuple[int, int], float]:
    """Who is before whom, and for how many, one by one."""
    total: Counter[tuple[int, int]] = Counter()
    for order, count in zip(data.orders, data.counts, strict=True):
        for i, better in enumerate(order):
            for worse in order[i + 1 :]:
                total.update({(a, b): count for a in better for b in worse})
    return {pair: float(count) for pair, count in total.items() if count}


def answers(data: Comparisons) -> dict[tuple[int, int], float]:
    winners, losers, weights = (part.tolist() for part in data.oriented())
    assert len(set(zip(winners, losers, strict=True))) == len(winners)
    return dict(zip(zip(winners, losers, strict=True), weights, strict=True))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# What comes out


@pytest.mark.parametrize("text", [ANN_BOB, OLD, "\ufeff" + ANN_BOB.replace("\n", "\r\n\r\n"), OLD + "\n \n"])
def test_both_formats_give_the_same(tmp_path: Path, text: str) -> None:
    """Names with colons and commas; ties, gaps, spaces, blank lines."""
    assert read_preflib(write(tmp_path / "votes.toi", text)) == VOTES


@pytest.mark.parametrize("old", [False, True])
@given(data=votes())
@settings(max_examples=60, deadline=None)
def test_orders_come_back_and_say_what_they_say_one_by_one(old: bool, data: Preflib) -> None:
    """Also the sums over orders, against a count by hand."""
    here = postgres.quick_folder()
    try:
        path = write(here / "votes.toi", written(data, old))
        assert read_preflib(path) == data
        x = np.arange(2.0 * len(data.alternatives)).reshape(-1, 2)
        if said(data):
            assert answers(Comparisons.from_preflib(x, path)) == said(data)
        else:
            with pytest.raises(InputError, match="puts an alternative before another"):
                Comparisons.from_preflib(x, path)
    finally:
        shutil.rmtree(here)


def test_alternatives_are_items_by_name(tmp_path: Path) -> None:
    """In any order, and other items may be there."""
    path = write(tmp_path / "votes.toi", ANN_BOB)
    items = pd.DataFrame({"x": range(4)}, index=["Zoë", "nobody", "Ann: the 1st, of all", "Bob"])
    data = Comparisons.from_preflib(items, path)
    assert answers(data) == {(0, 2): 7.0, (0, 3): 7.0, (3, 2): 2.0, (2, 3): 2.0}
    assert data.n_items == 4 and data.users is None


def test_numbers_of_alternatives_may_have_gaps_and_any_order(tmp_path: Path) -> None:
    text = "# ALTERNATIVE NAME 7: c\n# ALTERNATIVE NAME 2: a\n1: 7,2\n"
    assert read_preflib(write(tmp_path / "a.soc", text)) == Preflib(("a", "c"), (((1,), (0,)),), (1,))


def test_many_voters_stay_small(tmp_path: Path) -> None:
    """As many answers as there are pairs, whatever the number of orders."""
    rng = np.random.default_rng(0)
    lines = "".join(f"3: {','.join(map(str, rng.permutation(5) + 1))}\n" for _ in range(2000))
    head = "".join(f"# ALTERNATIVE NAME {i}: {i}\n" for i in range(1, 6))
    data = Comparisons.from_preflib(np.eye(5), write(tmp_path / "a.soc", head + lines))
    assert len(data) == 20 and data.weights.sum() == 2000 * 3 * 10


@pytest.mark.skipif(not REAL, reason=f"no PrefLib file in {SHARED}")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files_are_read(path: Path) -> None:
    """Every order, and pairs whose two sides add up to the voters who rank both."""
    data = read_preflib(path)
    assert len(data.orders) == len(data.counts) > 0
    found = Comparisons.from_preflib(np.arange(float(len(data.alternatives)))[:, None], path)
    assert found.weights.max() <= sum(data.counts)


# What is refused


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", ANN_BOB, r"a.csv is no PrefLib file of orders; its name must end in .soc"),
        ("a.toi", "", r"has 0 lines \"# ALTERNATIVE NAME"),
        ("a.toi", "# TITLE: x\n1: 1\n", r"has 0 lines"),
        ("a.toi", ANN_BOB.replace("ALTERNATIVES: 3", "ALTERNATIVES: 4"), r"has 3 lines .* should have 4"),
        ("a.toi", ANN_BOB.replace("VOTERS: 10", "VOTERS: 12"), r"are of 10 voters; its head says 12"),
        ("a.toi", ANN_BOB.replace("VOTERS: 10", "VOTERS: ten"), r"number of voters in the head .* is 'ten'"),
        ("a.toi", ANN_BOB.replace("2: 2, 1", "2: 2, 4"), r"line 10 .* has 4, which is the number of no"),
        ("a.toi", ANN_BOB.replace("2: 2, 1", "2: 2, 2"), r"line 10 .* has alternative 2 twice"),
        (
            "a.toi",
            ANN_BOB.replace("2: 2, 1", "2: 2; 1"),
            r"order in line 10 .* is '2; 1'; it must be numbers",
        ),
        (
            "a.toi",
            ANN_BOB.replace("2: 2, 1", "2: {2,1"),
            r"order in line 10 .* must be numbers such as 3,{1,2}",
        ),
        ("a.toi", ANN_BOB.replace("2: 2, 1", "2,2,1"), r"number of voters in line 10 .* is '2,2,1'"),
        ("a.toi", ANN_BOB.replace("2: 2, 1", "-2: 2, 1"), r"number of voters in line 10 .* is '-2'"),
        ("a.toi", ANN_BOB.replace("2: 2, 1", "9" * 5000 + ": 2"), r"number of voters in line 10"),
        ("a.soi", ANN_BOB, r"line 9 .* has ties; a .soi file must have none, a .toi file may"),
        ("a.toc", ANN_BOB, r"line 10 .* has 2 of 3 alternatives; a .toc file must have all, a .toi file"),
        ("a.toi", OLD.replace("3\n1", "three\n1", 1), r"number of alternatives in line 1 .* is 'three'"),
        ("a.toi", "3\n1,a\n2,b\n", r"ends after 3 lines; it needs 5"),
        ("a.toi", OLD.replace("2,Bob", "1,Bob"), r"has 2 alternatives of different numbers; .* are 3"),
        ("a.toi", OLD.replace("2,Bob", "Bob"), r"alternative's number in line 3 .* is 'Bob'"),
        ("a.toi", OLD.replace("10,10,4", "10,12,4"), r"are of 10 voters; its head says 12"),
        ("a.toi", OLD.replace("10,10,4", "many"), r"sum of voters in line 5 .* is 'many'"),
    ],
)
def test_broken_files_are_refused_by_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    """In one sentence that says what would be right."""
    with pytest.raises(InputError, match=message):
        read_preflib(write(tmp_path / name, text))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (np.eye(4), r"There are 4 items without names, and 3 alternatives in .*; give the items names"),
        (
            pd.DataFrame({"x": [1, 2]}, index=["Bob", "Zoe"]),
            r"Unknown item .* in alternative 1 of .*votes.toi",
        ),
        (np.eye(1), r"fewer than two items"),
    ],
)
def test_items_that_are_not_the_alternatives_are_refused(tmp_path: Path, items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Comparisons.from_preflib(items, write(tmp_path / "votes.toi", ANN_BOB))


def test_two_alternatives_of_one_name_cannot_be_told_apart(tmp_path: Path) -> None:
    """By name, that is; by position they can."""
    path = write(tmp_path / "a.soc", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: a\n1: 2,1\n")
    assert answers(Comparisons.from_preflib(np.eye(2), path)) == {(1, 0): 1.0}
    with pytest.raises(InputError, match=r"More than one alternative of .* is named 'a'"):
        Comparisons.from_preflib(pd.DataFrame({"x": [1, 2]}, index=["a", "b"]), path)


def test_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_preflib(tmp_path / "none.soc")
    (tmp_path / "bytes.soc").write_bytes(b"# TITLE: \xff\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_preflib(tmp_path / "bytes.soc")
