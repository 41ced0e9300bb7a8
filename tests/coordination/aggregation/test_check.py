"""What a coordinator accepts as a result, and what it says about everything else."""

import io
import json
import pickle
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from coordination.aggregation.check import CheckedResult, check_result
from coordination.aggregation.vectors import VectorFile
from tests.coordination.aggregation.files import (
    Tensors,
    file_bytes,
    shuffled,
    split,
    vector_file,
)
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.formats import load_format

TINY = load_format("tiny-qwen3-lora-r4")
QWEN = load_format("qwen3-0.6b-lora-r16")
ORIGIN = np.random.default_rng(1).standard_normal(TINY.parameters).astype(np.float32)
TRAINED = ORIGIN + np.float32(0.01) * np.random.default_rng(2).standard_normal(
    TINY.parameters
).astype(np.float32)
FIRST, SECOND, LAST = TINY.tensors[0].name, TINY.tensors[1].name, TINY.tensors[-1].name


KEY = b"of these tests"


@pytest.fixture
def start(tmp_path: Path) -> VectorFile:
    return vector_file(tmp_path / "start", ORIGIN, offset=24)


@pytest.fixture
def check(tmp_path: Path, start: VectorFile) -> Callable[..., tuple[CheckedResult, bytes]]:
    def run(content: bytes, norm_limit: float = 100.0) -> tuple[CheckedResult, bytes]:
        file, out = tmp_path / "result", io.BytesIO()
        file.write_bytes(content)
        return check_result(file, TINY, start, norm_limit, out, KEY), out.getvalue()

    return run


def trained() -> Tensors:
    return split(TRAINED.copy(), TINY)


@pytest.mark.parametrize("seed", range(5))
def test_stores_manifest_order_whatever_order_the_file_has(check: Callable, seed: int) -> None:
    _, stored = check(file_bytes(shuffled(trained(), seed)))
    assert stored == TRAINED.tobytes()


def test_takes_a_file_of_the_safetensors_library(check: Callable, tmp_path: Path) -> None:
    save_file(trained(), tmp_path / "by-library", {"format": "pt"})
    checked, stored = check((tmp_path / "by-library").read_bytes())
    assert stored == TRAINED.tobytes()
    assert checked.metadata == {"format": "pt"}


def test_takes_data_that_is_not_aligned(check: Callable) -> None:
    content = file_bytes(trained())
    (length,) = struct.unpack("<Q", content[:8])
    odd = struct.pack("<Q", length + 3) + content[8 : 8 + length] + b"   " + content[8 + length :]
    assert check(odd)[1] == TRAINED.tobytes()


def test_measures_the_distance_from_the_start(check: Callable) -> None:
    expected = np.linalg.norm(TRAINED.astype(np.float64) - ORIGIN)
    assert check(file_bytes(trained()))[0].delta_norm == pytest.approx(expected, rel=1e-12)
    assert check(file_bytes(split(ORIGIN, TINY)))[0].delta_norm == 0.0


def test_sketches_the_update_whatever_order_the_file_has(check: Callable) -> None:
    checked, stored = check(file_bytes(trained()))
    shuffled_alike, _ = check(file_bytes(shuffled(trained(), 5)))
    assert np.array_equal(checked.sketch, shuffled_alike.sketch)
    assert np.linalg.norm(checked.sketch) == pytest.approx(checked.delta_norm, rel=0.1)


def test_the_norm_limit_itself_is_allowed(check: Callable) -> None:
    norm = check(file_bytes(trained()))[0].delta_norm
    assert check(file_bytes(trained()), norm_limit=norm)[0].delta_norm == norm
    with pytest.raises(Refused) as caught:
        check(file_bytes(trained()), norm_limit=norm / 2)
    assert caught.value.refusal is Refusal.NORM_EXCEEDED
    assert f"{norm:.6g}" in caught.value.detail
    assert f"{norm / 2:.6g}" in caught.value.detail


def test_only_short_printable_metadata_is_kept(check: Callable) -> None:
    metadata = {"tur": "3", "cihaz": "x" * 300, "kayip_son": "1\u0000"}
    raw = json.dumps(metadata).encode()
    content = file_bytes(trained(), {"yer": "?"})
    (length,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + length].replace(b'{"yer":"?"}', raw)
    checked, _ = check(struct.pack("<Q", len(header)) + header + content[8 + length :])
    assert checked.metadata == {"tur": "3"}


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"{", b" {"), (b'"?"', b'"\\ud800"'), (b"[0,", b"[-0,"), (b"[0,", b"[NaN,")],
)
def test_what_other_readers_refuse_is_refused(check: Callable, old: bytes, new: bytes) -> None:
    content = file_bytes(trained(), {"yer": "?"})
    (length,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + length], content[8 + length :]
    if new.startswith(b" "):
        header = b" " + header
    else:
        assert old in header
        header = header.replace(old, new)
    with pytest.raises(Refused) as refused:
        check(struct.pack("<Q", len(header)) + header + data)
    assert refused.value.refusal is Refusal.CORRUPT_FILE


def test_metadata_without_end_is_cut(check: Callable) -> None:
    checked, _ = check(file_bytes(trained(), {f"k{i:04}": "v" for i in range(2000)}))
    assert len(checked.metadata) == 32


def without(name: str) -> bytes:
    return file_bytes({n: t for n, t in trained().items() if n != name})


def replaced(name: str, tensor: np.ndarray) -> bytes:
    return file_bytes(trained() | {name: tensor})


