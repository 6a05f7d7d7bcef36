"""Races in shared memory that surely happen: two threads of a block at one element, one writes, no barrier between; and
lanes that surely do not come where others of their warp wait for them.

A small launch that the contract lets through is run (see `lanes`). Within one stretch between barriers it is kept, for
each access and each element, which threads were there: the first and the last, of which one differs from any other
thread. `simt.sync_warp` orders the threads of one warp. Once a thread may have waited for another (by an atomic that
acquires, a fence, a barrier of some threads), nothing is said until all meet. What is found is a proof; that nothing is
found is none.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileopt.dialects import simt_atomic, simt_thread, simt_warp
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import DYNAMIC_SHARED, KernelOp
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.safety.divergence import Divergence
from tileopt.passes.safety.lanes import ELEMENTS, EXCHANGES, WARP_OPS, LaneRun, Stop, linear
from tileopt.passes.safety.launches import Launch, small_launches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Lanes = NDArray[np.int64]
    Mask = NDArray[np.bool_]

LAUNCHES = 2  # run in one kernel: a second one with other sizes finds what the first one's left out
ATOMICS = (simt_atomic.AtomicRmw, simt_atomic.AtomicCas)
WARP = 32


def check_races(kernel: KernelOp, divergence: Divergence) -> None:
    """Raises CompileError for a race that a small launch shows."""
    block = kernel.block
    shared = any(isinstance(op, ELEMENTS) and isinstance(op.mem.type, BufferType) for op in kernel.walk())
    if block is None or not (shared or guarded_exchange(kernel)) or prod(block) == 1:
        return
    import numpy as np

    rank = np.arange(prod(block), dtype=np.int64)
    idx = [rank % block[0], rank // block[0] % block[1], rank // (block[0] * block[1])]
    zero = [np.zeros_like(rank)] * 3
    grids = [(2, 1, 1), (1, 1, 1), (2, 2, 2)]
    # Small arrays keep some lanes of a warp out of what a test of their index guards.
    for generous in (True, False) if guarded_exchange(kernel) else (True,):
        sizes: set[tuple[int, ...]] = set()
        for launch in small_launches(kernel, grids, generous):
            sizes.add(tuple(n for shape in launch.shapes.values() for n in shape))
            if len(sizes) > LAUNCHES:
                break
            with suppress(Stop):
                LaneRun(kernel, launch, idx, zero, _Watch(kernel, launch, divergence, rank)).run()


def guarded_exchange(kernel: KernelOp) -> bool:
    """Whether lanes do something together under a condition or in a loop."""
    meets: tuple[type[Operation], ...] = (*EXCHANGES, *WARP_OPS, simt_warp.SyncWarp)
    return any(isinstance(op, meets) and op.parent_op() is not kernel for op in kernel.walk())


@dataclass
class _Touched:
    """The threads that one op brought to each element, and how often their warps had met by then."""

    op: Operation
    low: Any
    high: Any
    low_epoch: Any
    high_epoch: Any


class _Watch:
    """Compares each access with those since the last barrier."""

    def __init__(self, kernel: KernelOp, launch: Launch, divergence: Divergence, rank: Lanes) -> None:
        import numpy as np

        self.np = np
        self.kernel, self.launch, self.divergence, self.rank = kernel, launch, divergence, rank
        self.epochs = np.zeros(len(rank), np.int64)
        self.touched: dict[SSAValue | None, dict[Operation, _Touched]] = {}
        self.unsure = False  # since a thread may have waited for another, until all meet

    def barrier(self) -> None:
        self.touched.clear()
        self.unsure = False

    def ordered(self, memory: SSAValue) -> None:
        self.touched.pop(None if isinstance(memory.owner, simt_thread.DynamicShared) else memory, None)

    def forget(self) -> None:
        self.touched.clear()

    def acquire(self) -> None:
        # Of two accesses that atomics order, the later one's thread has acquired before, wherever in the text they are.
        self.unsure = True

    def sync_warp(self, mask: Mask) -> None:
        self.epochs = self.epochs + 1

    def exchange(self, op: Operation, mask: Mask) -> None:
        warps = self.rank // WARP
        whole = self.np.bincount(warps)
        come = self.np.bincount(warps[mask], minlength=len(whole))
        apart = self.np.flatnonzero((come > 0) & (come < whole))
        if not len(apart):
            return
        warp = int(apart[0])
        here, there = (self.np.flatnonzero((warps == warp) & part)[0] for part in (mask, ~mask))
        parent = op.parent_op()
        while parent is not None and not isinstance(parent, scf.IfOp | scf.ForOp | scf.WhileOp):
            parent = parent.parent_op()
        loop = not isinstance(parent, scf.IfOp)
        raise CompileError(
            "race/divergent-lanes",
            f"lanes of a warp do this together, and thread {here} of a block comes here where thread {there} of the "
            "same warp does not",
            location=location_of(op),
            help="move it out, and choose between its results; a condition from any_sync() or all_sync() is the same "
            "in all lanes",
            notes=[("the loop is here" if loop else "the condition is here", location_of(parent or op))],
        )

    def access(self, op: Operation, indices: list[Lanes], mask: Mask) -> None:
        assert isinstance(op, ELEMENTS)
        type_ = op.mem.type
        if not isinstance(type_, BufferType) or self.unsure:
            return
        places, threads = linear(indices, type_.get_shape())[mask], self.rank[mask]
        key, size = self._home(op.mem, type_)
        if key is None:  # bytes of the dynamic part: buffers may overlap there
            width = bit_width(type_.element_type) // 8
            owner = op.mem.owner
            assert isinstance(owner, simt_thread.DynamicShared)
            first = owner.offset.value.data + places * width
            places = (first[:, None] + self.np.arange(width)).ravel()
            threads = threads.repeat(width)
        others = self.touched.setdefault(key, {})
        for other in others.values():
            if self._conflict(op, other.op):
                self._compare(op, other, places, threads)
        mine = others.get(op)
        if mine is None:
            none = self.np.full(size, -1, self.np.int64)
            mine = others[op] = _Touched(op, none, none.copy(), none.copy(), none.copy())
        if self._conflict(op, op):
            self._within(op, places, threads)
        self._note(mine, places, threads)

    def _home(self, memory: SSAValue, type_: BufferType) -> tuple[SSAValue | None, int]:
        if isinstance(memory.owner, simt_thread.DynamicShared):
            return None, self.kernel.integer(DYNAMIC_SHARED) or 0
        return memory, prod(type_.get_shape())

    def _conflict(self, a: Operation, b: Operation) -> bool:
        writes = not isinstance(a, simt_thread.ElementLoad) or not isinstance(b, simt_thread.ElementLoad)
        if a is b and isinstance(a, simt_thread.ElementStore) and not self.divergent_value(a):
            return False  # all write the same
        return writes and not (isinstance(a, ATOMICS) and isinstance(b, ATOMICS))

    def divergent_value(self, op: simt_thread.ElementStore) -> bool:
        return self.divergence.divergent(op.value)

    def _compare(self, op: Operation, other: _Touched, places: Lanes, threads: Lanes) -> None:
        epochs = self.epochs[threads]
        for there, epoch in ((other.low, other.low_epoch), (other.high, other.high_epoch)):
            before = there[places]
            apart = (before >= 0) & (before != threads)
            ordered = (before // WARP == threads // WARP) & (epoch[places] < epochs)
            found = self.np.flatnonzero(apart & ~ordered)
            if len(found):
                at = found[0]
                self._refuse(other.op, op, int(before[at]), int(threads[at]), int(places[at]))

    def _within(self, op: Operation, places: Lanes, threads: Lanes) -> None:
        order = self.np.argsort(places, kind="stable")
        same = self.np.flatnonzero(places[order][1:] == places[order][:-1])
        for at in same[:1]:
            first, second = order[at], order[at + 1]
            self._refuse(op, op, int(threads[first]), int(threads[second]), int(places[first]))

    def _note(self, mine: _Touched, places: Lanes, threads: Lanes) -> None:
        np, epochs = self.np, self.epochs
        falling = np.argsort(-threads, kind="stable")  # the least thread is written last, and stays
        p, t = places[falling], threads[falling]
        fewer = (mine.low[p] < 0) | (t <= mine.low[p])
        mine.low[p[fewer]] = t[fewer]
        mine.low_epoch[p[fewer]] = epochs[t[fewer]]
        p, t = p[::-1], t[::-1]
        more = t >= mine.high[p]
        mine.high[p[more]] = t[more]
        mine.high_epoch[p[more]] = epochs[t[more]]

    def _refuse(self, first: Operation, second: Operation, a: int, b: int, place: int) -> None:
        assert isinstance(second, ELEMENTS)
        where = self._element(second, place)
        verbs = [_verb(first), _verb(second)]
        if first is second:
            text = f"threads {a} and {b} of a block both {verbs[1]} {where}, with no barrier between"
        else:
            text = f"thread {a} of a block {verbs[0]}s {where}, thread {b} {verbs[1]}s it, with no barrier between"
        around = _is_before(second, first)
        raise CompileError(
            "race/missing-barrier",
            text,
            location=location_of(second),
            help=(
                "let each thread have an element of its own, or use an atomic"
                if first is second
                else "call simt.barrier() at the end of the loop's body: its next iteration comes here again"
                if around
                else "call simt.barrier() between the two, in all threads"
            ),
            notes=[] if first is second else [("the other access is here", location_of(first))],
        )

    def _element(self, op: Operation, place: int) -> str:
        assert isinstance(op, ELEMENTS)
        type_ = op.mem.type
        assert isinstance(type_, BufferType)
        if isinstance(op.mem.owner, simt_thread.DynamicShared):
            place = (place - op.mem.owner.offset.value.data) // (bit_width(type_.element_type) // 8)
        index: list[str] = []
        for extent in reversed(type_.get_shape()):
            index.insert(0, str(place % extent))
            place //= extent
        return f"{op.mem.name_hint or 'shared memory'}[{', '.join(index)}]"


def _verb(op: Operation) -> str:
    if isinstance(op, simt_thread.ElementLoad):
        return "read"
    return "write" if isinstance(op, simt_thread.ElementStore) else "update"


def _is_before(a: Operation, b: Operation) -> bool:
    """Whether a stands before b in the text."""
    root = a
    while (parent := root.parent_op()) is not None and not isinstance(root, KernelOp):
        root = parent
    for op in root.walk():
        if op is a or op is b:
            return op is a
    return False
