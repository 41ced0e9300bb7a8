"""Every value in fewer bits: ``bf16``, and whole numbers times a scale per block."""

import threading
from typing import Protocol

import numpy as np

FLOAT32 = np.dtype("<f4")
LARGEST_SCALE = 1e6  # no honest update comes near; it keeps every product finite
SMALLEST_SCALE = np.finfo(FLOAT32).tiny  # below it float32 loses bits
# Added to a float32 of magnitude below 2**22 it leaves the nearest whole number, ties to even, in
# the low bits: one addition instead of rounding and casting.
ROUNDER = np.float32(1.5 * 2**23)


class Bf16:
    """The upper half of each float32, rounded to the nearest, ties to even: 2 bytes a value."""

    id = "bf16"
    feeds_back = False

    def size(self, count: int) -> int:
        return 2 * count

    def encode(self, values: np.ndarray) -> np.ndarray:
        bits = np.ascontiguousarray(values, FLOAT32).view("<u4")
        rounded = bits >> np.uint32(16)
        rounded &= np.uint32(1)
        rounded += np.uint32(0x7FFF)
        rounded += bits
        rounded >>= np.uint32(16)
        return rounded.astype("<u2").view(np.uint8)

    def decode(self, data: np.ndarray, out: np.ndarray) -> None:
        bits = out.view("<u4")
        bits[:] = data.view("<u2")
        bits <<= np.uint32(16)


class Blocks(Protocol):
    """Blocks of ``block`` values: a float32 scale and whole numbers from ``-most`` to ``most``.

    ``scale = max|v| / most``, ``q = rint(v * (most / max|v|))``; a block whose scale would be no
    normal float32 is all zeros. A chunk is its scales, then its numbers.
    """

    id: str
    feeds_back: bool
    block: int
    most: int
    # What is added to ``q`` to leave, in the low bits of a float32, what is sent.
    shift: np.float32

    def size(self, count: int) -> int: ...

    def encode(self, values: np.ndarray) -> np.ndarray: ...

    def decode(self, data: np.ndarray, out: np.ndarray) -> None: ...


class Int8(Blocks):
    """Blocks of 256 values with numbers from -127 to 127, a byte each."""

    id = "int8"
    feeds_back = False
    block, most, shift = 256, 127, ROUNDER

    def size(self, count: int) -> int:
        return 4 * _blocks(count, self.block) + count

    def encode(self, values: np.ndarray) -> np.ndarray:
        scales, numbers = quantise(values, self.block, self.most, self.shift)
        made = np.empty(self.size(len(values)), np.uint8)
        made[: scales.nbytes] = scales.view(np.uint8)
        made[scales.nbytes :] = numbers.view("<u4")[: len(values)]  # keeps the lowest byte
        return made

    def decode(self, data: np.ndarray, out: np.ndarray) -> None:
        scales, numbers = split(data, len(out), self.block)
        signed = numbers.view(np.int8)
        if (signed == -128).any():
            raise out_of_range(self)
        out[:] = signed
        scale_up(out, scales, self.block)


class Int4(Blocks):
    """Blocks of 128 values with numbers from -7 to 7: each plus 8 in four bits, the earlier of two
    in the lower ones."""

    id = "int4"
    feeds_back = False
    block, most, shift = 128, 7, ROUNDER + np.float32(8)

    def size(self, count: int) -> int:
        return 4 * _blocks(count, self.block) + (count + 1) // 2

    def encode(self, values: np.ndarray) -> np.ndarray:
        scales, numbers = quantise(values, self.block, self.most, self.shift)
        pairs = numbers.view("<u4").astype(np.uint8).view("<u2")[: (len(values) + 1) // 2]
        made = np.empty(self.size(len(values)), np.uint8)
        made[: scales.nbytes] = scales.view(np.uint8)
        made[scales.nbytes :] = pairs | pairs >> np.uint16(4)  # keeps the lowest byte
        return made

    def decode(self, data: np.ndarray, out: np.ndarray) -> None:
        scales, packed = split(data, len(out), self.block)
        pairs = packed.astype("<u2")
        pairs |= pairs << np.uint16(4)
        pairs &= np.uint16(0x0F0F)
        numbers = pairs.view(np.uint8)[: len(out)]
        if not numbers.all():
            raise out_of_range(self)
        numbers -= np.uint8(8)
        out[:] = numbers.view(np.int8)
        scale_up(out, scales, self.block)


def out_of_range(codec: Blocks) -> ValueError:
    """The error that there is a number which no encoder makes."""
    return ValueError(f"a number below -{codec.most}")


class Scratch(threading.local):
    """A thread's memory for one chunk: fresh memory is given back to the system and asked for
    again at each chunk, and its pages are then filled with zeros first."""

    held = np.empty(0, FLOAT32)

    def floats(self, count: int) -> np.ndarray:
        if len(self.held) < count:
            self.held = np.empty(count, FLOAT32)
        return self.held[:count]


_scratch = Scratch()


def quantise(
    values: np.ndarray, block: int, most: int, shift: np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """Float32 scales ``[blocks]``, and ``rint(q) + shift`` as float32 ``[blocks * block]``, which
    the thread's next call overwrites."""
    padded = _padded(values, block)
    numbers = _scratch.floats(len(padded))
    largest = _largest(padded, block, numbers.view("<i4"))
    scales = largest / np.float32(most)
    scales[scales < SMALLEST_SCALE] = 0
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(scales > 0, np.float32(most) / largest, np.float32(0))
    # Filled and then multiplied as one row: quicker than a product for each block.
    numbers.reshape(-1, block)[:] = inverse[:, None]
    numbers *= padded
    numbers += shift
    return scales, numbers


def _largest(padded: np.ndarray, block: int, scratch: np.ndarray) -> np.ndarray:
    """The largest magnitude of each block. Finite floats without their sign bit are in the order
    of their bits, and whole numbers compare faster than floats, which have to mind NaN."""
    np.bitwise_and(padded.view("<i4"), 0x7FFFFFFF, out=scratch)
    return np.maximum.reduceat(scratch, np.arange(0, len(padded), block)).view(FLOAT32)


def split(data: np.ndarray, count: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Scales and packed numbers of a chunk of ``count`` values.

    Raises:
        ValueError: a scale is negative, not finite, or absurdly large.
    """
    end = 4 * _blocks(count, block)
    scales = data[:end].view(FLOAT32)
    if not ((scales >= 0) & (scales <= LARGEST_SCALE)).all():
        raise ValueError(f"a scale outside 0 to {LARGEST_SCALE:g}")
    return scales, data[end:]


def scale_up(out: np.ndarray, scales: np.ndarray, block: int) -> None:
    whole = len(out) // block * block
    out[:whole].reshape(-1, block)[:] *= scales[: whole // block, None]
    if whole < len(out):
        out[whole:] *= scales[-1]


def _blocks(count: int, block: int) -> int:
    return -(-count // block)


def _padded(values: np.ndarray, block: int) -> np.ndarray:
    missing = -len(values) % block
    return np.pad(values, (0, missing)) if missing else np.ascontiguousarray(values, FLOAT32)
