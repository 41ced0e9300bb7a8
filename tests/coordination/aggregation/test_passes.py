"""Passes over many files: in order, the same with any number of threads, within their buffers."""

from pathlib import Path

import numpy as np
import pytest
from llvmlite.ir import Value

from coordination.aggregation import passes, vectors
from coordination.aggregation.passes import (
    OPENED_FLOATS,
    SLICE_COLUMNS,
    SWEPT_FLOATS,
    Piece,
    over_slices,
)
from coordination.aggregation.sweep import Block, kernel
from coordination.aggregation.vectors import Rows, TruncatedVector, VectorFile
from tests.coordination.aggregation.files import vector_file
from worker_client.contract.native import ADDRESS, INTEGER, LANES, Function, Loops

COUNT = 2 * SLICE_COLUMNS + 11


@pytest.fixture
def files(tmp_path: Path) -> list[VectorFile]:
    values = np.random.default_rng(0).standard_normal((4, COUNT))
    return [vector_file(tmp_path / str(i), row, offset=4 * i) for i, row in enumerate(values)]


def whole(files: list[VectorFile]) -> np.ndarray:
    return np.stack([file.read(0, COUNT) for file in files])


def read(files: list[VectorFile]) -> np.ndarray:
    """All rows, through blocks that Python looks at."""

    def one(piece: Piece) -> np.ndarray:
        found = np.full((len(files), piece.end - piece.begin), np.nan, np.float32)
        for columns, rows in piece.blocks():
            found[:, columns] = rows
        return found

    return np.concatenate(list(over_slices(files, one)), axis=1)


@pytest.fixture(scope="module")
def copy() -> Function:
    """A kernel that copies ``[n, columns]`` to ``(out, bytes from row to row)``."""

    def write(loops: Loops, block: Block, arguments: list[Value]) -> None:
        out, stride = loops.inttoptr(arguments[0], ADDRESS), arguments[1]

        def one(number: Value) -> None:
            source, target = block.row(loops, number), loops.row(out, stride, number)

            def some(column: Value) -> None:
                values = loops.floats(source, column)
                loops.put(values, target, loops.add(block.column, column))

            loops.loop(INTEGER(0), block.columns, INTEGER(LANES), some)

        loops.loop(INTEGER(0), block.n, INTEGER(1), one)

    return kernel(write, 2)


def swept(files: list[VectorFile], copy: Function) -> tuple[np.ndarray, np.ndarray]:
    """All rows, through a kernel, and what it found behind the last."""

    def one(piece: Piece) -> tuple[np.ndarray, np.ndarray]:
        count = piece.end - piece.begin
        found = np.full((len(files), count + LANES), np.nan, np.float32)
        piece.sweep(copy, found, found.strides[0])
        return found[:, :count], found[:, count:]

    found, behind = zip(*over_slices(files, one), strict=True)
    return np.concatenate(found, axis=1), behind[-1]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_slices_come_whole_and_in_order(
    files: list[VectorFile], copy: Function, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes.os, "cpu_count", lambda: threads)
    assert np.array_equal(read(files), whole(files))
    found, behind = swept(files, copy)
    assert np.array_equal(found, whole(files))
    padding = -COUNT % LANES
    assert not behind[:, :padding].any() and np.isnan(behind[:, padding:]).all()


@pytest.mark.parametrize(("times", "floats"), [(50, SWEPT_FLOATS), (100, OPENED_FLOATS)])
def test_many_vectors_make_narrow_blocks(files: list[VectorFile], times: int, floats: int) -> None:
    def widths(piece: Piece) -> list[tuple[int, ...]]:
        return [rows.shape for _, rows in piece.blocks()]

    shapes = [shape for found in over_slices(files * times, widths) for shape in found]
    assert max(rows * columns for rows, columns in shapes) <= floats
    assert sum(columns for _, columns in shapes) == COUNT


def test_more_files_than_may_stay_open_are_opened_for_each_block(
    files: list[VectorFile], copy: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "HELD_FILES", 3)
    with Rows(files) as rows:
        assert not rows.held
    assert np.array_equal(read(files), whole(files))
    found, behind = swept(files, copy)
    assert np.array_equal(found, whole(files))
    assert not behind[:, : -COUNT % LANES].any()


def test_a_read_that_comes_short_is_gone_on_with(
    files: list[VectorFile], copy: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a signal does to a read is done by a file that is a byte short, and then is not."""
    path, content = files[2].path, files[2].path.read_bytes()
    path.write_bytes(content[:-1])
    python_reads = Rows.read

    def mended(rows: Rows, *arguments: object) -> np.ndarray:
        path.write_bytes(content)
        return python_reads(rows, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Rows, "read", mended)
    found, _ = swept(files, copy)
    assert path.read_bytes() == content
    assert np.array_equal(found, whole(files))


def test_a_short_file_is_an_error_and_nothing_hangs(
    files: list[VectorFile], copy: Function
) -> None:
    files[2].path.write_bytes(files[2].path.read_bytes()[:-5])
    with pytest.raises(TruncatedVector, match="ends before"):
        read(files)
    with pytest.raises(TruncatedVector, match="ends before"):
        swept(files, copy)


def test_a_pass_that_is_broken_off_closes_its_files(files: list[VectorFile]) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    walk = over_slices(files, lambda piece: piece.begin)
    next(walk)
    walk.close()  # type: ignore[attr-defined]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
