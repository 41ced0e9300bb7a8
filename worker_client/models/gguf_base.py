"""From a GGUF file of a Llama-shaped model to safetensors: dequantised once, loaded in a blink.

Weights are stored as float32, exactly what the quantised file says: bfloat16 would round them
a second time, and float32 files are mapped into memory rather than read, so two workers on one
computer share one copy. transformers can read GGUF too, but parses the file three times and
took five times as long here; ``tests/worker_client/models/test_gguf.py`` holds this to it.
"""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from worker_client.contract.tensors import build_header
from worker_client.models.progress import Progress, silent

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL_TOKEN = 3


def convert(gguf: Path, config: dict, into: Path, progress: Progress = silent) -> None:
    """Write ``config.json``, ``model.safetensors`` and ``tokenizer.json`` into ``into``."""
    from gguf import GGUFReader

    progress("read the file", 0, None, "step")
    reader = GGUFReader(gguf)
    (into / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")
    write_tokenizer(reader, into / "tokenizer.json")
    write_weights(reader.tensors, config, into / "model.safetensors", progress)


def write_weights(
    tensors: "list[ReaderTensor]", config: dict, path: Path, progress: Progress
) -> None:
    """Dequantise tensor by tensor: memory stays at one tensor's size."""
    from gguf.quants import dequantize

    # GGUF writes the fastest axis first.
    shapes = [tuple(int(n) for n in reversed(tensor.shape)) for tensor in tensors]
    names = [weight_name(tensor.name) for tensor in tensors]
    listed = [(name, "F32", shape) for name, shape in zip(names, shapes, strict=True)]
    with path.open("wb") as file:
        file.write(build_header(listed, {"format": "pt"}))
        for number, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True), 1):
            values = dequantize(tensor.data, tensor.tensor_type).reshape(shape)
            file.write(_unpermuted(tensor.name, values, config).astype("<f4").tobytes())
            progress("dequantise", number, len(tensors), "step")


def weight_name(name: str) -> str:
    """``blk.3.attn_q.weight`` as the model's own code calls it."""
    found = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.weight", name)
    if found is None or found[2] not in NAMES:
        raise ValueError(f"{name} is no tensor of a Llama-shaped model")
    prefix = f"model.layers.{found[1]}." if found[1] else ""
    return f"{prefix}{NAMES[found[2]]}.weight"


def _unpermuted(name: str, values: np.ndarray, config: dict) -> np.ndarray:
    """GGUF interleaves the two halves of each rotary head of queries and keys; undo that."""
    if not name.endswith((".attn_q.weight", ".attn_k.weight")):
        return values
    queries = name.endswith(".attn_q.weight")
    heads = config["num_attention_heads" if queries else "num_key_value_heads"]
    pairs = values.reshape(heads, values.shape[0] // heads // 2, 2, values.shape[1])
    return pairs.swapaxes(1, 2).reshape(values.shape)


def write_tokenizer(reader: "GGUFReader", path: Path) -> None:
    """The byte-level BPE with single digits that ``tokenizer.ggml.pre = smollm`` stands for."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [t for t, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in control])
    tokenizer.save(str(path))
