# ruff: noqa: E501
"""Products by fused multiply-adds: what the shared implementation becomes on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from llvm_simulator import Kernel
from nvidia_programs import compile_text, emit_text, kernel_text

from tileopt.backends.nvidia.atoms.fma import FMA
from tileopt.backends.nvidia.ptxas import assemble
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.target import Atom
from tileopt.passes.layout.product_layouts import fma_layout


def span(layout: Layout) -> str:
    return f"layout = {LayoutAttr.of(layout)}, shape = array<i64: {', '.join(map(str, layout.shape))}>"


def dot_text(
    atom: Atom, tile: tuple[int, int, int], warps: int, swizzle: tuple[int, int, int], transposed: bool = False
) -> str:
    """acc + a @ b, operands staged in shared memory."""
    m, n, k = tile
    bounds = "bounds = #tile.bounds<proved []>"
    types = [str(DTYPES[name].ir) for name in (atom.a, atom.b, atom.acc)]
    buffers, lines, offset = list[str](), ["%z = arith.constant 0 : i64"], 0
    for name, shape, type_ in (("a", (m, k), types[0]), ("b", (k, n), types[1])):
        shared = SharedLayout(shape, (1, 0) if transposed else (0, 1), *swizzle)
        layout = coalesced(shape, (0, 1), 4, warps)
        buffers.append(f"!tile.buffer<{shape[0]}x{shape[1]}x{type_}, {SharedAttr.of(shared)}>")
        lines += [
            f"%v{name} = simt.fragment_load %{name}[%z, %z] {{{span(layout)}, {bounds}}} : "
            f"!tile.view<?x?x{type_}, shared> -> vector<{layout.registers}x{type_}>",
            f"%s{name} = simt.alloc_shared {{offset = {offset} : i64}} : {buffers[-1]}",
            f"simt.shared_store %v{name}, %s{name} {{layout = {LayoutAttr.of(layout)}}} : "
            f"vector<{layout.registers}x{type_}>, {buffers[-1]}",
        ]
        offset += -(-shared.size * DTYPES[atom.a].bytes // 128) * 128
    acc = fma_layout((m, n), warps)
    fragment = f"vector<{acc.registers}x{types[2]}>"
    unsigned = ", unsigned" if DTYPES[atom.a].kind == "u" else ""
    lines += [
        "simt.barrier",
        f"%vc = simt.fragment_load %c[%z, %z] {{{span(acc)}, {bounds}}} : !tile.view<?x?x{types[2]}, shared> -> {fragment}",
        f"%r = simt.dot %sa, %sb, %vc {{layout = {LayoutAttr.of(acc)}{unsigned}}} : {buffers[0]}, {buffers[1]}, {fragment} -> {fragment}",
        f"simt.fragment_store %r, %d[%z, %z] {{{span(acc)}, {bounds}}} : {fragment}, !tile.view<?x?x{types[2]}, owned>",
    ]
    views = [f"%{n}: !tile.view<?x?x{t}, shared>" for n, t in zip("abc", types, strict=True)]
    views.append(f"%d: !tile.view<?x?x{types[2]}, owned>")
    return kernel_text("\n".join(lines), views, threads=32 * warps, shared=offset)


@pytest.mark.parametrize(
    "name", ["fma_f32_f32", "fma_f64_f64", "fma_f16_f32", "fma_i8_i32", "fma_u8_i32", "fma_i32_i32"]
)
@pytest.mark.parametrize("tile", [(16, 16, 8), (32, 16, 24), (13, 20, 5)], ids=str)
@pytest.mark.parametrize("swizzle", [(0, 0, 0), (1, 2, 3), (2, 2, 4)], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_product_is_numpys(
    name: str, tile: tuple[int, int, int], swizzle: tuple[int, int, int], transposed: bool
) -> None:
    atom = next(a for a in FMA if a.name == name)
    m, n, k = tile
    llvm = emit_text(dot_text(atom, tile, 2, swizzle, transposed), "sm_80")
    random = np.random.default_rng(1)
    a, b, c = (
        random.integers(-4, 5, shape).astype(DTYPES[t].numpy)
        for shape, t in (((m, k), atom.a), ((k, n), atom.b), ((m, n), atom.acc))
    )
    d = np.zeros_like(c)
    views = [v for x in (a, b, c, d) for v in (x, *x.shape, *(s // x.itemsize for s in x.strides))]
    Kernel(llvm).run(views, (1,), 64, shared=16384)
    np.testing.assert_array_equal(d, (c + a.astype(c.dtype) @ b.astype(c.dtype)).astype(c.dtype))


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_every_combination_assembles(target: str) -> None:
    for atom in FMA:
        _, ptx = compile_text(dot_text(atom, (32, 32, 16), 4, (0, 0, 0)), target)
        assemble(ptx, target)


def test_single_precision_is_one_fma_a_product() -> None:
    atom = next(a for a in FMA if a.name == "fma_f32_f32")
    _, ptx = compile_text(dot_text(atom, (64, 64, 16), 4, (0, 0, 0)), "sm_90a")
    # Steps of four elements of K: 8 x 4 accumulators a thread, read by 8 + 4 loads of four elements.
    assert ptx.count("fma.rn.f32") == 4 * 64 * 64 // 128
    assert ptx.count("ld.shared.v4.b32") == 12 and "ld.shared.b32" not in ptx
    built = assemble(ptx, "sm_90a")
    assert not built.spill_stores and built.registers <= 128
