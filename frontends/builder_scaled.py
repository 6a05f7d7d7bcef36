"""Products of operands with a scale for each block of elements."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from tileopt.dialects import tile
from tileopt.dialects.tile_scaled import BLOCKS, FORMATS
from tileopt.frontends.builder_packed import Packing
from tileopt.frontends.builder_values import F32, Value


class Scaled(Packing):
    """`mma_scaled`."""

    def mma_scaled(self, a: Value, a_scale: Value, b: Value, b_scale: Value, acc: Value | None = None) -> Value:
        """acc + (a * a_scale) @ (b * b_scale) for a of (M, K), a_scale of (M, K / block), b of (K, N), b_scale of
        (K / block, N), acc of (M, N) and f32; an element of a scale is for a block of 32 (f8e8m0fnu) or 16."""
        for value, name in ((a, "a"), (b, "b")):
            if value.dtype.name not in FORMATS:
                raise self.error(
                    "type/mma-operand",
                    f"a product of {value.dtype} tiles with scales ('{name}') is not supported",
                    f"operands are tiles of {', '.join(FORMATS)}",
                )
            if len(value.shape) != 2:
                raise self.error("type/shape", f"'{name}' of a product has rank 2, not a {value}")
        if a.shape[1] != b.shape[0]:
            raise self.error("type/shape", f"a product of {a.shape} and {b.shape}: the inner extents differ")
        block = self._block(a, a_scale, b, b_scale)
        (m, k), n = a.shape, b.shape[1]
        wanted = {"a_scale": (m, k // block), "b_scale": (k // block, n)}
        for value, name in ((a_scale, "a_scale"), (b_scale, "b_scale")):
            if k % block or value.shape != wanted[name]:
                expected = f"of {wanted[name]}" if not k % block else f"for a K that {block} divides, not {k}"
                raise self.error(
                    "type/mma-scale",
                    f"'{name}' is a {value}: a scale for each {block} elements of K is a tile {expected}",
                )
        if acc is None:
            acc = self.splat(self.constant(0.0, F32), (m, n))
        if acc.dtype != F32 or acc.shape != (m, n):
            raise self.error(
                "type/mma-accumulator", f"a product with scales accumulates in f32 and {(m, n)}, not in a {acc}",
                f"make the accumulator with tile.zeros({(m, n)})",
            )  # fmt: skip
        operands = [self.ssa(value) for value in (a, a_scale, b, b_scale, acc)]
        formats = {"a_format": StringAttr(a.dtype.name), "b_format": StringAttr(b.dtype.name)}
        return self.emit_value(tile.MmaScaled, operands, F32, (m, n), formats)

    def _block(self, a: Value, a_scale: Value, b: Value, b_scale: Value) -> int:
        """Elements that share a scale, by the scales' type."""
        kinds = {value.dtype.name for value in (a_scale, b_scale)}
        four_bits = a.dtype.name == b.dtype.name == "f4e2m1fn"
        if kinds == {"f8e8m0fnu"} or (kinds == {"f8e4m3fn"} and four_bits):
            return BLOCKS[a_scale.dtype.ir]
        raise self.error(
            "type/mma-scale",
            f"scales of {a_scale.dtype} and {b_scale.dtype} for operands of {a.dtype} and {b.dtype}",
            "scales are both of f8e8m0fnu, one for each 32 elements, or for two f4e2m1fn both of f8e4m3fn, one for 16; "
            "the same bytes in an array of that type: x.view(ml_dtypes.float8_e8m0fnu)",
        )
