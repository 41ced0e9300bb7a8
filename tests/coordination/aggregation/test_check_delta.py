"""Encoded results: what is stored is the snapshot plus the decoded delta, or nothing."""

import io
from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.check import check_result
from coordination.aggregation.vectors import VectorFile
from tests.coordination.making import vector
from worker_client.contract.encodings import CHUNK, CODECS, encoded_bytes
from worker_client.contract.encodings.delta import delta_file
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import build_header
from worker_client.contract.wire import RAW_ENCODING

FMT = load_format("scratch-tiny")  # two chunks, the last of them short
ORIGIN, MOVE = vector(1, FMT), vector(2, FMT, 0.001)
EACH = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


def chunks(values: np.ndarray) -> list[np.ndarray]:
    return [values[i : i + CHUNK] for i in range(0, len(values), CHUNK)]


def delta_bytes(codec, values: np.ndarray = MOVE, **metadata: str) -> bytes:
    return b"".join(delta_file(codec, len(values), chunks(values), metadata))


def decoded(codec) -> np.ndarray:
    out = np.empty_like(MOVE)
    for given, made in zip(chunks(MOVE), chunks(out), strict=True):
        codec.decode(codec.encode(given), made)
    return out


@pytest.fixture
def check(tmp_path: Path):
    (tmp_path / "start").write_bytes(ORIGIN.tobytes())
    start = VectorFile(tmp_path / "start", 0, FMT.parameters)

    def run(content: bytes, encoding: str, norm_limit: float = 100.0):
        (tmp_path / "result").write_bytes(content)
        out = io.BytesIO()
        file = tmp_path / "result"
        found = check_result(file, FMT, start, norm_limit, out, b"key", encoding)
        return found, np.frombuffer(out.getvalue(), "<f4")

    return run


@EACH
def test_the_vector_is_the_snapshot_plus_the_delta(check, codec):
    found, stored = check(delta_bytes(codec, token="17"), codec.id)
    assert np.array_equal(stored, ORIGIN + decoded(codec))
    assert found.metadata["token"] == "17"
    assert found.delta_norm == pytest.approx(float(np.linalg.norm(stored - ORIGIN)), rel=1e-5)


def refusal(check, content: bytes, encoding: str, **more) -> Refusal:
    with pytest.raises(Refused) as caught:
        check(content, encoding, **more)
    return caught.value.refusal


@EACH
def test_a_file_of_whole_weights_is_the_wrong_encoding(check, codec):
    header = build_header((s.name, "F32", s.shape) for s in FMT.tensors)
    assert refusal(check, header + ORIGIN.tobytes(), codec.id) is Refusal.WRONG_ENCODING


@EACH
def test_a_delta_is_the_wrong_encoding_where_whole_weights_are_asked_for(check, codec):
    assert refusal(check, delta_bytes(codec), RAW_ENCODING) is Refusal.WRONG_ENCODING


def test_another_encoding_of_the_same_size_is_refused_by_its_name(check):
    content = delta_bytes(CODECS["int8"])
    forged = content.replace(b'"kodlama":"int8"', b'"kodlama":"int4"')
    assert refusal(check, forged, "int8") is Refusal.WRONG_ENCODING


@EACH
def test_one_byte_too_many_or_too_few_is_corrupt(check, codec):
    size = encoded_bytes(codec, FMT.parameters)
    for wrong in (size - 1, size + 1, 1):
        content = build_header([("delta", "U8", (wrong,))]) + bytes(wrong)
        assert refusal(check, content, codec.id) is Refusal.CORRUPT_FILE


def test_values_that_are_not_finite_are_refused(check):
    codec = CODECS["bf16"]
    content = bytearray(delta_bytes(codec))
    content[-2:] = b"\xc0\x7f"
    assert refusal(check, bytes(content), "bf16") is Refusal.NOT_FINITE


@EACH
def test_an_enormous_delta_is_refused(check, codec):
    content = delta_bytes(codec, MOVE * np.float32(1e6))
    assert refusal(check, content, codec.id) is Refusal.NORM_EXCEEDED
