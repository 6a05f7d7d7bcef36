"""Bulk tensor copies and their barriers: the PTX, which ptxas assembles, and what the copy engine refuses."""

from __future__ import annotations

import pytest
from nvidia_programs import compile_text, emit_text, kernel_text

from tileopt.backends.nvidia import ptxas
from tileopt.dialects.diagnostics import CompileError, TargetError

ROWS = "!tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>"


def contract(align: int = 16, unit: int = 1, stride: str = "[8, 1]", tail: str = ", regular") -> str:
    text = f"align = {align}, unit = {unit}, shape = [1, 1], stride = {stride}{tail}"
    return f"{{tile.contract = #tile.contract<{text}>}}"


def program(facts: str, view: str = "%x") -> str:
    body = f"""
  %b = simt.alloc_shared {{offset = 0}} : !tile.buffer<2xi64>
  %t = simt.alloc_shared {{offset = 1024}} : {ROWS}
  %n = arith.constant 1 : i64
  gpu.mbarrier_init %b[%n] {{count = 1}} : !tile.buffer<2xi64>
  gpu.mbarrier_fence
  simt.barrier
  gpu.mbarrier_arrive %b[%n] {{expect = 16384}} : !tile.buffer<2xi64>
  gpu.tma_load {view}[%i, %j], %t, %b[%n] : !tile.view<?x?xbf16, shared>, {ROWS}, !tile.buffer<2xi64>
  gpu.mbarrier_wait %b[%n], %i : !tile.buffer<2xi64>
  simt.barrier {{proxy, id = 3, threads = 64}}
  gpu.tma_store %t, %y[%i, %j] : {ROWS}, !tile.view<?x?xbf16, owned>
  gpu.tma_commit
  gpu.tma_wait {{pending = 0, read}}
  gpu.mbarrier_arrive %b[%n] where %one : !tile.buffer<2xi64>
"""
    arguments = [
        f"%x: !tile.view<?x?xbf16, shared> {facts}",
        f"%y: !tile.view<?x?xbf16, owned> {contract()}",
        "%i: i64",
        "%j: i64",
        "%one: i1",
    ]
    return kernel_text(body, arguments, threads=64, shared=32768)


@pytest.mark.parametrize("target", ["sm_90", "sm_90a", "sm_100a", "sm_120a"])
def test_copies_assemble(target: str) -> None:
    llvm, ptx = compile_text(program(contract()), target)
    # One copy for each panel of 64 columns; two maps, since two arrays.
    assert llvm.count("byval([128 x i8])") == 2
    assert ptx.count("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes") == 2
    assert ptx.count("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group") == 2
    assert "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" in ptx
    # bar.sync and barrier.sync.aligned are one instruction.
    assert "bar.sync 	3, 64" in ptx or "barrier.sync.aligned 3, 64" in ptx or "barrier.cta.sync.aligned" in ptx
    assert ptxas.assemble(ptx, target).cubin


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (contract(tail=""), "extents below 2**30 and positive strides"),
        (contract(unit=0), "does not lie side by side"),
        (contract(align=8), "address is not known to be a multiple of 16"),
        (contract(stride="[4, 1]"), "stride along axis 0 is not known to be a multiple of 16"),
        ("", "extents below 2**30 and positive strides"),
    ],
)
def test_arrays_that_the_engine_cannot_read_are_refused(facts: str, message: str) -> None:
    with pytest.raises(CompileError, match=r"gpu/tensor-map") as caught:
        emit_text(program(facts), "sm_90a")
    assert message in str(caught.value)


def test_older_targets_refuse() -> None:
    with pytest.raises(TargetError, match="sm_80 has no tma"):
        emit_text(program(contract()), "sm_80")


def test_registers_are_moved_between_warpgroups() -> None:
    body = "gpu.setmaxnreg {registers = 232, direction = 1}\ngpu.setmaxnreg {registers = 40, direction = -1}"
    _, ptx = compile_text(kernel_text(body), "sm_90a")
    assert "setmaxnreg.inc.sync.aligned.u32 232;" in ptx and "setmaxnreg.dec.sync.aligned.u32 40;" in ptx
    assert ptxas.assemble(ptx, "sm_90a").cubin
    with pytest.raises(TargetError, match="sm_90 has no setmaxnreg"):
        emit_text(kernel_text(body), "sm_90")


def test_coordinates_far_outside_stay_outside() -> None:
    """A grid may have more blocks than an array has tiles: 2**32 + 1 must not become 1."""
    llvm, _ = compile_text(program(contract()), "sm_90a")
    assert llvm.count("@llvm.smin.i64(i64") >= 3 and "i64 1073741824)" in llvm and "i64 -1073741824)" in llvm
