"""Expressions: what is known is computed at once by Python's own rules, the rest becomes IR."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from tileopt.dialects.diagnostics import MAX_INTEGER_BITS, CompileError, shown
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import SYMBOLS, Array, Value
from tileopt.frontends.builder_arith import FOLDS
from tileopt.frontends.python.base import SEQUENCE_LIMIT
from tileopt.frontends.python.names import Lookup
from tileopt.frontends.python.objects import (
    Closure,
    is_number,
    name_of,
    same,
)

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", "write a loop; compile-time tuples are unrolled by tile.static_range"),
    ast.SetComp: ("a set comprehension", "write a loop"),
    ast.DictComp: ("a dict comprehension", "write a loop"),
    ast.GeneratorExp: ("a generator", "write a loop"),
    ast.Dict: ("a dict", "use a frozen dataclass or a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.Await: ("await", "a kernel runs to its end without waiting"),
    ast.Yield: ("yield", "store what the kernel computes"),
    ast.YieldFrom: ("yield from", "store what the kernel computes"),
    ast.Starred: ("a starred expression here", "write the elements out"),
}


class Expressions(Lookup):
    """Evaluates expressions."""

    def evaluate(self, node: ast.expr) -> object:
        handler = _HANDLERS.get(type(node))
        self.at(node)
        if handler is None:
            what, help = _REFUSED.get(type(node), (f"'{type(node).__name__}'", ""))
            raise self.unsupported("expression", f"{what} cannot stand in a kernel", help or None)
        thing = handler(self, node)
        if type(thing) is int and thing.bit_length() > MAX_INTEGER_BITS:
            self.at(node)
            raise self._too_large(shown(thing))
        return thing

    def _too_large(self, what: str) -> CompileError:
        help = f"the integers that the compiler computes with have {MAX_INTEGER_BITS} bits, those of run time 64"
        return self.fail("limits/integer", f"{what} is too large", help)

    # Names

    def _constant(self, node: ast.Constant) -> object:
        if isinstance(node.value, complex | bytes) or node.value is Ellipsis:
            raise self.unsupported("constant", f"the constant {node.value!r} has no type that kernels know")
        return node.value

    # Operators

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        self.at(node)
        return self.operate(_BINARY[type(node.op)], left, right)

    def operate(self, kind: str, left: object, right: object) -> object:
        """A binary operator."""
        if not isinstance(left, Value) and not isinstance(right, Value):
            if not isinstance(left, Array) and not isinstance(right, Array):
                return self._fold(kind, left, right)
        symbol = SYMBOLS[kind]
        a, b = self.number(left, f"'{symbol}'"), self.number(right, f"'{symbol}'")
        if kind == "matmul":
            if not isinstance(a, Value) or not isinstance(b, Value):
                raise self.mistyped("type/operand", "'@' multiplies tiles")
            return self.builder.matmul(a, b)
        return self.builder.binary(kind, a, b)

    def _fold(self, kind: str, left: Any, right: Any) -> object:
        numbers = is_number(left) and is_number(right)
        sequences = (
            kind in ("add", "mul") and isinstance(left, tuple | str | int) and isinstance(right, tuple | str | int)
        )
        if not numbers and not sequences:
            raise self.mistyped("type/operand", f"'{SYMBOLS[kind]}' between {name_of(left)} and {name_of(right)}")
        if numbers and kind in ("shl", "pow") and isinstance(left, int) and isinstance(right, int) and right > 0:
            bits = left.bit_length() + right if kind == "shl" else (left.bit_length() - 1) * right
            if left and bits > MAX_INTEGER_BITS:
                raise self._too_large(f"{shown(left)} {SYMBOLS[kind]} {shown(right)}")
        if sequences and not numbers:
            sizes = [len(t) if isinstance(t, tuple | str) else t for t in (left, right)]
            self.limit_sequence(sizes[0] + sizes[1] if kind == "add" else sizes[0] * sizes[1])
        try:
            result = FOLDS[kind](left, right)
        except ZeroDivisionError:
            raise self.fail("type/division-by-zero", f"'{SYMBOLS[kind]}' by the constant 0") from None
        except OverflowError:
            what = f"{shown(left)} {SYMBOLS[kind]} {shown(right)}"
            raise self.fail("limits/float", f"{what} is too large for a float") from None
        except Exception as error:
            raise self.mistyped("type/operand", f"{left!r} {SYMBOLS[kind]} {right!r}: {error}") from None
        if isinstance(result, complex):
            raise self.unsupported("constant", f"{left!r} {SYMBOLS[kind]} {right!r} is a complex number")
        return result

    def limit_sequence(self, size: int) -> None:
        """Refuses a tuple or string that is too long, before it is made."""
        if size > SEQUENCE_LIMIT:
            raise self.fail("limits/sequence", f"a sequence of {size} elements; the limit is {SEQUENCE_LIMIT}")

    def _unary(self, node: ast.UnaryOp) -> object:
        thing = self.evaluate(node.operand)
        self.at(node)
        if isinstance(node.op, ast.Not):
            held = self.truth(thing)
            return not held if isinstance(held, bool) else self.builder.logical_not(held)
        operand = self.number(thing, f"'{_UNARY[type(node.op)][0]}'")
        if isinstance(operand, Value):
            if isinstance(node.op, ast.UAdd):
                return operand
            return self.builder.negate(operand) if isinstance(node.op, ast.USub) else self.builder.invert(operand)
        if isinstance(operand, float) and isinstance(node.op, ast.Invert):
            raise self.mistyped("type/operand", "'~' works on integers and bools, not on floats")
        if isinstance(operand, bool) and isinstance(node.op, ast.Invert):
            return not operand  # as on tiles of bools; Python's own ~True is -2
        return _UNARY[type(node.op)][1](operand)

    def _compare(self, node: ast.Compare) -> object:
        return self._chain(node, self.evaluate(node.left), 0)

    def _chain(self, node: ast.Compare, left: object, index: int) -> object:
        """`left op right and right op ...`, each operand evaluated once, and only as far as Python does."""
        right = self.evaluate(node.comparators[index])
        self.at(node)
        first = self.relate(node.ops[index], left, right)
        if index == len(node.ops) - 1:
            return first
        if isinstance(first, Value) and first.shape:
            raise self.mistyped(
                "type/condition", "a chain of comparisons of tiles has no single truth value",
                "compare twice and combine with &: (a < b) & (b < c)",
            )  # fmt: skip
        return self._both(first, lambda: self._chain(node, right, index + 1), node)

    def _both(self, first: object, rest: Callable[[], object], node: ast.AST) -> object:
        held = self.truth(first)
        if isinstance(held, bool):
            return rest() if held else first
        return self.choose(held, rest, lambda: False, node)

    def relate(self, op: ast.cmpop, left: object, right: object) -> object:
        """One comparison."""
        if isinstance(op, ast.Is | ast.IsNot):
            plain = [isinstance(t, Value) or (is_number(t) and not isinstance(t, bool | Enum)) for t in (left, right)]
            if any(plain) and (all(plain) or any(isinstance(t, Value) for t in (left, right))):
                if left is not None and right is not None:
                    raise self.mistyped("type/operand", "'is' compares compile-time things; numbers compare with ==")
            if isinstance(left, DType) != isinstance(right, DType):
                self._meet_types(left, right)
                raise self.mistyped(
                    "type/operand", f"'is' between {name_of(left)} and {name_of(right)}", "types compare with =="
                )
            equal = left is right or same(left, right)
            return equal if isinstance(op, ast.Is) else not equal
        if isinstance(op, ast.In | ast.NotIn):
            return self._member(left, right, isinstance(op, ast.In))
        kind = _RELATIONS[type(op)]
        symbol = SYMBOLS[kind]
        left, right = self._meet_types(left, right)
        if isinstance(left, Value | Array) or isinstance(right, Value | Array):
            if left is None or right is None or isinstance(left, str) or isinstance(right, str):
                raise self.mistyped("type/operand", f"'{symbol}' between {name_of(left)} and {name_of(right)}")
            return self.builder.compare(kind, self.number(left, f"'{symbol}'"), self.number(right, f"'{symbol}'"))
        if isinstance(left, tuple) and isinstance(right, tuple) and _has_values((left, right)):
            raise self.mistyped("type/operand", "tuples of run-time values do not compare; compare their elements")
        try:
            return bool(FOLDS[kind](left, right))
        except Exception as error:
            raise self.mistyped("type/operand", f"'{symbol}': {error}") from None

    def _meet_types(self, left: object, right: object) -> tuple[object, object]:
        """Two things to compare: beside an element type, what names one (as in `astype`) stands for it."""
        if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
            pairs = [self._meet_types(a, b) for a, b in zip(left, right, strict=True)]
            return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        if isinstance(left, DType) == isinstance(right, DType):
            return left, right
        if isinstance(left, DType):
            return left, self.as_dtype(right, f"what is compared with {name_of(left)}")
        return self.as_dtype(left, f"what is compared with {name_of(right)}"), right

    def _member(self, item: object, group: object, positive: bool) -> object:
        if not isinstance(group, tuple | str):
            raise self.mistyped("type/operand", f"'in' looks in tuples, not in {name_of(group)}")
        if isinstance(group, str):
            if not isinstance(item, str):
                raise self.mistyped("type/operand", f"'in' looks for a string in a string, not for {name_of(item)}")
            return (item in group) is positive
        if not _has_values((item, group)):
            met = [self._meet_types(item, g) for g in group]
            return any(same(a, b) or (is_number(a) and is_number(b) and a == b) for a, b in met) is positive
        found: Value | bool = False
        for other in group:
            equal = self.truth(self.relate(ast.Eq(), item, other))
            found = equal if found is False else self.builder.binary("or", found, equal)
        if isinstance(found, bool):
            return found is positive
        return found if positive else self.builder.logical_not(found)

    def _boolean(self, node: ast.BoolOp) -> object:
        return self._operands(node, 0)

    def _operands(self, node: ast.BoolOp, index: int) -> object:
        """`and` and `or` as Python has them: the result is an operand, and the rest runs only where it decides."""
        first = self.evaluate(node.values[index])
        if index == len(node.values) - 1:
            if isinstance(first, Value) and first.shape:
                self.at(node.values[index])
                self.truth(first)
            return first
        self.at(node.values[index])
        held = self.truth(first)
        stop = isinstance(node.op, ast.Or)
        if isinstance(held, bool):
            return first if held is stop else self._operands(node, index + 1)
        rest = lambda: self._operands(node, index + 1)  # noqa: E731
        return self.choose(held, (lambda: first) if stop else rest, rest if stop else (lambda: first), node)

    def _conditional(self, node: ast.IfExp) -> object:
        held = self.truth(self.evaluate(node.test))
        if isinstance(held, bool):
            return self.evaluate(node.body if held else node.orelse)
        return self.choose(held, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse), node)

    # Compound things

    def _tuple(self, node: ast.Tuple | ast.List) -> object:
        return tuple(self.elements(node.elts))

    def elements(self, nodes: list[ast.expr]) -> list[object]:
        """Expressions in a row, of which some may be starred tuples."""
        result: list[object] = []
        for item in nodes:
            if isinstance(item, ast.Starred):
                thing = self.evaluate(item.value)
                if not isinstance(thing, tuple):
                    self.at(item)
                    raise self.mistyped("type/operand", f"'*' spreads tuples, not {name_of(thing)}")
                result += thing
            else:
                result.append(self.evaluate(item))
        return result

    def _subscript(self, node: ast.Subscript) -> object:
        return self.take(self.evaluate(node.value), node)

    def take(self, thing: object, node: ast.Subscript) -> object:
        """`thing[...]` with the index of the node."""
        index = self._index(node.slice)
        self.at(node)
        if isinstance(thing, tuple | str):
            if isinstance(index, slice):
                return thing[index]
            position = self.known_int(index, "the index of a tuple")
            if not -len(thing) <= position < len(thing):
                raise self.fail("type/index", f"index {position} of {name_of(thing)}")
            return thing[position]
        return self.subscript(thing, index, node)

    def _index(self, node: ast.expr) -> object:
        if isinstance(node, ast.Slice):
            bounds = [None if b is None else self.evaluate(b) for b in (node.lower, node.upper, node.step)]
            self.at(node)
            return slice(*(None if b is None else self.known_int(b, "the bound of a slice") for b in bounds))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(e) for e in node.elts)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return Ellipsis
        return self.evaluate(node)

    def subscript(self, thing: object, index: object, node: ast.Subscript) -> object:
        """`thing[index]` where it is not a tuple."""
        raise self.mistyped("type/operand", f"{name_of(thing)} cannot be indexed")

    def _attribute(self, node: ast.Attribute) -> object:
        thing = self.evaluate(node.value)
        self.at(node)
        return self.attribute(thing, node.attr, node)

    def _call(self, node: ast.Call) -> object:
        function = self.evaluate(node.func)
        args = self.elements(node.args)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.unsupported("double-star", "'**' in a call", "name the arguments", keyword.value)
            kwargs[keyword.arg] = self.evaluate(keyword.value)
        self.at(node)
        return self.call(function, args, kwargs, node)

    def _lambda(self, node: ast.Lambda) -> object:
        return self.closure(node)

    def closure(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """A function in the kernel's source; its defaults are evaluated now, its body at each call."""
        defaults = tuple(self.evaluate(d) for d in node.args.defaults)
        named = {
            a.arg: self.evaluate(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
        return Closure(node, self.frame, defaults, named)

    def _walrus(self, node: ast.NamedExpr) -> object:
        thing = self.evaluate(node.value)
        self.bind(node.target, thing)
        return thing

    def _joined(self, node: ast.JoinedStr) -> object:
        pieces: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                thing = self.evaluate(part.value)
                spec = self._joined(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
                self.at(part)
                if isinstance(thing, Value | Array) or _has_values((thing,)):
                    what = f"{name_of(thing)} in an f-string is not known to the compiler"
                    help = f"print('x =', x) and {self.track}.printf(\"x = %d\", x) print values of the run"
                    raise self.unsupported("f-string", what, help)
                shown = repr(thing) if part.conversion == ord("r") else thing
                for number in re.findall(r"\d+", str(spec)):
                    self.limit_sequence(len(number) if len(number) > 9 else int(number))
                try:
                    pieces.append(format(shown, str(spec)))
                except (TypeError, ValueError) as error:
                    raise self.mistyped("type/operand", f"the f-string cannot be formatted: {error}") from None
            else:
                pieces.append(str(self.evaluate(part)))
            self.limit_sequence(sum(map(len, pieces)))
        return "".join(pieces)


_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.UAdd: ("+", operator.pos),
    ast.USub: ("-", operator.neg),
    ast.Invert: ("~", operator.invert),
}


def _has_values(things: tuple[object, ...]) -> bool:
    return any(isinstance(t, Value | Array) or (isinstance(t, tuple) and _has_values(t)) for t in things)


_HANDLERS: dict[type[ast.expr], Callable[[Any, Any], object]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Lookup._name,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._boolean,
    ast.IfExp: Expressions._conditional,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._tuple,
    ast.Subscript: Expressions._subscript,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.Lambda: Expressions._lambda,
    ast.NamedExpr: Expressions._walrus,
    ast.JoinedStr: Expressions._joined,
}
