from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation.vectors import (
    TruncatedVector,
    VectorFile,
    as_bytes,
    slices,
)
from tests.coordination.aggregation.files import vector_file

VALUES = np.arange(1000, dtype=np.float32)


@pytest.mark.parametrize("offset", [0, 3, 40])
def test_reads_a_slice_behind_any_offset(tmp_path: Path, offset: int) -> None:
    vector = vector_file(tmp_path / "v", VALUES, offset)
    assert np.array_equal(vector.read(10, 20), VALUES[10:20])
    assert np.array_equal(vector.read(0, 1000), VALUES)
    assert vector.read(7, 7).size == 0


def test_reads_into_the_array_it_is_given(tmp_path: Path) -> None:
    buffer = np.zeros(64, np.float32)
    values = vector_file(tmp_path / "v", VALUES).read(990, 1000, buffer)
    assert values.base is buffer
    assert np.array_equal(buffer[:10], VALUES[990:])
    assert not buffer[10:].any()


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (999, 1001)])
def test_a_range_outside_the_vector_is_an_error(tmp_path: Path, start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="not inside a vector of 1000 values"):
        vector_file(tmp_path / "v", VALUES).read(start, stop)


def test_a_file_that_ends_early_is_an_error(tmp_path: Path) -> None:
    whole = vector_file(tmp_path / "v", VALUES)
    longer = VectorFile(whole.path, 0, 1001)
    assert longer.read(0, 1000).size == 1000
    with pytest.raises(TruncatedVector, match="v ends before its 1001 values"):
        longer.read(0, 1001)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 95])
def test_slices_cover_everything_once(count: int) -> None:
    pieces = list(slices(count, step=10))
    assert [i for start, stop in pieces for i in range(start, stop)] == list(range(count))
    assert all(stop - start <= 10 for start, stop in pieces)


def test_as_bytes_is_little_endian_without_a_copy() -> None:
    values = np.array([1.0, -2.0], np.float32)
    view = as_bytes(values)
    assert view.tobytes() == bytes.fromhex("0000803f 000000c0")
    values[0] = 0
    assert view.tobytes()[:4] == bytes(4)
