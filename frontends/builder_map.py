"""`tile.map_simt`: builds the region that a function of threads makes, in the middle of a tile kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Region

from tileopt.dialects import simt, tile
from tileopt.dialects.layout import WARP_SIZE
from tileopt.frontends.builder import Tiles
from tileopt.frontends.builder_barriers import Barriers
from tileopt.frontends.builder_threads import Threads
from tileopt.frontends.builder_values import I32, I64, Value, Weak, constant_attr, fit, ir_type
from tileopt.frontends.launch_contract import LaunchContract


class MapBuilder(Barriers):
    """Builds in the kernel of another builder: the same places and constants, heads of its own for each region."""

    def __init__(self, outer: Tiles) -> None:
        # Not as a kernel of its own: parameters and arguments are the outer one's.
        Threads.__init__(self, outer.name, (), {}, LaunchContract(grid_rank=3), outer.hints)
        self.stores = []
        self._shared = 0
        self.outer = outer
        self.entry, self._places, self._constants = outer.entry, outer._places, outer._constants
        self._last_constant = outer._last_constant
        self.location = outer.location

    def lane_index(self) -> Value:
        """The lane: the index along the axis of the map, modulo 32."""

        def make() -> Value:
            thread = self.emit_value(simt.ThreadId, [], I32, (), None, 0)
            return self.cast(self.binary("and", thread, WARP_SIZE - 1), I64)

        return self.at_head(("lane",), make)

    def region(
        self, arguments: Sequence[Value], body: Callable[[list[Value]], list[Value]]
    ) -> tuple[Block, list[Value]]:
        """The block that `body` fills from the elements of tiles, and what it yields."""
        block, elements = self.new_block([(v.dtype, ()) for v in arguments])
        self.head, self._ids, self._known = Block(), {}, {}
        try:
            with self.into(block):
                results = body(elements)
                operands = [self.ssa(v) for v in results]
                self.emit(tile.MapYield, operands, [])
        except BaseException:
            self.discard(block)
            raise
        finally:
            self.outer._last_constant = self._last_constant
        head = list(self.head.ops)
        for op in head:
            op.detach()  # type: ignore[no-untyped-call]
        assert block.first_op is not None
        block.insert_ops_before(head, block.first_op)
        return block, results


def finish_map(
    builder: Tiles,
    tiles: Sequence[Value],
    block: Block,
    results: Sequence[Value],
    axis: int | None,
    padding: Sequence[Attribute] | None,
) -> list[Value]:
    """The map of tiles of one shape by a block; gives the tiles of its results."""
    shape = tiles[0].shape
    properties: dict[str, Attribute] = {}
    if axis is not None:
        properties["axis"] = IntegerAttr(axis, i64)
        if padding is not None:
            properties["padding"] = ArrayAttr(padding)
    types = [ir_type(v.dtype, shape) for v in results]
    op = builder.emit(tile.MapSimt, [builder.ssa(t) for t in tiles], types, properties, [Region(block)])
    return [Value(v.dtype, shape, out) for v, out in zip(results, op.results, strict=True)]


def padding_attr(builder: Tiles, tile_: Value, padding: Weak | str) -> Attribute:
    """The padding of one tile. Raises KernelTypeError (`type/padding`)."""
    found = builder._padding(tile_.dtype, padding)
    if found is not None:
        return found
    zero = fit(0, tile_.dtype)
    assert zero is not None
    return constant_attr(zero, tile_.dtype)
