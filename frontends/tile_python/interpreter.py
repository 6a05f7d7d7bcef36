"""Reads tile kernels: the tile track's functions, and the attributes, methods and indices of tiles and arrays."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tileopt.frontends.builder import Array, Tiles, Value, Weak
from tileopt.frontends.python import MARK
from tileopt.frontends.python.base import close_match
from tileopt.frontends.python.objects import BoundMethod, name_of
from tileopt.frontends.python.track import TrackInterpreter, signature_of
from tileopt.frontends.tile_python.functions import FUNCTIONS
from tileopt.frontends.tile_python.intrinsics import INTRINSICS
from tileopt.frontends.tile_python.tile_type import Tile

_ARRAY_ATTRIBUTES = ("shape", "dtype", "ndim")
_TILE_ATTRIBUTES = ("shape", "dtype", "ndim", "size", "T")
METHODS = (
    "astype", "reshape", "transpose", "broadcast_to", "expand_dims", "item", "sum", "prod", "max", "min", "any", "all",
)  # fmt: skip
# Methods and attributes of NumPy's arrays and Triton's tensors that go by another name here.
_OTHER_NAMES = {
    "to": "astype", "view": "reshape", "cast": "astype", "trans": "T", "permute": "transpose",
    "size": "shape", "squeeze": "reshape", "unsqueeze": "expand_dims",
}  # fmt: skip


class TileInterpreter(TrackInterpreter):
    """The interpreter of the tile track."""

    track = "tile"
    intrinsics = INTRINSICS

    def __init__(self, builder: Tiles) -> None:
        super().__init__(builder)
        self.tiles = builder

    @property
    def functions(self) -> Mapping[str, object]:
        return FUNCTIONS

    # Calls

    def help_for_arguments(self, name: str, args: Sequence[object]) -> str | None:
        if name in ("load", "store", "load_at", "store_at") and len(args) > 2 and isinstance(args[0], Array):
            if args[0].rank > 1 and all(isinstance(a, Value | int) for a in args[1:3]):
                rest = "(M, N)" if name.startswith("load") else "value"
                return f"the index is one tuple: tile.{name}({args[0].name}, (i, j), {rest})"
        return None

    def intrinsic(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        if getattr(function, MARK) == "map_simt":
            from tileopt.frontends.tile_python.map_functions import map_simt

            fn, rest, axis, padding = self.arguments("map_simt", signature_of(function, False), args, kwargs)
            assert isinstance(rest, tuple)
            return map_simt(self, fn, rest, axis, padding, node)
        return super().intrinsic(function, args, kwargs, node)

    def method(
        self, bound: BoundMethod, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        name, receiver = bound.name, bound.receiver
        if name in ("reshape", "transpose"):
            # As NumPy's: x.reshape(2, 3) and x.reshape((2, 3)).
            shape: object = kwargs.get("shape", kwargs.get("axes", tuple(args)))
            if len(args) == 1 and isinstance(args[0], tuple):
                shape = args[0]
            return INTRINSICS[name](self, receiver, None if name == "transpose" and not shape else shape)
        arguments = self.arguments(name, signature_of(getattr(Tile, name), True), args, kwargs)
        return INTRINSICS[name](self, receiver, *arguments)

    # Attributes and indices

    def attribute(self, thing: Any, name: str, node: ast.AST) -> object:
        if isinstance(thing, Array):
            if name in ("ndim", "dtype"):
                return thing.rank if name == "ndim" else thing.dtype
            if name == "shape":
                return tuple(self.tiles.dim(thing, axis) for axis in range(thing.rank))
            help = close_match(name, _ARRAY_ATTRIBUTES)
            if name in METHODS or name in ("T", "size"):
                help = f"an array is not a tile: take one with tile.load({thing.name}, index, shape)"
            raise self.fail("name/attribute", f"the array '{thing.name}' has no '{name}'", help)
        if isinstance(thing, Value):
            return self._tile_attribute(thing, name)
        return super().attribute(thing, name, node)

    def _tile_attribute(self, value: Value, name: str) -> object:
        if name in METHODS:
            return BoundMethod(value, name)
        match name:
            case "shape":
                return value.shape
            case "dtype":
                return value.dtype
            case "ndim":
                return len(value.shape)
            case "size":
                return math.prod(value.shape)
            case "T":
                return self.builder.transpose(value)
        help = close_match(name, [*METHODS, *_TILE_ATTRIBUTES])
        if name in _OTHER_NAMES:
            help = f"here it is called '{_OTHER_NAMES[name]}'"
        elif name in INTRINSICS:
            help = f"it is a function: tile.{name}(x)"
        raise self.fail("name/attribute", f"a {value} has no '{name}'", help)

    def evaluate(self, node: ast.expr) -> object:
        # `x.shape[i]` asks for one extent, not for all.
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            thing = super().evaluate(node.value.value)
            if isinstance(thing, Array) and not isinstance(node.slice, ast.Slice):
                axis = self.evaluate(node.slice)
                self.at(node)
                return self.tiles.dim(thing, self.known_int(axis, "the axis of a shape"))
            if not isinstance(thing, Array):
                self.at(node)
                return self.take(self.attribute(thing, "shape", node), node)
        return super().evaluate(node)

    def length(self, thing: object) -> object:
        if isinstance(thing, Array):
            return self.tiles.dim(thing, 0)
        return super().length(thing)

    def subscript(self, thing: object, index: object, node: ast.Subscript) -> object:
        if isinstance(thing, Array):
            raise self.unsupported(
                "index",
                f"the array '{thing.name}' cannot be indexed",
                f"take a tile with tile.load({thing.name}, index, shape); one element is .item() of a tile of one",
            )
        if not isinstance(thing, Value):
            return super().subscript(thing, index, node)
        shape: list[int] = []
        rest = list(thing.shape)
        items = index if isinstance(index, tuple) else (index,)
        if Ellipsis in items:
            at = items.index(Ellipsis)
            given = sum(1 for i in items if i is not None) - 1
            items = (*items[:at], *[slice(None)] * (len(rest) - given), *items[at + 1 :])
        for item in items:
            if item is None:
                shape.append(1)
            elif item == slice(None) and rest:
                shape.append(rest.pop(0))
            else:
                raise self.unsupported(
                    "index",
                    f"a {thing} indexed by {name_of(item) if not isinstance(item, slice) else 'a slice'}",
                    "x[:, None] adds an axis; parts of a tile are loaded, reduced, or chosen by where()",
                )
        return self.builder.reshape(thing, [*shape, *rest])

    # Arguments

    def tile(self, thing: object, what: str) -> Value:
        """A tile."""
        value = self.value(thing, what)
        if value.is_scalar:
            raise self.mistyped("type/operand", f"{what} needs a tile, not a {value}")
        return value

    def is_known_int(self, thing: object) -> bool:
        return isinstance(thing, int) or (isinstance(thing, Value) and isinstance(thing.const, int))

    def index(self, thing: object, array: Array) -> list[Value | Weak]:
        """The index of a load or store: a tuple, or one scalar for an array of rank 1."""
        items = thing if isinstance(thing, tuple) else (thing,)
        return [self.number(item, f"the index of '{array.name}'") for item in items]

    def shape(self, thing: object, what: str) -> list[int]:
        """Compile-time integers: a tuple, or one."""
        items = thing if isinstance(thing, tuple) else (thing,)
        return [self.known_int(item, what) for item in items]
