"""Half a warp shuffles, and waits for the other half."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: simt.Slice["f32", 1], out: simt.DisjointSlice["f32", 1]):
    i = simt.thread_index()
    if i < len(x) and i < len(out):
        value = x[i]
        if simt.lane_index() < 16:  # note: the condition is here
            value += simt.shuffle_down(value, 8, width=16)
            #        ^ error: race/divergent-lanes: thread 0 of a block comes here where thread 16 of the same warp
        out[i] = value


k.compile("cpu", x="f32[?]", out="f32[?]")
