"""Single-precision matrix product whose tiles asynchronous copies bring into a ring in shared memory.

Tiles of both operands lie there as they do in their arrays, so that every copy is of 16 bytes and none goes through
registers. A thread reads four neighbours of a row of `a` at once, for four steps of its sums.
"""

from __future__ import annotations

from typing import Any

from sgemm_even import COLUMNS, ROWS, multiply

from tileopt import simt


def copy(tile: Any, slot: Any, x: Any, row: Any, column: Any, rows: int, columns: int) -> None:
    """Starts this thread's copies, of four elements each, of the tile of `x` that begins at (row, column)."""
    along = columns // 4
    at_once = simt.block_dim(0) // along
    simt.static_assert(simt.block_dim(0) % along == 0 and rows % at_once == 0, "all threads copy as many fours")
    i, j = simt.thread_rank() // along, simt.thread_rank() % along * 4
    for n in simt.static_range(rows // at_once):
        simt.cp_async(tile, (slot, i + n * at_once, j), x, (row + i + n * at_once, column + j), 4)


def rows_of(tile: Any, slot: Any, i: Any, k: Any, count: int) -> tuple[Any, ...]:
    """Four neighbours from k on of each of this thread's rows of the left tile."""
    found = ()
    for n in simt.static_range(4 * count):
        found += (tile[slot, i + n // 4 * ROWS, k + n % 4],)
    return found


def line_of(tile: Any, slot: Any, k: Any, j: Any, count: int) -> tuple[Any, ...]:
    """This thread's elements of line k of the right tile."""
    found = ()
    for s in simt.static_range(count):
        found += (tile[slot, k, j + (s % 4 + s // 4 * (4 * COLUMNS))],)
    return found


def column_of(x: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    """Column k of rows of four."""
    found = ()
    for r in simt.static_range(len(x) // 4):
        found += (x[4 * r + k],)
    return found


REQUIRES = [
    "a.shape[1] == len(b)", "len(c) == len(a)", "c.shape[1] == b.shape[1]",
    "len(a) % (4 * TM * WR) == 0", "b.shape[1] % (8 * TN * WC) == 0", "len(b) % K == 0", "len(b) >= K * STAGES",
]  # fmt: skip


@simt.kernel(block=128, grid_rank=2, launch_bounds=(128, 2), deny_checks=True, requires=REQUIRES)
def sgemm_ring(
    a: simt.Slice["f32", 2],
    b: simt.Slice["f32", 2],
    c: simt.DisjointSlice["f32", 2],
    TM: simt.Const[int] = 8,
    TN: simt.Const[int] = 16,
    WR: simt.Const[int] = 4,
    WC: simt.Const[int] = 1,
    K: simt.Const[int] = 16,
    STAGES: simt.Const[int] = 4,
    AHEAD: simt.Const[int] = 0,
    SLICES: simt.Const[int] = 1,
    GROUP: simt.Const[int] = 1,
):
    """c = a @ b, by blocks of SLICES times WR x WC warps, each of 4 TM x 8 TN elements; K lines of a ring of STAGES
    tiles at a time. With AHEAD=1 what a step multiplies first is read during the one before. Each of the SLICES has a
    part of the K lines, for all of the block's elements: more warps where tiles are few.

    The grid: (columns of c / (8 TN WC) * GROUP, rows of c / (4 TM WR) / GROUP): blocks that follow each other have
    GROUP tiles one below the other, so that blocks that run at once share columns as well as rows. TN and K / SLICES
    are multiples of 4.
    """
    M, N, LINES, LOOK = ROWS * TM * WR, COLUMNS * TN * WC, K // SLICES, STAGES - 1 - AHEAD
    simt.static_assert(simt.block_dim(0) == 32 * WR * WC * SLICES, "a block has SLICES * WR * WC warps")
    left, right = simt.shared((STAGES, M, K + 4)), simt.shared((STAGES, K, N))
    row = (simt.block_idx(1) * GROUP + simt.block_idx(0) % GROUP) * M
    column = simt.block_idx(0) // GROUP * N
    if row >= len(c) or column >= c.shape[1]:
        return
    rank = simt.thread_rank()
    pair = rank // 2
    half = pair // COLUMNS
    warp = half // 2
    line = warp // WC
    part = line // WR
    i = line % WR * (ROWS * TM) + half % 2 * 2 + rank % 2
    j = warp % WC * (COLUMNS * TN) + pair % COLUMNS * 4
    first, steps = part * LINES, len(b) // K
    sums = (0.0,) * (TM * TN)
    for step in simt.static_range(LOOK):
        copy(left, step, a, row, step * K, M, K)
        copy(right, step, b, step * K, column, K, N)
        simt.cp_async_commit()
    simt.cp_async_wait(LOOK - 1)
    simt.barrier()
    x, y = rows_of(left, 0, i, first, TM), line_of(right, 0, first, j, TN)
    for step in range(steps):
        slot, following = step % STAGES, (step + 1) % STAGES
        if step + LOOK < steps:
            copy(left, (step + LOOK) % STAGES, a, row, (step + LOOK) * K, M, K)
            copy(right, (step + LOOK) % STAGES, b, (step + LOOK) * K, column, K, N)
        simt.cp_async_commit()
        for k in simt.unrolled_range(LINES // 4 - AHEAD):
            if not AHEAD:
                x = rows_of(left, slot, i, first + 4 * k, TM)
            next_x = rows_of(left, slot, i, first + 4 * k + 4, TM) if AHEAD else x
            for n in simt.static_range(4):
                y = y if AHEAD else line_of(right, slot, first + 4 * k + n, j, TN)
                next_y = line_of(right, slot, first + 4 * k + n + 1, j, TN) if AHEAD else y
                sums = multiply(sums, column_of(x, n), y)
                y = next_y
            x = next_x
        simt.cp_async_wait(LOOK - 1)
        simt.barrier()
        if AHEAD:
            next_x = rows_of(left, following, i, first, TM)
            for n in simt.static_range(4):
                k = first + LINES - 3 + n
                next_y = line_of(right, slot, k, j, TN) if n < 3 else line_of(right, following, first, j, TN)
                sums = multiply(sums, column_of(x, n), y)
                y = next_y
            x = next_x
    if SLICES == 1:
        for n in simt.static_range(TM * TN):
            r, s = n // TN, n % TN
            c[row + i + ROWS * r, column + j + (s % 4 + s // 4 * (4 * COLUMNS))] = sums[n]
    else:
        simt.barrier()
        parts = simt.shared((SLICES, TM, TN // 4, 32 * WR * WC, 4))
        place = rank % (32 * WR * WC)
        for n in simt.static_range(TM * TN):
            parts[part, n // TN, n % TN // 4, place, n % 4] = sums[n]
        simt.barrier()
        for n in simt.static_range(TM // SLICES * TN):
            r, s = n // TN * SLICES + part, n % TN
            total = parts[0, r, s // 4, place, s % 4]
            for q in simt.static_range(SLICES - 1):
                total += parts[q + 1, r, s // 4, place, s % 4]
            c[row + i + ROWS * r, column + j + (s % 4 + s // 4 * (4 * COLUMNS))] = total
