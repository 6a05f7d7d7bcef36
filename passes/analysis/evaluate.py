"""The value of an expression where those of its leaves are given: for counterexamples, and to test the analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tileopt.passes.analysis.affine import Expr, Symbol
from tileopt.passes.analysis.ranges import trunc_div
from tileopt.passes.analysis.symbols import wrap_divisor


class Unknown(Exception):
    """The expression rests on a symbol without a value."""


def evaluate(expr: Expr, values: Mapping[Symbol, int]) -> int:
    """The expression's value. Raises Unknown where a leaf has none."""
    return _Evaluation(values).of(expr)


def evaluate_all(exprs: list[Expr], values: Mapping[Symbol, int]) -> list[int]:
    """As `evaluate` for several expressions that share operands."""
    run = _Evaluation(values)
    return [run.of(e) for e in exprs]


class _Evaluation:
    def __init__(self, values: Mapping[Symbol, int]) -> None:
        self.values = dict(values)

    def of(self, expr: Expr) -> int:
        total = 0
        for monomial, factor in expr.terms.items():
            for symbol in monomial:
                factor *= self.symbol(symbol)
            total += factor
        return total

    def symbol(self, symbol: Symbol) -> int:
        found = self.values.get(symbol)
        if found is None:
            compute = _KINDS.get(symbol.kind)
            if compute is not None:
                found = compute(*(self.of(a) for a in symbol.args))
            elif symbol.kind.startswith("wrap"):
                found = _wrapped(self.of(symbol.args[0]), int(symbol.kind.removeprefix("wrap")), symbol)
            else:
                raise Unknown(symbol.name)
            self.values[symbol] = found
        return found


def _wrapped(value: int, width: int, symbol: Symbol) -> int:
    low = value & ((1 << width) - 1)
    signed = low if low < 1 << (width - 1) else low - (1 << width)
    return signed // wrap_divisor(symbol.args[0], width)


_KINDS: dict[str, Callable[..., int]] = {
    "floordiv": lambda a, d: a // d if d else 0,
    "mod": lambda a, d: a % d if d else 0,
    "tdiv": lambda a, d: trunc_div(a, d) if d else 0,
    "tmod": lambda a, d: a - d * trunc_div(a, d) if d else 0,
    "min": min,
    "select": lambda c, a, b: a if c else b,
    "nonneg": lambda e: int(e >= 0),
    "zero": lambda e: int(e == 0),
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
}
