"""What SIMT kernels become: ids, elements, parts, warps, atomics, and the attributes of the contract."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from python_kernels import build, find, module, ops, simt_kernel
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr

from tileopt import LaunchError, TileoptError, simt
from tileopt.dialects.kernel import UNROLL, KernelOp

PARAMETERS = "x: simt.Slice, out: simt.DisjointSlice, hist: simt.Atomic['u32'], m: simt.Slice['f32', 2], n: int"


def built(body: str, contract: str = "block=(64,)", parameters: str = PARAMETERS, **given: object) -> ModuleOp:
    return build(simt_kernel(body, parameters, contract), **given)


def kernel_of(made: ModuleOp) -> KernelOp:
    (kernel,) = made.body.block.ops
    assert isinstance(kernel, KernelOp)
    return kernel


def stored(expression: str, dtype: str = "i64", contract: str = "block=(64,)") -> list[str]:
    """The ops that compute an expression, which is stored at the thread's place."""
    made = built(f"out[simt.thread_index()] = {expression}", contract, f"{PARAMETERS}, o: int", out=(dtype, 1))
    return ops(made)


INDEX = ["simt.block_id", "arith.muli", "simt.thread_idx", "arith.addi"]  # of a thread in one axis


def test_the_plain_kernel() -> None:
    body = """
        i = simt.thread_index()
        if i < len(out):
            out[i] = 2.0 * x[i]
    """
    made = built(body)
    inner = ["scf.if", "simt.element_load", "arith.mulf", "simt.element_store", "scf.yield"]
    assert ops(made) == [*INDEX, "simt.dim", "arith.cmpi", *inner]
    (store,) = find(made, "simt.element_store")
    (load,) = find(made, "simt.element_load")
    assert "witness" in store.properties and "bounds" not in store.properties
    assert store.operands[2] is load.operands[1]  # one index, of i64
    assert str(kernel_of(made).body.block.args[1].type) == "!tile.view<?xf32, owned>"
    assert str(kernel_of(made).body.block.args[2].type) == "!tile.view<?xi32, atomic>"


# Ids


@pytest.mark.parametrize(
    ("contract", "ids"),
    [
        ("block=(64,)", {("block_id", 0), ("thread_idx", 0)}),
        ("block=(64,), grid_rank=2", {("block_id", 0), ("block_id", 1), ("grid_dim", 0), ("thread_idx", 0)}),
        ("block=(8, 8), grid_rank=1", {("block_id", 0), ("thread_idx", 0), ("thread_idx", 1)}),
        ("block=(1, 8), grid_rank=1", {("block_id", 0), ("thread_idx", 1)}),
        (
            "block=(4, 4, 2)",
            {("thread_idx", 0), ("thread_idx", 1), ("thread_idx", 2)}
            | {("block_id", 0), ("block_id", 1), ("block_id", 2), ("grid_dim", 0), ("grid_dim", 1)},
        ),
    ],
)
def test_the_thread_index_asks_for_what_varies(contract: str, ids: set[tuple[str, int]]) -> None:
    made = built("out[simt.thread_index()] = 1.0", contract)
    found = {
        (op.name.removeprefix("simt."), op.properties["axis"].value.data)  # type: ignore[attr-defined]
        for name in ("thread_idx", "block_id", "grid_dim")
        for op in find(made, f"simt.{name}")
    }
    assert found == ids


