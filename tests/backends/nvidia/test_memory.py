"""Fragments from and to arrays: simulated against NumPy for every outcome, and the PTX that comes of them."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Fault, Kernel
from nvidia_programs import compile_text, emit_text, kernel_text

from tileopt.backends.nvidia.chunks import chunks_of, run_length
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Layout, coalesced

ELEMENTS = {
    "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64, "i1": np.bool_, "f8E4M3FN": np.uint8,
}  # fmt: skip


def contract(unit: int, rank: int, align: int = 16, small: bool = False) -> str:
    ones = [1] * rank
    tail = ", small" if small else ""
    return f"{{tile.contract = #tile.contract<align = {align}, unit = {unit}, shape = {ones}, stride = {ones}{tail}>}}"


def copy_text(
    layout: Layout, element: str, bounds: str, vector: int, unit: int = -2, padding: str = "", small: bool = False
) -> str:
    """A kernel that copies one tile from offset (%i0, ...) of %x to (%j0, ...) of %y."""
    rank = len(layout.shape)
    unit = rank - 1 if unit == -2 else unit
    n = "?x" * rank
    shape = f"shape = array<i64: {', '.join(map(str, layout.shape))}>"
    common = f"layout = {LayoutAttr.of(layout)}, {shape}, vector = {vector} : i64"
    offsets = ", ".join(f"%i{a}" for a in range(rank))
    into = ", ".join(f"%j{a}" for a in range(rank))
    fill = f", padding = {padding}" if padding else ""
    body = (
        f"%v = simt.fragment_load %x[{offsets}] {{{common}, bounds = #tile.bounds<{bounds}>{fill}}} : "
        f"!tile.view<{n}{element}, shared> -> vector<{layout.registers}x{element}>\n"
        f"simt.fragment_store %v, %y[{into}] {{{common}, bounds = #tile.bounds<{bounds}>}} : "
        f"vector<{layout.registers}x{element}>, !tile.view<{n}{element}, owned>"
    )
    arguments = [
        f"%x: !tile.view<{n}{element}, shared> {contract(unit, rank, small=small)}",
        f"%y: !tile.view<{n}{element}, owned> {contract(unit, rank, small=small)}",
        *(f"%i{a}: i64" for a in range(rank)),
        *(f"%j{a}: i64" for a in range(rank)),
    ]
    return kernel_text(body, arguments, threads=layout.threads)


def run(llvm: str, layout: Layout, x: np.ndarray, y: np.ndarray, offsets, into) -> Kernel:
    program = Kernel(llvm)
    views = [v for a in (x, y) for v in ((a.base if a.base is not None else a), *a.shape, *_strides(a))]
    program.run([*views, *offsets, *into], (1,), layout.threads)
    return program


def _strides(a: np.ndarray) -> list[int]:
    return [s // a.itemsize for s in a.strides]


def values(shape: tuple[int, ...], element: str) -> np.ndarray:
    raw = np.arange(1, 1 + int(np.prod(shape)))
    dtype = ELEMENTS[element]
    data = (raw % 2).astype(dtype) if element == "i1" else (raw % 100).astype(dtype)
    return data.reshape(shape)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("vector", [1, 2, 4, 16])
@pytest.mark.parametrize("bounds", ["proved []", "masked [0]", "hoisted [0]"])
def test_copy_of_a_row(element, vector, bounds) -> None:
    layout = coalesced((256,), (0,), 16, 1)
    llvm = emit_text(copy_text(layout, element, bounds, vector), "sm_80")
    x, y = values((1024,), element), np.zeros(1024, ELEMENTS[element])
    run(llvm, layout, x, y, [512], [256])
    want = np.zeros_like(y)
    want[256:512] = x[512:768]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("bounds", ["masked [0, 1]", "hoisted [0, 1]"])
@pytest.mark.parametrize(
    "offsets", [(0, 0), (3, 16), (-5, 0), (0, -8), (7, 24), (100, 100), (-100, 0), (2**62, -(2**62))]
)
@pytest.mark.parametrize("small", [False, True])
def test_what_is_outside_reads_as_padding_and_is_not_written(bounds, offsets, small) -> None:
    layout = coalesced((8, 32), (0, 1), 4, 2)
    text = copy_text(layout, "f32", bounds, 4, padding="-1.5 : f32", small=small)
    llvm = emit_text(text, "sm_80")
    x = values((10, 40), "f32")
    padded = np.full((8, 32), -1.5, np.float32)
    for at in np.ndindex(8, 32):
        i, j = at[0] + offsets[0], at[1] + offsets[1]
        if 0 <= i < 10 and 0 <= j < 40:
            padded[at] = x[i, j]
    y = np.zeros((8, 32), np.float32)
    run(llvm, layout, x, y, offsets, (0, 0))
    np.testing.assert_array_equal(y, padded)
    # The same tile stored over an edge: what is outside the array is left alone.
    z = np.full((6, 28), 7, np.float32)
    run(llvm, layout, padded, z, (0, 0), (-2, 4))
    want = np.full((6, 28), 7, np.float32)
    want[:6, 4:28] = padded[2:8, :24]
    np.testing.assert_array_equal(z, want)


def test_strides_of_any_sign() -> None:
    layout = coalesced((8, 16), (0, 1), 1, 1)
    llvm = emit_text(copy_text(layout, "i32", "masked [0, 1]", 1, unit=-1, small=True), "sm_80")
    memory = values((40, 40), "i32")
    x = memory[30:10:-2, 5:35:3]
    y = np.zeros((12, 12), np.uint32)
    program = Kernel(llvm)
    start = x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    program.run([(memory, start), *x.shape, *_strides(x), y, *y.shape, 12, 1, 2, 0, 0, 0], (1,), 32)
    want = np.zeros_like(y)
    part = x[2:10, :12]
    want[: part.shape[0], : part.shape[1]] = part
    want[: part.shape[0], 10:] = 0
    np.testing.assert_array_equal(y[:8, :10], x[2:10, :10])
    assert not y[8:].any()


@pytest.mark.parametrize("shape", [(5,), (3, 7), (12, 24), (1, 1), (33,), (6, 96)])
@pytest.mark.parametrize("warps", [1, 4])
def test_phantoms_and_replicas_touch_nothing(shape, warps) -> None:
    layout = coalesced(shape, tuple(range(len(shape))), 4, warps)
    llvm = emit_text(copy_text(layout, "f32", "proved []", 4), "sm_80")
    x, y = values(shape, "f32"), np.zeros(shape, np.float32)
    run(llvm, layout, x, y, (0,) * len(shape), (0,) * len(shape))
    np.testing.assert_array_equal(y, x)


def test_a_scalar_array() -> None:
    body = (
        "%v = simt.fragment_load %x[] {layout = #tile.layout<regs = [], lanes = [[], [], [], [], []], warps = []>, "
        "shape = array<i64>} : !tile.view<f32, shared> -> vector<1xf32>\n"
        "simt.fragment_store %v, %y[] {layout = #tile.layout<regs = [], lanes = [[], [], [], [], []], warps = []>, "
        "shape = array<i64>} : vector<1xf32>, !tile.view<f32, owned>"
    )
    llvm = emit_text(
        kernel_text(body, ["%x: !tile.view<f32, shared>", "%y: !tile.view<f32, owned>"], threads=32), "sm_80"
    )
    x, y = np.full(1, 3, np.float32), np.zeros(1, np.float32)
    Kernel(llvm).run([x, y], (1,), 32)
    assert y[0] == 3


def test_the_simulator_sees_faults() -> None:
    layout = coalesced((256,), (0,), 4, 1)
    llvm = emit_text(copy_text(layout, "f32", "proved []", 4), "sm_80")
    with pytest.raises(Fault, match="array of"):
        run(llvm, layout, values((256,), "f32"), np.zeros(256, np.float32), [4], [0])
    with pytest.raises(Fault, match="not aligned"):
        run(llvm, layout, values((512,), "f32"), np.zeros(512, np.float32), [1], [0])


# --- the PTX ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "vector", "width"),
    [("f32", 4, "v4.b32"), ("f32", 2, "v2.b32"), ("f16", 8, "v4.b32"), ("i8", 16, "v4.b32"), ("f64", 2, "v2.b64"),
     ("bf16", 2, "b32"), ("f32", 1, "b32"), ("f32", 16, "v4.b32")],
)  # fmt: skip
@pytest.mark.parametrize("bounds", ["proved []", "masked [0]"])
def test_widest_accesses(element, vector, width, bounds) -> None:
    layout = coalesced((1024,), (0,), 16, 1)
    _, ptx = compile_text(copy_text(layout, element, bounds, vector), "sm_80")
    loads, stores = set(re.findall(r"ld\.global\.nc\.([\w.]+)", ptx)), set(re.findall(r"st\.global\.([\w.]+)", ptx))
    assert loads == stores == {width}
    assert ("@%p" in ptx) == (bounds != "proved []")
    assert "bra" not in ptx


def test_launch_counts_as_proved_and_hoisted_has_two_paths() -> None:
    layout = coalesced((1024,), (0,), 4, 4)
    _, launch = compile_text(copy_text(layout, "f32", "launch [0]", 4), "sm_80")
    _, hoisted = compile_text(copy_text(layout, "f32", "hoisted [0]", 4), "sm_80")
    assert "setp" not in launch
    assert len(re.findall(r"@%p\d+ ld\.global", hoisted)) == len(re.findall(r"^\tld\.global", hoisted, re.M)) == 2


def test_what_a_kernel_owns_and_reads_back_is_not_read_through_the_read_only_cache() -> None:
    layout = coalesced((128,), (0,), 1, 4)
    common = f"layout = {LayoutAttr.of(layout)}, shape = array<i64: 128>, bounds = #tile.bounds<proved []>"
    view, fragment = "!tile.view<?xf32, owned>", f"vector<{layout.registers}xf32>"
    body = (
        "%z = arith.constant 0 : i64\n%o = arith.constant 128 : i64\n"
        f"%v = simt.fragment_load %x[%z] {{{common}}} : {view} -> {fragment}\n"
        f"simt.fragment_store %v, %x[%o] {{{common}}} : {fragment}, {view}\n"
        "simt.barrier\n"
        f"%w = simt.fragment_load %x[%z] {{{common}}} : {view} -> {fragment}\n"
        f"simt.fragment_store %w, %x[%o] {{{common}}} : {fragment}, {view}"
    )
    _, ptx = compile_text(kernel_text(body, [f"%x: {view} {contract(0, 1)}"]), "sm_80")
    assert ".nc" not in ptx
    # Another thread may have written in between: both loads stay.
    assert len(re.findall(r"ld\.global", ptx)) == 2


# --- chunks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    [
        coalesced((64, 64), (0, 1), 8, 4),
        coalesced((64, 64), (1, 0), 8, 4),
        Layout((16, 8), ((0, 1), (8, 0)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ()),
        Layout((16, 8), ((8, 0), (0, 1)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ()),
        coalesced((12, 20), (0, 1), 4, 1),
    ],
)
def test_chunks_are_runs_along_the_axis(layout: Layout) -> None:
    for axis in range(2):
        longest = run_length(layout, axis)
        length = 1
        while length <= longest:
            chunks = chunks_of(layout, axis, length)
            assert sorted(r for c in chunks for r in c) == list(range(layout.registers))
            for chunk in chunks:
                first = layout.register_coords[chunk[0]]
                assert first[axis] % length == 0
                for number, register in enumerate(chunk):
                    want = list(first)
                    want[axis] += number
                    assert layout.register_coords[register] == tuple(want)
            length *= 2
