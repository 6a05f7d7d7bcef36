"""No CPU runs PTX: without a reference it is refused there."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.DisjointSlice["i32", 1]):
    i = simt.thread_index()
    if i < len(x):
        x[i] = simt.inline_ptx("mov.u32 $0, %clock;", "=r")
        #      ^ error: backend/inline-ptx: runs on a GPU only


k.compile("cpu", x="i32[?]")
