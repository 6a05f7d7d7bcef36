"""lower-pipe: from channels to rings; each read finds the tile of its own iteration, and nothing races."""

from __future__ import annotations

import pytest
import small_targets  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from race_checker import Run, run
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tileopt.dialects import gpu, pipe, simt
from tileopt.dialects.layout import coalesced
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.intervals import Order
from tileopt.passes.lowering.allocate_onchip import allocate
from tileopt.passes.lowering.insert_fences import insert_fences
from tileopt.passes.lowering.lifetimes import lifetimes
from tileopt.passes.lowering.lower_pipe import copy_layout, lower_pipe
from tileopt.passes.registry import pass_class

CONTRACT = "{tile.contract = #tile.contract<align = 16, unit = UNIT, shape = [16, 16], stride = [16, 16]>}"
OPERAND, ACC = "tensor<16x16xbf16>", "tensor<16x16xf32>"
SHARED, OWNED = "!tile.view<?x?xbf16, shared>", "!tile.view<?x?xf32, owned>"


def gemm(unit: int = 1, vector: int = 8, padding: str = "", target: str = "copies") -> str:
    """Products of 16x16 tiles from %n columns of %x and rows of %y."""
    access = f"{{vector = {vector} : i64{padding}}}"
    contract = CONTRACT.replace("UNIT", str(unit))
    return f"""module attributes {{tile.target = "{target}"}} {{
tile.kernel @f(%x: {SHARED} {contract}, %y: {SHARED} {contract}, %out: {OWNED}, %n: i64, %m: i64)
    attributes {{tile.num_warps = 1 : i64}} {{
%z = arith.constant 0 : i64
%u = arith.constant 1 : i64
%b = arith.constant 16 : i64
%f = arith.constant 0.0 : f32
%zero = tile.splat %f : f32 -> {ACC}
scf.for %j = %z to %m step %u : i64 {{
  %p = arith.muli %j, %b : i64
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> ({ACC}) : i64 {{
    %o = arith.muli %i, %b : i64
    %a = tile.load %x[%p, %o] {access} : {SHARED} -> {OPERAND}
    %c = tile.load %y[%o, %p] {access} : {SHARED} -> {OPERAND}
    %next = tile.mma %a, %c, %acc {{atom = "dot.bf16"}} : {OPERAND}, {OPERAND}, {ACC} -> {ACC}
    scf.yield %next : {ACC}
  }}
  tile.store %r, %out[%p, %p] : {ACC}, {OWNED}
}}
tile.return
}}
}}"""


FIRST = ("place-memory", "pipeline-loops", "assign-layouts", "fold-layouts", "lower-tile-to-simt")


def lowered(text: str, stages: int) -> ModuleOp:
    ctx = create_context()
    module = parse_module(ctx, text)
    for op in module.body.block.ops:
        op.attributes["tile.num_stages"] = IntegerAttr(stages, i64)
    for name in FIRST:
        found = pass_class(name)
        assert found is not None
        found().apply(ctx, module)
    for kernel in module.body.block.ops:
        assert isinstance(kernel, simt.Kernel)
        lower_pipe(kernel)
        verify(module)
        allocate(kernel)
        insert_fences(kernel)
    verify(module)
    return module


def count(module: ModuleOp, op_type: type) -> int:
    return sum(isinstance(op, op_type) for op in walk(module))


def assert_right(module: ModuleOp, n: int, m: int) -> Run:
    done = run(module, "x", "y", "out", n, m)
    assert not done.races, done.races
    reads = iter(done.reads)
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, simt.Kernel))
    x, y, *_ = kernel.body.block.args
    for j in range(m):
        for i in range(n):
            pair = [next(reads), next(reads)]
            for view, begin in ((x, (16 * j, 16 * i)), (y, (16 * i, 16 * j))):
                expected = {(r, c): (view, (begin[0] + r, begin[1] + c)) for r in range(16) for c in range(16)}
                assert expected in pair
    assert next(reads, None) is None
    return done


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_each_iteration_reads_its_own_tiles(stages: int) -> None:
    module = lowered(gemm(), stages)
    assert count(module, gpu.CpAsync) == (2 * stages if stages > 1 else 0)
    for n, m in ((0, 1), (1, 2), (2, 1), (3, 2), (6, 2)):
        done = assert_right(module, n, m)
        # One barrier an iteration, and at most one each time that the ring is filled afresh.
        assert done.barriers <= (n * m + m if stages > 1 else 2 * n * m)


def test_a_ring_takes_the_place_of_a_channel() -> None:
    module = lowered(gemm(), 3)
    rings = [op for op in walk(module) if isinstance(op, simt.AllocShared)]
    assert [op.slots.value.data for op in rings if op.slots is not None] == [3, 3]
    assert not any(op.name.startswith("pipe.") for op in walk(module))
    waits = [op.pending.value.data for op in walk(module) if isinstance(op, gpu.CpAsyncWait)]
    assert waits == [1, 0] and count(module, gpu.CpAsyncCommit) == 3


