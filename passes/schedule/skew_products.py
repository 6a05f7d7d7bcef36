"""skew-products: a product that needs another product of its iteration runs beside the next iteration's first one.

From: tile+pipe with roles. To: tile+pipe. Invariant: what a loop computes; in the consumers' loops that it rewrites no
product takes, in the iteration's own order of text, what another one of the iteration gives.

In a loop's body a product whose operands come from loads has depth 0, one that needs such a product's result has depth
1. The loop is cut in two: *first*, all that does not need a product of depth 1, and *second*, those products and what
follows from them, here or by way of what the loop carries. Then the second part of an iteration runs together with the
first part of the next:

    first(0)
    for j = 1 .. n-1:   the products of first(j);  second(j-1);  the rest of first(j)
    second(n-1)

so that the tensor cores have the second part's products to do while the threads do the rest of the first. What the
second part needs of the first is carried to it by the loop; where less has to be carried, cheap ops of the first part
move to the second.

Where special functions take as long as products, such a loop is marked `pipe.late`: `chain-products` moves the wait for
the second part's products to the next iteration's beginning, and what narrows their operands is done there, too. (That
the wait stands before the end of an iteration is not enough: ptxas moves it up past all that does not need it.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tileopt.dialects import pipe, tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.target import target_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.analysis.unit_times import unit_times
from tileopt.passes.building import LESS, NO_FLAGS, Writer, compare, insert
from tileopt.passes.schedule.split_loops import REST

LATE_WAITS = "tile.late_waits"  # of a kernel: the author's choice
OTHER_REGISTERS = 16  # of a thread: sums and extremes of its rows, addresses
TAKE_TURNS = "tile.take_turns"  # of a kernel: the author's choice
TURNS = "pipe.turns"  # of a loop: the warpgroups begin its products in turn
LATE = "pipe.late"  # of a loop: its last products are waited for in the next iteration


@dataclass(frozen=True)
class SkewProducts(ModulePass):
    name = "skew-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                for roles in [x for x in walk(kernel) if isinstance(x, pipe.Roles)]:
                    block = roles.consumers.block
                    for loop in [x for x in block.walk() if isinstance(x, scf.ForOp)]:
                        parts = None if REST in loop.attributes else _parts(loop, late=_waits_late(loop, kernel, roles))
                        if parts is not None:
                            parts.turns = kernel.flag(TAKE_TURNS)
                            _skew(loop, parts)


@dataclass(slots=True)
class _Parts:
    """`second`: its ops. `carried`: of what the loop carries, the numbers that the second part makes. `crossing`: the
    values of the first part, and the loop's own, that the second part takes."""

    second: set[Operation]
    carried: list[int]
    crossing: list[SSAValue] = field(default_factory=list)
    late: bool = False
    turns: bool = False


def _waits_late(loop: scf.ForOp, kernel: tile.Kernel, roles: pipe.Roles) -> bool:
    """Whether the second part's products should be waited for in the next iteration: where special functions take
    long, they are what can be done beside them, and where there are registers for the first part's next results beside
    what becomes of the last ones, since ptxas begins those products as early as it can."""
    if LATE_WAITS in kernel.attributes:
        return kernel.flag(LATE_WAITS)
    times = unit_times(loop.body.block, kernel, target_of(kernel))
    if times is None or not times.crowded:
        return False
    products = [op for op in loop.body.block.ops if isinstance(op, tile.Mma)]
    depth = _depths(loop.body.block, products)
    taken = {v for op in products if depth[op] for v in (op.acc, op.a, op.b) if isinstance(v.type, TensorType)}
    made = {op.result for op in products if not depth[op]}
    held = sum(map(_bytes, taken)) + 2 * sum(map(_bytes, made))
    return held // (4 * WARP_SIZE * roles.warps.value.data) + OTHER_REGISTERS <= roles.consumer_registers.value.data


