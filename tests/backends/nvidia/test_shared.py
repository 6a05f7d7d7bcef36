# ruff: noqa: E501
"""Shared memory: addresses under padding and swizzles, wide accesses, ldmatrix, cp.async, matrix products."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvm_simulator import Fault, Kernel
from nvidia_programs import compile_text, emit_text, kernel_text

from tileopt.backends.nvidia.atoms.mma_sync import MMA_SYNC
from tileopt.backends.nvidia.ptxas import assemble
from tileopt.backends.nvidia.shared_index import IndexMap, thread_map
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.backends.nvidia.tensor import matrix_loads
from tileopt.backends.nvidia.turned_bytes import matrices
from tileopt.dialects.diagnostics import CompileError, TargetError
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.target import Atom
from tileopt.passes.layout.buffers import panelled_layout
from tileopt.passes.layout.product_layouts import product_layouts

NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.uint8, "f64": np.float64}

SHARED_LAYOUTS = [
    SharedLayout((32, 64), (0, 1)),
    SharedLayout((32, 64), (1, 0)),
    SharedLayout((32, 64), (0, 1), pad=8),
    SharedLayout((32, 64), (1, 0), pad=3),
    SharedLayout((32, 64), (0, 1), 3, 3, 3),
    SharedLayout((32, 64), (1, 0), 2, 3, 3),
    SharedLayout((32, 64), (0, 1), 3, 2, 4),
    SharedLayout((24, 96), (0, 1)),
    SharedLayout((24, 96), (0, 1), 2, 3, 5),
    SharedLayout((24, 96), (1, 0), 1, 3, 3),
    SharedLayout((17, 33), (0, 1)),
    SharedLayout((32, 128), (0, 1), 3, 3, 3, panel=64),
    SharedLayout((24, 128), (0, 1), 3, 3, 3, panel=64),
    SharedLayout((128, 24), (1, 0), 2, 3, 3, panel=32),
    SharedLayout((16, 96), (0, 1), panel=32),
]


@pytest.mark.parametrize("shared", SHARED_LAYOUTS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 8])
def test_index_maps_agree_with_the_layout(shared: SharedLayout, size: int) -> None:
    for vector in (1, 4):
        for order in ((0, 1), (1, 0)):
            layout = coalesced(shared.shape, order, vector, 2)
            index = IndexMap(shared, thread_map(layout), size)
            for register, lane, warp, at in layout.elements():
                got = index.offset(lane | warp << 5, layout.register_coords[register])
                assert got == shared.index(at) * size


def buffer_type(shared: SharedLayout, element: str) -> str:
    return f"!tile.buffer<{'x'.join(map(str, shared.shape))}x{element}, {SharedAttr.of(shared)}>"


def view_type(rank: int, element: str, access: str) -> str:
    return f"!tile.view<{'?x' * rank}{element}, {access}>"


def span(layout: Layout) -> str:
    return f"layout = {LayoutAttr.of(layout)}, shape = array<i64: {', '.join(map(str, layout.shape))}>"


def round_trip(shared: SharedLayout, element: str, write: Layout, read: Layout, slots: int = 1, slot: int = 0):
    """Global -> registers as `write` -> shared -> registers as `read` -> global."""
    rank, buffer = len(shared.shape), buffer_type(shared, element)
    zeros = ", ".join(["%z"] * rank)
    bounds = "bounds = #tile.bounds<proved []>"
    body = f"""%z = arith.constant 0 : i64