def evaluate(made: ModuleOp, ids: dict[tuple[str, int], int]) -> int:
    """The index of the only store, of integer arithmetic on ids."""
    table: dict[str, Callable[[int, int], int]] = {
        "arith.addi": lambda a, b: a + b,
        "arith.muli": lambda a, b: a * b,
        "arith.subi": lambda a, b: a - b,
        "arith.remsi": lambda a, b: a % b,
        "arith.divsi": lambda a, b: a // b,
    }
    values: dict[Any, int] = {}
    for op in kernel_of(made).body.block.ops:
        if op.name == "arith.constant":
            values[op.results[0]] = op.properties["value"].value.data  # type: ignore[attr-defined]
        elif op.name in table:
            values[op.results[0]] = table[op.name](*(values[v] for v in op.operands))
        elif op.name.startswith("simt.") and "axis" in op.properties:
            axis: Any = op.properties["axis"]
            values[op.results[0]] = ids[op.name.removeprefix("simt."), axis.value.data]
    (store,) = find(made, "simt.element_store")
    return values[store.operands[2]]


BLOCK, GRID = (4, 2, 8), (3, 2, 2)
FORMULAS: dict[str, Callable[[list[int], list[int]], int]] = {
    "simt.thread_index()": lambda t, b: _linear(b, GRID) * 64 + _linear(t, BLOCK),
    "simt.thread_rank()": lambda t, b: _linear(t, BLOCK),
    "simt.block_rank()": lambda t, b: _linear(b, GRID),
    "simt.lane_index()": lambda t, b: _linear(t, BLOCK) % 32,
    "simt.warp_rank()": lambda t, b: _linear(t, BLOCK) // 32,
    "simt.warp_index()": lambda t, b: _linear(b, GRID) * 2 + _linear(t, BLOCK) // 32,
    "simt.thread_index_2d()[0]": lambda t, b: b[1] * BLOCK[1] + t[1],
    "simt.thread_index_2d()[1]": lambda t, b: b[0] * BLOCK[0] + t[0],
    "simt.thread_index_3d()[0]": lambda t, b: b[2] * BLOCK[2] + t[2],
    "simt.thread_idx(2)": lambda t, b: t[2],
    "simt.block_idx(1)": lambda t, b: b[1],
    "simt.block_idx() * simt.block_dim(2) + simt.grid_dim(1)": lambda t, b: b[0] * 8 + 2,
}


def _linear(place: list[int], extents: tuple[int, int, int]) -> int:
    return (place[2] * extents[1] + place[1]) * extents[0] + place[0]


@pytest.mark.parametrize("text", FORMULAS)
def test_ids_count_as_cuda_does(text: str) -> None:
    made = built(f"out[{text}] = 1.0", f"block={BLOCK}")
    for thread in ([0, 0, 0], [3, 1, 7], [1, 0, 5]):
        for block in ([0, 0, 0], [2, 1, 1], [1, 0, 1]):
            ids = {("thread_idx", a): thread[a] for a in range(3)} | {("block_id", a): block[a] for a in range(3)}
            ids |= {("grid_dim", a): GRID[a] for a in range(3)}
            assert evaluate(made, ids) == FORMULAS[text](thread, block)


def test_warps_do_not_span_blocks() -> None:
    made = built("out[simt.warp_index()] = 1.0", "block=40")
    assert evaluate(made, {("block_id", 0): 3, ("thread_idx", 0): 39}) == 3 * 2 + 1


def test_ids_stand_once_at_the_head() -> None:
    body = """
        for j in range(n):
            if x[simt.thread_index()] > 0.0:
                out[simt.thread_index()] = x[j % len(x)]
    """
    made = built(body)
    assert ops(made)[: len(INDEX)] == INDEX and ops(made).count("simt.thread_idx") == 1
    assert ops(made).count("simt.dim") == 1 and find(made, "simt.dim")[0].parent is kernel_of(made).body.block


def test_a_grid_stride_is_a_counted_loop() -> None:
    body = """
        for i in simt.grid_stride(len(out)):
            out[i] = x[i]
    """
    made = built(body)
    (loop,) = find(made, "scf.for")
    assert [v.owner.name for v in loop.operands] == ["arith.addi", "simt.dim", "arith.muli"]  # type: ignore[union-attr]
    assert "scf.while" not in ops(made)


