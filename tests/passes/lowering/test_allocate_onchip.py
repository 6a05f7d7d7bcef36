"""allocate-onchip: places are aligned, tiles that live at once lie apart, memory is reused, and too much is refused."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
import small_targets  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.dialects import simt
from tileopt.dialects.diagnostics import TargetError, UnsupportedError
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.lowering.accesses import bytes_of
from tileopt.passes.lowering.allocate_onchip import alignment_of, allocate
from tileopt.passes.lowering.lifetimes import lifetimes

LAYOUT = "#l = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>\n"


def kernel(body: str, target: str = "small") -> simt.Kernel:
    text = f"""{LAYOUT}module attributes {{tile.target = "{target}"}} {{
simt.kernel @f(%x: !tile.view<?xf32, owned>, %n: i64) attributes {{simt.threads = 32 : i64}} {{
%z = arith.constant 0 : i64
%u = arith.constant 1 : i64
{body}
simt.return
}}
}}"""
    module = parse_module(create_context(), text, "kernel.mlir")
    verify(module)
    return next(op for op in module.body.block.ops if isinstance(op, simt.Kernel))


def buffer(elements: int, layout: str = "") -> str:
    return f"!tile.buffer<{elements}xf32{layout}>"


def alloc(name: str, elements: int, slots: int = 1) -> str:
    ring = f" {{slots = {slots} : i64}}" if slots > 1 else ""
    return f"%{name} = simt.alloc_shared{ring} : {buffer(elements)}"


_next = iter(range(10**9))


def use(name: str, elements: int) -> str:
    vector = f"vector<{-(-elements // 32)}xf32>"
    return f"%v{next(_next)} = simt.shared_load %{name} {{layout = #l}} : {buffer(elements)} -> {vector}"


def offsets(top: simt.Kernel) -> list[int]:
    found = []
    for op in walk(top):
        if isinstance(op, simt.AllocShared):
            assert op.offset is not None
            found.append(op.offset.value.data)
    return found


def total(top: simt.Kernel) -> int:
    return top.attributes[simt.SHARED_BYTES].value.data  # type: ignore[attr-defined,no-any-return]


def check(top: simt.Kernel) -> None:
    lives = lifetimes(top)
    for op in lives:
        assert op.offset is not None
        assert op.offset.value.data % alignment_of(op) == 0
        assert op.offset.value.data + bytes_of(op) <= total(top)
    for (a, life_a), (b, life_b) in combinations(lives.items(), 2):
        if life_a.meets(life_b):
            assert a.offset is not None and b.offset is not None
            begin_a, begin_b = a.offset.value.data, b.offset.value.data
            assert begin_a + bytes_of(a) <= begin_b or begin_b + bytes_of(b) <= begin_a


def test_nothing_shared() -> None:
    top = kernel("")
    allocate(top)
    assert total(top) == 0


def test_small_tiles_lie_side_by_side() -> None:
    top = kernel("\n".join([alloc("a", 25), use("a", 25), alloc("b", 32), use("b", 32)]))
    allocate(top)
    assert offsets(top) == [0, 112] and total(top) == 240


def test_large_tiles_share_what_they_can() -> None:
    top = kernel("\n".join([alloc("a", 256), use("a", 256), alloc("b", 320), use("b", 320)]))
    allocate(top)
    assert offsets(top) == [0, 0] and total(top) == 1280


def test_tiles_that_live_at_once_lie_apart() -> None:
    body = [alloc("a", 128), alloc("b", 320), use("a", 128), use("b", 320), use("a", 128)]
    top = kernel("\n".join(body))
    allocate(top)
    assert offsets(top) == [1280, 0] and total(top) == 1792
    check(top)


def test_largest_tiles_are_placed_first() -> None:
    body = [alloc("a", 160), alloc("b", 64), alloc("c", 96), alloc("d", 64)]
    body += [use("a", 160), use("b", 64), use("c", 96), use("b", 64), use("d", 64), use("c", 96)]
    top = kernel("\n".join(body))
    allocate(top)
    check(top)
    assert offsets(top) == [0, 384, 0, 384] and total(top) == 640


def test_the_smallest_gap_that_fits_is_taken() -> None:
    """While %e lives, %a has left a gap of 512 bytes and %c one of 256."""
    body = [alloc(name, size) for name, size in (("a", 128), ("b", 100), ("c", 64), ("d", 60), ("e", 48))]
    body += [use("a", 128), use("b", 100), use("c", 64), use("d", 60), use("a", 128), use("c", 64)]
    body += [use("b", 100), use("e", 48), use("d", 60), use("b", 100)]
    top = kernel("\n".join(body))
    allocate(top)
    check(top)
    assert offsets(top) == [0, 512, 912, 1168, 912]


def test_what_a_loop_uses_lives_through_all_of_it() -> None:
    loop = f"scf.for %i = %z to %n step %u : i64 {{\n{use('a', 256)}\n{alloc('b', 192)}\n{use('b', 192)}\n}}"
    top = kernel("\n".join([alloc("a", 256), loop]))
    allocate(top)
    check(top)
    assert total(top) == 4 * (256 + 192)


def test_a_loop_reuses_what_it_made_itself() -> None:
    body = "\n".join([alloc("b", 256), use("b", 256), alloc("c", 256), use("c", 256)])
    top = kernel(f"scf.for %i = %z to %n step %u : i64 {{\n{body}\n}}")
    allocate(top)
    assert offsets(top) == [0, 0]


def test_branches_share() -> None:
    body = f"""%q = arith.cmpi slt, %n, %u : i64
