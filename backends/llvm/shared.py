"""Where a fragment's elements lie in a buffer in shared memory, by the buffer's strides, padding and swizzle."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.llvm import types
from tileopt.backends.llvm.access import run_length
from tileopt.backends.llvm.coords import thread_coord
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.values import Buffer
from tileopt.dialects.layout import Layout, SharedLayout


def swizzled(emitter: Emitter, shared: SharedLayout, linear: str) -> str:
    """The element index that the swizzle makes of a linear one, an i32."""
    if not shared.bits:
        return linear
    moved = emitter.assign(f"lshr i32 {linear}, {shared.shift}")
    flip = emitter.assign(f"and i32 {moved}, {((1 << shared.bits) - 1) << shared.base}")
    return emitter.assign(f"xor i32 {linear}, {flip}")


def linear_index(emitter: Emitter, shared: SharedLayout, coords: Sequence[str]) -> str:
    """Element index before the swizzle of run-time i32 coordinates."""
    total = "0"
    for coord, stride in zip(coords, shared.strides, strict=True):
        if coord == "0":
            continue
        term = coord if stride == 1 else emitter.assign(f"mul i32 {coord}, {stride}")
        total = term if total == "0" else emitter.assign(f"add i32 {total}, {term}")
    return total


def element_pointer(emitter: Emitter, buffer: Buffer, linear: str) -> str:
    """Pointer to the element of a linear index (before the swizzle)."""
    index = swizzled(emitter, buffer.type.shared_layout, linear)
    if index == "0":
        return buffer.pointer
    memory = types.memory_type(emitter.element(buffer.type.element_type))
    space = emitter.backend.shared_pointer
    wide = index if index.isdigit() else emitter.assign(f"zext nneg i32 {index} to i64")
    return emitter.assign(f"getelementptr {memory}, {space} {buffer.pointer}, i64 {wide}")


def contiguous_run(shared: SharedLayout, layout: Layout, width: int) -> int:
    """The largest power of two dividing `width` such that aligned groups of so many registers lie side by side."""
    if not shared.shape:
        return 1
    run = run_length(layout, shared.order[-1], width)
    if shared.bits:
        # A swizzle keeps groups of 2**base elements together, where they start at a multiple of it.
        while run > 1 and (run > 1 << shared.base or any(s % run for s in shared.strides if s != 1)):
            run //= 2
    return run


class SharedAccess:
    """A fragment of a buffer by a layout: pointers to its registers' elements."""

    def __init__(self, emitter: Emitter, buffer: Buffer, layout: Layout) -> None:
        self.emitter = emitter
        self.buffer = buffer
        self.layout = layout
        self.shared = buffer.type.shared_layout
        coords = [thread_coord(emitter, layout, axis) for axis in range(len(layout.shape))]
        key = ("linear", tuple(coords), self.shared.strides)
        self.thread = emitter.once(key, lambda: linear_index(emitter, self.shared, coords))

    def linear(self, register: int) -> str:
        """Element index before the swizzle, an i32."""
        at = self.layout.register_coords[register]
        constant = sum(c * s for c, s in zip(at, self.shared.strides, strict=True))
        if self.thread == "0":
            return str(constant)
        return self.emitter.assign(f"add i32 {self.thread}, {constant}") if constant else self.thread

    def pointer(self, register: int) -> str:
        if self.shared.bits:
            return element_pointer(self.emitter, self.buffer, self.linear(register))
        # Without a swizzle the register's part is a constant step from the thread's element.
        base = element_pointer(self.emitter, self.buffer, self.thread)
        at = self.layout.register_coords[register]
        constant = sum(c * s for c, s in zip(at, self.shared.strides, strict=True))
        if not constant:
            return base
        memory = types.memory_type(self.emitter.element(self.buffer.type.element_type))
        space = self.emitter.backend.shared_pointer
        return self.emitter.assign(f"getelementptr {memory}, {space} {base}, i64 {constant}")
