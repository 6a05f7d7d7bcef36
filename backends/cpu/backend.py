"""The CPU as a target of the emitter: how a kernel's threads run.

A kernel whose threads meet, if at all, under control flow that all share is cut into loops over the threads (see
`phases`). In any other each thread is a coroutine (see `coroutine`). Either way `@tileopt.name.blocks` runs a range of
blocks, and `@tileopt.name` is the entry that the runtime calls: it reads the arguments from their slots. Kernels with
ops of the hardware's own are run by a model of it (see `requests`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tileopt.backends.cpu import coroutine, frame, libm, memory, phases, requests, shared, vector_math
from tileopt.backends.cpu.frame import CpuEmitter
from tileopt.backends.cpu.libm import PRINT
from tileopt.backends.cpu.phases import PhaseEmitter
from tileopt.backends.cpu.uniform import plan_phases
from tileopt.backends.llvm import softfloat
from tileopt.backends.llvm.emitter import Emitter, Handler, Output, TargetBackend, shared_handlers
from tileopt.backends.llvm.math import per_element
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.simt import Kernel

MAX_CHUNK = 16  # 64 bytes of f32: wider vectors only make LLVM split them again

_INTRINSICS = frozenset(
    f"llvm.{name}"
    for name in (
        "smin", "smax", "umin", "umax", "abs", "ctlz", "cttz", "ctpop", "fabs", "floor", "ceil", "trunc", "round",
        "roundeven", "sqrt", "fma", "copysign", "maximum", "minimum", "maxnum", "minnum", "fptosi.sat", "fptoui.sat",
        "masked.load", "masked.store", "masked.gather", "masked.scatter", "coro.id", "coro.size", "coro.align",
        "coro.begin", "coro.suspend", "coro.end", "coro.resume", "coro.done", "memset", "bitreverse",
        "readcyclecounter",
    )
)  # fmt: skip


@lru_cache(maxsize=1)
def _handlers() -> dict[type[Operation], Handler]:
    return {**shared_handlers(), **memory.HANDLERS, **shared.HANDLERS, **coroutine.HANDLERS, **requests.HANDLERS}


class CpuBackend(TargetBackend):
    """LLVM IR for the CPU that runs the process; LLVM makes what vectors it has of ours.

    `coroutines`: makes each thread one even where phases would do. `modelled`: threads of which not all may come to a
    meeting, or that may wait for each other by atomics, are run by the model, which tells.
    """

    name = "cpu"
    intrinsics = _INTRINSICS
    native_floats = frozenset({"float", "double"})
    shared_is_private = True
    vprintf = PRINT

    def __init__(self, coroutines: bool = False, modelled: bool = False) -> None:
        self.coroutines, self.modelled = coroutines, modelled

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
        assert isinstance(emitter, CpuEmitter)
        return emitter.tid

    def block_id(self, emitter: Emitter, axis: int) -> str:
        return f"%b{'xyz'[axis]}"

    def grid_dim(self, emitter: Emitter, axis: int) -> str:
        return f"%g{'xyz'[axis]}"

    def shared_base(self, emitter: Emitter) -> str:
        return "%shared"

    def emit_kernel(self, output: Output, kernel: Kernel) -> None:
        plan = None if self.coroutines else plan_phases(kernel)
        if requests.needed(kernel) or (self.modelled and (plan is None or requests.spins(kernel))):
            emitter: CpuEmitter = requests.ModelEmitter(output, self, kernel)
            emitter.block = "body"
            arguments = frame.define_arguments(emitter)
            emitter.emit_block(kernel.body.block)
            output.functions += requests.functions(emitter, arguments)
            return
        if plan is None:
            emitter = CpuEmitter(output, self, kernel)
            emitter.block = "body"
            arguments = frame.define_arguments(emitter)
            emitter.emit_block(kernel.body.block)
            functions = coroutine.functions(emitter, arguments)
        else:
            emitter = phased = PhaseEmitter(output, self, kernel, plan)
            arguments = frame.define_arguments(emitter)
            phased.emit_outer(kernel.body.block)
            functions = phases.functions(phased, arguments)
        output.functions += [*functions, frame.entry_function(emitter, arguments)]

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
