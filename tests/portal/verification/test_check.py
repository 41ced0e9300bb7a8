"""The verb from a queued row to proof and evidence, through the real client and a real server."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, User
from portal.listings.edit import edit
from portal.models import Attempt, Coordinator, Proof, State
from portal.tasks import check_address
from portal.verification import check, fetch
from portal.verification.address import Origin
from portal.verification.challenge import line
from portal.verification.check import LOST_AFTER, run_check
from portal.verification.codes import Code
from tests.at_once import at_once
from tests.portal.verification.conftest import Serve, queued
from tests.portal.verification.wire import ADDRESS, HOST, PUBLIC, Names, Server, Wire, page


def test_the_right_line_proves_the_address(serve_line: Server, coordinator: Coordinator) -> None:
    attempt = queued(coordinator)
    check_address(attempt.pk)
    attempt.refresh_from_db()
    coordinator.refresh_from_db()
    assert (attempt.code, attempt.received_bytes) == ("ok", len(line(coordinator)) + 1)
    assert attempt.hops == [
        {
            "url": f"https://{HOST}/.well-known/modelen-verification.txt",
            "addresses": [PUBLIC],
            "used": PUBLIC,
            "status": 200,
        }
    ]
    assert attempt.started_at and attempt.finished_at
    assert attempt.started_at <= attempt.finished_at
    assert (coordinator.proof, coordinator.verified_at) == (Proof.VERIFIED, attempt.finished_at)
    assert coordinator.next_check_at is None, "a draft is not on the schedule"
    assert coordinator.revision == 0, "a decision made on it still stands"
    event = AuditEvent.objects.get()
    assert (event.verb, event.target, event.actor) == ("verify", "coordinator:demo", None)


def test_one_host_serves_several_coordinators(
    serve: Serve, coordinator: Coordinator, stranger: User
) -> None:
    other = Coordinator.objects.create(
        operator=stranger, slug="other", address=f"https://{HOST}/c/other", proof_token="o" * 43
    )
    serve(page(f"{line(other)}\n{line(coordinator)}\n".encode()))
    for each in (coordinator, other):
        run_check(queued(each, each.address).pk)
        each.refresh_from_db()
        assert each.proof == Proof.VERIFIED


def test_a_copy_of_anothers_file_proves_nothing(
    serve_line: Server, coordinator: Coordinator, stranger: User
) -> None:
    thief = Coordinator.objects.create(
        operator=stranger, slug="thief", address=f"https://{HOST}/c/thief", proof_token="o" * 43
    )
    attempt = queued(thief, thief.address)
    run_check(attempt.pk)
    attempt.refresh_from_db()
    thief.refresh_from_db()
    assert (attempt.code, thief.proof) == (Code.WRONG_CONTENT, Proof.UNVERIFIED)


def test_what_was_fetched_is_never_kept_or_told(
    serve: Serve, coordinator: Coordinator, caplog: pytest.LogCaptureFixture
) -> None:
    serve(page(b"the inner secret", X_Inner="the inner secret"))
    attempt = queued(coordinator)
    with caplog.at_level(logging.DEBUG):
        run_check(attempt.pk)
    row = str(Attempt.objects.filter(pk=attempt.pk).values())
    assert "inner secret" not in row + caplog.text
    assert "'code': 'wrong_content'" in row and "'received_bytes': 16" in row


def test_twice_is_once(serve_line: Server, coordinator: Coordinator) -> None:
    attempt = queued(coordinator)
    run_check(attempt.pk)
    run_check(attempt.pk)
    assert len(serve_line.heads) == 1


def test_an_attempt_that_is_gone(wire: Wire, db: None) -> None:
    run_check(10**6)
    assert wire.dialled == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_an_address_changed_under_way_is_not_proven(
    serve: Serve,
    coordinator: Coordinator,
    operator: User,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    serve(page(f"{line(coordinator)}\n".encode()))
    attempt = queued(coordinator)

    def move() -> None:
        current = Coordinator.objects.get(pk=coordinator.pk)
        edit(current, operator, address="https://victim.example.org")

    def fetch_and_move(origin: Origin, target: str) -> fetch.Fetched:
        fetched = fetch.fetch(origin, target)
        move()
        return fetched

    if when == "before":
        move()
    else:
        monkeypatch.setattr(check, "fetch", fetch_and_move)
    run_check(attempt.pk)
    attempt.refresh_from_db()
    coordinator.refresh_from_db()
    assert (attempt.code, coordinator.proof) == (Code.OUTDATED, Proof.UNVERIFIED)


def test_an_ended_listing_is_not_looked_at(
    coordinator: Coordinator, wire: Wire, names: Names
) -> None:
    Coordinator.objects.update(state=State.WITHDRAWN)
    attempt = queued(coordinator)
    run_check(attempt.pk)
    attempt.refresh_from_db()
    assert (attempt.code, wire.dialled) == (Code.OUTDATED, [])


@pytest.mark.django_db(transaction=True)
def test_two_processes_do_not_both_look_at_one_host(coordinator: Coordinator) -> None:
    attempts = [queued(coordinator) for _ in range(4)]
    claimed = at_once([partial(check._claim, attempt.pk) for attempt in attempts])
    assert len([attempt for attempt in claimed if attempt]) == 1
    assert Attempt.objects.exclude(started_at=None).count() == 1


def _running(coordinator: Coordinator, address: str, since: timedelta) -> None:
    attempt = queued(coordinator, address)
    Attempt.objects.filter(pk=attempt.pk).update(started_at=timezone.now() - since)


def test_one_at_a_time_per_host(serve_line: Server, coordinator: Coordinator) -> None:
    attempt = queued(coordinator)
    _running(coordinator, f"https://{HOST}/c/other", timedelta(seconds=1))
    run_check(attempt.pk)
    attempt.refresh_from_db()
    assert (attempt.started_at, serve_line.heads) == (None, [])


@pytest.mark.parametrize(("since", "looks"), [(timedelta(seconds=5), 0), (LOST_AFTER, 1)])
def test_four_at_a_time_in_all_but_lost_ones_do_not_count(
    serve_line: Server, coordinator: Coordinator, since: timedelta, looks: int
) -> None:
    attempt = queued(coordinator)
    for number in range(check.MOST_AT_ONCE):
        _running(coordinator, f"https://host{number}.example.org", since)
    run_check(attempt.pk)
    assert len(serve_line.heads) == looks


def test_whoever_ends_tells_those_that_wait(
    serve_line: Server,
    coordinator: Coordinator,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager],
) -> None:
    told: list[int] = []
    monkeypatch.setattr(check_address, "delay", told.append)
    attempt = queued(coordinator)
    waiting = [queued(coordinator, f"https://h{n}.example.org").pk for n in range(6)]
    with django_capture_on_commit_callbacks(execute=True):
        run_check(attempt.pk)
    assert told == waiting[: check.MOST_AT_ONCE]


# --- Development ---------------------------------------------------------------------------------


def test_a_coordinator_on_this_computer(
    coordinator: Coordinator, settings, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(page(f"{line(coordinator)}\n".encode()))
    address = f"http://127.0.0.1:{server.address[1]}/c/demo"
    Coordinator.objects.update(address=address)
    refused, taken = queued(coordinator, address), queued(coordinator, address)
    run_check(refused.pk)
    settings.MODELEN_TRUST_LOOPBACK = True
    run_check(taken.pk)
    server.close()
    refused.refresh_from_db()
    taken.refresh_from_db()
    assert (refused.code, taken.code) == (Code.ADDRESS_REFUSED, Code.OK)
    assert "MODELEN_TRUST_LOOPBACK is on" in caplog.text


def test_a_public_name_that_leads_to_this_computer_stays_refused(
    coordinator: Coordinator, settings, names: Names, wire: Wire
) -> None:
    settings.MODELEN_TRUST_LOOPBACK = True
    names.answers = {HOST: [["127.0.0.1"]], "localhost": [["10.0.0.1"]]}
    for address in (ADDRESS, "http://localhost:8000"):
        Coordinator.objects.update(address=address)
        attempt = queued(coordinator, address)
        run_check(attempt.pk)
        attempt.refresh_from_db()
        assert attempt.code == Code.DNS_PRIVATE_ADDRESS
    assert wire.dialled == []


@pytest.mark.parametrize("value", ["0", "1"])
def test_deployment_refuses_the_setting_and_every_start_shouts(tmp_path, value: str) -> None:
    # Nothing of this process but what finds Python: other tests leave settings behind.
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"MODELEN_VAR": str(tmp_path), "MODELEN_TRUST_LOOPBACK": value}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy"],
        env=environment,
        capture_output=True,
        text=True,
    )
    is_on = value == "1"
    assert (done.returncode != 0) == is_on
    assert ("portal.E001" in done.stderr) == is_on
    assert bool(re.search(r"WARNING portal\.checks: .*NEVER", done.stderr)) == is_on
