"""Modules that are loaded when something of them is used, not when scikit-learn imports them in case.

`scipy.stats` and pandas are more than half of what a command such as `coombs fit` would wait for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import LazyLoader, find_spec
from types import ModuleType

SLOW_MODULES = ("scipy.stats", "pandas")


class LazyFinder:
    """Finds modules as usual, and lets their first use load them."""

    def __init__(self, names: Sequence[str] = SLOW_MODULES) -> None:
        self._names = {name for name in names if name not in sys.modules}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """For the import system: None leaves a module to others."""
        if name not in self._names:
            return None
        self._names.remove(name)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def make_lazy() -> None:
    """From now on, in this process; not for one with several threads, as two could be first."""
    if not all(name in sys.modules for name in SLOW_MODULES) and not any(
        isinstance(finder, LazyFinder) for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, LazyFinder())
