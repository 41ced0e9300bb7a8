"""Recipe v1 on a model that starts from nothing."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.worker_client.materials import pattern_rows, task_command
from worker_client.contract.formats import load_scratch_format
from worker_client.contract.recipe import Schedule
from worker_client.data.errors import DataError
from worker_client.training.device import Device, choose_device
from worker_client.training.files import read_weights
from worker_client.training.loss import summed_loss
from worker_client.training.rows import row_stream
from worker_client.training.task import train_task
from worker_client.training.whole import WholeModel

FMT = load_scratch_format("scratch-tiny")
TOKENIZER = "ab" * 32


@pytest.fixture
def whole(tiny_device: Device) -> WholeModel:
    return WholeModel(FMT, tiny_device)


def plain_loop(whole: WholeModel, command) -> None:
    """The recipe with torch's own loss over all logits."""
    whole.load(Path(command.snapshot))
    matrices = [p for p in whole.model.parameters() if p.dim() > 1]
    vectors = [p for p in whole.model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    schedule = Schedule(command.lr, command.rounds, command.inner_steps)
    data = torch.from_numpy(pattern_rows(10, command.seq_len).astype(np.int64))
    rows = row_stream(command.seed, command.round, command.shard, 10)
    for step in range(command.inner_steps):
        batch = data[list(islice(rows, command.batch_size))]
        for group in optimiser.param_groups:
            group["lr"] = schedule.at(command.round, step)
        optimiser.zero_grad()
        logits = whole.model(batch)[:, :-1]
        functional.cross_entropy(logits.reshape(-1, 320), batch[:, 1:].reshape(-1)).backward()
        torch.nn.utils.clip_grad_norm_(whole.model.parameters(), 1.0)
        optimiser.step()


def test_v2_trains_all_but_the_embedding_as_v1_does(whole, tmp_path):
    """In the one step of a task: no later one begins at the same weights, or has v1's rate."""
    trained = {}
    for recipe in ("v1", "v2"):
        command = task_command(
            tmp_path, FMT, tokenizer_sha256=TOKENIZER, recipe=recipe, inner_steps=1
        )
        train_task(whole, command, lambda step: None)
        trained[recipe] = {name: values.copy() for name, values in whole.tensors().items()}
    others = [
        name
        for name in trained["v1"]
        if not np.array_equal(trained["v1"][name], trained["v2"][name])
    ]
    assert others == ["model.embed_tokens.weight"]


def test_v2_moves_an_absent_token_less(whole, tmp_path):
    """Shards hold the bytes A to E and what packing adds; token 7 never comes."""
    moved = {}
    for recipe in ("v1", "v2"):
        command = task_command(tmp_path, FMT, tokenizer_sha256=TOKENIZER, recipe=recipe)
        start = read_weights(Path(command.snapshot), FMT)["model.embed_tokens.weight"]
        train_task(whole, command, lambda step: None)
        rows = np.abs(whole.tensors()["model.embed_tokens.weight"] - start).mean(axis=1)
        moved[recipe] = rows[7] / rows[65]
    assert moved["v2"] < 0.3 * moved["v1"]


def test_equals_a_plain_loop(whole, tmp_path):
    command = task_command(tmp_path, FMT, tokenizer_sha256=TOKENIZER)
    plain_loop(whole, command)
    expected = {name: values.copy() for name, values in whole.tensors().items()}
    train_task(whole, command, lambda step: None)
    for name, values in read_weights(Path(command.out), FMT).items():
        np.testing.assert_allclose(values, expected[name], atol=5e-6, err_msg=name)


def test_loss_falls(whole, tmp_path):
    command = task_command(tmp_path, FMT, inner_steps=30, lr=3e-3)
    done = train_task(whole, command, lambda step: None)
    assert done.loss_first == pytest.approx(np.log(320), rel=0.02)
    assert done.loss_last < 0.5 * done.loss_first


def test_a_shard_of_another_tokenizer_is_refused(whole, tmp_path):
    command = task_command(tmp_path, FMT, tokenizer_sha256="cd" * 32)
    with pytest.raises(DataError, match="another tokenizer"):
        train_task(whole, command, lambda step: None)


def test_mixed_precision_stays_near_full_precision(tmp_path):
    ids = torch.from_numpy(pattern_rows(4, 32).astype(np.int64))
    losses = {}
    for dtype in ("float32", "bfloat16"):
        whole = WholeModel(FMT, choose_device("cpu", dtype, threads=1))
        command = task_command(tmp_path, FMT)
        whole.load(Path(command.snapshot))
        loss = summed_loss(whole, ids, ids)
        loss.backward()
        assert all(p.grad.dtype is torch.float32 for p in whole.parameters.values())
        losses[dtype] = loss.item()
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=1e-2)
