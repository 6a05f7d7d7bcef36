"""One forward walk from SIMT programs in structured form to LLVM IR text.

From: a module of `simt.kernel` (scf, arith, math, simt, gpu). To: the text of one LLVM module.
`emit_module` drives a `TargetBackend`, which owns what differs between targets: the kernel's frame, memory, barriers,
shuffles, products, math functions, the width of chunks. All handlers have the type `Handler`, one for each op class.

Values are named (%v1, %v2, ...), so text may be emitted out of order: into the body, or into the entry section, whose
values (thread coordinates and the like) dominate everything. Constants are operands, never instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.faults import Faults
from tileopt.backends.llvm.values import Buffer, Fragment, Value, View
from tileopt.dialects.diagnostics import CompileError, UnsupportedError, location_of
from tileopt.dialects.simt import THREADS, WORKERS, Kernel

FMA, FAST_MATH, NUM_WARPS = "tile.fma", "tile.fast_math", "tile.num_warps"


class Output:
    """The LLVM module being written: declarations, helper functions, globals, the kernels' functions, metadata."""

    def __init__(self, intrinsics: frozenset[str]) -> None:
        self.intrinsics = intrinsics
        self.declarations: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: list[str] = []
        self.metadata: list[str] = []

    def declare(self, signature: str) -> str:
        """Declares a function once and gives its name with `@`: `declare("float @llvm.fabs.f32(float)")`.

        An intrinsic must be one that the target is known to select: LLVM kills the process on others. `signature` may
        have attributes after its parentheses.
        """
        start = signature.index("@")
        name = signature[start : signature.index("(", start)]
        if name not in self.declarations:
            if name.startswith("@llvm.") and not self._allowed(name[1:]):
                raise CompileError("internal/llvm", f"'{name[1:]}' is not an intrinsic that this target selects")
            self.declarations[name] = f"declare {signature}"
        return name

    def _allowed(self, name: str) -> bool:
        # The list holds whole names and stems of overloaded ones: llvm.fma of llvm.fma.v8f32.
        while name != "llvm":
            if name in self.intrinsics:
                return True
            name = name.rpartition(".")[0]
        return False

    def helper(self, name: str, make: Callable[[], str]) -> str:
        """Defines a function of the module once (`make` gives its text) and gives its name with `@`."""
        if name not in self.helpers:
            self.helpers[name] = ""  # stands while `make` asks for others
            self.helpers[name] = make()
        return f"@{name}"

    def node(self, text: str) -> str:
        """The metadata node of this text, made once."""
        line = next((line for line in self.metadata if line.endswith(f" = {text}")), None)
        if line is not None:
            return line.split(" ", 1)[0]
        self.metadata.append(f"!{len(self.metadata)} = {text}")
        return f"!{len(self.metadata) - 1}"

    def loop_node(self, hint: str) -> str:
        """A node that gives one loop a hint."""
        property_ = self.node(f'!{{!"{hint}"}}')
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = distinct !{{{name}, {property_}}}")
        return name

    def text(self, header: list[str]) -> str:
        parts = ["\n".join(header), "\n".join(self.globals.values()), "\n".join(self.declarations.values())]
        parts += [*self.helpers.values(), *self.functions, "\n".join(self.metadata)]
        return "\n\n".join(part for part in parts if part) + "\n"


