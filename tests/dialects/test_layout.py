"""The layout algebra against enumeration: every claim is checked register by register, thread by thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations, product
from math import prod

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from layout_strategies import layouts, shared_layouts

from tileopt.dialects.layout import (
    LANE_BITS,
    WARP_SIZE,
    Coord,
    Layout,
    SharedLayout,
    coalesced,
    pow2_ceil,
    pow2_divisor,
    relabel,
)

few = settings(max_examples=50)  # where every register of every thread is looked at
ROW = ((1,), (2,), (4,), (8,), (16,))


def held(layout: Layout, lane: int, warp: int) -> list[Coord]:
    """What a thread holds, phantoms and all, register by register."""
    return [layout.coord(register, lane, warp) for register in range(layout.registers)]


def threads(layout: Layout) -> list[tuple[int, int]]:
    return [(lane, warp) for warp in range(layout.num_warps) for lane in range(WARP_SIZE)]


def inside(at: Coord, shape: Coord) -> bool:
    return all(c < n for c, n in zip(at, shape, strict=True))


def every(shape: Coord) -> list[Coord]:
    return list(product(*(range(n) for n in shape)))


@given(st.integers(-3, 5000))
def test_powers_of_two(n: int) -> None:
    ceiling = pow2_ceil(n)
    assert ceiling & (ceiling - 1) == 0
    assert ceiling >= n and (ceiling == 1 or ceiling // 2 < n)
    if n > 0:
        divisor = pow2_divisor(n)
        assert divisor & (divisor - 1) == 0 and n % divisor == 0 and n // divisor % 2 == 1


@few
@given(layouts())
def test_each_element_is_held_once_by_each_replica(layout: Layout) -> None:
    replicas = 1 << (layout.replica_lanes.bit_count() + layout.replica_warps.bit_count())
    count = Counter(at for _, _, _, at in layout.elements())
    assert count == dict.fromkeys(every(layout.shape), replicas)
    phantoms = layout.threads * layout.registers - replicas * prod(layout.shape)
    assert layout.has_phantoms == (phantoms > 0)


@few
@given(layouts())
def test_no_thread_holds_an_element_twice(layout: Layout) -> None:
    for lane, warp in threads(layout):
        assert len(set(held(layout, lane, warp))) == layout.registers


@few
@given(layouts())
def test_replicas_hold_the_same(layout: Layout) -> None:
    for lane, warp in threads(layout):
        home = lane & ~layout.replica_lanes, warp & ~layout.replica_warps
        assert held(layout, lane, warp) == held(layout, *home)


@few
@given(layouts(), st.data())
def test_a_permuted_layout_holds_the_permuted_coordinates(layout: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(layout.shape))))
    result = layout.permute(order)
    assert result.shape == tuple(layout.shape[a] for a in order)
    for lane, warp in threads(layout):
        moved = {tuple(at[a] for a in order) for at in held(layout, lane, warp)}
        assert moved == set(held(result, lane, warp))


@few
@given(layouts().filter(lambda layout: len(layout.shape) > 0), st.data())
def test_what_a_reduction_leaves(layout: Layout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(layout.shape) - 1))
    result = layout.drop_axis(axis)
    assert result.shape == layout.shape[:axis] + layout.shape[axis + 1 :]
    for lane, warp in threads(layout):
        left = {at[:axis] + at[axis + 1 :] for at in held(layout, lane, warp)}
        assert sorted(left) == sorted(held(result, lane, warp))


@few
@given(layouts(), st.data())
def test_a_new_axis_changes_nothing_else(layout: Layout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(layout.shape)))
    result = layout.add_axis(axis)
    assert result.shape == (*layout.shape[:axis], 1, *layout.shape[axis:])
    for lane, warp in threads(layout):
        assert held(result, lane, warp) == [(*at[:axis], 0, *at[axis:]) for at in held(layout, lane, warp)]
    assert result.drop_axis(axis) == layout


@few
@given(layouts().filter(lambda layout: len(layout.shape) > 0), st.data())
def test_a_collapsed_layout_has_what_a_broadcast_needs(layout: Layout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(layout.shape) - 1))
    source = layout.collapse_axis(axis)
    for lane, warp in threads(layout):
        needed = {(*at[:axis], 0, *at[axis + 1 :]) for at in held(layout, lane, warp)}
        assert needed == set(held(source, lane, warp))


@given(layouts(), st.data())
def test_other_extents_keep_the_base_tile(layout: Layout, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 2 * n)) for n in layout.shape)
    result = layout.with_shape(shape)
    assert (result.shape, result.base) == (shape, layout.base)


@few
@given(layouts(), st.data())
def test_contiguous_registers_lie_side_by_side(layout: Layout, data: st.DataObject) -> None:
    if not layout.shape:
        return
    axis = data.draw(st.integers(0, len(layout.shape) - 1))
    count = layout.contiguous(axis)
    step = tuple(int(a == axis) for a in range(len(layout.shape)))
    for lane, warp in threads(layout):
        coords = held(layout, lane, warp)
        for first in range(0, layout.registers, count):
            assert coords[first][axis] % count == 0
            for k in range(count):
                assert coords[first + k] == tuple(c + k * s for c, s in zip(coords[first], step, strict=True))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts of one shape and of as many threads, related in one of the ways that come up."""
    source = draw(layouts(max_rank=2, phantoms=draw(st.booleans())))
    regs, lanes, warps = list(source.regs), list(source.lanes), list(source.warps)
    match draw(st.sampled_from(["registers move", "repeats for registers", "threads move", "unrelated"])):
        case "registers move":
            regs = draw(st.permutations(regs))
        case "repeats for registers":
            regs = regs[: draw(st.integers(0, len(regs)))]
        case "threads move":
            both = draw(st.permutations([*lanes, *warps]))
            lanes, warps = both[:LANE_BITS], both[LANE_BITS:]
        case _:
            order = tuple(draw(st.permutations(range(len(source.shape)))))
            return source, coalesced(source.shape, order, draw(st.sampled_from([1, 2, 4])), source.num_warps)
    try:
        return source, Layout(source.shape, tuple(regs), tuple(lanes), tuple(warps))
    except ValueError:
        reject()


