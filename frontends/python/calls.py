"""Calls: helper functions are read in place, Python's own few functions and `math` work on what is known."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from tileopt.dialects.diagnostics import TileoptError, counted
from tileopt.dialects.dtypes import DTYPES, PACKED, DType
from tileopt.frontends.builder import Value
from tileopt.frontends.builder_values import F32, I64
from tileopt.frontends.python import MARK
from tileopt.frontends.python import builtin_functions as own
from tileopt.frontends.python.expressions import Expressions
from tileopt.frontends.python.frames import Exit, Frame, Path
from tileopt.frontends.python.liveness import NONE, Liveness, analyse
from tileopt.frontends.python.names import foreign_dtype
from tileopt.frontends.python.objects import (
    BoundMethod,
    Closure,
    Unset,
    is_number,
    name_of,
)
from tileopt.frontends.python.source import FunctionSource, source_of

_DEPTH = 100
_GROWING = ("factorial", "comb", "perm")  # whose results are as long as their operands are large
_GROWING_LIMIT = 1000

_PYTHON_TYPES: dict[type, DType] = {int: I64, float: F32, bool: DTYPES["bool"]}
_LIVENESS: dict[int, tuple[FunctionSource | ast.AST, Liveness]] = {}


def liveness_of(owner: FunctionSource | ast.FunctionDef | ast.Lambda) -> Liveness:
    """The liveness of a function, worked out once."""
    found = _LIVENESS.get(id(owner))
    if found is None or found[0] is not owner:
        tree = owner.tree if isinstance(owner, FunctionSource) else owner
        found = _LIVENESS[id(owner)] = owner, analyse(tree)
    return found[1]


class Calls(Expressions):
    """Calls of everything but a track's own functions, which `intrinsic` takes."""

    builtins: Mapping[str, object] = own.ALLOWED

    def intrinsic(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        """A call of one of the track's functions."""
        raise NotImplementedError

    def method(
        self, bound: BoundMethod, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        """A call of a method of a value."""
        raise NotImplementedError

    def call(self, function: Any, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr) -> object:
        if hasattr(function, MARK):
            return self.intrinsic(function, args, kwargs, node)
        match function:
            case BoundMethod():
                return self.method(function, args, kwargs, node)
            case DType():
                if len(args) != 1 or kwargs:
                    raise self.mistyped("type/arguments", f"{function.name}() takes one value")
                return self.builder.in_dtype(self.number(args[0], f"{function.name}()"), function)
            case Closure():
                return self._call_closure(function, args, kwargs, node)
            case types.FunctionType():
                return self._call_function(function, args, kwargs, node)
            case types.MethodType():
                return self.call(function.__func__, [function.__self__, *args], kwargs, node)
            case type():
                return self._construct(function, args, kwargs)
        found = own.implementation(function)
        if found is not None:
            return found(self, args, kwargs)
        return self._host_call(function, args, kwargs)

    def _host_call(self, function: Any, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """`math.sqrt(2)` and its kin: on constants only."""
        name = getattr(function, "__name__", type(function).__name__)
        module = getattr(function, "__module__", "") or ""
        things = [*args, *kwargs.values()]
        if module == "math" and all(is_number(t) for t in things):
            if name in _GROWING and any(abs(t) > _GROWING_LIMIT for t in things if isinstance(t, int)):
                raise self.fail("limits/integer", f"math.{name}() of integers greater than {_GROWING_LIMIT}")
            try:
                result: object = function(*args, **kwargs)
            except (ValueError, OverflowError, TypeError) as error:
                raise self.mistyped("type/operand", f"math.{name}: {error}") from None
            return result
        help = f"a kernel calls functions of {self.track}, and Python functions whose source can be read"
        if module in ("math", "numpy") and name in self.functions:
            help = f"use {self.track}.{name}()"
        elif hasattr(function, "build") and hasattr(function, "fingerprint"):
            help = f"'{name}' is a kernel: put what both need into a plain function"
        raise self.unsupported("call", f"'{name}' cannot be called in a kernel", help)

    @property
    def functions(self) -> Mapping[str, object]:
        """The track's own functions by name."""
        return {}

    def _construct(self, cls: type, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        convert = own.CONVERSIONS.get(cls)
        if convert is not None:
            if len(args) != 1 or kwargs:
                raise self.mistyped("type/arguments", f"{cls.__name__}() takes one value")
            return convert(self, args[0])
        found = own.implementation(cls)
        if found is not None:
            return found(self, args, kwargs)
        params = getattr(cls, "__dataclass_params__", None)
        if (params is not None and params.frozen) or issubclass(cls, Enum) or hasattr(cls, "_fields"):
            try:
                made: object = cls(*args, **kwargs)
            except TileoptError:
                raise
            except Exception as error:
                raise self.mistyped("type/arguments", f"{cls.__name__}(): {error}") from None
            return made
        help = "a kernel makes tuples, named tuples and frozen dataclasses"
        if params is not None:
            help = f"declare it with @dataclass(frozen=True): '{cls.__name__}' can be changed"
        raise self.unsupported("class", f"'{cls.__name__}' objects cannot be made in a kernel", help)

    # Helper functions

    def _call_function(
        self, function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        source = source_of(function)
        tree = source.tree
        keyword_defaults = function.__kwdefaults__ or {}
        env = self._bind_arguments(source.name, tree.args, function.__defaults__ or (), keyword_defaults, args, kwargs)
        frame = Frame(
            source.name,
            source,
            liveness_of(source),
            Path(env),
            function.__globals__,
            cells_of(function),
            identity=function.__code__,
        )
        return self._run(frame, tree, node)

    def _call_closure(
        self, closure: Closure, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        tree, outer = closure.node, closure.frame
        env = self._bind_arguments(closure.name, tree.args, closure.defaults, closure.keyword_defaults, args, kwargs)
        frame = Frame(closure.name, outer.source, liveness_of(tree), Path(env), outer.globals, outer.cells, outer, tree)
        return self._run(frame, tree, node)

    def _run(self, frame: Frame, tree: ast.FunctionDef | ast.Lambda, node: ast.expr) -> object:
        if any(f.identity is frame.identity for f in self.frames):
            raise self.unsupported(
                "recursion", f"'{frame.name}' calls itself", "kernels have no call stack: write a loop"
            )
        if len(self.frames) >= _DEPTH:
            raise self.unsupported("depth", f"calls are nested more than {_DEPTH} deep")
        frame.call = self.frame.source.location(node)
        caller = self.builder.location
        self.frames.append(frame)
        try:
            if isinstance(tree, ast.Lambda):
                return self.evaluate(tree.body)
            self.check_definition(tree)
            self.block(tree.body, NONE)
            return self._returned(frame, tree)
        except TileoptError as error:
            raise self.with_calls(error) from None
        finally:
            self.frames.pop()
            self.builder.location = caller

    def _returned(self, frame: Frame, tree: ast.FunctionDef) -> object:
        path = frame.path
        if path.result is Unset:
            return None
        if not path.dead and path.result is not None:
            flag = path.flags.get(Exit.RETURN)
            if flag is not True:
                raise self.fail(
                    "control/missing-return",
                    f"'{frame.name}' may end without a return, and returns a value elsewhere",
                    "return a value on every way",
                    tree,
                )
        if type(path.result).__name__ == "Poison":
            raise self.poisoned(path.result)  # type: ignore[arg-type]
        return path.result

    def check_definition(self, tree: ast.FunctionDef) -> None:
        """Refuses what a function's own header may not have."""
        if tree.args.kwarg is not None:
            raise self.unsupported("double-star", f"'**{tree.args.kwarg.arg}'", "name the parameters", tree.args.kwarg)

    def _bind_arguments(
        self,
        name: str,
        spec: ast.arguments,
        defaults: Sequence[object],
        keyword_defaults: Mapping[str, object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> dict[str, object]:
        """Parameters to arguments, by Python's rules."""
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        named = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
        env: dict[str, object] = dict(zip(positional, args, strict=False))
        extra = tuple(args[len(positional) :])
        if spec.vararg is not None:
            env[spec.vararg.arg] = extra
        elif extra:
            wanted = counted(len(positional), "positional argument", "positional arguments")
            given = counted(len(args), "is", "are")
            raise self.mistyped("type/arguments", f"{name}() takes {wanted}, and {given} given")
        for key, thing in kwargs.items():
            if key not in named:
                raise self.mistyped("type/arguments", f"{name}() has no parameter '{key}'")
            if key in env:
                raise self.mistyped("type/arguments", f"{name}() is given '{key}' twice")
            env[key] = thing
        filled = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True)) | dict(
            keyword_defaults
        )
        missing = []
        for parameter in [*positional, *(a.arg for a in spec.kwonlyargs)]:
            if parameter not in env:
                if parameter in filled:
                    env[parameter] = self.captured(filled[parameter], parameter, spec)
                else:
                    missing.append(f"'{parameter}'")
        if missing:
            raise self.mistyped("type/arguments", f"{name}() is called without {', '.join(missing)}")
        return env

    # Conversions

    def to_int(self, thing: object) -> object:
        """`int(thing)`: toward zero."""
        if is_number(thing):
            try:
                return int(thing)  # type: ignore[call-overload]
            except (ValueError, OverflowError) as error:
                raise self.mistyped("type/operand", f"int(): {error}") from None
        value = self.number(thing, "int()")
        assert isinstance(value, Value)
        return value if value.dtype.kind in "iu" else self.builder.cast(value, I64)

    def to_float(self, thing: object) -> object:
        """`float(thing)`; of a string only as a constant, such as float("-inf")."""
        if is_number(thing) or isinstance(thing, str):
            try:
                return float(thing)  # type: ignore[arg-type]
            except (ValueError, OverflowError) as error:
                raise self.mistyped("type/operand", f"float(): {error}") from None
        value = self.number(thing, "float()")
        assert isinstance(value, Value)
        return value if value.dtype.is_float else self.builder.cast(value, F32)

    def as_dtype(self, thing: object, what: str) -> DType:
        """An element type: of the track, by name, one of Python's, or one of NumPy's."""
        if isinstance(thing, DType) and thing.name in PACKED:
            raise self.mistyped(
                "type/packed",
                f"{what} is {thing}, of which a byte holds two",
                f"use bytes: tile.unpack(x, tile.{thing}) gives the values of a tile of them, tile.pack() makes one",
            )
        if isinstance(thing, DType):
            return thing
        if isinstance(thing, str) and thing in DTYPES:
            return DTYPES[thing]
        if isinstance(thing, type) and thing in _PYTHON_TYPES:
            return _PYTHON_TYPES[thing]
        found = foreign_dtype(thing)
        if found is not None:
            return found
        raise self.mistyped(
            "type/dtype", f"{what} must be an element type, not {name_of(thing)}", f"for example {self.track}.f32"
        )


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    """What a function captured from the functions around it."""
    result: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            result[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return result
