"""Verb: write down who did what, and from where. Call it inside the transaction that does it."""

from typing import Any

from accounts.models import AuditEvent, User
from accounts.origin import Origin, current_origin


def record(verb: str, target: str, actor: User | None = None, **detail: Any) -> AuditEvent:
    """Add one audit row.

    ``target`` names the thing as ``kind:id`` (``coordinator:tr-wiki``, ``key:AbCd1234``,
    ``user:7``). ``detail`` must hold no personal data and no secret: the row outlives accounts.
    ``actor`` None means the site itself. Within a request the row says where that came from, until
    ``forget`` takes it away.
    """
    came_from = _told(current_origin())
    return AuditEvent.objects.create(
        verb=verb, target=target, actor=actor, detail=detail, **came_from
    )


def _told(origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return {}
    return {"ip": origin.ip, "user_agent": origin.user_agent, "request_id": origin.request_id}
