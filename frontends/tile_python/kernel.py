"""`@tile.kernel`: from a Python function to tile IR."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from tileopt.dialects.contracts import Hints, Signature
from tileopt.dialects.diagnostics import TileoptError
from tileopt.frontends.hints import changed, check_function, make_hints
from tileopt.frontends.kernel import Kernel
from tileopt.frontends.python.captures import Captures
from tileopt.frontends.python.parameters import parameters_of
from tileopt.frontends.python.source import source_of
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

    def places(self) -> str:
        """Where the kernel and its helpers stand."""
        return self._captures.places()

    def with_hints(self, **hints: Any) -> TileKernel:
        """The same kernel with other hints: see `kernel`."""
        assert isinstance(self.function, FunctionType)
        return TileKernel(self.function, changed(self.hints, False, hints))

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
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    fma: bool = True,
    fast_math: bool = False,
    num_ctas: int | None = None,
    exp2_eighths: int | None = None,
    late_waits: bool | None = None,
    take_turns: bool | None = None,
    occupancy: int | None = None,
) -> Callable[[Callable[..., Any]], TileKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    fma: bool = True,
    fast_math: bool = False,
    num_ctas: int | None = None,
    exp2_eighths: int | None = None,
    late_waits: bool | None = None,
    take_turns: bool | None = None,
    occupancy: int | None = None,
) -> TileKernel | Callable[[Callable[..., Any]], TileKernel]:
    """Makes a kernel of a function that says what one block does.

    Hints: `num_warps` of a block, `num_stages` of pipelined loops (None: the compiler chooses); `fma=False` rounds
    after each multiplication and addition; `fast_math=True` takes the hardware's approximate functions; `num_ctas`
    blocks that take neighbouring tiles form a cluster and load together what they share, on GPUs that have clusters.
    `exp2_eighths` of each eight elements of `exp2` beside products are computed as polynomials, and `late_waits=True`
    waits for a late product (see `skew-products`) in the next iteration (None: as the times of the units advise);
    with `take_turns=True` the warpgroups of a block begin such a loop's products one after the other.
    `occupancy` blocks shall find room on a multiprocessor at once: a thread has so many registers that they do.

    Errors: `kernel/annotation` for a parameter whose kind is not said, `source/missing`, `kernel/hint`.
    """
    hints = make_hints(num_warps, num_stages, fma, fast_math, num_ctas, exp2_eighths, late_waits, take_turns, occupancy)

    def make(function: Callable[..., Any]) -> TileKernel:
        check_function(function, "tile")
        assert isinstance(function, FunctionType)
        return TileKernel(function, hints)

    return make if function is None else make(function)
