"""The CPU as a target whose threads record what they do: each is a coroutine, and each op of `effects` writes records.

The records go to a log whose place stands behind the record of a failed check (see `LOG`). A full log calls the host,
which takes the records away; the host may also stop the grid, as a failed check does.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tileopt.backends.cpu import coroutine, frame, requests
from tileopt.backends.cpu.backend import CpuBackend
from tileopt.backends.cpu.check.effects import TO_ARRAYS, effects_of
from tileopt.backends.cpu.check.sites import BLOCK, END, OPENING, Entry, number_sites, trace_of
from tileopt.backends.cpu.frame import CpuEmitter
from tileopt.backends.llvm.emitter import Emitter, Output
from tileopt.backends.llvm.faults import ERROR, RECORD_WORDS
from tileopt.backends.llvm.values import Buffer
from tileopt.dialects import simt
from tileopt.dialects.bounds import claimed_axes
from tileopt.dialects.simt import Kernel

LOG = RECORD_WORDS  # the log's words: address of the records, how many there are, how many fit, what to call then
WORDS = LOG + 4

_TILES = (simt.FragmentLoad, simt.FragmentStore, simt.FragmentAtomic)


class Recording(CpuEmitter):
    """An emitter that knows the kernel's sites and records them."""

    def __init__(self, output: Output, backend: CheckBackend, kernel: Kernel) -> None:
        super().__init__(output, backend, kernel)
        self.trace, self.entries = number_sites(kernel)
        self.meets = any(isinstance(op, simt.Barrier) for op in kernel.body.walk())

    def emit_op(self, op: Operation) -> None:
        entries = self.entries.get(op)
        if entries is None:
            super().emit_op(op)
            return
        effects = effects_of(op)
        assert effects is not None
        for entry in entries:
            if entry.early:
                self._record(entry, effects.copy)
        if isinstance(op, _TILES):
            _test_tile(self, op)
        super().emit_op(op)
        for entry in entries:
            if not entry.early:
                self._record(entry, effects.copy)

    def _record(self, entry: Entry, copy: SSAValue | int | None) -> None:
        """Writes a record, in the threads where there is something to record."""
        touch = entry.touch
        if touch is None or touch.when is None:
            self._write(entry, copy)
            return
        write, done = self.label("record"), self.label("done")
        self.branch_if(self.scalar(touch.when), write, done)
        self.start(write)
        self._write(entry, copy)
        self.branch(done)
        self.start(done)

    def _write(self, entry: Entry, copy: SSAValue | int | None) -> None:
        words: list[str] = []
        high = self.once("record", lambda: self._high(self.tid))
        if copy is not None:
            number = (
                str(copy) if isinstance(copy, int) else self.assign(f"and i64 {self.scalar(copy)}, {TO_ARRAYS - 1}")
            )
            copier = self.assign(f"add i64 {number}, {self.trace.threads}")
            if entry.copy:
                high = self.assign(f"shl nuw i64 {copier}, 32")
            elif entry.touch is None:
                words.append(copier)
        if entry.touch is not None:
            found = self.values[entry.touch.memory]
            if isinstance(found, Buffer):
                words.append(self.assign(f"ptrtoint ptr {found.pointer} to i64"))
            words += [self.scalar(value) for value in entry.touch.run_time]
        pointer = self.assign(self._call(self.assign(f"or i64 {high}, {entry.number}")))
        for place, word in enumerate(words):
            at = self.assign(f"getelementptr i64, ptr {pointer}, i64 {place}")
            self.line(f"store i64 {word}, ptr {at}, align 8")

    def _high(self, thread: str) -> str:
        return self.assign(f"shl nuw i64 {self.assign(f'zext i32 {thread} to i64')}, 32")

    def _call(self, head: str) -> str:
        name = f"tileopt.record{self.trace.words}"
        stride = 8 * (1 + self.trace.words)
        callee = self.output.helper(name, lambda: _RECORD.format(name=name, stride=stride))
        return f"call ptr {callee}(ptr {ERROR}, i64 {head})"

    def at_block(self) -> list[str]:
        return [f"  %block.record = {self._call(str(BLOCK))}", "  store i64 %block, ptr %block.record, align 8"]

    def at_opening(self) -> list[str]:
        return [f"  %opening.record = {self._call(str(OPENING))}"] if self.meets else []

    def at_end(self) -> list[str]:
        return [
            "  %end.thread = zext i32 %tid to i64",
            "  %end.high = shl nuw i64 %end.thread, 32",
            f"  %end.head = or i64 %end.high, {END}",
            f"  %end.record = {self._call('%end.head')}",
        ]


class RecordingRequests(requests.YieldingEmitter, Recording, requests.RequestEmitter):
    """The same of a kernel that the model of the hardware runs; it says where blocks begin and barriers open."""


_RECORD = f"""define internal ptr @{{name}}(ptr %error, i64 %head) nounwind {{{{
  %count.at = getelementptr i64, ptr %error, i64 {LOG + 1}
  %room.at = getelementptr i64, ptr %error, i64 {LOG + 2}
  %before = load i64, ptr %count.at, align 8
  %room = load i64, ptr %room.at, align 8
  %full = icmp uge i64 %before, %room
  br i1 %full, label %empty, label %write
empty:
  %host.at = getelementptr i64, ptr %error, i64 {LOG + 3}
  %host = load ptr, ptr %host.at, align 8
  call void %host()
  %left = load i64, ptr %count.at, align 8
  br label %write
write:
  %count = phi i64 [ %before, %0 ], [ %left, %empty ]
  %records.at = getelementptr i64, ptr %error, i64 {LOG}
  %records = load ptr, ptr %records.at, align 8
  %offset = mul i64 %count, {{stride}}
  %record = getelementptr i8, ptr %records, i64 %offset
  store i64 %head, ptr %record, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at, align 8
  %words = getelementptr i64, ptr %record, i64 1
  ret ptr %words
}}}}"""


def _test_tile(emitter: Emitter, op: simt.FragmentLoad | simt.FragmentStore | simt.FragmentAtomic) -> None:
    """Whether a tile is inside along the axes where it was taken to be; its end that is outside, where one is."""
    view, shape = emitter.view(op.view), simt.shape_of(op.shape)
    for number, axis in enumerate(claimed_axes(op)):
        first, length = emitter.scalar(op.offsets[axis]), view.extents[axis]
        last = emitter.assign(f"add i64 {first}, {shape[axis] - 1}")
        negative = emitter.assign(f"icmp slt i64 {first}, 0")
        end = emitter.assign(f"select i1 {negative}, i64 {first}, i64 {last}")
        emitter.faults.test(emitter, op, number, end, length)


class CheckBackend(CpuBackend):
    """See the module."""

    def emit_kernel(self, output: Output, kernel: Kernel) -> None:
        modelled = requests.needed(kernel) or requests.spins(kernel)
        if modelled and trace_of(kernel) is None:  # its indices are tested, and that is all
            super().emit_kernel(output, kernel)
            return
        emitter = (RecordingRequests if modelled else Recording)(output, self, kernel)
        emitter.block = "body"
        arguments = frame.define_arguments(emitter)
        emitter.emit_block(kernel.body.block)
        if modelled:
            output.functions += requests.functions(emitter, arguments)
            return
        functions = coroutine.functions(emitter, arguments)
        output.functions += [*functions, frame.entry_function(emitter, arguments)]
