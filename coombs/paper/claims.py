"""What the paper's text claims of its experiments, in our words: a table of quantities and thresholds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from coombs.paper import applicant_quantities as applicants
from coombs.paper import sweep_quantities as sweeps
from coombs.paper.judging import Claim
from coombs.paper.sweep_quantities import AT_FIRST, AT_LAST, CHANGE, LEFT, MAIN, TOPS, at_each, single_step

PAPERS_MOST = 500
"""Comparisons, where the paper's sweeps end."""
LARGE = {"UR": 0.5, "WER": 0.2, "missing of the top 10": 0.5}
"""Errors with few comparisons, at least."""
NEARLY_NONE = {"UR": 0.05, "WER": 0.05, "missing of the top 10": 0.1}
"""Errors with the paper's most comparisons, at most."""
MOST_OF_THE_TOP = {"top 22": 0.9, "top 17": 0.9, "top 11": 0.8}
"""Shares of the top that are found with a fifth of the comparisons, at least."""
ANY = 1e-9
"""A share of at least this is more than none."""
MIXTURE = "A mixture: both weights at least 0.3, together 0.8 of all squared weights."
CORRECTLY = "Correctly: 0.8 or more; in part from 0.6. Guessing gives 0.5."
BETTER = "Better: the median, at every number of comparisons."
HARDLY = "Hardly: the median UR falls by less than 0.05 or less than 15 %."
HELPS = "Helps: a better median at every number of comparisons from 40 to 200."

# fmt: off
# Where the paper claims it, what is measured, how it compares to the threshold;
# the claim in our words; the rule in words.

SINGLE_STEP = (
    Claim("Section 4.1, Fig. 1", partial(single_step, AT_FIRST, MAIN), ">=", LARGE,
          "With few comparisons UR and WER are large, and few of the top 10 are found.",
          "Large: UR at least 0.5, WER at least 0.2; few: at most 0.5 of the top 10."),
    Claim("Section 4.1, Fig. 1", partial(single_step, LEFT, MAIN), "<=", sweeps.HALF,
          "From 10 to 500 comparisons UR and WER fall rapidly, and the share of the top 10 rises rapidly.",
          "Rapidly: by 150 comparisons at most half is left of the first error (1 - share for the top 10)."),
    Claim("Fig. 1, caption", partial(single_step, AT_LAST, MAIN), "<=", NEARLY_NONE,
          "UR and WER go to 0 and the share of the top 10 to 1, for every d, by 500 comparisons.",
          "Towards 0 and 1: at the most comparisons UR and WER at most 0.05, at least 0.9 of the top 10.",
          comparisons=PAPERS_MOST),
    Claim("Supplement B, Fig. 6", partial(single_step, CHANGE, ("kendall",)), "<", 0.0,
          "Kendall's tau distance falls for d = 2, 5 and 10.",
          "Falls: lower at the most comparisons than at the fewest."),
    Claim("Supplement B, Fig. 6", sweeps.kendall_left, ">", sweeps.HALF,
          "Kendall's tau distance falls slowly.",
          "Slowly: by 150 comparisons more than half is left of the first value."),
    Claim("Supplement B", partial(single_step, AT_LAST, ("kendall",)), ">=", 0.1,
          "That is because many items are about equally far from u, and the order of all is hard to find.",
          "Hard: at the most comparisons a tenth of all pairs or more is still in the wrong order."),
    Claim("Supplement B, Fig. 6", partial(single_step, AT_LAST, TOPS), "<=", 0.2,
          "The top 5, 10 and 20 are found well nevertheless.",
          "Well: a share of at least 0.8 at the most comparisons, for every d.", comparisons=PAPERS_MOST),
)

EUCLIDEAN = (
    Claim("Section 4.1, Fig. 2", partial(at_each, sweeps.LOSS, ("ur",)), "<", 0.0,
          "Where M is not I, learning the metric beats both Euclidean algorithms on the ideal point (UR).",
          BETTER),
    Claim("Section 4.1, Fig. 2", partial(at_each, sweeps.LOSS, ("kendall",)), "<", 0.0,
          "Where M is not I, learning the metric beats both Euclidean algorithms on the ranking (Kendall).",
          BETTER),
    Claim("Section 4.1, Fig. 2", partial(at_each, sweeps.LOSS, ("top10",)), "<", 0.0,
          "Where M is not I, learning the metric beats both Euclidean algorithms on the share of the top 10.",
          BETTER),
    Claim("Section 4.1", sweeps.euclidean_wer, ">", 0.05,
          "A small WER always means that M was recovered well.",
          "The Euclidean algorithms take M = I, which is wrong here, so a quarter of their trials must not "
          "have a WER of 0.05 or less. WER looks at eigenvectors alone; the learned eigenvalues do not "
          "enter."),
)

