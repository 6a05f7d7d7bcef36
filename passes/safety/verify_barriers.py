"""verify-barriers: simt -> simt. Afterwards no barrier waits for threads that do not come, no race is left that a small
launch shows, nor lanes that wait for others of their warp there; and all come to what threads of a block, or lanes of a
warp, do together on tiles.

Looks at kernels whose source says where threads meet (`simt.manual_barriers`): in others the compiler puts barriers,
after it has decided what is shared. In tile kernels it looks at what the lanes of a warp do in maps.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.kernel import MANUAL_BARRIERS
from tileopt.dialects.tile_map import LANE_OPS
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.safety.collectives import check_lanes, check_tiles
from tileopt.passes.safety.divergence import BLOCK_MEETINGS, Divergence
from tileopt.passes.safety.lanes import ELEMENTS
from tileopt.passes.safety.pending_registers import check_pending
from tileopt.passes.safety.races import check_races, guarded_exchange
from tileopt.passes.tile_kernels import first_collective


@dataclass(frozen=True)
class VerifyBarriers(ModulePass):
    """Refuses barriers under divergent control flow and unordered accesses to shared memory."""

    name = "verify-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel) and MANUAL_BARRIERS in kernel.attributes:
                verify_kernel(kernel)
            elif isinstance(kernel, tile.Kernel) and any(isinstance(o, LANE_OPS) for o in kernel.body.walk()):
                check_lanes(kernel, analyse(kernel))


def verify_kernel(kernel: simt.Kernel) -> None:
    """Verifies one kernel. Raises CompileError with a code `race/...`, or `gpu/pending`."""
    check_pending(kernel)
    tiles = first_collective(kernel) is not None
    meets = any(isinstance(op, BLOCK_MEETINGS) or _shared(op) for op in kernel.walk())
    if not tiles and not meets and not guarded_exchange(kernel):
        return
    facts = analyse(kernel)
    divergence = Divergence(kernel, facts)
    divergence.check_barriers()
    if tiles:
        check_tiles(kernel, divergence)
        check_lanes(kernel, facts)
    check_races(kernel, divergence)


def _shared(op: object) -> bool:
    return isinstance(op, ELEMENTS) and isinstance(op.mem.type, BufferType)
