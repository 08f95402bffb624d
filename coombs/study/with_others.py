"""The ranking of a respondent by their own answers and by those of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coombs.inference.population_belief import PopulationBelief
from coombs.inference.posterior import LEVEL, quantiles
from coombs.language import Translatable
from coombs.study.response_style import YOU
from coombs.words import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.study.respondent import Respondent

ALIKE = 0.5
"""Probability that others' answers tell of somebody below which there is no ranking with them."""
UNLIKE = 0.05
"""Probability that others' answers tell of somebody below which it is said that they do not."""
NAMED = 3
"""Best items that a sentence names."""


@dataclass(frozen=True, eq=False)
class RankingWithOthers:
    """All items by what is believed with others' answers, which count as far as they predict one's own.

    Parameters
    ----------
    n_people : the others
    share : how likely it is that their answers tell of the person, given the person's own
    ranking : the items that are asked about, best first: names where they have them, otherwise positions
    rank_interval : (n_items, 2) ranks that each of them, in the study's order, has 9 times in 10
    is_evident : whether answers were predicted better than a coin's before they were given

    Examples
    --------
    >>> import numpy as np
    >>> from coombs.study import RankingWithOthers
    >>> told = RankingWithOthers(12, 0.01, ("tea", "milk"), np.array([[1, 2], [1, 2]]), True)
    >>> print(told.sentences()[1])
    Your answers are unlike theirs, which therefore tell nothing of you.
    """

    n_people: int
    share: float
    ranking: tuple[Any, ...]
    rank_interval: NDArray[np.int_]
    is_evident: bool

    @classmethod
    def of(cls, respondent: Respondent) -> Self | None:
        """Return what is believed now, or None where others' answers are not used.

        Parameters
        ----------
        respondent : whose questions are asked

        Returns
        -------
        RankingWithOthers or None

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> RankingWithOthers.of(study.respondent("ann")) is None
        True
        """
        prior = respondent.prior()
        if prior is None:
            return None
        snapshot = respondent.think()
        belief = snapshot.belief
        if not isinstance(belief, PopulationBelief):
            return None
        names, order = respondent.study.catalogue.table.names, snapshot.order()
        scores = belief.scores(np.sort(order))[0]
        ranks = np.argsort(np.argsort(scores, axis=0, kind="stable"), axis=0) + 1
        ends = quantiles(ranks.T.astype(float), LEVEL)
        interval = np.column_stack([np.floor(ends[:, 0]), np.ceil(ends[:, 1])]).astype(int)
        called = tuple(order.tolist() if names is None else names[order].tolist())
        return cls(prior.n_people, belief.share, called, interval, not respondent.doubts())

    def sentences(self, who: str = YOU) -> tuple[str, ...]:
        """Return what others' answers were used for, and the best items with them.

        Parameters
        ----------
        who : how the sentences call the person

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> import numpy as np
        >>> told = RankingWithOthers(12, 0.9, ("tea", "milk"), np.array([[1, 2], [1, 2]]), True)
        >>> told.sentences()[1]
        'With what they answered, too, tea and milk come first.'
        """
        used, unlike = self._used(who), self.share < UNLIKE
        if unlike and who == YOU:
            return used, Translatable("Your answers are unlike theirs, which therefore tell nothing of you.")
        if unlike:
            return used, Translatable(
                "{who}'s answers are unlike theirs, which therefore tell nothing of {who}.", who=who
            )
        if self.share < ALIKE or not self.is_evident:
            return (used,)
        best = [str(name) for name in self.ranking[:NAMED]]
        return used, Translatable(
            "With what they answered, too, {items} comes first."
            "|With what they answered, too, {items} come first.",
            items=listed(best),
            n=len(best),
        )

    def _used(self, who: str) -> Translatable:
        """What others' answers were used for."""
        if who == YOU:
            return Translatable(
                "The questions were chosen, and answers predicted, with what {n} other answered; all else "
                "that is said is of your own answers alone."
                "|The questions were chosen, and answers predicted, with what {n} others answered; all else "
                "that is said is of your own answers alone.",
                n=self.n_people,
            )
        return Translatable(
            "The questions were chosen, and answers predicted, with what {n} other answered; all else "
            "that is said is of their own answers alone."
            "|The questions were chosen, and answers predicted, with what {n} others answered; all else "
            "that is said is of their own answers alone.",
            n=self.n_people,
        )
