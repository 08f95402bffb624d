"""Applicants to graduate schools, made up or read from a file, cleaned as the paper cleans its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coombs.data import files, tables
from coombs.data.comparisons import Comparisons
from coombs.data.tables import Columns, FloatArray, InputError, ItemTable, Names, Where
from coombs.model import Model
from coombs.random_state import RandomState, generator

Raw: TypeAlias = Mapping[str, FloatArray]
Rows: TypeAlias = NDArray[np.intp]

GRE = ("gre_verbal", "gre_quantitative", "gre_writing")
LETTERS = ("letter_1", "letter_2", "letter_3")
FEATURES = (*GRE, "gpa", "letters")
COLUMNS = (*(f"{s}_self" for s in GRE), *(f"{s}_official" for s in GRE), "gpa", *LETTERS)
REQUIRED = (*(f"{s}_official" for s in GRE), "gpa")
GRADCAFE = dict(zip(REQUIRED, ("gre_v", "gre_q", "gre_w", "gpa"), strict=True))
RANGES = dict.fromkeys(COLUMNS, (130.0, 170.0)) | {
    **dict.fromkeys(("gre_writing_self", "gre_writing_official"), (0.0, 6.0)),
    **dict.fromkeys(LETTERS, (0.0, 3.0)),
    "gpa": (-np.inf, np.inf),
}
"""What a raw column may hold; a GPA outside GPA_RANGE is for the cleaning."""
GPA_RANGE = (1.0, 4.0)
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
        """Return so many of each tier, the best tier first, drawn without repetition."""
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

        Examples
        --------
        >>> make_admissions("ranked", random_state=0).clean().comparisons()
        Comparisons(2610 answers about 88 items with 4 features)
        """
        drawn = self if counts is None else self.sample(counts, random_state)
        if drawn.groups is None:
            return Comparisons.from_tiers(drawn.items, drawn.tiers)
        drawn = drawn._rows(np.flatnonzero(drawn.groups != ""))
        return Comparisons.from_tiers(drawn.items, drawn.tiers, groups=drawn.groups)

    def by_group(self) -> dict[str, Candidates]:
        """Return the candidates of each group that has something to compare, by its label."""
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
    tiers, groups, truth : as for `Candidates`; the truth is known where the applicants are made up
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

        Examples
        --------
        >>> candidates = make_admissions(random_state=0).clean(["gre_verbal", "gpa"])
        >>> len(candidates), candidates.dropped
        (3510, {'no gre_verbal': 48, 'no gpa': 124, 'gpa outside 1 to 4': 107})
        """
        values = _features(self.columns)
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


def _features(columns: Raw) -> dict[str, FloatArray]:
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
    for name in chosen:
        if name not in FEATURES:
            raise InputError(f"Unknown feature {name!r}; the features are {', '.join(FEATURES)}.")
    tables.refuse_repeats(list(chosen), "chosen feature")
    return chosen


# Files


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

    Examples
    --------
    >>> import pathlib, tempfile
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

    Examples
    --------
    >>> import pathlib, tempfile
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
    if str(path).lower().endswith(".parquet"):
        frame, where = files.parquet_frame(path)
        return tables.frame_columns(frame), where
    raw, where = files.csv_columns(path)
    return {name: cells if name in text else files.typed(cells) for name, cells in raw.items()}, where


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


# Simulation

MEANS = (153.0, 163.0, 3.6, 3.5, 2.0)
"""Of verbal, quantitative, writing, GPA and a letter: made up."""
SPREADS = (7.0, 5.0, 0.7, 0.3, 0.6)
"""Their standard deviations: made up."""
SHARED = 0.3
"""The share of variance common to all of them: made up."""
SCALES = (*SPREADS[:4], 5.0)
"""Spreads of FEATURES, in whose units the committees' metrics are made."""

