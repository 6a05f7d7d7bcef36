"""Runs host programs of the stream dialect: on the CPU, or on a GPU with its own streams and events.

The module has been verified (`verify-ownership`): who owns a buffer is not asked again here. A buffer that is allocated
holds zeros, so that a program gives the same result every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileopt.backends.runtime import defaults, host_scalars
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.device_array import DeviceArray, asarray, to_numpy, zeros
from tileopt.backends.runtime.dispatch import Dispatcher
from tileopt.backends.runtime.ir_kernel import IrKernel
from tileopt.backends.runtime.streams import Stream
from tileopt.dialects import stream
from tileopt.dialects.contracts import Parameter, ParamKind
from tileopt.dialects.diagnostics import CompileError, LaunchError, TileoptError, location_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.stream import BufferType
from tileopt.dialects.target import Target

_NAMES: dict[Attribute, str] = {d.ir: name for name, d in reversed(DTYPES.items())}


def find_program(module: ModuleOp, name: str | None = None) -> stream.Program:
    """The program of this name; by default the only one, or @main. Raises CompileError (`stream/no-program`)."""
    found = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, stream.Program)}
    wanted = name if name is not None else next(iter(found)) if len(found) == 1 else "main"
    if wanted in found:
        return found[wanted]
    known = ", ".join(f"@{n}" for n in found)
    help = f"there are: {known}" if known else "it has none at all: define one by stream.program"
    raise CompileError("stream/no-program", f"the module has no stream.program @{wanted}", help=help)


def run_program(
    module: ModuleOp, program: stream.Program, arguments: Sequence[Any], target: Target | str = "cpu"
) -> list[Any]:
    """What the program returns, as NumPy arrays. `arguments`: an array or a number for each of its arguments.

    Arrays are copied. Raises LaunchError (`stream/argument`) for what does not fit, and what launches raise.
    """
    found = defaults.resolve(target)
    where = "cpu" if found.kind == "cpu" else "cuda"
    runner = _Runner(module, found, where)
    block = program.body.block
    if len(arguments) != len(block.args):
        raise _misfit(program, f"takes {len(block.args)} arguments, got {len(arguments)}")
    for argument, given in zip(block.args, arguments, strict=True):
        runner.values[argument] = runner.place(program, argument, given)
    returned = runner.block(block)
    for queue in runner.streams:
        queue.synchronize()
    return [to_numpy(a) for a in returned]


def _misfit(program: stream.Program, what: str) -> LaunchError:
    return LaunchError("stream/argument", f"@{program.sym_name.data} {what}", location=location_of(program))


class _Runner:
    def __init__(self, module: ModuleOp, target: Target, where: str) -> None:
        self.target, self.where = target, where
        self.values: dict[SSAValue, Any] = {}
        self.streams: list[Stream] = []
        kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
        self.kernels = {op.sym_name.data: Dispatcher(IrKernel(op)) for op in kernels}

    def place(self, program: stream.Program, argument: SSAValue, given: Any) -> Any:
        """A given value where the program runs, checked against the argument's type."""
        import numpy as np

        type_, name = argument.type, f"%{argument.name_hint or argument}"
        if not isinstance(type_, BufferType):
            if not isinstance(given, int | float | np.number | np.bool_):
                raise _misfit(program, f"takes {type_} as {name}, got an array")
            return given.item() if isinstance(given, np.generic) else given
        array = np.array(given, order="C")
        wanted = DTYPES[_NAMES[type_.element_type]].numpy
        if array.dtype != wanted and array.dtype.kind == "u" and wanted.kind == "i":
            array = array.view(array.dtype.str.replace("u", "i"))  # IR has no unsigned types: the bits are the same
        shape = tuple(n.data for n in type_.shape.data)
        fits = len(shape) == array.ndim and all(
            a in (b, DYNAMIC_INDEX) for a, b in zip(shape, array.shape, strict=True)
        )
        if array.dtype != wanted or not fits:
            raise _misfit(program, f"takes {type_} as {name}, got an array of {array.dtype} and shape {array.shape}")
        return asarray(array, device=self.where)

    def block(self, block: Block) -> list[Any]:
        """Runs a block's ops; gives what its terminator passes on."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp | stream.Return):
                return self.get(op.operands)
            if isinstance(op, scf.ConditionOp):
                return [self.values[op.condition], *self.get(op.args)]
            self.op(op)
        return []

    def get(self, values: Sequence[SSAValue]) -> list[Any]:
        return [self.values[v] for v in values]

    def set(self, names: Sequence[SSAValue], values: Sequence[Any]) -> None:
        self.values.update(zip(names, values, strict=True))

    def op(self, op: Operation) -> None:
        match op:
            case scf.IfOp():
                region = op.true_region if self.values[op.cond] else op.false_region
                self.set(op.results, self.block(region.block) if region.blocks.first is not None else [])
            case scf.ForOp():
                carried = self.get(op.iter_args)
                for i in range(self.values[op.lb], self.values[op.ub], max(1, self.values[op.step])):
                    self.set(op.body.block.args, [i, *carried])
                    carried = self.block(op.body.block)
                self.set(op.results, carried)
            case scf.WhileOp():
                carried = self.get(op.arguments)
                while True:
                    self.set(op.before_region.block.args, carried)
                    more, *carried = self.block(op.before_region.block)
                    if not more:
                        break
                    self.set(op.after_region.block.args, carried)
                    carried = self.block(op.after_region.block)
                self.set(op.results, carried)
            case _ if op.name.startswith("stream."):
                self.stream_op(op)
            case _:
                self.values[op.results[0]] = host_scalars.evaluate(op, self.get(op.operands))

    def stream_op(self, op: Operation) -> None:
        match op:
            case stream.Create():
                made = self.values[op.result] = Stream(self.where)
                self.streams.append(made)
            case stream.Alloc():
                self.values[op.result] = self.alloc(op)
            case stream.Free():
                del self.values[op.buffer]
            case stream.Copy():
                self.copy(*self.get((op.source, op.target, op.stream)))
            case stream.Record():
                self.values[op.result] = self.values[op.stream].record()
            case stream.Wait():
                self.values[op.stream].wait(self.values[op.event])
            case stream.Sync():
                self.values[op.stream].synchronize()
            case stream.Launch():
                self.launch(op)
            case stream.Graph():
                self.values[op.result] = op  # each replay looks up what the graph took: it is still the program's
            case stream.Replay():
                self.replay(self.values[op.graph], self.values[op.stream])
            case _:
                raise NotImplementedError(op.name)

    def replay(self, graph: stream.Graph, queue: Stream) -> None:
        names = graph.body.block.args
        self.set(names, [queue, *self.get(graph.arguments)])
        self.block(graph.body.block)
        for name in names:
            del self.values[name]  # an array that the program frees later must not live on under this name

    def alloc(self, op: stream.Alloc) -> Any:
        type_ = op.result.type
        assert isinstance(type_, BufferType)
        sizes = iter(self.get(op.sizes))
        shape = tuple(next(sizes) if n.data == DYNAMIC_INDEX else n.data for n in type_.shape.data)
        if min(shape, default=0) < 0:
            raise LaunchError("launch/array-shape", f"an extent of {shape} is negative", location=location_of(op))
        return zeros(shape, _NAMES[type_.element_type], self.where)

    @staticmethod
    def copy(source: Any, target: Any, queue: Stream) -> None:
        if source.shape != target.shape:
            raise LaunchError("stream/argument", f"a copy from {source.shape} to {target.shape}")
        if queue.device == HOST:
            target[...] = source
            return
        from tileopt.backends.nvidia import queues

        assert isinstance(source, DeviceArray) and isinstance(target, DeviceArray)
        queues.copy(queue.device, target.data_ptr(), source.data_ptr(), source.nbytes, queue.handle)

    def launch(self, op: stream.Launch) -> None:
        dispatcher = self.kernels[op.kernel.root_reference.data]
        pairs = zip(dispatcher.definition.parameters, self.get(op.arguments), strict=True)
        arguments = tuple(_as_argument(parameter, value) for parameter, value in pairs)
        grid, queue = tuple(self.get(op.grid)), self.values[op.stream]
        for index, value in enumerate(op.arguments):
            if op.mode(index) is stream.Mode.MOVE:
                del self.values[value]
        try:
            dispatcher.launch(grid, arguments, {}, queue, self.target)
        except TileoptError as error:
            if isinstance(error, LaunchError) or error.location is None:
                error.location = location_of(op)
            raise


def _as_argument(parameter: Parameter, value: Any) -> Any:
    """A value of the program as a launch takes it: IR knows neither bools nor unsigned numbers."""
    if parameter.kind is not ParamKind.SCALAR or parameter.dtype is None:
        return value
    dtype = DTYPES[parameter.dtype]
    if dtype.kind == "b":
        return bool(value)
    return value & ((1 << dtype.bits) - 1) if dtype.kind == "u" else value
