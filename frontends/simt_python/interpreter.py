"""Reads SIMT kernels: the track's functions, and the attributes, methods and elements of arrays and their parts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tileopt.frontends.builder import Array, Tiles, Value, Weak
from tileopt.frontends.builder_barriers import Barriers
from tileopt.frontends.builder_hardware import Remote
from tileopt.frontends.builder_memory import Buffer, Memory, Part
from tileopt.frontends.constant_array import ConstantArray
from tileopt.frontends.python import MARK
from tileopt.frontends.python.base import close_match
from tileopt.frontends.python.expressions import _BINARY
from tileopt.frontends.python.objects import BoundMethod, Items, name_of
from tileopt.frontends.python.track import TrackInterpreter, signature_of
from tileopt.frontends.simt_python.functions import FUNCTIONS
from tileopt.frontends.simt_python.intrinsics import INTRINSICS
from tileopt.frontends.simt_python.parameters import View
from tileopt.frontends.tile_python.functions import FUNCTIONS as TILE_FUNCTIONS

if TYPE_CHECKING:
    from tileopt.frontends.tile_python.interpreter import TileInterpreter

_ATTRIBUTES = ("shape", "dtype", "ndim")
_METHODS = ("row", "col", "window")
# Functions of the tile track that say which block runs.
_OF_THREADS = frozenset(("bid", "num_blocks"))
# Names of CUDA, numba and the tile track that go by another name here.
_OTHER_NAMES = {
    "bid": "simt.block_idx(axis)", "num_blocks": "simt.grid_dim(axis)", "load": "x[i]", "store": "x[i] = value",
    "load_at": "x[i]", "store_at": "x[i] = value", "zeros": "a Python number", "full": "a Python number",
    "sum": "simt.warp_reduce(value), or a loop", "max": "simt.maximum(a, b)", "min": "simt.minimum(a, b)",
    "mma": "a loop", "arange": "range() or simt.grid_stride()",
}  # fmt: skip


class SimtInterpreter(TrackInterpreter):
    """The interpreter of the SIMT track."""

    track = "simt"
    intrinsics = INTRINSICS

    def __init__(self, builder: Barriers) -> None:
        super().__init__(builder)
        self.threads = builder
        self.node: ast.expr = ast.Constant(None)  # the call of the track's function that is read

    @property
    def functions(self) -> Mapping[str, object]:
        return FUNCTIONS

    def intrinsic(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        self.node = node
        name = getattr(function, MARK)
        if name not in self.intrinsics and name in TILE_FUNCTIONS and name not in _OF_THREADS:
            return self.tiles.intrinsic(function, args, kwargs, node)
        return super().intrinsic(function, args, kwargs, node)

    @cached_property
    def tiles(self) -> TileInterpreter:
        """Reads what all threads of the block do together, on tiles."""
        from tileopt.frontends.tile_python.interpreter import TileInterpreter

        assert isinstance(self.threads, Tiles)
        made = TileInterpreter(self.threads)
        made.frames = self.frames
        return made

    def help_for_foreign(self, name: str) -> str | None:
        return f"a thread works on scalars: write {_OTHER_NAMES[name]}" if name in _OTHER_NAMES else None

    def constant_array(self, constant: ConstantArray, name: str, node: ast.AST) -> object:
        return self.threads.constant_array(constant, name)

    # Attributes and methods

    def attribute(self, thing: Any, name: str, node: ast.AST) -> object:
        if isinstance(thing, Array | Part):
            return self._memory_attribute(thing, name)
        if isinstance(thing, Value) and thing.shape:
            return self.tiles.attribute(thing, name, node)
        if isinstance(thing, Value):
            if name == "dtype":
                return thing.dtype
            if name == "astype":
                return BoundMethod(thing, name)
            raise self.fail("name/attribute", f"a {thing} has no '{name}'", close_match(name, ("dtype", "astype")))
        return super().attribute(thing, name, node)

    def _memory_attribute(self, memory: Memory, name: str) -> object:
        match name:
            case "ndim":
                return memory.rank
            case "dtype":
                return memory.base.dtype if isinstance(memory, Part) else memory.dtype
            case "shape":
                return tuple(self._extent(memory, axis) for axis in range(memory.rank))
            case "row" | "col" | "window":
                return BoundMethod(memory, name)
        help = close_match(name, (*_ATTRIBUTES, *_METHODS))
        raise self.fail("name/attribute", f"{name_of(memory)} has no '{name}'", help)

    def _extent(self, memory: Memory, axis: int) -> Value | Weak:
        extent = self.threads.extent(memory, axis)
        return extent if extent.const is None else extent.const

    def method(
        self, bound: BoundMethod, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        name, receiver = bound.name, bound.receiver
        if isinstance(receiver, Value) and receiver.shape:
            return self.tiles.method(bound, args, kwargs, node)
        if name == "astype":
            arguments = self.arguments(name, signature_of(FUNCTIONS["astype"], True), args, kwargs, "value")
            return self.builder.cast(self.value(receiver, "astype()"), self.as_dtype(arguments[0], "the type"))
        memory = self.memory(receiver, f"{name}()")
        of = memory.name if isinstance(memory, Array) and memory.name.isidentifier() else "x"
        arguments = self.arguments(name, signature_of(getattr(View, name), True), args, kwargs, of)
        numbers = [self.number(a, f"{name}()") for a in arguments]
        if memory.rank < (1 if name == "window" else 2):
            wanted = "1 axis" if name == "window" else "2 axes"
            raise self.mistyped("type/rank", f"{name}() of {name_of(memory)}, which has fewer than {wanted}")
        if name == "window":
            return self.threads.window(memory, 0, numbers[0], numbers[1])
        return self.threads.fix(memory, 0 if name == "row" else memory.rank - 1, numbers[0])

    def length(self, thing: object) -> object:
        if isinstance(thing, Array | Part):
            if not thing.rank:
                raise self.mistyped("type/rank", f"{name_of(thing)} has no axis")
            return self._extent(thing, 0)
        return super().length(thing)

    # Elements

    def items(self, thing: object) -> Items | None:
        if isinstance(thing, Array | Part) and thing.rank:
            return Items(self._extent(thing, 0), lambda i: self._take(thing, [i]))  # type: ignore[arg-type]
        return super().items(thing)

    def memory(self, thing: object, what: str) -> Memory:
        """An array, shared memory or a part of one."""
        if isinstance(thing, Array | Part):
            return thing
        raise self.mistyped("type/operand", f"{what} works on an array, not on {name_of(thing)}")

    def index(self, thing: object, memory: Memory) -> list[Value | Weak]:
        """The index of an element: integers, one for each axis."""
        items = thing if isinstance(thing, tuple) else (thing,)
        for item in items:
            if isinstance(item, slice):
                raise self.unsupported(
                    "slice", f"a slice of {name_of(memory)}", "take the elements from i on by x.window(i, count)"
                )
            if item is None or item is Ellipsis:
                raise self.unsupported("index", f"{name_of(memory)} indexed by {item}", "one integer for each axis")
        return [self.number(item, f"the index of {name_of(memory)}") for item in items]

    def _index(self, node: ast.expr) -> object:
        if isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper, node.step):
                if bound is not None and isinstance(self.evaluate(bound), Value):
                    self.at(node)
                    raise self.unsupported(
                        "slice", "a slice with bounds of run time", "take the elements from i on by x.window(i, count)"
                    )
        return super()._index(node)

    def subscript(self, thing: object, index: object, node: ast.Subscript) -> object:
        if isinstance(thing, Remote):
            return self.threads.remote_element(thing, self.index(index, thing.buffer))
        if not isinstance(thing, Array | Part):
            if isinstance(thing, Value) and thing.shape:
                return self.tiles.subscript(thing, index, node)
            if isinstance(thing, Value):
                raise self.mistyped("type/operand", f"a {thing} cannot be indexed")
            return super().subscript(thing, index, node)
        return self._take(thing, self.index(index, thing))

    def _take(self, memory: Memory, places: Sequence[Value | Weak]) -> object:
        """An element, or where there are fewer indices than axes, a part."""
        if len(places) >= memory.rank:
            return self.threads.element(memory, places)
        part = memory
        for place in places:
            part = self.threads.fix(part, 0, place)
        return part

    def _target(self, target: ast.Subscript, held: object = None) -> tuple[Memory, list[Value | Weak]]:
        thing = self.evaluate(target.value) if held is None else held
        if not isinstance(thing, Array | Part):
            raise self._unassignable(target)
        places = self.index(self._index(target.slice), thing)
        self.at(target)
        return thing, places

    def bind(self, target: ast.expr, thing: object) -> None:
        if isinstance(target, ast.Subscript):
            held = self.evaluate(target.value)
            if isinstance(held, Remote):
                index = self.index(self._index(target.slice), held.buffer)
                self.at(target)
                self.threads.set_remote_element(held, index, self.number(thing, "a store"))
                return
            memory, places = self._target(target, held)
            self.threads.set_element(memory, places, self.number(thing, "a store"))
            return
        super().bind(target, thing)
        if isinstance(target, ast.Name) and isinstance(thing, Buffer):
            if thing.ssa.name_hint is None and target.id.isascii():
                thing.ssa.name_hint = target.id

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            self._update(node.target, node)
        else:
            super()._statement(node)

    def _update(self, target: ast.Subscript, node: ast.AugAssign) -> None:
        """`x[i] += value`: array and index are evaluated once."""
        memory, places = self._target(target)
        before = self.threads.element(memory, places)
        right = self.evaluate(node.value)
        self.at(node)
        after = self.number(self.operate(_BINARY[type(node.op)], before, right), "a store")
        self.threads.set_element(memory, places, after)

    # Arguments

    def operate(self, kind: str, left: object, right: object) -> object:
        tiles = any(isinstance(v, Value) and v.shape for v in (left, right))
        if kind == "matmul" and not tiles:
            raise self.unsupported("matmul", "'@' multiplies tiles, and a thread has none", "write a loop")
        return super().operate(kind, left, right)

    def truth(self, thing: object) -> bool | Value:
        if isinstance(thing, Part):
            raise self.mistyped("type/condition", f"{name_of(thing)} has no truth value")
        return super().truth(thing)

    def number(self, thing: object, what: str) -> Value | Weak:
        if isinstance(thing, Array | Part):
            name = thing.name if isinstance(thing, Array) else "part"
            index = ", ".join("ijk"[: thing.rank]) or "()"
            raise self.mistyped(
                "type/operand", f"{what} needs a value, not {name_of(thing)}", f"read an element: {name}[{index}]"
            )
        return super().number(thing, what)

    def shape(self, thing: object) -> list[int]:
        """Compile-time extents: a tuple, or one."""
        items = thing if isinstance(thing, tuple) else (thing,)
        return [self.known_int(item, "an extent of shared memory") for item in items]
