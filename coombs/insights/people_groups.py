"""Groups of people, what each wants, items that divide people, who is alike and who is unlike anybody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from coombs.data import checking, naming, tables
from coombs.data.tables import InputError
from coombs.data.user_columns import nobody_called
from coombs.inference.people.tastes import NO_ITEMS, Seen, Taste
from coombs.inference.people.unlikely_people import share_without, unlikely_people
from coombs.inference.posterior import LEVEL
from coombs.insights.people_explanation import (
    MOST_SHOWN,
    has_pattern,
    names_items,
    names_of,
    slopes_of,
    with_verdict,
)
from coombs.insights.people_records import (
    GroupSummary,
    PeopleGroup,
    SharedFeature,
    SharedItem,
    UnlikePerson,
)

if TYPE_CHECKING:
    from coombs.data.graph import Index
    from coombs.data.tables import FloatArray
    from coombs.estimators.population import Population

CERTAIN = 0.8
"""Probability from which on somebody is certainly of a group."""
SURELY = 0.9
"""Probability of liking an item more than the average, or less, from which on it is sure."""
CONTESTED = 0.1
"""Share of people who must surely like an item, and of people who surely do not, for it to divide them."""
LEAST_PEOPLE = 2
"""People on either side, at least, for an item to divide them."""
MOST_ASKED = 200
"""People of whom it is computed how likely they are to like each item, at most."""
UNLIKELY = 0.01
"""Share of people drawn from the population whose answers may be as unlikely as those of somebody unlike."""
PERHAPS = 0.1
"""Share below which answers are unlikely enough for a closer look, in a population without that person."""
MOST_PERHAPS = 8
"""People who get that closer look, at most."""
MOST_LEFT_OUT = 300
"""People up to which the population is learned again without one: among more, one changes little."""
OWN_TASTE = 1.0
"""Nats by which an unlike person's answers must be likelier with a taste of their own than by a coin."""
LEAST_ANSWERS = 5
"""Answers that somebody needs to be unlike anybody."""
CELLS = 20_000_000
"""Numbers that are held at once where people are compared."""


def groups_of(population: Population) -> tuple[PeopleGroup, ...]:
    """All groups with their members; without a pattern nothing is said of what they want."""
    shares, own, found = population._everybody[2], population._group_of, []
    for summary in summaries(population, least=1):
        members = np.flatnonzero(own == summary.number - 1)
        likely = shares[members, summary.number - 1]
        members = members[np.argsort(-likely.round(9), kind="stable")]
        names = tuple(naming.plain(population.people_[k]) for k in members)
        probabilities = tuple(shares[members, summary.number - 1].tolist())
        told = {name: getattr(summary, name) for name in summary.__dataclass_fields__}
        found.append(PeopleGroup(**told, members=names, probabilities=probabilities))
    return tuple(found)


def summaries(population: Population, least: int = 2) -> tuple[GroupSummary, ...]:
    """Summaries of the groups, if there are several."""
    shares = population._everybody[2]
    if shares.shape[1] < least:
        return ()
    own, is_told, found = population._group_of, has_pattern(population), []
    for g in range(shares.shape[1]):
        people = int((own == g).sum())
        best: tuple[str, ...] = ()
        if people and is_told and names_items(population):
            best = tuple(map(str, population.consensus("borda", group=g + 1)["item"][:MOST_SHOWN]))
        certain = int((shares[own == g, g] >= CERTAIN).sum())
        wants = _wants(population, g) if is_told and people else ()
        found.append(GroupSummary(g + 1, people, people / len(own), best, certain, wants))
    return tuple(found)


