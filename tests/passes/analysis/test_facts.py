"""What the analysis knows of single ops: ranges, divisors and expressions, and what it must not claim."""

from __future__ import annotations

import pytest
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from tileopt.dialects import tile
from tileopt.dialects.xdsl_compat import create_context
from tileopt.passes.analysis.facts import KernelFacts, analyse

HEAD = """tile.kernel @k(
  %x: !tile.view<?x24xf32, shared>
    {tile.name = "x", tile.contract = #tile.contract<align = 16, unit = 1, shape = [16, 1], stride = [1, 1], small>},
  %n: i64 {tile.name = "n"}, %m: i64 {tile.name = "m", tile.divisor = 8 : i64}, %h: i32 {tile.name = "h"}
) {
  %b = tile.bid {axis = 0}
  %g = tile.num_blocks {axis = 0}
  %d = tile.dim %x {axis = 0} : !tile.view<?x24xf32, shared>
  %e = tile.dim %x {axis = 1} : !tile.view<?x24xf32, shared>
"""
NUMBERS = (0, 1, 2, 3, 8, 16, 64, 100, 2**62)
CONSTANTS = "".join(f"  %c{n} = arith.constant {n} : i64\n" for n in NUMBERS) + "  %neg = arith.constant -8 : i64\n"


class Known:
    """The facts of a kernel with these ops, by the values' names."""

    def __init__(self, ops: str) -> None:
        module = Parser(create_context(), HEAD + CONSTANTS + ops + "\n  tile.return\n}").parse_module()
        (self.kernel,) = (op for op in module.body.block.ops if isinstance(op, tile.Kernel))
        self.facts: KernelFacts = analyse(self.kernel)
        self.values: dict[str, SSAValue] = {}
        for op in self.kernel.walk():
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                if value.name_hint is not None:
                    self.values[value.name_hint] = value

    def range(self, name: str) -> tuple[int, int]:
        return tuple(self.facts.of(self.values[name]).range)  # type: ignore[return-value]

    def divisor(self, name: str) -> int:
        return self.facts.of(self.values[name]).divisor

    def text(self, name: str) -> str:
        return str(self.facts.of(self.values[name]).expr)


FULL = (-(2**63), 2**63 - 1)


