"""SIMT IR to LLVM IR text for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tileopt.dialects.target import Target


def emit_llvm(module: ModuleOp, target: Target) -> str:
    """The LLVM IR of the module's kernels; `jit.load` takes it. Raises CompileError for what it has no code for."""
    from tileopt.backends.cpu.backend import CpuBackend
    from tileopt.backends.cpu.modelled_target import PREFIX
    from tileopt.backends.llvm.emitter import emit_module

    if target.checking:
        from tileopt.backends.cpu.check.backend import CheckBackend

        return emit_module(module, CheckBackend())
    return emit_module(module, CpuBackend(modelled=target.name.startswith(f"{PREFIX}:")))