def test_an_unrolled_range_is_read_once() -> None:
    made = built("for k in simt.unrolled_range(1, 40, 2):\n    out[simt.thread_index() * 40 + k] = x[k]")
    (loop,) = find(made, "scf.for")
    assert UNROLL in loop.attributes and ops(made).count("simt.element_load") == 1
    back = built("for k in reversed(simt.unrolled_range(8)):\n    out[simt.thread_index() * 8 + k] = x[k]")
    assert UNROLL in find(back, "scf.for")[0].attributes
    plain = built("for k in range(8):\n    out[simt.thread_index() * 8 + k] = x[k]")
    assert UNROLL not in find(plain, "scf.for")[0].attributes


def test_an_unrolled_range_with_an_end_inside_stays_a_loop() -> None:
    made = built("for k in simt.unrolled_range(8):\n    if x[k] > 0.0:\n        break\nout[simt.thread_index()] = 1.0")
    assert len(find(made, "scf.while")) == 1


def test_the_block_is_a_constant() -> None:
    assert "simt.block_dim" not in stored("simt.block_dim(0) + n")
    made = built("s = simt.shared(simt.block_dim() * 2)\ns[0] = x[simt.thread_index()]")
    assert str(find(made, "simt.alloc_shared")[0].results[0].type) == "!tile.buffer<128xf32>"


# Elements and parts


def test_updates_read_and_write_one_place() -> None:
    made = built("out[simt.thread_index()] += x[n]")
    loads = find(made, "simt.element_load")
    (store,) = find(made, "simt.element_store")
    assert [op.operands[1] for op in loads] == [store.operands[2], kernel_of(made).body.block.args[4]]


def test_narrow_indices_become_wide() -> None:
    made = built("out[simt.thread_index()] = x[k]", parameters="x: simt.Slice, out: simt.DisjointSlice, k: simt.u32")
    assert [op.name for op in find(made, "arith.extui")] == ["arith.extui"]


def test_rows_are_checked_where_they_are_made() -> None:
    body = """
        row = m.row(n)
        total = 0.0
        for j in range(len(row)):
            total += row[j]
        out[simt.thread_index()] = total
    """
    made = built(body)
    (check,) = find(made, "simt.check_index")
    (load,) = find(made, "simt.element_load")
    (loop,) = find(made, "scf.for")
    view, n = kernel_of(made).body.block.args[3], kernel_of(made).body.block.args[4]
    assert check.parent is kernel_of(made).body.block and check.operands[0] is n
    assert load.operands[:2] == (view, n) and load.parent_op() is loop
    assert loop.operands[1].owner.properties["axis"].value.data == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "indices"),
    [("m.row(n)[3]", "n3"), ("m.col(n)[3]", "3n"), ("m[n][3]", "n3"), ("m[n, 3]", "n3"), ("m[(n, 3)]", "n3")],
)
def test_parts_keep_their_axes(text: str, indices: str) -> None:
    made = built(f"out[simt.thread_index()] = {text}")
    (load,) = find(made, "simt.element_load")
    assert "".join("3" if v.owner.__class__.__name__ == "ConstantOp" else "n" for v in load.operands[1:]) == indices


def test_windows_check_their_ends_and_their_elements() -> None:
    made = built("out[simt.thread_index()] = x.window(n, 8)[n]")
    assert len(find(made, "simt.check_index")) == 3
    made = built("s = simt.shared(16)\nw = s.window(4, 8).window(2, 4)\nout[simt.thread_index()] = w[3]")
    (load,) = find(made, "simt.element_load")
    assert load.operands[1].owner.properties["value"].value.data == 9  # type: ignore[union-attr]
    assert not find(made, "simt.check_index")


def test_a_window_of_a_row() -> None:
    made = built("w = m.row(n).window(4, 8)\nout[simt.thread_index()] = w[1] + len(w)")
    (load,) = find(made, "simt.element_load")
    assert load.operands[1] is kernel_of(made).body.block.args[4]
    assert "simt.dim" in ops(made)


