"""`tcgen05`: tensor memory of a block, products into it, and what lanes read of it.

A committed product is made when no thread can go on without it, and not before: what its operands hold may be
overwritten until then. Until some thread has seen the end of the barrier's phase, its columns may not be touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model.barriers import arrive_at
from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.products import answer, element_words, fragment, ordered, shared_matrix, words
from tileopt.backends.cpu.model.state import Block, Description, Thread, Transfer
from tileopt.backends.cpu.reference.matrices import product
from tileopt.backends.nvidia.atoms.tcgen05 import TCGEN05
from tileopt.dialects.gpu_tensor import COLUMNS, LANES, LEAST_COLUMNS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


REFERENCES = {atom.name: atom.reference for atom in TCGEN05}


@dataclass(eq=False)
class Product:
    """A product that may be under way. `told`: the barriers at which commits said, or will say, that it is done."""

    thread: Thread
    columns: slice
    make: Callable[[], None]
    done: bool = False
    told: set[int] = field(default_factory=set)

    def meets(self, start: int, count: int) -> bool:
        return bool(self.columns.start < start + count and start < self.columns.stop)

    def run(self) -> None:
        if not self.done:
            self.done = True
            self.make()


class TensorMemory:
    """128 lanes of 512 columns. `taken`: first column to how many were taken there. `flying`: products whose end no
    thread has seen, in the order in which they were started."""

    def __init__(self) -> None:
        import numpy as np

        self.cells = np.full((LANES, COLUMNS), 0xA5A5A5A5, np.uint32)
        self.taken: dict[int, int] = {}
        self.closed = False  # the block takes no more
        self.flying: list[Product] = []

    def see(self, barrier: int) -> None:
        """A thread knows that a phase of this barrier has ended."""
        self.flying = [p for p in self.flying if not (p.done and barrier in p.told)]

    def take(self, columns: int) -> int | None:
        """The first free columns; None where there are not so many side by side."""
        for start in range(0, COLUMNS - columns + 1, LEAST_COLUMNS):
            if all(at + n <= start or start + columns <= at for at, n in self.taken.items()):
                self.taken[start] = columns
                return start
        return None

    def columns(self, address: int, count: int, asked: Description, by: Thread | None = None) -> slice:
        """Columns that were taken. Raises DeviceError for others, and for those to which a product may be adding that
        another thread than `by` started."""
        start = address & 0xFFFF
        if not any(at <= start and start + count <= at + n for at, n in self.taken.items()):
            raise asked.error("tensor-memory", f"{asked.op} reaches columns {start} to {start + count}, not all taken")
        if any(p.meets(start, count) and p.thread is not by for p in self.flying):
            raise asked.error(
                "tensor-memory",
                f"{asked.op} reaches columns {start} to {start + count}, where a product may be under way",
                "commit the products to a barrier, and wait for the end of its phase before",
            )
        return slice(start, start + count)


def _memory(block: Block) -> TensorMemory:
    if block.tensor is None:
        block.tensor = TensorMemory()
    found: TensorMemory = block.tensor
    return found


def _alloc(threads: list[Thread], asked: Description) -> bool:
    import numpy as np

    block, address = threads[0].block, threads[0].operands()[0]
    if _memory(block).closed:
        raise asked.error("tensor-memory", "the block has said before that it takes no more columns")
    start = _memory(block).take(int(asked["columns"]))
    if start is None:
        return False
    block.part(address, 4, asked).view(np.uint32)[0] = start
    return True


def _relinquish(threads: list[Thread], asked: Description) -> None:
    _memory(threads[0].block).closed = True


def _dealloc(threads: list[Thread], asked: Description) -> None:
    memory, start = _memory(threads[0].block), threads[0].operands()[0] & 0xFFFF
    if memory.taken.get(start) != int(asked["columns"]):
        raise asked.error("tensor-memory", f"{asked['columns']} columns from {start} on were not taken together")
    memory.columns(start, int(asked["columns"]), asked)
    del memory.taken[start]


def _mma(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        _begin(thread, asked)


def _begin(thread: Thread, asked: Description) -> None:
    import numpy as np

    d, accumulate, a_at, b_at = thread.operands()
    block, described = thread.block, asked["memory"]
    memory, n = _memory(block), described[1]["shape"][1 if asked.get("trans_b") else 0]
    place = memory.columns(d, n, asked, thread)

    def make() -> None:
        a = shared_matrix(block, a_at, described[0], asked["a_type"], asked)
        b = shared_matrix(block, b_at, described[1], asked["b_type"], asked)
        a, b = a.T if asked.get("trans_a") else a, b.T if asked.get("trans_b") else b
        cells = memory.cells[:, place]
        before = np.ascontiguousarray(cells).view(np.float32) if accumulate & 1 else np.zeros(cells.shape, np.float32)
        memory.cells[:, place] = product(a, b, before, "f32").view(np.uint32)

    memory.flying.append(Product(thread, place, make))


def _commit(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        _commit_one(thread, asked)


def _commit_one(thread: Thread, asked: Description) -> None:
    block, barrier = thread.block, thread.operands()[0]
    mine = [p for p in _memory(block).flying if p.thread is thread]
    for one in mine:
        one.told.add(barrier)

    def make() -> None:
        for one in mine:
            one.run()
        arrive_at(block, barrier, asked)

    block.late.append(Transfer(make))


def _cells(threads: list[Thread], count: int, asked: Description) -> tuple[Array, slice]:
    """The warp's lanes of tensor memory, and the columns that its address names."""
    first = threads[0]
    memory, address = _memory(first.block), first.operands()[0]
    lane = address >> 16 & 0xFFFF
    mine = 32 * (first.warp % 4)
    if lane not in (0, mine):
        raise asked.error("tensor-memory", f"warp {first.warp} reaches lanes {mine} to {mine + 31}, not {lane}")
    return memory.cells[mine : mine + 32], memory.columns(address, count, asked)


