"""Applicants are cleaned by the paper's rules, come in its numbers, and follow the truth behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coombs import InputError, Model
from coombs.datasets import (
    COLUMNS,
    EIGENVALUES,
    FEATURES,
    IDEAL,
    Admissions,
    Candidates,
    make_admissions,
    read_admissions,
    read_gradcafe,
)
from coombs.datasets.applicants import GRE, LETTERS, RANGES
from coombs.datasets.committee import BINS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
GRADCAFE = DATA / "gradcafe_statistics_phd.csv"
needs_gradcafe = pytest.mark.skipif(
    not GRADCAFE.exists(), reason="the real data of ../shared/data is not here"
)

FULL = {
    **{f"gre_verbal_{kind}": 160.0 for kind in ("self", "official")},
    **{f"gre_quantitative_{kind}": 165.0 for kind in ("self", "official")},
    **{f"gre_writing_{kind}": 4.5 for kind in ("self", "official")},
    "gpa": 3.5,
    **dict.fromkeys(LETTERS, 2.0),
}
NAN = float("nan")


def admissions(*rows: dict[str, float]) -> Admissions:
    """Applicants who are complete but for what each row says, in tiers 1, 2, 1, 2, ..."""
    columns = {name: np.array([(FULL | row)[name] for row in rows]) for name in COLUMNS}
    called = np.array([f"a{i}" for i in range(len(rows))], dtype=object)
    return Admissions(columns, called, np.arange(len(rows)) % 2 + np.ones(len(rows)))


def names(candidates: Candidates) -> list[str]:
    """Who they are."""
    assert candidates.items.names is not None
    return list(candidates.items.names)


def features(candidates: Candidates) -> list[str]:
    """What is known of them."""
    assert candidates.items.features is not None
    return list(candidates.items.features)


def feature(candidates: Candidates, name: str) -> list[float]:
    """The numbers of one feature."""
    column: list[float] = candidates.items.matrix[:, features(candidates).index(name)].tolist()
    return column


def frame(applicants: Admissions) -> Any:
    """The file that `read_admissions` reads, as a frame."""
    return pd.DataFrame({"applicant": applicants.names, **applicants.columns, "tier": applicants.tiers})


def same(one: Admissions, other: Admissions) -> bool:
    """Whether two tables of applicants hold the same."""
    parts = [(one.columns[name], other.columns[name]) for name in COLUMNS] + [(one.tiers, other.tiers)]
    equal = all(np.array_equal(a, b, equal_nan=True) for a, b in parts)
    return equal and one.names.tolist() == other.names.tolist()


def accuracy(candidates: Candidates) -> float:
    """The share of comparisons across tiers that the truth does not decide the other way."""
    assert candidates.truth is not None
    data = candidates.comparisons()
    distance = candidates.truth.distance(data.item_table)
    return float((distance[data.pairs[:, 0]] <= distance[data.pairs[:, 1]]).mean())


# The rules of the cleaning


@pytest.mark.parametrize("score", GRE)
def test_official_scores_come_before_self_reported_ones(score: str) -> None:
    """The official one; the applicant's own where that is missing; nobody with neither."""
    own, official = f"{score}_self", f"{score}_official"
    high = RANGES[own][1]
    candidates = admissions(
        {own: high}, {own: high, official: NAN}, {own: NAN}, {own: NAN, official: NAN}
    ).clean()
    assert feature(candidates, score) == [FULL[official], high, FULL[official]]
    assert candidates.dropped[f"no {score}"] == 1 and sum(candidates.dropped.values()) == 1


def test_gpas_count_between_1_and_4_only() -> None:
    """Both ends are in; other scales and blanks are out, each under its own rule."""
    gpas = [0.0, 0.99, 1.0, 3.2, 4.0, 4.01, 87.0, float("inf"), -3.0, NAN]
    candidates = admissions(*({"gpa": gpa} for gpa in gpas)).clean()
    assert feature(candidates, "gpa") == [1.0, 3.2, 4.0]
    assert candidates.dropped["gpa outside 1 to 4"] == 6 and candidates.dropped["no gpa"] == 1


def test_letters_are_averaged_and_exponentiated() -> None:
    """Over the letters there are, from 1 to e^3; without any there is no score."""
    rows = [(0, 0, 0), (3, 3, 3), (1, 2, 3), (NAN, 1, 2), (NAN, NAN, 3), (NAN, NAN, NAN)]
    candidates = admissions(*(dict(zip(LETTERS, row, strict=True)) for row in rows)).clean()
    assert feature(candidates, "letters") == pytest.approx(np.exp([0, 3, 2, 1.5, 3]))
    assert candidates.dropped["no letters"] == 1


