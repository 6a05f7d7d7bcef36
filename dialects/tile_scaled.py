"""`tile.mma_scaled`: a product whose operands have a scale for each block of elements along K.

OCP Microscaling Formats (MX) 1.0: mxfp8 and mxfp4 have a power of two (f8E8M0FNU) for each 32 elements. nvfp4 has an
f8E4M3FN for each 16 of f4e2m1fn (CUDA, "Block scaling for mma.sync").
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E8M0FNUType, StringAttr, TensorType, f32, i8
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import check_tile, element_type_of, string
from tileopt.dialects.dtypes import DTYPES, PACKED, element_type
from tileopt.dialects.tile_types import tile_shape

# What operands are of, and in which element type their tiles are.
FORMATS: dict[str, Attribute] = {name: (DTYPES | PACKED)[name].ir for name in ("f8e4m3fn", "f8e5m2", "f4e2m1fn")}
# The type of scales: elements that share one.
BLOCKS: dict[Attribute, int] = {Float8E8M0FNUType(): 32, Float8E4M3FNType(): 16}


def check_scaled_product(
    formats: tuple[StringAttr | None, StringAttr | None], a: Attribute, b: Attribute, scales: Sequence[Attribute]
) -> None:
    """A product that an instruction makes with scales: of f8, or of bytes of two f4e2m1fn each, packed along K."""
    if len(scales) != 2:
        raise VerifyException(f"{len(scales)} scales for a product of two operands")
    values = 1
    for format, type_ in zip(formats, (a, b), strict=True):
        if format is None or format.data not in FORMATS:
            raise VerifyException(f"operands with scales are of {', '.join(FORMATS)}: a_format and b_format say which")
        packed = format.data == "f4e2m1fn"
        if element_type_of(type_) != (i8 if packed else FORMATS[format.data]):
            raise VerifyException(f"{type_} does not hold {format.data}")
        values = 2 if packed else 1
    for type_ in scales:
        check_tile(type_, "a scale")
    (m, k), n = tile_shape(a), tile_shape(b)[1]
    elements = [element_type(type_) for type_ in scales]
    if elements[0] not in BLOCKS or elements[0] != elements[1]:
        raise VerifyException(f"scales of {elements[0]} and {elements[1]}")
    block = BLOCKS[elements[0]]
    blocks = values * k // block
    if values * k % block or [tile_shape(type_) for type_ in scales] != [(m, blocks), (blocks, n)]:
        raise VerifyException(f"scales are not one for each {block} elements of K")


@irdl_op_definition
class MmaScaled(IRDLOperation):
    """`acc + (a * a_scale) @ (b * b_scale)`: a is MxK, b KxN, acc MxN of f32. An element of a_scale, MxS, is for K / S
    elements of a row of a, one of b_scale, SxN, for as many of a column of b. `a_format`, `b_format`: what a and b are
    of; f4e2m1fn lies in tiles of f8E4M3FN (see `tile.unpack`)."""

    name = "tile.mma_scaled"
    a = operand_def(TensorType)
    a_scale = operand_def(TensorType)
    b = operand_def(TensorType)
    b_scale = operand_def(TensorType)
    acc = operand_def(TensorType)
    a_format = prop_def(string("a_format"))
    b_format = prop_def(string("b_format"))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$a `scaled` $a_scale `,` $b `scaled` $b_scale `,` $acc attr-dict `:` type($a) `scaled` type($a_scale) `,` "
        "type($b) `scaled` type($b_scale) `,` type($acc) `->` type($result)"
    )

    @property
    def block(self) -> int:
        """Elements along K that share a scale."""
        return BLOCKS[element_type(self.a_scale.type)]

    def verify_(self) -> None:
        shapes: dict[str, tuple[int, ...]] = {}
        for name in ("a", "a_scale", "b", "b_scale", "acc"):
            type_ = getattr(self, name).type
            check_tile(type_, name)
            shapes[name] = tile_shape(type_)
            if len(shapes[name]) != 2:
                raise VerifyException("the operands of a product have rank 2")
        self._verify_types()
        (m, k), (depth, n) = shapes["a"], shapes["b"]
        if k != depth:
            raise VerifyException(f"a is {m}x{k} and b is {depth}x{n}: the inner extents differ")
        if shapes["acc"] != (m, n):
            raise VerifyException(f"the product is {m}x{n}, the accumulator {shapes['acc'][0]}x{shapes['acc'][1]}")
        blocks = k // self.block
        if k % self.block or shapes["a_scale"] != (m, blocks) or shapes["b_scale"] != (blocks, n):
            scales = " and ".join("x".join(map(str, shapes[name])) for name in ("a_scale", "b_scale"))
            raise VerifyException(f"scales of {scales} for {m}x{k} by {k}x{n}: one is for {self.block} elements of K")

    def _verify_types(self) -> None:
        for format, tile in ((self.a_format, self.a), (self.b_format, self.b)):
            if format.data not in FORMATS:
                raise VerifyException(f"scaled operands are of {', '.join(FORMATS)}, not of '{format.data}'")
            if element_type(tile.type) != FORMATS[format.data]:
                raise VerifyException(f"{format.data} lies in tiles of {FORMATS[format.data]}, not in {tile.type}")
        scale = element_type(self.a_scale.type)
        if scale not in BLOCKS or scale != element_type(self.b_scale.type):
            raise VerifyException(
                f"scales are both of f8E8M0FNU or of f8E4M3FN, not of {scale} and {element_type(self.b_scale.type)}"
            )
        if self.block == 16 and not self.a_format.data == self.b_format.data == "f4e2m1fn":
            raise VerifyException(f"scales of {scale} are for operands of f4e2m1fn")
        if self.acc.type != self.result.type or element_type(self.acc.type) != f32:
            raise VerifyException("accumulator and result are of f32 and of one type")
