"""The SSRF-proof client: reads one small file from a host that a stranger named.

No proxy, cookie, credential or decompression; the body goes to the caller and nowhere else.
"""

import logging
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from portal.verification.address import Origin, parse_origin
from portal.verification.codes import Code
from portal.verification.dial import Deadline, Failed, connected, look_up, vet
from portal.verification.vet import IPAddress

TOTAL_S = 10.0
MAX_BODY_BYTES = 16 * 1024
MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
# What is kept as evidence of an answer that goes on and on.
_KEPT_ADDRESSES = 16
_KEPT_URL = 300

logger = logging.getLogger(__name__)


@dataclass
class Hop:
    """One request: its URL, what the name led to, which address was used, the answer's status."""

    url: str
    addresses: list[str]
    used: str | None = None
    status: int | None = None


@dataclass
class Fetched:
    """How a fetch went; ``body`` is None unless ``code`` is ok."""

    code: Code
    hops: list[Hop] = field(default_factory=list)
    body: bytes | None = None

    def evidence(self) -> list[dict[str, Any]]:
        """Return the hops as JSON; never the body, which may be an inner service's answer."""
        return [asdict(hop) for hop in self.hops]


def fetch(origin: Origin, target: str) -> Fetched:
    """Get ``target`` (a path) from ``origin``, which came from ``address.parse``.

    Returns within ``TOTAL_S`` seconds, whatever the other side does; nothing that it does raises.
    """
    fetched = Fetched(Code.OK)
    if origin.is_loopback:
        logger.warning("MODELEN_TRUST_LOOPBACK is on: fetching from this computer, %s", origin)
    try:
        fetched.body = _follow(origin, target, Deadline(TOTAL_S), fetched.hops)
    except Failed as failure:
        fetched.code = failure.code
    except TimeoutError:
        fetched.code = Code.SLOW_RESPONSE
    except (HTTPException, OSError, ValueError):
        # ValueError: http.client's for some heads that are no HTTP.
        fetched.code = Code.BROKEN_RESPONSE
    return fetched


def _follow(origin: Origin, target: str, deadline: Deadline, hops: list[Hop]) -> bytes:
    hops.append(_hop(origin, target, []))
    # Redirects stay on this host, so its addresses are looked up once for all of them.
    addresses = look_up(origin.host, deadline)
    hops[0].addresses = [str(address) for address in addresses[:_KEPT_ADDRESSES]]
    vet(addresses, origin)
    for count in range(MAX_REDIRECTS + 1):
        answer = _request(origin, target, addresses, deadline, hops[-1])
        if isinstance(answer, bytes):
            return answer
        origin, target = _next(origin, target, answer.location)
        if count < MAX_REDIRECTS:
            hops.append(_hop(origin, target, hops[0].addresses))
    raise Failed(Code.REDIRECT_LOOP)


def _hop(origin: Origin, target: str, addresses: list[str]) -> Hop:
    return Hop(f"{origin}{target}"[:_KEPT_URL], addresses)


@dataclass(frozen=True)
class _Redirect:
    location: str


def _request(
    origin: Origin, target: str, addresses: list[IPAddress], deadline: Deadline, hop: Hop
) -> bytes | _Redirect:
    with connected(origin, addresses, deadline) as connection:
        hop.used = connection.used
        http = HTTPConnection(origin.host, origin.port)
        # It has a connection and must never make one itself.
        http.auto_open = 0
        http.sock = connection
        http.request("GET", target, headers=_headers(origin))
        response = http.getresponse()
        hop.status = response.status
        return _read(response)


def _headers(origin: Origin) -> dict[str, str]:
    return {
        "Host": origin.netloc,
        "User-Agent": f"modelen-verification/1 (+https://{_own_name()}/)",
        # Some servers refuse a request without it.
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def _own_name() -> str:
    return next((host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")


def _read(response: HTTPResponse) -> bytes | _Redirect:
    if response.status in _REDIRECTS:
        return _Redirect(response.getheader("Location", ""))
    if response.status in (404, 410):
        raise Failed(Code.NOT_FOUND)
    if response.status != 200:
        raise Failed(Code.HTTP_STATUS)
    if response.getheader("Content-Encoding", "identity").strip().lower() != "identity":
        raise Failed(Code.COMPRESSED)
    body = response.read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise Failed(Code.TOO_LARGE)
    return body


def _next(origin: Origin, target: str, location: str) -> tuple[Origin, str]:
    """Return where a redirect leads if it stays on the host, else raise Failed."""
    if not location or not location.isascii() or not location.isprintable() or "\\" in location:
        raise Failed(Code.REDIRECT_REFUSED)
    try:
        parts = urlsplit(urljoin(f"{origin}{target}", location))
        new = parse_origin(parts.scheme, parts.netloc)
    except (ValueError, ValidationError) as error:
        raise Failed(Code.REDIRECT_REFUSED) from error
    is_downgrade = origin.scheme == "https" and new.scheme != "https"
    if new.host != origin.host or is_downgrade:
        raise Failed(Code.REDIRECT_REFUSED)
    path = parts.path or "/"
    new_target = f"{path}?{parts.query}" if parts.query else path
    if not path.startswith("/") or " " in new_target:
        raise Failed(Code.REDIRECT_REFUSED)
    return new, new_target
