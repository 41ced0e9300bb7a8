"""A tiny base model made from a seed: the same bytes on every machine.

Weights are uniform (bit-exact from numpy's generator, where normal deviates go through the
platform's ``log`` and ``exp``); the tokenizer is byte level without merges, 256 bytes and three
special tokens.
"""

import json
from pathlib import Path

import numpy as np

from worker_client.contract.formats import BaseModel
from worker_client.contract.tensors import build_header

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
STANDARD_DEVIATION = 0.02


def make(base: BaseModel, into: Path) -> None:
    """Write the model's three files into the folder ``into``."""
    (into / "config.json").write_text(json.dumps(base.config, indent=1) + "\n", "utf-8")
    (into / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    (into / "model.safetensors").write_bytes(weights(base))


def weights(base: BaseModel) -> bytes:
    """A whole safetensors file; the seed is the number in the revision, ``seed-0``."""
    shapes = parameter_shapes(base.config)
    draw = np.random.default_rng(int(base.revision.removeprefix("seed-")))
    header = build_header([(name, "F32", shape) for name, shape in shapes], {"format": "pt"})
    return header + b"".join(_draw(draw, name, shape).tobytes() for name, shape in shapes)


def _draw(draw: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith("norm.weight"):
        return np.ones(shape, "<f4")
    width = np.float32(STANDARD_DEVIATION * 12**0.5)
    return ((draw.random(shape, np.float32) - np.float32(0.5)) * width).astype("<f4")


def parameter_shapes(config: dict) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of a Qwen3 model with tied embeddings, in a fixed order."""
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    inner = config["intermediate_size"]
    layer = [
        ("input_layernorm.weight", (hidden,)),
        ("self_attn.q_proj.weight", (queries, hidden)),
        ("self_attn.k_proj.weight", (keys, hidden)),
        ("self_attn.v_proj.weight", (keys, hidden)),
        ("self_attn.q_norm.weight", (head,)),
        ("self_attn.k_norm.weight", (head,)),
        ("self_attn.o_proj.weight", (hidden, queries)),
        ("post_attention_layernorm.weight", (hidden,)),
        ("mlp.gate_proj.weight", (inner, hidden)),
        ("mlp.up_proj.weight", (inner, hidden)),
        ("mlp.down_proj.weight", (hidden, inner)),
    ]
    layers = [
        (f"model.layers.{number}.{name}", shape)
        for number in range(config["num_hidden_layers"])
        for name, shape in layer
    ]
    embedding = ("model.embed_tokens.weight", (config["vocab_size"], hidden))
    return [embedding, *layers, ("model.norm.weight", (hidden,))]


def tokenizer_json() -> str:
    """The ``tokenizer.json`` of a byte-level BPE without merges, written by hand so that its
    digest does not depend on a library's version."""
    vocabulary = {character: number for number, character in enumerate(byte_alphabet())}
    special = [
        {"id": 256 + number, "content": content, "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False, "special": True}
        for number, content in enumerate(SPECIAL_TOKENS)
    ]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
             "use_regex": False}  # fmt: skip
    bpe: dict[str, object]
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
           "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
           "ignore_merges": False, "vocab": vocabulary, "merges": []}  # fmt: skip
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
             "normalizer": None, "pre_tokenizer": level, "post_processor": None,
             "decoder": level, "model": bpe}  # fmt: skip
    return json.dumps(whole, ensure_ascii=True, indent=1) + "\n"


def byte_alphabet() -> list[str]:
    """One printable character per byte, as byte-level BPE writes them.

    Printable Latin-1 bytes stand for themselves, the other 68 for U+0100 onwards.
    """
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]
