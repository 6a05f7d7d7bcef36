"""A block alone has no cluster."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared(32, "i32")
    there = simt.map_shared(t, 1)
    #       ^ error: gpu/cluster: needs blocks that come in clusters


k.compile("cpu", x="f16[?,?]")
