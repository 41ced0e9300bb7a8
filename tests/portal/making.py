"""Listings in every state, through the verbs."""

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any
from unittest import mock

from django.utils import timezone

from accounts.models import User
from portal.listings.decide import approve
from portal.listings.edit import begin
from portal.listings.submit import submit
from portal.models import Coordinator, Proof


def begin_draft(operator: User, slug: str = "demo", **fields: Any) -> Coordinator:
    """A draft that lacks nothing."""
    values: dict[str, Any] = {
        "name": slug.title(),
        "slug": slug,
        "address": f"https://{slug}.example.org/c/{slug}",
        "description": "Turkish for a small model.",
        "base_model": "Qwen/Qwen3-0.6B",
        "languages": "tr,en",
        "data_source": "Wikipedia",
        "data_licence": "CC BY-SA 4.0",
        "contact": "team@example.org",
    }
    return begin(operator, **values | fields)


def make_approved(operator: User, admin: User, slug: str = "demo", **fields: Any) -> Coordinator:
    """Approved, its address not yet verified."""
    coordinator = begin_draft(operator, slug, **fields)
    submit(coordinator, by=operator)
    approve(coordinator, by=admin)
    return coordinator


def verify(coordinator: Coordinator) -> None:
    """What a successful check leaves; the check itself has tests of its own."""
    now = timezone.now()
    Coordinator.objects.filter(pk=coordinator.pk).update(proof=Proof.VERIFIED, verified_at=now)
    coordinator.refresh_from_db()


def make_listed(operator: User, admin: User, slug: str = "demo", **fields: Any) -> Coordinator:
    """In the directory."""
    coordinator = make_approved(operator, admin, slug, **fields)
    verify(coordinator)
    return coordinator


def at(moment: datetime) -> AbstractContextManager[object]:
    """Let the portal believe that it is ``moment``."""
    return mock.patch.object(timezone, "now", lambda: moment)
