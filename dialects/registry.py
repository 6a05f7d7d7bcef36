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
    "arith": "tileopt.dialects.arith",
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

    try:
        members = vars(import_module(module))
    except ModuleNotFoundError as error:
        raise CompileError(
            "registry/dialect", f"dialect '{name}' needs module '{error.name}', which is not there"
        ) from error
    for value in members.values():
        if isinstance(value, Dialect) and value.name == name:
            return _own(value) if name == "builtin" else value
    raise CompileError("registry/dialect", f"module '{module}' holds no dialect '{name}'")


def _own(dialect: Dialect) -> Dialect:
    """The builtin dialect with resources of its own: xDSL keeps those of every file read in one global table."""
    from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
    from xdsl.ir import Dialect

    return Dialect(dialect.name, list(dialect.operations), list(dialect.attributes), [OpAsmDialectInterface()])
