"""Safetensors files whose every byte is accounted for: a strict reader and a fixed writer.

The `safetensors` library orders tensors as it likes and loads them whole. A coordinator has
to judge a stranger's file without loading it, and has to write the same bytes every time, so
both sides use this header code: 8 bytes little-endian length, a JSON header, then data that
the offsets tile exactly (https://github.com/huggingface/safetensors, "Format").
"""

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

from worker_client.contract.errors import Refusal, Refused

MAX_HEADER_BYTES = 1 << 20
DTYPE_BYTES = {"F32": 4, "I32": 4, "BF16": 2, "F16": 2, "I64": 8, "U8": 1}


@dataclass(frozen=True)
class TensorEntry:
    """One tensor in a file: offsets are bytes from the start of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]
    data_start: int


def _corrupt(why: str) -> Refused:
    return Refused(Refusal.CORRUPT_FILE, f"not a valid safetensors file: {why}; upload it again")


def read_header(file: BinaryIO, size: int) -> Header:
    """Parse and check the header of a file of ``size`` bytes.

    Raises:
        Refused: CORRUPT_FILE when lengths, JSON, dtypes, shapes or offsets do not agree with
            each other and with the file's size, byte for byte.
    """
    prefix = file.read(8)
    if len(prefix) < 8:
        raise _corrupt("shorter than its 8-byte prefix")
    (length,) = struct.unpack("<Q", prefix)
    if length > MAX_HEADER_BYTES or 8 + length > size:
        raise _corrupt(f"header of {length} bytes does not fit")
    raw = _parse_json(file.read(length))
    metadata = _read_metadata(raw.pop("__metadata__", {}))
    data_start = 8 + length
    tensors = {name: _read_entry(name, item, data_start) for name, item in raw.items()}
    _check_tiling(tensors.values(), data_start, size)
    return Header(tensors, metadata, data_start)


def _parse_json(body: bytes) -> dict:
    if not body.startswith(b"{"):
        raise _corrupt("header does not begin with {")
    try:
        raw = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_int=_unsigned,
            parse_constant=_unsigned,
        )
    except (ValueError, RecursionError) as error:
        raise _corrupt(f"header is not JSON ({type(error).__name__})") from None
    return raw


def _unsigned(text: str) -> int:
    """A number as other parsers of this format take it: neither -0 nor NaN is one."""
    if not text.isdecimal():
        raise ValueError("not an unsigned number")
    return int(text)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs) or not all(map(_is_text, found)):
        raise ValueError("a name occurs twice or is no text")
    return found


def _is_text(value: object) -> bool:
    """Half a surrogate pair can be written in JSON and is still no text."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _read_metadata(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict) or not all(map(_is_text, raw.values())):
        raise _corrupt("__metadata__ must map strings to strings")
    return raw


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**48


def _read_entry(name: str, item: object, data_start: int) -> TensorEntry:
    if not isinstance(item, dict) or set(item) != {"dtype", "shape", "data_offsets"}:
        raise _corrupt(f"tensor {name[:80]!r} lacks dtype, shape or data_offsets")
    dtype, shape, offsets = item["dtype"], item["shape"], item["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise _corrupt(f"tensor {name[:80]!r} has an unknown dtype")
    if not isinstance(shape, list) or len(shape) > 8 or not all(map(_is_count, shape)):
        raise _corrupt(f"tensor {name[:80]!r} has a bad shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_count, offsets)):
        raise _corrupt(f"tensor {name[:80]!r} has bad offsets")
    start, stop = offsets
    if stop - start != prod(shape) * DTYPE_BYTES[dtype]:
        raise _corrupt(f"tensor {name[:80]!r} has offsets that do not match its shape")
    return TensorEntry(name, dtype, tuple(shape), data_start + start, data_start + stop)


def _check_tiling(entries: Iterable[TensorEntry], data_start: int, size: int) -> None:
    position = data_start
    for entry in sorted(entries, key=lambda e: (e.start, e.stop)):
        if entry.start != position:
            raise _corrupt("tensor data has gaps or overlaps")
        position = entry.stop
    if position != size:
        raise _corrupt(f"file has {size} bytes where its header describes {position}")


def build_header(
    tensors: Iterable[tuple[str, str, tuple[int, ...]]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The bytes before the data for ``(name, dtype, shape)`` in the order given.

    The same input gives the same bytes on every machine; data starts 8-byte aligned.
    """
    header: dict[str, object] = {}
    if metadata:
        header["__metadata__"] = dict(sorted(metadata.items()))
    position = 0
    for name, dtype, shape in tensors:
        stop = position + prod(shape) * DTYPE_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [position, stop]}
        position = stop
    body = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    body += b" " * (-len(body) % 8)
    return struct.pack("<Q", len(body)) + body
