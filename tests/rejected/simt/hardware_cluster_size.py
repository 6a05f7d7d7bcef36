"""Not every GPU runs clusters of sixteen blocks."""

from tileopt import simt


@simt.kernel(block=32, cluster=(4, 4))
def k(x: simt.Slice["f16", 2]):  # error: target/cluster: a cluster of 16 blocks, sm_90a promises 8
    simt.cluster_barrier()


k.compile("sm_90a", x="f16[?,?]")
