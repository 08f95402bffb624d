"""Whether answers bear out that there is a taste, before any fit: if not, no favourites are named."""

from __future__ import annotations

from collections.abc import Sequence

from coombs.study.history import History
from coombs.study.response_style import ResponseStyle
from coombs.study.study_records import Answer

EVIDENT = 1.5
"""Log odds from which on the best items may be named."""
UNPREDICTED = (
    "Your answers could hardly be predicted better than those of a coin, so no favourites can be told yet."
)
"""What is said in their place before."""
UNASKED = (
    "Your answers were not given to questions asked here, so none was predicted before it was given; a few "
    "questions will show how well your favourites are known."
)
"""The same where no answer is to a question, as after an import."""


def lacking_evidence(history: History, standing: Sequence[Answer]) -> tuple[str, ...]:
    """Why no best items can be named, in sentences; none where they can."""
    style = ResponseStyle.of_answers(tuple(standing))
    if style.is_mechanical:
        return style.sentences()
    if history.log_odds >= EVIDENT:
        return ()
    answers = history.answers.values()
    is_unasked = len(answers) > 0 and all(one.question_id is None for one in answers)
    return (UNASKED if is_unasked else UNPREDICTED,)
