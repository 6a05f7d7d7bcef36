"""The CPU as a target of the emitter: how a kernel's threads run.

A kernel whose threads never meet is a loop over the threads. One with barriers or shuffles makes each thread a
coroutine (see `coroutine`). Either way `@name.blocks` runs a range of blocks, and `@name` is the entry that the runtime
calls: it reads the arguments from their slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tileopt.backends.cpu import coroutine, frame, libm, memory, shared, vector_math
from tileopt.backends.llvm import softfloat
from tileopt.backends.llvm.emitter import Emitter, Handler, Output, TargetBackend, shared_handlers
from tileopt.backends.llvm.math import per_element
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.simt import Kernel

MAX_CHUNK = 64

_INTRINSICS = frozenset(
    f"llvm.{name}"
    for name in (
        "smin", "smax", "umin", "umax", "abs", "ctlz", "cttz", "ctpop", "fabs", "floor", "ceil", "trunc", "round",
        "roundeven", "sqrt", "fma", "copysign", "maximum", "minimum", "maxnum", "minnum", "fptosi.sat", "fptoui.sat",
        "masked.load", "masked.store", "masked.gather", "masked.scatter", "coro.id", "coro.size", "coro.align",
        "coro.begin", "coro.suspend", "coro.end", "coro.resume", "coro.done", "memset",
    )
)  # fmt: skip


@lru_cache(maxsize=1)
def _handlers() -> dict[type[Operation], Handler]:
    return {**shared_handlers(), **memory.HANDLERS, **shared.HANDLERS, **coroutine.HANDLERS}


class CpuBackend(TargetBackend):
    """LLVM IR for the CPU that runs the process; LLVM makes what vectors it has of ours."""

    name = "cpu"
    intrinsics = _INTRINSICS
    native_floats = frozenset({"float", "double"})

    def handlers(self) -> Mapping[type[Operation], Handler]:
        return _handlers()

    def chunk_width(self, registers: int) -> int:
        width = min(registers & -registers, MAX_CHUNK)
        if width < 4 and registers <= MAX_CHUNK:
            return registers
        return width

    def header(self, module: ModuleOp) -> list[str]:
        return []

    def thread_id(self, emitter: Emitter) -> str:
        return "%tid"

    def block_id(self, emitter: Emitter, axis: int) -> str:
        return f"%b{'xyz'[axis]}"

    def grid_dim(self, emitter: Emitter, axis: int) -> str:
        return f"%g{'xyz'[axis]}"

    def shared_base(self, emitter: Emitter) -> str:
        return "%shared"

    def emit_kernel(self, output: Output, kernel: Kernel) -> None:
        meets = coroutine.threads_meet(kernel)
        emitter = Emitter(output, self, kernel)
        emitter.block = "body"
        arguments = frame.define_arguments(emitter)
        emitter.emit_block(kernel.body.block)
        wrap = coroutine.functions if meets else frame.functions
        output.functions += [*wrap(emitter, arguments), frame.entry_function(emitter, arguments)]

    def math_call(self, emitter: Emitter, op: Operation, function: str, element: str, width: int, *args: str) -> str:
        if element == "float" and function in vector_math.FUNCTIONS:
            return vector_math.call(emitter, function, width, *args)
        name = libm.c_name(function, element)
        if name is None:
            raise UnsupportedError("backend/unsupported-op", f"cpu has no '{function}'", location=location_of(op))
        callee = emitter.declare(f"{element} @{name}({', '.join([element] * len(args))}) nounwind memory(none)")
        return per_element(emitter, callee, element, width, *args)

    def extend(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        return softfloat.extend(emitter, value, width, source, result)

    def truncate(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        return softfloat.truncate(emitter, value, width, source, result)
