"""What the interpreters of both tracks share: the track's own functions, and the reading of a whole kernel."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from tileopt.dialects.diagnostics import CompileError, TileoptError, too_deep
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.python import MARK
from tileopt.frontends.python.calls import cells_of, liveness_of
from tileopt.frontends.python.frames import Frame, Path
from tileopt.frontends.python.intrinsics import Intrinsic
from tileopt.frontends.python.loops import Interpreter
from tileopt.frontends.python.objects import name_of
from tileopt.frontends.python.source import FunctionSource


@cache
def signature_of(function: Callable[..., Any], bound: bool) -> inspect.Signature:
    """How a function or a method is called."""
    made = inspect.signature(function)
    if not bound:
        return made
    return made.replace(parameters=list(made.parameters.values())[1:])


def header(signature: inspect.Signature) -> str:
    """A signature without types."""
    shown = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in signature.parameters.values())
    return f"({', '.join(shown)})"


class TrackInterpreter(Interpreter):
    """An interpreter with the functions of a track."""

    intrinsics: Mapping[str, Intrinsic] = {}

    def intrinsic(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr
    ) -> object:
        name = getattr(function, MARK)
        if name not in self.intrinsics:
            raise self.unsupported(
                "call", f"'{name}' is not a function of {self.track} kernels", self.help_for_foreign(name)
            )
        return self.intrinsics[name](self, *self.arguments(name, signature_of(function, False), args, kwargs))

    def help_for_foreign(self, name: str) -> str | None:
        """What to write in place of another track's function."""
        return None

    def help_for_arguments(self, name: str, args: Sequence[object]) -> str | None:
        """What is likely meant by a call whose arguments do not fit."""
        return None

    def arguments(
        self,
        name: str,
        signature: inspect.Signature,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        of: str | None = None,
    ) -> list[object]:
        """A call's arguments in the order of the parameters. `of`: what the method is of, as messages write it.

        Raises KernelTypeError (`type/arguments`).
        """
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            help = self.help_for_arguments(name, args) or f"{of or self.track}.{name}{header(signature)}"
            raise self.mistyped("type/arguments", f"{name}(): {error}", help) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def value(self, thing: object, what: str) -> Value:
        """A tile or scalar."""
        return self.builder.as_value(self.number(thing, what))

    def array(self, thing: object, name: str) -> Array:
        """The array that a function works on."""
        if isinstance(thing, Array):
            return thing
        raise self.mistyped("type/operand", f"the first argument of {name}() is an array, not {name_of(thing)}")

    def read(self, name: str, function: FunctionType, source: FunctionSource, arguments: Mapping[str, object]) -> None:
        """Reads a kernel's function. Whatever goes wrong is a CompileError with a place."""
        frame = Frame(
            name,
            source,
            liveness_of(source),
            Path({}),
            function.__globals__,
            cells_of(function),
            identity=function.__code__,
        )
        try:
            self.run(frame, arguments)
        except TileoptError:
            raise
        except RecursionError:
            raise too_deep("this", self.builder.location, "assign parts of it to variables") from None
        except Exception as error:
            # A fault of ours: still an error with a place in the kernel, and with the traceback as its cause.
            raise CompileError(
                "internal/frontend",
                f"the frontend failed here: {type(error).__name__}: {error}",
                location=self.builder.location,
                help="please report it with the kernel's source",
            ) from error
