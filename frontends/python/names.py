"""Names: variables, what a kernel finds around itself, and the attributes of compile-time things."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES, DType, from_numpy
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.constant_array import ConstantArray, as_constant, is_array
from tileopt.frontends.python.base import close_match
from tileopt.frontends.python.branches import Branches
from tileopt.frontends.python.frames import Frame
from tileopt.frontends.python.objects import BoundMethod, Closure, Poison, is_number, is_record, name_of


class Lookup(Branches):
    """Finds what names stand for. `builtins`: Python's own functions that kernels may use."""

    builtins: Mapping[str, object] = {}

    def _name(self, node: ast.Name) -> object:
        frame: Frame | None = self.frame
        while frame is not None:
            if node.id in frame.path.env:
                found = frame.path.env[node.id]
                if isinstance(found, Poison):
                    raise self.poisoned(found)
                return found
            if node.id in frame.liveness.local:
                raise self.fail("name/unset", f"'{node.id}' is used before it is set", node=node)
            if frame.outer is None:
                break
            frame = frame.outer
        assert frame is not None
        return self._outside(node, frame)

    def _outside(self, node: ast.Name, frame: Frame) -> object:
        """A name that the function finds around itself."""
        name = node.id
        for scope in (frame.cells, frame.globals, self.builtins):
            if name in scope:
                return self.captured(scope[name], name, node)
        if name in _python_builtins():
            raise self.unsupported(
                "builtin", f"Python's '{name}' cannot be used in a kernel", _BUILTIN_HELP.get(name), node
            )
        known = [*frame.path.env, *frame.globals, *self.builtins]
        raise self.fail("name/unknown", f"'{name}' is not defined", close_match(name, known), node)

    def captured(self, thing: Any, name: str, node: ast.AST) -> object:
        """A thing from outside the kernel, which must be constant."""
        dtype = foreign_dtype(thing)
        if dtype is not None:
            return dtype
        if type(thing).__module__ == "numpy" and hasattr(thing, "item") and getattr(thing, "ndim", 1) == 0:
            thing = thing.item()
        constant = as_constant(thing)
        if constant is not None:
            return self.constant_array(constant, name, node)
        if thing is None or is_number(thing) or isinstance(thing, _KNOWN) or callable(thing) or is_record(thing):
            return thing
        if isinstance(thing, tuple):
            for part in thing:
                self.captured(part, name, node)
            return thing
        help = "pass arrays and changing values as parameters; a global or captured variable must be a constant"
        if is_array(thing):
            help = (
                f"pass it as a parameter, or freeze it: {name} = simt.constant({name}); what kernels write is a "
                "parameter, or launches that share it could not be told apart"
            )
        raise self.fail(
            "kernel/captured-value",
            f"'{name}' is an object of type '{type(thing).__name__}' from outside the kernel, not a constant",
            help,
            node,
        )

    def constant_array(self, constant: ConstantArray, name: str, node: ast.AST) -> object:
        """A constant array that a kernel reads."""
        raise self.fail(
            "kernel/captured-value",
            f"'{name}' is a constant array, and {self.track} kernels read arrays by parameters only",
            "pass it as a parameter",
            node,
        )

    def attribute(self, thing: Any, name: str, node: ast.AST) -> object:
        """`thing.name`."""
        if isinstance(thing, ModuleType):
            if not hasattr(thing, name):
                # Our modules are known by the names that programs import them by.
                shown = thing.__name__.rpartition(".")[2]
                shown = shown.removesuffix("_python") if thing.__name__.startswith("tileopt.") else shown
                help = close_match(name, (n for n in dir(thing) if not n.startswith("_")))
                if shown == "tile":
                    help = _TILE_HELP.get(name, help)
                raise self.fail("name/attribute", f"'{shown}' has no '{name}'", help, node)
            return self.captured(getattr(thing, name), name, node)
        aggregate = is_record(thing) or (isinstance(thing, tuple) and hasattr(thing, "_fields"))
        if aggregate:
            # Methods and properties are read like helpers: their parts may be values.
            member = inspect.getattr_static(type(thing), name, None)
            if isinstance(member, FunctionType):
                return MethodType(member, thing)
            if isinstance(member, property) and isinstance(member.fget, FunctionType) and isinstance(node, ast.expr):
                return self.call(member.fget, [thing], {}, node)
            if isinstance(member, staticmethod):
                return member.__func__
        if aggregate or isinstance(thing, Enum | DType):
            known = [n for n in dir(thing) if not n.startswith("_")]
            if name in known and not callable(getattr(thing, name)):
                found: object = getattr(thing, name)
                return found
            raise self._no_attribute(thing, name, node, close_match(name, known))
        if isinstance(thing, type) and (issubclass(thing, Enum) or is_number(getattr(thing, name, None))):
            if hasattr(thing, name):
                return self.captured(getattr(thing, name), name, node)
            raise self._no_attribute(thing, name, node)
        if isinstance(thing, _KNOWN) and not isinstance(thing, type):
            raise self.mistyped("name/attribute", f"{name_of(thing)} has no '{name}'", node=node)
        raise self._no_attribute(thing, name, node)

    def _no_attribute(self, thing: object, name: str, node: ast.AST, help: str | None = None) -> CompileError:
        """The error for an attribute that is not there, or that kernels do not read."""
        missing = object()
        if inspect.getattr_static(thing, name, missing) is missing:
            return self.fail("name/attribute", f"{name_of(thing)} has no '{name}'", help, node)
        help = "kernels read fields of frozen dataclasses and named tuples, members of enums and numbers of classes"
        return self.fail("name/attribute", f"a kernel cannot read '{name}' of {name_of(thing)}", help, node)


