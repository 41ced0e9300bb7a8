"""A corpus of articles from the documentation and by hand, as each step leaves it."""

from pathlib import Path

import pytest

from tests.worker_client.corpus.texts import BY_HAND, article, from_docs, write_articles
from worker_client.corpus.ingest import ingest
from worker_client.corpus.pack import Packing, pack
from worker_client.corpus.quality import Rules
from worker_client.corpus.tokenizer import tokenizer_file, train_tokenizer
from worker_client.corpus.vocabulary import Vocabulary

RULES = Rules(min_characters=100)
HELD_OUT, SEQ = 0.1, 32


@pytest.fixture(scope="session")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 from the documentation, of which 20 are copies, one by hand in each of five languages,
    a German one that differs in a word from another, and one that is English."""
    title, body = BY_HAND["de"]
    odd = [article("de", body=body + " Na gut."), article("en", language="de")]
    rows = [*map(article, BY_HAND), *from_docs(200), *odd]
    return write_articles(tmp_path_factory.mktemp("articles") / "articles.jsonl", rows)


@pytest.fixture(scope="session")
def corpus(articles: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Through ``ingest``, ``tokenizer`` and ``pack``; to be read only."""
    folder = tmp_path_factory.mktemp("corpus")
    ingest(folder, [articles], RULES)
    train_tokenizer(folder, vocabulary=600, held_out=HELD_OUT)
    pack(folder, packing(folder))
    return folder


def packing(corpus: Path, seed: int = 0) -> Packing:
    return Packing(Vocabulary(tokenizer_file(corpus)), SEQ, HELD_OUT, seed)
