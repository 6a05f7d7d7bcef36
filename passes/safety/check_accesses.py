"""check-accesses: simt -> simt, for targets that find faults (`Target.checking`). Afterwards every access tests all its
axes when it runs, and says along which of them an earlier pass had taken its elements as inside.

What such a target finds outside there is a fault of a proof or of what the host checks, not only of the program.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tileopt.dialects import gpu, simt, simt_atomic, simt_thread
from tileopt.dialects.bounds import CLAIMED, BoundsAttr, Outcome, axes_attribute
from tileopt.dialects.kernel import RECORDED
from tileopt.dialects.target import target_of

_TILES = (simt.FragmentLoad, simt.FragmentStore, simt.FragmentAtomic, gpu.CpAsync)
_ELEMENTS = (simt_thread.ElementLoad, simt_thread.ElementStore, simt_atomic.AtomicRmw, simt_atomic.AtomicCas)


@dataclass(frozen=True)
class CheckAccesses(ModulePass):
    name = "check-accesses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel) and target_of(kernel).checking:
                kernel.attributes[RECORDED] = UnitAttr()
                for inner in kernel.walk():
                    _check(inner)


def _check(op: Operation) -> None:
    if isinstance(op, _TILES):
        _open(op, len(op.offsets), Outcome.MASKED)
    elif isinstance(op, _ELEMENTS):
        _open(op, len(op.indices), Outcome.CHECKED)
    elif isinstance(op, simt_thread.CheckIndex):
        _open(op, 1, Outcome.CHECKED)


def _open(op: Operation, rank: int, outcome: Outcome) -> None:
    """Tests every axis; `CLAIMED` has those that were not tested before."""
    bounds, every = op.properties.get("bounds"), tuple(range(rank))
    if not isinstance(bounds, BoundsAttr) or CLAIMED in op.attributes:
        return
    tested = () if bounds.outcome in (Outcome.PROVED, Outcome.LAUNCH) else bounds.axes
    if bounds.outcome is Outcome.UNCHECKED or (bounds.outcome is Outcome.CHECKED and not bounds.axes):
        tested = every
    claimed = [axis for axis in every if axis not in tested]
    if claimed:
        op.attributes[CLAIMED] = axes_attribute(claimed)
    op.properties["bounds"] = BoundsAttr((outcome, every, bounds.reason))
