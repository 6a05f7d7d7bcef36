"""The text names an operand that is not there."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    v = simt.inline_ptx("add.s32 $0, $1, $2;", "=r,r", simt.i32(1))
    #   ^ error: gpu/inline-ptx: '$2' in the text names none of its 2 operands


k.compile("cpu", x="f16[?,?]")
