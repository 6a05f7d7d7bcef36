"""Lanes that exchange registers, reductions across them, and math functions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import compile_text, kernel_text

from tileopt.backends.nvidia.ptxas import assemble
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import coalesced

ELEMENTS = {
    "i1": np.bool_, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64, "f16": np.float16,
    "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
LAYOUT = coalesced((64,), (0,), 2, 1)
COMMON = f"layout = {LayoutAttr.of(LAYOUT)}, shape = array<i64: 64>, bounds = #tile.bounds<proved []>"


def unary(op: str, element: str, extra: str = "") -> str:
    fragment = f"vector<2x{element}>"
    body = (
        "%z = arith.constant 0 : i64\n"
        f"%v = simt.fragment_load %x[%z] {{{COMMON}}} : !tile.view<?x{element}, shared> -> {fragment}\n"
        f"%w = {op.replace('TYPE', fragment)}\n"
        f"simt.fragment_store %w, %y[%z] {{{COMMON}}} : {fragment}, !tile.view<?x{element}, owned>"
    )
    views = [f"%x: !tile.view<?x{element}, shared>", f"%y: !tile.view<?x{element}, owned>"]
    return kernel_text(body, views, threads=32, extra=extra)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("mask", [1, 6, 31])
def test_shuffles_of_every_type(element: str, mask: int) -> None:
    text = unary(f"simt.shuffle_xor %v {{mask = {mask} : i64}} : TYPE -> TYPE", element)
    llvm, ptx = compile_text(text, "sm_75")
    x = (np.random.default_rng(1).integers(0, 2**16, 64) % (2 if element == "i1" else 2**16)).astype(ELEMENTS[element])
    if element in ("i64", "f64"):
        x = (np.arange(64) * (2**33 + 1)).astype(ELEMENTS[element])
    y = np.zeros_like(x)
    Kernel(llvm).run([x, 64, 1, y, 64, 1], (1,), 32)
    np.testing.assert_array_equal(y.reshape(32, 2), x.reshape(32, 2)[np.arange(32) ^ mask])
    assert ptx.count("shfl.sync.bfly") == (4 if element in ("i64", "f64") else 2)


FAST = ", tile.fast_math = true"


@pytest.mark.parametrize(
    ("function", "fast", "exact"),
    [
        ("exp", "ex2.approx.f32", "ex2.approx.ftz.f32"),
        ("exp2", "ex2.approx.ftz.f32", "ex2.approx.ftz.f32"),
        ("log", "lg2.approx.f32", "fma.rn.f32"),
        ("log2", "lg2.approx.f32", "fma.rn.f32"),
        ("sin", "sin.approx.f32", "fma.rn.f32"),
        ("cos", "cos.approx.f32", "fma.rn.f32"),
        ("tanh", "tanh.approx.f32", "ex2.approx.ftz.f32"),
        ("sqrt", "sqrt.approx.f32", "sqrt.rn.f32"),
        ("rsqrt", "rsqrt.approx.f32", "sqrt.rn.f32"),
    ],
)
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_fast_math_takes_the_hardwares_functions(function: str, fast: str, exact: str, element: str) -> None:
    text = f"math.{function} %v : TYPE"
    _, quick = compile_text(unary(text, element, FAST), "sm_80")
    _, slow = compile_text(unary(text, element), "sm_80")
    assert quick.count(fast) == 2 and exact in slow
    if function not in ("exp2", "exp", "tanh"):
        assert ".approx" not in slow
    assemble(quick, "sm_80")


def test_division_is_exact_unless_fast() -> None:
    text = "arith.divf %v, %v : TYPE"
    _, slow = compile_text(unary(text, "f32"), "sm_80")
    _, quick = compile_text(unary(text, "f32", FAST), "sm_80")
    assert "div.rn.f32" in slow and "div.rn" not in quick


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "f8E5M2"])
def test_the_remainder_is_the_librarys(element: str) -> None:
    llvm, ptx = compile_text(unary("arith.remf %v, %v : TYPE", element), "sm_80")
    name = "__nv_fmod" if element == "f64" else "__nv_fmodf"
    assert f"call {'double' if element == 'f64' else 'float'} @{name}(" in str(llvm)
    assert ".extern" not in ptx
    assemble(ptx, "sm_80")


def test_fma_contracts_only_where_it_may() -> None:
    text = "arith.mulf %v, %v : TYPE\n%q = arith.addf %w, %v : TYPE"
    text = unary(text, "f32").replace("fragment_store %w", "fragment_store %q")
    _, contracted = compile_text(text, "sm_80")
    _, separate = compile_text(text.replace("simt.threads", "tile.fma = false, simt.threads"), "sm_80")
    assert "fma.rn.f32" in contracted
    assert "mul.rn.f32" in separate and "add.rn.f32" in separate and "fma" not in separate


def test_long_functions_are_called_once_defined() -> None:
    _, ptx = compile_text(unary("math.powf %v, %v : TYPE", "f64"), "sm_80")
    assert ptx.count(".func") >= 1 and ".extern" not in ptx
    assemble(ptx, "sm_80")


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_pairs_of_16_bits_are_combined_at_once(element: str) -> None:
    contract = " {tile.contract = #tile.contract<align = 16, unit = 0, shape = [16], stride = [1]>}"
    text = unary("arith.mulf %v, %v : TYPE", element).replace("bounds =", "vector = 2 : i64, bounds =")
    text = text.replace(f"{element}, shared>, %y", f"{element}, shared>{contract}, %y")
    text = text.replace(f"{element}, owned>)", f"{element}, owned>{contract})")
    _, ptx = compile_text(text, "sm_90a")
    assert f"mul.rn.{element}x2" in ptx or f"mul.{element}x2" in ptx
