"""Verifies host programs: each buffer is used by its owner, given away once, and touched in order.

A program is run on abstract states, one a path (see `HostState`): who owns each buffer, what has touched it, and for
each stream which work of the others is known to be over when its next work begins (a vector clock). A loop is run as
often as a buffer can go round through the values that it carries, and twice more. A replay is one piece of work that
touches what the launches and copies of its graph do; the graph is the value's definition, so states know none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import stream
from tileopt.dialects.diagnostics import CompileError, OwnershipError, UnsupportedError, location_of
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.stream import BufferType, Mode
from tileopt.dialects.tile_types import Access, ViewType
from tileopt.passes.safety.host_state import HostState
from tileopt.passes.safety.verify_ownership import unused_axes

PATHS_MAX = 64


def verify_program(program: stream.Program, kernels: dict[str, KernelOp]) -> None:
    """Raises OwnershipError where the program breaks a rule."""
    state = HostState()
    for argument in program.body.block.args:
        if isinstance(argument.type, BufferType):
            state.hold(argument, program)
    _Checker(kernels).block(program.body.block, [state])


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    """The kernels of both tracks by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}


class _Checker:
    def __init__(self, kernels: dict[str, KernelOp]) -> None:
        self.kernels = kernels

    def block(self, block: Block, states: list[HostState]) -> list[HostState]:
        """The states after the block's ops, but for its terminator if that only yields."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp | scf.ConditionOp):
                break
            states = self.op(op, states)
            if len(states) > PATHS_MAX:
                raise UnsupportedError(
                    "stream/too-many-paths",
                    f"the program has more than {PATHS_MAX} paths to this place",
                    location=location_of(op),
                    help="move the branches into programs of their own",
                )
        return states

    def op(self, op: Operation, states: list[HostState]) -> list[HostState]:
        match op:
            case scf.IfOp():
                return self.branch(op, states)
            case scf.ForOp() | scf.WhileOp():
                return self.loop(op, states)
            case stream.Launch() | stream.Copy():
                self.check_work(op)
            case stream.Graph():
                for work in op.work:
                    self.check_work(work)
            case _ if op.regions:
                if any(inner.name.startswith("stream.") for inner in op.walk()):
                    raise UnsupportedError(
                        "stream/control-flow",
                        f"a host program cannot use streams inside '{op.name}'",
                        location=location_of(op),
                        help="use scf.if, scf.for or scf.while",
                    )
            case _:
                pass
        for state in states:
            self.simple(op, state)
        return states

    def simple(self, op: Operation, state: HostState) -> None:
        """One op without regions on one path."""
        match op:
            case stream.Create():
                state.start(op.result)
            case stream.Alloc():
                state.hold(op.result, op)
                state.touch(op, op.stream, [(op.result, True)])
            case stream.Free():
                state.touch(op, op.stream, [(op.buffer, True)])
                state.give(op.buffer, op, "freed")
            case stream.Copy():
                state.touch(op, op.stream, _touched(op))
            case stream.Graph():
                for value in op.arguments:
                    if isinstance(value.type, BufferType):
                        state.use(value, op)
            case stream.Replay():
                state.touch(op, op.stream, _touched_by_graph(_captured(op)))
            case stream.Record():
                state.record(op.stream, op.result)
            case stream.Wait():
                state.wait(op.stream, op.event)
            case stream.Sync():
                state.sync(op.stream)
            case stream.Launch():
                state.touch(op, op.stream, _touched(op))
                for mode, value in _taken(op):
                    if mode is Mode.MOVE:
                        state.give(value, op, "moved")
            case stream.Return():
                for value in op.values:
                    state.use(value, op)
                    state.give(value, op, "returned")
                state.check_leaks()
            case _:
                for value in op.operands:
                    if isinstance(value.type, BufferType):
                        state.use(value, op)
                for result in op.results:
                    if isinstance(result.type, BufferType):
                        state.hold(result, op)

    def branch(self, op: scf.IfOp, states: list[HostState]) -> list[HostState]:
        after: list[HostState] = []
        for region in (op.true_region, op.false_region):
            ours = [s.copy() for s in states]
            if region.blocks.first is not None:
                ours = self.block(region.block, ours)
                for state in ours:
                    self.hand_over(op, state, _yielded(region.block), op.results)
            after += ours
        return _distinct(after)

    def loop(self, op: scf.ForOp | scf.WhileOp, states: list[HostState]) -> list[HostState]:
        """The states after no iteration, after one, and so on."""
        values: Sequence[SSAValue] = op.iter_args if isinstance(op, scf.ForOp) else op.arguments
        rounds = 3 + sum(isinstance(v.type, BufferType) for v in values)
        after: list[HostState] = []
        for _ in range(rounds):
            states = [s.copy() for s in states]
            if isinstance(op, scf.WhileOp):
                states, values = self.enter(op, op.before_region.block, states, values, 0)
            for state in states:
                left = state.copy()
                self.hand_over(op, left, values, op.results)
                after.append(left)
            body, skip = (op.body.block, 1) if isinstance(op, scf.ForOp) else (op.after_region.block, 0)
            states, values = self.enter(op, body, states, values, skip)
            states = _distinct(states)
        return _distinct(after)

    def enter(
        self, op: Operation, block: Block, states: list[HostState], values: Sequence[SSAValue], skip: int
    ) -> tuple[list[HostState], Sequence[SSAValue]]:
        """Runs a block whose arguments after the first `skip` are `values`. Gives what it passes on."""
        for state in states:
            self.hand_over(op, state, values, block.args[skip:])
        return self.block(block, states), _yielded(block)

    def hand_over(
        self, op: Operation, state: HostState, sources: Sequence[SSAValue], targets: Sequence[SSAValue]
    ) -> None:
        """Passes buffers on under other names: block arguments and results of control flow."""
        pairs = [(s, t) for s, t in zip(sources, targets, strict=False) if isinstance(s.type, BufferType)]
        if any(isinstance(s.type, stream.StreamType | stream.EventType) for s in sources):
            raise UnsupportedError(
                "stream/carried-stream",
                "streams and events cannot be carried by a loop or chosen by a branch",
                location=location_of(op),
                help="make them before it",
            )
        state.rename(pairs, op)

    def check_work(self, op: stream.Launch | stream.Copy) -> None:
        """Verifies a launch or a copy without regard to what came before it."""
        if isinstance(op, stream.Launch):
            self.check_launch(op)
        elif op.source is op.target:
            raise _aliased(op, op.source)

    def check_launch(self, op: stream.Launch) -> None:
        """Verifies a launch against its kernel, and that no buffer is taken twice where one of the times writes."""
        name = op.kernel.root_reference.data
        kernel = self.kernels.get(name)
        if kernel is None:
            known = ", ".join(f"@{n}" for n in sorted(self.kernels))
            raise CompileError(
                "stream/unknown-kernel",
                f"there is no kernel @{name}",
                location=location_of(op),
                help=f"there are: {known}" if known else "the module has no kernels: define one by tile.kernel",
            )
        _check_signature(op, kernel)
        _check_grid(op, kernel)
        seen: dict[SSAValue, Mode] = {}
        for mode, value in _taken(op):
            if value in seen and (mode is not Mode.BORROW or seen[value] is not Mode.BORROW):
                raise _aliased(op, value)
            seen[value] = mode


def _taken(op: stream.Launch) -> Iterator[tuple[Mode, SSAValue]]:
    """The buffers of a launch and how it takes them."""
    for index, value in enumerate(op.arguments):
        if op.mode(index) is not Mode.VALUE:
            yield op.mode(index), value


def _touched(op: stream.Launch | stream.Copy) -> list[tuple[SSAValue, bool]]:
    """The buffers that it reads or writes, and whether it writes them."""
    if isinstance(op, stream.Copy):
        return [(op.source, False), (op.target, True)]
    return [(value, mode is not Mode.BORROW) for mode, value in _taken(op)]


def _touched_by_graph(graph: stream.Graph) -> list[tuple[SSAValue, bool]]:
    """The program's buffers that a replay reads or writes, each once."""
    writes: dict[SSAValue, bool] = {}
    for work in graph.work:
        for name, written in _touched(work):
            value = graph.outside(name)
            writes[value] = writes.get(value, False) or written
    return list(writes.items())


