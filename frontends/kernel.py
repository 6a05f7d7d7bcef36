"""What `@tile.kernel` and `@simt.kernel` make of a function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from tileopt.dialects.diagnostics import LaunchError, call_site
from tileopt.frontends.engine import engine

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tileopt.dialects.contracts import Hints, Parameter, Signature
    from tileopt.dialects.diagnostics import Location


class Kernel(ABC):
    """A kernel: its source, parameters and hints. Launch it with `kernel[grid](...)`."""

    def __init__(
        self, function: Callable[..., Any], parameters: tuple[Parameter, ...], hints: Hints, location: Location | None
    ) -> None:
        self.function = function
        self._parameters = parameters
        self._hints = hints
        self._location = location
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    @property
    def hints(self) -> Hints:
        return self._hints

    @property
    def location(self) -> Location | None:
        return self._location

    @abstractmethod
    def build(self, signature: Signature) -> ModuleOp:
        """A module with this kernel for one specialisation."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes with the source of the kernel and of what it reaches."""

    @abstractmethod
    def places(self) -> str:
        """Where that source stands."""

    @abstractmethod
    def with_hints(self, **hints: Any) -> Kernel:
        """The same kernel with other hints: those of its decorator, by name. Raises CompileError (`kernel/hint`)."""

    def __getitem__(self, grid: Any) -> Launcher:
        """The kernel on a grid of blocks: an integer, or a tuple of up to three."""
        return Launcher(self, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise LaunchError(
            "launch/no-grid",
            f"the kernel '{self.name}' is called without a grid",
            location=call_site(),
            help=f"say how many blocks run it: {self.name}[(blocks,)](...)",
        )

    def compile(self, target: Any = None, **given: object) -> Any:
        """The kernel for a target without launching it; no GPU is needed.

        `given` holds the type of each parameter: `x="f32[?]"`, `x="bf16[?, 128]"` (row-major and 16-byte aligned), an
        `ArraySpec`, `n="i64"`; and the value of each constant.
        """
        return engine().compile(self, target, given)

    def ir(self, **given: object) -> str:
        """The IR as the frontend builds it, before any pass; `given` is as for `compile`."""
        return str(self.build(engine().signature(self, given)))

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}({', '.join(p.name for p in self.parameters)})>"


class Launcher:
    """A kernel with its grid."""

    __slots__ = ("grid", "kernel")

    def __init__(self, kernel: Kernel, grid: Any) -> None:
        self.kernel = kernel
        self.grid = grid

    def __call__(self, *args: Any, stream: Any = None, target: Any = None, **kwargs: Any) -> None:
        """Launches. NumPy arrays run on the CPU, a GPU's arrays on that GPU; the call may return before the end."""
        engine().launch(self.kernel, self.grid, args, kwargs, stream, target)
