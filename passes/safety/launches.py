"""Small launches that a kernel's contract lets through, to look for counterexamples in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import CodeType
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import SSAValue

from tileopt.dialects.kernel import DIVISOR, NAME, REQUIRES, UNSIGNED, KernelOp
from tileopt.dialects.tile_types import DYNAMIC, ViewType
from tileopt.passes.analysis.facts import width_of

LAUNCHES_MAX = 400  # choices that are tested against the contract
_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Constant, ast.Name, ast.Load, ast.Call, ast.Subscript,
    ast.Attribute, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
_WORDS = {"len": len, "min": min, "max": max}


@dataclass(frozen=True)
class Launch:
    """Grid, extents of arrays and integer arguments of one launch."""

    grid: tuple[int, int, int]
    shapes: dict[SSAValue, tuple[int, ...]] = field(default_factory=dict)
    scalars: dict[SSAValue, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Array:
    """An array as a relation sees it."""

    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]


def small_launches(kernel: KernelOp, grids: list[tuple[int, int, int]], generous: bool = True) -> Iterator[Launch]:
    """Launches with these grids, generous arrays first, or last. None where a relation cannot be read."""
    relations = _relations(kernel)
    if relations is None:
        return
    arguments = list(enumerate(kernel.body.block.args))
    views = [(i, a, a.type) for i, a in arguments if isinstance(a.type, ViewType)]
    integers = [(i, a) for i, a in arguments if width_of(a.type) is not None]
    threads = prod(kernel.block or (64,))
    tested = 0
    for grid in grids:
        whole = threads * prod(grid)
        sizes = (max(whole, 64), 4 * max(whole, 64), 64, 256, 16)
        extents = dict.fromkeys(sizes if generous else sizes[::-1])
        for extent, scalars in product(extents, _scalars(len(integers), extents)):
            tested += 1
            if tested > LAUNCHES_MAX:
                return
            shapes: dict[SSAValue, tuple[int, ...]] = {}
            for index, view, type_ in views:
                contract = kernel.contract(index)
                divisors = contract.shape_div if contract is not None else (1,) * type_.rank
                shapes[view] = tuple(
                    (extent // d * d if n == DYNAMIC else n) for n, d in zip(type_.get_shape(), divisors, strict=True)
                )
            given: dict[SSAValue, int] = {}
            for (index, argument), value in zip(integers, scalars, strict=True):
                divisor = getattr(getattr(kernel.arg_attr(index, DIVISOR), "value", None), "data", 1)
                width = width_of(argument.type) or 64
                given[argument] = min(value, (1 << max(width - 1, 1)) - 1) // divisor * divisor
            launch = Launch(grid, shapes, given)
            if _holds(kernel, launch, relations):
                yield launch


def _scalars(count: int, extents: dict[int, None]) -> Iterator[tuple[int, ...]]:
    values = [*extents, 4, 8, 1, 2]
    if count <= 2:
        yield from product(values, repeat=count)
    else:
        yield from ((v,) * count for v in values)
        yield from ((a, *((b,) * (count - 1))) for a, b in product(values, repeat=2))


def _relations(kernel: KernelOp) -> list[CodeType] | None:
    found = kernel.attributes.get(REQUIRES)
    if not isinstance(found, ArrayAttr):
        return []
    relations = []
    for text in found.data:
        assert isinstance(text, StringAttr)
        try:
            tree = ast.parse(text.data, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        for node in ast.walk(tree):
            plain = isinstance(node, _NODES)
            if isinstance(node, ast.Call):
                plain = isinstance(node.func, ast.Name) and node.func.id in _WORDS and not node.keywords
            if isinstance(node, ast.Attribute):
                plain = node.attr == "shape"
            if not plain:
                return None
        relations.append(compile(tree, "<relation>", "eval"))
    return relations


def _holds(kernel: KernelOp, launch: Launch, relations: list[CodeType]) -> bool:
    if not relations:
        return True
    values: dict[str, Any] = {"grid": launch.grid, "__builtins__": {}, **_WORDS}
    for index, argument in enumerate(kernel.body.block.args):
        name = kernel.arg_attr(index, NAME)
        if isinstance(name, StringAttr) and argument in launch.shapes:
            values[name.data] = _Array(launch.shapes[argument])
        elif isinstance(name, StringAttr) and argument in launch.scalars:
            value = launch.scalars[argument]
            unsigned = kernel.arg_attr(index, UNSIGNED) is not None
            values[name.data] = value % (1 << (width_of(argument.type) or 64)) if unsigned else value
    try:
        return all(eval(relation, values) for relation in relations)  # every node was looked at
    except (ArithmeticError, NameError, TypeError, IndexError, AttributeError):
        return False
