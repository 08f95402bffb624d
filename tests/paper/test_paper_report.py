"""The paper's claims are computed from numbers, and the report is one file that shows them all."""

from __future__ import annotations

import base64
import copy
import json
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest

from coombs.paper import chosen
from coombs.paper.claims import CLAIMS
from coombs.paper.experiment import Cell, Experiment, Trials
from coombs.paper.judging import Claim, Measured, Outcome
from coombs.paper.report import MARKS, write_report
from coombs.paper.runner import ExperimentResult, Run, reproduce

HOLDS, PART, NOT, NOT_RUN = Outcome
MEASURES = ("ur", "wer", "wer_authors", "kendall", "kendall_authors", "top5", "top10", "top20")
SURE = ("A small WER always", "A large WER need not")
"""Claims of all or nothing: they never hold in part."""
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# Summaries in which every claim about the synthetic experiments holds, holds in part, or does not hold.


def cell(d, name, answers, values, trials=100, **more):
    found = {"d": d, "estimator": name, "answers": answers, "trials": trials}
    for key, value in (dict.fromkeys(MEASURES, 0.5) | values).items():
        low, high = more.get(key, (value, value))
        found[key] = {"median": value, "low": low, "high": high, "mean": value}
    return found


def single_step(*kinds, answers=(10, 100, 500), trials=100):
    """A kind for each of d = 2, 5, 10."""
    curves = {
        "good": {
            "ur": (0.9, 0.1, 0.01),
            "wer": (0.5, 0.1, 0.01),
            "kendall": (0.4, 0.35, 0.3),
            "kendall_authors": (0.5, 0.48, 0.45),
            "top5": (0.1, 0.8, 0.9),
            "top10": (0.1, 0.8, 0.95),
            "top20": (0.2, 0.8, 0.97),
        },
        "bad": {
            "ur": (0.3, 0.3, 0.3),
            "wer": (0.1, 0.1, 0.1),
            "kendall": (0.05, 0.01, 0.05),
            "kendall_authors": (0.5, 0.48, 0.45),
            "top5": (0.6, 0.6, 0.6),
            "top10": (0.6, 0.6, 0.6),
            "top20": (0.6, 0.6, 0.6),
        },
    }
    return {
        "cells": [
            cell(d, "SingleStep", p, {key: values[k] for key, values in curves[kind].items()}, trials)
            for d, kind in zip((2, 5, 10), kinds, strict=True)
            for k, p in enumerate(answers)
        ]
    }


def euclidean(*better, low=0.2):
    """Whether the metric helps, for each of three numbers of answers."""
    cells = []
    for p, helps in zip((10, 100, 500), better, strict=True):
        ours = (
            {"ur": 0.1, "kendall": 0.1, "top10": 0.9} if helps else {"ur": 0.4, "kendall": 0.4, "top10": 0.2}
        )
        theirs = {"ur": 0.3, "kendall": 0.3, "top10": 0.5, "wer": 0.3}
        cells.append(cell(2, "SingleStep", p, ours))
        cells += [cell(2, name, p, theirs, wer=(low, 0.5)) for name in ("Euclidean 1", "Euclidean 2")]
    return {"cells": cells}


def identity(*losses, wer=0.3, tops=True):
    """How far SingleStep is behind, for each of three numbers of answers, in shares of the top or not."""
    cells = []
    for p, loss in zip((10, 100, 500), losses, strict=True):
        share = 0.9 - loss if tops else 0.9
        ours = {"ur": 0.01 + loss, "kendall": 0.01 + loss, "top5": share, "top10": share, "top20": share}
        theirs = {"ur": 0.01, "kendall": 0.01, "top5": 0.9, "top10": 0.9, "top20": 0.9}
        spread = {key: (value - 0.002, value + 0.002) for key, value in theirs.items()}
        cells.append(cell(2, "SingleStep", p, ours, wer=(0.0, wer)))
        cells += [cell(2, name, p, theirs, **spread) for name in ("Euclidean 1", "Euclidean 2")]
    return {"cells": cells}


