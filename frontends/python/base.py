"""The ground of the interpreter: places, errors, and what its parts need of each other."""

from __future__ import annotations

import ast
import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from tileopt.dialects.diagnostics import CompileError, KernelTypeError, TileoptError, UnsupportedError
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Array, Value, Weak
from tileopt.frontends.builder_host import HostTalk
from tileopt.frontends.builder_values import BOOL, readable
from tileopt.frontends.python.frames import Frame
from tileopt.frontends.python.liveness import Names
from tileopt.frontends.python.objects import Items, is_number, name_of

UNROLL_LIMIT = 4096  # copies of one loop's body
COPIES_LIMIT = 1 << 16  # copies of bodies in one kernel
SEQUENCE_LIMIT = 1 << 16  # elements of a compile-time tuple


def close_match(name: str, known: Iterable[str]) -> str | None:
    """Help where a name is nearly one that exists."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None


class Base(ABC):
    """State, errors and conversions."""

    track = "tile"  # the package whose functions kernels call

    def __init__(self, builder: HostTalk) -> None:
        self.builder = builder
        self.frames: list[Frame] = []
        self.copies = 0  # of the bodies of unrolled loops

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    # Places and errors

    def at(self, node: ast.AST) -> None:
        """What follows is about this node."""
        self.builder.location = self.frame.source.location(node)

    def fail(self, code: str, message: str, help: str | None = None, node: ast.AST | None = None) -> CompileError:
        """An error of the program; the caller raises it."""
        return self._error(CompileError, code, message, help, node)

    def mistyped(self, code: str, message: str, help: str | None = None, node: ast.AST | None = None) -> CompileError:
        """A type error of the program."""
        return self._error(KernelTypeError, code, message, help, node)

    def unsupported(self, code: str, what: str, help: str | None = None, node: ast.AST | None = None) -> CompileError:
        """Something of Python that kernels do not have."""
        return self._error(UnsupportedError, f"unsupported/{code}", what, help, node)

    def _error(
        self, kind: type[CompileError], code: str, message: str, help: str | None, node: ast.AST | None
    ) -> CompileError:
        if node is not None:
            self.at(node)
        return kind(code, readable(message), location=self.builder.location, help=help)

    def with_calls(self, error: TileoptError) -> TileoptError:
        """The error with a note for each call on the way to it."""
        calls = [(f"in the call of '{f.name}'", f.call) for f in reversed(self.frames) if f.call is not None]
        notes = (*error.notes, *(c for c in calls if c not in error.notes))
        return type(error)(error.code, error.message, location=error.location, help=error.help, notes=notes)

    # What the parts need of each other

    @abstractmethod
    def evaluate(self, node: ast.expr) -> object:
        """What an expression stands for."""

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt], live: Names) -> None:
        """Reads statements; `live` is what matters after the last."""

    @abstractmethod
    def bind(self, target: ast.expr, thing: object) -> None:
        """Assigns to a name or a tuple of names."""

    @abstractmethod
    def call(self, function: object, args: Sequence[object], kwargs: Mapping[str, object], node: ast.expr) -> object:
        """What a call gives."""

    @abstractmethod
    def as_dtype(self, thing: object, what: str) -> DType:
        """An element type: of the track, by name, one of Python's, or one of NumPy's."""

    def length(self, thing: object) -> object:
        """`len(thing)` of what is neither a tuple nor a tile."""
        raise self.mistyped("type/operand", f"{name_of(thing)} has no length")

    def items(self, thing: object) -> Items | None:
        """What a loop takes of a thing at run time, where it has elements then."""
        return thing if isinstance(thing, Items) else None

    # Conversions

    def truth(self, thing: object) -> bool | Value:
        """Whether a condition holds: at once where it is known, else as a bool of run time."""
        if isinstance(thing, Value):
            if thing.shape:
                raise self.mistyped(
                    "type/condition",
                    f"a {thing} has no single truth value",
                    f"choose by element with {self.track}.where(), or ask .any() or .all(); combine with & and |",
                )
            if thing.const is not None:
                return bool(thing.const)
            return self.builder.cast(thing, BOOL)
        if isinstance(thing, Array):
            raise self.mistyped("type/condition", f"{name_of(thing)} has no truth value")
        return bool(thing)

    def number(self, thing: object, what: str) -> Value | Weak:
        """A value or a Python number."""
        if isinstance(thing, Value):
            return thing
        if is_number(thing):
            return thing  # type: ignore[return-value]
        help = None
        if isinstance(thing, Array):
            help = f"an array is read by {self.track}.load({thing.name}, index, shape)"
        raise self.mistyped("type/operand", f"{what} needs a value, not {name_of(thing)}", help)

    def known_int(self, thing: object, what: str) -> int:
        """An integer that is known when the kernel is compiled."""
        if isinstance(thing, Value) and isinstance(thing.const, int):
            thing = thing.const
        if isinstance(thing, bool) or not isinstance(thing, int):
            help = None
            if isinstance(thing, Value):
                help = f"make it a constant: a parameter annotated {self.track}.Const[int], or a global"
            raise self.mistyped("type/constant", f"{what} must be a compile-time integer, not {name_of(thing)}", help)
        return thing
