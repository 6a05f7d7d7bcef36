"""Whether a kernel is still the same program: its source, its helpers' and the constants that they captured.

A fingerprint covers the source text of the kernel and of every Python function that it can reach by name, and the value
of every global, captured variable, default and module attribute that these name. It is worked out once. Later calls
only look whether each name still stands for the very same object (`is`), and each function still has the same code; if
one does not, all is worked out again. So a constant that is rebound is noticed, as is an edited helper that was
reloaded; an object that was changed in place is not, and kernels capture only what cannot be. Where the functions stand
is kept apart: code depends on it (failed checks and reports name places), what was learned by tuning does not.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import types
from collections.abc import Callable, Iterator
from enum import Enum
from operator import is_, itemgetter
from typing import Any

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DType
from tileopt.frontends.constant_array import ConstantArray, as_constant, is_array
from tileopt.frontends.python import MARK
from tileopt.frontends.python.source import source_of

_ABSENT = object()
_Scope = tuple[dict[str, Any], Callable[[dict[str, Any]], Any], tuple[object, ...]]


class Captures:
    """What one function depends on."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self._fingerprint: str | None = None
        self._places: list[str] = []
        self._namespaces: list[tuple[dict[str, Any], str, object]] = []
        self._scopes: list[_Scope] = []
        self._cells: list[tuple[types.CellType, object]] = []
        self._codes: list[tuple[types.FunctionType, types.CodeType, object]] = []

    def fingerprint(self) -> str:
        """The present fingerprint. A few dozen comparisons where nothing changed."""
        if self._fingerprint is None or not self._unchanged():
            self._namespaces, self._cells, self._codes, self._places = [], [], [], []
            digest = hashlib.sha256()
            for part in self._visit(self.function, set()):
                digest.update(part.encode())
                digest.update(b"\0")
            self._fingerprint = digest.hexdigest()
            self._scopes = _by_scope(self._namespaces)
        return self._fingerprint

    def places(self) -> str:
        """Where the functions of the present fingerprint stand: file and first line of each."""
        self.fingerprint()
        return "\n".join(self._places)

    def _unchanged(self) -> bool:
        # On the way of every launch: the loop over names is C's.
        try:
            for scope, get, things in self._scopes:
                if not all(map(is_, get(scope), things)):
                    return False
        except KeyError:  # a name is gone
            return False
        for cell, thing in self._cells:
            if _content(cell) is not thing:
                return False
        for function, code, defaults in self._codes:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        return True

    def _watch(self, scope: dict[str, Any], name: str, thing: object) -> None:
        if not any(s is scope and n == name for s, n, _ in self._namespaces):
            self._namespaces.append((scope, name, thing))

    def _visit(self, function: types.FunctionType, seen: set[int]) -> Iterator[str]:
        code = function.__code__
        if id(function) in seen:  # equal code may read other globals
            return
        seen.add(id(function))
        self._codes.append((function, code, function.__defaults__))
        source = source_of(function)
        self._places.append(f"{source.file}:{source.first_line}")
        yield source.text
        yield repr([_describe(d) for d in function.__defaults__ or ()])
        yield repr({k: _describe(v) for k, v in (function.__kwdefaults__ or {}).items()})
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        outer = _global_names(code)
        for name, path in sorted(_outer_names(source.tree)):
            thing: object = _ABSENT
            if name in cells:
                thing = _content(cells[name])
                self._cells.append((cells[name], thing))
            elif name in outer:
                thing = function.__globals__.get(name, _ABSENT)
                self._watch(function.__globals__, name, thing)
            else:
                continue  # a local name
            for attribute in path:
                if not isinstance(thing, types.ModuleType) or _is_ours(thing.__name__):
                    break
                scope = vars(thing)
                thing = scope.get(attribute, _ABSENT)
                self._watch(scope, attribute, thing)
            yield f"{name}.{'.'.join(path)}"
            yield _describe(thing)
            for helper in _functions_in(thing):
                try:
                    yield from self._visit(helper, seen)
                except CompileError:  # without source: the kernel says so when it is compiled
                    yield "no source"


