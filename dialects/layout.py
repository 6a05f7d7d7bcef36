"""Layout algebra, pure Python: which thread holds which elements of a tile, and where a tile lies in shared memory.

A distributed `Layout` is a GF(2)-linear base tile times integer repeats. Each bit of the register, lane and warp
index adds one *basis*, a coordinate vector; a zero basis means that the threads which differ in this bit hold the
same element (a replica). Repeats tile the base over any extent, powers of two or not. Registers whose coordinate
falls outside the extents are *phantoms*: they hold no element, and nothing may depend on them.

Terms: Zhou et al., "Linear Layouts" (2025) for the bases; the fragment tables themselves are rows of data in
`backends/nvidia/atoms`, checked there against the index formulas of the PTX manual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod

Coord = tuple[int, ...]
Bases = tuple[Coord, ...]

LANE_BITS = 5
WARP_SIZE = 1 << LANE_BITS


def pow2_ceil(n: int) -> int:
    """The least power of two that is not below `n` (1 for `n` <= 1)."""
    return 1 << max(0, n - 1).bit_length()


def pow2_divisor(n: int) -> int:
    """The largest power of two that divides `n`; 0 divides by anything, reported as 2**62."""
    return n & -n if n else 1 << 62


def _sum_bases(bases: Sequence[Coord], index: int, rank: int) -> Coord:
    out = [0] * rank
    for bit, basis in enumerate(bases):
        if index >> bit & 1:
            for axis in range(rank):
                out[axis] ^= basis[axis]
    return tuple(out)


@dataclass(frozen=True)
class Layout:
    """How a tile of `shape` is spread over registers, lanes and warps.

    `regs`, `lanes`, `warps`: one basis for each index bit, least significant first. Each nonzero basis is a single
    power of two on one axis, no two alike, and the bases of an axis fill its bits from 0 up without a gap: the
    base tile of the axis is then `2**bits`. Raises ValueError where that does not hold.
    """

    shape: Coord
    regs: Bases
    lanes: Bases
    warps: Bases

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if any(n < 1 for n in self.shape):
            raise ValueError(f"the extents {list(self.shape)} are not all positive")
        if len(self.lanes) != LANE_BITS:
            raise ValueError(f"a layout has {LANE_BITS} lane bases, got {len(self.lanes)}")
        masks = [0] * rank
        for basis in (*self.regs, *self.lanes, *self.warps):
            if len(basis) != rank:
                raise ValueError(f"basis {list(basis)} has {len(basis)} coordinates, the tile has rank {rank}")
            axes = [axis for axis in range(rank) if basis[axis]]
            if not axes:
                continue
            if len(axes) > 1 or basis[axes[0]] & (basis[axes[0]] - 1) or basis[axes[0]] < 0:
                raise ValueError(f"basis {list(basis)} is not one power of two on one axis")
            if masks[axes[0]] & basis[axes[0]]:
                raise ValueError(f"two bases of the layout are {list(basis)}")
            masks[axes[0]] |= basis[axes[0]]
        if any(not any(basis) for basis in self.regs):
            raise ValueError("a register basis is zero: a thread would hold an element twice")
        for axis, mask in enumerate(masks):
            if mask & (mask + 1):
                raise ValueError(f"the bases of axis {axis} leave a gap (they cover {mask:#x})")

    @cached_property
    def base(self) -> Coord:
        """Extents of the base tile."""
        out = [1] * len(self.shape)
        for basis in (*self.regs, *self.lanes, *self.warps):
            for axis, value in enumerate(basis):
                if value:
                    out[axis] *= 2
        return tuple(out)

    @cached_property
    def repeats(self) -> Coord:
        """How often the base tile is repeated along each axis."""
        return tuple(-(-n // b) for n, b in zip(self.shape, self.base, strict=True))

    @property
    def padded(self) -> Coord:
        """Extents with phantoms: repeats times base."""
        return tuple(r * b for r, b in zip(self.repeats, self.base, strict=True))

    @cached_property
    def registers(self) -> int:
        """Registers (elements) a thread holds."""
        return (1 << len(self.regs)) * prod(self.repeats)

    @property
    def num_warps(self) -> int:
        return 1 << len(self.warps)

    @property
    def threads(self) -> int:
        return WARP_SIZE * self.num_warps

    @cached_property
    def register_coords(self) -> tuple[Coord, ...]:
        """Coordinate of each register relative to `thread_coord`; repeats are outermost, the last axis fastest."""
        rank = len(self.shape)
        inner = [_sum_bases(self.regs, r, rank) for r in range(1 << len(self.regs))]
        out: list[Coord] = []
        for rep in product(*(range(r) for r in self.repeats)):
            origin = tuple(i * b for i, b in zip(rep, self.base, strict=True))
            out.extend(tuple(o + c for o, c in zip(origin, coord, strict=True)) for coord in inner)
        return tuple(out)

    def thread_coord(self, lane: int, warp: int) -> Coord:
        rank = len(self.shape)
        a, b = _sum_bases(self.lanes, lane, rank), _sum_bases(self.warps, warp, rank)
        return tuple(x + y for x, y in zip(a, b, strict=True))

    def coord(self, register: int, lane: int, warp: int) -> Coord:
        """Coordinate that a register of a thread holds; outside `shape` it is a phantom."""
        return tuple(
            x + y
            for x, y in zip(
                self.register_coords[register],
                self.thread_coord(lane, warp),
                strict=True,
            )
        )

    def elements(self) -> Iterator[tuple[int, int, int, Coord]]:
        """(register, lane, warp, coordinate) of all that is not a phantom; for tests and references."""
        for warp in range(self.num_warps):
            for lane in range(WARP_SIZE):
                for register in range(self.registers):
                    at = self.coord(register, lane, warp)
                    if all(c < n for c, n in zip(at, self.shape, strict=True)):
                        yield register, lane, warp, at

    @cached_property
    def has_phantoms(self) -> bool:
        return self.padded != self.shape

    @cached_property
    def replica_lanes(self) -> int:
        """Mask of the lane bits that only make replicas."""
        return sum(1 << bit for bit, basis in enumerate(self.lanes) if not any(basis))

    @cached_property
    def replica_warps(self) -> int:
        """Mask of the warp bits that only make replicas."""
        return sum(1 << bit for bit, basis in enumerate(self.warps) if not any(basis))

    def contiguous(self, axis: int) -> int:
        """Elements, a power of two, that consecutive registers hold side by side along `axis`, aligned to itself."""
        count = 1
        for basis in self.regs:
            if basis[axis] != count or any(v for a, v in enumerate(basis) if a != axis):
                break
            count *= 2
        return count

    # --- derived layouts -------------------------------------------------------------------------------------------

    def with_shape(self, shape: Sequence[int]) -> Layout:
        """The same base tile over other extents."""
        return Layout(tuple(shape), self.regs, self.lanes, self.warps)

    def permute(self, order: Sequence[int]) -> Layout:
        """Layout of the transposed tile (axis `i` of the result is axis `order[i]` of this): no data moves."""

        def move(bases: Bases) -> Bases:
            return tuple(tuple(basis[a] for a in order) for basis in bases)

        return Layout(
            tuple(self.shape[a] for a in order),
            move(self.regs),
            move(self.lanes),
            move(self.warps),
        )

    def drop_axis(self, axis: int) -> Layout:
        """What a reduction over `axis` leaves: its threads become replicas, its registers go."""

        def cut(basis: Coord) -> Coord:
            return basis[:axis] + basis[axis + 1 :]

        regs = tuple(c for c in map(cut, self.regs) if any(c))
        lanes, warps = tuple(map(cut, self.lanes)), tuple(map(cut, self.warps))
        return Layout(cut(self.shape), regs, lanes, warps)

    def add_axis(self, axis: int) -> Layout:
        """Layout with a new axis of extent 1."""

        def grow(basis: Coord) -> Coord:
            return (*basis[:axis], 0, *basis[axis:])

        def all_(bases: Bases) -> Bases:
            return tuple(map(grow, bases))

        shape = (*self.shape[:axis], 1, *self.shape[axis:])
        return Layout(shape, all_(self.regs), all_(self.lanes), all_(self.warps))

    def collapse_axis(self, axis: int) -> Layout:
        """The layout in which a tile of extent 1 along `axis` must lie to be broadcast into this one for free."""
        return self.drop_axis(axis).add_axis(axis)

    def widen(self, axis: int, count: int) -> Layout:
        """The layout in which each thread holds `count` elements (a power of two) along `axis` for each of this, side
        by side; in each group of so many registers, those of one of this layout's."""

        def grow(basis: Coord) -> Coord:
            return (*basis[:axis], basis[axis] * count, *basis[axis + 1 :])

        inside = tuple(
            tuple(1 << bit if a == axis else 0 for a in range(len(self.shape))) for bit in range(count.bit_length() - 1)
        )
        regs = (*inside, *map(grow, self.regs))
        return Layout(grow(self.shape), regs, tuple(map(grow, self.lanes)), tuple(map(grow, self.warps)))

    def thin(self, axis: int, count: int) -> Layout:
        """The layout of one element for each `count` (a power of two) along `axis`: a thread holds that of each of its
        own. Threads that shared such a group become replicas."""

        def cut(basis: Coord) -> Coord:
            return (*basis[:axis], basis[axis] // count, *basis[axis + 1 :])

        regs = tuple(c for c in map(cut, self.regs) if any(c))
        shape = (*self.shape[:axis], -(-self.shape[axis] // count), *self.shape[axis + 1 :])
        return Layout(shape, regs, tuple(map(cut, self.lanes)), tuple(map(cut, self.warps)))

    def holds_together(self, axis: int, count: int) -> bool:
        """Whether each group of `count` elements (a power of two) along `axis` is in one thread."""
        return not any(0 < basis[axis] < count for basis in (*self.lanes, *self.warps))


def relabel(source: Layout, result: Layout) -> tuple[int, ...] | None:
    """For each register of `result`, the register of `source` *in the same thread* that holds the same element;
    None where data must move between threads. Phantoms of `result` take register 0."""
    if (source.shape, source.lanes, source.warps) != (
        result.shape,
        result.lanes,
        result.warps,
    ):
        return None
    held = {at: register for register, at in enumerate(source.register_coords)}
    out: list[int] = []
    for at in result.register_coords:
        if at in held:
            out.append(held[at])
        elif any(c >= n for c, n in zip(at, result.shape, strict=True)):
            out.append(0)
        else:
            return None
    return tuple(out)


@lru_cache(maxsize=4096)
def coalesced(shape: Coord, order: Coord, vector: int, num_warps: int) -> Layout:
    """The default layout: consecutive lanes hold consecutive elements along the fastest axis.

    `order`: axes from slowest to fastest in memory. `vector`: most elements a thread holds side by side. Bits are
    first given where they divide the extent (no phantoms), then where the extent is still larger than the base, and
    what is left makes replicas.
    """
    rank = len(shape)
    threads = WARP_SIZE * num_warps
    base = [1] * rank
    regs: list[Coord] = []

    def basis(axis: int) -> Coord:
        out = tuple(base[axis] if a == axis else 0 for a in range(rank))
        base[axis] *= 2
        return out

    if rank:
        fast = order[-1]
        total = prod(pow2_ceil(n) for n in shape)
        limit = min(vector, max(1, total // threads), pow2_divisor(shape[fast]))
        while base[fast] * 2 <= limit:
            regs.append(basis(fast))
    bits: list[Coord] = []
    need = LANE_BITS + num_warps.bit_length() - 1
    for exact in (True, False):
        for axis in reversed(order):
            while len(bits) < need and (shape[axis] % (base[axis] * 2) == 0 if exact else base[axis] < shape[axis]):
                bits.append(basis(axis))
    bits += [(0,) * rank] * (need - len(bits))
    return Layout(tuple(shape), tuple(regs), tuple(bits[:LANE_BITS]), tuple(bits[LANE_BITS:]))


@dataclass(frozen=True)
class SharedLayout:
    """Where a tile lies in shared memory: axes in `order` (slowest to fastest), then an XOR swizzle of the linear
    element index: `index ^ (index >> shift & (2**bits - 1) << base)`.

    The same function as CuTe's Swizzle<bits, base, shift>. `pad` elements are added to each row of the fastest axis
    (then `bits` is 0). With a `panel`, the fastest axis is cut into panels of so many elements that follow one another
    as if each were a tile of its own: what matrix units and bulk copies want of rows longer than their swizzle.
    Extents are those of the allocated tile.
    """

    shape: Coord
    order: Coord
    bits: int = 0
    base: int = 0
    shift: int = 0
    pad: int = 0
    panel: int = 0

    def __post_init__(self) -> None:
        if any(n < 1 for n in self.shape):
            raise ValueError(f"the extents {list(self.shape)} are not all positive")
        if min(self.bits, self.base, self.shift, self.pad, self.panel) < 0:
            raise ValueError("swizzle, padding and panel are not negative")
        if sorted(self.order) != list(range(len(self.shape))):
            raise ValueError(f"order {list(self.order)} is not a permutation of the axes")
        if self.bits and self.pad:
            raise ValueError("a shared layout is padded or swizzled, not both")
        if self.bits and self.shift < self.bits:
            raise ValueError("a swizzle must shift by at least its number of bits")
        if self.panel & (self.panel - 1) or (self.panel and self.pad):
            raise ValueError("a panel is a power of two, and its rows have no padding")

    @property
    def panels(self) -> int:
        """Panels of the fastest axis; 1 where it is not cut."""
        return -(-self.shape[self.order[-1]] // self.panel) if self.panel and self.order else 1

    @property
    def panel_stride(self) -> int:
        """Elements from one panel to the next."""
        return self.panel * prod(n for axis, n in enumerate(self.shape) if axis != self.order[-1])

    @cached_property
    def strides(self) -> Coord:
        """Element strides before the swizzle, one for each axis; inside a panel, where there are several."""
        out = [0] * len(self.shape)
        step = 1
        for position, axis in enumerate(reversed(self.order)):
            out[axis] = step
            row = self.panel if self.panels > 1 else self.shape[axis] + self.pad
            step *= row if position == 0 else self.shape[axis]
        return tuple(out)

    @cached_property
    def size(self) -> int:
        """Elements to allocate."""
        if not self.shape:
            return 1
        slowest = self.order[0]
        size = self.strides[slowest] * (self.shape[slowest] + (self.pad if len(self.shape) == 1 else 0))
        if self.panels > 1:
            size = self.panels * self.panel_stride
        block = 1 << (self.base + self.shift + self.bits) if self.bits else 1
        return -(-size // block) * block

    @property
    def placement(self) -> tuple[Coord, tuple[int, ...]]:
        """What the place of an element depends on: the strides of the axes that are longer than 1, and the swizzle."""
        strides = tuple(s for s, n in zip(self.strides, self.shape, strict=True) if n != 1)
        swizzle = (self.bits, self.base, self.shift) if self.bits else (0, 0, 0)
        return strides, (*swizzle, self.panel if self.panels > 1 else 0)

    def permute(self, order: Sequence[int]) -> SharedLayout:
        """The same memory with the axes renamed: axis `i` of the result is axis `order[i]` of this."""
        place = {axis: position for position, axis in enumerate(order)}
        shape = tuple(self.shape[axis] for axis in order)
        renamed = tuple(place[axis] for axis in self.order)
        return SharedLayout(shape, renamed, self.bits, self.base, self.shift, self.pad, self.panel)

    def index(self, coord: Sequence[int]) -> int:
        """Element index of a coordinate."""
        linear = sum(c * s for c, s in zip(coord, self.strides, strict=True))
        if self.panels > 1:
            panel = coord[self.order[-1]] // self.panel
            linear += panel * (self.panel_stride - self.panel)
        return linear ^ (linear >> self.shift & ((1 << self.bits) - 1) << self.base)
