"""Kernels with roles compute what they did before, however far the producer runs ahead.

Random kernels go through the passes up to split-roles and are run with both roles as coroutines (see
`tile_interpreter`): loops in a row and nested, in branches, with any number of trips; products that share operands;
a product of another's result, whose tiles come through a channel of their own.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_interpreter import Interpreter, interpret
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tileopt.backends import targets  # noqa: F401  (their names)
from tileopt.dialects import pipe
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.registry import pass_class

M, S = 64, 16  # rows of a tile of the left operand; all other extents
CONTRACT = "{tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>}"
SHARED, OWNED = "!tile.view<?x?xbf16, shared>", "!tile.view<?x?xf32, owned>"
TALL, SMALL, ACC = f"tensor<{M}x{S}xbf16>", f"tensor<{S}x{S}xbf16>", f"tensor<{M}x{S}xf32>"
PASSES = ("map-tensor-cores", "place-memory", "pipeline-loops", "split-roles")


class Program:
    """Text of a random kernel with arrays %x (tall tiles), %y, %w, an output and two numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = iter(range(10**6))
        self.stages = self.random.choice([2, 3, 4])
        acc = self.body()
        constants = "\n".join(f"%c{i} = arith.constant {i} : i64" for i in (0, 1, 2, S, M))
        arrays = ", ".join(f"%{name}: {SHARED} {CONTRACT}" for name in "xyw")
        self.text = f"""module attributes {{tile.target = "sm_90a"}} {{
tile.kernel @f({arrays}, %out: {OWNED}, %n: i64, %m: i64)
    attributes {{tile.num_warps = 4 : i64, tile.num_stages = {self.stages} : i64}} {{
{constants}
%f = arith.constant 0.0 : f32
%zero = tile.splat %f : f32 -> {ACC}
%bi = tile.bid {{axis = 0 : i64}}
%bj = tile.bid {{axis = 1 : i64}}
%ro = arith.muli %bi, %c{M} : i64
%co = arith.muli %bj, %c{S} : i64
%q = tile.load %x[%ro, %c0] {{vector = 8 : i64}} : {SHARED} -> {TALL}
{acc[0]}
tile.store {acc[1]}, %out[%ro, %co] : {ACC}, {OWNED}
tile.return
}}
}}"""

    def name(self) -> str:
        return f"%v{next(self.names)}"

    def body(self) -> tuple[str, str]:
        """(text, the accumulator that it gives)."""
        lines, acc = list[str](), "%zero"
        for _ in range(self.random.choice([1, 1, 2])):
            text, acc = self.part(acc, "%c0", 2)
            lines.append(text)
        return "\n".join(lines), acc

    def part(self, acc: str, down: str, depth: int) -> tuple[str, str]:
        choice = self.random.random()
        if depth and choice < 0.3:
            return self.branch(acc, down, depth)
        if depth and choice < 0.55:
            return self.loop(acc, self.random.choice(["%m", "%c2"]), lambda a, i: self.nested(a, i, depth))
        return self.loop(acc, self.random.choice(["%n", "%n", "%m", "%c1"]), lambda a, i: self.products(a, i, down))

    def nested(self, acc: str, index: str, depth: int) -> tuple[str, str]:
        down = self.name()
        text, acc = self.part(acc, down, depth - 1)
        stored = f"tile.store {acc}, %out[%ro, %co] : {ACC}, {OWNED}" if self.random.random() < 0.3 else ""
        return f"{down} = arith.muli {index}, %c{S} : i64\n{text}\n{stored}", acc

    def branch(self, acc: str, down: str, depth: int) -> tuple[str, str]:
        text, inner = self.part(acc, down, depth - 1)
        condition, result = self.name(), self.name()
        a, b = self.random.choice([("%n", "%m"), ("%bi", "%c1"), ("%c1", "%m")])
        other, last = self.part(acc, down, 0) if self.random.random() < 0.3 else ("", acc)
        return (
            f"{condition} = arith.cmpi slt, {a}, {b} : i64\n{result} = scf.if {condition} -> ({ACC}) {{\n{text}\n"
            f"scf.yield {inner} : {ACC}\n}} else {{\n{other}\nscf.yield {last} : {ACC}\n}}"
        ), result

    def loop(self, acc: str, trips: str, fill: Any) -> tuple[str, str]:
        index, carried, result = self.name(), self.name(), self.name()
        start, step = self.random.choice(["%c0", "%c0", "%c1"]), self.random.choice(["%c1", "%c1", "%c2"])
        text, last = fill(carried, index)
        return (
            f"{result} = scf.for {index} = {start} to {trips} step {step} iter_args({carried} = {acc}) -> ({ACC})"
            f" : i64 {{\n{text}\nscf.yield {last} : {ACC}\n}}"
        ), result

    def products(self, acc: str, index: str, down: str) -> tuple[str, str]:
        at = self.name()
        lines = [f"{at} = arith.muli {index}, %c{S} : i64"]

        def load(view: str, place: str) -> str:
            value, type_ = self.name(), TALL if view == "%x" else SMALL
            lines.append(f"{value} = tile.load {view}[{place}] {{vector = 8 : i64}} : {SHARED} -> {type_}")
            return value

        def multiply(a: str, b: str, acc: str) -> str:
            result = self.name()
            lines.append(f"{result} = tile.mma {a}, {b}, {acc} : {TALL}, {SMALL}, {ACC} -> {ACC}")
            return result

        match self.random.choice(["one", "two", "shared", "chain"]):
            case "one":
                acc = multiply(load("%x", f"%ro, {at}"), load("%y", f"{at}, {down}"), acc)
            case "two":
                first = multiply(load("%x", f"%ro, {at}"), load("%y", f"{at}, %co"), acc)
                acc = multiply(load("%x", f"%ro, {down}"), load("%w", f"{at}, %co"), first)
            case "shared":
                left = load("%x", f"%ro, {at}")
                other = multiply(left, load("%w", f"{at}, %co"), "%zero")
                acc = self.add(lines, multiply(left, load("%y", f"{at}, %co"), acc), other)
            case "chain":
                left = "%q" if self.random.random() < 0.7 else load("%x", f"%ro, {at}")
                scores = multiply(left, load("%y", f"{at}, {down}"), "%zero")
                weights = self.name()
                lines.append(f"{weights} = arith.truncf {scores} : {ACC} to {TALL}")
                if self.random.random() < 0.5:
                    acc = self.add(lines, acc, scores)
                acc = multiply(weights, load("%w", f"{at}, %co"), acc)
        return "\n".join(lines), acc

    def add(self, lines: list[str], a: str, b: str) -> str:
        result = self.name()
        lines.append(f"{result} = arith.addf {a}, {b} : {ACC}")
        return result


