"""Encodings of deltas: what comes out, how many bytes, and what a hostile file can do."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from worker_client.contract.encodings import CHUNK, CODECS, encoded_bytes

VECTORS = Path(__file__).parents[2] / "worker_client/contract/vectors/encodings-v1.json"
COUNTS = (1, 2, 63, 64, 65, 127, 129, 255, 257, 4095, 4096, 4097, 4160, 10_001, CHUNK)
EACH = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


def draw(count: int, seed: int = 0) -> np.ndarray:
    return (1e-3 * np.random.default_rng(seed).standard_normal(count)).astype("<f4")


def there_and_back(codec, values: np.ndarray) -> np.ndarray:
    data = codec.encode(values)
    assert data.dtype == np.uint8 and len(data) == codec.size(len(values))
    out = np.full(len(values), np.nan, "<f4")
    codec.decode(data, out)
    return out


@EACH
@pytest.mark.parametrize("count", COUNTS)
def test_every_length_comes_back(codec, count):
    values = draw(count)
    out = there_and_back(codec, values)
    assert np.isfinite(out).all()
    assert np.linalg.norm(out - values) < np.linalg.norm(values)


@EACH
def test_what_came_back_is_sent_again_without_loss(codec):
    once = there_and_back(codec, draw(10_001))
    again = there_and_back(codec, once)
    if codec.id == "topk":  # one level is now as good as two
        assert np.array_equal(once != 0, again != 0)
    else:
        np.testing.assert_allclose(again, once, rtol=1e-6)


@EACH
def test_zeros_stay_zeros(codec):
    assert not there_and_back(codec, np.zeros(5000, "<f4")).any()


@pytest.mark.parametrize("value", [1e-45, 1e-38, -1e-38, 3e5])
@pytest.mark.parametrize("name", ["bf16", "int8", "int4"])
def test_the_least_and_the_largest_do_no_harm(name, value):
    out = there_and_back(CODECS[name], np.full(300, value, "<f4"))
    np.testing.assert_allclose(out, value, rtol=5e-3, atol=1e-37)


def test_bf16_is_what_torch_makes():
    import torch

    values = np.concatenate(
        (draw(50_000), np.array([1 + 2**-8, 1 + 3 * 2**-8, -0.0, 2e-40], "<f4"))
    )
    expected = torch.from_numpy(values).bfloat16().float().numpy()
    assert np.array_equal(there_and_back(CODECS["bf16"], values), expected)


@pytest.mark.parametrize(("name", "block", "most"), [("int8", 256, 127), ("int4", 128, 7)])
def test_whole_numbers_are_within_half_a_step(name, block, most):
    values = draw(block * 40)
    error = np.abs(there_and_back(CODECS[name], values) - values).reshape(-1, block)
    step = np.abs(values).reshape(-1, block).max(axis=1) / most
    assert (error <= step[:, None] * 0.5001).all()


def test_topk_keeps_the_largest_of_each_group_with_their_signs():
    values = draw(4096 * 3)
    out = there_and_back(CODECS["topk"], values)
    for group, kept in zip(values.reshape(3, -1), out.reshape(3, -1), strict=True):
        largest = np.argsort(-np.abs(group))[:64]
        assert set(np.flatnonzero(kept)) == set(largest)
        assert np.array_equal(np.sign(kept[largest]), np.sign(group[largest]))
        assert len(np.unique(np.abs(kept[largest]))) == 2
        assert np.abs(kept).sum() == pytest.approx(np.abs(group[largest]).sum(), rel=1e-5)


def test_bytes_are_what_arithmetic_says():
    count = 10_092_544  # of qwen3-0.6b-lora-r16
    each = {name: encoded_bytes(codec, count) / count for name, codec in CODECS.items()}
    assert each["bf16"] == 2
    assert each["int8"] == pytest.approx(1 + 4 / 256, rel=1e-3)
    assert each["int4"] == pytest.approx(0.5 + 4 / 128, rel=1e-3)
    assert each["topk"] == pytest.approx((8 + 64 * 1.5 + 16) / 4096, rel=1e-3)


# Known answers, so that others can write the same bytes


def known_input() -> np.ndarray:
    """Exact in every language, and no two magnitudes alike."""
    steps = (np.arange(8191, dtype=np.int64) * 7919) % 8191 - 4095
    return ((steps + 0.25) / 2**20).astype("<f4")


@EACH
def test_known_answers(codec):
    known = json.loads(VECTORS.read_text("utf-8"))[codec.id]
    data = codec.encode(known_input())
    assert known["bytes"] == len(data)
    assert known["first"] == data[:32].tobytes().hex()
    assert known["sha256"] == hashlib.sha256(data.tobytes()).hexdigest()


# Hostile bytes


def decode(codec, data: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros(count, "<f4")
    codec.decode(data, out)
    return out


@EACH
@settings(max_examples=150, deadline=None)
@given(data=st.data(), count=st.sampled_from((1, 65, 257, 4096, 4200)))
def test_any_bytes_decode_in_bounds_or_are_refused(codec, data, count):
    size = codec.size(count)
    raw = data.draw(arrays.arrays(np.uint8, size, elements=st.integers(0, 255)))
    guarded = np.full(count + 2, 7, "<f4")
    try:
        codec.decode(raw, guarded[1:-1])
    except ValueError:
        pass
    assert guarded[0] == guarded[-1] == 7


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1.0, 1e7])
@pytest.mark.parametrize("name", ["int8", "int4", "topk"])
def test_absurd_scales_are_refused(name, scale):
    codec = CODECS[name]
    data = codec.encode(draw(500))
    data[:4] = np.frombuffer(np.float32(scale).tobytes(), np.uint8)
    with pytest.raises(ValueError, match="outside"):
        decode(codec, data, 500)


def test_numbers_that_no_encoder_writes_are_refused():
    for name, forged in (("int8", 0x80), ("int4", 0x00)):
        data = CODECS[name].encode(draw(500))
        data[-1] = forged
        with pytest.raises(ValueError, match="below"):
            decode(CODECS[name], data, 500)


@pytest.mark.parametrize("forged", [(0xFF, 0xFF, 0xFF), (5, 0x50, 0)])
def test_positions_outside_or_twice_are_refused(forged):
    codec = CODECS["topk"]
    data = codec.encode(draw(500))
    data[8:11] = forged
    with pytest.raises(ValueError, match="ascend"):
        decode(codec, data, 500)
