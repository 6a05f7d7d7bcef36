"""The rewriting half of pipeline-loops: a loop with loads becomes one that takes its tiles from a channel.

With S slots, before: S-1 times `copy; commit` for the first iterations. In iteration i:

    tiles = wait(i)                   its group has arrived; the S-2 later ones may be in flight
    if i+S-1 < trips:                 copies for the iteration that is S-1 ahead, into the slot that i-1 released
        acquire; copy ...
    commit                            in each iteration, so that groups can be counted
    ... the body, with its tiles ...
    release(i)

Copies whose iteration does not exist are left out, so any number of trips works, none included; every group with
copies in it has been waited for when the loop ends. The iteration number counts from 0 each time the loop is entered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileopt.dialects import pipe, tile
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.building import Writer


@dataclass(frozen=True, slots=True)
class Stream:
    """One load that a loop makes early: with what stages it, and the ops of the body that compute its offsets."""

    load: tile.Load
    stage: tile.Stage
    address: list[Operation]


def constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def constant_trips(loop: scf.ForOp) -> int | None:
    """How often the loop runs, where that is known."""
    lower, upper, step = constant(loop.lb), constant(loop.ub), constant(loop.step)
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return max(0, -(-(upper - lower) // step))


class _Emitter(Writer):
    """Makes each constant once."""

    def __init__(self, like: Operation, block: Block, anchor: Operation | None) -> None:
        super().__init__(like, block, anchor)
        self.constants: dict[tuple[int, Attribute], SSAValue] = {}

    def number(self, value: int, type_: Attribute = i64) -> SSAValue:
        key = (value, type_)
        if key not in self.constants:
            assert isinstance(type_, IntegerType | IndexType)
            properties: dict[str, Attribute] = {"value": IntegerAttr(value, type_)}
            self.constants[key] = self.emit(arith.ConstantOp, [], [type_], properties).results[0]
        return self.constants[key]

    def binary(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = {}
        if op_type in (arith.AddiOp, arith.SubiOp, arith.MuliOp):
            properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
        return self.emit(op_type, [a, b], [a.type], properties).results[0]

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(arith.CmpiOp, [a, b], [i1], {"predicate": IntegerAttr(2, i64)}).results[0]

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """A number of iterations, or an iteration, in another integer type."""
        if value.type == type_:
            return value
        if isinstance(value.type, IndexType) or isinstance(type_, IndexType):
            return self.emit(arith.IndexCastOp, [value], [type_]).results[0]
        assert isinstance(value.type, IntegerType) and isinstance(type_, IntegerType)
        wider = type_.width.data > value.type.width.data
        return self.emit(arith.ExtUIOp if wider else arith.TruncIOp, [value], [type_]).results[0]


@dataclass(frozen=True, slots=True)
class _Counting:
    """A loop that counts its iterations: `trips` of them; iteration k had the induction variable `lower + k*step`,
    which the body knows as `current`."""

    trips: SSAValue
    known_trips: int | None
    lower: SSAValue
    step: SSAValue
    current: SSAValue

    @property
    def is_plain(self) -> bool:
        return constant(self.lower) == 0 and constant(self.step) == 1 and self.lower.type == i64

    def variable(self, at: _Emitter, iteration: SSAValue) -> SSAValue:
        """The loop's original induction variable in an iteration."""
        if self.is_plain:
            return iteration
        offset = at.binary(arith.MuliOp, at.cast(iteration, self.lower.type), self.step)
        return at.binary(arith.AddiOp, offset, self.lower)


def rewrite(loop: scf.ForOp, streams: list[Stream], slots: int) -> None:
    """Makes the streams' tiles come through a channel of `slots` slots."""
    assert loop.parent is not None
    before = _Emitter(loop, loop.parent, loop)
    members = [s.stage.result.type for s in streams]
    assert all(isinstance(m, BufferType) for m in members)
    channel_type = pipe.ChannelType(IntAttr(slots), ArrayAttr(members))
    channel = before.emit(pipe.Channel, [], [channel_type]).results[0]
    counting = _count(loop, before)
    for k in range(slots - 1):
        if counting.known_trips is None or k < counting.known_trips:
            condition = None if counting.known_trips is not None else before.less(before.number(k), counting.trips)
            _copies(before, loop, streams, channel, before.number(k), counting, condition)
        before.emit(pipe.Commit, [channel, before.number(k)])
    _rewrite_body(loop, streams, channel, counting, slots)


