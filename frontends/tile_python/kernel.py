"""`@tile.kernel`: from a Python function to tile IR."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from tileopt.dialects.contracts import Hints, Signature
from tileopt.dialects.diagnostics import CompileError, TileoptError, UnsupportedError
from tileopt.frontends.kernel import Kernel
from tileopt.frontends.python.captures import Captures
from tileopt.frontends.python.parameters import parameters_of
from tileopt.frontends.python.source import function_place, source_of
from tileopt.frontends.tile_python.parameters import KINDS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class TileKernel(Kernel):
    """A kernel of the tile track."""

    def __init__(self, function: FunctionType, hints: Hints) -> None:
        self.source = source_of(function)
        place = self.source.location(self.source.tree)
        super().__init__(function, parameters_of(function, self.source, KINDS), hints, place)
        self._captures = Captures(function)

    def fingerprint(self) -> str:
        """Changes with the source of the kernel and of what it reaches: see `Captures`."""
        return self._captures.fingerprint()

    def build(self, signature: Signature) -> ModuleOp:
        from tileopt.frontends.builder import KernelBuilder
        from tileopt.frontends.tile_python.interpreter import TileInterpreter

        try:
            builder = KernelBuilder(self.name, self.parameters, signature, self.hints)
        except TileoptError as error:
            raise type(error)(error.code, error.message, location=self.location, help=error.help) from None
        builder.location = self.location
        assert isinstance(self.function, FunctionType)
        TileInterpreter(builder).read(self.name, self.function, self.source, builder.arguments)
        builder.location = self.location
        return builder.finish()


@overload
def kernel(function: Callable[..., Any]) -> TileKernel: ...
@overload
def kernel(
    *, num_warps: int | None = None, num_stages: int | None = None, fma: bool = True, fast_math: bool = False
) -> Callable[[Callable[..., Any]], TileKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    fma: bool = True,
    fast_math: bool = False,
) -> TileKernel | Callable[[Callable[..., Any]], TileKernel]:
    """Makes a kernel of a function that says what one block does.

    Hints: `num_warps` of a block, `num_stages` of pipelined loops (None: the compiler chooses); `fma=False` rounds
    after each multiplication and addition; `fast_math=True` takes the hardware's approximate functions.

    Errors: `kernel/annotation` for a parameter whose kind is not said, `source/missing`, `kernel/hint`.
    """
    for name, value, low, high in (("num_warps", num_warps, 1, 32), ("num_stages", num_stages, 1, 16)):
        if value is None:
            continue
        bad = not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high
        if bad or (name == "num_warps" and value & (value - 1)):
            wanted = f"a power of two up to {high}" if name == "num_warps" else f"an integer from {low} to {high}"
            raise CompileError("kernel/hint", f"{name} is {wanted}, not {value!r}")
    hints = Hints(num_warps, num_stages, bool(fma), bool(fast_math))

    def make(function: Callable[..., Any]) -> TileKernel:
        if isinstance(function, Kernel):
            raise CompileError("kernel/function", f"'{function.name}' is a kernel already", location=function.location)
        if not isinstance(function, FunctionType):
            raise CompileError(
                "kernel/function", f"@tile.kernel makes kernels of functions, not of a {type(function).__name__}"
            )
        if function.__name__ == "<lambda>":
            raise UnsupportedError(
                "kernel/function", "a lambda cannot be a kernel", location=function_place(function), help="write a def"
            )
        return TileKernel(function, hints)

    return make if function is None else make(function)
