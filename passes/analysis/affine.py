"""Exact integer expressions over symbols: polynomials with integer coefficients, most of them affine.

A symbol is a quantity that the compiler cannot compute: a block id, an extent, an induction variable, or the result
of an operation that is no polynomial (a quotient, a remainder, a minimum), which keeps its operands as expressions.
Arithmetic here never wraps; whoever ties an expression to an SSA value proves that the value does not wrap either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from tileopt.passes.analysis.ranges import Interval

if TYPE_CHECKING:
    from xdsl.ir import Operation


class Symbol:
    """One unknown integer. Two symbols are the same quantity only if they are the same object.

    `kind`: what it is ("bid", "floordiv", ...). `args`: the operands that determine it (none for a leaf).
    `label`: its name, with `{0}`, `{1}` ... where the operands stand.
    `owner`: the op that makes a new value each time it runs (a loop, a load), or None where one launch has one value.
    `relations`: expressions over it that are never negative; `guarded`: relations that hold where others do.
    """

    __slots__ = ("args", "bounds", "guarded", "id", "kind", "label", "owner", "relations")

    def __init__(
        self,
        id: int,
        kind: str,
        label: str,
        bounds: Interval,
        args: tuple[Expr, ...] = (),
        owner: Operation | None = None,
    ) -> None:
        self.id = id
        self.kind = kind
        self.label = label
        self.bounds = bounds
        self.args = args
        self.owner = owner
        self.relations: list[Expr] = []
        self.guarded: list[Guarded] = []

    @property
    def name(self) -> str:
        """How messages call it. Put together on demand: most symbols are never shown."""
        name = _nested_name if self.label.startswith("(") else str
        return self.label.format(*(name(a) for a in self.args))

    @property
    def source(self) -> str:
        """The name in the source: that of `n`, where this is n/16 of an n which 16 divides."""
        whole, _, divisor = self.label.rpartition("/")
        return whole if whole and not self.args and divisor.isdigit() else self.name

    def __repr__(self) -> str:
        return self.name


SHOWN_MAX = 64  # characters of an expression in a message
Monomial: TypeAlias = tuple[Symbol, ...]  # a product of symbols, by their ids; () is 1
Guarded: TypeAlias = (
    "tuple[tuple[Expr, ...], tuple[Expr, ...]]"  # where none of the first is negative, none of the second is
)
Bounds: TypeAlias = Callable[[Symbol], Interval]


def own_bounds(symbol: Symbol) -> Interval:
    """The bounds that hold everywhere."""
    return symbol.bounds


class Expr:
    """A polynomial. Immutable; equal if the same polynomial."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms: dict[Monomial, int] = {m: c for m, c in terms.items() if c}
        self._hash: int | None = None

    @staticmethod
    def constant(value: int) -> Expr:
        return Expr({(): value})

    @staticmethod
    def symbol(symbol: Symbol, factor: int = 1) -> Expr:
        return Expr({(symbol,): factor})

    @property
    def value(self) -> int | None:
        """The constant that this is, or None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def offset(self) -> int:
        """The constant term."""
        return self.terms.get((), 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Expr | int) -> Expr:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items() if isinstance(other, Expr) else (((), other),):
            terms[monomial] = terms.get(monomial, 0) + factor
        return Expr(terms)

    def __sub__(self, other: Expr | int) -> Expr:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items() if isinstance(other, Expr) else (((), other),):
            terms[monomial] = terms.get(monomial, 0) - factor
        return Expr(terms)

    def __neg__(self) -> Expr:
        return Expr({m: -c for m, c in self.terms.items()})

    def __mul__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            return Expr({m: c * other for m, c in self.terms.items()})
        terms: dict[Monomial, int] = {}
        for a, ca in self.terms.items():
            for b, cb in other.terms.items():
                product = tuple(sorted(a + b, key=_by_id)) if a and b else a + b
                terms[product] = terms.get(product, 0) + ca * cb
        return Expr(terms)

    def content(self) -> int:
        """The greatest integer that divides it whatever the symbols are; 0 for 0."""
        return gcd(*self.terms.values())

    def split(self, divisor: int) -> tuple[Expr, Expr]:
        """q and r with self = divisor * q + r, where each factor of r lies in 0..divisor-1."""
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, factor in self.terms.items():
            if monomial and factor % divisor:
                rest[monomial] = factor
            else:
                quotient[monomial], left = divmod(factor, divisor)
                rest[monomial] = left
        return Expr(quotient), Expr(rest)

    def exact_div(self, divisor: int) -> Expr:
        """The expression over an integer that divides its content."""
        return self if divisor == 1 else Expr({m: c // divisor for m, c in self.terms.items()})

    def symbols(self) -> set[Symbol]:
        return {symbol for monomial in self.terms for symbol in monomial}

    def substitute(self, values: Mapping[Symbol, Expr]) -> Expr:
        """The expression with symbols replaced; operands of symbols stay as they are."""
        if not any(s in values for m in self.terms for s in m):
            return self
        total = ZERO
        for monomial, factor in self.terms.items():
            product = Expr.constant(factor)
            for symbol in monomial:
                product = product * values.get(symbol, Expr.symbol(symbol))
            total = total + product
        return total

    def bounds(self, of: Bounds = own_bounds) -> Interval:
        """An interval that holds every value, given those of the symbols."""
        lo = hi = 0
        for monomial, factor in self.terms.items():
            part = monomial_bounds(monomial, of).scaled(factor)
            lo, hi = lo + part.lo, hi + part.hi
        return Interval(lo, hi)

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, factor in sorted(self.terms.items(), key=lambda t: (not t[0], [s.id for s in t[0]])):
            if factor < 0 and len(monomial) == 1 and monomial[0].kind == "min":
                # There is no symbol for a maximum: it is a minimum of negatives.
                factor, name = -factor, f"max({', '.join(str(-a) for a in monomial[0].args)})"
                text = name if factor == 1 else f"{factor}*{name}"
            else:
                text = _term_name(monomial, abs(factor))
            sign = ("-" if factor < 0 else "") if not parts else (" - " if factor < 0 else " + ")
            parts.append(sign + text)
        return "".join(parts) or "0"

    __repr__ = __str__


def monomial_bounds(monomial: Monomial, of: Bounds = own_bounds) -> Interval:
    """The interval of a product of symbols."""
    if len(monomial) == 1:
        return of(monomial[0])
    product = Interval.of(1)
    for symbol in monomial:
        product = product.times(of(symbol))
    return product


def without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """monomial / divisor where that is a product of symbols."""
    rest = list(monomial)
    for symbol in divisor:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return tuple(rest)


def _nested_name(e: Expr) -> str:
    """As an operand of an operator."""
    text = str(e)
    whole = len(e.terms) == 1 and ("*" not in text or 1 in e.terms.values()) and not text.startswith("-")
    return text if whole or e.value is not None else f"({text})"


def _term_name(monomial: Monomial, factor: int) -> str:
    names: list[str] = []
    for symbol in monomial:
        name = symbol.name
        whole = symbol.source
        if whole != name:  # an extent known to be a multiple of 16 is 16 * (extent/16)
            divisor = int(name[len(whole) + 1 :])
            common = gcd(factor, divisor)
            factor, divisor = factor // common, divisor // common
            name = whole if divisor == 1 else f"({whole} // {divisor})"
        names.append(name)
    if not names:
        return str(factor)
    return "*".join([*([] if factor == 1 else [str(factor)]), *names])


def _by_id(symbol: Symbol) -> int:
    return symbol.id


ZERO = Expr({})
ONE = Expr.constant(1)


def tightened(e: Expr) -> Expr:
    """The expression of least size that is >= 0 for the same integers as e."""
    content = 0
    for monomial, factor in e.terms.items():
        if monomial:
            content = gcd(content, factor)
            if content == 1:
                return e
    return e.split(content)[0] if content > 1 else e


def shown(e: Expr, otherwise: str) -> str:
    """The expression as text, or other words where it is too long to be read."""
    text = str(e)
    return text if len(text) <= SHOWN_MAX else otherwise


def leaves(exprs: Iterable[Expr]) -> set[Symbol]:
    """The symbols that `exprs` rest on in the end: those without operands."""
    return {s for s in closure(exprs) if not s.args}


def closure(exprs: Iterable[Expr]) -> set[Symbol]:
    """All symbols in `exprs`, in their operands and so on."""
    seen: set[Symbol] = set()
    pending = [s for e in exprs for s in e.symbols()]
    while pending:
        symbol = pending.pop()
        if symbol not in seen:
            seen.add(symbol)
            pending += [s for arg in symbol.args for s in arg.symbols()]
    return seen
