"""Which new question a respondent is asked, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coombs import questions
from coombs.study.history import History, unordered
from coombs.study.online_model import Snapshot
from coombs.study.settings import Settings


class NewQuestion(NamedTuple):
    """A pair by position, why it is asked about, and the probability of left, if it is known."""

    left: int
    right: int
    purpose: str
    predicted: float | None


def new_question(
    settings: Settings,
    n_items: int,
    history: History,
    snapshot: Snapshot | None,
    rng: np.random.Generator,
    again: bool = True,
) -> NewQuestion | None:
    """A pair that was not asked about, if there is one.

    Where the snapshot names no new pair, choose `again`, or take a random one.
    """
    asked = history.pairs
    if snapshot is None:
        pairs = questions.random_pairs(n_items, asked, rng).tolist()
        return NewQuestion(pairs[0][0], pairs[0][1], "random", None) if pairs else None
    new = next((one for one in snapshot.choices if unordered(*one[:2]) not in asked), None)
    probe = rng.random() < settings.probes
    if not probe and _needs_confirmation(settings, history):
        sure = questions.confirmation(snapshot.belief, n_items, asked, rng)
        if sure is not None:
            return NewQuestion(sure.first, sure.second, "confirmation", sure.probability)
    at_random = probe or (new is None and not again)
    strategy = "random" if at_random else settings.strategy
    if at_random or new is None:
        k, _ = settings.goal(n_items)
        found = questions.choose(snapshot.belief, strategy, n_items, asked, rng, k)
        new = found[0] if found else None
    if new is None:
        return None
    return NewQuestion(new.first, new.second, "probe" if probe else strategy, new.probability)


def _needs_confirmation(settings: Settings, history: History) -> bool:
    """Whether it is time for a question with a foreseeable answer, where questions are chosen at all."""
    chooses = bool(settings.probes) and settings.strategy != "random"
    return chooses and history.needs_confirmation
