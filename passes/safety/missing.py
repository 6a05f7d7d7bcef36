"""The relation of a launch contract that would prove an access: what to add to `requires`.

Candidates compare the array's extent with the sizes that a launch knows (extents, integer arguments) and with products
of two of them. One is proposed only where the kernel, analysed with it, has the access proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import BlockArgument

from tileopt.dialects.kernel import NAME, REQUIRES, UNSIGNED, KernelOp
from tileopt.dialects.simt_thread import CheckIndex
from tileopt.dialects.tile_types import DYNAMIC, ViewType
from tileopt.passes.analysis.accesses import Axis
from tileopt.passes.analysis.affine import Bounds, Expr
from tileopt.passes.analysis.elements import Element, element_axes, length_axis
from tileopt.passes.analysis.facts import KernelFacts, analyse, width_of
from tileopt.passes.analysis.symbols import exact

CANDIDATES_MAX = 24  # looked at for one access
CONFIRMED_MAX = 2  # tried on the whole kernel for one access
BUDGET = 40  # goals of one proof: what is missing is one step away
SMALL = 1 << 20  # greater constants are not proposed

Size: TypeAlias = tuple[str, Expr]  # how a relation calls it, and what it is


def missing_relation(facts: KernelFacts, element: Element, axis: Axis) -> str | None:
    """A relation that proves this axis of the access, if one is found."""
    scope = facts.scope(element)
    index = exact(axis.offset)
    goals = [index, axis.dim - index - 1]
    if not any(s.kind in ("argument", "dim") for goal in goals for s in goal.symbols()):
        return None
    prover = scope.prover()
    left = [goal for goal in goals if not prover.nonneg(goal, BUDGET)]
    tried = 0
    for text, fact in islice(_candidates(_sizes(facts), goals, scope.bounds), CANDIDATES_MAX):
        # Of a quotient or a minimum more is known where its operands are: that only the whole analysis finds.
        deep = text.endswith(" >= 1") and any(s.args for s in index.symbols())
        if deep or (left and all(prover.nonneg(goal - fact, BUDGET) for goal in left)):
            tried += 1
            if _proves(facts.kernel, element, axis.index, text):
                return text
            if tried >= CONFIRMED_MAX:
                break
    return None


def extents(facts: KernelFacts) -> list[Size]:
    """The extents of arrays that a relation can name."""
    arguments = facts.kernel.body.block.args
    return [size for argument in arguments if isinstance(argument.type, ViewType) for size in _named(facts, argument)]


def _sizes(facts: KernelFacts) -> list[Size]:
    """What a relation can name: the extents and the signed integers among the arguments."""
    return [size for argument in facts.kernel.body.block.args for size in _named(facts, argument)]


def _named(facts: KernelFacts, argument: BlockArgument) -> list[Size]:
    """An array's extents, or a signed integer, if the parameter has a name."""
    kernel, index, type_ = facts.kernel, argument.index, argument.type
    if kernel.arg_attr(index, NAME) is None:
        return []
    name = kernel.arg_name(index)
    if isinstance(type_, ViewType):
        shape = enumerate(type_.get_shape())
        free = [axis for axis, extent in shape if extent == DYNAMIC]
        return [(f"{name}.shape[{axis}]" if axis else f"len({name})", facts.dim(argument, axis)) for axis in free]
    if (width_of(type_) or 0) > 8 and kernel.arg_attr(index, UNSIGNED) is None:
        return [(name, facts.of(argument).expr)]
    return []


def _candidates(sizes: list[Size], goals: list[Expr], bounds: Bounds) -> Iterator[tuple[str, Expr]]:
    index, below = goals
    ends = [(text, e) for text, e in sizes if any(below.terms.get(m, 0) > 0 for m in e.terms)]
    factors = {s for m in index.terms if len(m) > 1 for s in m}
    beyond = index.terms.get((), 0)  # an index i + 2 is inside where two more elements are
    for end, extent in ends:
        for text, size in sizes:
            if size != extent:
                yield f"{end} >= {text}", extent - size
                if 0 < beyond < SMALL:
                    yield f"{end} >= {text} + {beyond}", extent - size - beyond
        for text, size in sizes:
            if size.symbols() & factors:
                for other, count in sizes:
                    if count not in (size, extent):
                        yield f"{end} >= {other} * {text}", extent - count * size
        for factor in sorted({abs(c) for m, c in index.terms.items() if m and abs(c) > 1}):
            for text, size in sizes:
                if size != extent:
                    yield f"{end} >= {factor} * {text}", extent - size * factor
        yield f"{end} >= 1", extent - 1
        most = index.bounds(bounds).hi
        if 0 < most < SMALL:
            yield f"{end} >= {most + 1}", extent - most - 1
    for text, size in sizes:
        if size.symbols() & index.symbols() and size.bounds().lo < 0:
            yield f"{text} >= 0", size


def _proves(kernel: KernelOp, element: Element, axis: int, text: str) -> bool:
    """Whether the axis is proved in launches where the relation holds too."""
    before = kernel.attributes.get(REQUIRES)
    have = list(before.data) if isinstance(before, ArrayAttr) else []
    kernel.attributes[REQUIRES] = ArrayAttr([*have, StringAttr(text)])
    try:
        facts = analyse(kernel)
        found = [length_axis(facts, element)] if isinstance(element, CheckIndex) else element_axes(facts, element)
        return found[axis].low and found[axis].high
    finally:
        if before is None:
            del kernel.attributes[REQUIRES]
        else:
            kernel.attributes[REQUIRES] = before
