"""Verb: make a key."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import mail
from accounts.audit import record
from accounts.keys import format
from accounts.keys.errors import BeyondReach, TooManyKeys
from accounts.keys.scopes import Scope
from accounts.models import ApiKey, User

MAX_LIVE = 10
MAX_DAYS = 365
MAX_NAME = 80


@transaction.atomic
def create_key(
    owner: User,
    name: str,
    scopes: Collection[str],
    coordinator: Any | None,
    days: int,
    within: ApiKey | None = None,
) -> tuple[ApiKey, str]:
    """Return a new key and its secret, which is nowhere kept and cannot be shown again.

    ``coordinator`` (a portal.Coordinator) is the only one it works for; None means all of its
    owner's. ``within`` is the key by which this is asked for, if it is not a person who asks.

    Raises:
        ValidationError: names the arguments that are wrong.
        TooManyKeys: its owner has MAX_LIVE live keys.
        BeyondReach: the key ``within`` may do less, or ends sooner.
    """
    _check(owner, name, scopes, coordinator, days)
    expires_at = timezone.now() + timedelta(days=days)
    if within:
        demand_within(within, scopes, coordinator)
        expires_at = min(expires_at, within.expires_at)
    lock_owner(owner)
    demand_room(owner)
    key, secret = add(owner, name.strip(), scopes, coordinator, expires_at)
    record("create", f"key:{key.key_id}", owner, scopes=key.scopes)
    mail.send(owner, "key_created", key=key)
    return key, secret


def lock_owner(owner: User) -> None:
    """Let one verb at a time count and add an owner's keys."""
    User.objects.select_for_update().get(pk=owner.pk)


def demand_room(owner: User) -> None:
    """Raises TooManyKeys when there is no room for one more; call it with the owner locked."""
    live = ApiKey.objects.filter(
        owner=owner, revoked_at__isnull=True, expires_at__gt=timezone.now()
    )
    if live.count() >= MAX_LIVE:
        raise TooManyKeys(
            _(
                "An account has at most %(most)s live keys. Revoke one first, "
                "or replace one with 0 hours for which the old one works on."
            )
            % {"most": MAX_LIVE}
        )


def add(
    owner: User, name: str, scopes: Collection[str], coordinator: Any | None, expires_at: datetime
) -> tuple[ApiKey, str]:
    """Save a key as it is given; returns it and its secret."""
    secret = format.make()
    key = ApiKey.objects.create(
        owner=owner,
        coordinator=coordinator,
        key_id=format.public_id(secret),
        digest=format.digest(secret),
        name=name,
        scopes=[scope for scope in Scope.values if scope in scopes],
        expires_at=expires_at,
    )
    return key, secret


def _check(
    owner: User, name: str, scopes: Collection[str], coordinator: Any | None, days: int
) -> None:
    wrong: dict[str, str] = {}
    if not 1 <= len(name.strip()) <= MAX_NAME:
        wrong["name"] = _("Give it a name of at most 80 characters.")
    if not scopes or set(scopes) - set(Scope.values):
        wrong["scopes"] = _("Choose at least one thing that the key may do.")
    if coordinator is not None and coordinator.operator_id != owner.pk:
        wrong["coordinator"] = _("Choose one of your own coordinators.")
    if not 1 <= days <= MAX_DAYS:
        wrong["days"] = _("Let it expire within a year.")
    if wrong:
        raise ValidationError(wrong)


def demand_within(within: ApiKey, scopes: Collection[str], coordinator: Any | None) -> None:
    """Raises BeyondReach for scopes or coordinators that the key ``within`` has not itself."""
    if more := set(scopes) - set(within.scopes):
        raise BeyondReach(_("This key itself may not do: %s.") % ", ".join(sorted(more)))
    if within.coordinator_id and (coordinator is None or coordinator.pk != within.coordinator_id):
        raise BeyondReach(_("This key works for one coordinator; ask for a key for the same one."))