class Emitter:
    """Writes the body of one kernel."""

    def __init__(self, output: Output, backend: TargetBackend, kernel: Kernel) -> None:
        self.output = output
        self.backend = backend
        self.kernel = kernel
        self.handlers = backend.handlers()
        self.values: dict[SSAValue, Value] = {}
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"  # label of the block being written, for phis
        self.cached: dict[object, str] = {}  # values of the entry section by what they are
        self.faults = Faults(kernel)
        self._count = 0
        self._labels = 0
        self.fma = kernel.flag(FMA, default=True)
        self.fast_math = kernel.flag(FAST_MATH)
        threads = kernel.attributes.get(THREADS)
        self.threads = threads.value.data if isinstance(threads, IntegerAttr) else 32
        self.workers = kernel.integer(WORKERS) or self.threads  # those that hold fragments

    # --- text ------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One instruction."""
        self.lines.append(f"  {text}")

    def fresh(self) -> str:
        """A new name for a value."""
        self._count += 1
        return f"%v{self._count}"

    def assign(self, text: str) -> str:
        """One instruction with a result; gives the result's name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, hint: str = "b") -> str:
        """A new label, not placed yet."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def start(self, label: str) -> None:
        """Begins the block of this label; the one before must have ended with a terminator."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str, loop: str | None = None) -> None:
        """To the label; `loop`: the metadata of the loop that goes round here."""
        self.lines.append(f"  br label %{label}" + (f", !llvm.loop {loop}" if loop else ""))

    def branch_if(self, condition: str, then: str, otherwise: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{otherwise}")

    def reserve(self) -> int:
        """Leaves a line empty, to be filled by `fill` (a phi whose operands are not known yet)."""
        self.lines.append("")
        return len(self.lines) - 1

    def fill(self, position: int, text: str) -> None:
        self.lines[position] = f"  {text}"

    @contextmanager
    def in_entry(self) -> Iterator[None]:
        """What is written inside goes to the entry section: straight-line code that runs first in each thread."""
        lines, block = self.lines, self.block
        self.lines = self.entry
        try:
            yield
        finally:
            self.lines, self.block = lines, block

    def once(self, key: object, make: Callable[[], str]) -> str:
        """A value of the entry section, computed the first time that `key` is asked for."""
        if key not in self.cached:
            with self.in_entry():
                self.cached[key] = make()
        return self.cached[key]

    # --- declarations ----------------------------------------------------------------------------------------------

    def declare(self, signature: str) -> str:
        """See `Output.declare`."""
        return self.output.declare(signature)

    def call(self, result: str, name: str, *args: tuple[str, str]) -> str:
        """Calls a declared-on-the-way function `name` with (type, operand) pairs; gives the result's name."""
        callee = self.declare(f"{result} @{name}({', '.join(t for t, _ in args)})")
        return self.assign(f"call {result} {callee}({', '.join(f'{t} {v}' for t, v in args)})")

    def intrinsic(self, name: str, width: int, element: str, *args: str) -> str:
        """Calls an overloaded elementwise intrinsic, all of whose operands have the result's type."""
        type_ = types.vector(width, element)
        return self.call(type_, f"{name}.{types.mangled(width, element)}", *((type_, a) for a in args))

    # --- values ----------------------------------------------------------------------------------------------------

    def scalar(self, value: SSAValue) -> str:
        found = self.values[value]
        assert isinstance(found, str)
        return found

    def fragment(self, value: SSAValue) -> Fragment:
        found = self.values[value]
        assert isinstance(found, Fragment)
        return found

    def view(self, value: SSAValue) -> View:
        found = self.values[value]
        assert isinstance(found, View)
        return found

    def buffer(self, value: SSAValue) -> Buffer:
        found = self.values[value]
        assert isinstance(found, Buffer)
        return found

    def width_of(self, type_: Attribute) -> int:
        """Registers of one chunk of a value of this IR type (1 for a scalar)."""
        if isinstance(type_, VectorType):
            return self.backend.chunk_width(type_.get_shape()[0])
        return 1

    def chunks(self, value: SSAValue) -> tuple[str, ...]:
        """The chunks of a fragment; a scalar is one chunk."""
        found = self.values[value]
        if isinstance(found, str):
            return (found,)
        assert isinstance(found, Fragment)
        return found.chunks

    def define(self, result: SSAValue, chunks: list[str] | tuple[str, ...]) -> None:
        """Gives a result its chunks: a scalar where its type is one."""
        if isinstance(result.type, VectorType):
            element = self.element(result.type)
            self.values[result] = Fragment(element, self.width_of(result.type), tuple(chunks))
        else:
            (self.values[result],) = chunks

    def element(self, type_: Attribute) -> str:
        """LLVM type of one register of an IR type. Raises UnsupportedError where LLVM has none."""
        try:
            return types.llvm_type(type_)
        except KeyError:
            raise UnsupportedError("backend/type", f"no target has values of {type_}") from None

    def each_chunk(self, op: Operation, make: Callable[..., str]) -> None:
        """An elementwise op: `make(*operands)` for each chunk of the operands; gives the chunk of the result."""
        columns = [self.chunks(operand) for operand in op.operands]
        self.define(op.results[0], [make(*row) for row in zip(*columns, strict=True)])

    # --- walk ------------------------------------------------------------------------------------------------------

    def emit_block(self, block: Block) -> Operation:
        """All ops of a block but its terminator, which is returned."""
        last = block.last_op
        if last is None:
            raise CompileError("backend/empty-block", "a block without a terminator", location=location_of(self.kernel))
        for op in block.ops:
            if op is last:
                break
            self.emit_op(op)
        return last

    def emit_op(self, op: Operation) -> None:
        """One op by its handler."""
        handler = self.handlers.get(type(op))
        if handler is None:
            raise self.unsupported(op, f"{self.backend.name} has no code for '{op.name}'")
        try:
            handler(self, op)
        except CompileError as error:
            if error.location is None:
                error.location = location_of(op)
            raise

    def unsupported(self, op: Operation, what: str, help: str | None = None) -> UnsupportedError:
        """The error for an op that the target has no code for."""
        return UnsupportedError("backend/unsupported-op", what, location=location_of(op), help=help)


Handler: TypeAlias = Callable[[Emitter, Operation], None]


