"""Facts about the scalar integers of a kernel: range, divisor and exact expression of each SSA value.

`analyse(kernel)` walks the kernel forward once (a loop that carries integers twice) and returns `KernelFacts`.

Sound against wrap: an SSA value is tied to the exact result of its op only where that result provably fits its type;
where it may not, the value becomes a symbol of its own with the full range of the type, and keeps the powers of two
that divide it (they divide 2^64 too).

What a launch promises: the grid's extents lie in 1..2^31-1 and multiply to at most 2^48; the extents of an array lie
in 0..2^31-1 where its contract says `small`, and in any case they and their product are at most 2^62 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tileopt.dialects.kernel import DIVISOR, UNSIGNED, KernelOp
from tileopt.dialects.tile_types import ViewType
from tileopt.passes.analysis.affine import Expr, Symbol, leaves
from tileopt.passes.analysis.launch_symbols import LaunchSymbols, Sizes
from tileopt.passes.analysis.ranges import Interval
from tileopt.passes.analysis.scope import Scope

TERMS_MAX = 40  # a longer expression is not worth its cost
DEGREE_MAX = 4


class Fact(NamedTuple):
    """What is known of one SSA value: its exact value as an expression, and its range where it is computed."""

    expr: Expr
    range: Interval

    @property
    def divisor(self) -> int:
        """The greatest power of two known to divide the value; 2^63 for 0."""
        content = self.expr.content()
        return content & -content if content else 1 << 63


NO_SIZES: Sizes = frozenset()
RangeOf: TypeAlias = Callable[[list[Interval]], Interval]
Handler: TypeAlias = "Callable[[KernelFacts, Operation], None]"
HANDLERS: dict[type[Operation], Handler] = {}


class KernelFacts(LaunchSymbols):
    """The facts of one kernel. Ask `of`, `scope` and `invariant`; the rest is for the handlers of ops."""

    def __init__(self, kernel: KernelOp, positive: Sizes = NO_SIZES) -> None:
        super().__init__(kernel, positive)
        self.current = Scope()
        self._facts: dict[SSAValue, Fact] = {}
        self._scopes: dict[Block, Scope] = {}
        self._after: dict[Operation, Scope] = {}  # of ops behind a test that ends the kernel
        self.loops: dict[Operation, tuple[Symbol, ...]] = {}  # for each loop its own symbols: counter, induction value

    # What passes ask.

    def of(self, value: SSAValue) -> Fact:
        """The fact of a scalar integer; of one that was never walked over, that nothing is known."""
        found = self._facts.get(value)
        return self.unknown(value, "unknown", None) if found is None else found

    def scope(self, op: Operation) -> Scope:
        """What is known where `op` stands."""
        current: Operation | None = op
        while current is not None:
            if current in self._after:
                return self._after[current]
            block = current.parent
            if block is not None and block in self._scopes:
                return self._scopes[block]
            current = current.parent_op()
        return Scope()

    def invariant(self, value: SSAValue | Expr, loop: Operation) -> bool:
        """Whether a scalar integer has one value through all iterations of `loop`."""
        expr = value if isinstance(value, Expr) else self.of(value).expr
        return not any(s.owner is not None and _inside(s.owner, loop) for s in leaves([expr]))

    def uniform(self, expr: Expr) -> bool:
        """Whether all blocks and threads of a launch compute the same value at any time."""
        return not any(s.kind in ("bid", "thread") or s.owner is not None for s in leaves([expr]))

    def sizes(self, symbols: Iterable[Symbol]) -> Sizes:
        """The extents and signed integer arguments among the symbols, as `analyse` takes them."""
        block = self.kernel.body.block
        found = {(getattr(view, "index", -1), axis): dim for (view, axis), dim in self._dims.items()}
        signed = (a for a in block.args if self.kernel.arg_attr(a.index, UNSIGNED) is None)
        found |= {(a.index, -1): self._facts[a].expr for a in signed if a in self._facts}
        wanted = set(symbols)
        return frozenset(key for key, expr in found.items() if expr.symbols() & wanted)

    # What handlers use.

    def range(self, value: SSAValue) -> Interval:
        """The operand's range under what is known at this point of the walk."""
        fact = self.of(value)
        return fact.range.meet(fact.expr.bounds(self.current.bounds))

    def expr(self, value: SSAValue) -> Expr:
        return self.of(value).expr

    def set(self, value: SSAValue, expr: Expr, exact: Interval | None = None) -> None:
        """Ties `value` to the exact result `expr`, whose range is at most `exact`, if it fits the type."""
        width = width_of(value.type)
        if width is None:
            return
        range_ = expr.bounds(self.current.bounds)
        if exact is not None:
            range_ = range_.meet(exact)
        full = Interval.signed(width)
        if not range_.within(full):
            if not self._fits(expr, range_, full):
                self._facts[value] = Fact(self.symbols.wrapped(expr, width), full)
                return
            range_ = range_.meet(full)
        if len(expr.terms) > TERMS_MAX or any(len(m) > DEGREE_MAX for m in expr.terms):
            self._facts[value] = Fact(self.symbols.opaque("value", (expr,), range_), range_)
        else:
            self._facts[value] = Fact(expr, range_)

    def _fits(self, expr: Expr, range_: Interval, full: Interval) -> bool:
        """Whether what is known here keeps `expr` within the type where its interval alone does not."""
        if expr.value is not None:
            return False
        prover = self.current.prover()
        above = range_.hi <= full.hi or prover.nonneg(Expr.constant(full.hi) - expr)
        return above and (range_.lo >= full.lo or prover.nonneg(expr - full.lo))

    def function(self, op: Operation, range_: RangeOf | None = None, divisor: int = 1) -> None:
        """Ties the result of a pure op to an unknown function of its operands.

        `range_` gives the result's interval from the operands', `divisor` a power of two that divides the result.
        """
        result = op.results[0]
        width = width_of(result.type)
        if width is None:
            return
        full = Interval.signed(width)
        args = tuple(self.expr(o) for o in op.operands)
        # The symbol may be met again elsewhere: its own bounds rest on what holds everywhere, the value's on the scope.
        always = full if range_ is None else range_([a.bounds() for a in args])
        here = full if range_ is None else range_([self.range(o) for o in op.operands])
        if not always.within(full):
            always = full
        symbol = self.symbols.opaque(f"{op.name}:{width}", args, always, divisor)
        self._facts[result] = Fact(symbol, here.meet(always) if here.within(full) else always)

    def unknown(self, value: SSAValue, kind: str, owner: Operation | None, range_: Interval | None = None) -> Fact:
        """Ties `value` to a new symbol."""
        width = width_of(value.type) or 64
        bounds = Interval.signed(width) if range_ is None else range_.meet(Interval.signed(width))
        symbol = self.symbols.leaf(kind, value.name_hint or kind, bounds, owner)
        fact = self._facts[value] = Fact(Expr.symbol(symbol), bounds)
        return fact

    def assign(self, value: SSAValue, fact: Fact) -> None:
        self._facts[value] = fact

    def walk(self, block: Block, scope: Scope) -> None:
        """Walks over the ops of a block whose region is entered under `scope`."""
        self._scopes[block] = scope
        outer, self.current = self.current, scope
        for op in block.ops:
            if self.current is not scope:
                self._after[op] = self.current
            HANDLERS.get(type(op), _any_op)(self, op)
        self.current = outer

    def passed(self, known: Iterable[Expr]) -> None:
        """From here on, to the block's end, `known` is never negative: else the kernel would have ended.

        A prover takes in so many expressions and no more: what says nothing new must not keep others out.
        """
        news = [expr for expr in dict.fromkeys(known) if not self.current.has(expr)]
        if news:
            self.current = Scope(self.current)
            self.current.assume(news)


