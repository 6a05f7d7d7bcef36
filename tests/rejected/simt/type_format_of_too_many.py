"""A format that prints more than it is given."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1]):
    simt.printf("x[%d] = %f", x[0])  # error: type/format: the format prints 2, and 1 value is given


k.compile("cpu", x="f32[?]")