def poisoned(name: str, value: float | np.float32) -> bytes:
    tensors = trained()
    tensors[name].flat[-1] = value
    return file_bytes(tensors)


SIGNALLING_NAN = np.uint32(0x7F800001).view(np.float32)
REFUSED = {
    "missing": (without(SECOND), Refusal.TENSOR_MISSING, SECOND),
    "several missing": (file_bytes({FIRST: trained()[FIRST]}), Refusal.TENSOR_MISSING, "26 more"),
    "extra": (replaced("head", np.zeros(3, np.float32)), Refusal.TENSOR_EXTRA, "'head'"),
    "transposed": (replaced(LAST, trained()[LAST].T), Refusal.WRONG_SHAPE, "[4, 64] where [64, 4]"),
    "flat": (replaced(LAST, trained()[LAST].ravel()), Refusal.WRONG_SHAPE, LAST),
    "half": (replaced(FIRST, trained()[FIRST].astype(np.float16)), Refusal.WRONG_DTYPE, "F16"),
    "integers": (replaced(FIRST, trained()[FIRST].view(np.int32)), Refusal.WRONG_DTYPE, "I32"),
    "NaN": (poisoned(LAST, np.nan), Refusal.NOT_FINITE, LAST),
    "signalling NaN": (poisoned(FIRST, SIGNALLING_NAN), Refusal.NOT_FINITE, FIRST),
    "infinite": (poisoned(SECOND, np.inf), Refusal.NOT_FINITE, SECOND),
    "minus infinite": (poisoned(SECOND, -np.inf), Refusal.NOT_FINITE, SECOND),
    "enormous": (poisoned(LAST, 3e38), Refusal.NORM_EXCEEDED, "3e+38"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("content", "refusal", "said"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_is_not_this_format(
    check: Callable, content: bytes, refusal: Refusal, said: str
) -> None:
    with pytest.raises(Refused) as caught:
        check(content)
    assert caught.value.refusal is refusal
    assert said in caught.value.detail


class Trap:
    """Unpickling this makes a file."""

    def __reduce__(self) -> tuple:
        return (open, ("unpickled", "w"))


def with_header(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def entry(start: int, stop: int) -> dict:
    return {"dtype": "F32", "shape": [(stop - start) // 4], "data_offsets": [start, stop]}


def twice(name: str) -> bytes:
    one = json.dumps(entry(0, 4))
    return with_header(f'{{"{name}": {one}, "{name}": {one}}}'.encode(), bytes(4))


def torch_file() -> bytes:
    out = io.BytesIO()
    torch.save({FIRST: torch.zeros(2)}, out)
    return out.getvalue()


WHOLE = file_bytes(trained())
CORRUPT = {
    "empty": b"",
    "prefix alone": WHOLE[:8],
    "half a prefix": WHOLE[:5],
    "half a header": WHOLE[:500],
    "truncated": WHOLE[:-1],
    "no data": WHOLE[: 8 + struct.unpack("<Q", WHOLE[:8])[0]],
    "longer": WHOLE + b"\0",
    "header beyond the end": struct.pack("<Q", 2**63) + WHOLE[8:],
    "header over 1 MiB": with_header(b'{"__metadata__": {"a": "' + b" " * 2**20 + b'"}}'),
    "not JSON": with_header(b"<html>502 Bad Gateway</html>"),
    "not UTF-8": with_header(b'{"\xff": 1}'),
    "a list": with_header(b"[]"),
    "nested without end": with_header(b"[" * 100_000),
    "an endless number": with_header(b'{"a": ' + b"9" * 10_000 + b"}"),
    "a name twice": twice(FIRST),
    "metadata twice": twice("__metadata__"),
    "metadata not text": with_header(b'{"__metadata__": {"tur": 1}}'),
    "overlap": with_header(json.dumps({"a": entry(0, 8), "b": entry(4, 12)}).encode(), bytes(12)),
    "gap": with_header(json.dumps({"a": entry(0, 4), "b": entry(8, 12)}).encode(), bytes(12)),
    "not from 0": with_header(json.dumps({"a": entry(4, 8)}).encode(), bytes(8)),
    "HTML": b"<!doctype html><title>502</title>" * 100,
    "pickle": pickle.dumps(Trap()),
    "torch.save": torch_file(),
}


@pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT)
def test_refuses_what_is_no_safetensors_file(
    check: Callable, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused) as caught:
        check(content)
    assert caught.value.refusal is Refusal.CORRUPT_FILE
    assert "upload it again" in caught.value.detail
    assert not (tmp_path / "unpickled").exists()


def test_the_trap_would_have_worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Trap())).close()
    assert (tmp_path / "unpickled").exists()


def test_the_qwen_format_is_checked_in_bounded_memory(tmp_path: Path) -> None:
    values = np.random.default_rng(3).standard_normal(QWEN.parameters, np.float32)
    zeros = vector_file(tmp_path / "start", np.zeros(QWEN.parameters))
    (tmp_path / "result").write_bytes(file_bytes(shuffled(split(values, QWEN), seed=4)))
    with (tmp_path / "vector").open("wb") as out:
        tracemalloc.start()
        checked = check_result(tmp_path / "result", QWEN, zeros, 1e9, out, KEY)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (tmp_path / "vector").read_bytes() == values.tobytes()
    assert checked.delta_norm == pytest.approx(np.linalg.norm(values.astype(np.float64)), rel=1e-9)
    assert peak < 4 * 2**20 < values.nbytes / 8