def width_of(type_: Attribute) -> int | None:
    """The width of a scalar integer type (index counts as 64), None for other types."""
    if isinstance(type_, IntegerType):
        width: int = type_.width.data
        return width
    return 64 if isinstance(type_, IndexType) else None


def _inside(op: Operation, loop: Operation) -> bool:
    current: Operation | None = op
    while current is not None and current is not loop:
        current = current.parent_op()
    return current is loop


def _any_op(facts: KernelFacts, op: Operation) -> None:
    """An op of which only its place is known: its integers may differ each time it runs."""
    for result in op.results:
        if width_of(result.type) is not None:
            facts.unknown(result, "data" if _rests_on_memory(op) else "unknown", op)
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                if width_of(argument.type) is not None:
                    facts.unknown(argument, "carried", op)
            facts.walk(block, Scope(facts.current))


def _rests_on_memory(op: Operation) -> bool:
    """Whether something read from memory may be among what the op computes from."""
    pending, seen = [op], {op}
    while pending:
        current = pending.pop()
        if (
            current.regions
            or not is_side_effect_free(current)
            or any(isinstance(o.type, ViewType) for o in current.operands)
        ):
            return True
        for operand in current.operands:
            owner = operand.owner
            if isinstance(owner, Block):
                if owner.parent_op() is not None and not isinstance(owner.parent_op(), KernelOp):
                    return True  # carried by a loop
            elif owner not in seen:
                seen.add(owner)
                pending.append(owner)
    return False


def analyse(kernel: KernelOp, positive: Sizes = NO_SIZES) -> KernelFacts:
    """The facts of a tile or SIMT kernel, in launches where the sizes in `positive` are at least 1."""
    from tileopt.passes.analysis import arith_facts, bit_facts, control_facts, kernel_facts
    from tileopt.passes.analysis.requirements import required

    if not HANDLERS:
        HANDLERS.update(arith_facts.HANDLERS | bit_facts.HANDLERS | control_facts.HANDLERS | kernel_facts.HANDLERS)
    facts = KernelFacts(kernel, positive)
    block = kernel.body.block
    for index, argument in enumerate(block.args):
        width = width_of(argument.type)
        if width is None:
            continue
        divisor = kernel.arg_attr(index, DIVISOR)
        factor = 1
        if divisor is not None and isinstance(divisor, IntegerAttr) and width > 1:
            factor = divisor.value.data
        full = Interval.signed(width)
        label = kernel.arg_name(index) + (f"/{factor}" if factor > 1 else "")
        least = 1 if (index, -1) in positive else -(-full.lo // factor)
        symbol = facts.symbols.leaf("argument", label, Interval(least, full.hi // factor))
        facts.assign(argument, Fact(Expr.symbol(symbol, factor), full))
    launch = Scope()
    launch.assume(required(facts))
    facts.walk(block, launch)
    return facts
