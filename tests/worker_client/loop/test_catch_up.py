"""A worker that holds the last snapshot ends with exactly the coordinator's bytes."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.downlink import compress_update
from coordination.aggregation.vectors import VectorFile
from tests.coordination.making import vector, write_weights
from worker_client.contract.encodings import CODECS, encoded_bytes
from worker_client.contract.encodings.delta import delta_header
from worker_client.contract.formats import load_format
from worker_client.contract.snapshots import snapshot_header
from worker_client.contract.wire import Task
from worker_client.loop.catch_up import can_catch_up, catch_up
from worker_client.state.records import Held

FMT = load_format("scratch-tiny")


class Published:
    """Snapshot 1 as a file, and snapshot 2 as its update and as the bytes it leads to."""

    def __init__(self, folder: Path, name: str) -> None:
        self.codec, self.folder = CODECS[name], folder
        self.old = write_weights(folder / "old", FMT, vector(1, FMT))
        (folder / "target").write_bytes((vector(1, FMT) + vector(2, FMT, 1e-3)).tobytes())
        header = self.old.stat().st_size - FMT.data_bytes
        start = VectorFile(self.old, header, FMT.parameters)
        target = VectorFile(folder / "target", 0, FMT.parameters)
        self.weights, self.left = bytearray(snapshot_header(FMT, 2)), bytearray()
        chunks = compress_update(
            start, target, None, self.codec, self.weights.extend, self.left.extend
        )
        size = encoded_bytes(self.codec, FMT.parameters)
        data = b"".join(chunk.tobytes() for chunk in chunks)
        self.update = folder / "update"
        self.update.write_bytes(delta_header(self.codec, size, {}) + data)

    def task(self, **changes: object) -> Task:
        file = {"yol": "/adaptor?tur=2", "sha256": hashlib.sha256(self.weights).hexdigest()}
        update = {"tur": 1, "yol": "/fark?tur=2", "sha256": "0" * 64, "kodlama": self.codec.id}
        wire = {
            "gorev": "g", "anahtar": "k" * 16, "tur": 2, "tur_sayisi": 3, "ic_adim": 1, "bs": 1,
            "seq": 8, "lr": 0.1, "tohum": 0, "parca": 0, "n_parca": 1, "mod": "cpt",
            "bicim": FMT.id, "sure": 60, "son": datetime.now(UTC).isoformat(),
            "adaptor": {**file, "boyut": len(self.weights)}, "fark": {**update, "boyut": 1},
        }  # fmt: skip
        return Task.model_validate_json(json.dumps(wire | changes))


@pytest.fixture(params=CODECS)
def published(request, tmp_path: Path) -> Published:
    return Published(tmp_path, request.param)


def test_the_bytes_are_the_coordinators(published, tmp_path):
    made = catch_up(published.task(), FMT, published.old, published.update, tmp_path)
    assert made is not None
    assert made.read_bytes() == bytes(published.weights)
    assert not list(tmp_path.glob("*.part"))


def test_what_was_left_out_makes_up_the_difference(published):
    weights = np.frombuffer(published.weights[-FMT.data_bytes :], "<f4")
    left = np.frombuffer(published.left, "<f4")
    target = vector(1, FMT) + vector(2, FMT, 1e-3)
    np.testing.assert_allclose(weights + left, target, atol=1e-7)


def test_a_damaged_update_or_another_snapshot_leads_to_a_whole_download(published, tmp_path):
    other = write_weights(tmp_path / "other", FMT, vector(7, FMT))
    assert catch_up(published.task(), FMT, other, published.update, tmp_path) is None
    body = bytearray(published.update.read_bytes())
    body[-3] ^= 1
    published.update.write_bytes(body)
    assert catch_up(published.task(), FMT, published.old, published.update, tmp_path) is None
    published.update.write_bytes(b"<html>")
    assert catch_up(published.task(), FMT, published.old, published.update, tmp_path) is None
    assert not list(tmp_path.glob("*.part"))


def test_only_an_update_of_what_is_held_is_taken(published):
    task = published.task()
    assert can_catch_up(task, Held(round=1, sha256="0" * 64))
    assert not can_catch_up(task, Held(round=2, sha256="0" * 64))
    assert not can_catch_up(task, None)
    unknown = task.delta.model_copy(update={"encoding": "zip"})
    assert not can_catch_up(task.model_copy(update={"delta": unknown}), Held(round=1, sha256=""))
