"""A matrix product by a warp's instructions: tiles by `cp.async`, fragments by `ldmatrix`, products by `mma.sync`.

The next tile is on its way while this one is multiplied. Sizes need not divide: what lies outside counts as zero.
"""

from typing import Any

from tileopt import simt

ROWS, COLUMNS, DEPTH = 64, 32, 32  # of a block's tiles; each of four warps has 16 rows
CHUNK = 8  # bf16 in 16 bytes


def fetch(tile: Any, x: simt.Slice, row: Any, column: Any) -> None:
    """Starts to copy the part of x that begins at (row, column) into the tile."""
    rows, columns = tile.shape
    for part in simt.static_range(0, rows * columns // CHUNK, 128):
        chunk = simt.thread_rank() + part
        i, j = chunk // (columns // CHUNK), chunk % (columns // CHUNK) * CHUNK
        if row + i < len(x) and column + j + CHUNK <= x.shape[1]:
            simt.cp_async(tile, (i, j), x, (row + i, column + j), CHUNK)
        else:
            for e in range(CHUNK):
                if row + i < len(x) and column + j + e < x.shape[1]:
                    tile[i, j + e] = x[row + i, column + j + e]
                else:
                    tile[i, j + e] = 0.0


@simt.kernel(block=128, grid_rank=2, requires=["a.shape[1] == len(b)"])
def tensor_core_product(a: simt.Slice["bf16", 2], b: simt.Slice["bf16", 2], c: simt.DisjointSlice["f32", 2]):
    left = (simt.shared((ROWS, DEPTH), "bf16", swizzle=64), simt.shared((ROWS, DEPTH), "bf16", swizzle=64))
    right = (simt.shared((DEPTH, COLUMNS), "bf16", swizzle=64), simt.shared((DEPTH, COLUMNS), "bf16", swizzle=64))
    lane, top = simt.lane_index(), 16 * simt.warp_rank()
    row, column = simt.block_idx(1) * ROWS, simt.block_idx(0) * COLUMNS
    steps = simt.cdiv(len(b), DEPTH)
    zero = (0.0, 0.0, 0.0, 0.0)
    acc = (zero, zero, zero, zero)
    fetch(left[0], a, row, 0)
    fetch(right[0], b, 0, column)
    simt.cp_async_commit()
    for pair in range(0, steps, 2):
        for stage in simt.static_range(2):
            step = pair + stage
            if step < steps:
                fetch(left[1 - stage], a, row, (step + 1) * DEPTH)
                fetch(right[1 - stage], b, (step + 1) * DEPTH, column)
                simt.cp_async_commit()
                simt.cp_async_wait(1)
                simt.barrier()
                for k in simt.static_range(0, DEPTH, 16):
                    words = simt.ldmatrix(left[stage], (top + lane % 16, k + lane // 16 * 8), 4)
                    made = ()
                    for n in simt.static_range(2):
                        pairs = simt.ldmatrix(right[stage], (k + lane % 16, 16 * n + lane // 16 * 8), 4, trans=True)
                        for half in simt.static_range(2):
                            part = (pairs[2 * half], pairs[2 * half + 1])
                            made += (simt.mma_sync(words, part, acc[2 * n + half], "m16n8k16", "bf16"),)
                    acc = made
                simt.barrier()
    i, j = row + top + lane // 4, column + lane % 4 * 2
    for n in simt.static_range(4):
        for e in simt.static_range(4):
            if i + e // 2 * 8 < len(c) and j + 8 * n + e % 2 < c.shape[1]:
                c[i + e // 2 * 8, j + 8 * n + e % 2] = acc[n][e]
