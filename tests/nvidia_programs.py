"""SIMT programs as text, compiled for a GPU that need not be there."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.nvidia.targets import nvidia_target


def emit_text(text: str, target: str) -> str:
    """(text of a module with `$TARGET`, target) -> LLVM IR: all that the simulator needs."""
    from tileopt.backends.nvidia.emit import emit_llvm
    from tileopt.dialects.verifier import verify
    from tileopt.dialects.xdsl_compat import create_context, parse_module

    module = parse_module(create_context(), text.replace("$TARGET", target))
    verify(module)
    return emit_llvm(module, nvidia_target(target))


def compile_text(text: str, target: str) -> tuple[str, str]:
    """(text of a module with `$TARGET`, target) -> (LLVM IR, PTX)."""
    from tileopt.backends.nvidia.emit import to_ptx

    llvm = emit_text(text, target)
    return llvm, to_ptx(llvm, nvidia_target(target))


def kernel_text(body: str, arguments: Sequence[str] = (), threads: int = 128, shared: int = 0, extra: str = "") -> str:
    """A module with one kernel."""
    attributes = f"simt.threads = {threads} : i64, simt.shared_bytes = {shared} : i64{extra}"
    return (
        'builtin.module attributes {tile.target = "$TARGET"} {\n'
        f"simt.kernel @kernel({', '.join(arguments)}) attributes {{{attributes}}} {{\n{body}\nsimt.return\n}}\n}}"
    )
