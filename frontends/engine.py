"""The way from a kernel to whatever compiles and launches it.

Frontends do not know the backends: `tileopt/__init__.py` says with `set_engine_factory` where it comes from, and it is
made at the first launch or compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tileopt.dialects.diagnostics import UnsupportedError

if TYPE_CHECKING:
    from tileopt.dialects.contracts import KernelDefinition, Signature


class Engine(Protocol):
    """Compiles, caches and launches kernels."""

    def launch(
        self,
        kernel: KernelDefinition,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        stream: Any,
        target: Any,
    ) -> None:
        """Runs the kernel on a grid, an integer or a tuple of up to three. None leaves stream or target open."""
        ...

    def compile(self, kernel: KernelDefinition, target: Any, given: Mapping[str, object]) -> Any:
        """The compiled kernel. `given`: for each parameter its type as text, its spec, or a constant's value."""
        ...

    def signature(self, kernel: KernelDefinition, given: Mapping[str, object]) -> Signature:
        """The specs that `given` (see `compile`) stands for."""
        ...


_factory: Callable[[], Engine] | None = None
_engine: Engine | None = None


def set_engine_factory(factory: Callable[[], Engine]) -> None:
    """Says what makes the engine; an engine made before is dropped."""
    global _factory, _engine
    _factory, _engine = factory, None


def engine() -> Engine:
    """The engine. Raises UnsupportedError where no factory was set."""
    global _engine
    if _engine is None:
        if _factory is None:
            raise UnsupportedError(
                "engine/missing", "nothing here can compile or launch a kernel", help="import tileopt"
            )
        _engine = _factory()
    return _engine
