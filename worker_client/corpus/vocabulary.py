"""Which tokenizer a corpus is packed with, told in a way that processes can hand each other."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from worker_client.contract.formats import load_format
from worker_client.corpus.words import Words, can_cut
from worker_client.models.load import TextCodec, load_codec, read_codec
from worker_client.models.store import ModelStore

MOST_TOKENS = 2**31


@dataclass(frozen=True)
class Vocabulary:
    """``format`` None: whatever the tokenizer in ``tokenizer`` is."""

    tokenizer: Path | None
    format: str | None = None
    models_dir: str | None = None


@cache
def codec_of(vocabulary: Vocabulary) -> TextCodec:
    """Read once in each process.

    Raises:
        ModelMissing, ModelCorrupt, TokenizerRefused: name the remedy.
    """
    if vocabulary.format is None:
        assert vocabulary.tokenizer is not None
        return read_codec(vocabulary.tokenizer, MOST_TOKENS)
    store = ModelStore(vocabulary.models_dir)
    return load_codec(load_format(vocabulary.format), store, vocabulary.tokenizer)


@cache
def words_of(vocabulary: Vocabulary) -> Words | None:
    """Known once in each process; None where the library must cut the texts itself."""
    codec = codec_of(vocabulary)
    return Words(codec) if can_cut(codec) else None