def test_only_the_chosen_features_must_be_there() -> None:
    """A missing GPA and missing letters matter where they are asked for, and the order is the caller's."""
    applicants = admissions({"gpa": NAN}, dict.fromkeys(LETTERS, NAN), {})
    assert names(applicants.clean(["gpa", "gre_verbal"])) == ["a1", "a2"]
    assert names(applicants.clean(["letters"])) == ["a0", "a2"]
    assert len(applicants.clean(GRE)) == 3 and len(applicants.clean()) == 1
    assert features(applicants.clean(["gpa", "gre_verbal"])) == ["gpa", "gre_verbal"]
    assert features(applicants.clean("gpa")) == ["gpa"]


def test_features_that_nobody_has_are_left_out_by_default() -> None:
    """Applicants without letters have four features."""
    without = dict.fromkeys(LETTERS, NAN)
    assert features(admissions(without, without).clean()) == list(FEATURES[:4])


@given(
    st.lists(
        st.fixed_dictionaries({}, optional={n: st.sampled_from([NAN, 0.5]) for n in COLUMNS}), min_size=1
    )
)
@settings(max_examples=60, deadline=None)
def test_every_applicant_is_kept_or_dropped_by_one_rule(rows: list[dict[str, float]]) -> None:
    """Kept and dropped add up, kept rows are complete, and more features never keep more."""
    applicants = admissions(*rows, {})
    kept = [applicants.clean(FEATURES[:k]) for k in range(1, 6)]
    for candidates in kept:
        assert len(candidates) + sum(candidates.dropped.values()) == len(applicants)
        assert np.isfinite(candidates.items.matrix).all()
    for few, many in pairwise(kept):
        assert set(names(many)) <= set(names(few))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["gmat"], "Unknown feature 'gmat'; the features are gre_verbal, "),
        (["gpa", "gpa"], "More than one chosen feature is named 'gpa'"),
        ([], "no feature columns"),
        (["letters"], "No applicant has letters; choose"),
    ],
)
def test_features_that_cannot_be_used_are_refused(chosen: list[str], words: str) -> None:
    """One sentence each."""
    with pytest.raises(InputError, match=words):
        admissions(dict.fromkeys(LETTERS, NAN)).clean(chosen)


# The paper's numbers


def test_unranked_counts_are_the_papers() -> None:
    """191 + 530 + 3068 applicants, 176 + 455 + 2674 of them complete, 33 + 33 + 34 give 3333 answers."""
    applicants = make_admissions(random_state=1)
    assert Counter(applicants.tiers.tolist()) == {1.0: 191, 2.0: 530, 3.0: 3068}
    candidates = applicants.clean()
    assert candidates.sizes == {1.0: 176, 2.0: 455, 3.0: 2674} and len(candidates) == 3305
    sample = candidates.sample((33, 33, 34), random_state=1)
    assert list(sample.sizes.values()) == [33, 33, 34]
    data = sample.comparisons()
    assert len(data) == 3333 == 33 * (33 + 34) + 33 * 34
    assert data == candidates.comparisons((33, 33, 34), random_state=1)


def test_ranked_counts_are_the_papers() -> None:
    """89 applicants, one incomplete; 11 unique scores, 8 bins, scale 1 to 10, 2610 answers."""
    applicants = make_admissions("ranked", random_state=1)
    candidates = applicants.clean()
    assert len(applicants) == 89 and len(candidates) == 88
    assert list(candidates.sizes.values()) == [1] * 11 + list(BINS)
    assert min(candidates.sizes) == 1 and max(candidates.sizes) == 10
    assert len(candidates.comparisons()) == 2610