def test_parts_meet_where_ways_do() -> None:
    body = """
        row = m.row(0)
        if n > 3:
            row = m.row(n)
        out[simt.thread_index()] = row[1]
    """
    made = built(body)
    (load,) = find(made, "simt.element_load")
    assert load.operands[1].owner.name in ("scf.if", "arith.select")  # type: ignore[union-attr]


def test_shapes_and_types_of_memory() -> None:
    body = """
        s = simt.shared((4, 8), simt.f16)
        simt.static_assert(s.shape == (4, 8) and len(s) == 4 and s.ndim == 2 and s.dtype == simt.f16)
        simt.static_assert(len(s.row(0)) == 8 and s.col(1).ndim == 1 and m.dtype == simt.f32 and m.ndim == 2)
        out[simt.thread_index()] = simt.f32(m.shape[1] + len(x))
    """
    assert ops(built(body)).count("simt.dim") == 2


# Shared memory


def test_shared_memory_stands_at_the_head_under_its_name() -> None:
    body = """
        for j in range(n):
            cache = simt.shared((4, 64))
            cache[j % 4, simt.thread_idx()] = x[j]
            simt.barrier()
            out[simt.thread_index()] = cache[0, 63 - simt.thread_idx()]
            simt.syncthreads()
            simt.syncwarp()
            simt.fence("block")
    """
    made = built(body)
    (alloc,) = find(made, "simt.alloc_shared")
    assert alloc.parent is kernel_of(made).body.block and alloc.results[0].name_hint == "cache"
    assert len(find(made, "simt.barrier")) == 2 and len(find(made, "simt.sync_warp")) == 1
    assert find(made, "simt.fence")[0].properties["scope"] == StringAttr("block")
    assert "simt.manual_barriers" in kernel_of(made).attributes


def test_a_loop_that_is_read_twice_takes_its_memory_once() -> None:
    body = """
        total = 0
        for j in range(n):
            s = simt.shared(4)
            s[0] = x[j]
            simt.barrier()
            total = total + s[0]
        out[simt.thread_index()] = total
    """
    made = built(body)
    assert len(find(made, "simt.alloc_shared")) == 1 and len(find(made, "simt.element_store")) == 2


def test_dynamic_shared_memory() -> None:
    body = """
        a = simt.dynamic_shared(16, simt.f32)
        b = simt.dynamic_shared((2, 8), simt.f16, offset=64)
        a[simt.thread_idx()] = x[n]
        b[0, simt.thread_idx()] = simt.f16(x[n])
        simt.barrier()
        out[simt.thread_index()] = a[1] + simt.f32(b[1, 1])
    """
    made = built(body, "block=64, shared_bytes=96")
    offsets = [op.properties["offset"].value.data for op in find(made, "simt.dynamic_shared")]  # type: ignore[attr-defined]
    assert offsets == [0, 64] and kernel_of(made).integer("simt.dynamic_shared") == 96


# Warps, atomics, bits


