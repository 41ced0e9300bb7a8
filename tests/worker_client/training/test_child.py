"""A real training child: its line protocol, its manners, its end."""

import json
import signal
import subprocess
import sys

import pytest

from tests.worker_client.materials import TINY, pattern_rows, task_command, write_shard
from worker_client.training.device import choose_device
from worker_client.training.files import read_weights
from worker_client.training.messages import Abandon, Load, Train, parse_event
from worker_client.training.process import TrainingProcess

PATIENCE_S = 120


def until(child, *kinds):
    """Events up to the first of these kinds."""
    seen = []
    while not seen or seen[-1].event not in kinds:
        event = child.next_event(PATIENCE_S)
        assert event is not None, f"nothing after {seen}"
        seen.append(event)
    return seen


@pytest.fixture(scope="module")
def child(tiny_models):
    with TrainingProcess() as process:
        process.send(Load(format=TINY.id, models_dir=str(tiny_models), device="cpu", threads=1))
        ready = until(process, "ready", "error")[-1]
        native = choose_device("cpu").dtype_name
        assert (ready.format, ready.dtype, ready.threads) == (TINY.id, native, 1)
        yield process


def test_trains_task_after_task(child, tmp_path):
    for number in (1, 2):
        child.send(task_command(tmp_path, round=number, out=str(tmp_path / f"{number}")))
        *steps, done = until(child, "done", "error")
        assert [step.step for step in steps] == [1, 2, 3, 4]
        assert done.event == "done"
        assert len(read_weights(tmp_path / str(number), TINY)) == len(TINY.tensors)


def test_abandon_ends_the_task_between_two_steps(child, tmp_path):
    child.send(task_command(tmp_path, inner_steps=10_000))
    until(child, "step")
    child.send(Abandon())
    last = until(child, "abandoned", "done", "error")[-1]
    assert (last.event, last.lease_id) == ("abandoned", "lease-1")
    assert not (tmp_path / "out.safetensors").exists()
    child.send(task_command(tmp_path))
    assert until(child, "done", "error")[-1].event == "done"


def test_bad_data_is_an_error_and_the_next_task_works(child, tmp_path):
    ids = pattern_rows(4, 32)
    ids[2, 3] = 320
    write_shard(tmp_path / "data.safetensors", ids)
    child.send(task_command(tmp_path))
    failure = until(child, "done", "error")[-1]
    assert failure.code == "data_refused"
    assert "vocabulary" in failure.message
    write_shard(tmp_path / "data.safetensors", pattern_rows(4, 32))
    child.send(task_command(tmp_path))
    assert until(child, "done", "error")[-1].event == "done"


def test_an_interrupt_is_the_parents_business(child, tmp_path):
    child.send(task_command(tmp_path, inner_steps=50))
    until(child, "step")
    child._process.send_signal(signal.SIGINT)
    assert until(child, "done", "error")[-1].event == "done"


def test_a_child_that_was_killed_tells(tiny_models):
    process = TrainingProcess()
    process.kill()
    assert process.next_event(PATIENCE_S).code == "child_died"
    assert process.next_event(0.1) is None
    process.send(Abandon())
    process.stop()
    assert not process.alive


def lines(*commands: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker_client.training.child"],
        input="".join(commands),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def test_a_missing_model_names_the_remedy_and_the_child_ends_with_its_input(tmp_path):
    load = Load(format=TINY.id, models_dir=str(tmp_path)).to_line()
    bad = [json.dumps({"cmd": "load", "format": TINY.id, "shell": "x"}) + "\n", "{\n"]
    result = lines(*bad, load, '{"cmd": "stop"}\n')
    events = [parse_event(line) for line in result.stdout.splitlines()]
    assert sorted(e.code for e in events) == ["bad_command", "bad_command", "model_missing"]
    assert "models fetch tiny-qwen3-lora-r4" in events[-1].message
    assert result.returncode == 0
    assert lines().returncode == 1


def test_train_before_load_is_an_error(tmp_path):
    result = lines(task_command(tmp_path).to_line(), '{"cmd": "stop"}\n')
    assert "no model is loaded" in result.stdout


def test_a_command_is_made_from_a_lease(tmp_path):
    from datetime import UTC, datetime

    from worker_client.contract.wire import Task

    body = {
        "gorev": "a", "anahtar": "k" * 20, "tur": 2, "tur_sayisi": 3, "ic_adim": 4, "bs": 5,
        "seq": 16, "lr": 0.01, "tohum": 6, "parca": 0, "n_parca": 2, "mod": "sft",
        "bicim": TINY.id, "taban_model": TINY.base_model.ref, "sure": 60,
        "son": datetime.now(UTC).isoformat(),
        "adaptor": {"yol": "/adaptor", "sha256": "0" * 64, "boyut": 9},
    }  # fmt: skip
    task = Task.model_validate_json(json.dumps(body))
    command = Train.from_task(task, snapshot="s", data="d", out="o")
    assert (command.round, command.inner_steps, command.mode, command.seed) == (2, 4, "sft", 6)
