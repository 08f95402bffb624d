"""What a study asks a person around its questions, in a terminal: consent, fields about them, thanks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from coombs.data.tables import InputError
from coombs.language import ENGLISH
from coombs.study import PersonField, Presentation, Respondent, Study
from coombs.study.participation import (
    NEXT,
    NotNowError,
    agree,
    fill_in,
    finish,
    missing,
    needs_consent,
    redirect_address,
    step_of,
)
from coombs.terminal.display import Display
from coombs.terminal_text import terminal_safe, wrap

DECLINED = "Thank you. Without consent nothing is asked, and nothing was stored."
"""What is said to whoever does not agree."""
STOPPED = "Stopped before the first question; the same command goes on."
"""What is said to whoever stops while consent or fields are asked for."""
YES, NO = ("yes", "y"), ("no", "n", "quit", "q")


class NoInputError(Exception):
    """There is nobody to type any more: the end of a pipe, or Ctrl-D."""


class PersonSteps:
    """Texts, consent and fields of one study, a line typed for each; `keyboard` None has no lines.

    Everything is stored as on the page: consent with its time and the version that was shown, fields all of
    a step or none.
    """

    def __init__(self, study: Study, keyboard: TextIO | None, screen: TextIO) -> None:
        self.study, self.keyboard, self.screen = study, keyboard, screen

    def before(self, name: str) -> Respondent | None:
        """The person, once they agreed and said what is needed; None where they do not, or stop.

        Of whoever declines nothing is stored, not even their name.
        """
        try:
            return self._before(name)
        except (KeyboardInterrupt, NoInputError):
            self._say(STOPPED, space=False)
            return None

    def after(self, respondent: Respondent) -> None:
        """What comes after the questions, if the person is through with them."""
        with suppress(KeyboardInterrupt, NoInputError):
            self._after(respondent)

    def _before(self, name: str) -> Respondent | None:
        shown, version = self.study.presentation, self.study.presentations.latest
        known = self.study.respondent(name) if name in self.study.respondents() else None
        if known is None or known.record.finished is None:
            if (state := shown.state()) != "open":
                raise NotNowError(NEXT[state])
            if known is None or not known.was_asked():
                self._say(shown.introduction)
            if shown.consent if known is None else needs_consent(known):
                self._say(shown.consent)
                if not self._yes_or_no("Have you read this, and do you agree?"):
                    self._say(DECLINED, space=False)
                    return None
        respondent = known or self.study.respondent(name)
        if step_of(respondent) == "consent":
            agree(respondent, True, ENGLISH, version)
        if step_of(respondent) == "before":
            fill_in(respondent, self._said(missing(shown.before, respondent.record)))
        if step_of(respondent) == "questions" and not respondent.was_asked():
            self._say(shown.instructions)
            if self.keyboard is not None and self.keyboard.isatty() and shown != Presentation():
                # The questions have a screen of their own, on which nothing of this is seen.
                self._line("Press Enter to begin. ")
        return respondent

    def _after(self, respondent: Respondent) -> None:
        shown = self.study.presentations.current
        if respondent.record.finished is None and self._is_through(respondent):
            if step_of(respondent, is_complete=True) == "after":
                fill_in(respondent, self._said(missing(shown.after, respondent.record)), is_complete=True)
            finish(respondent)
        if respondent.record.finished is not None:
            self._say(shown.thank_you)
            if address := redirect_address(shown, respondent.record):
                self._say(f"Go on to {address}")

    def _is_through(self, respondent: Respondent) -> bool:
        """Whether no question is left; where the study leaves it to people when, they are asked."""
        if step_of(respondent) != "questions":
            return False
        if self.study.settings.ends:
            return respondent.current() is None
        has_ending = self.study.presentations.current.has_ending and bool(respondent.history())
        return has_ending and self._yes_or_no("Are you done with all of it?")

    def _yes_or_no(self, question: str) -> bool:
        while True:
            said = self._line(f"{question} (yes or no) ").lower()
            if said in (*YES, *NO):
                return said in YES

    def _said(self, fields: Sequence[PersonField]) -> dict[str, str]:
        """What the person says in each of some fields, once it can be kept."""
        if fields:
            self._say("A few questions about you:")
        return {one.label: self._field(one) for one in fields}

    def _field(self, field: PersonField) -> str:
        # Where choices are numbers themselves, their places would be mistaken for them.
        is_numbered = not any(one.isdecimal() for one in field.choices)
        for place, choice in enumerate(field.choices, 1):
            self._say(f"{place}: {choice}" if is_numbered else choice, space=False)
        kind = " (a number)" if field.kind == "number" else ""
        blank = "" if field.required else " (blank to leave it out)"
        while True:
            said = self._line(f"{terminal_safe(field.label)}{kind}{blank}: ")
            if is_numbered and said.isdecimal() and 1 <= int(said) <= len(field.choices):
                said = field.choices[int(said) - 1]
            try:
                return field.checked(said)
            except InputError as error:
                self._say(str(error), space=False)

    def _line(self, prompt: str) -> str:
        """The next line that is typed, without blanks around it."""
        print(prompt, end="", file=self.screen, flush=True)
        line = "" if self.keyboard is None else self.keyboard.readline()
        if not line:
            print(file=self.screen)
            raise NoInputError
        return line.strip()

    def _say(self, text: str, space: bool = True) -> None:
        """A text of the owner's, safe in a terminal; nothing where there is none."""
        if not text:
            return
        width = Display.of(self.screen, plain=True).width
        lines = [part for line in text.splitlines() for part in wrap(terminal_safe(line), width) or [""]]
        print(*lines, *[""] * space, sep="\n", file=self.screen)
