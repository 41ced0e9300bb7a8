"""A snapshot as a folder that PEFT or transformers loads."""

import json
import shutil
from pathlib import Path

from worker_client.contract.formats import AdapterFormat, Decoder, Format, ScratchFormat
from worker_client.training.files import Written, read_weights, write_weights


def export(fmt: Format, snapshot: Path, folder: Path, tokenizer: Path | None = None) -> Written:
    """Write configuration and weights into ``folder``.

    An adapter becomes what ``peft.PeftModel.from_pretrained`` loads, a whole model what
    ``transformers.AutoModelForCausalLM.from_pretrained`` does, with ``tokenizer`` beside it.

    Raises:
        SnapshotRefused: the snapshot is not of this format.
    """
    tensors = read_weights(snapshot, fmt)
    folder.mkdir(parents=True, exist_ok=True)
    name = _configure_adapter(fmt, folder) if isinstance(fmt, AdapterFormat) else "model"
    if isinstance(fmt, ScratchFormat):
        text = json.dumps(transformers_config(fmt.decoder), indent=1) + "\n"
        (folder / "config.json").write_text(text, "utf-8")
    if tokenizer is not None:
        shutil.copyfile(tokenizer, folder / "tokenizer.json")
    metadata = {"format": "pt", "bicim": fmt.id}
    return write_weights(folder / f"{name}.safetensors", fmt, tensors, metadata)


def _configure_adapter(fmt: AdapterFormat, folder: Path) -> str:
    from worker_client.training.adapter import lora_config

    config = lora_config(fmt)
    config.inference_mode = True
    config.save_pretrained(folder)
    return "adapter_model"


def transformers_config(shape: Decoder) -> dict:
    """The geometry as transformers names it: a Qwen3 model with tied embeddings."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.inner,
        "vocab_size": shape.vocab_size,
        "max_position_embeddings": shape.context,
        "rope_theta": shape.rope_theta,
        "rms_norm_eps": shape.norm_eps,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "attention_bias": False,
        "dtype": "float32",
    }
