"""Regular kernels on the CPU: between two meetings a loop over the threads, around the meetings the block's own code.

What all threads do alike is done once a block. A value that crosses from one phase to another lies in an array with a
place for each thread, in an area that a call allocates once. A shuffle is a read at another thread's place.
See `uniform` for the words, `coroutine` for kernels that are not regular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileopt.backends.cpu import lanes, warp
from tileopt.backends.cpu.frame import Argument, CpuEmitter, blocks_function, fault_lines
from tileopt.backends.cpu.uniform import EXCHANGES, MEETINGS, Plan
from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Output, TargetBackend
from tileopt.backends.llvm.scf import Leaving, Phis, next_index, parts, rebuild
from tileopt.backends.llvm.values import Buffer, Fragment, Value
from tileopt.dialects import simt
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt import Kernel

_LINE = 64


@dataclass
class _Level:
    """Where lines go: a phase, or the block around the phases."""

    block: str
    lines: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    cached: dict[object, str] = field(default_factory=dict)


class PhaseEmitter(CpuEmitter):
    """Writes a regular kernel. Outside of a phase, lines go to the block; inside, to the phase."""

    def __init__(self, output: Output, backend: TargetBackend, kernel: Kernel, plan: Plan) -> None:
        super().__init__(output, backend, kernel)
        self.plan = plan
        self.around = _Level("block.start")
        self.number = 0  # of the phase as the plan counts
        self.inside = False
        self.shuffled: list[Operation] = []  # meetings of lanes whose results the next phase reads
        # Of a crossing value, or of a shuffle's copy: the offset of its array, and what it consists of.
        self.places: dict[SSAValue | Operation, int] = {}
        self.kinds: dict[SSAValue | Operation, Value] = {}
        self.area = 0
        self.lanes = False  # while a run is written: a fragment is one vector of all lanes' registers
        self._enter(self.around)

    def _enter(self, level: _Level) -> None:
        self.lines, self.entry, self.cached, self.block = level.lines, level.entry, level.cached, level.block

    # --- phases ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begins the present phase, if it has not begun, with what it needs from others."""
        if self.inside:
            return
        self.around.block = self.block
        self.inside = True
        self.phase_label = self.label("thread")
        self.tid = f"%{self.phase_label}.id"
        self._enter(_Level(f"{self.phase_label}.body"))
        for value in self.plan.needs.get(self.number, ()):
            if value in self.plan.cheap:
                assert isinstance(value.owner, Operation)
                self.handlers[type(value.owner)](self, value.owner)
            else:
                self.values[value] = self._read(value, value, self.tid)
        shuffled, self.shuffled = self.shuffled, []
        for op in shuffled:
            self._exchanged(op)
            self._made(op.results[0])

    def _exchanged(self, op: Operation) -> None:
        """The result of a meeting of lanes, from the places where each has left its value."""
        source = op.operands[0]
        key = source if source in self.plan.shuffled else op
        if isinstance(op, simt.ShuffleXor):
            other = self.assign(f"xor i32 {self.tid}, {op.mask.value.data}")
            self.values[op.result] = self._read(key, source, other)
            return
        size = self._layout(self.kinds[key], source)[3]
        first = self.assign(f"and i32 {self.tid}, {-WARP_SIZE}")
        self.values[op.results[0]] = warp.outcome(self, op, self._address(key, first, size))

    def close(self) -> None:
        """Ends the present phase; lines go to the block again."""
        if self.shuffled:
            self.open()
        if self.inside:
            self._append_loop()
        self.number += 1

    def _append_loop(self) -> None:
        label, entry, body = self.phase_label, self.entry, self.lines
        self.inside = False
        self._enter(self.around)
        last = self.block
        self.branch(label)
        self.start(label)
        self.line(f"%{label}.id = phi i32 [ 0, %{last} ], [ %{label}.next, %{label}.end ]")
        self.lines += entry
        self.branch(f"{label}.body")
        self.start(f"{label}.body")
        self.lines += body
        self.branch(f"{label}.end")
        self.start(f"{label}.end")
        self.line(f"%{label}.next = add nuw nsw i32 %{label}.id, 1")
        self.line(f"%{label}.more = icmp ult i32 %{label}.next, {self.threads}")
        self.branch_if(f"%{label}.more", label, f"{label}.done")
        self.start(f"{label}.done")
        self.around.block = self.block

    @contextmanager
    def _once_a_block(self) -> Iterator[None]:
        """What is written inside goes to the block, before the present phase."""
        if not self.inside:
            yield
            return
        phase = _Level(self.block, self.lines, self.entry, self.cached)
        self._enter(self.around)
        try:
            yield
        finally:
            self.around.block = self.block
            self._enter(phase)

    # --- crossing values -------------------------------------------------------------------------------------------

    def _made(self, value: SSAValue) -> None:
        """Keeps a value that the present phase made, if others need it."""
        if value in self.plan.crossing:
            self._write(value, value)

    def _layout(self, kind: Value, value: SSAValue) -> tuple[str, str, int, int]:
        """(type of a part, its type in memory, its bytes, bytes of a thread's place)."""
        if isinstance(kind, Buffer):
            return "ptr", "ptr", 8, 8
        element = self.element(value.type)
        width = kind.width if isinstance(kind, Fragment) else 1
        type_, memory = types.vector(width, element), types.vector(width, types.memory_type(element))
        size = width * types.bytes_of(element)
        return type_, memory, size, size * len(parts(self, kind))

    def _address(self, key: SSAValue | Operation, thread: str, size: int) -> str:
        place = self.assign(f"mul nuw nsw i32 {thread}, {size}")
        return self.assign(f"getelementptr inbounds i8, ptr %area.{self.places[key]}, i32 {place}")

    def _write(self, key: SSAValue | Operation, value: SSAValue) -> None:
        """Writes `value` to the thread's place under `key`."""
        now = self.values[value]
        type_, memory, part, size = self._layout(now, value)
        self.kinds[key] = now
        self._place(key, size)
        address = self._address(key, self.tid, size)
        for number, text in enumerate(parts(self, now)):
            if memory != type_:
                text = self.assign(f"zext {type_} {text} to {memory}")
            pointer = (
                self.assign(f"getelementptr inbounds i8, ptr {address}, i64 {number * part}") if number else address
            )
            self.line(f"store {memory} {text}, ptr {pointer}, align {_alignment(part, size)}")

    def _read(self, key: SSAValue | Operation, value: SSAValue, thread: str) -> Value:
        """Reads a thread's place under `key`, where a value of the type of `value` lies."""
        kind = self.kinds[key]
        type_, memory, part, size = self._layout(kind, value)
        address = self._address(key, thread, size)
        out: list[str] = []
        for number in range(len(parts(self, kind))):
            pointer = (
                self.assign(f"getelementptr inbounds i8, ptr {address}, i64 {number * part}") if number else address
            )
            text = self.assign(f"load {memory}, ptr {pointer}, align {_alignment(part, size)}")
            if memory != type_:
                zero = "zeroinitializer" if memory.startswith("<") else "0"
                text = self.assign(f"icmp ne {memory} {text}, {zero}")
            out.append(text)
        return rebuild(self, kind, out)

    def width_of(self, type_: Attribute) -> int:
        return WARP_SIZE * lanes.registers(type_) if self.lanes else super().width_of(type_)

    def read_lanes(self, value: SSAValue) -> str:
        """A vector of the places of a warp, whose first thread is the present one."""
        width, element = self.width_of(value.type), self.element(value.type)
        type_, memory = types.vector(width, element), types.vector(width, types.memory_type(element))
        size = width // WARP_SIZE * types.bytes_of(element)
        text = self.assign(f"load {memory}, ptr {self._address(value, self.tid, size)}, align {_LINE // 2}")
        return text if memory == type_ else self.assign(f"icmp ne {memory} {text}, zeroinitializer")

    def write_lanes(self, value: SSAValue) -> None:
        """Writes a run's value to the places of a warp."""
        width, element = self.width_of(value.type), self.element(value.type)
        type_, memory = types.vector(width, element), types.vector(width, types.memory_type(element))
        count = lanes.registers(value.type)
        chunk = self.backend.chunk_width(count)
        self.kinds[value] = Fragment(element, chunk, ("",) * (count // chunk))
        self._place(value, count * types.bytes_of(element))
        (text,) = self.fragment(value).chunks
        if memory != type_:
            text = self.assign(f"zext {type_} {text} to {memory}")
        address = self._address(value, self.tid, count * types.bytes_of(element))
        self.line(f"store {memory} {text}, ptr {address}, align {_LINE // 2}")

    def _place(self, key: SSAValue | Operation, size: int) -> None:
        if key not in self.places:
            self.places[key] = self.area
            self.area += -(-size * self.threads_up() // _LINE) * _LINE

    def threads_up(self) -> int:
        """Threads, rounded up to whole warps: a shuffle may read at the place of a thread that is not there."""
        return -(-self.threads // 32) * 32

    # --- walk ------------------------------------------------------------------------------------------------------

    def emit_outer(self, block: Block) -> Operation:
        """All ops of a block around phases but its terminator, which is returned."""
        last = block.last_op
        assert last is not None
        in_run = frozenset[Operation]()
        for op in block.ops:
            if op is last:
                break
            if op in in_run:
                continue
            if op in self.plan.runs:
                in_run = frozenset(self.plan.runs[op])
                self.close()
                lanes.emit_run(self, self.plan.runs[op])
                self.number += 1
            elif op in self.plan.once:
                with self._once_a_block():
                    self.emit_op(op)
            elif op in self.plan.outer:
                _STRUCTURES[type(op)](self, op)
            elif isinstance(op, MEETINGS):
                exchange = isinstance(op, EXCHANGES)
                if exchange and op.operands[0] not in self.plan.shuffled:
                    self.open()
                    self._write(op, op.operands[0])
                self.close()
                if exchange:
                    self.shuffled.append(op)
            else:
                self.open()
                self.emit_op(op)
                for result in op.results:
                    if result not in self.plan.cheap or result in self.plan.shuffled:
                        self._made(result)
        return last

    def carry(self, targets: Sequence[SSAValue], operands: Sequence[SSAValue]) -> None:
        """Writes values to the places of those that carry them on, and ends the phase."""
        pairs = [(t, v) for t, v in zip(targets, operands, strict=True) if t in self.plan.varying]
        if pairs:
            self.open()
            for target, value in pairs:
                self._write(target, value)
        self.close()

    def share(self, results: Sequence[SSAValue], carried: Sequence[SSAValue]) -> None:
        """Results that lie where the carried values do."""
        for result, value in zip(results, carried, strict=True):
            if value in self.plan.varying:
                self.places[result], self.kinds[result] = self.places[value], self.kinds[value]
            else:
                self.values[result] = self.values[value]

    def alike(self, targets: Sequence[SSAValue], operands: Sequence[SSAValue]) -> tuple[list[SSAValue], list[Value]]:
        """Of the targets those that are the same in all threads, and their values: a phi carries them."""
        pairs = [(t, v) for t, v in zip(targets, operands, strict=True) if t not in self.plan.varying]
        return [t for t, _ in pairs], [self.values[v] for _, v in pairs]


def _alignment(part: int, size: int) -> int:
    return min(_LINE, part & -part, size & -size)


def _for(emitter: PhaseEmitter, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    index, *carried = op.body.block.args
    type_ = emitter.element(index.type)
    emitter.carry(carried, op.iter_args)
    lower, upper, step = (emitter.scalar(v) for v in (op.lb, op.ub, op.step))
    head, inside, done = emitter.label("for"), emitter.label("body"), emitter.label("done")
    targets, first = emitter.alike(carried, op.iter_args)
    before = Leaving(emitter, [lower, *first])
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, [index, *targets], before)
    at = emitter.scalar(index)
    emitter.branch_if(emitter.assign(f"icmp slt {type_} {at}, {upper}"), inside, done)
    emitter.start(inside)
    last = emitter.emit_outer(op.body.block)
    emitter.carry(carried, last.operands)
    following = next_index(emitter, op, at, upper, step)
    phis.close(Leaving(emitter, [following, *emitter.alike(carried, last.operands)[1]]))
    emitter.branch(head)
    emitter.start(done)
    emitter.share(op.res, carried)


def _if(emitter: PhaseEmitter, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    then, end = emitter.label("then"), emitter.label("end")
    otherwise = emitter.label("else") if op.false_region.blocks else end
    emitter.close()
    before = Leaving(emitter, [])
    emitter.branch_if(emitter.scalar(op.cond), then, otherwise)
    ends: list[Leaving] = []
    for label, region in ((then, op.true_region), (otherwise, op.false_region)):
        if not region.blocks:
            ends.append(before)
            continue
        emitter.start(label)
        last = emitter.emit_outer(region.block)
        emitter.carry(op.results, last.operands)
        ends.append(Leaving(emitter, emitter.alike(op.results, last.operands)[1]))
        emitter.branch(end)
    emitter.start(end)
    targets = [r for r in op.results if r not in emitter.plan.varying]
    if targets:
        Phis(emitter, targets, ends[0]).close(ends[1])


def _while(emitter: PhaseEmitter, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    test, body = op.before_region.block, op.after_region.block
    emitter.carry(test.args, op.arguments)
    head, inside, done = emitter.label("while"), emitter.label("body"), emitter.label("done")
    targets, first = emitter.alike(test.args, op.arguments)
    before = Leaving(emitter, first)
    emitter.branch(head)
    emitter.start(head)
    phis = Phis(emitter, targets, before)
    condition = emitter.emit_outer(test)
    assert isinstance(condition, scf.ConditionOp)
    emitter.carry(body.args, condition.args)
    emitter.branch_if(emitter.scalar(condition.condition), inside, done)
    emitter.values.update(zip(*emitter.alike(body.args, condition.args), strict=True))
    emitter.share(op.res, body.args)
    emitter.start(inside)
    last = emitter.emit_outer(body)
    emitter.carry(test.args, last.operands)
    phis.close(Leaving(emitter, emitter.alike(test.args, last.operands)[1]))
    emitter.branch(head)
    emitter.start(done)


_STRUCTURES: dict[type[Operation], Callable[[PhaseEmitter, Operation], None]] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
}


def functions(emitter: PhaseEmitter, arguments: list[Argument]) -> list[str]:
    """`@name.blocks` around what was written: the area for crossing values, then each block's lines."""
    emitter.close()
    before: list[str] = []
    after: list[str] = []
    if emitter.area:
        emitter.declare("noalias ptr @malloc(i64)")
        emitter.declare("void @free(ptr)")
        before = [
            f"  %area.raw = call ptr @malloc(i64 {emitter.area + _LINE})",
            "  %area.number = ptrtoint ptr %area.raw to i64",
            f"  %area.up = add i64 %area.number, {_LINE - 1}",
            f"  %area.aligned = and i64 %area.up, {-_LINE}",
            "  %area.skip = sub i64 %area.aligned, %area.number",
            "  %area = getelementptr i8, ptr %area.raw, i64 %area.skip",
        ]
        places = sorted(set(emitter.places.values()))
        before += [f"  %area.{place} = getelementptr i8, ptr %area, i64 {place}" for place in places]
        after = ["  call void @free(ptr %area.raw)"]
    block = [*emitter.around.entry, *emitter.around.lines, "  br label %block.end", *fault_lines(emitter, "leave")]
    return [blocks_function(emitter, arguments, before, block, after)]
