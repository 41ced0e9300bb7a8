"""How often one client may ask: by key, else by person, else by address.

Limits against accidents and eager loops. They live in the cache and two processes may let a
request too many through, so nothing that must hold relies on them.
"""

from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils.translation import gettext as _
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

FAILURES_PER_MINUTE = 30


if TYPE_CHECKING:  # it imports the policies that the settings name
    from rest_framework.views import APIView


class Throttle(SimpleRateThrottle):
    """One policy per subclass; its rate is in the settings under its ``scope``."""

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        return f"throttle:{self.scope}:{self.client(request)}"

    def client(self, request: Request) -> str:
        if request.auth is not None:
            return f"key:{request.auth.pk}"
        if request.user is not None and request.user.is_authenticated:
            return f"user:{request.user.pk}"
        return f"address:{self.get_ident(request)}"

    def wait(self) -> float:
        """Seconds until a request is let through. DRF's own says None when a limit was lowered,
        and Retry-After would be missing."""
        return self.duration - (self.now - self.history[self.num_requests - 1])


class Anonymous(Throttle):
    """Requests without a key or a session."""

    scope = "anon"

    def allow_request(self, request: Request, view: "APIView") -> bool:
        known = request.user is not None and request.user.is_authenticated
        return known or super().allow_request(request, view)


class Reading(Throttle):
    scope = "reading"

    def allow_request(self, request: Request, view: "APIView") -> bool:
        return request.method not in ("GET", "HEAD") or super().allow_request(request, view)


class Writing(Throttle):
    scope = "writing"

    def allow_request(self, request: Request, view: "APIView") -> bool:
        return request.method in ("GET", "HEAD") or super().allow_request(request, view)


def count_failure(request: Request) -> None:
    """Count a wrong key; raises Throttled when one address shows many.

    Authentication comes before the throttles, so guesses would go uncounted.
    """
    name = f"throttle:failures:{BaseThrottle().get_ident(request)}"
    cache.add(name, 0, timeout=60)
    try:
        failures = cache.incr(name)
    except ValueError:  # it expired in between
        return
    if failures > FAILURES_PER_MINUTE:
        raise Throttled(60, _("Too many requests with wrong keys."))
