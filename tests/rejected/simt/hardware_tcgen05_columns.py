"""Columns come in powers of two."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.Slice["f16", 2]):
    slot = simt.shared(1, "i32")
    simt.tcgen05_alloc(slot, 0, 96)  # error: gpu/tcgen05-alloc: not in 96


k.compile("cpu", x="f16[?,?]")