def _count(loop: scf.ForOp, before: _Emitter) -> _Counting:
    """Makes the loop count from 0 by 1; uses of its variable are replaced by what it was."""
    known = constant_trips(loop)
    plain = _Counting(loop.ub, known, loop.lb, loop.step, loop.body.block.args[0])
    if plain.is_plain:
        return plain
    lower, upper, step = loop.lb, loop.ub, loop.step
    if known is not None:
        trips = before.number(known)
    elif constant(step) == 1:
        # Without trips where it is negative, as the loop was.
        trips = before.binary(arith.SubiOp, upper, lower)
        if isinstance(trips.type, IntegerType) and trips.type != i64:
            runs = before.less(lower, upper)
            none = before.number(0, lower.type)
            trips = before.emit(arith.SelectOp, [runs, trips, none], [lower.type]).results[0]
        trips = before.cast(trips, i64)
    else:
        # (upper - lower - 1) / step + 1, unsigned: right for any bounds, however far apart.
        one = before.number(1, lower.type)
        span = before.binary(arith.SubiOp, before.binary(arith.SubiOp, upper, lower), one)
        some = before.binary(arith.AddiOp, before.binary(arith.DivUIOp, span, step), one)
        runs = before.less(lower, upper)
        none = before.number(0, lower.type)
        trips = before.cast(before.emit(arith.SelectOp, [runs, some, none], [lower.type]).results[0], i64)
    loop.operands = [before.number(0), trips, before.number(1), *loop.iter_args]
    body = loop.body.block
    variable = body.args[0]
    iteration = body.insert_arg(i64, 0)
    iteration.location = variable.location
    counting = _Counting(trips, known, lower, step, iteration)
    current = counting.variable(_Emitter(loop, body, body.first_op), iteration)
    current.name_hint = variable.name_hint
    variable.replace_all_uses_with(current)
    body.erase_arg(variable)
    return replace(counting, current=current)


def _copies(
    at: _Emitter,
    loop: scf.ForOp,
    streams: list[Stream],
    channel: SSAValue,
    iteration: SSAValue,
    counting: _Counting,
    condition: SSAValue | None,
) -> None:
    """Starts the copies for an iteration, if the condition holds."""
    inner = at if condition is None else _Emitter(loop, Block(), None)
    values: dict[SSAValue, SSAValue] = {}
    users = [op for s in streams for op in (s.load, *s.address)]
    if any(counting.current in op.operands for op in users):
        values[counting.current] = counting.variable(inner, iteration)
    done: set[Operation] = set()
    inner.emit(pipe.Acquire, [channel, iteration])
    for member, stream in enumerate(streams):
        for op in stream.address:
            if op not in done:
                done.add(op)
                inner.add(op.clone(values))
        view, *offsets = (values.get(v, v) for v in stream.load.operands)
        properties = {k: v for k, v in stream.load.properties.items() if k in ("padding", "bounds", "vector")}
        properties["member"] = IntegerAttr(member, i64)
        copy = inner.emit(pipe.Copy, [view, *offsets, channel, iteration], [], properties)
        copy.location = stream.load.location
    if condition is not None:
        inner.emit(scf.YieldOp, [])
        at.emit(scf.IfOp, [condition], [], regions=[Region(inner.block), Region()])


def _rewrite_body(loop: scf.ForOp, streams: list[Stream], channel: SSAValue, counting: _Counting, slots: int) -> None:
    body = loop.body.block
    iteration = body.args[0]
    at = _Emitter(loop, body, body.first_op)
    pending: dict[str, Attribute] = {"pending": IntegerAttr(slots - 2, i64)}
    wait = at.emit(pipe.Wait, [channel, iteration], [s.stage.result.type for s in streams], pending)
    ahead = at.binary(arith.AddiOp, iteration, at.number(slots - 1))
    _copies(at, loop, streams, channel, ahead, counting, at.less(ahead, loop.ub))
    at.emit(pipe.Commit, [channel, ahead])
    assert body.last_op is not None
    _Emitter(loop, body, body.last_op).emit(pipe.Release, [channel, iteration])
    for stream, arrived in zip(streams, wait.results, strict=True):
        arrived.name_hint = stream.stage.result.name_hint
        stream.stage.result.replace_all_uses_with(arrived)
        body.erase_op(stream.stage)
        body.erase_op(stream.load)
    for op in reversed(list(dict.fromkeys(op for s in streams for op in s.address))):
        if op.parent is body and not any(True for r in op.results for _ in r.uses):
            body.erase_op(op)
