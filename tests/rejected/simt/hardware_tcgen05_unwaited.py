"""What a load of tensor memory gives is there after its wait."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.DisjointSlice["u32", 1]):
    words = simt.tcgen05_ld(simt.i32(0), 2)
    #       ^ note: given here
    i = simt.thread_index()
    if i < len(x):
        x[i] = words[0]  # error: gpu/pending: pass it through simt.tcgen05_wait() first


k.compile("cpu", x="u32[?]")
