"""The dialects by name. Each is imported when it is first used, so that the command starts quickly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from tileopt.dialects.diagnostics import CompileError

if TYPE_CHECKING:
    from xdsl.ir import Dialect

DialectFactory: TypeAlias = "Callable[[], Dialect]"

# A dialect and the module that it lies in. `gpu` is ours: xDSL's has no effects and no hardware ops.
_DIALECTS = {
    "builtin": "xdsl.dialects.builtin",
    "arith": "xdsl.dialects.arith",
    "math": "xdsl.dialects.math",
    "scf": "xdsl.dialects.scf",
    "cf": "xdsl.dialects.cf",
    "func": "xdsl.dialects.func",
    "ub": "xdsl.dialects.ub",
    "vector": "xdsl.dialects.vector",
    "test": "xdsl.dialects.test",
    "tile": "tileopt.dialects.tile",
    "pipe": "tileopt.dialects.pipe",
    "simt": "tileopt.dialects.simt",
    "gpu": "tileopt.dialects.gpu",
    "stream": "tileopt.dialects.stream",
}


def dialect_factories() -> dict[str, DialectFactory]:
    """What makes each dialect, by its name; those of plugins are not among them (see `plugins`)."""
    return {name: partial(_load, name, module) for name, module in _DIALECTS.items()}


def _load(name: str, module: str) -> Dialect:
    from xdsl.ir import Dialect

    for value in vars(import_module(module)).values():
        if isinstance(value, Dialect) and value.name == name:
            return value
    raise CompileError("registry/dialect", f"module '{module}' holds no dialect '{name}'")
