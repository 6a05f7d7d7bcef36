"""Scalar arguments: the type a kernel sees, the class it is specialised on, and the bytes it is passed as.

Python's int is i64, float f32, bool bool; a NumPy scalar keeps its own type. A declared type wins: an int fits any
integer or float parameter in range, a float any float parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from tileopt.backends.runtime.errors import launch_error
from tileopt.backends.runtime.signature import DIVISOR
from tileopt.dialects.contracts import Parameter, ScalarSpec
from tileopt.dialects.diagnostics import shown
from tileopt.dialects.dtypes import DTYPES, DType, from_numpy

# How a slot's memory is written, by the memoryview format of the type.
_FORMATS = {
    "bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f32": "f", "f64": "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scalar:
    """How one scalar parameter takes values of one Python type.

    `format`: memoryview format of the slot. `convert`: what is done to a value before it is written, None for nothing.
    `key`: what the specialisation depends on; None: on nothing but the type.
    """

    dtype: str
    format: str
    convert: Callable[[Any], Any] | None
    key: Callable[[Any], Hashable] | None

    def spec(self, value: Any) -> ScalarSpec:
        return ScalarSpec(self.dtype, 1 if self.key is None else DIVISOR[int(value) & 15])


F32_LIMIT = 3.4028235677973366e38  # from here on a float rounds to f32's infinity


def _in_f32(value: Any) -> float:
    """The value as it is: writing one that is too large would quietly give infinity."""
    if -F32_LIMIT < value < F32_LIMIT or value != value or value in (float("inf"), float("-inf")):
        return float(value)
    raise OverflowError


def _int_key(value: Any) -> Hashable:
    return DIVISOR[value & 15]


def _numpy_int_key(value: Any) -> Hashable:
    return DIVISOR[int(value) & 15]


def scalar_for(parameter: Parameter, value: object) -> Scalar:
    """Raises LaunchError where no value of this type fits the parameter."""
    given = _given(value)
    if given is None:
        raise _refuse(parameter, value)
    wanted = DTYPES[parameter.dtype] if parameter.dtype is not None else given
    if wanted.kind == "b":
        if given.kind != "b":
            raise _mismatch(parameter, wanted, value, f"pass bool({parameter.name})")
    elif wanted.kind in "iu":
        if given.is_float:
            raise _mismatch(parameter, wanted, value, f"pass int({parameter.name}), or declare the parameter a float")
    is_python = isinstance(value, int | float) and type(value).__module__ == "builtins"
    convert: Callable[[Any], Any] | None = None
    if wanted.name in _FORMATS:
        form = _FORMATS[wanted.name]
        if wanted.name == "f32":
            convert = _in_f32
        elif not is_python:
            convert = bool if wanted.kind == "b" else float if wanted.is_float else int
    else:
        form, convert = ("B" if wanted.bits == 8 else "H"), _bits_of(wanted)
    key = None
    if wanted.kind in "iu":
        key = _int_key if is_python else _numpy_int_key
    return Scalar(wanted.name, form, convert, key)


def _given(value: object) -> DType | None:
    if isinstance(value, bool):
        return DTYPES["bool"]
    if isinstance(value, int):
        return DTYPES["i64"]
    if isinstance(value, float) and type(value) is float:
        return DTYPES["f32"]
    import numpy as np

    return from_numpy(value.dtype) if isinstance(value, np.generic) else None


def _bits_of(dtype: DType) -> Callable[[Any], int]:
    """Rounds to a float type that memoryview has not, and gives the bits."""
    kind, form = dtype.numpy.type, f"u{dtype.bytes}"

    def bits(value: Any) -> int:
        import numpy as np

        with np.errstate(over="ignore"):
            rounded = np.asarray(kind(value))
        if isfinite(value) and not isfinite(float(rounded)):
            raise OverflowError
        return int(rounded.view(form))

    return bits


def out_of_range(parameter: Parameter, scalar: Scalar, value: object) -> Exception:
    """The error for a value that its slot does not hold."""
    dtype = DTYPES[scalar.dtype]
    if dtype.kind in "iu":
        low = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
        high = (1 << (dtype.bits - (dtype.kind == "i"))) - 1
        return launch_error(
            "scalar-range",
            f"'{parameter.name}' is {dtype.name} and holds {low} to {high}, and {shown(value)} is given",
            help="declare the parameter with a wider type",
        )
    return launch_error(
        "scalar-range",
        f"'{parameter.name}' is {dtype.name}, which cannot hold {shown(value)}",
        help="declare the parameter tile.f64, or pass float('inf') where infinity is meant",
    )


def _refuse(parameter: Parameter, value: object) -> Exception:
    kind = type(value).__name__
    help = "a scalar is an int, a float, a bool or a NumPy scalar"
    if hasattr(value, "shape"):
        help = f"pass {parameter.name}.item() for its value, or declare the parameter an array"
    return launch_error("not-a-scalar", f"'{parameter.name}' needs a scalar, and {kind} is given", help=help)


def _mismatch(parameter: Parameter, wanted: DType, value: object, help: str) -> Exception:
    return launch_error(
        "argument-dtype",
        f"'{parameter.name}' is {wanted.name}, and {type(value).__name__} {shown(value)} is given",
        help=help,
    )
