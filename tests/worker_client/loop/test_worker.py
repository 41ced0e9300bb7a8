"""The run loop with a real child and a real coordinator, undisturbed and disturbed."""

import json
import threading

import pytest

from tests.worker_client.little_coordinator import (
    LittleCoordinator,
    answer,
    do_but_lose_answer,
    endless,
    json_answer,
    make_shard,
    problem,
    sha256,
)
from tests.worker_client.loop.conftest import Rig
from worker_client.client.faults import Final, ProtocolBroken
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import Task
from worker_client.display import events
from worker_client.loop.limits import DiskShort, Limits, TaskRefused
from worker_client.loop.worker import MAX_SETBACKS, Hopeless
from worker_client.state.records import FinishedResult, Work


def test_a_run_from_first_lease_to_last_fate(rig: Rig, server: LittleCoordinator):
    server.rounds = 3
    assert rig.run() == "run_over"
    assert rig.totals.accepted == 3
    assert rig.totals.steps == 3 * server.inner_steps
    assert [e.fate for e in rig.told.of(events.Fate)] == ["birlesti"] * 3
    assert rig.told.names[0] == "started"
    for event, result in zip(rig.told.of(events.Trained), server.results, strict=True):
        assert event.sha256 == sha256(result)


def test_what_is_sent_is_a_result_in_the_runs_format(rig, server, tmp_path):
    rig.run()
    path = tmp_path / "sent"
    path.write_bytes(server.results[0])
    with path.open("rb") as file:
        header = read_header(file, path.stat().st_size)
    assert list(header.tensors) == [s.name for s in load_format("tiny-qwen3-lora-r4").tensors]
    assert header.metadata["gorev"] == "lease-1"


def test_progress_is_told_first_at_once_and_last_with_the_digest(rig, server):
    rig.run()
    beats = [s.json for s in server.requests("POST", "/gorev/lease-1/nabiz")]
    assert beats[0]["adim"] == 0
    assert beats[-1]["ozet"] == sha256(server.results[0])
    assert beats[-1]["adim"] == server.inner_steps
    assert all(beat["anahtar"] == "k" * 32 for beat in beats)


def test_a_coordinator_without_the_optional_calls_will_do(rig, server):
    server.resumable = False
    gone = problem(404, "yok", False)
    server.next("GET", "/bilgi", gone)
    server.next("POST", "/gorev/lease-1/nabiz", *[gone] * 9)
    assert rig.run() == "run_over"
    assert len(server.results) == 1


def test_it_stops_after_the_tasks_asked_for(rig, server):
    server.rounds = 5
    assert rig.run(tasks=2) == "tasks_done"
    assert len(server.results) == 2


def test_no_work_is_waited_for_as_long_as_asked(rig, server):
    server.next("POST", "/gorev", answer(204, headers={"Retry-After": "1"}))
    assert rig.run() == "run_over"
    waits = rig.told.of(events.Waiting)
    assert [w.reason for w in waits] == ["no work right now"]
    assert 0.9 < waits[0].seconds <= 1.1
    ids = {s.json["istek"] for s in server.requests("POST", "/gorev")[:2]}
    assert len(ids) == 1


def test_trouble_that_passes_is_outlasted(rig, server):
    busy = problem(503, "mesgul", True)
    for method, path in [("GET", "/bilgi"), ("POST", "/gorev"), ("GET", "/adaptor"),
                         ("GET", "/veri"), ("PUT", "/sonuc"), ("PATCH", "/sonuc")]:  # fmt: skip
        server.next(method, path, busy, busy)
    assert rig.run() == "run_over"
    assert len(server.results) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/gorev"), ("PUT", "/sonuc"), ("PATCH", "/sonuc"), ("POST", "/gorev/lease-1/nabiz")],
)
def test_a_lost_answer_costs_nothing(rig, server, method, path):
    server.next(method, path, do_but_lose_answer)
    assert rig.run() == "run_over"
    assert len(server.leases) == len(server.results) == 1
    assert rig.totals.refused == 0


