"""Addresses of our own pages, and the names in them."""

from __future__ import annotations

import re
from urllib.parse import quote


def study_path(name: str) -> str:
    """The address of a study; a slash in its name is written ~2F, which no server takes for a path."""
    special = r"[~/\\%]" if name.strip(".") else "."
    return f"/studies/{quote(re.sub(special, lambda found: f'~{ord(found[0]):02X}', name), safe='~')}"


def study_called(part: str) -> str:
    """The name in an address."""
    return re.sub("~([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), part)


def own_path(path: str) -> str:
    """A path of ours out of a form or an address, else the start: not //elsewhere, nor /\\elsewhere."""
    is_own = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if is_own else "/"
