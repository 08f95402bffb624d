"""Questions in a terminal: show, read, tell, until it is enough."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from coombs.data import naming
from coombs.data.messy_tables import messy_catalogue
from coombs.render import sections
from coombs.storage import AnsweredError, Storage, StudyExistsError, open_storage
from coombs.study import Progress, Question, Respondent, Settings, Study, create_study
from coombs.study.participation import NotNowError, finish, take_back
from coombs.study.stored_studies import items_in_file
from coombs.study.study import ME
from coombs.terminal.after_questions import come_back, summary
from coombs.terminal.display import Display, Draw, alternate_screen, size, write_screen
from coombs.terminal.keys import PLACES, Action, KeyReader, LineReader, UnknownInput, single_keys
from coombs.terminal.person_steps import PersonSteps
from coombs.terminal.screen import help_screen, pause_screen, question_screen
from coombs.words import count

Reader: TypeAlias = KeyReader | LineReader
Show: TypeAlias = Callable[[Draw], Display]
SIDES = {"1": "left", "2": "right"}
"""What the number of an item of a pair says."""
CHOICES = ("left", "right", "tie", "skip")
"""What can be said of a pair."""


@dataclass(frozen=True)
class Plan:
    """What is asked, whom, and until when.

    Parameters
    ----------
    items : path of a CSV, Excel, JSON or Parquet file
    name : of the study; None is the file's, without its ending
    storage, features : as for `create_study`
    respondent : who answers
    settings : strategy, top, certainty, seed, as far as they were given
    questions : stop after so many answers in all
    as_json : print the result as JSON and everything else on stderr
    command : the arguments that come back here
    """

    items: str
    name: str | None
    storage: str
    respondent: str
    features: Sequence[str] | None
    settings: Mapping[str, Any]
    questions: int | None
    as_json: bool
    command: Sequence[str]

    @property
    def goal(self) -> tuple[int | None, float | None]:
        """So many best items, so certain; None where the study says it."""
        return self.settings.get("top"), self.settings.get("certainty")

    def is_done(self, progress: Progress) -> bool:
        """Whether there are as many answers as were wanted."""
        return self.questions is not None and progress.n_answers >= self.questions


def ask(plan: Plan) -> None:
    """Ask until it is enough or the person quits, then say what the answers say."""
    screen = sys.stderr if plan.as_json else sys.stdout
    # Both refuse what is wrong before there is a database.
    messy_catalogue(plan.items, plan.features), Settings(**plan.settings)
    with closing(open_storage(plan.storage)) as storage:
        study, is_new = _open_study(plan, storage)
        steps = PersonSteps(study, sys.stdin, screen)
        respondent = steps.before(plan.respondent)
        if respondent is None:
            # A program that reads the result finds that there is none.
            if plan.as_json:
                print("null")
            return
        with suppress(KeyboardInterrupt), _terminal(sys.stdin, screen) as (reader, show):
            QuestionLoop(respondent, plan, reader, show, _welcome(respondent, is_new)).run()
        steps.after(respondent)
        _say_result(plan, respondent, screen)


@contextmanager
def _terminal(keyboard: TextIO | None, screen: TextIO) -> Iterator[tuple[Reader, Show]]:
    """Where actions come from and where screens go; a screen of its own if both are a terminal."""
    if keyboard is None or not keyboard.isatty():
        yield LineReader(keyboard), partial(write_screen, screen, plain=True)
        return
    with single_keys(keyboard, lambda: size(screen)) as keys, alternate_screen(screen):
        yield keys, partial(write_screen, screen)


def _open_study(plan: Plan, storage: Storage) -> tuple[Study, bool]:
    """The study, and whether it is new."""
    name = Path(plan.items).stem if plan.name is None else plan.name
    items = items_in_file(plan.items, plan.features, name, storage)
    with suppress(StudyExistsError):
        return create_study(items, name, storage=storage, load_if_exists=False, **plan.settings), True
    return create_study(items, name, storage=storage, **plan.settings), False


def _welcome(respondent: Respondent, is_new: bool) -> str:
    study = respondent.study
    if is_new:
        features = ", ".join(study.catalogue.columns)
        how = f"judged by {features}" if features else "ranked by the answers alone"
        new = f"A new study, {study.name!r}: {count(study.n_items, 'item')}, {how}."
        return " ".join([new, *study.catalogue.notes])
    answers = count(respondent.progress().n_answers, "answer")
    by = "" if respondent.name == ME else f" by {respondent.name!r}"
    return f"Going on with {study.name!r}: {answers} so far{by}."


class QuestionLoop:
    """Question after question to one person; `show` draws what a function of the display returns."""

    def __init__(
        self, respondent: Respondent, plan: Plan, reader: Reader, show: Show, notice: str = ""
    ) -> None:
        self.respondent, self.plan = respondent, plan
        self.reader, self.show, self.notice = reader, show, notice
        self.past_goal = False

    def run(self) -> None:
        """Question after question."""
        going = True
        while going:
            progress = self.respondent.progress(*self.plan.goal)
            if self.plan.is_done(progress):
                return
            ends = self.respondent.study.settings.ends
            # Without an answer, nothing that is certain is about this person.
            is_sure = progress.n_answers and progress.probability >= progress.goal
            if is_sure and not self.past_goal and not ends:
                going = self._pause(f"The goal is reached: {progress}.", progress)
            elif (question := self.respondent.current()) is None:
                going = self._pause(self._ended(), progress, more=False)
            else:
                going = self._question(question, progress)

    def _ended(self) -> str:
        """Why no question is left; of a study that has an end it is stored that the person is through."""
        if not self.respondent.study.settings.ends:
            return "Every pair has been asked."
        try:
            finish(self.respondent)
        except NotNowError as error:
            return f"All questions of this study are answered. {error}"
        return "All questions of this study are answered."

    def _question(self, question: Question, progress: Progress) -> bool:
        """A pair, or a set; whether more is to be asked."""
        if question.is_set:
            return self._set_question(question, progress)
        action = self._next_action(self._drawn(question, progress))
        choice = SIDES.get(action, action)
        if action == "undo":
            self._undo()
        elif choice in CHOICES:
            self._tell(question, choice)
        elif action != "quit":
            self.notice = "This question waits for an answer; ? shows how to give one."
        return action != "quit"

    def _set_question(self, question: Question, progress: Progress) -> bool:
        """The best of a set, then its worst; an undo between the two takes the best back."""
        best: int | None = None
        while True:
            action = self._next_action(self._drawn(question, progress, best), is_set=True)
            place = PLACES.index(action) if action in PLACES[: len(question.names)] else None
            if action == "quit":
                return False
            if action == "skip":
                self._tell(question, "skip")
                return True
            if action == "undo" and best is None:
                self._undo()
                return True
            if action == "undo":
                best = None
            elif place is None:
                self.notice = f"Say the number of {'the best' if best is None else 'the worst'} item."
            elif best is None:
                best, self.notice = place, f"{naming.text(question.names[place])} is the best."
            elif place == best:
                self.notice = "That is the best already; the worst is another one. Undo takes the best back."
            else:
                self._tell(question, best=question.names[best], worst=question.names[place])
                return True

    def _drawn(self, question: Question, progress: Progress, best: int | None = None) -> Draw:
        """What draws a question; of a set, with what is known to be its best."""
        items = self.respondent.study.catalogue
        return lambda display: question_screen(question, items, progress, display, self.notice, best)

    def _pause(self, sentence: str, progress: Progress, more: bool = True) -> bool:
        """Without a question; whether there are more of them."""
        doubts = self.respondent.doubts()
        action = self._next_action(
            lambda display: pause_screen(sentence, progress, display, self.notice, more, doubts)
        )
        if action == "undo":
            self._undo()
        elif action == "continue" and more:
            self.past_goal = True
        elif action != "quit":
            self.notice = "There is no question here to answer."
        return action != "quit"

    def _next_action(self, draw: Draw, is_set: bool = False) -> Action:
        """The next action other than one about the screen itself."""
        while True:
            self.show(draw)
            action = self.reader.read()
            if isinstance(action, UnknownInput):
                self.notice = action.sentence
            elif action == "help":
                self.notice = ""
                # In a window the help is in the way of the question, until the next key.
                if self.show(partial(help_screen, is_set=is_set)).full_screen:
                    self.reader.read()
            elif action != "redraw":
                self.notice = ""
                return action

    def _tell(self, question: Question, choice: str | None = None, **ends: Any) -> None:
        try:
            answer = self.respondent.tell(question, choice, **ends)
        except AnsweredError as error:
            # Somebody answered in another window.
            self.notice = str(error)
        else:
            self.notice = f"Stored: {answer.text}."

    def _undo(self) -> None:
        try:
            answer = take_back(self.respondent)
        except AnsweredError as error:
            self.notice = str(error)
        else:
            self.notice = f"Undone: {answer.text}." if answer else "There is nothing to undo."


def _say_result(plan: Plan, respondent: Respondent, screen: TextIO) -> None:
    """The result on stdout, the rest on the screen."""
    progress = respondent.progress(*plan.goal)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        is_learned_from = any(one.is_learned_from for one in respondent.history())
        is_decided = is_learned_from and respondent.comparisons().is_decided
        # Whoever runs the study sees everything.
        is_shown = respondent.study.presentations.current.shows_result or respondent.name == ME
        result = respondent.result() if is_decided and is_shown else None
        page = [] if result is None or plan.as_json else result.sections()
    if plan.as_json:
        sentences = [f"Careful: {one.message}" for one in raised]
        print(json.dumps(summary(respondent, result, progress)))
    else:
        # The explanation has those sentences among its own.
        display = Display.of(screen)
        sentences = [*sections.lines(page, display.width, display.ellipsis), ""] if page else []
    more = "--questions" if plan.is_done(progress) else ""
    print(*sentences, come_back(plan.storage, plan.command, more), sep="\n", file=screen)