def _parts(loop: scf.ForOp, *, late: bool) -> _Parts | None:
    """How a loop is cut; None where it has no product of depth 1, or does more than compute from channels."""
    body = loop.body.block
    products = [op for op in body.ops if isinstance(op, tile.Mma)]
    if len(products) < 2 or not all(_may_move(op) for op in body.ops if op is not body.last_op):
        return None
    depth = _depths(body, products)
    deep = [op for op in products if depth[op]]
    if not deep or max(depth.values()) > 1:
        return None
    second, carried = _second(loop, deep)
    if any(op in second for op in products if not depth[op]):
        return None
    _follow_channels(body, second)
    _move_cheap(body, second)
    if late:
        second.update(_narrowing(body, second))
    parts = _Parts(second, carried, late=late)
    taken = {v: None for op in body.ops if op in second for v in op.operands}
    mine = {body.args[n + 1] for n in carried}
    for value in taken:
        owner = value.owner
        if value not in mine and (owner is body or (isinstance(owner, Operation) and owner.parent is body)):
            if owner not in second:
                parts.crossing.append(value)
    if any(isinstance(value.type, BufferType) for value in parts.crossing):
        return None  # both parts take it, and the next iteration's would overwrite it
    return parts


def _may_move(op: Operation) -> bool:
    if isinstance(op, pipe.Wait | pipe.Release):
        return True
    return not op.regions and (op.name.startswith("arith.") or is_side_effect_free(op) or isinstance(op, tile.Mma))


def _depths(body: Block, products: list[tile.Mma]) -> dict[tile.Mma, int]:
    """For each product the longest chain of products of the iteration that lead to it."""
    behind: dict[SSAValue, int] = {}  # products on the way to a value
    found: dict[tile.Mma, int] = {}
    for op in body.ops:
        most = max((behind.get(v, 0) for v in op.operands), default=0)
        if isinstance(op, tile.Mma):
            found[op] = most
            most += 1
        for result in op.results:
            behind[result] = most
    return found


def _second(loop: scf.ForOp, deep: Iterable[tile.Mma]) -> tuple[set[Operation], list[int]]:
    """The deep products and all that needs them, now or in the next iteration."""
    body, end = loop.body.block, loop.body.block.last_op
    assert end is not None
    values: set[SSAValue] = {op.result for op in deep}
    second: set[Operation] = set(deep)
    carried: list[int] = []
    again = True
    while again:
        again = False
        for op in body.ops:
            if op is not end and op not in second and any(v in values for v in op.operands):
                second.add(op)
            if op in second:
                values.update(op.results)
        for number, value in enumerate(end.operands):
            if value in values and number not in carried:
                carried.append(number)
                values.add(body.args[number + 1])
                again = True
    return second, sorted(carried)


def _follow_channels(body: Block, second: set[Operation]) -> None:
    """A wait whose tiles only the second part takes belongs to it, with all that leads from it and its release; so does
    what puts a tile into shared memory for it."""
    for op in reversed(list(body.ops)):
        if op.results and op not in second and _is_buffer_op(op) and _used_by(op, second):
            second.add(op)
    channels = {op.channel for op in second if isinstance(op, pipe.Wait)}
    second.update(op for op in body.ops if isinstance(op, pipe.Release) and op.channel in channels)


def _is_buffer_op(op: Operation) -> bool:
    return isinstance(op, pipe.Wait | tile.Stage | tile.TransposeBuffer | tile.ReshapeBuffer)


def _used_by(op: Operation, part: set[Operation]) -> bool:
    users = [use.operation for result in op.results for use in result.uses]
    return bool(users) and all(user in part for user in users)


def _move_cheap(body: Block, second: set[Operation]) -> None:
    """Moves ops that only the second part takes, where their operands are less to carry than their results."""
    for op in reversed(list(body.ops)):
        if op in second or not op.results or isinstance(op, tile.Mma | pipe.Wait) or not _used_by(op, second):
            continue
        inside = {v for v in op.operands if v.owner is body or getattr(v.owner, "parent", None) is body}
        if sum(map(_bytes, inside)) < sum(map(_bytes, op.results)):
            second.add(op)


def _narrowing(body: Block, second: set[Operation]) -> set[Operation]:
    """What makes the second part's operands in registers, and nothing else."""
    taken = {op.a for op in second if isinstance(op, tile.Mma) and isinstance(op.a.type, TensorType)}
    found = {op for v in taken if isinstance(op := v.owner, Operation) and op.parent is body}
    return {op for op in found - second if not isinstance(op, tile.Mma) and _used_by(op, second)}


def _bytes(value: SSAValue) -> int:
    type_ = value.type
    if isinstance(type_, TensorType):
        return prod(type_.get_shape()) * bit_width(type_.element_type) // 8
    return 1  # a scalar is one register of a thread, a tile many