@given(pairs())
def test_relabelling_against_enumeration(pair: tuple[Layout, Layout]) -> None:
    source, result = pair
    chosen = relabel(source, result)
    fitting = [
        [
            s
            for s in range(source.registers)
            if all(
                source.coord(s, *thread) == result.coord(r, *thread)
                for thread in threads(result)
                if inside(result.coord(r, *thread), result.shape)
            )
        ]
        for r in range(result.registers)
    ]
    if chosen is not None:
        assert all(register in fits for register, fits in zip(chosen, fitting, strict=True))
        assert len(chosen) == result.registers
    elif not source.has_phantoms and not result.has_phantoms:
        assert not all(fitting)


def test_relabelling_between_permuted_registers() -> None:
    lanes = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
    a = Layout((16, 16), ((0, 1), (8, 0), (0, 8)), lanes, ())
    b = Layout((16, 16), ((0, 1), (0, 8), (8, 0)), lanes, ())
    assert relabel(a, b) == (0, 1, 4, 5, 2, 3, 6, 7)
    assert relabel(a, Layout((16, 16), ((0, 1),), lanes, ())) is not None  # repeats hold the same
    assert relabel(a, Layout((16, 16), a.regs, (*lanes[1:], lanes[0]), ())) is None
    assert relabel(a, a.with_shape((16, 32))) is None


SIDES = [1, 2, 3, 4, 7, 8, 16, 24, 32, 64, 96, 128]