scf.if %q {{
{alloc("a", 256)}
{use("a", 256)}
}} else {{
{alloc("b", 256)}
{use("b", 256)}
}}"""
    top = kernel(body)
    allocate(top)
    assert offsets(top) == [0, 0]


def test_a_tile_handed_out_of_a_branch_lives_on() -> None:
    type_ = buffer(192)
    body = f"""{alloc("a", 192)}
%q = arith.cmpi slt, %n, %u : i64
%e = scf.if %q -> ({type_}) {{
{alloc("b", 192)}
{use("b", 192)}
scf.yield %b : {type_}
}} else {{
scf.yield %a : {type_}
}}
{alloc("c", 64)}
{use("c", 64)}
{use("e", 192)}"""
    top = kernel(body)
    allocate(top)
    check(top)
    a, b, c = offsets(top)
    assert len({a, b, c}) == 3


def test_slots_count() -> None:
    top = kernel("\n".join([alloc("a", 64, 5), f"%s = simt.slot %a[%z] : {buffer(64)} -> {buffer(64)}", use("s", 64)]))
    allocate(top)
    assert total(top) == 5 * 256


def test_swizzled_tiles_begin_where_their_pattern_does() -> None:
    type_ = "!tile.buffer<8x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>"
    layout = "#tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>"
    body = f"""{alloc("a", 8)}
{use("a", 8)}
%b = simt.alloc_shared : {type_}
%w = simt.shared_load %b {{layout = {layout}}} : {type_} -> vector<16xbf16>
{use("a", 8)}"""
    top = kernel(body, "copies")
    allocate(top)
    check(top)
    assert offsets(top) == [1024, 0]


def test_a_copy_in_flight_keeps_its_tile() -> None:
    """The tile is never read, but the copy may still write it until it is waited for."""
    copy = f"gpu.cp_async %x[%z], %a {{layout = #l, vector = 1 : i64}} : !tile.view<?xf32, owned>, {buffer(256)}"
    reuse = [alloc("b", 256), use("b", 256)]
    arrived = "gpu.cp_async_wait {pending = 0 : i64}"
    waited = kernel("\n".join([alloc("a", 256), copy, "gpu.cp_async_commit", arrived, *reuse]))
    allocate(waited)
    assert offsets(waited) == [0, 0]
    flying = kernel("\n".join([alloc("a", 256), copy, "gpu.cp_async_commit", *reuse, arrived]))
    allocate(flying)
    assert offsets(flying) == [0, 1024]


def test_too_much_names_bytes_limit_tiles_and_remedy() -> None:
    body = [alloc("a", 256, 3), alloc("b", 64), f"%s = simt.slot %a[%z] : {buffer(256)} -> {buffer(256)}"]
    top = kernel("\n".join([*body, use("s", 256), use("b", 64), use("s", 256)]))
    with pytest.raises(TargetError) as caught:
        allocate(top)
    error = caught.value
    assert error.code == "target/shared-memory"
    assert "3328 bytes" in error.message and "has 2048" in error.message
    assert error.notes[0][0] == "3072 bytes for a tile of 256xf32, 3 stages"
    assert error.notes[0][1] is not None and error.notes[0][1].line == 6
    # 1280 bytes too many: two stages of 1024 fewer, or 1792 bytes for three tiles of f32.
    assert error.help == "make the tiles smaller (the largest fits with 149 elements of f32), or give num_stages=1"
    assert error.location is not None and error.location.line == 3


def test_tiles_of_one_place_share_a_note() -> None:
    names = [f"a{i}" for i in range(4)]
    top = kernel("\n".join([*(alloc(n, 256) for n in names), *(use(n, 256) for n in names * 2)]))
    first, *others = (op for op in top.walk() if isinstance(op, simt.AllocShared))
    for op in others[:2]:
        op.location = first.location
    with pytest.raises(TargetError) as caught:
        allocate(top)
    assert [text for text, _ in caught.value.notes] == [
        "3 times 1024 bytes for a tile of 256xf32",
        "1024 bytes for a tile of 256xf32",
    ]


def test_a_tile_carried_around_a_loop_is_refused() -> None:
    type_ = buffer(32)
    body = f"""{alloc("a", 32)}
