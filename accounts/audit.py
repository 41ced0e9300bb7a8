"""Verb: write down who did what. Call it inside the transaction that does it."""

from typing import Any

from accounts.models import AuditEvent, User


def record(verb: str, target: str, actor: User | None = None, **detail: Any) -> AuditEvent:
    """Add one audit row.

    ``target`` names the thing as ``kind:id`` (``coordinator:tr-wiki``, ``key:AbCd1234``,
    ``user:7``). ``detail`` must hold no personal data and no secret: the row outlives accounts.
    ``actor`` None means the site itself.
    """
    return AuditEvent.objects.create(verb=verb, target=target, actor=actor, detail=detail)
