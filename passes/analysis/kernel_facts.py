"""Facts of the ops that ask for block ids, the grid, extents and threads, on both levels."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.dialects import simt, tile
from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.facts import Handler, KernelFacts
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


def _thread_id(facts: KernelFacts, op: Operation) -> None:
    facts.set(op.results[0], thread(facts))


def thread(facts: KernelFacts) -> Expr:
    """The thread's linear id in its block."""
    count = facts.kernel.attributes.get(simt.THREADS)
    most = getattr(getattr(count, "value", None), "data", THREADS_MAX)
    symbol, _ = facts.symbols.derived("thread", "thread", (), Interval(0, most - 1))
    return Expr.symbol(symbol)


HANDLERS: dict[type[Operation], Handler] = {
    tile.Bid: _bid,
    tile.NumBlocks: _num_blocks,
    tile.Dim: _dim,
    simt.BlockId: _bid,
    simt.GridDim: _num_blocks,
    simt.Dim: _dim,
    simt.ThreadId: _thread_id,
}
