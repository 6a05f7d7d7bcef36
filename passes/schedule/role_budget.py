"""What each role of a block may have: registers, and its part of a multiprocessor.

A block is launched with so many registers for each thread as divide the register file, in eights; `setmaxnreg` moves
them between its warpgroups, and never returns where they come to more. One producer thread needs few; consumers share
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.dialects import tile
from tileopt.dialects.target import Atom, Scope, Space, Target
from tileopt.passes.schedule.map_tensor_cores import WARPGROUP, atom_registers

PRODUCER_REGISTERS = 48  # at least: addresses and counters of a few nested loops; with 40, ptxas spills some
MOST_REGISTERS = 240  # of a consumer; beyond them the launch would need more than its share
BLOCK_OVERHEAD = 1024  # bytes of shared memory that the system takes for each block


@dataclass(frozen=True, slots=True)
class RoleBudget:
    """`blocks`: of one multiprocessor. Registers are a thread's."""

    blocks: int
    consumer: int
    producer: int


def role_budget(target: Target, warps: int, kernel: tile.Kernel) -> RoleBudget:
    """For consumers of so many warps, whole warpgroups. One warpgroup alone leaves the tensor cores idle while it does
    other work, so two such blocks share a multiprocessor, where their instructions leave each other the registers."""
    groups = warps // WARPGROUP
    blocks = 2 if groups == 1 and widest(kernel, target) <= _launched(target, warps, 2) else 1
    launched = min(MOST_REGISTERS, _launched(target, warps, blocks))
    pool = launched * (groups + 1)
    consumer = min(MOST_REGISTERS, (pool - PRODUCER_REGISTERS) // groups // 8 * 8)
    return RoleBudget(blocks, consumer, min(launched, pool - consumer * groups))


def fits(target: Target, warps: int, kernel: tile.Kernel) -> bool:
    """Whether a block with a producer can be launched: ptxas holds each instruction to the registers that all threads
    begin with, whatever `setmaxnreg` gives later."""
    return max(widest(kernel, target), PRODUCER_REGISTERS) <= _launched(target, warps, 1)


def in_tensor_memory(kernel: tile.Kernel, target: Target) -> bool:
    """Whether the accumulator of some product lies in tensor memory, of which each thread gets rows."""
    return any(atom.acc_space is Space.TENSOR for atom in _atoms(kernel, target))


def _atoms(kernel: tile.Kernel, target: Target) -> list[Atom]:
    names = {op.atom.data for op in kernel.walk() if isinstance(op, tile.Mma) and op.atom is not None}
    return [target.atom(name) for name in sorted(names)]


def widest(kernel: tile.Kernel, target: Target) -> int:
    """Registers that the kernel's widest instruction of a warpgroup takes."""
    found = [atom for atom in _atoms(kernel, target) if atom.scope is Scope.WARPGROUP]
    return max(map(atom_registers, found), default=0)


def _launched(target: Target, warps: int, blocks: int) -> int:
    return target.register_file // (32 * (warps + WARPGROUP) * blocks) // 8 * 8


def shared_room(target: Target, budget: RoleBudget) -> int:
    """Bytes of shared memory of one block."""
    return target.shared_bytes if budget.blocks == 1 else target.shared_bytes // budget.blocks - BLOCK_OVERHEAD
