"""The way of a person through a study: consent, fields, questions, thanks; what comes next, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any, Literal, TypeAlias

from coombs.data.tables import InputError
from coombs.language import Translatable
from coombs.storage.records import RespondentRecord, new_token
from coombs.study.monitoring import OPEN_LINK
from coombs.study.person_fields import PersonField
from coombs.study.presentation import Presentation
from coombs.study.respondent import Respondent
from coombs.study.study import ME, Study
from coombs.study.study_records import Answer

Step: TypeAlias = Literal["not open yet", "closed", "consent", "before", "questions", "after", "finished"]
"""What comes next for a person."""
ANSWERING: tuple[Step, ...] = ("questions", "after", "finished")
"""Steps at which questions were or are answered."""
NEXT = {
    "closed": Translatable(
        "This study is closed: nothing more can be answered. What was stored before is kept."
    ),
    "not open yet": Translatable("This study is not open yet; come back later."),
    "consent": Translatable("Consent comes before the questions; open your link and agree to it."),
    "before": Translatable(
        "Some things about you are asked before the questions; open your link and fill them in."
    ),
    "questions": Translatable("There are questions to answer first."),
    "after": Translatable("All questions are answered; what is asked about you at the end is still missing."),
    "finished": Translatable("All is answered; nothing more is asked in this study."),
}
"""Why something cannot be done at a step."""


class NotNowError(InputError):
    """The person's way through the study is at another step: consent is missing, or the study is closed.

    Examples
    --------
    >>> from coombs import create_study
    >>> from coombs.study.participation import NotNowError, check_step
    >>> study = create_study([[0.0], [1.0]], storage="memory:")
    >>> study.close()
    >>> try:
    ...     check_step(study.respondent("ann"))
    ... except NotNowError as error:
    ...     print(error)
    This study is closed: nothing more can be answered. What was stored before is kept.
    """


class IdTakenError(InputError):
    """Somebody with that id takes part already, in another browser."""


def step_of(respondent: Respondent, is_complete: bool = False) -> Step:
    """What comes next for a person, by the presentation and the record that were read last.

    `is_complete` says that no question is left for them.
    """
    shown, record = respondent.study.presentations.current, respondent.record
    if record.finished is not None:
        return "finished"
    state = shown.state()
    if state != "open":
        return state
    if needs_consent(respondent):
        return "consent"
    if missing(shown.before, record):
        return "before"
    if not is_complete:
        return "questions"
    return "after" if missing(shown.after, record) else "finished"


def check_step(respondent: Respondent, *allowed: Step) -> None:
    """Refuse with a sentence unless the person is at one of the steps, by default any with questions."""
    step = step_of(respondent)
    if step not in (allowed or ANSWERING):
        raise NotNowError(NEXT[step])


def check_open(respondent: Respondent) -> None:
    """Refuse with a sentence unless the study is open."""
    state = respondent.study.presentations.current.state()
    if state != "open":
        raise NotNowError(NEXT[state])


def tell_at_link(respondent: Respondent, question: int, choice: str | None, **ends: Any) -> None:
    """Keep an answer that came by a person's link, if it is the time for answers.

    `ends` are the best and the worst of a set. One that is stored already is confirmed at any time, for
    whoever did not see the reply.
    """
    if not respondent.has_answered(question):
        check_open(respondent)
        check_step(respondent, "questions")
    respondent.tell(question, choice, **ends)


def undo_at_link(respondent: Respondent, answer: int | None = None) -> Answer | None:
    """Take back an answer by a person's link; who was through with all is so no more."""
    check_open(respondent)
    check_step(respondent)
    return take_back(respondent, answer)


def change_at_link(respondent: Respondent, answer: int, choice: str | None, **ends: Any) -> Answer:
    """Put another answer in the place of one by a person's link; `ends` are a set's best and worst."""
    check_open(respondent)
    check_step(respondent)
    return respondent.change(answer, choice, **ends)


def take_back(respondent: Respondent, answer: int | None = None) -> Answer | None:
    """Undo an answer, by default the last; who was through with all is so no more."""
    undone = respondent.undo(answer)
    if undone is not None and respondent.record.finished is not None:
        storage, number = respondent.study.storage, respondent.record.id
        respondent.record = storage.set_finished(number, False)
    return undone


