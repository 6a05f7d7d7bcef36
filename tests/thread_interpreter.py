"""Runs SIMT IR of single elements on NumPy arrays, all threads of a block in turn: the meaning that emitters must keep.

Threads are generators that stop where they must meet. What a program may not do is an error here: an element outside
(Outside), two threads at one element of an owned array (Shared), threads that do not meet where others wait (Apart).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileopt.dialects import simt, simt_atomic, simt_host, simt_thread, simt_warp
from tileopt.dialects.arith import RemFOp
from tileopt.dialects.dtypes import DTYPES, bit_width
from tileopt.dialects.tile_types import BufferType, ViewType

Meeting = Generator[tuple[Operation, list[Any]], Any, list[Any]]
_NUMPY = {d.ir: d.numpy.type for d in DTYPES.values() if d.is_float}


class Outside(Exception):
    """An access outside its array."""


class Shared(Exception):
    """Two threads at one element of an owned array, of which one writes."""


class Apart(Exception):
    """Threads wait for others that do not come."""


def _bits(type_: Attribute) -> int:
    return type_.width.data if isinstance(type_, IntegerType) else bit_width(type_)


def _signed(value: int, bits: int) -> int:
    value = int(value) & ((1 << bits) - 1)
    return value if bits == 1 else value - (1 << bits) if value >> (bits - 1) else value


def _natural(value: int, bits: int) -> int:
    return int(value) & ((1 << bits) - 1)


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_INTEGERS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add, arith.SubiOp: operator.sub, arith.MuliOp: operator.mul, arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_, arith.XOrIOp: operator.xor, arith.DivSIOp: _towards_zero,
    arith.RemSIOp: lambda a, b: a - b * _towards_zero(a, b), arith.MinSIOp: min, arith.MaxSIOp: max,
    arith.ShLIOp: lambda a, b: a << b, arith.ShRSIOp: lambda a, b: a >> b,
}  # fmt: skip
_NATURALS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.DivUIOp: operator.floordiv, arith.RemUIOp: operator.mod, arith.MinUIOp: min, arith.MaxUIOp: max,
    arith.ShRUIOp: operator.rshift,
}  # fmt: skip
_FLOATS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: operator.add, arith.SubfOp: operator.sub, arith.MulfOp: operator.mul, arith.DivfOp: operator.truediv,
    RemFOp: np.fmod, math_dialect.CopySignOp: np.copysign,
    arith.NegfOp: operator.neg, arith.MaximumfOp: np.maximum, arith.MinimumfOp: np.minimum, math_dialect.ExpOp: np.exp,
    math_dialect.SqrtOp: np.sqrt, math_dialect.AbsFOp: np.abs, math_dialect.FloorOp: np.floor,
    math_dialect.FmaOp: lambda a, b, c: np.float64(a) * np.float64(b) + np.float64(c),
}  # fmt: skip
_ORDERED = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}
_SIGNED = ["eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge"]
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "sum": operator.add, "prod": operator.mul, "max": max, "min": min,
    "umax": max, "umin": min, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "exch": lambda a, b: b,
    "inc": lambda a, b: 0 if a >= b else a + 1, "dec": lambda a, b: b if a == 0 or a > b else a - 1,
}  # fmt: skip
_UNSIGNED = ("umax", "umin", "inc", "dec")


def run(module: ModuleOp, arguments: Sequence[Any], grid: tuple[int, ...] = (1,)) -> None:
    """Runs the module's kernel over a grid: arrays for views, numbers for scalars."""
    (kernel,) = module.body.block.ops
    assert isinstance(kernel, simt.Kernel) and kernel.block is not None
    extents = (*grid, 1, 1)[:3]
    owners: dict[tuple[int, tuple[int, ...]], tuple[object, bool]] = {}
    with np.errstate(all="ignore"):
        for z, y, x in itertools.product(*(range(n) for n in reversed(extents))):
            _Block(kernel, arguments, (x, y, z), extents, owners).run()


