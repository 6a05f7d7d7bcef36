"""How the warps of a block share a matrix product, and the layouts of its operands that follow.

Tensor-core atoms bring their fragments; the warps are spread over rows and columns of the accumulator. For the FMA
atom each thread takes small blocks of the accumulator, so that an element read from shared memory serves several.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.layout import LANE_BITS, Coord, Layout, pow2_divisor
from tileopt.dialects.target import Atom, Scope, Space
from tileopt.passes.layout.row_orders import across

TENSOR_LANES = 128  # of tensor memory, each a row
TENSOR_RUN = 16  # columns that a thread holds side by side at most, so that warpgroups share what a store moves at once
FMA_BLOCK = (4, 4)  # rows and columns of the accumulator that a thread holds side by side


@dataclass(frozen=True)
class ProductLayouts:
    """Layouts of the operands of one product; `a` and `b` are None where the atom reads them from shared memory."""

    acc: Layout
    a: Layout | None
    b: Layout | None
    scales: tuple[Layout, ...] = ()


def product_layouts(
    atom: Atom,
    m: int,
    n: int,
    k: int,
    num_warps: int,
    rows_first: bool,
    block: tuple[int, int] = FMA_BLOCK,
    across_rows: bool = False,
) -> ProductLayouts:
    """`rows_first`: rows of the accumulator should stay inside a warp (they are reduced or feed another product).

    `block`: rows and columns that a thread holds side by side, where the atom is a thread's own. `across_rows`: a
    warpgroup's left operand is read from where its rows lie side by side.
    """
    if atom.acc_space is Space.TENSOR:
        return ProductLayouts(accumulator_layout((m, n), num_warps), None, None)
    if atom.scope is Scope.THREAD:
        return ProductLayouts(fma_layout((m, n), num_warps, block), None, None)
    bits = num_warps.bit_length() - 1
    # A warpgroup's atom spreads its rows over the four warps itself; further warpgroups take further rows.
    axes: list[int | None] = [0] * bits
    if atom.scope is Scope.WARP:
        axes = _warp_axes(m, n, atom.shape, bits, rows_first)
    acc = atom.fragments["acc"].tiled((m, n), axes)
    a = b = None
    if "a" in atom.fragments:
        a = atom.fragments["a"].tiled((m, k), [0 if axis == 0 else None for axis in axes])
    if "b" in atom.fragments:
        b = atom.fragments["b"].tiled((k, n), [1 if axis == 1 else None for axis in axes])
    if across_rows and a is not None and atom.scope is Scope.WARPGROUP:
        size = DTYPES[stored(atom.a)].bits // 8
        acc, a = across(acc, size), across(a, size)
    return ProductLayouts(acc, a, b, _scales(atom, m, n, k, axes))


def _scales(atom: Atom, m: int, n: int, k: int, axes: list[int | None]) -> tuple[Layout, ...]:
    """Layouts of the scales of a and b, for rows and columns as those have them."""
    if atom.scale is None:
        return ()
    a, b = atom.fragments["a_scale"], atom.fragments["b_scale"]
    blocks = k * a.shape[1] // atom.shape[2]
    return (
        a.tiled((m, blocks), [0 if axis == 0 else None for axis in axes]),
        b.tiled((blocks, n), [1 if axis == 1 else None for axis in axes]),
    )


def _warp_axes(m: int, n: int, atom: tuple[int, int, int], bits: int, rows_first: bool) -> list[int | None]:
    """For each warp bit the axis of the accumulator that it splits; None where it can only repeat the work.

    A warp reads (rows + columns) * K operand elements, so square shares move the least.
    """
    rows, columns = m, n
    axes: list[int | None] = []
    for _ in range(bits):
        can_rows, can_columns = rows > atom[0], columns > atom[1]
        if not can_rows and not can_columns:
            axes.append(None)
        elif can_rows and (rows_first or rows >= columns or not can_columns):
            axes.append(0)
            rows = -(-rows // 2)
        else:
            axes.append(1)
            columns = -(-columns // 2)
    return axes


@lru_cache(maxsize=256)
def accumulator_layout(shape: Coord, num_warps: int) -> Layout:
    """A row a lane, as tensor memory gives it to the four warps of a warpgroup; further warpgroups take further groups
    of 128 rows, and where there are none, columns."""
    rows, columns = shape
    bits = num_warps.bit_length() - 1
    down = min(max(0, bits - 2), (pow2_divisor(rows) // TENSOR_LANES).bit_length() - 1)
    along = max(0, bits - 2 - down)
    run = min(TENSOR_RUN, pow2_divisor(columns) >> along)
    regs = tuple((0, 1 << bit) for bit in range(run.bit_length() - 1))
    groups = [(TENSOR_LANES << bit, 0) for bit in range(down)] + [(0, run << bit) for bit in range(along)]
    lanes = tuple((1 << bit, 0) for bit in range(LANE_BITS))
    return Layout(shape, regs, lanes, ((32, 0), (64, 0), *groups))


@lru_cache(maxsize=256)
def fma_layout(shape: Coord, num_warps: int, block: tuple[int, int] = FMA_BLOCK) -> Layout:
    """A block of accumulators a thread, lanes over an 8x4 patch, warps over the longer side."""
    base = [1, 1]
    regs: list[Coord] = []

    def grow(axis: int) -> Coord:
        basis = (base[0], 0) if axis == 0 else (0, base[1])
        base[axis] *= 2
        return basis

    threads = 32 * num_warps
    for axis in (1, 0):
        while base[axis] < block[axis] and base[axis] < shape[axis] and _work(shape, base) > threads:
            regs.append(grow(axis))
    bits: list[Coord] = []
    for position in range(LANE_BITS + num_warps.bit_length() - 1):
        room = [axis for axis in (1, 0) if base[axis] < shape[axis]]
        if not room:
            bits.append((0, 0))
        elif position < 3 and 1 in room:  # eight lanes along the columns: their reads and writes are contiguous
            bits.append(grow(1))
        else:
            bits.append(grow(max(room, key=lambda axis: shape[axis] / base[axis])))
    return Layout(shape, tuple(regs), tuple(bits[:LANE_BITS]), tuple(bits[LANE_BITS:]))


def _work(shape: Coord, base: list[int]) -> int:
    return -(-shape[0] // base[0]) * -(-shape[1] // base[1])
