"""Facts of the ops that ask for block ids, the grid, extents and threads, on both levels."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from tileopt.dialects import simt, simt_host, simt_thread, simt_warp, tile
from tileopt.dialects.kernel import BLOCK
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt_constant import Constant
from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.conditions import assumed
from tileopt.passes.analysis.facts import Handler, KernelFacts, width_of
from tileopt.passes.analysis.ranges import Interval

THREADS_MAX = 1024


def _bid(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, tile.Bid | simt.BlockId)
    facts.set(op.result, facts.bid(op.axis.value.data))


def _num_blocks(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, tile.NumBlocks | simt.GridDim)
    facts.set(op.result, facts.num_blocks(op.axis.value.data))


def _dim(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, tile.Dim | simt.Dim)
    facts.set(op.result, facts.dim(op.view, op.axis.value.data))


def _block(facts: KernelFacts) -> tuple[int, ...] | None:
    """The block's extents, if the kernel says them."""
    block = facts.kernel.attributes.get(BLOCK)
    return tuple(int(n) for n in block.get_values()) if isinstance(block, DenseArrayBase) else None


def thread(facts: KernelFacts, axis: int) -> Expr:
    """The thread's place in its block along an axis."""
    if ("thread", axis) not in facts.launch:
        block = _block(facts)
        most = THREADS_MAX if block is None else block[axis]
        symbol = facts.symbols.leaf("thread", f"thread_idx({axis})", Interval(0, most - 1))
        facts.launch["thread", axis] = Expr.symbol(symbol)
        symbol.relations.append(_block_dim(facts, axis) - Expr.symbol(symbol) - 1)
    return facts.launch["thread", axis]


def _block_dim(facts: KernelFacts, axis: int) -> Expr:
    block = _block(facts)
    if block is not None:
        return Expr.constant(block[axis])
    if ("block_dim", axis) not in facts.launch:
        symbol = facts.symbols.leaf("block_dim", f"block_dim({axis})", Interval(1, THREADS_MAX))
        facts.launch["block_dim", axis] = Expr.symbol(symbol)
    return facts.launch["block_dim", axis]


def _thread_idx(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, simt_thread.ThreadIdx)
    facts.set(op.result, thread(facts, op.axis.value.data))


def _block_extent(facts: KernelFacts, op: Operation) -> None:
    assert isinstance(op, simt_thread.BlockDim)
    facts.set(op.result, _block_dim(facts, op.axis.value.data))


def _elect(facts: KernelFacts, op: Operation) -> None:
    """One lane of each warp is chosen, always the same one of the same lanes (PTX ISA, elect.sync)."""
    assert isinstance(op, simt_warp.Elect)
    block = _block(facts)
    if block is None:
        facts.unknown(op.result, "unknown", op)
        return
    steps = (1, block[0], block[0] * block[1])
    linear = sum((thread(facts, axis) * steps[axis] for axis in range(3) if block[axis] > 1), Expr.constant(0))
    warp, lane = facts.symbols.divide(linear, Expr.constant(WARP_SIZE), facts.current.bounds)
    chosen = facts.symbols.opaque("elected", (warp,), Interval(0, WARP_SIZE - 1))
    facts.set(op.result, facts.symbols.zero(lane - chosen), Interval(0, 1))


def _thread_id(facts: KernelFacts, op: Operation) -> None:
    block = _block(facts)
    if block is not None:
        linear = thread(facts, 2) * block[1] * block[0] + thread(facts, 1) * block[0] + thread(facts, 0)
        facts.set(op.results[0], linear)
        return
    count = facts.kernel.attributes.get(simt.THREADS)
    most = getattr(getattr(count, "value", None), "data", THREADS_MAX)
    if ("thread", -1) not in facts.launch:
        facts.launch["thread", -1] = Expr.symbol(facts.symbols.leaf("thread", "thread_id", Interval(0, most - 1)))
    facts.set(op.results[0], facts.launch["thread", -1])


def _check_index(facts: KernelFacts, op: Operation) -> None:
    """What follows the test runs only where it was passed."""
    assert isinstance(op, simt_thread.CheckIndex)
    index, length = facts.of(op.index).expr, facts.of(op.length).expr
    facts.passed([index, length - index - 1])


def _element_load(facts: KernelFacts, op: Operation) -> None:
    """An element of a constant is one of those that it has; of any other memory nothing is known."""
    assert isinstance(op, simt_thread.ElementLoad)
    width = width_of(op.result.type)
    if width is None:
        return
    source, range_ = op.mem.owner, None
    if width > 1 and isinstance(source, Constant) and isinstance(source.value, DenseIntOrFPElementsAttr):
        values = [v for v in source.value.get_values() if isinstance(v, int)]
        range_ = Interval(min(values), max(values))
    facts.unknown(op.result, "data", op, range_)


def _assert(facts: KernelFacts, op: Operation) -> None:
    """What follows the assertion runs only where it held."""
    assert isinstance(op, simt_host.Assert)
    facts.passed(assumed(facts.of(op.condition).expr))


HANDLERS: dict[type[Operation], Handler] = {
    tile.Bid: _bid,
    tile.NumBlocks: _num_blocks,
    tile.Dim: _dim,
    simt.BlockId: _bid,
    simt.GridDim: _num_blocks,
    simt.Dim: _dim,
    simt.ThreadId: _thread_id,
    simt_thread.ThreadIdx: _thread_idx,
    simt_thread.BlockDim: _block_extent,
    simt_thread.CheckIndex: _check_index,
    simt_host.Assert: _assert,
    simt_warp.Elect: _elect,
    simt_thread.ElementLoad: _element_load,
}
