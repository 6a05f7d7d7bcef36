"""Reads the function of `tile.map_simt`: the SIMT track's language on one element of each tile."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.builder_map import MapBuilder, finish_map, padding_attr
from tileopt.frontends.builder_memory import Buffer, Memory
from tileopt.frontends.python import MARK
from tileopt.frontends.python.intrinsics import SHARED
from tileopt.frontends.python.objects import flatten, is_number, name_of, rebuild
from tileopt.frontends.simt_python.interpreter import SimtInterpreter

if TYPE_CHECKING:
    from tileopt.frontends.tile_python.interpreter import TileInterpreter

_LANES = frozenset((
    "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "any_sync", "all_sync", "ballot", "match_any", "match_all",
    "warp_reduce", "elect", "active_mask", "lane_mask", "lane_index",
))  # fmt: skip
_MEETINGS = {
    "barrier": "a barrier", "syncthreads": "a barrier", "syncwarp": "a barrier of the warp", "fence": "a fence",
    "shared": "shared memory", "dynamic_shared": "shared memory",
}  # fmt: skip
_THREADS = frozenset((
    "thread_index", "thread_index_2d", "thread_index_3d", "thread_idx", "thread_rank", "warp_index", "warp_rank",
    "block_dim", "grid_stride",
))  # fmt: skip


_ALLOWED = frozenset((
    *SHARED, *_LANES, "popc", "clz", "ffs", "brev", "bitcast", "block_idx", "block_rank", "grid_dim", "constant",
)) - {"printf"}  # fmt: skip


class MapInterpreter(SimtInterpreter):
    """The interpreter of functions of threads inside a tile kernel."""

    def __init__(self, builder: MapBuilder, outer: TileInterpreter, axis: int | None) -> None:
        super().__init__(builder)
        self.frames = outer.frames  # errors name the calls on the way here
        self.copies = outer.copies
        self.axis = axis
        self.depth = len(outer.frames)

    def evaluate(self, node: ast.expr) -> object:
        thing = super().evaluate(node)
        if isinstance(node, ast.Name) and isinstance(thing, Value) and thing.shape:
            raise self.fail(
                "map/captured-tile",
                f"'{node.id}' is a {thing} of the kernel, and a function of threads sees one element of each tile",
                "pass it to map_simt() as an argument",
                node,
            )
        return thing

    def intrinsic(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        name = getattr(function, MARK)
        if name in _MEETINGS:
            what = _MEETINGS[name]
            help = "lanes exchange values by shuffles, under axis=; whole tiles are reduced by tile.sum() and its kin"
            raise self.fail("map/meeting", f"{what} in a function of map_simt(): the tile's threads meet outside", help)
        if name in _THREADS:
            raise self.fail(
                "map/thread",
                f"{name}() in a function of map_simt(): which thread holds an element is the compiler's choice",
                "pass the element's place as a tile, for example tile.arange(n); under axis= there is lane_index()",
            )
        if name in _LANES and self.axis is None:
            raise self.fail(
                "map/lanes",
                f"{name}() in a function of map_simt() without axis=: nothing says which elements the lanes hold",
                "write map_simt(fn, ..., axis=k): then lane l holds the elements l, l + 32, ... along axis k",
            )
        if name.startswith("atomic_"):
            raise self.fail("map/memory", f"{name}() in a function of map_simt(), which gives values alone")
        if name in self.intrinsics and name not in _ALLOWED:
            raise self.fail("map/function", f"{name}() in a function of map_simt(), which only makes values of values")
        if name not in self.intrinsics:
            raise self.unsupported("call", f"'{name}' is not a function of threads", self.help_for_foreign(name))
        return super().intrinsic(function, args, kwargs, node)

    def bind(self, target: ast.expr, thing: object) -> None:
        if isinstance(target, ast.Subscript):
            self.at(target)
            raise self._store(target)
        super().bind(target, thing)

    def _update(self, target: ast.Subscript, node: ast.AugAssign) -> None:
        self.at(target)
        raise self._store(target)

    def _store(self, target: ast.Subscript) -> OwnershipError:
        name = name_of(self.evaluate(target.value))
        return OwnershipError(
            "map/memory",
            f"a function of map_simt() stores to {name}: an element of a tile has no place in an array of its own",
            location=self.builder.location,
            help="return the value, and store the tile that map_simt() gives",
        )

    def memory(self, thing: object, what: str) -> Memory:
        made = super().memory(thing, what)
        self._check_readable(made)
        return made

    def _take(self, memory: Memory, places: Sequence[Any]) -> object:
        self._check_readable(memory)
        return super()._take(memory, places)

    def _check_readable(self, memory: Memory) -> None:
        base = memory if isinstance(memory, Array) else memory.base
        if isinstance(base, Buffer):
            raise OwnershipError(
                "map/memory",
                "a function of map_simt() reads elements of shared memory, whose threads meet outside",
                location=self.builder.location,
                help="take a tile of it with tile.load(shared), and pass that",
            )
        if base.kind is not ParamKind.IN:
            raise OwnershipError(
                "map/memory",
                f"a function of map_simt() reads elements of '{base.name}', which this kernel writes: other blocks may "
                "be writing them",
                location=self.builder.location,
                help=f"declare it as '{base.name}: tile.In', or load tiles of it and pass them",
            )


def map_simt(it: TileInterpreter, fn: Any, args: Sequence[Any], axis: Any, padding: Any, node: ast.expr) -> object:
    """What `tile.map_simt()` does in a kernel."""
    if not callable(fn) and type(fn).__name__ != "Closure":
        raise it.mistyped("type/operand", f"map_simt() takes a function first, not {name_of(fn)}")
    tiles = _tiles(it, args)
    along = None if axis is None else _axis(it, axis, tiles[0])
    attrs = _paddings(it, padding, tiles, along)
    builder = MapBuilder(it.tiles)
    inner = MapInterpreter(builder, it, along)
    shown: list[object] = []

    def body(elements: list[Value]) -> list[Value]:
        rest = iter(elements)
        given = [next(rest) if isinstance(a, Value) and a.shape else a for a in args]
        result = inner.call(fn, given, {}, node)
        shown.append(result)
        builder.location = it.builder.location
        return _results(it, result)

    block, results = builder.region(tiles, body)
    it.copies = inner.copies
    made = finish_map(it.tiles, tiles, block, results, along, attrs)
    return rebuild(shown[0], made)


def _tiles(it: TileInterpreter, args: Sequence[Any]) -> list[Value]:
    tiles = [a for a in args if isinstance(a, Value) and a.shape]
    if not tiles:
        raise it.mistyped("map/tiles", "map_simt() is given no tile", "it runs the function for each element of tiles")
    for other in tiles[1:]:
        if other.shape != tiles[0].shape:
            raise it.mistyped(
                "map/tiles",
                f"the tiles of map_simt() have one shape, not {tiles[0].shape} and {other.shape}",
                f"write tile.broadcast_to(x, {tiles[0].shape})",
            )
    return tiles


def _axis(it: TileInterpreter, axis: Any, tile: Value) -> int:
    number, rank = it.known_int(axis, "the axis of map_simt()"), len(tile.shape)
    if not -rank <= number < rank:
        raise it.fail("type/axis", f"axis {number} is not an axis of a {tile}")
    return number % rank


def _paddings(it: TileInterpreter, padding: Any, tiles: list[Value], axis: int | None) -> list[Any] | None:
    if isinstance(padding, int | float) and not isinstance(padding, bool) and padding == 0:
        return None
    if axis is None:
        raise it.fail("map/padding", "padding is what lanes past the end of an axis hold", "give axis= as well")
    each = padding if isinstance(padding, tuple) else (padding,) * len(tiles)
    if len(each) != len(tiles):
        raise it.fail("map/padding", f"{len(each)} paddings for {len(tiles)} tiles", "give one, or one for each tile")
    known = [p.const if isinstance(p, Value) else p for p in each]
    for number in known:
        if not isinstance(number, str) and not is_number(number):
            raise it.fail("map/padding", f"a padding is a compile-time number or a name, not {name_of(number)}")
    return [padding_attr(it.tiles, t, n) for t, n in zip(tiles, known, strict=True)]  # type: ignore[arg-type]


def _results(it: TileInterpreter, result: object) -> list[Value]:
    _, leaves = flatten(result)
    if not leaves:
        raise it.mistyped(
            "map/result",
            f"the function of map_simt() gives {name_of(result)}, which is no number",
            "return the element of the result, or a tuple of them",
        )
    return [it.builder.as_value(leaf) for leaf in leaves]


__all__ = ["MapInterpreter", "map_simt"]
