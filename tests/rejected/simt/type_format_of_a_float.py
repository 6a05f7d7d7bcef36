"""A float printed as an integer, which C would not notice."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1]):
    simt.printf("x[0] = %d", x[0])  # error: type/format: '%d' does not print an f32 scalar


k.compile("cpu", x="f32[?]")
