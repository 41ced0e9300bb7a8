"""Results as encoded deltas, and what topk left out."""

from pathlib import Path

import numpy as np
import pytest

from worker_client.contract.encodings import CHUNK, CODECS
from worker_client.contract.encodings.delta import Delta
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import read_header
from worker_client.training.deltas import left_path, write_delta
from worker_client.training.files import write_weights

FMT = load_format("scratch-tiny")


def draw(seed: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {s.name: (scale * rng.standard_normal(s.shape)).astype("<f4") for s in FMT.tensors}


def flat(tensors: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([tensors[spec.name].ravel() for spec in FMT.tensors])


def decode(path: Path, codec) -> np.ndarray:
    out = np.empty(FMT.parameters, "<f4")
    with path.open("rb") as file:
        delta = Delta.of(read_header(file, path.stat().st_size), codec, FMT.parameters)
        for begin in range(0, FMT.parameters, CHUNK):
            end = min(begin + CHUNK, FMT.parameters)
            delta.read(file, begin, end, out[begin:end])
    return out


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_weights(tmp_path / "snapshot", FMT, draw(1), {}).path


def moved(seed: int) -> dict[str, np.ndarray]:
    start, step = draw(1), draw(seed, 1e-3)
    return {name: start[name] + step[name] for name in start}


@pytest.mark.parametrize("name", ["bf16", "int8", "int4"])
def test_the_delta_comes_back_and_leaves_nothing(tmp_path, snapshot, name):
    codec, trained = CODECS[name], moved(2)
    written = write_delta(tmp_path / "out", FMT, codec, snapshot, trained, {})
    delta = flat(trained) - flat(draw(1))
    error = np.linalg.norm(decode(written.path, codec) - delta) / np.linalg.norm(delta)
    assert error < {"bf16": 0.002, "int8": 0.01, "int4": 0.13}[name]
    assert not left_path(written.path).exists()


def test_topk_sends_later_what_it_left_out(tmp_path, snapshot):
    codec, residual = CODECS["topk"], tmp_path / "residual"
    sent, wanted = np.zeros(FMT.parameters), np.zeros(FMT.parameters)
    for _ in range(200):
        trained = moved(2)  # the same update again and again
        written = write_delta(tmp_path / "out", FMT, codec, snapshot, trained, {}, residual)
        left_path(written.path).replace(residual)
        sent = sent + decode(written.path, codec)
        wanted = wanted + (flat(trained) - flat(draw(1)))
        left = np.fromfile(residual, "<f4")
        np.testing.assert_allclose(sent + left, wanted, rtol=1e-3, atol=2e-3)
    assert np.linalg.norm(sent - wanted) < 0.3 * np.linalg.norm(wanted)


def test_a_residual_of_another_format_is_not_used(tmp_path, snapshot):
    residual = tmp_path / "residual"
    residual.write_bytes(b"1234")
    codec = CODECS["topk"]
    with_it = write_delta(tmp_path / "a", FMT, codec, snapshot, moved(2), {}, residual)
    without = write_delta(tmp_path / "b", FMT, codec, snapshot, moved(2), {})
    assert with_it.sha256 == without.sha256
