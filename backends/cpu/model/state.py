"""What the model keeps of a launch: threads, blocks with their shared memory, requests."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import DeviceError, Location
from tileopt.dialects.layout import WARP_SIZE

if TYPE_CHECKING:
    import numpy as np

    from tileopt.backends.cpu.reference.barriers import MemoryBarrier

    Array = np.ndarray[Any, Any]

ALIGN = 1024  # of a block's shared memory: the widest swizzle's pattern


def bytes_at(address: int, count: int) -> Array:
    """The process's memory as an array of bytes, which writes to it."""
    import numpy as np

    memory: Any = (ctypes.c_uint8 * count).from_address(address)
    return np.frombuffer(memory, np.uint8)


class Description:
    """What an op asks for, from the JSON in the code."""

    __slots__ = ("fields", "location", "op", "operands", "results")

    def __init__(self, text: str) -> None:
        self.fields: dict[str, Any] = json.loads(text)
        self.op: str = self.fields["op"]
        self.operands: int = self.fields["operands"]
        self.results: int = self.fields["results"]
        place = self.fields["line"]
        self.location = None if place is None else Location(*place)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    def segments(self) -> list[int]:
        """Where each group of operands begins among the request's words, and where the last ends."""
        out = [0]
        for count in self.fields["segments"]:
            out.append(out[-1] + count)
        return out

    def error(self, code: str, message: str, help: str | None = None) -> DeviceError:
        return DeviceError(f"model/{code}", message, location=self.location, help=help)


@dataclass(eq=False)
class Transfer:
    """A copy that is made a little later, once."""

    make: Callable[[], None] | None

    def run(self) -> None:
        make, self.make = self.make, None
        if make is not None:
            make()


@dataclass(eq=False)
class Thread:
    """One thread. `handle`: its coroutine. `copies`, `bulk`: of its `cp.async` and bulk stores
    those not yet in a group; then the groups."""

    block: Block
    rank: int
    handle: int = 0
    waits: Description | None = None
    ended: bool = False
    copies: list[Any] = field(default_factory=list)
    groups: list[list[Any]] = field(default_factory=list)
    bulk: list[Transfer] = field(default_factory=list)
    bulk_groups: list[list[Transfer]] = field(default_factory=list)

    @property
    def warp(self) -> int:
        return self.rank // WARP_SIZE

    def operands(self) -> list[int]:
        """The operands' words, signed."""
        assert self.waits is not None
        found: list[int] = self.block.requests[self.rank, 1 : 1 + self.waits.operands].tolist()
        return found

    def answer(self, results: Any) -> None:
        """Puts the results' words into the request."""
        assert self.waits is not None
        at = 1 + self.waits.operands
        self.block.requests[self.rank, at : at + self.waits.results] = results


@dataclass(eq=False)
class Block:
    """One block, with its shared memory. `rank`: in its cluster."""

    place: tuple[int, int, int]
    rank: int
    cluster: list[Block]
    shared: Array
    base: int  # address of the shared memory
    exchange: Array
    requests: Array  # (threads, words)
    keeps: Array  # addresses of the coroutines' frames
    threads: list[Thread] = field(default_factory=list)
    barriers: dict[int, MemoryBarrier] = field(default_factory=dict)
    transfers: list[Transfer] = field(default_factory=list)  # bulk copies that are under way
    late: list[Transfer] = field(default_factory=list)  # what is done when nothing else can be: as late as may be
    tensor: Any = None  # see `tensor`
    products: dict[int, Any] = field(default_factory=dict)  # by warpgroup: see `pending`
    live: dict[tuple[str, int], int] = field(default_factory=dict)

    def offset(self, address: int, count: int, asked: Description) -> int:
        """Where an address lies in this block's shared memory. Raises DeviceError where it does not."""
        offset = address - self.base
        if not 0 <= offset <= len(self.shared) - count:
            raise asked.error("address", f"{asked.op} reaches byte {offset} of {len(self.shared)} of shared memory")
        return offset

    def part(self, address: int, count: int, asked: Description) -> Array:
        """Bytes of this block's shared memory."""
        offset = self.offset(address, count, asked)
        return self.shared[offset : offset + count]


def make_block(
    place: tuple[int, int, int], cluster: list[Block], threads: int, words: int, shared: int, exchange: int
) -> Block:
    """A block whose memory holds nothing that means anything."""
    import numpy as np

    memory = np.full(shared + ALIGN, 0xA5, np.uint8)
    start = -memory.ctypes.data % ALIGN
    lanes = np.zeros(exchange + 64, np.uint8)
    lanes = lanes[-lanes.ctypes.data % 64 :]
    return Block(
        place, len(cluster), cluster, memory[start : start + shared], memory.ctypes.data + start, lanes,
        np.zeros((threads, words), np.int64), np.zeros(threads, np.int64),
    )  # fmt: skip
