"""Single-precision matrix product for speed: tiles of a block in shared memory, T x T elements a thread in registers.

While a block multiplies one pair of tiles, its threads hold the next pair in registers already.
"""

from __future__ import annotations

from typing import Any

from tileopt import simt


def fetch_left(a: Any, row: Any, start: Any, T: int, K: int) -> tuple[Any, ...]:
    """This thread's part of the tile of `a` that begins at (row, start), neighbours along the rows of `a`."""
    fetched = ()
    for n in simt.static_range(T * K // 16):
        i, k = row + simt.thread_rank() // K + 256 // K * n, start + simt.thread_rank() % K
        fetched += (a[i, k] if i < len(a) and k < a.shape[1] else 0.0,)
    return fetched


def fetch_right(b: Any, start: Any, column: Any, T: int, K: int) -> tuple[Any, ...]:
    """This thread's part of the tile of `b` that begins at (start, column)."""
    fetched = ()
    for n in simt.static_range(T * K // 16):
        e = simt.thread_rank() + 256 * n
        k, j = start + e // (16 * T), column + e % (16 * T)
        fetched += (b[k, j] if k < len(b) and j < b.shape[1] else 0.0,)
    return fetched


def place(part: Any, r: int) -> Any:
    """Row or column r of a thread's T: four side by side, the next four 64 further on."""
    return part * 4 + (r % 4 + 64 * (r // 4))


@simt.kernel(
    block=256,
    grid_rank=2,
    launch_bounds=(256, 2),
    requires=["a.shape[1] == len(b)", "len(c) == len(a)", "c.shape[1] == b.shape[1]"],
)
def sgemm_tiled(
    a: simt.Slice["f32", 2],
    b: simt.Slice["f32", 2],
    c: simt.DisjointSlice["f32", 2],
    T: simt.Const[int] = 8,
    K: simt.Const[int] = 8,
):
    """c = a @ b; a block makes 16 T x 16 T elements, K steps of the sums at a time. T is 4 or 8; K a power of two."""
    left, right = simt.shared((K, 16 * T + 4)), simt.shared((K, 16 * T))  # the pitch keeps the banks apart
    t = simt.thread_rank()
    tx, ty = t % 16, t // 16
    row, column = simt.block_idx(1) * (16 * T), simt.block_idx(0) * (16 * T)
    sums = (0.0,) * (T * T)
    next_left, next_right = fetch_left(a, row, 0, T, K), fetch_right(b, 0, column, T, K)
    for start in range(0, len(b), K):
        for n in simt.static_range(T * K // 16):
            left[t % K, t // K + 256 // K * n] = next_left[n]
            right[(t + 256 * n) // (16 * T), (t + 256 * n) % (16 * T)] = next_right[n]
        simt.barrier()
        next_left, next_right = fetch_left(a, row, start + K, T, K), fetch_right(b, start + K, column, T, K)
        for k in simt.static_range(K):
            x, y, total = (), (), ()
            for r in simt.static_range(T):
                x += (left[k, place(ty, r)],)
                y += (right[k, place(tx, r)],)
            for n in simt.static_range(T * T):
                total += (sums[n] + x[n // T] * y[n % T],)
            sums = total
        simt.barrier()
    for n in simt.static_range(T * T):
        i, j = row + place(ty, n // T), column + place(tx, n % T)
        if i < len(c) and j < c.shape[1]:
            c[i, j] = sums[n]
