"""balance-units: where special functions would hold up products, some of them are computed by multiply-adds.

From: tile. To: the same. Invariant: a `math.exp2` on a tile of f32, directly in the body of a loop with products on
tensor cores, may have `tile.exp2_eighths`: of each eight pairs of registers of a thread so many are computed as
polynomials; with `tile.exp2_degree` 3 only where all that takes its result rounds to 16 bits or sums, under fast math.

The share is the largest with which the loop's special functions still take as long as what its schedulers issue, the
polynomials among it (see `unit_times`). Where products take much longer than either, nothing is gained, and where they
are few, the loop waits for memory. A kernel's `tile.exp2_eighths`, or the option `eighths`, takes the place of the
model.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.balance import COARSE_DEGREE, EXACT_DEGREE, EXP2_DEGREE, EXP2_EIGHTHS
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.target import Rates, Target, target_of
from tileopt.passes.analysis.unit_times import UnitTimes, elements, is_exp2, unit_times

# Issues: two clamp and one shifts, which count twice, three round and subtract, one multiplies.
BESIDE_POLYNOMIAL = 10
FEW = 8
MOST_EIGHTHS = 4  # beyond, polynomials would hold up the loop


@dataclass(frozen=True)
class BalanceUnits(ModulePass):
    name = "balance-units"
    eighths: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                target = target_of(kernel)
                if target.rates is not None:
                    chosen = kernel.integer(EXP2_EIGHTHS) if self.eighths is None else self.eighths
                    for loop in [x for x in kernel.walk() if isinstance(x, scf.ForOp | scf.WhileOp)]:
                        balance(loop.regions[-1].block, kernel, target, target.rates, chosen)


def balance(body: Block, kernel: tile.Kernel, target: Target, rates: Rates, chosen: int | None) -> None:
    """Marks the `exp2` ops of a loop's body. `chosen`: eighths; None leaves them to the model."""
    ops = [op for op in body.ops if is_exp2(op)]
    times = unit_times(body, kernel, target) if ops else None
    if times is None or not times.tensor:
        return
    fast = kernel.flag("tile.fast_math")
    most = max(map(elements, ops))
    for op in ops:
        if elements(op) * FEW < most:
            continue  # one number for each row, say: what its polynomial would take only delays what waits for it
        degree = (
            COARSE_DEGREE if fast and all(_is_coarse(use.operation) for use in op.results[0].uses) else EXACT_DEGREE
        )
        eighths = share(times, rates, degree) if chosen is None else chosen
        if eighths:
            op.attributes[EXP2_EIGHTHS] = IntegerAttr(eighths, i64)
            op.attributes[EXP2_DEGREE] = IntegerAttr(degree, i64)


def share(times: UnitTimes, rates: Rates, degree: int) -> int:
    """Eighths of the `exp2` elements: with x of them as polynomials, special functions take (1 - x) of their time and
    the schedulers as many issues more as a polynomial has beside the instruction that it replaces."""
    spare = times.special - times.issue
    if not times.crowded or spare <= 0:
        return 0
    moved = times.exp2 / rates.special + times.exp2 * (BESIDE_POLYNOMIAL + degree - 1) / rates.fma
    return min(MOST_EIGHTHS, int(8 * spare / moved))


def _is_coarse(user: Operation) -> bool:
    """Whether what takes a tile has no use for the last bits of its elements."""
    if isinstance(user, arith.TruncFOp):
        return bit_width(element_type(user.result.type)) <= 16
    return isinstance(user, tile.Reduce) and user.kind.data == "sum"