def _load(threads: list[Thread], asked: Description) -> None:
    lanes = ordered(threads)
    cells, columns = _cells(lanes, asked.results, asked)
    answer(lanes, cells[:, columns])


def _store(threads: list[Thread], asked: Description) -> None:
    lanes = ordered(threads)
    cells, columns = _cells(lanes, asked.operands - 1, asked)
    cells[:, columns] = words(lanes)[:, 1:]


# --- accumulators of tiles: see dialects.gpu_accumulator -------------------------------------------------------------


def _accumulate(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        if thread.rank == 0:
            _begin_tile(thread, asked)


def _begin_tile(thread: Thread, asked: Description) -> None:
    import numpy as np

    a_at, b_at, d = thread.operands()
    block, described = thread.block, asked["memory"]
    (m, _), (_, n) = described[0]["shape"], described[1]["shape"]
    reference = REFERENCES.get(asked["atom"])
    if reference is None:
        raise asked.error("atom", f"{asked.op}: there is no atom {asked['atom']}")
    memory, rows = _memory(block), m // LANES
    place = memory.columns(d, rows * n, asked, thread)
    kind = np.int32 if asked["atom"].endswith("_i32") else np.float32

    def make() -> None:
        a, b = (
            shared_matrix(block, at, one, one["element"], asked)
            for at, one in zip((a_at, b_at), described, strict=True)
        )
        cells = np.ascontiguousarray(memory.cells[:, place]).view(kind).reshape(LANES, rows, n)
        before = np.zeros((m, n), kind) if asked.get("fresh") else cells.transpose(1, 0, 2).reshape(m, n)
        made = reference(a, b, before).reshape(rows, LANES, n).transpose(1, 0, 2).reshape(LANES, rows * n)
        memory.cells[:, place] = np.ascontiguousarray(made).view(np.uint32)

    memory.flying.append(Product(thread, place, make))


def _tile_cells(threads: list[Thread], asked: Description, address: int) -> tuple[Array, Array, Array]:
    """(cells, lanes of tensor memory, columns) of each thread's registers. Raises DeviceError for another warp's."""
    m, n = asked["shape"]
    rows, columns, _ = fragment(threads, asked["layout"], (m, n))
    memory = _memory(threads[0].block)
    place = memory.columns(address, m // LANES * n, asked)
    first = 32 * (threads[0].warp % 4)
    lanes = rows % LANES
    if (lanes // 32 * 32 != first).any():
        raise asked.error("tensor-memory", f"warp {threads[0].warp} reaches lanes {first} to {first + 31} only")
    return memory.cells, lanes, place.start + rows // LANES * n + columns


def _tile_load(threads: list[Thread], asked: Description) -> None:
    warp = ordered(threads)
    cells, lanes, columns = _tile_cells(warp, asked, warp[0].operands()[0])
    answer(warp, cells[lanes, columns])


def _tile_store(threads: list[Thread], asked: Description) -> None:
    import numpy as np

    warp = ordered(threads)
    given = words(warp)
    cells, lanes, columns = _tile_cells(warp, asked, int(given[0, -1]))
    element, _ = asked["fragments"][0]
    cells[lanes, columns] = np.ascontiguousarray(element_words(given[:, :-1], element)).view(np.uint32)


def _pass(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        thread.answer(thread.operands())


MODELS = {
    "gpu.tcgen05_alloc": Model(_alloc, "warp", whole=True),
    "gpu.tcgen05_relinquish": Model(_relinquish, "warp", whole=True),
    "gpu.tcgen05_dealloc": Model(_dealloc, "warp", whole=True),
    "gpu.tcgen05_mma": Model(_mma),
    "gpu.tcgen05_commit": Model(_commit),
    "gpu.tcgen05_ld": Model(_load, "warp", whole=True),
    "gpu.tcgen05_st": Model(_store, "warp", whole=True),
    "gpu.tcgen05_wait": Model(_pass, "warp", whole=True),
    "gpu.tcgen05_fence": Model(_pass),
    "gpu.accumulate": Model(_accumulate),
    "gpu.accumulator_load": Model(_tile_load, "warp", whole=True),
    "gpu.accumulator_store": Model(_tile_store, "warp", whole=True),
}
