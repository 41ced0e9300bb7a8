"""Verb: a byte-level BPE tokenizer of a corpus, balanced over its languages.

R. Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, 2016; over bytes
as in A. Radford et al., Language Models are Unsupervised Multitask Learners, 2019. Training and
encoding are the library ``tokenizers``.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from worker_client.corpus.documents import is_held_out, place_of
from worker_client.corpus.fingerprint import words
from worker_client.corpus.ingest import NAME as INGEST
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.pack import HELD_OUT
from worker_client.corpus.workspace import Step, write
from worker_client.data.article import Article, read_article
from worker_client.data.pack import encode
from worker_client.models.load import TextCodec, read_codec
from worker_client.models.progress import Progress, silent
from worker_client.models.seeded_base import SPECIAL_TOKENS

NAME, FILE = "tokenizer", "tokenizer.json"
VOCABULARY = 49_152
SMALLEST, LARGEST = 256 + len(SPECIAL_TOKENS), 65_536
# How often a language with little text is read, so that others do not drown it.
MOST_REPEATS = 4
BUDGET_BYTES = 100_000_000
MEASURED_BYTES = 1_000_000
PRE_TOKENIZER = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
)


def train_tokenizer(
    corpus: Path,
    *,
    vocabulary: int = VOCABULARY,
    budget: int = BUDGET_BYTES,
    held_out: float = HELD_OUT,
    again: bool = False,
    progress: Progress = silent,
) -> dict:
    """Learn ``tokenizer.json`` from at most ``budget`` bytes; returns the report.

    Every language gives equally many bytes, one with little text up to ``MOST_REPEATS`` times
    all it has. Documents that ``pack`` holds out are not learned from; fertility is measured on
    them.

    Raises:
        DataError: ``ingest`` has not been done, or the folder was made otherwise.
    """
    step, files = Step(corpus, NAME), clean_files(corpus)
    found = Step(corpus, INGEST).report()
    plan = {"corpus": found["sha256"], "vocabulary": vocabulary, "budget": budget}
    with step.working({**plan, "held-out": held_out}, again=again):
        if step.is_done:
            return step.report()
        copies = _copies({name: row["bytes"] for name, row in found["languages"].items()}, budget)
        learned = _chosen(_read(files, held_out, False, progress), copies)
        path = tokenizer_file(corpus)
        write(path, [train_bpe(learned, vocabulary, PRE_TOKENIZER).encode() + b"\n"])
        codec = read_codec(path, vocabulary)
        report = {
            **plan,
            "vocabulary": codec.size,
            "sha256": codec.sha256,
            "languages": _fertility(_read(files, held_out, True, progress), codec),
        }
        return step.finish(report)


def tokenizer_file(corpus: Path) -> Path:
    return corpus / NAME / FILE


def _copies(sizes: dict[str, int], budget: int) -> dict[str, float]:
    """How often each language's text is read: 0.1 is every tenth document, 2.5 all of it twice
    and half of it a third time."""
    spoken = {name: size for name, size in sizes.items() if size}
    share = budget / len(spoken)
    return {name: min(MOST_REPEATS, share / size) for name, size in spoken.items()}


def _read(
    files: list[Path], share: float, held_out: bool, progress: Progress
) -> Iterator[tuple[Article, str]]:
    total, done = sum(path.stat().st_size for path in files), 0
    for path in files:
        with path.open("rb") as file:
            for line in file:
                article = read_article(line)
                text = article.text
                if is_held_out(text, share) == held_out:
                    yield article, text
                done += len(line)
        progress("measure" if held_out else "learn", done, total, "B")


def _chosen(articles: Iterable[tuple[Article, str]], copies: dict[str, float]) -> Iterator[str]:
    """Texts as often as ``copies`` says; which of them once more, their own bytes decide."""
    for article, text in articles:
        whole, part = divmod(copies[article.language], 1)
        for _ in range(int(whole) + (place_of(text, 0) < part * 2**63)):
            yield text


def train_bpe(
    texts: Iterator[str], vocabulary: int, pre_tokenizer: pre_tokenizers.PreTokenizer
) -> str:
    """The ``tokenizer.json`` of a byte-level BPE; ``pre_tokenizer`` must end in ``ByteLevel``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=sys.stderr.isatty(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str(pretty=True)


def _fertility(articles: Iterable[tuple[Article, str]], codec: TextCodec) -> dict[str, dict]:
    """Tokens per word and bytes per token of each language, on its first held-out megabyte."""
    texts: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for article, text in articles:
        if sizes[article.language] < MEASURED_BYTES:
            texts[article.language].append(text)
            sizes[article.language] += len(text.encode())
    return {name: _measured(found, sizes[name], codec) for name, found in sorted(texts.items())}


def _measured(texts: list[str], size: int, codec: TextCodec) -> dict:
    tokens = sum(len(ids) for ids in encode(texts, codec))
    spoken = sum(len(words(text)) for text in texts)
    return {
        "bytes": size,
        "tokens_per_word": round(tokens / max(1, spoken), 3),
        "bytes_per_token": round(size / max(1, tokens), 3),
    }
