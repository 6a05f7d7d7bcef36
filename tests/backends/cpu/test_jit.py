"""LLVM IR to functions in the process: object code that is kept, symbols, errors, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tileopt.backends.cpu import jit
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.layout import coalesced

CALLS_NOTHING = """declare void @no_such_function()
define void @tileopt.f() {
  call void @no_such_function()
  ret void
}"""


def sine(cpu: Any, name: str = "k") -> str:
    """The text of a kernel out[i] = sin(x[i]) * 2, which calls the C library."""
    layout = coalesced((64,), (0,), 2, 1)
    w = cpu.Writer(threads=32)
    x, out = w.view("x", "f32"), w.view("out", "f32", owned=True)
    w.line("%z = arith.constant 0 : i64")
    w.load("v", "x", x, ["%z"], layout, "f32")
    w.line("%s = math.sin %v : vector<2xf32>")
    w.line("%r = arith.addf %s, %s : vector<2xf32>")
    w.store("r", "out", out, ["%z"], layout, "f32")
    return str(w.text()).replace("@k(", f"@{name}(")


def check(program: Any) -> None:
    x = np.linspace(-3, 3, 64).astype(np.float32)
    out = np.zeros_like(x)
    program(x, out)
    np.testing.assert_allclose(out, 2 * np.sin(x.astype(np.float64)), rtol=1e-6)


def test_object_code_can_be_loaded_again(cpu: Any) -> None:
    program = cpu.compile_text(sine(cpu))
    check(program)
    declarations = "\n".join(line for line in program.llvm.splitlines() if line.startswith("declare"))
    program.loaded = jit.load(declarations, "k", program.loaded.object_code)
    check(program)


@pytest.mark.parametrize("name", ["malloc", "sinf", "memcpy", "main", '"a b"', '"\N{GREEK SMALL LETTER ALPHA}.1"'])
def test_a_kernel_may_have_the_name_of_a_c_function(cpu: Any, name: str) -> None:
    check(cpu.compile_text(sine(cpu, name), name.strip('"')))


def test_what_llvm_refuses_is_a_compile_error() -> None:
    with pytest.raises(CompileError) as caught:
        jit.load("define void @f( {", "f")
    assert caught.value.code == "internal/llvm"
    with pytest.raises(CompileError) as caught:
        jit.load("define void @f() {\n  ret void\n}", "g")
    assert caught.value.code == "internal/llvm"
    with pytest.raises(CompileError) as caught:
        jit.load(CALLS_NOTHING, "f")
    assert caught.value.code == "internal/llvm"
    with pytest.raises(CompileError) as caught:
        jit.load("", "f", b"not an object file")
    assert caught.value.code == "internal/llvm"


def test_many_threads_compile_and_run(cpu: Any) -> None:
    errors: list[BaseException] = []
    text = sine(cpu)

    def work() -> None:
        try:
            for _ in range(3):
                check(cpu.compile_text(text))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_code_goes_when_nothing_holds_it(cpu: Any) -> None:
    """Loading and dropping many kernels keeps working: names are never used twice."""
    program = cpu.compile_text(sine(cpu))
    for _ in range(50):
        program.loaded = jit.load(program.llvm, "k", program.loaded.object_code)
    check(program)


def test_an_op_without_code_is_refused_with_its_place(cpu: Any) -> None:
    text = sine(cpu).replace(
        "%s = math.sin %v : vector<2xf32>", '%s = "test.op"(%v) : (vector<2xf32>) -> vector<2xf32>'
    )
    with pytest.raises(CompileError) as caught:
        cpu.compile_text(text)
    assert caught.value.code == "backend/unsupported-op"
    assert caught.value.location is not None and "test.op" in caught.value.message


def test_an_intrinsic_off_the_list_is_refused() -> None:
    from tileopt.backends.cpu.backend import CpuBackend
    from tileopt.backends.llvm.emitter import Output

    output = Output(CpuBackend.intrinsics)
    assert output.declare("float @llvm.fma.f32(float, float, float)") == "@llvm.fma.f32"
    for name in ("llvm.sin.f32", "llvm.nvvm.barrier0", "llvm.fmax.f32"):
        with pytest.raises(CompileError) as caught:
            output.declare(f"float @{name}(float)")
        assert caught.value.code == "internal/llvm"


def test_fma_is_contracted_only_where_allowed(cpu: Any) -> None:
    """a * b + c with the product's rounding error as the result."""
    layout = coalesced((32,), (0,), 1, 1)
    rng = np.random.default_rng(1)
    a, b = (rng.normal(0, 1, 32).astype(np.float32) for _ in range(2))
    c = -(a * b)
    for allowed in (True, False):
        w = cpu.Writer(threads=32, attributes=f", tile.fma = {str(allowed).lower()}")
        views = [w.view(f"x{i}", "f32") for i in range(3)]
        out = w.view("out", "f32", owned=True)
        w.line("%z = arith.constant 0 : i64")
        for i, view in enumerate(views):
            w.load(f"v{i}", f"x{i}", view, ["%z"], layout, "f32")
        w.line("%p = arith.mulf %v0, %v1 : vector<1xf32>")
        w.line("%r = arith.addf %p, %v2 : vector<1xf32>")
        w.store("r", "out", out, ["%z"], layout, "f32")
        out_ = np.ones(32, np.float32)
        w.compile()(a, b, c, out_)
        exact = (a.astype(np.float64) * b + c).astype(np.float32)
        np.testing.assert_array_equal(out_, exact if allowed else np.zeros(32))