class _Block:
    def __init__(
        self, kernel: simt.Kernel, arguments: Sequence[Any], place: tuple[int, ...], grid: tuple[int, ...], owners: Any
    ) -> None:
        self.kernel, self.arguments, self.place, self.grid, self.owners = kernel, arguments, place, grid, owners
        assert kernel.block is not None
        self.extents = kernel.block
        self.memory: dict[Operation, np.ndarray[Any, Any]] = {}
        self.bytes = np.zeros(kernel.integer("simt.dynamic_shared") or 0, np.uint8)

    def run(self) -> None:
        threads = [_Thread(self, rank) for rank in range(math.prod(self.extents))]
        runs = [t.block(self.kernel.body.block, None) for t in threads]
        waiting: dict[int, tuple[Operation, list[Any]]] = {}

        def go(rank: int, answer: Any) -> None:
            waiting.pop(rank, None)
            try:
                waiting[rank] = runs[rank].send(answer)
            except StopIteration:
                pass

        for rank in range(len(runs)):
            go(rank, None)
        while waiting:
            groups = [range(w, min(w + 32, len(runs))) for w in range(0, len(runs), 32)]
            if all(isinstance(op, simt.Barrier) for op, _ in waiting.values()):
                groups = [range(len(runs))]
            moved = False
            for group in groups:
                here = [waiting.get(rank) for rank in group]
                ops = {id(h[0]) if h is not None else None for h in here}
                if len(ops) == 1 and here[0] is not None:
                    op = here[0][0]
                    if isinstance(op, simt.Barrier) and len(group) < len(runs):
                        continue
                    answers = _meet(op, [h[1] for h in here if h is not None])
                    for rank, answer in zip(group, answers, strict=True):
                        go(rank, answer)
                    moved = True
            if not moved:
                raise Apart(f"{len(waiting)} of {len(runs)} threads wait")


