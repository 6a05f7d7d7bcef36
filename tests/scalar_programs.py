"""Random programs of scalar integers as tile kernels, and an interpreter that runs them in two's complement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.contracts import ArraySpec, ContractAttr
from tileopt.dialects.kernel import CONTRACT, DIVISOR, NAME
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType
from tileopt.passes.analysis.affine import Symbol
from tileopt.passes.analysis.conditions import single
from tileopt.passes.analysis.evaluate import Unknown, evaluate
from tileopt.passes.analysis.facts import KernelFacts, width_of
from tileopt.passes.analysis.ranges import trunc_div

BINARY: list[type[Operation]] = [
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.DivUIOp, arith.RemUIOp, arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp, arith.AndIOp,
    arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp,
]  # fmt: skip
LIKELY: list[type[Operation]] = [arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.FloorDivSIOp, arith.RemSIOp]
CONSTANTS = [0, 1, 2, 3, 5, 8, 16, 64, 100, 1024, -1, -3, -8, 2**31, 2**62, -(2**63), 2**63 - 1]
ITERATIONS = 4


class Writer:
    """Makes a kernel of random scalar ops."""

    def __init__(self, random: Random) -> None:
        self.random = random
        f32_view = ViewType.of([DYNAMIC, 24], IntegerType(32), Access.SHARED)
        spec = ArraySpec(
            "i32", 2, shape_div=(random.choice([1, 16]), 1), stride_div=(1, 1), small=random.random() < 0.5
        )
        attrs = [
            {NAME: StringAttr("x"), CONTRACT: ContractAttr.of(spec)},
            {NAME: StringAttr("n"), DIVISOR: IntegerAttr(random.choice([1, 8]), i64)},
            {NAME: StringAttr("m")},
        ]
        self.kernel = tile.Kernel.make("random", [f32_view, i64, IntegerType(32)], None, attrs)
        block = self.kernel.body.block
        view, n, m = block.args
        self.wide: list[SSAValue] = [n]
        self.bools: list[SSAValue] = []
        start = [tile.Bid.create(properties={"axis": IntegerAttr(a, i64)}, result_types=[i64]) for a in (0, 1)]
        start += [tile.NumBlocks.create(properties={"axis": IntegerAttr(0, i64)}, result_types=[i64])]
        start += [
            tile.Dim.create(operands=[view], properties={"axis": IntegerAttr(a, i64)}, result_types=[i64])
            for a in (0, 1)
        ]
        start += [arith.ExtSIOp.create(operands=[m], result_types=[i64])]
        for op in start:
            block.add_op(op)
            self.wide.append(op.results[0])
        self.ops(block, random.randint(3, 10), 2)
        block.add_op(tile.Return.create())

    def pick(self) -> SSAValue:
        # Recent values make deep expressions.
        return self.wide[-1 - min(int(self.random.expovariate(0.4)), len(self.wide) - 1)]

    def add(self, block: Block, op: Operation) -> SSAValue:
        block.add_op(op)
        value = op.results[0]
        (self.bools if value.type == i1 else self.wide).append(value)
        return value

    def constant(self, block: Block, value: int | None = None) -> SSAValue:
        number = self.random.choice(CONSTANTS) if value is None else value
        return self.add(block, arith.ConstantOp(IntegerAttr(number, i64)))

    def condition(self, block: Block) -> SSAValue:
        if self.bools and self.random.random() < 0.3:
            return self.random.choice(self.bools)
        test = self.add(block, arith.CmpiOp(self.pick(), self.pick(), self.random.randrange(10)))
        if self.random.random() < 0.3:
            kind = self.random.choice([arith.AndIOp, arith.OrIOp, arith.XOrIOp])
            test = self.add(block, kind(test, self.random.choice(self.bools)))
        return test

    def ops(self, block: Block, count: int, depth: int) -> None:
        for _ in range(count):
            choice = self.random.random()
            if choice < 0.12:
                self.constant(block)
            elif choice < 0.55:
                kind = self.random.choice(LIKELY if self.random.random() < 0.6 else BINARY)
                other = self.constant(block) if self.random.random() < 0.4 else self.pick()
                self.add(block, kind.create(operands=[self.pick(), other], result_types=[i64]))
            elif choice < 0.63:
                self.add(block, arith.SelectOp(self.condition(block), self.pick(), self.pick()))
            elif choice < 0.70:
                self.floor_pattern(block)
            elif choice < 0.76:
                narrow = arith.TruncIOp.create(operands=[self.pick()], result_types=[IntegerType(32)])
                block.add_op(narrow)
                kind = self.random.choice([arith.ExtSIOp, arith.ExtUIOp])
                self.add(block, kind.create(operands=[narrow.results[0]], result_types=[i64]))
            elif depth and choice < 0.86:
                self.branch(block, depth)
            elif depth and choice < 0.95:
                self.loop(block, depth)
            elif depth:
                self.while_loop(block, depth)

    def floor_pattern(self, block: Block) -> None:
        """Python's // and % as frontends write them."""
        x, one = self.pick(), self.constant(block, 1)
        y = self.add(block, arith.MaxSIOp(self.pick(), one)) if self.random.random() < 0.5 else self.pick()
        quotient, rest = self.add(block, arith.DivSIOp(x, y)), self.add(block, arith.RemSIOp(x, y))
        zero = self.constant(block, 0)
        opposite = self.add(block, arith.CmpiOp(self.add(block, arith.XOrIOp(rest, y)), zero, 2))
        wrong = self.add(block, arith.AndIOp(opposite, self.add(block, arith.CmpiOp(rest, zero, 1))))
        if self.random.random() < 0.5:
            self.add(block, arith.SelectOp(wrong, self.add(block, arith.SubiOp(quotient, one)), quotient))
        else:
            self.add(block, arith.SelectOp(wrong, self.add(block, arith.AddiOp(rest, y)), rest))

    def nested(self, arguments: int, depth: int, fill: Callable[[Block], None]) -> Region:
        body = Block(arg_types=[i64] * arguments)
        wide, bools = list(self.wide), list(self.bools)
        self.wide += body.args
        self.ops(body, self.random.randint(1, 4), depth - 1)
        fill(body)
        self.wide, self.bools = wide, bools
        return Region(body)

    def branch(self, block: Block, depth: int) -> None:
        test = self.condition(block)

        def fill(body: Block) -> None:
            body.add_op(scf.YieldOp(self.pick()))

        regions = [self.nested(0, depth, fill) for _ in range(2)]
        self.add(block, scf.IfOp(test, [i64], *regions))

    def loop(self, block: Block, depth: int) -> None:
        lb, ub, init = self.pick(), self.pick(), self.pick()
        lb = self.constant(block, 0) if self.random.random() < 0.5 else lb
        step = self.pick() if self.random.random() < 0.3 else self.constant(block, self.random.choice([1, 1, 2, 8]))

        def fill(body: Block) -> None:
            carried = body.args[1]
            grown = self.add(body, arith.AddiOp(carried, self.pick())) if self.random.random() < 0.6 else self.pick()
            body.add_op(scf.YieldOp(grown))

        self.add(block, scf.ForOp(lb, ub, step, [init], self.nested(2, depth, fill)))

    def while_loop(self, block: Block, depth: int) -> None:
        init = self.pick()

        def test(body: Block) -> None:
            body.add_op(scf.ConditionOp(self.condition(body), body.args[0]))

        def step(body: Block) -> None:
            body.add_op(scf.YieldOp(self.add(body, arith.AddiOp(body.args[0], self.pick()))))

        before = self.nested(1, depth, test)
        self.add(block, scf.WhileOp([init], [i64], before, self.nested(1, depth, step)))


