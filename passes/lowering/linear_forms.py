"""Integers as `c + k1*x1 + k2*x2 + ...` over values that the analysis does not look into.

As the facts of the tile level do, this assumes that index arithmetic does not wrap.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tileopt.dialects import simt

_DEPTH = 32  # of nested arithmetic that is looked through

# Two of these ops with equal properties and operands give the same value.
_QUERIES = (simt.BlockId, simt.GridDim, simt.Dim)


@dataclass(frozen=True, slots=True)
class Linear:
    """`terms`: pairs (value, nonzero factor), each value once."""

    terms: frozenset[tuple[Hashable, int]]
    const: int = 0

    def values(self) -> list[SSAValue]:
        """The SSA values among the terms."""
        return [v for v, _ in self.terms if isinstance(v, SSAValue)]

    def minus(self, other: Linear) -> int | None:
        """The difference where it is a constant."""
        return self.const - other.const if self.terms == other.terms else None


def constant_of(value: SSAValue) -> int | None:
    """The integer that `value` is known to be."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def linear_form(value: SSAValue) -> Linear:
    """`value` as a linear form; one that cannot be looked into is a form by itself."""
    terms: dict[Hashable, int] = {}
    const = _add(value, 1, terms, _DEPTH)
    return Linear(frozenset((v, k) for v, k in terms.items() if k), const)


def _add(value: SSAValue, factor: int, terms: dict[Hashable, int], depth: int) -> int:
    """Adds `factor * value` to `terms`; returns the constant part."""
    op = value.owner
    known = constant_of(value)
    if known is not None:
        return factor * known
    if depth and isinstance(op, arith.AddiOp):
        return _add(op.lhs, factor, terms, depth - 1) + _add(op.rhs, factor, terms, depth - 1)
    if depth and isinstance(op, arith.SubiOp):
        return _add(op.lhs, factor, terms, depth - 1) + _add(op.rhs, -factor, terms, depth - 1)
    if depth and isinstance(op, arith.MuliOp):
        for a, b in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            by = constant_of(b)
            if by is not None:
                return _add(a, factor * by, terms, depth - 1)
    if depth and isinstance(op, arith.ShLIOp):
        by = constant_of(op.rhs)
        if by is not None and 0 <= by < 63:
            return _add(op.lhs, factor << by, terms, depth - 1)
    if depth and isinstance(op, arith.IndexCastOp):
        return _add(op.input, factor, terms, depth - 1)
    key = _key(value)
    terms[key] = terms.get(key, 0) + factor
    return 0


def _key(value: SSAValue) -> Hashable:
    op = value.owner
    if isinstance(op, _QUERIES):
        axis = op.properties["axis"]
        return (op.name, axis.value.data if isinstance(axis, IntegerAttr) else axis, *op.operands)
    return value


def modular_form(value: SSAValue, modulus: int) -> Linear:
    """A linear form that is congruent to `value`, modulo `modulus`; for a value known to lie in 0 ... modulus-1.

    Besides remainders and masks it knows how a counter of slots goes back to 0 at the end: `x == modulus - 1 ? 0 :
    x + 1`, and `x >= modulus ? x - modulus : x`.
    """
    op = value.owner
    if isinstance(op, arith.RemUIOp | arith.RemSIOp) and constant_of(op.rhs) == modulus:
        return linear_form(op.lhs)
    if isinstance(op, arith.AndIOp) and modulus & (modulus - 1) == 0:
        for a, b in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if constant_of(b) == modulus - 1:
                return linear_form(a)
    if isinstance(op, arith.SelectOp):
        forms = [linear_form(v) for v in (op.lhs, op.rhs)]
        apart = forms[0].minus(forms[1])
        if apart is not None and apart % modulus == 0:
            return forms[1]
        if _wraps(op, modulus):
            return forms[1]
    return linear_form(value)


def _wraps(op: arith.SelectOp, modulus: int) -> bool:
    """Whether the chosen 0 is congruent to what it is chosen instead of: `x == modulus - 1 ? 0 : x + 1`."""
    test = op.cond.owner
    if constant_of(op.lhs) != 0 or not isinstance(test, arith.CmpiOp) or test.predicate.value.data != 0:
        return False
    limit = constant_of(test.rhs)
    return limit is not None and linear_form(op.rhs).minus(linear_form(test.lhs)) == modulus - limit


def is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in one of the regions of `op`."""
    block: Block | None = value.owner.parent if isinstance(value, OpResult) else value.owner  # type: ignore[assignment]
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return True
        block = None if parent is None else parent.parent
    return False