def test_what_follows_a_loop_takes_over_its_ring() -> None:
    module = lowered(gemm(), 3)
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, simt.Kernel))
    ring = [op for op in walk(module) if isinstance(op, simt.AllocShared)]
    lives = lifetimes(kernel)
    order = Order(kernel)
    (drained,) = (op for op in walk(module) if isinstance(op, gpu.CpAsyncWait) and not op.pending.value.data)
    assert len(ring) == 2 and all(lives[op].last <= order.number[drained] for op in ring)


@pytest.mark.parametrize(("stages", "divisions", "choices"), [(2, 0, 0), (3, 0, 2), (4, 0, 0), (5, 0, 2)])
def test_slots_are_counted_not_divided(stages: int, divisions: int, choices: int) -> None:
    module = lowered(gemm(), stages)
    assert count(module, arith.RemUIOp) == divisions and count(module, arith.SelectOp) == choices


def test_copies_are_as_wide_as_array_and_tile_allow() -> None:
    for unit, vector, copied in ((1, 8, 8), (1, 2, 2), (0, 8, 8)):
        module = lowered(gemm(unit, vector), 2)
        found = {op.vector.value.data for op in walk(module) if isinstance(op, gpu.CpAsync)}
        assert found == {copied}
        for op in walk(module):
            if isinstance(op, gpu.CpAsync):
                fast = op.target.type.shared_layout.order[-1]  # type: ignore[attr-defined]
                assert fast == unit and op.layout.over((16, 16)).contiguous(unit) >= copied
        assert_right(module, 3, 1)


def test_what_cannot_be_copied_asynchronously_goes_through_registers() -> None:
    # No axis is known to have stride 1: single elements of 2 bytes, too little for a copy.
    module = lowered(gemm(unit=-1, vector=2), 2)
    assert count(module, gpu.CpAsync) == 0 and count(module, simt.FragmentLoad) == 4
    assert_right(module, 4, 2)


def test_targets_without_asynchronous_copies() -> None:
    module = parse_module(
        create_context(),
        f"""#l = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
module attributes {{tile.target = "plain"}} {{
simt.kernel @f(%x: !tile.view<?x?xf32, shared>, %n: i64) attributes {{simt.threads = 32 : i64}} {{
%z = arith.constant 0 : i64
%c = pipe.channel : {CHANNEL}
pipe.acquire %c[%z] : {CHANNEL}
pipe.copy %x[%z, %z], %c[%z] {{member = 0 : i64, padding = 1.0 : f32}} : !tile.view<?x?xf32, shared>, {CHANNEL}
pipe.commit %c[%z] : {CHANNEL}
%t = pipe.wait %c[%z] {{pending = 0 : i64}} : {CHANNEL} -> {BUFFER}
%v = simt.shared_load %t {{layout = #l}} : {BUFFER} -> vector<2xf32>
pipe.release %c[%z] : {CHANNEL}
simt.return
}}
}}""",
    )
    (kernel,) = module.body.block.ops
    assert isinstance(kernel, simt.Kernel)
    lower_pipe(kernel)
    insert_fences(kernel)
    verify(module)
    assert count(module, gpu.CpAsync) == count(module, gpu.CpAsyncCommit) == count(module, gpu.CpAsyncWait) == 0
    (load,) = (op for op in walk(module) if isinstance(op, simt.FragmentLoad))
    assert load.padding is not None and not run(module, "x", 0).races


BUFFER = "!tile.buffer<8x8xf32, #tile.shared<order = [0, 1]>>"
CHANNEL = f"!pipe.channel<1, {BUFFER}>"


@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)), st.booleans(), st.sampled_from([1, 2, 4, 8]), st.integers(0, 3)
)
def test_copy_layouts(shape: tuple[int, int], row_major: bool, vector: int, warp_bits: int) -> None:
    """Each element has one owner apart from replicas, and vectors are kept where the extents allow."""
    order = (0, 1) if row_major else (1, 0)
    layout = copy_layout(shape, order, vector, 1 << warp_bits)
    assert layout.num_warps == 1 << warp_bits
    owners: dict[tuple[int, ...], set[int]] = {}
    for _, lane, warp, at in layout.elements():
        owners.setdefault(at, set()).add((warp << 5 | lane) & ~(layout.replica_lanes | layout.replica_warps << 5))
    assert len(owners) == shape[0] * shape[1] and all(len(found) == 1 for found in owners.values())
    fast = order[-1]
    wide = coalesced(shape, order, vector, 1).contiguous(fast)
    assert layout.contiguous(fast) >= min(wide, vector)


def test_nothing_to_lower() -> None:
    plain = lowered(gemm(), 1)
    before = str(plain)
    for kernel in plain.body.block.ops:
        assert isinstance(kernel, simt.Kernel)
        lower_pipe(kernel)
    assert str(plain) == before and count(plain, pipe.Channel) == 0
