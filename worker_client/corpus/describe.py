"""What is told of a corpus to those who may know: numbers by language, and samples of its text."""

from pathlib import Path

from worker_client.contract.corpora import CorpusDescription, Sample
from worker_client.corpus.documents import Documents, Split
from worker_client.corpus.ingest import NAME as INGEST
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.pack import INDEX, read_line
from worker_client.corpus.pack import NAME as PACK
from worker_client.corpus.workspace import Step
from worker_client.data.article import read_article

SAMPLES, SAMPLE_CHARACTERS = 2, 300


def describe(corpus: Path) -> CorpusDescription:
    """What came of each language, from articles to tokens, and how a few articles begin."""
    ingested, packed = Step(corpus, INGEST).report(), Step(corpus, PACK).report()
    languages = {
        name: found | packed["languages"].get(name, {})
        for name, found in ingested["languages"].items()
    }
    return CorpusDescription(
        sha256=ingested["sha256"],
        tokenizer=packed["tokenizer"],
        languages=languages,
        samples=[sample for name in packed["languages"] for sample in _samples(corpus, name)],
    )


def _samples(corpus: Path, language: str) -> list[Sample]:
    """Those that come first in the shuffled training text."""
    files, documents = clean_files(corpus), Documents(Step(corpus, PACK).folder / INDEX)
    try:
        found = list(documents.of(Split(language, False), SAMPLES))
    finally:
        documents.close()
    articles = [read_article(read_line(files[row.piece], row)) for row in found]
    return [
        Sample(
            language=language,
            title=article.title[:SAMPLE_CHARACTERS],
            category=article.category[:SAMPLE_CHARACTERS],
            text=article.body[:SAMPLE_CHARACTERS],
        )
        for article in articles
    ]
