"""Runs one block of a kernel with asynchronous units, warps interleaved at random; raises Fault where it goes wrong.

A warp may be held up at every access to what it shares with others. How eagerly each runs, and how late copies are
delivered, differs from run to run. `protocol_warp` says what each op does, `barrier_model` what may not be.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from barrier_model import Buffer, Fault, Loaded, Made, Mbarrier, Memory, Tile
from protocol_warp import Meeting, Store, Warp
from xdsl.ir import SSAValue

from tileopt.dialects import gpu_mbarrier, simt
from tileopt.dialects.kernel import MIN_BLOCKS
from tileopt.dialects.verifier import walk

PIECES = 2  # in which a bulk load is delivered


@dataclass
class _Flight:
    """A bulk load on its way."""

    content: Loaded
    barrier: Mbarrier
    phase: int
    bytes: int


@dataclass
class BlockRun:
    """One block's run. `given`: for each parameter an array's name and extents, or a number. `physical`: the number of
    the block, and of all, where the kernel deals out its grid's tiles itself; `ids` is its place in the grid where not.
    After it `stored` has what each tile of the outputs was made from, `products` each warp's products in order."""

    kernel: simt.Kernel
    given: Sequence[tuple[str, tuple[int, ...]] | int]
    seed: int
    ids: tuple[int, ...] = (0, 0, 0)
    grid: tuple[int, ...] = (1, 1, 1)
    physical: tuple[int, int] = (0, 1)
    stored: dict[Tile, Made] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        names = [g[0] if isinstance(g, tuple) else g for g in self.given]
        self.shapes: Mapping[str, tuple[int, ...]] = {g[0]: g[1] for g in self.given if isinstance(g, tuple)}
        self.arguments: dict[SSAValue, Any] = dict(zip(self.kernel.body.block.args, names, strict=True))
        threads = self.kernel.integer(simt.THREADS)
        assert threads is not None
        workers = self.kernel.integer(simt.WORKERS) or threads
        self.memory = Memory(self.kernel, range(workers // 32))
        self.barriers: dict[int, Mbarrier] = {}
        self.meetings: dict[int, Meeting] = {}
        self.flights: list[_Flight] = []
        self.stores: list[Store] = []
        self.launched = self.registers(threads)
        self.free_registers = 0
        self.warps: list[Warp] = []
        self.warps = [Warp(self, number) for number in range(threads // 32)]
        self.play()
        self.products = [warp.products for warp in self.warps]

    def registers(self, threads: int) -> int:
        """Of a thread at launch: what the block's share of the file allows, no more than any role takes."""
        asked = [op.registers.value.data for op in walk(self.kernel) if isinstance(op, gpu_mbarrier.SetMaxRegisters)]
        blocks = self.kernel.integer(MIN_BLOCKS) or 1
        return min(65536 // (blocks * threads) // 8 * 8, max(asked, default=255))

    def play(self) -> None:
        alive = list(self.warps)
        pace = {warp: self.random.choice([0.01, 0.3, 1.0]) for warp in alive}
        lateness = self.random.choice([0.0, 0.05, 0.5])
        while alive:
            # Warps that wait are looked at in random order, most willing ones first.
            order = sorted(alive, key=lambda warp: self.random.random() / pace[warp])
            chosen = next((warp for warp in order if warp.waits is None or warp.waits()), None)
            if self.flights and (chosen is None or self.random.random() < lateness):
                self.deliver()
            elif chosen is None:
                raise Fault(f"{len(alive)} warps wait for what never comes")
            else:
                running = True
                for _ in range(self.random.choice([1, 1, 4, 64])):
                    running = chosen.advance()
                    if not running or chosen.waits is not None:
                        break
                if not running:
                    alive.remove(chosen)
        if self.flights:
            raise Fault("the block ends while bulk loads fill its memory")

    # --- bulk copies -----------------------------------------------------------------------------------------------

    def load(self, tile: Tile, buffer: Buffer, barrier: Mbarrier) -> None:
        if not barrier.known:
            raise Fault("the copy engine does not know the barrier: no fence behind its making")
        content = Loaded(tile, PIECES)
        self.memory.overwrite(buffer, content)
        self.flights += [_Flight(content, barrier, barrier.phase, buffer.bytes // PIECES) for _ in range(PIECES)]

    def deliver(self) -> None:
        flight = self.flights.pop(self.random.randrange(len(self.flights)))
        flight.content.missing -= 1
        flight.barrier.delivered(flight.bytes, flight.phase)

    def bulk_store(self, buffer: Buffer, array: str, offsets: tuple[int, ...]) -> Store:
        made, reading = self.memory.begin_reading(buffer, "a bulk store")
        box = tuple(range(at, at + n) for at, n in zip(offsets, buffer.type.get_shape(), strict=True))
        for other in self.stores:
            meets = all(max(a.start, b.start) < min(a.stop, b.stop) for a, b in zip(box, other.box, strict=True))
            if not other.written and other.array == array and meets:
                raise Fault("two bulk stores to one place may overtake one another")
        self.store(array, offsets, made)
        store = Store(reading, array, box)
        self.stores.append(store)
        return store

    def store(self, array: str, offsets: tuple[int, ...], made: Made) -> None:
        self.stored[array, offsets] = made
