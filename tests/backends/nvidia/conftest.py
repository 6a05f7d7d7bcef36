"""SIMT programs as text, compiled for a GPU that need not be there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tileopt.backends.nvidia.targets import nvidia_target

Compile = Callable[[str, str], tuple[str, str]]


@pytest.fixture(scope="session", autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Math functions cut out of libdevice are kept for the session, apart from the user's."""
    import os

    os.environ["TILEOPT_CACHE_DIR"] = str(tmp_path_factory.getbasetemp().parent / "tileopt-cache")


def _compile(text: str, target: str) -> tuple[str, str]:
    from tileopt.backends.nvidia.emit import emit_llvm, to_ptx
    from tileopt.dialects.verifier import verify
    from tileopt.dialects.xdsl_compat import create_context, parse_module

    module = parse_module(create_context(), text.replace("$TARGET", target))
    verify(module)
    llvm = emit_llvm(module, nvidia_target(target))
    return llvm, to_ptx(llvm, nvidia_target(target))


@pytest.fixture(scope="session")
def compile_text() -> Compile:
    """(text of a module with `$TARGET`, target) -> (LLVM IR, PTX)."""
    return _compile


Kernel = Callable[..., str]


def _kernel(body: str, arguments: Sequence[str] = (), threads: int = 128, shared: int = 0, extra: str = "") -> str:
    attributes = f"simt.threads = {threads} : i64, simt.shared_bytes = {shared} : i64{extra}"
    return (
        'builtin.module attributes {tile.target = "$TARGET"} {\n'
        f"simt.kernel @kernel({', '.join(arguments)}) attributes {{{attributes}}} {{\n{body}\nsimt.return\n}}\n}}"
    )


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """(body, arguments, threads, shared bytes, further attributes) -> text of a module with one kernel."""
    return _kernel
