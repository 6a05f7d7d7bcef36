"""The relations of a launch contract: what a kernel requires of its arguments, checked once a launch by the host and
known to the passes as facts.

A relation is `a OP b` over integers, `len(x)`, `x.shape[i]`, integer scalars and constants, with + - * // % and
parentheses. Chains and `and` are taken apart. The canonical text, which the kernel's attribute `simt.requires` holds,
has one spelling for each extent (axis 0 is `len(x)`, the others `x.shape[i]` with i >= 1) and no compile-time constant
by name; it is in the language of the launch conditions of the runtime.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileopt.dialects.contracts import ArraySpec, ConstSpec, Parameter, ParamKind, ScalarSpec, Signature
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES
from tileopt.frontends.python.base import close_match

_HELP = "relations compare len(x), x.shape[i], integer scalars and constants, with + - * // %"
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_RELATIONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True, slots=True)
class Relation:
    """One comparison of two integer expressions."""

    text: str
    tree: ast.Compare


def parse(text: object, parameters: Sequence[Parameter]) -> list[Relation]:
    """The relations of one string. Raises CompileError (`contract/...`), whose place the caller knows."""
    if not isinstance(text, str):
        raise CompileError("contract/syntax", f"a requirement is a string, not {text!r}", help=_HELP)
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise CompileError("contract/syntax", f"'{text}' is not an expression: {why}", help=_HELP) from None
    known = {p.name: p for p in parameters}
    relations = [Relation(text, tree) for tree in _comparisons(body, text)]
    for relation in relations:
        for side in (relation.tree.left, *relation.tree.comparators):
            _check(side, text, known)
        _check_divisors(relation.tree, text, "contract/syntax")
    return relations


def _check_divisors(tree: ast.Compare, text: str, code: str) -> None:
    """Raises CompileError where a divisor is 0 by its constants alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod) and _value(node.right) == 0:
            raise CompileError(code, f"'{ast.unparse(node)}' in '{text}' divides by zero")


def _value(node: ast.expr) -> int | None:
    """What an expression of constants alone is."""
    if any(isinstance(n, ast.Name) for n in ast.walk(node)):
        return None
    try:
        made = ast.fix_missing_locations(ast.Expression(copy.deepcopy(node)))
        return int(eval(compile(made, "<contract>", "eval"), {"__builtins__": {}}))
    except ArithmeticError:
        return None


def _comparisons(node: ast.expr, text: str) -> Iterator[ast.Compare]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for value in node.values:
            yield from _comparisons(value, text)
    elif isinstance(node, ast.Compare) and all(isinstance(op, _RELATIONS) for op in node.ops):
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            yield ast.Compare(left, [op], [right])
            left = right
    else:
        raise CompileError("contract/relation", f"'{ast.unparse(node)}' in '{text}' is not a comparison", help=_HELP)


def _check(node: ast.expr, text: str, known: Mapping[str, Parameter]) -> None:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return
        case ast.Name(id=name):
            parameter = _parameter(name, text, known)
            if parameter.kind.is_array:
                raise CompileError("contract/name", f"'{name}' in '{text}' is an array", help=f"write len({name})")
            if parameter.kind is ParamKind.SCALAR and parameter.dtype is not None:
                if DTYPES[parameter.dtype].kind not in "iu":
                    raise CompileError(
                        "contract/name", f"'{name}' in '{text}' is of {parameter.dtype}, not an integer", help=_HELP
                    )
        case ast.BinOp(left=left, right=right, op=op) if isinstance(op, _OPERATORS):
            _check(left, text, known)
            _check(right, text, known)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, text, known)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            _array(name, text, known)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis):
            _array(name, text, known)
            if _axis(axis) is None:
                raise CompileError("contract/syntax", f"the axis of '{ast.unparse(node)}' is not a constant")
        case ast.BinOp(op=ast.Div()):
            raise CompileError("contract/syntax", f"'{ast.unparse(node)}' divides to a fraction", help="write //")
        case _:
            raise CompileError("contract/syntax", f"'{ast.unparse(node)}' cannot stand in '{text}'", help=_HELP)


def _parameter(name: str, text: str, known: Mapping[str, Parameter]) -> Parameter:
    if name not in known:
        raise CompileError("contract/name", f"'{name}' in '{text}' is no parameter", help=close_match(name, known))
    return known[name]


def _array(name: str, text: str, known: Mapping[str, Parameter]) -> None:
    if not _parameter(name, text, known).kind.is_array:
        raise CompileError("contract/name", f"'{name}' in '{text}' is not an array, and has no extents")


def _axis(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if type(value) is int else None


def canonical(relation: Relation, signature: Signature) -> str | None:
    """The relation for one specialisation; None where its constants alone make it true.

    Raises CompileError: `contract/false` where they make it false, `contract/axis`, `contract/name`.
    """
    tree = ast.fix_missing_locations(_Canonical(signature, relation.text).visit(copy.deepcopy(relation.tree)))
    if any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        _check_divisors(tree, relation.text, "contract/false")
        return ast.unparse(tree)
    try:
        holds = bool(eval(compile(ast.Expression(tree), "<contract>", "eval"), {"__builtins__": {}}))
    except ArithmeticError as error:
        raise CompileError("contract/false", f"'{relation.text}' cannot be evaluated: {error}") from None
    if not holds:
        raise CompileError("contract/false", f"'{relation.text}' does not hold: here it says {ast.unparse(tree)}")
    return None


class _Canonical(ast.NodeTransformer):
    """Puts constants and axes in."""

    def __init__(self, signature: Signature, text: str) -> None:
        self.signature = signature
        self.text = text

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.args[0], ast.Name)
        return self._extent(node.args[0].id, 0)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name)
        return self._extent(node.value.value.id, _axis(node.slice) or 0)

    def _extent(self, name: str, axis: int) -> ast.expr:
        spec = self.signature[name]
        assert isinstance(spec, ArraySpec)
        if not -spec.rank <= axis < spec.rank:
            raise CompileError("contract/axis", f"'{self.text}': '{name}' has rank {spec.rank}, and no axis {axis}")
        axis %= spec.rank
        text = f"len({name})" if axis == 0 else f"{name}.shape[{axis}]"
        return ast.parse(text, mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:
        spec = self.signature.get(node.id)
        if isinstance(spec, ConstSpec):
            if type(spec.value) is not int:
                raise CompileError(
                    "contract/name", f"'{node.id}' in '{self.text}' is {spec.value!r}, not an integer", help=_HELP
                )
            return ast.parse(str(spec.value), mode="eval").body
        if isinstance(spec, ScalarSpec) and DTYPES[spec.dtype].kind not in "iu":
            raise CompileError(
                "contract/name", f"'{node.id}' in '{self.text}' is of {spec.dtype}, not an integer", help=_HELP
            )
        return node