def bins_of(n: int, k: int, squares: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Ways to put n candidates in k bins, smallest first, with a given sum of squared sizes."""
    if k == 1:
        yield from [(n,)] if n >= least and n * n == squares else []
        return
    for size in range(least, n // k + 1):
        yield from ((size, *rest) for rest in bins_of(n - size, k - 1, squares - size * size, size))


def has_borders(bins: tuple[int, ...]) -> bool:
    """Whether some bins, not all of one, hold 6 candidates and others 5: borders after 17 and 22."""

    def subsets(items: Counter[int], total: int) -> Iterator[Counter[int]]:
        for k in range(1, 7):
            yield from (Counter(c) for c in combinations(sorted(items.elements()), k) if sum(c) == total)

    sizes = Counter(bins)
    return any(max(six) > 1 and any(subsets(sizes - six, 5)) for six in subsets(sizes, 6))


def test_bins_are_what_the_2610_comparisons_leave_to_choose() -> None:
    """Ten sets of sizes give 2610; of those with borders after 17 and 22, ours has fewest bins of one."""
    # Sum of n (n - 1) / 2 = 88 * 87 / 2 - 2610, sum of n = 77.
    solutions = list(bins_of(77, 8, 2 * (88 * 87 // 2 - 2610) + 77))
    assert len(solutions) == 10 and tuple(sorted(BINS)) in solutions
    fitting = sorted((bins.count(1), bins) for bins in solutions if has_borders(bins))
    assert fitting[0][1] == tuple(sorted(BINS)) and fitting[1][0] > fitting[0][0]
    assert {17, 22} <= set((11 + np.cumsum(BINS)).tolist()) and BINS[0] > 1


def test_the_truth_is_what_the_paper_learned() -> None:
    """Its ideal, and its eigenvalues and leading interactions in units of the features' spreads."""
    truth = make_admissions(random_state=0).truth
    assert truth is not None and truth.ideal_point.tolist() == list(IDEAL)
    shares, directions = truth.interactions()
    assert shares == pytest.approx(np.array(EIGENVALUES) / sum(EIGENVALUES))
    # 0.909 writing - 0.392 GPA first, 0.942 verbal + 0.319 quantitative last, but for sign and rounding.
    assert np.abs(directions[2:4, 0]) == pytest.approx([0.909, 0.392], abs=0.02)
    assert np.abs(directions[:2, 4]) == pytest.approx([0.942, 0.319], abs=0.02)
    assert directions[2, 0] * directions[3, 0] < 0 < directions[0, 4] * directions[1, 4]


# The simulation


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(["unranked", "ranked"]))
@settings(max_examples=10, deadline=None)
def test_files_keep_to_their_ranges_and_steps(seed: int, kind: str) -> None:
    """GRE in whole points or halves, letters in points, GPAs off scale only where they are dropped."""
    applicants = make_admissions(kind, random_state=seed)
    for name in COLUMNS:
        column = applicants.columns[name][~np.isnan(applicants.columns[name])]
        low, high = RANGES[name]
        assert ((column >= low) & (column <= high)).all()
        steps = column * (100 if name == "gpa" else 2 if "writing" in name else 1)
        assert steps == pytest.approx(np.rint(steps), abs=1e-6)
    gpas = feature(applicants.clean(["gpa"]), "gpa")
    assert min(gpas) >= 1 and max(gpas) <= 4
    assert len(applicants.clean()) == (3305 if kind == "unranked" else 88)


def test_entries_are_missing_in_every_way_the_paper_names() -> None:
    """No official or no own report, fewer letters, no GPA, GPAs off scale at both ends."""
    applicants = make_admissions(random_state=2)
    columns = applicants.columns
    official, own = columns["gre_verbal_official"], columns["gre_verbal_self"]
    assert 0.2 < np.isnan(official).mean() < 0.4 and 0 < np.isnan(own).mean() < 0.2
    assert 0 < (official != own)[~np.isnan(official) & ~np.isnan(own)].mean() < 0.2
    assert set(np.isnan([columns[name] for name in LETTERS]).sum(axis=0)) == {0, 1, 2, 3}
    assert (columns["gpa"] > 4).any() and (columns["gpa"] < 1).any() and np.isnan(columns["gpa"]).any()
    assert all(applicants.clean().dropped.values())
    ranked = make_admissions("ranked", random_state=2).columns
    assert all(np.isnan(ranked[name]).all() for name in (*LETTERS, *(f"{score}_self" for score in GRE)))


@pytest.mark.parametrize("kind", ["unranked", "ranked"])
def test_same_seed_same_applicants(kind: str) -> None:
    """A seed or a generator of it; another seed, others."""
    one = make_admissions(kind, random_state=3)
    assert same(one, make_admissions(kind, random_state=3))
    assert same(one, make_admissions(kind, random_state=np.random.default_rng(3)))
    assert not same(one, make_admissions(kind, random_state=4))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unranked", "ranked"])
@pytest.mark.long
def test_the_truth_ranks_candidates_as_the_tiers_do_up_to_noise(kind: str) -> None:
    """Always without noise, mostly with the default, less with more."""
    exact, usual, loud = (
        accuracy(make_admissions(kind, noise=s, random_state=5).clean()) for s in (0, 0.5, 3)
    )
    assert exact == 1 and 0.75 < usual < 0.95 and 0.5 < loud < usual


