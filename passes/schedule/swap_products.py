"""swap-products: a product is computed as the transpose of the other one where a warpgroup's unit likes only that.

From: tile. To: tile. Invariant: products without atoms whose operands no instruction of a warpgroup reads, but the
other way round one does, stand as (b^T @ a^T + acc^T)^T.

Such an instruction has many rows (64) and few columns (8), and reads its left operand from registers too, in which
no order is wrong. So the right one becomes the left one where it does not lie with K side by side (types of 8 and 32
bits), where the left one has too few rows, and where the right one alone is computed in registers. Where neither lies
so, `place-memory` turns the right one on its way.

An accumulator that loops carry is carried transposed: it is turned once before and once after. Where other ops in a
loop take it, too, the product stays as it is, since they may want whole rows in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.target import Scope, Target, target_of
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.building import emit
from tileopt.passes.intervals import LOOPS
from tileopt.passes.layout.operand_order import is_computed
from tileopt.passes.schedule.map_tensor_cores import by_warpgroup, given_warps, legal_atoms

ORDER: dict[str, Attribute] = {"permutation": DenseArrayBase.from_list(i64, [1, 0])}


@dataclass(frozen=True)
class SwapProducts(ModulePass):
    name = "swap-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                swap_products(kernel, target_of(kernel))


def swap_products(kernel: tile.Kernel, target: Target) -> None:
    """Swaps the operands of the products of `kernel` that gain by it."""
    if not any(atom.scope is Scope.WARPGROUP for atom in target.atoms):
        return
    products = [op for op in kernel.walk() if isinstance(op, tile.Mma) and op.atom is None]
    warps = given_warps(kernel, target) if products else None
    gaining = {op for op in products if _gains(op, target, warps)}
    done: set[Operation] = set()
    for op in products:
        if op in gaining and op not in done:
            chain = _chain_of(op)
            done |= chain.products
            if chain.is_free and chain.products <= gaining:
                _swap(chain)


def _gains(op: tile.Mma, target: Target, warps: int | None) -> bool:
    """Whether a product should be swapped: where only so a unit has it, and no operand, or the smaller one, is turned
    on its way; and where the right operand alone is computed, each time anew."""
    if op.scales or not by_warpgroup(op, target, warps, swapped=True, turned=True):
        return False
    in_order = by_warpgroup(op, target, warps, swapped=True)
    if by_warpgroup(op, target, warps):
        # Such a unit takes it as it is; else it goes through shared memory.
        registers = any(x.scope is Scope.WARPGROUP and "a" in x.fragments for x in legal_atoms(target, op))
        fresh = isinstance(op.b.owner, Operation) and op.b.owner.parent is op.parent
        return in_order and registers and fresh and is_computed(op.b) and not is_computed(op.a)
    m, n = tile_shape(op.acc.type)
    return in_order or not by_warpgroup(op, target, warps, turned=True) or n > m


# --- which values go together -----------------------------------------------------------------------------------------


@dataclass
class _Chain:
    """The products that add to one accumulator, and the values that hold it: results of products and of loops, and
    what loops carry. `is_free`: nothing else takes them as often as a product does."""

    products: set[tile.Mma] = field(default_factory=set)
    values: dict[SSAValue, None] = field(default_factory=dict)
    is_free: bool = True


def _chain_of(product: tile.Mma) -> _Chain:
    chain = _Chain()
    pending: list[SSAValue] = [product.result]
    while pending:
        value = pending.pop()
        if value in chain.values:
            continue
        owner = value.owner
        if isinstance(owner, tile.Mma):
            chain.products.add(owner)
            pending.append(owner.acc)
        elif isinstance(owner, scf.ForOp):
            assert isinstance(value, OpResult)
            pending += _carried(owner, value.index)
        elif isinstance(owner, Block) and isinstance(owner.parent_op(), scf.ForOp) and _is_carried(value):
            loop = owner.parent_op()
            assert isinstance(loop, scf.ForOp) and isinstance(value, BlockArgument)
            pending += _carried(loop, value.index - 1)
        else:
            continue  # where the accumulator comes from
        chain.values[value] = None
        pending += _taken_on(value)
    users = [use.operation for use in _other_uses(chain)]
    chain.is_free = not any(_stands_in_loop(user, product) for user in users for product in chain.products)
    return chain


def _is_carried(value: SSAValue) -> bool:
    return isinstance(value, BlockArgument) and value.index > 0


def _carried(loop: scf.ForOp, index: int) -> list[SSAValue]:
    """The values of one thing that a loop carries: what enters, what it is in the body, what is yielded and comes
    out."""
    last = loop.body.block.last_op
    assert last is not None
    return [loop.iter_args[index], loop.body.block.args[index + 1], last.operands[index], loop.results[index]]


def _taken_on(value: SSAValue) -> list[SSAValue]:
    """The values that a value of a chain goes on in."""
    found: list[SSAValue] = []
    for use in value.uses:
        user = use.operation
        around = user.parent_op()
        if isinstance(user, tile.Mma) and use.index == 2:
            found.append(user.result)
        elif isinstance(user, scf.ForOp) and use.index >= 3:
            found.append(user.results[use.index - 3])
        elif isinstance(user, scf.YieldOp) and isinstance(around, scf.ForOp):
            found.append(around.results[use.index])
    return found


def _other_uses(chain: _Chain) -> list[Use]:
    """The uses of a chain's values outside it."""
    return [use for value in chain.values for use in value.uses if not _goes_on(use)]


