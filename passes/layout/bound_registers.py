"""bound-registers: a thread takes no more registers than leave room for the blocks that should run at once.

From: tile with layouts. To: the same; the kernel may say how many blocks a multiprocessor holds (`simt.min_blocks`).
Invariant: what the kernel computes.

The hint `occupancy` says how many, as far as there are threads for them and the registers hold what loops carry and
products add to; `allocate-onchip` lowers the number to what shared memory leaves room for.

Without the hint, a kernel of 512 threads whose
tiles take most of a thread's registers, and leave a few of 64, is held to 64: with one more it would have a
multiprocessor for itself, where nobody reads while it computes. ptxas by itself loads all tiles as early as it can,
into as many registers as there are. Smaller blocks share a multiprocessor anyhow, and a spill costs more than they
gain. Kernels with products count their registers otherwise (see `role_budget`), and what functions of threads take is
not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.kernel import MIN_BLOCKS, OCCUPANCY
from tileopt.dialects.target import Target, target_of
from tileopt.passes.invariants import demand
from tileopt.passes.layout.register_limits import carried_registers
from tileopt.passes.schedule.map_tensor_cores import BESIDE_ACCUMULATORS, NUM_WARPS
from tileopt.passes.schedule.role_budget import in_a_loop, in_tensor_memory

RESIDENT_THREADS = 1024  # of a multiprocessor: enough to have memory busy
OTHER_REGISTERS = 6  # of a thread, for what cannot be made again: addresses, conditions
LEAST = 32  # registers of tiles from which on they are most of what a thread takes
_ALIASES = tile.Broadcast | tile.Reshape | tile.Transpose  # registers of their source, under another name
_MADE_AGAIN = arith.ConstantOp | tile.Splat


@dataclass(frozen=True)
class BoundRegisters(ModulePass):
    name = "bound-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        demand(self.name, op)
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                target = target_of(kernel)
                blocks = _blocks(kernel, target) if target.is_gpu else 0
                if blocks > 1:
                    kernel.attributes[MIN_BLOCKS] = IntegerAttr(blocks, i64)


def _blocks(kernel: tile.Kernel, target: Target) -> int:
    """Blocks that a multiprocessor shall hold; 0 or 1: as many as it can."""
    threads = 32 * _warps(kernel, target)
    if kernel.integer(OCCUPANCY) is not None:
        return asked_blocks(kernel, target)
    if any(isinstance(op, tile.Mma | tile.MapSimt) for op in kernel.walk()):
        return 0
    taken = live_registers(kernel)
    fits = taken + OTHER_REGISTERS <= target.register_file // RESIDENT_THREADS
    return 2 if fits and taken >= LEAST and 2 * threads == RESIDENT_THREADS else 0


def asked_blocks(kernel: tile.Kernel, target: Target) -> int:
    """Blocks that the hint asks for, no more than a multiprocessor has threads and registers for, whatever their
    shared memory; 1 without the hint. A thread keeps the tiles that loops carry or add products to, and as much beside
    as ptxas keeps beside accumulators. Layouts may still be unknown."""
    asked, warps = kernel.integer(OCCUPANCY), _warps(kernel, target)
    if asked is None:
        return 1
    held = carried_registers(kernel, 32 * warps)
    if not in_tensor_memory(kernel, target):
        held = max(held, in_a_loop(kernel, warps))
    fitting = target.register_file // (32 * warps * (held + BESIDE_ACCUMULATORS)) if held else asked
    return max(1, min(asked, target.multiprocessor_blocks, target.multiprocessor_threads // (32 * warps), fitting))


def _warps(kernel: tile.Kernel, target: Target) -> int:
    warps = kernel.attributes.get(NUM_WARPS)
    return warps.value.data if isinstance(warps, IntegerAttr) else target.default_warps


def live_registers(kernel: tile.Kernel) -> int:
    """The most 32-bit registers of a thread that tiles take at once, if each is made as late as the program says."""
    return _most(kernel.body.block)


def _most(block: Block) -> int:
    last: dict[SSAValue, Operation] = {}
    inside: dict[Operation, set[SSAValue]] = {}
    for op in block.ops:
        for inner in op.walk():
            roots = [_root(value) for value in inner.operands]
            last.update(dict.fromkeys(roots, op))
            if inner is not op:
                inside.setdefault(op, set()).update(roots)
    dying: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        holder = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if holder is block:
            dying.setdefault(op, []).append(value)
    held = most = sum(_registers(argument) for argument in block.args)
    for op in block.ops:
        gone = sum(map(_registers, dying.get(op, ())))
        if op.regions:
            # What only enters a loop is held in its body, under another name.
            entered = sum(_registers(v) for v in dying.get(op, ()) if v not in inside.get(op, ()))
            most = max(most, held - entered + max((_most(b) for r in op.regions for b in r.blocks), default=0))
        held += sum(_registers(result) for result in op.results if _root(result) is result) - gone
        most = max(most, held)
    return most


def _root(value: SSAValue) -> SSAValue:
    """The tile whose registers a tile has."""
    while isinstance(value.owner, _ALIASES):
        value = value.owner.source
    return value


def _registers(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType) or isinstance(value.owner, _MADE_AGAIN):
        return 0
    return -(-layout_of(value.type).registers * bit_width(value.type) // 32)