def _meet(op: Operation, given: list[list[Any]]) -> list[Any]:
    """What each lane gets where all have come."""
    lanes = range(len(given))
    match op:
        case simt_warp.Shuffle():
            width = 32 if op.width is None else op.width.value.data
            return [given[_source(op.kind.data, lane, given[lane][1], width, len(given))][0] for lane in lanes]
        case simt_warp.Vote():
            held = [bool(g[0]) for g in given]
            whole = {"any": any(held), "all": all(held), "ballot": sum(h << i for i, h in enumerate(held))}
            return [_signed(whole[op.kind.data], _bits(op.result.type))] * len(given)
        case simt_warp.Match():
            masks = [sum((g[0] == mine[0]) << i for i, g in enumerate(given)) for mine in given]
            if op.kind.data == "all":
                masks = [m if m == (1 << len(given)) - 1 else 0 for m in masks]
            return [_signed(m, 32) for m in masks]
        case simt_warp.WarpReduce():
            width = 32 if op.width is None else op.width.value.data
            return [_reduced(op, [g[0] for g in given[at : at + width]]) for at in (i // width * width for i in lanes)]
        case simt_warp.Elect():
            return [lane == 0 for lane in lanes]
        case _:
            return [None] * len(given)


def _source(kind: str, lane: int, by: int, width: int, lanes: int) -> int:
    first, inner = lane // width * width, lane % width
    found = {"idx": by % width, "up": inner - by, "down": inner + by, "xor": inner ^ by}[kind]
    return min(first + found, lanes - 1) if 0 <= found < width else lane


def _reduced(op: simt_warp.WarpReduce, values: list[Any]) -> Any:
    kind, type_ = op.kind.data, op.value.type
    if isinstance(type_, IntegerType):
        bits = _bits(type_)
        values = [_natural(v, bits) if kind in _UNSIGNED else v for v in values]
        result = values[0]
        for value in values[1:]:
            result = _COMBINE[kind](result, value)
        return _signed(result, bits)
    while len(values) > 1:  # by halves
        half = len(values) // 2
        values = [_COMBINE[kind](a, b) for a, b in zip(values[:half], values[half:], strict=True)]
    return values[0]


class _Thread:
    def __init__(self, block: _Block, rank: int) -> None:
        x, y, _ = block.extents
        self.rank, self.home = rank, block
        self.idx = (rank % x, rank // x % y, rank // (x * y))
        self.values: dict[SSAValue, Any] = dict(zip(block.kernel.body.block.args, block.arguments, strict=True))

    def block(self, block: Block, arguments: Sequence[Any] | None) -> Meeting:
        if arguments is not None:
            self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            given = [self.values[v] for v in op.operands]
            match op:
                case scf.YieldOp() | scf.ConditionOp():
                    return given
                case scf.ForOp():
                    lower, upper, step, *carried = given
                    for index in range(lower, upper, step):
                        carried = yield from self.block(op.body.block, [index, *carried])
                    self.values.update(zip(op.results, carried, strict=True))
                case scf.WhileOp():
                    while True:
                        goes, *given = yield from self.block(op.before_region.block, given)
                        if not goes:
                            break
                        given = yield from self.block(op.after_region.block, given)
                    self.values.update(zip(op.results, given, strict=True))
                case scf.IfOp():
                    region = op.true_region if given[0] else op.false_region
                    if region.blocks.first is not None:
                        results = yield from self.block(region.block, [])
                        self.values.update(zip(op.results, results, strict=True))
                case simt.Barrier() | simt_warp.SyncWarp():
                    yield op, []
                case _ if isinstance(op, tuple(_MEETINGS)):
                    self.values[op.results[0]] = yield op, given
                case _:
                    result = self.op(op, given)
                    if op.results:
                        self.values[op.results[0]] = result
        return []

    def op(self, op: Operation, given: list[Any]) -> Any:
        match op:
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr | FloatAttr)
                number = op.value.value.data
                return _signed(number, _bits(op.result.type)) if isinstance(number, int) else self.rounded(op, number)
            case arith.CmpiOp():
                word, kind = _SIGNED[op.predicate.value.data], op.predicate.value.data
                if kind > 5:
                    given = [_natural(v, _bits(op.lhs.type)) for v in given]
                return getattr(operator, word)(*given)
            case arith.CmpfOp():
                return bool(getattr(operator, _ORDERED[op.predicate.value.data])(*given))
            case arith.SelectOp():
                return given[1] if given[0] else given[2]
            case arith.ExtUIOp():
                return _natural(given[0], _bits(op.input.type))
            case arith.ExtSIOp():
                return -int(given[0]) if _bits(op.input.type) == 1 else given[0]
            case arith.TruncIOp():
                return _signed(given[0], _bits(op.result.type))
            case arith.UIToFPOp():
                return self.rounded(op, _natural(given[0], _bits(op.input.type)))
            case arith.SIToFPOp() | arith.ExtFOp() | arith.TruncFOp():
                return self.rounded(op, given[0])
            case arith.FPToSIOp() | arith.FPToUIOp():
                return _signed(int(given[0]), _bits(op.result.type))
            case math_dialect.CtPopOp():
                return _natural(given[0], _bits(op.results[0].type)).bit_count()
            case math_dialect.CountLeadingZerosOp():
                return _bits(op.results[0].type) - _natural(given[0], _bits(op.results[0].type)).bit_length()
            case math_dialect.CountTrailingZerosOp():
                low = _natural(given[0], _bits(op.results[0].type))
                return (low & -low).bit_length() - 1 if low else _bits(op.results[0].type)
            case _ if type(op) in _FLOATS:
                return self.rounded(op, _FLOATS[type(op)](*given))
            case _ if type(op) in _INTEGERS:
                return _signed(_INTEGERS[type(op)](*given), _bits(op.results[0].type))
            case _ if type(op) in _NATURALS:
                bits = _bits(op.results[0].type)
                return _signed(_NATURALS[type(op)](*(_natural(v, bits) for v in given)), bits)
        return self.thread_op(op, given)

    @staticmethod
    def rounded(op: Operation, value: Any) -> Any:
        return _NUMPY[op.results[0].type](value)

    def thread_op(self, op: Operation, given: list[Any]) -> Any:
        match op:
            case simt_thread.ThreadIdx():
                return self.idx[op.axis.value.data]
            case simt_thread.BlockDim():
                return self.home.extents[op.axis.value.data]
            case simt.ThreadId():
                return self.rank
            case simt.BlockId():
                return self.home.place[op.axis.value.data]
            case simt.GridDim():
                return self.home.grid[op.axis.value.data]
            case simt.Dim():
                return given[0].shape[op.axis.value.data]
            case simt_warp.LaneMask():
                own = 1 << self.rank % 32
                masks = {"eq": own, "lt": own - 1, "le": 2 * own - 1, "gt": -2 * own, "ge": -own}
                return _signed(masks[op.kind.data], 32)
            case simt.AllocShared():
                if op not in self.home.memory:
                    type_ = op.result.type
                    assert isinstance(type_, BufferType)
                    self.home.memory[op] = np.zeros(type_.get_shape(), _dtype(type_.element_type))
                return self.home.memory[op]
            case simt_thread.DynamicShared():
                type_ = op.result.type
                assert isinstance(type_, BufferType)
                dtype, start = np.dtype(_dtype(type_.element_type)), op.offset.value.data
                size = math.prod(type_.get_shape()) * dtype.itemsize
                return self.home.bytes[start : start + size].view(dtype).reshape(type_.get_shape())
            case simt_thread.CheckIndex():
                if not 0 <= given[0] < given[1]:
                    raise Outside(f"{op.array.data}: {given[0]} of {given[1]}")
                return None
            case simt_host.Assert():
                if not given[0]:
                    raise Outside(op.message.data)
                return None
            case simt_host.Printf():
                return None
            case simt_thread.ElementLoad():
                return self.element(op, given[0], given[1:], False)
            case simt_thread.ElementStore():
                self.element(op, given[1], given[2:], True)
                given[1][tuple(given[2:])] = _held(given[0], given[1].dtype)
                return None
            case simt_atomic.AtomicRmw():
                old, kind = self.element(op, given[1], given[2:], True), op.kind.data
                pair = [old, given[0]]
                if isinstance(op.value.type, IntegerType) and kind in _UNSIGNED:
                    pair = [_natural(v, _bits(op.value.type)) for v in pair]
                given[1][tuple(given[2:])] = _held(_COMBINE[kind](*pair), given[1].dtype)
                return old
            case simt_atomic.AtomicCas():
                old = self.element(op, given[2], given[3:], True)
                if old == given[0]:
                    given[2][tuple(given[3:])] = _held(given[1], given[2].dtype)
                return old
            case simt.Return() | simt_atomic.Fence():
                return None
        raise NotImplementedError(op.name)

    def element(self, op: Any, memory: np.ndarray[Any, Any], index: list[int], writes: bool) -> Any:
        if any(not 0 <= i < n for i, n in zip(index, memory.shape, strict=True)):
            raise Outside(f"{index} of {memory.shape}")
        if isinstance(op.mem.type, ViewType) and op.mem.type.owned:
            key, me = (id(memory), tuple(index)), (self.home.place, self.rank)
            owner, written = self.home.owners.setdefault(key, (me, writes))
            if owner != me and (writes or written):
                raise Shared(f"{index}")
            self.home.owners[key] = me, writes or written
        found = memory[tuple(index)]
        return _signed(int(found), _bits(op.mem.type.element_type)) if found.dtype.kind in "iub" else found


_MEETINGS = (simt_warp.Shuffle, simt_warp.Vote, simt_warp.Match, simt_warp.WarpReduce, simt_warp.Elect)


def _dtype(element: Attribute) -> Any:
    """Integers in memory are signed here: the IR does not tell."""
    if isinstance(element, IntegerType):
        return np.bool_ if element.width.data == 1 else f"i{element.width.data // 8}"
    return _NUMPY[element]


def _held(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value as the array holds it: integers by their bits."""
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        return _natural(value, bits) if dtype.kind == "u" else _signed(value, bits)
    return value
