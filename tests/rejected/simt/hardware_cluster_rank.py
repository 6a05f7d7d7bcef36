"""A cluster of two has no block 2."""

from tileopt import simt


@simt.kernel(block=32, cluster=2)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared(32, "i32")
    there = simt.map_shared(t, 2)
    #       ^ error: bounds/outside: block 2 of a cluster of 2


k.compile("cpu", x="f16[?,?]")
