"""A stranger's address must not lead the portal to anything inside.

Each vector would connect, to this computer or out, if the client let it; the controls at the end
show that such a dial is seen. None connects.
"""

import socket

import pytest

from portal.models import Coordinator
from portal.verification import dial
from portal.verification.address import Origin, parse
from portal.verification.check import run_check
from portal.verification.codes import Code
from portal.verification.dial import Deadline, Failed, look_up, vet
from portal.verification.fetch import fetch
from tests.portal.verification.conftest import Serve, queued
from tests.portal.verification.wire import ADDRESS, HOST, PUBLIC, Names, Wire, page, redirect

PATH = "/.well-known/modelen-verification.txt"

# What stands in the database, however it came there.
HOSTILE_ADDRESSES = [
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "https://127.0.0.1:8443/c/demo",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0x7f.0x0.0x0.0x1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0/",
    "https://①②⑦.⓪.⓪.①/",
    "https://１２７.0.0.1/",
    "https://127。0。0。1/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[example.org]/",
    "https://169.254.169.254/latest/meta-data/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://a.localhost/",
    "https://ip6-localhost/",
    "https://metadata/",
    "https://metadata.google.internal/",
    "https://router.local/",
    "https://printer.lan/",
    "https://something.onion/",
    "https://1.0.0.127.in-addr.arpa/",
    "https://example.org./",
    "https://127.0.0.1.example.org@127.0.0.1/",
    "https://user:password@example.org/",
    "https://example.org@127.0.0.1/",
    "https://example.org#@127.0.0.1/",
    "https://example.org?@127.0.0.1/",
    "https://example.org\\@127.0.0.1/",
    "https://127.0.0.1\\@example.org/",
    "https://example.org:22/",
    "https://example.org:6379/",
    "https://example.org:0/",
    "https://example.org:99999/",
    "https://example.org:443:80/",
    "https://example.org:443@127.0.0.1:443/",
    "https://example.org%2f@127.0.0.1/",
    "https://127.0.0.1%00.example.org/",
    "https://example.org\t/",
    "https://exam\nple.org/",
    "https://example.org/\r\nHost: 127.0.0.1",
    "https:///127.0.0.1/",
    "https:127.0.0.1/",
    "//127.0.0.1/",
    "http://example.org/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "ftp://example.org/",
    "unix:///var/run/docker.sock",
    "dict://127.0.0.1:11211/",
    "javascript:alert(1)",
    "",
]

# What a name may lead to.
INSIDE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.254",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:100.64.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::7f00:1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::1",
    "2606:4700::5efe:7f00:1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]

