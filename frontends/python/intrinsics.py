"""Functions that both tracks have: elementwise mathematics, choices, and what is decided when a kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tileopt.frontends.builder import FUNCTIONS
from tileopt.frontends.python.builtin_functions import make_range
from tileopt.frontends.python.objects import name_of, type_name

if TYPE_CHECKING:
    from tileopt.frontends.python.loops import Interpreter

Intrinsic = Callable[..., object]


def _astype(it: Interpreter, x: Any, dtype: Any) -> object:
    return it.builder.cast(it.number(x, "astype()"), it.as_dtype(dtype, "the type of astype()"))


def _where(it: Interpreter, condition: Any, a: Any, b: Any) -> object:
    numbers = [it.number(t, "where()") for t in (condition, a, b)]
    return it.builder.where(*numbers)


def _function(name: str) -> Intrinsic:
    def intrinsic(it: Interpreter, x: Any) -> object:
        return it.builder.math(name, it.number(x, f"{name}()"))

    return intrinsic


def _unary(name: str) -> Intrinsic:
    def intrinsic(it: Interpreter, x: Any) -> object:
        result: object = getattr(it.builder, name)(it.number(x, f"{name}()"))
        return result

    return intrinsic


def _pair(kind: str) -> Intrinsic:
    def intrinsic(it: Interpreter, a: Any, b: Any) -> object:
        return it.builder.binary(kind, it.number(a, f"{kind}()"), it.number(b, f"{kind}()"))

    return intrinsic


def _atan2(it: Interpreter, y: Any, x: Any) -> object:
    return it.builder.atan2(it.number(y, "atan2()"), it.number(x, "atan2()"))


def _fma(it: Interpreter, a: Any, b: Any, c: Any) -> object:
    numbers = [it.number(t, "fma()") for t in (a, b, c)]
    return it.builder.fma(*numbers)


def _isnan(it: Interpreter, x: Any) -> object:
    value = it.builder.as_value(it.number(x, "isnan()"))
    return it.builder.compare("ne", value, value)


def _cdiv(it: Interpreter, a: Any, b: Any) -> object:
    x, y = it.number(a, "cdiv()"), it.number(b, "cdiv()")
    if isinstance(x, int) and isinstance(y, int):
        if y == 0:
            raise it.fail("type/division-by-zero", "cdiv() by the constant 0")
        return -(-x // y)
    return it.builder.cdiv(x, y)


def _static_assert(it: Interpreter, condition: Any, message: Any) -> object:
    held = it.truth(condition)
    if not isinstance(held, bool):
        raise it.mistyped(
            "type/constant", f"static_assert() needs a compile-time condition, not a {type_name(condition)}"
        )
    if not held:
        raise it.fail("kernel/static-assert", str(message) or "the assertion does not hold")
    return None


def _static_range(it: Interpreter, bounds: Any) -> object:
    return make_range(it, bounds, unrolled=True)


def _printf(it: Interpreter, format: Any, values: Any) -> object:
    if not isinstance(format, str):
        raise it.mistyped("type/constant", f"a format is a string of the source, not {name_of(format)}")
    things = [thing if isinstance(thing, str) else it.number(thing, "printf()") for thing in values]
    it.builder.printf(format, things)
    return None


def _assert(it: Interpreter, condition: Any, message: Any) -> object:
    it.assertion(condition, message)
    return None


SHARED: dict[str, Intrinsic] = {
    "astype": _astype, "where": _where,
    "maximum": _pair("max"), "minimum": _pair("min"), "pow": _pair("pow"), "abs": _unary("abs"),
    "sigmoid": _unary("sigmoid"), "atan2": _atan2, "fma": _fma, "isnan": _isnan, "cdiv": _cdiv,
    "printf": _printf, "assert_": _assert, "static_assert": _static_assert, "static_range": _static_range,
}  # fmt: skip
SHARED.update((name, _function(name)) for name in FUNCTIONS)
