"""Records of what is said of many people: features, items, groups, and who is unlike anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coombs.language import Translatable


@dataclass(frozen=True)
class BestValue:
    """The best value of a feature, inside of those that items have, in the user's numbers.

    Parameters
    ----------
    value, low, high : with the ends of its interval
    words : the same as people read it

    Examples
    --------
    >>> BestValue(3.0, 2.8, 3.3, "3 (2.8 to 3.3)").words
    '3 (2.8 to 3.3)'
    """

    value: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class SharedFeature:
    """What people want of one feature: utility gained by a deviation of it, in logits, and how that differs.

    Parameters
    ----------
    feature : its name
    mean, low, high : of the population, with the ends of its interval
    deviation, share : of people about it, and of those who want more rather than less; None where the answers
        do not show that people differ
    verdict : "more", "less", "best inside" (neither end is best), "rather more" or "rather less" (on average,
        but not all the way), "divided" (many want more and many less) or "not known"
    best : the best value, if it is inside
    is_level : whether it is a level of a category, whose weight is against the average item

    Examples
    --------
    >>> SharedFeature("rent", -1.0, -1.2, -0.8, 0.5, 0.02, "less").verdict
    'less'
    """

    feature: str
    mean: float
    low: float
    high: float
    deviation: float | None
    share: float | None
    verdict: str
    best: BestValue | None = None
    is_level: bool = False

    @property
    def wish(self) -> str:
        """What is wanted, as "less rent" or "size of about 60 (55 to 64)"; empty where that is not known."""
        if self.is_level:
            unwanted = Translatable("not {feature}", feature=self.feature)
            return {"more": self.feature, "less": unwanted}.get(self.verdict, "")
        if self.best is not None:
            return Translatable("{feature} of about {value}", feature=self.feature, value=self.best.words)
        return {
            "more": Translatable("more {feature}", feature=self.feature),
            "less": Translatable("less {feature}", feature=self.feature),
            "rather more": Translatable("rather more {feature}", feature=self.feature),
            "rather less": Translatable("rather less {feature}", feature=self.feature),
        }.get(self.verdict, "")


@dataclass(frozen=True)
class SharedItem:
    """An item, its mean place in everybody's ranking, and how far people differ about it.

    Parameters
    ----------
    item : its name
    place, deviation : from 1, and the deviation of people's places, with what is not known of them in it
    liked, disliked : shares of people of whom it is 90 % sure that they like it more, or less, than they like
        items on average; None where that is not computed

    Examples
    --------
    >>> SharedItem("harbour", 2.5, 1.0).place
    2.5
    """

    item: str
    place: float
    deviation: float
    liked: float | None = None
    disliked: float | None = None


@dataclass(frozen=True)
class GroupSummary:
    """A group of people: how many, their share, what they want, and what is best for them.

    Parameters
    ----------
    number : from 1
    people, share : most likely in it
    best : names of the best items
    certain : people who are in it with 80 % or more
    wants : what the group wants of each feature on average, what matters most first

    Examples
    --------
    >>> GroupSummary(1, 20, 0.5, ("harbour",)).best
    ('harbour',)
    """

    number: int
    people: int
    share: float
    best: tuple[str, ...]
    certain: int = 0
    wants: tuple[SharedFeature, ...] = ()

    @property
    def wishes(self) -> tuple[str, ...]:
        """What the group wants on average, as "less rent"; none where nothing is supported."""
        return tuple(one.wish for one in self.wants if one.wish)

    @property
    def words(self) -> str:
        """What the group wants on average in a line, as "less rent, more size"."""
        return ", ".join(self.wishes)


@dataclass(frozen=True)
class PeopleGroup(GroupSummary):
    """A group of people with its members.

    Parameters
    ----------
    number, people, share, best, certain, wants : as of GroupSummary
    members : who is most likely in it, the most certain first
    probabilities : that each of them is in it

    Examples
    --------
    >>> from coombs import Population
    >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
    >>> population.groups_[0].members
    (1, 2)
    """

    members: tuple[Any, ...] = ()
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True)
class UnlikePerson:
    """Somebody whose answers are unlikely of anybody in the population, and are no tosses of a coin.

    Parameters
    ----------
    name : of the person
    answers : how many they gave
    share : of people drawn from the population, how many would answer as unlikely, at most

    Examples
    --------
    >>> UnlikePerson("zoe", 20, 0.008).share
    0.008
    """

    name: Any
    answers: int
    share: float
