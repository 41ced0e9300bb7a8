"""A run of raw text, and volunteers who prepare it as the real program does."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coordination.models import Check, Run, Worker
from coordination.preparing.check import judge_rows
from coordination.preparing.counts import pending_checks
from coordination.preparing.store import RawText
from coordination.rounds.create import create_run
from coordination.workers.show_text import show_text
from tests.coordination.making import TINY, WorkerOf, vector, write_weights
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import build_header
from worker_client.corpus.chunk import make_rows, write_rows
from worker_client.models.load import served_codec
from worker_client.models.seeded_base import tokenizer_json

FMT = load_format(TINY)
SEQ = 16
WORDS = (
    "the ferry crosses a bay while old people stand at its pier and watch how it comes home".split()
)


def article(number: int) -> dict[str, str]:
    """Different words in every article, which no rule leaves out."""
    draw = np.random.default_rng(number)
    body = " ".join(draw.permutation(WORDS * 4))
    return {"title": f"Ferry {number}", "body": body, "language": "en"}


def write_articles(path: Path, count: int) -> Path:
    lines = [json.dumps(article(number)) for number in range(count)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def make_raw_run(folder: Path, *, articles: int = 6, slug: str = "raw", **fields: Any) -> Run:
    """Of three chunks, two articles each, unless told otherwise."""
    values: dict[str, Any] = {
        "slug": slug,
        "name": slug,
        "format": TINY,
        "rounds": 1,
        "inner_steps": 2,
        "batch_size": 2,
        "seq_len": SEQ,
        "rule": "mean",
        "shards": 2,
        "chunk_bytes": 64 * 1024,
    } | fields
    values.setdefault("units_per_round", values["shards"])
    values.setdefault("target_results", values["units_per_round"])
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer_json(), "utf-8")
    text = write_articles(folder / "articles.jsonl", articles)
    raw = RawText([text], tokenizer, chunk_bytes=400)
    snapshot = write_weights(folder / f"{slug}-1.safetensors", FMT, vector(1, FMT))
    return create_run(Run(**values), snapshot, [], raw=raw)


class Preparer(WorkerOf):
    """Registered, and shown text unless told otherwise."""

    def __init__(self, run: Run, name: str, post: Callable, *, shown: bool = True) -> None:
        super().__init__(run, name)
        self._post = post
        self.register()
        if shown:
            show_text(self.row)

    @property
    def row(self) -> Worker:
        return Worker.objects.get(run=self.run, name=self.name)

    def ask(self, request_id: str | None = None, **fields):
        return super().ask(request_id, **({"isler": ["egit", "on_isle"]} | fields))

    def fetch(self, ref: dict) -> bytes:
        answer = self.http.get(f"{self.base}{ref['yol']}")
        assert answer.status_code == 200, answer.content
        return answer.getvalue()

    def make(self, task: dict, **metadata: str) -> bytes:
        """What the real program answers."""
        with tempfile.TemporaryDirectory() as name:
            raw, tokenizer, out = (Path(name) / part for part in ("raw", "tokenizer", "out"))
            raw.write_bytes(self.fetch(task["ham_metin"]))
            tokenizer.write_bytes(self.fetch(task["belirtec"]))
            codec = served_codec(tokenizer, FMT)
            chunk = make_rows(raw, codec, task["seq"], tuple(task.get("diller", ())))
            write_rows(out, chunk, codec, {"gorev": task["gorev"], "sure_s": "1.5"} | metadata)
            return out.read_bytes()

    def send(self, task: dict, body: bytes):
        return self._post(self, task, body)

    def work(self) -> dict:
        task = self.lease()
        answer = self.send(task, self.make(task))
        assert answer.status_code == 200, answer.content
        return task

    def lie(self) -> dict:
        """Rows of a text's length that are not its rows."""
        task = self.lease()
        answer = self.send(task, rows_file(np.full((3, SEQ), 65)))
        assert answer.status_code == 200, answer.content
        return task


def rows_file(ids: np.ndarray, **changes: str) -> bytes:
    """A shard of any rows."""
    count = str(len(ids) * (SEQ - 1))
    metadata = {"belirtec_sha256": FMT.tokenizer_sha256 or "", "token": count, "bayt": count}
    header = build_header([("input_ids", "I32", ids.shape)], metadata | changes)
    return header + ids.astype("<i4").tobytes()


def judge_all(run: Run) -> None:
    """As if the server had found all rows under check to be right: it takes it seconds each."""
    for pk in pending_checks(run):
        check = Check.objects.get(pk=pk)
        judge_rows(check, check.result.vector_sha256)


@pytest.fixture
def run(db, tmp_path: Path) -> Run:
    return make_raw_run(tmp_path)


@pytest.fixture
def preparer(post_whole) -> Callable[..., Preparer]:
    def make(run: Run, name: str, **options: bool) -> Preparer:
        return Preparer(run, name, post_whole, **options)

    return make


@pytest.fixture
def ada(run: Run, preparer) -> Preparer:
    return preparer(run, "ada")
