"""The protocol of kernels with asynchronous units: any interleaving computes the same, and nothing is touched too soon.

Kernels are taken as they leave the last pass, and run warp by warp (see `protocol_checker`). `test_role_faults` shows
what that finds.
"""

from __future__ import annotations

import pytest
from barrier_model import Made
from barrier_model import Tile as Place
from role_programs import BLOCKS, Tile, flash, gemm, run_flash, run_gemm, workers
from xdsl.dialects.builtin import ModuleOp

TRIPS = (0, 1, 2, 7)


def check_gemm(module: ModuleOp, tile: Tile, trips: int, seed: int) -> None:
    bm, bn, bk = tile
    stored: dict[Place, Made] = {}
    for block in range(BLOCKS):
        done = run_gemm(module, tile, trips, seed, block)
        assert not stored.keys() & done.stored.keys()
        stored |= done.stored
        for products in done.products[: workers(module)]:
            before = None
            for number, (a, b) in enumerate(products):
                ((left, (row, at)),), ((right, (down, column)),) = a, b
                assert (left, at, right, down) == ("a", number % trips * bk, "b", number % trips * bk)
                assert number % trips == 0 or (row, column) == before
                before = row, column
        assert not any(done.products[workers(module) :])
    width = 2 * bn * 3 // len(stored)
    assert len(stored) % 6 == 0 and width <= bn
    for i in range(3):
        for j in range(2):
            made = {("a", (i * bm, k * bk)) for k in range(trips)} | {("b", (k * bk, j * bn)) for k in range(trips)}
            for column in range(j * bn, (j + 1) * bn, width):
                assert stored["out", (i * bm, column)] == made


GEMMS = [(64, 64, 64), (128, 128, 64), (128, 256, 64), (256, 64, 32), (64, 256, 64)]


@pytest.mark.parametrize("tile", GEMMS, ids=str)
def test_products(tile: Tile) -> None:
    for trips in TRIPS:
        for seed in range(4):
            check_gemm(gemm(*tile), tile, trips, seed)


def test_four_consumer_warpgroups() -> None:
    """More of the threads' registers are given to consumers than the producer leaves: they would wait for ever."""
    check_gemm(gemm(256, 128, 32, warps=16), (256, 128, 32), 2, 0)


def test_stores_of_threads() -> None:
    """Arrays that the copy engine cannot write."""
    for seed in range(2):
        check_gemm(gemm(128, 128, 64, out="bf16[?, ?]"), (128, 128, 64), 2, seed)


@pytest.mark.parametrize("tile", [(64, 64, 4), (64, 4, 16), (4, 4, 4)], ids=str)
def test_tiles_too_narrow_for_the_copy_engine(tile: Tile) -> None:
    assert "gpu.tma_load" not in str(gemm(*tile))


def check_flash(module: ModuleOp, bm: int, bn: int, d: int, causal: bool, trips: int, seed: int) -> None:
    stored: dict[Place, Made] = {}
    for block in range(4):
        done = run_flash(module, bm, bn, d, trips, seed, block)
        assert not stored.keys() & done.stored.keys()
        stored |= done.stored
        ((head, row),) = {(at[0], at[1]) for _, at in done.stored}
        last = min(trips, -(-(row + bm) // bn)) if causal else trips
        query = ("q", (head, row, 0))
        keys, values = ([(name, (head, j * bn, 0)) for j in range(last)] for name in "kv")
        for products in done.products[: workers(module)]:
            scores = [b for a, b in products if a == {query}]
            assert scores == [{key} for key in keys]
            sums = [(a, b) for a, b in products if a != {query}]
            # Weights come of all keys so far: of earlier ones by the largest score.
            assert sums == [({query, *keys[: j + 1]}, {values[j]}) for j in range(last)]
        assert not any(done.products[workers(module) :])
        assert all(made == ({query, *keys, *values} if last else set()) for made in done.stored.values())
    assert len({(at[0], at[1]) for _, at in stored}) == 4


FLASHES = [(128, 128, 128, False), (128, 64, 64, True), (64, 64, 64, False), (64, 128, 128, False)]


@pytest.mark.parametrize("shape", FLASHES, ids=str)
def test_attention(shape: tuple[int, int, int, bool]) -> None:
    for trips in TRIPS:
        for seed in range(2):
            check_flash(flash(*shape), *shape, trips, seed)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_turns(causal: bool, late: bool) -> None:
    """Two warpgroups; more iterations than slots, and several tiles of a persistent block."""
    shape = (128, 64, 64, causal)
    for trips in (*TRIPS, 9):
        for seed in range(2):
            check_flash(flash(*shape, late=late, turns=True), *shape, trips, seed)


@pytest.mark.parametrize("late", [False, True])
def test_when_products_are_waited_for(late: bool) -> None:
    for causal in (False, True):
        shape = (64, 64, 64, causal)
        for trips in (*TRIPS, 15):  # more than there are slots
            for seed in range(2):
                check_flash(flash(*shape, late=late), *shape, trips, seed)
