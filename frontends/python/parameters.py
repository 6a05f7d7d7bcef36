"""Kinds of parameters, as a kernel's annotations name them: what both tracks share."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from tileopt.dialects.contracts import Missing, Parameter, ParamKind
from tileopt.dialects.diagnostics import CompileError, Location, UnsupportedError, call_site, shown
from tileopt.dialects.dtypes import DTYPES, DType

if TYPE_CHECKING:
    from tileopt.frontends.python.source import FunctionSource


MAX_RANK = 32  # of an array


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """An array parameter with its element type and rank, where they are given."""

    kind: ParamKind
    dtype: str | None = None
    rank: int | None = None


class ArrayParameter:
    """What the kinds of arrays have in common, as a kernel sees it."""

    _kind: ParamKind
    _track = "tile"

    shape: tuple[int, ...]
    """The extents, known at run time."""
    ndim: int
    """The rank, known when the kernel is compiled."""
    dtype: DType
    """The element type, known when the kernel is compiled."""

    def __class_getitem__(cls, item: Any) -> ArrayKind:
        """`In["f32", 2]`: the element type, the rank, or both in this order."""
        items = item if isinstance(item, tuple) else (item,)
        dtype: str | None = None
        rank: int | None = None
        for part in items:
            if isinstance(part, int) and not isinstance(part, bool) and rank is None and 0 <= part <= MAX_RANK:
                rank = part
            elif isinstance(part, str | DType) and str(part) in DTYPES and dtype is None and rank is None:
                dtype = str(part)
            else:
                given = ", ".join(map(shown, items))
                rule = f"{shown(part)} is not an element type or a rank up to {MAX_RANK}"
                if isinstance(part, str | DType) and str(part) in DTYPES or type(part) is int and 0 <= part <= MAX_RANK:
                    rule = "an element type comes first, then a rank"
                raise CompileError(
                    "kernel/annotation",
                    f"{cls._track}.{cls.__name__}[{given}]: {rule}",
                    location=call_site(),
                    help=f"write {cls._track}.{cls.__name__}['f32', 2]; element types are {', '.join(DTYPES)}",
                )
        return ArrayKind(cls._kind, dtype, rank)

    def __len__(self) -> int:
        """The first extent."""
        raise TypeError("an array parameter has a length only in a kernel")


class ConstMark:
    """Marks the annotation of a compile-time constant."""


_T = TypeVar("_T")
Const = Annotated[_T, ConstMark()]
"""A compile-time constant: `BLOCK: tile.Const[int] = 1024`. Each value gets code of its own."""

_PLAIN = {int: "i64", float: "f32", bool: "bool"}
_CONSTANTS = (int, float, bool, str, tuple)  # types whose constants are checked


@dataclass(frozen=True, slots=True)
class Kinds:
    """A track's kinds, as messages name them, and the names that its launches take for themselves."""

    listed: str
    scalars: str
    reserved: tuple[str, ...] = ("stream", "target")


def parameters_of(function: FunctionType, source: FunctionSource, kinds: Kinds) -> tuple[Parameter, ...]:
    """The parameters that a kernel's annotations declare. Raises CompileError at the first that is wrong."""
    assert isinstance(source.tree, ast.FunctionDef)
    arguments = source.tree.args
    for argument in (arguments.vararg, arguments.kwarg):
        if argument is not None:
            raise UnsupportedError(
                "kernel/parameters",
                f"a kernel names each of its parameters; '*{argument.arg}' does not",
                location=source.location(argument),
            )
    annotations = _annotations(function, source)
    defaults = {n: p.default for n, p in inspect.signature(function).parameters.items()}
    result: list[Parameter] = []
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        name, place = argument.arg, source.location(argument)
        if name in kinds.reserved:
            raise CompileError(
                "kernel/parameters", f"'{name}' names an argument of every launch", location=place, help="rename it"
            )
        if name not in annotations:
            raise CompileError(
                "kernel/annotation",
                f"the parameter '{name}' has no annotation",
                location=place,
                help=f"say what it is: {kinds.listed}, or a scalar's type such as int",
            )
        default = defaults[name]
        result.append(
            _parameter(
                name, annotations[name], Missing if default is inspect.Parameter.empty else default, place, kinds
            )
        )
    return tuple(result)


def _annotations(function: FunctionType, source: FunctionSource) -> dict[str, Any]:
    """What the annotations stand for, where need be after their text is evaluated."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception as error:
        place = source.location(_culprit(function, source) or source.tree)
        if isinstance(error, CompileError):
            raise CompileError(error.code, error.message, location=place, help=error.help) from None
        what = f"an annotation of '{function.__name__}' cannot be evaluated: {error}"
        raise CompileError("kernel/annotation", what, location=place) from None


def _culprit(function: FunctionType, source: FunctionSource) -> ast.arg | None:
    """The parameter whose annotation cannot be evaluated."""
    for argument in ast.walk(source.tree.args):
        text = function.__annotations__.get(argument.arg) if isinstance(argument, ast.arg) else None
        if isinstance(argument, ast.arg) and isinstance(text, str):
            try:
                eval(text, function.__globals__)
            except Exception:
                return argument
    return None


def _parameter(name: str, annotation: Any, default: object, place: Location, kinds: Kinds) -> Parameter:
    if isinstance(annotation, type) and issubclass(annotation, ArrayParameter):
        annotation = ArrayKind(annotation._kind)
    if isinstance(annotation, ArrayKind):
        if default is not Missing:
            raise CompileError("kernel/parameters", f"the array '{name}' has a default value", location=place)
        return Parameter(name, annotation.kind, annotation.dtype, annotation.rank)
    if get_origin(annotation) is Annotated and any(isinstance(m, ConstMark) for m in get_args(annotation)[1:]):
        wanted = get_args(annotation)[0]
        made = Parameter(name, ParamKind.CONST, default=default, python=wanted if wanted in _CONSTANTS else None)
        if default is not Missing and default is not None and not made.takes(default):
            what = f"'{name}' is declared Const[{wanted.__name__}], and its default is {shown(default)}"
            raise CompileError("kernel/parameters", what, location=place)
        return made
    if isinstance(annotation, DType) and annotation.name in DTYPES:
        return Parameter(name, ParamKind.SCALAR, annotation.name, default=default)
    if annotation in _PLAIN:
        return Parameter(name, ParamKind.SCALAR, _PLAIN[annotation], default=default)
    if isinstance(annotation, str) and annotation in DTYPES:
        return Parameter(name, ParamKind.SCALAR, annotation, default=default)
    called = getattr(annotation, "__name__", None) or repr(annotation)
    raise CompileError(
        "kernel/annotation",
        f"the parameter '{name}' is annotated {called}, which is no kind of parameter",
        location=place,
        help=f"one of {kinds.listed}, int, float, bool, {kinds.scalars} and its kin",
    )
