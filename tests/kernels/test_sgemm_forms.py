"""The forms of the tiled SGEMM kernels that the benchmark times, and the rule that chooses among them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_device import Device

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.sgemm_forms import FORMS, SIZES, Form, best_forms, compile_form, cycles, kernel

H200 = 132  # multiprocessors


def test_forms_are_told_apart_by_their_names() -> None:
    assert len({str(form) for form in FORMS}) == len(FORMS)


@pytest.mark.parametrize("n", SIZES)
def test_the_rule_has_a_choice_at_each_size(n: int) -> None:
    chosen = best_forms(n, H200, 4)
    assert len(chosen) == 4
    for form in chosen:
        x, y = form.grid(n, n)
        assert (x // form.group * form.tile[1], y * form.group * form.tile[0]) == (n, max(n, form.group * form.tile[0]))
    assert cycles(chosen[0], n, H200) == min(cycles(form, n, H200) for form in FORMS if form.fits(n))


def test_the_rule_fills_the_multiprocessors() -> None:
    """Where large tiles leave most of them idle it takes small ones, and slices; else it counts whole rounds."""
    large, small = Form((4, 1), (8, 16), 16, 2, 0, 4), Form((2, 1), (8, 8), 16, 2, 0, 4, 4)
    assert cycles(small, 1024, H200) < cycles(large, 1024, H200)
    assert cycles(large, 8192, H200) < cycles(small, 8192, H200)
    assert best_forms(1024, H200)[0].slices > 1 == best_forms(8192, H200)[0].slices
    # What the busiest multiprocessor has counts: 64 tiles are one each for 64 as for 100, and two for one of 63.
    assert cycles(large, 1024, 63) > 1.5 * cycles(large, 1024, 64) == 1.5 * cycles(large, 1024, 100)


def test_what_a_form_asks_of_sizes() -> None:
    form = Form((4, 1), (8, 16), 16, 2, 0, 4)
    assert form.fits(128) and not form.fits(192) and not Form((4, 1), (8, 16), 64, 2, 0, 4).fits(128)


@pytest.mark.parametrize("form", [Form((1, 1), (4, 4), 8, 1), Form((1, 1), (4, 4), 16, 1, 1, 3, 2, 4)], ids=str)
def test_a_form_s_kernel_and_constants(device: Device, rng: np.random.Generator, form: Form) -> None:
    device.needs(80)
    m, n, k = 2 * form.tile[0], 3 * form.tile[1], 4 * form.steps
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    c = device.empty((m, n), np.float32)
    kernel(form)[form.grid(m, n)](device.put(a), device.put(b), c, **form.constants)
    np.testing.assert_allclose(device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_a_form_that_cannot_be_compiled_says_why() -> None:
    assert compile_form(Form((1, 1), (4, 4), 8, 1), "cpu") is None
    wrong = compile_form(Form((1, 1), (4, 4), 12, 1), "cpu")
    assert wrong is not None and "all threads fetch the same number of fours" in wrong
