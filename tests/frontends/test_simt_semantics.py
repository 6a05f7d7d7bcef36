"""What SIMT kernels compute, by a plain interpreter of their IR against NumPy in float64."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from python_kernels import build, module, simt_kernel
from thread_interpreter import Apart, Outside, Shared, run

RNG = np.random.default_rng(3)
DOCS = Path(__file__).parents[2] / "docs" / "simt-language.md"


def documented() -> dict[str, Any]:
    """The kernels of the documentation by name."""
    found: dict[str, Any] = {}
    for text in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL):
        lines = [line for line in text.splitlines() if "[" not in line.partition("(")[0] or line[:1] in " @"]
        found |= {k: v for k, v in module("\n".join(lines)).items() if hasattr(v, "contract")}
    return found


KERNELS = documented()


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def launch(name: str, grid: tuple[int, ...], *arguments: Any) -> None:
    made = KERNELS[name].fixed(grid_rank=len(grid))
    run(build(made), arguments, grid)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 300])
def test_scale(size: int) -> None:
    x, out = f32(size), np.zeros(size, np.float32)
    launch("scale", (2,), np.float32(2.5), x, out)
    np.testing.assert_array_equal(out, np.float32(2.5) * x)


def test_gemv() -> None:
    a, x, y = f32(130, 5), f32(5), np.zeros(130, np.float32)
    launch("gemv", (2,), a, x, y)
    np.testing.assert_allclose(y, a.astype(np.float64) @ x, rtol=1e-5, atol=1e-5)


def test_matmul() -> None:
    a, b, c = f32(17, 7), f32(7, 19), np.zeros((17, 19), np.float32)
    launch("matmul", (2, 2), a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


def test_block_sum() -> None:
    x, out = f32(1000), np.zeros(2, np.float32)
    launch("block_sum", (2,), x, out)
    np.testing.assert_allclose(out.sum(), x.astype(np.float64).sum(), rtol=1e-4, atol=1e-4)


def test_histogram() -> None:
    x, bins = RNG.integers(0, 256, 3000).astype(np.uint8), np.zeros(256, np.uint32)
    launch("histogram", (1,), x, bins)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=256))


def results(expression: str, block: int = 64, dtype: str = "i64", **given: Any) -> np.ndarray[Any, Any]:
    """The expression of `n` in each thread of one block."""
    body = f"i = simt.thread_index()\nn = i * 7 % 13\nout[i] = {expression}"
    parameters = f"out: simt.DisjointSlice['{dtype}']"
    out = np.zeros(block, np.dtype(dtype.replace("i", "int").replace("f", "float").replace("u", "uint")))
    run(build(simt_kernel(body, parameters, f"block={block}")), [out])
    return out


IDS = np.arange(64)
N = IDS * 7 % 13
LANE = IDS % 32
LANES = N.reshape(2, 32)


def _mask(held: np.ndarray[Any, Any]) -> int:
    return sum(1 << int(lane) for lane in np.flatnonzero(held))


EXPRESSIONS: dict[str, Any] = {
    "simt.shuffle(n, 5)": np.repeat(LANES[:, 5], 32),
    "simt.shuffle(n, simt.lane_index() + 1, width=8)": N[IDS // 8 * 8 + (IDS + 1) % 8],
    "simt.shuffle_up(n, 1)": np.where(LANE > 0, N[np.maximum(IDS - 1, 0)], N),
    "simt.shuffle_down(n, 2, width=4)": np.where(IDS % 4 < 2, N[np.minimum(IDS + 2, 63)], N),
    "simt.shuffle_xor(n, 16)": N[IDS ^ 16],
    "simt.i64(simt.any_sync(n == 12))": np.repeat((LANES == 12).any(1), 32),
    "simt.i64(simt.all_sync(n < 13))": np.ones(64),
    "simt.i64(simt.ballot(n > 6))": np.repeat(
        [int(sum(1 << int(j) for j in np.flatnonzero(r > 6))) for r in LANES], 32
    ),
    "simt.i64(simt.popc(simt.match_any(n)))": np.concatenate([[(r == v).sum() for v in r] for r in LANES]),
    "simt.i64(simt.match_all(n))": np.zeros(64),
    "simt.warp_reduce(n)": np.repeat(LANES.sum(1), 32),
    "simt.warp_reduce(n, 'max', 8)": np.repeat(N.reshape(8, 8).max(1), 8),
    "simt.warp_reduce(n - 5, 'min')": np.repeat(LANES.min(1) - 5, 32),
    "simt.i64(simt.warp_reduce(simt.u32(n - 5), 'max'))": np.repeat((LANES - 5).astype(np.uint32).max(1), 32),
    "simt.i64(simt.elect())": LANE == 0,
    "simt.i64(simt.lane_mask('lt'))": (1 << LANE) - 1,
    "simt.i64(simt.lane_mask('ge'))": (1 << 32) - (1 << LANE),
    "simt.i64(simt.popc(n))": [int(v).bit_count() for v in N],
    "simt.i64(simt.clz(simt.i32(n)))": [32 - int(v).bit_length() for v in N],
    "simt.i64(simt.ffs(n))": [(int(v) & -int(v)).bit_length() for v in N],
    "simt.i64(simt.brev(simt.u8(n)))": [int(f"{int(v):08b}"[::-1], 2) for v in N],
    "(n - 6) // 4 + (n - 6) % 4": (N - 6) // 4 + (N - 6) % 4,
    "simt.cdiv(n, 5) if n > 3 else -n": np.where(N > 3, -(-N // 5), -N),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_of_lanes(text: str) -> None:
    np.testing.assert_array_equal(results(text), np.asarray(EXPRESSIONS[text]).astype(np.int64))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("add", 64), ("sub", -64), ("max", 63), ("min", -9), ("and", 0), ("or", 63), ("xor", 0)],
)
def test_atomics_of_a_block(kind: str, wanted: int) -> None:
    value = "1" if kind in ("add", "sub") else "simt.thread_index()" if kind != "min" else "simt.thread_index() - 9"
    cell = np.zeros(1, np.int64)
    body = f"simt.atomic_{kind}(a, 0, {value})"
    run(build(simt_kernel(body, "a: simt.Atomic['i64']", "block=64"), a=("i64", 1)), [cell])
    assert cell[0] == wanted


def test_a_lock_free_maximum_by_cas() -> None:
    body = """
        i = simt.thread_index()
        mine = x[i]
        seen = simt.f32(-1.0)
        while seen < mine:
            before = simt.atomic_cas(best, 0, seen, mine)
            if before == seen:
                break
            seen = before
    """
    x, best = f32(64), np.full(1, -1.0, np.float32)
    run(build(simt_kernel(body, "x: simt.Slice, best: simt.Atomic", "block=64")), [x, best])
    assert best[0] == x.max()


def test_a_transposition_through_shared_memory() -> None:
    body = """
        cache = simt.shared((8, 9))
        row, col = simt.thread_index_2d()
        y, x = simt.thread_idx(1), simt.thread_idx(0)
        if row < a.shape[0] and col < a.shape[1]:
            cache[y, x] = a[row, col]
        simt.barrier()
        i, j = simt.block_idx(0) * 8 + y, simt.block_idx(1) * 8 + x
        if i < b.shape[0] and j < b.shape[1]:
            b[i, j] = cache[x, y]
    """
    parameters = "a: simt.Slice['f32', 2], b: simt.DisjointSlice['f32', 2]"
    made = simt_kernel(body, parameters, "block=(8, 8), grid_rank=2")
    a, b = f32(13, 21), np.zeros((21, 13), np.float32)
    run(build(made), [a, b], (3, 2))
    np.testing.assert_array_equal(b, a.T)


def test_windows_rows_and_runs_of_elements() -> None:
    body = """
        start = simt.thread_index() * 4
        if start < len(out):
            run = out.window(start, min(4, len(out) - start))
            for k in range(len(run)):
                run[k] = x.window(start, len(run))[k] + m.col(k)[2]
    """
    x, m, out = f32(30), f32(3, 4), np.zeros(30, np.float32)
    run(build(simt_kernel(body, "x: simt.Slice, m: simt.Slice['f32', 2], out: simt.DisjointSlice")), [x, m, out])
    np.testing.assert_array_equal(out, x + np.resize(m[2], 30))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("out[simt.thread_index()] = x[simt.thread_index() + 1]", Outside),
        ("out[simt.thread_index()] = m.row(simt.thread_index())[0]", Outside),
        ("out[simt.thread_index()] = x.window(60, 5)[0]", Outside),
        ("out[simt.thread_index()] = x.window(0, 8)[simt.thread_index()]", Outside),
        ("out[simt.thread_index()] = x.window(-simt.thread_index(), 1)[0]", Outside),
        ("out[simt.thread_index() // 2] = 1.0", Shared),
        ("out[simt.thread_index()] = out[0]", Shared),
        ("if simt.thread_index() < 40: simt.barrier()", Apart),
        ("if simt.lane_index() < 4: simt.warp_reduce(1.0)", Apart),
    ],
)
def test_what_threads_may_not_do(body: str, error: type[Exception]) -> None:
    made = build(simt_kernel(body, "x: simt.Slice, m: simt.Slice['f32', 2], out: simt.DisjointSlice"))
    with pytest.raises(error):
        run(made, [f32(64), f32(4, 4), np.zeros(64, np.float32)])
