"""A tiny model with its adapter, on the CPU in float32, one per test session."""

from pathlib import Path

import pytest
import torch

from tests.worker_client.materials import TINY
from worker_client.models.load import load_base
from worker_client.models.store import ModelStore
from worker_client.training.adapter import Adapter
from worker_client.training.device import Device, choose_device
from worker_client.training.initial import initial_tensors


@pytest.fixture(scope="session")
def tiny_device() -> Device:
    # One thread: two wait for each other at every small product when the machine is busy.
    return choose_device("cpu", "float32", threads=1)


@pytest.fixture(scope="session")
def loaded_adapter(tiny_models: Path, tiny_device: Device) -> Adapter:
    base = load_base(TINY, ModelStore(tiny_models), torch.float32)
    return Adapter(base, TINY, tiny_device)


@pytest.fixture
def tiny_adapter(loaded_adapter: Adapter) -> Adapter:
    """Loading takes seconds, so tests share the model; what one left in it is no other's start."""
    for name, values in initial_tensors(TINY, seed=0).items():
        loaded_adapter.parameters[name].data.copy_(torch.from_numpy(values))
    return loaded_adapter
