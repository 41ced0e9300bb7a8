"""Encodings as compiled loops: the same bytes as numpy makes, several times as fast.

numpy takes six steps through a chunk to encode it. Here a block is read once for its largest
magnitude and, while it is in the first cache, once more.
"""

from functools import cached_property

import numpy as np
from llvmlite import ir

from worker_client.contract.encodings.blocks import (
    FLOAT32,
    SMALLEST_SCALE,
    Bf16,
    Blocks,
    out_of_range,
    split,
)
from worker_client.contract.native import (
    ADDRESS,
    FLOAT,
    FLOATS,
    INTEGER,
    LANES,
    Function,
    Loops,
    address,
    compiled,
)

BYTE = ir.IntType(8)
WHOLE = ir.VectorType(ir.IntType(32), LANES)
BYTES = ir.VectorType(BYTE, LANES)
HALVES = ir.VectorType(ir.IntType(16), LANES)
# Two neighbours, of which the earlier one is in the lower half.
PAIRS = ir.VectorType(ir.IntType(64), LANES // 2)
PACKED = ir.VectorType(BYTE, LANES // 2)


class CompiledBf16(Bf16):
    """Rounds in one pass; to decode, numpy needs no more."""

    def encode(self, values: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(values, FLOAT32)
        whole = len(values) // LANES * LANES
        made = np.empty(self.size(len(values)), np.uint8)
        if whole:
            self._encode(address(values), address(made), whole)
        made[self.size(whole) :] = super().encode(values[whole:])
        return made

    @cached_property
    def _encode(self) -> Function:
        """Takes values, bytes and how many values, a multiple of ``LANES``."""

        def write(loops: Loops, values: ir.Value, made: ir.Value, count: ir.Value) -> None:
            values, made = (loops.inttoptr(place, ADDRESS) for place in (values, made))

            def round_up(column: ir.Value) -> None:
                bits = loops.load(loops.at(values, column), align=4, typ=WHOLE)
                upper = WHOLE([16] * LANES)
                is_odd = loops.and_(loops.lshr(bits, upper), WHOLE([1] * LANES))
                rounded = loops.add(loops.add(is_odd, WHOLE([0x7FFF] * LANES)), bits)
                halves = loops.trunc(loops.lshr(rounded, upper), HALVES)
                loops.store(halves, loops.at(made, column, HALVES.element), align=1)

            loops.loop(INTEGER(0), count, INTEGER(LANES), round_up)

        return compiled(write, 3)


class CompiledBlocks:
    """A codec of blocks whose whole blocks compiled code takes, and ``plain`` the last few values.
    The first call compiles."""

    feeds_back = False

    def __init__(self, plain: Blocks) -> None:
        self.plain, self.id = plain, plain.id

    def size(self, count: int) -> int:
        return self.plain.size(count)

    def encode(self, values: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(values, FLOAT32)
        blocks, rest = divmod(len(values), self.plain.block)
        made = np.empty(self.size(len(values)), np.uint8)
        numbers = made[4 * (blocks + bool(rest)) :]
        if blocks:
            self._encode(address(values), address(made), address(numbers), blocks)
        if rest:
            last = self.plain.encode(values[-rest:])
            made[4 * blocks : 4 * blocks + 4] = last[:4]
            numbers[self._packed(blocks) :] = last[4:]
        return made

    def decode(self, data: np.ndarray, out: np.ndarray) -> None:
        # Compiled code looks at no bounds.
        if data.dtype != np.uint8 or data.shape != (self.size(len(out)),):
            raise ValueError(f"{len(out)} values take {self.size(len(out))} bytes")
        if out.dtype != FLOAT32 or not (out.flags.c_contiguous and out.flags.writeable):
            raise TypeError("values are written to float32 that lie one behind the other")
        data = np.ascontiguousarray(data)
        blocks, rest = divmod(len(out), self.plain.block)
        scales, numbers = split(data, len(out), self.plain.block)
        if blocks and self._decode(address(scales), address(numbers), address(out), blocks):
            raise out_of_range(self.plain)
        if rest:
            last = np.concatenate([scales[-1:].view(np.uint8), numbers[self._packed(blocks) :]])
            self.plain.decode(last, out[-rest:])

    def _packed(self, blocks: int) -> int:
        return blocks * (self.plain.size(self.plain.block) - 4)

    @cached_property
    def _encode(self) -> Function:
        """Takes values, scales, numbers and how many blocks."""

        def write(loops: Loops, values: ir.Value, *rest: ir.Value) -> None:
            scales, numbers = (loops.inttoptr(place, ADDRESS) for place in rest[:2])
            values = loops.inttoptr(values, ADDRESS)

            def block(index: ir.Value) -> None:
                start, end = self._bounds(loops, index)
                scale, inverse = self._scale(loops, _largest(loops, values, start, end))
                loops.store(scale, loops.at(scales, index), align=1)
                factors = loops.everywhere(inverse, FLOATS)

                def pack(column: ir.Value) -> None:
                    shifted = loops.fmul(loops.floats(values, column), factors)
                    shifted = loops.fadd(shifted, FLOATS([float(self.plain.shift)] * LANES))
                    self._store(loops, shifted, numbers, column)

                loops.loop(start, end, INTEGER(LANES), pack)

            loops.loop(INTEGER(0), rest[2], INTEGER(1), block)

        return compiled(write, 4)

    @cached_property
    def _decode(self) -> Function:
        """Takes scales, numbers, values and how many blocks; answers 1 for a number that no
        encoder makes."""

        def write(loops: Loops, *arguments: ir.Value) -> ir.Value:
            scales, numbers, out = (loops.inttoptr(place, ADDRESS) for place in arguments[:3])

            def block(index: ir.Value, smallest: ir.Value) -> list[ir.Value]:
                start, end = self._bounds(loops, index)
                scale = loops.load(loops.at(scales, index), align=1, typ=FLOAT)
                factors = loops.everywhere(scale, FLOATS)

                def unpack(column: ir.Value, smallest: ir.Value) -> list[ir.Value]:
                    whole = self._load(loops, numbers, column)
                    values = loops.fmul(loops.sitofp(whole, FLOATS), factors)
                    loops.put(values, out, column)
                    return [loops.lesser(whole, smallest)]

                return loops.loop(start, end, INTEGER(LANES), unpack, smallest)

            first = WHOLE([0] * LANES)
            (smallest,) = loops.loop(INTEGER(0), arguments[3], INTEGER(1), block, first)
            allowed = ir.IntType(32)(-self.plain.most)
            is_bad = loops.icmp_signed("<", loops.smallest_of(smallest), allowed)
            return loops.zext(is_bad, INTEGER)

        return compiled(write, 4)

    def _bounds(self, loops: Loops, index: ir.Value) -> tuple[ir.Value, ir.Value]:
        start = loops.mul(index, INTEGER(self.plain.block))
        return start, loops.add(start, INTEGER(self.plain.block))

    def _scale(self, loops: Loops, largest: ir.Value) -> tuple[ir.Value, ir.Value]:
        """A block's scale, and what its values are multiplied with."""
        most, none = FLOAT(float(self.plain.most)), FLOAT(0.0)
        scale = loops.fdiv(largest, most)
        is_less = loops.fcmp_ordered("<", scale, FLOAT(float(SMALLEST_SCALE)))
        scale = loops.select(is_less, none, scale)
        is_any = loops.fcmp_ordered(">", scale, none)
        return scale, loops.select(is_any, loops.fdiv(most, largest), none)

    def _store(self, loops: Loops, shifted: ir.Value, numbers: ir.Value, column: ir.Value) -> None:
        """The numbers are in the lowest bits of floats."""
        if self.plain.most > 7:
            made = loops.trunc(loops.bitcast(shifted, WHOLE), BYTES)
        else:
            pairs = loops.bitcast(shifted, PAIRS)
            later = loops.lshr(pairs, PAIRS([28] * PAIRS.count))
            pairs = loops.or_(pairs, loops.and_(later, PAIRS([0xF0] * PAIRS.count)))
            made = loops.trunc(pairs, PACKED)
            column = loops.lshr(column, INTEGER(1))
        loops.store(made, loops.at(numbers, column, BYTE), align=1)

    def _load(self, loops: Loops, numbers: ir.Value, column: ir.Value) -> ir.Value:
        if self.plain.most > 7:
            data = loops.load(loops.at(numbers, column, BYTE), align=1, typ=BYTES)
            return loops.sext(data, WHOLE)
        place = loops.at(numbers, loops.lshr(column, INTEGER(1)), BYTE)
        pairs = loops.zext(loops.load(place, align=1, typ=PACKED), PAIRS)
        later = loops.shl(pairs, PAIRS([28] * PAIRS.count))
        halves = loops.bitcast(loops.or_(pairs, later), WHOLE)
        return loops.sub(loops.and_(halves, WHOLE([15] * LANES)), WHOLE([8] * LANES))


def _largest(loops: Loops, values: ir.Value, start: ir.Value, end: ir.Value) -> ir.Value:
    """The largest magnitude from ``start`` to ``end``: finite floats without their sign bit are in
    the order of their bits."""

    def compare(column: ir.Value, so_far: ir.Value) -> list[ir.Value]:
        bits = loops.load(loops.at(values, column), align=4, typ=WHOLE)
        magnitudes = loops.and_(bits, WHOLE([0x7FFFFFFF] * LANES))
        larger = loops.icmp_signed(">", magnitudes, so_far)
        return [loops.select(larger, magnitudes, so_far)]

    (found,) = loops.loop(start, end, INTEGER(LANES), compare, WHOLE([0] * LANES))
    return loops.bitcast(loops.largest_of(found), FLOAT)
