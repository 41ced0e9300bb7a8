"""The main format for real: its own architecture, random weights, one training step."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from tests.worker_client.materials import task_command, write_shard
from worker_client.contract.formats import load_adapter_format
from worker_client.training.adapter import Adapter
from worker_client.training.device import Device, choose_device
from worker_client.training.files import read_weights
from worker_client.training.task import train_task

QWEN = load_adapter_format("qwen3-0.6b-lora-r16")


@pytest.fixture(scope="module")
def device() -> Device:
    return choose_device("cpu")  # bfloat16 where this CPU multiplies it: else it takes minutes


@pytest.fixture(scope="module")
def adapter(device: Device) -> Adapter:
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(**QWEN.base_model.config)
    with torch.device("meta"):
        base = AutoModelForCausalLM.from_config(config, dtype=device.dtype)
    base = base.to_empty(device="cpu").requires_grad_(False).eval()
    # One drawn block, repeated: 600 million normal deviates would take longer than the step.
    noise = (torch.randn(1 << 16) * 0.02).to(device.dtype)
    with torch.no_grad():
        for parameter in base.parameters():
            parameter.copy_(_filled(parameter, noise))
    base.model.rotary_emb = type(base.model.rotary_emb)(config=base.config)
    return Adapter(base, QWEN, device)


def _filled(parameter: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    if parameter.dim() == 1:
        return torch.ones_like(parameter)
    return noise.repeat(-(-parameter.numel() // len(noise)))[: parameter.numel()].view_as(parameter)


def test_geometry_and_file_size(tmp_path):
    assert len(QWEN.tensors) == 392
    assert QWEN.parameters == 10_092_544
    tensors = {spec.name: np.zeros(spec.shape, "<f4") for spec in QWEN.tensors}
    save_file(tensors, tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").stat().st_size == 40_422_136


def test_one_step(adapter, device, tmp_path):
    ids = np.random.default_rng(0).integers(0, 151_936, (2, 32), dtype=np.int32)
    write_shard(tmp_path / "data.safetensors", ids, fmt=QWEN)
    command = task_command(tmp_path, QWEN, batch_size=1, seq_len=32, inner_steps=1)
    done = train_task(adapter, command, lambda step: None)
    trained = read_weights(tmp_path / "out.safetensors", QWEN)
    moved = [np.abs(v).max() for name, v in trained.items() if ".lora_B." in name]
    assert min(moved) > 0  # every B left zero: gradients reach all 196 modules
    assert max(moved) <= 1.01e-3
    assert done.dtype == device.dtype_name
    assert 11.0 < done.loss_first < 14.0  # ln(151,936) = 11.9