def alternating(steps):
    """UR before and after, whether the rest gets better, and the change of Kendall, for each number."""
    cells = []
    for p, (before, after, better, change) in steps.items():
        gain = 0.1 if better else -0.1
        rest = {"wer": 0.3 - gain, "kendall": 0.2 + change, **{f"top{k}": 0.5 + gain for k in (5, 10, 20)}}
        cells.append(cell(5, "start", p, {"ur": before, "wer": 0.3, "kendall": 0.2}))
        cells.append(cell(5, "Alternating, oracle stop", p, {"ur": after, **rest}))
        cells.append(cell(5, "Alternating, our stop", p, {"ur": after + 0.01, **rest}))
    return {"cells": cells}


def proposition(*cells):
    return {
        "cells": [{"smallest": e, "trials": 20, "error_along": a, "error_across": b} for e, a, b in cells]
    }


SYNTHETIC = {
    HOLDS: {
        "single-step": single_step("good", "good", "good"),
        "euclidean": euclidean(True, True, True),
        "identity": identity(0.001, 0.0, 0.0),
        "alternating": alternating(
            {
                20: (0.8, 0.79, True, 0.0),
                50: (0.5, 0.3, True, 0.01),
                100: (0.4, 0.15, True, 0.0),
                300: (0.05, 0.04, True, 0.0),
            }
        ),
        "proposition": proposition((0, 0.6, 0.03), (0.001, 0.7, 0.03), (0.01, 0.6, 0.04), (1, 0.03, 0.04)),
    },
    PART: {
        "single-step": single_step("good", "bad", "good"),
        "euclidean": euclidean(False, True, True),
        "identity": identity(0.0, 0.0, 0.2, tops=False),
        "alternating": alternating(
            {
                20: (0.8, 0.79, True, 0.0),
                30: (0.25, 0.1, True, 0.1),
                50: (0.5, 0.3, True, 0.1),
                100: (0.4, 0.5, False, 0.0),
                300: (0.05, 0.04, True, 0.0),
                400: (0.3, 0.1, True, 0.0),
            }
        ),
        "proposition": proposition((0, 0.4, 0.2), (0.001, 0.4, 0.05), (0.01, 0.1, 0.05), (1, 0.05, 0.2)),
    },
    NOT: {
        "single-step": single_step("bad", "bad", "bad"),
        "euclidean": euclidean(False, False, False, low=0.01),
        "identity": identity(0.03, 0.2, 0.3, wer=0.01),
        "alternating": alternating(
            {20: (0.25, 0.1, False, 0.1), 100: (0.2, 0.25, False, 0.1), 300: (0.3, 0.1, False, 0.1)}
        ),
        "proposition": proposition((0, 0.2, 0.3), (0.001, 0.2, 0.3), (0.01, 0.2, 0.3), (1, 0.2, 0.3)),
    },
}


# Applicants: one summary in which all holds, and what to change in it for each claim.

VERBAL, QUANT, WRITING, GPA, LETTERS = FEATURES = (
    "gre_verbal",
    "gre_quantitative",
    "gre_writing",
    "gpa",
    "letters",
)
IDEAL = dict(zip(FEATURES, (158.08, 162.5, 4.68, 4.06, 15.28), strict=True))


def interaction(eigenvalue, names=FEATURES, **weights):
    return {"eigenvalue": eigenvalue, "loadings": {name: weights.get(name, 0.0) for name in names}}


def alone(*names):
    return [interaction(9.0 - k, names, **{name: 1.0}) for k, name in enumerate(names)]


def mixed(one, other, first=4.0):
    """Their difference, in which the second weighs more, then their sum."""
    names = (one, other)
    return [
        interaction(first, names, **{one: -0.4, other: 0.917}),
        interaction(1.0, names, **{one: 0.917, other: 0.4}),
    ]