@pytest.mark.parametrize(
    ("text", "op", "properties"),
    [
        ("simt.shuffle(n, 3)", "simt.shuffle", {"kind": "idx"}),
        ("simt.shuffle_up(n, simt.lane_index(), width=8)", "simt.shuffle", {"kind": "up", "width": 8}),
        ("simt.shuffle_down(n, 1, width=32)", "simt.shuffle", {"kind": "down"}),
        ("simt.shuffle_xor(n, 16)", "simt.shuffle", {"kind": "xor"}),
        ("simt.i64(simt.any_sync(n > 0))", "simt.vote", {"kind": "any"}),
        ("simt.i64(simt.all_sync(n))", "simt.vote", {"kind": "all"}),
        ("simt.i64(simt.ballot(n > 0))", "simt.vote", {"kind": "ballot"}),
        ("simt.i64(simt.match_any(n))", "simt.match", {"kind": "any"}),
        ("simt.i64(simt.match_all(n))", "simt.match", {"kind": "all"}),
        ("simt.warp_reduce(n)", "simt.warp_reduce", {"kind": "sum"}),
        ("simt.i64(simt.warp_reduce(simt.u32(n), 'max', 16))", "simt.warp_reduce", {"kind": "umax", "width": 16}),
        ("simt.i64(simt.warp_reduce(n > 0, 'and'))", "simt.warp_reduce", {"kind": "and"}),
        ("simt.i64(simt.elect())", "simt.elect", {}),
        ("simt.i64(simt.active_mask())", "simt.active_mask", {}),
        ("simt.i64(simt.lane_mask('lt'))", "simt.lane_mask", {"kind": "lt"}),
        ("simt.i64(simt.popc(n))", "math.ctpop", {}),
        ("simt.i64(simt.clz(n))", "math.ctlz", {}),
        ("simt.i64(simt.ffs(n))", "math.cttz", {}),
        ("simt.i64(simt.atomic_add(hist, n, 1))", "simt.atomic_rmw", {"kind": "add"}),
        ("simt.i64(simt.atomic_max(hist, n, 1))", "simt.atomic_rmw", {"kind": "umax"}),
        ("simt.i64(simt.atomic_inc(hist, n, 7))", "simt.atomic_rmw", {"kind": "inc"}),
        (
            "simt.i64(simt.atomic_exch(hist, n, 1, 'acq_rel', 'system'))",
            "simt.atomic_rmw",
            {"kind": "exch", "order": "acq_rel", "scope": "system"},
        ),
        ("simt.i64(simt.atomic_cas(hist, n, 0, 1, order='acquire'))", "simt.atomic_cas", {"order": "acquire"}),
    ],
)
def test_functions_become_ops(text: str, op: str, properties: dict[str, object]) -> None:
    made = built(f"out[simt.thread_index()] = {text}", out=("i64", 1))
    (found,) = find(made, op)
    shown = {
        name: value.data if isinstance(value, StringAttr) else value.value.data
        for name, value in found.properties.items()
        if isinstance(value, StringAttr | IntegerAttr)
    }
    assert {k: v for k, v in shown.items() if k != "fastmath"} == properties


def test_atomics_on_shared_memory() -> None:
    body = """
        bins = simt.shared(16, simt.i32)
        simt.atomic_min(bins, simt.thread_idx() % 16, -3)
        simt.atomic_sub(hist, simt.thread_idx(), 1)
    """
    made = built(body)
    kinds = [op.properties["kind"] for op in find(made, "simt.atomic_rmw")]
    assert kinds == [StringAttr("min"), StringAttr("sub")]


@pytest.mark.parametrize("value", [1, 0x80000000, 0x12345678, 0xF0F0A5A5, 0, 0xFFFFFFFF])
def test_reversed_bits(value: int) -> None:
    made = built("out[simt.thread_index()] = simt.brev(k)", parameters="out: simt.DisjointSlice['u32'], k: simt.u32")
    table: dict[str, Callable[[int, int], int]] = {
        "arith.andi": lambda a, b: a & b,
        "arith.ori": lambda a, b: a | b,
        "arith.shli": lambda a, b: a << b & 0xFFFFFFFF,
        "arith.shrui": lambda a, b: a >> b,
        "arith.minui": min,
    }
    block = kernel_of(made).body.block
    values: dict[Any, int] = {block.args[1]: value}
    for op in block.ops:
        if op.name == "arith.constant":
            values[op.results[0]] = op.properties["value"].value.data & 0xFFFFFFFF  # type: ignore[attr-defined]
        elif op.name in table:
            values[op.results[0]] = table[op.name](*(values[v] for v in op.operands))
    (store,) = find(made, "simt.element_store")
    assert values[store.operands[0]] == int(f"{value:032b}"[::-1], 2)