%e = scf.for %i = %z to %n step %u iter_args(%p = %a) -> ({type_}) : i64 {{
{use("p", 32)}
{alloc("b", 32)}
scf.yield %b : {type_}
}}"""
    with pytest.raises(UnsupportedError) as caught:
        allocate(kernel(body))
    assert caught.value.code == "allocate/carried-tile"
    assert caught.value.location is not None and caught.value.location.line == 9


def test_unused_tiles_take_nothing() -> None:
    top = kernel(alloc("a", 512))
    allocate(top)
    assert total(top) == 0 and offsets(top) == [0]


# --- random programs: no byte that is still to be read is overwritten ---


def _random_body(rng: random.Random, visible: list[tuple[str, int]], depth: int) -> list[str]:
    body: list[str] = []
    visible = list(visible)
    for _ in range(rng.randint(2, 5)):
        choice = rng.random()
        if choice < 0.4 or not visible:
            name, elements = f"a{next(_next)}", rng.choice([8, 40, 64, 100, 128])
            visible.append((name, elements))
            body.append(alloc(name, elements))
        elif choice < 0.8 or not depth:
            body.append(use(*rng.choice(visible)))
        elif choice < 0.9:
            inner = "\n".join(_random_body(rng, visible, depth - 1))
            body.append(f"scf.for %i{next(_next)} = %z to %n step %u : i64 {{\n{inner}\n}}")
        else:
            a, b = ("\n".join(_random_body(rng, visible, depth - 1)) for _ in range(2))
            q = f"q{next(_next)}"
            body.append(f"%{q} = arith.cmpi slt, %n, %u : i64\nscf.if %{q} {{\n{a}\n}} else {{\n{b}\n}}")
    return body


def _run(block: object, trace: list[simt.AllocShared], choose: random.Random) -> None:
    """The allocations accessed on one path: loops run twice, branches are chosen."""
    from xdsl.dialects import scf
    from xdsl.ir import Block

    assert isinstance(block, Block)
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            _run(op.body.block, trace, choose)
            _run(op.body.block, trace, choose)
        elif isinstance(op, scf.IfOp):
            _run(choose.choice([op.true_region, op.false_region]).block, trace, choose)
        elif isinstance(op, simt.SharedLoad):
            assert isinstance(op.source.owner, simt.AllocShared)
            trace.append(op.source.owner)


@settings(max_examples=100)
@given(st.integers(0, 10**9))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    top = kernel("\n".join(_random_body(rng, [], 2)), "copies")
    allocate(top)
    check(top)
    # With nothing to spare, tiles share: force it by the same allocator on a target where only that fits.
    from tileopt.passes.lowering import allocate_onchip

    least = allocate_onchip._RESIDENT
    allocate_onchip._RESIDENT = 10**9
    try:
        allocate(top)
    finally:
        allocate_onchip._RESIDENT = least
    check(top)
    for _ in range(3):
        trace: list[simt.AllocShared] = []
        _run(top.body.block, trace, rng)
        span: dict[simt.AllocShared, tuple[int, int]] = {}
        for at, op in enumerate(trace):
            span[op] = (span.get(op, (at, at))[0], at)
        for a, b in combinations(span, 2):
            same_home = a.parent is b.parent is top.body.block
            if same_home and span[a][0] <= span[b][1] and span[b][0] <= span[a][1]:
                assert a.offset is not None and b.offset is not None
                begin_a, begin_b = a.offset.value.data, b.offset.value.data
                assert begin_a + bytes_of(a) <= begin_b or begin_b + bytes_of(b) <= begin_a
