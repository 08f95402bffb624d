"""What is known of many people, in words and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coombs.data import naming
from coombs.language import Translatable
from coombs.render.sections import Block, Points, Section, TableBlock
from coombs.words import NO_PATTERN, count, listed, percent

if TYPE_CHECKING:
    from coombs.insights.people_covariates import CovariateFinding
    from coombs.insights.people_explanation import PeopleExplanation, PersonExplanation
    from coombs.insights.people_records import GroupSummary, SharedFeature

MOST_UNTOLD = 6
"""Columns about people that are named though they tell nothing."""
KINDS = {
    "none": "linear tastes",
    "diagonal": "ideal points, features apart",
    "full": "ideal points with a metric of one's own",
    "smooth": "smooth tastes",
}
"""What the kinds of preference of many people are called."""
VERDICTS = {
    "more": Translatable("more is better on average"),
    "less": Translatable("less is better on average"),
    "rather more": Translatable("more rather than less on average"),
    "rather less": Translatable("less rather than more on average"),
    "divided": Translatable("people are divided"),
    "not known": Translatable("not known yet"),
}
"""What is said of a feature without a best value inside."""


def people_sections(told: PeopleExplanation) -> list[Section]:
    """The page: those of its sections that have something to say."""
    opening = (
        f"{_people(told.n_people)}, {count(told.n_answers, 'answer')} about {count(told.n_items, 'item')}."
    )
    if not told.has_pattern:
        no_more = "Answers of people left out are predicted no better than by tossing a coin."
        return [
            Section(NO_PATTERN, [opening, f"{no_more} So there is nothing to tell of what people share."])
        ]
    sections = [Section("Many people", [opening])]
    if told.features:
        differ = (
            "People differ from it by the deviation, where that is there: elsewhere it is not supported that "
            "they do."
        )
        table = _features(told.features)
        sections.append(Section("What people share, and where they differ", [table, f"{NOTE} {differ}"]))
    if told.covariates or told.untold:
        sections.append(Section("What goes with what is known of people", _covariates(told)))
    if told.groups:
        sections.append(Section("Groups", [groups_table(told.groups), GROUPS_NOTE]))
    if told.best:
        sections.append(
            Section(
                "Best for all",
                [_items(told), f"{PLACES_NOTE} {DIFFER_NOTE if told.differ else ALIKE_NOTE}"],
            )
        )
        sections.append(Section("Items that divide people", contested_blocks(told)))
    if told.unlike:
        sections.append(Section("Unlike anybody", [unlike_sentence(told)]))
    sections.append(Section("How far to trust this", [Points(_trust(told))]))
    return sections


PLACES_NOTE = "Places are in everybody's ranking (Borda's method)."
DIFFER_NOTE = "The deviation is of people's places, with what is not known of them in it."
ALIKE_NOTE = "It is not supported that people differ; what is not known of them draws places to the middle."

COVARIATES_NOTE = (
    "The numbers are by how much more a deviation of the feature is worth to them, in logits: to people one "
    "deviation higher, or to those of a sort less all others. It is told where answers of people left out "
    "support it; why it is so is not."
)
"""What such sentences say."""


def _covariates(told: PeopleExplanation) -> list[Block]:
    """What goes with what, and what nothing is found to go with."""
    points = Points([covariate_sentence(one) for one in told.covariates])
    names = listed(told.untold, MOST_UNTOLD) if told.untold else ""
    nothing = f"No taste is found to go with {names}: answers of people left out do not support it."
    found: list[Block] = [points, COVARIATES_NOTE] if told.covariates else []
    return found + ([nothing] if told.untold else [])


def covariate_words(one: CovariateFinding) -> Translatable:
    """What people with more of something, or of one sort, want."""
    of = {"covariate": one.covariate, "level": one.level, "feature": one.feature}
    if one.level and one.verdict == "more":
        return Translatable("People with {covariate}: {level} want more {feature} than others", **of)
    if one.level:
        return Translatable("People with {covariate}: {level} want less {feature} than others", **of)
    if one.verdict == "more":
        return Translatable("People with a higher {covariate} want more {feature} than others", **of)
    return Translatable("People with a higher {covariate} want less {feature} than others", **of)


def covariate_sentence(one: CovariateFinding) -> str:
    """What people with more of something, or of one sort, want, with the difference and its interval."""
    return f"{covariate_words(one)} ({one.difference:+.2f}, {one.low:+.2f} to {one.high:+.2f})."


GROUPS_NOTE = (
    "What a group wants is what its mean surely has over the items (99 %); people may differ. Certain "
    "are those who are in it with 80 % or more."
)
"""What the table of groups says."""


def groups_table(groups: tuple[GroupSummary, ...]) -> TableBlock:
    """A row a group."""
    rows = [
        [
            str(one.number),
            str(one.people),
            percent(one.share),
            str(one.certain),
            one.words or "not known yet",
            listed(one.best) if one.best else "",
        ]
        for one in groups
    ]
    return TableBlock("rrrrll", ["group", "people", "share", "certain", "wants", "best for them"], rows)


def contested_blocks(told: PeopleExplanation) -> list[str | TableBlock]:
    """Items that many surely like and many surely do not; or that there is none."""
    if not told.contested:
        return ["None that the answers support."]
    rows = [
        [one.item, percent(one.liked or 0.0), percent(one.disliked or 0.0), f"{one.place:.1f}"]
        for one in told.contested
    ]
    table = TableBlock("lrrr", ["item", "surely liked by", "surely not by", "mean place"], rows)
    return [table, "Liked means more than the person's average item, with 90 % or more."]


def unlike_sentence(told: PeopleExplanation) -> str:
    """Who answers as hardly anybody in the population would."""
    names = listed([naming.text(one.name) for one in told.unlike])
    answer = "answers" if len(told.unlike) == 1 else "answer"
    return (
        f"{names} {answer} as at most 1 in 100 people of this population would, and not as if by tossing a "
        "coin. By chance, 1 in 100 ordinary people is named, too."
    )


def _people(n: int) -> str:
    """As 1 person, 2 people."""
    return "1 person" if n == 1 else f"{n} people"


def person_sections(told: PersonExplanation) -> list[Section]:
    """What is known of one person."""
    title = told.name or "Somebody new"
    opening = f"From {count(told.n_answers, 'answer')} of their own and what people share."
    if not told.has_pattern:
        return [Section(title, [opening, "Nothing is known yet of anybody's taste."])]
    if not told.features and not told.ranking:
        return [
            Section(
                title,
                [
                    opening,
                    "The answers are as if a coin had been tossed, or of a taste that nobody else has.",
                ],
            )
        ]
    sections = [Section(title, [opening])]
    if told.features:
        rows = [
            [one.feature, f"{one.mean:+.2f} ({one.low:+.2f} to {one.high:+.2f})", own_words(one)]
            for one in told.features
        ]
        table = TableBlock("lrl", ["feature", "weight (90 %)", ""], rows)
        sections.append(Section("What they want", [table, NOTE]))
    if told.ranking:
        ranks = [[item, f"{low} to {high}"] for item, low, high in told.ranking]
        sections.append(Section("Best for them", [TableBlock("lr", ["item", "rank (90 %)"], ranks)]))
    trust = (
        "They choose what they like better of two items with a probability of roughly "
        f"{percent(told.consistency)}."
    )
    return [*sections, Section("How far to trust this", [trust])]


NOTE = "A weight is the utility gained by a deviation of the feature, in logits, along a straight line."
"""What the table's numbers are."""


