"""Texts cut by ourselves have the library's tokens."""

import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer, pre_tokenizers

from tests.worker_client.corpus.conftest import packing
from worker_client.corpus import words
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.vocabulary import codec_of
from worker_client.corpus.words import Words, can_cut, is_old
from worker_client.data.article import read_article
from worker_client.models.load import TextCodec

ODD = (
    "ab é\u0301 'll't're's _.,-<|endoftext|> 12\u0664\u00b2\u2167 "
    "\n\t\r\u00a0\u3000\u200b\u6f22\u3042\x00\x1c\x85"
)
YOUNG = "\U0001f600 \u0558\u20bf"


@pytest.fixture(scope="module")
def codec(corpus: Path) -> TextCodec:
    return codec_of(packing(corpus).vocabulary)


def test_articles_have_the_librarys_tokens(codec, corpus):
    texts = [read_article(line).text for path in clean_files(corpus) for line in path.open("rb")]
    assert [ids.tolist() for ids in Words(codec).encode_all(texts)] == codec.encode_batch(texts)


@pytest.mark.parametrize("most", [words.MOST_WORDS, 10])
def test_odd_texts_have_the_librarys_tokens(codec, monkeypatch, most):
    monkeypatch.setattr(words, "MOST_WORDS", most)
    draw, found = random.Random(1), Words(codec)
    for _ in range(5000):
        text = "".join(draw.choices(ODD + YOUNG * (draw.random() < 0.1), k=draw.randint(0, 40)))
        assert found.encode(text) == codec.encode(text), repr(text)


def test_every_character_is_cut_as_the_library_does_or_left_to_it(codec):
    cut = codec.tokenizer.pre_tokenizer.pre_tokenize_str
    for point in (*range(0xD800), *range(0xE000, 0x20000)):
        character = chr(point)
        text = f"a{character}{character} b{character} 1{character} {character}."
        theirs = [text[begin:end] for _, (begin, end) in cut(text)]
        assert words.WORD.findall(text) == theirs or not is_old(character), hex(point)


@pytest.mark.parametrize("change", ["pre_tokenizer", "normalizer", "added_token"])
def test_other_tokenizers_cut_for_themselves(codec, change):
    from tokenizers import normalizers

    tokenizer = Tokenizer.from_str(codec.tokenizer.to_str())
    assert can_cut(TextCodec(tokenizer, 0, ""))
    if change == "pre_tokenizer":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    elif change == "normalizer":
        tokenizer.normalizer = normalizers.Lowercase()
    else:
        tokenizer.add_tokens(["th"])
    assert not can_cut(TextCodec(tokenizer, 0, ""))
