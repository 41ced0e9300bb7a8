"""Fuzz targets: the coordinator's and the worker's readers of weights, against the judge."""

import hashlib
import io
import json
import random
import struct
from dataclasses import replace
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from coordination.aggregation.check import check_result
from coordination.aggregation.vectors import VectorFile
from tests.fuzzing import judging
from tests.fuzzing.files import mutated, mutated_delta
from tests.fuzzing.running import Wrong
from tests.fuzzing.wires import CAUGHT_UP, FILE, MEASUREMENT, UPDATE
from worker_client.contract.encodings import CODECS, Codec
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.formats import AdapterFormat, Format, Lora, LoraModule, load_format
from worker_client.contract.wire import RAW_ENCODING, VECTOR_ENCODING, Candidate, Task
from worker_client.loop.candidates import weights_of
from worker_client.loop.catch_up import catch_up
from worker_client.training.errors import SnapshotRefused
from worker_client.training.files import read_weights

# Between an honest update and one that is scaled.
NORM_LIMIT = 1.0
KEY = b"key" * 11
REFUSALS = {
    Refusal.CORRUPT_FILE,
    Refusal.TENSOR_MISSING,
    Refusal.TENSOR_EXTRA,
    Refusal.WRONG_DTYPE,
    Refusal.WRONG_SHAPE,
    Refusal.NOT_FINITE,
    Refusal.NORM_EXCEEDED,
}


def small_format() -> Format:
    """Four tensors, two of them of one shape, so that a case takes no time."""
    modules = (LoraModule("q", 3, 3), LoraModule("k", 3, 5))
    tiny = load_format("tiny-qwen3-lora-r4")
    assert isinstance(tiny, AdapterFormat)
    return replace(tiny, lora=Lora(1, 1, 1, modules))


def odd_format() -> Format:
    """So many parameters that no block, group or byte of any encoding ends with them."""
    tiny = load_format("tiny-qwen3-lora-r4")
    assert isinstance(tiny, AdapterFormat)
    return replace(tiny, lora=Lora(1, 1, 1, (LoraModule("q", 2000, 2501),)))


class Weights:
    """A format, a snapshot of it on disk, and a place for files."""

    def __init__(self, folder: Path, fmt: Format | None = None) -> None:
        self.fmt = fmt or small_format()
        self.start = 0.1 * np.random.default_rng(0).standard_normal(self.fmt.parameters)
        self.start = self.start.astype("<f4")
        self.file = folder / f"file-{self.fmt.parameters}"
        snapshot = folder / f"start-{self.fmt.parameters}"
        snapshot.write_bytes(self.start.tobytes())
        self.snapshot = VectorFile(snapshot, 0, self.fmt.parameters)

    def mutated(self, draw: random.Random) -> bytes:
        body = mutated(self.fmt, self.start, draw)
        self.file.write_bytes(body)
        return body


class ResultReader:
    """``check_result``: none accepted wrongly, none refused wrongly, no other bytes written."""

    name = "result reader"

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def play(self, draw: random.Random) -> str:
        return self.read(self._weights.mutated(draw))

    def read(self, body: bytes) -> str:
        w, out = self._weights, io.BytesIO()
        w.file.write_bytes(body)
        right = judging.judge(body, w.fmt, w.start, NORM_LIMIT)
        try:
            check_result(w.file, w.fmt, w.snapshot, NORM_LIMIT, out, KEY)
        except Refused as refused:
            if refused.refusal not in REFUSALS or not refused.detail:
                raise Wrong(f"refused with {refused.refusal}: {refused.detail!r}") from None
            if right is not None and not judging.is_near(body, w.fmt, w.start, NORM_LIMIT):
                raise Wrong(f"a valid file was refused: {refused.detail}") from None
            return refused.refusal.code
        if right is None and not judging.is_near(body, w.fmt, w.start, NORM_LIMIT):
            raise Wrong("an invalid file was accepted")
        if right is not None and out.getvalue() != right.tobytes():
            raise Wrong("other weights were stored than the file holds")
        return "accepted"

    def refusal(self, body: bytes) -> str:
        """The code with which ``check_result`` alone refuses ``body``, or nothing."""
        w = self._weights
        w.file.write_bytes(body)
        try:
            check_result(w.file, w.fmt, w.snapshot, NORM_LIMIT, io.BytesIO(), KEY)
        except Refused as refused:
            return refused.refusal.code
        return ""


class DeltaReader:
    """``check_result`` of encoded deltas, in every encoding."""

    name = "encoded results"

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def play(self, draw: random.Random) -> str:
        w, out = self._weights, io.BytesIO()
        codec = draw.choice(list(CODECS.values()))
        body = mutated_delta(codec, w.fmt.parameters, draw)
        w.file.write_bytes(body)
        right = judging.judge_delta(body, codec.id, w.start, NORM_LIMIT)
        try:
            check_result(w.file, w.fmt, w.snapshot, NORM_LIMIT, out, KEY, codec.id)
        except Refused as refused:
            if right is not None:
                raise Wrong(f"a valid {codec.id} was refused: {refused.detail}") from None
            return refused.refusal.code
        if right is None:
            raise Wrong(f"an invalid {codec.id} was accepted")
        if out.getvalue() != right.tobytes():
            raise Wrong(f"other weights were stored than the {codec.id} holds")
        return f"accepted {codec.id}"


