"""SIMT IR to LLVM IR text, and LLVM IR text to PTX."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.dialects.diagnostics import CompileError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tileopt.dialects.target import Target

TRIPLE = "nvptx64-nvidia-cuda"
LOCK = threading.Lock()
_HALF_ARITHMETIC = re.compile(r"= (?:f(?:add|sub|mul) |call \w+ @llvm\.(?:fma|m\w+um)\.)[^\n]*(?:half|bfloat)")


def emit_llvm(module: ModuleOp, target: Target) -> str:
    """The LLVM IR text of a module of `simt.kernel`. Raises CompileError for what the target cannot do."""
    from tileopt.backends.llvm.emitter import emit_module
    from tileopt.backends.nvidia.backend import NvidiaBackend

    return emit_module(module, NvidiaBackend(nvidia_target(target.name)))


def to_ptx(llvm_text: str, target: Target) -> str:
    """PTX of one LLVM module. The text must be of `emit_llvm`: LLVM ends the process on what it cannot select."""
    import llvmlite.binding as llvm

    machine, builder = llvm_machine(target.name, pairs=_HALF_ARITHMETIC.search(llvm_text) is not None)
    with LOCK:
        try:
            module = llvm.parse_assembly(llvm_text)
            module.verify()
        except RuntimeError as error:
            raise CompileError("internal/llvm", f"LLVM refuses what tileopt wrote: {error}") from error
        module.data_layout = str(machine.target_data)  # LLVM optimises better where it knows the sizes of registers
        builder.getModulePassManager().run(module, builder)
        ptx: str = machine.emit_assembly(module)
    check_ptx(ptx)
    return ptx


def check_ptx(ptx: str) -> None:
    """A misspelt intrinsic becomes a function that nothing defines: raises CompileError where there is one."""
    for found in re.finditer(r"\.extern \.func[^;]*", ptx):
        line = found[0].replace("\n", " ")
        if re.search(r"\bvprintf\b", line):  # the driver's
            continue
        raise CompileError("internal/undefined-function", f"the PTX calls what nothing defines: {line}")


@lru_cache(maxsize=1)
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@lru_cache(maxsize=32)
def llvm_machine(name: str, *, pairs: bool = False) -> tuple[Any, Any]:
    """LLVM's machine and pass builder for a target. `pairs`: join scalars of 16 bits to pairs, which one instruction
    combines; looking for them costs a third of the time."""
    import llvmlite.binding as llvm

    _initialize()
    target = nvidia_target(name)
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.name, features=target.llvm_features, opt=3
    )
    options = llvm.create_pipeline_tuning_options(speed_level=3)  # at 2 small loops are unrolled half as often
    options.loop_unrolling = True
    options.slp_vectorization = pairs
    options.loop_vectorization = False
    return machine, llvm.create_pass_builder(machine, options)
