"""Verb: a clean corpus into shuffled rows of tokens, some documents held out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from worker_client.corpus.documents import Document, Documents, Split, is_held_out, place_of
from worker_client.corpus.ingest import NAME as INGEST
from worker_client.corpus.ingest import clean_files
from worker_client.corpus.processes import in_order
from worker_client.corpus.vocabulary import Vocabulary, codec_of, words_of
from worker_client.corpus.workspace import Step, write
from worker_client.data.article import read_article
from worker_client.data.pack import Counts, encode, pack_tokens
from worker_client.models.progress import Progress, silent

NAME, INDEX, BYTE_LENGTHS = "pack", "documents.sqlite3", "byte-lengths.npy"
TOKENS = "tokens-{}.i4"
HELD_OUT = 0.01


@dataclass(frozen=True)
class Packing:
    """How a corpus is packed: tokens per row, share of documents held out, seed of their order."""

    vocabulary: Vocabulary
    seq_len: int = 512
    held_out: float = HELD_OUT
    seed: int = 0


def pack(
    corpus: Path,
    packing: Packing,
    *,
    processes: int = 1,
    again: bool = False,
    progress: Progress = silent,
) -> dict:
    """Tokenise what ``ingest`` left, shuffle its documents and cut them into rows, by language.

    Raises:
        DataError: ``ingest`` has not been done, or the folder was packed otherwise.
        ModelMissing, ModelCorrupt, TokenizerRefused: of the vocabulary.
    """
    step, files, codec = Step(corpus, NAME), clean_files(corpus), codec_of(packing.vocabulary)
    plan = {
        "corpus": Step(corpus, INGEST).report()["sha256"],
        "tokenizer": codec.sha256,
        "seq": packing.seq_len,
        "held-out": packing.held_out,
        "seed": packing.seed,
    }
    with step.working(plan, again=again):
        if step.is_done:
            return step.report()
        _tokenise_all(step.folder, files, packing, processes, progress)
        splits = _pack_all(step.folder, files, packing, processes, progress)
        np.save(step.folder / BYTE_LENGTHS, codec.byte_lengths)
        report = step.finish({**plan, "languages": _by_language(splits)})
        for path in step.folder.glob(TOKENS.format("*")):
            path.unlink()
        return report


def _tokenise_all(
    folder: Path, files: list[Path], packing: Packing, processes: int, progress: Progress
) -> None:
    documents, total = Documents(folder / INDEX), sum(path.stat().st_size for path in files)
    try:
        first = documents.pieces
        done = sum(path.stat().st_size for path in files[:first])
        jobs = list(enumerate(files))[first:]
        tokenise = partial(tokenise_piece, folder=folder, packing=packing)
        for (number, path), found in zip(jobs, in_order(tokenise, jobs, processes), strict=True):
            documents.add_piece(number, found)
            done += path.stat().st_size
            progress("tokenise", done, total, "B")
        documents.sort()
    finally:
        documents.close()


def tokenise_piece(job: tuple[int, Path], folder: Path, packing: Packing) -> list[Document]:
    """Write the tokens of a file of articles, one after the other; where each is."""
    number, path = job
    found, pieces, start = list(_lines(number, path, packing)), [], 0
    texts = (text for text, _ in found)
    for index, ids in enumerate(_encode(texts, packing.vocabulary)):
        text, document = found[index]
        found[index] = (text, replace(document, start=start, tokens=len(ids)))
        start += len(ids)
        pieces.append(ids.astype("<i4").tobytes())
    write(tokens_file(folder, number), pieces)
    return [document for _, document in found]


def _encode(texts: Iterable[str], vocabulary: Vocabulary) -> Iterator[np.ndarray]:
    words = words_of(vocabulary)
    return words.encode_all(texts) if words else encode(texts, codec_of(vocabulary))


def tokens_file(folder: Path, piece: int) -> Path:
    return folder / TOKENS.format(f"{piece:06d}")


def _lines(number: int, path: Path, packing: Packing) -> Iterator[tuple[str, Document]]:
    with path.open("rb") as file:
        for line in file:
            article = read_article(line)
            text = article.text
            yield (
                text,
                Document(
                    language=article.language,
                    held_out=is_held_out(text, packing.held_out),
                    place=place_of(text, packing.seed),
                    piece=number,
                    line_start=file.tell() - len(line),
                    line_bytes=len(line),
                    start=0,
                    tokens=0,
                    bytes=len(text.encode()),
                ),
            )


def _pack_all(
    folder: Path, files: list[Path], packing: Packing, processes: int, progress: Progress
) -> dict[Split, dict[str, int]]:
    documents = Documents(folder / INDEX)
    splits = documents.splits()
    documents.close()
    total, done = sum(found["tokens"] for found in splits.values()), 0
    work = partial(pack_split, folder=folder, files=files, packing=packing)
    for found, rows in zip(splits.values(), in_order(work, splits, processes), strict=True):
        found["rows"] = rows
        done += found["tokens"]
        progress("pack", done, total, "token")
    return splits


def pack_split(split: Split, folder: Path, files: list[Path], packing: Packing) -> int:
    """Write a split's rows, and of what is held out the articles too; how many rows."""
    path = rows_file(folder, split)
    if not path.exists():
        end = codec_of(packing.vocabulary).end_of_text
        documents = Documents(folder / INDEX)
        try:
            if split.held_out:
                write(path.with_suffix(".jsonl"), _articles(documents.of(split), files))
            ids = _tokens(documents.of(split), folder)
            rows = pack_tokens(ids, end, packing.seq_len, Counts())
            write(path, (block.astype("<i4").tobytes() for block in rows))
        finally:
            documents.close()
    return path.stat().st_size // (4 * packing.seq_len)


def rows_file(folder: Path, split: Split) -> Path:
    """int32 ``[rows, seq]``, little-endian."""
    return folder / f"{split.name}.i4"


def _tokens(documents: Iterable[Document], folder: Path) -> Iterator[np.ndarray]:
    for found in documents:
        path = tokens_file(folder, found.piece)
        yield np.fromfile(path, "<i4", found.tokens, offset=4 * found.start)


def _articles(documents: Iterable[Document], files: list[Path]) -> Iterator[bytes]:
    for found in documents:
        yield read_line(files[found.piece], found)


def read_line(path: Path, document: Document) -> bytes:
    with path.open("rb") as file:
        file.seek(document.line_start)
        return file.read(document.line_bytes)


def _by_language(splits: dict[Split, dict[str, int]]) -> dict[str, dict]:
    languages: dict[str, dict] = {}
    for split, found in splits.items():
        part = "held_out" if split.held_out else "train"
        languages.setdefault(split.language, {})[part] = found
    return languages
