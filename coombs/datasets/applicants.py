"""Applicants to graduate schools, read from a file, and cleaned as the paper cleans its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coombs.data import files, tables
from coombs.data.comparisons import Comparisons
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, Names, Where
from coombs.model import Model
from coombs.random_state import RandomState, generator

Raw: TypeAlias = Mapping[str, FloatArray]
Rows: TypeAlias = NDArray[np.intp]

GRE = ("gre_verbal", "gre_quantitative", "gre_writing")
"""Sections of the test."""
LETTERS = ("letter_1", "letter_2", "letter_3")
"""Columns with the scores of letters of recommendation."""
FEATURES = (*GRE, "gpa", "letters")
"""Features after the cleaning."""
COLUMNS = (*(f"{s}_self" for s in GRE), *(f"{s}_official" for s in GRE), "gpa", *LETTERS)
"""Columns before it."""
REQUIRED = (*(f"{s}_official" for s in GRE), "gpa")
"""Columns that a file of applicants must have, beside their tier."""
GRADCAFE = dict(zip(REQUIRED, ("gre_v", "gre_q", "gre_w", "gpa"), strict=True))
"""What a file of GradCafe reports calls them."""
RANGES = dict.fromkeys(COLUMNS, (130.0, 170.0)) | {
    **dict.fromkeys(("gre_writing_self", "gre_writing_official"), (0.0, 6.0)),
    **dict.fromkeys(LETTERS, (0.0, 3.0)),
    "gpa": (-np.inf, np.inf),
}
"""What a raw column may hold; a GPA outside GPA_RANGE is for the cleaning."""
GPA_RANGE = (1.0, 4.0)
"""Grade points that the cleaning lets through."""
_ENDS = ((130.0, 170.0), (130.0, 170.0), (0.0, 6.0), (0.0, 4.0), (1.0, float(np.exp(3))))
LIMITS = dict(zip(FEATURES, _ENDS, strict=True))
"""The scales that the paper names, of the features after cleaning."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Applicants with every chosen feature, ready to be compared.

    Parameters
    ----------
    items : names, features and their numbers
    tiers : (n,) numbers, the lowest being the best; the same number, no comparison
    dropped : how many applicants each rule of the cleaning left out, each counted at the first it breaks
    groups : (n,) labels, or None; only applicants of one group are compared, those of group "" with nobody
    truth : the metric and ideal point that the tiers come from, where known for just these features

    Examples
    --------
    >>> from coombs.datasets import make_admissions
    >>> candidates = make_admissions(random_state=0).clean()
    >>> candidates.sizes
    {1.0: 176, 2.0: 455, 3.0: 2674}
    >>> candidates.comparisons((33, 33, 34), random_state=0)
    Comparisons(3333 answers about 100 items with 5 features)
    """

    items: ItemTable
    tiers: FloatArray
    dropped: dict[str, int]
    groups: Names | None = None
    truth: Model | None = None

    def __len__(self) -> int:
        return len(self.tiers)

    @property
    def sizes(self) -> dict[float, int]:
        """How many candidates each tier has, the best tier first."""
        values, counts = np.unique(self.tiers, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def sample(self, counts: Sequence[int], random_state: RandomState = None) -> Candidates:
        """Return so many candidates of each tier, drawn without repetition.

        Parameters
        ----------
        counts : how many of each tier, the best tier first
        random_state : seed, generator or None

        Returns
        -------
        Candidates

        Examples
        --------
        >>> from coombs.datasets import make_admissions
        >>> make_admissions(random_state=0).clean().sample((3, 3, 4), random_state=0).sizes
        {1.0: 3, 2.0: 3, 3.0: 4}
        """
        sizes, rng = self.sizes, generator(random_state)
        if len(counts) != len(sizes):
            raise InputError(f"There are {len(counts)} counts for {len(sizes)} tiers; one each is right.")
        rows = [np.empty(0, dtype=np.intp)]
        for count, (tier, size) in zip(counts, sizes.items(), strict=True):
            if not isinstance(count, Integral) or isinstance(count, bool) or not 0 <= count <= size:
                raise InputError(
                    f"The count of tier {tier:g} is {count!r}; it must be a whole number from 0 to {size}."
                )
            rows.append(rng.choice(np.flatnonzero(self.tiers == tier), count, replace=False))
        return self._rows(np.sort(np.concatenate(rows)))

    def comparisons(
        self, counts: Sequence[int] | None = None, random_state: RandomState = None
    ) -> Comparisons:
        """Return an answer for every two candidates of different tiers, and of one group where there are any.

        Parameters
        ----------
        counts : how many of each tier to draw, the best first; default all
        random_state : seed, generator or None, for the draw

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from coombs.datasets import make_admissions
        >>> make_admissions("ranked", random_state=0).clean().comparisons()
        Comparisons(2610 answers about 88 items with 4 features)
        """
        drawn = self if counts is None else self.sample(counts, random_state)
        if drawn.groups is None:
            return Comparisons.from_tiers(drawn.items, drawn.tiers)
        drawn = drawn._rows(np.flatnonzero(drawn.groups != ""))
        return Comparisons.from_tiers(drawn.items, drawn.tiers, groups=drawn.groups)

    def by_group(self) -> dict[str, Candidates]:
        """Return the candidates of each group that has something to compare.

        Returns
        -------
        dict from a group's label to its Candidates

        Examples
        --------
        >>> import dataclasses
        >>> import numpy as np
        >>> from coombs.datasets import make_admissions
        >>> few = make_admissions(random_state=0).clean().sample((2, 2, 0), random_state=0)
        >>> years = np.array(["2021", "2022"], dtype=object)[few.tiers.argsort().argsort() % 2]
        >>> {year: part.sizes for year, part in dataclasses.replace(few, groups=years).by_group().items()}
        {'2021': {1.0: 1, 2.0: 1}, '2022': {1.0: 1, 2.0: 1}}
        """
        labels = sorted(set(() if self.groups is None else self.groups) - {""})
        parts = {label: self._rows(np.flatnonzero(self.groups == label)) for label in labels}
        return {label: part for label, part in parts.items() if len(part.sizes) > 1}

    def _rows(self, rows: Rows) -> Candidates:
        """Some of the candidates."""
        names = None if self.items.names is None else self.items.names[rows]
        groups = None if self.groups is None else self.groups[rows]
        items = self.items._replace(matrix=self.items.matrix[rows], names=names)
        return replace(self, items=items, tiers=self.tiers[rows], groups=groups)


@dataclass(frozen=True, eq=False)
class Admissions:
    """Applicants as their files have them, NaN where an entry is missing.

    Parameters
    ----------
    columns : the ten raw columns of `COLUMNS`, as `read_admissions` describes them
    names : (n,) of the applicants
    tiers, groups, truth : as for `Candidates`; the truth is known where the applicants are simulated

    Examples
    --------
    >>> from coombs.datasets import make_admissions
    >>> applicants = make_admissions("ranked", random_state=0)
    >>> len(applicants), len(applicants.columns), applicants.groups is None
    (89, 10, True)
    """

    columns: Raw
    names: Names
    tiers: FloatArray
    groups: Names | None = None
    truth: Model | None = None

    def __len__(self) -> int:
        return len(self.tiers)

    def clean(self, features: Sequence[str] | None = None) -> Candidates:
        """Return the candidates who have the features, by the rules of the paper's supplement.

        A GRE score is the official one, or the self-reported one where that is missing. A GPA counts
        between 1 and 4 only. The letters' score is exp(mean of those there are), 1 to e^3. Who
        lacks a chosen feature is left out; what is not chosen may be missing.

        Parameters
        ----------
        features : among `FEATURES`; default all that anyone has

        Returns
        -------
        Candidates

        Examples
        --------
        >>> from coombs.datasets import make_admissions
        >>> candidates = make_admissions(random_state=0).clean(["gre_verbal", "gpa"])
        >>> len(candidates), candidates.dropped
        (3510, {'no gre_verbal': 48, 'no gpa': 124, 'gpa outside 1 to 4': 107})
        """
        values = features_of(self.columns)
        chosen = _chosen(features, [name for name in FEATURES if not np.isnan(values[name]).all()])
        keep, dropped = np.ones(len(self), dtype=bool), {}
        for rule, broken in _rules(values, chosen):
            dropped[rule] = int((keep & broken).sum())
            keep &= ~broken
        if not keep.any():
            raise InputError(f"No applicant has {' and '.join(chosen)}; choose features that some have.")
        items = tables.assemble(self.names[keep], {name: values[name][keep] for name in chosen}, tables.row)
        known = self.truth is not None and self.truth.feature_names == chosen
        groups = None if self.groups is None else self.groups[keep]
        return Candidates(items, self.tiers[keep], dropped, groups, self.truth if known else None)


def features_of(columns: Raw) -> dict[str, FloatArray]:
    """Each of FEATURES out of the raw columns, NaN where it cannot be had."""
    values = {"gpa": columns["gpa"]}
    for score in GRE:
        official, own = columns[f"{score}_official"], columns[f"{score}_self"]
        values[score] = np.where(np.isnan(official), own, official)
    letters = np.column_stack([columns[name] for name in LETTERS])
    there = (~np.isnan(letters)).sum(axis=1)
    mean = np.nansum(letters, axis=1) / np.maximum(there, 1)
    values["letters"] = np.where(there > 0, np.exp(mean), np.nan)
    return values


def _rules(values: Raw, chosen: Sequence[str]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The rules that leave applicants out, and whom."""
    for name in chosen:
        yield f"no {name}", np.isnan(values[name])
        if name == "gpa":
            low, high = GPA_RANGE
            yield f"gpa outside {low:g} to {high:g}", (values[name] < low) | (values[name] > high)


