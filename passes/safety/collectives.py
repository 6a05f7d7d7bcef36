"""Ops that threads do together, where only some of them may come: ops on tiles in a kernel of threads, which all of a
block do, and ops of a warp's lanes in a map, which all lanes do.

A tile is one value of the block. So a kernel of threads may work on tiles only where all its threads come, and with
scalars that are the same in all of them.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import simt, simt_warp, tile
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_map import lane_ops
from tileopt.passes.analysis.facts import KernelFacts
from tileopt.passes.safety.divergence import Divergence
from tileopt.passes.tile_kernels import is_collective


class LaneDivergence(Divergence):
    """What may differ between the lanes of a warp in a map: the elements, and what rests on them. A vote has one
    outcome in all lanes, so that a loop may run until all of them are done."""

    sources = (simt.ThreadId, simt_warp.Shuffle, simt_warp.Match, simt_warp.Elect, simt_warp.LaneMask)

    def _enter(self, op: Operation, block: Block) -> None:
        if isinstance(op, tile.MapSimt):
            self._mark(block.args)

    def _mark_results(self, op: Operation) -> bool:
        if isinstance(op, simt_warp.Vote) or (isinstance(op, simt_warp.WarpReduce) and op.width is None):
            return False
        return super()._mark_results(op)


def check_lanes(kernel: KernelOp, facts: KernelFacts) -> None:
    """Raises CompileError (`race/divergent-lanes`) for an op of a warp's lanes that only some lanes may reach."""
    maps = [op for op in kernel.walk() if isinstance(op, tile.MapSimt) and any(lane_ops(op))]
    if not maps:
        return
    divergence = LaneDivergence(kernel, facts)
    for map_ in maps:
        for op in lane_ops(map_):
            parent = divergence.split(op, map_)
            if parent is not None:
                loop = not isinstance(parent, scf.IfOp)
                raise CompileError(
                    "race/divergent-lanes",
                    "lanes exchange values here, and some may not come: this stands in "
                    + ("a loop that they may leave at different times" if loop else "a condition that may differ"),
                    location=location_of(op),
                    help="move it out, and choose between its results; a condition from any_sync() or all_sync() is "
                    "the same in all lanes",
                    notes=[("the loop is here" if loop else "the condition is here", location_of(parent))],
                )


def check_tiles(kernel: KernelOp, divergence: Divergence) -> None:
    """Raises CompileError (`race/divergent-tile`) for work on a tile to which threads come, or of which they think,
    differently."""
    for op in kernel.body.walk():
        if not is_collective(op) or isinstance(op, tile.MapYield):
            continue
        parent = divergence.split(op, kernel)
        if parent is not None:
            loop = not isinstance(parent, scf.IfOp)
            raise CompileError(
                "race/divergent-tile",
                "all threads of the block work on a tile together, and some may not come: this stands in "
                + ("a loop whose iterations" if loop else "a condition that")
                + " may differ between them",
                location=location_of(op),
                help="let it depend on block ids, arguments, extents and what tiles give alone",
                notes=[("the loop is here" if loop else "the condition is here", location_of(parent))],
            )
        if divergence.apart(op):
            raise _differs(op, "threads may choose it differently here")
        if any(map(divergence.divergent, _scalars(op))):
            raise _differs(op, "a scalar here may differ between its threads")


def _differs(op: Operation, how: str) -> CompileError:
    return CompileError(
        "race/divergent-tile",
        f"a tile is one value of the whole block, and {how}",
        location=location_of(op),
        help="write the threads' values to shared memory, and take the tile with tile.load(shared)",
    )


def _scalars(op: Operation) -> list[SSAValue]:
    """The scalars that tiles are computed with by an op that is no control flow."""
    if isinstance(op, tile.MapSimt):
        return _captured(op)
    return [] if op.regions else [v for v in op.operands if not isinstance(v.type, TensorType)]


def _captured(map_: tile.MapSimt) -> list[SSAValue]:
    """The values from outside that the region of a map uses."""
    made: set[SSAValue] = set()
    for op in (map_, *map_.body.walk()):
        made.update(a for region in op.regions for block in region.blocks for a in block.args)
        made.update(op.results)
    return [v for op in map_.body.walk() for v in op.operands if v not in made]
