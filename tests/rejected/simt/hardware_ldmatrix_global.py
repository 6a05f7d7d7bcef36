"""Matrices are read from shared memory, not from an array."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    words = simt.ldmatrix(x, (simt.lane_index() % 8, 0))
    #       ^ error: type/operand: shared memory


k.compile("cpu", x="f16[?,?]")
