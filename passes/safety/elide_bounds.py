"""elide-bounds: tile or simt -> the same. Afterwards each access carries `bounds`, what was found out about it and why.

proved: what is accessed is inside its array whenever the access runs. launch: it is so in each launch that the
kernel's contract lets through (`simt.requires`, which the host checks once a launch), and not in any; the pass makes
no condition of its own, since launches that do not fulfil it must run, too. Of tiles, hoisted: the test is the same
for the whole block (a tile's offsets always are), so that one branch chooses between an unmasked and a masked path;
masked: the tile is always partly outside along some axis, so a test would never choose the unmasked path. Of elements,
checked: the thread tests its index, and a test that fails ends the kernel; the reason names the relation of a launch
contract that would prove it, where one does, and so does `simt.guards` where it is one between extents. With
`deny-checks`, or where the kernel's `simt.checks` is "denied", an access that needs a test is an error; where it is
"unchecked", the access ends unchecked: nothing is tested; where it is "kept", each access of an element is tested,
whatever is proved, which shows what tests cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.conditions import wrong_condition
from tileopt.dialects.diagnostics import BoundsError, location_of
from tileopt.dialects.kernel import CHECKS, GUARDS, REQUIRES, KernelOp
from tileopt.dialects.simt_thread import CheckIndex
from tileopt.dialects.tile_types import ViewType
from tileopt.passes.analysis.accesses import Access, Axis, Place, accesses, axes, name_of
from tileopt.passes.analysis.affine import shown
from tileopt.passes.analysis.elements import Element, element_axes, elements, length_axis
from tileopt.passes.analysis.facts import KernelFacts, analyse
from tileopt.passes.analysis.symbols import exact
from tileopt.passes.safety.missing import missing_relation


@dataclass(frozen=True)
class ElideBounds(ModulePass):
    """Proves accesses inside their arrays and says of the others which axes need a test."""

    name = "elide-bounds"

    deny_checks: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel | simt.Kernel):
                facts = analyse(kernel)
                for access in accesses(kernel):
                    access.bounds = outcome(facts, access)
                checks = kernel.attributes.get(CHECKS)
                word = checks.data if isinstance(checks, StringAttr) else ""
                left = Outcome.UNCHECKED if word == "unchecked" else Outcome.CHECKED
                found = elements(kernel)
                if word == "kept":
                    for element in found:
                        tested = tuple(axis.index for axis in _axes(facts, element))
                        element.bounds = BoundsAttr((Outcome.CHECKED, tested, "the contract keeps all tests"))
                    continue
                helpful: list[str] = []
                for element in found:
                    element.bounds = element_outcome(
                        facts, element, self.deny_checks or word == "denied", left, helpful
                    )
                if helpful:
                    kernel.set_relations(GUARDS, [*kernel.relations(GUARDS), *filter(_of_extents(kernel), helpful)])
                _mark_by_contract(kernel, found)


def _of_extents(kernel: KernelOp) -> Callable[[str], bool]:
    """Whether a relation speaks of arrays alone, whose extents are known where a launch is planned."""
    types = kernel.function_type.inputs.data
    arrays = {kernel.arg_name(index) for index, type_ in enumerate(types) if isinstance(type_, ViewType)}
    return lambda text: wrong_condition(text, arrays, frozenset()) is None


def _mark_by_contract(kernel: KernelOp, found: list[Element]) -> None:
    """Marks as `launch` what is proved by the relations that each launch is checked for alone."""
    required = kernel.attributes.get(REQUIRES)
    if required is None or not any(e.bounds is not None and e.bounds.outcome is Outcome.PROVED for e in found):
        return
    kernel.attributes[REQUIRES] = ArrayAttr([])
    try:
        facts = analyse(kernel)
        for element in found:
            bounds = element.bounds
            assert bounds is not None
            if bounds.outcome is Outcome.PROVED and not all(a.place is Place.INSIDE for a in _axes(facts, element)):
                element.bounds = BoundsAttr((Outcome.LAUNCH, (), f"{bounds.reason} where the contract holds"))
    finally:
        kernel.attributes[REQUIRES] = required


def _axes(facts: KernelFacts, element: Element) -> list[Axis]:
    return [length_axis(facts, element)] if isinstance(element, CheckIndex) else element_axes(facts, element)


def outcome(facts: KernelFacts, access: Access) -> BoundsAttr:
    """The bounds of one access to a tile."""
    found = axes(facts, access)
    left = [axis for axis in found if axis.place is not Place.INSIDE]
    name = name_of(facts, access.view)
    if not left:
        return _proved(name, found)
    partial = [axis for axis in left if axis.place is Place.PARTLY_OUTSIDE]
    kind = Outcome.MASKED if partial else Outcome.HOISTED
    reason = "; ".join(_missing(name, axis) for axis in partial or left)
    return BoundsAttr((kind, tuple(axis.index for axis in left), reason))


def element_outcome(
    facts: KernelFacts,
    element: Element,
    deny_checks: bool = False,
    unproved: Outcome = Outcome.CHECKED,
    helpful: list[str] | None = None,
) -> BoundsAttr:
    """The bounds of one access to an element, or of a test of an index. Raises BoundsError where none may be left.

    `unproved`: the outcome where no proof is found; what would prove a test away is then added to `helpful`.
    """
    name = element.array.data if isinstance(element, CheckIndex) else name_of(facts, element.mem)
    found = _axes(facts, element)
    left = [axis for axis in found if axis.place is not Place.INSIDE]
    if not left:
        return _proved(name, found)
    reason = "; ".join(_missing_element(name, axis) for axis in left)
    relations = [missing_relation(facts, element, axis) for axis in left]
    proving = list(dict.fromkeys(r for r in relations if r is not None))
    if deny_checks:
        advice = f"add {', '.join(map(repr, proving))} to requires= in the contract" if all(relations) else None
        raise BoundsError(
            "bounds/unproved",
            f"cannot prove this access inside: {reason}",
            location=location_of(element),
            help=advice or "access the element behind a condition that says so, as 0 <= i and i < len(x)",
        )
    if all(relations):
        reason += f"; requires {' and '.join(proving)} proves it"
        if helpful is not None and unproved is Outcome.CHECKED:
            helpful += proving
    return BoundsAttr((unproved, tuple(axis.index for axis in left), reason))


def _proved(name: str, found: list[Axis]) -> BoundsAttr:
    return BoundsAttr((Outcome.PROVED, (), "; ".join(map(_proof, found)) or f"{name} has one element"))


def _proof(axis: Axis) -> str:
    if axis.offset.value is not None and axis.dim.value is not None:
        return f"{axis.offset}..{axis.offset + axis.extent - 1} lies in 0..{axis.dim - 1}"
    offset = shown(axis.offset, f"the offset along axis {axis.index}")
    if axis.extent == 1:
        return f"{offset} < {axis.dim}"
    return f"{offset} + {axis.extent} <= {axis.dim}" if axis.offset.terms else f"{axis.extent} <= {axis.dim}"


def _missing(name: str, axis: Axis) -> str:
    """What would have to be known, or why the tile is always partly outside."""
    dim = f"{name}.shape[{axis.index}]"
    offset = shown(axis.offset, "the offset")
    if axis.beyond:
        return f"the tile at {offset} along axis {axis.index} is never inside: {dim} is {axis.dim}"
    if not axis.low:
        return f"{offset} may be negative along axis {axis.index} of {name}"
    content = axis.offset.content() or axis.extent
    if axis.dim.content() % axis.extent and content % axis.extent == 0:
        return f"{dim} is not known to be a multiple of {axis.extent}"
    return f"{offset} + {axis.extent} is not known to be at most {dim}"


def _missing_element(name: str, axis: Axis) -> str:
    index = shown(exact(axis.offset), "the index")
    if exact(axis.offset) != axis.offset:
        return f"{index} may be beyond 64 bits along axis {axis.index} of {name}"
    if not axis.low:
        return f"{index} may be negative along axis {axis.index} of {name}"
    return f"{index} is not known to be below {shown(axis.dim, f'{name}.shape[{axis.index}]')}"
