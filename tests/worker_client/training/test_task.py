"""Recipe v1's loop on the tiny model, against a plain loop written out here."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from tests.worker_client.materials import TINY, pattern_rows, task_command, write_shard
from worker_client.contract.recipe import Schedule
from worker_client.training.device import Device
from worker_client.training.errors import NotFinite, OutOfMemory, SnapshotRefused
from worker_client.training.files import read_weights, write_weights
from worker_client.training.rows import row_stream
from worker_client.training.task import MicroBatches, train_task


def run(trainee, command):
    steps = []
    return train_task(trainee, command, steps.append), steps


def vector(path: str) -> np.ndarray:
    return np.concatenate([v.ravel() for v in read_weights(Path(path), TINY).values()])


def plain_loop(adapter, command) -> list[float]:
    """The recipe with the model's own loss and nothing clever; leaves its result in adapter."""
    adapter.load(Path(command.snapshot))
    parameters = list(adapter.parameters.values())
    optimiser = torch.optim.AdamW(parameters, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
    schedule = Schedule(command.lr, command.rounds, command.inner_steps)
    data = torch.from_numpy(pattern_rows(10, command.seq_len).astype(np.int64))
    rows = row_stream(command.seed, command.round, command.shard, 10)
    losses = []
    for step in range(command.inner_steps):
        batch = data[list(islice(rows, command.batch_size))]
        optimiser.param_groups[0]["lr"] = schedule.at(command.round, step)
        optimiser.zero_grad()
        loss = adapter.model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        losses.append(loss.item())
    return losses


def test_equals_a_plain_loop(tiny_adapter, tmp_path):
    command = task_command(tmp_path)
    expected = plain_loop(tiny_adapter, command)
    weights = np.concatenate([v.ravel() for v in tiny_adapter.tensors().values()])
    done, steps = run(tiny_adapter, command)
    assert [step.loss for step in steps] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(vector(done.path), weights, atol=2e-5)
    assert done.tokens == 4 * 4 * 31
    assert (done.loss_first, done.loss_last) == (steps[0].loss, steps[-1].loss)


def test_loss_falls_on_text_that_can_be_learned(tiny_adapter, tmp_path):
    command = task_command(tmp_path, inner_steps=40, rounds=1, lr=2e-2)
    done, _ = run(tiny_adapter, command)
    assert done.loss_last < done.loss_first - 1.0


def test_the_same_task_gives_the_same_weights(tiny_adapter, tmp_path):
    first = run(tiny_adapter, task_command(tmp_path))[0]
    kept = vector(first.path).copy()
    run(tiny_adapter, task_command(tmp_path, shard=1, out=str(tmp_path / "other")))
    again = run(tiny_adapter, task_command(tmp_path))[0]
    assert np.array_equal(vector(again.path), kept)
    assert not np.array_equal(vector(str(tmp_path / "other")), kept)


def test_the_result_file_is_in_manifest_order_with_its_metadata(tiny_adapter, tmp_path):
    done, _ = run(tiny_adapter, task_command(tmp_path))
    with safe_open(done.path, "numpy") as file:
        metadata = file.metadata()
        assert list(file.offset_keys()) == [spec.name for spec in TINY.tensors]
    assert metadata["gorev"] == "lease-1"
    assert metadata["tur"] == "1"
    assert metadata["token"] == str(done.tokens)
    assert float(metadata["kayip_son"]) == pytest.approx(done.loss_last, abs=1e-5)
    assert set(metadata) == {
        "gorev", "tur", "kayip", "kayip_ilk", "kayip_son", "token", "sure_s", "cihaz", "dtype",
        "surum",
    }  # fmt: skip
    assert Path(done.path).stat().st_size == done.size


def test_sft_learns_the_labelled_tokens_only(tiny_adapter, tmp_path):
    ids = pattern_rows(6, 32)
    labels = ids.copy()
    labels[:, :20] = -100
    write_shard(tmp_path / "data.safetensors", ids, labels)
    done, _ = run(tiny_adapter, task_command(tmp_path, mode="sft", inner_steps=2))
    assert done.tokens == 2 * 4 * 12


class Exhausted:
    """A trainee whose device has room for a few sequences only."""

    def __init__(self, trainee: Any, room: int) -> None:
        self.trainee, self.room = trainee, room
        self.head, self.clear_gradients = trainee.head, trainee.clear_gradients

    def hidden(self, input_ids: torch.Tensor) -> torch.Tensor:
        if len(input_ids) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.trainee.hidden(input_ids)


def gradients(adapter, trainee, size):
    ids = torch.randint(0, 256, (8, 16), generator=torch.Generator().manual_seed(1))
    labels = ids.clone()
    labels[2, 4:] = labels[5, 2:] = -100  # unequal parts: a mean of means would differ
    adapter.clear_gradients()
    micro = MicroBatches(size, trainee)
    loss = micro.accumulate(ids, labels)
    slopes = torch.cat([p.grad.ravel() for p in adapter.parameters.values() if p.grad is not None])
    return loss, slopes, micro.size


def test_micro_batches_give_the_same_loss_and_gradient(tiny_adapter):
    loss, slope, _ = gradients(tiny_adapter, tiny_adapter, 8)
    for size in (1, 3):
        small_loss, small_slope, _ = gradients(tiny_adapter, tiny_adapter, size)
        assert small_loss == pytest.approx(loss, rel=1e-6)
        torch.testing.assert_close(small_slope, slope, rtol=1e-4, atol=1e-7)


def test_out_of_memory_halves_until_it_fits(tiny_adapter):
    loss, slope, _ = gradients(tiny_adapter, tiny_adapter, 8)
    tight = gradients(tiny_adapter, Exhausted(tiny_adapter, 2), 8)
    assert tight[2] == 2
    assert tight[0] == pytest.approx(loss, rel=1e-6)
    torch.testing.assert_close(tight[1], slope, rtol=1e-4, atol=1e-7)


def test_out_of_memory_with_one_sequence_says_what_to_do(tiny_adapter):
    with pytest.raises(OutOfMemory, match="--device cpu"):
        gradients(tiny_adapter, Exhausted(tiny_adapter, 0), 4)


def poisoned(folder: Path, change) -> Path:
    command = task_command(folder)
    path = Path(command.snapshot)
    tensors = {name: v.copy() for name, v in read_weights(path, TINY).items()}
    change(tensors)
    write_weights(path, TINY, tensors, {"format": "pt"})
    return path


def test_a_loss_that_is_not_finite_ends_the_task(tiny_adapter, tmp_path):
    def blow_up(tensors):
        for name in tensors:
            tensors[name][:] = 1e30

    poisoned(tmp_path, blow_up)
    with pytest.raises(NotFinite, match="step 1"):
        run(tiny_adapter, task_command(tmp_path))
    assert not (tmp_path / "out.safetensors").exists()


def test_a_snapshot_that_is_not_finite_is_refused(tiny_adapter, tmp_path):
    name = TINY.tensors[3].name

    def spoil(tensors):
        tensors[name][0, 0] = np.nan

    poisoned(tmp_path, spoil)
    with pytest.raises(SnapshotRefused, match="not finite"):
        run(tiny_adapter, task_command(tmp_path))


def test_the_device_says_what_it_is():
    assert Device(torch.device("cpu"), torch.float32, 2).label == "cpu, 2 threads"
