"""Kernels whose source says where threads meet: barriers are added for tiles alone, and no two share memory."""

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
MANUAL, TOGETHER = ", simt.manual_barriers", ", simt.together"


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
simt.shared_store %v, %a {{{ROWS}{TOGETHER}}} : vector<2xf32>, !tile.buffer<8x8xf32>
%w = simt.shared_load %a {{{COLUMNS}{TOGETHER}}} : !tile.buffer<8x8xf32> -> vector<2xf32>"""


BUFFER = "!tile.buffer<8x8xf32>"
ALLOC = f"%a = simt.alloc_shared : {BUFFER}\n%b = simt.alloc_shared : {BUFFER}"
WRITE, READ = (
    f"simt.element_store %f, %a[%z, %z] : f32, {BUFFER}",
    f"%e = simt.element_load %a[%z, %z] : {BUFFER} -> f32",
)
TAKE = f"%v = simt.shared_load %a {{{ROWS}{TOGETHER}}} : {BUFFER} -> vector<2xf32>"
PUT = f"""%s = simt.splat %f : f32 -> vector<2xf32>
simt.shared_store %s, %a {{{ROWS}{TOGETHER}}} : vector<2xf32>, {BUFFER}"""
LOOP = "%one = arith.constant 1 : i64\n%t = simt.thread_idx {axis = 0}\nscf.for %i = %z to %one step %one : i64 {"
IF = "%c = arith.cmpi eq, %t, %z : i64\nscf.if %c {"


def placed(made: simt.Kernel) -> list[str]:
    """The names of the ops that are accesses, barriers or control flow, and their ends."""
    InsertFences().apply(create_context(), made.parent_op())  # type: ignore[arg-type]
    names = ("element_store", "element_load", "shared_store", "shared_load", "barrier", "scf.for", "scf.if", "yield")
    return [op.name.rpartition(".")[2] for op in walk(made) if any(name in op.name for name in names)]


@pytest.mark.parametrize(
    ("body", "attributes", "expected"),
    [
        (RACE, "", ["shared_store", "barrier", "shared_load"]),
        (RACE.replace(TOGETHER, ""), MANUAL, ["shared_store", "shared_load"]),
        # What threads do among themselves is the source's to order.
        (f"{ALLOC}\n{WRITE}\n{READ}", MANUAL, ["element_store", "element_load"]),
        # What they do together on tiles is not, nor are tiles and threads.
        (RACE, MANUAL, ["shared_store", "barrier", "shared_load"]),
        (f"{ALLOC}\n{WRITE}\n{TAKE}", MANUAL, ["element_store", "barrier", "shared_load"]),
        (f"{ALLOC}\n{READ}\n{TAKE}", MANUAL, ["element_load", "shared_load"]),
        (f"{ALLOC}\n{WRITE}\nsimt.barrier\n{TAKE}", MANUAL, ["element_store", "barrier", "shared_load"]),
        (
            f"{ALLOC}\n{WRITE}\n{TAKE.replace('%a', '%b')}\n{READ}",
            MANUAL,
            ["element_store", "shared_load", "element_load"],
        ),
        # A barrier stands outside of conditions that only threads are under.
        (
            f"{ALLOC}\n{LOOP}\n{IF}\n{WRITE}\n}}\n{TAKE}\n}}",
            MANUAL,
            ["for", "barrier", "if", "element_store", "yield", "barrier", "shared_load", "yield"],
        ),
        (
            f"{ALLOC}\n{PUT}\n{LOOP}\n{IF}\n{READ}\n}}\n}}",
            MANUAL,
            ["shared_store", "barrier", "for", "if", "element_load", "yield", "yield"],
        ),
        # A write under a condition is still open after a barrier in front of the condition.
        (
            f"{ALLOC}\n{PUT}\n%t = simt.thread_idx {{axis = 0}}\n{IF}\n{READ}\n{WRITE.replace('%a', '%b')}\n}}\n"
            f"{TAKE.replace('%a', '%b')}",
            MANUAL,
            ["shared_store", "barrier", "if", "element_load", "element_store", "yield", "barrier", "shared_load"],
        ),
        # Dynamic shared memory by two names.
        (
            f"%a = simt.dynamic_shared {{offset = 0}} : {BUFFER}\n"
            f"%b = simt.dynamic_shared {{offset = 128}} : {BUFFER}\n{WRITE}\n{TAKE.replace('%a', '%b')}",
            MANUAL + ", simt.dynamic_shared = 512 : i64",
            ["element_store", "barrier", "shared_load"],
        ),
    ],
    ids=range(12),
)
def test_barriers_are_added_where_the_source_has_none_to_add(body: str, attributes: str, expected: list[str]) -> None:
    assert placed(kernel(body, attributes)) == expected


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
