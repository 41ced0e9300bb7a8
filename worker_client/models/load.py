"""Read a stored base model: weights for torch, tokenizer, and what the tokenizer means."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from worker_client.contract.formats import Format
from worker_client.models.errors import ModelCorrupt
from worker_client.models.store import ModelStore

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


def load_base(fmt: Format, store: ModelStore, dtype: "torch.dtype") -> "PreTrainedModel":
    """The frozen base model on the CPU, in evaluation mode, without gradients.

    Raises:
        ModelMissing, ModelCorrupt: name the remedy.
    """
    from transformers import AutoModelForCausalLM

    folder = store.open(fmt)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="sdpa", local_files_only=True
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelCorrupt(fmt, f"{type(error).__name__}: {error}") from error
    model.config.use_cache = False
    return model.requires_grad_(False).eval()


@dataclass(frozen=True)
class TextCodec:
    """A base model's tokenizer with the tokens that this program gives a meaning to."""

    tokenizer: "Tokenizer"
    end_of_text: int
    sha256: str

    def encode(self, text: str) -> list[int]:
        """Token ids of a plain text; special tokens spelled in it are not recognised as such."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """As ``encode``, on all cores."""
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def encode_markup(self, template: str, text: str) -> list[int]:
        """``template`` with ``text`` for its ``{}``: special tokens count in the template only."""
        before, after = template.split("{}")
        return self._encode_special(before) + self.encode(text) + self._encode_special(after)

    def _encode_special(self, markup: str) -> list[int]:
        self.tokenizer.encode_special_tokens = False
        try:
            return self.encode(markup)
        finally:
            self.tokenizer.encode_special_tokens = True

    @cached_property
    def byte_lengths(self) -> np.ndarray:
        """UTF-8 bytes that each token id stands for, int64 ``[vocab]``; special tokens: 0.

        In a byte-level vocabulary each character of a token is one byte.
        """
        lengths = np.zeros(self.tokenizer.get_vocab_size(), np.int64)
        special = set(self.tokenizer.get_added_tokens_decoder())
        for token, number in self.tokenizer.get_vocab().items():
            lengths[number] = 0 if number in special else len(token)
        return lengths


def load_codec(fmt: Format, store: ModelStore) -> TextCodec:
    """The tokenizer of a format's base model, and the digest that shards carry.

    Raises:
        ModelMissing, ModelCorrupt: name the remedy.
    """
    from tokenizers import Tokenizer

    path = store.open(fmt) / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelCorrupt(fmt, f"tokenizer.json: {error}") from error
    tokenizer.encode_special_tokens = True  # a "<|endoftext|>" in a text is just text
    end = tokenizer.token_to_id(fmt.base_model.end_of_text)
    if end is None:
        raise ModelCorrupt(fmt, f"its tokenizer has no {fmt.base_model.end_of_text}")
    return TextCodec(tokenizer, end, fmt.base_model.tokenizer_sha256)
