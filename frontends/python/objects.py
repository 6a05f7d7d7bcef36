"""What a name may stand for while a kernel is read: numbers, values, tuples of them, and compile-time things."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import Location, shown
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Array, Value, describe
from tileopt.frontends.builder_memory import Part
from tileopt.frontends.builder_values import default_dtype

if TYPE_CHECKING:
    from tileopt.frontends.python.frames import Frame


class Unset:
    """What a path that did not return has returned."""


@dataclass(frozen=True)
class Poison:
    """A variable that two paths left in ways that do not fit; an error for whoever reads it."""

    code: str
    message: str
    help: str | None = None
    notes: tuple[tuple[str, Location | None], ...] = ()


@dataclass(frozen=True)
class Range:
    """`range(...)`; `unrolled` where the source asks for one copy of the body for each number, `late` where the
    compiler shall make the copies last of all."""

    start: Value | int
    stop: Value | int
    step: Value | int
    unrolled: bool = False
    late: bool = False

    @property
    def known(self) -> tuple[int, int, int] | None:
        """Start, stop and step, where all are known."""
        start, stop, step = self.start, self.stop, self.step
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
            return start, stop, step
        return None

    @property
    def count(self) -> int | None:
        """How many numbers it has, where that is known: `len(range(...))` of any size."""
        if self.known is None:
            return None
        start, stop, step = self.known
        return max((stop - start + step - (1 if step > 0 else -1)) // step, 0)


@dataclass(frozen=True, eq=False)
class Items:
    """What a loop takes one after the other at run time: `take(i)` for each i from 0 to `count`."""

    count: Value | int
    take: Callable[[Value], object]


@dataclass(frozen=True)
class Closure:
    """A function that stands in the kernel's own source."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: tuple[object, ...]
    keyword_defaults: dict[str, object]

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"


@dataclass(frozen=True)
class BoundMethod:
    """A method of a value, an array or another thing that has its own."""

    receiver: object
    name: str


def is_number(thing: object) -> bool:
    """Whether it is a Python number."""
    return isinstance(thing, bool | int | float)


def is_record(thing: object) -> bool:
    """Whether it is an instance of a frozen dataclass."""
    params = getattr(type(thing), "__dataclass_params__", None)
    return params is not None and bool(params.frozen) and not isinstance(thing, _OURS)


_OURS = (Value, Array, DType, Poison, Range, Items, Closure, BoundMethod)


def name_of(thing: object) -> str:
    """How a message calls it."""
    match thing:
        case Value():
            return f"a {thing}"
        case Array():
            return f"the array '{thing.name}'"
        case bool() | int() | float() | None:
            return f"the constant {shown(thing)}"
        case Part():
            return str(thing)
        case str():
            return f"the string {thing!r}"
        case tuple():
            return f"a tuple of {len(thing)}"
        case DType():
            return f"the type {thing.name}"
        case Range():
            return "a range"
        case Items():
            return "the elements of arrays"
        case Closure() | FunctionType():
            return f"the function '{thing.name if isinstance(thing, Closure) else thing.__name__}'"
        case Enum():
            return f"{type(thing).__name__}.{thing.name}"
        case type():
            return f"the class '{thing.__name__}'"
        case _:
            return f"an object of type '{type(thing).__name__}'"


def type_name(thing: object) -> str:
    """How a message names its type: `f32 tile of (4,)`, `i64 scalar`, `tuple of (i64 scalar, f32 scalar)`."""
    match thing:
        case Value():
            return str(thing)
        case bool() | int() | float():
            return describe(default_dtype(thing), ())
        case tuple():
            return f"tuple of ({', '.join(map(type_name, thing))})"
        case _:
            return name_of(thing)


def kind_name(thing: object) -> str:
    """Its type with an article: `a f32 tile of (4,)`, `the array 'x'`, `a row of 'a'`."""
    if isinstance(thing, Value | tuple) or is_number(thing):
        return f"a {type_name(thing)}"
    return name_of(thing)


class Leaf:
    """The place of a number or value in a spec."""


def parts_of(thing: object) -> tuple[object, list[object], Callable[[Sequence[Any]], object]] | None:
    """Of a tuple or a record: what it is, its parts, and how to make another of it."""
    if isinstance(thing, tuple):
        cls = type(thing)
        if cls is tuple:
            return tuple, list(thing), tuple
        return cls, list(thing), lambda parts: cls(*parts)
    if is_record(thing):
        record: Any = thing
        kind = type(record)
        names = [f.name for f in dataclasses.fields(record)]

        def remake(parts: Sequence[Any]) -> object:
            # Not through __init__: what it checks was checked when the first one was made.
            new = object.__new__(kind)
            for name, part in zip(names, parts, strict=True):
                object.__setattr__(new, name, part)
            return new

        return kind, [getattr(record, n) for n in names], remake
    return None


def flatten(thing: object) -> tuple[object, list[Value | bool | int | float]]:
    """The numbers and values in a thing, and a spec that says what holds them.

    Two things of one spec differ only in their numbers and values. Other constants are in the spec.
    """
    if isinstance(thing, Value) or is_number(thing):
        return Leaf, [thing]  # type: ignore[list-item]
    parts = parts_of(thing)
    if parts is None:
        return ("is", thing), []
    kind, items, _ = parts
    specs: list[object] = []
    leaves: list[Value | bool | int | float] = []
    for item in items:
        spec, inner = flatten(item)
        specs.append(spec)
        leaves += inner
    return (kind, tuple(specs)), leaves


def rebuild(thing: object, leaves: Sequence[object]) -> object:
    """A thing like this one, with other numbers and values in it."""
    rest = list(leaves)

    def walk(item: object) -> object:
        if isinstance(item, Value) or is_number(item):
            return rest.pop(0)
        parts = parts_of(item)
        return item if parts is None else parts[2]([walk(i) for i in parts[1]])

    return walk(thing)


def same(a: object, b: object) -> bool:
    """Whether two compile-time things are one: equal, of one type, and for numbers the same to the sign of zero."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, Value | Array):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    parts = parts_of(a), parts_of(b)
    if parts[0] is not None and parts[1] is not None:
        pairs = zip(parts[0][1], parts[1][1], strict=False)
        return len(parts[0][1]) == len(parts[1][1]) and all(same(x, y) for x, y in pairs)
    try:
        return bool(a == b)
    except Exception:
        return False


def same_spec(a: object, b: object) -> bool:
    """Whether two specs of `flatten` are one."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 2:
        if a[0] == "is" or b[0] == "is":
            return a[0] == b[0] and same(a[1], b[1])
        return a[0] is b[0] and len(a[1]) == len(b[1]) and all(map(same_spec, a[1], b[1]))
    return a is b