def test_elementwise_functions_are_those_of_the_tile_track() -> None:
    names = ops(built("out[simt.thread_index()] = simt.exp(x[n]) + simt.fma(x[n], 2.0, simt.cdiv(n, 3)) ** 0.5"))
    assert {"math.exp", "math.fma", "math.powf"} <= set(names)


# Loops over elements


def test_a_loop_over_elements_counts_them() -> None:
    body = """
        total = 0.0
        for i, (v, w) in enumerate(zip(x, m.row(n))):
            if v < 0.0:
                continue
            total += v * w * i
        out[simt.thread_index()] = total
    """
    made = built(body)
    (loop,) = find(made, "scf.for")
    assert [v.owner.name for v in loop.operands[:3]] == ["arith.constant", "arith.minsi", "arith.constant"]  # type: ignore[union-attr]
    loads = find(made, "simt.element_load")
    assert {op.operands[-1] for op in loads} == {loop.regions[0].block.args[0]} and len(loads) == 2


def test_a_loop_over_rows_and_one_that_ends_early() -> None:
    body = """
        last = 0.0
        for row in m:
            for v in row:
                if v > 1.0:
                    break
                last = v
        out[simt.thread_index()] = last
    """
    names = ops(built(body))
    assert names.count("scf.for") == 1 and names.count("scf.while") == 1 and names.count("simt.element_load") == 1


# Control flow and stores that are let through


@pytest.mark.parametrize(
    "body",
    [
        "out[simt.block_idx()] = x[n]",
        "if simt.thread_index() == 0:\n    out[0] = x[n]",
        "if simt.thread_index() != 0:\n    return\nout[0] = x[n]",
        "i = simt.thread_index()\nwhile i < n:\n    out[i] = x[i]\n    i += 64",
        "for j in range(4):\n    out[simt.thread_index() * 4 + j] = x[j]",
        "i = simt.thread_index()\nfor j in (0, 1):\n    if x[j] > 0.0:\n        break\n    out[i + j] = x[i]",
        "def put(i, v):\n    out[i] = v\nput(simt.thread_index(), x[n])",
        "(lambda i: i)(0)\nw = out.window(simt.thread_index() * 4, 4)\nw[2] = x[n]",
        "out.window(0, n)[simt.thread_index()] = x[n]",
    ],
)
def test_stores_that_name_a_thread(body: str) -> None:
    assert find(built(body), "simt.element_store")


def test_only_stores_whose_index_names_a_thread_are_witnessed() -> None:
    made = built("if simt.thread_index() == 0:\n    out[0] = x[n]\nout[simt.thread_index()] = 1.0")
    assert ["witness" in op.properties for op in find(made, "simt.element_store")] == [False, True]


# The contract


def attributes(contract: str, parameters: str = "x: simt.Slice, n: int, C: simt.Const[int] = 4") -> dict[str, object]:
    made = kernel_of(build(simt_kernel("pass", parameters, contract)))
    return dict(made.attributes)


def test_attributes_of_the_contract() -> None:
    found = attributes(
        "block=(32, 4), grid_rank=2, launch_bounds=(256, 2), shared_bytes=64, min_arch='sm_80', cluster=2"
    )
    assert {name: str(value) for name, value in found.items()} == {
        "simt.block": "array<i64: 32, 4, 1>", "simt.threads": "128 : i64", "simt.grid_rank": "2 : i64",
        "simt.manual_barriers": "unit", "simt.max_threads": "256 : i64", "simt.min_blocks": "2 : i64",
        "simt.dynamic_shared": "64 : i64", "simt.min_arch": '"sm_80"', "simt.cluster": "array<i64: 2, 1, 1>",
        "tile.fma": "true",
    }  # fmt: skip