@st.composite
def tiles(draw: st.DrawFn) -> tuple[Coord, Coord, int, int]:
    """Arguments of `coalesced`: a shape of at most 8192 elements, an order, a vector, warps."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        shape.append(draw(st.sampled_from([n for n in SIDES if n * prod(shape) <= 8192])))
    order = tuple(draw(st.permutations(range(len(shape)))))
    return tuple(shape), order, draw(st.sampled_from([1, 2, 4, 8, 16])), 1 << draw(st.integers(0, 2))


@given(tiles())
def test_the_default_layout_covers_and_coalesces(tile: tuple[Coord, Coord, int, int]) -> None:
    shape, order, vector, warps = tile
    layout = coalesced(shape, order, vector, warps)
    assert (layout.shape, layout.num_warps) == (shape, warps)
    assert {at for _, _, _, at in layout.elements()} == set(every(shape))
    if not shape:
        return
    fast = order[-1]
    # Registers run along the fastest axis only: as many as were asked for, fit, and leave work for each thread.
    assert all(basis[fast] for basis in layout.regs)
    wide = layout.contiguous(fast)
    assert wide == 1 << len(layout.regs) <= vector
    assert shape[fast] % wide == 0
    per_thread = prod(map(pow2_ceil, shape)) // layout.threads
    if wide * 2 <= vector and shape[fast] % (wide * 2) == 0:
        assert wide * 2 > max(1, per_thread)
    # Consecutive lanes hold consecutive vectors along it, until it is full.
    at = wide
    for basis in layout.lanes:
        if shape[fast] % (at * 2):
            break
        assert basis == tuple(at if axis == fast else 0 for axis in range(len(shape)))
        at *= 2


@given(tiles())
def test_the_default_layout_wastes_nothing_where_extents_are_powers_of_two(
    tile: tuple[Coord, Coord, int, int],
) -> None:
    shape, order, vector, warps = tile
    shape = tuple(map(pow2_ceil, shape))
    layout = coalesced(shape, order, vector, warps)
    assert not layout.has_phantoms
    replicas = layout.replica_lanes.bit_count() + layout.replica_warps.bit_count()
    # Threads repeat one another only where there are more of them than elements.
    assert replicas == 0 or layout.registers * layout.threads >> replicas == prod(shape) and layout.registers == 1


@given(tiles())
def test_the_default_layout_has_phantoms_only_where_it_must(tile: tuple[Coord, Coord, int, int]) -> None:
    shape, order, vector, warps = tile
    layout = coalesced(shape, order, vector, warps)
    exact = sum(pow2_divisor(n).bit_length() - 1 for n in shape)
    if exact >= LANE_BITS + warps.bit_length() - 1 + len(layout.regs):
        assert not layout.has_phantoms


@pytest.mark.parametrize(
    ("regs", "lanes", "warps", "message"),
    [
        ((), ROW[:4], (), "a layout has 5 lane bases, got 4"),
        ((), ((1, 0), *ROW[1:]), (), r"basis \[1, 0\] has 2 coordinates, the tile has rank 1"),
        (((3,),), ROW, (), r"basis \[3\] is not one power of two on one axis"),
        (((-2,),), ROW, (), r"basis \[-2\] is not one power of two on one axis"),
        (((16,),), ROW, (), r"two bases of the layout are \[16\]"),
        (((0,),), ROW, (), "a register basis is zero: a thread would hold an element twice"),
        ((), ROW, ((64,),), r"the bases of axis 0 leave a gap \(they cover 0x5f\)"),
    ],
)
def test_bases_that_make_no_layout(
    regs: tuple[Coord, ...], lanes: tuple[Coord, ...], warps: tuple[Coord, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Layout((64,), regs, lanes, warps)


@pytest.mark.parametrize("shape", [(0,), (-4,)])
def test_extents_are_positive(shape: Coord) -> None:
    with pytest.raises(ValueError, match=r"the extents .* are not all positive"):
        Layout(shape, (), ROW, ())
    with pytest.raises(ValueError, match=r"the extents .* are not all positive"):
        SharedLayout(shape, (0,))


# --- shared memory -----------------------------------------------------------------------------------------------


@given(shared_layouts())
def test_elements_in_shared_memory_lie_apart_and_inside(shared: SharedLayout) -> None:
    indices = [shared.index(at) for at in every(shared.shape)]
    assert len(set(indices)) == len(indices)
    assert min(indices) >= 0 and max(indices) < shared.size


@given(shared_layouts(), st.data())
def test_a_permuted_buffer_is_the_same_memory(shared: SharedLayout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shared.shape))))
    moved = shared.permute(order)
    assert moved.size == shared.size
    for at in every(shared.shape):
        assert moved.index(tuple(at[a] for a in order)) == shared.index(at)


@given(shared_layouts(), shared_layouts())
def test_equal_placement_is_equal_memory(a: SharedLayout, b: SharedLayout) -> None:
    """Buffers that differ in axes of extent 1 only, and are placed alike, hold their elements at the same indices."""
    long = [n for n in a.shape if n != 1]
    if a.placement != b.placement or long != [n for n in b.shape if n != 1]:
        return
    assert [a.index(at) for at in every(a.shape)] == [b.index(at) for at in every(b.shape)]


@given(shared_layouts())
def test_unit_axes_do_not_change_the_placement(shared: SharedLayout) -> None:
    order = (0, *(a + 1 for a in shared.order))
    grown = replace(shared, shape=(1, *shared.shape), order=order)
    if shared.shape:
        assert grown.placement == shared.placement
        assert [grown.index(at) for at in every(grown.shape)] == [shared.index(at) for at in every(shared.shape)]


@given(st.integers(1, 3), st.integers(0, 4), st.data())
def test_a_swizzle_keeps_chunks_whole(bits: int, base: int, data: st.DataObject) -> None:
    shift = data.draw(st.integers(bits, 5))
    shared = SharedLayout((16, 64), (0, 1), bits, base, shift)
    for row, column in every((16, 64)):
        assert shared.index((row, column)) % (1 << base) == column % (1 << base)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((4, 4), (0, 0)), r"order \[0, 0\] is not a permutation of the axes"),
        (((4, 4), (0,)), r"order \[0\] is not a permutation of the axes"),
        (((4, 4), (0, 1), 1, 0, 1, 4), "a shared layout is padded or swizzled, not both"),
        (((4, 4), (0, 1), 3, 0, 2), "a swizzle must shift by at least its number of bits"),
        (((4, 4), (0, 1), 0, 0, 0, -1), "swizzle, padding and panel are not negative"),
    ],
)
def test_what_makes_no_shared_layout(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SharedLayout(*arguments)  # type: ignore[arg-type]


def test_all_orders_of_one_tile_take_the_same_room() -> None:
    assert {SharedLayout((2, 3, 4), order).size for order in permutations(range(3))} == {24}
    assert LANE_BITS == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"panel": 48}, "a panel is a power of two, and its rows have no padding"),
        ({"panel": 64, "pad": 8}, "a panel is a power of two, and its rows have no padding"),
        ({"panel": -1}, "swizzle, padding and panel are not negative"),
    ],
)
def test_panels_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SharedLayout((16, 128), (0, 1), **fields)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("shape", [(16, 128), (64, 192), (8, 64), (128, 256)])
@pytest.mark.parametrize("panel", [16, 32, 64])
def test_panels_follow_one_another_as_tiles_of_their_own(
    shape: tuple[int, int], order: tuple[int, int], panel: int
) -> None:
    extents = shape if order == (0, 1) else shape[::-1]
    bits = panel.bit_length() - 4
    cut = SharedLayout(extents, order, bits, 3, 3, 0, panel)
    alone = SharedLayout((shape[0], panel) if order == (0, 1) else (panel, shape[0]), order, bits, 3, 3)
    assert cut.size == shape[0] * shape[1]
    for slow in range(0, shape[0], 3):
        for fast in range(shape[1]):
            at = (slow, fast) if order == (0, 1) else (fast, slow)
            inside = (slow, fast % panel) if order == (0, 1) else (fast % panel, slow)
            assert cut.index(at) == fast // panel * shape[0] * panel + alone.index(inside)