IDEAL = (158.08, 162.50, 4.68, 4.06, 15.28)
"""The ideal that the paper learned from its Unranked Candidates, in the order of FEATURES."""
EIGENVALUES = (1991.0, 1971.0, 1178.0, 861.0, 286.0)
INTERACTIONS = (
    (0.0, 0.0, 0.909, -0.392, 0.0),
    (0.0, 0.0, 0.393, 0.919, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.982),
    (-0.310, 0.942, 0.0, 0.0, 0.0),
    (0.942, 0.319, 0.0, 0.0, 0.0),
)
"""The paper's table of the metric learned from them."""
IMPORTANCES = (286.0, 861.0, 1981.0, 1981.0)
"""For Ranked Candidates the paper says: no interactions, GPA and writing level, quantitative, verbal last."""

BINS = (2, 2, 2, 1, 4, 6, 12, 48)
"""Sizes of the 8 bins of Ranked Candidates, which the paper does not print.

They hold 77 = 88 - 11 candidates and 88 * 87 / 2 - 2610 = 1218 = sum of n (n - 1) / 2 uncompared pairs:
ten solutions but for their order. This one has borders after 17 and 22 candidates, the paper's other K, its
first bin is no single candidate (the top 12 would be unique), and no such solution has fewer bins of one.
"""


class Population(NamedTuple):
    """Simulated applicants: tiers, how many in each come through the cleaning and do not, and the truth."""

    tiers: tuple[float, ...]
    complete: tuple[int, ...]
    incomplete: tuple[int, ...]
    truth: Model


def _committee(values: Sequence[float], vectors: ArrayLike) -> Model:
    """The truth over as many features, by a metric's eigenvalues and vectors (rows) in units of SCALES."""
    d = len(values)
    # The nearest orthonormal vectors to the printed ones, which are rounded and lack small entries.
    left, _, right = np.linalg.svd(np.asarray(vectors))
    root = np.sqrt(values)[:, None] * (left @ right) / SCALES[:d]
    return Model(root.T @ root, np.array(IDEAL[:d]), FEATURES[:d], np.array(SCALES[:d]))


def _population(kind: str) -> Population:
    """The paper's: 3305 of 3789 files complete; 88 of 89, scores 1.0, 1.1, ..., 2.0 once and bins 3 to 10."""
    if kind == "unranked":
        truth = _committee(EIGENVALUES, INTERACTIONS)
        return Population((1.0, 2.0, 3.0), (176, 455, 2674), (15, 75, 394), truth)
    if kind == "ranked":
        tiers = (*(1 + k / 10 for k in range(11)), *map(float, range(3, 11)))
        truth = _committee(IMPORTANCES, np.eye(4))
        return Population(tiers, (*([1] * 11), *BINS), (*([0] * 18), 1), truth)
    raise InputError(f"kind is {kind!r}; it must be 'unranked' or 'ranked'.")


