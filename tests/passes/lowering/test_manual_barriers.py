"""Kernels whose source says where threads meet: no barrier is added, and no two tiles share memory."""

from __future__ import annotations

import pytest

from tileopt.backends import targets  # noqa: F401  (their names)
from tileopt.dialects import simt
from tileopt.dialects.diagnostics import TargetError
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.lowering.allocate_onchip import allocate
from tileopt.passes.lowering.insert_fences import InsertFences

ROWS = "layout = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>"
COLUMNS = "layout = #tile.layout<regs = [[1, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>"
MANUAL = ", simt.manual_barriers"


def kernel(body: str, attributes: str) -> simt.Kernel:
    text = f"""module attributes {{tile.target = "sm_80"}} {{
simt.kernel @f(%f: f32) attributes {{simt.threads = 32 : i64{attributes}}} {{
%z = arith.constant 0 : i64
{body}
simt.return
}}
}}"""
    module = parse_module(create_context(), text, "kernel.mlir")
    verify(module)
    return next(op for op in module.body.block.ops if isinstance(op, simt.Kernel))


RACE = f"""%v = simt.splat %f : f32 -> vector<2xf32>
%a = simt.alloc_shared : !tile.buffer<8x8xf32>
simt.shared_store %v, %a {{{ROWS}}} : vector<2xf32>, !tile.buffer<8x8xf32>
%w = simt.shared_load %a {{{COLUMNS}}} : !tile.buffer<8x8xf32> -> vector<2xf32>"""


@pytest.mark.parametrize(("attributes", "barriers"), [("", 1), (MANUAL, 0)])
def test_barriers_are_added_only_where_the_source_has_none_to_add(attributes: str, barriers: int) -> None:
    made = kernel(RACE, attributes)
    module = made.parent_op()
    InsertFences().apply(create_context(), module)  # type: ignore[arg-type]
    assert sum(isinstance(op, simt.Barrier) for op in walk(made)) == barriers


def one_after_the_other(elements: int) -> str:
    lines = []
    for name in "ab":
        buffer = f"!tile.buffer<{elements}xf32>"
        lines.append(f"%{name} = simt.alloc_shared : {buffer}")
        lines.append(f"simt.element_store %f, %{name}[%z] : f32, {buffer}")
    return "\n".join(lines)


def offsets(made: simt.Kernel) -> list[int]:
    return [op.offset.value.data for op in walk(made) if isinstance(op, simt.AllocShared) and op.offset is not None]


def test_memory_is_shared_only_where_barriers_can_be_added() -> None:
    body = one_after_the_other(8192)
    shared, apart = kernel(body, ""), kernel(body, MANUAL)
    allocate(shared)
    allocate(apart)
    assert offsets(shared) == [0, 0]
    assert sorted(offsets(apart)) == [0, 4 * 8192]


def test_dynamic_memory_follows_the_static_part() -> None:
    dynamic = ", simt.dynamic_shared = 100 : i64"
    made = kernel(one_after_the_other(3), MANUAL + dynamic)
    allocate(made)
    total = made.integer(simt.SHARED_BYTES)
    assert total is not None
    start = total - 100
    assert start % 16 == 0 and start >= max(offsets(made)) + 12
    with pytest.raises(TargetError, match="shared memory"):
        allocate(kernel(one_after_the_other(20000), MANUAL + ", simt.dynamic_shared = 20000 : i64"))
