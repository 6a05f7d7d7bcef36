"""expand-scaled: products with scales become those of an instruction, or of operands that were multiplied by them.

From: tile. To: tile. Invariant: no `tile.mma_scaled`; each `tile.mma` with scales is of types that the target's
instructions take.

An instruction for two f4e2m1fn takes the bytes that they were unpacked from; else they are multiplied as the f8E4M3FN
that they are in. Where there is none, both operands become bf16, or f16 where scales are of f8E4M3FN, and are
multiplied by their scales in that type. Of f4e2m1fn and f8E4M3FN that product has 6 significant bits, which f16 has,
and lies between 2**-10 and 2688: it is exact. A power of two changes only the exponent: the product is exact where bf16
has it, which is so for every value of the formats if scales lie between 2**-117 and 2**112. Beyond, what is too large
becomes infinite, what is too small loses bits, as in casts to bf16. NaN scales make NaN. So sums are those of any
product of 16-bit floats, in f32.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import location_of
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.building import emit
from tileopt.passes.schedule.map_tensor_cores import scaled_atoms
from tileopt.passes.tile_kernels import tile_kernels

EXPANDED = "tile.expanded"  # kernel attribute: what was done, for the report


@dataclass(frozen=True)
class ExpandScaled(ModulePass):
    name = "expand-scaled"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tile_kernels(op):
            products = [inner for inner in kernel.walk() if isinstance(inner, tile.MmaScaled)]
            if products:
                target = target_of(kernel)
                said = [expand(product) for product in products if not use_instruction(product, target)]
                if said:
                    kernel.attributes[EXPANDED] = ArrayAttr([StringAttr(line) for line in said])


def use_instruction(product: tile.MmaScaled, target: Target) -> bool:
    """Replaces a product by that of an instruction with scales, if the target has one."""
    scale = element_type(product.a_scale.type)
    formats, operands = (product.a_format, product.b_format), [product.a, product.b]
    packed = [_Packed.of(product.a, 1), _Packed.of(product.b, 0)]
    if None not in packed and scaled_atoms(target, *formats, scale):
        operands = [source.bytes() for source in packed if source is not None]
    else:
        formats = StringAttr(_held(product.a_format)), StringAttr(_held(product.b_format))
        if not scaled_atoms(target, *formats, scale):
            return False
    properties: dict[str, Attribute] = {"a_format": formats[0], "b_format": formats[1]}
    scaled = [*operands, product.acc, product.a_scale, product.b_scale]
    _replace(product, emit(product, tile.Mma, scaled, [product.result.type], properties))
    return True


def _held(format: StringAttr) -> str:
    """The format of 8 bits in which values are."""
    return "f8e4m3fn" if format.data == "f4e2m1fn" else format.data


@dataclass(frozen=True)
class _Packed:
    """Bytes that were unpacked along K, and the turns that came after."""

    unpack: tile.Unpack
    turns: tuple[tile.Transpose, ...]

    @staticmethod
    def of(value: SSAValue, axis: int) -> _Packed | None:
        """Where an operand comes from, whose axis K is `axis`; None where it is not from such bytes."""
        turns: list[tile.Transpose] = []
        op = value.owner
        while isinstance(op, tile.Transpose):
            axis = int(op.permutation.get_values()[axis])
            turns.insert(0, op)
            op = op.source.owner
        known = isinstance(op, tile.Unpack) and op.format.data == "f4e2m1fn" and op.axis.value.data == axis
        return _Packed(op, tuple(turns)) if isinstance(op, tile.Unpack) and known else None

    def bytes(self) -> SSAValue:
        """The bytes, turned as their values were."""
        made: SSAValue = self.unpack.source
        for turn in self.turns:
            shape = tile_shape(made.type)
            order = [int(axis) for axis in turn.permutation.get_values()]
            type_ = TensorType(element_type(made.type), [shape[axis] for axis in order])
            made = emit(turn, tile.Transpose, [made], [type_], dict(turn.properties))
        return made


def expand(product: tile.MmaScaled) -> str:
    """Replaces a product by one of 16-bit floats. What to say of it."""
    wide: Attribute = Float16Type() if product.block == 16 else BFloat16Type()
    place = location_of(product)
    line = f"line {place.line}: " if place is not None else ""
    said = (
        f"{line}product of {product.a_format.data} and {product.b_format.data} with a scale of "
        f"{element_type(product.a_scale.type)} for each {product.block}: as {wide}, operands times their scales"
    )
    a = _scaled(product, product.a, product.a_scale, 1, wide)
    b = _scaled(product, product.b, product.b_scale, 0, wide)
    _replace(product, emit(product, tile.Mma, [a, b, product.acc], [product.result.type]))
    return said


def _replace(product: tile.MmaScaled, result: SSAValue) -> None:
    """Puts a value in the place of a product, and erases what was for that alone."""
    result.name_hint = product.result.name_hint
    product.result.replace_all_uses_with(result)
    operands, block = (product.a, product.b), product.parent
    assert block is not None
    block.erase_op(product)
    for operand in operands:
        _erase_unused(operand)


def _scaled(product: tile.MmaScaled, value: SSAValue, scale: SSAValue, axis: int, wide: Attribute) -> SSAValue:
    """An operand in the type `wide`, each element multiplied by the scale of its block along the axis."""
    factor = emit(product, arith.ExtFOp, [scale], [TensorType(wide, tile_shape(scale.type))])
    if product.block == 16:
        factor = emit(product, math.AbsFOp, [factor], [factor.type])  # the sign of such scales does not count
    type_ = TensorType(wide, tile_shape(value.type))
    properties: dict[str, Attribute] = {"axis": IntegerAttr(axis, i64), "count": IntegerAttr(product.block, i64)}
    spread = emit(product, tile.Repeat, [factor], [type_], properties)
    plain: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
    return emit(product, arith.MulfOp, [_read_as(product, value, wide), spread], [type_], plain)


def _read_as(product: tile.MmaScaled, value: SSAValue, wide: Attribute) -> SSAValue:
    """An operand in a wider type. What is unpacked is read as that type at once, and turned after that."""
    type_, op = TensorType(wide, tile_shape(value.type)), value.owner
    if isinstance(op, tile.Transpose) and _is_unpacked(op.source):
        return emit(op, tile.Transpose, [_read_as(product, op.source, wide)], [type_], dict(op.properties))
    if isinstance(op, tile.Unpack):
        return emit(op, tile.Unpack, [op.source], [type_], dict(op.properties))
    return emit(product, arith.ExtFOp, [value], [type_])


def _is_unpacked(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, tile.Unpack) or (isinstance(op, tile.Transpose) and _is_unpacked(op.source))


def _erase_unused(value: SSAValue) -> None:
    """Erases what unpacked and turned a value, where it was for the product alone."""
    op = value.owner
    if isinstance(op, tile.Unpack | tile.Transpose) and value.first_use is None and op.parent is not None:
        source = op.source
        op.parent.erase_op(op)
        _erase_unused(source)
