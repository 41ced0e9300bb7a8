"""Verb: gather what the site keeps about a person."""

from datetime import datetime
from typing import Any, cast

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.utils import timezone

from accounts.models import ApiKey, AuditEvent, User
from accounts.signals import account_exporting


def export_account(user: User) -> dict[str, Any]:
    """Return everything about ``user`` as JSON-ready values, times in ISO 8601.

    Secrets are left out: the password's and the keys' digests, and what second factors share.
    """
    sections: dict[str, Any] = {
        "exported_at": timezone.now().isoformat(),
        "account": {
            "email": user.email,
            "name": user.name,
            "language": user.language,
            "mails_presence": user.mails_presence,
            "mails_verification": user.mails_verification,
            "date_joined": user.date_joined.isoformat(),
            "last_login": _time(user.last_login),
        },
        "email_addresses": list(
            EmailAddress.objects.filter(user=user).values("email", "verified", "primary")
        ),
        "second_factors": [_factor(factor) for factor in Authenticator.objects.filter(user=user)],
        "other_sites": list(SocialAccount.objects.filter(user=user).values("provider", "uid")),
        "sessions": [_session(session) for session in UserSession.objects.filter(user=user)],
        "api_keys": [_key(key) for key in user.api_keys.select_related("coordinator")],
        "deeds": [_deed(event) for event in AuditEvent.objects.filter(actor=user)],
    }
    for _receiver, more in account_exporting.send(sender=User, user=user):
        sections |= cast(dict[str, Any], more)
    return sections


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _factor(factor: Authenticator) -> dict[str, Any]:
    return {
        "type": factor.type,
        "created_at": _time(factor.created_at),
        "last_used_at": _time(factor.last_used_at),
    }


def _session(session: UserSession) -> dict[str, Any]:
    return {
        "created_at": _time(session.created_at),
        "last_seen_at": _time(session.last_seen_at),
        "ip": session.ip,
        "user_agent": session.user_agent,
    }


def _key(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.key_id,
        "name": key.name,
        "scopes": key.scopes,
        "coordinator": key.coordinator and key.coordinator.slug,
        "created_at": _time(key.created_at),
        "expires_at": _time(key.expires_at),
        "last_used_at": _time(key.last_used_at),
        "revoked_at": _time(key.revoked_at),
    }


def _deed(event: AuditEvent) -> dict[str, Any]:
    return {
        "at": _time(event.at),
        "verb": event.verb,
        "target": event.target,
        "detail": event.detail,
        "ip": event.ip,
        "user_agent": event.user_agent,
    }
