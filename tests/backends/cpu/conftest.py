"""Runs SIMT programs written as text on the CPU, on arrays that lie between pages which no one may touch."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tileopt.backends.cpu import jit
from tileopt.backends.cpu.backend import CpuBackend
from tileopt.backends.llvm.emitter import emit_module
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Layout
from tileopt.dialects.xdsl_compat import create_context, parse_module

Array = np.ndarray[Any, Any]
_PAGE = mmap.PAGESIZE


def guarded(array: Array, *, end: bool = True) -> Array:
    """A copy that ends (or begins) at a page which faults when touched."""
    pages = -(-max(array.nbytes, 1) // _PAGE) + 2
    area = mmap.mmap(-1, pages * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    protect = ctypes.CDLL(None).mprotect
    for page in (0, pages - 1):
        assert protect(ctypes.c_void_p(address + page * _PAGE), ctypes.c_size_t(_PAGE), 0) == 0
    offset = (pages - 1) * _PAGE - array.nbytes if end else _PAGE
    out = np.frombuffer(area, dtype=array.dtype, count=array.size, offset=offset).reshape(array.shape)
    out[...] = array
    return out


@dataclass
class Program:
    """A kernel in memory."""

    text: str
    llvm: str
    name: str
    loaded: jit.LoadedCpuKernel

    def __call__(self, *arguments: Array | int | float, grid: Sequence[int] = (1,), shared: int = 0) -> Array:
        """Runs the grid; gives the block's shared memory as the last block left it."""
        slots: list[bytes] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                strides = [s // argument.itemsize for s in argument.strides]
                numbers = [argument.ctypes.data, *argument.shape, *strides]
                slots += [int(n).to_bytes(8, "little", signed=n < 0) for n in numbers]
            elif isinstance(argument, float):
                slots.append(np.float32(argument).tobytes().ljust(8, b"\xaa"))
            else:
                slots.append(int(argument).to_bytes(8, "little", signed=True))
        packed = ctypes.create_string_buffer(b"".join(slots) or b"\0", 8 * max(1, len(slots)))
        scratch = guarded(np.full(-(-shared // 64) * 64, 0xAA, np.uint8))
        extents = [*grid, 1, 1][:3]
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 5)(self.loaded.address)
        entry(ctypes.addressof(packed), scratch.ctypes.data, 0, int(np.prod(extents)), *extents)
        return scratch[:shared]


def compile_text(text: str, name: str = "k") -> Program:
    """By the backend that the test asked for (see the fixtures below)."""
    module = parse_module(create_context(), text)
    module.verify()
    llvm = emit_module(module, BACKENDS[-1])
    return Program(text, llvm, name, jit.load(llvm, name))


def layout_text(layout: Layout) -> str:
    return str(LayoutAttr.of(layout))


def shape_text(layout: Layout) -> str:
    return f"array<i64: {', '.join(map(str, layout.shape))}>" if layout.shape else "array<i64>"


class Writer:
    """Writes kernels: `parameter` adds one, `load` and `store` move whole tiles, `text` gives the module."""

    def __init__(self, threads: int = 128, attributes: str = "") -> None:
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.threads = threads
        self.attributes = attributes

    def view(self, name: str, dtype: str, rank: int = 1, *, owned: bool = False, unit: int | None = 0) -> str:
        ones = [1] * rank
        type_ = f"!tile.view<{'?x' * rank}{DTYPES[dtype].ir}, {'owned' if owned else 'shared'}>"
        axis = -1 if unit is None else unit
        contract = f"#tile.contract<align = 1, unit = {axis}, shape = {ones}, stride = {ones}>"
        self.parameters.append(f"%{name}: {type_} {{tile.contract = {contract}}}")
        return type_

    def scalar(self, name: str, dtype: str) -> None:
        self.parameters.append(f"%{name}: {DTYPES[dtype].ir}")

    def line(self, text: str) -> None:
        self.lines.append(text)

    def load(
        self, result: str, view: str, type_: str, offsets: Sequence[str], layout: Layout, element: str, more: str = ""
    ) -> None:
        self.line(
            f"%{result} = simt.fragment_load %{view}[{', '.join(offsets)}] {{layout = {layout_text(layout)}, "
            f"shape = {shape_text(layout)}{more}}} : {type_} -> "
            f"vector<{layout.registers}x{element}>"
        )

    def store(
        self, value: str, view: str, type_: str, offsets: Sequence[str], layout: Layout, element: str, more: str = ""
    ) -> None:
        self.line(
            f"simt.fragment_store %{value}, %{view}[{', '.join(offsets)}] {{layout = {layout_text(layout)}, "
            f"shape = {shape_text(layout)}{more}}} : "
            f"vector<{layout.registers}x{element}>, {type_}"
        )

    def text(self) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return (
            f"builtin.module {{\n  simt.kernel @k({', '.join(self.parameters)})\n"
            f"    attributes {{simt.threads = {self.threads} : i64{self.attributes}}} {{\n"
            f"{body}\n    simt.return\n  }}\n}}"
        )

    def compile(self) -> Program:
        return compile_text(self.text())


class ScalarBackend(CpuBackend):
    """Fragments as scalars, as on a GPU: what all targets share must be right for every width."""

    def chunk_width(self, registers: int) -> int:
        return 1


BACKENDS = [CpuBackend()]


@pytest.fixture(params=["phases", "coroutines"])
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs a test with threads as loops between meetings, and with each thread a coroutine."""
    BACKENDS.append(CpuBackend(coroutines=request.param == "coroutines"))
    yield
    BACKENDS.pop()


@pytest.fixture(params=["vectors", "scalars"])
def both_widths(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs a test with fragments in vectors and in scalars."""
    BACKENDS.append(ScalarBackend() if request.param == "scalars" else CpuBackend())
    yield
    BACKENDS.pop()


@pytest.fixture(scope="session")
def cpu() -> Any:
    """This module: test files cannot import it by name."""
    return sys.modules[__name__]