@cache
def both(seed: int) -> tuple[ModuleOp, ModuleOp]:
    """A random kernel, as it is and after the passes."""
    ctx = create_context()
    before = parse_module(ctx, Program(seed).text)
    verify(before)
    after = before.clone()
    for name in PASSES:
        found = pass_class(name)
        assert found is not None
        found().apply(ctx, after)
        verify(after)
    return before, after


GRID = (2, 2, 1)


def arrays(seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    shapes = ((M + 20, 5 * S - 6), (5 * S - 6, 2 * S), (5 * S - 6, 2 * S), (M + 20, 2 * S - 3))
    return [rng.integers(-2, 3, shape).astype(float) for shape in shapes]


def check(seed: int, n: int, m: int, blocks: int, eagerness: float) -> list[Interpreter]:
    before, after = both(seed)
    expected, found = arrays(seed), arrays(seed)
    for i, j in np.ndindex(GRID[:2]):
        interpret(before, *expected, n, m, ids=(i, j, 0), grid=GRID)
    runs = []
    for block in range(blocks):
        how = {"grid": GRID, "physical": (block, blocks), "eagerness": eagerness, "seed": seed}
        runs.append(interpret(after, *found, n, m, **how))
    np.testing.assert_array_equal(found[3], expected[3])
    return runs


def has_roles(module: ModuleOp) -> bool:
    return any(isinstance(op, pipe.Roles) for op in walk(module))


@settings(max_examples=60)
@given(
    st.integers(0, 400), st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.5, 1.0])
)
def test_random_kernels(seed: int, n: int, m: int, blocks: int, eagerness: float) -> None:
    if has_roles(both(seed)[1]):
        check(seed, n, m, blocks, eagerness)