def _skew(loop: scf.ForOp, parts: _Parts) -> None:
    """Rewrites the loop, in an `scf.if` that asks whether there is an iteration at all."""
    body, end = loop.body.block, loop.body.block.last_op
    assert end is not None and loop.parent is not None
    own = [n for n in range(len(loop.iter_args)) if n not in parts.carried]
    some = compare(loop, LESS, loop.lb, loop.ub)
    yes = Block()
    at = Writer(loop, yes, None)
    ops = [op for op in body.ops if op is not end]
    first, second = [op for op in ops if op not in parts.second], [op for op in ops if op in parts.second]

    values: dict[SSAValue, SSAValue] = {body.args[0]: loop.lb}
    values |= {body.args[n + 1]: loop.iter_args[n] for n in own}
    at.copy(first, values)
    start = at.emit(arith.AddiOp, [loop.lb, loop.step], [loop.lb.type], NO_FLAGS).results[0]
    inits = [values.get(end.operands[n], end.operands[n]) for n in own]
    inits += [loop.iter_args[n] for n in parts.carried]
    inits += [values[v] for v in parts.crossing]

    inner = Block(arg_types=[loop.lb.type, *(v.type for v in inits)])
    index, *carried = inner.args
    mine, theirs, crossed = _cut(carried, len(own), len(parts.carried))
    within = Writer(loop, inner, None)
    now: dict[SSAValue, SSAValue] = {body.args[0]: index}
    now |= {body.args[n + 1]: value for n, value in zip(own, mine, strict=True)}
    before: dict[SSAValue, SSAValue] = dict(zip(parts.crossing, crossed, strict=True))
    before |= {body.args[n + 1]: value for n, value in zip(parts.carried, theirs, strict=True)}
    last = max(number for number, op in enumerate(first) if isinstance(op, tile.Mma))
    releases = [op for op in second if isinstance(op, pipe.Release)]
    # What the second products take is made before the first begin, and made anew when they are done: ptxas does one
    # product after the other where registers that one reads are written while another is under way (warning C7513).
    ready, anew = _ready(second), [op for op in first if op in _narrowing(body, parts.second)]
    within.copy(ready, before)
    within.copy([op for op in first[: last + 1] if not isinstance(op, pipe.Release)], now)
    within.copy([op for op in second if op not in releases and op not in ready], before)
    within.copy([op for op in first[: last + 1] if isinstance(op, pipe.Release)], now)
    within.copy([op for op in first[last + 1 :] if op not in anew], now)
    within.copy(releases, before)
    within.copy(anew, now)
    results = [now.get(end.operands[n], end.operands[n]) for n in own]
    results += [before.get(end.operands[n], end.operands[n]) for n in parts.carried]
    within.emit(scf.YieldOp, [*results, *(now[v] for v in parts.crossing)])
    made = at.emit(scf.ForOp, [start, loop.ub, loop.step, *inits], [v.type for v in inits], {}, [Region(inner)])
    made.attributes.update(loop.attributes)
    if parts.late:
        made.attributes[LATE] = UnitAttr()
    if parts.turns:
        made.attributes[TURNS] = UnitAttr()

    mine, theirs, crossed = _cut(made.results, len(own), len(parts.carried))
    after: dict[SSAValue, SSAValue] = dict(zip(parts.crossing, crossed, strict=True))
    after |= {body.args[n + 1]: value for n, value in zip(parts.carried, theirs, strict=True)}
    at.copy(second, after)
    ends: dict[int, SSAValue] = dict(zip(own, mine, strict=True))
    ends |= {n: after.get(end.operands[n], end.operands[n]) for n in parts.carried}
    at.emit(scf.YieldOp, [ends[n] for n in range(len(loop.iter_args))])
    no = Block()
    Writer(loop, no, None).emit(scf.YieldOp, list(loop.iter_args))
    whole = insert(loop, scf.IfOp, [some], [r.type for r in loop.results], {}, [Region(yes), Region(no)])
    for old, result in zip(loop.results, whole.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    loop.parent.erase_op(loop)


def _ready(second: list[Operation]) -> list[Operation]:
    """Those of the second part that need neither its products nor its channels."""
    late: set[SSAValue] = set()
    found: list[Operation] = []
    for op in second:
        if isinstance(op, tile.Mma | pipe.Wait | pipe.Release) or any(v in late for v in op.operands):
            late.update(op.results)
        else:
            found.append(op)
    return found


def _cut(values: Iterable[SSAValue], a: int, b: int) -> tuple[list[SSAValue], list[SSAValue], list[SSAValue]]:
    held = list(values)
    return held[:a], held[a : a + b], held[a + b :]
