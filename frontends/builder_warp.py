"""What lanes of a warp do together, atomics, and bits."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from tileopt.dialects import simt_atomic, simt_warp
from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.reductions import ReduceKind
from tileopt.frontends.builder_elements import Elements
from tileopt.frontends.builder_memory import Buffer, Memory
from tileopt.frontends.builder_values import BOOL, I32, Array, Operand, Value

U32 = DTYPES["u32"]
_BITS: dict[str, type[IRDLOperation]] = {
    "popc": math.CtPopOp,
    "clz": math.CountLeadingZerosOp,
    "ctz": math.CountTrailingZerosOp,
}


class Warps(Elements):
    """Warp operations, atomics and bit operations."""

    # Warps

    def shuffle(self, kind: str, value: Operand, lane: Operand, width: int = WARP_SIZE) -> Value:
        """Another lane's value: kind is idx, up, down or xor."""
        given = self._scalar(value, "a shuffle")
        operands = [self.ssa(given), self.ssa(self._lane(lane))]
        return self.emit_value(simt_warp.Shuffle, operands, given.dtype, (), self._words(kind, width))

    def _lane(self, lane: Operand) -> Value:
        value = self.of_thread(lane, "a lane")
        if value.dtype.kind not in "iu":
            raise self.error("type/operand", f"a lane is an integer, not a {value}")
        return self.cast(value, I32)

    def _scalar(self, value: Operand, what: str) -> Value:
        given = self.of_thread(value, what)
        if given.dtype.name.startswith("f8"):
            raise self.error("type/operand", f"{what} takes no {given.dtype}", "cast it to f16 or u8 first")
        return given

    def _words(self, kind: str, width: int | None = None) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {"kind": StringAttr(kind)}
        if width is not None and width != WARP_SIZE:
            if not 0 < width < WARP_SIZE or width & (width - 1):
                raise self.error("type/width", f"a width is a power of two up to {WARP_SIZE}, not {width}")
            properties["width"] = IntegerAttr(width, i64)
        return properties

    def vote(self, kind: str, condition: Operand) -> Value:
        """any, all (a bool) or ballot (the lanes, as bits of a u32)."""
        held = self.ssa(self.cast(self.of_thread(condition, "a vote"), BOOL))
        return self.emit_value(simt_warp.Vote, [held], U32 if kind == "ballot" else BOOL, (), self._words(kind))

    def match(self, kind: str, value: Operand) -> Value:
        """The lanes with this lane's value (any), or all if they have one value (all), as bits of a u32."""
        given = self._scalar(value, "a match")
        if given.dtype.bits not in (32, 64):
            raise self.error("type/operand", f"a match compares 32 or 64 bits, not a {given}", "cast it")
        return self.emit_value(simt_warp.Match, [self.ssa(given)], U32, (), self._words(kind))

    def warp_reduce(self, kind: str, value: Operand, width: int = WARP_SIZE) -> Value:
        """The lanes' values combined, in every lane: sum, prod, max, min, and, or, xor."""
        given = self._scalar(value, "a warp's reduction")
        if kind not in ("sum", "prod", "max", "min", "and", "or", "xor"):
            raise self.error("type/reduction", f"a warp reduces by sum, prod, max, min, and, or, xor, not by '{kind}'")
        if kind in ("and", "or", "xor") and given.dtype.is_float:
            raise self.error("type/operand", f"'{kind}' reduces integers and bools, not {given.dtype}")
        if kind in ("sum", "prod") and given.dtype.kind == "b":
            given = self.cast(given, I32)
        word = f"u{kind}" if kind in ("max", "min") and given.dtype.kind in "bu" else kind
        properties = self._words(ReduceKind(word).value, width)
        return self.emit_value(simt_warp.WarpReduce, [self.ssa(given)], given.dtype, (), properties)

    def elect(self) -> Value:
        """Whether this lane is the first of its warp that runs here."""
        return self.emit_value(simt_warp.Elect, [], BOOL)

    def active_mask(self) -> Value:
        """The lanes that run here together, as bits."""
        return self.emit_value(simt_warp.ActiveMask, [], U32)

    def lane_mask(self, kind: str) -> Value:
        """The lanes whose number is eq, lt, le, gt, ge to this one's, as bits."""
        if kind not in tuple(simt_warp.LaneMaskKind):
            raise self.error("type/operand", f"a lane mask is eq, lt, le, gt or ge, not '{kind}'")
        return self.emit_value(simt_warp.LaneMask, [], U32, (), self._words(kind))

    def sync_warp(self) -> None:
        """The lanes of the warp meet."""
        self.emit(simt_warp.SyncWarp, [], [])

    def fence(self, scope: str) -> None:
        """Orders the thread's accesses for the threads of a scope."""
        self.emit(simt_atomic.Fence, [], [], self._order("relaxed", scope))

    # Atomics

    def _order(self, order: str, scope: str) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {}
        for name, word, words in (
            ("order", order, tuple(simt_atomic.Order)),
            ("scope", scope, tuple(simt_atomic.MemoryScope)),
        ):
            if word not in words:
                raise self.error("type/atomic", f"an atomic's {name} is {', '.join(words)}, not '{word}'")
            if word not in ("relaxed", "device"):
                properties[name] = StringAttr(word)
        return properties

    def _atomic_place(self, memory: Memory, index: Sequence[Operand]) -> tuple[Array, list[Value]]:
        base, places = self.place(memory, index)
        if not isinstance(base, Buffer) and base.kind is not ParamKind.ATOMIC:
            raise OwnershipError(
                "ownership/not-atomic",
                f"an atomic operation on '{base.name}', which is not an array of atomics",
                location=self.location,
                help=f"declare it as '{base.name}: simt.Atomic'",
            )
        if base.dtype.bits not in (16, 32, 64):
            raise self.error(
                "type/atomic", f"'{base.name}' has {base.dtype} elements; atomics work on 16, 32 and 64 bits"
            )
        return base, places

    def atomic_rmw(
        self, kind: str, memory: Memory, index: Sequence[Operand], value: Operand, order: str, scope: str
    ) -> Value:
        """Replaces an element by what `kind` makes of it and the value, and gives what it was."""
        base, places = self._atomic_place(memory, index)
        dtype = base.dtype
        if dtype.is_float and kind not in simt_atomic.ON_FLOATS:
            raise self.error("type/atomic", f"atomic_{kind}() works on integers, not on {dtype}")
        if kind in ("inc", "dec") and dtype.kind != "u":
            raise self.error("type/atomic", f"atomic_{kind}() works on unsigned integers, not on {dtype}")
        if kind in ("max", "min") and dtype.kind == "u":
            kind = f"u{kind}"
        given = self.stored(base, value)
        operands = [self.ssa(given), base.ssa, *map(self.ssa, places)]
        properties = {"kind": StringAttr(kind), **self._order(order, scope)}
        return self.emit_value(simt_atomic.AtomicRmw, operands, dtype, (), properties)

    def atomic_cas(
        self, memory: Memory, index: Sequence[Operand], expected: Operand, desired: Operand, order: str, scope: str
    ) -> Value:
        """Replaces an element by `desired` if it is `expected`, bit for bit, and gives what it was."""
        base, places = self._atomic_place(memory, index)
        pair = [self.stored(base, v) for v in (expected, desired)]
        operands = [*map(self.ssa, pair), base.ssa, *map(self.ssa, places)]
        return self.emit_value(simt_atomic.AtomicCas, operands, base.dtype, (), self._order(order, scope))

    # Bits

    def bits(self, kind: str, value: Operand) -> Value:
        """popc, clz, ffs (from 1; 0 of 0) as i32, brev in the value's type."""
        given = self.of_thread(value, f"{kind}()")
        if given.dtype.kind not in "iu":
            raise self.error("type/operand", f"{kind}() looks at the bits of an integer, not of a {given}")
        if kind == "brev":
            return self._reversed(given)
        if kind == "ffs":
            found = self.cast(self._count("ctz", given), I32)
            return self.where(self.compare("eq", given, 0), 0, self.binary("add", found, 1))
        return self.cast(self._count(kind, given), I32)

    def _count(self, kind: str, value: Value) -> Value:
        return self.emit_value(_BITS[kind], [self.ssa(value)], value.dtype, (), low=0)

    def _reversed(self, value: Value) -> Value:
        """Halves exchanged, then their halves, and so on: LLVM knows the pattern."""
        bits, dtype = value.dtype.bits, DTYPES[f"u{value.dtype.bits}"]
        result, step = self.cast(value, dtype), bits // 2
        while step:
            mask = sum(((1 << step) - 1) << at for at in range(0, bits, 2 * step))
            low = self.binary("shl", self.binary("and", result, mask), step)
            high = self.binary("and", self.binary("shr", result, step), mask)
            result, step = self.binary("or", low, high), step // 2
        return self.cast(result, value.dtype)

    def bitcast(self, value: Operand, name: str) -> Value:
        """The same bits as another type of the same width."""
        given, dtype = self.of_thread(value, "bitcast()"), DTYPES[name]
        if given.dtype.bits != dtype.bits or "b" in (given.dtype.kind, dtype.kind):
            raise self.error("type/bitcast", f"the bits of a {given} are not those of {dtype}")
        if given.dtype.ir == dtype.ir:
            return Value(dtype, (), self.ssa(given))
        return self.emit_value(arith.BitcastOp, [self.ssa(given)], dtype)
