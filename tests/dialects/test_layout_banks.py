"""Bank conflicts against a count by hand, and the choice of a swizzle against every candidate."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layout_strategies import layouts

from tileopt.dialects.layout import WARP_SIZE, Coord, Layout, SharedLayout, coalesced
from tileopt.dialects.layout_banks import (
    Access,
    Wavefronts,
    bank_conflicts,
    fragment_accesses,
    is_linear,
    matrix_access,
    shared_vector,
    wavefronts,
)
from tileopt.dialects.swizzle import candidates, choose_swizzle


def by_hand(access: Access, shared: SharedLayout, element_bytes: int) -> Wavefronts:
    """Byte by byte: the lanes of a phase, the bank and the word of each byte."""
    size = access.vector * element_bytes
    lanes = {16: 8, 8: 16}.get(size, 32)
    actual = ideal = 0
    for first in range(0, len(access.lanes), lanes):
        banks: dict[int, set[int]] = defaultdict(set)
        for at in access.lanes[first : first + lanes]:
            start = shared.index(at) * element_bytes
            for byte in range(start, start + size):
                banks[byte // 4 % 32].add(byte // 128)
        actual += max(len(words) for words in banks.values())
        ideal += -(-sum(len(words) for words in banks.values()) // 32)
    return Wavefronts(actual, ideal)


def in_full(layout: Layout, shared: SharedLayout, vector: int, element_bytes: int) -> Wavefronts:
    """The costliest warp, every access of it."""
    costs = []
    for warp in range(layout.num_warps):
        each = [by_hand(access, shared, element_bytes) for access in fragment_accesses(layout, vector, warp)]
        costs.append(Wavefronts(sum(c.actual for c in each), sum(c.ideal for c in each)))
    return max(costs, key=lambda cost: (cost.actual, cost.ideal))


@st.composite
def staged(draw: st.DrawFn) -> tuple[Layout, SharedLayout, int]:
    """A fragment, a buffer of its shape and the bytes of an element; mostly of powers of two, as in practice."""
    layout = draw(layouts(max_rank=2, phantoms=draw(st.booleans())))
    order = tuple(draw(st.permutations(range(len(layout.shape)))))
    if draw(st.booleans()):
        bits = draw(st.integers(1, 3))
        shift, panel = draw(st.integers(bits, 5)), draw(st.sampled_from([0, 2, 8]))
        drawn = SharedLayout(layout.shape, order, bits, draw(st.integers(0, 4)), shift, panel=panel)
    else:
        drawn = SharedLayout(layout.shape, order, pad=draw(st.integers(0, 8)))
    return layout, drawn, draw(st.sampled_from([1, 2, 4, 8]))


@settings(max_examples=60)
@given(staged())
def test_a_vector_lies_side_by_side_and_aligned(case: tuple[Layout, SharedLayout, int]) -> None:
    layout, shared, element_bytes = case
    vector = shared_vector(layout, shared, element_bytes)
    assert vector & (vector - 1) == 0 and vector * element_bytes <= 16
    for lane, warp in product(range(WARP_SIZE), range(layout.num_warps)):
        for first in range(0, layout.registers, vector):
            coords = [layout.coord(first + k, lane, warp) for k in range(vector)]
            inside = [all(c < n for c, n in zip(at, layout.shape, strict=True)) for at in coords]
            if not any(inside):
                continue
            assert all(inside)  # a vector is inside the tile or outside of it as a whole
            start = shared.index(coords[0])
            assert start % vector == 0
            assert [shared.index(at) for at in coords] == list(range(start, start + vector))


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        (SharedLayout((16, 64), (0, 1)), 8),
        (SharedLayout((16, 64), (0, 1), 3, 3, 3), 8),
        (SharedLayout((16, 64), (0, 1), 3, 1, 5), 2),  # chunks of two elements trade places
        (SharedLayout((16, 64), (0, 1), pad=4), 4),
        (SharedLayout((16, 64), (0, 1), pad=1), 1),
        (SharedLayout((16, 64), (1, 0)), 1),
        (SharedLayout((16, 64), (0, 1), panel=4), 4),
    ],
)
def test_vectors_of_rows(shared: SharedLayout, expected: int) -> None:
    assert shared_vector(coalesced((16, 64), (0, 1), 8, 1), shared, 2) == expected


@settings(max_examples=60)
@given(staged())
def test_wavefronts_against_a_count_by_hand(case: tuple[Layout, SharedLayout, int]) -> None:
    layout, shared, element_bytes = case
    vector = shared_vector(layout, shared, element_bytes)
    for access in fragment_accesses(layout, vector):
        cost = wavefronts(access, shared, element_bytes)
        assert cost == by_hand(access, shared, element_bytes)
        assert cost.excess >= 0
    assert bank_conflicts(layout, shared, vector, element_bytes) == in_full(layout, shared, vector, element_bytes)


def test_one_access_stands_for_all_only_where_addresses_are_linear() -> None:
    rows = coalesced((32, 32), (0, 1), 1, 2)
    assert is_linear(rows, SharedLayout((32, 32), (0, 1), 3, 2, 3))
    assert not is_linear(rows, SharedLayout((32, 32), (0, 1), pad=1))
    assert not is_linear(coalesced((48, 32), (0, 1), 1, 1), SharedLayout((48, 32), (0, 1), panel=8))
    assert not is_linear(coalesced((32, 24), (0, 1), 1, 2), SharedLayout((32, 24), (0, 1)))


@pytest.mark.parametrize(
    ("pad", "vector", "order", "expected"),
    [
        (0, 1, (0, 1), Wavefronts(32, 32)),  # rows: a wavefront for each of 32
        (0, 1, (1, 0), Wavefronts(1024, 32)),  # columns: all lanes in one bank
        (1, 1, (1, 0), Wavefronts(32, 32)),  # the textbook's padding
        (0, 4, (0, 1), Wavefronts(32, 32)),  # vectors of 16 bytes along rows
    ],
)
def test_a_square_of_floats(pad: int, vector: int, order: Coord, expected: Wavefronts) -> None:
    shared = SharedLayout((32, 32), (0, 1), pad=pad)
    assert bank_conflicts(coalesced((32, 32), order, vector, 1), shared, vector, 4) == expected


def test_a_vector_that_no_thread_holds_is_refused() -> None:
    shared = SharedLayout((32, 32), (0, 1), pad=1)
    with pytest.raises(ValueError, match="a thread holds 1 elements side by side in shared memory, not 4"):
        bank_conflicts(coalesced((32, 32), (0, 1), 4, 1), shared, 4, 4)


def test_phantoms_take_no_part() -> None:
    layout = coalesced((4, 3), (0, 1), 1, 1)
    accesses = list(fragment_accesses(layout, 1))
    assert layout.has_phantoms and sum(len(access.lanes) for access in accesses) >= 12
    assert all(row < 4 and column < 3 for access in accesses for row, column in access.lanes)


# --- choosing ----------------------------------------------------------------------------------------------------


def stores_and_matrices(shape: Coord, element_bytes: int) -> list[Access]:
    """What a product's operand sees: rows stored in vectors of 16 bytes, 8x8 matrices read at several places."""
    chunk = 16 // element_bytes
    store = next(fragment_accesses(coalesced(shape, (0, 1), chunk, 4), chunk))
    origins = [(0, 0), (8, 0), (0, shape[1] - chunk), (shape[0] - 8, shape[1] // 2 // chunk * chunk)]
    return [store, *(matrix_access(shape, (0, 1), element_bytes, at) for at in origins)]


@pytest.mark.parametrize("element_bytes", [1, 2, 4])
@pytest.mark.parametrize("rows", [16, 64, 128])
@pytest.mark.parametrize("row_bytes", [16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512])
def test_operands_of_products_meet_no_conflict(rows: int, row_bytes: int, element_bytes: int) -> None:
    shape = (rows, row_bytes // element_bytes)
    accesses = stores_and_matrices(shape, element_bytes)
    # The vector store of a tile with phantoms is not all of one row: the matrices must be free of conflicts there.
    readers = accesses if row_bytes & (row_bytes - 1) == 0 else accesses[1:]
    shared = choose_swizzle(shape, (0, 1), element_bytes, readers)
    assert [wavefronts(access, shared, element_bytes).excess for access in readers] == [0] * len(readers)
    # Chunks stay whole and aligned, so that ldmatrix and vector accesses are legal.
    for row in range(min(rows, 16)):
        for column in range(0, shape[1], 16 // element_bytes):
            start = shared.index((row, column)) * element_bytes
            assert start % 16 == 0
            chunk = [shared.index((row, column + k)) * element_bytes for k in range(16 // element_bytes)]
            assert chunk == list(range(start, start + 16, element_bytes))


@pytest.mark.parametrize(("row_bytes", "bits"), [(32, 1), (64, 2), (128, 3)])
def test_rows_of_a_line_or_less_get_the_swizzle_of_the_hardware(row_bytes: int, bits: int) -> None:
    """TMA's and wgmma's 32, 64 and 128-byte modes XOR address bits 4 and up with bits 7 and up."""
    shape = (64, row_bytes // 2)
    shared = choose_swizzle(shape, (0, 1), 2, stores_and_matrices(shape, 2))
    assert (shared.bits, shared.base, shared.shift, shared.pad) == (bits, 3, 3, 0)


@st.composite
def wanted(draw: st.DrawFn) -> tuple[Coord, Coord, int, list[Access]]:
    shape = (draw(st.sampled_from([8, 16, 24, 32])), draw(st.sampled_from([8, 16, 24, 32, 40, 64])))
    order = tuple(draw(st.permutations(range(2))))
    element_bytes = draw(st.sampled_from([2, 4]))
    readers: list[Access] = []
    for _ in range(draw(st.integers(0, 3))):
        axes = tuple(draw(st.permutations(range(2))))
        vector = draw(st.sampled_from([1, 2, 4])) if axes == order else 1
        layout = coalesced(shape, axes, vector, 1)
        readers.append(next(fragment_accesses(layout, layout.contiguous(axes[-1]))))
    return shape, order, element_bytes, readers


@given(wanted())
def test_no_candidate_is_better(case: tuple[Coord, Coord, int, list[Access]]) -> None:
    shape, order, element_bytes, readers = case
    chosen = choose_swizzle(shape, order, element_bytes, readers)

    def excess(shared: SharedLayout) -> int:
        return sum(wavefronts(access, shared, element_bytes).excess for access in readers)

    all_of_them = list(candidates(shape, order, element_bytes, 16))
    assert chosen in all_of_them
    assert excess(chosen) == min(map(excess, all_of_them))
    # Of those that are as good, the first: nothing is swizzled or padded without need.
    assert chosen == next(shared for shared in all_of_them if excess(shared) == excess(chosen))
    assert chosen == choose_swizzle(shape, order, element_bytes, list(readers))


@given(wanted())
def test_a_swizzle_does_not_grow_the_buffer(case: tuple[Coord, Coord, int, list[Access]]) -> None:
    shape, order, element_bytes, readers = case
    chosen = choose_swizzle(shape, order, element_bytes, readers)
    assume(not chosen.pad)
    assert chosen.size == shape[0] * shape[1]


@pytest.mark.parametrize("row", range(8, 41))
def test_rows_begin_at_whole_chunks(row: int) -> None:
    for shared in candidates((8, row), (0, 1), 2, 16):
        assert all(shared.index((r, 0)) % 8 == 0 for r in range(8))


def test_smaller_chunks_serve_a_transpose_through_shared_memory() -> None:
    rows, columns = coalesced((32, 32), (0, 1), 1, 1), coalesced((32, 32), (1, 0), 1, 1)
    readers = [next(fragment_accesses(layout, 1)) for layout in (rows, columns)]
    free = choose_swizzle((32, 32), (0, 1), 4, readers, chunk_bytes=4)
    assert [bank_conflicts(layout, free, 1, 4) for layout in (rows, columns)] == [Wavefronts(32, 32)] * 2
    # With chunks of 16 bytes, columns can reach a quarter of the banks only.
    whole = choose_swizzle((32, 32), (0, 1), 4, readers)
    assert bank_conflicts(columns, whole, 1, 4) == Wavefronts(128, 32)


@pytest.mark.parametrize("shape", [(), (1,), (100,), (8, 3)])
def test_what_has_no_rows_of_chunks_stays_plain(shape: Coord) -> None:
    order = tuple(range(len(shape)))
    assert choose_swizzle(shape, order, 4, []) == SharedLayout(shape, order)
