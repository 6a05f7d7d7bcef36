"""chain-products: products that add to one accumulator run on from iteration to iteration.

From: simt+pipe+gpu. To: the same. Invariant: in a role's loop, a `gpu.wgmma` whose result does nothing but go on to
the next `gpu.wgmma` of its accumulator is waited for one iteration later, and behind the loop; every other wait of a
role stands directly before what needs it, and the release of a slot directly behind a wait. In a loop marked
`pipe.late` (see `skew-products`) a wait at the end of the body, whose result only the next iteration takes, stands at
that iteration's beginning, and behind the loop.

The unit adds to one accumulator in order, so nothing but the release of a slot waits for a product before the next
one: a slot is released when the product of the iteration after it is under way, or, where that iteration waits for
products of its own, behind the first of these waits: groups end in order. A left operand in registers, which are made
anew in each iteration, must be made behind such a wait. Without roles barriers hand slots on, and they wait for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, VectorType, i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from tileopt.dialects import gpu_wgmma, pipe, simt
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.building import NOT_EQUAL, add, compare, number
from tileopt.passes.loops import Loop, begun, body_of, result_of, yielded_by
from tileopt.passes.lowering.accesses import allocations
from tileopt.passes.lowering.lifetimes import uses_of
from tileopt.passes.schedule.skew_products import LATE

OTHERS = 48  # registers of a thread for addresses, counters and the arithmetic between products


@dataclass(frozen=True)
class ChainProducts(ModulePass):
    name = "chain-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                roles = [x for x in walk(kernel) if isinstance(x, pipe.Roles)]
                ops = [x for role in roles for x in walk(role)]
                for release in [x for x in ops if isinstance(x, pipe.Release)]:
                    _sink(release)
                for wait in [x for x in ops if isinstance(x, gpu_wgmma.WgmmaWait)]:
                    _delay(wait)
                for role in roles:
                    for loop in [x for x in walk(role) if isinstance(x, scf.ForOp | scf.WhileOp)]:
                        _chain(loop, role.consumer_registers.value.data)
                        if isinstance(loop, scf.ForOp) and loop.attributes.pop(LATE, None) is not None:
                            _carry(loop)


def _delay(wait: gpu_wgmma.WgmmaWait) -> None:
    """Moves a wait down to what needs its result or hands on what its product reads; groups begun on the way may be in
    flight still. Other waits keep their order."""
    product = wait.acc.owner
    if not isinstance(product, gpu_wgmma.Wgmma):
        return
    reads = _reads(product)
    if None in reads:
        return  # memory that other threads write; insert-fences counts on the wait
    users = {use.operation for use in wait.result.uses}
    pending = wait.pending.value.data
    at = wait.next_op
    while at is not None and not at.has_trait(IsTerminator) and at not in users:
        if at.regions or isinstance(at, gpu_wgmma.WgmmaWait):
            break
        if isinstance(at, pipe.Release) and at.channel in reads:
            break
        pending += isinstance(at, gpu_wgmma.Wgmma)
        at = at.next_op
    block = wait.parent
    assert at is not None and block is not None
    if at is not wait.next_op:
        block.detach_op(wait)
        block.insert_op_before(wait, at)
        wait.pending = IntegerAttr(pending, i64)


def _reads(product: gpu_wgmma.Wgmma) -> list[SSAValue | None]:
    """The channels whose tiles a product reads; None for memory of another kind."""
    return [_channel_of(v) for v in (product.a, product.b) if isinstance(v.type, BufferType)]


def _sink(release: pipe.Release) -> None:
    """Moves a release down to where a product that reads the slot, or a later one, is waited for anyway, if other
    products begin or are waited for on the way: threads need not stop for the release alone."""
    reader = release.prev_op
    while reader is not None and not (isinstance(reader, gpu_wgmma.Wgmma) and release.channel in _reads(reader)):
        reader = reader.prev_op
    if reader is None:
        return
    early: set[Operation] = set()  # what needs products that began before
    at: Operation | None = reader.prev_op
    while at is not None:
        early |= _needing(at)
        at = at.prev_op
    late: set[Operation] = set()
    passed, gains, block = False, False, release.parent
    assert block is not None
    at = reader
    while at is not None and not (at.has_trait(IsTerminator) or at.regions or (passed and at in late)):
        late |= _needing(at)
        gains = gains or (passed and (isinstance(at, gpu_wgmma.Wgmma) or at in early))
        passed = passed or (isinstance(at, pipe.Release) and at is release)
        at = at.next_op
    if at is not None and gains:
        block.detach_op(release)
        block.insert_op_before(release, at)


def _needing(product: Operation) -> set[Operation]:
    """The ops before which a product has to end: those that take its result, and, where it reads registers that its
    loop carries, what makes them anew."""
    if not isinstance(product, gpu_wgmma.Wgmma):
        return set()
    waits = [use.operation for use in product.result.uses]
    found = {use.operation for wait in waits for result in wait.results for use in result.uses}
    if isinstance(product.a, BlockArgument) and product.a.index and product.a.owner.last_op is not None:
        made = product.a.owner.last_op.operands[product.a.index - 1].owner
        if isinstance(made, Operation):
            found.add(made)
    return found


def _carry(loop: scf.ForOp) -> None:
    """Moves the waits at the end of a loop's body, whose results only the next iteration takes, to its beginning."""
    body, end, at = loop.body.block, loop.body.block.last_op, loop.next_op
    assert end is not None and at is not None
    for wait in [op for op in body.ops if isinstance(op, gpu_wgmma.WgmmaWait)]:
        product, uses = wait.acc.owner, list(wait.result.uses)
        if len(uses) != 1 or uses[0].operation is not end or wait.pending.value.data:
            continue
        if not isinstance(product, gpu_wgmma.Wgmma) or product.parent is not body:
            continue
        if any(_is_rewritten(v, body) for v in (product.a, product.b)):
            continue
        releases = _releases(body, {product})
        if any(_begun_at(loop, release) is None for release in releases):
            continue
        number, first = uses[0].index, body.first_op
        assert first is not None
        end.operands[number] = wait.acc
        body.erase_op(wait)
        for value, place in ((body.args[number + 1], first), (loop.results[number], at)):
            _wait_for(value, place)
        _release_later(loop, releases, first, at)