def test_a_used_request_id_is_replaced(rig, server):
    server.next("POST", "/gorev", problem(409, "istek_kullanildi", False))
    assert rig.run() == "run_over"
    first, second = (s.json["istek"] for s in server.requests("POST", "/gorev")[:2])
    assert first != second


def test_work_nobody_wants_is_dropped(rig, server):
    server.inner_steps = 10_000
    server.go_on = False
    rig.told.react = {events.Abandoned: threading.Event()}
    server.next("POST", "/gorev/", json_answer({"devam": True, "sure": 5}))

    def over(handler) -> None:
        server.round = 2
        handler.json(200, {"devam": False})

    server.next("POST", "/gorev/lease-1/nabiz", over)
    assert rig.run() == "run_over"
    assert "no longer wants" in rig.told.of(events.Abandoned)[0].reason
    assert server.results == []


# Refusals of ours

TEXT_TASK = {
    "is": "on_isle", "temizlik": "v1", "adaptor": None, "veri": None,
    "ham_metin": {"yol": "/ham_metin", "sha256": "0" * 64, "boyut": 1000},
    "belirtec": {"yol": "/belirtec", "sha256": "1" * 64, "boyut": 1000},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bicim": "llama-9b"}, "unknown format"),
        ({"recete": "v9"}, "unknown recipe"),
        ({"taban_model": "evil/model@main"}, "base model"),
        ({"kodlama": "zip"}, "zip"),
        (TEXT_TASK, "does egit, dogrula, olc"),
        ({"veri": None}, "--data"),
        ({"adaptor": {"yol": "/adaptor", "sha256": "0" * 64, "boyut": 50 * 2**20}}, "snapshot of"),
        ({"adaptor": {"yol": "/adaptor", "sha256": "0" * 64, "boyut": 100}}, "snapshot of"),
        ({"veri": {"yol": "/veri", "sha256": "0" * 64, "boyut": 2**34}}, "--max-transfer"),
    ],
)
def test_a_task_this_worker_does_not_do_is_refused(rig, server, changes, message):
    server.task_changes = changes
    with pytest.raises(TaskRefused, match=message):
        rig.run()
    assert "trained" not in rig.told.names
    assert server.requests("GET", "/adaptor") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"ic_adim": 10_001}, {"ic_adim": 0}, {"bs": 1025}, {"seq": 7}, {"seq": 8193}, {"lr": 0},
        {"lr": 1.5}, {"tohum": 2**53}, {"tohum": -1}, {"parca": 1}, {"tur": 2}, {"sure": 4},
        {"sure": 10**9}, {"son": "tomorrow"}, {"gorev": "../../etc/passwd"}, {"anahtar": ""},
        {"bs": 1024, "seq": 8192, "ic_adim": 10_000}, {"bs": "2"}, {"adaptor": None},
        {"adaptor": {"yol": "/../x", "sha256": "0" * 64, "boyut": 40_000}},
        {"adaptor": {"yol": "/%2e%2e/x", "sha256": "0" * 64, "boyut": 40_000}},
        {"adaptor": {"yol": "//evil.test/x", "sha256": "0" * 64, "boyut": 40_000}},
        {"adaptor": {"yol": "/x", "sha256": "0" * 64, "boyut": 40_000, "parca_boyut": 1}},
    ],
)  # fmt: skip
def test_a_task_outside_the_protocols_ranges_is_refused(rig, server, changes):
    server.task_changes = changes
    with pytest.raises(ProtocolBroken, match="breaks the protocol"):
        rig.run()
    assert server.requests("GET", "/adaptor") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surum_asgari": "99.0"}, "git pull"),
        ({"bicim": "llama-9b"}, "unknown format"),
        ({"isler": ["on_isle"]}, "gives away on_isle"),
        ({"kodlama": ["zip"]}, "zip"),
        ({"belirtec_sha256": "0" * 64}, "tokenizer"),
    ],
)
def test_a_run_this_worker_does_not_fit_is_refused_before_any_lease(rig, server, changes, message):
    server.about_changes = changes
    with pytest.raises(TaskRefused, match=message):
        rig.run()
    assert server.leases == {}


