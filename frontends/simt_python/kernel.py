"""`@simt.kernel`: from a Python function to IR of threads.

A kernel is compiled for one block and one number of grid axes. Where the contract leaves them open, each combination
that is launched is a kernel of its own, made when it is first asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from tileopt.dialects.contracts import Hints, Signature
from tileopt.dialects.diagnostics import CompileError, Location, TileoptError
from tileopt.frontends.hints import changed, check_function, make_hints
from tileopt.frontends.kernel import Kernel, Launcher
from tileopt.frontends.launch_contract import LaunchContract, grid_axes, make_contract, split_launch
from tileopt.frontends.python.captures import Captures
from tileopt.frontends.python.parameters import parameters_of
from tileopt.frontends.python.source import FunctionSource, source_of
from tileopt.frontends.simt_python.parameters import KINDS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


_LAUNCHERS = 1024  # that a kernel keeps: programs whose grids never repeat must not grow


class SimtKernel(Kernel):
    """A kernel of the SIMT track."""

    def __init__(self, function: FunctionType, contract: LaunchContract, hints: Hints) -> None:
        self.source = source_of(function)
        place = self.source.location(self.source.tree)
        super().__init__(function, parameters_of(function, self.source, KINDS), hints, place)
        self.contract = contract
        self._captures = Captures(function)
        self._variants: dict[tuple[Any, int], SimtKernel] = {}
        self._launchers: dict[Any, Launcher] = {}
        self._seen: tuple[str, str] = ("", "")
        self._check_requirements()

    def _check_requirements(self) -> None:
        from tileopt.frontends.requires import parse

        for index, text in enumerate(self.contract.requires):
            try:
                parse(text, self.parameters)
            except TileoptError as error:
                raise _placed(error, _requirement(self.source, index) or self.location) from None

    def fingerprint(self) -> str:
        """Changes with the source of the kernel and of what it reaches (see `Captures`), and with the contract."""
        source = self._captures.fingerprint()
        if source is not self._seen[0]:
            self._seen = source, f"{source} {self.contract}"
        return self._seen[1]

    def places(self) -> str:
        """Where the kernel and its helpers stand."""
        return self._captures.places()

    # Variants

    def _variant(self, block: Any, grid_rank: int) -> SimtKernel:
        if self.contract.block == block and self.contract.grid_rank == grid_rank:
            return self
        found = self._variants.get((block, grid_rank))
        if found is None:
            assert isinstance(self.function, FunctionType)
            contract = replace(self.contract, block=block, grid_rank=grid_rank)
            found = self._variants[block, grid_rank] = SimtKernel(self.function, contract, self.hints)
        return found

    def __getitem__(self, key: Any) -> Launcher:
        """The kernel on a grid of blocks: `kernel[grid]`, or `kernel[grid, block]` where the contract says no block."""
        try:
            return self._launchers[key]
        except KeyError:
            if len(self._launchers) >= _LAUNCHERS:
                self._launchers.clear()
            found = self._launchers[key] = self._launcher(key)
            return found
        except TypeError:  # a list, which has no hash
            return self._launcher(key)

    def _launcher(self, key: Any) -> Launcher:
        grid, block = split_launch(key, self.contract, self.name)
        return Launcher(self._variant(block, grid_axes(grid, self.contract, self.name)), grid)

    def fixed(self, block: Any = None, grid_rank: int | None = None) -> SimtKernel:
        """The kernel for one block and one number of grid axes; by default the contract's, and those of the block."""
        if block is None and self.contract.block is None:
            raise CompileError(
                "kernel/contract",
                f"the contract of '{self.name}' does not say the block",
                location=self.location,
                help="give it: compile(target, block=(256,), ...)",
            )
        if block is not None:
            _, block = split_launch((1, block), replace(self.contract, block=None), self.name)
        chosen = self.contract.block if block is None else block
        assert chosen is not None
        return self._variant(chosen, grid_rank or self.contract.grid_rank or len(chosen))

    def compile(self, target: Any = None, **given: Any) -> Any:
        """The kernel for a target without launching it; see `Kernel.compile`, and `fixed` for `block`, `grid_rank`."""
        block, grid_rank = given.pop("block", None), given.pop("grid_rank", None)
        return Kernel.compile(self.fixed(block, grid_rank), target, **given)

    def ir(self, **given: Any) -> str:
        """The IR as the frontend builds it, before any pass; arguments are as for `compile`."""
        block, grid_rank = given.pop("block", None), given.pop("grid_rank", None)
        return Kernel.ir(self.fixed(block, grid_rank), **given)

    def with_hints(self, **hints: Any) -> SimtKernel:
        """The same kernel with other hints: `fma`, `fast_math`."""
        assert isinstance(self.function, FunctionType)
        return SimtKernel(self.function, self.contract, changed(self.hints, True, hints))

    def build(self, signature: Signature) -> ModuleOp:
        from tileopt.frontends.builder_simt import SimtBuilder
        from tileopt.frontends.simt_python.interpreter import SimtInterpreter

        if self.contract.block is None or self.contract.grid_rank is None:
            return self.fixed().build(signature)
        try:
            builder = SimtBuilder(self.name, self.parameters, signature, self.contract, self.hints)
        except TileoptError as error:
            raise _placed(error, self.location) from None
        builder.location = self.location
        self._check_relations(builder)
        assert isinstance(self.function, FunctionType)
        SimtInterpreter(builder).read(self.name, self.function, self.source, builder.arguments)
        builder.location = self.location
        return builder.finish()

    def _check_relations(self, builder: Any) -> None:
        from tileopt.frontends.requires import canonical, parse

        for index, text in enumerate(self.contract.requires):
            try:
                for relation in parse(text, self.parameters):
                    canonical(relation, builder.signature)
            except TileoptError as error:
                raise _placed(error, _requirement(self.source, index) or self.location) from None


