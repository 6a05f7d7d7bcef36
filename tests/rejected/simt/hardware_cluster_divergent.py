"""Only some threads of a block come to the cluster's barrier."""

from tileopt import simt


@simt.kernel(block=32, cluster=2)
def k(x: simt.Slice["f16", 2]):
    if simt.thread_rank() < 16:  # note: the condition is here
        simt.cluster_barrier()  # error: race/divergent-barrier: may differ between the threads


k.compile("cpu", x="f16[?,?]")
