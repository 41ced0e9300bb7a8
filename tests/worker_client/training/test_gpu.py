"""What training holds in a GPU's memory, with the process capped there."""

import pytest
import torch

from tests.worker_client.materials import task_command
from worker_client.contract.formats import load_scratch_format
from worker_client.training.device import choose_device
from worker_client.training.task import train_task
from worker_client.training.whole import WholeModel

SMALL_GPU = 2 * 2**30


@pytest.mark.needs("cuda")
def test_the_s_model_trains_at_full_context_in_two_gigabytes(tmp_path):
    fmt, device = load_scratch_format("scratch-s"), choose_device("cuda")
    torch.cuda.set_per_process_memory_fraction(
        SMALL_GPU / torch.cuda.get_device_properties(device.place).total_memory
    )
    try:
        command = task_command(tmp_path, fmt, seq_len=1024, batch_size=4, inner_steps=3)
        done = train_task(WholeModel(fmt, device), command, lambda step: None)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert done.tokens == 3 * 4 * 1023
    assert torch.cuda.max_memory_reserved() <= SMALL_GPU