class TargetBackend:
    """What differs between targets. Subclasses override; `handlers` starts from `shared_handlers()`."""

    name = "?"
    global_pointer = "ptr"  # LLVM type of a pointer to an array
    shared_pointer = "ptr"  # LLVM type of a pointer to shared memory
    intrinsics: frozenset[str] = frozenset()  # names, or stems of overloaded names, that are safe to call
    native_floats: frozenset[str] = frozenset({"half", "float", "double"})  # LLVM types with exact arithmetic
    orders_updates = True  # whether LLVM keeps the order and the scope of atomicrmw
    constant_pointer = "ptr"  # LLVM type of a pointer to what is part of the code
    vprintf = "vprintf"  # the function that prints values by a format
    clock = "llvm.readcyclecounter"
    shared_is_private = False  # whether the threads that share a block's memory run one at a time
    unrolls = False  # whether loops that ask for it become copies of their body
    pairs_halves = False  # whether two scalars of 16 bits share a register only as a vector

    def handlers(self) -> Mapping[type[Operation], Handler]:
        """What emits each op class. Called once a kernel: return a cached dict."""
        raise NotImplementedError

    def chunk_width(self, registers: int) -> int:
        """Registers of each chunk of a fragment of `registers` (a divisor of it). The same for all element types."""
        return 1

    def header(self, module: ModuleOp) -> list[str]:
        """Lines before everything: target triple and data layout."""
        return []

    def thread_id(self, emitter: Emitter) -> str:
        """The thread's linear id in its block, an i32 of the entry section."""
        raise NotImplementedError

    def block_id(self, emitter: Emitter, axis: int) -> str:
        """The block's id along a grid axis, an i64."""
        raise NotImplementedError

    def grid_dim(self, emitter: Emitter, axis: int) -> str:
        """The grid's extent along an axis, an i64."""
        raise NotImplementedError

    def shared_base(self, emitter: Emitter) -> str:
        """Pointer to the block's shared memory, a `shared_pointer`."""
        raise NotImplementedError

    def scope(self, scope: str) -> str:
        """What names the threads that see an atomic (see `MemoryScope`) as one, followed by a blank."""
        return ""

    def emit_kernel(self, output: Output, kernel: Kernel) -> None:
        """Writes one kernel's functions: makes an `Emitter`, defines the arguments, walks the body, wraps the lines."""
        raise NotImplementedError

    def floor_and_power(self, emitter: Emitter, width: int, value: str) -> tuple[str, str]:
        """`floor(value)` and two to that, of a chunk of f32 between -127 (whose power counts as 0) and 128 (infinity),
        or NaN (whose power may be anything)."""
        floats, ints = types.vector(width, "float"), types.vector(width, "i32")
        floor = emitter.intrinsic("llvm.floor", width, "float", value)
        number = emitter.call(
            ints, f"llvm.fptosi.sat.{types.mangled(width, 'i32')}.{types.mangled(width, 'float')}", (floats, floor)
        )
        biased = emitter.assign(f"add {ints} {number}, {types.splat(width, 'i32', '127')}")
        bits = emitter.assign(f"shl {ints} {biased}, {types.splat(width, 'i32', '23')}")
        return floor, emitter.assign(f"bitcast {ints} {bits} to {floats}")

    def math_call(self, emitter: Emitter, op: Operation, function: str, element: str, width: int, *args: str) -> str:
        """One chunk of a math function (`exp`, `atan2`, ...) on operands of `float` or `double`; gives the result."""
        raise NotImplementedError

    def extend(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        """One chunk from a float type to a wider one."""
        raise NotImplementedError

    def truncate(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        """One chunk from a float type to a narrower one, to nearest even."""
        raise NotImplementedError


def shared_handlers() -> dict[type[Operation], Handler]:
    """The handlers of the ops that are the same for all targets."""
    from tileopt.backends.llvm import (
        arith,
        atomic,
        constant,
        convert,
        dot,
        fragment,
        host,
        lane,
        math,
        packed,
        query,
        scf,
        thread,
    )

    return {
        **arith.HANDLERS,
        **convert.HANDLERS,
        **math.HANDLERS,
        **scf.HANDLERS,
        **fragment.HANDLERS,
        **packed.HANDLERS,
        **query.HANDLERS,
        **dot.HANDLERS,
        **thread.HANDLERS,
        **lane.HANDLERS,
        **atomic.HANDLERS,
        **host.HANDLERS,
        **constant.HANDLERS,
    }


def emit_module(module: ModuleOp, backend: TargetBackend) -> str:
    """The LLVM IR text of all kernels of `module`. Raises CompileError for what the target has no code for."""
    output = Output(backend.intrinsics)
    for op in module.body.block.ops:
        if not isinstance(op, Kernel):
            raise UnsupportedError(
                "backend/unsupported-op",
                f"'{op.name}' is not lowered: only simt.kernel can be translated",
                location=location_of(op),
            )
        backend.emit_kernel(output, op)
    return output.text(backend.header(module))