def test_scores_of_the_paper_overlap_across_tiers() -> None:
    """Many denied have higher GRE scores than some fellows; writing, GPA and letters tell more apart."""
    candidates = make_admissions(random_state=6).clean()
    fellows, denied = (candidates.items.matrix[candidates.tiers == tier] for tier in (1.0, 3.0))
    assert (denied[:, :2] > np.quantile(fellows[:, :2], 0.25, axis=0)).all(axis=1).sum() > 100
    effect = (fellows.mean(axis=0) - denied.mean(axis=0)) / candidates.items.matrix.std(axis=0)
    assert effect[:2].max() < effect[2:].min()


def test_the_caller_may_bring_the_truth() -> None:
    """It decides the tiers, and is carried under the names of the features."""
    truth = Model(np.diag([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 4.0]))
    applicants = make_admissions("ranked", truth=truth, noise=0.0, random_state=0)
    candidates = applicants.clean()
    assert candidates.truth == replace(truth, feature_names=FEATURES[:4])
    gpas = np.array(feature(candidates, "gpa"))
    assert gpas[candidates.tiers <= 2].min() >= gpas[candidates.tiers > 2].max()
    assert applicants.clean(["gpa"]).truth is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "waitlisted"}, "kind is 'waitlisted'; it must be 'unranked' or 'ranked'"),
        ({"noise": -1}, "noise is -1; it must be"),
        ({"noise": NAN}, "noise is nan; it must be"),
        ({"noise": "loud"}, "noise is 'loud'; it must be"),
        ({"random_state": "seed"}, "random_state is 'seed'; it must be a seed"),
        ({"truth": Model(np.eye(2), np.zeros(2))}, "The items have 5 features; the model was learned from 2"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    """One sentence that names the argument."""
    with pytest.raises(InputError, match=words):
        make_admissions(**arguments)


# Comparisons

UNRANKED = make_admissions(random_state=0).clean()


@given(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_sample_gives_every_comparison_across_its_tiers(counts: tuple[int, int, int], seed: int) -> None:
    """N_F (N_A + N_D) + N_A N_D answers, the better tier winning, the same for the same seed."""
    f, a, d = counts
    expected = f * (a + d) + a * d
    if not expected:
        with pytest.raises(InputError):
            UNRANKED.comparisons(counts, seed)
        return
    data = UNRANKED.comparisons(counts, seed)
    assert len(data) == expected and data.n_items == f + a + d
    tier = dict(zip(names(UNRANKED), UNRANKED.tiers, strict=True))
    assert all(tier[data.name_of(i)] < tier[data.name_of(j)] for i, j in data.pairs)
    assert data == UNRANKED.comparisons(counts, seed)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((33, 33), "2 counts for 3 tiers"),
        ((177, 1, 1), "count of tier 1 is 177; it must be a whole number from 0 to 176"),
        ((1, -1, 1), "count of tier 2 is -1"),
        ((1, 1, 0.5), "count of tier 3 is 0.5"),
    ],
)
def test_counts_that_cannot_be_drawn_are_refused(counts: Any, words: str) -> None:
    """The tier and what it has are in the sentence."""
    with pytest.raises(InputError, match=words):
        UNRANKED.comparisons(counts)


def test_groups_are_compared_within_themselves() -> None:
    """Rows without a group are compared with nobody; a group of one tier has no comparisons of its own."""
    groups = np.array(["x", "x", "x", "", "y", "", "z", "z"], dtype=object)
    tiers = np.array([1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 3.0, 1.0])
    candidates = replace(admissions(*[{}] * 8), tiers=tiers, groups=groups).clean()
    data = candidates.comparisons()
    won = {(data.name_of(i), data.name_of(j)) for i, j in data.pairs}
    assert won == {("a0", "a1"), ("a0", "a2"), ("a7", "a6")} and set(data.users) == {"x", "z"}  # type: ignore[arg-type]
    parts = candidates.by_group()
    assert {label: len(part.comparisons()) for label, part in parts.items()} == {"x": 2, "z": 1}
    assert replace(candidates, groups=None).by_group() == {}


# Files


