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
from worker_client.contract.encodings.blocks import Bf16, Int4, Int8
from worker_client.contract.encodings.compiled import CompiledBf16, CompiledBlocks

VECTORS = Path(__file__).parents[2] / "worker_client/contract/vectors/encodings-v1.json"
COUNTS = (1, 2, 63, 64, 65, 127, 129, 255, 257, 4095, 4096, 4097, 4160, 10_001, CHUNK)
# Those that are compiled, and what stands for them where llvmlite is not.
PLAIN = {f"{codec.id}-plain": codec for codec in (Bf16(), Int8(), Int4())}
BLOCKS = [name for name in PLAIN if "int" in name]
ALL = {**CODECS, **PLAIN}
EACH = pytest.mark.parametrize("codec", ALL.values(), ids=ALL)


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
@pytest.mark.parametrize("name", ["bf16", "int8", "int4", *PLAIN])
def test_the_least_and_the_largest_do_no_harm(name, value):
    out = there_and_back(ALL[name], np.full(300, value, "<f4"))
    np.testing.assert_allclose(out, value, rtol=5e-3, atol=1e-37)


def test_bf16_is_what_torch_makes():
    import torch

    values = np.concatenate(
        (draw(50_000), np.array([1 + 2**-8, 1 + 3 * 2**-8, -0.0, 2e-40], "<f4"))
    )
    expected = torch.from_numpy(values).bfloat16().float().numpy()
    assert np.array_equal(there_and_back(CODECS["bf16"], values), expected)


@pytest.mark.parametrize("codec", [Int8(), Int4()], ids=BLOCKS)
def test_whole_numbers_are_within_half_a_step(codec):
    block, most = codec.block, codec.most
    values = draw(block * 40)
    step = np.abs(values).reshape(-1, block).max(axis=1) / most
    for each in (codec, CODECS[codec.id]):
        error = np.abs(there_and_back(each, values) - values).reshape(-1, block)
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


SAME = pytest.mark.parametrize("plain", PLAIN.values(), ids=PLAIN)
IN_BLOCKS = pytest.mark.parametrize("plain", [PLAIN[name] for name in BLOCKS], ids=BLOCKS)


@SAME
def test_what_stands_for_compiled_code_is_chosen_only_where_there_is_none(plain):
    assert isinstance(CODECS[plain.id], CompiledBf16 | CompiledBlocks)


@SAME
@settings(max_examples=150, deadline=None)
@given(
    values=arrays.arrays(
        "<f4",
        st.sampled_from((1, 127, 128, 255, 256, 300, 1025)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
        fill=st.floats(-1, 1, width=32),
    )
)
def test_compiled_code_makes_the_same_bytes_and_values(plain, values):
    data = plain.encode(values)
    assert CODECS[plain.id].encode(values).tobytes() == data.tobytes()
    assert outcome(CODECS[plain.id], data, len(values)) == outcome(plain, data, len(values))


@IN_BLOCKS
@settings(max_examples=150, deadline=None)
@given(data=st.data(), count=st.sampled_from((1, 128, 256, 300, 1025)))
def test_compiled_code_refuses_what_the_other_refuses(plain, data, count):
    raw = data.draw(arrays.arrays(np.uint8, plain.size(count)))
    assert outcome(CODECS[plain.id], raw, count) == outcome(plain, raw, count)


def outcome(codec, data: np.ndarray, count: int) -> bytes | str:
    """The values' bytes, or why there are none."""
    try:
        return decode(codec, data, count).tobytes()
    except ValueError as error:
        return str(error)


@IN_BLOCKS
@pytest.mark.parametrize("wrong", [-1, 1])
def test_compiled_code_reads_no_byte_too_many(plain, wrong):
    data = np.zeros(plain.size(300) + wrong, np.uint8)
    with pytest.raises(ValueError, match="take"):
        decode(CODECS[plain.id], data, 300)


@IN_BLOCKS
@pytest.mark.parametrize("out", [np.zeros(600, "<f4")[::2], np.zeros(300, "<f8")])
def test_compiled_code_writes_only_where_it_may(plain, out):
    with pytest.raises(TypeError, match="float32"):
        CODECS[plain.id].decode(plain.encode(draw(300)), out)


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
@pytest.mark.parametrize("name", ["int8", "int4", "topk", *BLOCKS])
def test_absurd_scales_are_refused(name, scale):
    codec = ALL[name]
    data = codec.encode(draw(500))
    data[:4] = np.frombuffer(np.float32(scale).tobytes(), np.uint8)
    with pytest.raises(ValueError, match="outside"):
        decode(codec, data, 500)


@pytest.mark.parametrize("place", [-1, 20])  # among the last values, in a whole block
@pytest.mark.parametrize("name", ["int8", "int4", *BLOCKS])
def test_numbers_that_no_encoder_writes_are_refused(name, place):
    codec = ALL[name]
    data = codec.encode(draw(500))
    data[place] = 0x80 if codec.id == "int8" else 0x00
    with pytest.raises(ValueError, match="below"):
        decode(codec, data, 500)


@pytest.mark.parametrize("forged", [(0xFF, 0xFF, 0xFF), (5, 0x50, 0)])
def test_positions_outside_or_twice_are_refused(forged):
    codec = CODECS["topk"]
    data = codec.encode(draw(500))
    data[8:11] = forged
    with pytest.raises(ValueError, match="ascend"):
        decode(codec, data, 500)
