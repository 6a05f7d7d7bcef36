"""What the facts say about one access of a thread to an element of an array or of a tile in shared memory."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tileopt.dialects.simt_atomic import AtomicCas, AtomicRmw
from tileopt.dialects.simt_thread import CheckIndex, ElementLoad, ElementStore
from tileopt.passes.analysis.accesses import Axis
from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.by_cases import proved
from tileopt.passes.analysis.facts import KernelFacts
from tileopt.passes.analysis.scope import Scope

ElementAccess: TypeAlias = ElementLoad | ElementStore | AtomicRmw | AtomicCas
Element: TypeAlias = ElementAccess | CheckIndex


def elements(kernel: Operation) -> list[Element]:
    """The accesses to elements, and the tests of indices, of a SIMT kernel in program order."""
    return [op for op in kernel.walk() if isinstance(op, Element)]


def element_axes(facts: KernelFacts, op: ElementAccess) -> list[Axis]:
    """Each axis of an access with what is proved about it."""
    scope = facts.scope(op)
    return [_axis(facts, scope, i, index, facts.dim(op.mem, i)) for i, index in enumerate(op.indices)]


def length_axis(facts: KernelFacts, op: CheckIndex) -> Axis:
    """The index that the op tests, as an axis of the length that it tests it against."""
    return _axis(facts, facts.scope(op), 0, op.index, facts.of(op.length).expr)


def _axis(facts: KernelFacts, scope: Scope, axis: int, index: SSAValue, end: Expr) -> Axis:
    at, range_ = facts.of(index)
    low = range_.lo >= 0 or proved(scope, at)
    return Axis(axis, at, 1, end, low, proved(scope, end - at - 1), False)
