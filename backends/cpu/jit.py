"""LLVM IR text or object code to a function in this process."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import CompileError

if TYPE_CHECKING:
    import llvmlite.binding as llvm

MODEL = "tileopt_model"  # the function that runs the threads of kernels with ops of the hardware (see `requests`)
_LOCK = threading.Lock()
_NAMES = itertools.count()


@dataclass(frozen=True)
class LoadedCpuKernel:
    """A kernel in memory: the address of `void entry(slots, shared, first, last, gx, gy, gz)`.

    `object_code` can be kept and loaded again on the same kind of CPU. The code stays while this object lives.
    """

    address: int
    object_code: bytes
    library: Any


@lru_cache(maxsize=1)
def host() -> tuple[str, str]:
    """Name and features of this CPU, as LLVM has them: what object code is made for."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@lru_cache(maxsize=1)
def _machine() -> llvm.TargetMachine:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")


@lru_cache(maxsize=1)
def _jit() -> llvm.LLJIT:
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(_machine())


@lru_cache(maxsize=1)
def _math_library() -> ctypes.CDLL:
    """The process's C math functions; Python itself need not have been linked with them."""
    name = {"win32": "ucrtbase", "darwin": "libSystem.dylib"}.get(sys.platform, "libm.so.6")
    try:
        return ctypes.CDLL(name)
    except OSError:
        return ctypes.CDLL(None)  # musl has them in libc


def compile_object(llvm_ir: str) -> bytes:
    """Object code for this CPU. Raises CompileError `internal/llvm` with LLVM's message."""
    import llvmlite.binding as llvm

    with _LOCK:
        machine = _machine()
        try:
            module = llvm.parse_assembly(llvm_ir)
            module.verify()
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            _optimise(module, machine, coroutines="presplitcoroutine" in llvm_ir)
            return bytes(machine.emit_object(module))
        except RuntimeError as error:
            raise CompileError("internal/llvm", str(error).strip()) from error


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, coroutines: bool) -> None:
    """Our text is in vectors already: a simplification of each function is worth its time, little else is.

    The passes that split coroutines are in the pipeline for modules only, which takes twice as long.
    """
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    if coroutines:
        builder.getModulePassManager().run(module, builder)
        return
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.run(module, builder)
    simplification = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplification.run(function, builder)


def entry_symbol(kernel: str) -> str:
    """The symbol of a kernel's entry: a kernel called `malloc` must not take the place of the process's."""
    return f"tileopt.{kernel}"


def load(llvm_ir: str, entry: str, object_code: bytes | None = None) -> LoadedCpuKernel:
    """The kernel `entry` in memory, from `object_code` where there is one, else from the IR.

    Raises CompileError `internal/llvm` where LLVM refuses it. May be called from any thread.
    """
    import llvmlite.binding as llvm

    symbol = entry_symbol(entry)
    code = compile_object(llvm_ir) if object_code is None else object_code
    with _LOCK:
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
        for name in imported_symbols(llvm_ir):
            address = _address(name)
            if address is not None:
                builder.import_symbol(name, address)
        try:
            library = builder.add_current_process().link(_jit(), f"tileopt{next(_NAMES)}")
        except RuntimeError as error:
            raise CompileError("internal/llvm", str(error).strip()) from error
    return LoadedCpuKernel(library[symbol], code, library)


def _address(name: str) -> int | None:
    """Where a function that kernels call lies in memory."""
    from tileopt.backends.cpu.libm import PRINT

    if name == MODEL:
        from tileopt.backends.cpu.model import machine

        return machine.address()
    if name == PRINT:
        from tileopt.backends.cpu.printing import CALLBACK

        return ctypes.cast(CALLBACK, ctypes.c_void_p).value
    return ctypes.cast(getattr(_math_library(), name), ctypes.c_void_p).value


def imported_symbols(llvm_ir: str) -> list[str]:
    """Names of the functions outside of the module that the text declares, for the runtime to find."""
    from tileopt.backends.cpu.libm import FUNCTIONS, PRINT

    found: list[str] = []
    for line in llvm_ir.splitlines():
        if line.startswith("declare") and "@llvm." not in line:
            name = line[line.index("@") + 1 : line.index("(")]
            if name in FUNCTIONS or name in (MODEL, PRINT):
                found.append(name)
    return found
