"""All that is known before a launch whose arguments look like earlier ones: what is left is pointers and scalars."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tileopt.backends.compiled import ParamSlot, SlotKind
from tileopt.backends.runtime import overlap
from tileopt.backends.runtime.arrays import ArrayInfo, byte_range
from tileopt.backends.runtime.errors import ownership_error
from tileopt.backends.runtime.scalars import Scalar, out_of_range
from tileopt.dialects.contracts import Parameter, ParamKind

if TYPE_CHECKING:
    from tileopt.backends.runtime.conditions import Condition
    from tileopt.backends.runtime.fast_plan import FastPlan

_WIDTH = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8}


MAP_BYTES = 128  # of a tensor map, which begins at a multiple of 64


class ArgumentBuffer:
    """One launch's arguments, 8 bytes each, and the addresses of the arguments, which is what CUDA asks for.

    `map_slots`: the arguments that are tensor maps, which lie apart; `maps` are their bytes.
    """

    __slots__ = ("_far", "_memory", "_pointers", "address", "fast", "maps", "params", "views", "words")

    def __init__(self, template: bytes, map_slots: Sequence[int] = ()) -> None:
        count = max(1, len(template) // 8)
        self._memory = (ctypes.c_uint64 * count)()
        self.address = ctypes.addressof(self._memory)
        raw = memoryview(self._memory).cast("B")
        raw[: len(template)] = template
        self.words = raw.cast("Q")
        self.views = {form: raw.cast(form) for form in _WIDTH}  # type: ignore[call-overload]
        self._pointers = (ctypes.c_uint64 * count)(*(self.address + 8 * i for i in range(count)))
        self.params = ctypes.addressof(self._pointers)
        self.maps: list[memoryview] = []
        self.fast: tuple[object, int, object] | None = None  # a short cut, the address of its table, what that keeps
        if map_slots:
            self._far = ctypes.create_string_buffer(MAP_BYTES * len(map_slots) + 64)
            begin = -ctypes.addressof(self._far) % 64
            for slot in map_slots:
                self.maps.append(memoryview(self._far).cast("B")[begin : begin + MAP_BYTES])
                self._pointers[slot] = ctypes.addressof(self._far) + begin
                begin += MAP_BYTES


@dataclass(frozen=True, slots=True)
class ScalarWrite:
    """Where a scalar argument goes. `position`: in the call."""

    position: int
    view: str
    index: int
    convert: Callable[[Any], Any] | None
    parameter: Parameter
    scalar: Scalar


def scalar_write(slot: int, position: int, parameter: Parameter, scalar: Scalar) -> ScalarWrite:
    return ScalarWrite(position, scalar.format, slot * 8 // _WIDTH[scalar.format], scalar.convert, parameter, scalar)


@dataclass(frozen=True, slots=True)
class MapWrite:
    """A tensor map among the arguments: `array` counts arrays in the order of the parameters; `encode` makes the map of
    the array at an address. Maps are kept, since most programs use the same few arrays again."""

    array: int
    encode: Callable[[int], bytes]
    made: dict[int, bytes] = field(default_factory=dict)

    def at(self, pointer: int) -> bytes:
        found = self.made.get(pointer)
        if found is None:
            if len(self.made) > 256:
                self.made.clear()
            found = self.made[pointer] = self.encode(pointer)
        return found


Run = Callable[[ArgumentBuffer, tuple[int, int, int], int], None]  # arguments, grid, CUDA stream

# (i, j, low, high): arrays i and j may share bytes only where low < pointer[j] - pointer[i] < high; i is owned.
Pair = tuple[int, int, int, int]


def owned(parameter: Parameter) -> bool:
    """Whether the kernel owns the array: nothing else may name its elements during the launch."""
    return parameter.kind in (ParamKind.OUT, ParamKind.INOUT)


def conflicts(arrays: Sequence[tuple[Parameter, ArrayInfo]]) -> tuple[Pair, ...]:
    """The pairs of arrays of which one is written, the later ones by their first. Atomics may share memory."""
    pairs: list[Pair] = []
    for i, (parameter, a) in enumerate(arrays):
        atomic = parameter.kind is ParamKind.ATOMIC
        if not (owned(parameter) or atomic) or a.empty:
            continue
        low_a, high_a = byte_range(a)
        for j, (other, b) in enumerate(arrays):
            if i == j or b.empty or (owned(other) and (j < i or atomic)):
                continue
            if atomic and other.kind is ParamKind.ATOMIC:
                continue
            low_b, high_b = byte_range(b)
            pairs.append((i, j, low_a - high_b, high_a - low_b))
    return tuple(pairs)


def check_ownership(parameter: Parameter, info: ArrayInfo) -> None:
    """Whether an owned array may be written, each element apart from the others. Raises LaunchOwnershipError."""
    if not owned(parameter) and parameter.kind is not ParamKind.ATOMIC:
        return
    if not info.writable:
        raise ownership_error(
            "read-only-argument",
            f"'{parameter.name}' is written by the kernel, and a read-only array is given",
            help="pass a copy, or set x.flags.writeable if the memory is yours to write",
        )
    # Atomics on one element by two names are still atomic.
    found = owned(parameter) and overlap.overlaps_itself(info)
    if found is not False:
        how = "names an element by two indices" if found else "may name an element by two indices"
        raise ownership_error(
            "self-overlap",
            f"'{parameter.name}' is owned by the kernel, and its shape {info.shape} with strides {info.strides} {how}",
            help="pass a copy: broadcast and sliding-window views cannot be written in parallel",
        )


@dataclass(slots=True)
class Plan:
    """One specialisation with one set of shapes, strides and devices.

    `pairs` and `pointer_slots` count arrays in the order of the parameters. `run(buffer, grid, stream)` launches.
    """

    arrays: tuple[tuple[Parameter, ArrayInfo], ...]
    pairs: tuple[Pair, ...]
    pointer_slots: tuple[int, ...]
    scalars: tuple[ScalarWrite, ...]
    template: bytes
    run: Run
    check_grid: Callable[[tuple[int, int, int]], None]
    device: int
    stream_of: Callable[[], int] | None
    waits: tuple[int, ...]
    of_torch: bool  # whether `stream_of` is PyTorch's
    conditions: tuple[Condition, ...]
    values: dict[str, Any]
    condition_scalars: tuple[tuple[str, int], ...]
    map_slots: tuple[int, ...] = ()
    maps: tuple[MapWrite, ...] = ()
    native_launch: tuple[int, int, int, int] | None = None  # see `fast_match`: words 8 to 11 of its table
    of_threads: bool = False  # whether it is a SIMT kernel's
    uses: int = 0
    fast: FastPlan | None = None
    free: list[ArgumentBuffer] = field(default_factory=list)
    apart: set[tuple[int, int, int]] = field(default_factory=set)

    def check_conditions(self, flat: Sequence[Any], grid: tuple[int, int, int], kernel: str) -> None:
        """What the kernel's code asks of a launch. `flat`: the call's arguments in order. Raises LaunchError."""
        values = {**self.values, "grid": grid}
        for name, position in self.condition_scalars:
            value = flat[position]
            values[name] = int(value) if hasattr(value, "__index__") else value
        for condition in self.conditions:
            condition.check(values, kernel)

    def check_overlap(self, i: int, j: int, pointers: Sequence[int]) -> None:
        """Two arrays whose byte ranges meet: they may still interleave. Raises LaunchOwnershipError if they do not."""
        distance = pointers[j] - pointers[i]
        if (i, j, distance) in self.apart:
            return
        (one, a), (other, b) = self.arrays[i], self.arrays[j]
        found = overlap.shares_bytes(_at(a, pointers[i]), _at(b, pointers[j]))
        if found is False:
            if len(self.apart) > 256:
                self.apart.clear()
            self.apart.add((i, j, distance))
            return
        how = "shares memory" if found else "may share memory (which was too hard to decide)"
        verb = "owned by the kernel" if owned(one) else "changed by the kernel's atomics"
        same = distance == 0 and a.shape == b.shape and a.strides == b.strides
        help = "pass a copy of one of them"
        if same and owned(one) and other.kind is ParamKind.IN:
            kind = "simt.DisjointSlice" if self.of_threads else "tile.InOut"
            help = f"declare one {kind} parameter in place of '{one.name}' and '{other.name}', or pass a copy"
        raise ownership_error("aliased-argument", f"'{one.name}' is {verb} and {how} with '{other.name}'", help=help)

    def buffer(self) -> ArgumentBuffer:
        """Arguments to fill, which no other launch uses now; give it back to `free`."""
        try:
            return self.free.pop()
        except IndexError:
            return ArgumentBuffer(self.template, self.map_slots)

    def write_maps(self, buffer: ArgumentBuffer, pointers: Sequence[int]) -> None:
        """Writes the tensor maps of the arrays at these addresses."""
        for view, write in zip(buffer.maps, self.maps, strict=True):
            view[:] = write.at(pointers[write.array])

    def write_scalars(self, buffer: ArgumentBuffer, flat: Sequence[Any]) -> None:
        """Raises LaunchError for a value that its parameter does not hold."""
        for write in self.scalars:
            value = flat[write.position]
            try:
                convert = write.convert
                buffer.views[write.view][write.index] = value if convert is None else convert(value)
            except (ValueError, TypeError, OverflowError):
                raise out_of_range(write.parameter, write.scalar, value) from None


def _at(info: ArrayInfo, pointer: int) -> ArrayInfo:
    return ArrayInfo(pointer, info.shape, info.strides, info.dtype, info.itemsize, info.device)


def template(slots: Sequence[ParamSlot], shapes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]) -> bytes:
    """The arguments with extents and strides in place. `shapes`: by the parameter's index among the arguments."""
    words = bytearray(8 * len(slots))
    view = memoryview(words).cast("q")
    for index, slot in enumerate(slots):
        if slot.kind is SlotKind.EXTENT:
            view[index] = shapes[slot.parameter][0][slot.axis]
        elif slot.kind is SlotKind.STRIDE:
            view[index] = shapes[slot.parameter][1][slot.axis]
    view.release()
    return bytes(words)
