"""role-slice: what a role that only copies can take from a kernel, and what it cannot know."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation

from tileopt.dialects import pipe, tile
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.role_slice import Slice, copy_of, slice_of

VIEW, WHOLE = "!tile.view<?x?xf32, shared>", "!tile.view<?xi64, shared>"
RING = "!pipe.channel<2, !tile.buffer<8x8xf32>>"


def kernel(body: str) -> tile.Kernel:
    """A kernel with an array %x, one of integers %index, numbers %n and %m, a channel %c, and %z = 0, %u = 1."""
    text = f"""tile.kernel @f(%x: {VIEW}, %index: {WHOLE}, %n: i64, %m: i64) {{
%c = pipe.channel : {RING}
%z = arith.constant 0 : i64
%u = arith.constant 1 : i64
{body}
tile.return
}}"""
    module = parse_module(create_context(), text)
    verify(module)
    (found,) = (op for op in module.body.block.ops if isinstance(op, tile.Kernel))
    return found


def copy(at: str, count: str = "z") -> str:
    return f"pipe.copy %x[%{at}, %z], %c[%{count}] {{member = 0 : i64}} : {VIEW}, {RING}"


def copies(top: tile.Kernel) -> list[Operation]:
    return [op for op in walk(top) if isinstance(op, pipe.Copy)]


def sliced(body: str) -> Slice | None:
    return slice_of(copies(kernel(body)))


# An integer that was read from an array, and one that was computed from a tile of them.
LOADED = f"""%t = tile.load %index[%z] : {WHOLE} -> tensor<1xi64>
%s = tile.reshape %t : tensor<1xi64> -> tensor<i64>
%l = tile.to_scalar %s : tensor<i64> -> i64"""
WORKED = f"""%t = tile.load %index[%z] : {WHOLE} -> tensor<8xi64>
%s = tile.reduce %t {{kind = "sum", axis = 0 : i64}} : tensor<8xi64> -> tensor<i64>
%l = tile.to_scalar %s : tensor<i64> -> i64"""


def while_loop(test: str, at: str = "i", ahead: str = "u") -> str:
    """A loop around a copy, which runs while the test's %q holds of the counter %a."""
    return f"""%r = scf.while (%a = %z) : (i64) -> i64 {{
{test}
scf.condition(%q) %a : i64
}} do {{
^bb0(%i: i64):
{copy(at)}
%a1 = arith.addi %i, %{ahead} : i64
scf.yield %a1 : i64
}}"""


@pytest.mark.parametrize(
    "body",
    [
        copy("n"),
        f"%b = tile.bid {{axis = 0 : i64}}\n{copy('b')}",
        f"%d = tile.dim %x {{axis = 0 : i64}} : {VIEW}\n{copy('d')}",
        f"%q = arith.minsi %n, %m : i64\n%r = arith.divsi %q, %u : i64\n{copy('r')}",
        f"scf.for %i = %z to %n step %m : i64 {{\n{copy('i')}\n}}",
        # What is loaded may stand beside the copy.
        f"{LOADED}\nscf.for %i = %z to %n step %u : i64 {{\n{copy('i')}\n%o = arith.addi %l, %i : i64\n}}",
        f"%q = arith.cmpi slt, %n, %m : i64\nscf.if %q {{\n{copy('n')}\n}} else {{\n{copy('m')}\n}}",
        # An address that a loop carries, and one that a branch gives.
        f"%r = scf.for %i = %z to %n step %u iter_args(%a = %m) -> (i64) : i64 {{\n{copy('a')}\n"
        "%a1 = arith.addi %a, %i : i64\nscf.yield %a1 : i64\n}",
        f"%q = arith.cmpi slt, %n, %m : i64\n%r = scf.if %q -> (i64) {{\nscf.yield %n : i64\n}} else {{\n"
        f"scf.yield %m : i64\n}}\n{copy('r')}",
        # A number that was read.
        f"{LOADED}\n{copy('l')}",
        f"{LOADED}\nscf.for %i = %z to %l step %u : i64 {{\n{copy('i')}\n}}",
        # Loops whose end is decided in them.
        while_loop("%q = arith.cmpi slt, %a, %n : i64"),
        while_loop(LOADED.replace("%z", "%a") + "\n%q = arith.cmpi slt, %l, %n : i64"),
    ],
)
def test_what_a_producer_can_know(body: str) -> None:
    assert sliced(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        f"{WORKED}\n{copy('l')}",
        f"{WORKED}\n%o = arith.addi %l, %n : i64\n{copy('o')}",
        # Whether it is copied, how often, and from where the loop begins.
        f"{WORKED}\n%q = arith.cmpi slt, %l, %m : i64\nscf.if %q {{\n{copy('n')}\n}}",
        f"{WORKED}\nscf.for %i = %z to %l step %u : i64 {{\n{copy('i')}\n}}",
        f"{WORKED}\nscf.for %i = %l to %n step %u : i64 {{\n{copy('z')}\n}}",
        # By way of what a loop carries, or a branch gives.
        f"%r = scf.for %i = %z to %n step %u iter_args(%a = %m) -> (i64) : i64 {{\n{copy('a')}\n{WORKED}\n"
        "scf.yield %l : i64\n}",
        f"{WORKED}\n%r = scf.for %i = %z to %n step %u iter_args(%a = %l) -> (i64) : i64 {{\n{copy('a')}\n"
        "scf.yield %m : i64\n}",
        f"{WORKED}\n%q = arith.cmpi slt, %n, %m : i64\n%r = scf.if %q -> (i64) {{\nscf.yield %n : i64\n}} else {{\n"
        f"scf.yield %l : i64\n}}\n{copy('r')}",
        # A loop whose end depends on the tiles that were copied.
        f"{WORKED}\n{while_loop('%q = arith.cmpi slt, %l, %n : i64')}",
    ],
)
def test_what_it_cannot(body: str) -> None:
    assert sliced(body) is None


