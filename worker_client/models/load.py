"""Read a stored base model: weights for torch; a tokenizer and what it means."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from worker_client.contract.formats import END_OF_TEXT, AdapterFormat, Format
from worker_client.models.digests import sha256_file
from worker_client.models.errors import ModelCorrupt, TokenizerRefused
from worker_client.models.store import ModelStore

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


def load_base(fmt: AdapterFormat, store: ModelStore, dtype: "torch.dtype") -> "PreTrainedModel":
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
        found = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

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

    def decode(self, ids: list[int]) -> str:
        """The text of tokens, special ones spelled out; what is no UTF-8 becomes U+FFFD."""
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return 1 + max(self.tokenizer.get_vocab().values())

    @cached_property
    def byte_lengths(self) -> np.ndarray:
        """UTF-8 bytes that each token id stands for, int64 ``[vocab]``; special tokens: 0.

        In a byte-level vocabulary each character of a token is one byte.
        """
        lengths = np.zeros(self.size, np.int64)
        special = set(self.tokenizer.get_added_tokens_decoder())
        for token, number in self.tokenizer.get_vocab().items():
            lengths[number] = 0 if number in special else len(token)
        return lengths


def load_codec(fmt: Format, store: ModelStore, tokenizer: Path | None = None) -> TextCodec:
    """The tokenizer of a format's base model, and the digest that shards carry.

    A model from scratch has no tokenizer of its own: ``tokenizer`` is the run's
    ``tokenizer.json``.

    Raises:
        ModelMissing, ModelCorrupt, TokenizerRefused: name the remedy.
    """
    if isinstance(fmt, AdapterFormat):
        return _base_codec(fmt, store)
    if tokenizer is None:
        raise TokenizerRefused(
            f"{fmt.id} has no tokenizer of its own; name the run's: --tokenizer tokenizer.json"
        )
    return read_codec(tokenizer, fmt.vocab_size)


def _base_codec(fmt: AdapterFormat, store: ModelStore) -> TextCodec:
    path = store.open(fmt) / "tokenizer.json"
    try:
        codec = _codec(path, fmt.base_model.end_of_text, fmt.base_model.tokenizer_sha256)
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelCorrupt(fmt, f"tokenizer.json: {error}") from error
    if codec is None:
        raise ModelCorrupt(fmt, f"its tokenizer has no {fmt.base_model.end_of_text}")
    return codec


def read_codec(path: Path, vocab_size: int, end_of_text: str = END_OF_TEXT) -> TextCodec:
    """A tokenizer from its file, whose ids are all below ``vocab_size``.

    Raises:
        TokenizerRefused: it cannot be read, is too large, or has no end-of-text token.
    """
    try:
        codec = _codec(path, end_of_text, sha256_file(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise TokenizerRefused(f"{path} is no tokenizer.json: {error}") from error
    if codec is None:
        raise TokenizerRefused(f"{path} has no token {end_of_text}, which parts documents")
    if codec.size > vocab_size:
        raise TokenizerRefused(f"{path} has {codec.size} tokens; the model has {vocab_size}")
    return codec


def served_codec(path: Path, fmt: Format) -> TextCodec:
    """A format's tokenizer from a file that somebody sent, which nothing is believed of.

    Raises:
        TokenizerRefused: it cannot be read, is too large, or has no end-of-text token.
    """
    ends = fmt.base_model.end_of_text if isinstance(fmt, AdapterFormat) else END_OF_TEXT
    try:
        return read_codec(path, fmt.vocab_size, ends)
    except BaseException as error:
        # What makes tokenizers panic comes as an exception that Exception does not catch.
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerRefused(f"{path} is no tokenizer.json: {error}") from None


def _codec(path: Path, end_of_text: str, sha256: str) -> TextCodec | None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    # Else a file could have texts cut short, or filled up to any length.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a "<|endoftext|>" in a text is just text
    end = tokenizer.token_to_id(end_of_text)
    return None if end is None else TextCodec(tokenizer, end, sha256)
