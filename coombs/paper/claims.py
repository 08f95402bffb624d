"""What the paper's text claims of its experiments, in our words, each with the rule that judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from coombs.paper import rules_applicants as applicants
from coombs.paper import rules_synthetic as synthetic
from coombs.paper.judging import NOT_ASKED, Claim, Outcome, Summary, Verdict

__all__ = ["CLAIMS", "Claim", "Outcome", "Verdict", "judge_all"]


def judge_all(
    summaries: Mapping[str, Summary], reasons: Mapping[str, str] | None = None
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict; `reasons` says of an experiment without summary why there is none."""
    why = reasons or {}
    return [
        (one, one.judge(summaries.get(one.experiment), why.get(one.experiment, NOT_ASKED))) for one in CLAIMS
    ]


_NEAR = {"ur": 0.05, "wer": 0.05, "top10": 0.1}
_STRONG = dict.fromkeys(synthetic.TOPS, 0.2)

SINGLE_STEP = (
    Claim(
        "single-step",
        "Section 4.1, Fig. 1",
        "With few comparisons UR and WER are large, and few of the top 10 are found.",
        synthetic.poor_at_first,
    ),
    Claim(
        "single-step",
        "Section 4.1, Fig. 1",
        "From 10 to 500 comparisons UR and WER fall rapidly, and the share of the top 10 rises rapidly.",
        synthetic.rapid,
    ),
    Claim(
        "single-step",
        "Fig. 1, caption",
        "UR and WER go to 0 and the share of the top 10 to 1, for every d, by 500 comparisons.",
        partial(
            synthetic.at_the_end,
            _NEAR,
            "Towards 0 and 1: at the most comparisons UR and WER at most 0.05, at least 0.9 of the top 10.",
        ),
    ),
    Claim(
        "single-step",
        "Supplement B, Fig. 6",
        "Kendall's tau distance falls for d = 2, 5 and 10.",
        synthetic.kendall_falls,
    ),
    Claim(
        "single-step", "Supplement B, Fig. 6", "Kendall's tau distance falls slowly.", synthetic.kendall_slow
    ),
    Claim(
        "single-step",
        "Supplement B",
        "That is because many items are about equally far from u, and the order of all is hard to find.",
        synthetic.kendall_stays_high,
    ),
    Claim(
        "single-step",
        "Supplement B, Fig. 6",
        "The top 5, 10 and 20 are found well nevertheless.",
        partial(
            synthetic.at_the_end,
            _STRONG,
            "Well: a share of at least 0.8 at the most comparisons, for every d.",
        ),
    ),
)

EUCLIDEAN = (
    *(
        Claim(
            "euclidean",
            "Section 4.1, Fig. 2",
            f"Where M is not I, learning the metric beats both Euclidean algorithms on {name}.",
            partial(synthetic.better_than_both, measure),
        )
        for measure, name in (
            ("ur", "the ideal point (UR)"),
            ("kendall", "the ranking (Kendall)"),
            ("top10", "the share of the top 10"),
        )
    ),
    Claim(
        "euclidean",
        "Section 4.1",
        "A small WER always means that M was recovered well.",
        synthetic.small_wer_means_recovered,
    ),
)

IDENTITY = (
    Claim(
        "identity",
        "Section 4.1",
        "Where M is I, learning the metric costs very little.",
        synthetic.little_loss,
    ),
    Claim(
        "identity",
        "Supplement B, Fig. 7",
        "There is no significant loss in UR, Kendall, or the top 5, 10 and 20.",
        synthetic.insignificant_loss,
    ),
    Claim(
        "identity",
        "Supplement B, Fig. 7",
        "The loss goes away as the comparisons grow in number.",
        synthetic.loss_shrinks,
    ),
    Claim(
        "identity",
        "Sections 3.5 and 4.1",
        "A large WER need not mean a poor estimate: where eigenvalues repeat, eigenvectors are arbitrary.",
        synthetic.large_wer_with_good_fit,
    ),
)

ALTERNATING = (
    Claim(
        "alternating",
        "Section 4.1, Fig. 3",
        "Below 40 comparisons alternating hardly improves u.",
        partial(synthetic.hardly_helps, 0, 39),
    ),
    Claim(
        "alternating",
        "Section 4.1",
        "There the comparisons do not tell enough to recover u.",
        partial(synthetic.start_is, False, 0, 39),
    ),
    Claim(
        "alternating",
        "Section 4.1, Fig. 3",
        "Above 200 comparisons alternating hardly improves u.",
        partial(synthetic.hardly_helps, 201, 10**9),
    ),
    Claim(
        "alternating",
        "Section 4.1",
        "There the single step is very accurate already.",
        partial(synthetic.start_is, True, 201, 10**9),
    ),
    Claim(
        "alternating",
        "Section 4.1, Fig. 3",
        "In between it improves u steadily.",
        partial(synthetic.helps, ("ur",)),
    ),
    Claim("alternating", "Section 4.1, Fig. 3", "It cuts the error by nearly 60 %.", synthetic.cuts_by_60),
    Claim(
        "alternating",
        "Supplement B, Fig. 8",
        "Between 40 and 200 comparisons it generally improves WER.",
        partial(synthetic.helps, ("wer",)),
    ),
    Claim(
        "alternating",
        "Supplement B, Fig. 8",
        "Between 40 and 200 comparisons it generally finds more of the top 5, 10 and 20.",
        partial(synthetic.helps, synthetic.TOPS),
    ),
    Claim(
        "alternating",
        "Supplement B, Fig. 8",
        "Kendall's tau distance stays about the same for every number of comparisons.",
        synthetic.kendall_stays,
    ),
)


