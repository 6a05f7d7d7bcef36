"""Intervals against brute force over small numbers, and the prover against models."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tileopt.passes.analysis.affine import Expr
from tileopt.passes.analysis.choices import Symbols
from tileopt.passes.analysis.evaluate import evaluate
from tileopt.passes.analysis.prover import Prover
from tileopt.passes.analysis.ranges import Interval, trunc_div

INTERVALS = [Interval(lo, hi) for lo in range(-4, 5) for hi in range(lo, 5)]
OPERATIONS = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "floor_div": lambda a, d: a // d if d else 0,
    "trunc_div": lambda a, d: trunc_div(a, d) if d else 0,
    "floor_mod": lambda a, d: a % d if d else 0,
    "trunc_mod": lambda a, d: a - d * trunc_div(a, d) if d else 0,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_intervals_hold_every_result(name: str) -> None:
    exact = slack = 0
    for a, b in product(INTERVALS, INTERVALS):
        results = [OPERATIONS[name](x, y) for x in range(a.lo, a.hi + 1) for y in range(b.lo, b.hi + 1)]
        found = getattr(a, name)(b)
        assert found.lo <= min(results) and max(results) <= found.hi, (a, b, found)
        exact += found == (min(results), max(results))
        slack += 1
    # Remainders are not worth an exact interval; all else is.
    assert exact == slack or "mod" in name


def test_the_prover_never_proves_what_a_model_refutes() -> None:
    """Random systems over small symbols: whatever is proved holds in every assignment that satisfies what is known."""
    proved = 0
    for seed in range(300):
        random = Random(seed)
        table = Symbols()
        leaves = [table.leaf("n", f"n{i}", Interval(random.randint(-2, 1), random.randint(1, 3))) for i in range(3)]
        exprs = [Expr.symbol(s) for s in leaves]
        exprs += table.divide(exprs[0] * random.randint(1, 3) + exprs[1], Expr.constant(random.choice([2, 3])))
        exprs += table.divide(exprs[1], exprs[2])
        exprs.append(table.minimum(exprs[0], exprs[2]))

        def some(random: Random = random, exprs: list[Expr] = exprs) -> Expr:
            total = Expr.constant(random.randint(-3, 3))
            for e in random.sample(exprs, 2):
                total = total + e * random.randint(-2, 2)
            return total + (exprs[0] * exprs[1] if random.random() < 0.3 else 0)

        known = [some() for _ in range(random.randint(0, 3))]
        goals = [some() for _ in range(4)]
        models = [
            dict(zip(leaves, v, strict=True)) for v in product(*(range(s.bounds.lo, s.bounds.hi + 1) for s in leaves))
        ]
        models = [m for m in models if all(evaluate(k, m) >= 0 for k in known)]
        prover = Prover(known)
        if prover.refuted():
            assert not models
        for goal in goals:
            if prover.nonneg(goal):
                proved += 1
                assert all(evaluate(goal, m) >= 0 for m in models), (seed, known, goal)
    assert proved > 100


def test_the_prover_finds_what_kernels_need() -> None:
    table = Symbols()
    big = Interval(0, 2**60)
    m, k, row, i, size = (Expr.symbol(table.leaf("n", name, big)) for name in ("m", "k", "row", "i", "size"))
    # row * k + i < size follows from size >= m * k, row < m, i < k.
    prover = Prover([size - m * k, m - row - 1, k - i - 1])
    assert prover.nonneg(size - row * k - i - 1)
    assert not prover.nonneg(size - row * k - i - 2)
    # cdiv(m, 64) tiles of 64 reach m.
    tiles, _ = table.divide(m + 63, Expr.constant(64))
    assert Prover().nonneg(tiles * 64 - m)
    assert not Prover().nonneg(m - tiles * 64)
