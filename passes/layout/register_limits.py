"""No tile takes more registers of a thread than a GPU's thread has, unless products read it as they run; nor do all the
tiles together that a loop carries from iteration to iteration.

LLVM would work for minutes on such a tile, only to put it into slow memory. A CPU has memory for what its registers
cannot hold, and no limit.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Space, Target
from tileopt.passes.loops import Loop, carried_by

REGISTER_BITS = 32
ACCUMULATOR = 2  # the operand of a product that is no factor
# How many times more registers than there are an operand may take that is read while the product runs; beyond that its
# code is too long to compile.
STREAMED = 2
_MOST_WARPS = 16  # that products' rows and columns are spread over
LEAST_BESIDE = 16  # registers for operands and addresses, without which no loop goes round


def check_registers(kernel: KernelOp, target: Target) -> None:
    """Raises UnsupportedError (`limits/tile-registers`) at the first tile that a thread of `target` cannot hold."""
    if not target.is_gpu:
        return
    checked: set[tuple[Attribute, bool, bool]] = set()
    ops = list(kernel.walk())
    # A product's instructions may not spread over more threads.
    spreads = not any(isinstance(op, tile.Mma) for op in ops)
    atoms = {op.atom.data for op in ops if isinstance(op, tile.Mma) and op.atom is not None}
    warps = kernel.attributes.get("tile.num_warps")
    hinted = warps.value.data if isinstance(warps, IntegerAttr) else 0
    tensor_memory = any(target.atom(atom).acc_space is Space.TENSOR for atom in atoms)  # not registers
    places: set[SSAValue] = set()
    for op in ops:
        if _makes_places(op, places):
            places.update(op.results)
        for result in op.results:
            type_ = result.type
            if not isinstance(type_, TensorType):
                continue
            streamed, place = _is_streamed(op), result in places
            if (type_, streamed, place) not in checked:
                checked.add((type_, streamed, place))
                _check(op, type_, target, hinted, spreads, STREAMED if streamed else 1, place)
        if isinstance(op, scf.ForOp | scf.WhileOp) and not tensor_memory:
            _check_loop(op, target)


def registers_of(type_: TensorType[Attribute], threads: int) -> int:
    """Registers of each of so many threads that share a tile; the tile has no layout yet."""
    bits = 64 if isinstance(type_.element_type, IndexType) else bit_width(type_.element_type)
    return -(-prod(type_.get_shape()) * bits // (REGISTER_BITS * threads))


def registers_had(target: Target, threads: int) -> int:
    """Registers of a thread in a block of so many."""
    return min(target.registers, target.register_file // threads)


def crowds(kernel: KernelOp, target: Target, threads: int, beside: int) -> bool:
    """Whether what some loop carries leaves less than `beside` registers of each of so many threads."""
    return carried_registers(kernel, threads) > registers_had(target, threads) - beside


def carried_registers(kernel: KernelOp, threads: int) -> int:
    """The most registers of each of so many threads that the tiles take which one loop carries."""
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]
    tiles = [[v.type for v in carried_by(loop) if isinstance(v.type, TensorType)] for loop in loops]
    return max((sum(registers_of(type_, threads) for type_ in types) for types in tiles), default=0)


def _check_loop(loop: Loop, target: Target) -> None:
    tiles = [v.type for v in carried_by(loop) if isinstance(v.type, TensorType)]
    layouts = [t.encoding.over(t.get_shape()) for t in tiles if isinstance(t.encoding, LayoutAttr)]
    if not layouts or len(layouts) != len(tiles):
        return
    threads = max(layout.threads for layout in layouts)
    held = [
        -(-layout.registers * (64 if isinstance(t.element_type, IndexType) else bit_width(t.element_type)) // 32)
        for t, layout in zip(tiles, layouts, strict=True)
    ]
    has = registers_had(target, threads)
    if sum(held) + LEAST_BESIDE <= has:
        return
    largest = max(zip(held, tiles, strict=True), key=lambda x: x[0])[1]
    shapes = ", ".join("x".join(map(str, t.get_shape())) + f"x{t.element_type}" for t in tiles)
    most = (has - LEAST_BESIDE) * REGISTER_BITS // bit_width(largest.element_type) * threads
    raise UnsupportedError(
        "limits/tile-registers",
        f"the tiles that this loop carries ({shapes}) take {sum(held)} registers of each of {threads} threads, "
        f"a thread of {target.name} has {has} in such a block, and needs some for all else",
        location=location_of(loop),
        help=f"use smaller tiles, of at most {most} elements of {largest.element_type} together with {threads} threads",
    )


def _is_streamed(op: Operation) -> bool:
    """Whether a tile is read from shared memory for products alone: a part at a time, when its instruction comes."""
    return isinstance(op, tile.Unstage) and all(
        isinstance(use.operation, tile.Mma) and use.index != ACCUMULATOR for use in op.result.uses
    )


def _makes_places(op: Operation, places: set[SSAValue]) -> bool:
    """Whether a tile is places along axes, or made of such alone: most of what each is follows from its register's
    number, so that half of a word of 64 bits is the same in all."""
    if isinstance(op, tile.Arange | tile.Splat):
        return True
    tiles = [v for v in op.operands if isinstance(v.type, TensorType)]
    moves = isinstance(op, tile.Reshape | tile.Broadcast | tile.ConvertLayout)
    return (moves or op.name.startswith("arith.")) and bool(tiles) and all(v in places for v in tiles)


def _check(
    op: Operation, type_: TensorType[Attribute], target: Target, warps: int, spreads: bool, times: int, place: bool
) -> None:
    if not isinstance(type_.encoding, LayoutAttr):
        return
    layout = type_.encoding.over(type_.get_shape())
    bits = 64 if isinstance(type_.element_type, IndexType) else bit_width(type_.element_type)
    bits = min(bits, REGISTER_BITS) if place else bits
    needed = -(-layout.registers * bits // REGISTER_BITS)
    if needed <= times * target.registers:
        return
    shape, element = "x".join(map(str, type_.get_shape())), type_.element_type
    fitting = [f"{_most(bits, target) * layout.threads} elements of {element} with {layout.threads} threads"]
    if spreads and layout.threads < target.max_threads:
        most = _most(bits, target) * target.max_threads
        fitting.append(f"{most} with {target.max_threads} threads (num_warps={target.max_threads // 32})")
    loop = f"use a loop over smaller tiles, of at most {', or '.join(fitting)}"
    # No compiler's choice is below the default: so few warps were asked for.
    enough = 1 << (-(-needed * layout.threads // (32 * times * target.registers)) - 1).bit_length()
    few = warps < target.default_warps and enough <= _MOST_WARPS
    raise UnsupportedError(
        "limits/tile-registers",
        f"a tile of {shape}x{element} takes {needed} registers of each of {layout.threads} threads, "
        f"a thread of {target.name} has {target.registers}",
        location=location_of(op),
        help=f"the hint num_warps={warps} leaves too few threads: give {enough} or more, or leave it out; else {loop}"
        if few
        else loop,
    )


def _most(bits: int, target: Target) -> int:
    """The most elements that a thread can hold: a power of two, as layouts give them out."""
    elements: int = target.registers * REGISTER_BITS // bits
    return 1 << (elements.bit_length() - 1)
