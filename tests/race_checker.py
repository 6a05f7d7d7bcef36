"""Runs a block of a small SIMT program, every access thread by thread, and lists the races it has.

`Run.reads` tells for each read of shared memory which element of which array was at each coordinate.

Independent of the compiler's analysis: it knows layouts by their definition, executes loops, counts the groups of
asynchronous copies, and asks of each two conflicting accesses whether a barrier (and a wait) orders them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import gpu, simt
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.xdsl_compat import create_context, parse_module

_BINARY: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.RemUIOp: operator.mod,
    arith.RemSIOp: operator.mod,
    arith.DivSIOp: operator.floordiv,
    arith.DivUIOp: operator.floordiv,
    arith.AndIOp: operator.and_,
}
_COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge] + [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


Element = tuple[SSAValue, tuple[int, ...]]  # of an array


@dataclass
class _Touch:
    """One thread's access to one place. `epoch`: barriers before it was complete; None while a copy is in flight."""

    thread: int
    write: bool
    epoch: int | None
    step: int
    op: str


@dataclass
class _Buffer:
    """Where a tile lies: a memory (shared by all tiles with a chosen offset), the byte where it begins, its type."""

    memory: Hashable
    start: int
    type: BufferType


class Run:
    """One run; `races` has a line for each pair of ops that race."""

    def __init__(self, kernel: simt.Kernel, arguments: Sequence[Any], track: bool) -> None:
        self.threads = kernel.attributes[simt.THREADS].value.data  # type: ignore[attr-defined]
        self.track = track
        # Bytes that are told apart: as many as each element has, and each offset is a multiple of.
        types = [op.result.type for op in kernel.walk() if isinstance(op, simt.AllocShared)]
        sizes = [bit_width(t.element_type) // 8 for t in types if isinstance(t, BufferType)]
        self.unit = min(sizes, default=1)
        self.values: dict[SSAValue, Any] = {}
        self.places: dict[Hashable, list[_Touch]] = {}
        self.open: list[_Touch] = []
        self.groups: list[list[_Touch]] = []
        self.epoch = self.step = self.barriers = 0
        self.races: set[str] = set()
        self.contents: dict[Hashable, Element | None] = {}  # by an element's first byte
        self.loaded: dict[SSAValue, Element] = {}  # where the tile of a fragment begins
        self.reads: list[dict[tuple[int, ...], Element | None]] = []
        for argument, value in zip(kernel.body.block.args, arguments, strict=True):
            self.values[argument] = value
        self.block(kernel.body.block)

    def block(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        self.values.update(zip(block.args, arguments, strict=False))
        for op in block.ops:
            self.step += 1
            match op:
                case scf.YieldOp() | scf.ConditionOp():
                    return [self.values[v] for v in op.operands]
                case scf.ForOp():
                    self.loop(op)
                case scf.WhileOp():
                    carried = [self.values[v] for v in op.operands]
                    while True:
                        go, *passed = self.block(op.before_region.block, carried)
                        if not go:
                            break
                        carried = self.block(op.after_region.block, passed)
                    self.values.update(zip(op.results, passed, strict=True))
                case scf.IfOp():
                    region = op.true_region if self.values[op.cond] else op.false_region
                    if region.blocks.first is not None:
                        self.values.update(zip(op.results, self.block(region.block), strict=True))
                case _:
                    self.op(op)
        return []

    def loop(self, op: scf.ForOp) -> None:
        lower, upper, step, *carried = (self.values[v] for v in op.operands)
        for index in range(lower, upper, step):
            carried = self.block(op.body.block, [index, *carried])
        self.values.update(zip(op.results, carried, strict=True))

    def op(self, op: Operation) -> None:
        self.values.update(dict.fromkeys(op.results))  # fragments are not computed
        match op:
            case arith.ConstantOp():
                self.values[op.result] = op.value.value.data if isinstance(op.value, IntegerAttr) else None
            case arith.CmpiOp():
                a, b = (self.values[v] for v in op.operands)
                self.values[op.result] = _COMPARE[op.predicate.value.data](a, b)
            case arith.SelectOp():
                c, a, b = (self.values[v] for v in op.operands)
                self.values[op.result] = a if c else b
            case simt.AllocShared():
                assert isinstance(op.result.type, BufferType)
                memory, start = ("shared", op.offset.value.data) if op.offset is not None else (op, 0)
                self.values[op.result] = _Buffer(memory, start, op.result.type)
            case simt.Slot():
                ring = self.values[op.ring]
                size = ring.type.shared_layout.size * bit_width(ring.type.element_type) // 8
                self.values[op.result] = _Buffer(ring.memory, ring.start + self.values[op.index] * size, ring.type)
            case simt.ViewBuffer():
                source = self.values[op.source]
                assert isinstance(op.result.type, BufferType)
                self.values[op.result] = _Buffer(source.memory, source.start, op.result.type)
            case simt.Barrier():
                self.epoch += 1
                self.barriers += 1
            case gpu.CpAsyncCommit():
                self.groups.append(self.open)
                self.open = []
            case gpu.CpAsyncWait():
                for group in self.groups[: max(0, len(self.groups) - op.pending.value.data)]:
                    for touch in group:
                        touch.epoch = self.epoch if touch.epoch is None else touch.epoch
            case simt.SharedLoad():
                self.shared(op, op.source, op.layout, write=False)
            case simt.SharedStore():
                self.shared(op, op.target, op.layout, write=True)
            case gpu.LdMatrix():
                self.shared(op, op.source, None, write=False)
            case simt.Dot():
                self.shared(op, op.a, None, write=False)
                self.shared(op, op.b, None, write=False)
            case simt.FragmentLoad() | simt.FragmentStore():
                shape = tuple(int(n) for n in op.shape.get_values())
                self.view(op, op.view, op.offsets, op.layout, shape, isinstance(op, simt.FragmentStore))
            case gpu.CpAsync():
                assert isinstance(op.target.type, BufferType)
                self.view(op, op.view, op.offsets, op.layout, op.target.type.get_shape(), False)
                self.shared(op, op.target, op.layout, write=True)
            case _ if type(op) in _BINARY:
                a, b = (self.values[v] for v in op.operands)
                self.values[op.results[0]] = _BINARY[type(op)](a, b)
            case _:
                pass

    # --- accesses --------------------------------------------------------------------------------------------------

    def shared(self, op: Operation, buffer: SSAValue, layout: LayoutAttr | None, write: bool) -> None:
        at: _Buffer = self.values[buffer]
        if layout is None:
            held = tuple((t, c) for t in (0, self.threads - 1) for c in _coords(at.type.get_shape()))
        else:
            held = _held(layout, at.type.get_shape())
        begins = _begins(at.type)
        size = bit_width(at.type.element_type) // 8
        units = range(0, size, self.unit)
        memory, start = at.memory, at.start
        self.touch(op, [(t, (memory, start + begins[c] + u)) for t, c in held for u in units], write)
        if self.track:
            self.move(op, {coord: (memory, start + begin) for coord, begin in begins.items()}, write)

    def move(self, op: Operation, places: dict[tuple[int, ...], Hashable], write: bool) -> None:
        """Keeps track of what a tile in shared memory holds."""
        if not write:
            self.reads.append({coord: self.contents.get(place) for coord, place in places.items()})
            return
        match op:
            case gpu.CpAsync():
                source: Element | None = (op.view, tuple(self.values[v] for v in op.offsets))
            case _:
                source = self.loaded.get(op.operands[0])
        for coord, place in places.items():
            self.contents[place] = source and (source[0], tuple(a + b for a, b in zip(source[1], coord, strict=True)))

    def view(
        self,
        op: Operation,
        view: SSAValue,
        offsets: Sequence[SSAValue],
        layout: LayoutAttr,
        shape: tuple[int, ...],
        write: bool,
    ) -> None:
        begin = [self.values[v] for v in offsets]
        held = _held(layout, shape)
        touched = [(t, (view, tuple(b + c for b, c in zip(begin, at, strict=True)))) for t, at in held]
        self.touch(op, touched, write)
        if isinstance(op, simt.FragmentLoad):
            self.loaded[op.result] = (view, tuple(begin))

    def touch(self, op: Operation, touched: list[tuple[int, Hashable]], write: bool) -> None:
        copy = isinstance(op, gpu.CpAsync)
        for thread, place in touched:
            # What was complete before the last barrier is in order with all that comes.
            before = [o for o in self.places.get(place, ()) if o.epoch is None or o.epoch >= self.epoch]
            self.places[place] = before
            for other in before:
                if not (write or other.write) or other.step == self.step:
                    continue
                ordered = other.epoch is not None and (other.thread == thread or other.epoch < self.epoch)
                if not ordered:
                    self.races.add(f"{other.op} / {op.name}")
            new = _Touch(thread, write, None if copy else self.epoch, self.step, op.name)
            if copy:
                self.open.append(new)
            before.append(new)


@lru_cache(maxsize=256)
def _coords(shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(product(*map(range, shape)))


@lru_cache(maxsize=256)
def _held(layout: LayoutAttr, shape: tuple[int, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Threads and the coordinates that they hold."""
    return tuple((lane + 32 * warp, at) for _, lane, warp, at in layout.over(shape).elements())


@lru_cache(maxsize=256)
def _begins(type_: BufferType) -> dict[tuple[int, ...], int]:
    """The byte at which each element of a tile begins."""
    size = bit_width(type_.element_type) // 8
    return {coord: type_.shared_layout.index(coord) * size for coord in _coords(type_.get_shape())}


def races(text: str | ModuleOp, *arguments: Any) -> set[str]:
    """The races of the only kernel of a module, run with these arguments (views: anything)."""
    return run(text, *arguments, track=False).races


def run(text: str | ModuleOp, *arguments: Any, track: bool = True) -> Run:
    module = parse_module(create_context(), text) if isinstance(text, str) else text
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, simt.Kernel))
    return Run(kernel, arguments, track)
