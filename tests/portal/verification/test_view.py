"""The file with which this site proves the addresses of its own coordinators."""

import pytest
from django.test import Client

from accounts.models import User
from portal.models import Coordinator, Proof, State
from portal.verification.challenge import PATH, line
from portal.verification.check import run_check
from tests.portal.verification.conftest import Serve, queued
from tests.portal.verification.wire import HOST, page


@pytest.fixture(autouse=True)
def hosts(settings) -> None:
    settings.ALLOWED_HOSTS = ["portal.example.org", "other.example.org"]


def make(by: User, slug: str, address: str) -> Coordinator:
    return Coordinator.objects.create(operator=by, slug=slug, address=address, proof_token=slug)


def read(client: Client, host: str = "portal.example.org") -> str:
    answer = client.get(PATH, headers={"host": host})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]
    return answer.content.decode()


def test_lines_of_coordinators_on_the_host_asked(client: Client, admin: User) -> None:
    b = make(admin, "b", "https://portal.example.org/c/b")
    a = make(admin, "a", "https://portal.example.org/c/a")
    other = make(admin, "other", "https://other.example.org/c/other")
    make(admin, "far", "https://portal.example.org.example.net/c/far")
    make(admin, "port", "https://portal.example.org:8443/c/port")
    assert read(client) == f"{line(a)}\n{line(b)}\n"
    assert read(client, "OTHER.example.org") == f"{line(other)}\n"


def test_nobody_proves_an_address_here_by_claiming_it(client: Client, operator: User) -> None:
    make(operator, "claimed", "https://portal.example.org/c/claimed")
    assert read(client) == ""


def test_ended_listings_have_no_line(client: Client, admin: User) -> None:
    make(admin, "a", "https://portal.example.org/c/a")
    for state in (State.REJECTED, State.WITHDRAWN):
        Coordinator.objects.update(state=state)
        assert read(client) == ""


def test_hosts_that_are_not_this_site(client: Client, db: None) -> None:
    assert client.get(PATH, headers={"host": "evil.example.net"}).status_code == 400


def test_reading_only(client: Client, db: None) -> None:
    assert client.post(PATH, headers={"host": "portal.example.org"}).status_code == 405


def test_what_it_answers_is_what_a_check_takes(
    client: Client, admin: User, serve: Serve, settings
) -> None:
    settings.ALLOWED_HOSTS = [HOST]
    own = make(admin, "own", f"https://{HOST}/c/own")
    serve(page(read(client, HOST).encode()))
    run_check(queued(own, own.address).pk)
    own.refresh_from_db()
    assert own.proof == Proof.VERIFIED