def make_admissions(
    kind: str = "unranked",
    *,
    truth: Model | None = None,
    noise: float = 0.5,
    random_state: RandomState = None,
) -> Admissions:
    """Draw applicants like the paper's, whom a committee with a known metric and ideal point has judged.

    Scores are normal with a common part, rounded and cut to their ranges. The committee orders what the
    files show by (x - u)' M (x - u) / s + noise * e, s the spread of the distances and e standard
    normal: what it weighs beside the features. The best 191 get a fellowship, 530 more are
    admitted, 3068 denied; or the best 11 of 89 are ranked one by one and 8 bins follow. Then as many
    files lose an entry as the paper's cleaning leaves out: 484 in all, or 1.

    Parameters
    ----------
    kind : "unranked", ten columns; or "ranked", one GRE report and no letters
    truth : over the five features, or the first four; default what the paper learned, its eigenvalues
        and directions taken in units of the features' spreads
    noise : at least 0, where the tiers follow the truth exactly
    random_state : seed, generator or None

    Examples
    --------
    >>> applicants = make_admissions(random_state=0)
    >>> len(applicants), len(applicants.clean())
    (3789, 3305)
    >>> applicants.truth.ideal_point.tolist()
    [158.08, 162.5, 4.68, 4.06, 15.28]
    """
    if not isinstance(noise, Real) or isinstance(noise, bool) or not 0 <= noise < np.inf:
        raise InputError(f"noise is {noise!r}; it must be a finite number of at least 0.")
    rng, population = generator(random_state), _population(kind)
    features = population.truth.feature_names
    judge = replace(truth or population.truth, feature_names=features)
    sizes = np.add(population.complete, population.incomplete)
    n = int(sizes.sum())
    columns = _draw_columns(n, rng) if kind == "unranked" else _one_report(_draw_columns(n, rng))
    names = np.array([f"applicant {i}" for i in range(n)], dtype=object)
    shown = Admissions(columns, names, np.ones(n)).clean(features).items
    distances = judge.distance(shown)
    scores = distances / (distances.std() or 1.0) + noise * rng.standard_normal(n)
    tiers = np.empty(n)
    tiers[np.argsort(scores, kind="stable")] = np.repeat(population.tiers, sizes)
    for tier, count in zip(population.tiers, population.incomplete, strict=True):
        _spoil(columns, rng.choice(np.flatnonzero(tiers == tier), count, replace=False), kind, rng)
    return Admissions(columns, names, tiers, truth=judge)


def _draw_columns(n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Files that all come through the cleaning, some without official scores, some with few letters."""
    z = np.sqrt(SHARED) * rng.standard_normal((n, 1)) + np.sqrt(1 - SHARED) * rng.standard_normal((n, 5))
    drawn = dict(zip(FEATURES, (MEANS + np.array(SPREADS) * z).T, strict=True))
    columns = {"gpa": np.clip(np.round(drawn["gpa"], 2), *GPA_RANGE)}
    absent = rng.random(n) < 0.3
    unreported = ~absent & (rng.random(n) < 0.1)
    for score in GRE:
        step, within = 0.5 if score == "gre_writing" else 1.0, RANGES[f"{score}_official"]
        official = np.clip(step * np.rint(drawn[score] / step), *within)
        slips = step * rng.choice([-1, 0, 1, 2], n, p=[0.02, 0.9, 0.05, 0.03])
        columns[f"{score}_official"] = np.where(absent, np.nan, official)
        columns[f"{score}_self"] = np.where(unreported, np.nan, np.clip(official + slips, *within))
    n_letters = rng.choice([1, 2, 3], n, p=[0.05, 0.15, 0.8])
    for k, name in enumerate(LETTERS):
        letter = np.clip(np.rint(drawn["letters"] + 0.5 * rng.standard_normal(n)), *RANGES[name])
        columns[name] = np.where(k < n_letters, letter, np.nan)
    return {name: columns[name] for name in COLUMNS}


def _one_report(columns: Raw) -> dict[str, FloatArray]:
    """The files with one GRE report each, called official, and no letters."""
    blank = {name: np.full_like(column, np.nan) for name, column in columns.items()}
    official = {f"{score}_official": _features(columns)[score] for score in GRE}
    return blank | official | {"gpa": columns["gpa"]}


def _spoil(columns: Raw, rows: Rows, kind: str, rng: np.random.Generator) -> None:
    """Make files incomplete: no GPA, no score in a GRE section; if unranked, a GPA off scale, no letters."""
    way = rng.integers(2 if kind == "ranked" else 4, size=len(rows))
    columns["gpa"][rows[way == 0]] = np.nan
    section = rng.choice(GRE, len(rows))
    for score in GRE:
        lost = rows[(way == 1) & (section == score)]
        columns[f"{score}_self"][lost] = columns[f"{score}_official"][lost] = np.nan
    scaled = rows[way == 2]
    # Out of 100; out of 20; divided twice.
    columns["gpa"][scaled] = np.round(columns["gpa"][scaled] * rng.choice([25.0, 5.0, 0.2], len(scaled)), 2)
    for name in LETTERS:
        columns[name][rows[way == 3]] = np.nan
