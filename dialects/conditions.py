"""The names in a launch condition: what `simt.requires` may speak of."""

from __future__ import annotations

import ast
from collections.abc import Set
from functools import lru_cache

_FUNCTIONS = ("len", "min", "max")


def wrong_condition(text: str, arrays: Set[str], scalars: Set[str]) -> str | None:
    """What is wrong with a condition over parameters of these names; None where nothing is.

    The rest of the language is checked where conditions are compiled: here stands what depends on the kernel.
    """
    whole, single = _names(text)
    if whole is None:
        return "it is not an expression"
    for name in sorted(whole):
        if name in scalars:
            return f"{name!r} is not an array, and has no extents"
        if name not in arrays:
            return f"{name!r} is the tile.name of no parameter"
    for name in sorted(single):
        if name in arrays:
            return f"{name!r} is an array: write len({name}) or {name}.shape[axis]"
        if name not in scalars:
            return f"{name!r} is the tile.name of no parameter"
    return None


@lru_cache(maxsize=1024)
def _names(text: str) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The names of which a condition takes extents, and those that it takes as numbers."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, frozenset()
    extents: set[str] = set()
    skipped: set[ast.AST] = set()  # names that are no numbers
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) as function, args=arguments) if name in _FUNCTIONS:
                skipped.add(function)
                if name == "len" and len(arguments) == 1 and isinstance(arguments[0], ast.Name):
                    extents.add(arguments[0].id)
                    skipped.add(arguments[0])
            case ast.Attribute(value=ast.Name(id=name) as array):
                extents.add(name)
                skipped.add(array)
            case ast.Subscript(value=ast.Name(id="grid") as grid):
                skipped.add(grid)
            case _:
                pass
    return frozenset(extents), frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in skipped
    )
