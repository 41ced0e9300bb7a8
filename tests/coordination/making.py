"""Real files and rows for the coordinator's tests, at the tiny format's size."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from django.test import Client

from coordination.models import Run
from coordination.rounds.create import create_run
from worker_client.contract.formats import Format, load_format
from worker_client.contract.tensors import build_header
from worker_client.contract.wire import Registration

TINY = "tiny-qwen3-lora-r4"


def vector(seed: int, fmt: Format, scale: float = 0.01) -> np.ndarray:
    """Float32 ``[parameters]`` drawn from ``seed``."""
    return (scale * np.random.default_rng(seed).standard_normal(fmt.parameters)).astype("<f4")


def write_weights(
    path: Path, fmt: Format, values: np.ndarray, metadata: dict[str, str] | None = None
) -> Path:
    """A result or snapshot file of ``values`` in manifest order."""
    header = build_header(((s.name, "F32", s.shape) for s in fmt.tensors), metadata)
    path.write_bytes(header + values.astype("<f4").tobytes())
    return path


def write_shard(path: Path, fmt: Format, rows: int, seq_len: int, seed: int = 0) -> Path:
    """A cpt data shard with random token ids."""
    ids = np.random.default_rng(seed).integers(0, fmt.vocab_size, (rows, seq_len), "<i4")
    targets = str(rows * (seq_len - 1))  # a token of the tiny tokenizer is a byte
    metadata = {"belirtec_sha256": fmt.tokenizer_sha256 or "ab" * 32}
    metadata |= {"token": targets, "bayt": targets}
    path.write_bytes(build_header([("input_ids", "I32", ids.shape)], metadata) + ids.tobytes())
    return path


def make_run(
    folder: Path,
    slug: str = "tiny",
    *,
    start: bool = True,
    languages: Iterable[str] = (),
    **fields,
) -> Run:
    """A run, of the tiny format and merged by the reference rule unless told otherwise, that
    serves its shards and has a held-out one of each of the ``languages``; open at round 1."""
    values: dict[str, Any] = {
        "slug": slug,
        "name": slug,
        "format": TINY,
        "rounds": 3,
        "inner_steps": 2,
        "batch_size": 2,
        "seq_len": 16,
        "lr": 0.01,
        "rule": "mean",
        "shards": 2,
        "chunk_bytes": 64 * 1024,
    } | fields
    fmt = load_format(values["format"])
    values.setdefault("units_per_round", values["shards"])
    values.setdefault("target_results", values["units_per_round"])
    snapshot = write_weights(folder / f"{slug}-1.safetensors", fmt, vector(1, fmt))
    shards = [
        write_shard(folder / f"{slug}-shard-{i}.safetensors", fmt, 8, values["seq_len"], i)
        for i in range(values["shards"])
    ]
    held_out = {
        name: write_shard(folder / f"{slug}-{name}.safetensors", fmt, 4, values["seq_len"], 100 + i)
        for i, name in enumerate(languages)
    }
    return create_run(Run(**values), snapshot, shards, held_out=held_out, start=start)


class WorkerOf:
    """A scripted worker that speaks the protocol through Django's test client."""

    def __init__(self, run: Run, name: str = "ada", address: str = "127.0.0.1") -> None:
        self.run, self.name, self.token = run, name, ""
        self.http = Client(REMOTE_ADDR=address)
        self.base = f"/c/{run.slug}"

    def register(self, token: str | None = None, **fields):
        """Ask for the name; from then on every request shows the token."""
        self.token = token or Registration.draw_token()
        body = {"isci": self.name, "belirtec": self.token} | fields
        answer = self.http.post(f"{self.base}/kayit", body, content_type="application/json")
        self.http.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.token}"
        return answer

    def ask(self, request_id: str | None = None, **fields):
        body = {"isci": self.name, "istek": request_id or secrets.token_hex(16)} | fields
        return self.http.post(f"{self.base}/gorev", body, content_type="application/json")

    def lease(self, request_id: str | None = None) -> dict:
        answer = self.ask(request_id)
        assert answer.status_code == 200, (answer.status_code, answer.content)
        return answer.json()

    def report(self, task: dict, step: int = 1):
        """Tell how far the task is."""
        body = {"anahtar": task["anahtar"], "adim": step}
        return self.http.post(
            f"{self.base}/gorev/{task['gorev']}/nabiz", body, content_type="application/json"
        )

    def sonuc(self, task: dict, method: str, **options):
        key = options.pop("key", task["anahtar"])
        url = f"{self.base}/sonuc?gorev={task['gorev']}"
        headers = {"X-Modelen-Anahtar": key} | options.pop("headers", {})
        return getattr(self.http, method)(url, headers=headers, **options)
