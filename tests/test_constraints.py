"""The versions that were tested (constraints.txt) are all that is needed, and pyproject.toml allows them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("packaging")

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTED = {
    line.partition("==")[0]: line.partition("==")[2]
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
BY_TIME = {"pyarrow", "dask", "distributed"}
"""Packages whose version is no promise about what breaks."""


def requirements(*extras: str) -> list[Requirement]:
    """What the package needs, and what these extras do."""
    of_extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in of_extras[extra])]
    found = [Requirement(line) for line in lines]
    return [one for one in found if one.name != PROJECT["name"]]


def test_tested_versions_are_allowed() -> None:
    extras = [one for one in PROJECT["optional-dependencies"] if one != "peers"]
    for one in requirements(*extras):
        tested = TESTED.get(canonicalize_name(one.name))
        assert tested is not None, f"{one.name} is not in constraints.txt; run make lock"
        assert one.specifier.contains(tested, prereleases=True), f"{one} does not allow {tested}"


def test_every_line_is_one_exact_version() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in TESTED)
    assert all(re.fullmatch(r"[0-9][\w.]*", version) for version in TESTED.values())


def test_what_users_install_has_an_upper_bound_where_majors_break() -> None:
    """Tools of ours, and packages that number their versions by time, have none."""
    users = [one for one in PROJECT["optional-dependencies"] if one not in ("peers", "docs", "dev", "all")]
    for one in requirements(*users):
        has_bound = any(part.operator == "<" for part in one.specifier)
        assert has_bound or canonicalize_name(one.name) in BY_TIME, str(one)
