"""Atomic updates of a tile's elements in an array, one register after the other; elements outside are not touched."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.access import Access, register_mask
from tileopt.backends.llvm.atomic import Update
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.registers import scalars
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.simt_atomic import AtomicKind


def fragment_atomic(emitter: Emitter, op: Operation) -> None:
    """Of the threads that hold one element, and of one thread's registers with the same, one updates it."""
    assert isinstance(op, simt.FragmentAtomic)
    layout, values = op.layout_over(op.value.type), scalars(emitter, emitter.fragment(op.value))
    offsets = [emitter.scalar(v) for v in op.offsets]
    access = Access(emitter, emitter.view(op.view), offsets, layout, op.bounds)
    update = Update(emitter, AtomicKind(op.kind.data), element_type(op.value.type))
    done, with_writer = emitter.label("done"), writer(emitter, layout)
    if with_writer is not None:
        update_here = emitter.label("update")
        emitter.branch_if(with_writer, update_here, done)
        emitter.start(update_here)
    base, windows = access.thread_pointer(), access.windows(access.checked_axes)
    # Before any branch: what one register's address is made of is used by others.
    pointers = [access.step(base, access.register_offset(r)) for r in range(layout.registers)]
    space = emitter.backend.global_pointer
    for register in _distinct(layout.register_coords):
        mask = register_mask(emitter, layout, windows, register, 1)
        after = emitter.label("next")
        if mask is not None:
            inside = emitter.label("inside")
            emitter.branch_if(mask, inside, after)
            emitter.start(inside)
        update.run(values[register], pointers[register], space, access.memory)
        if mask is not None:
            emitter.branch(after)
            emitter.start(after)
    if with_writer is not None:
        emitter.branch(done)
        emitter.start(done)


def _distinct(coords: tuple[tuple[int, ...], ...]) -> list[int]:
    first: dict[tuple[int, ...], int] = {}
    for register, at in enumerate(coords):
        first.setdefault(at, register)
    return list(first.values())


HANDLERS: dict[type[Operation], Handler] = {simt.FragmentAtomic: fragment_atomic}
