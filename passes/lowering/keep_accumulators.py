"""keep-accumulators: an accumulator stays in tensor memory from product to product, and around loops.

From: simt+pipe+gpu. To: the same. Invariant: no loop carries a tile that its body reads from tensor memory last and
that could stay there; no tile is stored to tensor memory that was read from there for that alone; where a product needs
nothing of the one before, it begins before that one is waited for; no `gpu.accumulator_wait` stands where nothing needs
it before the next one.

A loop that carries an accumulator finds it where the last product left it: the tile is stored once before the loop,
read where the body does more than add products to it, and read once behind the loop. A loop that does nothing between
its products for which they must be done waits behind its last iteration: in a role, where the unit itself says when a
slot's tiles have been read (see `lower_roles`), that is any loop that only adds products.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from tileopt.dialects import gpu_accumulator as gpu
from tileopt.dialects import pipe, simt
from tileopt.dialects.verifier import walk
from tileopt.passes.building import insert
from tileopt.passes.loops import drop
from tileopt.passes.lowering.accesses import accesses
from tileopt.passes.lowering.product_channels import read_by_units


@dataclass(frozen=True)
class KeepAccumulators(ModulePass):
    name = "keep-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel) and any(isinstance(x, gpu.Accumulator) for x in walk(kernel)):
                loops = [x for x in walk(kernel) if isinstance(x, scf.ForOp)]
                for loop in reversed(loops):  # an inner loop stands after the one around it
                    _keep_around(loop)
                for place in [x for x in walk(kernel) if isinstance(x, gpu.Accumulator)]:
                    _join(place)
                for load in [x for x in walk(kernel) if isinstance(x, gpu.AccumulatorLoad)]:
                    _erase_unused(load)
                for load in [x for x in walk(kernel) if isinstance(x, gpu.AccumulatorLoad)]:
                    _delay(load)
                for wait in [x for x in walk(kernel) if isinstance(x, gpu.AccumulatorWait)]:
                    _erase_doubled(wait)
                for loop in reversed([x for x in walk(kernel) if isinstance(x, scf.ForOp)]):
                    _wait_behind(loop)


# --- around loops ----------------------------------------------------------------------------------------------------


def _keep_around(loop: scf.ForOp) -> None:
    """Takes the accumulators out of what a loop carries."""
    at: scf.ForOp = loop
    for number in reversed(range(len(loop.iter_args))):
        load = _kept(at, number)
        if load is not None:
            at = _take_out(at, number, load)


def _kept(loop: scf.ForOp, number: int) -> gpu.AccumulatorLoad | None:
    """What reads the carried value at the end of an iteration, where it could as well stay in tensor memory: before
    anything writes there in an iteration, the value that is carried was used for the last time."""
    body, end = loop.body.block, loop.body.block.last_op
    assert end is not None
    load = end.operands[number].owner
    if not isinstance(load, gpu.AccumulatorLoad) or load.parent is not body:
        return None
    place = load.accumulator.owner
    if not isinstance(place, gpu.Accumulator) or place.parent is not body:
        return None
    users = [use.operation for use in body.args[number + 1].uses]
    places = [_in_block(use.operation, body) for use in place.result.uses]
    writes = [op for op in places if not isinstance(op, gpu.AccumulatorLoad)]
    order = {op: n for n, op in enumerate(body.ops)}
    if not writes or writes[-1] is load or order[load] < max(order[op] for op in writes):
        return None
    first = min(order[op] for op in writes)
    for op in users:
        stores = isinstance(op, gpu.AccumulatorStore) and op.accumulator is place.result and op.parent is body
        if order[_in_block(op, body)] + (not stores) > first:
            return None
    return load


def _in_block(op: Operation, block: Block) -> Operation:
    """The op of `block` that holds an op."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _take_out(loop: scf.ForOp, number: int, load: gpu.AccumulatorLoad) -> scf.ForOp:
    body, place = loop.body.block, load.accumulator.owner
    assert isinstance(place, gpu.Accumulator) and loop.parent is not None
    body.detach_op(place)
    loop.parent.insert_op_before(place, loop)
    argument, moved = body.args[number + 1], dict(load.properties)
    insert(loop, gpu.AccumulatorStore, [loop.iter_args[number], place.result], [], moved)
    for use in list(argument.uses):
        op = use.operation
        if isinstance(op, gpu.AccumulatorStore) and op.accumulator is place.result and op.layout == load.layout:
            body.erase_op(op)
    users = {_in_block(use.operation, body) for use in argument.uses}
    first = next((op for op in body.ops if op in users), None)
    if first is not None:
        again = insert(first, gpu.AccumulatorLoad, [place.result], [argument.type], moved).results[0]
        again.name_hint = argument.name_hint
        argument.replace_all_uses_with(again)
    behind, result = loop.next_op, loop.results[number]
    assert behind is not None
    if result.first_use is not None:
        found = insert(behind, gpu.AccumulatorLoad, [place.result], [result.type], moved).results[0]
        found.name_hint = result.name_hint
        result.replace_all_uses_with(found)
    made = drop(loop, number)
    _erase_unused(load)
    return made


