"""Named barriers are 1 to 15."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    simt.named_barrier(16, 32)  # error: gpu/barrier: an id from 1 to 15, not 16


k.compile("cpu", x="f16[?,?]")
