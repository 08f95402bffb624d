"""What a person should know about their table before they make a study of it, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from coombs.data.tables import InputError
from coombs.web.drafts import Choices, Draft
from coombs.words import count

FEW_ITEMS, MANY_FEATURES = 10, 12
CORRELATED = 0.95
MOST_TOLD = 5
SEPARATORS = {";": "semicolons", "\t": "tabs"}
_SIGN = r"(?:[$€£¥₹₽₺%]|kr|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY)"
_NUMBER_WITH_SIGN = re.compile(
    rf"[+-]?{_SIGN}\s*[+-]?\d[\d.,']*|[+-]?\d[\d.,']*\s*{_SIGN}|[+-]?\d{{1,3}}(,\d{{3}})+(\.\d+)?"
)
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")


def problems(draft: Draft, choices: Choices) -> list[str]:
    """What must be mended before there can be a study; of a single row nothing else is said."""
    if draft.n_rows < 2:
        return _refusal(draft.check, choices)
    told = [*_all_alike(draft, choices), *_missing(draft, choices), *_unclear_names(draft, choices)]
    # What is told already would be refused once more when the items are put together.
    return [*_refusal(draft.check if told else draft.catalogue, choices), *told]


def warnings(draft: Draft, choices: Choices) -> list[str]:
    """What is good to know: how the file was read, columns left out, what cannot be told apart."""
    if draft.n_rows < 2:
        return []
    return [
        *_file(draft),
        *_left_out(draft, choices),
        *_gaps(draft, choices),
        *_names(draft, choices),
        *_sizes(draft, choices),
        *_features(draft, choices),
    ]


def _refusal(step: Callable[[Choices], object], choices: Choices) -> list[str]:
    """What a step on the way to the study says against the choices."""
    try:
        step(choices)
    except InputError as error:
        return [str(error)]
    return []


def _missing(draft: Draft, choices: Choices) -> Iterator[str]:
    """Gaps in features, unless rows with gaps are left out."""
    for name in () if choices.complete else choices.features:
        rows = draft.gaps(name)
        if len(rows):
            places = _places(draft, rows.tolist())
            yield f"{name} is missing in {places}: fill it in, untick it, or leave out such rows."


def _unclear_names(draft: Draft, choices: Choices) -> Iterator[str]:
    """Names that are missing or not one item's alone."""
    if choices.names is None:
        return
    repeated = [repr(name) for name in draft.repeated(choices.names)]
    if repeated and not choices.numbered:
        yield (
            f"Several items are called {_list(repeated)}: tick below to number them, "
            "or choose another column for the name."
        )
    blank = np.flatnonzero(draft.columns[choices.names] == "").tolist()
    if blank:
        yield f"There is no name in {_places(draft, blank)}; every item needs one."


def _all_alike(draft: Draft, choices: Choices) -> Iterator[str]:
    if choices.features and all(_is_constant(draft, name) for name in choices.features):
        yield f"All items are the same in {_list(choices.features)}; tick a column in which they differ."


def _file(draft: Draft) -> Iterator[str]:
    """What stands between the columns, if that is no comma."""
    marks = SEPARATORS.get(draft.separator)
    if marks and draft.decimal_commas:
        yield f"The file has {marks} between its columns and commas in its numbers; both were understood."
    elif marks:
        yield f"The file has {marks} between its columns, which was understood."


def _left_out(draft: Draft, choices: Choices) -> Iterator[str]:
    """Columns that are no features, and why."""
    for name in draft.on_disk:
        yield (
            f"{name} names files on your disk, which an upload does not bring; use web addresses, "
            f"or start with: coombs serve {draft.file}"
        )
    special = {choices.names, choices.picture, choices.link}
    others = [name for name in draft.columns if name not in choices.features and name not in special]
    yield from _texts(draft, [name for name in others if name not in draft.numeric])
    for name in others:
        if name in draft.numeric and not len(draft.gaps(name)) and _is_constant(draft, name):
            yield f"{name} is left out, as it is the same for all items."
    unticked = [name for name in others if name in draft.numeric and not _is_constant(draft, name)]
    whole = [name for name in unticked if not len(draft.gaps(name))]
    if whole:
        yield f"Numbers that are not ticked are shown and not learned from: {_list(whole)}."


def _texts(draft: Draft, names: Sequence[str]) -> Iterator[str]:
    """Columns of text, and those that should perhaps be numbers."""
    plain = []
    for name in names:
        signed, mistake = _signed(draft, name), _mistake(draft, name)
        if signed is not None:
            yield signed
        elif mistake is not None:
            row, wrong = mistake
            yield (
                f"{name} is left out, as it is not all numbers: in {_places(draft, [row])} it is {wrong!r}. "
                "Correct the file if it should count."
            )
        elif name not in draft.on_disk:
            plain.append(name)
    if plain:
        yield f"Text is shown on the cards and not learned from: {_list(plain)}."


