"""SIMT kernels as text for tables of programs: what a pass says of one, with its code and line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from python_kernels import build, simt_kernel

from tileopt import TileoptError
from tileopt.dialects.simt import Kernel

PARAMETERS = (
    "x: simt.Slice, out: simt.DisjointSlice, a: simt.Slice['f32', 2], c: simt.DisjointSlice['f32', 2], "
    "idx: simt.Slice['i64', 1], n: int, m: int, k: int"
)


@dataclass(frozen=True)
class Program:
    """A body; the code of its error stands at the line with the marker `#!`, no code means that it is accepted."""

    body: str
    code: str | None = None
    words: tuple[str, ...] = ()
    contract: str = "block=(64,)"
    parameters: str = PARAMETERS


def kernel_of(program: Program) -> Kernel:
    """The kernel's IR before any pass."""
    made = build(simt_kernel(program.body, program.parameters, program.contract))
    (kernel,) = made.body.block.ops
    assert isinstance(kernel, Kernel)
    return kernel


def check(program: Program, verify: Callable[[Kernel], Any]) -> None:
    """Asserts that `verify` accepts the program, or refuses it with its code at its line."""
    kernel = kernel_of(program)
    if program.code is None:
        verify(kernel)
        return
    try:
        verify(kernel)
    except TileoptError as error:
        assert error.code == program.code, error
        assert error.location is not None
        assert "#!" in (error.location.snippet() or ""), error
        for word in program.words:
            assert word in str(error), f"'{word}' is not in:\n{error}"
    else:
        raise AssertionError(f"accepted, though it has {program.code}")