def _wait_for(value: SSAValue, at: Operation) -> None:
    """A wait in front of `at` for what a loop carries."""
    done = gpu_wgmma.WgmmaWait.create(
        operands=[value], result_types=[value.type], properties={"pending": IntegerAttr(0, i64)}
    )
    done.location = at.location
    value.replace_all_uses_with(done.result)
    done.operands = [value]
    assert at.parent is not None
    at.parent.insert_op_before(done, at)


def _release_later(loop: Loop, releases: list[pipe.Release], inside: Operation, behind: Operation) -> None:
    """Releases the slots of an iteration in the next one, in front of `inside`, or in front of `behind`."""
    for release in releases:
        begun = _begun_at(loop, release)
        assert begun is not None and isinstance(release.iteration, BlockArgument)
        _release(inside, release, release.iteration, begun)
        _release(behind, release, result_of(loop, release.iteration), begun)
        body_of(loop).erase_op(release)


@dataclass(slots=True)
class _Chain:
    """An accumulator that a loop carries: the products that add to it in an iteration, and the wait for each."""

    carried: BlockArgument  # in the loop's body
    products: list[gpu_wgmma.Wgmma]
    waits: list[gpu_wgmma.WgmmaWait]


def _chain(loop: Loop, registers: int) -> None:
    """`registers`: of a thread."""
    body = body_of(loop)
    products = [op for op in walk(loop) if isinstance(op, gpu_wgmma.Wgmma)]
    if any(op.parent is not body for op in products):
        return  # how many groups an iteration makes is not known
    early = _first_wait(body)
    if early is not None and _held(body, early) > registers - OTHERS:
        early = None
    chains = [c for argument in body.args if (c := _chain_of(argument, loop, early)) is not None]
    if not chains:
        return
    chained = {op for chain in chains for op in chain.products}
    releases = _releases(body, chained)
    if any(_begun_at(loop, release) is None for release in releases):
        return
    for chain in chains:
        for wait in chain.waits[:-1]:
            wait.result.replace_all_uses_with(wait.acc)
            body.erase_op(wait)
        last = chain.waits[-1]
        last.pending = IntegerAttr(len(products), i64)
    at = loop.next_op
    assert at is not None
    for chain in chains:
        _wait_for(result_of(loop, chain.carried), at)
    inside = body.last_op if early is None else early.next_op
    assert inside is not None
    _release_later(loop, releases, inside, at)


