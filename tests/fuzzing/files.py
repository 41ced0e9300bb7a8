"""Result files: honest ones, and what becomes of them in hostile hands."""

import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worker_client.contract.encodings import Codec
from worker_client.contract.formats import Format

Header = dict[str, Any]
Told = Callable[[int], dict[str, str]]


@dataclass
class Draft:
    """A file in parts: ``header`` becomes JSON, ``data`` follows it."""

    header: Header
    data: bytearray

    def build(self) -> bytes:
        body = json.dumps(self.header).encode("utf-8", "surrogatepass")
        body += b" " * (-len(body) % 8)
        return struct.pack("<Q", len(body)) + body + bytes(self.data)


def honest(fmt: Format, start: np.ndarray, draw: random.Random) -> Draft:
    """A valid result: the snapshot, moved a little, its tensors in any order."""
    noise = np.random.default_rng(draw.getrandbits(32)).standard_normal(fmt.parameters)
    values = (start + 1e-3 * noise).astype("<f4")
    ends = np.cumsum([spec.count for spec in fmt.tensors])
    order = draw.sample(range(len(fmt.tensors)), len(fmt.tensors))
    header: Header = {"__metadata__": {"gorev": "abc", "kayip": "2.5", "token": "64"}}
    data = bytearray()
    for i in order:
        spec = fmt.tensors[i]
        piece = values[ends[i] - spec.count : ends[i]].tobytes()
        offsets = [len(data), len(data) + len(piece)]
        header[spec.name] = {"dtype": "F32", "shape": list(spec.shape), "data_offsets": offsets}
        data += piece
    return Draft(header, data)


def mutated(fmt: Format, start: np.ndarray, draw: random.Random) -> bytes:
    """An honest file after up to three changes of its parts and, often, some of its bytes."""
    draft = honest(fmt, start, draw)
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        draw.choice(PARTS)(draft, draw)
    body = draft.build()
    if draw.random() < 0.5:
        return body
    for _ in range(draw.choice((1, 1, 2))):
        body = draw.choice(BYTES)(body, draw)
    return body


def mutated_delta(codec: Codec, count: int, draw: random.Random) -> bytes:
    """An honest delta, encoded, after changes of its bytes, its header, or both."""
    scale = 10 ** draw.uniform(-6, 1)
    values = scale * np.random.default_rng(draw.getrandbits(32)).standard_normal(count)
    data = bytearray(codec.encode(values.astype("<f4")).tobytes())
    for _ in range(draw.choice((0, 1, 1, 3))):
        place = draw.randrange(draw.choice((min(64, len(data)), len(data))))
        new = draw.choice(SCALES) if draw.random() < 0.3 else draw.randbytes(1)
        data[place : place + len(new)] = new
    entry = {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}
    draft = Draft({"__metadata__": {"kodlama": codec.id}, "delta": entry}, data)
    if draw.random() < 0.3:
        draw.choice((*PARTS, _another_encoding, _longer))(draft, draw)
    body = draft.build()
    return draw.choice(BYTES)(body, draw) if draw.random() < 0.2 else body


def mutated_rows(seq: int, vocabulary: int, most: int, told: Told, draw: random.Random) -> bytes:
    """The rows of a text, about ``most`` of them or few, with the metadata ``told`` of so many
    rows, after changes of ids, metadata, header or bytes."""
    rows = draw.choice((0, 1, 3, most, most + 1))
    noise = np.random.default_rng(draw.getrandbits(32))
    data = bytearray(noise.integers(0, vocabulary, rows * seq).astype("<i4").tobytes())
    offsets = [0, len(data)]
    entry = {"dtype": "I32", "shape": [rows, seq], "data_offsets": offsets}
    draft = Draft({"__metadata__": told(rows), "input_ids": entry}, data)
    if data and draw.random() < 0.2:
        place = 4 * draw.randrange(len(data) // 4)
        data[place : place + 4] = struct.pack("<i", draw.choice((-1, 0, vocabulary, 2**31 - 1)))
    if draw.random() < 0.2:
        draft.header["__metadata__"][draw.choice(list(told(rows)))] = draw.choice(COUNTS)
    if draw.random() < 0.4:
        draw.choice(PARTS)(draft, draw)
    body = draft.build()
    return draw.choice(BYTES)(body, draw) if draw.random() < 0.2 else body


COUNTS = ("", "0", "15", "015", "+15", " 15", "1e1", "-1", "٣", "²", "9" * 5000, "0" * 64)
SCALES = tuple(np.float32(x).tobytes() for x in (np.nan, np.inf, -1, -0.0, 0, 1e-45, 1e6, 2e6))


def _another_encoding(draft: Draft, draw: random.Random) -> None:
    draft.header["__metadata__"] = {"kodlama": draw.choice(("ham", "int8", "topk", "", "INT8"))}


def _longer(draft: Draft, draw: random.Random) -> None:
    """As many bytes more, or fewer, in the tensor and in the file."""
    more = draw.choice((1, 4, 100))
    draft.data = draft.data + bytes(more) if draw.random() < 0.5 else draft.data[:-more]
    size = len(draft.data)
    draft.header["delta"] = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}


