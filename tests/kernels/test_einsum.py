"""The einsum frontend: formulas of every kind against NumPy, on the CPU and as PTX."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_device import Device

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "frontends"))

from einsum import Einsum, Formula, einsum

from tileopt import KernelTypeError

EXAMPLES = Path(__file__).parents[2] / "examples" / "frontends"

FORMULAS = [
    "bik,bkj->bij", "ik,kj->ij", "ki,kj->ij", "ik,jk->ji", "ij,jk->ki", "ij,j->i", "i,ij->j", "abk,kc->abc",
    "i,j->ij", "i,j,k->ijk", "ij->ji", "abcd->dbca", "ii->i", "iij->j", "ii->", "ij->", "ijk->", "i,i->", "ij,ij->",
    "bij,bij->b", "ij,ij->ij", "ij,jk,kl->il", "ijj,j->i", "i->i", "ab,cd->dacb",
]  # fmt: skip
EXTENTS = dict(zip("abcdijkl", (3, 5, 34, 7, 37, 40, 65, 33), strict=True))


@pytest.mark.parametrize("text", FORMULAS)
def test_formula(device: Device, rng: np.random.Generator, text: str) -> None:
    formula = Formula.parse(text)
    arrays = [rng.standard_normal([EXTENTS[c] for c in labels]).astype(np.float32) for labels in formula.operands]
    expected = np.einsum(text, *(x.astype(np.float64) for x in arrays))
    out = device.empty(expected.shape, np.float32)
    einsum(text, *(device.put(x) for x in arrays), out=out)
    np.testing.assert_allclose(device.get(out), expected, rtol=1e-4, atol=3e-6 * np.abs(expected).max() + 1e-4)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int32"])
def test_types(device: Device, rng: np.random.Generator, name: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    a, b = rng.integers(-4, 5, (2, 20, 45)).astype(dtype), rng.integers(-4, 5, (2, 45, 33)).astype(dtype)
    expected = np.einsum("bik,bkj->bij", a.astype(np.float64), b.astype(np.float64))
    out = device.empty(expected.shape, dtype)
    einsum("bik,bkj->bij", device.put(a), device.put(b), out=out)
    np.testing.assert_array_equal(device.get(out).astype(np.float64), expected.astype(dtype).astype(np.float64))


def test_a_new_array_where_none_is_given(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((5, 6)), rng.standard_normal((6, 7))
    np.testing.assert_allclose(einsum("ij,jk->ik", a, b), a @ b)


@pytest.mark.parametrize("text", ["bik,bkj->bij", "ij->ji", "ii->", "i,j->ij"])
def test_ptx(text: str) -> None:
    from tileopt.frontends.engine import engine

    formula = Formula.parse(text)
    kernel = Einsum(formula)
    given: dict[str, object] = {p.name: f"f32[{', '.join('?' * (p.rank or 0))}]" for p in kernel.parameters}
    assert ".visible .entry einsum" in engine().compile(kernel, "sm_90a", given).ptx


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk", [(2, 3), (3, 4)], "is not of the form"),
        ("i...,i->i", [(2, 3), (2,)], "is not of the form"),
        ("ij->ii", [(2, 2)], "repeats a label"),
        ("ij->ik", [(2, 2)], "no operand has: k"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' has the extents 3 and 4"),
        ("ij,jk->ik", [(2, 3)], "does not fit arrays of rank"),
        ("i->i", [(2, 3)], "does not fit arrays of rank"),
    ],
)
def test_refused(text: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(KernelTypeError, match=message) as caught:
        einsum(text, *(np.zeros(s, np.float32) for s in shapes))
    assert caught.value.code == "einsum/formula"


def test_the_frontend_fits_on_a_page() -> None:
    source = (EXAMPLES / "einsum.py").read_text()
    assert len(source.splitlines()) <= 200
    assert "xdsl.parser" not in source and "tileopt.passes" not in source