def pair(key, interactions=None, **ideal):
    names = key.split(",")
    point = {name: min(IDEAL[name], 4.0) if name == GPA else IDEAL[name] for name in names} | ideal
    return {key: {"ideal": point, "interactions": interactions or alone(*names)}}


ALL_PAIRS = [f"{one},{other}" for k, one in enumerate(FEATURES) for other in FEATURES[k + 1 :]]
NONE_OUTSIDE = {key: value for each in ALL_PAIRS for key, value in pair(each).items()}
GRE, BEST = f"{VERBAL},{QUANT}", f"{QUANT},{GPA}"
PAPERS = [
    interaction(1991, gre_writing=0.918, gpa=-0.396),
    interaction(1971, gre_writing=0.396, gpa=0.918),
    interaction(1178, letters=1.0),
    interaction(861, gre_verbal=-0.35, gre_quantitative=0.937),
    interaction(286, gre_verbal=0.937, gre_quantitative=0.35),
]
UNRANKED = {
    "data": "file",
    "features": list(FEATURES),
    "ideal": IDEAL,
    "interactions": PAPERS,
    "truth": {"ideal": IDEAL, "interactions": PAPERS},
    "pairs": NONE_OUTSIDE
    | pair(GRE, mixed(VERBAL, QUANT))
    | pair(BEST, gpa=35.0)
    | pair(f"{WRITING},{GPA}", mixed(WRITING, GPA))
    | pair(f"{VERBAL},{LETTERS}", letters=30.0)
    | pair(f"{QUANT},{LETTERS}", letters=40.0)
    | pair(f"{WRITING},{LETTERS}", letters=50.0),
    "overlap": {VERBAL: 0.4, QUANT: 0.3},
    "accuracy": 0.9,
    "norm": {"largest": 4000.0, "paper": 3000.0},
}
ONE_MIXED = {**NONE_OUTSIDE, **pair(GRE, mixed(VERBAL, QUANT))}
ALL_MIXED = {key: pair(key, mixed(*key.split(",")))[key] for key in ALL_PAIRS} | pair(f"{WRITING},{GPA}")
NO_METRIC = pair(
    GRE, [interaction(1e-14, (VERBAL, QUANT), **{QUANT: 1.0}), interaction(0.0, (VERBAL, QUANT))]
)


def weights_of(verbal, quantitative):
    names = (VERBAL, QUANT)
    found = [interaction(quantitative, names, **{QUANT: 1.0}), interaction(verbal, names, **{VERBAL: 1.0})]
    return {"pairs": pair(GRE, found)}


