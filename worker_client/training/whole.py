"""A model that is trained from nothing: every weight is trained and travels."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from worker_client.contract.formats import ScratchFormat
from worker_client.contract.recipe import WEIGHT_DECAY_SCRATCH
from worker_client.models.decoder import Decoder
from worker_client.training.device import Device
from worker_client.training.files import read_weights
from worker_client.training.trainee import Trainee

EMBEDDING = "model.embed_tokens.weight"
# From here on activations cost more memory than computing them twice costs time.
CHECKPOINTED_LAYERS = 12


class WholeModel(Trainee):
    """Weights and optimiser state are float32; products are made in the device's dtype."""

    def __init__(self, fmt: ScratchFormat, device: Device) -> None:
        self.format, self.device = fmt, device
        deep = fmt.decoder.layers >= CHECKPOINTED_LAYERS
        self.model = Decoder(fmt.decoder, checkpointing=deep).to(device.place)
        found = dict(self.model.named_parameters())
        self.parameters = {spec.name: found[spec.name] for spec in fmt.tensors}

    @torch.no_grad()
    def load(self, path: Path) -> None:
        for name, values in read_weights(path, self.format).items():
            self.parameters[name].copy_(torch.from_numpy(np.array(values)))

    def hidden(self, input_ids: torch.Tensor) -> torch.Tensor:
        mixed = self.device.dtype is not torch.float32
        with torch.autocast(self.device.place.type, self.device.dtype, enabled=mixed):
            return self.model.hidden(input_ids).to(self.device.dtype)

    def generate(self, prompt: torch.Tensor) -> Iterator[torch.Tensor]:
        return self.model.generate(prompt)

    @property
    def head(self) -> torch.Tensor:
        return self.model.head

    @property
    def embedding(self) -> torch.nn.Parameter:
        return self.parameters[EMBEDDING]

    def groups(self) -> list[dict]:
        """Weight decay on matrices, none on the norms' vectors."""
        values = list(self.parameters.values())
        return [
            {"params": [p for p in values if p.dim() > 1], "weight_decay": WEIGHT_DECAY_SCRATCH},
            {"params": [p for p in values if p.dim() == 1], "weight_decay": 0.0},
        ]