def _goes_on(use: Use) -> bool:
    """Whether a use hands an accumulator to a product, or to what a loop carries."""
    match use.operation:
        case tile.Mma():
            return use.index == 2
        case scf.ForOp():
            return use.index >= 3
        case scf.YieldOp() as end:
            return isinstance(end.parent_op(), scf.ForOp)
        case _:
            return False


def _stands_in_loop(user: Operation, product: tile.Mma) -> bool:
    """Whether an op may run as often as a product in a loop."""
    loop = product.parent_op()
    while loop is not None and not isinstance(loop, LOOPS):
        loop = loop.parent_op()
    return loop is not None and loop.is_ancestor(user)


# --- swapping -------------------------------------------------------------------------------------------------------


def _swap(chain: _Chain) -> None:
    """Swaps the operands of all products of a chain."""
    sources: dict[SSAValue, SSAValue] = {}
    for use in _other_uses(chain):
        value = use.operation.operands[use.index]
        owner = value.owner
        at = owner.next_op if isinstance(owner, Operation) else owner.first_op
        assert at is not None
        if value not in sources:
            sources[value] = emit(at, tile.Transpose, [value], [value.type], ORDER)  # its own type changes below
        use.operation.operands[use.index] = sources[value]
    taken: dict[Operation | Block, None] = {}  # what operands came from, which may have no other use
    for value in chain.values:
        owner = value.owner
        if isinstance(owner, tile.Mma | scf.ForOp):
            taken.update((v.owner, None) for v in owner.operands)
        if isinstance(owner, tile.Mma):
            owner.operands = [_turned(owner, owner.b), _turned(owner, owner.a), _entering(owner, owner.acc, chain)]
        elif isinstance(owner, scf.ForOp):
            assert isinstance(value, OpResult)
            place = value.index + 3
            owner.operands[place] = _entering(owner, owner.operands[place], chain)
            last = owner.body.block.last_op
            assert last is not None
            last.operands[value.index] = _entering(last, last.operands[value.index], chain)
    for value in chain.values:
        value._type = turned_type(value.type)
    for source in taken:
        if isinstance(source, tile.Transpose | tile.Splat) and source.result.first_use is None:
            assert source.parent is not None
            source.parent.erase_op(source)


def _entering(at: Operation, value: SSAValue, chain: _Chain) -> SSAValue:
    """What a chain takes: one of its values, or another's transpose."""
    return value if value in chain.values else _turned(at, value)


def turned_type(type_: Attribute) -> TensorType[Attribute]:
    assert isinstance(type_, TensorType)
    return TensorType(type_.element_type, list(reversed(tile_shape(type_))))


def _turned(at: Operation, value: SSAValue) -> SSAValue:
    """The transpose of a tile: a splat's is a splat, a transpose's what it was made of."""
    owner = value.owner
    if isinstance(owner, tile.Transpose):
        return owner.source
    if isinstance(owner, tile.Splat):
        return emit(at, tile.Splat, [owner.value], [turned_type(value.type)])
    return emit(at, tile.Transpose, [value], [turned_type(value.type)], ORDER)
