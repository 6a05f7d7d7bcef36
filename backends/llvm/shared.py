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


def axis_index(emitter: Emitter, shared: SharedLayout, axis: int, coord: str) -> str:
    """What a coordinate, an i32, adds to the element index before the swizzle."""
    stride, beyond = shared.strides[axis], 0
    if shared.panels > 1 and axis == shared.order[-1]:
        beyond = shared.panel_stride - shared.panel
    if coord.isdigit():
        place = int(coord)
        return str(place * stride + (place // shared.panel * beyond if beyond else 0))
    index = coord if stride == 1 else emitter.assign(f"mul i32 {coord}, {stride}")
    if beyond:
        panel = emitter.assign(f"lshr i32 {coord}, {shared.panel.bit_length() - 1}")
        index = emitter.assign(f"add i32 {index}, {emitter.assign(f'mul i32 {panel}, {beyond}')}")
    return index


def add(emitter: Emitter, a: str, b: str) -> str:
    """The sum of two i32."""
    if "0" in (a, b):
        return b if a == "0" else a
    return str(int(a) + int(b)) if a.isdigit() and b.isdigit() else emitter.assign(f"add i32 {a}, {b}")


def linear_index(emitter: Emitter, shared: SharedLayout, coords: Sequence[str]) -> str:
    """Element index before the swizzle of run-time i32 coordinates."""
    total = "0"
    for axis, coord in enumerate(coords):
        total = add(emitter, total, axis_index(emitter, shared, axis, coord))
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
    while run > 1 and not stays_together(shared, run):
        run //= 2
    return run


def stays_together(shared: SharedLayout, run: int) -> bool:
    """Whether neighbours on the fastest axis, that begin at a multiple of `run`, lie side by side."""
    if shared.panels > 1 and run > shared.panel:
        return False
    # A swizzle keeps groups of 2**base elements together, where they start at a multiple of it.
    return not shared.bits or (run <= 1 << shared.base and all(s % run == 0 for s in shared.strides if s != 1))


class SharedAccess:
    """A fragment of a buffer by a layout: pointers to its registers' elements."""

    def __init__(self, emitter: Emitter, buffer: Buffer, layout: Layout) -> None:
        self.emitter = emitter
        self.buffer = buffer
        self.layout = layout
        self.shared = buffer.type.shared_layout
        self.coords = [thread_coord(emitter, layout, axis) for axis in range(len(layout.shape))]
        key = ("linear", tuple(self.coords), self.shared.placement)
        self.thread = emitter.once(key, lambda: linear_index(emitter, self.shared, self.coords))

    def linear(self, register: int) -> str:
        """Element index before the swizzle, an i32."""
        at = self.layout.register_coords[register]
        if self.shared.panels > 1:
            coords = [add(self.emitter, thread, str(c)) for thread, c in zip(self.coords, at, strict=True)]
            return linear_index(self.emitter, self.shared, coords)
        constant = sum(c * s for c, s in zip(at, self.shared.strides, strict=True))
        if self.thread == "0":
            return str(constant)
        return self.emitter.assign(f"add i32 {self.thread}, {constant}") if constant else self.thread

    def pointer(self, register: int) -> str:
        if self.shared.bits or self.shared.panels > 1:
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