RELATIONS = {
    "len(x)==n": ["len(x) == n"],
    "x.shape[0] >= n": ["len(x) >= n"],
    "x.shape[-1] >= n": ["len(x) >= n"],
    "0 < n <= len(x)": ["0 < n", "n <= len(x)"],
    "n > 1 and (n < 9 and len(x) != 3)": ["n > 1", "n < 9", "len(x) != 3"],
    "len(x) == C * (n + -1)": ["len(x) == 4 * (n + -1)"],
    "n // C % 3 - 2*n < 5": ["n // 4 % 3 - 2 * n < 5"],
    "C == 4": [],
}


@pytest.mark.parametrize("text", RELATIONS)
def test_relations_have_one_form(text: str) -> None:
    found = attributes(f"block=64, requires=[{text!r}, {text!r}]").get("simt.requires", ArrayAttr([]))
    assert isinstance(found, ArrayAttr)
    assert [t.data for t in found.data if isinstance(t, StringAttr)] == RELATIONS[text]


@pytest.mark.parametrize("text", RELATIONS)
def test_the_runtime_checks_what_was_written(text: str) -> None:
    from tileopt.backends.runtime.conditions import ArrayView, compile_condition

    found = attributes(f"block=64, requires={text!r}").get("simt.requires", ArrayAttr([]))
    assert isinstance(found, ArrayAttr)
    conditions = [compile_condition(t.data) for t in found.data if isinstance(t, StringAttr)]
    for length in range(6):
        for n in range(-3, 12):
            values = {"x": ArrayView((length,), (1,)), "n": n}
            wanted = eval(text, {"len": len, "x": values["x"], "n": n, "C": 4})
            assert all(c.holds(values) for c in conditions) == wanted


def test_one_extent_has_one_name_whatever_the_rank() -> None:
    parameters = "m: simt.Slice['f32', 2], n: int"
    found = attributes("block=64, requires='m.shape[-1] == n and m.shape[-2] == len(m)'", parameters)
    assert str(found["simt.requires"]) == '["m.shape[1] == n", "len(m) == len(m)"]'


# Launches


def variant(key: str, contract: str) -> Any:
    made = simt_kernel("out[simt.thread_index()] = 1.0", contract=contract)
    return eval(f"k[{key}]", {"k": made})


def test_the_block_comes_from_the_contract_or_the_launch() -> None:
    assert variant("5", "block=64").kernel.contract.block == (64,)
    assert variant("5, 64", "").kernel.contract.block == (64,)
    assert variant("(5, 2), (8, 8)", "").grid == (5, 2)
    assert variant("(5, 2), (8, 8)", "").kernel.contract.grid_rank == 2
    assert variant("5, 2", "block=64").grid == (5, 2) and variant("5, 2", "block=64").kernel.contract.grid_rank == 2


def test_variants_are_made_once() -> None:
    made = simt_kernel("out[simt.thread_index()] = 1.0", contract="")
    assert made[5, 64].kernel is made[(6,), (64,)].kernel
    assert made[5, 64].kernel is made[5, [64]].kernel is made[[6], [64]].kernel
    assert made[5, 64].kernel is not made[5, 128].kernel
    assert made[5, 64].kernel.fingerprint() != made[5, 128].kernel.fingerprint()
    assert made[5, 64].kernel.fingerprint() is made[5, 64].kernel.fingerprint()
    assert build(made[5, 128].kernel).walk() and kernel_of(build(made[5, 128].kernel)).block == (128, 1, 1)


@pytest.mark.parametrize(
    ("key", "contract", "code"),
    [
        ("5", "", "launch/block"),
        ("(5, 2, 1)", "", "launch/block"),
        ("5, 2048", "", "launch/block"),
        ("5, 1.5", "", "launch/block"),
        ("5, (256,)", "block=64", "launch/block"),
        ("5, 256", "max_block=128", "launch/block"),
        ("(5, 2)", "block=64, grid_rank=1", "launch/grid-rank"),
    ],
)
def test_launches_that_break_the_contract(key: str, contract: str, code: str) -> None:
    with pytest.raises(LaunchError) as caught:
        variant(key, contract)
    assert caught.value.code == code and "'k'" in str(caught.value) or "block" in str(caught.value)


