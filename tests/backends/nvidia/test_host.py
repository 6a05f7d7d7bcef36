"""Printing, assertions and the clock in PTX: the driver's vprintf and nothing else is left to find, ptxas takes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileopt import simt, tile
from tileopt.backends.nvidia.emit import check_ptx
from tileopt.dialects.diagnostics import CompileError

TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_120a")


@simt.kernel(block=64)
def tells(x: simt.Slice["f32", 1], n: int):
    start = simt.clock()
    for i in simt.grid_stride(n):
        assert i < len(x), "n is the length of x"
        simt.printf("%d: %f, %s\n", i, x[i], 'with a\ttab and "quotes"')
        simt.printf("%x at %f\n", i, simt.f64(x[i]))
    print("cycles", simt.clock() - start)


@tile.kernel
def once(x: tile.In["f32", 1]):
    print(tile.bid(0), tile.load(x, tile.bid(0), 512).sum())


@pytest.mark.parametrize("target", TARGETS)
def test_threads_tell(target: str) -> None:
    compiled = tells.compile(target, x="f32[?]", n="i64")
    assert len(compiled.cubin) > 1000
    ptx = compiled.ptx
    assert re.findall(r"\.extern \.func[^;(]*\([^;)]*\)\s*(\w+)", ptx) == ["vprintf"]
    assert len(re.findall(r"\.global \.align 1 \.b8 tileopt_\$_format", ptx)) == 3
    assert ptx.count("%clock64") == 2
    assert "trap;" in ptx
    # Values lie as C lays them out: the text's in the first call an i64 and an f64.
    assert compiled.llvm.count("alloca { i64, double }") == 1
    assert not any(": checked" in line for line in compiled.report["bounds"])


@pytest.mark.parametrize("target", TARGETS)
def test_one_thread_of_a_block_tells(target: str) -> None:
    compiled = once.compile(target, x="f32[?]")
    assert len(compiled.cubin) > 1000
    before = compiled.llvm.partition("call void @tileopt.print")[0]
    assert re.search(r"icmp eq i32 %\w+, 0\n  br i1 %\w+, label %print\d+, label %printed\d+\nprint\d+:\n\s*$", before)


def test_other_functions_are_still_missed() -> None:
    ptx = tells.compile("sm_90a", x="f32[?]", n="i64").ptx
    check_ptx(ptx)
    with pytest.raises(CompileError, match="llvm_nvvm_nothing"):
        check_ptx(ptx + "\n.extern .func llvm_nvvm_nothing\n(\n)\n;")


def test_the_text_is_escaped() -> None:
    llvm = tells.compile("sm_90a", x="f32[?]", n="i64").llvm
    assert r'c"%lld: %f, with a\09tab and \22quotes\22\0a\00"' in llvm
    assert Path(__file__).name not in llvm