def _captured(op: stream.Replay) -> stream.Graph:
    """The graph that is replayed, which must be known."""
    graph = op.graph.owner
    if isinstance(graph, stream.Graph):
        return graph
    raise UnsupportedError(
        "stream/carried-stream",
        "a graph cannot be carried by a loop, chosen by a branch or given to the program",
        location=location_of(op),
        help="capture it before, and replay that value",
    )


def _aliased(op: Operation, value: SSAValue) -> OwnershipError:
    return OwnershipError(
        "ownership/aliased-argument",
        f"%{value.name_hint or 'buffer'} is written by this and passed to it a second time",
        location=location_of(op),
        help="pass another buffer, or copy it first",
    )


def _check_signature(op: stream.Launch, kernel: KernelOp) -> None:
    wants = kernel.function_type.inputs.data
    place, name = location_of(op), kernel.sym_name.data

    def refuse(message: str, help: str) -> OwnershipError:
        return OwnershipError("ownership/argument", message, location=place, help=help)

    if len(wants) != len(op.arguments):
        raise refuse(f"@{name} takes {len(wants)} arguments, got {len(op.arguments)}", "pass each parameter once")
    for index, (want, value) in enumerate(zip(wants, op.arguments, strict=True)):
        mode, parameter = op.mode(index), kernel.arg_name(index)
        if isinstance(want, ViewType) and isinstance(value.type, BufferType):
            if not value.type.fits(want):
                raise refuse(f"{parameter} of @{name} is {want}, got {value.type}", "pass a buffer of that type")
            if want.access.data != Access.SHARED and mode is Mode.BORROW:
                raise refuse(f"@{name} writes {parameter}, which is only borrowed here", "pass it with 'own' or 'move'")
        elif want != value.type:
            raise refuse(f"{parameter} of @{name} is {want}, got {value.type}", "pass a value of that type")


def _check_grid(op: stream.Launch, kernel: KernelOp) -> None:
    for axis in unused_axes(kernel):
        graph = op.parent_op()
        extent = (graph.outside(op.grid[axis]) if isinstance(graph, stream.Graph) else op.grid[axis]).owner
        value = extent.properties.get("value") if isinstance(extent, arith.ConstantOp) else None
        if value is not None and isinstance(value, IntegerAttr) and value.value.data > 1:
            raise OwnershipError(
                "ownership/repeated-blocks",
                f"@{kernel.sym_name.data} does not use axis {axis} of the grid, which has extent {value.value.data} "
                "here: its blocks would repeat each other's stores",
                location=location_of(op),
                help=f"launch it with extent 1 along axis {axis}",
            )


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    if isinstance(last, scf.ConditionOp):
        return last.args
    return last.operands if isinstance(last, scf.YieldOp) else ()


def _distinct(states: list[HostState]) -> list[HostState]:
    found: dict[object, HostState] = {}
    for state in states:
        found.setdefault(state.key(), state)
    return list(found.values())
