"""What every frontend builds kernels with. A new frontend needs this module and no other of ours.

    builder = KernelBuilder("add", parameters, signature)
    x, y, out = (builder.array(name) for name in ("x", "y", "out"))
    i = builder.bid(0)
    total = builder.binary("add", builder.load(x, [i], [1024]), builder.load(y, [i], [1024]))
    builder.store(out, [i], total)
    module = builder.finish()

Operators and casts are in `Arithmetic` and `Shapes`, functions, reductions and products in `Functions`, control flow
in `Control` (`if_`, `for_`, `while_`). Operands are `Value`s or Python numbers. Errors are `CompileError`s at
`builder.location`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Region

from tileopt.dialects import tile
from tileopt.dialects.checks import KEEP, STREAMING
from tileopt.dialects.contracts import (
    ParamKind,
)
from tileopt.dialects.diagnostics import OwnershipError, article, counted
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder_core import remove_unused
from tileopt.frontends.builder_division import SYMBOLS
from tileopt.frontends.builder_kernel import KernelBase
from tileopt.frontends.builder_math import ACCUMULATORS, FUNCTIONS
from tileopt.frontends.builder_memory import Buffer
from tileopt.frontends.builder_values import (
    I32,
    I64,
    Array,
    Operand,
    Value,
    Weak,
    constant_attr,
    describe,
    fit,
    promote,
)

__all__ = [
    "ACCUMULATORS",
    "FUNCTIONS",
    "PADDINGS",
    "SYMBOLS",
    "Array",
    "KernelBuilder",
    "Operand",
    "Tiles",
    "Value",
    "Weak",
    "describe",
    "promote",
]

PADDINGS: dict[str, float] = {
    "zero": 0.0,
    "neg_zero": -0.0,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
}


class Tiles(KernelBase):
    """Tiles from arrays, from shared memory and from nothing."""

    # The grid and the arrays

    def bid(self, axis: int) -> Value:
        """The block's id along a grid axis."""
        return self._query(tile.Bid, axis, 0)

    def num_blocks(self, axis: int) -> Value:
        """The grid's extent along an axis."""
        return self._query(tile.NumBlocks, axis, 1)

    def _query(self, op: type[tile.Bid | tile.NumBlocks], axis: int, low: int) -> Value:
        if not 0 <= axis <= 2:
            raise self.error("type/axis", f"a grid has the axes 0, 1 and 2, not {axis}")
        return self.emit_value(op, [], I64, (), {"axis": IntegerAttr(axis, i64)}, low)

    def dim(self, array: Array, axis: int) -> Value:
        """The array's extent along an axis."""
        if not -array.rank <= axis < array.rank:
            raise self.error("type/axis", f"axis {axis} is not an axis of '{array.name}', {array}")
        return self.emit_value(tile.Dim, [array.ssa], I64, (), {"axis": IntegerAttr(axis % array.rank, i64)}, 0)

    def _offsets(self, index: Sequence[Operand], shape: Sequence[int], scaled: bool) -> list[Value]:
        offsets: list[Value] = []
        for position, extent in zip(index, shape, strict=True):
            value = self.as_value(position)
            if value.dtype.is_float or value.shape:
                help = "an index counts tiles, and that of load_at() and store_at() elements"
                if value.shape:
                    help += "; to read at an index for each element write a simt.kernel"
                raise self.error("type/index", f"an index is an integer scalar, not a {value}", help)
            if scaled and isinstance(value.const, int) and not -(2**63) <= value.const * extent < 2**63:
                raise self.error(
                    "type/constant-range", f"tile {value.const} of {extent} begins at an element beyond 64 bits"
                )
            wide = self.cast(value, I64)
            offsets.append(self.binary("mul", wide, extent) if scaled else wide)
        return offsets

    def _check_access(self, array: Array, index: Sequence[Operand], shape: Sequence[int]) -> tuple[int, ...]:
        if len(index) != array.rank:
            what = f"{counted(len(index), 'index', 'indices')} for '{array.name}', {array}"
            raise self.error("type/rank", what, "give one index for each axis")
        if len(shape) != array.rank:
            raise self.error(
                "type/rank", f"a tile of {tuple(shape)} of '{array.name}', {array}", "give one extent for each axis"
            )
        return self.check_shape(shape)

    def load(
        self,
        array: Array,
        index: Sequence[Operand],
        shape: Sequence[int],
        padding: Weak | str = 0,
        cache: str | None = None,
    ) -> Value:
        """The tile of this index in the array cut into tiles of `shape`; elements outside the array are `padding`."""
        extents = self._check_access(array, index, shape)
        return self._load(array, self._offsets(index, extents, True), extents, padding, cache)

    def load_at(
        self,
        array: Array,
        offsets: Sequence[Operand],
        shape: Sequence[int],
        padding: Weak | str = 0,
        cache: str | None = None,
    ) -> Value:
        """The tile that begins at these elements of the array."""
        extents = self._check_access(array, offsets, shape)
        return self._load(array, self._offsets(offsets, extents, False), extents, padding, cache)

    def _load(
        self, array: Array, offsets: list[Value], shape: tuple[int, ...], padding: Weak | str, cache: str | None
    ) -> Value:
        self._not_atomic(array, "load")
        properties = self._access_properties(array, cache)
        filler = self._padding(array.dtype, padding)
        if filler is not None:
            properties["padding"] = filler
        return self.emit_value(tile.Load, [array.ssa, *map(self.ssa, offsets)], array.dtype, shape, properties)

    def _padding(self, dtype: DType, padding: Weak | str) -> IntegerAttr | FloatAttr | None:
        value: Weak
        if isinstance(padding, str):
            if padding not in PADDINGS:
                raise self.error(
                    "type/padding", f"unknown padding '{padding}'", f"one of {', '.join(PADDINGS)}, or a number"
                )
            value = PADDINGS[padding]
        else:
            value = padding
        held = fit(value, dtype)
        if held is None or (isinstance(padding, str) and padding not in ("zero",) and not dtype.is_float):
            raise self.error("type/padding", f"{dtype} has no padding '{padding}'")
        attr = constant_attr(held, dtype)
        return None if attr == constant_attr(0, dtype) and str(held) != "-0.0" else attr

    def _access_properties(self, array: Array, cache: str | None) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {"unchecked": UnitAttr()} if array.unchecked else {}
        if cache is not None:
            if cache not in (STREAMING, KEEP):
                raise self.error("type/arguments", f"cache is '{STREAMING}', '{KEEP}' or None, not {cache!r}")
            properties["cache"] = StringAttr(cache)
        return properties

    def store(self, array: Array, index: Sequence[Operand], value: Operand, cache: str | None = None) -> None:
        """Writes a tile at this index of the array cut into tiles of its shape; what is outside is not written.

        A scalar is a tile of one element. Raises OwnershipError (`ownership/read-only`) for an input array.
        """
        tile_ = self._stored(array, index, value)
        self._store(array, self._offsets(index, tile_.shape, True), tile_, cache)

    def store_at(self, array: Array, offsets: Sequence[Operand], value: Operand, cache: str | None = None) -> None:
        """Writes a tile from these elements of the array on."""
        tile_ = self._stored(array, offsets, value)
        self._store(array, self._offsets(offsets, tile_.shape, False), tile_, cache)

    def _stored(self, array: Array, index: Sequence[Operand], value: Operand) -> Value:
        if array.kind is ParamKind.IN:
            raise OwnershipError(
                "ownership/read-only",
                f"a store to '{array.name}', which the kernel only reads",
                location=self.location,
                help=f"declare it as '{array.name}: tile.Out', or tile.InOut if it is read as well",
            )
        self._not_atomic(array, "store")
        return self._combined(array, index, value, "store")

    def _combined(self, array: Array, index: Sequence[Operand], value: Operand, what: str) -> Value:
        made = value if isinstance(value, Value) else self.constant(value, array.dtype)
        if made.dtype != array.dtype:
            raise self.error(
                "type/store",
                f"{article(what)} of a {made} to '{array.name}', {array}",
                f"cast it: value.astype({array.name}.dtype)",
            )
        if made.is_scalar:
            made = self.splat(made, (1,) * array.rank)
        self._check_access(array, index, made.shape)
        return made

    def _store(self, array: Array, offsets: list[Value], value: Value, cache: str | None) -> None:
        properties = self._access_properties(array, cache)
        self.emit(tile.Store, [self.ssa(value), array.ssa, *map(self.ssa, offsets)], [], properties)

    def _not_atomic(self, array: Array, what: str) -> None:
        if array.kind is ParamKind.ATOMIC:
            raise OwnershipError(
                "ownership/plain-access",
                f"a plain {what} of '{array.name}', which is an array of atomics: any block may be changing it",
                location=self.location,
                help=f"use tile.atomic_add({array.name}, index, value) and its like; another launch may read the array",
            )

    def atomic(self, kind: str, array: Array, index: Sequence[Operand], value: Operand) -> None:
        """Combines the tile at this index with a tile, element by element: add, max, min, and, or, xor.

        Raises OwnershipError (`ownership/not-atomic`) for an array of another kind.
        """
        if array.kind is not ParamKind.ATOMIC:
            raise OwnershipError(
                "ownership/not-atomic",
                f"an atomic operation on '{array.name}', which is not an array of atomics",
                location=self.location,
                help=f"declare it as '{array.name}: tile.Atomic'",
            )
        dtype = array.dtype
        if dtype.bits not in (16, 32, 64):
            raise self.error("type/atomic", f"'{array.name}' has {dtype} elements; atomics work on 16, 32 and 64 bits")
        if dtype.is_float and kind in ("and", "or", "xor"):
            raise self.error("type/atomic", f"atomic_{kind}() works on integers, not on {dtype}")
        tile_ = self._combined(array, index, value, f"atomic_{kind}()")
        offsets = self._offsets(index, tile_.shape, True)
        word = f"u{kind}" if dtype.kind == "u" and kind in ("max", "min") else kind
        properties: dict[str, Attribute] = {"kind": StringAttr(word)}
        self.emit(tile.AtomicRmw, [self.ssa(tile_), array.ssa, *map(self.ssa, offsets)], [], properties)

    # Tiles from nothing

    def full(self, shape: Sequence[int], value: Operand, dtype: DType | None = None) -> Value:
        """A tile with one value everywhere."""
        scalar = self.in_dtype(value, dtype) if dtype is not None else self.as_value(value)
        if scalar.shape:
            raise self.error("type/operand", f"a tile is filled with a scalar, not with a {scalar}")
        return self.splat(scalar, shape)

    def arange(self, count: int, dtype: DType = I64) -> Value:
        """The tile 0, 1, ... count - 1."""
        shape = self.check_shape([count])
        if dtype in (I32, I64):
            return self.emit_value(tile.Arange, [], dtype, shape, low=0)
        if fit(count - 1, dtype) is None or dtype.kind == "b":
            raise self.error("type/constant-range", f"{count - 1} does not fit in {dtype}")
        return self.cast(self.arange(count, I32), dtype)

    # Shared memory of threads

    def load_buffer(self, buffer: Buffer) -> Value:
        """The tile that an array in shared memory holds now."""
        shape = self.check_shape(buffer.extents)
        return self.emit_value(tile.LoadBuffer, [buffer.ssa], buffer.dtype, shape)

    def store_buffer(self, buffer: Buffer, value: Operand) -> None:
        """Writes a tile to an array in shared memory; a scalar to each of its elements."""
        made = value if isinstance(value, Value) else self.constant(value, buffer.dtype)
        if made.dtype != buffer.dtype:
            raise self.error(
                "type/store", f"a store of a {made} to {buffer}", f"cast it: value.astype(tile.{buffer.dtype.name})"
            )
        if made.is_scalar:
            made = self.splat(made, buffer.extents)
        if made.shape != buffer.extents:
            raise self.error("type/shape", f"a store of a {made} to {buffer}", "a tile fills the whole array")
        self.emit(tile.StoreBuffer, [self.ssa(made), buffer.ssa], [])


class KernelBuilder(Tiles):
    """Builds one tile kernel, specialised to a signature."""

    def finish(self) -> ModuleOp:
        """Closes the kernel. The module names no target: whoever compiles it does."""
        remove_unused(self.entry)
        with self.into(self.entry):
            self.emit(tile.Return, [], [])
        hints = self.hints
        attributes: dict[str, Attribute] = {"tile.fma": IntegerAttr(int(hints.fma), i1)}
        if hints.fast_math:
            attributes["tile.fast_math"] = UnitAttr()
        for name in ("num_warps", "num_stages", "num_ctas", "exp2_eighths", "occupancy"):
            if getattr(hints, name) is not None:
                attributes[f"tile.{name}"] = IntegerAttr(getattr(hints, name), i64)
        for name in ("late_waits", "take_turns"):
            if getattr(hints, name) is not None:
                attributes[f"tile.{name}"] = IntegerAttr(int(getattr(hints, name)), i1)
        kernel = tile.Kernel.make(self.name, self._inputs, Region(self.entry), self._arg_attrs, attributes)
        kernel.location = self._place()
        module = ModuleOp([kernel])
        module.location = self._place()
        return module
