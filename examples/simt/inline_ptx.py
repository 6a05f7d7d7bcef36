"""PTX as text, with what it computes beside it: a CPU runs that."""

from __future__ import annotations

from typing import Any

from tileopt import simt


def sum_of_differences(a: Any, b: Any, c: Any) -> Any:
    """c plus the sum of the absolute differences of the four bytes of a and b: one instruction."""
    return simt.inline_ptx(
        "vabsdiff4.u32.u32.u32.add $0, $1, $2, $3;", "=r,r,r,r", a, b, c,
        dtype=simt.u32, pure=True, reference=_sum_of_differences,
    )  # fmt: skip


def _sum_of_differences(a: Any, b: Any, c: Any) -> Any:
    for byte in simt.static_range(4):
        x, y = a >> 8 * byte & 255, b >> 8 * byte & 255
        c += simt.maximum(x, y) - simt.minimum(x, y)
    return c


@simt.kernel(block=256, grid_rank=1, requires=["len(x) == len(out)", "len(y) == len(out)"])
def differences(x: simt.Slice["u32", 1], y: simt.Slice["u32", 1], out: simt.DisjointSlice["u32", 1]):
    i = simt.thread_index()
    if i < len(out):
        out[i] = sum_of_differences(x[i], y[i], simt.u32(0))