UNRANKED_CASES = [
    ("Many denied", {"overlap": {VERBAL: 0.4, QUANT: 0.1}}, PART),
    ("Many denied", {"overlap": {VERBAL: 0.1, QUANT: 0.1}}, NOT),
    ("Many denied", {"overlap": {GPA: 0.4}}, NOT_RUN),
    ("GRE verbal matters least", {"interactions": alone(LETTERS, GPA, QUANT, WRITING, VERBAL)}, PART),
    ("GRE verbal matters least", {"interactions": alone(VERBAL, QUANT, LETTERS, GPA, WRITING)}, NOT),
    ("Strongest are", {"interactions": [PAPERS[0], interaction(1900, gpa=1.0), *PAPERS[2:]]}, PART),
    ("Strongest are", {"interactions": PAPERS[1::-1] + PAPERS[2:]}, HOLDS),
    ("Strongest are", {"interactions": alone(*FEATURES)}, NOT),
    ("The first two", {"interactions": [{**PAPERS[0], "eigenvalue": 2600}, *PAPERS[1:]]}, PART),
    ("The first two", {"interactions": [{**PAPERS[0], "eigenvalue": 6000}, *PAPERS[1:]]}, NOT),
    ("Letters come third", {"interactions": [*PAPERS[:4], interaction(200, gre_verbal=1.0)]}, PART),
    ("Letters come third", {"interactions": alone(*FEATURES)}, NOT),
    ("Ideal scores", {"ideal": IDEAL | {VERBAL: 140.0, GPA: 5.0}}, PART),
    ("Ideal scores", {"ideal": {name: 2 * value for name, value in IDEAL.items()}}, NOT),
    ("From GRE verbal", weights_of(1, 2), NOT),
    ("From GRE verbal", {"pairs": pair(BEST)}, NOT_RUN),
    ("From GRE verbal", {"pairs": NO_METRIC}, NOT),
    ("A slightly lower", {"pairs": NO_METRIC}, NOT),
    ("For many pairs", {"pairs": pair(GRE) | pair(BEST) | NO_METRIC}, NOT_RUN),
    ("A slightly lower", weights_of(2, 3), PART),
    ("A slightly lower", weights_of(2, 1), NOT),
    ("For many pairs", {"pairs": NONE_OUTSIDE | pair(BEST, gpa=5.0)}, PART),
    ("For many pairs", {"pairs": NONE_OUTSIDE}, NOT),
    ("For many pairs", {"pairs": {}}, NOT_RUN),
    ("Such an ideal", {"pairs": pair(BEST, gpa=5.0) | pair(f"{GPA},{LETTERS}", letters=0.0)}, PART),
    ("Such an ideal", {"pairs": pair(BEST, gpa=-5.0)}, NOT),
    ("Such an ideal", {"pairs": NONE_OUTSIDE}, NOT_RUN),
    ("For GRE quantitative with GPA", {"pairs": pair(BEST, gpa=5.0)}, PART),
    ("For GRE quantitative with GPA", {"pairs": pair(BEST, gpa=3.0)}, NOT),
    ("Many pairs have no", {"pairs": ONE_MIXED}, PART),
    ("Many pairs have no", {"pairs": ALL_MIXED}, NOT),
]


def ranked_cells(*shares, kendall=(0.3, 0.01)):
    """Shares of the top 22, 17 and 11 with a fiftieth, a tenth and with all of the comparisons."""
    return [
        {
            "answers": answers,
            "share": answers / 2610,
            "estimator": "SingleStep",
            **{
                f"top{k}": {"mean": share, "deviation": 0.1}
                for k, share in zip((22, 17, 11), values, strict=True)
            },
            "kendall11": {"median": tau, "low": tau, "high": tau},
        }
        for answers, values, tau in zip(
            (50, 260, 2610), (*shares, (1.0, 1.0, 1.0)), (kendall[0], 0.1, kendall[1]), strict=True
        )
    ]


POOR = (0.4, 0.4, 0.4)
RANKED = {
    "data": "file",
    "cells": ranked_cells(POOR, (0.95, 0.94, 0.85)),
    "all": {"interactions": alone(GPA, WRITING, QUANT, VERBAL)},
    "n_candidates": 88,
    "n_comparisons": 2610,
}
TWO_MIXED = [
    {**one, "loadings": {**one["loadings"], VERBAL: 0.9}} for one in alone(GPA, WRITING, QUANT, VERBAL)
]
RANKED_CASES = [
    ("The shares of the top", {"cells": ranked_cells(POOR, (0.9, 0.9, 0.5))}, PART),
    ("The shares of the top", {"cells": ranked_cells(POOR, POOR)}, NOT),
    ("Under 20 %", {"cells": ranked_cells(POOR, (0.95, 0.95, 0.7))}, PART),
    ("Under 20 %", {"cells": ranked_cells(POOR, (0.85, 0.85, 0.9))}, NOT),
    ("With more comparisons", {"cells": ranked_cells(POOR, POOR, kendall=(0.3, 0.1))}, PART),
    ("With more comparisons", {"cells": ranked_cells(POOR, POOR, kendall=(0.3, 0.3))}, NOT),
    ("The metric from all", {"all": {"interactions": alone(GPA, VERBAL)[:1] + TWO_MIXED[:1]}}, PART),
    ("The metric from all", {"all": {"interactions": TWO_MIXED[:3]}}, NOT),
    ("GPA and GRE writing lead", {"all": {"interactions": alone(GPA, WRITING, VERBAL, QUANT)}}, PART),
    ("GPA and GRE writing lead", {"all": {"interactions": alone(VERBAL, QUANT, WRITING, GPA)}}, NOT),
]
SCHOOLS = [
    {"school": "A", "SingleStep": 0.9, "linear": 0.8},
    {"school": "B", "SingleStep": 0.8},
    {"school": "C"},
]
GOOD = {
    **SYNTHETIC[HOLDS],
    "unranked": UNRANKED,
    "ranked": RANKED,
    "gradcafe": {**UNRANKED, "schools": SCHOOLS},
}