def _by_scope(names: list[tuple[dict[str, Any], str, object]]) -> list[_Scope]:
    """The names of each namespace, to be read at once. One that is not there now is Python's own, or an error's."""
    scopes: dict[int, tuple[dict[str, Any], dict[str, object]]] = {}
    for scope, name, thing in names:
        if thing is not _ABSENT:
            scopes.setdefault(id(scope), (scope, {}))[1][name] = thing
    result: list[_Scope] = []
    for scope, things in scopes.values():
        keys = [*things, next(iter(things))]  # two at least, so that itemgetter gives a tuple
        result.append((scope, itemgetter(*keys), tuple(things[k] for k in keys)))
    return result


def _functions_in(thing: object) -> Iterator[types.FunctionType]:
    """The helpers that a captured thing is or holds, methods among them."""
    cls = thing if isinstance(thing, type) else type(thing)
    if (dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and cls is not tuple)) and not _is_ours(
        cls.__module__
    ):
        for name, member in vars(cls).items():
            found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not name.startswith("__") and isinstance(found, types.FunctionType):
                yield found
    if isinstance(thing, tuple):
        for part in thing:
            yield from _functions_in(part)
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        for field in dataclasses.fields(thing):
            yield from _functions_in(getattr(thing, field.name))
    elif isinstance(thing, types.FunctionType) and not hasattr(thing, MARK) and not _is_ours(thing.__module__):
        yield thing


def _content(cell: types.CellType) -> object:
    try:
        content: object = cell.cell_contents
        return content
    except ValueError:
        return _ABSENT


def _is_ours(module: str) -> bool:
    """tileopt itself does not change under a running program; on disk its version is part of every key."""
    return module.partition(".")[0] == "tileopt"


def _global_names(code: types.CodeType) -> set[str]:
    """Names that the function, and functions and comprehensions in it, may look up outside."""
    names = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _outer_names(tree: ast.AST) -> set[tuple[str, tuple[str, ...]]]:
    """Names that a function reads, each with the attributes taken of it: `math.pi` is ("math", ("pi",))."""
    result: set[tuple[str, tuple[str, ...]]] = set()
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        path: list[str] = []
        at: ast.AST = node
        while isinstance(at, ast.Attribute):
            path.insert(0, at.attr)
            at = at.value
            if path and isinstance(node, ast.Attribute):
                inner.add(at)
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Load) and node not in inner:
            result.add((at.id, tuple(path)))
    return result


def _describe(thing: object) -> str:
    """A text that differs where two constants do."""
    if isinstance(thing, Enum):
        return f"{type(thing).__qualname__}.{thing.name}={thing.value!r}"
    if isinstance(thing, bool | int | float | str | None | DType):
        return f"{type(thing).__name__}:{thing!r}"
    if isinstance(thing, tuple):
        return f"{type(thing).__name__}({', '.join(map(_describe, thing))})"
    if is_array(thing) or isinstance(thing, ConstantArray):
        return _describe_array(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = ", ".join(f"{f.name}={_describe(getattr(thing, f.name))}" for f in dataclasses.fields(thing))
        return f"{type(thing).__qualname__}({fields})"
    if isinstance(thing, type):
        members = {k: v for k, v in vars(thing).items() if not k.startswith("_")}
        inner = ", ".join(f"{k}={_describe(v)}" for k, v in members.items() if not callable(v))
        return f"class {thing.__module__}.{thing.__qualname__}({inner})"
    if type(thing).__module__ == "numpy" and getattr(thing, "ndim", 1) == 0:
        return f"{type(thing).__name__}:{thing!r}"
    return f"{type(thing).__module__}.{type(thing).__qualname__} {getattr(thing, '__qualname__', '')}"


def _describe_array(thing: object) -> str:
    try:
        found = as_constant(thing)
    except CompileError as error:  # the kernel says so when it is compiled
        return error.message
    return "array" if found is None else found.digest
