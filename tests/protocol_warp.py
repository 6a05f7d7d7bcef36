"""One warp of a block as a coroutine that stops before each op that others may notice (see `protocol_checker`).

Fragments are not computed: they know which tiles of which arrays they were made from, and whether the product that
makes them was waited for.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from barrier_model import Buffer, Fault, Made, Mbarrier, Memory, Part, Reading
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import gpu, gpu_mbarrier, gpu_tma, gpu_wgmma, simt, simt_warp
from tileopt.dialects.tile_types import BufferType

if TYPE_CHECKING:
    from protocol_checker import BlockRun

LANES = np.arange(32)

Steps = Generator[Callable[[], bool] | None, None, list[Any]]


def _natural(value: Any) -> Any:
    return value % 2**64 if isinstance(value, int) else value


_BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.RemUIOp: lambda a, b: _natural(a) % _natural(b),
    arith.DivUIOp: lambda a, b: _natural(a) // _natural(b),
    arith.DivSIOp: lambda a, b: int(a / b),
    arith.RemSIOp: lambda a, b: a - b * int(a / b),
    arith.CeilDivUIOp: lambda a, b: -(-a // b),
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.XOrIOp: operator.xor,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}
_SIGNED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_COMPARE = [*_SIGNED, *(lambda a, b, f=f: f(_natural(a), _natural(b)) for f in _SIGNED[2:])]


@dataclass(eq=False)
class Group:
    """Products that a warp has issued together: their reading, until the warp has waited."""

    readings: list[Reading]
    over: bool = False


@dataclass(frozen=True)
class Fragment:
    made: Made
    group: Group | None = None  # the last product that adds to it

    @property
    def in_flight(self) -> bool:
        return self.group is not None and not self.group.over


@dataclass
class Store:
    """A bulk store. `box`: where it writes, an interval an axis."""

    reading: Reading
    array: str
    box: tuple[range, ...]
    written: bool = False


@dataclass
class Meeting:
    came: int = 0
    times: int = 0


_NOTICED: set[type[Operation]] = {
    simt.Barrier, simt.SharedStore, simt.SharedLoad, gpu.LdMatrix, gpu.CpAsync, gpu.CpAsyncCommit, gpu.CpAsyncWait,
    gpu_wgmma.Wgmma, gpu_wgmma.WgmmaWait, gpu_mbarrier.MbarrierInit, gpu_mbarrier.MbarrierFence,
    gpu_mbarrier.MbarrierArrive, gpu_mbarrier.MbarrierWait, gpu_mbarrier.SetMaxRegisters, gpu_tma.TmaLoad,
    gpu_tma.TmaStore, gpu_tma.TmaCommit, gpu_tma.TmaWait,
}  # fmt: skip


def _of_warp(value: Any) -> Any:
    """One number for what all lanes have alike: a warp's number, say."""
    if isinstance(value, np.ndarray) and value.dtype != np.bool_ and (value == value[0]).all():
        return int(value[0])
    return value