def _signed(draft: Draft, name: str) -> str | None:
    """How to write a column most of which is numbers with a sign, or with commas for thousands."""
    cells = [cell for cell in draft.typed[name].tolist() if cell is not None]
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    found = [text for text in texts if _NUMBER_WITH_SIGN.fullmatch(text)]
    if not found or len(found) < len(cells) / 2:
        return None
    signs = any(re.search(_SIGN, text) for text in found)
    commas = [text for text in found if _THOUSANDS.search(text)]
    out = " and ".join(["the sign"] * signs + ["the thousands comma"] * bool(commas))
    example = (commas or found)[0]
    having = "a sign" if signs else "commas"
    return f"{name} looks like numbers with {having} ({example}); leave {out} out to learn from it."


def _mistake(draft: Draft, name: str) -> tuple[int, str] | None:
    """The first text in a column that is mostly numbers."""
    cells = draft.typed[name].tolist()
    wrong = [i for i, cell in enumerate(cells) if isinstance(cell, str)]
    if len(wrong) > len(cells) / 2:
        return None
    return (wrong[0], cells[wrong[0]]) if wrong else None


def _gaps(draft: Draft, choices: Choices) -> Iterator[str]:
    """What is left out for its gaps: columns, or rows."""
    special = {choices.names, choices.picture, choices.link}
    for name in draft.numeric:
        rows = draft.gaps(name)
        if not len(rows) or name in special:
            continue
        places = _places(draft, rows.tolist())
        if name not in choices.features:
            yield f"{name} is left out, as it is missing in {places}."
        elif choices.complete:
            yield f"Left out, as {name} is missing: {places}."


def _names(draft: Draft, choices: Choices) -> Iterator[str]:
    """What items are called, if that is not what the file says."""
    if choices.names is None:
        yield "No column holds the names, so that items are called by their numbers."
    elif choices.names in draft.numbering:
        yield f"{choices.names} numbers the items: it is taken for their names and not learned from."
    elif choices.numbered and (repeated := draft.repeated(choices.names)):
        yield f"Items of the same name are numbered: {repeated[0]}, {repeated[0]} (2)."


def _sizes(draft: Draft, choices: Choices) -> Iterator[str]:
    if draft.n_rows < FEW_ITEMS:
        few = count(draft.n_rows, "item")
        yield f"There are only {few}: with so few, ranking them by hand may be quicker."
    if len(choices.features) > MANY_FEATURES:
        yield (
            f"{len(choices.features)} features are many: each takes a few more questions. "
            "Tick those that could matter to somebody."
        )


def _features(draft: Draft, choices: Choices) -> Iterator[str]:
    """What no answer can tell apart: constants, twins, and items that are alike."""
    chosen = [name for name in choices.features if name in draft.numeric and not len(draft.gaps(name))]
    for name in chosen:
        if _is_constant(draft, name):
            yield f"{name} is the same for all items, so nothing can be learned of it."
    columns = [draft.typed[name].astype(float) for name in chosen if not _is_constant(draft, name)]
    varied = [name for name in chosen if not _is_constant(draft, name)]
    if len(columns) > 1 and draft.n_rows > 2:
        matrix = np.corrcoef(np.array(columns))
        for i, j in np.argwhere(np.triu(np.abs(matrix) > CORRELATED, 1))[:MOST_TOLD].tolist():
            way = "go up and down together" if matrix[i, j] > 0 else "go opposite ways"
            yield (
                f"{varied[i]} and {varied[j]} {way}, so that which of the two matters will be hard to tell."
            )
    if columns:
        yield from _alike(draft, np.column_stack(columns))


def _alike(draft: Draft, matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Iterator[str]:
    """Items with the same features."""
    _, first, place = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    twins = [i for i, p in enumerate(place.ravel().tolist()) if first[p] != i]
    if twins:
        i, j = int(first[place.ravel()[twins[0]]]), twins[0]
        others = f", and {count(len(twins) - 1, 'more pair')} like that" if len(twins) > 1 else ""
        yield (
            f"{_places(draft, [i, j]).capitalize()} have the same features{others}: "
            "answers cannot tell them apart."
        )


def _is_constant(draft: Draft, name: str) -> bool:
    cells = [cell for cell in draft.typed[name].tolist() if cell is not None]
    return len(set(cells)) == 1


def _places(draft: Draft, rows: Sequence[int]) -> str:
    """As line 5, or lines 5 and 9."""
    numbers = [str(draft.numbers[i]) for i in rows]
    return f"{draft.noun}{'s' if len(rows) > 1 else ''} {_list(numbers, MOST_TOLD)}"


def _list(words: Sequence[str], most: int = 8) -> str:
    """As a, b and c, or a, b and 7 more."""
    *first, last = words if len(words) <= most else [*words[:most], f"{len(words) - most} more"]
    return f"{', '.join(first)} and {last}" if first else last
