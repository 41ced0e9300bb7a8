"""The tokenizer is learned from all languages alike, loses nothing, and is the same each time."""

import pytest
from tokenizers import Tokenizer

from tests.worker_client.corpus.conftest import HELD_OUT
from tests.worker_client.corpus.texts import BY_HAND
from worker_client.corpus.tokenizer import _copies, tokenizer_file, train_tokenizer
from worker_client.corpus.workspace import Step
from worker_client.models.digests import sha256_file
from worker_client.models.load import read_codec


@pytest.mark.parametrize(
    "text", [body for _, body in BY_HAND.values()] + ["\x00\n  12345 \U0001f389"]
)
def test_nothing_is_lost(corpus, text):
    codec = read_codec(tokenizer_file(corpus), 600)
    ids = codec.encode(text)
    assert codec.tokenizer.decode(ids) == text
    assert codec.byte_lengths[ids].sum() == len(text.encode())


def test_it_has_the_size_asked_for_and_its_digest_is_told(corpus):
    report = Step(corpus, "tokenizer").report()
    path = tokenizer_file(corpus)
    assert report["vocabulary"] == Tokenizer.from_file(str(path)).get_vocab_size() == 600
    assert report["sha256"] == sha256_file(path)


def test_the_same_corpus_gives_the_same_bytes(corpus, tmp_path):
    (tmp_path / "ingest").symlink_to(corpus / "ingest")
    train_tokenizer(tmp_path, vocabulary=600, held_out=HELD_OUT)
    assert tokenizer_file(tmp_path).read_bytes() == tokenizer_file(corpus).read_bytes()


def test_fertility_is_measured_on_what_is_held_out(corpus):
    report, packed = (Step(corpus, name).report()["languages"] for name in ("tokenizer", "pack"))
    assert report["en"]["bytes"] == packed["en"]["held_out"]["bytes"]
    ratio = packed["en"]["held_out"]["bytes"] / packed["en"]["held_out"]["tokens"]
    assert report["en"]["bytes_per_token"] == pytest.approx(ratio, abs=1e-3)
    assert 1 < report["en"]["tokens_per_word"] < 6


def test_languages_weigh_alike_as_far_as_their_text_goes():
    copies = _copies({"en": 1_000_000, "tr": 100_000, "ku": 10_000, "xx": 0}, 600_000)
    assert copies == {"en": 0.2, "tr": 2.0, "ku": 4}