%v = simt.fragment_load %x[{zeros}] {{{span(write)}, {bounds}}} : {view_type(rank, element, "shared")} -> vector<{write.registers}x{element}>
%ring = simt.alloc_shared {{slots = {slots} : i64, offset = 64 : i64}} : {buffer}
%i = arith.constant {slot} : i64
%b = simt.slot %ring[%i] : {buffer} -> {buffer}
simt.shared_store %v, %b {{layout = {LayoutAttr.of(write)}}} : vector<{write.registers}x{element}>, {buffer}
simt.barrier
%w = simt.shared_load %b {{layout = {LayoutAttr.of(read)}}} : {buffer} -> vector<{read.registers}x{element}>
simt.fragment_store %w, %y[{zeros}] {{{span(read)}, {bounds}}} : vector<{read.registers}x{element}>, {view_type(rank, element, "owned")}"""
    threads = max(write.threads, read.threads)
    size = 64 + slots * shared.size * DTYPES[element].bytes
    text = kernel_text(
        body,
        [f"%x: {view_type(rank, element, 'shared')}", f"%y: {view_type(rank, element, 'owned')}"],
        threads=threads,
        shared=size,
    )
    return text, threads, size


def copy_through(text: str, threads: int, size: int, shape: tuple[int, ...], element: str) -> Kernel:
    llvm = emit_text(text, "sm_80")
    x = (np.arange(np.prod(shape)) % 113).reshape(shape).astype(NUMPY[element])
    y = np.zeros_like(x)
    program = Kernel(llvm)
    views = [v for a in (x, y) for v in (a, *a.shape, *(s // a.itemsize for s in a.strides))]
    program.run(views, (1,), threads, shared=size)
    np.testing.assert_array_equal(y, x)
    return program


@pytest.mark.parametrize("shared", SHARED_LAYOUTS, ids=str)
@pytest.mark.parametrize("element", ["f32", "f16", "i8"])
def test_what_is_written_is_read(shared, element) -> None:
    write, read = coalesced(shared.shape, (0, 1), 8, 4), coalesced(shared.shape, (1, 0), 4, 4)
    copy_through(*round_trip(shared, element, write, read), shared.shape, element)


def test_the_simulator_sees_races() -> None:
    shared = SHARED_LAYOUTS[0]
    write, read = coalesced(shared.shape, (0, 1), 8, 4), coalesced(shared.shape, (1, 0), 4, 4)
    text, threads, size = round_trip(shared, "f32", write, read)
    with pytest.raises(Fault, match="race"):
        copy_through(text.replace("simt.barrier\n", ""), threads, size, shared.shape, "f32")
    # What a thread wrote itself it may read.
    text, threads, size = round_trip(shared, "f32", write, write)
    copy_through(text.replace("simt.barrier\n", ""), threads, size, shared.shape, "f32")


@pytest.mark.parametrize("slot", [0, 2])
def test_slots_of_a_ring(slot) -> None:
    shared = SharedLayout((7, 9), (0, 1))  # slots of 126 bytes: no wide access is aligned in all of them
    layout = coalesced((7, 9), (0, 1), 8, 2)
    copy_through(*round_trip(shared, "f16", layout, layout, 3, slot), (7, 9), "f16")


@pytest.mark.parametrize(
    ("shared", "element", "width"),
    [
        (SharedLayout((32, 64), (0, 1)), "f16", "<4 x i32>"),
        (SharedLayout((32, 64), (0, 1), 3, 3, 3), "f16", "<4 x i32>"),
        (SharedLayout((32, 64), (0, 1), 3, 2, 4), "f16", "<2 x i32>"),
        (SharedLayout((32, 64), (0, 1), pad=8), "f16", "<4 x i32>"),
        (SharedLayout((32, 64), (0, 1), pad=2), "f16", "i32"),
        (SharedLayout((32, 64), (0, 1), pad=1), "f16", "i16"),
        (SharedLayout((32, 64), (0, 1)), "f64", "<2 x double>"),
    ],
)
def test_accesses_are_as_wide_as_the_buffer_allows(shared, element, width) -> None:
    layout = coalesced((32, 64), (0, 1), 16, 2)
    done = copy_through(*round_trip(shared, element, layout, layout), (32, 64), element)
    # Arrays without a contract are read one element at a time; the widest accesses are to shared memory.
    assert f"load {width}" in done.count and f"store {width}" in done.count


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_any_layouts_round_trip(seed: int) -> None:
    random = Random(seed)
    shape = tuple(random.choice([1, 2, 3, 8, 16, 24, 64]) for _ in range(random.choice([1, 2, 3])))
    axes = tuple(range(len(shape)))

    def order() -> tuple[int, ...]:
        return tuple(random.sample(axes, len(axes)))

    pad = random.choice([0, 0, 1, 4])
    panel = random.choice([0, 0, 8, 16]) if not pad else 0
    bits, base = random.randint(0, 3), random.randint(0, 3)
    swizzle = (bits, base, random.randint(max(bits, 1), 5)) if bits and not pad else (0, 0, 0)
    shared = SharedLayout(shape, order(), *swizzle, pad, panel)
    warps = random.choice([1, 2, 4])
    write = coalesced(shape, order(), random.choice([1, 2, 8]), warps)
    read = coalesced(shape, order(), random.choice([1, 4]), warps)
    element = random.choice(["f32", "f16", "i8"])
    text, threads, size = round_trip(shared, element, write, read)
    copy_through(text, threads, size, shape, element)


# --- ldmatrix --------------------------------------------------------------------------------------------------------

A16 = ((0, 1), (8, 0), (0, 8)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
B16 = ((1, 0), (8, 0)), ((2, 0), (4, 0), (0, 1), (0, 2), (0, 4))


def reads(shared: SharedLayout, layout: Layout, dt: str = "f16") -> tuple[str, int, int]:
    """A kernel that reads a buffer by ldmatrix and by plain loads, and stores both."""
    buffer, write = buffer_type(shared, dt), coalesced(shared.shape, shared.order, 8, layout.num_warps)
    fragment = f"vector<{layout.registers}x{dt}>"
    bounds, owned = "bounds = #tile.bounds<proved []>", view_type(2, dt, "owned")
    body = f"""%z = arith.constant 0 : i64