@pytest.mark.parametrize("kind", ["unranked", "ranked"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_of_the_simulated_applicants_is_read_as_they_are(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    """The same table without the truth, and the same candidates."""
    applicants = make_admissions(kind, random_state=7)
    path, table = tmp_path / f"applicants.{suffix}", frame(applicants)
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    read = read_admissions(path)
    assert same(read, applicants) and read.truth is None and read.groups is None
    assert read.clean().comparisons() == applicants.clean().comparisons()


HEADER = "gre_verbal_official,gre_quantitative_official,gre_writing_official,gpa,tier"


def test_columns_that_a_file_may_lack_are_blank(tmp_path: Path) -> None:
    """Own scores, letters, names and groups; columns may stand in any order, others are ignored."""
    path = tmp_path / "a.csv"
    path.write_text("tier,note,gpa,letter_2,group,gre_verbal_official,gre_quantitative_official,")
    with path.open("a") as file:
        file.write("gre_writing_official\n1,x,3.5,2,north,160,165,4.5\n2,y,3.1,, ,150,,3\n")
    read = read_admissions(path)
    assert read.names.tolist() == ["0", "1"] and read.groups is not None
    assert read.groups.tolist() == ["north", ""]
    assert np.isnan(read.columns["letter_1"]).all() and read.columns["letter_2"].tolist()[0] == 2
    assert len(read.clean(["gpa"])) == 2 and len(read.clean(["gre_quantitative"])) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{HEADER[:-5]}\n160,165,4,3.5\n",
            r"a\.csv has no column 'tier'; needed are gre_verbal_official, .*tier\.",
        ),
        (
            f"{HEADER}\n160,165,4,3.5,1\n160,165,4,good,2\n",
            r"Column 'gpa' of line 3 of .*a\.csv is 'good'; it must",
        ),
        (
            f"{HEADER}\n160,165,4,3.5,1\n800,165,4,3.5,2\n",
            r"'gre_verbal_official' of line 3 .* is 800; .* 130 and 170",
        ),
        (
            f"{HEADER}\n160,165,7,3.5,1\n",
            r"'gre_writing_official' of line 2 .* is 7; it must be between 0 and 6",
        ),
        (
            f"{HEADER},letter_1\n160,165,6,3.5,1,4\n",
            r"'letter_1' of line 2 .* is 4; it must be between 0 and 3",
        ),
        (f"{HEADER}\n160,165,4,3.5,\n", r"Column 'tier' of line 2 .* is nan; it must be a finite number"),
        (
            f"{HEADER}\n160,165,4,3.5,admitted\n",
            r"Column 'tier' of line 2 .* is 'admitted'; it must be a number",
        ),
        (
            f"{HEADER},applicant\n160,165,4,3,1,Ann\n160,165,4,3,1,Ann\n",
            "More than one applicant is named 'Ann'",
        ),
        (f"{HEADER},applicant\n160,165,4,3,1,\n", r"The applicant of line 2 of .* is missing"),
        (f"{HEADER}\n", "has no rows below its header"),
        ("", "is empty"),
        (None, "There is no file"),
    ],
)
def test_bad_files_get_one_sentence(tmp_path: Path, text: str | None, words: str) -> None:
    """The file, the line and the column are in it."""
    path = tmp_path / "a.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_admissions(path)
    assert "\n" not in str(caught.value)


def test_bad_parquet_cells_are_named_too(tmp_path: Path) -> None:
    """Row and column."""
    table = frame(admissions({}, {})).assign(gpa=["3.5", "good"])
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"Column 'gpa' of row 0 of .*a\.parquet is '3\.5'; it must be a number"
    ):
        read_admissions(tmp_path / "a.parquet")


# Real applicants


def test_gradcafe_files_need_their_columns(tmp_path: Path) -> None:
    """The school, too, which may be blank in a row."""
    path = tmp_path / "a.csv"
    path.write_text("gpa,gre_v,gre_q,gre_w,tier\n3.5,160,165,4,1\n")
    with pytest.raises(
        InputError, match="has no column 'school'; needed are gre_v, gre_q, gre_w, gpa, tier, school"
    ):
        read_gradcafe(path)


@needs_gradcafe
def test_gradcafe_is_1362_applicants_and_13003_pairs_within_41_schools() -> None:
    """All complete; per school and pooled comparisons are the same ones."""
    candidates = read_gradcafe(GRADCAFE).clean()
    assert len(candidates) == 1362 and not any(candidates.dropped.values())
    assert candidates.sizes == {1.0: 698, 2.0: 102, 3.0: 562}
    pooled, schools = candidates.comparisons(), candidates.by_group()
    assert len(pooled) == 13003 and len(schools) == 41 and pooled.users is not None
    assert {name: len(part.comparisons()) for name, part in schools.items()} == Counter(pooled.users)
