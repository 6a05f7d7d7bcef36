"""Single-precision matrix product at the speed of the FMA units, for extents that its tiles divide.

A block keeps two pairs of tiles in shared memory: while it multiplies one, its threads fetch the next into registers,
and a barrier a step is enough. A thread's TM x TN sums lie in groups of four by four, so that four elements of a tile
are one access: everything moves 16 bytes at a time. `sgemm_tiled` takes any extents.
"""

from __future__ import annotations

from typing import Any

from tileopt import simt

# Within a warp four threads lie along the rows of c, eight along its columns. That neighbours share a row or a column
# of each four lets the accesses of half a warp be one.
ROWS, COLUMNS = 4, 8


def fetch(x: Any, row: Any, column: Any, rows: int, columns: int) -> tuple[Any, ...]:
    """This thread's fours of the tile of `x` that begins at (row, column), neighbours along the rows."""
    simt.static_assert(rows * columns % (4 * simt.block_dim(0)) == 0, "all threads fetch the same number of fours")
    fetched = ()
    for n in simt.static_range(rows * columns // (4 * simt.block_dim(0))):
        e = simt.thread_rank() + simt.block_dim(0) * n
        i, j = row + e // (columns // 4), column + e % (columns // 4) * 4
        fetched += (x[i, j], x[i, j + 1], x[i, j + 2], x[i, j + 3])
    return fetched


def place(tile: Any, buffer: Any, fetched: tuple[Any, ...], columns: int, transposed: bool) -> None:
    """Puts what `fetch` gave into a tile of so many columns."""
    for n in simt.static_range(len(fetched)):
        e = simt.thread_rank() + simt.block_dim(0) * (n // 4)
        i, j = e // (columns // 4), e % (columns // 4) * 4 + n % 4
        if transposed:
            tile[buffer, j, i] = fetched[n]
        else:
            tile[buffer, i, j] = fetched[n]


def fragment(tile: Any, buffer: Any, k: Any, start: Any, count: int, lanes: int) -> tuple[Any, ...]:
    """What a thread multiplies of line k of a tile: fours that lie apart by what `lanes` threads have between them."""
    found = ()
    for r in simt.static_range(count):
        found += (tile[buffer, k, start + (r % 4 + r // 4 * (4 * lanes))],)
    return found


def turning(n: int, length: int) -> tuple[int, int]:
    """Row and place of the n-th of a path through rows of so many places: there in one row, back in the next."""
    row, place = n // length, n % length
    return row, place if row % 2 == 0 else length - 1 - place


def multiply(sums: tuple[Any, ...], x: tuple[Any, ...], y: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sums, row by row, with the products of each element of x and each of y added.

    Each product shares an operand with the one before, so that there is one less for the registers' ports to read.
    """
    rows, columns = len(x), len(y)
    made = ()
    for n in simt.static_range(rows * columns):
        r, s = turning(n, columns)
        if rows < columns:
            s, r = turning(n, rows)
        made += (sums[r * columns + s] + x[r] * y[s],)
    total = ()
    for n in simt.static_range(rows * columns):
        r, s = n // columns, n % columns
        at = r * columns + turning(r * columns + s, columns)[1]
        if rows < columns:
            at = s * rows + turning(s * rows + r, rows)[1]
        total += (made[at],)
    return total


REQUIRES = [
    "a.shape[1] == len(b)", "len(c) == len(a)", "c.shape[1] == b.shape[1]",
    "len(a) % (4 * TM * WR) == 0", "b.shape[1] % (8 * TN * WC) == 0", "len(b) % K == 0", "len(b) >= K",
]  # fmt: skip


@simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2), deny_checks=True, requires=REQUIRES)
def sgemm_even(
    a: simt.Slice["f32", 2],
    b: simt.Slice["f32", 2],
    c: simt.DisjointSlice["f32", 2],
    TM: simt.Const[int] = 8,
    TN: simt.Const[int] = 8,
    WR: simt.Const[int] = 4,
    WC: simt.Const[int] = 2,
    K: simt.Const[int] = 8,
    AHEAD: simt.Const[int] = 0,
):
    """c = a @ b, by blocks of WR x WC warps, each of 4 TM x 8 TN elements; K steps of the sums at a time.
    With AHEAD=1 what a step multiplies is read during the one before.

    The grid: (columns of c / (8 TN WC), rows of c / (4 TM WR)). TM, TN and K are multiples of 4.
    """
    M, N = ROWS * TM * WR, COLUMNS * TN * WC
    simt.static_assert(simt.block_dim(0) == 32 * WR * WC, "a block has WR * WC warps")
    left, right = simt.shared((2, K, M + 4)), simt.shared((2, K, N))  # the pitch of `left` keeps its stores apart
    row, column = simt.block_idx(1) * M, simt.block_idx(0) * N
    if row >= len(c) or column >= c.shape[1]:
        return
    pair = simt.thread_rank() // 2
    half = pair // COLUMNS
    warp = half // 2
    i = warp // WC * (ROWS * TM) + half % 2 * 8 + simt.thread_rank() % 2 * 4
    j = warp % WC * (COLUMNS * TN) + pair % COLUMNS * 4
    sums = (0.0,) * (TM * TN)
    steps = len(b) // K
    next_left, next_right = fetch(a, row, 0, M, K), fetch(b, 0, column, K, N)
    place(left, 0, next_left, K, True)
    place(right, 0, next_right, N, False)
    simt.barrier()
    x, y = fragment(left, 0, 0, i, TM, ROWS), fragment(right, 0, 0, j, TN, COLUMNS)
    for step in range(steps):
        if step + 1 < steps:
            next_left, next_right = fetch(a, row, (step + 1) * K, M, K), fetch(b, (step + 1) * K, column, K, N)
        for k in simt.unrolled_range(K - AHEAD):
            next_x = fragment(left, step % 2, k + AHEAD, i, TM, ROWS)
            next_y = fragment(right, step % 2, k + AHEAD, j, TN, COLUMNS)
            sums = multiply(sums, x, y) if AHEAD else multiply(sums, next_x, next_y)
            x, y = next_x, next_y
        place(left, 1 - step % 2, next_left, K, True)
        place(right, 1 - step % 2, next_right, N, False)
        simt.barrier()
        if AHEAD:
            next_x = fragment(left, 1 - step % 2, 0, i, TM, ROWS)
            next_y = fragment(right, 1 - step % 2, 0, j, TN, COLUMNS)
            sums = multiply(sums, x, y)
            x, y = next_x, next_y
    for n in simt.static_range(TM * TN):
        r, s = n // TN, n % TN
        c[row + i + (r % 4 + r // 4 * (4 * ROWS)), column + j + (s % 4 + s // 4 * (4 * COLUMNS))] = sums[n]