class Stopped(Exception):
    """The run met undefined behaviour or became too long."""


class Run:
    """Runs a kernel and checks each value, and what its region takes for known, against the facts."""

    def __init__(self, kernel: tile.Kernel, facts: KernelFacts, random: Random) -> None:
        self.facts = facts
        self.random = random
        self.values: dict[SSAValue, int] = {}
        self.symbols: dict[Symbol, int] = {}
        self.checks = 0
        view, n, m = kernel.body.block.args
        self.grid = [random.choice(most) for most in ([1, 2, 7, 2**31 - 1], [1, 3, 2**15], [1, 2])]
        self.bids = [random.choice([0, g // 2, g - 1]) for g in self.grid]
        self.dims = {}
        for axis in (0, 1):
            top = min(facts.dim(view, axis).bounds().hi, 2**62 // 4 // 24)  # the array has 2^62 bytes at most
            factor = facts.dim(view, axis).content()
            choices = [0, factor, 3 * factor, 64 * factor, top // factor * factor]
            self.dims[axis] = random.choice(choices) if axis == 0 else 24
            self.bind(facts.dim(view, axis), self.dims[axis])
        for axis in (0, 1, 2):
            self.bind(facts.bid(axis), self.bids[axis])
            self.bind(facts.num_blocks(axis), self.grid[axis])
        factor = facts.of(n).divisor
        self.set(n, random.choice([0, 1, -1, 3, 2**40, -(2**60), 2**60]) * factor)
        self.set(m, random.choice([0, 1, -1, 77, 2**31 - 1, -(2**31)]))
        self.block(kernel.body.block)

    def bind(self, expr: object, value: int) -> None:
        """Gives the one leaf of a fact's expression the value that it stands for."""
        from tileopt.passes.analysis.affine import Expr

        assert isinstance(expr, Expr)
        if len(expr.terms) == 1:
            ((monomial, factor),) = expr.terms.items()
            if len(monomial) == 1 and not monomial[0].args:
                assert value % factor == 0, f"{expr} is {value}"
                self.symbols[monomial[0]] = value // factor

    def set(self, value: SSAValue, number: int) -> None:
        width = width_of(value.type)
        assert width is not None
        low = number & ((1 << width) - 1)
        number = low if width == 1 or low < 1 << (width - 1) else low - (1 << width)
        self.values[value] = number
        fact = self.facts.of(value)
        assert fact.range.lo <= number <= fact.range.hi, f"{value} is {number}, not in {fact.range}"
        assert number % fact.divisor == 0, f"{value} is {number}, not a multiple of {fact.divisor}"
        self.bind(fact.expr, number)
        try:
            assert evaluate(fact.expr, self.symbols) == number, f"{value} is {number}, not {fact.expr}"
            self.relations(fact.expr.symbols())
            self.checks += 1
        except Unknown:
            pass

    def relations(self, symbols: set[Symbol]) -> None:
        for symbol in symbols:
            assert symbol.bounds.lo <= self.value(symbol) <= symbol.bounds.hi, f"{symbol} in {symbol.bounds}"
            for relation in symbol.relations:
                self.nonneg(relation)
            for guard, relations in symbol.guarded:
                try:
                    if all(evaluate(g, self.symbols) >= 0 for g in guard):
                        for relation in relations:
                            self.nonneg(relation)
                except Unknown:
                    pass

    def value(self, symbol: Symbol) -> int:
        from tileopt.passes.analysis.affine import Expr

        return evaluate(Expr.symbol(symbol), self.symbols)

    def nonneg(self, expr: object) -> None:
        from tileopt.passes.analysis.affine import Expr

        assert isinstance(expr, Expr)
        try:
            assert evaluate(expr, self.symbols) >= 0, f"{expr} >= 0"
            self.checks += 1
        except Unknown:
            pass

    def block(self, block: Block) -> list[int]:
        for known in self.facts._scopes[block].known:
            self.nonneg(known)
        for op in block.ops:
            if isinstance(op, scf.YieldOp | scf.ConditionOp):
                return [self.values[o] for o in op.operands]
            self.op(op)
        return []

    def op(self, op: Operation) -> None:
        if isinstance(op, scf.IfOp):
            chosen = op.true_region if self.values[op.cond] else op.false_region
            self.set(op.results[0], self.block(chosen.block)[0])
        elif isinstance(op, scf.ForOp):
            self.run_for(op)
        elif isinstance(op, scf.WhileOp):
            self.run_while(op)
        elif not isinstance(op, tile.Return):
            self.set(op.results[0], self.compute(op))

    def run_for(self, op: scf.ForOp) -> None:
        lb, ub, step = (self.values[v] for v in (op.lb, op.ub, op.step))
        if step <= 0:
            raise Stopped
        carried, done = self.values[op.iter_args[0]], 0
        # A long loop is run at its start and its end only, where it carries nothing that matters to its facts.
        for done in range(min(max(0, -((lb - ub) // step)), ITERATIONS)):
            for counter in self.counters(op):
                self.symbols[counter] = done
            self.forget(op)
            self.set(op.body.block.args[0], lb + step * done)
            self.set(op.body.block.args[1], carried)
            (carried,) = self.block(op.body.block)
        if max(0, -((lb - ub) // step)) > ITERATIONS:
            raise Stopped
        self.set(op.results[0], carried)

    def counters(self, op: Operation) -> Iterator[Symbol]:
        seen: set[Symbol] = set()
        for block in op.regions[0].blocks:
            exprs = [self.facts.of(a).expr for a in block.args] + self.facts._scopes[block].known
            pending = [s for e in exprs for s in e.symbols()]
            while pending:
                symbol = pending.pop()
                if symbol not in seen:
                    seen.add(symbol)
                    pending += [s for r in (*symbol.relations, *symbol.args) for s in r.symbols()]
        return (s for s in seen if s.kind == "trip" and s.owner is op)

    def forget(self, op: Operation) -> None:
        for symbol in [s for s in self.symbols if s.owner is not None and s.owner is not op]:
            if any(symbol.owner is inner for inner in op.walk()):
                del self.symbols[symbol]

    def run_while(self, op: scf.WhileOp) -> None:
        value = self.values[op.arguments[0]]
        for _ in range(ITERATIONS):
            self.set(op.before_region.block.args[0], value)
            test, value = self.block(op.before_region.block)
            if not test:
                self.set(op.results[0], value)
                return
            self.set(op.after_region.block.args[0], value)
            (value,) = self.block(op.after_region.block)
        raise Stopped

    def compute(self, op: Operation) -> int:
        if isinstance(op, tile.Bid):
            return self.bids[op.axis.value.data]
        if isinstance(op, tile.NumBlocks):
            return self.grid[op.axis.value.data]
        if isinstance(op, tile.Dim):
            return self.dims[op.axis.value.data]
        if isinstance(op, arith.ConstantOp):
            value = op.properties["value"]
            assert isinstance(value, IntegerAttr)
            return value.value.data
        numbers = [self.values[o] for o in op.operands]
        if isinstance(op, arith.CmpiOp):
            return int(compare(op.predicate.value.data, *numbers))
        if isinstance(op, arith.SelectOp):
            return numbers[1] if numbers[0] else numbers[2]
        if isinstance(op, arith.ExtSIOp | arith.TruncIOp):
            return numbers[0]
        if isinstance(op, arith.ExtUIOp):
            return numbers[0] & 0xFFFFFFFF
        return binary(type(op), *numbers)


def unsigned(value: int) -> int:
    return value & (2**64 - 1)


def compare(predicate: int, a: int, b: int) -> bool:
    if predicate >= 6:
        a, b, predicate = unsigned(a), unsigned(b), predicate - 4
    return [a == b, a != b, a < b, a <= b, a > b, a >= b][predicate]


def binary(kind: type[Operation], a: int, b: int) -> int:
    name = kind.name.removeprefix("arith.")
    if ("div" in name or "rem" in name) and (b == 0 or (a, b) == (-(2**63), -1)):
        raise Stopped
    if name.startswith("sh") and not 0 <= b < 64:
        raise Stopped
    ua, ub = unsigned(a), unsigned(b)
    table: dict[str, Callable[[], int]] = {
        "addi": lambda: a + b, "subi": lambda: a - b, "muli": lambda: a * b,
        "divsi": lambda: trunc_div(a, b), "remsi": lambda: a - b * trunc_div(a, b),
        "floordivsi": lambda: a // b, "ceildivsi": lambda: -(-a // b),
        "divui": lambda: ua // ub, "remui": lambda: ua % ub,
        "minsi": lambda: min(a, b), "maxsi": lambda: max(a, b), "minui": lambda: min(ua, ub),
        "maxui": lambda: max(ua, ub), "andi": lambda: a & b, "ori": lambda: a | b, "xori": lambda: a ^ b,
        "shli": lambda: a << b, "shrsi": lambda: a >> b, "shrui": lambda: ua >> b,
    }  # fmt: skip
    return table[name]()


__all__ = ["Run", "Stopped", "Writer", "single"]
