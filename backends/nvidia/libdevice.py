"""NVIDIA's math functions as LLVM IR text, one function at a time, optimised beforehand and kept on disk.

Reading the whole library takes 60 ms and linking it in as long again, for each kernel; a kernel needs one or two
functions of it. Each is cut out with what it calls, its questions about the compilation (`__nvvm_reflect`) answered:
denormals are kept, and square roots and quotients are rounded to nearest.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from tileopt.backends.llvm.emitter import Output
from tileopt.backends.nvidia import ptxas
from tileopt.backends.runtime import cache
from tileopt.dialects.diagnostics import TargetError

# Longer functions are called, not copied into each place that uses them.
INLINE_LINES = 160
_REFLECT = {"__CUDA_FTZ": 0, "__CUDA_PREC_SQRT": 1, "__CUDA_PREC_DIV": 1, "__CUDA_ARCH": 750}
_NAME = re.compile(r"@([A-Za-z_][\w.$]*)")


@dataclass(frozen=True)
class Function:
    """The text of one function and of what it refers to, by name."""

    text: str
    declarations: dict[str, str]
    globals: dict[str, str]

    def add_to(self, output: Output, name: str) -> str:
        """Puts the function into a module; gives its name with `@`."""
        output.helper(name, lambda: self.text)
        for declared, text in self.declarations.items():
            output.declarations.setdefault(f"@{declared}", text)
        output.globals.update(self.globals)
        return f"@{name}"


_FUNCTIONS: dict[str, Function] = {}


def function(name: str) -> Function:
    """A function of the library, `__nv_expf` for example. Raises TargetError where there is no library or none such."""
    if name not in _FUNCTIONS:
        path = ptxas.find_libdevice()
        folder, key = cache.directory(), _key(path, name)
        stored = None if folder is None else cache.read(folder, key)
        if stored is not None:
            _FUNCTIONS[name] = Function(**json.loads(stored))
        else:
            _FUNCTIONS[name] = _extract(path, name)
            if folder is not None:
                cache.write(folder, key, json.dumps(asdict(_FUNCTIONS[name])).encode())
    return _FUNCTIONS[name]


def _key(path: str, name: str) -> str:
    found = os.stat(path)
    return cache.digest(["libdevice", path, str(found.st_size), str(found.st_mtime_ns), _recipe(), name])


@lru_cache(maxsize=1)
def _recipe() -> str:
    """Changes with what makes the text: this file and LLVM."""
    import llvmlite

    with open(__file__, encoding="utf-8") as source:
        return f"{llvmlite.__version__} {cache.digest([source.read()])}"


def _extract(path: str, name: str) -> Function:
    """Cuts one function with all that it calls out of the library, and optimises it."""
    import llvmlite.binding as llvm

    from tileopt.backends.nvidia.emit import LOCK, llvm_machine

    with LOCK, open(path, "rb") as file:
        _, builder = llvm_machine("sm_75")  # initialises LLVM; what it makes of IR holds for later architectures, too
        library = llvm.parse_bitcode(file.read())
        if name not in {f.name for f in library.functions}:
            raise TargetError("target/no-function", f"{path} has no function '{name}'")
        _keep_only(library, name)
        dead_code = llvm.create_new_module_pass_manager()
        dead_code.add_global_dead_code_eliminate_pass()
        dead_code.run(library, builder)
        module = llvm.parse_assembly(_answered(str(library)))
        _keep_only(module, name)
        builder.getModulePassManager().run(module, builder)
        return _function(module, name)


def _keep_only(module: Any, name: str) -> None:
    """Makes all functions but one the module's own, to be inlined and dropped."""
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")


def _answered(text: str) -> str:
    """The text of a module with constants for `__nvvm_reflect("...")`."""
    strings = dict(re.findall(r'^@([\w.]+) = .*c"(__CUDA_\w+)\\00"', text, flags=re.M))
    return re.sub(
        r"call i32 @__nvvm_reflect\(ptr @([\w.]+)\)(?: #\d+)?",
        lambda match: f"add i32 {_REFLECT[strings[match[1]]]}, 0",
        text.replace("nvptx64-nvidia-gpulibs", "nvptx64-nvidia-cuda"),
    )


def _function(module: Any, name: str) -> Function:
    body = _bare(str(module.get_function(name)))
    attributes = "alwaysinline" if body.count("\n") <= INLINE_LINES else "noinline"
    result = re.search(rf"(\w+) @{re.escape(name)}\(([^\n]*)\)[^\n]*{{\n", body)
    assert result is not None
    head = f"define internal {result[1]} @{name}({result[2]}) {attributes} nounwind memory(none) {{\n"
    used = set(_NAME.findall(body))
    return Function(
        head + body[result.end() :].rstrip(),
        {f.name: _bare(str(f)).strip() for f in module.functions if f.is_declaration and f.name in used},
        {g.name: _bare(str(g)).strip() for g in module.global_variables if g.name in used},
    )


def _bare(text: str) -> str:
    """A value's text without references to attribute groups, comments and metadata of its module."""
    text = re.sub(r", ![\w.]+ !\d+", "", text)
    text = re.sub(r"(call [^\n]* asm [^\n]*) #\d+", r"\1 nounwind memory(none)", text)
    return re.sub(r" #\d+", "", re.sub(r"^; .*$\n?", "", text, flags=re.M))
