"""NVIDIA GPUs as a target of the emitter. Every register of a fragment is a scalar, as it is in PTX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm.emitter import Emitter, Handler, Output, TargetBackend, shared_handlers
from tileopt.backends.nvidia import (
    accumulators,
    cluster,
    copies,
    dot,
    element_copies,
    floats,
    inline_ptx,
    mathlib,
    matrix_words,
    mbarrier,
    memory,
    module,
    packed,
    reductions,
    shared,
    sync,
    tcgen05,
    tensor,
    tma,
    warp,
    warpgroup_words,
    wgmma,
)
from tileopt.backends.nvidia.allowed import INTRINSICS
from tileopt.backends.nvidia.generation import NvidiaTarget
from tileopt.dialects.simt import Kernel

SHARED_NAME = "__tileopt_shared"
GRID_LIMITS = (2147483647, 65535, 65535)


@lru_cache(maxsize=1)
def _handlers() -> dict[type[Operation], Handler]:
    return {
        **shared_handlers(),
        **memory.HANDLERS,
        **reductions.HANDLERS,
        **shared.HANDLERS,
        **sync.HANDLERS,
        **tensor.HANDLERS,
        **wgmma.HANDLERS,
        **copies.HANDLERS,
        **mbarrier.HANDLERS,
        **tma.HANDLERS,
        **element_copies.HANDLERS,
        **matrix_words.HANDLERS,
        **cluster.HANDLERS,
        **warpgroup_words.HANDLERS,
        **tcgen05.HANDLERS,
        **accumulators.HANDLERS,
        **inline_ptx.HANDLERS,
        **dot.HANDLERS,
        **warp.HANDLERS,
        **mathlib.HANDLERS,
        **floats.HANDLERS,
        **packed.HANDLERS,
    }


class NvidiaBackend(TargetBackend):
    """LLVM IR that NVPTX selects for one GPU."""

    global_pointer = memory.GLOBAL
    shared_pointer = "ptr addrspace(3)"
    intrinsics = INTRINSICS
    native_floats = frozenset({"half", "bfloat", "float", "double"})
    constant_pointer = "ptr addrspace(4)"
    orders_updates = False
    pairs_halves = True
    unrolls = True
    clock = "llvm.nvvm.read.ptx.sreg.clock64"

    def __init__(self, target: NvidiaTarget) -> None:
        self.target = target
        self.name = target.name

    def handlers(self) -> Mapping[type[Operation], Handler]:
        return _handlers()

    def header(self, module: ModuleOp) -> list[str]:
        return ['target triple = "nvptx64-nvidia-cuda"']

    def _register(self, emitter: Emitter, name: str, low: int, high: int) -> str:
        callee = emitter.declare(f"i32 @llvm.nvvm.read.ptx.sreg.{name}()")
        return emitter.assign(f"call range(i32 {low}, {high}) i32 {callee}()")

    def thread_id(self, emitter: Emitter) -> str:
        return emitter.once("tid", lambda: self._register(emitter, "tid.x", 0, emitter.threads))

    def block_id(self, emitter: Emitter, axis: int) -> str:
        def make() -> str:
            narrow = self._register(emitter, f"ctaid.{'xyz'[axis]}", 0, GRID_LIMITS[axis])
            return emitter.assign(f"zext nneg i32 {narrow} to i64")

        return emitter.once(("ctaid", axis), make)

    def grid_dim(self, emitter: Emitter, axis: int) -> str:
        def make() -> str:
            # One above the limit of x is the least i32: the range wraps, which LLVM allows.
            high = GRID_LIMITS[axis] + 1
            narrow = self._register(emitter, f"nctaid.{'xyz'[axis]}", 1, high if axis else -(1 << 31))
            return emitter.assign(f"zext nneg i32 {narrow} to i64")

        return emitter.once(("nctaid", axis), make)

    def shared_base(self, emitter: Emitter) -> str:
        emitter.output.globals[SHARED_NAME] = f"@{SHARED_NAME} = external addrspace(3) global [0 x i8], align 1024"
        return f"@{SHARED_NAME}"

    def scope(self, scope: str) -> str:
        if scope == "system":
            return ""
        # Before Hopper a cluster is a block.
        word = "block" if scope == "cluster" and self.target.arch < 90 else scope
        return f'syncscope("{word}") '

    def emit_kernel(self, output: Output, kernel: Kernel) -> None:
        module.emit_kernel(output, self, self.target, kernel)

    def floor_and_power(self, emitter: Emitter, width: int, value: str) -> tuple[str, str]:
        return mathlib.floor_and_power(emitter, width, value)

    def math_call(self, emitter: Emitter, op: Operation, function: str, element: str, width: int, *args: str) -> str:
        return mathlib.math_call(emitter, op, function, element, width, *args)

    def extend(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        return floats.extend(emitter, self.target, value, width, source, result)

    def truncate(self, emitter: Emitter, value: str, width: int, source: Attribute, result: Attribute) -> str:
        return floats.truncate(emitter, self.target, value, width, source, result)
