"""Put a run's raw text into the store, to be prepared by volunteers."""

from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ValidationError

from coordination.models import Chunk, Preparation, Round, Run, Unit
from coordination.preparing.cut import CHUNK_BYTES, article_files, cut
from coordination.storage import blobs
from coordination.store.local import Blob
from worker_client.contract.recipe import MOST_TOKENS_PER_BYTE
from worker_client.contract.wire import MAX_TOKENIZER_BYTES


@dataclass(frozen=True)
class RawText:
    """``files``: articles as JSONL, or folders of such. ``languages`` empty: all are kept.
    ``chunk_bytes``: about how long a chunk is."""

    files: list[Path]
    tokenizer: Path
    languages: tuple[str, ...] = ()
    chunk_bytes: int = CHUNK_BYTES


@dataclass(frozen=True)
class StoredText:
    tokenizer: Blob
    chunks: list[Blob]
    languages: tuple[str, ...]

    @property
    def digests(self) -> list[str]:
        return [self.tokenizer.sha256, *(chunk.sha256 for chunk in self.chunks)]


def store_text(run: Run, raw: RawText) -> StoredText:
    """Chunks and tokenizer as blobs; the tokenizer becomes that of a model from scratch.

    Raises:
        ValidationError: another tokenizer than the format's, or too little text for the shards.
    """
    if run.mode != Run.Mode.CPT:
        raise ValidationError("volunteers prepare text for continued pretraining only: --mod cpt")
    files = article_files(raw.files)
    tokenizer = _store(raw.tokenizer.read_bytes())
    if tokenizer.size > MAX_TOKENIZER_BYTES:
        raise ValidationError(f"{raw.tokenizer} is larger than any worker takes")
    run.tokenizer_sha256 = "" if run.manifest.tokenizer_sha256 else tokenizer.sha256
    if run.tokenizer != tokenizer.sha256:
        raise ValidationError(f"{raw.tokenizer} is not the tokenizer of {run.manifest.model_name}")
    chunks = [_store(chunk) for chunk in cut(files, raw.chunk_bytes)]
    most = sum(MOST_TOKENS_PER_BYTE * chunk.size // run.seq_len for chunk in chunks)
    if most < run.shards:
        raise ValidationError(f"this text makes at most {most} rows, too few for {run.shards}")
    return StoredText(tokenizer, chunks, raw.languages)


def save_text(run: Run, round_: Round, stored: StoredText) -> None:
    """Rows for the text, and a unit of work for each chunk. They belong to the run's first round,
    which begins when they are done. Call it inside the transaction that saves the run."""
    Preparation.objects.create(
        run=run,
        tokenizer_sha256=stored.tokenizer.sha256,
        tokenizer_size=stored.tokenizer.size,
        languages=list(stored.languages),
    )
    chunks = Chunk.objects.bulk_create(
        Chunk(run=run, index=index, sha256=blob.sha256, size=blob.size)
        for index, blob in enumerate(stored.chunks)
    )
    Unit.objects.bulk_create(
        Unit(round=round_, shard=chunk.index, job=Unit.Job.PREPROCESS, chunk=chunk)
        for chunk in chunks
    )


def _store(data: bytes) -> Blob:
    with blobs().new_file() as writer:
        writer.write(data)
        return writer.seal()