class Warp:
    """One warp's run. `waits`: what it is waiting for."""

    def __init__(self, block: BlockRun, number: int) -> None:
        self.block, self.number = block, number
        self.values: dict[SSAValue, Any] = dict(block.arguments)
        self.mask = np.ones(32, np.bool_)
        self.groups: list[Group] = []
        self.open: list[Store] = []
        self.stores: list[list[Store]] = []
        self.open_copies: list[Part] = []
        self.copies: list[list[Part]] = []
        self.turns: Counter[Operation] = Counter()
        self.products: list[tuple[Made, Made]] = []
        self.registers = block.launched
        self.waits: Callable[[], bool] | None = None
        self.steps = self.run(block.kernel.body.block, [])

    def advance(self) -> bool:
        """Runs to the next op that others may notice. False at the end."""
        try:
            self.waits = next(self.steps)
        except StopIteration:
            if any(not s.reading.over for group in (*self.stores, self.open) for s in group):
                raise Fault("the block may end while a bulk store reads its memory") from None
            return False
        return True

    # --- control flow ----------------------------------------------------------------------------------------------

    def run(self, block: Block, arguments: Sequence[Any]) -> Steps:
        self.values.update(zip(block.args, arguments, strict=False))
        for op in block.ops:
            if type(op) in _NOTICED:
                yield None
                yield from self.noticed(op)
                continue
            if not op.regions and not isinstance(op, scf.YieldOp | scf.ConditionOp):
                self.alone(op)
                continue
            match op:
                case scf.YieldOp() | scf.ConditionOp():
                    return [self.values[v] for v in op.operands]
                case scf.ForOp():
                    lower, upper, step, *carried = (self.values[v] for v in op.operands)
                    for index in range(lower, upper, step):
                        carried = yield from self.run(op.body.block, [index, *carried])
                    self.values.update(zip(op.results, carried, strict=True))
                case scf.WhileOp():
                    carried = [self.values[v] for v in op.arguments]
                    while True:
                        goes, *shown = yield from self.run(op.before_region.block, carried)
                        if not goes:
                            break
                        carried = yield from self.run(op.after_region.block, shown)
                    self.values.update(zip(op.results, shown, strict=True))
                case scf.IfOp():
                    yield from self.choose(op)
                case _:
                    raise NotImplementedError(op.name)
        return []

    def choose(self, op: scf.IfOp) -> Steps:
        condition = np.broadcast_to(self.values[op.cond], 32)
        before = self.mask
        for region, chosen in ((op.true_region, condition), (op.false_region, ~condition)):
            self.mask = before & chosen
            if self.mask.any() and region.blocks.first is not None:
                if op.results and (self.mask != before).any():
                    raise Fault("lanes of one warp go two ways, and both give a value")
                results = yield from self.run(region.block, [])
                self.values.update(zip(op.results, results, strict=True))
        self.mask = before
        return []

    def whole(self, what: str) -> None:
        if not self.mask.all():
            raise Fault(f"{what}, but some lanes are elsewhere")

    def one(self, what: str) -> None:
        if self.mask.sum() != 1:
            raise Fault(f"{what} by {self.mask.sum()} threads")

    # --- what others do not notice ---------------------------------------------------------------------------------

    def alone(self, op: Operation) -> None:
        values = [self.values[v] for v in op.operands]
        compute = _BINARY.get(type(op))
        if compute is not None and not isinstance(op.results[0].type, VectorType):
            self.values[op.results[0]] = _of_warp(compute(*values))
            return
        match op:
            case arith.ConstantOp():
                self.values[op.result] = op.value.value.data if isinstance(op.value, IntegerAttr) else Fragment(Made())
            case simt.ThreadId():
                self.values[op.result] = 32 * self.number + LANES
            case simt.BlockId():
                ids = (self.block.physical[0], 0, 0) if op.physical is not None else self.block.ids
                self.values[op.result] = ids[op.axis.value.data]
            case simt.GridDim():
                grid = (self.block.physical[1], 1, 1) if op.physical is not None else self.block.grid
                self.values[op.result] = grid[op.axis.value.data]
            case simt.Dim():
                self.values[op.result] = self.block.shapes[values[0]][op.axis.value.data]
            case simt.AllocShared():
                self.values[op.result] = Memory.allocated(op)
            case simt.Slot():
                self.values[op.result] = values[0].slot(values[1])
            case simt.ViewBuffer():
                assert isinstance(op.result.type, BufferType)
                self.values[op.result] = Buffer(values[0].start, op.result.type, values[0].ring)
            case simt.FragmentLoad():
                self.values[op.result] = Fragment(frozenset([(values[0], tuple(values[1:]))]))
            case simt.FragmentStore():
                self.block.store(values[1], tuple(values[2:]), self.read(values[0]))
            case simt.Return() | simt_warp.SyncWarp():  # a warp runs as one here
                pass
            case arith.CmpiOp() if not isinstance(op.result.type, VectorType):
                self.values[op.result] = _COMPARE[op.predicate.value.data](*values)
            case arith.SelectOp() if not isinstance(op.result.type, VectorType):
                self.values[op.result] = values[1] if values[0] else values[2]
            case arith.ExtSIOp() | arith.ExtUIOp() | arith.TruncIOp() | arith.IndexCastOp() if isinstance(
                values[0], int | np.ndarray
            ):
                self.values[op.results[0]] = values[0]
            case _ if op.results and not any(isinstance(r.type, IntegerType | IndexType) for r in op.results):
                made = Made().union(*(self.read(v) for v in values if isinstance(v, Fragment)))
                self.values.update(dict.fromkeys(op.results, Fragment(made)))
            case _:
                raise NotImplementedError(op.name)

    def read(self, fragment: Fragment) -> Made:
        if fragment.in_flight:
            raise Fault("registers are read before the product that fills them was waited for")
        return fragment.made

    # --- what others notice ----------------------------------------------------------------------------------------

    def noticed(self, op: Operation) -> Steps:
        memory = self.block.memory
        values = [self.values[v] for v in op.operands]
        match op:
            case simt.Barrier():
                self.whole("threads meet")
                if op.proxy is not None:
                    for part in memory.parts_of(self.number):
                        part.seen = not part.flying
                yield from self.meet(op)
            case simt.SharedStore():
                self.turns[op] += 1
                part = Part(self.read(values[0]), flying=False)
                memory.write(values[1], op, self.turns[op], self.number, part)
            case simt.SharedLoad() | gpu.LdMatrix():
                self.values[op.result] = Fragment(memory.read(values[0], past_threads=False))
            case gpu.CpAsync():
                self.turns[op] += 1
                view, *offsets, buffer = values
                part = Part(frozenset([(view, tuple(offsets))]), flying=True)
                memory.write(buffer, op, self.turns[op], self.number, part)
                self.open_copies.append(part)
            case gpu.CpAsyncCommit():
                self.copies.append(self.open_copies)
                self.open_copies = []
            case gpu.CpAsyncWait():
                for part in self._older(self.copies, op.pending.value.data):
                    part.flying = False
            case gpu_wgmma.Wgmma():
                self.whole("a warpgroup multiplies")
                self.multiply(op, *values)
            case gpu_wgmma.WgmmaWait():
                self.whole("a warpgroup waits")
                count = len(self.groups) - op.pending.value.data
                for group in self.groups[: max(0, count)]:
                    group.over = True
                    for reading in group.readings:
                        reading.over = True
                self.values[op.result] = values[0]
            case gpu_mbarrier.MbarrierInit():
                self.one("a barrier is made")
                self.block.barriers[self.place(*values)] = Mbarrier(op.count.value.data)
            case gpu_mbarrier.MbarrierFence():
                for barrier in self.block.barriers.values():
                    barrier.known = True
            case gpu_mbarrier.MbarrierArrive():
                where = values[2] if len(values) > 2 else True
                expected = 0 if op.expect is None else op.expect.value.data
                times = int((self.mask & np.broadcast_to(where, 32)).sum())
                if times:
                    self.barrier(values[0], values[1]).arrive(times, expected)
            case gpu_mbarrier.MbarrierWait():
                barrier, parity = self.barrier(values[0], values[1]), values[2]
                while not barrier.is_over(parity):
                    yield lambda: barrier.is_over(parity)
            case gpu_mbarrier.SetMaxRegisters():
                yield from self.take_registers(op.registers.value.data)
            case gpu_tma.TmaLoad():
                self.one("a bulk load is started")
                view, *offsets, buffer, barriers, index = values
                self.block.load((view, tuple(offsets)), buffer, self.barrier(barriers, index))
            case gpu_tma.TmaStore():
                self.one("a bulk store is started")
                buffer, view, *offsets = values
                self.open.append(self.block.bulk_store(buffer, view, tuple(offsets)))
            case gpu_tma.TmaCommit():
                self.stores.append(self.open)
                self.open = []
            case gpu_tma.TmaWait():
                for store in self._older(self.stores, op.pending.value.data):
                    store.reading.over = True
                    store.written = store.written or op.read is None
        return []

    @staticmethod
    def _older(groups: list[list[Any]], pending: int) -> list[Any]:
        return [x for group in groups[: max(0, len(groups) - pending)] for x in group]

    def multiply(self, op: gpu_wgmma.Wgmma, a: Any, b: Buffer, acc: Fragment) -> None:
        made, readings = list[Made](), list[Reading]()
        for operand in (a, b):
            if isinstance(operand, Fragment):
                made.append(self.read(operand))
            else:
                what, reading = self.block.memory.begin_reading(operand, "a product")
                made.append(what)
                readings.append(reading)
        group = Group(readings)
        self.groups.append(group)
        self.products.append((made[0], made[1]))
        self.values[op.result] = Fragment(acc.made | made[0] | made[1], group)

    def place(self, barriers: Buffer, index: int) -> int:
        if not 0 <= index < barriers.type.get_shape()[0]:
            raise Fault(f"there is no barrier {index}")
        return int(barriers.start + 8 * index)

    def barrier(self, barriers: Buffer, index: int) -> Mbarrier:
        found = self.block.barriers.get(self.place(barriers, index))
        if found is None:
            raise Fault("a barrier is used before it was made")
        return found

    def meet(self, op: simt.Barrier) -> Steps:
        number = 0 if op.id is None else op.id.value.data
        threads = 32 * len(self.block.warps) if op.threads is None else op.threads.value.data
        meeting = self.block.meetings.setdefault(number, Meeting())
        at = meeting.times
        meeting.came += 32
        if meeting.came == threads:
            meeting.times, meeting.came = at + 1, 0
        while meeting.times == at:
            yield lambda: meeting.times != at
        return []

    def take_registers(self, count: int) -> Steps:
        more = 32 * (count - self.registers)
        while more > self.block.free_registers:
            yield lambda: more <= self.block.free_registers
        self.block.free_registers -= more
        self.registers = count
        return []
