"""The model finds operands of products that are written before the product was waited for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt import simt
from tileopt.dialects.diagnostics import DeviceError

ROWS, COLUMNS, DEPTH = 64, 16, 64


def two_products(early: int, pending: int) -> Any:
    """Two products of one left operand with two right ones; element 0 of right operand number `early` is written after
    a wait that leaves `pending` of them in flight."""

    @simt.kernel(block=128)
    def k(a: simt.Slice, b: simt.Slice, out: simt.DisjointSlice):
        left = simt.shared((ROWS, DEPTH), "bf16", swizzle=128)
        first = simt.shared((COLUMNS, DEPTH), "bf16", swizzle=128)
        second = simt.shared((COLUMNS, DEPTH), "bf16", swizzle=128)
        me = simt.thread_rank()
        for i in range(me, ROWS * DEPTH, 128):
            left[i // DEPTH, i % DEPTH] = a[i // DEPTH, i % DEPTH]
        for i in range(me, COLUMNS * DEPTH, 128):
            first[i // DEPTH, i % DEPTH] = b[i // DEPTH, i % DEPTH]
            second[i // DEPTH, i % DEPTH] = b[i // DEPTH, i % DEPTH] * b[i // DEPTH, i % DEPTH]
        simt.fence_proxy_async()
        simt.barrier()
        zeros = ()
        for _ in simt.static_range(COLUMNS // 2):
            zeros += (simt.f32(0.0),)
        x = simt.wgmma(left, first, zeros, "bf16")
        y = simt.wgmma(left, second, zeros, "bf16")
        x = simt.wgmma_wait(x, pending)
        if me == 0:
            if early == 0:
                first[0, 0] = first[0, 0] + first[0, 0]
            if early == 1:
                second[0, 0] = second[0, 0] + second[0, 0]
        y = simt.wgmma_wait(y, 0)
        i = simt.thread_index()
        if i < len(out):
            for j in simt.static_range(COLUMNS // 2):
                if j < out.shape[1]:
                    out[i, j] = x[j] + y[j]

    return k


def run(early: int, pending: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    import ml_dtypes

    a, b = (rng.uniform(1, 2, (rows, DEPTH)).astype(ml_dtypes.bfloat16) for rows in (ROWS, COLUMNS))
    out = np.full((128, COLUMNS // 2), np.nan, np.float32)
    two_products(early, pending)[1](a, b, out, target="model:sm_90a")
    square = (b * b).astype(np.float64)
    total = a.astype(np.float64) @ (b.astype(np.float64) + square).T
    assert abs(float(out.astype(np.float64).sum()) / float(total.sum()) - 1) < 1e-5
    return out


@pytest.mark.parametrize(("early", "pending"), [(0, 1), (0, 0), (1, 0)])
def test_what_was_waited_for_may_be_written(rng: np.random.Generator, early: int, pending: int) -> None:
    run(early, pending, rng)


@pytest.mark.parametrize(("early", "pending"), [(0, 2), (1, 1)])
def test_what_is_read_may_not_be_written(rng: np.random.Generator, early: int, pending: int) -> None:
    with pytest.raises(DeviceError) as caught:
        run(early, pending, rng)
    error = caught.value
    assert error.code == "model/overwritten"
    assert error.location is not None and "simt.wgmma(left" in str(error.location.source or error)
    assert ("first" if early == 0 else "second") in str(error)
    ((text, place),) = error.notes
    assert text == "it is waited for here" and place is not None and place.line > error.location.line
