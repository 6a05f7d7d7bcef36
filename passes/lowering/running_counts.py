"""How often a block of structured control flow was begun before, counted over the whole kernel.

The number is carried around all loops around the block, and handed out of each `scf.if`.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tileopt.passes.building import add, number
from tileopt.passes.loops import carry


def running_count(body: Block, top: Block) -> SSAValue:
    """An i64 that is known where `body` begins. `top`: the block around it that is entered once; between the two are
    bodies of loops and branches alone."""
    around: list[Operation] = []
    block = body
    while block is not top:
        op = block.parent_op()
        assert isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp) and op.parent is not None
        around.insert(0, op)
        block = op.parent
    first = around[0] if around else body.first_op
    assert first is not None
    count: SSAValue = number(first, 0)
    if not around:
        return count
    places: list[tuple[Block, SSAValue]] = []  # of each op around a block in it that stays, and the count before the op
    for op, following in zip(around, [*around[1:], None], strict=True):
        places.append((_block_around(op, body if following is None else following), count))
        if isinstance(op, scf.ForOp | scf.WhileOp):
            count = carry(op, count)
    end = body.last_op
    assert end is not None
    after = add(end, count, number(end, 1))
    for block, start in reversed(places):
        made = block.parent_op()
        if isinstance(made, scf.IfOp):
            made = _yield_from(made, block, after, start)
        else:
            last = block.last_op
            assert last is not None
            last.operands = [*last.operands, after]
        assert made is not None
        after = made.results[-1]
    return count


def _block_around(op: Operation, inner: Operation | Block) -> Block:
    """The block of an op that is, or holds, `inner`."""
    block = inner if isinstance(inner, Block) else inner.parent
    assert block is not None and block.parent_op() is op
    return block


def _yield_from(op: scf.IfOp, block: Block, value: SSAValue, otherwise: SSAValue) -> scf.IfOp:
    """Gives an `if` one more result: the value, where its branch `block` is taken, else what was there before."""
    for region in op.regions:
        if not region.blocks:
            empty = Block()
            empty.add_op(scf.YieldOp.create())
            region.add_block(empty)
        last = region.block.last_op
        assert last is not None
        last.operands = [*last.operands, value if region.block is block else otherwise]
    regions: list[Region] = [op.detach_region(region) for region in list(op.regions)]
    wider = scf.IfOp.create(
        operands=[op.cond],
        result_types=[*(r.type for r in op.results), otherwise.type],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    wider.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(wider, op)
    for old, new in zip(op.results, wider.results, strict=False):
        old.replace_all_uses_with(new)
    op.parent.erase_op(op)
    return wider
