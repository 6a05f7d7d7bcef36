"""What an access is to the next iteration of a loop, to what follows the loop, and to the loop's first iteration.

Places are linear forms over values that loops define anew in each iteration; a place is only as good as these say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from tileopt.dialects import simt
from tileopt.passes.lowering.accesses import Access, Place, slots_of
from tileopt.passes.lowering.linear_forms import Linear, constant_of, is_inside, linear_form, modular_form


def after_iteration(access: Access, loop: Operation) -> Access:
    """How the next iteration of `loop` sees an access: what the loop defines has other values now."""
    if not access.place or all(form is None or not form.terms for form in access.place):
        return access
    if isinstance(access.memory, simt.AllocShared):
        return replace(access, place=_last_slot(access, loop, slots_of(access.memory)))
    place: list[Linear | None] = []
    drift: list[int] = []
    olds = access.drift or (0,) * len(access.place)
    for form, old, step in zip(access.place, olds, _advances(access.place, loop, 0), strict=True):
        place.append(None if step is None else form)
        # Nonzero steps are those of this loop: nothing else is left of a place that moved with a loop inside it.
        drift.append(0 if step is None else step or old)
    return replace(access, place=tuple(place), drift=tuple(drift) if any(drift) else ())


def _last_slot(access: Access, loop: Operation, slots: int) -> Place:
    """The slot that was accessed in the iteration before, by what the loop defines now."""
    (form,) = access.place
    (step,) = _advances(access.place, loop, slots)
    if form is None or step is None or not isinstance(loop, scf.ForOp):
        return (None,)
    moves = any(v is loop.body.block.args[0] for v, _ in form.terms)
    if moves and constant_of(loop.step) is None:
        return (None,)
    return (Linear(form.terms, (form.const - step) % slots),)


def first_slot(loop: scf.ForOp, inside: Iterable[Access]) -> tuple[Linear, int] | None:
    """Of accesses in `loop` to one ring, a slot that depends on one of the loop's variables alone, and which slot that
    is in the first iteration; None where that is not known."""
    for access in inside:
        form = access.place[0]
        if form is None or len(form.terms) != 1:
            continue
        ((variable, factor),) = form.terms
        if isinstance(variable, BlockArgument) and variable.block is loop.body.block:
            start = constant_of(loop.lb if variable.index == 0 else loop.iter_args[variable.index - 1])
            if start is not None:
                return form, factor * start + form.const
    return None


def in_terms_of(access: Access, slot: Linear, value: int) -> Access:
    """An access to a slot with a known number, where the form `slot` has that `value`."""
    (form,) = access.place
    assert form is not None and not form.terms
    return replace(access, place=(Linear(slot.terms, slot.const + form.const - value),))


def after_loop(access: Access, loop: Operation) -> Access:
    """How what follows `loop` sees an access in it: where its place depends on the loop it is unknown."""
    place = tuple(
        None if form is None or any(is_inside(v, loop) for v in form.values()) else form for form in access.place
    )
    if place == access.place:
        return access
    drift = tuple(0 if form is None else d for form, d in zip(place, access.drift or (0,) * len(place), strict=True))
    return replace(access, place=place, drift=drift if any(drift) else ())


def _advances(place: Place, loop: Operation, modulus: int) -> list[int | None]:
    """By how much each form of a place grows with each iteration of `loop`, modulo `modulus` unless that is 0; None
    where that is not a constant.

    A step that is known at run time only is positive. What is true k*1 steps later for any k >= 1 is true k steps
    later, so it counts as 1, provided that nothing else moves.
    """
    inside = [None if form is None else [(v, factor) for v, factor in form.terms if _varies(v, loop)] for form in place]
    variable = loop.body.block.args[0] if isinstance(loop, scf.ForOp) else None
    moves = any(value is variable for terms in inside if terms for value, _ in terms)
    if variable is not None and moves and _step(variable, loop, modulus) is None:
        alone = [None if terms is None or any(v is not variable for v, _ in terms) else terms for terms in inside]
        return [None if terms is None else sum(factor for _, factor in terms) for terms in alone]
    out: list[int | None] = []
    for terms in inside:
        steps = None if terms is None else [(_step(v, loop, modulus), factor) for v, factor in terms]
        known = None if steps is None else [s * factor for s, factor in steps if s is not None]
        out.append(None if known is None or steps is None or len(known) < len(steps) else sum(known))
    return out


def _varies(value: object, loop: Operation) -> TypeGuard[SSAValue]:
    return isinstance(value, SSAValue) and is_inside(value, loop)


def _step(value: SSAValue, loop: Operation, modulus: int) -> int | None:
    """The constant that a loop's variable, or a value that it carries, grows by."""
    if not isinstance(loop, scf.ForOp) or not isinstance(value, BlockArgument) or value.block is not loop.body.block:
        return None
    if value.index == 0:
        step = linear_form(loop.step)
        return None if step.terms else step.const
    last = loop.body.block.last_op
    assert last is not None
    following = last.operands[value.index - 1]
    return (modular_form(following, modulus) if modulus else linear_form(following)).minus(linear_form(value))