IDENTITY = (
    Claim("Section 4.1", partial(at_each, sweeps.LOSS, ("ur", "kendall", "top10")), "<=", 0.05,
          "Where M is I, learning the metric costs very little.",
          "Little: the median at most 0.05 worse than that of the better Euclidean algorithm."),
    Claim("Supplement B, Fig. 7", partial(at_each, sweeps.BEYOND, ("ur", "kendall", *TOPS)), "<=", 0.0,
          "There is no significant loss in UR, Kendall, or the top 5, 10 and 20.",
          "Not significant: the median is no worse than the worse quartile of the better Euclidean "
          "algorithm."),
    Claim("Supplement B, Fig. 7", sweeps.loss_at_the_end, "<=", 0.0,
          "The loss goes away as the comparisons grow in number.",
          "Shrinks: at the most comparisons at most 0.01, or less than at the fewest."),
    Claim("Sections 3.5 and 4.1", sweeps.wer_of_good_fits, ">=", 0.1,
          "A large WER need not mean a poor estimate: where eigenvalues repeat, eigenvectors are arbitrary.",
          "Large: somewhere an upper quartile of WER of 0.1 or more where UR and Kendall are at most 0.05."),
)

ALTERNATING = (
    Claim("Section 4.1, Fig. 3", partial(at_each, sweeps.FALL, ("ur",), high=39), "<", 1.0,
          "Below 40 comparisons alternating hardly improves u.",
          HARDLY),
    Claim("Section 4.1", partial(at_each, sweeps.BEFORE, ("ur",), high=39), ">=", 0.3,
          "There the comparisons do not tell enough to recover u.",
          "Not recovered: a median UR of at least 0.3."),
    Claim("Section 4.1, Fig. 3", partial(at_each, sweeps.FALL, ("ur",), low=201), "<", 1.0,
          "Above 200 comparisons alternating hardly improves u.",
          HARDLY),
    Claim("Section 4.1", partial(at_each, sweeps.BEFORE, ("ur",), low=201), "<=", 0.1,
          "There the single step is very accurate already.",
          "Very accurate: a median UR of at most 0.1."),
    Claim("Section 4.1, Fig. 3", partial(at_each, sweeps.RISE, ("ur",), low=40, high=200), "<", 0.0,
          "In between it improves u steadily.",
          HELPS),
    Claim("Section 4.1, Fig. 3", sweeps.largest_cut, ">=", 0.55,
          "It cuts the error by nearly 60 %.",
          "Nearly 60 %: the median UR falls by 55 % or more somewhere from 40 to 200; in part from 30 %.",
          in_part=0.3),
    Claim("Supplement B, Fig. 8", partial(at_each, sweeps.RISE, ("wer",), low=40, high=200), "<", 0.0,
          "Between 40 and 200 comparisons it generally improves WER.",
          HELPS),
    Claim("Supplement B, Fig. 8", partial(at_each, sweeps.RISE, TOPS, low=40, high=200), "<", 0.0,
          "Between 40 and 200 comparisons it generally finds more of the top 5, 10 and 20.",
          HELPS),
    Claim("Supplement B, Fig. 8", sweeps.kendall_change, "<=", 0.03,
          "Kendall's tau distance stays about the same for every number of comparisons.",
          "The same: the median of the real measure within 0.03."),
)

