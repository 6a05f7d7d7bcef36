# ruff: noqa: E501
"""A pipelined matrix product, as the passes would leave it: cp.async, a ring of slots, ldmatrix, mma.sync."""

from __future__ import annotations

import numpy as np
import pytest
from llvm_simulator import Fault, Kernel
from nvidia_programs import compile_text, emit_text

from tileopt.backends.nvidia.ptxas import assemble
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.passes.layout.product_layouts import product_layouts

STAGES = 3


def swizzle(shape: tuple[int, int], order: tuple[int, int]) -> SharedLayout:
    """Rows of eight 16-byte pieces, or as many as there are, spread over the banks."""
    row = shape[order[1]]
    bits = min(3, (row // 8).bit_length() - 1)
    return SharedLayout(shape, order, bits, 3, max(bits, (row.bit_length() - 1) - 3 if row >= 64 else 3))


class Gemm:
    """Text of the kernel. `a_order`, `b_order`: the arrays' axes, slowest first."""

    def __init__(
        self, tile: tuple[int, int, int], warps: int, atom: str, dtype: str, bounds: str,
        a_order: tuple[int, int] = (0, 1), b_order: tuple[int, int] = (0, 1), small: bool = False,
    ) -> None:  # fmt: skip
        self.m, self.n, self.k = tile
        self.warps, self.atom, self.dtype = warps, atom, dtype
        self.bounds = f"bounds = #tile.bounds<{bounds} {'[]' if bounds == 'proved' else '[0, 1]'}>"
        self.orders = a_order, b_order
        self.small = ", small" if small else ""

    def contract(self, order: tuple[int, int]) -> str:
        strides = [16, 16]
        strides[order[1]] = 1
        fields = f"align = 16, unit = {order[1]}, shape = [16, 16], stride = {strides}{self.small}"
        return f"{{tile.contract = #tile.contract<{fields}>}}"

    def text(self, target: str) -> str:
        m, n, k, dt = self.m, self.n, self.k, str(DTYPES[self.dtype].ir)
        layouts = product_layouts(nvidia_target(target).atom(self.atom), m, n, k, self.warps, False)
        assert layouts.a is not None and layouts.b is not None
        shapes = (m, k), (k, n)
        shared = [swizzle(s, o) for s, o in zip(shapes, self.orders, strict=True)]
        copies = [coalesced(s, o, 8, self.warps) for s, o in zip(shapes, self.orders, strict=True)]
        buffers = [f"!tile.buffer<{s[0]}x{s[1]}x{dt}, {SharedAttr.of(h)}>" for s, h in zip(shapes, shared, strict=True)]
        sizes = [one.size * 2 for one in shared]
        view, out = f"!tile.view<?x?x{dt}, shared>", "!tile.view<?x?xf32, owned>"
        fragment = {r: f"vector<{x.registers}x{t}>" for r, x, t in (
            ("a", layouts.a, dt), ("b", layouts.b, dt), ("acc", layouts.acc, "f32"))}  # fmt: skip

        def attr(layout: Layout) -> str:
            return f"layout = {LayoutAttr.of(layout)}"

        def fetch(iteration: str, tag: str) -> str:
            lines = [
                f"%kk{tag} = arith.muli {iteration}, %bk : i64",
                f"%s{tag} = arith.remui {iteration}, %stages : i64",
            ]
            for name, offsets, number in (("a", f"%m0, %kk{tag}", 0), ("b", f"%kk{tag}, %n0", 1)):
                b = buffers[number]
                lines.append(f"%x{name}{tag} = simt.slot %r{name}[%s{tag}] : {b} -> {b}")
                lines.append(
                    f"gpu.cp_async %{name}[{offsets}], %x{name}{tag} "
                    f"{{{attr(copies[number])}, vector = 8 : i64, {self.bounds}}} : {view}, {b}"
                )
            return "\n".join(lines)

        first = "\n".join(
            f"%i{s} = arith.constant {s} : i64\n%c{s} = arith.cmpi slt, %i{s}, %nk : i64\n"
            f"scf.if %c{s} {{\n{fetch(f'%i{s}', str(s))}\n}}\ngpu.cp_async_commit"
            for s in range(STAGES - 1)
        )
        return f"""builtin.module attributes {{tile.target = "{target}"}} {{
simt.kernel @kernel(%a: {view} {self.contract(self.orders[0])}, %b: {view} {self.contract(self.orders[1])},
    %c: {out} {self.contract((0, 1))})
    attributes {{simt.threads = {32 * self.warps} : i64, simt.shared_bytes = {STAGES * sum(sizes)} : i64}} {{
%bm = arith.constant {m} : i64
%bn = arith.constant {n} : i64
%bk = arith.constant {k} : i64
%stages = arith.constant {STAGES} : i64
%zero = arith.constant 0 : i64
%one = arith.constant 1 : i64
%ahead = arith.constant {STAGES - 1} : i64
%i = simt.block_id {{axis = 0 : i64}}
%j = simt.block_id {{axis = 1 : i64}}
%m0 = arith.muli %i, %bm : i64
%n0 = arith.muli %j, %bn : i64
%k = simt.dim %a {{axis = 1 : i64}} : {view}
%nk = arith.ceildivui %k, %bk : i64
%ra = simt.alloc_shared {{slots = {STAGES} : i64, offset = 0 : i64}} : {buffers[0]}
%rb = simt.alloc_shared {{slots = {STAGES} : i64, offset = {STAGES * sizes[0]} : i64}} : {buffers[1]}
%f0 = arith.constant dense<0.0> : {fragment["acc"]}
{first}
%r = scf.for %it = %zero to %nk step %one iter_args(%acc = %f0) -> ({fragment["acc"]}) : i64 {{
  gpu.cp_async_wait {{pending = {STAGES - 2} : i64}}
  simt.barrier
  %s = arith.remui %it, %stages : i64
  %qa = simt.slot %ra[%s] : {buffers[0]} -> {buffers[0]}
  %qb = simt.slot %rb[%s] : {buffers[1]} -> {buffers[1]}
  %nx = arith.addi %it, %ahead : i64
  %go = arith.cmpi slt, %nx, %nk : i64
  scf.if %go {{
{fetch("%nx", "x")}
  }}
  gpu.cp_async_commit
  %ta = gpu.ldmatrix %qa {{{attr(layouts.a)}}} : {buffers[0]} -> {fragment["a"]}
  %tb = gpu.ldmatrix %qb {{{attr(layouts.b)}}} : {buffers[1]} -> {fragment["b"]}
  %n = gpu.mma_sync %ta, %tb, %acc {{atom = "{self.atom}", m = {m} : i64, n = {n} : i64, k = {k} : i64,
    layout_a = {LayoutAttr.of(layouts.a)}, layout_b = {LayoutAttr.of(layouts.b)}, layout_acc = {LayoutAttr.of(layouts.acc)}}}
    : {fragment["a"]}, {fragment["b"]}, {fragment["acc"]} -> {fragment["acc"]}
  scf.yield %n : {fragment["acc"]}
}}
simt.fragment_store %r, %c[%m0, %n0] {{{attr(layouts.acc)}, shape = array<i64: {m}, {n}>, vector = 2 : i64, {self.bounds}}}
  : {fragment["acc"]}, {out}
simt.return
}}
}}"""


def operand(shape: tuple[int, int], order: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).integers(-4, 5, shape).astype(DTYPES[dtype].numpy)
    return values if order == (0, 1) else np.asfortranarray(values)


def view_arguments(array: np.ndarray, order: tuple[int, int]) -> list[object]:
    memory = array if order == (0, 1) else array.T
    return [np.ascontiguousarray(memory), *array.shape, *(s // array.itemsize for s in array.strides)]


ORDERS = [((0, 1), (0, 1)), ((0, 1), (1, 0)), ((1, 0), (0, 1)), ((1, 0), (1, 0))]


@pytest.mark.parametrize("orders", ORDERS, ids=["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_product_is_numpys(orders, dtype) -> None:
    gemm = Gemm((32, 32, 32), 2, f"mma_m16n8k16_{dtype}_f32", dtype, "hoisted", *orders)
    llvm = emit_text(gemm.text("sm_80"), "sm_80")
    a, b = operand((48, 80), orders[0], dtype, 1), operand((80, 40), orders[1], dtype, 2)
    c = np.full((48, 40), np.nan, np.float32)
    kernel = Kernel(llvm)
    arguments = [*view_arguments(a, orders[0]), *view_arguments(b, orders[1]), c, *c.shape, 40, 1]
    kernel.run(arguments, (2, 2), 64, shared=STAGES * 2 * 32 * 32 * 2)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    transposed = kernel.count.get("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 ", 0)
    assert (transposed > 0) == (orders != ((0, 1), (1, 0)))


@pytest.mark.parametrize(("what", "instead"), [("simt.barrier\n", ""), ("pending = 1", "pending = 2")])
def test_without_its_fences_it_races(what: str, instead: str) -> None:
    gemm = Gemm((32, 32, 32), 2, "mma_m16n8k16_f16_f32", "f16", "hoisted")
    text = gemm.text("sm_80")
    assert what in text
    kernel = Kernel(emit_text(text.replace(what, instead), "sm_80"))
    a, b, c = np.zeros((32, 128), np.float16), np.zeros((128, 32), np.float16), np.zeros((32, 32), np.float32)
    with pytest.raises(Fault, match="race"):
        kernel.run([v for x in (a, b, c) for v in (x, *x.shape, x.shape[1], 1)], (1, 1), 64, shared=12288)


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120a"])
def test_large_tiles_assemble_without_spills(target) -> None:
    gemm = Gemm((128, 128, 32), 8, "mma_m16n8k16_f16_f32", "f16", "hoisted")
    _, ptx = compile_text(gemm.text(target), target)
    # A warp has 32x64 of the tile: 2 x 8 atoms, 2 steps of 16; an x4 load is one atom's A or two atoms' B.
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 32
    assert ptx.count("ldmatrix.sync.aligned.m8n8.x4.shared.b16") == 4
    assert ptx.count("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") == 8
    assert ptx.count("cp.async.cg.shared.global") == 3 * 4
    built = assemble(ptx, target)
    assert built.spill_stores == 0 and built.registers <= 168


def test_no_check_where_bounds_are_proved() -> None:
    gemm = Gemm((64, 64, 32), 4, "mma_m16n8k16_f16_f32", "f16", "proved", small=True)
    _, ptx = compile_text(gemm.text("sm_80"), "sm_80")
    inner = ptx[ptx.index("ldmatrix") :]
    assert "selp" not in inner and "@%p" not in inner.split("st.global")[-1].split("ret")[0]
