"""What each role of a block may have: registers, and its part of a multiprocessor.

A block is launched with so many registers for each thread as divide the register file, in eights; `setmaxnreg` moves
them between its warpgroups, and never returns where they come to more. One producer thread needs few; consumers share
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block

from tileopt.dialects import tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.layout import pow2_ceil
from tileopt.dialects.target import Atom, Scope, Space, Target
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.schedule.map_tensor_cores import (
    BESIDE_ACCUMULATORS,
    TENSOR_COLUMNS,
    WARPGROUP,
    atom_registers,
    tensor_columns,
)

PRODUCER_REGISTERS = 48  # at least: addresses and counters of a few nested loops; with 40, ptxas spills some
FEWEST_REGISTERS = 40  # of a producer whose consumers' accumulators leave them few: its spills cost one thread's time
CROWDED = 176  # registers of accumulators that leave a consumer few
MOST_REGISTERS = 240  # of a consumer; beyond them the launch would need more than its share
MOST_BLOCKS = 3
SLOTS_OF_MANY = 4  # with fewer in each block, three blocks have less on its way than two
BLOCK_OVERHEAD = 1024  # bytes of shared memory that the system takes for each block


@dataclass(frozen=True, slots=True)
class RoleBudget:
    """`blocks`: of one multiprocessor. Registers are a thread's."""

    blocks: int
    consumer: int
    producer: int


def role_budget(target: Target, warps: int, kernel: tile.Kernel, most: int = MOST_BLOCKS) -> RoleBudget:
    """For consumers of so many warps, whole warpgroups, in at most so many blocks of a multiprocessor. One warpgroup
    alone leaves the tensor cores idle while it does other work, so two such blocks share a multiprocessor, where their
    instructions leave each other the registers; or three, of small tiles: what they wait for is shared memory and L2
    (64x64x64: 16 KiB come in and 16 KiB are read in 128 clocks of product, of 128 bytes a clock), so one that stores
    should leave two that load."""
    groups = warps // WARPGROUP
    blocks = 1
    if groups == 1:
        fitting = [n for n in range(2, most + 1) if widest(kernel, target) <= _launched(target, warps, n)]
        fitting = [n for n in fitting if n * columns(kernel, target) <= TENSOR_COLUMNS]
        units = all(atom.scope is Scope.WARPGROUP for atom in _atoms(kernel, target))  # else threads hold operands
        small = units and only_adds(kernel) and not in_tensor_memory(kernel, target)
        room = _accumulators(kernel) if small else target.registers
        blocks = max((n for n in fitting if n == 2 or room <= _launched(target, warps, n)), default=1)
    launched = min(MOST_REGISTERS, _launched(target, warps, blocks))
    pool = launched * (groups + 1)
    producer = FEWEST_REGISTERS if in_a_loop(kernel, warps) > CROWDED else PRODUCER_REGISTERS
    consumer = min(MOST_REGISTERS, (pool - producer) // groups // 8 * 8)
    return RoleBudget(blocks, consumer, min(launched, pool - consumer * groups))


def only_adds(kernel: tile.Kernel) -> bool:
    """Whether products take what is loaded alone, so that threads do little between them."""
    operands = [v for op in kernel.walk() if isinstance(op, tile.Mma) for v in (op.a, op.b)]
    return not any(isinstance(v.type, TensorType) and not isinstance(v.owner, tile.Unstage) for v in operands)


def _accumulators(kernel: tile.Kernel) -> int:
    """Registers of a thread of one warpgroup that hold the accumulators of all products, and what they need beside."""
    bits = sum(
        prod(tile_shape(op.acc.type)) * bit_width(op.acc.type) for op in kernel.walk() if isinstance(op, tile.Mma)
    )
    return bits // (32 * 32 * WARPGROUP) + BESIDE_ACCUMULATORS


def in_a_loop(kernel: tile.Kernel, warps: int) -> int:
    """Registers of a thread that the accumulators of one loop's iteration take: products that add to one share it."""
    found: dict[Block, int] = {}
    for op in kernel.walk():
        if isinstance(op, tile.Mma) and op.parent is not None and not isinstance(op.acc.owner, tile.Mma):
            registers = prod(tile_shape(op.acc.type)) * bit_width(op.acc.type) // (32 * 32 * warps)
            found[op.parent] = found.get(op.parent, 0) + registers
    return max(found.values(), default=0)


def fits(target: Target, warps: int, kernel: tile.Kernel) -> bool:
    """Whether a block with a producer can be launched: ptxas holds each instruction to the registers that all threads
    begin with, whatever `setmaxnreg` gives later."""
    return max(widest(kernel, target), PRODUCER_REGISTERS) <= _launched(target, warps, 1)


def in_tensor_memory(kernel: tile.Kernel, target: Target) -> bool:
    """Whether the accumulator of some product lies in tensor memory, of which each thread gets rows."""
    return any(atom.acc_space is Space.TENSOR for atom in _atoms(kernel, target))


def columns(kernel: tile.Kernel, target: Target) -> int:
    """Columns of tensor memory that the accumulators of products take at most."""
    products = [op for op in kernel.walk() if isinstance(op, tile.Mma) and op.atom is not None]
    mine = [op for op in products if op.atom and target.atom(op.atom.data).acc_space is Space.TENSOR]
    taken = sum(tensor_columns(*tile_shape(op.acc.type)) for op in mine)
    return pow2_ceil(taken) if taken else 0


def _atoms(kernel: tile.Kernel, target: Target) -> list[Atom]:
    names = {op.atom.data for op in kernel.walk() if isinstance(op, tile.Mma) and op.atom is not None}
    return [target.atom(name) for name in sorted(names)]


def widest(kernel: tile.Kernel, target: Target) -> int:
    """Registers that the kernel's widest instruction of a warpgroup takes."""
    found = [atom for atom in _atoms(kernel, target) if atom.scope is Scope.WARPGROUP]
    return max(map(atom_registers, found), default=0)


def _launched(target: Target, warps: int, blocks: int) -> int:
    return target.register_file // (32 * (warps + WARPGROUP) * blocks) // 8 * 8


def shared_room(target: Target, blocks: int) -> int:
    """Bytes of shared memory of one of so many blocks of a multiprocessor."""
    return target.shared_bytes if blocks == 1 else target.shared_bytes // blocks - BLOCK_OVERHEAD