def _first_wait(body: Block) -> gpu_wgmma.WgmmaWait | None:
    """The first wait of an iteration behind which all products of the iteration before have ended."""
    begun = 0
    for op in body.ops:
        if isinstance(op, gpu_wgmma.WgmmaWait) and begun and op.pending.value.data <= begun:
            chained = isinstance(op.acc.owner, gpu_wgmma.Wgmma) and _is_carried(op.acc.owner.acc, body)
            return None if chained else op
        begun += isinstance(op, gpu_wgmma.Wgmma)
    return None


def _held(body: Block, early: gpu_wgmma.WgmmaWait) -> int:
    """Registers that products hold while those of two iterations are in flight: what the loop carries, the results up
    to the first wait, and left operands of the iteration before."""
    products = [op for op in body.ops if isinstance(op, gpu_wgmma.Wgmma)]
    held: list[SSAValue] = list(body.args)
    held += [op.result for op in products if op.is_before_in_block(early)]
    held += [op.a for op in products if _is_carried(op.acc, body)]
    return sum(bit_width(v.type) * prod(v.type.get_shape()) // 32 for v in held if isinstance(v.type, VectorType))


def _is_carried(acc: SSAValue, body: Block) -> bool:
    return isinstance(acc, BlockArgument) and acc.owner is body


def _made_behind(value: SSAValue, wait: gpu_wgmma.WgmmaWait | None) -> bool:
    """Whether a fragment is made anew behind a wait of its block."""
    op = value.owner
    return isinstance(op, Operation) and wait is not None and op.parent is wait.parent and wait.is_before_in_block(op)


def _chain_of(argument: BlockArgument, loop: Loop, early: gpu_wgmma.WgmmaWait | None) -> _Chain | None:
    """The products that take an accumulator in turn, from where the loop hands it in to where it is yielded. `early`:
    a wait of each iteration that ends the products of the one before."""
    place = yielded_by(loop, argument)
    if place is None:
        return None
    body = body_of(loop)
    chain = _Chain(argument, [], [])
    value: SSAValue = argument
    while True:
        uses = list(value.uses)
        if len(uses) != 1:
            return None
        user = uses[0].operation
        if user is body.last_op:
            return chain if chain.products and uses[0].index == place else None
        if not isinstance(user, gpu_wgmma.Wgmma) or user.parent is not body or user.acc is not value:
            return None
        if not isinstance(user.a.type, BufferType) and not _made_behind(user.a, early):
            return None  # its registers are made anew while the last product would read them
        if any(_is_rewritten(v, body) for v in (user.a, user.b)):
            return None
        waits = [use.operation for use in user.result.uses]
        if len(waits) != 1 or not isinstance(waits[0], gpu_wgmma.WgmmaWait) or waits[0].parent is not body:
            return None
        chain.products.append(user)
        chain.waits.append(waits[0])
        value = waits[0].result


def _releases(body: Block, chained: set[gpu_wgmma.Wgmma]) -> list[pipe.Release]:
    """The releases of slots that chained products read."""
    read = {channel for op in chained for v in (op.a, op.b) if (channel := _channel_of(v)) is not None}
    return [op for op in body.ops if isinstance(op, pipe.Release) and op.channel in read]


def _is_rewritten(value: SSAValue, body: Block) -> bool:
    """Whether threads write the memory of an operand in each iteration: the product must have read it by then."""
    if not isinstance(value.type, BufferType) or _channel_of(value) is not None:
        return False
    for place, _ in allocations(value):
        if not isinstance(place, simt.AllocShared):
            return True
        if any(isinstance(op, simt.SharedStore) and body.is_ancestor(op) for op in uses_of(place)):
            return True
    return False


def _channel_of(value: SSAValue) -> SSAValue | None:
    op = value.owner
    while isinstance(op, simt.ViewBuffer):
        op = op.source.owner
    return op.channel if isinstance(op, pipe.Wait) else None


def _begun_at(loop: Loop, release: pipe.Release) -> SSAValue | None:
    """The iteration that the loop began with, where it carries the count."""
    return begun(loop, release.iteration) if release.where is None else None


def _release(at: Operation, like: pipe.Release, count: SSAValue, begun: SSAValue) -> None:
    """Releases the slot of the iteration before `count`, if there was one."""
    before = add(at, count, number(at, -1))
    some = compare(at, NOT_EQUAL, count, begun)
    made = pipe.Release.create(operands=[like.channel, before, some])
    made.location = like.location
    assert at.parent is not None
    at.parent.insert_op_before(made, at)