def test_the_disk_cap_is_kept_and_names_its_remedy(rig, server):
    rig.limits = Limits(disk_bytes=50_000)
    with pytest.raises(DiskShort, match="--max-disk"):
        rig.run()
    rig.limits = Limits()
    assert rig.run() == "run_over"
    assert rig.told.of(events.Leased)[0].resumed


def test_a_task_over_the_time_cap_is_dropped(rig, server):
    server.inner_steps = 10_000
    rig.limits = Limits(hours=1e-9)
    with pytest.raises(Hopeless, match="your cap"):
        rig.run()


def test_data_the_model_cannot_take_is_refused_and_in_the_end_the_run(rig, server):
    server.shard = make_shard(highest=5000)
    with pytest.raises(Hopeless, match="vocabulary"):
        rig.run()
    assert len(rig.told.of(events.Abandoned)) == MAX_SETBACKS


def test_a_snapshot_whose_digest_never_agrees_is_never_trained(rig, server):
    rig.told.react = {}
    server.rounds = 2
    right = server.snapshot
    bad = server.file_ref("/adaptor") | {"sha256": "1" * 64}
    server.task_changes = {"adaptor": bad}

    def heal(handler) -> None:
        server.task_changes = {}
        handler.problem(409, "istek_kullanildi", False)

    # One task with three wrong downloads, then a coordinator that was repaired.
    whole = answer(206, right, {"Content-Range": f"bytes 0-{len(right) - 1}/{len(right)}"})
    server.next("GET", "/adaptor", whole, whole, whole)
    server.next("POST", "/gorev", lambda h: h.route("/gorev", "/gorev", server.seen[-1].body), heal)
    assert rig.run() == "run_over"
    assert "3 times" in rig.told.of(events.Error)[0].message
    assert rig.totals.accepted == 2


# Refusals of theirs


@pytest.mark.parametrize("code", ["gorev_dolu", "tur_kapandi"])
def test_a_result_that_came_too_late_is_told_and_work_goes_on(rig, server, code):
    server.rounds = 2
    server.next("PUT", "/sonuc", problem(409, code, False))
    assert rig.run() == "run_over"
    verdicts = rig.told.of(events.Verdict)
    assert [(v.accepted, v.code) for v in verdicts][0] == (False, code)
    assert rig.totals.refused == 1


def test_results_refused_again_and_again_end_it_loudly(rig, server):
    server.next("PUT", "/sonuc", *[problem(422, "sonlu_degil", False)] * MAX_SETBACKS)
    with pytest.raises(Hopeless, match="sonlu_degil"):
        rig.run()


def test_a_coordinator_that_refuses_the_worker_ends_it(rig, server):
    server.next("POST", "/gorev", problem(403, "isci_engelli", False))
    with pytest.raises(Final, match="isci_engelli"):
        rig.run()


def test_a_result_screened_out_is_told(rig, server):
    server.fates["lease-1"] = "elendi"
    assert rig.run() == "run_over"
    assert "screened out" in rig.told.of(events.Fate)[0].text()


def test_a_fate_still_open_is_asked_for_after_the_next_start(rig, server):
    server.fates["lease-1"] = "bekliyor"
    assert rig.run() == "run_over"
    with rig.state() as state:
        assert [d.lease_id for d in state.load_delivered()] == ["lease-1"]
        assert state.result_path("lease-1").exists()
    server.fates["lease-1"] = "birlesti"
    assert rig.run() == "run_over"
    assert rig.told.of(events.Fate)[0].fate == "birlesti"
    with rig.state() as state:
        assert not state.result_path("lease-1").exists()


