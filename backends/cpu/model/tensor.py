"""`tcgen05`: tensor memory of a block, products into it, and what lanes read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model.barriers import arrive_at
from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.products import answer, ordered, shared_matrix, words
from tileopt.backends.cpu.model.state import Block, Description, Thread
from tileopt.backends.cpu.reference.matrices import product
from tileopt.dialects.gpu_tensor import COLUMNS, LANES, LEAST_COLUMNS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class TensorMemory:
    """128 lanes of 512 columns. `taken`: first column to how many were taken there."""

    def __init__(self) -> None:
        import numpy as np

        self.cells = np.full((LANES, COLUMNS), 0xA5A5A5A5, np.uint32)
        self.taken: dict[int, int] = {}

    def take(self, columns: int) -> int | None:
        """The first free columns; None where there are not so many side by side."""
        for start in range(0, COLUMNS - columns + 1, LEAST_COLUMNS):
            if all(at + n <= start or start + columns <= at for at, n in self.taken.items()):
                self.taken[start] = columns
                return start
        return None

    def columns(self, address: int, count: int, asked: Description) -> slice:
        """Columns that were taken. Raises DeviceError for others."""
        start = address & 0xFFFF
        if not any(at <= start and start + count <= at + n for at, n in self.taken.items()):
            raise asked.error("tensor-memory", f"{asked.op} reaches columns {start} to {start + count}, not all taken")
        return slice(start, start + count)


def _memory(block: Block) -> TensorMemory:
    if block.tensor is None:
        block.tensor = TensorMemory()
    found: TensorMemory = block.tensor
    return found


def _alloc(threads: list[Thread], asked: Description) -> bool:
    import numpy as np

    block, address = threads[0].block, threads[0].operands()[0]
    start = _memory(block).take(int(asked["columns"]))
    if start is None:
        return False
    block.part(address, 4, asked).view(np.uint32)[0] = start
    return True


def _dealloc(threads: list[Thread], asked: Description) -> None:
    taken, start = _memory(threads[0].block).taken, threads[0].operands()[0] & 0xFFFF
    if taken.get(start) != int(asked["columns"]):
        raise asked.error("tensor-memory", f"{asked['columns']} columns from {start} on were not taken together")
    del taken[start]


def _mma(threads: list[Thread], asked: Description) -> None:
    import numpy as np

    for thread in threads:
        d, accumulate, a_at, b_at = thread.operands()
        block, memory = thread.block, asked["memory"]
        a = shared_matrix(block, a_at, memory[0], asked["a_type"], asked)
        b = shared_matrix(block, b_at, memory[1], asked["b_type"], asked)
        a, b = a.T if asked.get("trans_a") else a, b.T if asked.get("trans_b") else b
        place = _memory(block).columns(d, len(b), asked)
        cells = _memory(block).cells[:, place]
        before = np.ascontiguousarray(cells).view(np.float32) if accumulate & 1 else np.zeros(cells.shape, np.float32)
        _memory(block).cells[:, place] = product(a, b, before, "f32").view(np.uint32)


def _commit(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        arrive_at(thread.block, thread.operands()[0], asked)


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


def _pass(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        thread.answer(thread.operands())


MODELS = {
    "gpu.tcgen05_alloc": Model(_alloc, "warp", whole=True),
    "gpu.tcgen05_dealloc": Model(_dealloc, "warp", whole=True),
    "gpu.tcgen05_mma": Model(_mma),
    "gpu.tcgen05_commit": Model(_commit),
    "gpu.tcgen05_ld": Model(_load, "warp", whole=True),
    "gpu.tcgen05_st": Model(_store, "warp", whole=True),
    "gpu.tcgen05_wait": Model(_pass, "warp", whole=True),
    "gpu.tcgen05_fence": Model(_pass),
}
