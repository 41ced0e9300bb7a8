"""The whole program as a process: events, signals, kills, exit statuses."""

import os
import signal
import threading

import pytest

from tests.worker_client.little_coordinator import answer, sha256
from worker_client.cli.exits import Exit

posix = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@posix
def test_kill_at_training_then_restart_then_ctrl_c_then_the_end(server, start):
    """One story, since each start loads torch anew."""
    server.rounds, server.inner_steps = 2, 400
    first = start()
    first.read_until("step")
    first.process.kill()
    status, _ = first.finish()
    assert status == -signal.SIGKILL

    second = start()
    leased = second.read_until("leased")
    assert leased["resumed"]
    assert leased["lease_id"] == "lease-1"
    down = second.read_until("downloaded")["bytes_down"]
    assert down < len(server.snapshot)  # the snapshot was there already
    second.read_until("step")
    second.process.send_signal(signal.SIGINT)
    status, err = second.finish()
    assert status == Exit.OK
    assert "Ctrl-C again" in err
    names = [e["event"] for e in second.events if e["event"] != "step"]
    assert names[-3:] == ["stopping", "abandoned", "finished"]
    assert second.events[-1]["reason"] == "stopped"

    server.inner_steps = 2
    third = start("--tasks", "2")
    third.read_until("finished")
    status, _ = third.finish()
    assert status == Exit.OK
    assert list(server.leases) == ["lease-1", "lease-2"]
    totals = third.of("finished")[0]
    assert totals["reason"] == "tasks_done"
    assert totals["accepted"] == 2
    assert totals["steps"] == 4
    assert [e["sha256"] for e in third.of("trained")] == [sha256(r) for r in server.results]
    workers = {run.of("started")[0]["worker"] for run in (first, second, third)}
    assert len(workers) == 1  # the made-up name is kept


@posix
def test_a_second_ctrl_c_ends_at_once(server, start):
    asked, over = threading.Event(), threading.Event()

    def never_answer(handler) -> None:
        asked.set()
        over.wait(60)
        handler.close_connection = True

    server.next("GET", "/bilgi", never_answer)
    program = start()
    asked.wait()
    program.process.send_signal(signal.SIGINT)
    assert program.process.stderr is not None
    assert program.process.stderr.readline() == "\n"
    assert "Ctrl-C again" in program.process.stderr.readline()
    program.process.send_signal(signal.SIGINT)
    status, _ = program.finish()
    over.set()
    assert status == Exit.INTERRUPTED


@posix
def test_sigterm_ends_a_wait_which_the_next_start_remembers(server, start):
    server.next("GET", "/bilgi", answer(503, headers={"Retry-After": "3600"}))
    program = start()
    program.read_until("waiting")
    program.process.send_signal(signal.SIGTERM)
    program.read_until("finished")
    assert program.finish()[0] == Exit.OK
    assert program.events[-1]["reason"] == "stopped"
    assert start().read_until("waiting")["seconds"] > 3000
    assert len(server.seen) == 1


def test_a_second_process_on_the_same_state_is_told_what_to_do(server, start):
    server.next("GET", "/bilgi", answer(503, headers={"Retry-After": "3600"}))
    first = start()
    first.read_until("waiting")
    second = start()
    message = second.read_until("error")["message"]
    assert "--state-dir" in message
    assert second.finish()[0] == Exit.BUSY


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"tur_sayisi": 0}, Exit.REFUSED, "tur_sayisi"),
        ({"surum_asgari": "99"}, Exit.REFUSED, "git pull"),
    ],
)
def test_what_it_refuses_has_a_status_and_a_message(server, start, changes, status, message):
    server.about_changes = changes
    program = start()
    error = program.read_until("error")
    assert error["fatal"]
    assert message in error["message"]
    assert program.finish()[0] == status
    assert program.of("finished")[0]["reason"] == "error"


def test_a_missing_model_names_the_command_that_gets_it(server, start, tmp_path):
    program = start("--models-dir", str(tmp_path / "empty"))
    assert "models fetch tiny-qwen3-lora-r4" in program.read_until("error")["message"]
    assert program.finish()[0] == Exit.COMPUTER


def test_no_data_file_is_noticed_before_anything_else(server, start, tmp_path):
    program = start("--data", str(tmp_path / "absent"))
    assert "absent" in program.read_until("error")["message"]
    assert program.finish()[0] == Exit.COMPUTER
    assert server.seen == []
