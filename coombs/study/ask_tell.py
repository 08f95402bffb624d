"""What a study and each of its respondents are asked for: documented here, for both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coombs.data.comparisons import Comparisons
from coombs.study.study_records import Answer, Question, StudyProgress

if TYPE_CHECKING:
    from coombs.storage.records import PriorRecord
    from coombs.study.result import Result


class AskTell(ABC):
    """Questions, answers and the result of one person: of a respondent, or of the study's own "me"."""

    @abstractmethod
    def ask(self) -> Question | None:
        """Return a new question, or the one whose answer was undone.

        Two calls never give the same new pair or set, whichever processes make them.

        Returns
        -------
        Question, or None where every pair, or all that the study asks, has been answered

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.ask().left in ("0", "1", "2")
        True
        """

    @abstractmethod
    def tell(
        self,
        question: Question | int | Sequence[Any],
        choice: str | None = None,
        *,
        best: Any = None,
        worst: Any = None,
        weight: float = 1.0,
    ) -> Answer:
        """Keep an answer: when this returns, it is stored.

        A question has one answer: telling the same again changes nothing; to change it, `undo` it first.

        Parameters
        ----------
        question : what `ask` gave, its id, or a pair of items by name or position for an answer never asked
            for: (winner, loser), or any two with a `choice`
        choice : "left", "right", "tie" or "skip"; of a question about a set, "skip" alone
        best, worst : of a question about a set, two of its items by name or position
        weight : what the answer counts; 1 is one answer

        Returns
        -------
        Answer

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.tell((1, 0)).winner
        '1'
        >>> study.tell(study.ask(), "tie").choice
        'tie'
        >>> sets = create_study([[0.0], [1.0], [2.0], [3.0]], storage="memory:", set_size=3)
        >>> question = sets.ask()
        >>> sets.tell(question, best=question.names[0], worst=question.names[2]).worst == question.names[2]
        True
        """

    @abstractmethod
    def add(self, answers: Comparisons) -> int:
        """Keep answers of any shape that were never asked for, all of them or none.

        Each is learned from by its own likelihood. They are kept as often as they are added; to take one
        back, `undo` it. `Study.add` gives each user's to the respondent of that name.

        Parameters
        ----------
        answers : Comparisons about the same items: pairs, choices, best and worst, rankings, ratings

        Returns
        -------
        int, the number of answers

        Examples
        --------
        >>> from coombs import Comparisons, create_study
        >>> items = [[0.0], [1.0], [2.0]]
        >>> study = create_study(items, storage="memory:")
        >>> study.add(Comparisons.from_choices(items, [[0, 1, 2]], [1]))
        1
        >>> study.history()[0].text
        '1 chosen of 3'
        """

    @abstractmethod
    def current(self) -> Question | None:
        """Return the question that waits for an answer, or a new one if none does.

        Returns
        -------
        Question, or None where every pair has been answered

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.ask() == study.current()
        True
        """

    @abstractmethod
    def undo(self, answer: Answer | int | None = None) -> Answer | None:
        """Take back an answer, by default the last one; its question will be asked again.

        Parameters
        ----------
        answer : an Answer of `history`, its id, or None for the last one

        Returns
        -------
        Answer that no longer stands, or None if there was none

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> answer = study.tell((1, 0))
        >>> study.undo() == answer, study.history()
        (True, ())
        """

    @abstractmethod
    def change(
        self, answer: Answer | int, choice: str | None = None, *, best: Any = None, worst: Any = None
    ) -> Answer:
        """Say something else about a pair or a set: take the answer back and keep another, both or neither.

        Parameters
        ----------
        answer : an Answer of `history` about two items, or the best and worst of several; or its id
        choice : "left", "right", "tie" or "skip"; of a question about a set, "skip" alone
        best, worst : of a set, two of its items by name or position

        Returns
        -------
        Answer that stands now; the same where it said that already

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.change(study.tell((1, 0)), "tie").choice
        'tie'
        >>> len(study.history())
        1
        >>> sets = create_study([[0.0], [1.0], [2.0], [3.0]], storage="memory:", set_size=3)
        >>> first, second, third = (question := sets.ask()).names
        >>> told = sets.tell(question, best=first, worst=second)
        >>> sets.change(told, best=third, worst=second).winner == third
        True
        """

    @abstractmethod
    def history(self) -> tuple[Answer, ...]:
        """Return all standing answers in the order they were given.

        Returns
        -------
        tuple of Answer

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> [answer.winner for answer in study.history()]
        ['1']
        """

    @abstractmethod
    def progress(self, k: int | None = None, certainty: float | None = None) -> StudyProgress:
        """Return how sure the best k items are, and how far the person is.

        Parameters
        ----------
        k : number of best items (default: the setting `top`)
        certainty : probability wanted (default: the setting `certainty`)

        Returns
        -------
        StudyProgress

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.progress(k=1).n_answers
        1
        """

    @abstractmethod
    def done(
        self, k: int | None = None, certainty: float | None = None, *, questions: int | None = None
    ) -> bool:
        """Return whether the best k items are certain enough, or nothing is left to ask.

        Parameters
        ----------
        k, certainty : as for `progress`
        questions : so many answers are enough, however certain it is

        Returns
        -------
        bool

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.done(questions=1)
        True
        """

    @abstractmethod
    def result(self) -> Result:
        """Return what the answers say: a fit to all of them.

        Returns
        -------
        Result: the ranking, the ideal, what trades off against what

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.result().n_answers
        1
        """

    @abstractmethod
    def prior(self) -> PriorRecord | None:
        """Return what others' answers the questions are chosen with: a version of the study's prior.

        It is fixed when the first question is asked, and stays.

        Returns
        -------
        PriorRecord, or None where questions are chosen by one's own answers alone

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> study.prior() is None
        True
        """

    @abstractmethod
    def comparisons(self) -> Comparisons:
        """Return the standing answers, skips left out, for any estimator.

        Returns
        -------
        Comparisons, with the respondents' names as users

        Examples
        --------
        >>> from coombs import create_study
        >>> study = create_study([[0.0], [1.0], [2.0]], storage="memory:")
        >>> _ = study.tell((1, 0))
        >>> study.comparisons()
        Comparisons(1 answer about 3 items with 1 feature, by 1 user)
        """
