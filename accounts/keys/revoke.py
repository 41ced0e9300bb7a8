"""Verb: make a key worthless at once."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import mail
from accounts.audit import record
from accounts.keys.errors import NotLive, NotYours
from accounts.models import ApiKey, User


@transaction.atomic
def revoke_key(key: ApiKey, by: User) -> None:
    """Revoke a key that is live.

    Raises:
        NotYours: ``by`` neither owns it nor may change keys.
        NotLive: it is no longer live.
    """
    if key.owner_id != by.pk and not by.has_perm("accounts.change_apikey"):
        raise NotYours(_("Only its owner may revoke a key."))
    now = timezone.now()
    live = ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True, expires_at__gt=now)
    if not live.update(revoked_at=now):
        raise NotLive(_("The key was revoked or has expired already."))
    key.refresh_from_db()
    record("revoke", f"key:{key.key_id}", by)
    mail.send(key.owner, "key_revoked", key=key)