def _chosen(features: Sequence[str] | None, available: Sequence[str]) -> tuple[str, ...]:
    """Features to use, known and different."""
    chosen = tuple(available if features is None else [features] if isinstance(features, str) else features)
    if not chosen:
        raise InputError("There are no feature columns; choose at least one.")
    for name in chosen:
        if name not in FEATURES:
            raise InputError(f"Unknown feature {name!r}; the features are {', '.join(FEATURES)}.")
    tables.refuse_repeats(list(chosen), "chosen feature")
    return chosen


def read_admissions(path: files.PathType) -> Admissions:
    """Return the applicants in a CSV or Parquet (.parquet) file: a row each, entries blank where missing.

    Parameters
    ----------
    path : of a file with the columns

        - gre_verbal_official, gre_quantitative_official (130 to 170), gre_writing_official (0 to 6)
        - gpa, on a scale to 4; other scales may stand there and are left out by `Admissions.clean`
        - tier: a number, the best the lowest (1 fellowship, 2 admitted, 3 denied; or a score), never blank

        and, where there are any,

        - gre_verbal_self, gre_quantitative_self, gre_writing_self: the same as the applicant reports them
        - letter_1, letter_2, letter_3: letters of recommendation, each scored 0 to 3
        - applicant: a name; default the number of the row
        - group: a school, year or judge, to compare within

    Returns
    -------
    Admissions

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs.datasets import read_admissions
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "applicants.csv"
    >>> header = "gre_verbal_official,gre_quantitative_official,gre_writing_official,gpa,tier"
    >>> _ = path.write_text(f"{header}\\n160,165,4.5,3.9,1\\n155,,3,3.2,3\\n150,162,3.5,85,3\\n")
    >>> read_admissions(path).clean().dropped
    {'no gre_verbal': 0, 'no gre_quantitative': 1, 'no gre_writing': 0, 'no gpa': 0, 'gpa outside 1 to 4': 1}
    """
    return _read(path, {name: name for name in COLUMNS}, "group", (*REQUIRED, "tier"))