%v = simt.fragment_load %x[%z, %z] {{{span(write)}, {bounds}}} : {view_type(2, dt, "shared")} -> vector<{write.registers}x{dt}>
%b = simt.alloc_shared {{offset = 0 : i64}} : {buffer}
simt.shared_store %v, %b {{layout = {LayoutAttr.of(write)}}} : vector<{write.registers}x{dt}>, {buffer}
simt.barrier
%m = gpu.ldmatrix %b {{layout = {LayoutAttr.of(layout)}}} : {buffer} -> {fragment}
%p = simt.shared_load %b {{layout = {LayoutAttr.of(layout)}}} : {buffer} -> {fragment}
simt.fragment_store %m, %y[%z, %z] {{{span(layout)}, {bounds}}} : {fragment}, {owned}
simt.fragment_store %p, %w[%z, %z] {{{span(layout)}, {bounds}}} : {fragment}, {owned}"""
    views = [f"%x: {view_type(2, dt, 'shared')}", f"%y: {owned}", f"%w: {owned}"]
    size = shared.size * {"i8": 1, "f16": 2, "f32": 4}[dt]
    return kernel_text(body, views, threads=layout.threads, shared=size), layout.threads, size


def tiled_layouts() -> list[Layout]:
    """Fragments of A and B over tiles of several shapes and warps, without phantoms."""
    out: list[Layout] = []
    for bases in (A16, B16):
        for warps in ((), ((16, 0),), ((0, 16), (16, 0)), ((0, 8),), ((0, 0),)):
            for shape in ((32, 32), (48, 40), (16, 24)):
                try:
                    layout = Layout(shape, *bases, warps)
                except ValueError:
                    continue
                out += [] if layout.has_phantoms else [layout]
    return out


@pytest.mark.parametrize("layout", tiled_layouts(), ids=lambda a: f"{a.shape}-{a.regs}-{a.warps}")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("how", ["plain", "pad", "swizzle", "panel"])
def test_ldmatrix_reads_the_fragment(layout: Layout, order: tuple[int, int], how: str) -> None:
    shape = layout.shape
    swizzle = {"plain": (0, 0, 0, 0), "pad": (0, 0, 0, 8), "swizzle": (2, 3, 4, 0), "panel": (1, 3, 3, 0, 16)}[how]
    shared = SharedLayout(shape, order, *swizzle)
    text, threads, size = reads(shared, layout)
    llvm = emit_text(text, "sm_80")
    x = (np.arange(np.prod(shape)) % 1021).reshape(shape).astype(np.float16)
    y, w = np.zeros_like(x), np.zeros_like(x)
    program = Kernel(llvm)
    views = [v for a in (x, y, w) for v in (a, *a.shape, *(s // a.itemsize for s in a.strides))]
    program.run(views, (1,), threads, shared=size)
    np.testing.assert_array_equal(w, x)
    np.testing.assert_array_equal(y, x)


A32 = ((8, 0), (0, 4)), ((0, 1), (0, 2), (1, 0), (2, 0), (4, 0))
A8 = ((0, 1), (0, 2), (8, 0), (0, 16)), ((0, 4), (0, 8), (1, 0), (2, 0), (4, 0))


@pytest.mark.parametrize(("dt", "bases", "base"), [("f32", A32, 2), ("i8", A8, 4)])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("warps", [(), ((16, 0),), ((0, 0),)], ids=str)
@pytest.mark.parametrize("how", ["plain", "pad", "swizzle"])
def test_ldmatrix_of_bytes_and_words(
    dt: str, bases: Any, base: int, columns: bool, warps: tuple[tuple[int, int], ...], how: str
) -> None:
    """Fragments of mma.sync with K side by side: a row by row, b (`columns`) column by column."""
    shape, order = (48, 64), (0, 1)
    regs, lanes = bases
    if columns:
        shape, order = (64, 48), (1, 0)
        regs, lanes, warps = (tuple((j, i) for i, j in part) for part in (regs, lanes, warps))
    layout = Layout(shape, regs, lanes, warps)
    if layout.has_phantoms:
        shape = (32, 64) if not columns else (64, 32)
        layout = Layout(shape, regs, lanes, warps)
    shared = SharedLayout(
        shape, order, *{"plain": (0, 0, 0), "pad": (0, 0, 0, 1 << base), "swizzle": (2, base, 3)}[how]
    )
    text, threads, size = reads(shared, layout, dt)
    program = Kernel(emit_text(text, "sm_80"))
    x = (np.arange(np.prod(shape)) % 121).reshape(shape).astype(np.float32 if dt == "f32" else np.int8)
    y, w = np.zeros_like(x), np.zeros_like(x)
    views = [v for a in (x, y, w) for v in (a, *a.shape, *(s // a.itemsize for s in a.strides))]
    program.run(views, (1,), threads, shared=size)
    np.testing.assert_array_equal(w, x)
    np.testing.assert_array_equal(y, x)
    assert any("ldmatrix" in name for name in program.count)


T8 = ((0, 1), (0, 2), (1, 0), (0, 16)), ((0, 4), (0, 8), (2, 0), (4, 0), (8, 0))


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("shape", [(64, 32), (128, 64), (256, 128), (64, 16)], ids=str)
@pytest.mark.parametrize("warps", [((16, 0), (32, 0)), ((16, 0), (0, 0)), ()], ids=str)
@pytest.mark.parametrize("how", [(0, 0, 0), (2, 4, 3), (3, 4, 3)], ids=str)
def test_ldmatrix_turns_bytes(
    columns: bool, shape: tuple[int, int], warps: tuple[tuple[int, int], ...], how: tuple[int, int, int]
) -> None:
    """A left operand of wgmma whose rows lie side by side, in panels of a swizzle's width; as it stands, or turned."""
    order, (regs, lanes) = (1, 0), T8
    regs = regs[: 3 + (shape[1] > 16)]
    panel = 128 if shape[0] > 128 else 0
    if columns:
        shape, order = (shape[1], shape[0]), (0, 1)
        regs, lanes, warps = (tuple((j, i) for i, j in part) for part in (regs, lanes, warps))
    layout, shared = Layout(shape, regs, lanes, warps), SharedLayout(shape, order, *how, 0, panel)
    text, threads, size = reads(shared, layout, "i8")
    program = Kernel(emit_text(text, "sm_90a"))
    x = (np.arange(np.prod(shape)) % 121).reshape(shape).astype(np.int8)
    y, w = np.zeros_like(x), np.zeros_like(x)
    views = [v for a in (x, y, w) for v in (a, *a.shape, *(s // a.itemsize for s in a.strides))]
    program.run(views, (1,), threads, shared=size)
    np.testing.assert_array_equal(w, x)
    np.testing.assert_array_equal(y, x)
    assert sum(number for name, number in program.count.items() if ".trans" in name) > 0


@pytest.mark.parametrize("rows", [64, 128, 256])
def test_turned_bytes_meet_all_banks_once(rows: int) -> None:
    """Eight rows of 16 bytes of each matrix, under the swizzles of bulk copies."""
    layout = Layout((rows, 64), *T8, ((16, 0), (32, 0)))
    shared = panelled_layout((rows, 64), DTYPES["i8"].ir, (1, 0))
    for origin, moves, count in matrices(layout, 1):
        for number in range(count):
            chunks: set[int] = set()
            for row in range(8):
                lane, place = 8 * number + row, shared.index(origin)
                for bit, step in enumerate(moves[:5]):
                    place ^= shared.index(step) if lane >> bit & 1 else 0
                assert place % 16 == 0
                chunks.add(place // 16 % 8)
            assert len(chunks) == 8 or rows == 64 and len(chunks) >= 4


def test_loads_of_four_matrices_where_they_can_be() -> None:
    four = Layout((32, 32), *A16, ())
    loads, transposed = matrix_loads(four, 1)
    assert [one.count for one in loads] == [4] * 4 and not transposed
    odd = Layout((16, 24), *B16, ())
    loads, transposed = matrix_loads(odd, 1)
    assert [one.count for one in loads] == [4, 2] and transposed
    many = Layout((32, 40), *B16, ())
    assert [one.count for one in matrix_loads(many, 0)[0]] == [4, 4, 2, 4, 4, 2]


# --- cp.async --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vector", "size"), [(8, 16), (4, 8), (2, 4)])
@pytest.mark.parametrize("bounds", ["proved []", "masked [0, 1]"])
@pytest.mark.parametrize("shared", SHARED_LAYOUTS[:1] + SHARED_LAYOUTS[2:3] + SHARED_LAYOUTS[4:5] + SHARED_LAYOUTS[7:9])
def test_copies_fill_with_zeros(vector, size, bounds, shared) -> None:
    shape = shared.shape
    layout, read = coalesced(shape, (0, 1), vector, 2), coalesced(shape, (0, 1), 1, 2)
    buffer = buffer_type(shared, "f16")
    contract = "{tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1]>}"
    body = f"""%z = arith.constant 0 : i64
%b = simt.alloc_shared {{offset = 0 : i64}} : {buffer}
gpu.cp_async %x[%i, %j], %b {{layout = {LayoutAttr.of(layout)}, vector = {vector} : i64, bounds = #tile.bounds<{bounds}>}} : {view_type(2, "f16", "shared")}, {buffer}
gpu.cp_async_commit
gpu.cp_async_wait {{pending = 0 : i64}}
simt.barrier
%w = simt.shared_load %b {{layout = {LayoutAttr.of(read)}}} : {buffer} -> vector<{read.registers}xf16>
simt.fragment_store %w, %y[%z, %z] {{{span(read)}, bounds = #tile.bounds<proved []>}} : vector<{read.registers}xf16>, {view_type(2, "f16", "owned")}"""
    views = [
        f"%x: {view_type(2, 'f16', 'shared')} {contract}",
        f"%y: {view_type(2, 'f16', 'owned')}",
        "%i: i64",
        "%j: i64",
    ]
    llvm, ptx = compile_text(kernel_text(body, views, threads=64, shared=shared.size * 2), "sm_80")
    x = (np.arange(1, 1 + 40 * 104) % 1021 + 1).reshape(40, 104).astype(np.float16)
    for at in [(0, 0)] if "proved" in bounds else [(0, 0), (20, 64), (-3, -16), (39, 96), (400, 0)]:
        y = np.full(shape, 9, np.float16)
        program = Kernel(llvm)
        program.run([x, *x.shape, 104, 1, y, *y.shape, shape[1], 1, *at], (1,), 64, shared=shared.size * 2)
        want = np.zeros(shape, np.float16)
        for i, j in np.ndindex(shape):
            if 0 <= i + at[0] < 40 and 0 <= j + at[1] < 104:
                want[i, j] = x[i + at[0], j + at[1]]
        np.testing.assert_array_equal(y, want)
    assert set(re.findall(r"cp\.async\.(c\w)\.shared\.global \S+ \S+ (\d+)", ptx)) == {
        ("cg" if size == 16 else "ca", str(size))
    }


def test_an_older_gpu_has_no_cp_async() -> None:
    shared = SharedLayout((32,), (0,))
    body = f"""%z = arith.constant 0 : i64
%b = simt.alloc_shared {{offset = 0 : i64}} : {buffer_type(shared, "f32")}
gpu.cp_async %x[%z], %b {{layout = {LayoutAttr.of(coalesced((32,), (0,), 1, 1))}, vector = 1 : i64}} : {view_type(1, "f32", "shared")}, {buffer_type(shared, "f32")}"""
    with pytest.raises(TargetError) as caught:
        compile_text(kernel_text(body, [f"%x: {view_type(1, 'f32', 'shared')}"], threads=32, shared=128), "sm_75")
    assert caught.value.code == "target/unsupported-cp-async" and caught.value.location is not None


# --- products --------------------------------------------------------------------------------------------------------


def product_text(atom: Atom, tile: tuple[int, int, int], warps: int) -> str:
    """acc + (a + 1) @ (b + 1) with a and b loaded from arrays: what is beyond the edge of a tile is 1, not 0."""
    m, n, k = tile
    layouts = product_layouts(atom, m, n, k, warps, False)
    assert layouts.a is not None and layouts.b is not None
    types = [str(DTYPES[stored(name)].ir) for name in (atom.a, atom.b, atom.acc)]
    body = ["%z = arith.constant 0 : i64"]
    for name, layout, type_ in zip("abc", (layouts.a, layouts.b, layouts.acc), types, strict=True):
        body.append(
            f"%v{name} = simt.fragment_load %{name}[%z, %z] {{{span(layout)}}} : "
            f"{view_type(2, type_, 'shared')} -> vector<{layout.registers}x{type_}>"
        )
    fragments = [f"vector<{x.registers}x{t}>" for x, t in zip((layouts.a, layouts.b, layouts.acc), types, strict=True)]
    is_float = DTYPES[stored(atom.a)].is_float
    for name, fragment in zip("ab", fragments[:2], strict=True):
        one = "1.0" if is_float else "1"
        body.append(f"%one{name} = arith.constant dense<{one}> : {fragment}")
        if DTYPES[stored(atom.a)].bits == 8 and is_float:  # no arithmetic on these: in f32
            body.append(f"%w{name} = arith.extf %v{name} : {fragment} to vector<{fragment[7:].split('x')[0]}xf32>")
            wide = f"vector<{fragment[7:].split('x')[0]}xf32>"
            body.append(f"%u{name} = arith.constant dense<1.0> : {wide}")
            body.append(f"%t{name} = arith.addf %w{name}, %u{name} : {wide}")
            body.append(f"%p{name} = arith.truncf %t{name} : {wide} to {fragment}")
        else:
            body.append(f"%p{name} = arith.add{'f' if is_float else 'i'} %v{name}, %one{name} : {fragment}")
    body.append(
        f'%r = gpu.mma_sync %pa, %pb, %vc {{atom = "{atom.name}", m = {m} : i64, n = {n} : i64, k = {k} : i64, '
        f"layout_a = {LayoutAttr.of(layouts.a)}, layout_b = {LayoutAttr.of(layouts.b)}, "
        f"layout_acc = {LayoutAttr.of(layouts.acc)}}} : {', '.join(fragments)} -> {fragments[2]}"
    )
    body.append(
        f"simt.fragment_store %r, %d[%z, %z] {{{span(layouts.acc)}, bounds = #tile.bounds<proved []>}} : "
        f"{fragments[2]}, {view_type(2, types[2], 'owned')}"
    )
    views = [f"%{name}: {view_type(2, t, 'shared')}" for name, t in zip("abc", types, strict=True)]
    return kernel_text("\n".join(body), [*views, f"%d: {view_type(2, types[2], 'owned')}"], threads=32 * warps)


def small_integers(shape: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    low, held = 0 if dtype == "u8" else -4, dtype if dtype == "u8" else stored(dtype)
    return np.random.default_rng(seed).integers(low, low + 9, shape).astype(DTYPES[held].numpy)


@pytest.mark.parametrize("atom", MMA_SYNC, ids=lambda a: a.name)
@pytest.mark.parametrize("tile", [(32, 32, 64), (16, 24, 20), (48, 8, 16)], ids=str)
@pytest.mark.parametrize("warps", [1, 4])
def test_products_of_every_atom(atom, tile, warps) -> None:
    target = {75: "sm_75", 80: "sm_80", 89: "sm_89", 90: "sm_90"}[atom.min_arch]
    llvm = emit_text(product_text(atom, tile, warps), target)
    m, n, k = tile
    a, b = small_integers((m, k), atom.a, 1), small_integers((k, n), atom.b, 2)
    c = small_integers((m, n), atom.acc, 3)
    d = np.zeros_like(c)
    views = [v for x in (a, b, c, d) for v in (x, *x.shape, *(s // x.itemsize for s in x.strides))]
    Kernel(llvm).run(views, (1,), 32 * warps)
    want = c.astype(np.float64) + (a.astype(np.float64) + 1) @ (b.astype(np.float64) + 1)
    np.testing.assert_array_equal(d.astype(np.float64), want)


def test_every_atom_is_taken_by_later_architectures() -> None:
    for target in ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"):
        for atom in (a for a in MMA_SYNC if a.min_arch <= nvidia_target(target).arch):
            _, ptx = compile_text(product_text(atom, atom.shape, 1), target)
            assert "mma.sync" in ptx
            assemble(ptx, nvidia_target(target).name)


def test_a_layout_that_is_not_the_atoms_is_refused() -> None:
    atom = nvidia_target("sm_80").atom("mma_m16n8k16_f16_f32")
    text = product_text(atom, (16, 8, 16), 1)
    wrong = text.replace(
        "layout_a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]]",
        "layout_a = #tile.layout<regs = [[0, 1], [0, 8], [8, 0]]",
    )
    assert wrong != text
    with pytest.raises(CompileError) as caught:
        compile_text(wrong, "sm_80")
    assert caught.value.code == "gpu/fragment"


def test_an_atom_that_the_target_lacks_is_refused() -> None:
    atom = nvidia_target("sm_80").atom("mma_m16n8k16_bf16_f32")
    with pytest.raises(TargetError) as caught:
        compile_text(product_text(atom, (16, 8, 16), 1), "sm_75")
    assert caught.value.code == "target/unknown-atom"
