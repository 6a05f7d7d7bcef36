"""Runs the integers of a SIMT kernel for many threads at once, to find what goes wrong in a small launch.

A value is an array with one integer a thread, or None where it rests on memory or floats. Where the way of a thread is
not known, what stands there is skipped: a run sees only accesses that surely happen, each with its index. Whoever is
told of the accesses raises what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryWriteEffect

from tileopt.dialects import (
    gpu_cluster,
    gpu_mbarrier,
    gpu_tensor,
    gpu_warpgroup,
    gpu_words,
    simt,
    simt_atomic,
    simt_host,
    simt_thread,
    simt_warp,
    tile,
)
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.analysis.facts import width_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tileopt.passes.safety.launches import Launch

    Lanes = NDArray[np.int64]
    Mask = NDArray[np.bool_]
    Value = Lanes | None

ELEMENTS = (simt_thread.ElementLoad, simt_thread.ElementStore, simt_atomic.AtomicRmw, simt_atomic.AtomicCas)
# What needs all lanes of a warp.
EXCHANGES: tuple[type[Operation], ...] = (
    simt_warp.Shuffle,
    simt_warp.Vote,
    simt_warp.Match,
    simt_warp.WarpReduce,
    simt_warp.Elect,
)
# Of the hardware's own ops those that a warp issues.
WARP_OPS: tuple[type[Operation], ...] = (
    gpu_words.LdMatrixWords, gpu_words.StMatrixWords, gpu_words.MmaWords, *gpu_warpgroup.WarpgroupOps,
    gpu_tensor.Tcgen05Alloc, gpu_tensor.Tcgen05Relinquish, gpu_tensor.Tcgen05Dealloc, gpu_tensor.Tcgen05Load,
    gpu_tensor.Tcgen05Store, gpu_tensor.Tcgen05Wait,
)  # fmt: skip
# Beside atomics: after these a thread may know what others have done.
WAITS: tuple[type[Operation], ...] = (
    simt_atomic.Fence, gpu_mbarrier.MbarrierWait, gpu_mbarrier.MbarrierTryWait, gpu_cluster.ClusterWait,
)  # fmt: skip
STEPS_MAX = 2500  # ops run in all
TRIPS_MAX = 40  # iterations of a loop; what comes after a longer one is taken as unknown


class Stop(Exception):
    """The run can say no more: it is too long, or a test of an index ends the kernel."""


class Observer(Protocol):
    """Is told what happens. `mask`: the threads that take part."""

    def access(self, op: Operation, indices: list[Lanes], mask: Mask) -> None: ...
    def barrier(self) -> None: ...
    def sync_warp(self, mask: Mask) -> None: ...
    def ordered(self, memory: SSAValue) -> None:
        """A tile of this shared memory was taken or written: the compiler orders it with what the threads do there."""
        ...

    def exchange(self, op: Operation, mask: Mask) -> None:
        """The lanes of a warp do something together."""
        ...

    def forget(self) -> None:
        """Something was skipped in which threads may have met."""
        ...

    def acquire(self) -> None:
        """Threads may have waited for others here: until all meet, what they do may come after what those did."""
        ...


class LaneRun:
    """One run of the threads (`idx`, within blocks `place`) of a launch."""

    def __init__(self, kernel: KernelOp, launch: Launch, idx: list[Lanes], place: list[Lanes], to: Observer) -> None:
        import numpy as np

        self.np = np
        self.launch, self.idx, self.place, self.to = launch, idx, place, to
        self.count = len(idx[0])
        self.steps = 0
        self.values: dict[SSAValue, Value] = {}
        self.block_extents = kernel.block or (1, 1, 1)
        for argument in kernel.body.block.args:
            scalar = launch.scalars.get(argument)
            self.values[argument] = None if scalar is None else self.full(scalar)
        self.kernel = kernel

    def run(self) -> None:
        """Raises what the observer raises, and Stop."""
        with self.np.errstate(all="ignore"):
            self.block(self.kernel.body.block, self.np.ones(self.count, bool))

    def full(self, value: int) -> Lanes:
        return self.np.full(self.count, value, self.np.int64)

    def block(self, block: Block, mask: Mask) -> None:
        for op in block.ops:
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Stop
            handler = _CONTROL.get(type(op))
            if handler is not None:
                handler(self, op, mask)
            elif isinstance(op, ELEMENTS):
                self.element(op, mask)
            elif op.regions:
                self.skip(op)
            elif op.name.startswith("gpu."):
                self.hardware(op, mask)
            elif op.results:
                self.values[op.results[0]] = self.compute(op)

    def yielded(self, block: Block) -> list[Value]:
        last = block.last_op
        return [self.values.get(v) for v in last.operands] if isinstance(last, scf.YieldOp) else []

    def skip(self, op: Operation) -> None:
        met = (simt.Barrier, simt_warp.SyncWarp, tile.LoadBuffer, tile.StoreBuffer)
        if any(isinstance(i, met) or i.name.startswith("gpu.") for i in op.walk()):
            self.to.forget()
        if any(acquires(i) for i in op.walk()):
            self.to.acquire()
        for result in op.results:
            self.values[result] = None

    def merge(self, mask: Mask, a: Value, b: Value) -> Any:
        if a is None or b is None:
            return None
        return self.np.where(mask, a, b)

    # Ops that compute.

    def compute(self, op: Operation) -> Any:
        np = self.np
        width = width_of(op.results[0].type)
        if width is None:
            return None
        match op:
            case arith.ConstantOp(value=IntegerAttr() as value):
                return wrapped(self.full(value.value.data), width)
            case simt_thread.ThreadIdx():
                return self.idx[op.axis.value.data]
            case simt.ThreadId():
                x, y, _ = self.block_extents
                return self.idx[0] + x * (self.idx[1] + y * self.idx[2])
            case simt_thread.BlockDim():
                return self.full(self.block_extents[op.axis.value.data])
            case simt.BlockId():
                return self.place[op.axis.value.data]
            case simt.GridDim():
                return self.full(self.launch.grid[op.axis.value.data])
            case simt.Dim():
                shape = self.launch.shapes.get(op.view)
                return None if shape is None else self.full(shape[op.axis.value.data])
        given = [self.values.get(v) for v in op.operands]
        if any(v is None for v in given):
            return None
        known = [v for v in given if v is not None]
        match op:
            case arith.CmpiOp():
                return self.compare(op, known)
            case arith.SelectOp():
                return np.where(known[0] != 0, known[1], known[2])
            case arith.ExtUIOp() | arith.ExtSIOp() | arith.TruncIOp() | arith.IndexCastOp():
                source = width_of(op.operands[0].type) or 64
                if isinstance(op, arith.ExtUIOp) and source < 64:
                    return wrapped(known[0] & ((1 << source) - 1), width)
                if isinstance(op, arith.ExtSIOp) and source == 1:
                    return -known[0]
                return wrapped(known[0], width)
            case arith.DivSIOp() | arith.RemSIOp():
                a, b = known
                safe = np.where((b == 0) | (b == -1), 1, b)  # by -1: apart, since it may overflow
                quotient = np.where(b == -1, -a, np.sign(a) * np.sign(safe) * (np.abs(a) // np.abs(safe)))
                quotient = np.where(b == 0, 0, quotient)
                return wrapped(quotient if isinstance(op, arith.DivSIOp) else a - b * quotient, width)
            case arith.FloorDivSIOp():
                a, b = known
                return wrapped(np.where(b == 0, 0, a // np.where(b == 0, 1, b)), width)
        function = _BINARY.get(type(op))
        return None if function is None else wrapped(function(np, *known), width)

    def compare(self, op: arith.CmpiOp, given: list[Lanes]) -> Lanes:
        predicate = op.predicate.value.data
        a, b = given
        if predicate > 5:
            a, b = a.view(self.np.uint64), b.view(self.np.uint64)  # sign extension keeps the order
        word = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
        name = word[predicate if predicate < 6 else predicate - 4]
        truth: Lanes = getattr(self.np, name)(a, b).astype(self.np.int64)
        return truth

    # Accesses.

    def element(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, ELEMENTS)
        for result in op.results:
            self.values[result] = None
        if acquires(op):
            self.to.acquire()
        indices = [self.values.get(i) for i in op.indices]
        known = [i for i in indices if i is not None]
        shape = op.mem.type.get_shape() if isinstance(op.mem.type, BufferType) else self.launch.shapes.get(op.mem)
        if len(known) != len(indices) or shape is None or not mask.any():
            return
        for index, extent in zip(known, shape, strict=True):
            if ((index < 0) | (index >= extent))[mask].any():
                raise Stop
        self.to.access(op, known, mask)

    # Control flow.

    def check_index(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, simt_thread.CheckIndex)
        index, length = self.values.get(op.index), self.values.get(op.length)
        if index is None or length is None or ((index < 0) | (index >= length))[mask].any():
            raise Stop

    def hardware(self, op: Operation, mask: Mask) -> None:
        """An op of the hardware's own: whatever it did, and whoever met at it, is not followed."""
        if isinstance(op, WARP_OPS):
            self.to.exchange(op, mask)
        if acquires(op):
            self.to.acquire()
        if op.has_trait(MemoryWriteEffect):
            self.to.forget()
        for result in op.results:
            self.values[result] = None

    def assertion(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, simt_host.Assert)
        held = self.values.get(op.condition)
        if held is None or (held == 0)[mask].any():
            raise Stop

    def barrier(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, simt.Barrier)
        if op.id is not None:
            self.to.forget()  # some threads meet
            self.to.acquire()
        else:
            self.to.barrier()

    def sync_warp(self, op: Operation, mask: Mask) -> None:
        self.to.exchange(op, mask)
        self.to.sync_warp(mask)

    def fence(self, op: Operation, mask: Mask) -> None:
        self.to.acquire()

    def exchange(self, op: Operation, mask: Mask) -> None:
        self.to.exchange(op, mask)
        for result in op.results:
            self.values[result] = None

    def tile_access(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, tile.LoadBuffer | tile.StoreBuffer)
        self.to.ordered(op.mem)
        for result in op.results:
            self.values[result] = None

    def branch(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, scf.IfOp)
        condition = self.values.get(op.cond)
        if condition is None:
            self.skip(op)
            return
        truth = condition != 0
        yields: list[list[Value]] = []
        for region, part in ((op.true_region, mask & truth), (op.false_region, mask & ~truth)):
            if region.blocks.first is not None:
                if part.any():
                    self.block(region.block, part)
                yields.append(self.yielded(region.block))
        for i, result in enumerate(op.results):
            then, other = yields[0][i], yields[1][i]
            whole = other if not (mask & truth).any() else then if not (mask & ~truth).any() else None
            self.values[result] = whole if whole is not None else self.merge(truth, then, other)

    def count_loop(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, scf.ForOp)
        first, end, step = (self.values.get(v) for v in (op.lb, op.ub, op.step))
        if first is None or end is None or step is None or (step < 1)[mask].any():
            self.skip(op)
            return
        body, arguments = op.body.block, op.body.block.args
        carried: list[Value] = [self.values.get(v) for v in op.iter_args]
        index, trips = first, 0
        while (active := mask & (index < end)).any():
            trips += 1
            if trips > TRIPS_MAX:
                self.skip(op)
                return
            self.values[arguments[0]] = index
            self.values.update(zip(arguments[1:], carried, strict=True))
            self.block(body, active)
            carried = [self.merge(active, new, old) for new, old in zip(self.yielded(body), carried, strict=True)]
            index = self.np.where(active, index + step, index)
        self.values.update(zip(op.results, carried, strict=True))

    def test_loop(self, op: Operation, mask: Mask) -> None:
        assert isinstance(op, scf.WhileOp)
        before, after = op.before_region.block, op.after_region.block
        test = before.last_op
        assert isinstance(test, scf.ConditionOp)
        carried: list[Value] = [self.values.get(v) for v in op.arguments]
        results: list[Value] = [None] * len(op.results)
        active = mask
        for trip in range(TRIPS_MAX):
            self.values.update(zip(before.args, carried, strict=True))
            self.block(before, active)
            condition = self.values.get(test.condition)
            if condition is None:
                break
            given = [self.values.get(v) for v in test.args]
            results = [g if trip == 0 else self.merge(active, g, r) for g, r in zip(given, results, strict=True)]
            active = active & (condition != 0)
            if not active.any():
                self.values.update(zip(op.results, results, strict=True))
                return
            self.values.update(zip(after.args, given, strict=True))
            self.block(after, active)
            carried = [self.merge(active, new, old) for new, old in zip(self.yielded(after), carried, strict=True)]
        self.skip(op)


