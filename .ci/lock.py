"""Print the versions that are installed of everything coombs and its extras need, as a constraints file.

    make lock

`peers` is left out: what others' models need is compared with, never used.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
PYTHON = ".".join(map(str, sys.version_info[:2]))
HEAD = f"""\
# The versions that coombs was tested with, by Python {PYTHON}; `make lock` writes them here.
# To install just these: pip install -c constraints.txt "coombs[all]"
"""


def needed(requirement: Requirement, seen: set[tuple[str, str]], found: dict[str, str]) -> None:
    """Add a requirement's version, and those of what it requires itself."""
    name = canonicalize_name(requirement.name)
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    found[name] = package.version
    for extra in ("", *requirement.extras):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in package.requires or ():
            inner = Requirement(line)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                needed(inner, seen, found)


def main() -> None:
    """Print a line for each."""
    found: dict[str, str] = {}
    extras = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name != "peers"}
    for line in (*PROJECT["dependencies"], *chain(*extras.values())):
        if not line.startswith("coombs["):
            needed(Requirement(line), set(), found)
    print(HEAD + "".join(f"{name}=={found[name]}\n" for name in sorted(found)), end="")


if __name__ == "__main__":
    main()
