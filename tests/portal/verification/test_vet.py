"""Addresses at the edges of what is public; test_ssrf.py has those inside."""

from ipaddress import ip_address

import pytest

from portal.verification.vet import is_public


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"]
    + ["128.0.0.0", "168.63.129.15", "169.253.255.255", "172.15.255.255", "172.32.0.0"]
    + ["192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"]
    + ["223.255.255.255", "2000::1", "2001:200::1", "2003::1", "2606:4700::1111", "2a00:1450::1"],
)
def test_public(address: str) -> None:
    assert is_public(ip_address(address))


def test_a_zone_is_never_public() -> None:
    assert not is_public(ip_address("2606:4700::1111%eth0"))
