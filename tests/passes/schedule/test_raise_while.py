"""raise-while: loops that it takes run as before, from every start and to every bound, in numbers of 8 bits that wrap
soon; loops that never end, or that it cannot prove to, stay as they are."""

from __future__ import annotations

from random import Random

import pytest
from scalar_programs import compare
from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.verifier import verify
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.analysis.counted_while import constant
from tileopt.passes.analysis.ranges import trunc_div
from tileopt.passes.schedule.raise_while import RaiseWhile

STEPS_MAX = 600  # more than 8 bits can count


class EndlessError(Exception):
    """The program ran on and on."""


def wrapped(value: int) -> int:
    return (value + 128) % 256 - 128


def program(text: str) -> tuple[tile.Kernel, bool]:
    """The kernel after the pass, and whether no `while` is left."""
    context = create_context()
    module = parse_module(context, text)
    RaiseWhile().apply(context, module)
    verify(module)
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, tile.Kernel))
    return kernel, not any(isinstance(op, scf.WhileOp) for op in kernel.walk())


def plain(text: str) -> tile.Kernel:
    (kernel,) = (op for op in parse_module(create_context(), text).body.block.ops if isinstance(op, tile.Kernel))
    return kernel


class Run:
    """Runs a kernel of 8-bit numbers."""

    def __init__(self, kernel: tile.Kernel, arguments: tuple[int, ...]) -> None:
        self.values: dict[SSAValue, int] = dict(zip(kernel.body.block.args, arguments, strict=True))
        self.steps = 0
        self.block(kernel.body.block, [])

    def of(self, values: object) -> list[int]:
        return [self.values[v] for v in values]  # type: ignore[attr-defined]

    def block(self, block: Block, given: list[int]) -> list[int]:
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise EndlessError
        self.values.update(zip(block.args, given, strict=not isinstance(block.parent_op(), tile.Kernel)))
        for op in block.ops:
            if isinstance(op, scf.YieldOp | scf.ConditionOp):
                return self.of(op.operands)
            self.op(op)
        return []

    def op(self, op: Operation) -> None:
        match op:
            case scf.ForOp():
                low, high, step = self.of([op.lb, op.ub, op.step])
                carried = self.of(op.iter_args)
                if low < high:
                    assert step > 0
                    for k in range(low, high, step):
                        carried = self.block(op.body.block, [k, *carried])
                self.values.update(zip(op.results, carried, strict=True))
            case scf.WhileOp():
                carried = self.of(op.arguments)
                while True:
                    goes, *shown = self.block(op.before_region.block, carried)
                    if not goes:
                        break
                    carried = self.block(op.after_region.block, shown)
                self.values.update(zip(op.results, shown, strict=True))
            case tile.Return():
                pass
            case arith.ConstantOp():
                found = constant(op.result)
                assert found is not None
                self.values[op.result] = found
            case arith.CmpiOp():
                self.values[op.result] = int(compare(op.predicate.value.data, *self.of(op.operands)))
            case arith.SelectOp():
                self.values[op.result] = self.values[op.lhs if self.values[op.cond] else op.rhs]
            case _:
                self.values[op.results[0]] = self.arith(op, *self.of(op.operands))

    @staticmethod
    def arith(op: Operation, a: int, b: int) -> int:
        name = op.name.removeprefix("arith.")
        exact = {"addi": a + b, "subi": a - b, "muli": a * b, "minsi": min(a, b), "maxsi": max(a, b), "andi": a & b}
        exact["xori"] = a ^ b
        if name == "divsi":
            exact[name] = trunc_div(a, b)
        if name == "ceildivsi":
            exact[name] = -(-a // b)
        return exact[name] if str(op.results[0].type) == "i1" else wrapped(exact[name])


PREDICATES = ["slt", "sle", "sgt", "sge", "ne", "ult", "ule", "ugt", "uge", "eq"]


def loop(random: Random) -> str:
    """A loop that counts somehow, and sums up what it counts; a few of its kind never end."""
    first = random.choice(["%n", *map(str, (0, 0, 1, 5, 100, -100, 127))])
    step = random.choice([1, 1, 1, 2, 3, 7, -1, -1, -2, -5, 0])
    factor, more = random.choice([1, 1, 1, 2, 5, -1, -3]), random.choice([0, 0, 1, -1, 4])
    bound = random.choice(["%m", "%half", *map(str, (0, 20, 100, -50, 127, -128))])
    turned = random.random() < 0.3
    towards = ["slt", "sle", "ult", "ule"] if (step * factor > 0) is not turned else ["sgt", "sge", "ugt", "uge"]
    predicate = random.choice([*towards, "ne"] if random.random() < 0.7 else PREDICATES)
    shown = random.choice(["%k", "%e"])
    second = random.choice(["", "", "", f"%c2 = arith.cmpi {random.choice(PREDICATES)}, %k, %l2 : i8"])
    goes = "%c"
    lines = [
        "%half = arith.divsi %m, %two : i8",
        f"%first = {'arith.addi %n, %zero' if first == '%n' else f'arith.constant {first}'} : i8",
        "%s, %r = scf.while (%acc = %zero, %k = %first) : (i8, i8) -> (i8, i8) {",
        f"  %f = arith.constant {factor} : i8",
        f"  %a = arith.constant {more} : i8",
        "  %p = arith.muli %k, %f : i8",
        "  %e = arith.addi %p, %a : i8",
        f"  %b = {'arith.addi ' + bound + ', %zero' if bound[0] == '%' else 'arith.constant ' + bound} : i8",
        f"  %c = arith.cmpi {predicate}, {'%b, %e' if turned else '%e, %b'} : i8",
        f"  %l2 = arith.constant {random.choice([3, 50, -20])} : i8",
    ]
    if second:
        lines += [f"  {second}", f"  %c3 = {random.choice(['arith.andi %c, %c2', 'arith.xori %c2, %yes'])} : i1"]
        goes = "%c3"
    lines += [
        f"  scf.condition({goes}) %acc, {shown} : i8, i8",
        "} do {",
        "^bb0(%acc_: i8, %k_: i8):",
        "  %three = arith.constant 3 : i8",
        "  %x = arith.muli %acc_, %three : i8",
        "  %y = arith.addi %x, %k_ : i8",
        f"  %by = arith.constant {step} : i8",
        "  %next = arith.addi %k_, %by : i8",
        "  scf.yield %y, %next : i8, i8",
        "}",
    ]
    used = (
        "%t = arith.muli %s, %two : i8\n%o = arith.addi %t, %r : i8"
        if random.random() < 0.7
        else "%o = arith.addi %s, %s : i8"
    )
    body = "\n".join(lines)
    return f"""tile.kernel @f(%n: i8, %m: i8) {{
%zero = arith.constant 0 : i8
%two = arith.constant 2 : i8
%yes = arith.constant true
{body}
{used}
tile.return
}}"""


def ends(kernel: tile.Kernel, arguments: tuple[int, int]) -> int | None:
    """What the last op makes; None where the loop never ends."""
    try:
        run = Run(kernel, arguments)
    except EndlessError:
        return None
    last = kernel.body.block.last_op
    assert last is not None and last.prev_op is not None
    return run.values[last.prev_op.results[0]]


@pytest.mark.parametrize("seed", range(6))
def test_random_loops_run_as_before(seed: int) -> None:
    random = Random(seed)
    raised = 0
    for _ in range(60):
        text = loop(random)
        made, gone = program(text)
        raised += gone
        if not gone:
            continue
        before = plain(text)
        numbers = [-128, -3, 0, 1, 127, random.randrange(-128, 128)]
        for n in numbers:
            for m in numbers:
                assert ends(made, (n, m)) == ends(before, (n, m)), f"n = {n}, m = {m}:\n{text}"
    assert raised > 2
