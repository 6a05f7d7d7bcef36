"""Facts of what counts the bits of a scalar."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from tileopt.dialects.simt_warp import LaneMask
from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.facts import Handler, KernelFacts, width_of
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.analysis.symbols import guard


def _lacks_a_bit(mask: SSAValue) -> bool:
    """Whether a mask of lanes is at most that of the lanes before or behind this one."""
    op = mask.owner
    if isinstance(op, arith.AndIOp):
        return any(map(_lacks_a_bit, op.operands))
    return isinstance(op, LaneMask) and op.kind.data in ("lt", "gt")


def _count_bits(facts: KernelFacts, op: Operation) -> None:
    """How many bits are 1, or 0 before or behind the last 1: as many as there are only where none is 1."""
    result = op.results[0]
    width = width_of(result.type)
    if width is None:  # a tile
        return
    if width < 8:
        facts.unknown(result, "unknown", op)
        return
    most = width - isinstance(op, math.CtPopOp) * _lacks_a_bit(op.operands[0])
    facts.function(op, lambda _: Interval(0, most))
    found = facts.expr(result)
    (symbol,) = found.symbols()
    if not symbol.guarded and not isinstance(op, math.CtPopOp):
        source = facts.expr(op.operands[0])
        for some in (source - 1, -source - 1):
            guard((symbol,), (some,), (Expr.constant(width - 1) - found,))
        none = facts.symbols.zero(source)
        guard((symbol,), (source, -source, none - 1), (found - width,))


HANDLERS: dict[type[Operation], Handler] = {
    math.CtPopOp: _count_bits,
    math.CountLeadingZerosOp: _count_bits,
    math.CountTrailingZerosOp: _count_bits,
}
