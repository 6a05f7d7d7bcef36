"""`mbarrier` in the model: barriers by their place in shared memory."""

from __future__ import annotations

from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Block, Description, Thread
from tileopt.backends.cpu.reference.barriers import MemoryBarrier

BYTES = 8


def barrier_at(block: Block, address: int, asked: Description) -> MemoryBarrier:
    """Raises DeviceError where there is none."""
    block.offset(address, BYTES, asked)
    found = block.barriers.get(address)
    if found is None:
        raise asked.error("barrier", f"{asked.op} at a barrier that was not made", "call simt.mbarrier_init() before")
    return found


def arrive_at(block: Block, address: int, asked: Description) -> None:
    """Raises DeviceError for more arrivals than the phase expects."""
    try:
        barrier_at(block, address, asked).arrive()
    except ValueError as error:
        raise asked.error("barrier", f"{asked.op}: {error}") from None


def _init(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        address = thread.operands()[0]
        thread.block.offset(address, BYTES, asked)
        thread.block.barriers[address] = MemoryBarrier(int(asked["count"]))


def _inval(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        address = thread.operands()[0]
        barrier_at(thread.block, address, asked)
        del thread.block.barriers[address]


def _arrive(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        address, *where = thread.operands()
        if where and not where[0] & 1:
            continue
        if asked.get("expect"):
            barrier_at(thread.block, address, asked).expect(int(asked["expect"]))
        arrive_at(thread.block, address, asked)


def _passed(thread: Thread, asked: Description) -> bool:
    address, phase = thread.operands()
    passed = barrier_at(thread.block, address, asked).passed(phase & 1)
    if passed and thread.block.tensor is not None:
        thread.block.tensor.see(address)
    return passed


def _wait(threads: list[Thread], asked: Description) -> bool:
    return _passed(threads[0], asked)


def _try_wait(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        thread.answer(int(_passed(thread, asked)))


def _remote_arrive(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        address, rank, *where = thread.operands()
        block = thread.block
        if where and not where[0] & 1:
            continue
        if not 0 <= rank < len(block.cluster):
            raise asked.error("rank", f"block {rank} of a cluster of {len(block.cluster)}")
        other = block.cluster[rank]
        arrive_at(other, other.base + block.offset(address, BYTES, asked), asked)


def _nothing(threads: list[Thread], asked: Description) -> None:
    """Threads run in order, and have registers without end."""


MODELS = {
    "gpu.mbarrier_init": Model(_init),
    "gpu.mbarrier_fence": Model(_nothing),
    "gpu.mbarrier_arrive": Model(_arrive),
    "gpu.mbarrier_wait": Model(_wait),
    "gpu.mbarrier_try_wait": Model(_try_wait),
    "gpu.mbarrier_inval": Model(_inval),
    "gpu.remote_arrive": Model(_remote_arrive),
    "gpu.setmaxnreg": Model(_nothing),
}
