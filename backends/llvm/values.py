"""What an SSA value is in LLVM: a scalar is an operand's text, a fragment chunks, an array a pointer with strides."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.llvm.types import vector
from tileopt.dialects.tile_types import BufferType, ViewType


@dataclass(frozen=True, slots=True)
class Fragment:
    """A `vector<Nxt>`: `chunks` of `width` registers each, in order. Width 1: each chunk is a scalar.

    `element`: the LLVM type of one register.
    """

    element: str
    width: int
    chunks: tuple[str, ...]

    @property
    def type(self) -> str:
        """LLVM type of a chunk."""
        return vector(self.width, self.element)

    @property
    def registers(self) -> int:
        return self.width * len(self.chunks)


@dataclass(frozen=True, slots=True)
class View:
    """An array: pointer to element 0, i64 extents and strides (in elements), known ones as constants.

    `unit_axis`: the axis whose stride is known to be 1. `align`: bytes that divide the address of element 0. `space`:
    the LLVM type of the pointer where it is not the target's `global_pointer`.
    """

    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]
    type: ViewType
    unit_axis: int | None
    align: int
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tile in shared memory, or the first of a ring (see `query.buffer_bytes`).

    `align`: bytes that divide its address.
    """

    pointer: str
    type: BufferType
    align: int = 16


Value = str | Fragment | View | Buffer
