"""Values of four bits as pairs of f16 or bf16: both of a byte at once, in three or four instructions.

Both go to the low bits of a half of a word. Integers become the last places of a power of two, which is subtracted; the
fields of an f4e2m1fn are those of a float of a power of two less, which is multiplied by.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import packed, types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects import simt_packed
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.target import target_of

PAIRS_ARCH = 80  # from here on one instruction multiplies and adds two of either type
# Bits of the mantissa in memory.
_MANTISSA: dict[Attribute, int] = {Float16Type(): 10, BFloat16Type(): 7}
_BIAS: dict[Attribute, int] = {Float16Type(): 15, BFloat16Type(): 127}


def unpack_pairs(emitter: Emitter, op: Operation) -> None:
    """`simt.fragment_unpack`, by pairs where the GPU computes in them."""
    assert isinstance(op, simt_packed.FragmentUnpack)
    type_ = element_type(op.result.type)
    if type_ not in _MANTISSA or target_of(op).arch < PAIRS_ARCH:
        packed.unpack(emitter, op)
        return
    vector = types.vector(2, emitter.element(type_))
    out: list[str] = []
    for byte in emitter.fragment(op.source).chunks:
        wide = emitter.assign(f"zext i8 {byte} to i32")
        both = emitter.assign(f"or i32 {wide}, {emitter.assign(f'shl i32 {wide}, 12')}")
        bits, factor, offset = _fields(emitter, both, op.format.data, type_)
        pair = emitter.assign(f"bitcast i32 {bits} to {vector}")
        constants = (types.splat(2, emitter.element(type_), types.constant_text(c, type_)) for c in (factor, offset))
        result = emitter.intrinsic("llvm.fma", 2, emitter.element(type_), pair, *constants)
        out += [emitter.assign(f"extractelement {vector} {result}, i32 {lane}") for lane in range(2)]
    emitter.define(op.result, out)


def _fields(emitter: Emitter, both: str, format: str, type_: Attribute) -> tuple[str, float, float]:
    """The bits of a pair of floats, and what to multiply them by and then to add."""
    mantissa = _MANTISSA[type_]
    if format == "f4e2m1fn":
        sign = emitter.assign(f"shl i32 {_masked(emitter, both, 8)}, 12")
        size = emitter.assign(f"shl i32 {_masked(emitter, both, 7)}, {mantissa - 1}")
        return emitter.assign(f"or i32 {sign}, {size}"), 2.0 ** (_BIAS[type_] - 1), -0.0
    sign_bit = 8 if format == "i4" else 0
    natural = emitter.assign(f"xor i32 {_masked(emitter, both, 15)}, {_halves(sign_bit)}")
    one = _halves(mantissa + _BIAS[type_] << mantissa)
    return emitter.assign(f"or i32 {natural}, {one}"), 1.0, -(2.0**mantissa + sign_bit)


def _masked(emitter: Emitter, both: str, mask: int) -> str:
    return emitter.assign(f"and i32 {both}, {_halves(mask)}")


def _halves(bits: int) -> int:
    return bits << 16 | bits


HANDLERS: dict[type[Operation], Handler] = {simt_packed.FragmentUnpack: unpack_pairs}