def test_what_a_launch_promises() -> None:
    known = Known("")
    assert known.range("b") == (0, 2**31 - 2)
    assert known.range("g") == (1, 2**31 - 1)
    assert known.range("d") == (0, (2**31 - 1) // 16 * 16)
    assert known.divisor("d") == 16
    assert known.range("e") == (24, 24)
    assert known.range("n") == FULL
    assert known.divisor("m") == 8
    assert known.range("h") == (-(2**31), 2**31 - 1)


@pytest.mark.parametrize(
    ("op", "range_", "divisor"),
    [
        ("arith.muli %b, %c64 : i64", (0, 64 * (2**31 - 2)), 64),
        ("arith.addi %n, %c1 : i64", FULL, 1),
        ("arith.muli %n, %c64 : i64", FULL, 64),  # wraps, and 64 divides 2^64
        ("arith.muli %n, %c100 : i64", FULL, 4),
        ("arith.floordivsi %d, %c16 : i64", (0, (2**31 - 1) // 16), 1),
        ("arith.remsi %b, %c8 : i64", (0, 7), 1),
        ("arith.remsi %n, %c8 : i64", (-7, 7), 1),
        ("arith.remui %n, %c8 : i64", FULL, 1),
        ("arith.andi %n, %c3 : i64", (0, 3), 1),
        ("arith.andi %n, %c100 : i64", (0, 100), 1),
        ("arith.minsi %n, %c64 : i64", (-(2**63), 64), 1),
        ("arith.maxsi %m, %c64 : i64", (64, 2**63 - 8), 8),
        ("arith.shli %b, %c3 : i64", (0, 8 * (2**31 - 2)), 8),
        ("arith.shrsi %n, %c3 : i64", (-(2**60), 2**60 - 1), 1),
        ("arith.ceildivsi %d, %c64 : i64", (0, (2**31 - 1) // 64 + 1), 1),
        ("arith.extui %h : i32 to i64", (0, 2**32 - 1), 1),
        ("arith.extsi %h : i32 to i64", (-(2**31), 2**31 - 1), 1),
        (f"arith.muli %b, %c{2**62} : i64", FULL, 2**62),
    ],
)
def test_ranges_and_divisors(op: str, range_: tuple[int, int], divisor: int) -> None:
    known = Known(f"  %r = {op}")
    assert known.range("r") == range_
    assert known.divisor("r") == divisor


@pytest.mark.parametrize(
    ("ops", "text"),
    [
        ("%r = arith.subi %d, %d : i64", "0"),
        ("%p = arith.addi %b, %b : i64\n%r = arith.subi %p, %b : i64", "bid(0)"),
        ("%p = arith.addi %d, %c8 : i64\n%r = arith.floordivsi %p, %c16 : i64", "(x.shape[0] // 16)"),
        ("%p = arith.muli %b, %c8 : i64\n%r = arith.remsi %p, %c16 : i64", "8*(bid(0) % 2)"),
        ("%t = arith.cmpi slt, %b, %d : i64\n%r = arith.select %t, %b, %d : i64", "min(bid(0), x.shape[0])"),
        ("%t = arith.cmpi sgt, %b, %d : i64\n%r = arith.select %t, %b, %d : i64", "max(bid(0), x.shape[0])"),
        ("%t = arith.cmpi eq, %d, %c0 : i64\n%s = arith.select %t, %c1, %d : i64\n%r = arith.remsi %b, %s : i64",
         "(bid(0) % x.shape[0])"),
    ],
)  # fmt: skip
def test_expressions(ops: str, text: str) -> None:
    assert Known(ops).text("r") == text


def test_pythons_division_is_seen_through_what_frontends_write() -> None:
    known = Known("""
      %q = arith.divsi %n, %c8 : i64
      %s = arith.remsi %n, %c8 : i64
      %wrong = arith.cmpi slt, %s, %c0 : i64
      %less = arith.subi %q, %c1 : i64
      %more = arith.addi %s, %c8 : i64
      %floor = arith.select %wrong, %less, %q : i64
      %mod = arith.select %wrong, %more, %s : i64
    """)
    assert known.text("floor") == "(n // 8)"
    assert known.text("mod") == "(n % 8)"
    assert known.range("mod") == (0, 7)


def test_a_condition_holds_in_its_branch_only() -> None:
    known = Known("""
      %low = arith.cmpi sge, %n, %c0 : i64
      %high = arith.cmpi slt, %n, %c100 : i64
      %both = arith.andi %low, %high : i1
      scf.if %both {
        %in = arith.muli %n, %c2 : i64
      } else {
        %out = arith.muli %n, %c2 : i64
      }
      %after = arith.muli %n, %c2 : i64
    """)
    assert known.range("in") == (0, 198)
    assert known.range("out") == FULL
    assert known.range("after") == FULL


def test_loops() -> None:
    known = Known("""
      scf.for %i = %c0 to %c100 step %c8 : i64 {
        %two = arith.muli %i, %c2 : i64
      }
      %last, %same, %any = scf.for %j = %c3 to %n step %c1
          iter_args(%sum = %c0, %kept = %c64, %free = %c0) -> (i64, i64, i64) : i64 {
        %sum1 = arith.addi %sum, %c16 : i64
        %free1 = arith.muli %free, %n : i64
        scf.yield %sum1, %kept, %free1 : i64, i64, i64
      }
    """)
    assert known.range("i") == (0, 99)
    assert known.divisor("two") == 16
    assert known.range("j") == (3, 2**63 - 2)
    assert known.divisor("sum") == 16  # its sum may wrap: only the divisor is sure
    assert known.text("kept") == "64"
    assert known.text("same") == "64"
    assert known.divisor("last") == 16


def test_a_carried_offset_is_tied_to_the_count() -> None:
    known = Known("""
      %r = scf.for %j = %c0 to %d step %c1 iter_args(%at = %b) -> (i64) : i64 {
        %next = arith.addi %at, %c64 : i64
        scf.yield %next : i64
      }
    """)
    assert known.text("at") == "bid(0) + 64*j"


def test_a_while_loop_that_adds_is_monotonic() -> None:
    known = Known("""
      %r = scf.while (%t = %b) : (i64) -> i64 {
        %more = arith.cmpi slt, %t, %d : i64
        scf.condition(%more) %t : i64
      } do {
      ^bb0(%u: i64):
        %next = arith.addi %u, %g : i64
        scf.yield %next : i64
      }
    """)
    low, high = known.range("u")
    assert low == 0 and high < 2**31
    assert known.range("r")[0] == 0


def test_what_is_invariant_in_a_loop() -> None:
    known = Known("""
      scf.for %i = %c0 to %n step %c1 : i64 {
        %inside = arith.addi %b, %c1 : i64
        %moving = arith.addi %i, %b : i64
      }
    """)
    loop = known.values["i"].owner.parent_op()  # type: ignore[union-attr]
    assert loop is not None
    assert known.facts.invariant(known.values["inside"], loop)
    assert not known.facts.invariant(known.values["moving"], loop)
    assert not known.facts.uniform(known.facts.of(known.values["inside"]).expr)
    assert known.facts.uniform(known.facts.of(known.values["d"]).expr)


def test_the_analysis_ends_on_long_expressions() -> None:
    ops = ["%v0 = arith.addi %b, %c1 : i64"]
    for i in range(60):
        ops.append(f"%v{i + 1} = arith.muli %v{i}, %v{i} : i64" if i % 2 else f"%v{i + 1} = arith.addi %v{i}, %n : i64")
    known = Known("\n".join(ops))
    assert known.range("v60") == FULL
