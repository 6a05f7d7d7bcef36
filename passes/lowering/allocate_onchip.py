"""allocate-onchip: each tile in shared memory gets its place there.

From: simt+gpu. To: the same; each `simt.alloc_shared` has its `offset`, the kernel its `simt.shared_bytes`.
Invariant: offsets are aligned, tiles whose lifetimes meet share no byte, the end is within the target's limit;
the blocks that the hint `occupancy` asks for (`simt.min_blocks`) find room together.

It runs before `insert-fences`, which then sees which tiles share bytes: what is reused is fenced as any memory is. A
reuse may so cost a barrier; where all tiles side by side take no more than a block may have without keeping others
off its multiprocessor, nothing is reused. Otherwise the largest tiles are placed first, each in the smallest gap that
holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tileopt.dialects import gpu_tma, simt
from tileopt.dialects.diagnostics import Location, TargetError, location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import DYNAMIC_SHARED, MANUAL_BARRIERS, MIN_BLOCKS, OCCUPANCY
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import walk
from tileopt.passes.intervals import Interval
from tileopt.passes.lowering.accesses import bytes_of, slots_of
from tileopt.passes.lowering.lifetimes import lifetimes, uses_of
from tileopt.passes.schedule.role_budget import BLOCK_OVERHEAD

ALIGNMENT = 16  # of the widest access of one thread
_BULK = (gpu_tma.TmaLoad, gpu_tma.TmaStore)
_BULK_ALIGNMENT = 128  # of what these fill or empty
_MOST_ALIGNMENT = 1024  # of what is swizzled: the largest pattern that hardware knows
_RESIDENT = 8  # blocks of a multiprocessor that shared memory should leave room for before tiles share bytes
_SHOWN = 5  # tiles that an error lists


@dataclass(frozen=True)
class AllocateOnchip(ModulePass):
    name = "allocate-onchip"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                allocate(kernel)


@dataclass(frozen=True, slots=True)
class _Tile:
    op: simt.AllocShared
    size: int
    alignment: int
    life: Interval


def allocate(kernel: simt.Kernel) -> None:
    """Gives the allocations of `kernel` their offsets. Raises TargetError where they do not fit."""
    lives = lifetimes(kernel)
    total, dynamic = 0, kernel.integer(DYNAMIC_SHARED) or 0
    tiles: list[_Tile] = []
    if lives:
        target = target_of(kernel)
        tiles = [_Tile(op, bytes_of(op), alignment_of(op), life) for op, life in lives.items()]
        offsets, total = _side_by_side(tiles)
        # Memory for two tiles needs a barrier between them, which only insert-fences adds.
        if total > target.shared_bytes // _RESIDENT and MANUAL_BARRIERS not in kernel.attributes:
            offsets, total = _sharing(tiles)
        for placed, offset in offsets.items():
            placed.properties["offset"] = IntegerAttr(offset, i64)
    for op in walk(kernel):
        if isinstance(op, simt.AllocShared) and op not in lives:
            op.properties["offset"] = IntegerAttr(0, i64)  # never accessed
    if dynamic:  # after the static part
        total = _align(total, ALIGNMENT) + dynamic
    if total and total > target_of(kernel).shared_bytes:
        raise _too_large(kernel, tiles, total, dynamic, target_of(kernel))
    kernel.attributes[simt.SHARED_BYTES] = IntegerAttr(total, i64)
    _bound_blocks(kernel, total)


def _bound_blocks(kernel: simt.Kernel, total: int) -> None:
    """Of the blocks that a hint asks for, no more than have shared memory: for others, registers would go in vain."""
    asked = kernel.integer(MIN_BLOCKS)
    if asked is None or OCCUPANCY not in kernel.attributes or not total:
        return
    fitting = (target_of(kernel).shared_bytes + BLOCK_OVERHEAD) // (total + BLOCK_OVERHEAD)
    if fitting >= asked:
        return
    del kernel.attributes[MIN_BLOCKS]
    if fitting > 1:
        kernel.attributes[MIN_BLOCKS] = IntegerAttr(fitting, i64)


def alignment_of(op: simt.AllocShared) -> int:
    """Bytes that divide the offset: a swizzled tile begins where its pattern does."""
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    layout = type_.shared_layout
    if not layout.bits:
        return _BULK_ALIGNMENT if any(isinstance(use, _BULK) for use in uses_of(op)) else ALIGNMENT
    pattern = (bit_width(type_.element_type) // 8) << (layout.base + layout.shift + layout.bits)
    return min(_MOST_ALIGNMENT, max(ALIGNMENT, pattern))


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _by_size(tiles: Iterable[_Tile]) -> list[_Tile]:
    """Largest first; of equals the first in the program."""
    return sorted(tiles, key=lambda t: (-t.size, t.life.first))


def _side_by_side(tiles: list[_Tile]) -> tuple[dict[simt.AllocShared, int], int]:
    offsets: dict[simt.AllocShared, int] = {}
    end = 0
    for tile in sorted(tiles, key=lambda t: (-t.alignment, t.life.first)):
        offsets[tile.op] = _align(end, tile.alignment)
        end = offsets[tile.op] + tile.size
    return offsets, end


def _sharing(tiles: list[_Tile]) -> tuple[dict[simt.AllocShared, int], int]:
    offsets: dict[simt.AllocShared, int] = {}
    placed: list[_Tile] = []
    total = 0
    for tile in _by_size(tiles):
        taken = sorted((offsets[t.op], offsets[t.op] + t.size) for t in placed if t.life.meets(tile.life))
        offsets[tile.op] = _best_gap(tile, taken)
        placed.append(tile)
        total = max(total, offsets[tile.op] + tile.size)
    return offsets, total


def _best_gap(tile: _Tile, taken: list[tuple[int, int]]) -> int:
    """The aligned start of the smallest gap between `taken` ranges that holds the tile, or of the end."""
    best, room, at = None, 0, 0
    for begin, end in taken:
        start = _align(at, tile.alignment)
        if start + tile.size <= begin and (best is None or begin - at < room):
            best, room = start, begin - at
        at = max(at, end)
    return _align(at, tile.alignment) if best is None else best


def _too_large(kernel: simt.Kernel, tiles: list[_Tile], total: int, dynamic: int, target: Target) -> TargetError:
    largest = Counter(_note(tile) for tile in _by_size(tiles))
    notes = [(f"{count} times {what}" if count > 1 else what, at) for (what, at), count in largest.items()]
    if dynamic:
        notes.insert(0, (f"{dynamic} bytes of dynamic shared memory (shared_bytes)", location_of(kernel)))
    return TargetError(
        "target/shared-memory",
        f"kernel {kernel.sym_name.data!r} needs {total} bytes of shared memory, "
        f"a block of {target.name} has {target.shared_bytes}",
        location=location_of(kernel),
        notes=notes[:_SHOWN],
        help=_what_fits(tiles, total - target.shared_bytes) or "ask for less dynamic shared memory",
    )


def _what_fits(tiles: list[_Tile], excess: int) -> str:
    """What would make the tiles fit: a smaller largest one, or fewer stages."""
    if not tiles:
        return ""
    advice = "make the tiles smaller"
    largest = _by_size(tiles)[0]
    type_ = largest.op.result.type
    assert isinstance(type_, BufferType)
    elements = (largest.size - excess) * 8 // (slots_of(largest.op) * bit_width(type_.element_type))
    if elements > 0:
        advice += f" (the largest fits with {elements} elements of {type_.element_type})"
    rings = [tile for tile in tiles if slots_of(tile.op) > 1]
    if rings:
        stages = min(slots_of(tile.op) for tile in rings)
        fewer = stages + -excess // sum(tile.size // slots_of(tile.op) for tile in rings)
        advice += f", or give num_stages={fewer}" if fewer > 0 else ", or give fewer stages (num_stages)"
    return advice


def _note(tile: _Tile) -> tuple[str, Location | None]:
    type_, slots = tile.op.result.type, slots_of(tile.op)
    assert isinstance(type_, BufferType)
    shape = "x".join(map(str, type_.get_shape()))
    stages = f", {slots} stages" if slots > 1 else ""
    return f"{tile.size} bytes for a tile of {shape}x{type_.element_type}{stages}", location_of(tile.op)
