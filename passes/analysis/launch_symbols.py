"""What has one value in a launch, or one in a block, as symbols: the grid, block ids, extents."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.tile_types import DYNAMIC, BufferType, ViewType
from tileopt.passes.analysis.affine import ONE, Expr, Symbol
from tileopt.passes.analysis.choices import Symbols
from tileopt.passes.analysis.ranges import Interval

GRID_MAX = 2**31 - 1
GRID_TOTAL_MAX = 2**48
BYTES_MAX = 2**62
SMALL_MAX = 2**31 - 1
Sizes = frozenset[tuple[int, int]]  # extents (argument, axis) and integer arguments (argument, -1)


class LaunchSymbols:
    """The symbols of one kernel's launches. Sizes in `positive` are at least 1."""

    def __init__(self, kernel: KernelOp, positive: Sizes) -> None:
        self.kernel = kernel
        self.positive = positive
        self.symbols = Symbols()
        self.launch: dict[tuple[str, int], Expr] = {}  # threads and block extents, by axis
        self._bids: dict[int, Expr] = {}
        self._grid: dict[int, Expr] = {}
        self._dims: dict[tuple[SSAValue, int], Expr] = {}

    def dim(self, view: SSAValue, axis: int) -> Expr:
        """The extent of an array, or of a tile in shared memory."""
        if isinstance(view.type, BufferType):
            return Expr.constant(view.type.get_shape()[axis])
        if (view, axis) not in self._dims:
            type_ = view.type
            assert isinstance(type_, ViewType)
            dims = [self._make_dim(view, type_, a) for a in range(type_.rank)]
            self._dims |= {(view, a): dim for a, dim in enumerate(dims)}
            if type_.rank > 1:
                room = Expr.constant(BYTES_MAX // (bit_width(type_.element_type) // 8))
                for dim in dims:
                    for symbol in dim.symbols():
                        symbol.relations.append(room - prod(dims, start=ONE))
        return self._dims[view, axis]

    def bid(self, axis: int) -> Expr:
        """The block's id along a grid axis."""
        if axis not in self._bids:
            symbol = self.symbols.leaf("bid", f"bid({axis})", Interval(0, GRID_MAX - 1))
            self._bids[axis] = Expr.symbol(symbol)
            symbol.relations.append(self.num_blocks(axis) - self._bids[axis] - 1)
        return self._bids[axis]

    def num_blocks(self, axis: int) -> Expr:
        """The grid's extent along an axis."""
        if not self._grid:
            grid = [self.symbols.leaf("num_blocks", f"num_blocks({a})", Interval(1, GRID_MAX)) for a in range(3)]
            for symbol in grid:
                own = Expr.symbol(symbol)
                others = [Expr.symbol(s) for s in grid if s is not symbol]
                products = [own * others[0], own * others[1], own * others[0] * others[1]]
                symbol.relations += [Expr.constant(GRID_TOTAL_MAX) - p for p in products]
            self._grid = {a: Expr.symbol(s) for a, s in enumerate(grid)}
        return self._grid[axis]

    def used_bids(self) -> dict[int, Symbol]:
        """The block ids that the kernel asked for, by axis."""
        return {axis: next(iter(e.symbols())) for axis, e in self._bids.items()}

    def _make_dim(self, view: SSAValue, type_: ViewType, axis: int) -> Expr:
        static = type_.get_shape()[axis]
        if static != DYNAMIC:
            return Expr.constant(static)
        index = getattr(view, "index", -1) if view.owner is self.kernel.body.block else -1
        contract = self.kernel.contract(index) if index >= 0 else None
        most = BYTES_MAX // (bit_width(type_.element_type) // 8)
        if contract is not None and contract.small:
            most = min(most, SMALL_MAX)
        divisor = 1 if contract is None else contract.shape_div[axis]
        name = self.kernel.arg_name(index) if index >= 0 else (view.name_hint or "array")
        label = f"{name}.shape[{axis}]" + (f"/{divisor}" if divisor > 1 else "")
        least = 1 if (index, axis) in self.positive else 0
        return Expr.symbol(self.symbols.leaf("dim", label, Interval(least, most // divisor)), divisor)
