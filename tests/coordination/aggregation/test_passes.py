"""Passes over many files: in order, the same with any number of threads, within their buffers."""

from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation import passes, vectors
from coordination.aggregation.passes import MAX_COLUMNS, over_slices
from coordination.aggregation.vectors import Rows, TruncatedVector, VectorFile
from tests.coordination.aggregation.files import vector_file

COUNT = 3 * MAX_COLUMNS + 11


@pytest.fixture
def files(tmp_path: Path) -> list[VectorFile]:
    values = np.random.default_rng(0).standard_normal((4, COUNT))
    return [vector_file(tmp_path / str(i), row, offset=4 * i) for i, row in enumerate(values)]


def gathered(files: list[VectorFile]) -> np.ndarray:
    pieces = [rows.copy() for rows in over_slices(files, lambda begin, end, rows: rows)]
    return np.concatenate(pieces, axis=1)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_slices_come_whole_and_in_order(
    files: list[VectorFile], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes.os, "cpu_count", lambda: threads)
    expected = np.stack([file.read(0, COUNT) for file in files])
    assert np.array_equal(gathered(files), expected)


def test_what_is_yielded_stays_until_the_next_is_asked_for(files: list[VectorFile]) -> None:
    for begin, rows in over_slices(files, lambda begin, end, rows: (begin, rows)):
        at_first = rows.copy()
        again = np.stack([file.read(begin, begin + rows.shape[1]) for file in files])
        assert np.array_equal(rows, at_first) and np.array_equal(rows, again)


def test_many_vectors_make_narrow_slices(files: list[VectorFile]) -> None:
    widths = [rows.shape for rows in over_slices(files * 100, lambda begin, end, rows: rows)]
    assert max(rows * columns for rows, columns in widths) <= passes.BUFFER_FLOATS // 2
    assert sum(columns for _, columns in widths) == COUNT


def test_more_files_than_may_stay_open_are_opened_for_each_slice(
    files: list[VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = gathered(files)
    monkeypatch.setattr(vectors, "HELD_FILES", 3)
    with Rows(files) as rows:
        assert not rows._descriptors
    assert np.array_equal(gathered(files), expected)


def test_a_short_file_is_an_error_and_nothing_hangs(files: list[VectorFile]) -> None:
    files[2].path.write_bytes(files[2].path.read_bytes()[:-5])
    with pytest.raises(TruncatedVector, match="ends before"):
        gathered(files)


def test_a_pass_that_is_broken_off_closes_its_files(files: list[VectorFile]) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    walk = over_slices(files, lambda begin, end, rows: begin)
    next(walk)
    walk.close()  # type: ignore[attr-defined]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
