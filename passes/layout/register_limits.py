"""No tile takes more registers of a thread than a GPU's thread has, unless products read it as they run.

LLVM would work for minutes on such a tile, only to put it into slow memory. A CPU has memory for what its registers
cannot hold, and no limit.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Target

REGISTER_BITS = 32
ACCUMULATOR = 2  # the operand of a product that is no factor
# How many times more registers than there are an operand may take that is read while the product runs; beyond that its
# code is too long to compile.
STREAMED = 2


def check_registers(kernel: KernelOp, target: Target) -> None:
    """Raises UnsupportedError (`limits/tile-registers`) at the first tile that a thread of `target` cannot hold."""
    if not target.is_gpu:
        return
    checked: set[tuple[Attribute, bool, bool]] = set()
    ops = list(kernel.walk())
    # A product's instructions may not spread over more threads.
    spreads = not any(isinstance(op, tile.Mma) for op in ops)
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
                _check(op, type_, target, spreads, STREAMED if streamed else 1, place)


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


def _check(op: Operation, type_: TensorType[Attribute], target: Target, spreads: bool, times: int, place: bool) -> None:
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
    raise UnsupportedError(
        "limits/tile-registers",
        f"a tile of {shape}x{element} takes {needed} registers of each of {layout.threads} threads, "
        f"a thread of {target.name} has {target.registers}",
        location=location_of(op),
        help=f"use a loop over smaller tiles, of at most {', or '.join(fitting)}",
    )


def _most(bits: int, target: Target) -> int:
    """The most elements that a thread can hold: a power of two, as layouts give them out."""
    elements: int = target.registers * REGISTER_BITS // bits
    return 1 << (elements.bit_length() - 1)
