"""A tiny model with its adapter, on the CPU in float32, one per test session."""

from pathlib import Path

import pytest
import torch

from tests.worker_client.materials import TINY
from worker_client.models.load import load_base
from worker_client.models.store import ModelStore
from worker_client.training.adapter import Adapter
from worker_client.training.device import Device, choose_device


@pytest.fixture(scope="session")
def tiny_device() -> Device:
    # One thread: two wait for each other at every small product when the machine is busy.
    return choose_device("cpu", "float32", threads=1)


@pytest.fixture(scope="session")
def tiny_adapter(tiny_models: Path, tiny_device: Device) -> Adapter:
    base = load_base(TINY, ModelStore(tiny_models), torch.float32)
    return Adapter(base, TINY, tiny_device.place)