def test_ir_without_a_launch() -> None:
    made = simt_kernel("out[simt.thread_index()] = x[n]", contract="")
    text = made.ir(block=(8, 8), x="f32[?]", out="f32[?]", n="i64")
    assert "simt.block = array<i64: 8, 8, 1>" in text and "simt.grid_rank = 2" in text
    with pytest.raises(TileoptError, match="does not say the block"):
        made.ir(x="f32[?]", out="f32[?]", n="i64")


def test_a_kernel_is_not_called() -> None:
    made = simt_kernel("pass")
    with pytest.raises(LaunchError, match="without a grid"):
        made(1, 2, 3)


def test_functions_refuse_outside_kernels() -> None:
    with pytest.raises(TileoptError, match=re.escape("simt.thread_index() works in a kernel only")):
        simt.thread_index()


def test_every_function_has_its_meaning() -> None:
    from tileopt.frontends.simt_python.functions import FUNCTIONS
    from tileopt.frontends.simt_python.intrinsics import INTRINSICS

    assert set(FUNCTIONS) <= set(INTRINSICS)
    assert {name for name in FUNCTIONS if not hasattr(simt, name)} == set()
    assert {name for name in simt.__all__ if not hasattr(simt, name)} == set()


def test_equal_code_in_two_files_has_two_sources() -> None:
    texts = [f"@simt.kernel(block={n})\ndef k(x: simt.Slice): pass\n" for n in (32, 64)]
    places = [module(text)["k"].location for text in texts]
    assert places[0].file != places[1].file


def test_the_builder_alone() -> None:
    """As its own documentation says: another frontend needs nothing else."""
    from tileopt.dialects.contracts import ArraySpec, Parameter, ParamKind
    from tileopt.dialects.verifier import verify
    from tileopt.frontends.builder_simt import SimtBuilder
    from tileopt.frontends.launch_contract import make_contract

    parameters = (Parameter("x", ParamKind.IN), Parameter("out", ParamKind.INOUT))
    spec = ArraySpec("f32", 1, 16, 0)
    contract = make_contract(block=(256,), requires=["len(x) == len(out)"])
    builder = SimtBuilder("scale", parameters, {"x": spec, "out": spec}, contract)
    x, out = builder.array("x"), builder.array("out")
    i = builder.thread_index()

    def write() -> tuple[()]:
        builder.set_element(out, [i], builder.binary("mul", 2.0, builder.element(x, [i])))
        return ()

    builder.if_(builder.compare("lt", i, builder.extent(out, 0)), write)
    made = builder.finish()
    verify(made)
    assert ops(made)[-5:] == ["scf.if", "simt.element_load", "arith.mulf", "simt.element_store", "scf.yield"]
    assert str(kernel_of(made).attributes["simt.requires"]) == '["len(x) == len(out)"]'


DOCS = Path(__file__).parents[2] / "docs" / "simt-language.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=[str(i) for i in range(len(EXAMPLES))])
def test_the_documented_kernels_are_kernels(text: str) -> None:
    lines = [line for line in text.splitlines() if "[" not in line.partition("(")[0] or line[:1] in " @"]
    kernels = [thing for thing in module("\n".join(lines)).values() if hasattr(thing, "contract")]
    assert kernels
    for made in kernels:
        build(made.fixed(block=None if made.contract.block else (64,)))


def test_the_documentation_names_every_function() -> None:
    from tileopt.frontends.simt_python.functions import FUNCTIONS, SHARED_NAMES

    for name in set(FUNCTIONS) - set(SHARED_NAMES):
        assert re.search(rf"\b{name}\b", DOCS.read_text()), name
