"""Sums into arrays: elements that lie side by side in the array and in a thread are added by one instruction.

`red` on vectors of f32 (PTX ISA, "red", from sm_90): each element is added atomically, the vector as a whole is not.
All other updates of tiles, and smaller GPUs', are LLVM's, one element each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation

from tileopt.backends.llvm.atomic import fragment_atomic
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.guards import Guard, both
from tileopt.backends.nvidia.memory import GLOBAL, Addresses, access_chunks, by_outcome, chunk_length, is_small
from tileopt.backends.nvidia.ptx import Statement, braces
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.simt_atomic import AtomicKind
from tileopt.dialects.target import Feature, target_of


def add(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.FragmentAtomic)
    layout, view = op.layout_over(op.value.type), emitter.view(op.view)
    length = chunk_length(view, layout, op.vector)
    once = len(set(layout.register_coords)) == layout.registers
    sums = AtomicKind(op.kind.data) is AtomicKind.ADD and isinstance(element_type(op.value.type), Float32Type)
    # The feature stands for the generation that brought both.
    if length == 1 or not (once and sums and target_of(op).has(Feature.CLUSTERS)):
        fragment_atomic(emitter, op)
        return
    offsets = [emitter.scalar(v) for v in op.offsets]
    values = registers_of(emitter.fragment(op.value))
    addresses = Addresses(emitter, view, offsets, layout, is_small(emitter, op.view))
    one, chunks = writer(emitter, layout), access_chunks(layout, view, length)
    coords = [layout.register_coords[chunk[0]] for chunk in chunks]
    places = [addresses.at(at) for at in coords]  # before any branch: both paths use them

    def make(tested: Sequence[int]) -> list[str]:
        guard = Guard(emitter, layout, offsets, view.extents, tested)
        for at, chunk, (pointer, constant) in zip(coords, chunks, places, strict=True):
            condition = both(emitter, guard.condition(at), one)
            if condition != "false":
                _red(emitter, [values[r] for r in chunk], pointer, constant, condition)
        return []

    by_outcome(emitter, op, layout, offsets, view, make, "float")


def _red(emitter: Emitter, values: list[str], pointer: str, constant: int, condition: str | None) -> None:
    statement = Statement()
    address = statement.pointer(GLOBAL, pointer)
    operands = braces([statement.word("float", value) for value in values])
    text = f"red.relaxed.gpu.global.add.v{len(values)}.f32 [{address}+{constant}], {operands};"
    if condition is not None:
        text = f"@{statement.predicate(condition)} {text}"
    statement.emit(emitter, text, effects=True)


HANDLERS: dict[type[Operation], Handler] = {simt.FragmentAtomic: add}
