"""Constants as LLVM text: what LLVM reads back is what NumPy rounds to."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Output
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES

VALUES = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-40, 5e-324, 65504.0, 65519.9, 65520.0, 3.4028235677973366e38, 3.4028234e38]
VALUES += [1e300, np.inf, -np.inf, np.nan, 2.0**-149, 2.0**-24, 2.0**-25, 448.0, 464.0, 57344.0, 61440.0]


FLOATS = [n for n, d in DTYPES.items() if d.is_float]


@pytest.mark.parametrize(("value", "name"), [(v, n) for v in VALUES for n in FLOATS if v != 0 or n != "f8e8m0fnu"])
def test_float_bits_round_as_numpy_does(value: float, name: str) -> None:
    d = DTYPES[name]
    with np.errstate(all="ignore"):
        expected = np.float64(value).astype(d.numpy)
    bits = np.array(types.float_bits(value, d.ir), f"u{d.bytes}").view(d.numpy)
    if np.isnan(expected):
        assert np.isnan(bits)
    else:
        assert bits == expected and np.signbit(bits) == np.signbit(expected)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zero_as_a_scale_is_the_least_power_of_two(zero: float) -> None:
    """NumPy's cast gives NaN."""
    d = DTYPES["f8e8m0fnu"]
    assert float(np.array(types.float_bits(zero, d.ir), np.uint8).view(d.numpy)) == 2.0**-127


@pytest.mark.parametrize("value", [0.5, -3.0, 0.1, np.inf, -np.inf, np.nan, 1e-44])
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_llvm_reads_the_constant_back(name: str, value: float) -> None:
    import ctypes

    from tileopt.backends.cpu import jit

    d = DTYPES[name]
    text = types.float_constant(value, d.ir)
    element, integer = types.llvm_type(d.ir), f"i{d.bits}"
    body = f"store {element} {text}, ptr %p\n  ret void"
    loaded = jit.load(f"define void @{jit.entry_symbol('f')}(ptr %p) {{\n  {body}\n}}", "f")
    memory = np.zeros(1, f"u{d.bytes}")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address)(memory.ctypes.data)
    with np.errstate(all="ignore"):
        expected = np.array([value]).astype(d.numpy)
    np.testing.assert_array_equal(memory.view(d.numpy).astype(np.float64), expected.astype(np.float64))
    assert integer == f"i{memory.itemsize * 8}"


def test_vectors_of_constants() -> None:
    assert types.vector(1, "float") == "float" and types.vector(4, "i8") == "<4 x i8>"
    assert types.vector_constant("i32", ["1", "2"]) == "<i32 1, i32 2>"
    assert types.vector_constant("i32", ["7", "7"]) == "splat (i32 7)"
    assert types.vector_constant("i32", ["7"]) == "7"
    assert types.mangled(8, "bfloat") == "v8bf16" and types.mangled(1, "i64") == "i64"
    assert types.constant_text(True, DTYPES["bool"].ir) == "true"


def test_declarations_are_written_once_and_checked() -> None:
    output = Output(frozenset({"llvm.fma", "llvm.nvvm.barrier0"}))
    for _ in range(2):
        assert output.declare("<8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)") == "@llvm.fma.v8f32"
    assert output.text([]).count("declare") == 1
    assert output.declare("float @sinf(float) nounwind") == "@sinf"
    with pytest.raises(CompileError):
        output.declare("void @llvm.nvvm.barrier1()")


def test_helpers_may_use_each_other() -> None:
    output = Output(frozenset())

    def outer() -> str:
        output.helper("inner", lambda: "define void @inner() { ret void }")
        return "define void @outer() { ret void }"

    assert output.helper("outer", outer) == output.helper("outer", outer) == "@outer"
    assert output.text([]).count("define") == 2


def test_bfloat_is_what_ml_dtypes_says() -> None:
    assert types.float_bits(1.0, DTYPES["bf16"].ir) == int(np.array(1.0, ml_dtypes.bfloat16).view(np.uint16))
