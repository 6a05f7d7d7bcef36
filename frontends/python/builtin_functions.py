"""The functions of Python itself that kernels may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import counted
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.python.base import SEQUENCE_LIMIT
from tileopt.frontends.python.objects import Items, Range, is_number, name_of

if TYPE_CHECKING:
    from tileopt.frontends.python.calls import Calls

Implementation = Callable[["Calls", Sequence[Any], Mapping[str, Any]], object]

ALLOWED: dict[str, object] = {
    "range": range, "len": len, "min": min, "max": max, "abs": abs, "int": int, "float": float, "bool": bool,
    "tuple": tuple, "isinstance": isinstance, "enumerate": enumerate, "zip": zip, "reversed": reversed,
    "print": print,
    "round": round, "divmod": divmod, "pow": pow, "str": str, "type": type, "hasattr": hasattr, "getattr": getattr,
    "True": True, "False": False, "None": None,
}  # fmt: skip


def _plain(kwargs: Mapping[str, Any], interpreter: Calls, name: str) -> None:
    if kwargs:
        raise interpreter.mistyped("type/arguments", f"{name}() takes no keyword '{next(iter(kwargs))}' here")


def _count(interpreter: Calls, name: str, args: Sequence[Any], low: int, high: int) -> None:
    if not low <= len(args) <= high:
        wanted = counted(high, "argument", "arguments") if low == high else f"{low} to {high} arguments"
        given = counted(len(args), "is", "are")
        raise interpreter.mistyped("type/arguments", f"{name}() takes {wanted}, and {given} given")


def _range(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "range")
    return make_range(interpreter, args, unrolled=False)


def make_range(interpreter: Calls, args: Sequence[Any], unrolled: bool) -> Range:
    """The range of these arguments."""
    name = "static_range" if unrolled else "range"
    _count(interpreter, name, args, 1, 3)
    bounds: list[Value | int] = []
    for thing in args:
        if unrolled:
            bounds.append(interpreter.known_int(thing, "a bound of static_range()"))
            continue
        value = interpreter.number(thing, "range()")
        integral = isinstance(value, int) if not isinstance(value, Value) else value.dtype.kind in "iu"
        if isinstance(value, Value) and value.shape or not integral:
            shown = value if isinstance(value, Value) else type(value).__name__
            raise interpreter.mistyped("type/operand", f"range() counts with integer scalars, not with a {shown}")
        known = value.const if isinstance(value, Value) else value
        bounds.append(int(known) if known is not None else value)  # type: ignore[arg-type]
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if step == 0:
        raise interpreter.fail("type/operand", "the step of a range is 0")
    return Range(start, stop, step, unrolled)


def _len(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "len")
    _count(interpreter, "len", args, 1, 1)
    thing = args[0]
    if isinstance(thing, tuple | str):
        return len(thing)
    if isinstance(thing, Value) and thing.shape:
        return thing.shape[0]
    return interpreter.length(thing)


def _extreme(kind: str) -> Implementation:
    def implementation(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        _plain(kwargs, interpreter, kind)
        things = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if len(args) == 1 and isinstance(args[0], Value):
            raise interpreter.mistyped(
                "type/operand",
                f"{kind}() of one {args[0]}",
                f"{interpreter.track}.{kind}() reduces a tile; Python's {kind}() compares several values",
            )
        if not things:
            raise interpreter.mistyped("type/arguments", f"{kind}() of nothing")
        result: Any = interpreter.number(things[0], f"{kind}()")
        for thing in things[1:]:
            other = interpreter.number(thing, f"{kind}()")
            if is_number(result) and is_number(other):
                result = min(result, other) if kind == "min" else max(result, other)
            else:
                result = interpreter.builder.binary(kind, result, other)
        return result

    return implementation


def _abs(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "abs")
    _count(interpreter, "abs", args, 1, 1)
    value: Any = interpreter.number(args[0], "abs()")
    return interpreter.builder.abs(value) if isinstance(value, Value) else abs(value)


def _round(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "round")
    _count(interpreter, "round", args, 1, 1)
    value: Any = interpreter.number(args[0], "round()")
    if not isinstance(value, Value):
        try:
            return round(value)
        except (ValueError, OverflowError) as error:
            raise interpreter.mistyped("type/operand", f"round(): {error}") from None
    return (
        interpreter.to_int(interpreter.builder.math("round", value))
        if value.is_scalar
        else _tile_round(interpreter, value)
    )


def _tile_round(interpreter: Calls, value: Value) -> Value:
    return interpreter.builder.math("round", value)


def _divmod(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "divmod")
    _count(interpreter, "divmod", args, 2, 2)
    return interpreter.operate("floordiv", *args), interpreter.operate("mod", *args)


def _pow(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "pow")
    _count(interpreter, "pow", args, 2, 2)
    return interpreter.operate("pow", *args)


def _items(interpreter: Calls, thing: Any, name: str) -> tuple[object, ...]:
    """The elements of what is unrolled when the kernel is compiled."""
    if isinstance(thing, tuple):
        return thing
    if isinstance(thing, Range) and thing.known is not None and thing.count is not None:
        if thing.count > SEQUENCE_LIMIT:
            raise interpreter.fail("limits/sequence", f"{name}() of {thing.count} numbers")
        return tuple(range(*thing.known))
    raise interpreter.unsupported(
        "iteration", f"{name}() goes over tuples and constant ranges, not over {name_of(thing)}"
    )


def _tuple(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "tuple")
    _count(interpreter, "tuple", args, 0, 1)
    return _items(interpreter, args[0], "tuple") if args else ()


def _enumerate(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _count(interpreter, "enumerate", args, 1, 2)
    start = interpreter.known_int(args[1] if len(args) == 2 else kwargs.get("start", 0), "the start of enumerate()")
    items = interpreter.items(args[0])
    if items is not None:
        return Items(items.count, lambda i: (interpreter.operate("add", i, start), items.take(i)))
    return tuple(enumerate(_items(interpreter, args[0], "enumerate"), start))


def _zip(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    together = [interpreter.items(a) for a in args]
    if any(items is not None for items in together):
        return _zip_at_run_time(interpreter, args, [items for items in together if items is not None], kwargs)
    groups = [_items(interpreter, a, "zip") for a in args]
    if kwargs.get("strict") and len({len(g) for g in groups}) > 1:
        raise interpreter.fail("type/arguments", "zip() of tuples that differ in length")
    return tuple(zip(*groups, strict=False))


def _zip_at_run_time(
    interpreter: Calls, args: Sequence[Any], together: Sequence[Items], kwargs: Mapping[str, Any]
) -> Items:
    """As far as the shortest reaches."""
    if len(together) != len(args):
        other = next(a for a in args if interpreter.items(a) is None)
        help = "zip() goes over arrays and their parts together"
        if isinstance(other, Range):
            help = "number the elements: for i, v in enumerate(x), or index them: for i in range(n): x[i]"
        elif isinstance(other, tuple):
            help = (
                "index the array: for i, c in enumerate(values): x[i] is unrolled; "
                "or make the tuple an array outside of the kernel: simt.constant(np.array(values))"
            )
        raise interpreter.unsupported("iteration", f"zip() of arrays and {name_of(other)}", help)
    if kwargs.get("strict"):
        raise interpreter.unsupported(
            "iteration", "zip(strict=True) of arrays", "require it: requires=['len(x) == len(y)']"
        )
    count: Any = together[0].count
    for items in together[1:]:
        count = _extreme("min")(interpreter, (count, items.count), {})
    return Items(count, lambda i: tuple(items.take(i) for items in together))


def _reversed(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _plain(kwargs, interpreter, "reversed")
    _count(interpreter, "reversed", args, 1, 1)
    thing = args[0]
    if isinstance(thing, Range):
        if thing.known is not None:
            back = range(*thing.known)[::-1]
            return Range(back.start, back.stop, back.step, thing.unrolled, thing.late)
        if thing.step == 1:
            operate = interpreter.operate
            last, before = operate("sub", thing.stop, 1), operate("sub", thing.start, 1)
            return Range(last, before, -1)  # type: ignore[arg-type]
        raise interpreter.unsupported(
            "iteration", "reversed() of a range whose step is not 1 and whose bounds are run-time"
        )
    return _items(interpreter, thing, "reversed")[::-1]


def _isinstance(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _count(interpreter, "isinstance", args, 2, 2)
    thing, cls = args
    if isinstance(thing, Value):
        kinds = {int: "iu", float: "f", bool: "b"}
        classes = cls if isinstance(cls, tuple) else (cls,)
        return thing.is_scalar and any(thing.dtype.kind in kinds.get(c, "") for c in classes)
    try:
        return isinstance(thing, cls)
    except TypeError as error:
        raise interpreter.mistyped("type/arguments", f"isinstance(): {error}") from None


def _str(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _count(interpreter, "str", args, 1, 1)
    thing = args[0]
    if not (is_number(thing) or isinstance(thing, str | DType | Enum)):
        raise interpreter.unsupported("call", f"str() of {name_of(thing)}", "strings in kernels are constants")
    return str(thing)


def _bool(interpreter: Calls, thing: Any) -> object:
    return interpreter.truth(thing)


def _to_int(interpreter: Calls, thing: Any) -> object:
    return interpreter.to_int(thing)


def _to_float(interpreter: Calls, thing: Any) -> object:
    return interpreter.to_float(thing)


def _print(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    words = {"sep": " ", "end": "\n"}
    for name, thing in kwargs.items():
        if name not in words or not isinstance(thing, str):
            raise interpreter.mistyped(
                "type/arguments", f"print() in a kernel takes strings as sep and end, no '{name}'"
            )
        words[name] = thing
    things = [
        str(thing) if isinstance(thing, str | DType | Enum) else interpreter.number(thing, "print()") for thing in args
    ]
    interpreter.builder.print(things, words["sep"], words["end"])
    return None


def _hasattr(interpreter: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
    _count(interpreter, "hasattr", args, 2, 2)
    if isinstance(args[0], Value | Array | tuple) or not isinstance(args[1], str):
        raise interpreter.unsupported("call", f"hasattr() of {name_of(args[0])}")
    return hasattr(args[0], args[1])


CONVERSIONS: dict[type, Callable[[Calls, Any], object]] = {int: _to_int, float: _to_float, bool: _bool}

_IMPLEMENTATIONS: dict[object, Implementation] = {
    range: _range, len: _len, min: _extreme("min"), max: _extreme("max"), abs: _abs, round: _round,
    divmod: _divmod, pow: _pow, tuple: _tuple, enumerate: _enumerate, zip: _zip, reversed: _reversed,
    isinstance: _isinstance, str: _str, hasattr: _hasattr, print: _print,
}  # fmt: skip
for _name in ("type", "getattr"):
    del ALLOWED[_name]


def implementation(function: object) -> Implementation | None:
    """How a kernel computes one of these functions."""
    try:
        return _IMPLEMENTATIONS.get(function)
    except TypeError:  # an object without a hash
        return None
