"""What a respondent's answers say, and how well it foretold those that it had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coombs.tables import pandas
from coombs.words import count

if TYPE_CHECKING:
    from coombs.estimators.ideal_point import IdealPoint
    from coombs.explain import Explanation
    from coombs.study.records import Answer
    from coombs.study.respondent import Respondent


@dataclass(frozen=True)
class Result:
    """A fit to all answers of a respondent.

    Attributes
    ----------
    respondent : whose
    model : the fitted `IdealPoint`
    n_answers : standing answers, skips not counted
    n_probes, probes_right : random questions, and how many answers to them were foretold before
        they were given: an unbiased test, as those pairs were not chosen. A tie counts half
    """

    respondent: str
    model: IdealPoint
    n_answers: int
    n_probes: int
    probes_right: float

    @classmethod
    def of(cls, respondent: Respondent) -> Self:
        """The result of what stands now."""
        # Asking goes without scikit-learn, which takes a second to import.
        from coombs.estimators.ideal_point import IdealPoint

        data, settings = respondent.comparisons(), respondent.study.settings
        model = IdealPoint(metric=settings.metric, random_state=settings.seed).fit(data)
        answers = [one for one in respondent.history() if one.choice != "skip"]
        probes = [one for one in answers if one.purpose == "probe" and one.probability is not None]
        return cls(respondent.name, model, len(answers), len(probes), sum(map(_right, probes)))

    @property
    def ranking(self) -> list[Any]:
        """All items, best first: names where they have them, otherwise positions."""
        order: list[Any] = self.model.rank().tolist()
        return order

    @property
    def ideal_point(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The ideal in the features' units."""
        return self.model.ideal_point_

    def explain(self, **options: Any) -> Explanation:
        """In words and tables; see `coombs.explain.explain`."""
        return self.model.explain(**options)

    def report(self, path: str | PathLike[str], **options: Any) -> Any:
        """Write one HTML file; see `coombs.report`."""
        from coombs.html_report import report

        return report(self.model, path, **options)

    def to_frame(self) -> Any:
        """A pandas DataFrame of all items, best first: item, rank, its likely range, distance."""
        model = self.model
        order = np.argsort(model.distances_, kind="stable")
        ends = model.rank_interval()[order]
        columns = {
            "item": self.ranking,
            "rank": np.arange(1, len(order) + 1),
            "rank_low": ends[:, 0],
            "rank_high": ends[:, 1],
            "distance": model.distances_[order],
        }
        return pandas().DataFrame(columns)

    def __str__(self) -> str:
        text = str(self.explain())
        if not self.n_probes:
            return text
        share = 100 * self.probes_right / self.n_probes
        return (
            f"{text}\n\nOf the answers to {count(self.n_probes, 'random question')}, {share:.0f} % were "
            "foretold before they were given.\nThe other questions were chosen because their answers were "
            "open, so that fewer of those are foretold."
        )


def _right(answer: Answer) -> float:
    """Whether it was foretold; half for a tie or an even chance."""
    assert answer.probability is not None
    if answer.choice == "tie" or answer.probability == 0.5:
        return 0.5
    return float((answer.probability > 0.5) == (answer.choice == "left"))
