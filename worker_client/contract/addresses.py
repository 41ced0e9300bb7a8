"""Which addresses a worker may speak to, and how a path is joined to a base URL."""

import ipaddress
import re
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field

_FORBIDDEN = re.compile(r"[\\#@\x00-\x1f\x7f]|\.\.")


class AddressRefused(ValueError):
    """The address is not one a worker should use; the message says why."""


def check_path(path: str) -> str:
    """Return ``path`` if it may be appended to a base URL.

    Raises:
        AddressRefused: no single leading slash, or a way out of the base URL.
    """
    decoded = unquote(path)
    if not path.startswith("/") or path.startswith("//") or decoded.startswith("//"):
        raise AddressRefused("a path starts with exactly one /")
    if _FORBIDDEN.search(path) or _FORBIDDEN.search(decoded):
        raise AddressRefused("a path has no .., \\, #, @ or control character")
    if not path.isascii():
        raise AddressRefused("a path is percent-encoded ASCII")
    return path


RelativePath = Annotated[str, Field(max_length=2000), AfterValidator(check_path)]


def check_base_url(url: str, *, allow_http: bool = False) -> str:
    """Return ``url`` without its trailing slash if a worker may connect to it.

    Plain HTTP is for loopback only unless ``allow_http``.

    Raises:
        AddressRefused: with a sentence that names the remedy.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused(f"{url!r} is no address; write it like https://example.org/c/my-run")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AddressRefused("an address has no user name, query or fragment; leave them out")
    if parts.scheme == "http" and not (allow_http or is_loopback(parts.hostname)):
        raise AddressRefused(
            f"{parts.hostname} is not this computer, so plain http would show your work to "
            "others on the way; use https, or --allow-http on a network you trust"
        )
    return parts.geturl().rstrip("/")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def join(base_url: str, path: str) -> str:
    """Append a checked path to a base URL as a string, as the protocol says."""
    return base_url.rstrip("/") + check_path(path)


def is_below(base_url: str, url: str) -> bool:
    """Whether ``url`` stays inside ``base_url``: same origin, path at or under its path."""
    base, other = urlsplit(base_url), urlsplit(url)
    root = base.path.rstrip("/")
    same_origin = (base.scheme, base.netloc) == (other.scheme, other.netloc)
    inside = other.path == root or other.path.startswith(root + "/")
    return same_origin and inside and not _FORBIDDEN.search(unquote(other.path))