def acquires(op: Operation) -> bool:
    """Whether what a thread does after the op may be ordered after what others did, of which it has learnt by it.

    After a fence a relaxed atomic before it does the same. A release alone orders nothing: someone must acquire.
    """
    match op:
        case simt_atomic.AtomicRmw() | simt_atomic.AtomicCas():
            return op.order is not None and op.order.data in ("acquire", "acq_rel")
        case simt.Barrier():
            return op.id is not None
        case _:
            return isinstance(op, WAITS)


def wrapped(value: Any, width: int) -> Any:
    """The signed value of the low bits; a bool is 0 or 1."""
    if width >= 64:
        return value
    low = value & ((1 << width) - 1)
    return low if width == 1 else low - ((low >> (width - 1)) << width)


def _pass(run: LaneRun, op: Operation, mask: Any) -> None:
    pass


_CONTROL: dict[type[Operation], Callable[[LaneRun, Operation, Any], None]] = {
    scf.IfOp: LaneRun.branch,
    scf.ForOp: LaneRun.count_loop,
    scf.WhileOp: LaneRun.test_loop,
    scf.YieldOp: _pass,
    scf.ConditionOp: _pass,
    simt.Return: _pass,
    simt.Barrier: LaneRun.barrier,
    simt_warp.SyncWarp: LaneRun.sync_warp,
    simt_atomic.Fence: LaneRun.fence,
    simt_thread.CheckIndex: LaneRun.check_index,
    simt_host.Assert: LaneRun.assertion,
    **dict.fromkeys(EXCHANGES, LaneRun.exchange),
    tile.LoadBuffer: LaneRun.tile_access,
    tile.StoreBuffer: LaneRun.tile_access,
}
_BINARY: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: lambda np, a, b: a + b,
    arith.SubiOp: lambda np, a, b: a - b,
    arith.MuliOp: lambda np, a, b: a * b,
    arith.AndIOp: lambda np, a, b: a & b,
    arith.OrIOp: lambda np, a, b: a | b,
    arith.XOrIOp: lambda np, a, b: a ^ b,
    arith.MinSIOp: lambda np, a, b: np.minimum(a, b),
    arith.MaxSIOp: lambda np, a, b: np.maximum(a, b),
    arith.ShLIOp: lambda np, a, b: a << np.clip(b, 0, 63),
    arith.ShRSIOp: lambda np, a, b: a >> np.clip(b, 0, 63),
}


def linear(indices: Sequence[Any], shape: Sequence[int]) -> Any:
    """The element's number in row-major order."""
    total: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        total = total * extent + index
    return total