class Updates:
    """``catch_up``: from the held snapshot and an update the task's own bytes, or nothing."""

    name = "updates"

    def __init__(self, weights: Weights) -> None:
        self._weights, self._folder = weights, weights.file.parent
        self._held = self._folder / "held"
        self._held.write_bytes(snapshot_head(weights.fmt, 1) + weights.start.tobytes())

    def play(self, draw: random.Random) -> str:
        w = self._weights
        codec = draw.choice(list(CODECS.values()))
        body = mutated_delta(codec, w.fmt.parameters, draw)
        w.file.write_bytes(body)
        right = judging.judge_delta(body, codec.id, w.start, inf)
        whole = b"" if right is None else snapshot_head(w.fmt, 2) + right.tobytes()
        found = catch_up(update_task(w.fmt, codec, whole), w.fmt, self._held, w.file, self._folder)
        if (found is None) != (right is None):
            raise Wrong(f"a {codec.id} update led to {found} where it should not, or did not lead")
        if found and found.read_bytes() != whole:
            raise Wrong(f"other bytes came of a {codec.id} update than its task names")
        return f"accepted {codec.id}" if found else "refused"


def snapshot_head(fmt: Format, number: int) -> bytes:
    """The header of a snapshot in the document's words."""
    header: dict[str, Any] = {"__metadata__": {"bicim": fmt.id, "format": "pt", "tur": str(number)}}
    begin = 0
    for spec in fmt.tensors:
        end = begin + 4 * prod(spec.shape)
        entry = {"dtype": "F32", "shape": list(spec.shape), "data_offsets": [begin, end]}
        header[spec.name], begin = entry, end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def update_task(fmt: Format, codec: Codec, whole: bytes) -> Task:
    """Leads from snapshot 1 to the bytes ``whole``; to none that there are if they are empty."""
    digest = hashlib.sha256(whole).hexdigest() if whole else "0" * 64
    snapshot = FILE | {"sha256": digest, "boyut": len(whole) or 1}
    changes = {"adaptor": snapshot, "fark": UPDATE | {"kodlama": codec.id}, "bicim": fmt.id}
    return Task.model_validate_json(json.dumps(CAUGHT_UP | changes))


class CandidateReader:
    """``weights_of`` and ``read_weights``: the very weights of a result to be measured, in every
    encoding and as a vector, or none."""

    name = "candidates"

    def __init__(self, weights: Weights) -> None:
        self._weights, self._folder = weights, weights.file.parent / "candidates"
        self._folder.mkdir()
        self._start = self._folder / "start"
        self._start.write_bytes(snapshot_head(weights.fmt, 1) + weights.start.tobytes())
        self._task = Task.model_validate_json(json.dumps(MEASUREMENT | {"bicim": weights.fmt.id}))

    def play(self, draw: random.Random) -> str:
        encoding = draw.choice((RAW_ENCODING, VECTOR_ENCODING, *CODECS))
        body, right = self._drawn(encoding, draw)
        try:
            tensors = read_weights(self._weights_of(encoding, body), self._weights.fmt)
        except (Refused, SnapshotRefused) as refused:
            if right is not None:
                raise Wrong(f"a valid {encoding} was refused: {refused}") from None
            return "refused"
        if right is None:
            raise Wrong(f"an invalid {encoding} was measured")
        found = np.concatenate([tensors[spec.name].ravel() for spec in self._weights.fmt.tensors])
        if found.tobytes() != right.tobytes():
            raise Wrong(f"other weights were measured than the {encoding} holds")
        return f"accepted {encoding}"

    def _drawn(self, encoding: str, draw: random.Random) -> tuple[bytes, np.ndarray | None]:
        """A file and the weights that are in it, if any are."""
        w = self._weights
        if encoding == RAW_ENCODING:
            body = mutated(w.fmt, w.start, draw)
            return body, judging.judge(body, w.fmt, w.start, inf)
        if encoding != VECTOR_ENCODING:
            body = mutated_delta(CODECS[encoding], w.fmt.parameters, draw)
            return body, judging.judge_delta(body, encoding, w.start, inf)
        change = draw.choice((b"", b"", b"\0", b"\0" * 4, struct.pack("<f", draw.choice((inf, 1)))))
        body = w.start.tobytes()[len(change) * draw.choice((0, 1)) :] + change
        vector = np.frombuffer(body, "<f4") if len(body) == w.start.nbytes else None
        return body, vector if vector is not None and np.isfinite(vector).all() else None

    def _weights_of(self, encoding: str, body: bytes) -> Path:
        result = self._folder / "result"
        result.write_bytes(body)
        candidate = Candidate(snapshot=self._task.snapshot, encoding=encoding)
        fmt, folder = self._weights.fmt, self._folder
        return weights_of(candidate, self._task, fmt, self._start, result, folder)


class SnapshotReader:
    """``read_weights``: what a worker does with a coordinator's snapshot."""

    name = "snapshot reader"

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def play(self, draw: random.Random) -> str:
        w = self._weights
        right = judging.judge(w.mutated(draw), w.fmt, w.start, np.inf)
        try:
            tensors = read_weights(w.file, w.fmt)
        except SnapshotRefused as refused:
            if right is not None:
                raise Wrong(f"a valid snapshot was refused: {refused}") from None
            return "refused"
        if right is None:
            raise Wrong("an invalid snapshot was accepted")
        found = np.concatenate([tensors[spec.name].ravel() for spec in w.fmt.tensors])
        if found.tobytes() != right.tobytes():
            raise Wrong("other weights were read than the file holds")
        return "accepted"