def find(experiment, start) -> Claim:
    (claim,) = (one for one in CLAIMS if one.experiment == experiment and one.text.startswith(start))
    return claim


def name(claim):
    return f"{claim.experiment}: {claim.text[:40]}"


RECORDED = json.loads((Path(__file__).parent / "paper_verdicts.json").read_text(encoding="utf-8"))
"""The summaries of a run with two trials of each cell, rounded, and the verdict on every claim."""


@pytest.mark.parametrize("experiment", RECORDED)
def test_verdicts_and_their_sentences_are_those_on_record(experiment):
    summary, verdicts = RECORDED[experiment]["summary"], RECORDED[experiment]["verdicts"]
    found = [[one.text, *one.judge(summary)] for one in CLAIMS if one.experiment == experiment]
    assert found == verdicts


def test_there_are_sixty_claims_each_on_record():
    assert sum(len(one["verdicts"]) for one in RECORDED.values()) == len(CLAIMS) == 60


@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_every_claim_can_hold_and_shows_numbers_and_the_threshold(claim):
    verdict = claim.judge(GOOD[claim.experiment])
    assert verdict.outcome is HOLDS, verdict
    assert any(c.isdigit() for c in verdict.measured) or "first" in verdict.measured
    assert verdict.reason.endswith(".")


@pytest.mark.parametrize("claim", [one for one in CLAIMS if one.experiment in SYNTHETIC[HOLDS]], ids=name)
def test_every_synthetic_claim_can_fail_in_part_and_wholly(claim):
    for outcome in (NOT,) if claim.text.startswith(SURE) else (PART, NOT):
        verdict = claim.judge(SYNTHETIC[outcome][claim.experiment])
        assert verdict.outcome is outcome, verdict


@pytest.mark.parametrize(("start", "change", "outcome"), UNRANKED_CASES)
@pytest.mark.parametrize("experiment", ["unranked", "gradcafe"])
def test_claims_about_unranked_applicants(experiment, start, change, outcome):
    verdict = find(experiment, start).judge(UNRANKED | change)
    assert verdict.outcome is outcome, verdict


@pytest.mark.parametrize(("start", "change", "outcome"), RANKED_CASES)
def test_claims_about_ranked_applicants(start, change, outcome):
    verdict = find("ranked", start).judge(RANKED | change)
    assert verdict.outcome is outcome, verdict


@pytest.mark.parametrize(("value", "outcome"), [(0.8, HOLDS), (0.7, PART), (0.5, NOT)])
def test_ranking_is_judged_in_sample_and_for_real_schools_on_held_out_answers(value, outcome):
    start = "The method ranks"
    assert find("unranked", start).judge({"data": "file", "accuracy": value}).outcome is outcome
    schools = [
        {"SingleStep": value + 0.1, "linear": 0.9},
        {"SingleStep": value - 0.1},
        {"school": "no optimum"},
    ]
    verdict = find("gradcafe", start).judge(
        {"data": "file", "schools": schools, "IdealPoint": {"accuracy": 1.0}}
    )
    assert verdict.outcome is outcome and "IdealPoint" not in verdict.reason
    assert f"3 schools: {value:.3f} (SingleStep), 0.900 (linear)" in verdict.measured