LEARNED = (
    Claim("Section 4.2", applicants.overlap, ">=", 0.2,
          "Many denied applicants have higher GRE scores than some with a fellowship; the categories score "
          "alike on verbal and quantitative.",
          "Large: a fifth of the pairs or more."),
    Claim("Section 4.2", applicants.importance, "==", True,
          "GRE verbal matters least, then quantitative; writing, GPA and letters matter most.",
          "Importance: the diagonal of M. Verbal last, quantitative next to last."),
    Claim("Section 4.2, Table 1", applicants.first_interactions, "==", True,
          "Strongest are a weighted difference of GPA and writing, their weighted sum, and letters.",
          f"{MIXTURE} Which of the two is first does not count, as their eigenvalues are nearly equal in "
          "the paper."),
    Claim("Supplement D, Table 1", applicants.first_two, "<=", 1.2,
          "The first two are almost equally important.",
          "Almost equal: a ratio of at most 1.2; in part up to 1.5.", in_part=1.5),
    Claim("Supplement D, Table 1", applicants.last_interactions, "==", True,
          "Letters come third, then the difference of GRE quantitative and verbal; their sum is weakest.",
          MIXTURE),
    Claim("Section 4.2", applicants.ideal_scores, "<=", 0.1,
          "Ideal scores: verbal 158.08, quantitative 162.50, writing 4.68, GPA 4.06, letters 15.28.",
          "Near the {aim}: within a tenth of the feature's range."),
    Claim("Section 4.2, Fig. 4", applicants.gre_pair, "==", True,
          "From GRE verbal and quantitative alone: first a weighted difference, then a weighted sum.",
          "A mixture: both weights at least 0.3."),
    Claim("Section 4.2, Fig. 4", applicants.quantitative_to_verbal, ">=", 2.0,
          "A slightly lower quantitative score takes a much higher verbal one to make up for it.",
          "Much: twice the weight on M's diagonal or more; in part from 1.2 times.", in_part=1.2),
    Claim("Supplement D, Fig. 9", applicants.share_outside, ">=", 1 / 3,
          "For many pairs of features the ideal is outside of the allowed range.",
          "Many: at least a third of the pairs; in part if any.", in_part=ANY),
    Claim("Supplement D, Fig. 9", applicants.ideals_outside, "==", True,
          "Such an ideal is above the range: the more, the better.",
          "More is better: above the largest value."),
    Claim("Supplement D, Fig. 9", applicants.ideal_gpa, ">", 8.0,
          "For GRE quantitative with GPA, the ideal GPA is far beyond 4 (about 35).",
          "Far beyond: over 8, twice the best; in part over 4.", in_part=4.0),
    Claim("Supplement D, Fig. 9", applicants.pairs_that_interact, "==", True,
          "Many pairs have no meaningful interaction; GRE writing with GPA has.",
          "Meaningful: a second weight of 0.3 or more. Many have none: at least half of the pairs."),
)
LEARNED_FROM = (
    Claim("Section 5", applicants.share_right, ">=", 0.8,
          "The method ranks applicants correctly.",
          CORRECTLY, in_part=0.6),
    Claim("Table 1", applicants.norm_of_the_table, "<=", 1.0,
          "With the gammas of the caption the eigenvalues are 1991, 1971, 1178, 861 and 286.",
          "M = 0 with d = 0, 1, 2 for the categories has no loss, which bounds gamma2 |M|^2 whatever the "
          "data.", any_data=True),
)

HELD_OUT = (
    Claim("Section 5", applicants.share_predicted, ">=", 0.8,
          "The method ranks applicants correctly.",
          CORRECTLY, in_part=0.6),
)

RANKED = (
    Claim("Section 4.2, Fig. 5", applicants.missing_of_the_top, "<=", 0.0,
          "The shares of the top 11, 17 and 22 rise rapidly with the comparisons.",
          "Rapidly: below 20 % of all comparisons half of what was missing at first is found."),
    Claim("Section 4.2, Fig. 5", applicants.top_with_a_fifth, ">", MOST_OF_THE_TOP,
          "Under 20 % of the comparisons find over 90 % of the top 22 and 17 and over 80 % of the top 11.",
          "Over 0.9 of the top 22 and 17, over 0.8 of the top 11 (means), below 20 % of all."),
    Claim("Supplement D, Fig. 10", applicants.order_of_the_top, "<=", 0.05,
          "With more comparisons the exact order of the top 11 is found extremely accurately.",
          "Extremely accurate: 0.05 or less, by the real Kendall distance; in part up to 0.15.",
          in_part=0.15),
    Claim("Supplement D", applicants.lone_features, "==", True,
          "The metric from all 2610 comparisons has no meaningful interactions.",
          "Meaningful: a second weight of 0.3 or more."),
    Claim("Supplement D", applicants.leading_features, "==", True,
          "GPA and GRE writing lead with about equal eigenvalues, then quantitative; verbal is last.",
          "Equal: a ratio of at most 1.5."),
)

PROPOSITION = (
    Claim("Section 3.5, Supplement A", sweeps.in_the_kernel, ">=", {"along": 0.3, "times": 5.0},
          "Where M is singular, the part of u in its kernel cannot be recovered.",
          "Lost: an error of 0.3 or more, and five times that across the kernel."),
    Claim("Section 3.5, Supplement A", sweeps.if_definite, "<=", 0.1,
          "Where M is positive definite, u can be recovered.",
          "Found: errors of at most 0.1 of |u|."),
    Claim("Section 3.5", sweeps.if_ill_conditioned, ">=", 3.0,
          "Where M is ill-conditioned, u is extremely hard to find along eigenvectors of small eigenvalues.",
          "Hard: at smallest eigenvalues up to 0.03, three times the error at the largest one or more."),
    Claim("Section 3.5", sweeps.rest_of_u, "<=", 0.1,
          "The part that is lost plays little role: what the answers depend on is found.",
          "Little role: the rest of u is found to 0.1 of |u| at every smallest eigenvalue."),
)
# fmt: on

BY_EXPERIMENT = {
    "single-step": SINGLE_STEP,
    "euclidean": EUCLIDEAN,
    "identity": IDENTITY,
    "alternating": ALTERNATING,
    "unranked": LEARNED + LEARNED_FROM,
    "ranked": RANKED,
    "gradcafe": LEARNED + HELD_OUT,
    "proposition": PROPOSITION,
}
CLAIMS = tuple(replace(one, experiment=name) for name, claims in BY_EXPERIMENT.items() for one in claims)
"""All of them, in the order of the experiments."""
