"""The product over a ring of tiles: right on each device, its copies whole, and no test of an index in it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Device

from tileopt import LaunchError, simt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from sgemm_ring import REQUIRES, sgemm_ring

EVEN = dict.fromkeys("abc", "f32[?,?:16]")  # rows at a multiple of 16 bytes
SMALL = {"TM": 4, "TN": 4, "WR": 1, "WC": 1, "K": 8, "STAGES": 3}


def of_threads(threads: int, **contract: Any) -> Any:
    """The kernel for other blocks than its own."""
    contract = {"deny_checks": True, "requires": REQUIRES, **contract}
    return simt.kernel(block=threads, grid_rank=2, **contract)(sgemm_ring.function)


FORMS = {
    "one warp": (32, SMALL),
    "ahead": (64, {**SMALL, "WR": 2, "AHEAD": 1}),
    "four stages": (64, {**SMALL, "WR": 2, "TN": 8, "STAGES": 4}),
    "groups": (32, {**SMALL, "GROUP": 4}),
    "slices": (128, {**SMALL, "K": 32, "SLICES": 4}),
    "slices ahead": (128, {**SMALL, "WR": 2, "K": 16, "STAGES": 4, "SLICES": 2, "AHEAD": 1}),
}


@pytest.mark.parametrize(("threads", "form"), FORMS.values(), ids=FORMS)
def test_products(device: Device, rng: np.random.Generator, threads: int, form: dict[str, int]) -> None:
    device.needs(80)
    kernel = of_threads(threads)
    M, N, K = 4 * form["TM"] * form["WR"], 8 * form["TN"] * form["WC"], form["K"]
    for m, n, steps in ((M, N, form["STAGES"]), (2 * M, 3 * N, int(rng.integers(form["STAGES"], 9)))):
        a = rng.standard_normal((m, K * steps)).astype(np.float32)
        b = rng.standard_normal((K * steps, n)).astype(np.float32)
        c = device.empty((m, n), np.float32)
        group = form.get("GROUP", 1)
        kernel[(n // N + 1) * group, m // M + 1](device.put(a), device.put(b), c, **form)  # blocks too many do nothing
        np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=2e-5)


def test_a_ring_that_never_fills_is_refused(device: Device) -> None:
    a, b, c = (device.put(np.ones(shape, np.float32)) for shape in ((16, 16), (16, 32), (16, 32)))
    with pytest.raises(LaunchError, match=r"len\(b\) >= 8 \* 3"):
        of_threads(32)[1, 1](a, b, c, **SMALL)


def counts(ptx: str) -> dict[str, int]:
    return {word: ptx.count(word) for word in ("cp.async.cg", "ld.global", "trap")}


@pytest.mark.parametrize(("threads", "form"), [FORMS["one warp"], FORMS["slices ahead"]], ids=["plain", "slices"])
def test_no_element_goes_through_a_register(threads: int, form: dict[str, int]) -> None:
    ptx = of_threads(threads).compile("sm_80", **EVEN, **form).ptx
    M, N, K = 4 * form["TM"] * form["WR"], 8 * form["TN"] * form["WC"], form["K"]
    fours = (M + N) * K // (4 * threads)
    stages = form["STAGES"] - form.get("AHEAD", 0)  # those before the loop, and the one in it
    assert counts(ptx) == {"cp.async.cg": fours * stages, "ld.global": 0, "trap": 0}
    loads = re.findall(r"ld\.shared\S*", ptx)
    assert loads and all(".v4" in load for load in loads if "SLICES" not in form)


def test_rows_anywhere_are_copied_as_they_can() -> None:
    found = counts(of_threads(32).compile("sm_80", **dict.fromkeys("abc", "f32[?,?]"), **SMALL).ptx)
    assert found["cp.async.cg"] and found["ld.global"] and not found["trap"]
