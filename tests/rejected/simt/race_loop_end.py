"""The next iteration writes what the last one still reads."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1], n: int):
    s = simt.shared(64)
    t = simt.thread_rank()
    v = 0.0
    for i in range(n):
        s[t] = x[i]  # error: race/missing-barrier: end of the loop
        simt.barrier()
        v += s[63 - t]
        #    ^ note: the other access is here
    if simt.thread_index() < len(out):
        out[simt.thread_index()] = v


k.compile("cpu", x="f32[?]", out="f32[?]", n="i64")
