"""Launch conditions: relations over a kernel's arguments that are checked once a launch, in exact integers.

The language is Python's, restricted to `len(a)`, `a.shape[i]`, `a.stride[i]`, integer scalars by name, `grid[i]`,
integer constants, + - * // %, comparisons, `and`, `or`, `not`, min and max.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.diagnostics import UnsupportedError

_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Load,
)  # fmt: skip
_NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)
_CLUSTERS = re.compile(r"grid\[(\d)\] % (\d+) == 0")  # what clusters of blocks require
_CALLS = {"len": len, "min": min, "max": max}


@dataclass(frozen=True, slots=True)
class ArrayView:
    """An array as a condition sees it."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True, slots=True)
class Condition:
    """One relation, compiled."""

    text: str
    holds: Callable[[Mapping[str, Any]], bool]
    names: frozenset[str]
    sides: tuple[tuple[str, Callable[[Mapping[str, Any]], int]], ...]

    def check(self, values: Mapping[str, Any], kernel: str) -> None:
        """Raises LaunchError, which names the relation and its values, where it does not hold."""
        try:
            if self.holds(values):
                return
            found = ", ".join(f"{text} is {side(values)}" for text, side in self.sides)
        except (ArithmeticError, IndexError) as error:
            found = f"it cannot be evaluated: {error}"
        if clusters := _CLUSTERS.fullmatch(self.text):
            axis, blocks = clusters.groups()
            raise launch_error(
                "condition",
                f"blocks of {kernel} come in clusters of {blocks} along axis {axis} of the grid, which has "
                f"{values['grid'][int(axis)]} there",
                help=f"launch a multiple of {blocks} blocks along it, or leave num_ctas= or cluster= out",
            )
        raise launch_error("condition", f"{kernel} requires {self.text}" + (f"; {found}" if found else ""))


@lru_cache(maxsize=1024)
def compile_condition(text: str) -> Condition:
    """Raises UnsupportedError where the text is not in the language."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise UnsupportedError("launch/condition-syntax", f"'{text}' is not an expression: {why}") from None
    names: set[str] = set()
    _check(tree.body, text, names)
    sides = []
    if isinstance(tree.body, ast.Compare):
        for node in (tree.body.left, *tree.body.comparators):
            if not isinstance(node, ast.Constant):
                sides.append((ast.unparse(node), _compiled(node)))
    return Condition(text, _compiled(tree.body), frozenset(names), tuple(sides))


def _compiled(node: ast.expr) -> Callable[[Mapping[str, Any]], Any]:
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<condition>", "eval")
    scope = {"__builtins__": {}, **_CALLS}
    return lambda values: eval(code, scope, values)  # every node was checked


def _check(node: ast.AST, text: str, names: set[str]) -> None:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return
        case ast.Name(id=name):
            names.add(name)
            return
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS and args:
            children: list[ast.AST] = list(args)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape" | "stride"), slice=inner):
            names.add(name)
            children = [inner]
        case ast.Subscript(value=ast.Name(id="grid"), slice=inner):
            names.add("grid")
            children = [inner]
        case _ if isinstance(node, _NODES + _OPERATORS):
            children = list(ast.iter_child_nodes(node))
        case _:
            raise UnsupportedError(
                "launch/condition-syntax",
                f"'{ast.unparse(node)}' in '{text}' is not allowed in a launch condition",
                help="use len(a), a.shape[i], integer scalars, constants, + - * // %, comparisons, and, or, not",
            )
    for child in children:
        _check(child, text, names)