# --- Changes of parts ----------------------------------------------------------------------------

NUMBERS = (0, -0.0, 1, -1, 1.0, 2**31, 2**48, 2**63, 2**64, 10**30, 1e400, float("nan"), "4", None)
DTYPES = ("F16", "BF16", "F64", "I32", "I64", "U8", "BOOL", "F8_E4M3", "f32", "", 4, None, ["F32"])
TEXTS = ("", "a", "\x00", "\ud800", "é", "x" * 300, "../../etc", "<b>", "\u202e", "__metadata__")
VALUES = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-45, -0.0, 0.01)


def _entry(draft: Draft, draw: random.Random) -> Header:
    names = [name for name in draft.header if isinstance(draft.header[name], dict)]
    names = [name for name in names if name != "__metadata__"]
    return draft.header[draw.choice(names)] if names else {}


def _number(draft: Draft, draw: random.Random) -> None:
    """One number of a shape or an offset is another."""
    numbers = _entry(draft, draw).get(draw.choice(("shape", "data_offsets")))
    if isinstance(numbers, list) and numbers:
        place = draw.randrange(len(numbers))
        old = numbers[place]
        near = [old + step for step in (-4, -1, 1, 4)] if isinstance(old, int) else []
        numbers[place] = draw.choice([*near, *NUMBERS])


def _shape(draft: Draft, draw: random.Random) -> None:
    shape = _entry(draft, draw).get("shape")
    if isinstance(shape, list):
        change = draw.choice((shape.reverse, shape.clear, lambda: shape.append(1)))
        change()


def _dtype(draft: Draft, draw: random.Random) -> None:
    _entry(draft, draw)["dtype"] = draw.choice(DTYPES)


def _member(draft: Draft, draw: random.Random) -> None:
    """A member of an entry is missing, or there is one more."""
    entry = _entry(draft, draw)
    if draw.random() < 0.5:
        entry[draw.choice(TEXTS)] = draw.choice((*NUMBERS, *DTYPES))
    elif entry:
        del entry[draw.choice(list(entry))]


def _rename(draft: Draft, draw: random.Random) -> None:
    name = draw.choice(list(draft.header))
    draft.header[draw.choice((*TEXTS, name + " ", name.upper()))] = draft.header.pop(name)


def _lose(draft: Draft, draw: random.Random) -> None:
    """A tensor is missing from the header; its bytes may be gone as well."""
    name = draw.choice(list(draft.header))
    entry = draft.header.pop(name)
    if draw.random() < 0.5 and isinstance(entry, dict) and "data_offsets" in entry:
        del draft.data[-4:]


def _add(draft: Draft, draw: random.Random) -> None:
    """A tensor more, with bytes of its own or none."""
    begin, count = len(draft.data), draw.choice((0, 0, 1, 3))
    offsets = [begin, begin + 4 * count]
    draft.header[draw.choice(TEXTS)] = {"dtype": "F32", "shape": [count], "data_offsets": offsets}
    draft.data += bytes(4 * count)


def _swap(draft: Draft, draw: random.Random) -> None:
    """Two entries change places: valid where their shapes agree, and other weights then."""
    one, other = _entry(draft, draw), _entry(draft, draw)
    if "data_offsets" in one and "data_offsets" in other:
        one["data_offsets"], other["data_offsets"] = other["data_offsets"], one["data_offsets"]


def _overlap(draft: Draft, draw: random.Random) -> None:
    one, other = _entry(draft, draw), _entry(draft, draw)
    one["data_offsets"] = other.get("data_offsets")


