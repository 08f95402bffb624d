"""What a program's token opens: paths below its own study in the API, by its rights."""

from __future__ import annotations

import re
from dataclasses import dataclass

from coombs.storage.api_tokens import Rights
from coombs.web.addresses import study_called

_STUDY = re.compile(r"/api/studies/([^/]+)(?:/(.*))?")
"""A path below a study, its name and the rest."""
READ = re.compile(r"|people|respondents|answers|items|monitor|log|retention|export/[^/]+")
"""What may be read with the right to read; a path that is not named here takes the right to own."""
ANSWER = re.compile(r"respondents")
"""What may be posted with the right to answer: a new person, whose link then asks and tells."""


@dataclass(frozen=True)
class StudyAccess:
    """What a token is for.

    Examples
    --------
    >>> access = StudyAccess("flats", "read")
    >>> access.refusal("GET", "/api/studies/flats/answers") is None
    True
    >>> access.refusal("POST", "/api/studies/flats/respondents")
    'This token may read; this takes one that may answer or own.'
    >>> access.refusal("GET", "/api/studies/cars")
    'This token is for another study, or for none of this.'
    """

    study: str
    rights: Rights

    @property
    def sees_links(self) -> bool:
        """Whether it may know people's links, by which one answers as them."""
        return self.rights != "read"

    def refusal(self, method: str, path: str) -> str | None:
        """Why a request is not for this token; None where it is."""
        found = _STUDY.fullmatch(path)
        if found is None or study_called(found[1]) != self.study:
            return "This token is for another study, or for none of this."
        needed = needed_right(method, found[2] or "")
        if self.rights in (needed, "own"):
            return None
        enough = "own" if needed == "own" else f"{needed} or own"
        return f"This token may {self.rights}; this takes one that may {enough}."


def needed_right(method: str, rest: str) -> Rights:
    """The right that a request takes, beside the one to own."""
    if method in ("GET", "HEAD") and READ.fullmatch(rest):
        return "read"
    return "answer" if method == "POST" and ANSWER.fullmatch(rest) else "own"
