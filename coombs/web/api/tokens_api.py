"""The owner's tokens for programs that use a study: listed, made and revoked."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request

from coombs.storage.api_tokens import ApiToken
from coombs.web.api.bounded_json import BoundedRoute
from coombs.web.api.schemas import NewTokenOut, TokenIn, TokenOut
from coombs.web.api.studies import BEARER, Name
from coombs.web.routing import study_of

# Not with `Idempotency-Key`: a reply that holds a token is kept nowhere.
router = APIRouter(
    prefix="/api/studies/{name}/tokens", tags=["owner"], route_class=BoundedRoute, dependencies=[BEARER]
)


@router.get("", response_model=list[TokenOut])
def tokens(request: Request, name: Name) -> Sequence[ApiToken]:
    """Which programs have a token, and what each may."""
    return study_of(request, name).api_tokens.list()


@router.post("", status_code=201)
def add_token(request: Request, name: Name, new: TokenIn) -> NewTokenOut:
    """A new token, which is shown this once; `Idempotency-Key` has no meaning here."""
    study = study_of(request, name)
    token = study.api_tokens.add(new.name, new.rights)
    return NewTokenOut(name=new.name, rights=new.rights, token=token)


@router.delete("/{token_name}", status_code=204)
def revoke_token(request: Request, name: Name, token_name: str) -> None:
    """Let a token open nothing from now on."""
    study_of(request, name).api_tokens.revoke(token_name)
