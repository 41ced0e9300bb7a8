"""A LoRA adapter on a frozen base model, under the manifest's names."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import numpy as np
import torch

from worker_client.contract.formats import AdapterFormat
from worker_client.contract.recipe import WEIGHT_DECAY_ADAPTER
from worker_client.training.device import Device
from worker_client.training.errors import SnapshotRefused
from worker_client.training.files import read_weights
from worker_client.training.trainee import Trainee

if TYPE_CHECKING:
    from peft import LoraConfig, PeftModel
    from transformers import PreTrainedModel


def lora_config(fmt: AdapterFormat) -> "LoraConfig":
    """PEFT's description of the format: no dropout, no bias."""
    from peft import LoraConfig

    base = fmt.base_model
    return LoraConfig(
        task_type="CAUSAL_LM",
        base_model_name_or_path=base.id,
        revision=base.revision,
        r=fmt.lora.rank,
        lora_alpha=fmt.lora.alpha,
        lora_dropout=0.0,
        bias="none",
        target_modules=[module.path.rsplit(".", 1)[1] for module in fmt.lora.modules],
    )


class Adapter(Trainee):
    """A PEFT model whose trainable parameters are exactly the manifest's tensors.

    Attributes:
        model: base and adapter, on their device.
    """

    format: AdapterFormat

    def __init__(self, base: "PreTrainedModel", fmt: AdapterFormat, device: Device) -> None:
        from peft import get_peft_model

        self.format, self.device = fmt, device
        with catch_warnings():
            simplefilter("ignore")  # PEFT warns that the base was loaded from a folder
            self.model: PeftModel = get_peft_model(base, lora_config(fmt)).to(device.place)
        found = {
            name.replace(".default.weight", ".weight"): parameter
            for name, parameter in self.model.named_parameters()
            if parameter.requires_grad
        }
        shapes = {spec.name: spec.shape for spec in fmt.tensors}
        if {name: tuple(p.shape) for name, p in found.items()} != shapes:
            raise SnapshotRefused(f"the base model does not have the geometry of {fmt.id}")
        self.parameters = {name: found[name] for name in shapes}
        self._prove_effect()

    @torch.no_grad()
    def load(self, path: Path) -> None:
        """As the base class says; values are read back through PEFT's own names."""
        from peft import get_peft_model_state_dict

        tensors = read_weights(path, self.format)
        for name, values in tensors.items():
            self.parameters[name].copy_(torch.from_numpy(np.array(values)))
        arrived = get_peft_model_state_dict(self.model)
        for name, values in tensors.items():
            if not np.array_equal(arrived[name].cpu().numpy(), values):
                raise SnapshotRefused(f"the snapshot's {name} did not arrive in the model")

    @torch.no_grad()
    def _prove_effect(self) -> None:
        """The model's output depends on the adapter: not so if PEFT wrapped nothing in use.

        Done once with values large enough to show in bfloat16, where a young snapshot's B may
        be too small to change any output.
        """
        sides = [p for name, p in self.parameters.items() if ".lora_B." in name]
        probe = torch.arange(1, 9, device=self.device.place)[None]
        outputs = []
        for value in (0.0, 0.05):
            for side in sides:
                side.fill_(value)
            outputs.append(self.model(input_ids=probe).logits)
        if torch.equal(*outputs):
            raise SnapshotRefused("the adapter has no effect on the model's output")

    def hidden(self, input_ids: torch.Tensor) -> torch.Tensor:
        trunk = self.model.get_base_model().model
        return trunk(input_ids=input_ids, use_cache=False).last_hidden_state

    @torch.inference_mode()
    def generate(self, prompt: torch.Tensor) -> Iterator[torch.Tensor]:
        from transformers import DynamicCache

        model, fresh = self.model.get_base_model(), prompt
        seen = DynamicCache(config=model.config)
        for _ in range(model.config.max_position_embeddings - prompt.shape[1]):
            made = model.model(input_ids=fresh, cache=seen, use_cache=True)
            token = (made.last_hidden_state[:, -1] @ self.head.T).float().argmax(-1)
            yield token
            fresh = token[:, None]

    @property
    def head(self) -> torch.Tensor:
        return self.model.get_base_model().lm_head.weight

    def groups(self) -> list[dict]:
        values = list(self.parameters.values())
        return [{"params": values, "weight_decay": WEIGHT_DECAY_ADAPTER}]
