"""Checked accesses and assertions: where a kernel tests something, and the one place that a test that fails goes to.

Each test is a *site*, numbered in the order of the text, one for each index; the host knows what they name. A failing
test branches to the block `fault` with its site, index and length; the target's code there writes the record and stops.
The record: eight i64, of which the first is 0 until a thread fails, then site + 1, index, length, the block's place,
the thread's number in its block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tileopt.backends.compiled import CheckSite
from tileopt.dialects import gpu, simt
from tileopt.dialects.bounds import BoundsAttr, Outcome, claimed_axes
from tileopt.dialects.diagnostics import location_of
from tileopt.dialects.kernel import RECORDED, KernelOp
from tileopt.dialects.part_checks import Checked
from tileopt.dialects.simt_atomic import AtomicCas, AtomicRmw
from tileopt.dialects.simt_constant import Constant
from tileopt.dialects.simt_host import Assert
from tileopt.dialects.simt_thread import CheckIndex, ElementLoad, ElementStore
from tileopt.dialects.tile_types import BufferType, ViewType

if TYPE_CHECKING:
    from tileopt.backends.llvm.emitter import Emitter

RECORD_WORDS = 8
ERROR = "%error"  # the record's address, the kernel's last argument
_ACCESSES = (ElementLoad, ElementStore, AtomicRmw, AtomicCas)
_TILES = (simt.FragmentLoad, simt.FragmentStore, simt.FragmentAtomic, gpu.CpAsync)


def tested_axes(op: Operation) -> tuple[int, ...]:
    """The axes along which the op's index is tested; an assertion counts as one."""
    if isinstance(op, Assert):
        return (0,)
    if isinstance(op, CheckIndex):
        return (0,) if _needs_test(op.bounds) else ()
    if isinstance(op, _TILES):
        return claimed_axes(op)
    if not isinstance(op, _ACCESSES) or not _needs_test(op.bounds):
        return ()
    rank = range(len(op.indices))
    return tuple(axis for axis in rank if op.bounds is None or not op.bounds.axes or axis in op.bounds.axes)


def _needs_test(bounds: BoundsAttr | None) -> bool:
    return bounds is None or bounds.outcome is Outcome.CHECKED


def memory_name(kernel: KernelOp, memory: SSAValue) -> str:
    """What an error calls an array or a buffer."""
    if isinstance(memory, BlockArgument) and isinstance(memory.owner, Block) and memory.owner is kernel.body.block:
        return kernel.arg_name(memory.index)
    if isinstance(memory.owner, Constant):
        return memory.owner.array.data
    return (memory.name_hint if isinstance(memory.type, BufferType) else None) or "shared memory"


def has_record(kernel: KernelOp) -> bool:
    """Whether the kernel takes the address of a record of what went wrong."""
    return RECORDED in kernel.attributes or any(tested_axes(op) for op in kernel.body.walk())


def check_sites(kernel: KernelOp) -> tuple[CheckSite, ...]:
    """The kernel's sites in order."""
    found: list[CheckSite] = []
    for op in kernel.body.walk():
        axes = tested_axes(op)
        if not axes:
            continue
        place = location_of(op)
        file, line, column = ("", 0, 0) if place is None else (place.file, place.line, place.column)
        if isinstance(op, Assert):
            found.append(CheckSite("", 0, file, line, column, message=op.message.data))
            continue
        if isinstance(op, CheckIndex):
            name = op.array.data
            what = Checked.INDEX.value if op.what is None else op.what.data
            of = f"'{name}'" if op.of is None else op.of.data
        else:
            assert isinstance(op, (*_ACCESSES, *_TILES))
            name, what, of = memory_name(kernel, op.mem if isinstance(op, _ACCESSES) else op.view), "", ""
        claimed = claimed_axes(op)
        reason = "" if op.bounds is None else op.bounds.reason
        for axis in axes:
            claim = reason if axis in claimed else None
            found.append(CheckSite(name, axis, file, line, column, what, of, claim=claim))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Fault:
    block: str
    site: int
    index: str
    length: str
    thread: str


class Faults:
    """The sites of a kernel that is being written, and the branches to `fault` so far."""

    def __init__(self, kernel: KernelOp) -> None:
        self._first: dict[Operation, int] = {}
        self._faults: list[_Fault] = []
        count = 0
        for op in kernel.body.walk():
            axes = tested_axes(op)
            if axes:
                self._first[op] = count
                count += len(axes)
        self.any = count > 0 or RECORDED in kernel.attributes

    def test(self, emitter: Emitter, op: Operation, number: int, index: str, length: str) -> None:
        """Goes on where 0 <= index < length. `number`: which of the op's tests."""
        self.unless(emitter, op, number, emitter.assign(f"icmp ult i64 {index}, {length}"), index, length)

    def unless(self, emitter: Emitter, op: Operation, number: int, holds: str, index: str, length: str) -> None:
        """Goes on where the i1 `holds`."""
        thread = emitter.backend.thread_id(emitter)
        inside = emitter.label("inside")
        self._faults.append(_Fault(emitter.block, self._first[op] + number, index, length, thread))
        emitter.branch_if(holds, inside, "fault")
        emitter.start(inside)

    def lines(self, stop: list[str]) -> list[str]:
        """The block `fault`; `stop`: its lines after %fault.site, %fault.index, %fault.length and %fault.thread."""
        if not self._faults:
            return []

        def phi(name: str, type_: str, texts: list[str]) -> str:
            rows = ", ".join(f"[ {text}, %{f.block} ]" for text, f in zip(texts, self._faults, strict=True))
            return f"  %fault.{name} = phi {type_} {rows}"

        return [
            "fault:",
            phi("site", "i64", [str(f.site + 1) for f in self._faults]),
            phi("index", "i64", [f.index for f in self._faults]),
            phi("length", "i64", [f.length for f in self._faults]),
            phi("thread", "i32", [f.thread for f in self._faults]),
            *stop,
        ]


def test_access(emitter: Emitter, op: Operation) -> None:
    """The tests of an access, if it has any."""
    assert isinstance(op, _ACCESSES)
    for number, axis in enumerate(tested_axes(op)):
        emitter.faults.test(emitter, op, number, emitter.scalar(op.indices[axis]), extent(emitter, op.mem, axis))


def extent(emitter: Emitter, memory: SSAValue, axis: int) -> str:
    """An i64: how long an array or a buffer is along an axis."""
    type_ = memory.type
    if isinstance(type_, ViewType):
        return emitter.view(memory).extents[axis]
    assert isinstance(type_, BufferType)
    return str(type_.get_shape()[axis])
