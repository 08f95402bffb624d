"""Everybody's answers in a study, in parts or as files."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from coombs.data.tables import InputError
from coombs.study import Answer, Respondent
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.paging import After, Limit, point_to_next
from coombs.web.api.schemas import PersonAnswerOut
from coombs.web.api.studies import BEARER, Name
from coombs.web.routing import study_of, written

FILES = {"tables.zip": "application/zip", "answers.csv": "text/csv", "study.jsonl": "application/jsonl"}
"""Files of a study, and their types."""
PAGE = 100
"""People that are looked at together."""

router = APIRouter(
    prefix="/api/studies/{name}", tags=["owner"], route_class=BoundedRoute, dependencies=[BEARER]
)


@router.get("/answers", response_model=list[PersonAnswerOut])
def answers(
    request: Request, response: Response, name: Name, limit: Limit = None, after: After = ""
) -> list[Answer]:
    """Everybody's answers that stand, by person in the order they came, each person's in their order.

    What somebody answers after their part was read is not in later parts: webhooks tell of new answers.
    """
    study, place = study_of(request, name), _place(after)
    found: list[tuple[int, Answer]] = []
    while limit is None or len(found) <= limit:
        people = study.storage.respondents(study.record.id, after=place[0] - 1, most=PAGE)
        for record, n in people:
            told = Respondent(study, record).history() if n else ()
            found += [(record.id, one) for one in told if (record.id, one.id) > place]
        if len(people) < PAGE:
            break
        place = people[-1][0].id + 1, 0
    if limit is not None and len(found) > limit:
        found = found[:limit]
        point_to_next(request, response, limit, f"{found[-1][0]}-{found[-1][1].id}")
    return [answer for _, answer in found]


@router.get("/export/{file}")
def export(request: Request, name: Name, file: str) -> Response:
    """A file: tables.zip (answers, people, items, a codebook), answers.csv, or study.jsonl with all."""
    if file not in FILES:
        raise InputError(f"There is no file {file!r}; there are {', '.join(FILES)}.")
    content = written(file.rpartition(".")[2], study_of(request, name).export)
    return Response(content, media_type=FILES[file])


def _place(after: str) -> tuple[int, int]:
    """The person and the answer that the part before ended with."""
    person, _, answer = after.partition("-")
    if not after:
        return 1, 0
    if not (person.isdecimal() and answer.isdecimal() and len(after) < 38):
        raise InputError(f"after is {after!r}; take it from the header Link of the part before.")
    return int(person), int(answer)
