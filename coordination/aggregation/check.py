"""Judge a stranger's result file and store what is accepted as one raw vector.

Every byte is read once, in slices: names, shapes and dtypes from the header alone, then the
values in manifest order, whatever order the file has, with norm, finiteness and sketch on the way.
"""

import os
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from typing import Protocol

import numpy as np

from coordination.aggregation.sketch import Sketcher
from coordination.aggregation.vectors import FLOAT32, SLICE_FLOATS, VectorFile, as_bytes, slices
from worker_client.contract.encodings import CHUNK, CODECS, Codec
from worker_client.contract.encodings.delta import DELTA, Delta
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.formats import Format, TensorSpec
from worker_client.contract.tensors import Header, TensorEntry, read_header
from worker_client.contract.wire import RAW_ENCODING

# A header may be 1 MiB and its metadata goes into the database and onto pages.
MAX_METADATA_ITEMS = 32
MAX_METADATA_CHARS = 200


class Sink(Protocol):
    def write(self, data: memoryview, /) -> object: ...


@dataclass(frozen=True)
class CheckedResult:
    """What an accepted file said and how far it went.

    ``delta_norm`` is the L2 norm of result minus start, summed in float64, and ``sketch`` the
    same update's. ``metadata`` holds only the items that are short and printable.
    """

    delta_norm: float
    sketch: np.ndarray
    metadata: dict[str, str]


def check_result(
    file: Path,
    fmt: Format,
    start: VectorFile,
    norm_limit: float,
    out: Sink,
    sketch_key: bytes,
    encoding: str = RAW_ENCODING,
) -> CheckedResult:
    """Check the result file against ``fmt`` and write its vector to ``out``.

    ``start`` is the snapshot that the result was trained from, ``fmt.parameters`` long.
    ``out`` receives ``fmt.data_bytes`` of float32 in manifest order; after a refusal it may
    hold a part of them, which is to be thrown away. ``sketch_key`` is secret, and the same for
    all results that are to be compared. ``encoding`` is the one that the lease asked for.

    Raises:
        Refused: CORRUPT_FILE, TENSOR_MISSING, TENSOR_EXTRA, WRONG_DTYPE, WRONG_SHAPE,
            WRONG_ENCODING, NOT_FINITE or NORM_EXCEEDED, with a sentence for the volunteer.
    """
    with file.open("rb") as opened:
        header = read_header(opened, os.fstat(opened.fileno()).st_size)
    intake = _Intake(out, Sketcher(sketch_key))
    if encoding == RAW_ENCODING:
        _take_tensors(file, header, fmt, start, intake)
    else:
        _take_delta(file, header, fmt, CODECS[encoding], start, intake)
    norm = sqrt(intake.squared)
    if norm > norm_limit:
        raise Refused(
            Refusal.NORM_EXCEEDED,
            f"the result moved {norm:.6g} away from its snapshot (L2 norm) where at most "
            f"{norm_limit:.6g} is possible; train again from the snapshot and lr of the task",
        )
    return CheckedResult(norm, intake.sketcher.finish(), _tidy(header.metadata))


@dataclass
class _Intake:
    """Where checked values go, and what is measured of their distance from the start."""

    out: Sink
    sketcher: Sketcher
    squared: float = 0.0

    def take(self, values: np.ndarray, origin: np.ndarray, name: str) -> None:
        """In float64 no finite values overflow the squared norm, so that one which is not finite
        means that a value is not."""
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf, signalling NaNs would warn
            delta = np.subtract(values, origin, dtype=np.float64)
            squared = float(np.einsum("i,i->", delta, delta))  # BLAS would wait for its threads
            if not isfinite(squared):
                raise _refused(Refusal.NOT_FINITE, [name], "not finite; lower lr and retrain")
            self.sketcher.add(delta.astype(FLOAT32))
        self.squared += squared
        self.out.write(as_bytes(values))


def _take_tensors(
    file: Path, header: Header, fmt: Format, start: VectorFile, intake: _Intake
) -> None:
    """All tensors in manifest order."""
    if header.tensors.keys() == {DELTA}:
        raise Refused(
            Refusal.WRONG_ENCODING,
            f"the task wants kodlama {RAW_ENCODING}: every tensor of {fmt.id} whole, in float32",
        )
    _check_names(header, fmt)
    for spec in fmt.tensors:
        _check_tensor(header.tensors[spec.name], spec)
    buffers = np.empty((2, SLICE_FLOATS), FLOAT32)
    position = 0
    for spec in fmt.tensors:
        tensor = VectorFile(file, header.tensors[spec.name].start, spec.count)
        for begin, end in slices(spec.count):
            values = tensor.read(begin, end, buffers[0])
            origin = start.read(position + begin, position + end, buffers[1])
            intake.take(values, origin, spec.name)
        position += spec.count


def _take_delta(
    file: Path, header: Header, fmt: Format, codec: Codec, start: VectorFile, intake: _Intake
) -> None:
    """``start`` plus the decoded delta."""
    delta = Delta.of(header, codec, fmt.parameters)
    buffers = np.empty((2, CHUNK), FLOAT32)
    with file.open("rb") as opened:
        for begin, end in slices(fmt.parameters, CHUNK):
            values = delta.read(opened, begin, end, buffers[0])
            origin = start.read(begin, end, buffers[1])
            with np.errstate(invalid="ignore", over="ignore"):
                values += origin
            intake.take(values, origin, DELTA)


def _check_names(header: Header, fmt: Format) -> None:
    expected, found = {spec.name for spec in fmt.tensors}, header.tensors.keys()
    if missing := sorted(expected - found):
        raise _refused(Refusal.TENSOR_MISSING, missing, f"missing; {fmt.id} has it")
    if extra := sorted(found - expected):
        raise _refused(Refusal.TENSOR_EXTRA, extra, f"not part of {fmt.id}; leave it out")


def _refused(refusal: Refusal, names: list[str], why: str) -> Refused:
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return Refused(refusal, f"tensor {names[0][:200]!r}{more} is {why}")


def _check_tensor(entry: TensorEntry, spec: TensorSpec) -> None:
    if entry.dtype != "F32":
        raise _refused(Refusal.WRONG_DTYPE, [spec.name], f"{entry.dtype}; save it as F32")
    if entry.shape != spec.shape:
        found, wanted = list(entry.shape), list(spec.shape)
        raise _refused(Refusal.WRONG_SHAPE, [spec.name], f"{found} where {wanted} belongs")


def _tidy(metadata: dict[str, str]) -> dict[str, str]:
    short = [
        (key, value)
        for key, value in metadata.items()
        if len(key) + len(value) <= MAX_METADATA_CHARS and (key + value).isprintable()
    ]
    return dict(short[:MAX_METADATA_ITEMS])
