"""Whether a store's index comes from a thread's own ids at all.

That two threads never store to one element is proved by verify-ownership. Here, where the source is at hand, the plain
mistake is told: a store to an owned array whose index names no thread (a constant, a count, an index read from memory),
under no condition that chooses one.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import simt, simt_thread

_IDS = (simt_thread.ThreadIdx, simt.ThreadId, simt.BlockId)
_READS = (simt_thread.ElementLoad,)


def names_thread(values: Iterable[SSAValue]) -> bool:
    """Whether one of the values comes from the ids of the thread or its block, other than through memory."""
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, _IDS):
            return True
        pending += _sources(value)
    return False


def _sources(value: SSAValue) -> Iterable[SSAValue]:
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return [] if parent is None or isinstance(parent, simt.Kernel) else [*parent.operands, *_ends(parent)]
    return [] if isinstance(owner, _READS) else [*owner.operands, *_ends(owner)]


def _ends(op: Operation) -> Iterable[SSAValue]:
    """What the op's regions give on."""
    for region in op.regions:
        for block in region.blocks:
            if block.last_op is not None:
                yield from block.last_op.operands


def guards(op: Operation, entry: Block) -> Iterable[SSAValue]:
    """The conditions and loop bounds under which the op stands. None but where `entry` holds it."""
    above = op.parent_op()
    while above is not None and op.parent is not entry:
        if isinstance(above, scf.IfOp | scf.ForOp | scf.WhileOp):
            yield from above.operands
            if isinstance(above, scf.WhileOp):
                yield from _ends(above)
        op, above = above, above.parent_op()


def stands_in(op: Operation, entry: Block) -> bool:
    """Whether the op is in the kernel, and not in a block that was read in vain."""
    block = op.parent
    while block is not None and block is not entry:
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return block is entry
