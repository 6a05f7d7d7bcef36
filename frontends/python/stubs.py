"""The functions of a track as users see them: in a kernel the compiler takes their place, elsewhere they refuse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

from tileopt.dialects.diagnostics import CompileError
from tileopt.frontends.python import MARK

_P = ParamSpec("_P")
_R = TypeVar("_R")


def outside(name: str, track: str = "tile") -> NoReturn:
    """Refuses a call that is not in a kernel."""
    raise CompileError(
        "kernel/outside",
        f"{name} works in a kernel only",
        help=f"call it in a function under @{track}.kernel, or in a helper that such a function calls",
    )


class Stubs:
    """A track's functions by name."""

    def __init__(self, track: str) -> None:
        self.track = track
        self.functions: dict[str, Callable[..., Any]] = {}

    def in_kernels(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """A function that exists in kernels only."""

        @functools.wraps(function)
        def refuse(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            outside(f"{self.track}.{function.__name__}()", self.track)

        setattr(refuse, MARK, function.__name__)
        self.functions[function.__name__] = refuse
        return refuse

    def everywhere(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """A function that runs on the host as well."""
        setattr(function, MARK, function.__name__)
        self.functions[function.__name__] = function
        return function
