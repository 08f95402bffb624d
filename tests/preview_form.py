"""The form on the page on which an upload is looked over, as a browser would send it."""

from __future__ import annotations

import re
from html import unescape


def preview_form(page: str, changes: dict[str, str] | None = None, **more: str) -> dict[str, str | list[str]]:
    """What the form sends, with other roles for some columns, by their names."""
    columns = list(map(unescape, re.findall(r'<label for="role\d+">(.*?)</label>', page)))
    roles = dict(zip(columns, re.findall(r'<option value="([^"]+)" selected', page), strict=True))
    levels = list(map(unescape, re.findall(r'name="levels" value="([^"]*)"', page)))
    (name,) = re.findall(r'name="name" value="([^"]*)"', page)
    assert len(levels) == len(columns)
    return {"name": unescape(name), "role": list((roles | (changes or {})).values()), "levels": levels} | more


def decisions(page: str) -> dict[str, str]:
    """What the page says of each column."""
    found = re.findall(r'<label for="role\d+">(.*?)</label>(?:<span>(.*?)</span>)?', page)
    return {unescape(name): unescape(said) for name, said in found}
