"""Lists of names, one a line: things to choose from that have no features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coombs.data.tables import InputError, holds_text
from coombs.language import Translatable

if TYPE_CHECKING:
    from coombs.data.files import NamedColumns

ENDING = ".txt"
"""How names of files that may be such lists end."""
HEADERS = {
    *("", "id", "name", "names", "item", "items", "title", "titles", "idea", "ideas", "option", "options"),
    *("label", "choice", "choices", "alternative", "alternatives", "candidate", "candidates"),
    *("product", "products"),
}
"""A first line, or the header of an only column, that says one of these is no name itself."""
SEPARATORS = ",;\t"
"""One of these in the first line of a text file, and it is a table."""


def is_name_list(text: str, file: str) -> bool:
    """Whether a text file is a list of names: its first line that is not blank has nothing between columns.

    Examples
    --------
    >>> is_name_list("tea\\ncoffee, black\\n", "a.txt"), is_name_list("name,price\\ntea,2\\n", "a.txt")
    (True, False)
    """
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    return file.lower().endswith(ENDING) and not set(SEPARATORS) & set(first)


def listed_names(text: str, file: str) -> tuple[list[str], list[int]]:
    """The names in a text, one a line, and their lines; blank lines and a header are passed over.

    Examples
    --------
    >>> listed_names("Ideas\\ntea\\n\\ncoffee, black\\n", "drinks.txt")
    (['tea', 'coffee, black'], [2, 4])
    """
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and lines[0][1].lower() in HEADERS:
        del lines[0]
    if not lines:
        raise InputError("{file} has no names; write one on each line.", file=file)
    return [name for _, name in lines], [i for i, _ in lines]


def header_note(table: NamedColumns) -> str | None:
    """What is said of a file with one column of text whose header may have been meant as a name."""
    header = next(iter(table.columns), "")
    is_list = table.source in ("csv", "excel") and len(table.columns) == 1 and holds_text(table.typed[header])
    if not is_list or header.strip().lower() in HEADERS:
        return None
    return Translatable(
        "The first line of {file}, {header}, is taken for the header of the names below it.",
        file=table.file,
        header=repr(header),
    )
