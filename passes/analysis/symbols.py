"""The symbols of one kernel, and the operations whose results are no polynomials.

Equal operations on equal operands give the same symbol, so that `x // 8` computed twice is one quantity. What is
written on a symbol (bounds, relations) holds wherever the symbol is used; what holds only behind a condition is
given as `known` and serves to simplify, but is never written down.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from tileopt.passes.analysis.affine import ONE, ZERO, Bounds, Expr, Symbol, own_bounds, tightened
from tileopt.passes.analysis.ranges import Interval

if TYPE_CHECKING:
    from xdsl.ir import Operation


class SymbolTable:
    """Makes symbols and finds them again."""

    def __init__(self) -> None:
        self._count = 0
        self._made: dict[tuple[str, tuple[Expr, ...]], Symbol] = {}

    def leaf(self, kind: str, label: str, bounds: Interval, owner: Operation | None = None) -> Symbol:
        """A new quantity that no other determines."""
        self._count += 1
        return Symbol(self._count, kind, label.replace("{", "(").replace("}", ")"), bounds, (), owner)

    def derived(self, kind: str, label: str, args: tuple[Expr, ...], bounds: Interval) -> tuple[Symbol, bool]:
        """The quantity that `kind` computes from `args`, and whether it is new."""
        key = (kind, args)
        found = self._made.get(key)
        if found is not None:
            return found, False
        self._count += 1
        symbol = self._made[key] = Symbol(self._count, kind, label, bounds, args)
        return symbol, True

    def find(self, kind: str, args: tuple[Expr, ...]) -> Symbol | None:
        """The symbol that `derived` made before."""
        return self._made.get((kind, args))

    def opaque(self, kind: str, args: tuple[Expr, ...], bounds: Interval, divisor: int = 1) -> Expr:
        """A function of `args` of which only the bounds, and that `divisor` divides it, are known."""
        short = kind.removeprefix("arith.").split(":")[0]
        if short.startswith("wrap"):
            short = f"i{short.removeprefix('wrap')}"  # as a kernel would write it
        label = f"{short}({', '.join(f'{{{i}}}' for i in range(len(args)))})"
        within = Interval(-(-bounds.lo // divisor), bounds.hi // divisor)
        symbol, _ = self.derived(kind, label, args, within)
        return Expr.symbol(symbol, divisor)

    def wrapped(self, e: Expr, width: int) -> Expr:
        """e modulo the size of a type, as its signed value. A power of two that divides e divides it too."""
        return self.opaque(f"wrap{width}", (e,), Interval.signed(width), wrap_divisor(e, width))

    def minimum(self, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        difference = (a - b).bounds(known)
        if difference.hi <= 0:
            return a
        if difference.lo >= 0:
            return b
        common = max(1, gcd(a.content(), b.content()))
        a, b = sorted((a.exact_div(common), b.exact_div(common)), key=_order)
        m, new = self.derived("min", "min({0}, {1})", (a, b), a.bounds().min(b.bounds()))
        least = Expr.symbol(m)
        if new:
            m.relations += [a - least, b - least]
            guard((m,), (b - a,), (least - a,))
            guard((m,), (a - b,), (least - b,))
        return least * common

    def maximum(self, a: Expr, b: Expr, known: Bounds = own_bounds) -> Expr:
        return -self.minimum(-a, -b, known)

    def nonneg(self, e: Expr, known: Bounds = own_bounds) -> Expr:
        """1 where e >= 0, else 0."""
        range_ = e.bounds(known)
        if range_.lo >= 0:
            return ONE
        if range_.hi < 0:
            return ZERO
        return Expr.symbol(self.derived("nonneg", "({0} >= 0)", (tightened(e),), Interval(0, 1))[0])

    def zero(self, e: Expr, known: Bounds = own_bounds) -> Expr:
        """1 where e == 0, else 0."""
        range_ = e.bounds(known)
        if range_.lo > 0 or range_.hi < 0:
            return ZERO
        if range_.constant == 0:
            return ONE
        content = (e - e.offset).content()
        if content and e.offset % content:
            return ZERO
        e = e.exact_div(content) if content else e
        return Expr.symbol(self.derived("zero", "({0} == 0)", (e,), Interval(0, 1))[0])

    def both(self, a: Expr, b: Expr) -> Expr:
        """1 where the conditions a and b are 1, else 0."""
        if a == ZERO or b == ONE or a == b:
            return a
        if b == ZERO or a == ONE:
            return b
        a, b = sorted((a, b), key=_order)
        return Expr.symbol(self.derived("and", "({0} and {1})", (a, b), Interval(0, 1))[0])

    def either(self, a: Expr, b: Expr) -> Expr:
        """1 where the condition a or b is 1, else 0."""
        return ONE - self.both(ONE - a, ONE - b)

    def xor(self, a: Expr, b: Expr, bounds: Interval) -> Expr:
        """a ^ b on two's complement."""
        x, new = self.derived("xor", "({0} ^ {1})", (a, b), bounds)
        if new:
            value = Expr.symbol(x)
            for one in (a, -a - 1):
                for other in (b, -b - 1):
                    same = (one == a) == (other == b)
                    guard((x,), (one, other), (value if same else -value - 1,))
        return Expr.symbol(x)


def relate(symbols: tuple[Symbol, ...], relations: list[Expr]) -> None:
    """Writes on the symbols that the relations are never negative."""
    for symbol in symbols:
        symbol.relations += relations


def guard(symbols: tuple[Symbol, ...], conditions: tuple[Expr, ...], relations: tuple[Expr, ...]) -> None:
    """Writes on the symbols that the relations are not negative where the conditions are not."""
    for symbol in symbols:
        symbol.guarded.append((conditions, relations))


def wrap_divisor(e: Expr, width: int) -> int:
    """A power of two that divides `e` also after it wrapped."""
    content = e.content()
    return min(content & -content, 1 << (width - 1)) if content else 1


def unwrapped(e: Expr, width: int) -> Expr:
    """An expression equal to e modulo the type's size: what e is a wrapped form of, or e itself."""
    if len(e.terms) == 1:
        ((monomial, factor),) = e.terms.items()
        if len(monomial) == 1 and monomial[0].kind == f"wrap{width}":
            # The symbol is the wrapped value over this divisor.
            whole = monomial[0].args[0]
            return whole if factor == wrap_divisor(whole, width) else e
    return e


def exact(e: Expr) -> Expr:
    """What the program would compute if no sum or product left its 64 bits."""
    values = {}
    for symbol in e.symbols():
        if symbol.kind == "wrap64":
            (whole,) = symbol.args
            values[symbol] = exact(whole.exact_div(wrap_divisor(whole, 64)))
    return e.substitute(values)


def _order(e: Expr) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """Any total order will do: min(a, b) and min(b, a) are then one symbol."""
    return max((s.id for s in e.symbols()), default=0), sorted((tuple(s.id for s in m), c) for m, c in e.terms.items())
