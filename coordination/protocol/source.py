"""Where a request comes from, as far as limits by address are concerned."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "0.0.0.0"  # all whose address cannot be read share one
HOUSEHOLD_BITS = 64  # a home has a whole /64 of IPv6, and could draw an address for each request


def client_address(request: HttpRequest) -> str:
    """The client's IPv4 address, or the /64 network of its IPv6 address.

    Behind proxies it is what the outermost of ours wrote into ``X-Forwarded-For``: each adds its
    peer at the end, and whatever stands before that was written by the client.
    """
    return canonical(_told_by_proxy(request) or request.META.get("REMOTE_ADDR") or "")


def _told_by_proxy(request: HttpRequest) -> str | None:
    count = settings.TRUSTED_PROXIES
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    return hops[-count].strip() if count and len(hops) >= count else None


def canonical(text: str) -> str:
    """One spelling for each household."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return UNKNOWN
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if isinstance(address, IPv4Address):
        return str(address)
    return str(ip_network((address, HOUSEHOLD_BITS), strict=False).network_address)
