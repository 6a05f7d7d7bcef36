"""What a contract is for: with it, the natural SGEMM compiles to what it would without any test of an index."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_device import Device

from tileopt import LaunchError, simt
from tileopt.backends import pipelines
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.target import get_target

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_tested, sgemm_unchecked, sgemm_views
from sgemm_even import sgemm_even
from sgemm_ring import REQUIRES as RING_REQUIRES
from sgemm_ring import sgemm_ring
from sgemm_tiled import sgemm_tiled

MATRICES = {"a": "f32[?,?]", "b": "f32[?,?]", "c": "f32[?,?]"}
TARGETS = ["sm_80", "sm_90a"]


def ptx_of(kernel: Any, target: str, **constants: int) -> str:
    text: str = kernel.compile(target, **MATRICES, **constants).ptx
    return text


def overruled(kernel: Any, target: str, **given: Any) -> str:
    """The kernel's PTX if each access were proved: the passes' findings are overruled, without a word to them."""
    compiled = kernel.compile(target, **(given or MATRICES))
    module = kernel.fixed().build(compiled.signature)

    def overrule(name: str, now: Any) -> None:
        if name == "elide-bounds":
            for op in now.walk():
                if isinstance(op.properties.get("bounds"), BoundsAttr):
                    op.properties["bounds"] = BoundsAttr((Outcome.PROVED, (), "overruled"))

    chosen = get_target(target)
    pipelines.run_passes(module, chosen, after=overrule)
    return pipelines.emit_ptx(pipelines.emit_llvm(module, chosen), chosen)


def loops(ptx: str) -> list[list[str]]:
    """The instructions of each loop that multiplies, without operands: from a label to the jump back to it.

    An unrolled loop has another one behind it, for what is left.
    """
    found: list[list[str]] = []
    begin: dict[str, int] = {}
    lines = [line.strip() for line in ptx.splitlines()]
    for at, line in enumerate(lines):
        if label := re.match(r"(\$L\w+):", line):
            begin[label[1]] = at
        elif (jump := re.search(r"\bbra(?:\.uni)?\s+(\$L\w+);", line)) and jump[1] in begin:
            body = [one for one in lines[begin[jump[1]] + 1 : at + 1] if one.endswith(";")]
            found.append([re.sub(r"^@!?%p\d+\s+", "@ ", one).split("\t")[0].split(" %")[0] for one in body])
    multiply = [loop for loop in found if any("fma" in one for one in loop)]
    assert multiply
    return multiply


@pytest.mark.parametrize("target", TARGETS)
def test_the_contract_leaves_no_test_in_the_loop(target: str) -> None:
    ptx = ptx_of(sgemm, target)
    assert "trap" not in ptx
    for body in loops(ptx):
        assert sum("setp" in one for one in body) == 1, body  # the loop's own
        assert sum(one.startswith("@ bra") for one in body) == 1, body
    assert ptx == overruled(sgemm, target)


@pytest.mark.parametrize("target", TARGETS)
def test_the_contract_is_as_good_as_no_tests(target: str) -> None:
    twin = ptx_of(sgemm_unchecked, target)
    assert twin == overruled(sgemm_checked, target)
    assert ptx_of(sgemm, target) == twin.replace("sgemm_checked", "sgemm")


def test_unchecked_is_said_in_the_report() -> None:
    unchecked = sgemm_unchecked.compile("cpu", **MATRICES).report["bounds"]
    checked = sgemm_checked.compile("cpu", **MATRICES).report["bounds"]
    assert [line.replace("unchecked on", "checked on") for line in unchecked] == checked
    assert sum(": unchecked on axes" in line for line in unchecked) == 2
    assert not any(": unchecked" in line for line in checked)


@pytest.mark.parametrize("target", TARGETS)
def test_without_a_contract_the_loop_tests(target: str) -> None:
    ptx = ptx_of(sgemm_checked, target)
    assert "trap" in ptx
    assert all(sum("setp" in one for one in body) > 1 for body in loops(ptx))


@pytest.mark.parametrize("target", TARGETS)
def test_tests_that_are_kept_stay_where_all_is_proved(target: str) -> None:
    fitting = {"a": "f32[m, k]", "b": "f32[k, n]", "c": "f32[m, n]"}
    assert "trap" not in sgemm_checked.compile(target, **fitting).ptx
    made = sgemm_tested.compile(target, **fitting)
    assert "trap" in made.ptx
    assert all(sum("setp" in one for one in body) > 1 for body in loops(made.ptx))
    assert all(": checked on axes [0, 1] (the contract keeps all tests)" in line for line in made.report["bounds"])


@pytest.mark.parametrize("target", TARGETS)
def test_rows_and_columns_are_tested_before_the_loop(target: str) -> None:
    ptx = ptx_of(sgemm_views, target)
    assert "trap" in ptx
    assert loops(ptx) == loops(ptx_of(sgemm, target))


def test_tiles_are_read_four_at_a_time() -> None:
    ptx = ptx_of(sgemm_tiled, "sm_90a", T=4)
    assert "trap" not in ptx
    assert ptx.count("ld.shared") == ptx.count("ld.shared.v4") == 16


# Rows at a multiple of 16 bytes, as arrays have whose extents the tiles divide.
EVEN = dict.fromkeys("abc", "f32[?,?:16]")
even_checked = simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2))(sgemm_even.function)


def test_tiles_that_fit_move_four_elements_at_a_time() -> None:
    ptx: str = sgemm_even.compile("sm_90a", **EVEN).ptx
    assert "trap" not in ptx
    body = max(loops(ptx), key=len)
    count = {word: sum(word in one for one in body) for word in ("fma", "ld.global", "st.shared", "ld.shared", "bar.")}
    # Eight steps of 8 x 8 products; of each operand two fours a step; one four of each operand to fetch and to place,
    # of which the transposed one falls apart; one barrier.
    assert count == {"fma": 512, "ld.global": 2, "st.shared": 5, "ld.shared": 32, "bar.": 1}
    assert sum(".v4" in one for one in body) == 2 + 1 + 32
    assert ptx.count("st.global") == ptx.count("st.global.v4") == 16
    assert len(body) < 512 / 0.88  # little but products


def test_tiles_that_fit_are_as_good_as_no_tests() -> None:
    assert sgemm_even.compile("sm_90a", **EVEN).ptx == overruled(even_checked, "sm_90a", **EVEN)


def test_rings_are_as_good_as_no_tests() -> None:
    form: dict[str, Any] = {"TM": 4, "TN": 4, "WR": 2, "WC": 1, "K": 16, "STAGES": 3, "AHEAD": 1, "SLICES": 2}
    block: dict[str, Any] = {"block": 128, "grid_rank": 2}
    denied = simt.kernel(deny_checks=True, requires=RING_REQUIRES, **block)(sgemm_ring.function)
    plain = simt.kernel(requires=RING_REQUIRES, **block)(sgemm_ring.function)
    ptx: str = denied.compile("sm_90a", **EVEN, **form).ptx
    assert "trap" not in ptx and ptx == overruled(plain, "sm_90a", **EVEN, **form)


def test_rows_anywhere_move_one_element_at_a_time() -> None:
    ptx: str = sgemm_even.compile("sm_90a", **MATRICES).ptx
    assert "ld.global.nc.v" not in ptx


def test_tiles_that_do_not_fit_are_refused(device: Device) -> None:
    a, b, c = (device.put(np.ones(shape, np.float32)) for shape in ((128, 128), (128, 130), (128, 130)))
    with pytest.raises(LaunchError, match=r"b.shape\[1\] % \(8 \* 8 \* 2\) == 0"):
        sgemm_even[2, 1](a, b, c)


@pytest.mark.parametrize(
    "form",
    [{}, {"TM": 4, "TN": 4, "K": 16}, {"TM": 4, "TN": 4, "K": 16, "AHEAD": 1}],
    ids=["8x8", "4x4", "ahead"],
)
def test_even_products(device: Device, rng: np.random.Generator, form: dict[str, int]) -> None:
    M, N, K = 16 * form.get("TM", 8), 16 * form.get("TN", 8), form.get("K", 8)
    for m, n, k in ((M, N, K), (2 * M, 3 * N, 5 * K)):
        a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
        c = device.empty((m, n), np.float32)
        sgemm_even[n // N + 1, m // M + 1](device.put(a), device.put(b), c, **form)  # blocks too many do nothing
        np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


FORMS = {
    "plain": sgemm,
    "views": sgemm_views,
    "checked": sgemm_checked,
    "unchecked": sgemm_unchecked,
    "tiled": sgemm_tiled,
}


@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 33, 50), (70, 131, 9)])
@pytest.mark.parametrize("kernel", FORMS.values(), ids=FORMS)
def test_products(device: Device, rng: np.random.Generator, kernel: Any, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    c = device.empty((m, n), np.float32)
    if kernel is sgemm_tiled:
        kernel[(simt.cdiv(n, 64), simt.cdiv(m, 64))](device.put(a), device.put(b), c, T=4)
    else:
        kernel[(simt.cdiv(n, 32), simt.cdiv(m, 8))](device.put(a), device.put(b), c)
    np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)
