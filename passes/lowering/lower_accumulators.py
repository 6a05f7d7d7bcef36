"""lower-accumulators: accumulators get their columns of tensor memory, and waits for products their barriers.

From: simt+gpu. To: the same. Invariant: each `gpu.accumulator` has its place, those that live at one time share no
column, and no `gpu.accumulator_wait` is left.

The block's first warp takes all columns at the kernel's beginning, a power of two of at least 32, and gives them back
at its end. A wait has the first thread commit to a barrier of the wait's own, whose phase all threads wait for: how
many there were before is counted around all loops (`running_counts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import gpu_accumulator as gpu
from tileopt.dialects import gpu_mbarrier, gpu_tensor, simt, simt_thread
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.diagnostics import TargetError, location_of
from tileopt.dialects.gpu_tensor import COLUMNS, LEAST_COLUMNS
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import WARP_SIZE, pow2_ceil
from tileopt.dialects.target import target_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.building import BELOW, EQUAL, compare, emit, insert, number
from tileopt.passes.intervals import Interval, Order
from tileopt.passes.lowering.lower_roles import ROLE
from tileopt.passes.lowering.running_counts import running_count


@dataclass(frozen=True)
class LowerAccumulators(ModulePass):
    name = "lower-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                places = [x for x in walk(kernel) if isinstance(x, gpu.Accumulator) and x.start is None]
                if places:
                    lower_accumulators(kernel, places)


def lower_accumulators(kernel: simt.Kernel, places: list[gpu.Accumulator]) -> None:
    """Raises TargetError where tensor memory does not hold them."""
    starts, total = _starts(kernel, places)
    if total > COLUMNS:
        raise TargetError(
            "target/tensor-memory",
            f"kernel {kernel.sym_name.data!r} needs {total} columns of tensor memory, {target_of(kernel).name} has "
            f"{COLUMNS}",
            location=location_of(kernel),
            notes=[(f"{p.columns.value.data} columns for an accumulator", location_of(p)) for p in places],
            help="make the accumulators of products smaller, or use fewer at a time",
        )
    columns = max(LEAST_COLUMNS, pow2_ceil(total))
    body = kernel.body.block
    waits = [op for op in walk(kernel) if isinstance(op, gpu.AccumulatorWait)]
    phases = _phases(waits)
    begin, end = body.first_op, body.last_op
    assert begin is not None and end is not None
    barriers, told = _prologue(begin, len(waits), columns)
    base = _address(begin, told)
    for place, start in starts.items():
        made = insert(place, gpu.Accumulator, [base], [i32], {**place.properties, "start": IntegerAttr(start, i64)})
        made.results[0].name_hint = place.result.name_hint
        place.result.replace_all_uses_with(made.results[0])
        assert place.parent is not None
        place.parent.erase_op(place)
    for index, (wait, phase) in enumerate(zip(waits, phases, strict=True)):
        which = number(wait, index)

        def commit(at: Operation, which: SSAValue = which) -> None:
            insert(at, gpu_tensor.Tcgen05Commit, [barriers, which])

        _first(wait, 1, commit)
        insert(wait, gpu_mbarrier.MbarrierWait, [barriers, which, phase])
        insert(wait, simt.Barrier)  # nobody misses the end of a phase while the first thread runs ahead
        assert wait.parent is not None
        wait.parent.erase_op(wait)
    insert(end, simt.Barrier)
    given: dict[str, Attribute] = {"columns": IntegerAttr(columns, i64)}

    def give_back(at: Operation) -> None:
        # Read again: a producer has no register for it.
        insert(at, gpu_tensor.Tcgen05Dealloc, [_address(at, told)], [], given)

    _first(end, WARP_SIZE, give_back)


# --- columns ---------------------------------------------------------------------------------------------------------


def _starts(kernel: simt.Kernel, places: list[gpu.Accumulator]) -> tuple[dict[gpu.Accumulator, int], int]:
    """The first column of each accumulator, and how many columns there are in all: the largest first, each in the
    first gap that holds it beside those that live at the same time."""
    order = Order(kernel)
    lives = {place: _life(place, order) for place in places}
    starts: dict[gpu.Accumulator, int] = {}
    for place in sorted(places, key=lambda p: (-p.columns.value.data, lives[p].first)):
        at, size = 0, place.columns.value.data
        for other in sorted((p for p in starts if lives[p].meets(lives[place])), key=starts.__getitem__):
            if starts[other] >= at + size:
                break
            at = max(at, starts[other] + other.columns.value.data)
        starts[place] = at
    return starts, max(starts[p] + p.columns.value.data for p in places)


def _life(place: gpu.Accumulator, order: Order) -> Interval:
    uses = [use.operation for use in place.result.uses] or [place]
    assert place.parent is not None
    return order.around(uses, place.parent)


# --- barriers --------------------------------------------------------------------------------------------------------


def _phases(waits: list[gpu.AccumulatorWait]) -> list[SSAValue]:
    """The phase that each wait ends, for waits of one block the same."""
    counts: dict[Block, SSAValue] = {}
    for wait in waits:
        block = wait.parent
        assert block is not None
        if block not in counts:
            counts[block] = running_count(block, _top(block))
    found = [counts[wait.parent] for wait in waits if wait.parent is not None]
    assert len(found) == len(waits)
    return found


def _top(block: Block) -> Block:
    """The block around one that is entered once: the kernel's, or a role's."""
    parent = block.parent_op()
    if parent is None or isinstance(parent, KernelOp) or ROLE in parent.attributes:
        return block
    assert parent.parent is not None
    return _top(parent.parent)


def _prologue(at: Operation, waits: int, columns: int) -> tuple[SSAValue, SSAValue]:
    """(barriers of the waits, where the address of the block's columns is)."""
    barriers = emit(at, simt.AllocShared, [], [BufferType.of((max(1, waits),), i64)])
    told = emit(at, simt.AllocShared, [], [BufferType.of((1,), i32)])
    one: dict[str, Attribute] = {"count": IntegerAttr(1, i64)}

    def make(inner: Operation) -> None:
        for index in range(waits):
            insert(inner, gpu_mbarrier.MbarrierInit, [barriers, number(inner, index)], [], one)
        insert(inner, gpu_mbarrier.MbarrierFence)

    _first(at, 1, make)
    zero = number(at, 0)
    given: dict[str, Attribute] = {"columns": IntegerAttr(columns, i64)}

    def take(inner: Operation) -> None:
        insert(inner, gpu_tensor.Tcgen05Alloc, [told, zero], [], given)
        insert(inner, gpu_tensor.Tcgen05Relinquish)

    _first(at, WARP_SIZE, take)
    insert(at, simt.Barrier)
    return barriers, told


def _address(at: Operation, told: SSAValue) -> SSAValue:
    proved: dict[str, Attribute] = {"bounds": BoundsAttr((Outcome.PROVED, (), "the only element"))}
    return emit(at, simt_thread.ElementLoad, [told, number(at, 0)], [i32], proved)


def _first(at: Operation, threads: int, make: Callable[[Operation], object]) -> None:
    """What the block's first threads do, in front of `at`; `make` puts it in front of an op."""
    thread = emit(at, simt.ThreadId, [], [i32])
    mine = compare(at, EQUAL if threads == 1 else BELOW, thread, number(at, 0 if threads == 1 else threads, i32))
    inner, end = Block(), scf.YieldOp.create()
    inner.add_op(end)
    end.location = at.location
    make(end)
    insert(at, scf.IfOp, [mine], [], {}, [Region(inner), Region()])
