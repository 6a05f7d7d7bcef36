"""Half a warp multiplies."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.DisjointSlice["f32", 1]):
    w, i = simt.u32(0), simt.thread_index()
    if i < len(x):
        if simt.lane_index() < 16:  # note: the condition is here
            c = simt.mma_sync((w, w), (w,), (0.0, 0.0, 0.0, 0.0), "m16n8k8", "f16")
            #   ^ error: race/divergent-lanes: thread 16 of the same warp does not
            x[i] = c[0]


k.compile("cpu", x="f32[?]")
