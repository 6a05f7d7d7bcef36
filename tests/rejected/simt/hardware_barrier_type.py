"""A barrier in memory takes 64 bits."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    bars = simt.shared(2, "i32")
    simt.mbarrier_init(bars, 0, 1)  # error: type/operand: mbarrier_init() takes an array of i64


k.compile("cpu", x="f16[?,?]")
