"""Noted launches as a host program of the stream dialect: arrays become buffers, and launches, streams, events ops.

An array that a launch writes becomes an owned argument, which the program returns; one that is only read, a borrowed
argument. Scalars and grids become constants. Captured launches become a graph and one replay. A buffer is a whole
row-major array of a known shape: what is strided, or shares a part of its memory with another array, cannot be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileopt.backends.runtime.arrays import ArrayInfo, byte_range, contiguous_strides
from tileopt.backends.runtime.recording import ArrayArgument, Launched, Recorded, ScalarArgument, Step, Waited
from tileopt.backends.runtime.signature import launch_strides
from tileopt.dialects import stream
from tileopt.dialects.diagnostics import Location, UnsupportedError, fileloc
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.stream import BufferType, EventType, GraphType, Holding, Mode, StreamType


def module_of(steps: Sequence[Step], captured: bool = False) -> ModuleOp:
    """A module with the kernels of the steps and `stream.program @main`. Raises UnsupportedError (`stream/layout`).

    `captured`: the steps are those of one queue, and the program runs their launches as a graph.
    """
    launches = [s for s in steps if isinstance(s, Launched)]
    buffers = _Buffers([(a, s.place) for s in launches for a in s.arguments if isinstance(a, ArrayArgument)])
    kernels = _Kernels()
    body = _Body(buffers, kernels)
    for step in launches if captured else steps:  # events of one queue say nothing that its order does not
        body.add(step)
    if captured and launches:
        body.capture()
    return ModuleOp([*kernels.ops, body.program()])


class _Buffers:
    """The distinct arrays, in the order of their first use."""

    def __init__(self, found: Sequence[tuple[ArrayArgument, Location | None]]) -> None:
        self.arrays: dict[Any, ArrayInfo] = {}
        self.written: set[Any] = set()
        self.names: dict[Any, str] = {}
        for argument, place in found:
            key = self.key(argument.info)
            if key not in self.arrays:
                _check_layout(argument, place)
                self.arrays[key] = argument.info
                self.names[key] = self._name(argument.name)
            if argument.writes:
                self.written.add(key)
        for argument, place in found:
            self._check_apart(argument, place)

    @staticmethod
    def key(info: ArrayInfo) -> Any:
        return info.pointer, info.shape, info.dtype

    def type_of(self, key: Any) -> BufferType:
        info = self.arrays[key]
        holding = Holding.OWNED if key in self.written else Holding.BORROWED
        shape = ArrayAttr([IntAttr(n) for n in info.shape])
        return BufferType(shape, DTYPES[info.dtype].ir, StringAttr(holding))

    def _name(self, wanted: str) -> str:
        # A number at the end would be taken for the printer's own.
        taken = set(self.names.values())
        name, count = wanted.rstrip("0123456789_") or "x", 0
        base = name
        while name in taken:
            name, count = f"{base}_{_letters(count)}", count + 1
        return name

    def _check_apart(self, argument: ArrayArgument, place: Location | None) -> None:
        mine = self.key(argument.info)
        if mine not in self.written or argument.info.empty:
            return
        low, high = byte_range(argument.info)
        for key, other in self.arrays.items():
            start, end = byte_range(other)
            here, there = argument.info.pointer + low, other.pointer + start
            if key != mine and here < there + end - start and there < here + high - low:
                raise UnsupportedError(
                    "stream/layout",
                    f"'{argument.name}' is written here and shares memory with another array of the recorded launches",
                    location=place,
                    help="use one array for one piece of memory: a buffer of the stream dialect has no parts",
                )


def _letters(number: int) -> str:
    text = ""
    while True:
        text = chr(ord("a") + number % 26) + text
        number = number // 26 - 1
        if number < 0:
            return text


def _check_layout(argument: ArrayArgument, place: Location | None) -> None:
    if launch_strides(argument.info)[0] != contiguous_strides(argument.info.shape) and not argument.info.empty:
        raise UnsupportedError(
            "stream/layout",
            f"'{argument.name}' has the strides {argument.info.strides}: buffers of the stream dialect are row-major",
            location=place,
            help="launch with a contiguous copy: numpy.ascontiguousarray(x), x.contiguous()",
        )


class _Kernels:
    """The kernels, one for each specialisation, under names of their own."""

    def __init__(self) -> None:
        self.ops: list[KernelOp] = []
        self._names: dict[Any, str] = {}

    def name_of(self, step: Launched) -> str:
        key = (id(step.definition), tuple((n, repr(s)) for n, s in step.signature.items()))
        if key not in self._names:
            module = step.definition.build(step.signature)
            (kernel,) = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
            module.body.block.detach_op(kernel)
            base = name = kernel.sym_name.data
            count = 0
            while name in self._names.values() or name == "main":
                name, count = f"{base}_{_letters(count)}", count + 1
            kernel.properties["sym_name"] = StringAttr(name)
            self.ops.append(kernel)
            self._names[key] = name
        return self._names[key]


class _Body:
    """The program's ops."""

    def __init__(self, buffers: _Buffers, kernels: _Kernels) -> None:
        self.buffers, self.kernels = buffers, kernels
        self.block = Block(arg_types=[buffers.type_of(k) for k in buffers.arrays])
        self.values: dict[Any, SSAValue] = {}
        for key, argument in zip(buffers.arrays, self.block.args, strict=True):
            argument.name_hint = buffers.names[key]
            self.values[key] = argument
        self.streams: dict[int, SSAValue] = {}
        self.events: dict[int, SSAValue] = {}
        self.constants: dict[Attribute, SSAValue] = {}
        self.head: list[Operation] = []
        self.ops: list[Operation] = []

    def add(self, step: Step) -> None:
        """One step."""
        place = UnknownLoc() if step.place is None else fileloc(step.place.file, step.place.line, step.place.column)
        for op in self._ops(step):
            op.location = place
            self.ops.append(op)

    def capture(self) -> None:
        """Puts the launches, which are of one stream, into a graph, and replays it on that stream."""
        (queue,) = self.streams.values()
        arguments = list(self.values.values())
        body = Block(arg_types=[v.type for v in (queue, *arguments)])
        names: dict[SSAValue, SSAValue] = dict(zip((queue, *arguments), body.args, strict=True))
        for value, name in names.items():
            name.name_hint = value.name_hint
        for op in self.ops:
            op.operands = [names.get(v, v) for v in op.operands]
        body.add_ops([*(v.owner for v in self.constants.values() if isinstance(v.owner, Operation)), *self.ops])
        graph = stream.Graph.build(operands=[arguments], result_types=[GraphType()], regions=[Region(body)])
        graph.result.name_hint = "graph"
        self.head = [op for op in self.head if op.parent is None]
        self.ops = [graph, stream.Replay.build(operands=[graph.result, queue])]

    def program(self) -> stream.Program:
        """The whole program."""
        returned = [v for k, v in self.values.items() if k in self.buffers.written]
        self.block.add_ops([*self.head, *self.ops, stream.Return.build(operands=[returned])])
        inputs, outputs = list(self.block.arg_types), [v.type for v in returned]
        return stream.Program.create(
            properties={"sym_name": StringAttr("main"), "function_type": FunctionType.from_lists(inputs, outputs)},
            regions=[Region(self.block)],
        )

    def _ops(self, step: Step) -> list[Operation]:
        queue = self._stream(step.queue)
        match step:
            case Recorded():
                record = stream.Record.build(operands=[queue], result_types=[EventType()])
                self.events[step.event] = record.result
                return [record]
            case Waited(event=None):
                return [stream.Sync.build(operands=[queue])]
            case Waited(event=event):
                known = None if event is None else self.events.get(event)
                # An event from before the recording stands for work that is none of the program's.
                return [] if known is None else [stream.Wait.build(operands=[queue, known])]
            case Launched():
                return [self._launch(step, queue)]

    def _launch(self, step: Launched, queue: SSAValue) -> Operation:
        arguments: list[SSAValue] = []
        modes: list[Mode] = []
        for argument in step.arguments:
            if isinstance(argument, ArrayArgument):
                arguments.append(self.values[self.buffers.key(argument.info)])
                modes.append(Mode.OWN if argument.writes else Mode.BORROW)
            else:
                arguments.append(self._constant(_attribute(argument), argument.name))
                modes.append(Mode.VALUE)
        grid = [self._constant(IntegerAttr(n, i64), None) for n in step.grid]
        return stream.Launch.build(
            operands=[grid, queue, arguments],
            properties={
                "kernel": SymbolRefAttr(self.kernels.name_of(step)),
                "modes": ArrayAttr([StringAttr(m) for m in modes]),
            },
        )

    def _stream(self, queue: int) -> SSAValue:
        if queue not in self.streams:
            made = stream.Create.build(result_types=[StreamType()])
            made.result.name_hint = "stream"
            self.head.append(made)
            self.streams[queue] = made.result
        return self.streams[queue]

    def _constant(self, value: Attribute, name: str | None) -> SSAValue:
        if value not in self.constants:
            made = arith.ConstantOp(value)  # type: ignore[arg-type]
            made.result.name_hint = name
            self.head.append(made)
            self.constants[value] = made.result
        return self.constants[value]


def _attribute(argument: ScalarArgument) -> Attribute:
    dtype = DTYPES[argument.dtype]
    type_ = dtype.ir
    if isinstance(type_, IntegerType):
        bits, value = type_.width.data, int(argument.value)
        return IntegerAttr(value - (1 << bits) if bits > 1 and value >> (bits - 1) == 1 else value, type_)
    assert isinstance(type_, AnyFloat)
    return FloatAttr(float(argument.value), type_)
