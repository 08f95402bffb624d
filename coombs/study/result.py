"""What a respondent's answers say, and how well it predicted those that it had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coombs.data.tables import ItemTable, pandas
from coombs.language import Translatable
from coombs.questions import CHOSEN
from coombs.render.sections import Section, page
from coombs.study.response_style import YOU, ResponseStyle
from coombs.study.with_others import RankingWithOthers
from coombs.words import NO_PATTERN, count

if TYPE_CHECKING:
    from coombs.estimators.ideal_point import IdealPoint
    from coombs.insights import Explanation
    from coombs.study.respondent import Respondent
    from coombs.study.study_records import Answer


@dataclass(frozen=True)
class Result:
    """A fit to all answers of a respondent.

    Parameters
    ----------
    respondent : whose
    model : the fitted `IdealPoint`
    n_answers : standing answers, skips not counted
    n_probes, probes_right : random questions, and how many answers to them were predicted before
        they were given: an unbiased test, as those pairs were not chosen. A tie counts half
    response_style : how the questions were answered: always one side, in turn, in a hurry
    n_clear : answers that say which of the items is preferred, and ratings
    agreement : the share of its own answers that the model has right
    is_chosen : whether questions were chosen by the answers before them
    with_others : what is believed with others' answers, where questions were chosen with them; nothing else
        here is of any answers but the respondent's own
    items : the table of the items that are ranked, where others were retired; None for all of the model's

    Examples
    --------
    >>> from coombs import create_study
    >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
    >>> _ = study.tell((1, 0)), study.tell((1, 2))
    >>> study.result().ranking[0]
    1
    """

    respondent: str
    model: IdealPoint
    n_answers: int
    n_probes: int
    probes_right: float
    response_style: ResponseStyle
    n_clear: int
    agreement: float
    is_chosen: bool = False
    with_others: RankingWithOthers | None = None
    items: ItemTable | None = None

    @classmethod
    def of(cls, respondent: Respondent) -> Self:
        """Return the result of what stands now.

        Parameters
        ----------
        respondent : whose answers

        Returns
        -------
        Result

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> Result.of(study.respondent("me")).n_answers
        2
        """
        # Asking goes without scikit-learn, which takes a second to import.
        from coombs.estimators.ideal_point import IdealPoint

        data, settings = respondent.comparisons(), respondent.study.settings
        goods = respondent.study.catalogue
        # Questions were chosen on the scales that the study has: a result does not change them.
        model = IdealPoint(
            metric=settings.metric, wishes=settings.wishes, scales="given", random_state=settings.seed
        ).fit(data)
        history = respondent.history()
        answers = [one for one in history if one.is_learned_from]
        probes = [one for one in answers if one.purpose == "probe" and one.probability is not None]
        return cls(
            respondent.name,
            model,
            len(answers),
            len(probes),
            sum(map(_right, probes)),
            ResponseStyle.of_answers(history),
            sum(one.is_clear for one in answers),
            float(model.score(data)),
            any(one.purpose in CHOSEN for one in answers),
            RankingWithOthers.of(respondent),
            goods.current_table if goods.retired else None,
        )

    @property
    def conduct(self) -> ResponseStyle:
        """The former name of `response_style`."""
        return self.response_style

    @cached_property
    def has_pattern(self) -> bool:
        """Whether the answers tell more than chance would, so that the rest of the result means something.

        Answers that follow the sides, and ties alone, tell nothing, however well a model fits them.
        """
        return bool(self.told.has_pattern)

    @cached_property
    def told(self) -> Explanation:
        """The explanation."""
        return self.explain()

    def no_pattern(self, who: str = YOU) -> tuple[str, ...]:
        """Return why the result means nothing, in sentences.

        Parameters
        ----------
        who : how the sentences call the person

        Returns
        -------
        tuple of str; empty where there is a pattern

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> study.result().no_pattern()[0]
        'So far, 2 answers tell no more than tossing a coin would.'
        """
        if self.has_pattern:
            return ()
        coin = Translatable(
            "So far, {n} answer tells no more than tossing a coin would."
            "|So far, {n} answers tell no more than tossing a coin would.",
            n=self.n_answers,
        )
        none = Translatable("There is no ranking to rely on yet.")
        if self.model.n_features_in_:
            none = Translatable("There is no ranking to rely on yet, and no ideal to tell.")
        return (*self.response_style.sentences(who), coin, none)

    @property
    def ranking(self) -> list[Any]:
        """All items that are asked about, best first: names where they have them, otherwise positions.

        Without a pattern that order is no better than chance.
        """
        order: list[Any] = self.model.rank(self.items).tolist()
        return order

    @property
    def ideal_point(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The ideal in the features' units; NaN where there is none, or no pattern."""
        ideal = self.model.ideal_point_
        return ideal if self.has_pattern else np.full_like(ideal, np.nan)

    def explain(self, **options: Any) -> Explanation:
        """Return the result in words and tables.

        Parameters
        ----------
        options : as for `coombs.insights.explain`

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> study.result().explain().n_answers
        2
        """
        told = self.model.explain(**{"chosen": self.is_chosen, "items": self.items, **options})
        return told.without_claims() if self.response_style.is_mechanical or not self.n_clear else told

    def report(self, path: str | PathLike[str], **options: Any) -> Any:
        """Write one HTML file.

        Parameters
        ----------
        path : of the file
        options : as for `coombs.report`

        Returns
        -------
        path of the file

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> _ = study.result().report(path)
        >>> path.exists()
        True
        """
        from coombs.render.html import report

        known = {"has_pattern": self.has_pattern, "chosen": self.is_chosen, "items": self.items}
        return report(self.model, path, **{**known, **options})

    def to_frame(self) -> Any:
        """Return all items that are asked about, best first.

        Returns
        -------
        pandas.DataFrame with the columns item, rank, rank_low, rank_high (its likely range) and distance

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> study.result().to_frame()["rank"].tolist()
        [1, 2, 3]
        """
        model, distances = self.model, self.model.distance(self.items)
        order = np.argsort(distances, kind="stable")
        ends = model.rank_interval(self.items)[order]
        columns = {
            "item": self.ranking,
            "rank": np.arange(1, len(order) + 1),
            "rank_low": ends[:, 0],
            "rank_high": ends[:, 1],
            "distance": distances[order],
        }
        return pandas().DataFrame(columns)

    def sections(self) -> list[Section]:
        """Return the explanation, how many random questions were predicted and how it was answered.

        Or why there is no explanation.

        Returns
        -------
        list of sections, which text, page and HTML render

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:", metric="identity")
        >>> _ = study.tell((1, 0)), study.tell((1, 2))
        >>> len(study.result().sections())
        1
        """
        from coombs.render.sentences import sections

        others = [] if self.with_others is None else [Section("", self.with_others.sentences())]
        if not self.has_pattern:
            return [Section(NO_PATTERN, self.no_pattern()), *others]
        style = self.response_style.sentences()
        answered = [Section("", [" ".join(style)])] if style else []
        answered += others
        if not self.n_probes:
            return [*sections(self.told), *answered]
        share = 100 * self.probes_right / self.n_probes
        probes = (
            f"Of the answers to {count(self.n_probes, 'random question')}, {share:.0f} % were predicted "
            "before they were given.",
            "Most other questions were chosen because their answers were open, so that fewer of those are "
            "predicted.",
        )
        return [*sections(self.told), Section("", probes), *answered]

    def __str__(self) -> str:
        return page(self.sections())


def _right(answer: Answer) -> float:
    """Whether it was predicted; half for a tie or an even chance."""
    assert answer.probability is not None
    if answer.choice == "tie" or answer.probability == 0.5:
        return 0.5
    return float((answer.probability > 0.5) == (answer.choice == "left"))
