"""What the ops do to memory, as xDSL's cse, dce and licm see it.

An array of a `shared` view is read-only while the kernel runs, so reading it is no effect: such a load may be merged
across stores and hoisted out of loops. It may run where the program did not run it only if it tests every axis itself:
a proof about its bounds may hold for its place alone.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol, cast

from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConditionallySpeculatable, EffectInstance, MemoryEffect, MemoryEffectKind

from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.tile_types import Access, ViewType


class _Access(Protocol):
    @property
    def view(self) -> SSAValue: ...
    @property
    def bounds(self) -> BoundsAttr | None: ...


class ReadsView(MemoryEffect, ConditionallySpeculatable):
    """Reads the array of the op's `view`."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        view = cast(_Access, op).view
        if isinstance(view.type, ViewType) and view.type.access.data == Access.SHARED:
            return frozenset()
        return frozenset((EffectInstance(MemoryEffectKind.READ, view),))

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        access = cast(_Access, op)
        if access.bounds is None:
            return True  # every axis is masked until a pass finds better
        rank = access.view.type.rank if isinstance(access.view.type, ViewType) else -1
        return access.bounds.outcome is Outcome.MASKED and len(set(access.bounds.axes)) == rank


class WritesView(MemoryEffect):
    """Writes the array of the op's `view`."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, cast(_Access, op).view),))


class AllocatesResult(MemoryEffect):
    """Makes the memory of its result, and nothing else: it may go where the result is not used, but never be merged."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.ALLOC, op.results[0]),))


class _Element(Protocol):
    @property
    def mem(self) -> SSAValue: ...
    @property
    def bounds(self) -> BoundsAttr | None: ...


class ReadsElement(MemoryEffect, ConditionallySpeculatable):
    """Reads one element of the op's `mem`; never where the program did not: its index may be outside there."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        memory = cast(_Element, op).mem
        if isinstance(memory.type, ViewType) and memory.type.access.data == Access.SHARED:
            return frozenset()
        return frozenset((EffectInstance(MemoryEffectKind.READ, memory),))

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        return False


class WritesElement(MemoryEffect):
    """Writes one element of the op's `mem`."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, cast(_Element, op).mem),))


class UpdatesElement(MemoryEffect):
    """Reads and writes one element of the op's `mem`, in order with what other threads do to any memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))
