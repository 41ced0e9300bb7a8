"""How the secrets of second factors lie in the database: encrypted, so that a copy of it (a backup,
a dump) signs nobody in."""

import base64
import hashlib
import hmac
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

_TOKEN = "gAAAA"  # how every Fernet token begins; no base32 secret and no hexadecimal seed does


class MFAAdapter(DefaultMFAAdapter):
    """allauth's with secrets of authenticator apps and seeds of recovery codes encrypted."""

    def encrypt(self, text: str) -> str:
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Raises ImproperlyConfigured when none of the secrets opens it."""
        try:
            return _fernet().decrypt(encrypted_text).decode()
        except InvalidToken:
            raise ImproperlyConfigured(
                "a second factor was encrypted with a secret that is gone; name it in "
                "MODELEN_SECRET_KEY_FALLBACKS, or remove the person's second factors"
            ) from None


@transaction.atomic
def renew_all() -> int:
    """Encrypt what is not yet, and with the newest secret what is; returns how many changed."""
    factors = Authenticator.objects.select_for_update().exclude(type=Authenticator.Type.WEBAUTHN)
    for factor in factors:
        factor.data = renewed(factor.data)
        factor.save(update_fields=["data"])
    return len(factors)


def renewed(data: dict[str, Any]) -> dict[str, Any]:
    """Return what allauth keeps of a factor with its secrets under the newest key."""
    fresh: dict[str, Any] = {
        name: _renewed(data[name]) for name in ("secret", "seed") if name in data
    }
    if codes := data.get("migrated_codes"):
        fresh["migrated_codes"] = [_renewed(code) for code in codes]
    return data | fresh


def _renewed(text: str) -> str:
    adapter = MFAAdapter()
    return adapter.encrypt(adapter.decrypt(text) if text.startswith(_TOKEN) else text)


def _fernet() -> MultiFernet:
    """Encrypts with the first of the secrets and decrypts with any."""
    return MultiFernet([Fernet(_key(secret)) for secret in settings.SECOND_FACTOR_SECRETS])


def _key(secret: str) -> bytes:
    digest = hmac.digest(secret.encode(), b"modelen second factors v1", hashlib.sha256)
    return base64.urlsafe_b64encode(digest)
