"""Owning a name: the token, where it goes, and what a worker does while it is not welcome."""

import json
import os
import stat

import pytest

from tests.worker_client.little_coordinator import Handler, answer, json_answer, problem
from worker_client.client.faults import Final
from worker_client.contract.wire import Registration
from worker_client.display import events
from worker_client.state.records import Work


def pseudonym(rig, name="tester") -> dict:
    with rig.state() as state:
        return json.loads((state.folder / f"pseudonym-{name}.json").read_text())


def shown(request) -> str | None:
    return request.headers.get("Authorization")


def test_a_token_is_drawn_registered_and_shown_from_then_on(rig, server):
    assert rig.run() == "run_over"
    token = pseudonym(rig)["token"]
    Registration(worker="tester", token=token)
    assert server.names == {"tester": token}
    kayit = next(i for i, seen in enumerate(server.seen) if seen.path == "/kayit")
    assert {shown(seen) for seen in server.seen[:kayit]} <= {None}
    assert {shown(seen) for seen in server.seen[kayit + 1 :]} == {f"Bearer {token}"}
    assert {seen.path.split("?")[0] for seen in server.seen[kayit + 1 :]} >= {
        *("/gorev", "/adaptor", "/veri", "/sonuc", "/gorev/lease-1/nabiz"),
    }
    assert rig.told.of(events.Registered)[0].approved


def test_the_token_is_kept_and_registered_again(rig, server):
    rig.run()
    first = pseudonym(rig)["token"]
    rig.run()
    assert pseudonym(rig)["token"] == first and len(server.requests("POST", "/kayit")) == 2


@pytest.mark.skipif(os.name != "posix", reason="file modes as POSIX has them")
def test_nobody_else_can_read_the_token(rig, server):
    before = os.umask(0)
    try:
        rig.run()
    finally:
        os.umask(before)
    with rig.state() as state:
        path = state.folder / "pseudonym-tester.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_each_name_has_a_token_of_its_own(rig, server):
    rig.run()
    server.round = 1
    rig.run(name="other")
    assert pseudonym(rig)["token"] != pseudonym(rig, "other")["token"]
    assert set(server.names) == {"tester", "other"}


def test_a_coordinator_that_keeps_no_names_is_worked_for_all_the_same(rig, server):
    server.keeps_names = False
    assert rig.run() == "run_over"
    assert not any(shown(seen) for seen in server.seen)
    assert "sira" not in server.requests("POST", "/gorev")[0].json
    assert rig.told.of(events.Registered) == []


def test_a_person_may_stay_without_a_token(rig, server):
    rig.registers = False
    assert rig.run() == "run_over"
    assert server.requests("POST", "/kayit") == []
    assert not any(shown(seen) for seen in server.seen)


@pytest.mark.parametrize("listed", [True, False, None])
def test_the_choice_about_the_leaderboard_is_told_only_when_made(rig, server, listed):
    rig.listed = listed
    rig.run()
    assert server.requests("POST", "/kayit")[0].json.get("liste") is listed


def test_a_name_that_is_somebody_elses_ends_it(rig, server):
    server.names["tester"] = "mwk_" + "x" * 43
    with pytest.raises(Final) as caught:
        rig.run()
    assert caught.value.code == "isci_dolu"
    assert server.requests("POST", "/gorev") == []


def not_welcome(handler: Handler, code: str) -> None:
    body = {"detail": f"because {code}", "kod": code, "tekrar": True}
    handler.json(403, body, **{"Retry-After": "1"})


def test_it_waits_for_approval_without_loading_the_model(rig, server):
    server.standing = "bekliyor"
    told_before_work: list[str] = []

    def not_yet(handler: Handler) -> None:
        told_before_work.extend(rig.told.names)
        not_welcome(handler, "onay_bekliyor")

    server.next("POST", "/gorev", not_yet, not_yet)
    assert rig.run() == "run_over"
    assert not rig.told.of(events.Registered)[0].approved
    assert "ready" not in told_before_work
    assert sum("onay_bekliyor" in wait.reason for wait in rig.told.of(events.Waiting)) == 2
    assert rig.totals.accepted == 1


@pytest.mark.parametrize("path", ["/kayit", "/gorev"])
def test_a_blocked_worker_stops_and_says_why(rig, server, path):
    server.next("POST", path, problem(403, "isci_engelli", False))
    with pytest.raises(Final, match="because isci_engelli"):
        rig.run()


def test_a_paused_worker_drops_its_task_and_waits(rig, server):
    server.inner_steps = 400

    def paused(handler: Handler) -> None:
        """While paused, whatever the worker asks; then work again."""
        server.inner_steps = 2
        not_welcome(handler, "isci_duraklatildi")

    server.next("POST", "/gorev/lease-1/nabiz", paused)
    server.next("POST", "/gorev", lambda h: h.route("/gorev", "/gorev", h.body), paused)
    assert rig.run() == "run_over"
    assert "no longer wants" in rig.told.of(events.Abandoned)[0].reason
    assert any("isci_duraklatildi" in wait.reason for wait in rig.told.of(events.Waiting))
    assert rig.totals.accepted == 1


# Requests are counted


def requests_for_work(server) -> list:
    return [seen for seen in server.requests("POST", "/gorev") if seen.path == "/gorev"]


def sequences(server) -> list[int]:
    return [seen.json["sira"] for seen in requests_for_work(server)]


def test_requests_are_counted_upwards_over_restarts(rig, server):
    server.rounds = 3
    rig.run(tasks=2)
    rig.run()
    found = sequences(server)
    assert found[:3] == [1, 2, 3] and found == sorted(found)


def test_a_request_asked_again_keeps_its_number(rig, server):
    server.next("POST", "/gorev", answer(204, headers={"Retry-After": "0"}), answer(503))
    rig.run()
    asked = [(seen.json["istek"], seen.json["sira"]) for seen in requests_for_work(server)]
    assert len(set(asked[:3])) == 1 and len(asked) > 3


def test_a_copied_state_folder_ends_it(rig, server):
    server.next("POST", "/gorev", problem(409, "isci_kopya", False))
    with pytest.raises(Final) as caught:
        rig.run()
    assert caught.value.code == "isci_kopya"


@pytest.mark.parametrize(("heard", "first"), [(41, 42), (None, 1), (0, 1)])
def test_a_folder_from_a_backup_goes_on_above_what_was_heard(rig, server, heard, first):
    with rig.state() as state:
        state.save_work(Work(worker="tester", request_id="a" * 32, sequence=1))
    rig.takes_over = True
    body = {"isci": "tester", "makbuz": []} | ({} if heard is None else {"sira": heard})
    server.next("GET", "/makbuz", json_answer(body))
    assert rig.run() == "run_over"
    assert sequences(server)[0] == first
    assert requests_for_work(server)[0].json["istek"] != "a" * 32
