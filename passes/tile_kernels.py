"""Kernels that hold tiles: those of the tile track, and kernels of threads that compute with tiles as well."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from tileopt.dialects import simt, tile
from tileopt.dialects.kernel import KernelOp


def is_collective(op: Operation) -> bool:
    """Whether the threads of a block do an op together: it has to do with tiles."""
    if op.name.startswith("tile."):
        return True
    return any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results))


def first_collective(kernel: KernelOp) -> Operation | None:
    """The first op on tiles in a kernel of threads."""
    return next((op for op in kernel.body.walk() if is_collective(op)), None)


def tile_kernels(module: ModuleOp) -> Iterator[KernelOp]:
    """The kernels of a module that hold tiles."""
    for kernel in list(module.body.block.ops):
        if isinstance(kernel, tile.Kernel) or (isinstance(kernel, simt.Kernel) and first_collective(kernel)):
            yield kernel


def block_threads(kernel: KernelOp) -> int | None:
    """Threads of a block of a kernel of threads, where its text says so."""
    return prod(kernel.block) if kernel.block is not None else kernel.integer(simt.THREADS)
