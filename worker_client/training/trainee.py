"""What a task trains: an adapter on a frozen base, or a whole model."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from worker_client.contract.formats import AdapterFormat, Format, ScratchFormat
from worker_client.models.store import ModelStore
from worker_client.training.device import Device


class Trainee(ABC):
    """A model on its device.

    Attributes:
        parameters: name in the manifest -> float32 parameter that is trained, in manifest order.
    """

    format: Format
    device: Device
    parameters: dict[str, torch.nn.Parameter]

    @abstractmethod
    def load(self, path: Path) -> None:
        """Copy a snapshot's values into the model.

        Raises:
            SnapshotRefused: a bad file, or values that did not arrive in the model.
        """

    @abstractmethod
    def hidden(self, input_ids: torch.Tensor) -> torch.Tensor:
        """What the head is applied to: ``[batch, length]`` int64 -> ``[batch, length, width]``.

        No attention mask: attention is causal and padding lies to the right, so that no token
        with a target sees any.
        """

    @abstractmethod
    def generate(self, prompt: torch.Tensor) -> Iterator[torch.Tensor]:
        """Continue ``prompt [batch, length]`` by the likeliest token, ``[batch]`` int64 at a time,
        until the model's context is full. Keys and values are kept: a token costs one position.
        """

    @property
    @abstractmethod
    def head(self) -> torch.Tensor:
        """``[vocab, width]``."""

    @property
    def embedding(self) -> torch.nn.Parameter | None:
        """``[vocab, width]``; None where it is not trained."""
        return None

    @abstractmethod
    def groups(self) -> list[dict]:
        """Parameter groups for AdamW with the recipe's weight decay."""

    def clear_gradients(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    def tensors(self) -> dict[str, np.ndarray]:
        """The trained values, float32, in manifest order; on a CPU no copies."""
        return {name: p.detach().float().cpu().numpy() for name, p in self.parameters.items()}


def make_trainee(fmt: Format, store: ModelStore, device: Device) -> Trainee:
    """The format's model, its values still to be loaded.

    Raises:
        ModelMissing, ModelCorrupt: name the remedy.
    """
    if isinstance(fmt, ScratchFormat):
        from worker_client.training.whole import WholeModel

        return WholeModel(fmt, device)
    from worker_client.models.load import load_base
    from worker_client.training.adapter import Adapter

    assert isinstance(fmt, AdapterFormat)
    return Adapter(load_base(fmt, store, device.dtype), fmt, device)
