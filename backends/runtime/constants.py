"""Compile-time constants as keys: in memory told apart wherever Python's == would not, on disk only where stable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any

from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.contracts import Parameter
from tileopt.dialects.diagnostics import MAX_INTEGER_BITS, shown

_PLAIN = (int, bool, str, bytes, type(None))


def check_constant(parameter: Parameter, value: object, code: str) -> None:
    """Raises LaunchError for a value of another type than the constant's annotation says."""
    if parameter.takes(value) or (value is None and parameter.default is None):
        return
    assert parameter.python is not None
    raise launch_error(
        code,
        f"'{parameter.name}' is declared Const[{parameter.python.__name__}], and {shown(value)} is given",
        help="give a value of this type, or declare the constant without a type: Const",
    )


def const_key(name: str, value: object) -> Callable[[object], Hashable]:
    """How constants of this value's type become keys. Raises LaunchError where the value is not hashable."""
    if type(value) in _PLAIN:
        return _identity

    def key(given: object) -> Hashable:
        try:
            return distinct(given)
        except TypeError:
            raise launch_error(
                "const-not-hashable",
                f"'{name}' is a compile-time constant, and {type(given).__name__} is not hashable",
                help="pass a tuple in place of a list, a frozen dataclass in place of a dict, and arrays as parameters",
            ) from None

    key(value)
    return key


def _identity(value: Any) -> Hashable:
    return value  # type: ignore[no-any-return]


def distinct(value: object) -> Hashable:
    """A key that tells 1, 1.0 and True apart, and 0.0 and -0.0, also inside tuples; two NaNs are the same."""
    kind = type(value)
    if kind is float:
        return float, value.hex()  # type: ignore[attr-defined]
    if isinstance(value, tuple):
        return (kind, *map(distinct, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(distinct, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hash(value)
        return (kind, *(distinct(getattr(value, f.name)) for f in dataclasses.fields(value)))
    hash(value)
    return kind, value


def stable_text(value: object) -> str | None:
    """Text that means the same value in every process; None where there is none, and the disk must not be asked."""
    kind = type(value)
    if kind is int and abs(value).bit_length() > MAX_INTEGER_BITS:  # type: ignore[arg-type]
        return f"int:{value:x}"  # Python prints no more than some thousand decimal digits
    if kind in _PLAIN:
        return f"{kind.__name__}:{value!r}"
    if kind is float:
        return f"float:{value.hex()}"  # type: ignore[attr-defined]
    if isinstance(value, Enum):
        inner = stable_text(value.value)
        return None if inner is None else f"{kind.__module__}.{kind.__qualname__}.{value.name}={inner}"
    if kind is tuple:
        parts = [stable_text(v) for v in value]  # type: ignore[attr-defined]
        return None if None in parts else f"({','.join(p for p in parts if p is not None)})"
    if dataclasses.is_dataclass(value) and kind.__module__.partition(".")[0] == "tileopt":
        # Our own types: their source is part of every key on disk.
        parts = [stable_text(getattr(value, f.name)) for f in dataclasses.fields(value)]
        return None if None in parts else f"{kind.__qualname__}({','.join(p for p in parts if p is not None)})"
    return None
