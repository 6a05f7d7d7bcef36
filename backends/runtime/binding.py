"""Which argument is which parameter's, and whether it fits. Runs once for each new combination of argument types."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tileopt.backends.runtime.arrays import ArrayInfo, Reader, reader_for
from tileopt.backends.runtime.constants import check_constant, const_key
from tileopt.backends.runtime.errors import launch_error
from tileopt.backends.runtime.scalars import Scalar, scalar_for
from tileopt.dialects.contracts import HINTS, Missing, Parameter, ParamKind

DEFAULT = -1  # the position of a value that the call does not give
MAX_BYTES = 1 << 62  # of one array, also by its extents alone where they repeat elements


@dataclass(frozen=True, slots=True)
class BoundArray:
    """An array parameter: where its argument stands in the call, and how it is read."""

    parameter: Parameter
    position: int
    reader: Reader


@dataclass(frozen=True, slots=True)
class BoundScalar:
    parameter: Parameter
    position: int
    default: object
    scalar: Scalar


@dataclass(frozen=True, slots=True)
class BoundConst:
    parameter: Parameter
    position: int
    default: object
    key: Callable[[object], Hashable]


Bound = BoundArray | BoundScalar | BoundConst


def positions(parameters: Sequence[Parameter], count: int, names: Sequence[str], kernel: str) -> list[int]:
    """For each parameter the position of its argument in (positional..., keyword...), or DEFAULT."""
    order = {p.name: i for i, p in enumerate(parameters)}
    if count > len(parameters):
        raise launch_error(
            "too-many-arguments",
            f"{kernel} takes {len(parameters)} arguments, and {count} are given",
            help=f"its parameters: {_listing(parameters)}",
        )
    result = [i if i < count else DEFAULT for i in range(len(parameters))]
    for offset, name in enumerate(names):
        index = order.get(name)
        if index is None:
            raise launch_error(
                "unexpected-argument",
                f"{kernel} has no parameter '{name}'",
                help=_HINT.format(name) if name in HINTS else f"its parameters: {_listing(parameters)}",
            )
        if result[index] != DEFAULT:
            raise launch_error("repeated-argument", f"{kernel} is given '{name}' by position and by name")
        result[index] = count + offset
    missing = [p.name for p, at in zip(parameters, result, strict=True) if at == DEFAULT and p.default is Missing]
    if missing:
        names_text = ", ".join(f"'{n}'" for n in missing)
        raise launch_error(
            "missing-argument",
            f"{kernel} is called without {names_text}",
            help=f"its parameters: {_listing(parameters)}",
        )
    return result


_HINT = "'{0}' is a hint: give it where the kernel is made, or launch kernel.with_hints({0}=...)[grid](...)"


def _listing(parameters: Sequence[Parameter]) -> str:
    return ", ".join(p.name if p.default is Missing else f"{p.name}={p.default!r}" for p in parameters) or "none"


def bind(
    parameters: Sequence[Parameter], args: Sequence[object], kwargs: Mapping[str, object], kernel: str
) -> tuple[Bound, ...]:
    """How each parameter gets its value in calls whose arguments have these types. Raises LaunchError."""
    flat = [*args, *kwargs.values()]
    result: list[Bound] = []
    for parameter, at in zip(parameters, positions(parameters, len(args), list(kwargs), kernel), strict=True):
        value = parameter.default if at == DEFAULT else flat[at]
        if parameter.kind is ParamKind.CONST:
            check_constant(parameter, value, "argument-dtype")
            result.append(BoundConst(parameter, at, value, const_key(parameter.name, value)))
        elif parameter.kind is ParamKind.SCALAR:
            result.append(BoundScalar(parameter, at, value, scalar_for(parameter, value)))
        else:
            result.append(BoundArray(parameter, at, _reader(parameter, value)))
    return tuple(result)


def _reader(parameter: Parameter, value: object) -> Reader:
    reader = reader_for(value)
    if reader is not None:
        return reader
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        help = "make an array of it first: numpy.asarray(x)"
    elif value is None:
        help = "every array parameter needs an array; an empty one will do"
    else:
        help = (
            "an array has NumPy's buffer, __cuda_array_interface__ or __dlpack__; see also the order of the arguments"
        )
    raise launch_error("not-an-array", f"'{parameter.name}' needs an array, and {kind} is given", help=help)


def check_array(parameter: Parameter, info: ArrayInfo) -> None:
    """Whether an array has the element type and the rank that its parameter declares."""
    if parameter.dtype is not None and info.dtype != parameter.dtype:
        raise launch_error(
            "argument-dtype",
            f"'{parameter.name}' is declared {parameter.dtype}, and an array of {info.dtype} is given",
            help="convert the array with .astype (torch: .to), or leave the parameter's element type open",
        )
    if parameter.rank is not None and len(info.shape) != parameter.rank:
        raise launch_error(
            "argument-rank",
            f"'{parameter.name}' is declared with rank {parameter.rank}, and an array of shape {info.shape} is given",
            help="reshape the array, or leave the parameter's rank open",
        )


def check_size(parameter: Parameter, info: ArrayInfo) -> None:
    """Whether an array's extents, and their product, stay within what the compiler assumes of any array."""
    if max(prod(info.shape), *info.shape, 0) * info.itemsize > MAX_BYTES:
        raise launch_error(
            "array-too-large",
            f"'{parameter.name}' has shape {info.shape}, of more than 2^62 bytes",
            help="pass a smaller view",
        )
