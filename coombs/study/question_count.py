"""How many questions everybody gets: a fixed number, until certain with a most, or as many as they like."""

from __future__ import annotations

from coombs.study.settings import Settings


def by_number(settings: Settings, answered: int, left: int | None, far: float) -> tuple[int | None, float]:
    """How many questions are left, and the progress from 0 to 1, where the number counts.

    `left` and `far` are the same by how certain the best items are.
    """
    if settings.questions is not None:
        return max(settings.questions - answered, 0), min(answered / settings.questions, 1.0)
    if settings.most_questions is None:
        return left, far
    rest = max(settings.most_questions - answered, 0)
    if not rest:
        return 0, 1.0
    return rest if left is None else min(left, rest), max(far, answered / settings.most_questions)