def test_most_kernels_get_roles() -> None:
    found = [both(seed)[1] for seed in range(20)]
    assert sum(map(has_roles, found)) >= 15


def seed_of(body: str) -> int:
    """The first kernel whose text has a loop nest and these words."""
    return next(s for s in range(400) if body in Program(s).text and has_roles(both(s)[1]))


def test_the_producer_runs_as_far_ahead_as_slots_let_it() -> None:
    full = 0
    for seed in range(12):
        after = both(seed)[1]
        rings = [pipe.channel_type(op.result).slots.data for op in walk(after) if isinstance(op, pipe.Channel)]
        if has_roles(after):
            (late,), (eager,) = check(seed, 5, 2, 1, 0.0), check(seed, 5, 2, 1, 1.0)
            assert late.most_in_flight <= eager.most_in_flight <= sum(rings)
            full += eager.most_in_flight >= Program(seed).stages
    assert full > 3


def test_chains_have_a_channel_for_each_operand() -> None:
    """Keys are released while values are still to come, so that the next ones are on their way."""
    after = both(seed_of("arith.truncf"))[1]
    assert sum(isinstance(op, pipe.Channel) for op in walk(after)) >= 2


def early_release(module: ModuleOp) -> None:
    for op in list(walk(module)):
        if isinstance(op, pipe.Release):
            wait = next(x for x in op.parent.ops if isinstance(x, pipe.Wait) and x.channel is op.channel)  # type: ignore[union-attr]
            op.detach()
            assert wait.parent is not None
            wait.parent.insert_op_after(op, wait)


def lost_release(module: ModuleOp) -> None:
    release = next(op for op in walk(module) if isinstance(op, pipe.Release))
    release.detach()


def late_count(module: ModuleOp) -> None:
    """The consumers count from one."""
    (roles,) = (op for op in walk(module) if isinstance(op, pipe.Roles))
    wait = next(op for op in roles.consumers.walk() if isinstance(op, pipe.Wait))
    one = arith.ConstantOp(IntegerAttr(1, i64))
    more = arith.AddiOp(wait.iteration, one.result)
    assert wait.parent is not None
    wait.parent.insert_ops_before([one, more], wait)
    wait.operands[1] = more.result


def other_member(module: ModuleOp) -> None:
    """The producer copies a tile from the next column."""
    copy = next(op for op in walk(module) if isinstance(op, pipe.Copy))
    one = arith.ConstantOp(IntegerAttr(1, i64))
    more = arith.AddiOp(copy.offsets[1], one.result)
    assert copy.parent is not None
    copy.parent.insert_ops_before([one, more], copy)
    copy.operands[2] = more.result


def lost_wait(module: ModuleOp) -> None:
    """A slot is acquired although it may be in use."""
    (roles,) = (op for op in walk(module) if isinstance(op, pipe.Roles))
    next(op for op in roles.producer.walk() if isinstance(op, pipe.Acquire)).detach()


@pytest.mark.parametrize("damage", [early_release, lost_release, late_count, other_member, lost_wait])
def test_damage_is_found(damage: Any) -> None:
    seed = next(s for s in range(400) if has_roles(both(s)[1]) and "scf.if" not in Program(s).text)
    before, after = both(seed)
    damaged = after.clone()
    damage(damaged)
    expected, found = arrays(seed), arrays(seed)
    for i, j in np.ndindex(GRID[:2]):
        interpret(before, *expected, 5, 2, ids=(i, j, 0), grid=GRID)
    with pytest.raises(AssertionError):
        interpret(damaged, *found, 5, 2, grid=GRID, eagerness=1.0)
        np.testing.assert_array_equal(found[3], expected[3])