def test_a_verdict_that_never_ends_loses_no_result(rig, server):
    server.next("PATCH", "/sonuc", endless)
    assert rig.run() == "run_over"
    assert len(server.results) == 1


# Stops and restarts


def test_a_stop_while_training_leaves_a_lease_that_the_next_start_takes_up(rig, server):
    server.inner_steps = 500
    rig.told.react = {events.Step: rig.stop}
    assert rig.run() == "stopped"
    assert rig.told.of(events.Abandoned)[0].resumable
    assert "next step" in rig.told.of(events.Stopping)[0].doing
    rig.stop.clear()
    rig.told.react = {}
    server.inner_steps = 2
    assert rig.run() == "run_over"
    assert rig.told.of(events.Leased)[0].resumed
    assert list(server.leases) == ["lease-1"]


def test_a_stop_while_uploading_finishes_the_upload(rig, server):
    server.rounds = 3
    rig.told.react_to_transfer = {"upload": rig.stop}
    assert rig.run() == "stopped"
    assert len(server.results) == 1
    assert rig.totals.accepted == 1


def test_a_stop_while_the_coordinator_is_away_keeps_the_result(rig, server):
    def away(handler) -> None:
        rig.stop.set()
        handler.problem(503, "mesgul", True)

    server.next("PUT", "/sonuc", away)
    assert rig.run() == "stopped"
    assert server.results == []
    rig.stop.clear()
    assert rig.run() == "run_over"
    assert "trained" not in rig.told.names
    assert len(server.results) == 1


def test_a_broken_verdict_keeps_the_result_for_later(rig, server):
    server.next("PUT", "/sonuc", json_answer({"kabul": "maybe"}))
    with pytest.raises(ProtocolBroken):
        rig.run()
    assert rig.run() == "run_over"
    assert "trained" not in rig.told.names


def test_a_result_file_that_is_gone_is_trained_again(rig, server):
    server.next("PUT", "/sonuc", json_answer({"kabul": "maybe"}))
    with pytest.raises(ProtocolBroken):
        rig.run()
    with rig.state() as state:
        state.result_path("lease-1").unlink()
    assert rig.run() == "run_over"
    assert "trained" in rig.told.names
    assert len(server.results) == 1


def test_another_name_does_not_take_up_a_lease_of_the_old_one(rig, server):
    with rig.state() as state:
        state.save_work(Work(worker="someone-else", request_id="a" * 32))
    rig.run()
    assert server.requests("POST", "/gorev")[0].json["istek"] != "a" * 32


def test_a_delivery_killed_before_it_was_noted_is_counted_once(rig, server):
    rig.run()
    with rig.state() as state:
        task = state.load_work()
        assert task is None
        # As a kill between verdict and note leaves it: the work as trained, the file there.
        result = server.results[0]
        lease = server.leases["lease-1"]
        state.result_path("lease-1").write_bytes(result)
        work = Work(
            worker="tester",
            request_id=lease.request_id,
            task=Task.model_validate_json(json.dumps(server.task(lease))),
            result=FinishedResult(sha256=sha256(result), size=len(result), tokens=1, train_s=1.0),
        )
        state.save_work(work)
    assert rig.run() == "run_over"
    assert rig.totals.accepted == 1
    assert server.results == [result]


def test_a_child_that_dies_is_replaced_and_its_task_done(rig, server):
    server.inner_steps = 30
    killed: list[int] = []

    class KillOnce(threading.Event):
        def set(self) -> None:
            if not killed:
                killed.append(rig.trainer._child.pid)
                rig.trainer._child._process.kill()

    rig.told.react = {events.Step: KillOnce()}
    assert rig.run() == "run_over"
    assert killed
    assert len(rig.told.of(events.Restarted)) == 1
    assert list(server.leases) == ["lease-1"]
    assert len(server.results) == 1