def read_gradcafe(path: files.PathType) -> Admissions:
    """Return the applicants in a file of GradCafe reports: a tier for each, the school as group.

    Parameters
    ----------
    path : of a CSV or Parquet file with the columns gpa, gre_v, gre_q, gre_w, tier (1 accepted,
        2 wait-listed, 3 rejected) and school, blank where it is not known: such a row is compared
        with nobody

    Returns
    -------
    Admissions

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from coombs.datasets import read_gradcafe
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "gradcafe.csv"
    >>> rows = "3.9,165,168,4.5,1,Duke\\n3.5,158,165,4,3,Duke\\n3.7,160,170,4,1,Yale\\n"
    >>> _ = path.write_text(f"gpa,gre_v,gre_q,gre_w,tier,school\\n{rows}")
    >>> read_gradcafe(path).clean().comparisons()
    Comparisons(1 answer about 3 items with 4 features, by 1 user)
    """
    return _read(path, GRADCAFE, "school", (*GRADCAFE.values(), "tier", "school"))


def _read(
    path: files.PathType, headers: Mapping[str, str], group: str, required: Sequence[str]
) -> Admissions:
    """Applicants out of a file whose headers for COLUMNS are given."""
    table, where = _table(path, text=("applicant", group))
    for name in required:
        if name not in table:
            raise InputError(f"{path} has no column {name!r}; needed are {', '.join(required)}.")
    tiers = tables.numbers(table["tier"], "Column 'tier'", where)
    if not np.isfinite(tiers).all():
        i = int(np.argmin(np.isfinite(tiers)))
        raise InputError(f"Column 'tier' of {where(i)} is {tiers[i]}; it must be a finite number.")
    columns = {name: np.full(len(tiers), np.nan) for name in COLUMNS}
    for name, header in headers.items():
        if header in table:
            columns[name] = _numbers(table[header], f"Column {header!r}", where, RANGES[name])
    names = tables.text_array(table.get("applicant", np.arange(len(tiers))), "applicant", where)
    tables.refuse_repeats(names.tolist(), "applicant")
    return Admissions(columns, names, tiers, _groups(table[group]) if group in table else None)


def _table(path: files.PathType, text: Sequence[str]) -> tuple[Columns, Where]:
    """The columns of a file, numbers read as such but in columns of text."""
    table = files.read_table(path)
    columns = {name: (table.columns if name in text else table.typed)[name] for name in table.columns}
    return columns, table.where


def _numbers(cells: NDArray[Any], what: str, where: Where, within: tuple[float, float]) -> FloatArray:
    """A column as floats in their range, NaN where missing."""
    values, (low, high) = tables.numbers(cells, what, where), within
    outside = (values < low) | (values > high)
    if outside.any():
        i = int(outside.argmax())
        raise InputError(f"{what} of {where(i)} is {values[i]:g}; it must be between {low:g} and {high:g}.")
    return values


def _groups(cells: NDArray[Any]) -> Names:
    """Labels as text, "" where missing."""
    texts = ["" if cell is None or cell != cell else str(cell).strip() for cell in cells.tolist()]
    return np.array(texts, dtype=object)
