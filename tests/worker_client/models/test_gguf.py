"""Our GGUF conversion against transformers' own, on a small file made here."""

import numpy as np
import pytest
import torch

from worker_client.models import gguf_base

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 262,
    "max_position_embeddings": 128, "rope_theta": 10000.0, "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
}  # fmt: skip
PAIRS = [("a", "b"), ("Ġ", "a"), ("ab", "a")]


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    from worker_client.models.seeded_base import byte_alphabet

    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(16)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(262)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = special + byte_alphabet() + ["".join(pair) for pair in PAIRS]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * (len(tokens) - 3))
    writer.add_token_merges([" ".join(pair) for pair in PAIRS])
    writer.add_eos_token_id(2)
    draw = np.random.default_rng(0)
    shapes = {"token_embd": (262, 64), "output_norm": (64,)}
    for block in range(2):
        shapes |= {
            f"blk.{block}.{name}": shape
            for name, shape in {
                "attn_norm": (64,), "attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64),
                "attn_output": (64, 64), "ffn_norm": (64,), "ffn_gate": (96, 64),
                "ffn_up": (96, 64), "ffn_down": (64, 96),
            }.items()
        }  # fmt: skip
    for name, shape in shapes.items():
        values = draw.normal(0, 0.1, shape).astype(np.float32)
        kind = GGMLQuantizationType.Q4_1 if len(shape) == 2 else GGMLQuantizationType.F32
        raw = quants.quantize(values, kind)
        writer.add_tensor(f"{name}.weight", raw, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def converted(gguf_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    gguf_base.convert(gguf_file, CONFIG, folder)
    return folder


def test_weights_equal_transformers_bit_for_bit(gguf_file, converted):
    from transformers import AutoModelForCausalLM

    place = {"pretrained_model_name_or_path": gguf_file.parent, "gguf_file": gguf_file.name}
    theirs = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32).state_dict()
    ours = AutoModelForCausalLM.from_pretrained(converted, dtype=torch.float32).state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_the_tokenizer_merges_and_splits_digits(converted):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    assert tokenizer.encode("aba ab 12").tokens == ["aba", "Ġ", "ab", "Ġ", "1", "2"]
    assert tokenizer.encode("<|im_end|>").ids == [2]
    text = "Ağaç 2024'te\n büyüdü"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("name", ["blk.0.attn_norm_2.weight", "rope_freqs", "output.bias"])
def test_a_tensor_of_another_kind_of_model_is_refused(name):
    with pytest.raises(ValueError, match="Llama-shaped"):
        gguf_base.weight_name(name)