_KNOWN = (str, DType, Enum, ModuleType, FunctionType, MethodType, type, Value, Array, Closure, BoundMethod)
_PRODUCT = "tile.mma(a, b) multiplies two tiles, tile.mma(a, b, acc) adds the product to a third"
_TILE_HELP = {"dot": _PRODUCT, "matmul": _PRODUCT, "program_id": "tile.bid(axis) is the block's id"}
_BUILTIN_HELP = {
    "sum": "tile.sum() adds the elements of a tile",
    "any": "tile.any() looks at the elements of a tile",
    "all": "tile.all() looks at the elements of a tile",
    "list": "use a tuple",
    "dict": "use a frozen dataclass",
    "open": "a kernel cannot read files",
    "input": "pass it as a parameter",
    "map": "write a loop",
    "filter": "write a loop",
    "sorted": "write the order out",
}


def foreign_dtype(thing: object) -> DType | None:
    """NumPy's, ml_dtypes' or PyTorch's name of an element type, as ours."""
    if type(thing).__module__ == "torch":
        return _TORCH.get(str(thing))
    if not isinstance(thing, type) and "dtype" not in type(thing).__name__.lower():
        return None
    module = thing.__module__ if isinstance(thing, type) else type(thing).__module__
    if module.partition(".")[0] not in ("numpy", "ml_dtypes"):
        return None
    import numpy as np

    try:
        return from_numpy(np.dtype(thing))  # type: ignore[call-overload]
    except TypeError:
        return None


_TORCH = {f"torch.{name}": DTYPES[ours] for name, ours in (
    ("bool", "bool"), ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("uint8", "u8"),
    ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"), ("float16", "f16"), ("bfloat16", "bf16"),
    ("float32", "f32"), ("float64", "f64"), ("float8_e4m3fn", "f8e4m3fn"), ("float8_e5m2", "f8e5m2"),
    ("float8_e8m0fnu", "f8e8m0fnu"),
)}  # fmt: skip


def _python_builtins() -> Mapping[str, object]:
    import builtins

    return vars(builtins)
