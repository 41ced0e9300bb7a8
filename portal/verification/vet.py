"""Which IP addresses the portal may connect to: those of the public internet and no other.

An explicit list from IANA's special-purpose registries, since ``ipaddress.is_global`` says yes to
several ways of writing 127.0.0.1 (NAT64, 6to4, mapped) and to multicast, and differs by version.
"""

import ipaddress

from django.conf import settings

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_DENIED_V4 = [
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 is a cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host agent, though the address is a public one
        "169.254.0.0/16",  # link-local, with clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
# All that is handed out; mapped, NAT64, site-local, unique local and link-local lie elsewhere.
_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
_DENIED_V6 = [
    ipaddress.IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
]
# Interface identifiers of ISATAP, which carry any IPv4 address (RFC 5214).
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: IPAddress) -> bool:
    """Whether a stranger's host name may lead the portal to ``address``."""
    if any(address in network for network in settings.MODELEN_DENIED_NETWORKS):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _DENIED_V4)
    if address.scope_id is not None or address not in _UNICAST_V6:
        return False
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return False
    return not any(address in network for network in _DENIED_V6)
