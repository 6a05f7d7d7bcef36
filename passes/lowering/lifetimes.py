"""From where to where in the program each allocation of shared memory holds what may still be read.

Control flow is structured, so a lifetime is an interval of the text. It begins with the first access and ends with
the last, and covers all of a loop in which memory made outside it is used. What the copy engine fills or empties, and
the barriers that it arrives at, are in use as long as the kernel runs: it works beside the program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import gpu, gpu_cluster, gpu_mbarrier, gpu_tma, simt
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.intervals import LOOPS, Interval, Order, widest_loop


def lifetimes(kernel: simt.Kernel) -> dict[simt.AllocShared, Interval]:
    """The lifetime of each allocation in `kernel` that is used, in the order of the text."""
    order = Order(kernel)
    waits = [n for op, n in order.number.items() if isinstance(op, gpu.CpAsyncWait) and not op.pending.value.data]
    found: dict[simt.AllocShared, Interval] = {}
    for op in order.number:
        if isinstance(op, simt.AllocShared):
            uses = list(uses_of(op))
            if uses:
                found[op] = _lifetime(op, uses, order, waits)
    return found


def uses_of(alloc: simt.AllocShared) -> Iterator[Operation]:
    """The ops that read or write the allocation, or hand it on through control flow."""
    seen: set[SSAValue] = set()
    pending: list[SSAValue] = [alloc.result]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            pending += _aliases(user)
            if not isinstance(user, simt.Slot | simt.ViewBuffer):
                yield user
            _refuse_carried(alloc, user)


def _aliases(user: Operation) -> Iterator[SSAValue]:
    """The buffers that may be the one that `user` takes: its results and blocks' arguments; those of what it ends."""
    for op in (user, user.parent_op()) if isinstance(user, scf.YieldOp | scf.ConditionOp) else (user,):
        if op is None or isinstance(op, simt.Kernel):
            continue
        arguments = [a for region in op.regions for block in region.blocks for a in block.args]
        yield from (v for v in (*op.results, *arguments) if isinstance(v.type, BufferType))


def _refuse_carried(alloc: simt.AllocShared, user: Operation) -> None:
    """One iteration's memory is the next one's too: a tile that was carried there would be overwritten."""
    loop = user.parent_op()
    if isinstance(user, scf.YieldOp | scf.ConditionOp) and isinstance(loop, LOOPS) and loop.is_ancestor(alloc):
        raise UnsupportedError(
            "allocate/carried-tile",
            "a tile in shared memory that is made in a loop is carried to the loop's next iteration",
            location=location_of(alloc),
            notes=[("carried here", location_of(user))],
            help="make it before the loop, as a ring with a slot for each iteration in which it is needed",
        )


_BESIDE = (
    gpu_tma.TmaLoad,
    gpu_tma.TmaStore,
    gpu_mbarrier.MbarrierInit,
    gpu_mbarrier.MbarrierArrive,
    gpu_mbarrier.MbarrierWait,
    gpu_cluster.RemoteArrive,
)


def _lifetime(alloc: simt.AllocShared, uses: list[Operation], order: Order, waits: list[int]) -> Interval:
    if any(isinstance(op, _BESIDE) for op in uses):
        return Interval(0, len(order.number))
    home = _home(alloc, uses)
    life = order.around(uses, home)
    arrivals = [_arrival(op, home, order, waits) for op in uses if isinstance(op, gpu.CpAsync)]
    return Interval(life.first, max([life.last, *arrivals]))


def _home(alloc: simt.AllocShared, uses: list[Operation]) -> Block:
    """The innermost block that holds the allocation and all of its uses: an `scf.if` may hand a tile out."""
    home = alloc.parent
    assert home is not None
    while not all(home.is_ancestor(op) for op in uses):
        parent = home.parent_op()
        assert parent is not None and parent.parent is not None
        home = parent.parent
    return home


def _arrival(copy: gpu.CpAsync, home: Block, order: Order, waits: list[int]) -> int:
    """The end of the last op during which an asynchronous copy may still write. `waits`: for all that is in flight."""
    loop = widest_loop(copy, home)
    if loop is not copy and any(isinstance(op, gpu.CpAsyncWait) for op in walk(loop)):
        return order.end[loop]  # its groups are waited for in the loop that makes them
    after = bisect_left(waits, order.number[copy])
    return waits[after] if after < len(waits) else len(order.number)
