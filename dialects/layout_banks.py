"""How many wavefronts an access to shared memory takes: 32 banks of 4 bytes, each of which serves one word at a time.

A warp's lanes go in phases, so that a phase moves at most 128 bytes: all lanes together where each moves up to 4 bytes,
half of them where it is 8, a quarter where it is 16 (as `ldmatrix` does for each 8x8 matrix). Lanes that want the same
word share it. A phase takes as many wavefronts as its busiest bank has words to serve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tileopt.dialects.layout import WARP_SIZE, Coord, Layout, SharedLayout, pow2_divisor

BANKS = 32
BANK_BYTES = 4
PHASE_BYTES = BANKS * BANK_BYTES
VECTOR_BYTES = 16  # the most that a lane moves at once


@dataclass(frozen=True, slots=True)
class Access:
    """What the lanes of a warp read or write together: each `vector` elements from its coordinate on."""

    lanes: tuple[Coord, ...]
    vector: int


@dataclass(frozen=True, slots=True)
class Wavefronts:
    """How many wavefronts an access takes, and how many it would take without bank conflicts."""

    actual: int
    ideal: int

    @property
    def excess(self) -> int:
        return self.actual - self.ideal


def shared_vector(layout: Layout, shared: SharedLayout, element_bytes: int) -> int:
    """Elements, a power of two, that a thread's consecutive registers have side by side and aligned in the buffer."""
    if not shared.order:
        return 1
    fast = shared.order[-1]
    others = [stride for axis, stride in enumerate(shared.strides) if axis != fast]
    # A vector must not cross the end of a row, nor begin unaligned in another.
    rows = map(pow2_divisor, (shared.shape[fast], *others))
    limits = [layout.contiguous(fast), max(1, VECTOR_BYTES // element_bytes), *rows]
    if shared.bits:
        limits.append(1 << shared.base)
    return min(limits)


def wavefronts(access: Access, shared: SharedLayout, element_bytes: int) -> Wavefronts:
    """The cost of one access to a buffer whose base is aligned to all banks."""
    lane_bytes = max(BANK_BYTES, access.vector * element_bytes)
    together = max(1, PHASE_BYTES // lane_bytes)
    starts = [shared.index(at) * element_bytes for at in access.lanes]
    actual = ideal = 0
    for first in range(0, len(starts), together):
        words = {
            (start + offset) // BANK_BYTES
            for start in starts[first : first + together]
            for offset in range(0, access.vector * element_bytes, BANK_BYTES)
        }
        load = [0] * BANKS
        for word in words:
            load[word % BANKS] += 1
        actual += max(load)
        ideal += -(-len(words) // BANKS)
    return Wavefronts(actual, ideal)


def fragment_accesses(layout: Layout, vector: int, warp: int = 0) -> Iterator[Access]:
    """The accesses by which a warp moves its whole fragment, `vector` registers at a time; phantoms take no part."""
    for register in range(0, layout.registers, vector):
        coords = (layout.coord(register, lane, warp) for lane in range(WARP_SIZE))
        inside = tuple(at for at in coords if all(c < n for c, n in zip(at, layout.shape, strict=True)))
        if inside:
            yield Access(inside, vector)


def matrix_access(shape: Coord, order: Coord, element_bytes: int, origin: Sequence[int] | None = None) -> Access:
    """`ldmatrix`'s access to an 8x8 matrix of a tile: eight rows of 16 bytes along the fastest axis."""
    at = tuple(origin) if origin is not None else (0,) * len(shape)
    slow = order[-2]
    rows = tuple((*at[:slow], at[slow] + row, *at[slow + 1 :]) for row in range(min(8, shape[slow] - at[slow])))
    return Access(rows, VECTOR_BYTES // element_bytes)


def bank_conflicts(layout: Layout, shared: SharedLayout, vector: int, element_bytes: int) -> Wavefronts:
    """The cost for one warp (the costliest) of moving its fragment, `vector` elements at a time.

    Raises ValueError where `vector` elements are not side by side and aligned, so that no such access exists.
    """
    most = shared_vector(layout, shared, element_bytes)
    if vector < 1 or most % vector:
        raise ValueError(f"a thread holds {most} elements side by side in shared memory, not {vector}")
    # In a linear layout every access is the first one, its addresses XORed or shifted by a constant: banks permute.
    same = is_linear(layout, shared)
    worst = Wavefronts(0, 0)
    for warp in range(1 if same else layout.num_warps):
        actual = ideal = 0
        for access in fragment_accesses(layout, vector, warp):
            cost = wavefronts(access, shared, element_bytes)
            times = layout.registers // vector if same else 1
            actual, ideal = actual + cost.actual * times, ideal + cost.ideal * times
            if same:
                break
        worst = max(worst, Wavefronts(actual, ideal), key=lambda cost: (cost.actual, cost.ideal))
    return worst


def is_linear(layout: Layout, shared: SharedLayout) -> bool:
    """Whether addresses are linear over the bits of register, lane and warp."""
    steps = (*shared.strides, shared.panel_stride if shared.panels > 1 else 1)
    return not layout.has_phantoms and all(step & (step - 1) == 0 for step in steps)