def _placed(error: TileoptError, place: Location | None) -> TileoptError:
    return type(error)(error.code, error.message, location=place, help=error.help, notes=error.notes)


def _requirement(source: FunctionSource, index: int) -> Location | None:
    """Where the decorator writes this relation."""
    assert isinstance(source.tree, ast.FunctionDef)
    for decorator in source.tree.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "requires":
                value = keyword.value
                if isinstance(value, ast.List | ast.Tuple) and index < len(value.elts):
                    return source.location(value.elts[index])
                return source.location(value)
    return None


@overload
def kernel(function: Callable[..., Any]) -> SimtKernel: ...
@overload
def kernel(
    *,
    block: int | Sequence[int] | None = None,
    grid_rank: int | None = None,
    max_block: int | None = None,
    launch_bounds: int | Sequence[int] | None = None,
    shared_bytes: int = 0,
    min_arch: str | None = None,
    cluster: int | Sequence[int] | None = None,
    requires: str | Sequence[str] = (),
    unchecked: bool = False,
    deny_checks: bool = False,
    keep_checks: bool = False,
    fma: bool = True,
    fast_math: bool = False,
) -> Callable[[Callable[..., Any]], SimtKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    block: int | Sequence[int] | None = None,
    grid_rank: int | None = None,
    max_block: int | None = None,
    launch_bounds: int | Sequence[int] | None = None,
    shared_bytes: int = 0,
    min_arch: str | None = None,
    cluster: int | Sequence[int] | None = None,
    requires: str | Sequence[str] = (),
    unchecked: bool = False,
    deny_checks: bool = False,
    keep_checks: bool = False,
    fma: bool = True,
    fast_math: bool = False,
) -> SimtKernel | Callable[[Callable[..., Any]], SimtKernel]:
    """Makes a kernel of a function that says what one thread does.

    The contract: `block`, the threads of a block, x first (without it each launch says it: `kernel[grid, block]`);
    `grid_rank`, the axes a grid may have; `max_block`, or `launch_bounds=(threads, blocks at once)`; `shared_bytes` of
    dynamic shared memory; `min_arch`, such as "sm_80"; `cluster`, the blocks of a cluster; `requires`, relations such
    as "len(x) == len(out)" that each launch is checked for and that proofs build on. `deny_checks`: an index that is
    not proved is an error (`bounds/unproved`). `unchecked`: no index is tested, and one that is outside reads and
    writes whatever is there. `keep_checks`: each index is tested, proved or not, which shows what tests cost.

    Errors: `kernel/contract`, `kernel/hint`, `contract/...` for a relation, `kernel/annotation`, `source/missing`.
    """
    contract = make_contract(
        block, grid_rank, max_block, launch_bounds, shared_bytes, min_arch, cluster, requires, unchecked, deny_checks,
        keep_checks,
    )  # fmt: skip
    hints = make_hints(fma=fma, fast_math=fast_math)

    def make(function: Callable[..., Any]) -> SimtKernel:
        check_function(function, "simt")
        assert isinstance(function, FunctionType)
        return SimtKernel(function, contract, hints)

    return make if function is None else make(function)