def _of_applicants(experiment: str, where: str, text: str, rule: Callable[[Summary], Verdict]) -> Claim:
    """A claim that other applicants than the paper's can only bear out in part."""
    return Claim(experiment, where, text, partial(applicants.elsewhere, rule))


_LEARNED = (
    (
        "Section 4.2",
        "Many denied applicants have higher GRE scores than some with a fellowship; the categories score "
        "alike on verbal and quantitative.",
        applicants.scores_overlap,
    ),
    (
        "Section 4.2",
        "GRE verbal matters least, then quantitative; writing, GPA and letters matter most.",
        applicants.order_of_importance,
    ),
    (
        "Section 4.2, Table 1",
        "Strongest are a weighted difference of GPA and writing, their weighted sum, and letters.",
        applicants.gpa_and_writing_first,
    ),
    ("Supplement D, Table 1", "The first two are almost equally important.", applicants.first_two_equal),
    (
        "Supplement D, Table 1",
        "Letters come third, then the difference of GRE quantitative and verbal; their sum is weakest.",
        applicants.gre_last,
    ),
    (
        "Section 4.2",
        "Ideal scores: verbal 158.08, quantitative 162.50, writing 4.68, GPA 4.06, letters 15.28.",
        applicants.ideal_scores,
    ),
    (
        "Section 4.2, Fig. 4",
        "From GRE verbal and quantitative alone: first a weighted difference, then a weighted sum.",
        applicants.gre_difference_then_sum,
    ),
    (
        "Section 4.2, Fig. 4",
        "A slightly lower quantitative score takes a much higher verbal one to make up for it.",
        applicants.quantitative_outweighs_verbal,
    ),
    (
        "Supplement D, Fig. 9",
        "For many pairs of features the ideal is outside of the allowed range.",
        applicants.many_pairs_outside,
    ),
    (
        "Supplement D, Fig. 9",
        "Such an ideal is above the range: the more, the better.",
        applicants.outside_means_more,
    ),
    (
        "Supplement D, Fig. 9",
        "For GRE quantitative with GPA, the ideal GPA is far beyond 4 (about 35).",
        applicants.gpa_beyond_four,
    ),
    (
        "Supplement D, Fig. 9",
        "Many pairs have no meaningful interaction; GRE writing with GPA has.",
        applicants.few_pairs_interact,
    ),
)
_RANKS = ("Section 5", "The method ranks applicants correctly.")

UNRANKED = (
    *(_of_applicants("unranked", *one) for one in _LEARNED),
    _of_applicants("unranked", *_RANKS, applicants.ranks_well),
    Claim(
        "unranked",
        "Table 1",
        "With the gammas of the caption the eigenvalues are 1991, 1971, 1178, 861 and 286.",
        applicants.eigenvalues_possible,
    ),
)
GRADCAFE = (
    *(_of_applicants("gradcafe", *one) for one in _LEARNED),
    _of_applicants("gradcafe", *_RANKS, applicants.predicts_well),
)

RANKED = (
    _of_applicants(
        "ranked",
        "Section 4.2, Fig. 5",
        "The shares of the top 11, 17 and 22 rise rapidly with the comparisons.",
        applicants.top_rises,
    ),
    _of_applicants(
        "ranked",
        "Section 4.2, Fig. 5",
        "Under 20 % of the comparisons find over 90 % of the top 22 and 17 and over 80 % of the top 11.",
        applicants.top_with_a_fifth,
    ),
    _of_applicants(
        "ranked",
        "Supplement D, Fig. 10",
        "With more comparisons the exact order of the top 11 is found extremely accurately.",
        applicants.top_eleven_in_order,
    ),
    _of_applicants(
        "ranked",
        "Supplement D",
        "The metric from all 2610 comparisons has no meaningful interactions.",
        applicants.no_interactions,
    ),
    _of_applicants(
        "ranked",
        "Supplement D",
        "GPA and GRE writing lead with about equal eigenvalues, then quantitative; verbal is last.",
        applicants.gpa_and_writing_lead,
    ),
)

PROPOSITION = (
    Claim(
        "proposition",
        "Section 3.5, Supplement A",
        "Where M is singular, the part of u in its kernel cannot be recovered.",
        synthetic.lost_along_kernel,
    ),
    Claim(
        "proposition",
        "Section 3.5, Supplement A",
        "Where M is positive definite, u can be recovered.",
        synthetic.found_if_definite,
    ),
    Claim(
        "proposition",
        "Section 3.5",
        "Where M is ill-conditioned, u is extremely hard to find along eigenvectors of small eigenvalues.",
        synthetic.hard_if_ill_conditioned,
    ),
    Claim(
        "proposition",
        "Section 3.5",
        "The part that is lost plays little role: what the answers depend on is found.",
        synthetic.rest_is_found,
    ),
)

CLAIMS = (
    *SINGLE_STEP,
    *EUCLIDEAN,
    *IDENTITY,
    *ALTERNATING,
    *UNRANKED,
    *RANKED,
    *GRADCAFE,
    *PROPOSITION,
)
"""In the order of the experiments."""
