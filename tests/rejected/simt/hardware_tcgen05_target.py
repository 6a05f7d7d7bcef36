"""Tensor memory is of data centres."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.Slice["f16", 2]):
    slot = simt.shared(1, "i32")
    simt.tcgen05_alloc(slot, 0, 64)  # error: target/unsupported-tcgen05: sm_120a has no tcgen05


k.compile("sm_120a", x="f16[?,?]")