def _metadata(draft: Draft, draw: random.Random) -> None:
    choices = (None, [], "x", {}, {"a": 1}, {"a": None}, {draw.choice(TEXTS): draw.choice(TEXTS)})
    draft.header["__metadata__"] = draw.choice((*choices, {str(i): "v" * 90 for i in range(100)}))


def _value(draft: Draft, draw: random.Random) -> None:
    """One weight is another: not finite, enormous, tiny or plausible."""
    if len(draft.data) >= 4:
        place = 4 * draw.randrange(len(draft.data) // 4)
        draft.data[place : place + 4] = np.float32(draw.choice(VALUES)).tobytes()


def _scale(draft: Draft, draw: random.Random) -> None:
    """All weights are scaled, which may take them to either side of the norm's limit."""
    whole = len(draft.data) // 4 * 4
    values = np.frombuffer(bytes(draft.data[:whole]), "<f4")
    with np.errstate(over="ignore", invalid="ignore"):
        draft.data[:whole] = (values * np.float32(10 ** draw.uniform(-3, 4))).tobytes()


PARTS: tuple[Callable[[Draft, random.Random], None], ...] = (
    _number,
    _number,
    _shape,
    _dtype,
    _member,
    _rename,
    _lose,
    _add,
    _swap,
    _overlap,
    _metadata,
    _value,
    _value,
    _scale,
)


# --- Changes of bytes ----------------------------------------------------------------------------


def _flip(body: bytes, draw: random.Random) -> bytes:
    """One bit, in the header more often than its size would have it."""
    if not body:
        return body
    place = draw.randrange(draw.choice((min(len(body), 8), min(len(body), 600), len(body))))
    return body[:place] + bytes([body[place] ^ 1 << draw.randrange(8)]) + body[place + 1 :]


def _cut(body: bytes, draw: random.Random) -> bytes:
    return body[: draw.randrange(len(body) + 1)]


def _append(body: bytes, draw: random.Random) -> bytes:
    return body + draw.randbytes(draw.choice((1, 4, 100)))


def _repeat(body: bytes, draw: random.Random) -> bytes:
    a, b = sorted(draw.randrange(len(body) + 1) for _ in "ab")
    return body[:b] + body[a:b] + body[b:]


def _drop(body: bytes, draw: random.Random) -> bytes:
    a = draw.randrange(len(body) + 1)
    return body[:a] + body[a + draw.choice((1, 4, 8)) :]


def _length(body: bytes, draw: random.Random) -> bytes:
    """Another length of the header than it has."""
    found = struct.unpack("<Q", body[:8])[0] if len(body) >= 8 else 0
    values = (0, 1, found - 1, found + 1, found + 8, 2**20, 2**20 + 1, 2**32, 2**63, 2**64 - 1)
    return struct.pack("<Q", draw.choice(values) % 2**64) + body[8:]


def _header_text(body: bytes, draw: random.Random) -> bytes:
    """JSON that parsers disagree on, in the header's own words and with its right length."""
    if len(body) < 8:
        return body
    length = struct.unpack("<Q", body[:8])[0]
    text, rest = body[8 : 8 + length], body[8 + length :]
    changes: tuple[tuple[bytes, bytes], ...] = (
        (b"{", b" {"),
        (b"{", b"\xef\xbb\xbf{"),
        (b"[0, ", b"[-0, "),
        (b"[0, ", b"[00, "),
        (b"[0, ", b"[0.0, "),
        (b"[0, ", b"[0e0, "),
        (b"[0, ", b"[1e-999, "),
        (b'"F32"', b'"\\u0046\\u0033\\u0032"'),
        (b'"F32"', b"'F32'"),
        (b'"shape"', b'"shape": [1], "shape"'),
        (b'{"', b'{"a": NaN, "'),
        (b'{"', b'{"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "'),
        (b"}", b",}"),
        (b"}", b"}\x00"),
        (b'"', b'"\xff'),
        (b"[", b"[" * 5000),
        (b"}", b"}" + b" " * 4096),
        (b"}", b"}" + b"\n\t\r "),
    )
    old, new = draw.choice(changes)
    text = text.replace(old, new, draw.choice((1, -1)) if len(new) < 200 else 1)
    return struct.pack("<Q", len(text)) + text + rest


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _flip,
    _cut,
    _append,
    _repeat,
    _drop,
    _length,
    _header_text,
    _header_text,
)
