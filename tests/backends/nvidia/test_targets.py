"""The targets, and a small kernel for each of them."""

from __future__ import annotations

import re

import pytest
from nvidia_programs import compile_text, kernel_text

from tileopt.backends.nvidia.emit import check_ptx
from tileopt.backends.nvidia.ptxas import assemble
from tileopt.backends.nvidia.targets import NAMES, nvidia_target
from tileopt.dialects.diagnostics import CompileError, TargetError, UnsupportedError
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import coalesced
from tileopt.dialects.target import Feature, get_target

LAYOUT = f"layout = {LayoutAttr.of(coalesced((1024,), (0,), 4, 4))}, shape = array<i64: 1024>"
CONTRACT = "{tile.contract = #tile.contract<align = 16, unit = 0, shape = [16], stride = [1]>}"


def vector_add() -> str:
    shared, owned = "!tile.view<?xf32, shared>", "!tile.view<?xf32, owned>"
    masked = f"{LAYOUT}, vector = 4 : i64, bounds = #tile.bounds<masked [0]>"
    body = f"""%b = simt.block_id {{axis = 0 : i64}}
%c = arith.constant 1024 : i64
%o = arith.muli %b, %c : i64
%x = simt.fragment_load %a0[%o] {{{masked}}} : {shared} -> vector<8xf32>
%y = simt.fragment_load %a1[%o] {{{masked}}} : {shared} -> vector<8xf32>
%s = arith.addf %x, %y : vector<8xf32>
simt.fragment_store %s, %a2[%o] {{{masked}}} : vector<8xf32>, {owned}"""
    views = [f"%a{i}: {owned if i == 2 else shared} {CONTRACT}" for i in range(3)]
    return kernel_text(body, views)


@pytest.mark.parametrize("name", NAMES)
def test_every_target_assembles(name: str) -> None:
    _, ptx = compile_text(vector_add(), name)
    assert f".target {name}" in ptx and ".reqntid 128" in ptx
    assert ptx.count("ld.global.nc.v4.b32") == 4 and ptx.count("st.global.v4.b32") == 2
    built = assemble(ptx, name)
    assert built.registers <= 40 and not built.spill_stores


@pytest.mark.parametrize("name", NAMES)
def test_targets_are_consistent(name: str) -> None:
    target = get_target(name)
    assert target.kind == "cuda" and target.name == name
    assert target.has(Feature.CP_ASYNC) == (target.arch >= 80) == (target.default_stages > 1)
    assert target.has(Feature.TMA) == (target.arch >= 90)
    assert target.has(Feature.WGMMA) == (name == "sm_90a")
    assert target.has(Feature.TCGEN05) == (name in ("sm_100a", "sm_103a", "sm_110a"))
    kib = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 110: 227, 120: 99, 121: 99}
    assert target.shared_bytes == 1024 * kib[target.arch]
    assert all(atom.min_arch <= target.arch for atom in target.atoms)


def test_unknown_targets_and_other_kinds() -> None:
    with pytest.raises(TargetError) as caught:
        nvidia_target("sm_42")
    assert caught.value.code == "target/unknown"
    import tileopt.backends.cpu.target  # noqa: F401

    with pytest.raises(TargetError) as caught:
        nvidia_target("cpu")
    assert caught.value.code == "target/kind"


def test_undefined_functions_are_seen() -> None:
    with pytest.raises(CompileError) as caught:
        check_ptx(".version 8.7\n.extern .func  (.param .b32 x) llvm_nvvm_mistake\n(\n\t.param .b32 y\n)\n;\n")
    assert caught.value.code == "internal/undefined-function" and "llvm_nvvm_mistake" in caught.value.message


def test_misspelt_intrinsics_are_refused_before_llvm() -> None:
    from tileopt.backends.llvm.emitter import Output
    from tileopt.backends.nvidia.allowed import INTRINSICS

    output = Output(INTRINSICS)
    assert output.declare("float @llvm.fma.f32(float, float, float)") == "@llvm.fma.f32"
    for wrong in ("float @llvm.exp.f32(float)", "void @llvm.nvvm.barrier1()", "float @llvm.sin.f32(float)"):
        with pytest.raises(CompileError):
            output.declare(wrong)


def test_more_shared_memory_than_the_target_has() -> None:
    with pytest.raises(TargetError) as caught:
        compile_text(kernel_text("", shared=164 * 1024), "sm_80")
    assert caught.value.code == "target/shared-memory"


def test_too_many_parameters() -> None:
    views = [f"%a{i}: !tile.view<?x?x?x?xf32, shared>" for i in range(60)]
    with pytest.raises(UnsupportedError) as caught:
        compile_text(kernel_text("", views), "sm_80")
    assert caught.value.code == "backend/arguments"


def test_names_that_ptx_does_not_know() -> None:
    for name, shown in (("no-name", "'no-name'"), ("two\\0Alines", r"'two\nlines'")):
        text = kernel_text("").replace("@kernel", f'@"{name}"')
        with pytest.raises(UnsupportedError) as caught:
            compile_text(text, "sm_80")
        assert caught.value.code == "backend/symbol"
        assert caught.value.message == f"{shown} cannot name a GPU kernel"
        assert caught.value.location is not None


def test_scalars_and_an_empty_kernel() -> None:
    body = """%t = arith.select %b, %x, %y : f32
%v = simt.splat %t : f32 -> vector<8xf32>
%z = arith.constant 0 : i64
simt.fragment_store %v, %o[%z] {LAYOUT} : vector<8xf32>, !tile.view<?xf32, owned>""".replace("LAYOUT", LAYOUT)
    arguments = ["%b: i1", "%x: f32", "%y: f32", "%h: f16", "%q: i8", "%o: !tile.view<?xf32, owned>"]
    _, ptx = compile_text(kernel_text(body, arguments), "sm_80")
    sizes = re.findall(r"\.param \.[a-z](\d+) (?:\.ptr \S+ \.align \d+ )?kernel_param", ptx)
    assert sizes == ["8", "32", "32", "8", "64", "64", "64"] and ".align 2 .b8 kernel_param_3[2]" in ptx
    assemble(ptx, "sm_80")
    assemble(compile_text(kernel_text(""), "sm_80")[1], "sm_80")
