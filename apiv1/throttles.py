"""How often one client may ask: by key, else by person, else by address.

Limits against accidents and eager loops. They live in the cache and two processes may let a
request too many through, so nothing that must hold relies on them.
"""

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils.translation import gettext as _
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

FAILURES_PER_MINUTE = 30
IPV6_PREFIX = 64


if TYPE_CHECKING:  # it imports the policies that the settings name
    from rest_framework.views import APIView


def network(address: str | None) -> str:
    """Who counts as one client: an IPv4 address, or an IPv6 network of 64 bits, of which one host
    may use every address."""
    try:
        found = ip_address(address or "")
    except ValueError:  # a socket in the file system, or a proxy's own idea
        return address or ""
    mapped = getattr(found, "ipv4_mapped", None)
    if found.version == 4 or mapped:
        return str(mapped or found)
    return str(ip_network((found, IPV6_PREFIX), strict=False))


class Throttle(SimpleRateThrottle):
    """One policy per subclass; its rate is in the settings under its ``scope``."""

    history: list[float]  # when requests were let through, the newest first

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        return f"throttle:{self.scope}:{self.client(request)}"

    def client(self, request: Request) -> str:
        if request.auth is not None:
            return f"key:{request.auth.pk}"
        if request.user is not None and request.user.is_authenticated:
            return f"user:{request.user.pk}"
        return f"address:{network(self.get_ident(request))}"

    def throttle_failure(self) -> bool:
        """Requests of the future were counted before the clock was set back: nobody waits for it
        to get there again."""
        if self.history[0] > self.now + self.duration:
            self.history = []
            return self.throttle_success()
        return super().throttle_failure()

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

    Authentication comes before the throttles, so guesses would go uncounted. By address and not
    by key: guessing 190 bits is hopeless from however many addresses, and what is held back here
    is work for the database. A right key from the same address still works.
    """
    name = f"throttle:failures:{network(BaseThrottle().get_ident(request))}"
    cache.add(name, 0, timeout=60)
    try:
        failures = cache.incr(name)
    except ValueError:  # it expired in between
        return
    if failures > FAILURES_PER_MINUTE:
        raise Throttled(60, _("Too many requests with wrong keys."))
