"""How long an iteration of a loop keeps each kind of unit of a multiprocessor busy, from the tile ops of its body.

Counted are operations on tiles: what scalars, addresses and copies cost is little beside them. `issue` counts what the
schedulers issue, twice where the unit takes two clocks for a warp (comparisons, extremes, conversions: 64 results a
clock), and a multiplication that only sums and differences take is fused with them where the kernel allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, Float32Type, TensorType
from xdsl.ir import Block, Operation

from tileopt.dialects import tile
from tileopt.dialects.dtypes import DTYPES, bit_width, element_type
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Scope, Target
from tileopt.dialects.tile_types import tile_shape

_SPECIAL = (math.Exp2Op, math.SqrtOp, math.RsqrtOp, arith.DivfOp)
_FAST = (math.ExpOp, math.LogOp, math.Log2Op, math.Log10Op, math.SinOp, math.CosOp, math.TanhOp)
_SUMS = (arith.AddfOp, arith.SubfOp)
_FULL_RATE = (*_SUMS, arith.MulfOp, arith.NegfOp, arith.AddiOp, arith.ExtFOp, math.FmaOp, math.AbsFOp)
_HALF_RATE = (arith.MaximumfOp, arith.MinimumfOp, arith.SelectOp, arith.CmpfOp, arith.CmpiOp)

CROWDED = 0.75  # of the products' time: special functions that take less hide behind them


@dataclass(frozen=True, slots=True)
class UnitTimes:
    """Clocks of one multiprocessor. `exp2`: elements of f32 that are raised to a power of two."""

    special: float
    issue: float
    tensor: float
    exp2: int

    @property
    def crowded(self) -> bool:
        """Whether special functions take so long beside the loop's products that they hold them up."""
        return self.tensor > 0 and self.special >= CROWDED * self.tensor


def unit_times(body: Block, kernel: KernelOp, target: Target) -> UnitTimes | None:
    """The times of one pass through `body`, whose nested loops are not counted; None where the target's rates are not
    known."""
    if target.rates is None:
        return None
    fast = kernel.flag("tile.fast_math")
    fused = kernel.flag("tile.fma", default=True)
    special = issue = exp2 = 0
    tensor = 0.0
    for op in body.ops:
        if isinstance(op, tile.Mma):
            tensor += _tensor_work(op, target)
            continue
        size = elements(op)
        if isinstance(op, _SPECIAL) or (fast and isinstance(op, _FAST)):
            special += size
            issue += size
            exp2 += size if is_exp2(op) else 0
        elif isinstance(op, arith.TruncFOp):  # one instruction narrows two to 16 bits
            issue += size if bit_width(element_type(op.result.type)) == 16 else 2 * size
        elif isinstance(op, _HALF_RATE) or (isinstance(op, tile.Reduce) and op.kind.data in ("max", "min")):
            issue += 2 * size
        elif isinstance(op, (*_FULL_RATE, tile.Reduce)) and not (fused and _is_fused(op)):
            issue += size
    rates = target.rates
    return UnitTimes(special / rates.special, issue / rates.fma, tensor / rates.tensor, exp2)


def is_exp2(op: Operation) -> bool:
    """Whether an op raises two to the elements of a tile of f32."""
    return isinstance(op, math.Exp2Op) and isinstance(element_type(op.result.type), Float32Type) and elements(op) > 0


def elements(op: Operation) -> int:
    """Elements that an op works on; 0 for scalars."""
    found = [v.type for v in (*op.operands[:1], *op.results) if isinstance(v.type, TensorType)]
    return max((prod(t.get_shape()) for t in found), default=0)


def _is_fused(op: Operation) -> bool:
    if not isinstance(op, arith.MulfOp):
        return False
    return all(isinstance(use.operation, _SUMS) for use in op.result.uses)


def _tensor_work(op: tile.Mma, target: Target) -> float:
    """Operations on the tensor cores, as many as of 16 bits would take the time."""
    atom = None if op.atom is None else target.atom(op.atom.data)
    if atom is None or atom.scope is Scope.THREAD or not isinstance(element_type(op.acc.type), AnyFloat):
        return 0.0
    (m, n), (_, k) = tile_shape(op.acc.type), tile_shape(op.a.type)
    return float(2 * m * n * k * DTYPES[stored(atom.a)].bits / 16)