def test_eigenvectors_of_several_zero_eigenvalues_mean_nothing():
    flat = [PAPERS[0], *({**one, "eigenvalue": 1e-12} for one in PAPERS[1:])]
    verdict = find("unranked", "Strongest are").judge(UNRANKED | {"interactions": flat})
    assert verdict.outcome is NOT and "none (eigenvalue 0), none (eigenvalue 0)." in verdict.measured
    verdict = find("unranked", "The first two").judge(UNRANKED | {"interactions": flat})
    assert "1.991e+15" in verdict.measured


def test_units_are_those_in_which_the_truth_has_what_is_claimed():
    own = {"interactions": alone(GPA, WRITING, QUANT, LETTERS, VERBAL)}
    spreads = {"interactions": PAPERS, "truth": {"interactions": PAPERS}}
    claim = find("unranked", "Strongest are")
    assert claim.judge(own).outcome is NOT
    verdict = claim.judge({"data": "file", **own, "truth": own, "standardized": spreads})
    assert verdict.outcome is HOLDS and "not even the truth" in verdict.reason


def test_eigenvalues_beyond_what_the_gammas_allow_are_refuted():
    claim = find("unranked", "With the gammas of the caption")
    verdict = claim.judge({"norm": {"largest": 500.0, "paper": 3000.0}})
    assert verdict.outcome is NOT and "3000" in verdict.measured and "500" in verdict.measured


def test_what_others_learned_from_the_same_answers_is_told():
    poor = {"interactions": alone(*FEATURES)}
    verdict = find("unranked", "Strongest are").judge(
        UNRANKED | {"standardized": poor, "IdealPoint": UNRANKED}
    )
    assert verdict.outcome is HOLDS
    assert "with standardised features it does not hold, by IdealPoint it holds." in verdict.reason


def test_ranks_by_metric_and_by_counting_stand_beside_the_shares():
    won = [{**one, "estimator": "comparisons won"} for one in ranked_cells(POOR, (0.5, 0.6, 0.7))]
    verdict = find("ranked", "Under 20 %").judge(RANKED | {"cells": RANKED["cells"] + won})
    assert "0.500 (top 22 by counting wins, without features), 0.600 (top 17 by" in verdict.measured
    verdict = find("ranked", "With more").judge(RANKED | {"cells": RANKED["cells"] + won})
    assert verdict.measured.endswith("0.010 (by d), 0.010 (by counting wins, without features).")


def test_every_claim_about_applicants_has_cases():
    for experiment, cases in (("unranked", UNRANKED_CASES), ("ranked", RANKED_CASES)):
        for claim in (
            one
            for one in CLAIMS
            if one.experiment == experiment and one.where not in ("Table 1", "Section 5")
        ):
            assert any(claim.text.startswith(start) and outcome is NOT for start, _, outcome in cases), (
                claim.text
            )


@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_without_its_numbers_a_claim_is_not_run_and_says_why(claim):
    """Where an experiment did not run, or a fit has no optimum."""
    assert claim.judge(None, "No data here.") == (NOT_RUN, "", "No data here.")
    verdict = claim.judge({})
    assert verdict.outcome is NOT_RUN and verdict.reason.startswith("The summary has no '")


@pytest.mark.parametrize("data", ["simulated", "GradCafe"])
@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.experiment in ("gradcafe", "ranked")], ids=name)
def test_other_applicants_than_the_papers_bear_a_claim_out_in_part_at_best(claim, data):
    verdict = claim.judge({**GOOD[claim.experiment], "data": data})
    assert verdict.outcome is PART and "private" in verdict.reason


