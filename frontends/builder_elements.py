"""One element of memory at a time: loads, stores, extents, shared memory, and parts of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Operation

from tileopt.dialects import simt, simt_thread
from tileopt.dialects.contracts import Hints, Parameter, ParamKind, Signature
from tileopt.dialects.diagnostics import Location, OwnershipError, counted
from tileopt.dialects.dtypes import DType
from tileopt.dialects.layout import SharedLayout
from tileopt.dialects.part_checks import Checked, outside
from tileopt.dialects.simt_constant import Constant
from tileopt.dialects.tile_types import Access, BufferType, ViewType
from tileopt.frontends.builder_memory import Buffer, Fixed, Known, Memory, Part, Whole, Window, whole
from tileopt.frontends.builder_threads import Threads
from tileopt.frontends.builder_values import I64, Array, Operand, Value
from tileopt.frontends.constant_array import ConstantArray
from tileopt.frontends.launch_contract import LaunchContract

SHARED_ELEMENTS = 1 << 20


class Elements(Threads):
    """Accesses. `stores` remembers each store to an owned array with its place in the source."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter],
        signature: Signature,
        contract: LaunchContract,
        hints: Hints | None = None,
    ) -> None:
        super().__init__(name, parameters, signature, contract, hints)
        self.stores: list[tuple[Operation, Array, Location | None]] = []
        self._shared = 0
        self._known: dict[ConstantArray, Known] = {}

    # Extents

    def extent(self, memory: Memory, axis: int) -> Value:
        """How long the memory is along an axis."""
        if not -memory.rank <= axis < memory.rank:
            raise self.error("type/axis", f"axis {axis} is not an axis of {memory}")
        axis %= memory.rank
        if isinstance(memory, Part):
            at = memory.free[axis]
            place = memory.axes[at]
            return self.as_value(place.count) if isinstance(place, Window) else self.extent(memory.base, at)
        if isinstance(memory, Buffer | Known):
            return self.constant(memory.extents[axis], I64)
        return self._query(simt.Dim, axis, 0, (memory.ssa,))

    # Parts

    def fix(self, memory: Memory, axis: int, index: Operand) -> Part:
        """The part at one index of an axis, which is checked here."""
        what = Checked.ROW if axis == 0 else Checked.COLUMN
        place = self.index(index, memory, what)
        self._check(memory, axis, place, self.extent(memory, axis), what)
        return self._with(memory, axis, place, None)

    def window(self, memory: Memory, axis: int, start: Operand, count: Operand) -> Part:
        """`count` elements from `start` on, which is checked here: both are natural, and the end lies inside."""
        first, size = self.index(start, memory, Checked.START), self.index(count, memory, Checked.COUNT)
        extent = self.extent(memory, axis)
        self._check(memory, axis, size, self.binary("add", extent, 1), Checked.COUNT)
        room = self.binary("sub", self.binary("add", extent, 1), size)
        self._check(memory, axis, first, room, Checked.START)
        return self._with(memory, axis, first, size)

    def _with(self, memory: Memory, axis: int, start: Value, count: Value | None) -> Part:
        part = whole(memory)
        at = part.free[axis]
        place = part.axes[at]
        if isinstance(place, Window):
            start = self.binary("add", place.start, start)
        made = Fixed(start) if count is None else Window(start, count)
        return Part(part.base, (*part.axes[:at], made, *part.axes[at + 1 :]))

    def _check(self, memory: Memory, axis: int, index: Value, length: Value, what: Checked) -> None:
        of = str(memory) if isinstance(memory, Part) else f"'{memory.name}'"
        if memory.rank > 1 and (axis or what is Checked.INDEX) and what is not Checked.COLUMN:
            of = f"axis {axis} of {of}"
        if index.const is not None and length.const is not None:
            if not 0 <= index.const < length.const:
                raise self.error("bounds/outside", outside(what, of, int(index.const), int(length.const)))
            return
        base = whole(memory).base
        operands = [self.ssa(index), self.ssa(length)]
        said = {"array": StringAttr(base.name), "what": StringAttr(what), "of": StringAttr(of)}
        self.emit(simt_thread.CheckIndex, operands, [], said)

    # Elements

    def of_thread(self, value: Operand, what: str) -> Value:
        """A thread's own value. Raises KernelTypeError (`type/operand`) for a tile, which is one value of the block."""
        given = self.as_value(value)
        if given.shape:
            raise self.error(
                "type/operand",
                f"{what} is a scalar of one thread, not a {given}",
                "write the tile to shared memory by tile.store(shared, value), and take elements of that",
            )
        return given

    def index(self, position: Operand, memory: Memory, what: Checked = Checked.INDEX) -> Value:
        """An index, or what else of a part is counted, as i64."""
        value = self.of_thread(position, "an index" if what is Checked.INDEX else f"the {what.noun}")
        if value.dtype.kind not in "iu":
            raise self.error(
                "type/index", f"{'an' if what is Checked.INDEX else 'the'} {what.noun} is an integer, not a {value}"
            )
        if value.const is not None and value.const < 0:
            raise self.error("type/index", f"the {what.numbered(value.const)} is negative", what.help_for_negative)
        return self.cast(value, I64)

    def place(self, memory: Memory, index: Sequence[Operand]) -> tuple[Array, list[Value]]:
        """The array or buffer and the index in it of one element."""
        if len(index) != memory.rank:
            rank = f", which has rank {memory.rank}" if isinstance(memory, Part) else ""
            what = f"{counted(len(index), 'index', 'indices')} for {memory}{rank}"
            raise self.error("type/rank", what, "give one index for each axis")
        part, rest = whole(memory), list(index)
        places: list[Value] = []
        for axis, how in enumerate(part.axes):
            if isinstance(how, Fixed):
                places.append(self.as_value(how.index))
                continue
            at = self.index(rest.pop(0), memory)
            if isinstance(how, Window):
                self._check(memory, part.free.index(axis), at, self.as_value(how.count), Checked.INDEX)
                at = self.binary("add", how.start, at)
            elif isinstance(how, Whole) and isinstance(part.base, Buffer | Known) and at.const is not None:
                if at.const >= part.base.extents[axis]:
                    raise self.error("bounds/outside", f"index {at.const} on axis {axis} of {part.base}")
            places.append(at)
        return part.base, places

    def element(self, memory: Memory, index: Sequence[Operand]) -> Value:
        """Reads one element."""
        base, places = self.place(memory, index)
        if base.kind is ParamKind.ATOMIC:
            raise OwnershipError(
                "ownership/plain-access",
                f"a plain read of '{base.name}', an array of atomics",
                location=self.location,
                help=f"read it by simt.atomic_add({base.name}, i, 0), or declare it as simt.Slice",
            )
        operands = [base.ssa, *map(self.ssa, places)]
        return self.emit_value(simt_thread.ElementLoad, operands, base.dtype)

    def set_element(self, memory: Memory, index: Sequence[Operand], value: Operand) -> None:
        """Writes one element."""
        base, places = self.place(memory, index)
        if not isinstance(base, Buffer):
            self._check_writable(base)
        made = self.stored(base, value)
        op = self.emit(simt_thread.ElementStore, [self.ssa(made), base.ssa, *map(self.ssa, places)], [])
        if not isinstance(base, Buffer):
            self.stores.append((op, base, self.location))

    def _check_writable(self, base: Array) -> None:
        if isinstance(base, Known):
            raise OwnershipError(
                "ownership/read-only",
                f"a store to '{base.name}', {base}",
                location=self.location,
                help="pass an array that the kernel writes as a parameter, simt.DisjointSlice",
            )
        if base.kind is ParamKind.IN:
            raise OwnershipError(
                "ownership/read-only",
                f"a store to '{base.name}', which the kernel only reads",
                location=self.location,
                help=f"declare it as '{base.name}: simt.DisjointSlice'",
            )
        if base.kind is ParamKind.ATOMIC:
            raise OwnershipError(
                "ownership/plain-access",
                f"a plain store to '{base.name}', an array of atomics",
                location=self.location,
                help=f"write it by simt.atomic_exch({base.name}, i, value), or declare it as simt.DisjointSlice",
            )

    def stored(self, base: Array, value: Operand) -> Value:
        """The value in the array's type: a Python number takes it, a value has it."""
        made = self.of_thread(value if isinstance(value, Value) else self.constant(value, base.dtype), "an element")
        if made.dtype != base.dtype:
            raise self.error(
                "type/store", f"a store of a {made} to '{base.name}', {base}", f"cast it: simt.{base.dtype.name}(value)"
            )
        return made

    # Constants

    def constant_array(self, constant: ConstantArray, name: str) -> Known:
        """An array of known elements, made at the head of the kernel, once."""
        made = self._known.get(constant)
        if made is None:
            type_ = ViewType.of(constant.shape, constant.dtype.ir, Access.SHARED)
            data = DenseIntOrFPElementsAttr(TensorType(constant.dtype.ir, constant.shape), BytesAttr(constant.data))
            with self.into(self.head):
                op = self.emit(Constant, [], [type_], {"value": data, "array": StringAttr(name)})
            op.results[0].name_hint = name if name.isascii() else None
            rank = len(constant.shape)
            made = Known(name, constant.dtype, rank, ParamKind.IN, op.results[0], constant.shape)
            self._known[constant] = made
        return made

    # Shared memory

    def shared(self, shape: Sequence[int], dtype: DType, layout: SharedLayout | None = None) -> Buffer:
        """An array in the block's shared memory, row-major or in `layout`."""
        type_ = BufferType.of(self._extents(shape), dtype.ir, layout)
        with self.into(self.head):
            op = self.emit(simt.AllocShared, [], [type_])
        return self._buffer(op, tuple(shape), dtype)

    def dynamic_shared(self, shape: Sequence[int], dtype: DType, offset: int) -> Buffer:
        """The dynamic shared memory from byte `offset` on as an array."""
        extents = self._extents(shape)
        if offset < 0 or offset % dtype.bytes:
            raise self.error("type/shared", f"{dtype} elements take {dtype.bytes} bytes, and cannot begin at {offset}")
        end = offset + prod(extents) * dtype.bytes
        if end > self.contract.shared_bytes:
            raise self.error(
                "limits/dynamic-shared",
                f"the array ends at byte {end}, and the contract gives {self.contract.shared_bytes} bytes",
                "raise shared_bytes= in @simt.kernel",
            )
        with self.into(self.head):
            type_ = BufferType.of(extents, dtype.ir)
            op = self.emit(simt_thread.DynamicShared, [], [type_], {"offset": IntegerAttr(offset, i64)})
        return self._buffer(op, extents, dtype)

    def _buffer(self, op: Operation, extents: tuple[int, ...], dtype: DType) -> Buffer:
        name = f"shared memory {self._shared}" if self._shared else "shared memory"
        self._shared += 1
        return Buffer(name, dtype, len(extents), ParamKind.INOUT, op.results[0], extents)

    def _extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        extents = tuple(shape)
        if not extents or any(n < 1 for n in extents):
            raise self.error("type/extent", f"an array in shared memory has positive extents, not {extents}")
        if prod(extents) > SHARED_ELEMENTS:
            raise self.error("limits/shared", f"{prod(extents)} elements in shared memory, more than {SHARED_ELEMENTS}")
        return extents

    def barrier(self) -> None:
        """The threads of the block meet."""
        self.emit(simt.Barrier, [], [])
