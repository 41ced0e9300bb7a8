"""Loops over vectors and matrices, compiled for this processor. They need llvmlite.

numpy goes through memory with every operation, and Python's threads wait for each other between
two of them. Where a value takes many operations, they are put together as instructions of LLVM that
keep their values in registers. What a loop computes does not depend on how it is compiled: nothing
is reordered, and multiplication and addition are never fused, unless a loop says so.
"""

from collections.abc import Callable, Iterable
from ctypes import CFUNCTYPE, c_int64
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

# Columns that an instruction works on; where registers are shorter, several instructions do.
LANES = 16

ADDRESS, INTEGER, DOUBLE, FLOAT = (
    ir.PointerType(),
    ir.IntType(64),
    ir.DoubleType(),
    ir.FloatType(),
)
FLOATS, DOUBLES = (ir.VectorType(kind, LANES) for kind in (FLOAT, DOUBLE))


class Loops(ir.IRBuilder):
    """Writes one function's instructions, with what loops over matrices need."""

    def loop(
        self,
        start: ir.Value,
        stop: ir.Value,
        step: ir.Value,
        body: Callable[..., Iterable[ir.Value] | None],
        *carried: ir.Value,
    ) -> list[ir.Value]:
        """``body(index, *carried)`` for ``start``, ``start + step``, ... below ``stop``, once at
        least; what it answers is carried into the next turn, and is the answer of the last."""
        before, head = self.block, self.append_basic_block()
        self.branch(head)
        self.position_at_end(head)
        index, *held = (self.phi(value.type) for value in (start, *carried))
        answers = list(body(index, *held) or ())
        following = self.add(index, step)
        for phi, first, then in zip(
            (index, *held), (start, *carried), (following, *answers), strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(then, self.block)
        end = self.append_basic_block()
        self.cbranch(self.icmp_signed("<", following, stop), head, end)
        self.position_at_end(end)
        return answers

    def row(self, matrix: ir.Value, stride: ir.Value, number: ir.Value) -> ir.Value:
        """Address of a row; ``stride`` is bytes from one to the next."""
        return self.gep(matrix, [self.mul(stride, number)], source_etype=ir.IntType(8))

    def at(self, values: ir.Value, place: ir.Value, kind: ir.Type = FLOAT) -> ir.Value:
        """Address of a value behind others."""
        return self.gep(values, [place], source_etype=kind)

    def floats(self, row: ir.Value, column: ir.Value, kind: ir.VectorType = FLOATS) -> ir.Value:
        """``LANES`` values from ``column`` on, or as many as ``kind`` has."""
        return self.load(self.at(row, column), align=4, typ=kind)

    def put(self, floats: ir.Value, row: ir.Value, column: ir.Value) -> None:
        self.store(floats, self.at(row, column), align=4)

    def lesser(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.select(self.icmp_signed("<", a, b), a, b)

    def everywhere(self, value: ir.Value, kind: ir.VectorType) -> ir.Value:
        """A vector of ``value`` in each lane."""
        first = self.insert_element(kind(ir.Undefined), value, INTEGER(0))
        lanes = ir.VectorType(ir.IntType(32), LANES)
        return self.shuffle_vector(first, kind(ir.Undefined), lanes([0] * LANES))

    def intrinsic(self, name: str, *values: ir.Value, flags: tuple[str, ...] = ()) -> ir.Value:
        """LLVM's function ``name`` of vectors of floats, all of one length."""
        return self._intrinsic(name, values[0].type, values, flags)

    def sum_of(self, values: ir.Value) -> ir.Value:
        """Of ``LANES`` floats, in whatever order is fastest."""
        return self._intrinsic("vector.reduce.fadd", FLOAT, (FLOAT(-0.0), values), ("reassoc",))

    def largest_of(self, numbers: ir.Value) -> ir.Value:
        """Of a vector of whole numbers with a sign."""
        return self._intrinsic("vector.reduce.smax", numbers.type.element, (numbers,))

    def smallest_of(self, numbers: ir.Value) -> ir.Value:
        return self._intrinsic("vector.reduce.smin", numbers.type.element, (numbers,))

    def _intrinsic(
        self, name: str, answer: ir.Type, values: tuple[ir.Value, ...], flags: tuple[str, ...] = ()
    ) -> ir.Value:
        signature = ir.FunctionType(answer, [value.type for value in values])
        vector = values[-1].type
        kind = f"v{vector.count}{'f32' if vector.element == FLOAT else vector.element}"
        function = self.module.declare_intrinsic(f"llvm.{name}.{kind}", fnty=signature)
        return self.call(function, values, fastmath=flags)


@dataclass(frozen=True)
class Function:
    """Compiled code that takes 64-bit integers. It lives as long as its engine does, and so as
    this object: whoever uses the address keeps it."""

    address: int
    _call: Callable[..., int]
    _engine: object

    def __call__(self, *arguments: int) -> int:
        return self._call(*arguments)


def address(values: np.ndarray) -> int:
    """Where an array's first value is; the array must be kept meanwhile."""
    return values.__array_interface__["data"][0]


def compiled(write: Callable[..., ir.Value | None], arguments: int) -> Function:
    """The function whose instructions ``write(loops, *values)`` writes. It answers the integer that
    ``write`` answers, or 0, and lets other threads run meanwhile."""
    module = ir.Module()
    signature = ir.FunctionType(INTEGER, [INTEGER] * arguments)
    function = ir.Function(module, signature, "loops")
    loops = Loops(function.append_basic_block())
    loops.ret(write(loops, *function.args) or INTEGER(0))
    return _machine_code(str(module), arguments)


def has_wide_registers() -> bool:
    """Whether one register holds ``LANES`` floats: then this processor has 32 of them."""
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get("avx512f"))


def _machine_code(assembly: str, arguments: int) -> Function:
    import llvmlite.binding as llvm  # 40 MB that a process which never merges does without

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # More of LLVM's care makes loops as plain as these no faster, and costs time and memory.
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    module = llvm.parse_assembly(assembly)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    place = engine.get_function_address("loops")
    return Function(place, CFUNCTYPE(c_int64, *[c_int64] * arguments)(place), engine)
