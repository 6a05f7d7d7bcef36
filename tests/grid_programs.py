"""Random kernels that store or load tiles at computed offsets, and a run of all blocks at once with NumPy.

The run knows nothing of the analysis: it evaluates the IR in wrapping 64-bit integers, for every block of a small grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from tileopt.dialects import simt, simt_thread, tile
from tileopt.dialects.contracts import ArraySpec, ContractAttr
from tileopt.dialects.kernel import BLOCK, CONTRACT, NAME
from tileopt.dialects.tile_types import DYNAMIC, ViewType
from tileopt.dialects.tile_types import Access as Holding

Numbers = np.ndarray[Any, np.dtype[np.int64]]
TRIPS_MAX = 8


@dataclass
class GridProgram:
    """A random kernel over one owned array `out` and an integer `n`."""

    random: Random
    bounds: bool = False  # with accesses that conditions keep inside the array
    threads: bool = False  # a SIMT kernel, whose threads access elements
    rank: int = 0
    extents: tuple[int, ...] = ()
    divisors: tuple[int, ...] = ()
    axes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        r = self.random
        self.rank = r.choice([1, 1, 2])
        self.extents = tuple(1 if self.threads else r.choice([1, 2, 3, 4]) for _ in range(self.rank))
        self.divisors = tuple(r.choice([1, 1, 2, 4]) for _ in range(self.rank))
        self.axes = r.choice([[0], [0], [0, 1], [1], [0, 1, 2]])
        static = r.random() < 0.2
        shape = [8 if static else DYNAMIC for _ in range(self.rank)]
        self.view = ViewType.of(shape, f32, Holding.OWNED)
        ones = (1,) * self.rank
        self.stride_divisors = tuple(r.choice([1, 2, 4, 16]) for _ in range(self.rank - 1)) + (1,)
        self.align = r.choice([4, 8, 16])
        div = self.divisors if not static else ones
        spec = ArraySpec("f32", self.rank, self.align, self.rank - 1, div, self.stride_divisors, small=True)
        attrs = [{NAME: StringAttr("out"), CONTRACT: ContractAttr.of(spec)}, {NAME: StringAttr("n")}]
        self.level: Any = simt if self.threads else tile
        self.shape_of_block = r.choice([(4, 1, 1), (3, 2, 1), (1, 1, 1)]) if self.threads else (1, 1, 1)
        block = {BLOCK: DenseArrayBase.from_list(i64, self.shape_of_block)} if self.threads else {}
        self.kernel = self.level.Kernel.make("random", [self.view, i64], None, attrs, block)
        self.block = self.kernel.body.block
        self.out, self.n = self.block.args
        self.numbers: list[SSAValue] = []
        self.sizes: list[SSAValue] = []
        self.body()
        self.block.add_op(self.level.Return.create())

    # Making ops

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(value, i64)))

    def op(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add(kind.create(operands=[a, b], result_types=[i64]))

    def query(self, kind: type[Operation], axis: int, *operands: SSAValue) -> SSAValue:
        return self.add(kind.create(operands=operands, properties={"axis": IntegerAttr(axis, i64)}, result_types=[i64]))

    def body(self) -> None:
        r = self.random
        self.bids = [self.query(simt.BlockId if self.threads else tile.Bid, axis) for axis in self.axes]
        self.numbers = list(self.bids)
        for axis, extent in enumerate(self.shape_of_block):
            if extent > 1:
                place = self.query(simt_thread.ThreadIdx, axis)
                if axis < len(self.bids) and r.random() < 0.7:
                    at = self.op(arith.MuliOp, self.bids[axis], self.const(max(1, extent + r.choice([-1, 0, 0, 0, 1]))))
                    self.numbers.remove(self.bids[axis])
                    place = self.bids[axis] = self.op(arith.AddiOp, at, place)
                self.numbers.append(place)
        for axis in range(self.rank):
            dim = self.query(self.level.Dim, axis, self.out)
            self.sizes += [dim, self.tiles(dim, self.extents[axis])]
        self.sizes += [self.add(arith.MaxSIOp(self.n, self.const(1)))]
        if r.random() < 0.5:
            self.sizes.append(self.op(arith.MuliOp, r.choice(self.sizes), self.const(r.choice([2, 3]))))
        for _ in range(r.randint(0, 3)):
            self.step()
        if self.bounds:
            self.within()
        shape = r.random()
        if shape < 0.3:
            self.in_loop()
        elif shape < 0.45:
            self.guarded()
        else:
            self.store()

    def tiles(self, dim: SSAValue, extent: int) -> SSAValue:
        return self.op(arith.FloorDivSIOp, self.op(arith.AddiOp, dim, self.const(extent - 1)), self.const(extent))

    def number(self) -> SSAValue:
        return self.random.choice(self.numbers)

    def divisor(self) -> SSAValue:
        if self.random.random() < 0.6:
            return self.const(self.random.choice([2, 2, 3, 4]))
        size = self.random.choice(self.sizes)
        return self.add(arith.MaxSIOp(size, self.const(1))) if self.random.random() < 0.7 else size

    def step(self) -> None:
        """Adds one or two numbers made of the ones before."""
        r = self.random
        choice = r.random()
        x = self.number()
        if choice < 0.5:
            d = self.divisor()
            division = r.choice([(arith.FloorDivSIOp, arith.RemSIOp), (arith.DivSIOp, arith.RemSIOp)])
            self.numbers.remove(x)
            # Division by 0 has no meaning, so a divisor that may be 0 is kept from it as frontends do.
            safe = self.add(arith.SelectOp(self.add(arith.CmpiOp(d, self.const(0), 0)), self.const(1), d))
            self.numbers += [self.op(kind, x, safe) for kind in division]
            if r.random() < 0.15:
                self.numbers.append(x)
        elif choice < 0.75:
            factor = self.const(r.choice([1, 2, 3, 4, 8])) if r.random() < 0.7 else r.choice(self.sizes)
            y = self.number()
            self.numbers.remove(x)
            if y in self.numbers and len(self.numbers) > 1:
                self.numbers.remove(y)
            self.numbers.append(self.op(arith.AddiOp, self.op(arith.MuliOp, x, factor), y))
        elif choice < 0.85:
            self.numbers.append(
                self.op(r.choice([arith.SubiOp, arith.AddiOp]), x, r.choice([self.number(), *self.sizes]))
            )
        elif choice < 0.93:
            self.numbers.append(
                self.op(r.choice([arith.MinSIOp, arith.MaxSIOp]), x, r.choice([self.number(), *self.sizes]))
            )
        else:
            self.grouped(x)

    def grouped(self, x: SSAValue) -> None:
        """The order of tiles in groups of rows that GEMMs use."""
        r = self.random
        rows, columns = self.sizes[1], self.sizes[-2]
        g = self.const(r.choice([2, 3]))
        group = self.add(arith.MaxSIOp(self.op(arith.MuliOp, columns, g), self.const(1)))
        first = self.op(arith.MuliOp, self.op(arith.DivSIOp, x, group), g)
        size = self.op(arith.MinSIOp, self.op(arith.SubiOp, rows, first), g)
        size = self.add(arith.MaxSIOp(size, self.const(1))) if r.random() < 0.6 else size
        safe = self.add(arith.SelectOp(self.add(arith.CmpiOp(size, self.const(0), 3)), self.const(1), size))
        inside = self.op(arith.RemSIOp, x, group)
        which = inside if r.random() < 0.7 else x
        self.numbers = [
            self.op(arith.AddiOp, first, self.op(arith.RemSIOp, which, safe)),
            self.op(arith.DivSIOp, inside, safe),
        ]

    def offsets(self) -> list[SSAValue]:
        r = self.random
        picked = r.sample(self.numbers, self.rank) if len(self.numbers) >= self.rank else [self.number()] * self.rank
        found = []
        for number, extent in zip(picked, self.extents, strict=True):
            factor = r.choice([extent, extent, extent, extent, extent + 1, max(1, extent - 1), 1])
            offset = self.op(arith.MuliOp, number, self.const(factor))
            found.append(
                self.op(arith.AddiOp, offset, self.const(r.choice([-1, 1, 2]))) if r.random() < 0.2 else offset
            )
        return found

    def tensor(self) -> TensorType[Any]:
        return TensorType(f32, self.extents)

    def store(self) -> None:
        r = self.random
        for _ in range(1 if r.random() < 0.8 else 2):
            offsets = self.offsets()
            zero = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(self.tensor(), [0.0]))
            if self.threads:
                zero = arith.ConstantOp(FloatAttr(0.0, f32))
            self.add(zero)
            kind = simt_thread.ElementStore if self.threads else tile.Store
            self.block.add_op(kind.create(operands=[zero.result, self.out, *offsets]))
        if r.random() < 0.25:
            self.load(offsets if r.random() < 0.6 else self.offsets())

    def load(self, offsets: list[SSAValue]) -> None:
        kind, result = (simt_thread.ElementLoad, f32) if self.threads else (tile.Load, self.tensor())
        self.add(kind.create(operands=[self.out, *offsets], result_types=[result]))

    def nested(self, arguments: int, fill: Callable[[Block], None]) -> Region:
        outer, numbers, sizes = self.block, list(self.numbers), list(self.sizes)
        self.block = Block(arg_types=[i64] * arguments)
        fill(self.block)
        self.block.add_op(scf.YieldOp())
        inner, self.block, self.numbers, self.sizes = self.block, outer, numbers, sizes
        return Region(inner)

    def in_loop(self) -> None:
        r = self.random
        persistent = r.random() < 0.5
        if persistent:
            axis = r.choice(self.axes)
            end = r.choice(self.sizes)
            if r.random() < 0.5:
                end = self.op(arith.MuliOp, end, r.choice(self.sizes))
            bid = self.bids[self.axes.index(axis)]
            trips = 1
            lb, ub, step = bid, end, self.query(simt.GridDim if self.threads else tile.NumBlocks, axis)
            if self.threads:
                step = self.op(arith.MuliOp, step, self.const(self.shape_of_block[axis]))
        else:
            trips = r.choice([1, 2, 3, 4])
            lb, ub, step = self.const(0), self.const(trips), self.const(r.choice([1, 1, 1, 2]))

        def fill(body: Block) -> None:
            if persistent:
                bids = [b for b in self.bids if b is not lb]
                self.numbers = [body.args[0], *bids]
                for _ in range(r.randint(0, 2)):
                    self.step()
            else:
                x = self.number()
                self.numbers.remove(x)
                factor = self.const(max(1, trips + r.choice([-1, 0, 0, 0, 1])))
                self.numbers.append(self.op(arith.AddiOp, self.op(arith.MuliOp, x, factor), body.args[0]))
            self.store()

        self.block.add_op(scf.ForOp(lb, ub, step, [], self.nested(1, fill)))

    def within(self) -> None:
        """An access to a tile that conditions keep inside the array, or nearly so."""
        r = self.random
        axis = r.randrange(self.rank)
        dim, extent = self.sizes[2 * axis], self.const(self.extents[axis])
        whole = self.op(arith.DivSIOp, dim, extent)
        end = r.choice([whole, self.sizes[2 * axis + 1], dim])

        def fill(body: Block) -> None:
            offsets = [self.const(r.choice([0, 0, 1])) for _ in range(self.rank)]
            counted = self.numbers[-1] if body is self.kernel.body.block else body.args[0]
            factor = self.const(r.choice([self.extents[axis], self.extents[axis], 1]))
            offsets[axis] = self.op(arith.MuliOp, counted, factor)
            self.load(offsets)
            last = self.op(arith.AddiOp, offsets[axis], extent)
            test = self.add(arith.CmpiOp(last, dim, r.choice([2, 3])))
            if r.random() < 0.3:
                other = self.add(arith.CmpiOp(self.number(), self.number(), 2))
                test = self.add(arith.AndIOp(test, other))

            def inner(_: Block) -> None:
                self.load(offsets)

            self.block.add_op(scf.IfOp(test, [], self.nested(0, inner)))

        if r.random() < 0.6:
            start = self.const(r.choice([0, 0, 1]))
            self.block.add_op(scf.ForOp(start, end, self.const(r.choice([1, 1, 2])), [], self.nested(1, fill)))
        else:
            clamped = self.op(arith.MinSIOp, self.number(), self.op(arith.SubiOp, end, self.const(1)))
            self.numbers.append(self.add(arith.MaxSIOp(clamped, self.const(0))) if r.random() < 0.5 else clamped)
            fill(self.block)

    def guarded(self) -> None:
        r = self.random
        limit = self.const(r.choice([0, 1, 2])) if r.random() < 0.6 else r.choice(self.sizes)
        test = self.add(arith.CmpiOp(self.number(), limit, r.choice([0, 0, 1, 2, 3, 5])))

        def fill(_: Block) -> None:
            self.store()

        other = self.nested(0, fill) if r.random() < 0.3 else Region()
        self.block.add_op(scf.IfOp(test, [], self.nested(0, fill), other))


Access: TypeAlias = tile.Load | tile.Store | simt_thread.ElementLoad | simt_thread.ElementStore
STORES = (tile.Store, simt_thread.ElementStore)


@dataclass
class Event:
    """One access by all blocks: where each begins, and which blocks make it."""

    op: Access
    offsets: list[Numbers]
    active: np.ndarray[Any, np.dtype[np.bool_]]


class GridRun:
    """All blocks of one launch."""

    def __init__(self, program: GridProgram, dims: tuple[int, ...], n: int, grid: tuple[int, int, int]) -> None:
        self.program, self.dims, self.grid, self.n = program, dims, grid, n
        extents = (*grid, *program.shape_of_block)
        ids = np.stack(np.unravel_index(np.arange(np.prod(extents)), extents)).astype(np.int64)
        self.blocks, self.places, self.count = ids[:3], ids[3:], ids.shape[1]
        self.values: dict[SSAValue, Numbers] = {program.n: self.full(n)}
        self.events: list[Event] = []
        self.cut = False  # a loop was too long to be run to its end
        with np.errstate(over="ignore", divide="ignore"):
            self.run(program.kernel.body.block, np.ones(self.count, np.bool_))

    def allowed(self) -> bool:
        """Whether a launch would be let through: more than one block only where the sizes required are positive."""
        texts = self.program.kernel.attributes.get("simt.requires")
        for text in texts.data if isinstance(texts, ArrayAttr) else ():
            assert isinstance(text, StringAttr)
            array = SimpleNamespace(shape=self.dims)
            if not eval(text.data, {"out": array, "n": self.n, "grid": self.grid}):
                return False
        return True

    def full(self, value: int) -> Numbers:
        return np.full(self.count, value, np.int64)

    def run(self, block: Block, active: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        for op in block.ops:
            if isinstance(op, Access):
                offsets = op.offsets if isinstance(op, tile.Load | tile.Store) else op.indices
                self.events.append(Event(op, [self.values[o].copy() for o in offsets], active.copy()))
            elif isinstance(op, scf.ForOp):
                self.loop(op, active)
            elif isinstance(op, scf.IfOp):
                test = self.values[op.cond] != 0
                self.run(op.true_region.block, active & test)
                if op.false_region.blocks.first is not None:
                    self.run(op.false_region.block, active & ~test)
            elif op.results and op.results[0].type not in (self.program.tensor(), f32):
                self.values[op.results[0]] = self.compute(op)

    def loop(self, op: scf.ForOp, active: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        value = self.values[op.lb].copy()
        for _ in range(TRIPS_MAX):
            going = active & (value < self.values[op.ub])
            if not going.any():
                return
            self.values[op.body.block.args[0]] = value.copy()
            self.run(op.body.block, going)
            value = value + self.values[op.step]
        self.cut = True

    def compute(self, op: Operation) -> Numbers:
        if isinstance(op, tile.Bid | simt.BlockId):
            return self.blocks[op.axis.value.data]
        if isinstance(op, simt_thread.ThreadIdx):
            return self.places[op.axis.value.data]
        if isinstance(op, tile.NumBlocks | simt.GridDim):
            return self.full(self.grid[op.axis.value.data])
        if isinstance(op, tile.Dim | simt.Dim):
            return self.full(self.dims[op.axis.value.data])
        if isinstance(op, arith.ConstantOp):
            value = op.properties["value"]
            assert isinstance(value, IntegerAttr)
            return self.full(value.value.data)
        a = [self.values[o] for o in op.operands]
        if isinstance(op, arith.SelectOp):
            return np.where(a[0] != 0, a[1], a[2])
        if isinstance(op, arith.CmpiOp):
            tests = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
            return tests[op.predicate.value.data](a[0], a[1]).astype(np.int64)
        return _BINARY[type(op)](a[0], a[1])

    def paint(self, event: Event, canvas: np.ndarray[Any, np.dtype[np.int64]]) -> bool:
        """Marks what each block touches. Whether an element was marked by another block."""
        extents = self.program.extents
        clash = False
        for block in np.flatnonzero(event.active):
            ends = zip(event.offsets, extents, self.dims, strict=True)
            part = tuple(slice(max(0, int(o[block])), max(0, min(int(o[block]) + e, d))) for o, e, d in ends)
            touched = canvas[part]
            clash |= bool(((touched >= 0) & (touched != block)).any())
            if isinstance(event.op, STORES):
                canvas[part] = block
        return clash

    def collides(self) -> bool:
        """Whether two blocks write one element, or one reads what another writes."""
        canvas = np.full(self.dims, -1, np.int64)
        stores = [e for e in self.events if isinstance(e.op, STORES)]
        loads = [e for e in self.events if not isinstance(e.op, STORES)]
        clashes = [self.paint(e, canvas) for e in stores + loads]
        return any(clashes)


def _truncated(a: Numbers, b: Numbers) -> Numbers:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


_BINARY: dict[type[Operation], Callable[[Numbers, Numbers], Numbers]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.AndIOp: np.bitwise_and,
    arith.MinSIOp: np.minimum,
    arith.MaxSIOp: np.maximum,
    arith.FloorDivSIOp: np.floor_divide,
    arith.DivSIOp: _truncated,
    arith.RemSIOp: lambda a, b: a - b * _truncated(a, b),
}


def launches(program: GridProgram, random: Random, count: int) -> list[GridRun]:
    """Runs of the program on small arrays and grids; the grid has extent 1 on axes that the program does not use."""
    found = []
    for _ in range(count):
        shape = program.view.get_shape()
        dims = tuple(
            s if s != DYNAMIC else random.choice([0, 1, 2, 3, 4]) * d * random.choice([1, 1, 2])
            for s, d in zip(shape, program.divisors, strict=True)
        )
        asked = (op for op in program.kernel.walk() if isinstance(op, tile.Bid | simt.BlockId) and any(op.result.uses))
        used = {op.axis.value.data for op in asked}
        sizes = [random.randint(1, {0: 1, 1: 9, 2: 4, 3: 3}[len(used)]) if axis in used else 1 for axis in (0, 1, 2)]
        run = GridRun(program, dims, random.choice([0, 1, 2, 3, -1]), (sizes[0], sizes[1], sizes[2]))
        if run.allowed():
            found.append(run)
    return found
