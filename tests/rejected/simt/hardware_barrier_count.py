"""A phase takes at least one arrival."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    bars = simt.shared(2, "i64")
    simt.mbarrier_init(bars, 0, 0)  # error: gpu/mbarrier-init: 1 to 1048575 arrivals, not 0


k.compile("cpu", x="f16[?,?]")
