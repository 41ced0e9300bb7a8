"""Verb: replace a key by a new one, both of them valid for a while."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import mail
from accounts.audit import record
from accounts.keys.create import add, demand_room, demand_within, lock_owner
from accounts.keys.errors import NotLive, NotYours
from accounts.models import ApiKey, User

MAX_OVERLAP_HOURS = 7 * 24


@transaction.atomic
def rotate_key(
    key: ApiKey, by: User, overlap_hours: int = 24, within: ApiKey | None = None
) -> tuple[ApiKey, str]:
    """Return a key like ``key`` for as long again, and its secret; ``key`` ends after the overlap.

    ``within`` is the key by which this is asked for, if it is not a person who asks.

    Raises:
        NotYours: ``by`` does not own it.
        NotLive: it has expired, was revoked, or was replaced before.
        ValidationError: the overlap is negative or longer than a week.
        TooManyKeys: no room for two at once; revoke another one, or choose no overlap.
        BeyondReach: the key ``within`` may do less than ``key``.
    """
    if key.owner_id != by.pk:
        raise NotYours(_("Only its owner may rotate a key."))
    if not 0 <= overlap_hours <= MAX_OVERLAP_HOURS:
        raise ValidationError({"overlap_hours": _("Let the old key work on for at most a week.")})
    if within:
        demand_within(within, key.scopes, key.coordinator)
    lock_owner(by)
    key.refresh_from_db()
    if not key.is_live or key.replaced_by_id:
        raise NotLive(_("This key has expired, or was revoked or replaced before."))
    now = timezone.now()
    lifetime = key.expires_at - key.created_at
    key.expires_at = min(key.expires_at, now + timedelta(hours=overlap_hours))
    key.save(update_fields=["expires_at"])
    demand_room(by)
    new, secret = add(by, key.name, key.scopes, key.coordinator, now + lifetime)
    key.replaced_by = new
    key.save(update_fields=["replaced_by"])
    record("rotate", f"key:{key.key_id}", by, replaced_by=new.key_id)
    mail.send(by, "key_rotated", key=new, old=key)
    return new, secret
