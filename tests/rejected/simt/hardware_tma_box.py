"""A box has at most 256 elements a side."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t, bars = simt.shared((512, 16), "f16"), simt.shared(1, "i64")
    if simt.thread_rank() == 0:
        simt.tma_load(x, (0, 0), t, bars)  # error: gpu/tma-load: at most 256 elements a side


k.compile("cpu", x="f16[?,?]")
