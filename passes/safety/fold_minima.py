"""fold-minima: tile or simt -> the same. Afterwards no minimum or maximum of two integers is left of which the facts
say which operand it is; of a SIMT kernel, where that of two extents depends on the launch, `simt.guards` says on what.

`zip` over two rows goes as far as the shorter: where a contract makes them equally long, the loop then ends where one
over the indices of the first would.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.kernel import GUARDS, KernelOp
from tileopt.passes.analysis.facts import KernelFacts, analyse, width_of
from tileopt.passes.safety.missing import extents

BUDGET = 40  # goals of one proof: equal extents are one step away
_MINIMA = (arith.MinSIOp, arith.MinUIOp)
_MAXIMA = (arith.MaxSIOp, arith.MaxUIOp)


class FoldMinima(ModulePass):
    """Replaces minima and maxima by the operand that they are known to be."""

    name = "fold-minima"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if not isinstance(kernel, tile.Kernel | simt.Kernel):
                continue
            found = list(_extremes(kernel))
            if not found:
                continue
            facts = analyse(kernel)
            guards = []
            for extreme in found:
                known = _known(facts, extreme)
                if known is not None:
                    extreme.results[0].replace_all_uses_with(known)
                    assert extreme.parent is not None
                    extreme.parent.erase_op(extreme)
                elif isinstance(kernel, simt.Kernel):
                    guards += _guard(facts, extreme)
            if guards:
                kernel.set_relations(GUARDS, [*kernel.relations(GUARDS), *guards])


def _extremes(kernel: KernelOp) -> Iterator[Operation]:
    for op in kernel.walk():
        if isinstance(op, _MINIMA + _MAXIMA) and (width_of(op.results[0].type) or 0) > 1:
            yield op


def _known(facts: KernelFacts, op: Operation) -> SSAValue | None:
    """The operand that the result always is."""
    first, second = op.operands
    if isinstance(op, arith.MinUIOp | arith.MaxUIOp) and min(facts.of(first).range.lo, facts.of(second).range.lo) < 0:
        return None
    prover = facts.scope(op).prover()
    difference = facts.of(second).expr - facts.of(first).expr
    if prover.nonneg(difference, BUDGET):
        return first if isinstance(op, _MINIMA) else second
    if prover.nonneg(-difference, BUDGET):
        return second if isinstance(op, _MINIMA) else first
    return None


def _guard(facts: KernelFacts, op: Operation) -> list[str]:
    """The relation by which a minimum of two extents is the first of them."""
    named = {extent: text for text, extent in extents(facts)}
    first, second = (named.get(facts.of(operand).expr) for operand in op.operands)
    return [f"{second} >= {first}"] if isinstance(op, _MINIMA) and first and second else []
