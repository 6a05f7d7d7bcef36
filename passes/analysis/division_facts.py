"""Facts of integer division: what is exact, and what the conditions on the way say of a run-time divisor."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.division import exact_ratio
from tileopt.passes.analysis.facts import Handler, KernelFacts
from tileopt.passes.analysis.ranges import Interval


def quotient(rounding: str, wants: str) -> Handler:
    """Division: `rounding` is floor, trunc or ceil; `wants` is quotient or rest."""

    def run(facts: KernelFacts, op: Operation) -> None:
        a, b = op.operands
        above, below = facts.range(a), facts.range(b)
        x, d = facts.expr(a), facts.expr(b)
        result = op.results[0]
        if rounding == "ceil":
            if below.lo >= 1:
                x, above, rounds_down = x + d - 1, above.plus(below).plus(Interval.of(-1)), True
            else:
                facts.function(op)
                return
        else:
            rounds_down = rounding == "floor" or (above.lo >= 0 and below.lo >= 0)
        if rounds_down:
            whole, rest = facts.symbols.divide(x, d, facts.current.bounds)
            if d.value is None:
                facts.current.assume(_quotient_facts(facts, x, d, whole, rest))
            if wants == "quotient":
                facts.set(result, whole, above.floor_div(below))
            else:
                facts.set(result, rest, above.floor_mod(below))
        else:
            whole, rest = facts.symbols.truncate(x, d, facts.current.bounds)
            if wants == "quotient":
                facts.set(result, whole, above.trunc_div(below))
            else:
                facts.set(result, rest, above.trunc_mod(below))

    return run


def _quotient_facts(facts: KernelFacts, x: Expr, d: Expr, whole: Expr, rest: Expr) -> list[Expr]:
    """What the conditions on the way say of x // d and x % d for a run-time divisor d.

    Let 0 <= x < k * b, as in a loop over k rows of b tiles, and let d be c * b, or that kept from 0. Then b is not 0,
    so d is not either and the remainder is below it; and c * b * (x // d) <= x < k * b gives c * (x // d) <= k - 1.
    """
    known = facts.current.bounds
    plain = facts.symbols.kept_from_zero(d, known)
    divisor = d if plain is None else plain
    if divisor.bounds(known).lo < 0 or x.bounds(known).lo < 0:
        return []
    content = divisor.content()
    unit = divisor.exact_div(content)
    ratios = [r for fact in facts.current.known if (r := exact_ratio(fact + x + 1, unit)) is not None]
    if not ratios and not facts.current.prover().nonneg(divisor - 1):
        return []
    found = [divisor - 1, rest, divisor - rest - 1, *(r - 1 - whole * content for r in ratios)]
    if plain is not None:
        same, _ = facts.symbols.divide(x, plain, known)
        found += [same - whole, whole - same, *(r - 1 - same * content for r in ratios)]
    return found


def unsigned_quotient(wants: str) -> Handler:
    signed = quotient("trunc", wants)

    def run(facts: KernelFacts, op: Operation) -> None:
        if all(facts.range(o).lo >= 0 for o in op.operands):
            signed(facts, op)
        else:
            facts.function(op)

    return run
