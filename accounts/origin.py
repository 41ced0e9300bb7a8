"""Where the request under way comes from, for whoever writes down what it did.

The verbs know no request. Middleware leaves it here, in a context variable: every request has its
own, and work outside of requests (Celery, commands) has none.
"""

import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
USER_AGENT_LENGTH = 200


@dataclass(frozen=True)
class Origin:
    """A request and the id by which its log lines, audit rows and answer find each other.

    The id is always ours: one from outside could be somebody else's.
    """

    request: HttpRequest
    request_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def ip(self) -> str | None:
        """The client's whole address; None if it is none, as on a socket in the file system.

        Behind proxies it is what the outermost of ours wrote; what stands before that in
        ``X-Forwarded-For`` was written by the client.
        """
        count = settings.TRUSTED_PROXIES
        hops = self.request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        told = hops[-count] if 0 < count <= len(hops) else ""
        return _canonical(told.strip() or self.request.META.get("REMOTE_ADDR", ""))

    @property
    def user_agent(self) -> str:
        """What the client calls itself, cut, without what no database takes."""
        said = self.request.META.get("HTTP_USER_AGENT", "")
        return "".join(filter(str.isprintable, said))[:USER_AGENT_LENGTH]


_current: ContextVar[Origin | None] = ContextVar("origin", default=None)


def current_origin() -> Origin | None:
    """The origin of the request under way, or None outside of one."""
    return _current.get()


class KnowOrigin:
    """Outermost middleware: ``current_origin`` for all inside, X-Request-ID for the client."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        origin = Origin(request)
        before = _current.set(origin)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(before)
        response[HEADER] = origin.request_id
        return response


def _canonical(text: str) -> str | None:
    """One spelling of an address; IPv4 within IPv6 is IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)