NEST = f"""
%sum, %end = scf.for %j = %z to %n step %u iter_args(%s = %z, %k = %z) -> (i64, i64) : i64 {{
  %q = arith.cmpi slt, %j, %m : i64
  %v, %b = scf.if %q -> (i64, i64) {{
    %t, %l = scf.for %i = %z to %m step %u iter_args(%w = %s, %p = %k) -> (i64, i64) : i64 {{
      {copy("i", "p")}
      %w1 = arith.muli %w, %i : i64
      %p1 = arith.addi %p, %u : i64
      scf.yield %w1, %p1 : i64, i64
    }}
    scf.yield %t, %l : i64, i64
  }} else {{
    scf.yield %s, %k : i64, i64
  }}
  scf.yield %v, %b : i64, i64
}}
%unused = arith.muli %sum, %m : i64"""


def test_loops_and_branches_carry_what_is_needed_alone() -> None:
    top = kernel(NEST)
    part = slice_of(copies(top))
    assert part is not None
    carried = {type(op).__name__: numbers for op, numbers in part.carried.items()}
    assert carried == {"ForOp": {1}, "IfOp": {1}} and len(part.carried) == 3
    made = copy_of(top.body.block, part)
    loops = [op for op in made.walk() if isinstance(op, scf.ForOp | scf.IfOp)]
    assert [len(op.results) for op in loops] == [1, 1, 1]
    assert sum(isinstance(op, pipe.Copy) for op in made.walk()) == 1
    assert not any(op.name == "arith.muli" for op in made.walk())


def test_a_while_carries_what_its_test_and_its_copies_need() -> None:
    top = kernel(f"""
%sum, %end, %last = scf.while (%s = %z, %k = %z, %a = %n) : (i64, i64, i64) -> (i64, i64, i64) {{
  %q = arith.cmpi slt, %k, %m : i64
  %twice = arith.addi %a, %a : i64
  scf.condition(%q) %s, %k, %twice : i64, i64, i64
}} do {{
^bb0(%s_: i64, %k_: i64, %a_: i64):
  {copy("a_")}
  %s1 = arith.muli %s_, %k_ : i64
  %k1 = arith.addi %k_, %u : i64
  scf.yield %s1, %k1, %a_ : i64, i64, i64
}}""")
    part = slice_of(copies(top))
    assert part is not None
    made = copy_of(top.body.block, part)
    (loop,) = (op for op in made.walk() if isinstance(op, scf.WhileOp))
    assert [len(loop.arguments), len(loop.results)] == [2, 2]
    assert not any(op.name == "arith.muli" for op in made.walk())


def test_the_copy_uses_nothing_of_the_original_but_arguments_and_channels() -> None:
    top = kernel(NEST)
    part = slice_of(copies(top))
    assert part is not None
    made = copy_of(top.body.block, part)
    inside = set(made.walk())
    for value in (v for op in inside for v in op.operands):
        owner = value.owner
        around = owner if isinstance(owner, Operation) else owner.parent_op()
        assert around in inside or isinstance(around, pipe.Channel | tile.Kernel)


def test_nothing_to_slice() -> None:
    part = slice_of([])
    assert part is not None and not part.ops
    assert not list(copy_of(kernel(NEST).body.block, part).ops)
