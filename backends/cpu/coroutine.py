"""Threads that meet: each thread of a block is an LLVM coroutine, a barrier or a shuffle is a suspend point."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.cpu.frame import Argument
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects import simt
from tileopt.dialects.simt import Kernel

MEETING = (simt.Barrier, simt.ShuffleXor)


def threads_meet(kernel: Kernel) -> bool:
    """Whether any thread of the kernel waits for another."""
    return any(isinstance(op, MEETING) for op in kernel.body.walk())


def functions(emitter: Emitter, arguments: list[Argument]) -> list[str]:
    raise NotImplementedError


HANDLERS: dict[type[Operation], Handler] = {}
