"""Sums of columns of a matrix, whose tiles bulk copies (TMA) bring: while one is summed, the next are on their way.

A ring of tiles, a barrier in memory for each: a phase of it ends when the tile's bytes have come. Rows and columns that
the array does not have read as zero.
"""

from __future__ import annotations

from tileopt import simt

ROWS, COLUMNS, STAGES = 32, 64, 3
BYTES = ROWS * COLUMNS * 4


@simt.kernel(block=COLUMNS, requires=["len(out) == x.shape[1]"])
def column_sums(x: simt.Slice["f32", 2], out: simt.DisjointSlice["f32", 1]):
    """A block has COLUMNS columns, a thread one."""
    ring = ()
    for _ in simt.static_range(STAGES):
        ring += (simt.shared((ROWS, COLUMNS)),)
    full = simt.shared(STAGES, "i64")
    me, column = simt.thread_rank(), simt.block_idx() * COLUMNS
    tiles = simt.cdiv(len(x), ROWS)
    if me == 0:
        for stage in simt.static_range(STAGES):
            simt.mbarrier_init(full, stage, 1)
        simt.mbarrier_fence()
    simt.barrier()
    if me == 0:
        for stage in simt.static_range(STAGES):
            simt.mbarrier_arrive_expect_tx(full, stage, BYTES)
            simt.tma_load(x, (stage * ROWS, column), ring[stage], full, stage)
    total = 0.0
    for turn in range(simt.cdiv(tiles, STAGES)):
        for stage in simt.static_range(STAGES):
            simt.mbarrier_wait(full, stage, turn)
            for row in range(ROWS):
                total += ring[stage][row, me]
            simt.barrier()  # all have read the tile: its memory is free
            if me == 0:
                simt.mbarrier_arrive_expect_tx(full, stage, BYTES)
                simt.tma_load(x, (((turn + 1) * STAGES + stage) * ROWS, column), ring[stage], full, stage)
    for stage in simt.static_range(STAGES):
        simt.mbarrier_wait(full, stage, simt.cdiv(tiles, STAGES))  # no copy may be under way when the block ends
    i = simt.thread_index()
    if i < len(out):
        out[i] = total
