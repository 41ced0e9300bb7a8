"""Lease keys: recomputed from the server's secret, never stored."""

import hashlib
import hmac

from django.conf import settings


def lease_key(token: str, request_id: str) -> str:
    """``anahtar`` of a lease: HMAC-SHA256(server secret, gorev ‖ istek), 64 hex digits."""
    message = token.encode() + request_id.encode()
    return hmac.new(settings.LEASE_SECRET, message, hashlib.sha256).hexdigest()


def digest(secret: str) -> str:
    """What is kept of a secret: enough to recognise it, not to use it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def matches(secret: str, stored_digest: str) -> bool:
    return hmac.compare_digest(digest(secret), stored_digest)