def test_a_changed_number_changes_verdict_and_text():
    claim, summary = find("single-step", "UR and WER go to 0"), copy.deepcopy(GOOD["single-step"])
    assert claim.judge(summary).outcome is HOLDS
    summary["cells"][-1]["ur"]["median"] = 0.4321
    verdict = claim.judge(summary)
    assert verdict.outcome is PART
    assert "0.432 (UR at d = 10)" in verdict.measured and "UR at d = 10" in verdict.reason


def test_a_short_run_can_bear_out_a_claim_about_500_but_not_refute_it():
    claim = find("single-step", "UR and WER go to 0")
    short = {"answers": (20, 100, 300), "trials": 3}
    assert claim.judge(single_step("good", "good", "good", **short)).outcome is HOLDS
    verdict = claim.judge(single_step("bad", "bad", "bad", **short))
    assert verdict.outcome is NOT_RUN
    assert "ends at 300" in verdict.reason and "Only 3 trials" in verdict.reason


def test_kendall_is_judged_by_the_real_measure_and_shows_the_authors():
    verdict = find("single-step", "Kendall's tau distance falls slowly").judge(SYNTHETIC[NOT]["single-step"])
    assert verdict.outcome is NOT
    assert "0.960 (authors' Kendall at d = 2)" in verdict.measured
    assert "not Kendall's tau, the claim holds" in verdict.reason


def test_applicants_without_letters_are_judged_by_the_other_features():
    four = [
        {**one, "loadings": {key: value for key, value in one["loadings"].items() if key != LETTERS}}
        for one in (*PAPERS[:2], *PAPERS[3:])
    ]
    for start in ("Strongest are", "Letters come third", "GRE verbal matters least"):
        assert find("gradcafe", start).judge({"data": "file", "interactions": four}).outcome is HOLDS


def test_at_least_half_of_the_checks_make_a_part():
    def judged(passed, n):
        checks = {str(k): k < passed for k in range(n)}
        return Claim("", lambda _: Measured("", checks), "==", True, "", "").judge({})

    assert [judged(n, 4).outcome for n in range(5)] == [NOT, NOT, PART, PART, HOLDS]
    assert "0, 1, 2, 3, 4, 5 and 2 more." in judged(0, 8).reason
    assert judged(0, 0).outcome is NOT_RUN


# The report.


