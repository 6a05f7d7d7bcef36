"""The order of a persistent grid's blocks: each is taken once, and long ones early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tile_interpreter import _BINARY, _COMPARE
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.block_order import GROUP, Order

KERNEL = """tile.kernel @f(%x: !tile.view<?x?xf32, shared>, %n: i64) {{
%c0 = arith.constant 0 : i64
%c1 = arith.constant 1 : i64
%c64 = arith.constant 64 : i64
%bi = tile.bid {{axis = 0 : i64}}
%bj = tile.bid {{axis = 1 : i64}}
{bound}
scf.for %k = %s to %e step %c1 : i64 {{
  %a = tile.load %x[{first}, %k] {{vector = 1 : i64}} : !tile.view<?x?xf32, shared> -> tensor<8x8xf32>
  %b = tile.load %x[{second}, %k] {{vector = 1 : i64}} : !tile.view<?x?xf32, shared> -> tensor<8x8xf32>
}}
tile.return
}}"""
SAME = "%e = arith.addi %n, %c0 : i64"
CAUSAL = """%p = arith.addi %bi, %c1 : i64
%q = arith.muli %c64, %p : i64
%d = arith.ceildivsi %q, %c64 : i64
%e = arith.minsi %d, %n : i64"""
FALLING = "%e = arith.subi %n, %bi : i64"
UNKNOWN = "%e = arith.muli %bi, %n : i64"
# What begins later with the block's id, and what also ends later: a window.
LATER = "%s = arith.divsi %bi, %c64 : i64\n%e = arith.addi %n, %c0 : i64"
WINDOW = "%s = arith.addi %bi, %c0 : i64\n%e = arith.addi %bi, %n : i64"


def order_of(bound: str, first: str = "%bi", second: str = "%bj") -> Order:
    start = "" if "%s =" in bound else "%s = arith.constant 0 : i64\n"
    module = parse_module(create_context(), KERNEL.format(bound=start + bound, first=first, second=second))
    loads = [op for op in module.walk() if isinstance(op, tile.Load)]
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    return Order(loads, loops)


def taken(order: Order, extents: tuple[int, int, int], width: int) -> list[tuple[int, ...]]:
    """The ids in the order in which they are taken."""
    block = Block(arg_types=[i64] * 6)
    end = tile.Return.create()
    block.add_op(end)
    turn, total, together, *sizes = block.args
    ids = order.ids(end, turn, sizes, total, together)
    count = extents[0] * extents[1] * extents[2]
    found = []
    for number in range(count):
        values: dict[SSAValue, Any] = dict(zip(block.args, (number, count, width, *extents), strict=True))
        for op in block.ops:
            if op is not end:
                values[op.results[0]] = evaluate(op, [values[v] for v in op.operands])
        found.append(tuple(values[v] for v in ids))
    return found


def evaluate(op: Operation, values: list[Any]) -> Any:
    match op:
        case arith.ConstantOp():
            assert isinstance(op.value, IntegerAttr)
            return op.value.value.data
        case arith.CmpiOp():
            return _COMPARE[op.predicate.value.data](*values)
        case arith.SelectOp():
            return values[1] if values[0] else values[2]
        case _:
            return _BINARY[type(op)](*values)


ORDERS = {
    "rows": (SAME, "%bi", "%bi"),
    "groups": (SAME, "%bi", "%bj"),
    "longest": (CAUSAL, "%bi", "%bj"),
    "later": (LATER, "%bi", "%bj"),
}


@given(st.sampled_from(sorted(ORDERS)), st.tuples(*[st.integers(1, n) for n in (40, 7, 3)]), st.integers(1, 150))
def test_each_block_is_taken_once(name: str, extents: tuple[int, int, int], width: int) -> None:
    found = taken(order_of(*ORDERS[name]), extents, width)
    assert sorted(found) == sorted(np.ndindex(extents))


def test_without_reason_axis_0_runs_fastest() -> None:
    assert taken(order_of(*ORDERS["rows"]), (3, 2, 2), 4)[:4] == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0)]


def test_rows_of_tiles_are_done_in_groups() -> None:
    found = taken(order_of(*ORDERS["groups"]), (2 * GROUP + 1, 5, 1), 132)
    for group in range(2):
        part = found[group * GROUP * 5 : (group + 1) * GROUP * 5]
        assert {i for i, _, _ in part} == set(range(group * GROUP, (group + 1) * GROUP))
        assert [j for _, j, _ in part] == sorted(j for _, j, _ in part)


def test_the_longest_come_first_and_even_out() -> None:
    extents, width = (64, 16, 1), 132
    found = taken(order_of(*ORDERS["longest"]), extents, width)
    first = [i for i, _, _ in found[:width]]
    assert first == sorted(first, reverse=True) and first[0] == 63
    # What each of the blocks that run together has to do in all, a row's length being its number and one.
    work = [sum(i + 1 for i, _, _ in found[start::width]) for start in range(width)]
    assert max(work) / np.mean(work) < 1.04
    straight = [sum(64 - n // 16 for n in range(start, 1024, width)) for start in range(width)]
    assert max(straight) / np.mean(straight) > 1.1


def test_those_that_begin_early_come_first_where_all_end_together() -> None:
    found = taken(order_of(*ORDERS["later"]), (64, 16, 1), 132)
    first = [i for i, _, _ in found[:132]]
    assert first == sorted(first) and first[0] == 0


WAYS = [(SAME, None, 0), (CAUSAL, 0, 1), (FALLING, 0, -1), (UNKNOWN, None, 0), (LATER, 0, -1), (WINDOW, None, 0)]


@pytest.mark.parametrize(("bound", "axis", "way"), WAYS)
def test_along_which_axis_loops_get_longer_or_shorter(bound: str, axis: int | None, way: int) -> None:
    found = order_of(bound)
    assert (found.changing, found.way) == (axis, way)
