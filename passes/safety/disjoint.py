"""Proves that two runs of accesses that touch a common element belong to one block.

Take two runs, A by one block and B by another, and suppose their tiles meet. Along each axis the offsets then differ by
less than the tiles are long: an *equation* `E in A - E in B - shift lies in [low, high]`, where the shift, over values
that all blocks share, is how far the two accesses lie apart. More equations, with [0, 0], are the definitions of
quotients, remainders and induction values. A symbol is *settled* once its value must be the same in A
and B: arguments, extents and the grid are at once, the result of an operation is where its operands are. Three rules
settle more:

split: let m divide the factors of some terms and the shift, and let the other terms and the slack together stay below
m. A multiple of m below m is 0, so the first terms differ by the shift, and the others keep the slack.

reach: terms that cannot differ between A and B by as much as the slack asks for contradict the supposition.

combine: an equation with [0, 0] and a term u with factor 1 replaces u in another one.

The accesses are disjoint between blocks if all block ids get settled. Factors may be expressions over settled symbols,
so `t = bid + n * num_blocks` settles bid, and `q * cols + r` both q and r where r < cols.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, product
from math import gcd, prod

from tileopt.passes.analysis.affine import ZERO, Expr, Monomial, Symbol, shown
from tileopt.passes.analysis.division import exact_ratio
from tileopt.passes.safety.instance import Instance

UNIFORM = ("argument", "dim", "num_blocks", "block_dim")  # leaves with one value in a launch
EQUATIONS_MAX = 40
COMBINATIONS = 3  # rounds of the second rule
TERMS_MAX = 4  # unsettled terms of an equation that `combine` makes
CHOICES_MAX = 8  # widths tried together in one split
QUESTIONS_MAX = 300  # put to the provers in all: what needs more is given up


@dataclass(frozen=True)
class Equation:
    """E in A minus E in B lies in shift + low..high. `why`: where it comes from."""

    expr: Expr
    low: int
    high: int
    why: str
    shift: Expr = ZERO  # over values that A and B share

    @property
    def slack(self) -> int:
        return max(abs(self.low), abs(self.high))


class Meeting:
    """The supposition that run `a` and run `b` touch a common element."""

    def __init__(self, a: Instance, b: Instance, equations: list[Equation], combinations: int = COMBINATIONS) -> None:
        self.a = a
        self.b = b
        self.apart = False  # the supposition turned out to be contradictory
        self.steps: list[str] = []
        both = set(a.symbols()) & set(b.symbols())
        self._tried: dict[Equation, dict[Monomial, Expr]] = {}
        self._questions = 0
        self.settled: set[Symbol] = {s for s in both if s.kind in UNIFORM}
        self.equations: list[Equation] = []
        self._seen: set[tuple[Expr, int, int, Expr]] = set()
        shared = set(b.equalities())
        self.defined = [s for s in sorted(both, key=lambda s: s.id) if s.args]
        for equation in equations:
            self._add(equation)
        for expr in a.equalities():
            if expr in shared:
                self._add(Equation(expr, 0, 0, "definition"))
        self._run(combinations)

    def settles(self, symbol: Symbol) -> bool:
        """Whether A and B agree on the symbol (or cannot meet at all)."""
        return self.apart or symbol in self.settled

    def proof(self, noun: str) -> str:
        """How owners of this name were told apart, once they are."""
        return f"{noun} never meet" if self.apart else "; ".join(self.steps) or f"only one {noun[:-1]} comes here"

    def _add(self, equation: Equation) -> bool:
        if equation.shift.value is not None:
            by = equation.shift.value
            equation = Equation(equation.expr, equation.low + by, equation.high + by, equation.why)
        if equation.expr.terms and next(iter(equation.expr.terms.values())) < 0:
            equation = Equation(-equation.expr, -equation.high, -equation.low, equation.why, -equation.shift)
        key = (equation.expr, equation.low, equation.high, equation.shift)
        if not equation.expr.terms or key in self._seen or len(self.equations) >= EQUATIONS_MAX:
            return False
        self._seen.add(key)
        self.equations.append(equation)
        return True

    def _run(self, combinations: int) -> None:
        while self._questions < QUESTIONS_MAX:
            progress = self._congruence()
            for equation in list(self.equations):
                progress |= self._split(equation)
                if self.apart:
                    return
            if not progress:
                if combinations == 0 or not self._combine():
                    return
                combinations -= 1

    def _congruence(self) -> bool:
        """Equal operands give equal results."""
        progress = False
        for symbol in self.defined:
            if symbol not in self.settled and all(s in self.settled for arg in symbol.args for s in arg.symbols()):
                self.settled.add(symbol)
                progress = True
        return progress

    def _unknowns(self, expr: Expr) -> dict[Monomial, Expr]:
        """The products of unsettled symbols in `expr` and their factors, which are over settled symbols."""
        found: dict[Monomial, Expr] = {}
        for monomial, factor in expr.terms.items():
            open_ = tuple(s for s in monomial if s not in self.settled)
            if open_:
                rest = Expr({tuple(s for s in monomial if s in self.settled): factor})
                found[open_] = found.get(open_, ZERO) + rest
        return {m: f for m, f in found.items() if f.terms}

    def _nonneg(self, goal: Expr) -> bool:
        if goal.value is not None:
            return goal.value >= 0
        self._questions += 1
        return self.a.nonneg(goal) and (self.a is self.b or self.b.nonneg(goal))

    def _split(self, equation: Equation) -> bool:
        unknowns = self._unknowns(equation.expr)
        if not unknowns:
            self.apart |= self._out_of_reach(equation, unknowns)
            return self.apart
        if self._tried.get(equation) == unknowns:
            return False
        self._tried[equation] = unknowns
        if self._out_of_reach(equation, unknowns):
            self.apart = True
            return True
        for modulus in self._moduli(unknowns, equation.shift):
            large = {m: q for m, f in unknowns.items() if (q := exact_ratio(f, modulus)) is not None}
            small = {m: f for m, f in unknowns.items() if m not in large}
            shift = exact_ratio(equation.shift, modulus) if equation.shift.terms else ZERO
            if large and shift is not None and self._splits(equation, modulus, small):
                if self._take_split(equation, shift, large, small):
                    return True
        return False

    def _out_of_reach(self, equation: Equation, unknowns: dict[Monomial, Expr]) -> bool:
        """Whether the terms differ by too little, as t in 0..7 does where t in A is t + 8 in B."""
        if not equation.shift.terms and max(equation.low, -equation.high) <= 0:
            return False
        ends = (equation.shift + equation.low, -equation.shift - equation.high)
        distances = [d - 1 for d in ends if d.value is None or d.value > 0]
        widths = [self._widths(m, f) for m, f in unknowns.items()]
        if all(widths) and any(
            self._nonneg(distance - sum(choice, ZERO))
            for choice in islice(product(*widths), CHOICES_MAX)
            for distance in distances
        ):
            return True
        # The terms together lie in 0..distance, as 64 * bid + thread does behind a test against the distance.
        whole = _sum(unknowns)
        return len(unknowns) > 1 and self._nonneg(whole) and any(self._nonneg(d - whole) for d in distances)

    def _moduli(self, unknowns: dict[Monomial, Expr], shift: Expr) -> list[Expr]:
        """Candidates for m: the factors, and the common divisors of the larger constant ones. A shift may be a multiple
        of a part of a factor only, as 2 * n is of 2 * n in 4 * n."""
        found: list[Expr] = []
        sizes = sorted({abs(f.value) for f in unknowns.values() if f.value}, reverse=True)
        common = 0
        for factor in unknowns.values():
            common = gcd(common, factor.content())
        shared = [common] if common > 1 else []
        running = 0
        for size in sizes:
            running = gcd(running, size)
            shared.append(running)
        for factor in unknowns.values():
            if factor.value is None:
                shared.append(factor.content())
                found += [factor, -factor]
                if shift.terms and factor.content() > 1:
                    part = factor.exact_div(factor.content() // gcd(factor.content(), shift.content()))
                    found += [part, -part]
        return [Expr.constant(n) for n in dict.fromkeys(shared)] + found

    def _splits(self, equation: Equation, modulus: Expr, small: dict[Monomial, Expr]) -> bool:
        """Whether the small terms and the slack together are less than the modulus."""
        size = modulus.value
        if size is not None and not small:
            # No multiple of the modulus in the slack but 0, or none at all.
            first, last = -(-equation.low // size), equation.high // size
            self.apart |= first > last
            return first == last == 0 or first > last
        room = modulus - 1 - equation.slack
        if size is not None and room.offset < 0:
            return False
        widths = [self._widths(m, f) for m, f in small.items()]
        if all(widths):
            if any(self._nonneg(sum(choice, -room) * -1) for choice in islice(product(*widths), CHOICES_MAX)):
                return True
        # The small terms together lie in 0..room, as in row * cols + (16 * bid + thread) behind a test against cols.
        whole = _sum(small)
        return self._nonneg(whole) and self._nonneg(room - whole)

    def _take_split(
        self, equation: Equation, shift: Expr, large: dict[Monomial, Expr], small: dict[Monomial, Expr]
    ) -> bool:
        if self.apart:
            return True
        progress = self._equal(large, shift, equation.why)
        if small:
            rest = _sum(small)
            progress |= self._add(Equation(rest, equation.low, equation.high, equation.why))
        return progress

    def _equal(self, terms: dict[Monomial, Expr], shift: Expr, why: str) -> bool:
        """The sum of the terms differs by the shift in A and B: where that is 0, a single symbol with a factor that is
        not 0 is settled."""
        if len(terms) == 1 and not shift.terms:
            ((monomial, factor),) = terms.items()
            symbol = monomial[0]
            nonzero = bool(factor.value) or self._nonneg(factor - 1) or self._nonneg(-factor - 1)
            if len(monomial) == 1 and nonzero:
                if symbol in self.settled:
                    return False
                self.settled.add(symbol)
                if why != "definition":
                    self.steps.append(f"{why} gives {shown(Expr.symbol(symbol), 'a part of its offset')}")
                return True
        return self._add(Equation(_sum(terms), 0, 0, why, shift))

    def _widths(self, monomial: Monomial, factor: Expr) -> list[Expr]:
        """Bounds on how far factor * monomial can differ between A and B."""
        size = factor if self._nonneg(factor) else -factor if self._nonneg(-factor) else None
        if size is None:
            return []
        if len(monomial) != 1:
            most = prod(max(abs(low), abs(high)) for low, high in map(self._span, monomial))
            return [size * (2 * most)]
        (symbol,) = monomial
        lows, highs = ([Expr.constant(end)] for end in self._span(symbol))
        for fact in [*self.a.known, *symbol.relations]:
            side = fact.terms.get(monomial)
            if side not in (1, -1):
                continue
            rest = fact - Expr.symbol(symbol, side)
            if rest.symbols() <= self.settled and (self.a is self.b or self.b.nonneg(fact)):
                # rest - symbol >= 0 or rest + symbol >= 0, and A and B agree on the rest.
                (highs if side == -1 else lows).append(rest * -side)
        widths = dict.fromkeys(size * (high - low) for low in reversed(lows) for high in reversed(highs))
        return sorted(widths, key=lambda w: (w.value is None, w.offset))[:4]

    def _span(self, symbol: Symbol) -> tuple[int, int]:
        a, b = self.a.bounds(symbol), self.b.bounds(symbol)
        return min(a[0], b[0]), max(a[1], b[1])

    def _combine(self) -> bool:
        """Replaces a term with factor 1 of an exact equation in the others. Tried where nothing else goes on."""
        progress = False
        open_ = [(e, self._unknowns(e.expr)) for e in self.equations]
        for one, unknowns in open_:
            if one.low or one.high or one.shift.terms or len(unknowns) > TERMS_MAX:
                continue
            for monomial, factor in unknowns.items():
                if len(monomial) != 1 or factor.value not in (1, -1) or sum(monomial[0] in m for m in unknowns) > 1:
                    continue
                for other, there in open_:
                    if other is one or monomial not in there or len(unknowns.keys() | there.keys()) > TERMS_MAX + 1:
                        continue
                    merged = other.expr - one.expr * there[monomial] * factor.value
                    progress |= self._add(Equation(merged, other.low, other.high, other.why, other.shift))
        return progress


def _sum(terms: dict[Monomial, Expr]) -> Expr:
    return sum((f * Expr({m: 1}) for m, f in terms.items()), ZERO)
