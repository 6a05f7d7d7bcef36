"""What the host has checked before a launch, as expressions: the kernel's attribute `simt.requires`.

Relations are over `len(x)`, `x.shape[i]`, `grid[i]`, signed integer parameters by name and constants, with + - * // %,
joined by `and`. The host evaluates them in exact integers, as expressions do. What is beyond this says nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from tileopt.dialects.kernel import NAME, REQUIRES, UNSIGNED
from tileopt.dialects.tile_types import ViewType
from tileopt.passes.analysis.affine import Expr

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from tileopt.passes.analysis.facts import KernelFacts


def required(facts: KernelFacts) -> list[Expr]:
    """Expressions that are never negative in a launch that the host lets through."""
    texts = facts.kernel.attributes.get(REQUIRES)
    if not isinstance(texts, ArrayAttr):
        return []
    reader = _Reader(facts)
    return [e for text in texts.data if isinstance(text, StringAttr) for e in reader.relation(text.data)]


class _Unknown(Exception):
    """A part that no expression stands for."""


class _Reader:
    def __init__(self, facts: KernelFacts) -> None:
        self.facts = facts
        self.named: dict[str, tuple[int, SSAValue]] = {}
        for index, argument in enumerate(facts.kernel.body.block.args):
            name = facts.kernel.arg_attr(index, NAME)
            if name is not None and isinstance(name, StringAttr):
                self.named[name.data] = (index, argument)

    def relation(self, text: str) -> list[Expr]:
        try:
            return self._facts(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []

    def _facts(self, node: ast.expr) -> list[Expr]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return [e for value in node.values for e in self._facts(value)]
        if not isinstance(node, ast.Compare):
            return []
        found: list[Expr] = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            try:
                difference = self._number(right) - self._number(left)
                found += _compared(operator, difference)
            except _Unknown:
                pass
            left = right
        return found

    def _number(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=value) if type(value) is int:
                return Expr.constant(value)
            case ast.Name(id=name) if name in self.named:
                return self._scalar(*self.named[name])
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                return self._extent(name, 0)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=axis)
            ):
                return self._extent(name, axis)
            case ast.Subscript(value=ast.Name(id="grid"), slice=ast.Constant(value=int() as axis)) if 0 <= axis <= 2:
                return self.facts.num_blocks(axis)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._combined(operator, self._number(left), self._number(right))
            case _:
                raise _Unknown

    def _combined(self, operator: ast.operator, a: Expr, b: Expr) -> Expr:
        match operator:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.FloorDiv() | ast.Mod() if b.bounds().lo > 0:
                return self.facts.symbols.divide(a, b)[isinstance(operator, ast.Mod)]
            case _:
                raise _Unknown

    def _scalar(self, index: int, argument: SSAValue) -> Expr:
        if isinstance(argument.type, ViewType) or self.facts.kernel.arg_attr(index, UNSIGNED) is not None:
            raise _Unknown
        expr = self.facts.of(argument).expr
        if any(s.kind != "argument" for s in expr.symbols()):
            raise _Unknown
        return expr

    def _extent(self, name: str, axis: object) -> Expr:
        _, view = self.named.get(name, (0, None))
        if view is None or not isinstance(view.type, ViewType) or not isinstance(axis, int):
            raise _Unknown
        if not 0 <= axis < view.type.rank:
            raise _Unknown
        return self.facts.dim(view, axis)


def _compared(operator: ast.cmpop, difference: Expr) -> list[Expr]:
    """What right - left says."""
    match operator:
        case ast.LtE():
            return [difference]
        case ast.Lt():
            return [difference - 1]
        case ast.GtE():
            return [-difference]
        case ast.Gt():
            return [-difference - 1]
        case ast.Eq():
            return [difference, -difference]
        case _:
            return []