def _wants(population: Population, group: int) -> tuple[SharedFeature, ...]:
    """What a group wants of each feature, from draws of its mean with its own uncertainty."""
    columns, names = population._scaler.columns.tolist(), names_of(population)
    if not columns:
        return ()
    main = population._average.main
    part = population._average.parts[main]
    mean, doubt = part.fit.prior.means[group], part.doubts[group]
    alone = np.zeros(1, dtype=np.intp), np.ones(1)
    taste = Taste(np.array([1.0, 0.0]), mean[None], doubt[None], part.fit.prior.lapse, NO_ITEMS, 0.0, *alone)
    tastes = (taste,) * len(population._average.parts)
    slopes, found = slopes_of(population, tastes, main), []
    low, high = np.quantile(slopes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    for k, j in enumerate(columns):
        mean, ends = float(slopes[:, k].mean()), (float(low[k]), float(high[k]))
        one = SharedFeature(names[j], mean, *ends, None, None, "not known")
        found.append(with_verdict(population, tastes, slopes[:, k], j, one, main))
    return tuple(sorted(found, key=lambda one: -abs(one.mean)))


def contested_items(population: Population, items: tuple[SharedItem, ...]) -> tuple[SharedItem, ...]:
    """Items that many surely like more than the average item and many surely less, the most divided first."""
    if not items:
        return ()
    likes, names, found = _likings(population), population.item_table_.names, []
    if likes is None:
        return ()
    places = {str(name): i for i, name in enumerate(range(likes.shape[1]) if names is None else names)}
    for one in items:
        liked, disliked = (likes[:, places[one.item]] >= SURELY), (likes[:, places[one.item]] <= 1 - SURELY)
        fewer = min(int(liked.sum()), int(disliked.sum()))
        if fewer >= LEAST_PEOPLE and fewer >= CONTESTED * len(likes):
            found.append(replace(one, liked=float(liked.mean()), disliked=float(disliked.mean())))
    return tuple(sorted(found, key=lambda one: -min(one.liked or 0.0, one.disliked or 0.0)))


def _likings(population: Population) -> FloatArray | None:
    """(k, n) probability that some people like each item more than they like items on average."""
    careful = np.flatnonzero(population._everybody[1] <= 0.5)
    if not len(careful):
        return None
    some = careful[np.linspace(0, len(careful) - 1, min(MOST_ASKED, len(careful))).astype(int)]
    main = population._average.main
    part, phi = population._average.parts[main], population._phis[main]
    places = np.arange(len(phi)) if population._ranked is None else population._ranked
    seen = Seen(phi[places], places)
    return np.array([_liking(part.of(int(person), phi), seen) for person in some])


def _liking(taste: Taste, seen: Seen) -> FloatArray:
    """(n,) of one person."""
    design, strange = taste.design(seen)
    away, total = design - design.mean(axis=0), np.zeros(len(design))
    parts = zip(taste.shares, taste.means, taste.covariances, taste.scales, strict=True)
    for share, mean, covariance, scale in parts:
        variance = np.einsum("nd,nd->n", away @ covariance, away) + scale**2 * strange
        total += share * ndtr((away @ mean) / np.sqrt(np.maximum(variance, 1e-12)))
    return total


def unlike_anybody(population: Population) -> tuple[UnlikePerson, ...]:
    """Who is, the least likely first; nobody without a pattern, or of answers that are not about pairs."""
    if population._alone is not None or not has_pattern(population) or population._data.shapes:
        return ()
    main, counts = population._average.main, population.n_answers_
    part, phi = population._average.parts[main], population._phis[main]
    found = unlikely_people(part, phi, len(population.people_))
    able = (found.own >= OWN_TASTE) & (counts >= LEAST_ANSWERS)
    if len(population.people_) <= MOST_LEFT_OUT:
        perhaps = np.flatnonzero(able & (found.share > UNLIKELY) & (found.share <= PERHAPS))
        for k in perhaps[np.argsort(found.share[perhaps], kind="stable")][:MOST_PERHAPS].tolist():
            found.share[k] = share_without(part, phi, k)
    unlike = np.flatnonzero((found.share <= UNLIKELY) & able)
    order = unlike[np.lexsort((-found.own[unlike].round(6), found.share[unlike]))]
    return tuple(
        UnlikePerson(naming.plain(population.people_[k]), int(counts[k]), float(found.share[k]))
        for k in order
    )


def agreement_of(population: Population, people: Index, others: Index) -> FloatArray:
    """(k, m) shares of pairs of items, up to 400, that two people rank alike; half where one has no order."""
    first, second = population._pairs.T

    def signs(some: Index) -> FloatArray:
        utilities = population.utilities(some).round(9)
        return np.sign(utilities[:, first] - utilities[:, second])

    result: FloatArray = (1 + signs(people) @ signs(others).T / len(first)) / 2
    return result


def alike(population: Population, user: Any, count: int) -> Any:
    """The people whose rankings agree most with somebody's, as a frame."""
    place = population._position(user)
    if place < 0:
        raise InputError(nobody_called(user, population.people_))
    count = checking.whole(count, "n", 1)
    n, size = len(population.people_), max(1, CELLS // max(len(population._pairs), population._data.n_items))
    parts = [
        agreement_of(population, np.array([place]), np.arange(begin, min(begin + size, n)))[0]
        for begin in range(0, n, size)
    ]
    shares = np.concatenate(parts)
    # Whoever has said nothing ranks as the population does, which is no agreement.
    able = np.flatnonzero((population.n_answers_ > 0) & (np.arange(n) != place))
    order = able[np.argsort(-shares[able].round(9), kind="stable")][:count]
    return tables.pandas().DataFrame(
        {
            "user": population.people_[order],
            "agreement": shares[order],
            "answers": population.n_answers_[order],
            "group": population._everybody[2][order].argmax(axis=1) + 1,
        }
    )