class Page(HTMLParser):
    """Every tag is closed in its turn; gathers what it shows."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.images, self.ids, self.links, self.tags = [], [], [], [], [], set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        if tag == "img":
            self.images.append(found)
        if "id" in found:
            self.ids.append(found["id"])
        if "href" in found:
            self.links.append(found["href"])
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


NASTY = "<script>alert('1')</script> & \"quoted\""


def experiment(key, title=NASTY, needs=lambda: None):
    """One that has run already, or cannot."""
    return Experiment(
        key,
        f"{key} {title}",
        f"About {key} {title}",
        100,
        lambda _: [Cell("only", {"d": 2})],
        lambda *_: [],
        lambda _: {},
        lambda *_: {},
        needs=needs,
    )


FIGURES = {name: PNG + name.encode() for name in ("another", "main", "supplement")}


def result(key, tables=None):
    """What the runner returns of an experiment."""
    return ExperimentResult(Trials([]), GOOD[key], FIGURES, tables or {})


@pytest.fixture
def written(tmp_path):
    """A report with experiments that ran, one that could not, and others that nobody asked for."""
    tables = {f"Table {NASTY}": [["name", "value"], [NASTY, "1.5"], ["b", "-"]]}
    results = {key: result(key, tables) for key in ("single-step", "alternating", "unranked")}
    absent = experiment("gradcafe", needs=lambda: f"There is no file {NASTY}.")
    run = Run(tmp_path, seed=17, quick=True)
    path = write_report([*map(experiment, results), absent], results, run)
    assert path == tmp_path / "report.html"
    return tmp_path, path.read_text(encoding="utf-8")


def test_report_is_one_wellformed_file_without_script_or_network(written):
    _, text = written
    page = Page(text)
    assert not page.tags & {"script", "link", "iframe", "object"}
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.images)
    assert "http:" not in text and "https:" not in text and "url(" not in text and "<script" not in text
    assert NASTY in page.text


def test_report_has_every_figure_with_an_alternative_text_main_first(written):
    _, text = written
    images = Page(text).images
    found = [base64.b64decode(image["src"].partition(",")[2]) for image in images]
    assert found == 3 * [FIGURES[name] for name in ("main", "supplement", "another")]
    assert all(len(image["alt"]) > 20 for image in images)


def test_report_has_every_claim_with_its_verdict_in_sign_and_words(written):
    out, text = written
    page = Page(text)
    records = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert [(one["experiment"], one["claim"], one["where"]) for one in records] == [
        (claim.experiment, claim.text, claim.where) for claim in CLAIMS
    ]
    for one in records:
        _, sign = MARKS[Outcome(one["outcome"])]
        row = f"{sign} {one['outcome']}{one['claim']}{one['where']}{one['measured']}{one['reason']}"
        assert " ".join(row.split()) in page.text
    assert {one["outcome"] for one in records if one["experiment"] == "single-step"} == {"holds"}
    left = {one["reason"] for one in records if one["experiment"] == "gradcafe"}
    assert left == {f"There is no file {NASTY}."}
    assert {one["outcome"] for one in records if one["experiment"] == "ranked"} == {"not run"}
    assert len(set(MARKS.values())) == len(Outcome)


def test_report_says_what_was_run_and_links_to_each_part(written):
    _, text = written
    page = Page(text)
    for words in ("Seed17", "quick", "at most 3 of each cell", "What could not run here", "Table "):
        assert words in page.text
    assert {link.removeprefix("#") for link in page.links} == set(page.ids)


def test_report_shows_both_where_code_and_text_differ(tmp_path):
    summary = copy.deepcopy(GOOD["single-step"])
    code = [{**copy.deepcopy(one), "estimator": "SingleStep, authors' code"} for one in summary["cells"]]
    code[-1]["ur"]["median"] = 0.765
    summary["cells"] += code
    summary["cells"][8]["wer"]["median"] = 0.0625
    summary["cells"][8]["wer_authors"]["median"] = math.sqrt(0.0625)
    results = {"single-step": result("single-step")._replace(summary=summary)}
    text = write_report([experiment("single-step")], results, Run(tmp_path)).read_text(encoding="utf-8")
    part = Page(text[text.index('<section id="differences">') : text.index("</main>")]).text
    for row in ("105000.3000.450", "105000.0620.250", "105000.0100.765"):
        assert row in part
    assert "The experiment was not part of this run." in part


def test_experiments_that_the_folder_has_are_told_again(tmp_path):
    """A later command for one experiment does not make the report forget the others."""
    (tmp_path / "single-step").mkdir()
    (tmp_path / "single-step" / "summary.json").write_text("{}")
    assert [one.name for one in chosen(["proposition"], tmp_path)] == [
        "single-step",
        "proposition",
    ]


def test_report_of_a_real_quick_run(tmp_path):
    pytest.importorskip("matplotlib")
    experiments, run = chosen(["proposition"], tmp_path), Run(tmp_path, quick=True, trials=2)
    results = reproduce(experiments, run)
    page = Page(write_report(experiments, results, run).read_text(encoding="utf-8"))
    assert len(page.images) == 1 and experiments[0].title in page.text and "2 of each cell" in page.text
    summary = json.loads((tmp_path / "proposition" / "summary.json").read_text())
    assert summary == results["proposition"].summary
    claims = [one for one in CLAIMS if one.experiment == "proposition"]
    assert len(claims) == 4 and all(one.judge(summary).measured in page.text for one in claims)
