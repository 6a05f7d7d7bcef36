"""Where threads meet: barriers of a block, of some of its warps, of a cluster; lanes; memory of other blocks."""

from __future__ import annotations

from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Description, Thread
from tileopt.dialects.dtypes import DTYPES


def _meet(threads: list[Thread], asked: Description) -> None:
    """Nothing but that all have come."""


def _remote(thread: Thread, address: int, rank: int, asked: Description) -> tuple[int, int]:
    """(address in the other block, bytes of the element)."""
    block = thread.block
    size = DTYPES[asked["memory"][0]["element"]].bytes
    if not 0 <= rank < len(block.cluster):
        raise asked.error("rank", f"block {rank} of a cluster of {len(block.cluster)}")
    return block.cluster[rank].base + block.offset(address, size, asked), size


def _remote_load(threads: list[Thread], asked: Description) -> None:
    for thread in threads:
        address, rank = thread.operands()
        found, size = _remote(thread, address, rank, asked)
        data = thread.block.cluster[rank].part(found, size, asked)
        thread.answer(int.from_bytes(data.tobytes(), "little", signed=size == 8))


def _remote_store(threads: list[Thread], asked: Description) -> None:
    import numpy as np

    for thread in threads:
        value, address, rank = thread.operands()
        found, size = _remote(thread, address, rank, asked)
        data = (value & ((1 << 64) - 1)).to_bytes(8, "little")[:size]
        thread.block.cluster[rank].part(found, size, asked)[:] = np.frombuffer(data, np.uint8)


def _barrier_id(asked: Description) -> object:
    return ("barrier", asked.get("id"))


MODELS = {
    "yield": Model(_meet),
    "simt.barrier": Model(_meet, "block", key=_barrier_id),
    "simt.sync_warp": Model(_meet, "warp", key=lambda asked: asked.op),
    "gpu.cluster_arrive": Model(_meet),
    "gpu.cluster_wait": Model(_meet, "cluster", key=lambda asked: asked.op),
    "gpu.fence_proxy_async": Model(_meet),
    "gpu.remote_load": Model(_remote_load),
    "gpu.remote_store": Model(_remote_store),
}
MODELS |= {f"simt.{name}": Model(_meet, "warp") for name in ("shuffle_xor", "shuffle", "vote", "match", "warp_reduce")}
