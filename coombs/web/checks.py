"""What a person should know about their table before they make a study of it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from coombs.web.drafts import Choices, Draft
from coombs.words import count

FEW_ITEMS, MANY_FEATURES = 10, 12
CORRELATED = 0.95
MOST_TOLD = 5


def warnings(draft: Draft, choices: Choices) -> list[str]:
    """Sentences about columns left out, gaps, repeats and what cannot be told apart."""
    return [
        *_left_out(draft, choices),
        *_gaps(draft, choices),
        *_names(draft, choices),
        *_sizes(draft, choices),
        *_features(draft, choices),
    ]


def _left_out(draft: Draft, choices: Choices) -> Iterator[str]:
    """Columns that are no features, and why."""
    special = {choices.names, choices.picture, choices.link}
    others = [name for name in draft.columns if name not in choices.features and name not in special]
    texts = [name for name in others if name not in draft.numeric]
    mixed = {name: cell for name in texts if (cell := _mistake(draft, name)) is not None}
    plain = [name for name in texts if name not in mixed]
    if plain:
        yield f"Text is shown on the cards and not learned from: {_list(plain)}."
    for name, (row, wrong) in mixed.items():
        yield (
            f"{name} is left out, as it is not all numbers: in {draft.where(row)} it is {wrong!r}. "
            "Correct the file if it should count."
        )
    for name in others:
        if name in draft.numeric and not len(draft.gaps(name)) and _is_constant(draft, name):
            yield f"{name} is left out, as it is the same for all items."
    unticked = [name for name in others if name in draft.numeric and not _is_constant(draft, name)]
    whole = [name for name in unticked if not len(draft.gaps(name))]
    if whole:
        yield f"Numbers that are not ticked are shown and not learned from: {_list(whole)}."


def _mistake(draft: Draft, name: str) -> tuple[int, str] | None:
    """The first text in a column that is mostly numbers."""
    cells = draft.typed[name].tolist()
    wrong = [i for i, cell in enumerate(cells) if isinstance(cell, str)]
    if len(wrong) > len(cells) / 2:
        return None
    return (wrong[0], cells[wrong[0]]) if wrong else None


def _gaps(draft: Draft, choices: Choices) -> Iterator[str]:
    """Missing cells by row and column."""
    special = {choices.names, choices.picture, choices.link}
    for name in draft.numeric:
        rows = draft.gaps(name)
        if not len(rows) or name in special:
            continue
        places = _list([draft.where(int(i)) for i in rows], MOST_TOLD)
        if name not in choices.features:
            yield f"{name} is left out, as it is missing in {places}."
        elif choices.complete:
            yield f"Left out, as {name} is missing: {places}."
        else:
            yield f"{name} is missing in {places}: fill it in, untick it, or leave out such rows."


def _names(draft: Draft, choices: Choices) -> Iterator[str]:
    """Names that are missing or not one item's alone."""
    if choices.names is None:
        yield "No column holds the names, so that items are called by their numbers."
        return
    cells = [str(cell) for cell in draft.columns[choices.names]]
    names, counts = np.unique(np.array(cells, dtype=object), return_counts=True)
    repeated = [f"{name!r}" for name in names[counts > 1] if name]
    if repeated:
        yield f"Several items are called {_list(repeated)}; every item needs a name of its own."
    if "" in cells:
        yield f"The item of {draft.where(cells.index(''))} has no name; every item needs one."


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
            way = "rise and fall together" if matrix[i, j] > 0 else "go opposite ways"
            yield (
                f"{varied[i]} and {varied[j]} {way} (correlation {matrix[i, j]:.2f}), so that answers "
                "can hardly tell which of the two matters."
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
            f"{draft.where(i).capitalize()} and {draft.where(j)} have the same features{others}: "
            "answers cannot tell them apart."
        )


def _is_constant(draft: Draft, name: str) -> bool:
    cells = [cell for cell in draft.typed[name].tolist() if cell is not None]
    return len(set(cells)) == 1


def _list(words: Sequence[str], most: int = 8) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
