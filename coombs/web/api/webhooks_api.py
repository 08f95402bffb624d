"""The owner's webhooks of a study: listed, added and removed, and what became of their messages."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request

from coombs.storage.webhooks import Delivery, Webhook
from coombs.web.api.idempotency import IdempotentRoute
from coombs.web.api.schemas import DeliveryOut, NewWebhookOut, WebhookIn, WebhookOut
from coombs.web.api.studies import BEARER, Name
from coombs.web.routing import study_of
from coombs.web.webhook_addresses import check_reachable

router = APIRouter(
    prefix="/api/studies/{name}/webhooks", tags=["owner"], route_class=IdempotentRoute, dependencies=[BEARER]
)


@router.get("", response_model=list[WebhookOut])
def webhooks(request: Request, name: Name) -> Sequence[Webhook]:
    """Addresses that are told what happens."""
    return study_of(request, name).webhooks.list()


@router.post("", status_code=201, response_model=NewWebhookOut)
def add_webhook(request: Request, name: Name, new: WebhookIn) -> Webhook:
    """A new address; the secret, by which messages are signed, is shown this once."""
    study = study_of(request, name)
    check_reachable(new.address, request.app.state.webhook_networks)
    return study.webhooks.add(new.address, new.topics)


@router.delete("/{number}", status_code=204)
def remove_webhook(request: Request, name: Name, number: int) -> None:
    """Tell an address nothing from now on."""
    study_of(request, name).webhooks.remove(number)


@router.get("/deliveries", response_model=list[DeliveryOut])
def deliveries(request: Request, name: Name) -> Sequence[Delivery]:
    """The last messages, the latest first, and what came of each."""
    return study_of(request, name).webhooks.deliveries()
