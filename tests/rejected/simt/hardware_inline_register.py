"""A 64-bit value is in no 32-bit register."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    v = simt.inline_ptx("add.s32 $0, $1, 1;", "=r,r", simt.i64(1))
    #   ^ error: gpu/inline-ptx: a register 'r' does not hold i64


k.compile("cpu", x="f16[?,?]")