# Where the right host's answer may try to lead.
HOSTILE_LOCATIONS = [
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "https://localhost/",
    "https://[::1]/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://169.254.169.254/latest/meta-data/",
    "https://metadata.google.internal/",
    "https://other.example.org/",
    f"https://evil.{HOST}/",
    f"https://{HOST}.evil.example.net/",
    f"https://{HOST}@127.0.0.1/",
    f"https://user@{HOST}/",
    f"https://{HOST}:22/",
    f"https://{HOST}:6379/",
    f"https://{HOST}:80/",
    f"https://{HOST}./",
    f"http://{HOST}/",
    "//127.0.0.1/",
    "//[::1]:443/",
    "\\\\127.0.0.1\\",
    f"https://{HOST}\\@127.0.0.1/",
    "/\\127.0.0.1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "https://①②⑦.⓪.⓪.①/",
    "/a b",
    "/a\tb",
    "https://[",
    "https://[::ffff:127.0.0.1]/",
    "",
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_no_hostile_address_is_looked_up_or_dialled(
    coordinator: Coordinator, wire: Wire, names: Names, address: str
) -> None:
    Coordinator.objects.filter(pk=coordinator.pk).update(address=address)
    attempt = queued(coordinator, address)
    run_check(attempt.pk)
    attempt.refresh_from_db()
    assert attempt.code == Code.ADDRESS_REFUSED
    assert (wire.dialled, names.asked, attempt.hops) == ([], [], [])


@pytest.mark.parametrize("inside", INSIDE)
def test_no_name_leads_inside(wire: Wire, names: Names, inside: str) -> None:
    names.answers[HOST] = [[inside]]
    fetched = fetch(parse(ADDRESS)[0], PATH)
    assert (fetched.code, wire.dialled) == (Code.DNS_PRIVATE_ADDRESS, [])


@pytest.mark.parametrize(
    "answer",
    [
        [PUBLIC, "127.0.0.1"],
        ["127.0.0.1", PUBLIC],
        [PUBLIC, "::1"],
        [PUBLIC, "2606:4700::1111", "fd00::1"],
        [*(f"93.184.215.{last}" for last in range(200)), "10.0.0.1"],
    ],
    ids=["v4-last", "v4-first", "v6", "ula", "after-many"],
)
def test_one_inner_address_among_public_ones_spoils_all(
    wire: Wire, names: Names, answer: list[str]
) -> None:
    names.answers[HOST] = [answer]
    assert fetch(parse(ADDRESS)[0], PATH).code == Code.DNS_PRIVATE_ADDRESS
    assert wire.dialled == []


@pytest.mark.parametrize("location", HOSTILE_LOCATIONS)
def test_no_redirect_leaves_the_host(serve: Serve, wire: Wire, names: Names, location: str) -> None:
    server = serve(redirect(location))
    assert fetch(parse(ADDRESS)[0], PATH).code == Code.REDIRECT_REFUSED
    assert (wire.dialled, names.asked, len(server.heads)) == ([(PUBLIC, 443)], [HOST], 1)


@pytest.mark.parametrize("location", ["///127.0.0.1/", "https:127.0.0.1", "https:/127.0.0.1/"])
def test_what_other_parsers_read_as_a_host_is_a_path_here(
    serve: Serve, wire: Wire, names: Names, location: str
) -> None:
    serve(redirect(location))
    assert fetch(parse(ADDRESS)[0], PATH).code != Code.OK
    assert (set(wire.dialled), names.asked) == ({(PUBLIC, 443)}, [HOST])


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_rebinding_has_no_second_look_up_to_win(
    serve: Serve, wire: Wire, names: Names, hops: int
) -> None:
    """The name leads outside when vetted, and to this computer ever after."""
    names.answers[HOST] = [[PUBLIC], ["127.0.0.1"]]
    answers = [redirect("/next")] * hops + [page(b"outside")]
    serve(lambda connection: answers.pop(0)(connection))
    assert fetch(parse(ADDRESS)[0], PATH).body == b"outside"
    assert (names.asked, wire.dialled) == ([HOST], [(PUBLIC, 443)] * (hops + 1))


@pytest.mark.parametrize(
    "spelling",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001"]
    + ["0", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1", "::1", "::ffff:127.0.0.1", "localhost"],
)
def test_the_systems_own_resolver_is_vetted_after_the_fact(wire: Wire, spelling: str) -> None:
    """Past the rules for addresses: the real resolver reads these, and vetting stops each."""
    with pytest.raises(Failed) as caught:
        vet(look_up(spelling, Deadline(5)), Origin("https", spelling, 443))
    assert caught.value.code == Code.DNS_PRIVATE_ADDRESS
    assert wire.dialled == []


def test_networks_that_the_setting_denies(wire: Wire, names: Names, settings) -> None:
    from ipaddress import ip_network

    settings.MODELEN_DENIED_NETWORKS = [ip_network("93.184.215.0/24"), ip_network("2606::/16")]
    assert fetch(parse(ADDRESS)[0], PATH).code == Code.DNS_PRIVATE_ADDRESS
    assert wire.dialled == []


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.1"])
def test_without_vetting_the_wire_would_have_told(
    wire: Wire, names: Names, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """The control: broken code is caught by what these tests look at."""
    names.answers[HOST] = [[inside]]
    monkeypatch.setattr(dial, "is_public", lambda address: True)
    fetch(parse(ADDRESS)[0], PATH)
    assert wire.dialled == [(inside, 443)]
    assert wire.escaped == ([] if inside == "127.0.0.1" else [(inside, 443)])
    wire.escaped.clear()


def test_a_real_service_inside_hears_nothing(wire: Wire, names: Names) -> None:
    with socket.create_server(("127.0.0.1", 0)) as inner:
        inner.settimeout(0)
        for address in (f"http://127.0.0.1:{inner.getsockname()[1]}", "http://localhost"):
            with pytest.raises(Exception, match="https"):
                parse(address)
        names.answers[HOST] = [["127.0.0.1"]]
        fetch(Origin("http", HOST, inner.getsockname()[1]), PATH)
        with pytest.raises(BlockingIOError):
            inner.accept()
