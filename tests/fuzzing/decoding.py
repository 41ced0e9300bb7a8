"""The protocol's encodings decoded once more, value by value, from the document's own words."""

import struct

import numpy as np

GROUP, LARGEST = 4096, 1e6
BLOCKS = {"int8": 256, "int4": 128}


class NotDecodable(Exception):
    """The document refuses such bytes."""


def decode(encoding: str, data: bytes, count: int) -> list[float]:
    """``count`` values of one chunk, which are all there are.

    Raises:
        NotDecodable: too many or too few bytes, or some that no encoder makes.
    """
    values = {"bf16": _bf16, "topk": _topk}.get(encoding)
    return values(data, count) if values else _blocks(encoding, data, count)


def _bf16(data: bytes, count: int) -> list[float]:
    _demand(len(data) == 2 * count)
    return [struct.unpack("<f", b"\0\0" + data[2 * i : 2 * i + 2])[0] for i in range(count)]


def _blocks(encoding: str, data: bytes, count: int) -> list[float]:
    block = BLOCKS[encoding]
    blocks = (count + block - 1) // block
    numbers = data[4 * blocks :]
    _demand(len(numbers) == (count if encoding == "int8" else (count + 1) // 2))
    scales = [_level(data, 4 * i) for i in range(blocks)]
    whole = [_whole(encoding, numbers, i) for i in range(count)]
    return [float(np.float32(whole[i]) * np.float32(scales[i // block])) for i in range(count)]


def _whole(encoding: str, numbers: bytes, i: int) -> int:
    if encoding == "int8":
        number = struct.unpack("b", numbers[i : i + 1])[0]
        _demand(number != -128)
        return number
    bits = numbers[i // 2] >> (4 * (i % 2)) & 15
    _demand(bits != 0)
    return bits - 8


def _topk(data: bytes, count: int) -> list[float]:
    values, at = [], 0
    while len(values) < count:
        width = min(GROUP, count - len(values))
        kept = (width + 63) // 64
        size = 8 + (kept + 1) // 2 * 3 + (kept + 3) // 4
        _demand(len(data) >= at + size)
        values += _group(data[at : at + size], width, kept)
        at += size
    _demand(at == len(data))
    return values


def _group(record: bytes, width: int, kept: int) -> list[float]:
    levels = _level(record, 0), _level(record, 4)
    codes = 8 + (kept + 1) // 2 * 3
    positions = int.from_bytes(record[8:codes], "little")
    values, last = [0.0] * width, -1
    for i in range(kept):
        position = positions >> (12 * i) & 0xFFF
        _demand(last < position < width)
        code = record[codes + i // 4] >> (2 * (i % 4)) & 3
        values[position] = -levels[code >> 1] if code & 1 else levels[code >> 1]
        last = position
    return values


def _level(data: bytes, at: int) -> float:
    _demand(len(data) >= at + 4)
    (level,) = struct.unpack("<f", data[at : at + 4])
    _demand(0 <= level <= LARGEST)
    return level


def _demand(holds: bool) -> None:
    if not holds:
        raise NotDecodable
