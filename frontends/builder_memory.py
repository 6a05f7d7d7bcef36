"""Memory as threads see it: arrays, buffers in shared memory, and the rows, columns and windows of both."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.frontends.builder_values import Array, Operand


@dataclass(frozen=True, slots=True, eq=False)
class Buffer(Array):
    """An array in shared memory; its extents are constants."""

    extents: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"a {self.dtype} array of {self.extents} in shared memory"


@dataclass(frozen=True, slots=True, eq=False)
class Known(Array):
    """A constant array, whose extents and elements are part of the code."""

    extents: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"a constant {self.dtype} array of {self.extents}"


@dataclass(frozen=True, eq=False)
class Fixed:
    """An axis at one index, which was checked where the part was made."""

    index: Operand


@dataclass(frozen=True, eq=False)
class Whole:
    """An axis as it is."""


@dataclass(frozen=True, eq=False)
class Window:
    """`count` elements of an axis from `start` on, which lie inside it: that was checked where the part was made."""

    start: Operand
    count: Operand


@dataclass(frozen=True, eq=False)
class Part:
    """A row, a column or a window: what it is of, and each axis of that. `base` is an `Array` or a `Buffer`."""

    base: Array
    axes: tuple[Fixed | Whole | Window, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The axes of the base that are axes of the part."""
        return tuple(axis for axis, place in enumerate(self.axes) if not isinstance(place, Fixed))

    @property
    def rank(self) -> int:
        return len(self.free)

    def __str__(self) -> str:
        """What was taken of what: `a window of a row of 'a'`."""
        axes = list(self.axes)
        text = f"'{self.base.name}'"
        if not self.free:
            return f"an element of {text}"
        while isinstance(axes[0], Fixed):
            text = f"a row of {text}"
            del axes[0]
        while isinstance(axes[-1], Fixed):
            text = f"a column of {text}"
            del axes[-1]
        return f"a window of {text}" if isinstance(axes[0], Window) else text


Memory = Array | Part


def whole(memory: Memory) -> Part:
    """The memory as a part: of an array, all of it."""
    return memory if isinstance(memory, Part) else Part(memory, (Whole(),) * memory.rank)
