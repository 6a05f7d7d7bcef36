"""What every frontend builds kernels with. A new frontend needs this module and no other of ours.

    builder = KernelBuilder("add", parameters, signature)
    x, y, out = (builder.array(name) for name in ("x", "y", "out"))
    i = builder.bid(0)
    total = builder.binary("add", builder.load(x, [i], [1024]), builder.load(y, [i], [1024]))
    builder.store(out, [i], total)
    module = builder.finish()

Operators and casts are in `Arithmetic` and `Shapes`, functions, reductions and products in `Functions`, control flow
in `Core` (`if_`, `for_`, `while_`). Operands are `Value`s or Python numbers. Errors are `CompileError`s at
`builder.location`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, Region

from tileopt.dialects import tile
from tileopt.dialects.contracts import (
    ArraySpec,
    ConstSpec,
    ContractAttr,
    Hints,
    Parameter,
    ParamKind,
    ScalarSpec,
    Signature,
    Spec,
)
from tileopt.dialects.diagnostics import KernelTypeError, OwnershipError
from tileopt.dialects.dtypes import DTYPES, DType
from tileopt.dialects.kernel import CONTRACT, DIVISOR, NAME
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType
from tileopt.frontends.builder_arith import SYMBOLS
from tileopt.frontends.builder_core import remove_unused
from tileopt.frontends.builder_math import ACCUMULATORS, FUNCTIONS, Functions
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


class KernelBuilder(Functions):
    """Builds one tile kernel, specialised to a signature.

    `arguments` holds an `Array`, a `Value` or, for a compile-time constant, the Python value of each parameter.
    """

    def __init__(
        self, name: str, parameters: Sequence[Parameter], signature: Signature, hints: Hints | None = None
    ) -> None:
        super().__init__()
        self.name = re.sub(r"\W", "_", name) or "kernel"
        self.hints = hints or Hints()
        self.arguments: dict[str, object] = {}
        self._inputs: list[Attribute] = []
        self._arg_attrs: list[dict[str, Attribute]] = []
        types: list[tuple[Parameter, Spec]] = []
        for parameter in parameters:
            spec = signature.get(parameter.name)
            if spec is None:
                raise KernelTypeError("kernel/signature", f"the signature lacks '{parameter.name}'")
            types.append((parameter, spec))
            self._declare(parameter, spec)
        self.entry = self.block = Block(arg_types=self._inputs)
        self._bind(types)

    def _declare(self, parameter: Parameter, spec: Spec) -> None:
        name, kind = parameter.name, parameter.kind
        attrs: dict[str, Attribute] = {NAME: StringAttr(name)}
        if kind.is_array and isinstance(spec, ArraySpec):
            dtype = _dtype(spec.dtype, name)
            if parameter.dtype not in (None, spec.dtype) or parameter.rank not in (None, spec.rank):
                rank = "any rank" if parameter.rank is None else f"rank {parameter.rank}"
                raise KernelTypeError(
                    "kernel/argument-type",
                    f"'{name}' is declared with {parameter.dtype or 'any'} elements and {rank}, "
                    f"not {spec.dtype} and rank {spec.rank}",
                )
            access = Access.SHARED if kind is ParamKind.IN else Access.OWNED
            self._inputs.append(ViewType.of([DYNAMIC] * spec.rank, dtype.ir, access))
            attrs[CONTRACT] = ContractAttr.of(spec)
        elif kind is ParamKind.SCALAR and isinstance(spec, ScalarSpec):
            self._inputs.append(_dtype(spec.dtype, name).ir)
            if spec.divisor > 1:
                attrs[DIVISOR] = IntegerAttr(spec.divisor, i64)
        elif kind is ParamKind.CONST and isinstance(spec, ConstSpec):
            return
        else:
            raise KernelTypeError(
                "kernel/signature", f"'{name}' is a parameter of kind '{kind.value}': {spec} does not describe one"
            )
        self._arg_attrs.append(attrs)

    def _bind(self, types: Sequence[tuple[Parameter, Spec]]) -> None:
        arguments = iter(self.entry.args)
        for parameter, spec in types:
            if isinstance(spec, ConstSpec):
                self.arguments[parameter.name] = spec.value
                continue
            argument = next(arguments)
            argument.name_hint = parameter.name
            if isinstance(spec, ArraySpec):
                made = Array(parameter.name, DTYPES[spec.dtype], spec.rank, parameter.kind, argument)
                self.arguments[parameter.name] = made
            else:
                self.arguments[parameter.name] = Value(DTYPES[spec.dtype], (), argument)

    def array(self, name: str) -> Array:
        """An array parameter."""
        found = self.arguments[name]
        assert isinstance(found, Array)
        return found

    def finish(self) -> ModuleOp:
        """Closes the kernel. The module names no target: whoever compiles it does."""
        remove_unused(self.entry)
        with self.into(self.entry):
            self.emit(tile.Return, [], [])
        hints = self.hints
        attributes: dict[str, Attribute] = {"tile.fma": IntegerAttr(int(hints.fma), i1)}
        if hints.fast_math:
            attributes["tile.fast_math"] = UnitAttr()
        for name in ("num_warps", "num_stages"):
            if getattr(hints, name) is not None:
                attributes[f"tile.{name}"] = IntegerAttr(getattr(hints, name), i64)
        kernel = tile.Kernel.make(self.name, self._inputs, Region(self.entry), self._arg_attrs, attributes)
        kernel.location = self._place()
        module = ModuleOp([kernel])
        module.location = self._place()
        return module

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
                raise self.error("type/index", f"an index is an integer scalar, not a {value}")
            wide = self.cast(value, I64)
            offsets.append(self.binary("mul", wide, extent) if scaled else wide)
        return offsets

    def _check_access(self, array: Array, index: Sequence[Operand], shape: Sequence[int]) -> tuple[int, ...]:
        if len(index) != array.rank:
            raise self.error(
                "type/rank", f"{len(index)} indices for '{array.name}', {array}", "give one index for each axis"
            )
        if len(shape) != array.rank:
            raise self.error(
                "type/rank", f"a tile of {tuple(shape)} of '{array.name}', {array}", "give one extent for each axis"
            )
        return self.check_shape(shape)

    def load(self, array: Array, index: Sequence[Operand], shape: Sequence[int], padding: Weak | str = 0) -> Value:
        """The tile of this index in the array cut into tiles of `shape`; elements outside the array are `padding`."""
        extents = self._check_access(array, index, shape)
        return self._load(array, self._offsets(index, extents, True), extents, padding)

    def load_at(self, array: Array, offsets: Sequence[Operand], shape: Sequence[int], padding: Weak | str = 0) -> Value:
        """The tile that begins at these elements of the array."""
        extents = self._check_access(array, offsets, shape)
        return self._load(array, self._offsets(offsets, extents, False), extents, padding)

    def _load(self, array: Array, offsets: list[Value], shape: tuple[int, ...], padding: Weak | str) -> Value:
        properties: dict[str, Attribute] = {}
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

    def store(self, array: Array, index: Sequence[Operand], value: Operand) -> None:
        """Writes a tile at this index of the array cut into tiles of its shape; what is outside is not written.

        A scalar is a tile of one element. Raises OwnershipError (`ownership/read-only`) for an input array.
        """
        tile_ = self._stored(array, index, value)
        self._store(array, self._offsets(index, tile_.shape, True), tile_)

    def store_at(self, array: Array, offsets: Sequence[Operand], value: Operand) -> None:
        """Writes a tile from these elements of the array on."""
        tile_ = self._stored(array, offsets, value)
        self._store(array, self._offsets(offsets, tile_.shape, False), tile_)

    def _stored(self, array: Array, index: Sequence[Operand], value: Operand) -> Value:
        if array.kind is ParamKind.IN:
            raise OwnershipError(
                "ownership/read-only",
                f"a store to '{array.name}', which the kernel only reads",
                location=self.location,
                help=f"declare it as '{array.name}: tile.Out', or tile.InOut if it is read as well",
            )
        made = value if isinstance(value, Value) else self.constant(value, array.dtype)
        if made.dtype != array.dtype:
            raise self.error(
                "type/store",
                f"a store of a {made} to '{array.name}', {array}",
                f"cast it: value.astype({array.name}.dtype)",
            )
        if made.is_scalar:
            made = self.splat(made, (1,) * array.rank)
        self._check_access(array, index, made.shape)
        return made

    def _store(self, array: Array, offsets: list[Value], value: Value) -> None:
        self.emit(tile.Store, [self.ssa(value), array.ssa, *map(self.ssa, offsets)], [])

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


def _dtype(name: str, parameter: str) -> DType:
    if name not in DTYPES:
        raise KernelTypeError(
            "kernel/signature", f"'{parameter}' has the unknown type '{name}'", help=f"one of {', '.join(DTYPES)}"
        )
    return DTYPES[name]