def needs_consent(respondent: Respondent) -> bool:
    """Whether the person has not agreed to the current text; other changes ask for no new consent."""
    versions, agreed = respondent.study.presentations, respondent.record.consent_version
    text = versions.current.consent
    return bool(text) and (agreed is None or versions.version(agreed).consent != text)


def missing(fields: Sequence[PersonField], record: RespondentRecord) -> tuple[PersonField, ...]:
    """Fields that the person was not asked yet; one left blank on purpose was."""
    return tuple(one for one in fields if one.label not in record.fields)


def agree(
    respondent: Respondent, has_agreed: bool, language: str | None = None, version: int | None = None
) -> None:
    """Store the person's consent, with the version of the text that they saw (default: the current one).

    Where the text has changed since, they are asked again.
    """
    check_step(respondent, "consent", *ANSWERING, "before")
    if not has_agreed:
        raise InputError(
            Translatable("Please tick that you agree; without that nothing is asked and nothing is stored.")
        )
    if needs_consent(respondent):
        seen = seen_version(respondent.study, version)
        respondent.record = respondent.study.storage.set_consent(respondent.record.id, seen, language)


def seen_version(study: Study, version: int | None) -> int:
    """The version of the texts that somebody saw; the latest where it is not said."""
    versions = study.presentations
    if version is None:
        return versions.latest
    if not 1 <= version <= versions.latest:
        raise InputError("There is no version {version} of the texts; open the page again.", version=version)
    return version


def fill_in(respondent: Respondent, said: Mapping[str, Any], is_complete: bool = False) -> None:
    """Keep what the person says of themselves in the fields that are asked now: all of them or none."""
    step = step_of(respondent, is_complete)
    if step not in ("before", "after"):
        raise NotNowError(NEXT[step])
    shown = respondent.study.presentations.current
    asked = missing(shown.before if step == "before" else shown.after, respondent.record)
    checked = {one.label: one.checked(said.get(one.label, "")) for one in asked}
    respondent.record = respondent.study.storage.set_fields(respondent.record.id, checked)


def finish(respondent: Respondent) -> None:
    """Keep that the person is through with all, if nothing is left for them."""
    step = step_of(respondent, is_complete=True)
    if step != "finished":
        raise NotNowError(NEXT[step])
    if respondent.record.finished is None:
        respondent.record = respondent.study.storage.set_finished(respondent.record.id)


def arrive(study: Study, pid: str | None = None, told: Mapping[str, str] | None = None) -> RespondentRecord:
    """Make a person who came by the open link, with the id and what else the address told.

    An id is no secret: it never opens what somebody answered. Whoever comes with the id of somebody who was
    not asked anything yet takes their place with a new link, and the former link ends; otherwise it is an
    IdTakenError.
    """
    storage, number, token = study.storage, study.record.id, new_token()
    with storage.batch():
        before = None if pid is None else storage.by_external_id(number, pid)
        if before is not None:
            # Whose link was revoked gets no other by the open one.
            anew = None if before.is_revoked else storage.start_anew(before.id, token)
            if anew is None:
                raise IdTakenError(
                    "Somebody with this id takes part already, in another browser; go on there, or ask "
                    "whoever runs the study for your own link."
                )
            return storage.set_fields(anew.id, told) if told else anew
        numbered = (f"Person {n}" for n in count(storage.n_respondents(number) + 1))
        # A name may be somebody else's, whose link is not given away; the owner's own is nobody else's.
        people = (
            storage.add_respondent(number, name, token, source=OPEN_LINK, external_id=pid, fields=told)
            for name in chain([] if pid in (None, ME) else [pid], numbered)
        )
        return next(one for one in people if one.token == token)


def participant_name(record: RespondentRecord) -> str:
    """The id that another site knows a person by, or else their name."""
    return record.external_id or record.name


def redirect_address(shown: Presentation, record: RespondentRecord) -> str:
    """Where a person goes after the last question, "" for nowhere."""
    return shown.redirect_for(participant_name(record))
