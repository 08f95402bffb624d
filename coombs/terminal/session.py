"""A session of questions in a terminal: show, read, tell, until it is enough."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from coombs.data import naming
from coombs.data.catalogue import Catalogue, catalogue
from coombs.render.blocks import Section
from coombs.storage import AnsweredError, Storage, StudyExistsError, open_storage
from coombs.study import Answer, Progress, Question, Respondent, Result, Settings, Study, create_study
from coombs.study.study import ME
from coombs.terminal.keys import Command, Reader, Unknown
from coombs.terminal.look import Look
from coombs.terminal.page import come_back, fitted, summary
from coombs.terminal.screen import help_screen, pause_screen, question_screen
from coombs.terminal.window import Draw, Show, terminal
from coombs.words import count


@dataclass(frozen=True)
class Plan:
    """What is asked, whom, and until when.

    Parameters
    ----------
    items : path of a CSV or Parquet file
    name : of the study (default: the file's, without its ending)
    storage, features : as for `create_study`
    respondent : who answers
    settings : strategy, top, certainty, seed, as far as they were given
    questions : stop after so many answers in all
    as_json : print the result as JSON and everything else on stderr
    command : the arguments that come back here
    """

    items: str
    name: str | None = None
    storage: str = "sqlite:///coombs.db"
    respondent: str = "me"
    features: Sequence[str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    questions: int | None = None
    as_json: bool = False
    command: Sequence[str] = ()

    @property
    def goal(self) -> tuple[int | None, float | None]:
        """So many best items, so certain; None where the study says it."""
        return self.settings.get("top"), self.settings.get("certainty")


def ask(plan: Plan) -> None:
    """Ask until it is enough or the person quits, then say what the answers say."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    screen = sys.stderr if plan.as_json else sys.stdout
    # Both refuse what is wrong before there is a database.
    items, _ = catalogue(plan.items, plan.features), Settings(**plan.settings)
    with closing(open_storage(plan.storage)) as storage:
        study, is_new = open_study(plan, items, storage)
        respondent = study.respondent(plan.respondent)
        with suppress(KeyboardInterrupt), terminal(sys.stdin, screen) as (reader, show):
            Session(respondent, plan, reader, show, _welcome(respondent, is_new)).run()
        _finish(plan, respondent, screen)


def open_study(plan: Plan, items: Catalogue, storage: Storage) -> tuple[Study, bool]:
    """The study, and whether it is new."""
    name = Path(plan.items).stem if plan.name is None else plan.name
    with suppress(StudyExistsError):
        return create_study(items, name, storage=storage, load_if_exists=False, **plan.settings), True
    return create_study(items, name, storage=storage, **plan.settings), False


def _welcome(respondent: Respondent, is_new: bool) -> str:
    study = respondent.study
    if is_new:
        features = ", ".join(study.catalogue.features)
        new = f"A new study, {study.name!r}: {count(study.n_items, 'item')}, judged by {features}."
        return " ".join([new, *study.catalogue.notes])
    answers = count(respondent.progress().n_answers, "answer")
    by = "" if respondent.name == ME else f" by {respondent.name!r}"
    return f"Going on with {study.name!r}: {answers} so far{by}."


class Session:
    """One person's way through the questions; `show` draws what a function of the look returns."""

    def __init__(
        self, respondent: Respondent, plan: Plan, reader: Reader, show: Show, notice: str = ""
    ) -> None:
        self.respondent, self.plan = respondent, plan
        self.reader, self.show, self.notice = reader, show, notice
        self.beyond = False

    def run(self) -> None:
        """Question after question."""
        going = True
        while going:
            found = self.respondent.progress(*self.plan.goal)
            if _enough(self.plan, found):
                return
            # Without an answer, nothing that is certain is about this person.
            if found.n_answers and found.probability >= found.goal and not self.beyond:
                going = self._pause(f"The goal is reached: {found}.", found)
            elif (question := self.respondent.current()) is None:
                going = self._pause("Every pair has been asked.", found, more=False)
            else:
                going = self._question(question, found)

    def _question(self, question: Question, found: Progress) -> bool:
        items = self.respondent.study.catalogue
        said = self._said(lambda look: question_screen(question, items, found, look, self.notice))
        if said == "undo":
            self._undo()
        elif said == "continue":
            self.notice = "This question waits for an answer; ? shows how to give one."
        elif said != "quit":
            self._tell(question, said)
        return said != "quit"

    def _pause(self, sentence: str, found: Progress, more: bool = True) -> bool:
        """Without a question; whether there are more of them."""
        doubts = self.respondent.doubts()
        said = self._said(lambda look: pause_screen(sentence, found, look, self.notice, more, doubts))
        if said == "undo":
            self._undo()
        elif said == "continue" and more:
            self.beyond = True
        elif said != "quit":
            self.notice = "There is no question here to answer."
        return said != "quit"

    def _said(self, draw: Draw) -> Command:
        """What is said to a screen, other than how to see it."""
        while True:
            self.show(draw)
            said = self.reader.read()
            if isinstance(said, Unknown):
                self.notice = said.sentence
            elif said == "help":
                self.notice = ""
                # In a window the help is in the way of the question, until the next key.
                if self.show(help_screen).moves:
                    self.reader.read()
            elif said != "redraw":
                self.notice = ""
                return said

    def _tell(self, question: Question, choice: Command) -> None:
        try:
            answer = self.respondent.tell(question, choice)
        except AnsweredError as error:
            # Somebody answered in another window.
            self.notice = str(error)
        else:
            self.notice = f"Stored: {_in_words(answer)}."

    def _undo(self) -> None:
        try:
            answer = self.respondent.undo()
        except AnsweredError as error:
            self.notice = str(error)
        else:
            self.notice = f"Undone: {_in_words(answer)}." if answer else "There is nothing to undo."


def _in_words(answer: Answer) -> str:
    left, right = naming.text(answer.left), naming.text(answer.right)
    if answer.choice == "skip":
        return f"no answer about {left} and {right}"
    if answer.choice == "tie":
        return f"{left} and {right} alike"
    return f"{left} over {right}" if answer.choice == "left" else f"{right} over {left}"


def _finish(plan: Plan, respondent: Respondent, screen: TextIO) -> None:
    """The result on stdout, the rest on the screen."""
    found = respondent.progress(*plan.goal)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", UserWarning)
        result = respondent.result() if found.n_answers else None
        page = [] if result is None or plan.as_json else _told(result)
    if plan.as_json:
        sentences = [f"Careful: {one.message}" for one in raised]
        print(json.dumps(summary(respondent, result, found)))
    else:
        # The explanation has those sentences among its own.
        sentences = [*fitted(page, Look.of(screen)), ""] if page else []
    more = "--questions" if _enough(plan, found) else ""
    print(*sentences, come_back(plan.storage, plan.command, more), sep="\n", file=screen)


def _told(result: Result) -> list[Section]:
    """The result, and how it was answered, unless the result says that already."""
    notes = result.conduct.sentences() if result.has_pattern else ()
    return [*result.sections(), *([Section("", [" ".join(notes)])] if notes else [])]


def _enough(plan: Plan, found: Progress) -> bool:
    return plan.questions is not None and found.n_answers >= plan.questions