def feature_words(one: SharedFeature) -> str:
    """What people want of a feature on average."""
    if one.is_level and one.verdict in ("more", "less"):
        worse = Translatable("worse than the average item")
        return Translatable("better than the average item") if one.verdict == "more" else worse
    if one.best is None:
        return VERDICTS[one.verdict]
    return Translatable("best at about {value} on average", value=one.best.words)


def own_words(one: SharedFeature) -> str:
    """What one person wants of a feature."""
    return feature_words(one).removesuffix(" on average")


def _features(features: tuple[SharedFeature, ...]) -> TableBlock:
    """A row a feature."""
    rows = [
        [
            one.feature,
            f"{one.mean:+.2f} ({one.low:+.2f} to {one.high:+.2f})",
            "" if one.deviation is None else f"{one.deviation:.2f}",
            "" if one.share is None else percent(one.share),
            feature_words(one),
        ]
        for one in features
    ]
    return TableBlock("lrrrl", ["feature", "mean weight (90 %)", "deviation", "want more", ""], rows)


def _items(told: PeopleExplanation) -> TableBlock:
    """A row for each of the best items; how much people differ where that is supported."""
    rows = [[one.item, f"{one.place:.1f}", f"{one.deviation:.1f}"] for one in told.best]
    if not told.differ:
        return TableBlock("lr", ["item", "mean place"], [row[:2] for row in rows])
    return TableBlock("lrr", ["item", "mean place", "deviation"], rows)


def _trust(told: PeopleExplanation) -> list[str]:
    """Sentences on how well it predicts."""
    kinds = listed([f"{KINDS[name]} {percent(share)}" for name, share in told.kinds.items()])
    found = [
        f"{percent(told.accuracy)} of answers are predicted (log loss {told.log_loss:.3f}; a coin has 50 % "
        "and 0.693): of people of whom nothing but their other answers was learned from.",
        f"The average is of {kinds}.",
    ]
    if told.lapse > 0.03:
        found.append(f"About {percent(told.lapse)} of the answers are as if given at random.")
    if told.coins:
        seem = "seems" if told.coins == 1 else "seem"
        found.append(f"{_people(told.coins)} {seem} to toss a coin.")
    return found