# --- from product to product -----------------------------------------------------------------------------------------


def _join(place: gpu.Accumulator) -> None:
    """An accumulator that begins with what was read from another, for that alone, is that other one."""
    home = place.parent
    store = next((use.operation for use in place.result.uses if _first_of(use.operation, place)), None)
    load = store.value.owner if isinstance(store, gpu.AccumulatorStore) else None
    if not isinstance(load, gpu.AccumulatorLoad) or not load.result.has_one_use() or home is None:
        return
    assert isinstance(store, gpu.AccumulatorStore)
    other = load.accumulator.owner
    if not isinstance(other, gpu.Accumulator) or other.parent is not home or store.parent is not home:
        return
    order = {op: n for n, op in enumerate(home.ops)}
    inside = all(home.is_ancestor(use.operation) for use in (*place.result.uses, *other.result.uses))
    if not inside or other.columns != place.columns or load.layout != store.layout or load.parent is not home:
        return
    if any(order[_in_block(use.operation, home)] > order[load] for use in other.result.uses):
        return
    place.result.replace_all_uses_with(other.result)
    for op in (store, load, place):
        home.erase_op(op)


def _first_of(op: Operation, place: gpu.Accumulator) -> bool:
    """Whether an op is the first of the block that uses an accumulator."""
    block = place.parent
    assert block is not None
    users = {_in_block(use.operation, block) for use in place.result.uses}
    return next((other for other in block.ops if other in users), None) is op


def _erase_unused(load: gpu.AccumulatorLoad) -> None:
    if load.result.first_use is None and load.parent is not None:
        load.parent.erase_op(load)


# --- waits -----------------------------------------------------------------------------------------------------------


def _delay(load: gpu.AccumulatorLoad) -> None:
    """Moves a wait, and the read behind it, down past products into other accumulators that may begin before."""
    wait, place = load.prev_op, load.accumulator
    if not isinstance(wait, gpu.AccumulatorWait) or _under_way(wait) != {place}:
        return
    users = {use.operation for use in load.result.uses}
    op, begun = load.next_op, False
    while op is not None and op not in users:
        if isinstance(op, gpu.Accumulate | gpu.AccumulatorLoad | gpu.AccumulatorStore):
            if op.accumulator is place:
                break
            begun = begun or isinstance(op, gpu.Accumulate)
        elif isinstance(op, gpu.AccumulatorWait) or _needs_wait(op):
            break
        op = op.next_op
    block = load.parent
    assert block is not None
    if op is None or not begun:
        return
    block.detach_op(load)
    if isinstance(op, gpu.AccumulatorWait):  # of both
        block.insert_op_after(load, op)
        block.erase_op(wait)
    else:
        block.detach_op(wait)
        block.insert_op_before(wait, op)
        block.insert_op_before(load, op)


def _under_way(wait: gpu.AccumulatorWait) -> set[SSAValue]:
    """The accumulators of the products that begin between a wait and the one before: each has one behind it here."""
    found: set[SSAValue] = set()
    op = wait.prev_op
    while op is not None and not isinstance(op, gpu.AccumulatorWait):
        if isinstance(op, gpu.Accumulate):
            found.add(op.accumulator)
        op = op.prev_op
    return found


def _erase_doubled(wait: gpu.AccumulatorWait) -> None:
    """Erases a wait behind which another one comes before what needs it."""
    op = wait.next_op
    while op is not None and not isinstance(op, gpu.AccumulatorWait):
        if _needs_wait(op):
            return
        op = op.next_op
    assert wait.parent is not None
    if op is not None:
        wait.parent.erase_op(wait)


def _wait_behind(loop: scf.ForOp) -> None:
    """Moves the wait of a loop behind it, where an iteration needs none."""
    body = loop.body.block
    waits = [op for op in body.ops if isinstance(op, gpu.AccumulatorWait)]
    if not waits or any(_needs_wait(op) for op in body.ops if op is not body.last_op):
        return
    behind = loop.next_op
    assert behind is not None
    for wait in waits:
        body.erase_op(wait)
    insert(behind, gpu.AccumulatorWait)


def _needs_wait(op: Operation) -> bool:
    """Whether products must be done before an op: it touches what they make, writes what they may read, or hands that
    on to others."""
    if isinstance(op, gpu.Accumulate | gpu.AccumulatorWait):
        return False
    if op.regions or op.has_trait(IsTerminator):
        return True
    if isinstance(op, gpu.AccumulatorLoad | gpu.AccumulatorStore | pipe.Acquire | pipe.Copy):
        return True
    if isinstance(op, pipe.Release):
        return not read_by_units(op.channel)
    return any(access.write and not isinstance(access.memory, SSAValue) for access in accesses(op))
